package cache

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// modulePath is the path of waot's own Go module.
const modulePath = "github.com/waot-project/waot"

// compilerID identifies the compiler in this program, and what has compiled it. If the Go command has checked the sum of waot's source,
// that is the source's version and sum. Else it is the program itself: its build ID, which is a hash of its content, or that hash.
var compilerID = sync.OnceValues(func() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == modulePath && m.Sum != "" && m.Replace == nil {
				return runtime.Version() + " " + m.Version + " " + m.Sum, nil
			}
		}
	}
	id, err := programID()
	return runtime.Version() + " " + id, err
})

// thisProgram is the file of the running program. Emulators give their own if it is not opened.
const thisProgram = "/proc/self/exe"

// appendProgram appends what tells the running program's file from others: its state, as appendState does, and its first page. There Go's linker puts the
// build ID, which differs where file systems give the same times and numbers to files of all versions of an image.
func appendProgram(b []byte) (_ []byte, changed time.Time, ok bool) {
	f, err := os.Open(thisProgram)
	if err != nil {
		return b, changed, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return b, changed, false
	}
	const page = 4096
	start := len(b)
	b = slices.Grow(b, page)[:start+page]
	n, err := f.ReadAt(b[start:], 0)
	if err != nil && err != io.EOF {
		return b, changed, false
	}
	return appendState(b[:start+n], st)
}

// programID identifies the running program.
func programID() (string, error) {
	f, err := os.Open(thisProgram)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if id, err := buildID(f); err == nil && id != "" {
		return "build " + id, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sum " + hex.EncodeToString(h.Sum(nil)), nil
}

// buildID returns the Go build ID of a program.
func buildID(r io.ReaderAt) (string, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return "", err
	}
	s := f.Section(".note.go.buildid")
	if s == nil {
		return "", errors.New("no build ID")
	}
	note, err := s.Data()
	if err != nil {
		return "", err
	}
	// Three words, the name, and the ID: see elf(5). Go's linker writes "Go\0\0", and pads the ID with zeros.
	_, id, ok := bytes.Cut(note, []byte("Go\x00\x00"))
	if !ok {
		return "", errors.New("build ID in another form")
	}
	return string(bytes.TrimRight(id, "\x00")), nil
}
