//go:build linux && (amd64 || arm64)

package inproc

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// testFunc is a function of testCode, and its sites relative to its start.
type testFunc struct {
	code   string
	fixups []fixup
	traps  []abi.TrapSite
	calls  []abi.CallSite
	maps   []abi.StackMap
	frame  uint32
}

type fixup struct {
	offset uint32
	symbol string
	addend int64
	kind   reloc.Kind
}

// Value types for the tests.
const (
	i32, i64, f32, f64 = meta.I32, meta.I64, meta.F32, meta.F64
	fref, xref         = meta.FuncRef, meta.ExternRef
)

func types(n int, t meta.ValType) []meta.ValType { return slices.Repeat([]meta.ValType{t}, n) }

func fn(params, results []meta.ValType) meta.FuncType {
	return meta.FuncType{Params: params, Results: results}
}

type vt = []meta.ValType

// parts are what an image is linked of.
type parts struct {
	Text, Rodata, Data []byte
	Relocs             []ref
	Meta               *meta.Module
}

// ref is a relocation: of a field of a section, to a place in the section In, or to the descriptor of an imported function.
type ref struct {
	Section      image.Section
	Offset       uint32
	Kind         reloc.Kind
	In           image.Section
	TargetOffset uint32
	IsImport     bool
	Import       uint32
	Addend       int64
}

// object makes an object of the parts; what symbols stand for imports is the second result. Section n has symbol n.
func (p *parts) object() (*objfile.Object, link.Host) {
	o := &objfile.Object{Machine: map[string]objfile.Machine{"x86-64": objfile.X86_64, "aarch64": objfile.AArch64}[machine], Sections: []objfile.Section{
		{Name: ".text", Flags: objfile.Alloc | objfile.Exec, Align: 16, Data: p.Text},
		{Name: ".rodata", Flags: objfile.Alloc, Align: 16, Data: p.Rodata},
		{Name: ".data", Flags: objfile.Alloc | objfile.Write, Align: 16, Data: p.Data},
		{Name: ".elsewhere"},
	}}
	for s := range o.Sections {
		o.AddSymbol(objfile.Symbol{Section: objfile.SectionIndex(s)})
	}
	h := link.Host{Imports: map[objfile.SymbolIndex]uint32{}}
	for _, r := range p.Relocs {
		x := objfile.Reloc{Offset: uint64(r.Offset), Kind: r.Kind, Symbol: objfile.SymbolIndex(r.In), Addend: r.Addend + int64(r.TargetOffset)}
		if r.IsImport {
			x.Symbol = o.AddSymbol(objfile.Symbol{Name: fmt.Sprint("import", r.Import), Section: objfile.Undefined, Binding: objfile.Global})
			h.Imports[x.Symbol] = r.Import
		}
		s := &o.Sections[r.Section]
		s.Relocs = append(s.Relocs, x)
	}
	return o, h
}

// link links the parts.
func (p *parts) link() (*Image, error) {
	o, h := p.object()
	return link.Image(o, p.Meta, h)
}

// load links and loads the parts.
func (p *parts) load() (*Module, error) {
	img, err := p.link()
	if err != nil {
		return nil, err
	}
	return Load(img)
}

// builder makes an Image out of functions of testCode.
type builder struct {
	img    parts
	m      meta.Module
	slots  map[string]uint32 // offsets in the instance data
	starts map[string]uint32
	names  []string
}

// newBuilder starts an image with room for fixed numbers of everything.
func newBuilder() *builder {
	b := &builder{slots: map[string]uint32{}, starts: map[string]uint32{}}
	b.m = meta.Module{ABI: abi.Version, Arch: machine, CPU: levelNames[1], Name: "test"}
	at := uint32(16)
	take := func(name string, n, size int) {
		for i := range n {
			b.slots[fmt.Sprintf("%s%d", name, i)] = at
			at += uint32(size)
		}
	}
	take("helper", int(abi.NumCommonHelpers), 8)
	take("mem", 2, 8)
	take("table", 1, 8)
	take("type", 4, 8)
	at = (at + 15) &^ 15
	take("import", 2, 16)
	take("pair", 1, 16)
	take("global", 4, 8)
	take("desc", 8, 16)
	b.m.Helpers, b.m.TypeSlots = b.slots["helper0"], b.slots["type0"]
	b.m.InstanceSize = at
	b.img.Data = make([]byte, at)
	b.img.Rodata = []byte{1, 2, 3, 4, 5, 6, 7, 8}
	return b
}

func (b *builder) typeIndex(t meta.FuncType) uint32 {
	for i, x := range b.m.Types {
		if slices.Equal(x.Params, t.Params) && slices.Equal(x.Results, t.Results) {
			return uint32(i)
		}
	}
	b.m.Types = append(b.m.Types, t)
	return uint32(len(b.m.Types) - 1)
}

// imp imports a function; imports come before the others.
func (b *builder) imp(module, name string, t meta.FuncType) *builder {
	n := len(b.m.Funcs)
	b.m.Funcs = append(b.m.Funcs, meta.Func{Type: b.typeIndex(t), Import: &meta.ImportName{Module: module, Name: name},
		Slot: b.slots[fmt.Sprintf("import%d", n)]})
	return b
}

