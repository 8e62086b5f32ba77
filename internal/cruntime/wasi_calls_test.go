//go:build linux

package cruntime_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/wasi"
)

// This file makes the same calls of WASI's functions in C, from compiled code, and in Go (package wasi), and compares what they do to
// the guest's memory and to the files.

// callsMemory is the size of the guest's memory in bytes.
const callsMemory = 1 << 16

// callsModule is a module that exports each function of WASI once more, as c_NAME, from compiled code.
func callsModule() []byte {
	fns := wasi.Functions()
	leb := func(n int) string {
		var s []byte
		for ; n >= 128; n >>= 7 {
			s = append(s, byte(n)|128)
		}
		return string(append(s, byte(n)))
	}
	str := func(s string) string { return leb(len(s)) + s }
	section := func(id byte, n int, body string) string {
		body = leb(n) + body
		return string(id) + str(body)
	}
	var types, imports, funcs, exports, code strings.Builder
	for i, f := range fns {
		params, results := wasi.Types(&f, byte(0x7f), byte(0x7e))
		types.WriteString("\x60" + str(string(params)) + str(string(results)))
		imports.WriteString(str(wasi.ModuleName) + str(f.Name) + "\x00" + leb(i))
		funcs.WriteString(leb(i))
		exports.WriteString(str("c_"+f.Name) + "\x00" + leb(len(fns)+i))
		body := "\x00"
		for p := range params {
			body += "\x20" + leb(p)
		}
		code.WriteString(str(body + "\x10" + leb(i) + "\x0b"))
	}
	n := len(fns)
	return []byte("\x00asm\x01\x00\x00\x00" + section(1, n, types.String()) + section(2, n, imports.String()) + section(3, n, funcs.String()) +
		section(5, 1, "\x01\x01\x01") + section(7, n, exports.String()) + section(10, n, code.String()))
}

// A script is calls, and what is in the memory before them.
type script struct {
	t     *testing.T
	steps []scriptStep
	free  uint32 // where the next string goes
	world func(w *world)
	// settle, if not nil, is called when the test program has ended.
	settle func()
	// magic is whether there are links that lead to open files. The kernel refuses to follow them (ELOOP); without openat2 they are
	// links with absolute targets (EPERM).
	magic bool
}

type scriptStep struct {
	at    uint32 // of bytes, if fn is -1
	bytes []byte
	fn    int
	args  [9]uint64
	want  int64 // the errno, 65536 and the status, or anyErrno
	line  string
}

// anyErrno is the wish of a step that only compares.
const anyErrno = -2

// write puts bytes into the memory.
func (s *script) write(at uint32, b []byte) {
	s.steps = append(s.steps, scriptStep{at: at, bytes: b, fn: -1})
}

// Where results and buffers of scripts are. Strings are below, from stringsAt on.
const (
	stringsAt  = 0x100
	iovecsAt   = 0x4000
	resultAt   = 0x6000
	bufferAt   = 0x8000
	bufferSize = 0x4000
)

// call makes a call that must give an errno. A string argument is a pointer and a length.
func (s *script) call(want wasi.Errno, name string, args ...any) {
	s.callTo(int64(want), name, args...)
}

func (s *script) callTo(want int64, name string, args ...any) {
	s.t.Helper()
	st := scriptStep{fn: slices.IndexFunc(wasi.Functions(), func(f wasi.Func) bool { return f.Name == name }), want: want}
	st.line = fmt.Sprintf("%s%.200q", name, args)
	if st.fn < 0 {
		s.t.Fatal(name)
	}
	var words []uint64
	for _, a := range args {
		switch a := a.(type) {
		case int:
			words = append(words, uint64(a))
		case uint64:
			words = append(words, a)
		case string:
			if s.free == 0 || s.free+uint32(len(a)) > iovecsAt {
				s.free = stringsAt
			}
			s.write(s.free, []byte(a))
			words = append(words, uint64(s.free), uint64(len(a)))
			s.free += uint32(len(a))
		default:
			s.t.Fatalf("%s: %T", name, a)
		}
	}
	if n := len(wasi.Functions()[st.fn].Params); n != len(words) {
		s.t.Fatalf("%s: %d arguments", st.line, len(words))
	}
	copy(st.args[:], words)
	s.steps = append(s.steps, st)
}

