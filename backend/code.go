package backend

import "github.com/waot-project/waot/internal/abi"

// RelocKind is the kind of a relocation in code.
type RelocKind uint8

// The kinds.
const (
	// RelocPC32: the 32-bit field gets symbol + Addend - address of the field.
	RelocPC32 RelocKind = iota
	// RelocCall32: the same, of a call instruction.
	RelocCall32
	// RelocCall26: the low 26 bits of the AArch64 instruction bl or b get the same distance, divided by 4.
	RelocCall26
	// RelocPage21: the instruction adrp gets the distance in pages of 4 KiB from its own page to that of
	// symbol + Addend.
	RelocPage21
	// RelocAddLo12: the instruction add gets the low 12 bits of symbol + Addend; the others, loads and stores of
	// 1, 2, 4, 8 and 16 bytes, the same divided by their width.
	RelocAddLo12
	RelocLdst8Lo12
	RelocLdst16Lo12
	RelocLdst32Lo12
	RelocLdst64Lo12
	RelocLdst128Lo12
)

// Reloc is a field in code that names a symbol.
type Reloc struct {
	Offset uint32 // of the field
	Kind   RelocKind
	Sym    SymRef
	Addend int64
}

// TrapSite says that the instruction at Offset may trap, and how.
type TrapSite struct {
	Offset uint32
	Code   abi.TrapCode
	Fault  abi.FaultKind
	Memory uint8  // of FaultMemory: the memory index
	Src    uint32 // offset in the Wasm module
}

// CodeStackMap lists where live references are while a call that returns to
// Offset is in progress.
type CodeStackMap struct {
	Offset uint32
	// Slots are byte displacements from the frame pointer; they alias memory of
	// the compile context.
	Slots []int32
}

// SrcSite says that the call that returns to Offset came from Src.
type SrcSite struct {
	Offset uint32
	Src    uint32 // offset in the Wasm module
}

// Code is a compiled function.
type Code struct {
	Bytes     []byte
	Align     uint32
	Relocs    []Reloc
	Traps     []TrapSite
	StackMaps []CodeStackMap
	Calls     []SrcSite
	// FrameBytes is how far the stack pointer drops below the frame pointer.
	FrameBytes uint32
}