// def defines and exports a function of testCode; init comes last.
func (b *builder) def(name string, t meta.FuncType) *builder {
	f, ok := testCode[name]
	if !ok {
		panic("no code " + name)
	}
	code, err := hex.DecodeString(f.code)
	if err != nil {
		panic(err)
	}
	for len(b.img.Text)%16 != 0 {
		b.img.Text = append(b.img.Text, 0xcc)
	}
	start := uint32(len(b.img.Text))
	b.img.Text = append(b.img.Text, code...)
	b.starts[name] = start
	b.names = append(b.names, name)
	d := meta.Func{Type: b.typeIndex(t), Name: name, Text: start, Size: uint32(len(code)), Frame: f.frame}
	if name == "answer" {
		d.HasDesc, d.Desc = true, b.slots["desc0"]
	}
	if !strings.HasPrefix(name, "init") {
		b.m.Exports = append(b.m.Exports, meta.Export{Name: name, Index: uint32(len(b.m.Funcs))})
	}
	b.m.Funcs = append(b.m.Funcs, d)
	return b
}

func (b *builder) export(name string, kind abi.ExternKind, index uint32) *builder {
	b.m.Exports = append(b.m.Exports, meta.Export{Name: name, Kind: kind, Index: index})
	return b
}

func (b *builder) memory(m meta.Memory) *builder {
	m.Slot = b.slots[fmt.Sprintf("mem%d", len(b.m.Memories))]
	if !m.HasMax && m.Max == 0 {
		m.Max = 1 << 16
	}
	b.m.Memories = append(b.m.Memories, m)
	return b
}

func (b *builder) table(t meta.Table) *builder {
	t.Slot = b.slots["table0"]
	if !t.HasMax {
		t.Max = 10_000_000
	}
	b.m.Tables = append(b.m.Tables, t)
	return b
}

func (b *builder) global(g meta.Global) *builder {
	g.Offset = b.slots[fmt.Sprintf("global%d", len(b.m.Globals))]
	b.m.Globals = append(b.m.Globals, g)
	return b
}

// typeSlot makes the next type slot that of t.
func (b *builder) typeSlot(t meta.FuncType) *builder {
	b.m.SlotTypes = append(b.m.SlotTypes, b.typeIndex(t))
	return b
}

// image finishes with init function name, and links.
func (b *builder) image(init string) *Image {
	img, err := b.parts(init).link()
	if err != nil {
		panic(err)
	}
	return img
}

// parts finishes with init function name.
func (b *builder) parts(init string) *parts {
	b.def(init, fn(nil, nil))
	var maps meta.StackMapBuilder
	for _, name := range b.names {
		f, start := testCode[name], b.starts[name]
		for _, x := range f.fixups {
			r := ref{Section: Text, Offset: start + x.offset, Kind: x.kind, Addend: x.addend, In: Data}
			switch {
			case strings.HasPrefix(x.symbol, "f_"):
				r.In, r.TargetOffset = Text, b.starts[x.symbol[2:]]
			case x.symbol == "rodata":
				r.In = Rodata
			case x.symbol == "desc_answer":
				r.TargetOffset = b.slots["desc0"]
			default:
				slot, ok := b.slots[x.symbol]
				if !ok {
					panic("no symbol " + x.symbol)
				}
				r.TargetOffset = slot
			}
			b.img.Relocs = append(b.img.Relocs, r)
		}
		for _, t := range f.traps {
			t.Offset += start
			b.m.Traps = append(b.m.Traps, t)
		}
		for _, c := range f.calls {
			c.Offset += start
			b.m.Calls = append(b.m.Calls, c)
		}
		maps.Function()
		for _, s := range f.maps {
			maps.Add(start+s.Offset, s.Slots)
		}
	}
	b.m.StackMaps = maps.Maps
	b.img.Meta = &b.m
	return &b.img
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := NewStore(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && err != ErrClosed {
			t.Error(err)
		}
	})
	return s
}

func instantiate(t testing.TB, s *Store, img *Image, imports Resolver) *Instance {
	t.Helper()
	m, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Instantiate(m, imports)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func export(t testing.TB, i *Instance, name string) *Func {
	t.Helper()
	f, err := i.Func(name)
	if err != nil {
		t.Fatal(name, err)
	}
	return f
}

// call calls an exported function.
func call(t testing.TB, i *Instance, name string, args ...uint64) ([]uint64, error) {
	t.Helper()
	f := export(t, i, name)
	results := make([]uint64, len(f.Type().Results))
	err := f.Call(args, results)
	return results, err
}

// one is the resolver that gives the same extern for every import.
func one(e Extern) Resolver { return func(_, _ string) Extern { return e } }

func host(t testing.TB, s *Store, typ meta.FuncType, f HostFunc) *Func {
	t.Helper()
	h, err := s.NewHostFunc(typ, f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
