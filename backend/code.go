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
