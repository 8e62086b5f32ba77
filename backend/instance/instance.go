// Package instance lays out the data of an instance: the one block of memory
// that all code of a module addresses relative to the program counter. It is the
// only place that knows the offsets; docs/abi.md describes the layout.
//
// Place in the pipeline: computed once per module before lowering; read by
// lowering, by the object driver, which fills the block, and, through the metadata, by hosts.
//
// Input: a clif.Module.
// Output: a Layout of byte offsets.
package instance

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// Layout is the byte offset of everything in the instance data.
type Layout struct {
	helpers, memories, tables, imports, types, globals, descs, datas, elems uint32
	exceptions, exception, tags                                             uint32 // the part, the exception under way in it, the slots of tags
	heap                                                                    uint32 // the part

	globalOff []uint32 // of each global: its value, or the pointer to it if imported
	descOff   []uint32 // of each function's descriptor, noDesc if it has none
	typeOf    []uint32 // of each signature: the slot number of its canonical twin, noType for what is a structure or array
	typeSigs  []clif.SigIndex
	elemOff   []uint32            // of each element segment's array
	objects   []*abi.ObjectLayout // of each type of structures or arrays
	imported  []bool              // of each global
	numImport uint32
	end       uint32
}

const (
	noDesc = ^uint32(0)
	noType = ^uint32(0)
)

// New computes the layout of m.
func New(m *clif.Module) *Layout {
	l := &Layout{numImport: uint32(m.NumImportedFuncs)}
	at := uint32(abi.InstanceHeader)
	take := func(n, bytes int) uint32 {
		o := at
		at += uint32(n * bytes)
		return o
	}
	l.helpers = take(int(abi.NumCommonHelpers), 8)
	l.memories = take(len(m.Memories), 8)
	l.tables = take(len(m.Tables), 8)
	l.canonicalTypes(m)
	l.types = take(len(l.typeSigs), 8)
	at = (at + 15) &^ 15
	l.imports = take(m.NumImportedFuncs, abi.ImportSize)
	l.datas = take(len(m.Datas), abi.SegmentSize)
	l.elems = take(len(m.Elems), abi.SegmentSize)
	l.globals = at
	for i := range m.Globals {
		m.Stop.PollAt(i)
		size := 8
		if m.Globals[i].Type == clif.V128 && m.Globals[i].Import == nil {
			size = 16
			at = (at + 15) &^ 15
		}
		l.globalOff = append(l.globalOff, take(1, size))
		l.imported = append(l.imported, m.Globals[i].Import != nil)
	}
	at = (at + 15) &^ 15
	l.descs = at
	for i := range m.Funcs {
		m.Stop.PollAt(i)
		o := noDesc
		if m.Funcs[i].Import == nil && m.Funcs[i].Addressed {
			o = take(1, abi.DescSize)
		}
		l.descOff = append(l.descOff, o)
	}
	for i := range m.Elems {
		m.Stop.PollAt(i)
		l.elemOff = append(l.elemOff, take(len(m.Elems[i].Funcs), 8))
	}
	at = (at + 15) &^ 15
	l.exceptions = take(abi.ExceptionHelpers, 1)
	at = (at + 15) &^ 15
	l.exception = take(abi.ExceptionArgs, 1)
	take(exceptionWords(m), 8)
	l.tags = take(len(m.Tags), 8)
	l.layOutObjects(m)
	at = (at + 15) &^ 15
	l.heap = take(abi.HeapTypes, 1)
	take(len(m.Sigs), 4)
	l.end = (at + 15) &^ 15
	return l
}

// layOutObjects fills objects. A supertype comes before its subtypes.
func (l *Layout) layOutObjects(m *clif.Module) {
	l.objects = make([]*abi.ObjectLayout, len(m.Types))
	for i := range m.Types {
		m.Stop.PollAt(i)
		t := &m.Types[i]
		if t.Kind == abi.KindFunc {
			continue
		}
		var super *abi.ObjectLayout
		if t.HasSuper {
			super = l.objects[t.Super]
		}
		l.objects[i] = t.ObjectLayout(super)
	}
}

// canonicalTypes gives equal signatures one slot. The records are compared
// through a map keyed by text: once per module, not per instruction.
func (l *Layout) canonicalTypes(m *clif.Module) {
	seen := make(map[string]uint32, len(m.Sigs))
	for i := range m.Sigs {
		m.Stop.PollAt(i)
		if !m.IsFuncType(uint32(i)) {
			l.typeOf = append(l.typeOf, noType)
			continue
		}
		key := string(m.Sigs[i].Record())
		n, ok := seen[key]
		if !ok {
			n = uint32(len(l.typeSigs))
			seen[key] = n
			l.typeSigs = append(l.typeSigs, clif.SigIndex(i))
		}
		l.typeOf = append(l.typeOf, n)
	}
}

