package abi

// Objects of the collected heap (docs/gc.md): the layout that compiled code, hosts and collectors agree on.
const (
	// ObjectAlign is what references and sizes of objects are multiples of.
	ObjectAlign = 8
	// ObjectType is where, relative to the reference, an object has the number of its type, with which it begins, and ObjectLength where an array has its length, 32 bits
	// each. Fields and elements are at offsets from the reference, which are never negative: so an access through null is in front of HeapFirst, but for that of the type, which
	// reads 0 there, the number of no type.
	ObjectType   = -4
	ObjectLength = 0
	// HeapFirst is the lowest reference there can be. What is between the base of the heap and the first object, ObjectType in front of HeapFirst, is never accessible, and no field is as far from its object.
	HeapFirst = 256 << 10
	// HeapNext and HeapEnd are where, relative to the base of the heap, the reference to the next object is, and the one that it must not be above when that object has been made (32 bits
	// each).
	HeapNext = -16
	HeapEnd  = -12
	// HeapExit is where adapters between compiled code and C functions keep the frame of the innermost one that has called: what is in front of a C function is found so. Those that C has called, and not
	// compiled code, add HeapEntry. Other hosts do not use it.
	HeapExit  = -24
	HeapEntry = 1
)

// typeBytes is how much of an object is in front of where references are to.
const typeBytes = -ObjectType

// The numbers of types of objects. A number is where in the process's table of rows the row of the type begins, counted in words of 32 bits. The row has TypeOfStructs or TypeOfArrays, the numbers of the
// supertypes, the furthest first, and of the type itself: so a type of depth d, which has d-1 supertypes, is in word d of its own row and of those of all its subtypes, and nowhere else in the table.
// Reading word d from a number on, and comparing it with a type's number, tells whether the one is a subtype of the other, also where the row has ended before.
const (
	// TypeOfNull is what is read as the type of null.
	TypeOfNull = 0
	// TypeOfStructs and TypeOfArrays are word 0 of rows.
	TypeOfStructs = 1
	TypeOfArrays  = 2
	// FirstTypeNumber is the lowest number of a type.
	FirstTypeNumber = 3
	// MaxTypeDepth is the largest depth.
	MaxTypeDepth = MaxDepth + 1
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
	// Fixed is the size of a structure with the number of its type, a multiple of ObjectAlign, or how many bytes from that on the elements of an array begin.
	Fixed uint32
	// Elem is the size of an element of an array, 0 for a structure.
	Elem uint32
	// Offsets are where, relative to the reference, the fields are, or the first element.
	Offsets []uint32
	end     uint32 // of the fields, behind which those of a subtype follow
}

// ObjectLayout returns the layout of a structure or array. An array has that of its supertype, if it has one, so that code for the supertype works on it. A structure has the fields of its supertype, of which super is the layout, where that has them, and behind them its own by falling size. Vectors are aligned to 8 bytes, as references are.
func (t *TypeDef) ObjectLayout(super *ObjectLayout) *ObjectLayout {
	if t.Kind == KindArray && super != nil {
		return super // its elements may be of a type whose references take more bytes than those of t would
	}
	if t.Kind == KindArray {
		size := t.Fields[0].ObjectBytes()
		first := min(max(size, 4), ObjectAlign)
		return &ObjectLayout{Fixed: first + typeBytes, Elem: size, Offsets: []uint32{first}}
	}
	l := &ObjectLayout{Offsets: make([]uint32, len(t.Fields))}
	first, at := 0, uint32(0)
	if super != nil {
		first, at = copy(l.Offsets, super.Offsets), super.end
	}
	for size := uint32(16); size > 0; size /= 2 {
		align := min(size, ObjectAlign)
		for i := first; i < len(t.Fields); i++ {
			if t.Fields[i].ObjectBytes() == size {
				at = (at + align - 1) &^ (align - 1)
				l.Offsets[i] = at
				at += size
			}
		}
	}
	l.end = at
	l.Fixed = (at + typeBytes + ObjectAlign - 1) &^ (ObjectAlign - 1)
	return l
}

// References returns where objects of a type have references, of 4 bytes and of 8: of the elements of an array, the first one or none. Functions are none, as collectors know nothing of them.
func (t *TypeDef) References(l *ObjectLayout) (refs, words []uint32) {
	for i, f := range t.Fields {
		switch {
		case f.Packed != 0 || f.Type.Base() != ExternRef:
		case f.Type.IsNarrow():
			refs = append(refs, l.Offsets[i])
		default:
			words = append(words, l.Offsets[i])
		}
	}
	return refs, words
}
