package objfile

import "encoding/binary"

// ISALevel is the x86-64 level that code needs.
type ISALevel uint8

// The levels of the x86-64 ABI supplement.
const (
	X86V1 ISALevel = 1 + iota
	X86V2
	X86V3
	X86V4
)

const (
	ntGNUProperty = 5
	x86Feature1   = 0xc0000002
	x86IBT        = 1
	x86ISANeeded  = 0xc0008002
	a64Feature1   = 0xc0000000
	a64BTI        = 1
)

// PropertyNote returns the section .note.gnu.property that says which level of the
// x86-64 instruction set the code needs, and that whatever may be the target of an indirect branch is a landing pad (IBT). It does not
// claim that the code runs with a shadow stack.
func PropertyNote(level ISALevel) Section {
	return propertyNote(property{x86Feature1, x86IBT}, property{x86ISANeeded, 1<<level - 1})
}

// BTINote returns the section .note.gnu.property that says of AArch64 code that whatever may be the target of an indirect
// branch is a landing pad (BTI). It claims nothing else: neither signed return addresses nor shadow stacks.
func BTINote() Section { return propertyNote(property{a64Feature1, a64BTI}) }

// property is a property of four bytes.
type property struct{ kind, value uint32 }

// propertyNote returns a note with properties, in the order of their kinds.
func propertyNote(properties ...property) Section {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 4)                       // size of the name
	b = le.AppendUint32(b, uint32(16*len(properties))) // size of the description
	b = le.AppendUint32(b, ntGNUProperty)
	b = append(b, "GNU\x00"...)
	for _, p := range properties {
		b = le.AppendUint32(b, p.kind)
		b = le.AppendUint32(b, 4)
		b = le.AppendUint32(b, p.value)
		b = le.AppendUint32(b, 0) // padding to 8
	}
	return Section{Name: ".note.gnu.property", Kind: Note, Flags: Alloc, Align: 8, Data: b}
}

// StackNote returns the empty section .note.GNU-stack: the code needs no executable stack.
func StackNote() Section { return Section{Name: ".note.GNU-stack", Align: 1} }

// SectionProperty is the name of the section of PropertyNote and BTINote.
const SectionProperty = ".note.gnu.property"

// MergeProperties returns the note of a program whose parts have these notes, where nil is a part without one: it needs what
// any part needs, and keeps what all of them keep. It is nil if there is nothing to say. Properties of other kinds than those
// of PropertyNote and BTINote count as absent.
func MergeProperties(notes [][]byte) []byte {
	if len(notes) == 0 {
		return nil
	}
	var all []property
	for _, k := range [...]struct {
		kind   uint32
		needed bool // by any part
	}{{a64Feature1, false}, {x86Feature1, false}, {x86ISANeeded, true}} {
		some, every := uint32(0), ^uint32(0)
		for _, b := range notes {
			v := valueOf(b, k.kind)
			some, every = some|v, every&v
		}
		if k.needed {
			every = some
		}
		if every != 0 {
			all = append(all, property{k.kind, every})
		}
	}
	if all == nil {
		return nil
	}
	return propertyNote(all...).Data
}

// valueOf returns the four bytes of a property in a note, or 0.
func valueOf(b []byte, kind uint32) uint32 {
	const header, value = 16, 8
	le := binary.LittleEndian
	if len(b) < header || le.Uint32(b[8:]) != ntGNUProperty {
		return 0
	}
	for at := header; at+value+4 <= len(b); {
		size := int(le.Uint32(b[at+4:]))
		if le.Uint32(b[at:]) == kind && size == 4 {
			return le.Uint32(b[at+value:])
		}
		if size > len(b) {
			return 0
		}
		at += value + (size+7)&^7
	}
	return 0
}
