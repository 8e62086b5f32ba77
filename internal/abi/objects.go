package abi

// Objects of the collected heap (docs/gc.md): the layout that compiled code, hosts and collectors agree on.
const (
	// ObjectAlign is what offsets and sizes of objects are multiples of.
	ObjectAlign = 8
	// ObjectType and ObjectLength are where, from its start, an object has the number of its type and the length of an array, 32 bits each; ObjectHeader is how long both are.
	ObjectType   = 0
	ObjectLength = 4
	ObjectHeader = 8
	// HeapFirst is the lowest offset that an object may have: what is below it in the heap is not accessible.
	HeapFirst = 64 << 10
	// HeapNext and HeapEnd are where, relative to the base of the heap, the offsets are at which free space begins and ends (32 bits each).
	HeapNext = -16
	HeapEnd  = -12
)

// IsNarrow reports whether references of type t take 4 bytes in objects: they are neither functions nor handles of the host.
func (t ValType) IsNarrow() bool { return t.IsInternal() && t.OrNull() != AnyRef }

// ObjectBytes returns how many bytes of an object a field takes.
func (f FieldType) ObjectBytes() uint32 {
	if f.Packed == 0 && f.Type.IsNarrow() {
		return 4
	}
	return uint32(f.Bytes())
}

// ObjectLayout is where fields are in objects of a type.
type ObjectLayout struct {
	// Fixed is the size of a structure with its header, a multiple of ObjectAlign, or where the elements of an array begin.
	Fixed uint32
	// Elem is the size of an element of an array, 0 for a structure.
	Elem uint32
	// Offsets are where the fields are, or the first element.
	Offsets []uint32
	end     uint32 // of the fields, behind which those of a subtype follow
}

// ObjectLayout returns the layout of a structure or array. A structure has the fields of its supertype, of which super is the layout, where that has them, and behind them its own by falling size.
func (t *TypeDef) ObjectLayout(super *ObjectLayout) *ObjectLayout {
	if t.Kind == KindArray {
		size := t.Fields[0].ObjectBytes()
		return &ObjectLayout{Fixed: max(ObjectHeader, size), Elem: size, Offsets: []uint32{max(ObjectHeader, size)}}
	}
	l := &ObjectLayout{Offsets: make([]uint32, len(t.Fields))}
	first, at := 0, uint32(ObjectHeader)
	if super != nil {
		first, at = copy(l.Offsets, super.Offsets), super.end
	}
	for size := uint32(16); size > 0; size /= 2 {
		for i := first; i < len(t.Fields); i++ {
			if t.Fields[i].ObjectBytes() == size {
				at = (at + size - 1) &^ (size - 1)
				l.Offsets[i] = at
				at += size
			}
		}
	}
	l.end = at
	l.Fixed = (at + ObjectAlign - 1) &^ (ObjectAlign - 1)
	return l
}