// bytes is the script for testdata/wasi/calls.c.
func (s *script) bytes() []byte {
	var b []byte
	le := binary.LittleEndian
	for i := range s.steps {
		st := &s.steps[i]
		if st.fn < 0 {
			b = le.AppendUint32(le.AppendUint32(append(b, 'W'), st.at), uint32(len(st.bytes)))
			b = append(b, st.bytes...)
			continue
		}
		b = append(b, 'C', byte(st.fn))
		for _, a := range st.args {
			b = le.AppendUint64(b, a)
		}
	}
	return b
}

// forget clears what is different in each run; testdata/wasi/calls.c does the same.
func forget(mem []byte, name string, a [9]uint64) {
	p := func(i int) uint32 { return uint32(a[i]) }
	switch name {
	case "fd_filestat_get", "path_filestat_get":
		at := p(1)
		if name[0] == 'p' {
			at = p(4)
		}
		clear(mem[at : at+16])
		clear(mem[at+40 : at+64])
	case "clock_time_get":
		clear(mem[p(2) : p(2)+8])
	case "random_get":
		clear(mem[p(0):][:p(1)])
	case "fd_readdir":
		ents := mem[p(1):][:binary.LittleEndian.Uint32(mem[p(4):])]
		for len(ents) != 0 {
			n := uint32(0)
			if len(ents) >= 20 {
				n = binary.LittleEndian.Uint32(ents[16:])
			}
			clear(ents[:min(16, len(ents))])
			ents = ents[min(uint64(len(ents)), 24+uint64(n)):]
		}
	}
}

// world is what the calls of a script can reach. Each of both runs has its own.
type world struct {
	dir     string // everything is below
	stdin   *os.File
	sockets []*os.File
	output  *os.File // standard output and errors, or nil for a file
	null    bool     // the standard streams are empty and take everything
	dirs    []wasi.Preopen
}

// newWorld makes files below a new folder: box is given to the guest as "/" and, read-only, as "/ro"; out is not.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: tempDir(t)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"box/a/b", "box/empty", "out/sub"} {
		must(os.MkdirAll(filepath.Join(w.dir, d), 0o777))
	}
	for _, f := range [...][2]string{{"box/file", "hello"}, {"box/a/b/deep", "deep down"}, {"box/a/x", ""}, {"out/canary", "secret"}, {"out/sub/file", "y"}} {
		must(os.WriteFile(filepath.Join(w.dir, f[0]), []byte(f[1]), 0o666))
	}
	links := worldLinks(w.dir)
	for _, name := range slices.Sorted(maps.Keys(links)) { // the order of entries of a directory depends on that
		must(os.Symlink(links[name], filepath.Join(w.dir, "box", name)))
	}
	var err error
	w.stdin, err = os.Open(filepath.Join(w.dir, "box/file"))
	must(err)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(err)
	sock, peer := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "peer")
	_, err = peer.Write([]byte("some bytes from the other end"))
	must(err)
	must(syscall.Shutdown(pair[1], syscall.SHUT_WR)) // so that reading never waits
	w.sockets = []*os.File{sock}
	must(syscall.Mkfifo(filepath.Join(w.dir, "box/fifo"), 0o666))
	w.dirs = []wasi.Preopen{{Guest: "/", Host: w.dir + "/box"}, {Guest: "/ro", Host: w.dir + "/box", ReadOnly: true}}
	t.Cleanup(func() { w.stdin.Close(); sock.Close(); peer.Close() })
	return w
}

// worldLinks are symbolic links in box and their targets. All but the last ones lead out of it, or nowhere.
func worldLinks(dir string) map[string]string {
	return map[string]string{
		"up": "..", "upup": "../..", "rel": "../out", "abs": dir + "/out", "root": "/", "slash": "../out/", "relfile": "../out/canary",
		"chain": "rel", "mixed": "a/../../out", "loop": "loop", "loop2": "a/back", "a/back": "../loop2", "proc": "/proc/self/root",
		"a/far": "../../out/sub", "new": "../out/created", "dangling": "nothing", "todangling": "dangling",
		"link": "file", "dir": "a", "a/round": "../a/b", "dirslash": "a/", "dot": ".",
	}
}

