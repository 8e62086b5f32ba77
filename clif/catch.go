package clif

import "github.com/waot-project/waot/internal/effect"

// CaughtCall returns the call that the catch at the end of b belongs to: the last one, if only instructions without effects are between. It is NoInst if there is no
// such call, as where a call was inlined, or b ends otherwise.
func (f *Func) CaughtCall(b Block) Inst {
	t := f.Terminator(b)
	if t == NoInst || f.Insts[t].Op != OpCatch {
		return NoInst
	}
	for i := t; i > f.Blocks[b].Start; {
		i--
		f.Stop.PollAt(int(i))
		switch op := f.Insts[i].Op; {
		case op.Has(effect.Calls):
			return i
		case !op.MayFollowCaught():
			return NoInst
		}
	}
	return NoInst
}

// MayFollowCaught reports whether op may stand between a call and the catch that belongs to it.
func (op Opcode) MayFollowCaught() bool { return op == OpNop || op.IsPure() }
