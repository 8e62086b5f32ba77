package local

import (
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
	"github.com/waot-project/waot/regalloc/parmove"
)

const numRegs = 64

// noValues is the contents of registers that hold nothing.
var noValues = func() (t [numRegs]uint32) {
	for r := range t {
		t[r] = none
	}
	return t
}()

// state is what registers hold at the present place.
type state struct {
	file [numRegs]uint32 // by register: the value in it, or none
	// full are the registers that hold values, without those that belong to a value; dirty those whose values are not in their homes.
	full, dirty regalloc.PRegSet
	touched     [numRegs]uint32 // by register: the position of the last use
	refs        []uint32        // references that may be live

	// base is file where a tree begins: registers that belong to values hold these. They are own; avail are the others.
	base  [numRegs]uint32
	own   regalloc.PRegSet
	avail [regalloc.NumClasses]regalloc.PRegSet
	best  [maxPinned]uint32

	pos   uint32             // of the present instruction
	need  uint32             // what is not used from this position on is dead
	point regalloc.ProgPoint // where edits go
	err   error
}

// put notes that v is in r now.
func (a *Allocator) put(r regalloc.PReg, v uint32) {
	a.file[r] = v
	a.values[v].where = r
	a.full = (a.full.Add(r)) &^ a.own
	a.touched[r] = a.pos
}

// free notes that r holds nothing that is needed.
func (a *Allocator) free(r regalloc.PReg) {
	a.file[r] = a.base[r]
	a.full, a.dirty = a.full.Remove(r), a.dirty.Remove(r)
}

// in reports whether x, which is v, is in its register.
func (a *Allocator) inReg(v uint32, x *value) bool { return a.file[x.where] == v }

// edit appends a move where the walk is.
func (a *Allocator) edit(from, to regalloc.Allocation, bytes uint8) {
	a.out.AppendMove(a.in, a.point, from, to, bytes)
}

// move appends a step of a parallel move where the walk is.
func (a *Allocator) move(m *parmove.Move) {
	if m.Swap {
		a.out.AppendSwap(a.in, a.point, m.From, m.To)
		return
	}
	a.edit(m.From, m.To, m.Bytes)
}

// remat makes v again in r.
func (a *Allocator) remat(v uint32, r regalloc.PReg) {
	a.out.AppendRemat(a.in, a.point, regalloc.VReg(v), regalloc.InReg(r))
}

// bring puts a copy of v into r, which then holds nothing else. It does not note it.
func (a *Allocator) bring(v uint32, x *value, r regalloc.PReg) {
	switch {
	case a.file[x.where] == v:
		if x.where != r {
			a.edit(regalloc.InReg(x.where), regalloc.InReg(r), x.bytes)
		}
	case x.flags&isRemat != 0:
		a.remat(v, r)
	case x.home == regalloc.NoAllocation:
		a.fail(flow.Undefined, v)
	default:
		a.edit(x.home, regalloc.InReg(r), x.bytes)
	}
}

func (a *Allocator) fail(k flow.ErrorKind, v uint32) {
	if a.err == nil {
		a.err = flow.Fail(k, uint32(a.point.Inst()), v)
	}
}

// store stores the value in r to its home.
func (a *Allocator) store(r regalloc.PReg) {
	x := &a.values[a.file[r]]
	if x.home == regalloc.NoAllocation {
		a.giveSlot(x)
	}
	a.edit(regalloc.InReg(r), x.home, x.bytes)
	a.dirty = a.dirty.Remove(r)
}

// evict frees r; if its value is needed and not in its home, it is stored.
func (a *Allocator) evict(r regalloc.PReg) {
	if a.dirty.Has(r) && a.values[a.file[r]].last >= a.need {
		a.store(r)
	}
	a.free(r)
}

// take returns a register of class c that is not forbidden and holds nothing from now on: hint if that is free.
func (a *Allocator) take(c regalloc.Class, forbidden regalloc.PRegSet, hint regalloc.PReg) regalloc.PReg {
	if empty := a.avail[c] &^ (a.full | forbidden); empty != 0 {
		if empty.Has(hint) {
			return hint
		}
		if cheap := empty &^ (a.env.CalleeSaved &^ a.out.Used); cheap != 0 {
			return cheap.First()
		}
		return empty.First()
	}
	return a.takeFull(c, forbidden)
}

// takeFull is take where no register is empty: of the values in registers, one that is dead, or in its home as well, gives way, or the one that
// has not been used for longest.
func (a *Allocator) takeFull(c regalloc.Class, forbidden regalloc.PRegSet) regalloc.PReg {
	best, cost := regalloc.NoPReg, ^uint64(0)
	for m := a.avail[c] & a.full &^ forbidden; m != 0; m &= m - 1 {
		r := m.First()
		n := uint64(a.touched[r])
		if a.values[a.file[r]].last >= a.need {
			n |= 1 << 32
			if a.dirty.Has(r) {
				n |= 1 << 33
			}
		}
		if n < cost {
			best, cost = r, n
		}
	}
	if best == regalloc.NoPReg {
		a.fail(flow.Unallocatable, none)
		return a.env.Order[c][0]
	}
	a.evict(best)
	return best
}

// fetch returns a register that holds v, and notes that it does: one that is not in bad, or, if it has to be brought there, not forbidden either.
func (a *Allocator) fetch(v uint32, bad, forbidden regalloc.PRegSet) regalloc.PReg {
	x := &a.values[v]
	r := x.where
	if a.file[r] == v && !bad.Has(r) {
		a.touched[r] = a.pos
		return r
	}
	t := a.take(x.class(), bad|forbidden, x.hint)
	a.relocate(v, x, t)
	return t
}

// relocate brings v to the register t and notes that it is only there, or in its home.
func (a *Allocator) relocate(v uint32, x *value, t regalloc.PReg) {
	r := x.where
	held := a.file[r] == v
	a.bring(v, x, t)
	if !held || x.pinned() {
		a.keepCopy(v, x, t)
		return
	}
	dirty := a.dirty.Has(r)
	a.free(r)
	a.put(t, v)
	if dirty {
		a.dirty = a.dirty.Add(t)
	}
}

// keepCopy notes that v, which has come from its home, is in t as well.
func (a *Allocator) keepCopy(v uint32, x *value, t regalloc.PReg) {
	if !x.pinned() {
		a.put(t, v)
	}
}
