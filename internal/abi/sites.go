package abi

// TrapSite says that the instruction at Offset may trap, and how.
type TrapSite struct {
	Offset uint32 // in the code
	Code   TrapCode
	Fault  FaultKind
	Memory uint8  // of FaultMemory: its index
	Src    uint32 // offset in the Wasm module
}

// CallSite says where in the Wasm module the call is that returns to Offset.
type CallSite struct {
	Offset uint32 // in the code
	Src    uint32 // offset in the Wasm module
}

// StackMap lists where live references are while a call that returns to Offset is in progress.
type StackMap struct {
	Offset uint32  // in the code
	Slots  []int32 // displacements from the frame pointer, in bytes
}
