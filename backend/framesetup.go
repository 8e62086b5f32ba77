package backend

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// FrameStep is an instruction that sets up a frame, with the rules for unwinders that change once it has run: one table of
// them serves emission and call frame information.
type FrameStep struct {
	Inst  Inst
	Regs  []regalloc.PReg
	Rules []abi.CFIRule
}

// SetUpFrame emits the steps, in front of which there is nothing but a landing pad.
func (e *Emitter) SetUpFrame(steps []FrameStep) {
	e.prologue = e.Buf.Offset()
	for i := range steps {
		allocs := InRegs(steps[i].Regs...)
		e.Target.EmitRow(e, &steps[i].Inst, allocs[:], 0)
	}
}

// CFISteps returns the call frame information of the steps; encode gives the bytes of an instruction.
func CFISteps(steps []FrameStep, encode func(in *Inst, allocs []regalloc.Allocation) []byte) []abi.CFIStep {
	out := make([]abi.CFIStep, len(steps))
	for i := range steps {
		allocs := InRegs(steps[i].Regs...)
		out[i] = abi.CFIStep{Bytes: uint8(len(encode(&steps[i].Inst, allocs[:]))), Rules: steps[i].Rules}
	}
	return out
}
