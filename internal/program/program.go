// Package program makes executables of compiled modules: WASI programs that run without waot, on a system with nothing but a
// Linux kernel. docs/executables.md describes them.
//
// Place in the pipeline: after the module driver. It joins the module's object, the runtime of internal/cruntime, and a table of
// what the program is granted; internal/link makes a file of them.
//
// Input: an object, its metadata, and grants.
// Output: the bytes of an executable file.
package program

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// Dir is a directory that a program is given: its path on the host, absolute or from where the program is started, and the
// name under which the program sees it.
type Dir struct {
	Host, Guest string
	ReadOnly    bool
}

// Grants are what a program gets beside its arguments and standard streams.
type Grants struct {
	Dirs []Dir
	Env  []string // NAME=value
	// InheritEnv adds the variables of whoever starts the program, but for those in Env.
	InheritEnv bool
	// AtRunTime lets the first arguments, --waot-dir and --waot-env, grant more.
	AtRunTime bool
}

// Options are those of Link.
type Options struct {
	// Prefix is that of the object's symbols.
	Prefix string
	Grants Grants
	// Stripped leaves out the symbol table.
	Stripped bool
	// MaxStack is the size of the program's stack in bytes, from abi.MinStack to MaxStack; 0 means abi.DefaultStack. It is rounded up to a multiple of 16.
	MaxStack uint64
	// MaxHeap bounds the structures and arrays of the program, in bytes; 0 means the default of the runtime, 1 GiB.
	MaxHeap uint64
	// CollectAlways makes each object a collection, for tests.
	CollectAlways bool
}

// MaxStack is how large the stack of a program can be, in bytes.
const MaxStack = 1 << 30

// The exports of a program.
const (
	startName      = "_start"
	initializeName = "_initialize"
	entryPoint     = "_start" // of the runtime: the first instruction
)

// Error is a module that cannot be an executable.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

// Link makes an executable of the object of a module and its metadata. Errors are *Error, or those of internal/link.
func Link(o *objfile.Object, m *meta.Module, opt *Options) ([]byte, error) {
	initialize, err := check(m)
	if err != nil {
		return nil, err
	}
	runtime, err := objfile.ReadELF(cruntime.Standalone(o.Machine))
	if err != nil {
		return nil, err
	}
	o, memory := cutMemory(o, m)
	inputs := []link.Input{{Name: "runtime", Object: runtime}, {Name: opt.Prefix, Object: packed(o)}, {Name: "grants", Object: describe(o.Machine, m.Heap != nil, initialize, opt, memory)}}
	return link.Executable(nil, inputs, link.Options{Entry: entryPoint, Stripped: opt.Stripped})
}

// cutMemory takes what the program's memory holds at first out of o, as runs of pages, if it is worth mapping; otherwise the init function copies it.
func cutMemory(o *objfile.Object, m *meta.Module) (*objfile.Object, []image.Run) {
	cut, without, runs := link.CutMemory(o, m)
	if runs != nil {
		cut.Section(meta.SectionMeta).Data = meta.EncodeMeta(without)
	}
	return cut, runs
}

// packed returns o with tables that are packed.
func packed(o *objfile.Object) *objfile.Object {
	p := *o
	p.Sections = slices.Clone(o.Sections)
	var packer meta.Packer
	for _, name := range []string{meta.SectionTraps, meta.SectionStackMaps, meta.SectionCalls} {
		if s := p.Section(name); s != nil {
			s.Data = packer.Pack(s.Data, o.Stop.Poll)
		}
	}
	return &p
}

// check refuses modules that are no WASI programs, and says whether one has an _initialize, which libraries have, to be called before _start.
func check(m *meta.Module) (initialize bool, err error) {
	start, err := plain(m, startName)
	if err != nil {
		return false, err
	}
	if !start {
		return false, &Error{"no exported function _start: only a program can be an executable; write an object (-o NAME.o) of a library"}
	}
	if initialize, err = plain(m, initializeName); err != nil {
		return false, err
	}
	return initialize, checkImports(m)
}

// plain reports whether the module exports a function of that name, which must take and return nothing.
func plain(m *meta.Module, name string) (bool, error) {
	i := slices.IndexFunc(m.Exports, func(x meta.Export) bool { return x.Name == name && x.Kind == abi.ExternFunc })
	if i < 0 {
		return false, nil
	}
	if t := &m.Types[m.Funcs[m.Exports[i].Index].Type]; len(t.Params) != 0 || len(t.Results) != 0 {
		return false, &Error{fmt.Sprintf("%s must take and return nothing: parameters: %d, results: %d", name, len(t.Params), len(t.Results))}
	}
	return true, nil
}

// checkImports refuses imports that the runtime does not have, all of them in one error.
func checkImports(m *meta.Module) error {
	var bad []string
	refuse := func(x *meta.ImportName, why string) {
		bad = append(bad, fmt.Sprintf("%s.%s (%s)", quote.Name(x.Module), quote.Name(x.Name), why))
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if f.Import == nil {
			break // imports come first
		}
		if f.Import.Module == abi.MarkerModule && f.Import.Name == abi.MarkerName && m.Types[f.Type].Equal(&abi.FuncType{}) {
			continue
		}
		n := slices.IndexFunc(abi.WASIFunctions[:], func(w abi.WASIFunc) bool { return w.Name == f.Import.Name })
		switch {
		case f.Import.Module != abi.WASIModule || n < 0:
			refuse(f.Import, "function")
		case !abi.WASIFunctions[n].HasType(&m.Types[f.Type]):
			refuse(f.Import, "function of another type")
		}
	}
	for i := range m.Tables {
		if x := m.Tables[i].Import; x != nil {
			refuse(x, "table")
		}
	}
	for i := range m.Memories {
		if x := m.Memories[i].Import; x != nil {
			refuse(x, "memory")
		}
	}
	for i := range m.Globals {
		if x := m.Globals[i].Import; x != nil {
			refuse(x, "global")
		}
	}
	if bad == nil {
		return nil
	}
	return &Error{fmt.Sprintf("an executable has only the functions of %s, and not the import %s", abi.WASIModule, strings.Join(bad, ", "))}
}

