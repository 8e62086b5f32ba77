package backend

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// FrameStep is an instruction that sets up a frame, with the unwind rules that change once it has run. Emission and call
// frame information both read the same table of steps.
type FrameStep struct {
	Inst  Inst
	Regs  []regalloc.PReg
	Rules []abi.CFIRule
}

// SetUpFrame emits the steps. Only a landing pad may precede them.
func (e *Emitter) SetUpFrame(steps []FrameStep) {
	e.prologue = e.Buf.Offset()
	for i := range steps {
		e.to = InRegs(steps[i].Regs...)
		e.Target.EmitRow(e, &steps[i].Inst, e.to[:], 0)
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
