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

// SavedRows are the rows that save or restore callee-saved registers, by class: two registers, or 0 if there is no such row, and one.
type SavedRows [regalloc.NumClasses]struct{ Pair, One Op }

// prologueCode emits the function's entry, which saves the frame pointer, and, if saves is set, the callee-saved registers. Only a landing pad, and what makes the argument
// area longer, may precede the steps that set up the frame.
func (e *Emitter) prologueCode(saves bool) {
	if e.Addressed {
		e.Buf.PutBytes(e.Target.Entry)
	}
	if e.Frame.Grow > 0 {
		e.Target.LowerStack(e, GrownArgs)
	}
	e.prologue = e.Buf.Offset()
	for i := range e.Target.SetUp {
		step := &e.Target.SetUp[i]
		e.to = InRegs(step.Regs...)
		e.Target.Emit(e, &step.Inst, e.to[:], 0)
	}
	body := Body
	if saves {
		body = SavingBody
	}
	e.Target.LowerStack(e, body)
}

// Save saves the callee-saved registers of the frame, and Restore restores them.
func (e *Emitter) Save() { e.eachSaved(&e.Target.Saves) }

// Restore is described at Save.
func (e *Emitter) Restore() { e.eachSaved(&e.Target.Restores) }

// eachSaved saves or restores the callee-saved registers by rows, neighbours of one class in pairs where there is a row for two. The first is the
// highest in memory.
func (e *Emitter) eachSaved(rows *SavedRows) {
	base, s := regalloc.InReg(e.Target.FramePointer), e.Frame.Saved
	for i := 0; s != 0; i++ {
		a := s.First()
		s = s.Remove(a)
		row := &rows[a.Class()]
		in := Inst{Op: row.One, Size: 8, Mode: ModeBase, Disp: e.Frame.SavedOffset(i)}
		if row.Pair == 0 || s == 0 || s.First().Class() != a.Class() {
			e.do(in, base, regalloc.InReg(a))
			continue
		}
		b := s.First()
		s = s.Remove(b)
		i++
		in.Op, in.Disp = row.Pair, e.Frame.SavedOffset(i)
		e.do(in, base, regalloc.InReg(b), regalloc.InReg(a))
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