// The runtime's flags; c/start.c.
const (
	flagInheritEnv = 1 << iota
	flagAtRunTime
	flagCollectAlways
)

// describe makes the object with struct waot_program of c/start.c: the program, and what it is granted.
func describe(machine objfile.Machine, heap, initialize bool, opt *Options, memory []image.Run) *objfile.Object {
	name, g := opt.Prefix, &opt.Grants
	d := &table{o: &objfile.Object{Machine: machine}}
	d.o.Sections = []objfile.Section{
		secConst: {Name: ".data.rel.ro", Flags: objfile.Alloc | objfile.Write, Align: wordSize},
		secText:  {Name: ".rodata", Flags: objfile.Alloc, Align: 1},
	}
	if memory != nil {
		var pages []byte
		for i := range memory {
			at := len(pages)
			pages = append(pages, make([]byte, memory[i].Size())...)
			memory[i].CopyTo(pages[at:])
		}
		d.o.Sections = append(d.o.Sections, objfile.Section{Name: link.SectionMemory, Flags: objfile.Alloc, Align: link.MemoryAlign(machine), Data: pages})
	}
	for s := range objfile.SectionIndex(len(d.o.Sections)) {
		d.o.AddSymbol(objfile.Symbol{Kind: objfile.SectionSym, Section: s})
	}
	dirs := d.here()
	for i := range g.Dirs {
		d.text(g.Dirs[i].Host)
		d.text(g.Dirs[i].Guest)
		readOnly := uint64(0)
		if g.Dirs[i].ReadOnly {
			readOnly = 1
		}
		d.word(readOnly<<32 | math.MaxUint32) // int fd, -1: to be opened; int read_only
	}
	env := d.here()
	for _, v := range g.Env {
		d.text(v)
	}
	d.word(0)
	runs := d.here()
	for i := range memory {
		d.word(memory[i].Low)
		d.word(memory[i].Size())
	}
	flags := uint64(0)
	if g.InheritEnv {
		flags |= flagInheritEnv
	}
	if g.AtRunTime {
		flags |= flagAtRunTime
	}
	if opt.CollectAlways {
		flags |= flagCollectAlways
	}
	at := d.here()
	d.outside(objfile.ReservedIn(name, "object"))
	d.outside(objfile.MangleIn(name, startName))
	if initialize {
		d.outside(objfile.MangleIn(name, initializeName))
	} else {
		d.word(0)
	}
	d.address(sectionSymbol(secConst), dirs)
	d.word(uint64(len(g.Dirs)))
	d.address(sectionSymbol(secConst), env)
	d.word(flags)
	d.word((cmp.Or(opt.MaxStack, abi.DefaultStack) + 15) &^ 15)
	if memory != nil {
		d.address(sectionSymbol(secMemory), 0)
	} else {
		d.word(0)
	}
	d.address(sectionSymbol(secConst), runs)
	d.word(uint64(len(memory)))
	if heap {
		d.outside("waot_heap_prepare")
	} else {
		d.word(0)
	}
	d.word(opt.MaxHeap)
	d.o.AddSymbol(objfile.Symbol{Name: "waot_program", Section: secConst, Value: uint64(at), Size: uint64(d.here() - at), Binding: objfile.Global, Kind: objfile.Data})
	return d.o
}

// The sections of the table.
const (
	secConst objfile.SectionIndex = iota
	secText
	secMemory // if the program's initial memory is mapped
)

// sectionSymbol returns the symbol of a section.
func sectionSymbol(s objfile.SectionIndex) objfile.SymbolIndex { return objfile.SymbolIndex(s) }

const wordSize = 8

// table is an object of words, addresses and strings.
type table struct{ o *objfile.Object }

func (t *table) here() int64 { return int64(len(t.o.Sections[secConst].Data)) }

func (t *table) word(x uint64) {
	s := &t.o.Sections[secConst]
	s.Data = binary.LittleEndian.AppendUint64(s.Data, x)
}

// address appends the address of a symbol.
func (t *table) address(sym objfile.SymbolIndex, addend int64) {
	s := &t.o.Sections[secConst]
	s.Relocs = append(s.Relocs, objfile.Reloc{Offset: uint64(len(s.Data)), Kind: reloc.Abs64, Symbol: sym, Addend: addend})
	t.word(0)
}

// outside appends the address of a symbol of another object.
func (t *table) outside(name string) {
	t.address(t.o.AddSymbol(objfile.Symbol{Name: name, Section: objfile.Undefined, Binding: objfile.Global}), 0)
}

// text appends the address of a string, which a zero byte ends.
func (t *table) text(s string) {
	text := &t.o.Sections[secText]
	t.address(sectionSymbol(secText), int64(len(text.Data)))
	text.Data = append(append(text.Data, s...), 0)
}
