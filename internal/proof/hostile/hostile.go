// Package hostile checks what must hold for any input, whoever made it: a module is compiled or refused, an object is
// loaded or refused, in proportional memory, and an error is one line that says whose fault it is.
//
// Place in the pipeline: none; tests and fuzz targets only.
//
// Input: bytes.
// Output: an object, an image, or what is wrong with the compiler or the loader.
package hostile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
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
		_, err = read(elf.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	return elf.Bytes(), nil
}

// refusal returns what is wrong with the compiler's error about a module.
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

// Load loads an object of this machine. The image is nil if the object is refused. An error is a fault of the loader.
func Load(elf []byte) (img *inproc.Image, err error) { return judged(elf, load.ELF) }

// Read does for an object of any machine what Load does for one of this machine.
func Read(elf []byte) (img *inproc.Image, err error) { return judged(elf, read) }

func judged(elf []byte, reader func([]byte) (*inproc.Image, error)) (img *inproc.Image, err error) {
	defer recovered(&err)
	var refused error
	if d := allocated(func() { img, refused = reader(elf) }); d > 1<<20+uint64(50*len(elf)) {
		return nil, fmt.Errorf("%d bytes allocated for an object of %d (%v)", d, len(elf), refused)
	}
	if refused != nil {
		return nil, OneLine(refused)
	}
	return img, nil
}

// read is load.ELF but for the question which machine this is.
func read(elf []byte) (*inproc.Image, error) {
	o, err := objfile.ReadELF(elf)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	sections := map[string][]objfile.SectionIndex{}
	for i := range o.Sections {
		name := o.Sections[i].Name
		sections[name] = append(sections[name], objfile.SectionIndex(i))
	}
	part := map[string][]byte{".text": nil, ".rodata": nil, ".data": nil, meta.SectionMeta: nil, meta.SectionTraps: nil, meta.SectionStackMaps: nil, meta.SectionCalls: nil}
	for name := range part {
		if len(sections[name]) != 1 {
			return nil, fmt.Errorf("%d sections %s", len(sections[name]), name)
		}
		part[name] = o.Sections[sections[name][0]].Data
	}
	m, err := meta.Decode(meta.Sections{Meta: part[meta.SectionMeta], Traps: part[meta.SectionTraps],
		StackMaps: part[meta.SectionStackMaps], Calls: part[meta.SectionCalls]},
		meta.Sizes{Text: uint64(len(part[".text"])), Rodata: uint64(len(part[".rodata"])), Data: uint64(len(part[".data"]))})
	if err != nil {
		return nil, err
	}
	for i := range m.Digests {
		d := &m.Digests[i]
		if n := sections[d.Section]; len(n) != 1 || o.Digest(n[0]) != d.Digest {
			return nil, fmt.Errorf("digest of section %q", d.Section)
		}
	}
	return load.Image(o, m)
}

// Link has the host link an image of this machine, which executes nothing of it, and reports whether it did. An error is
// a fault of the host.
func Link(img *inproc.Image) (ok bool, err error) {
	defer recovered(&err)
	size := len(img.Text) + len(img.Rodata) + len(img.Data)
	var refused error
	if d := allocated(func() {
		var m *inproc.Module
		if m, refused = inproc.Load(img); refused == nil {
			m.Close()
		}
	}); d > 1<<20+uint64(50*size) {
		return false, fmt.Errorf("%d bytes allocated to link %d (%v)", d, size, refused)
	}
	if refused != nil {
		return false, OneLine(refused)
	}
	return true, nil
}

// Bounds says what of an image is where nothing is.
func Bounds(img *inproc.Image) error {
	size := func(s image.Section) uint64 { return uint64(len(img.Section(s))) }
	for _, at := range img.Addresses {
		if at+8 > size(inproc.Data) || binary.LittleEndian.Uint64(img.Data[at:]) > img.Size() {
			return fmt.Errorf("address at %#x", at)
		}
	}
	for _, w := range img.Imports {
		if uint64(w.At)+8 > size(inproc.Data) || int(w.Func) >= len(img.Meta.Funcs) {
			return fmt.Errorf("address of an import: %+v", w)
		}
	}
	m := img.Meta
	for i := range m.Funcs {
		if f := &m.Funcs[i]; f.Import == nil && uint64(f.Text)+uint64(f.Size) > size(inproc.Text) {
			return fmt.Errorf("function %d: %+v", i, *f)
		}
	}
	for i := range m.Traps {
		if uint64(m.Traps[i].Offset) >= size(inproc.Text) {
			return fmt.Errorf("trap site %d", i)
		}
	}
	for i := range m.Globals {
		if g := &m.Globals[i]; uint64(g.Offset)+8 > size(inproc.Data) {
			return fmt.Errorf("global %d", i)
		}
	}
	for i := range m.Exports {
		x := &m.Exports[i]
		if n := [...]int{abi.ExternFunc: len(m.Funcs), abi.ExternTable: len(m.Tables), abi.ExternMemory: len(m.Memories), abi.ExternGlobal: len(m.Globals)}[x.Kind]; int(x.Index) >= n {
			return fmt.Errorf("export %d of %d", x.Index, n)
		}
	}
	return nil
}

// Digests are the digests of an object's sections, by name.
type Digests map[string][objfile.DigestSize]byte

// DigestsOf returns those of a valid object.
func DigestsOf(o *objfile.Object) Digests {
	digests := Digests{}
	for i := range o.Sections {
		digests[o.Sections[i].Name] = o.Digest(objfile.SectionIndex(i))
	}
	return digests
}

// Reseal makes the hashes of a valid object fit what it has become since its digests were old, so that nothing but what
// is in it can betray a change. It writes into the sections' bytes, which may be a file's.
func Reseal(o *objfile.Object, old Digests) {
	seal := func(name string) {
		if s := o.Section(name); s != nil {
			meta.Seal(s.Data)
		}
	}
	seal(meta.SectionTraps)
	seal(meta.SectionStackMaps)
	seal(meta.SectionCalls)
	if m := o.Section(meta.SectionMeta); m != nil {
		for i := range o.Sections {
			was, known := old[o.Sections[i].Name]
			if at := bytes.Index(m.Data, was[:]); known && at >= 0 {
				is := o.Digest(objfile.SectionIndex(i))
				copy(m.Data[at:], is[:])
			}
		}
	}
	seal(meta.SectionMeta)
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

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
