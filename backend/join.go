package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// This file lowers two instructions of a block with one result each to one machine instruction with two results. That stands at the place of the first
// one, where the operands of both are defined.

// joined is an instruction whose result the one in front of it defines too.
type joined struct {
	front  clif.Inst
	behind *clif.InstData
}

// maxJoin is the largest number of instructions between two that are joined.
const maxJoin = 32

// InFront returns the nearest instruction in front of i in the same block for which fits holds, if Join may have it; else NoInst.
func (l *Query) InFront(i clif.Inst, fits func(d *clif.InstData) bool) clif.Inst {
	if l.Joined(i) != nil {
		return clif.NoInst // it is such an instruction itself
	}
	start := l.F.Blocks[l.Order.Blocks[l.block].Orig].Start
	for n := 0; i > start && n <= maxJoin; n++ {
		if i--; !l.sunk[i] && fits(&l.F.Insts[i]) && l.Joined(i) == nil {
			return i
		}
	}
	return clif.NoInst
}

// Join leaves it to front, which InFront has returned, to define the result of d, the instruction being lowered.
func (l *Place) Join(front clif.Inst, d *clif.InstData) {
	l.Def(&l.F.Insts[front], 0) // so that it is lowered
	l.joins = append(l.joins, joined{front, d})
}

// Joined returns the instruction whose result i has to define too, or nil. There are few: each waits for one that is near.
func (l *Query) Joined(i clif.Inst) *clif.InstData {
	for n := range l.joins {
		if l.joins[n].front == i {
			return l.joins[n].behind
		}
	}
	return nil
}

// DefBoth returns the registers of the results of front and of the instruction that it was joined with, which no longer waits.
func (l *Place) DefBoth(front clif.Inst) (first, second regalloc.VReg) {
	n := 0
	for l.joins[n].front != front {
		n++
	}
	behind := l.joins[n].behind
	l.joins[n] = l.joins[len(l.joins)-1]
	l.joins = l.joins[:len(l.joins)-1]
	return l.Def(&l.F.Insts[front], 0), l.Def(behind, 0)
}