// tempDir is a folder in memory, where that exists: syncing costs nothing there. All names have the same length, because links to it are compared.
func tempDir(t *testing.T) string {
	t.Helper()
	parent := "/dev/shm"
	if st, err := os.Stat(parent); err != nil || !st.IsDir() {
		parent = os.TempDir()
	}
	dir := filepath.Join(parent, fmt.Sprintf("waot-wasi-%016x", rand.Uint64()))
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// outcome is what the calls of a script did.
type outcome struct {
	errnos []int64
	mems   [][]byte // what each call has changed in the memory, as testdata/wasi/calls.c writes it
	tree   map[string]string
	stdout string
}

// runGo makes the calls with package wasi.
func (s *script) runGo(w *world) *outcome {
	t := s.t
	t.Helper()
	o := &outcome{}
	stdout := w.stdout(t)
	defer stdout.Close()
	options := wasi.Options{Args: []string{"prog", "", "two words"}, Env: []string{"K=V", "EMPTY="}, Preopens: w.dirs, Sockets: w.sockets}
	if !w.null {
		options.Stdin, options.Stdout, options.Stderr = w.stdin, stdout, stdout
	}
	c, err := wasi.New(&options)
	if err != nil {
		t.Fatal(err)
	}
	mem, before := make([]byte, callsMemory), make([]byte, callsMemory)
	fns := wasi.Functions()
	for i := range s.steps {
		st := &s.steps[i]
		if st.fn < 0 {
			copy(mem[st.at:], st.bytes)
			continue
		}
		f := &fns[st.fn]
		copy(before, mem)
		e, err := f.Call(c, mem, st.args[:len(f.Params)])
		errno := int64(e)
		var exit *wasi.ExitError
		if errors.As(err, &exit) {
			errno = 65536 + int64(exit.Code)
		} else if err != nil {
			t.Fatal(err)
		}
		if errno == 0 {
			forget(mem, f.Name, st.args)
		}
		o.errnos, o.mems = append(o.errnos, errno), append(o.mems, changes(before, mem))
	}
	c.Close()
	o.finish(t, w)
	return o
}

// stdout opens the standard output.
func (w *world) stdout(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(w.dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	if w.output != nil {
		f.Close()
		return w.output
	}
	return f
}

// changes gives the ranges that differ: address, length and the bytes.
func changes(before, mem []byte) []byte {
	const block = 256
	var b []byte
	for i := 0; i < len(mem); {
		if i%block == 0 && bytes.Equal(before[i:i+block], mem[i:i+block]) {
			i += block
			continue
		}
		at := i
		for i < len(mem) && mem[i] != before[i] {
			i++
		}
		if at == i {
			i++
			continue
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		b = binary.LittleEndian.AppendUint32(b, uint32(i-at))
		b = append(b, mem[at:i]...)
	}
	return b
}

// contents is the size of a file if it is large, and its first bytes: calls with large offsets make files of gigabytes, mostly holes.
func contents(file string) (string, error) {
	const most = 1 << 20
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if st.Size() > most {
		return fmt.Sprintf("%d bytes: %s", st.Size(), b), err
	}
	return string(b), err
}

// finish notes the files.
func (o *outcome) finish(t *testing.T, w *world) {
	t.Helper()
	stdout, err := contents(filepath.Join(w.dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	o.stdout, o.tree = stdout, map[string]string{}
	err = filepath.WalkDir(w.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, w.dir)
		st, err := d.Info()
		if err != nil {
			return err
		}
		s := st.Mode().String()
		if st.Mode().IsRegular() {
			b, err := contents(p)
			if err != nil {
				return err
			}
			s += " " + b
		}
		if st.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			s += " " + strings.ReplaceAll(to, w.dir, "")
		}
		o.tree[rel] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// runC makes the calls with the test program.
func (s *script) runC(target *wasiTarget, exe string, w *world, more ...string) *outcome {
	t := s.t
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(in, s.bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat(target.run, []string{exe}, more, []string{"--env", "K=V", "--env", "EMPTY=", "--socket", "3"})
	for _, d := range w.dirs {
		dir := d.Host + "::" + d.Guest
		if d.ReadOnly {
			dir += "::ro"
		}
		args = append(args, "--dir", dir)
	}
	if w.null {
		args = append(args, "--null")
	}
	args = append(args, "--", "prog", "", "two words", in, out)
	cmd := exec.Command(args[0], args[1:]...)
	stdout := w.stdout(t)
	defer stdout.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = w.stdin, stdout, stdout, w.sockets
	runErr := cmd.Run()
	if s.settle != nil {
		s.settle()
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(runErr, err)
	}
	o := &outcome{}
	le := binary.LittleEndian
	for i := range s.steps {
		st := &s.steps[i]
		if st.fn < 0 {
			continue
		}
		if len(b) < 8 {
			said, _ := os.ReadFile(stdout.Name())
			t.Fatalf("%s: no result: %v\n%s", st.line, runErr, said)
		}
		o.errnos = append(o.errnos, int64(le.Uint64(b)))
		b = b[8:]
		n := uint32(0)
		for le.Uint32(b[n+4:]) != 0 {
			n += 8 + le.Uint32(b[n+4:])
		}
		o.mems = append(o.mems, b[:n])
		b = b[n+8:]
	}
	if runErr != nil {
		said, _ := os.ReadFile(stdout.Name())
		t.Errorf("%v\n%s", runErr, said)
	}
	o.finish(t, w)
	return o
}

// both makes the calls in both ways, on equal files, and compares the outcomes.
func (s *script) both(target *wasiTarget, exe string, more ...string) {
	t := s.t
	t.Helper()
	wantWorld, gotWorld := newWorld(t), newWorld(t)
	if s.world != nil {
		s.world(wantWorld)
		s.world(gotWorld)
	}
	want, got := s.runGo(wantWorld), s.runC(target, exe, gotWorld, more...)
	n := 0
	for i := range s.steps {
		st := &s.steps[i]
		if st.fn < 0 {
			continue
		}
		if st.line == "" {
			st.line = fmt.Sprintf("%s%x", wasi.Functions()[st.fn].Name, st.args)
		}
		if s.magic && got.errnos[n] == int64(wasi.ErrnoPerm) && want.errnos[n] == int64(wasi.ErrnoLoop) && (len(target.run) != 0 || len(more) != 0) {
			want.errnos[n] = got.errnos[n]
		}
		if got.errnos[n] != want.errnos[n] {
			t.Errorf("step %d, %s: %s in C, %s in Go", i, st.line, errnoText(got.errnos[n]), errnoText(want.errnos[n]))
			return
		}
		if st.want != anyErrno && got.errnos[n] != st.want {
			t.Errorf("step %d, %s: %s, want %s", i, st.line, errnoText(got.errnos[n]), errnoText(st.want))
		}
		if g, w := got.mems[n], want.mems[n]; !bytes.Equal(g, w) {
			t.Errorf("step %d, %s: the memory is changed otherwise:\nC:  %.200x\nGo: %.200x", i, st.line, g, w)
			return
		}
		n++
	}
	if d := cmp.Diff(want.tree, got.tree); d != "" {
		t.Errorf("files differ, - Go, + C:\n%s", d)
	}
	if want.stdout != got.stdout {
		t.Errorf("standard output %q in C, %q in Go", got.stdout, want.stdout)
	}
	for name, s := range got.tree {
		if strings.HasPrefix(name, "/out/") && s != map[string]string{"/out/canary": "-rw-r--r-- secret", "/out/sub/file": "-rw-r--r-- y"}[name] && name != "/out/sub" {
			t.Errorf("the outside has changed: %s: %s", name, s)
		}
	}
}

func errnoText(e int64) string {
	if e >= 65536 {
		return fmt.Sprintf("exit with %d", e-65536)
	}
	return wasi.Errno(e).String()
}
