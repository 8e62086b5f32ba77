package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// This file defines values that lowering wants in front of loops: vectors, such as the indices of a look-up, and places in memories. Blocks are lowered
// backwards, so the code in front of a loop is lowered later than the loop.

// SharedVector returns a register with a vector that the instruction being lowered does not overwrite. In a loop it is defined
// in front, and serves all who ask for the same vector.
func (l *Emit) SharedVector(low, high uint64) regalloc.VReg {
	lp := l.loopAround()
	if lp != nil {
		for n := lp.consts; n != 0 && l.list[n-1].inst == clif.NoInst; n = l.list[n-1].before {
			if c := &l.list[n-1]; !c.place && c.low == low && c.high == high {
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
func (l *Place) VectorInFront(low, high uint64, dst regalloc.VReg) bool {
	return l.placeVector(l.loopAround(), low, high, dst)
}

// loopAround returns the loop in front of which constants of the block being lowered go, or nil.
func (l *Place) loopAround() *loop {
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
func (l *Place) placeVector(lp *loop, low, high uint64, dst regalloc.VReg) bool {
	if lp == nil || lp.made == maxMade || !l.hasRoom(l.homeOf(l.Order, lp)) {
		return false
	}
	lp.made++
	l.putInFront(l.Order, lp, hoisted{inst: clif.NoInst, reg: dst, low: low, high: high})
	return true
}

// PlaceInFront returns a register with the address of offset in memory m, which is defined in front of the loop around the instruction being
// lowered, and serves all who ask for the same place. It reports whether there is a loop, and room. An access to the memory must be what asks.
func (l *Place) PlaceInFront(m clif.MemoryIndex, offset uint64) (regalloc.VReg, bool) {
	lp := l.loopAround()
	if lp == nil {
		return regalloc.NoVReg, false
	}
	for n := lp.consts; n != 0 && l.list[n-1].inst == clif.NoInst; n = l.list[n-1].before {
		if c := &l.list[n-1]; c.place && c.low == offset && c.high == uint64(m) {
			return c.reg, true
		}
	}
	if lp.places == maxPlaces || !l.hasRoom(l.homeOf(l.Order, lp)) {
		return regalloc.NoVReg, false
	}
	lp.places++
	v := l.NewVReg(clif.I64)
	l.putInFront(l.Order, lp, hoisted{inst: clif.NoInst, place: true, reg: v, low: offset, high: uint64(m)})
	return v, true
}
