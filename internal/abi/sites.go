package abi

// A place in a Wasm module is what TrapSite.Src, CallSite.Src and Inlined.Caller are: an offset in the module, 0 if it is
// unknown, or InlinedPlace + i, which stands for entry i of a table of Inlined.
const InlinedPlace = 1 << 31

// Ended, as Inlined.Caller, says that the function that the code belongs to is not active: a tail call of it has been inlined.
const Ended = InlinedPlace - 1

// Inlined is a place in a function whose body the compiler has put in place of a call.
type Inlined struct {
	Func   uint32 // whose body it is
	Src    uint32 // offset in the Wasm module
	Caller uint32 // the place of the call; if that is an entry of the table, it is an earlier one; Ended if there is none
}

// Activation is a function and an offset in the Wasm module where it is.
type Activation struct{ Func, Offset uint32 }

// Activations calls visit with the functions of the source that are active at a place of function fn, the innermost first, while
// it returns true. The table is one that holds what Inlined.Caller says.
func Activations(table []Inlined, fn, place uint32, visit func(Activation) bool) bool {
	for place >= InlinedPlace {
		in := &table[place-InlinedPlace]
		if !visit(Activation{in.Func, in.Src}) {
			return false
		}
		place = in.Caller
	}
	if place == Ended {
		return true
	}
	return visit(Activation{fn, place})
}

// TrapSite says that the instruction at Offset may trap, and how.
type TrapSite struct {
	Offset uint32 // in the code
	Code   TrapCode
	Fault  FaultKind
	Memory uint8  // of FaultMemory: its index
	Src    uint32 // the place in the Wasm module
}

// CallSite says where in the Wasm module the call is that returns to Offset.
type CallSite struct {
	Offset uint32 // in the code
	Src    uint32 // the place in the Wasm module
}

// Handler says where an exception goes that comes out of the call that returns to Return: to Landing, in the frame that the call was in.
type Handler struct {
	Return  uint32 // in the code
	Landing uint32 // in the code
}

// Saves says which callee-saved registers a function saves, and where in its code their values are in the frame. Number i of those that it saves is 8*(i+1) bytes below the frame
// pointer.
type Saves struct {
	// Registers has a bit for each callee-saved register of the machine, in rising order: rbx, r12 to r15; x19 to x27, v8 to v15.
	Registers uint32
	// Changes are the offsets, rising, in the function's code, at which this changes: at first the values are in the registers.
	Changes []uint32
}

// At reports whether the values are in the frame at a return address, an offset in the function's code.
func (s *Saves) At(offset uint32) bool {
	saved := false
	for _, c := range s.Changes {
		if c >= offset { // what is at the return address may be another block
			break
		}
		saved = !saved
	}
	return saved
}

// StackMap lists where live references are while a call that returns to Offset is in progress.
type StackMap struct {
	Offset uint32  // in the code
	Slots  []int32 // displacements from the frame pointer, in bytes
}
