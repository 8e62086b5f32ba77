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
)

// PropertyNote is the section .note.gnu.property that says which level of the
// x86-64 instruction set the code needs. It claims nothing else: neither IBT nor shadow stacks.
func PropertyNote(level ISALevel) Section {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 4) // size of the name
	b = le.AppendUint32(b, 16)   // size of the description
	b = le.AppendUint32(b, ntGNUProperty)
	b = append(b, "GNU\x00"...)
	b = le.AppendUint32(b, x86ISANeeded)
	b = le.AppendUint32(b, 4)
	b = le.AppendUint32(b, 1<<level-1)
	b = le.AppendUint32(b, 0) // padding to 8
	return Section{Name: ".note.gnu.property", Kind: Note, Flags: Alloc, Align: 8, Data: b}
}

// StackNote is the empty section .note.GNU-stack: the code needs no executable stack.
func StackNote() Section { return Section{Name: ".note.GNU-stack", Align: 1} }
