package instance

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// TestLayout: everything has the place that docs/abi.md gives it, next to what stands before it.
func TestLayout(t *testing.T) {
	imported := &clif.ImportName{Module: "m", Name: "n"}
	one := clif.Signature{Params: []clif.Type{clif.I32}}
	m := &clif.Module{
		Sigs:     []clif.Signature{one, {}, one, {Results: []clif.Type{clif.I32}}},
		Memories: make([]clif.MemoryDecl, 2), Tables: make([]clif.TableDecl, 3), Datas: make([]clif.DataDecl, 2),
		NumImportedFuncs: 2,
		Funcs:            []clif.FuncDecl{{Import: imported}, {Import: imported, Addressed: true}, {Addressed: true}, {}, {Addressed: true}},
		Globals: []clif.GlobalDecl{{Type: clif.I32}, {Type: clif.V128}, {Type: clif.V128, Import: imported}, {Type: clif.F64}, {Type: clif.V128},
			{Type: clif.Ref}, {Type: clif.I64, Import: imported}},
		Elems: []clif.ElemDecl{{Funcs: make([]clif.FuncIndex, 3)}, {Funcs: make([]clif.FuncIndex, 1)}},
	}
	l := New(m)
	at := uint32(0)
	is := func(what string, got, want uint32) {
		t.Helper()
		if got != want {
			t.Errorf("%s at %d, want %d", what, got, want)
		}
	}
	// next is the place of something of n bytes at a multiple of align.
	next := func(what string, got, n, align uint32) {
		t.Helper()
		at = (at + align - 1) / align * align
		is(what, got, at)
		at += n
	}
	at = 16 // the header
	for h := range abi.NumCommonHelpers {
		next("helper", l.Helper(h), 8, 8)
	}
	for i := range m.Memories {
		next("memory", l.Memory(clif.MemoryIndex(i)), 8, 8)
	}
	for i := range m.Tables {
		next("table", l.Table(clif.TableIndex(i)), 8, 8)
	}
	is("types", l.TypesOffset(), at)
	for _, i := range []clif.SigIndex{0, 1, 3} {
		next("type", l.Type(i), 8, 8)
	}
	is("a type that is there", l.Type(2), l.Type(0))
	if slots := l.TypeSlots(); len(slots) != 3 || slots[0] != 0 || slots[1] != 1 || slots[2] != 3 {
		t.Errorf("types of slots: %v", slots)
	}
	next("import", l.Import(0), 16, 16)
	next("import", l.Import(1), 16, 16)
	for i := range uint32(2) {
		next("data segment", l.Data(i), 16, 16)
	}
	for i := range uint32(2) {
		next("element segment", l.Elem(i), 16, 16)
	}
	for i := range m.Globals {
		g := &m.Globals[i]
		off, indirect := l.Global(clif.GlobalIndex(i))
		size := uint32(8)
		if g.Type == clif.V128 && g.Import == nil {
			size = 16
		}
		if next("global", off, size, size); indirect != (g.Import != nil) {
			t.Errorf("global %d is indirect: %v", i, indirect)
		}
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		off, ok := l.Desc(clif.FuncIndex(i))
		if ok != (f.Import == nil && f.Addressed) || l.IsImport(clif.FuncIndex(i)) != (f.Import != nil) {
			t.Errorf("function %d: descriptor %v, imported %v", i, ok, l.IsImport(clif.FuncIndex(i)))
		}
		if ok {
			next("descriptor", off, 16, 16)
		}
	}
	for i := range m.Elems {
		next("array", l.ElemArray(uint32(i)), 8*uint32(len(m.Elems[i].Funcs)), 8)
	}
	is("the end", l.Size(false, false), (at+15)/16*16)
	is("the part for exceptions", l.Exceptions(), l.Size(false, false))
	is("the part for the heap", l.Heap(), l.Size(true, false))
	is("the number of the last type", l.TypeNumber(3), l.Heap()+uint32(abi.HeapTypes)+12)
	is("the end with a heap", l.Size(false, true), (l.TypeNumber(4)+15)/16*16)
	for off := range l.Size(false, false) {
		h, ok := l.HelperAt(off)
		if want := off >= 16 && off < 16+8*uint32(abi.NumCommonHelpers) && off%8 == 0; ok != want || ok && l.Helper(h) != off {
			t.Errorf("the slot at %d: helper %d, %v", off, h, ok)
		}
	}
}