// Size returns the size of the instance data, a multiple of 16. The parts for exceptions and for the heap are the last ones, since only the code says whether they are needed: modules without tags may
// need the one, and those without types of structures the other. In front of that for the heap, there is room for the other anyway.
func (l *Layout) Size(exceptions, heap bool) uint32 {
	switch {
	case heap:
		return l.end
	case exceptions:
		return l.heap
	}
	return l.exceptions
}

// Helper returns the slot that holds the address of helper h.
func (l *Layout) Helper(h abi.Helper) uint32 {
	if h.OfHeap() {
		return l.heap + 8*uint32(h-abi.FirstHeapHelper)
	}
	if h.OfExceptions() {
		return l.exceptions + 8*uint32(h-abi.NumCommonHelpers)
	}
	return l.helpers + 8*uint32(h)
}

// HelperAt returns the helper whose address is in the slot at off; ok is false if that is
// not the slot of a helper.
func (l *Layout) HelperAt(off uint32) (h abi.Helper, ok bool) {
	for _, part := range [...]struct {
		at          uint32
		first, next abi.Helper
	}{{l.heap, abi.FirstHeapHelper, abi.NumHelpers}, {l.exceptions, abi.NumCommonHelpers, abi.FirstHeapHelper}} {
		if part.at != 0 && off >= part.at {
			n := (off - part.at) / 8
			return part.first + abi.Helper(n), n < uint32(part.next-part.first) && off%8 == 0
		}
	}
	n := (off - l.helpers) / 8
	return abi.Helper(n), off >= l.helpers && n < uint32(abi.NumCommonHelpers) && off%8 == l.helpers%8
}

// Memory returns the slot that holds the base of memory i.
func (l *Layout) Memory(i clif.MemoryIndex) uint32 { return l.memories + 8*uint32(i) }

// Table returns the slot that holds the base of table i.
func (l *Layout) Table(i clif.TableIndex) uint32 { return l.tables + 8*uint32(i) }

// Import returns the slot pair {code address, descriptor address} of imported function i.
func (l *Layout) Import(i clif.FuncIndex) uint32 { return l.imports + abi.ImportSize*uint32(i) }

// IsImport reports whether function i is imported.
func (l *Layout) IsImport(i clif.FuncIndex) bool { return uint32(i) < l.numImport }

// Global returns where global i is: its value, or, if indirect, the address of its value.
func (l *Layout) Global(i clif.GlobalIndex) (off uint32, indirect bool) {
	return l.globalOff[i], l.imported[i]
}

// Desc returns the descriptor of the defined function i; ok is false if it has none.
func (l *Layout) Desc(i clif.FuncIndex) (off uint32, ok bool) {
	return l.descOff[i], l.descOff[i] != noDesc
}

// Type returns the slot that holds the address of the canonical record of signature i, which is that of a type of functions.
func (l *Layout) Type(i clif.SigIndex) uint32 { return l.types + 8*l.typeOf[i] }

// TypeSlots returns the signature of each type slot, in order; the first slot is at
// TypesOffset.
func (l *Layout) TypeSlots() []clif.SigIndex { return l.typeSigs }

// TypesOffset returns the offset of the first type slot.
func (l *Layout) TypesOffset() uint32 { return l.types }

// Data returns the pair {address, length in bytes} of data segment i.
func (l *Layout) Data(i uint32) uint32 { return l.datas + abi.SegmentSize*i }

// Elem returns the pair {address, length in elements} of element segment i.
func (l *Layout) Elem(i uint32) uint32 { return l.elems + abi.SegmentSize*i }

// Exceptions returns the part for exceptions, which begins with the slots of helpers.
func (l *Layout) Exceptions() uint32 { return l.exceptions }

// Exception returns where the exception is that is under way (abi.ExceptionTag).
func (l *Layout) Exception() uint32 { return l.exception }

// ExceptionWords returns for how many words of arguments it has room.
func (l *Layout) ExceptionWords() uint32 {
	return (l.tags - l.exception - abi.ExceptionArgs) / 8
}

// Tag returns the slot that holds the address that stands for tag i.
func (l *Layout) Tag(i uint32) uint32 { return l.tags + 8*i }

// Heap returns the part for the heap, which begins with the slots of helpers.
func (l *Layout) Heap() uint32 { return l.heap }

// Object returns the layout of objects of type i, a structure or array.
func (l *Layout) Object(i uint32) *abi.ObjectLayout { return l.objects[i] }

// TypeNumber returns where the number of type i is, 4 bytes.
func (l *Layout) TypeNumber(i uint32) uint32 { return l.heap + uint32(abi.HeapTypes) + 4*i }

// exceptionWords returns how many words the arguments of an exception of m take at most. They lie from a multiple of 16 on.
func exceptionWords(m *clif.Module) int {
	most := 0
	for i := range m.Tags {
		m.Stop.PollAt(i)
		types := m.TagSig(uint32(i)).Params
		most = max(most, abi.ExceptionWord(types, len(types)))
	}
	return (most + 1) &^ 1
}

// ElemArray returns the array of element segment i, 8 bytes each.
func (l *Layout) ElemArray(i uint32) uint32 { return l.elemOff[i] }
