package backend

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// Code is a compiled function.
type Code struct {
	Bytes  []byte
	Align  uint32
	Starts machbuffer.Starts
	Relocs []machbuffer.Reloc // each Symbol is a SymRef
	// Sites have ascending offsets. Slots of stack maps alias memory of the compile context; equal ones in a row are one list.
	Traps     []abi.TrapSite
	StackMaps []abi.StackMap
	Calls     []abi.CallSite
	Handlers  []abi.Handler
	// Stats are those of register allocation.
	Stats regalloc.Stats
	// Inlined is the function's table of places, which Traps and Calls refer to.
	Inlined []abi.Inlined
	// Saved are the callee-saved registers that the function changes; Frame.SavedOffset says where the frame has the caller's, where
	// Unwind says that it has them. Unwind has ascending offsets. At first the registers are kept.
	Saved  regalloc.PRegSet
	Unwind []abi.CFIChange
	// Prologue is the offset of the instructions that set up the frame (see FrameStep).
	Prologue uint32
	// FrameBytes is how far the stack pointer drops below the frame pointer.
	FrameBytes uint32
	// HasExceptions says that it uses the part of the instance data for exceptions, or catches.
	HasExceptions bool
	// HasHeap says that it uses the part of the instance data for the heap.
	HasHeap bool
}
