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
