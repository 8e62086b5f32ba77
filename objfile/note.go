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
	x86ISANeeded  = 0xc0008002
	a64Feature1   = 0xc0000000
	a64BTI        = 1
)

// PropertyNote returns the section .note.gnu.property that says which level of the
// x86-64 instruction set the code needs. It claims nothing else: neither IBT nor shadow stacks.
func PropertyNote(level ISALevel) Section { return propertyNote(x86ISANeeded, 1<<level-1) }

// BTINote returns the section .note.gnu.property that says of AArch64 code that whatever may be the target of an indirect
// branch is a landing pad (BTI). It claims nothing else: neither signed return addresses nor shadow stacks.
func BTINote() Section { return propertyNote(a64Feature1, a64BTI) }

// propertyNote returns a note with one property of four bytes.
func propertyNote(property, value uint32) Section {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 4) // size of the name
	b = le.AppendUint32(b, 16)   // size of the description
	b = le.AppendUint32(b, ntGNUProperty)
	b = append(b, "GNU\x00"...)
	b = le.AppendUint32(b, property)
	b = le.AppendUint32(b, 4)
	b = le.AppendUint32(b, value)
	b = le.AppendUint32(b, 0) // padding to 8
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
	needed, features := uint32(0), ^uint32(0)
	for _, b := range notes {
		needed |= property(b, x86ISANeeded)
		features &= property(b, a64Feature1)
	}
	switch {
	case needed != 0:
		return propertyNote(x86ISANeeded, needed).Data
	case features != 0 && len(notes) != 0:
		return propertyNote(a64Feature1, features).Data
	}
	return nil
}

// property returns the four bytes of a property in a note, or 0.
func property(b []byte, want uint32) uint32 {
	const header, value = 16, 8
	le := binary.LittleEndian
	if len(b) < header || le.Uint32(b[8:]) != ntGNUProperty {
		return 0
	}
	for at := header; at+value+4 <= len(b); {
		size := int(le.Uint32(b[at+4:]))
		if le.Uint32(b[at:]) == want && size == 4 {
			return le.Uint32(b[at+value:])
		}
		if size > len(b) {
			return 0
		}
		at += value + (size+7)&^7
	}
	return 0
}
