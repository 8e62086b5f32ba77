package backend

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
)

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
	Relocs    []machbuffer.Reloc // each Symbol is a SymRef
	Traps     []TrapSite
	StackMaps []CodeStackMap
	Calls     []SrcSite
	// FrameBytes is how far the stack pointer drops below the frame pointer.
	FrameBytes uint32
}
