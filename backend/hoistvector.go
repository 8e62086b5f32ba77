package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// This file defines vectors in front of loops that lowering asks for, such as the indices of a look-up. Blocks are lowered backwards,
// so what stands in front of a loop is still to come then.

// SharedVector returns a register with a vector that the instruction being lowered does not overwrite. In a loop it is defined
// in front, and serves all who ask for the same vector.
func (l *Lower) SharedVector(low, high uint64) regalloc.VReg {
	lp := l.loopAround()
	if lp != nil {
		for n := lp.consts; n != 0 && l.list[n-1].inst == clif.NoInst; n = l.list[n-1].before {
			if c := &l.list[n-1]; c.low == low && c.high == high {
				return c.reg
			}
		}
	}
	v := l.NewVReg(clif.V128)
	if !l.placeVector(lp, low, high, v) {
		l.Target.VectorConst(l, low, high, v)
	}
	return v
}

// VectorInFront defines dst as a vector in front of the loop around the instruction being lowered. It reports whether there is a loop,
// and room.
func (l *Lower) VectorInFront(low, high uint64, dst regalloc.VReg) bool {
	return l.placeVector(l.loopAround(), low, high, dst)
}

// loopAround returns the loop in front of which constants of the block being lowered go, or nil.
func (l *Lower) loopAround() *loop {
	if !l.found && !l.flat() {
		l.findLoops(l.F, l.Order)
	}
	front := l.frontOf(l.block)
	if front < 0 {
		return nil
	}
	return &l.loops[front]
}

// placeVector places the definition of dst in front of lp, if that is a loop and has room.
func (l *Lower) placeVector(lp *loop, low, high uint64, dst regalloc.VReg) bool {
	if lp == nil || lp.made == maxMade || !l.hasRoom(l.homeOf(l.Order, lp)) {
		return false
	}
	lp.made++
	l.putInFront(l.Order, lp, hoisted{inst: clif.NoInst, reg: dst, low: low, high: high})
	return true
}
