package backend

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// Frame is where a function's frame keeps things, in bytes from the frame
// pointer, which points at the caller's.
type Frame struct {
	// Saved are the callee-saved registers that the function changes; number i is
	// saved at SavedOffset(i).
	Saved regalloc.PRegSet
	// Slots is where spill slot word 0 is; Locals where the area of hidden
	// results begins; Args where incoming argument word 0 is.
	Slots, Locals, Args int32
	// Size is how far the stack pointer drops below the frame pointer, a multiple of 16.
	Size int
	// Pop is how many bytes of arguments are popped on return.
	Pop int
}

// Offset returns where the operand a, a spill slot or an incoming stack argument, is.
func (fr *Frame) Offset(a regalloc.Allocation) int32 {
	if a.IsArg() {
		return fr.Args + 8*int32(a.Index())
	}
	if !a.IsSlot() {
		panic("operand without allocation")
	}
	return fr.Slots + 8*int32(a.Index())
}

// SavedOffset returns where the i-th saved register is.
func (fr *Frame) SavedOffset(i int) int32 { return -8 * int32(i+1) }

// layoutFrame computes the frame from the result of allocation.
func layoutFrame(t *Target, vc *VCode, out *regalloc.Output) (fr Frame) {
	fr.Saved = out.Used & t.Env.CalleeSaved
	n := 8 * (fr.Saved.Len() + out.SlotWords)
	if n+vc.LocalBytes+vc.OutArgBytes > abi.MaxFrameBytes {
		panic(Unsupported("the frame is too large"))
	}
	fr.Slots = -int32(n)
	n += vc.LocalBytes
	fr.Locals = -int32(n)
	n += vc.OutArgBytes
	fr.Args = 16 // the caller's frame pointer, the return address
	fr.Size = (n + 15) &^ 15
	fr.Pop = vc.PopBytes
	return fr
}
