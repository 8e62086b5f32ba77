// Package hostile says what must hold for any input, whoever made it: a module is compiled or refused, an object is
// loaded or refused, in memory in proportion, with an error of one line that says whose fault it is.
//
// Place in the pipeline: none; tests and fuzz targets only.
//
// Input: bytes.
// Output: an object, an image, or what is wrong with the compiler or the loader.
package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
)

// Compile compiles a module. The object is nil if the module is rightly refused, or if its exports would have the
// same symbol. An error is a fault of the compiler, or of what reads its objects, or wraps backend.ErrUnsupported.
func Compile(wasm []byte, o compile.Options) (object []byte, err error) {
	defer recovered(&err)
	var r *compile.Result
	var refused error
	if d := allocated(func() { r, refused = compile.Module(wasm, o) }); d > 8<<20+uint64(1000*len(wasm)) {
		return nil, fmt.Errorf("%d bytes allocated for a module of %d (%v)", d, len(wasm), refused)
	}
	if refused != nil {
		return nil, refusal(wasm, refused)
	}
	var elf bytes.Buffer
	if err := r.WriteELF(&elf); err != nil {
		var clash *objfile.Error
		if errors.As(err, &clash) {
			return nil, nil
		}
		return nil, err
	}
	if o.Target == "" || o.Target == compile.HostTarget() {
		_, err = load.ELF(elf.Bytes())
	} else {
		err = readable(elf.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	return elf.Bytes(), nil
}

// refusal is what is wrong with the compiler's error about a module.
func refusal(wasm []byte, err error) error {
	if fault := OneLine(err); fault != nil {
		return fault
	}
	var invalid *wasmfront.Error
	if !errors.As(err, &invalid) {
		return err
	}
	if invalid.Offset < 0 || invalid.Offset > len(wasm) {
		return fmt.Errorf("offset %d of a module of %d bytes: %v", invalid.Offset, len(wasm), err)
	}
	return nil
}

// readable does for an object of any target what load.ELF does for one of this machine.
func readable(elf []byte) error {
	o, err := objfile.ReadELF(elf)
	if err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	part := func(name string) []byte {
		if s := o.Section(name); s != nil {
			return s.Data
		}
		return nil
	}
	m, err := meta.Decode(meta.Sections{Meta: part(meta.SectionMeta), Traps: part(meta.SectionTraps),
		StackMaps: part(meta.SectionStackMaps), Calls: part(meta.SectionCalls)},
		meta.Sizes{Text: uint64(len(part(".text"))), Data: uint64(len(part(".data")))})
	if err != nil {
		return err
	}
	for i := range m.Digests {
		if n := o.SectionIndex(m.Digests[i].Section); n == objfile.Undefined || o.Digest(n) != m.Digests[i].Digest {
			return fmt.Errorf("digest of section %s", m.Digests[i].Section)
		}
	}
	_, err = load.Image(o, m)
	return err
}

// Load loads an object of this machine. The image is nil if the object is refused. An error is a fault of the loader.
func Load(elf []byte) (img *inproc.Image, err error) {
	defer recovered(&err)
	var refused error
	if d := allocated(func() { img, refused = load.ELF(elf) }); d > 1<<20+uint64(50*len(elf)) {
		return nil, fmt.Errorf("%d bytes allocated for an object of %d (%v)", d, len(elf), refused)
	}
	if refused != nil {
		return nil, OneLine(refused)
	}
	return img, nil
}

// OneLine complains about an error that is not one line.
func OneLine(err error) error {
	if msg := err.Error(); msg == "" || strings.ContainsAny(msg, "\n\r") {
		return fmt.Errorf("error of more than a line: %q", msg)
	}
	return nil
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
