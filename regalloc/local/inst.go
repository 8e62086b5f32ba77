package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// insts allocates the instructions of a block.
func (a *Allocator) insts(r regalloc.Range) {
	in := a.in
	start, _ := in.OperandRange(regalloc.Inst(r.Start))
	for i := r.Start; i < r.End; i++ {
		in.Stop.PollAt(int(i))
		a.pos++
		inst := &in.Insts[i]
		end := inst.OperandEnd
		if start == end && inst.Clobbers == 0 && inst.Flags&regalloc.Safepoint == 0 {
			continue
		}
		a.point, a.need = regalloc.Before(regalloc.Inst(i)), a.pos
		ops, allocs := in.Operands[start:end:end], a.out.Allocs[start:end:end]
		start = end
		def, tied, plain := shapeOf(ops)
		switch {
		case !plain || inst.Clobbers != 0 || inst.Flags&regalloc.Safepoint != 0:
			a.general(i, ops, allocs)
		case len(ops) == 1 && def == 0 && a.values[ops[0].VReg].flags&isRemat != 0:
			a.out.Stats.LeftOut++
			allocs[0] = regalloc.NoAllocation
		default:
			a.plain(ops, allocs, def, tied)
		}
		switch {
		case inst.Flags&regalloc.IsTerminator != 0:
			a.giveSlots(ops)
		case def >= 0 && plain:
			a.settle(i, ops[def].VReg)
		}
	}
}

// shapeOf returns the number of the only definition and of the use whose register it shares, or -1. An instruction is plain if it has no other definition
// and only uses and definitions that may share registers, and names no place.
func shapeOf(ops []regalloc.Operand) (def, tied int, plain bool) {
	def, tied = -1, -1
	for k := range ops {
		o := &ops[k]
		switch {
		case o.Constraint == regalloc.Fixed || o.Constraint == regalloc.FixedArg || o.Access == regalloc.LateUse || o.Access == regalloc.EarlyDef:
			return -1, -1, false
		case o.Access == regalloc.Use:
			continue
		case def >= 0:
			return -1, -1, false
		}
		def = k
		if o.Constraint == regalloc.Reuse {
			tied = int(o.Arg)
		}
	}
	return def, tied, true
}

// plain allocates a plain instruction.
func (a *Allocator) plain(ops []regalloc.Operand, allocs []regalloc.Allocation, def, tied int) {
	var held regalloc.PRegSet
	for k := range ops {
		o := &ops[k]
		if k == tied || k == def {
			continue
		}
		if m := a.memory(o, held); m != regalloc.NoAllocation {
			allocs[k] = m
			continue
		}
		r := a.fetch(uint32(o.VReg), 0, held)
		held = held.Add(r)
		allocs[k] = regalloc.InReg(r)
	}
	var t regalloc.PReg
	if tied >= 0 {
		t = a.fetchTied(ops[tied].VReg, ops[def].VReg, held, 0)
		allocs[tied] = regalloc.InReg(t)
	}
	a.freeDead(ops)
	if def < 0 {
		return
	}
	a.need = a.pos + 1
	v := uint32(ops[def].VReg)
	x := &a.values[v]
	if tied < 0 {
		t = a.target(x, 0)
	}
	allocs[def] = regalloc.InReg(t)
	a.define(v, x, t)
}

// memory returns where o may be read in memory, or NoAllocation: if its value is in no register, and this is its last use, or
// no register is empty. Registers that are held it cannot have.
func (a *Allocator) memory(o *regalloc.Operand, held regalloc.PRegSet) regalloc.Allocation {
	x := &a.values[o.VReg]
	if o.Constraint != regalloc.Any || a.inReg(uint32(o.VReg), x) {
		return regalloc.NoAllocation
	}
	able := a.avail[x.class()]
	switch {
	case x.flags&isRemat != 0:
		if able&^held == 0 {
			a.rematInSlot(uint32(o.VReg), x)
			return x.home
		}
		return regalloc.NoAllocation
	case x.last > a.pos && able&^(a.full|held) != 0:
		return regalloc.NoAllocation
	}
	return x.home
}

// fetchTied returns a register with a copy of u that an instruction overwrites with its definition v: none that is held or bad.
func (a *Allocator) fetchTied(u, v regalloc.VReg, held, bad regalloc.PRegSet) regalloc.PReg {
	from, to := &a.values[u], &a.values[v]
	if to.pinned() {
		t := to.home.Reg()
		a.bring(uint32(u), from, t)
		return t
	}
	if a.inReg(uint32(u), from) {
		if r := from.where; from.last <= a.pos && !a.own.Has(r) && !bad.Has(r) {
			return r
		}
		held = held.Add(from.where)
	}
	t := a.take(to.class(), held|bad, a.wish(to))
	a.bring(uint32(u), from, t)
	return t
}

// wish returns the register in which x would be best: that of the parameter for which it is passed, or one that a use names.
func (a *Allocator) wish(x *value) regalloc.PReg {
	if x.link != none {
		if e := a.values[x.link].entry; e.IsReg() {
			return e.Reg()
		}
	}
	return x.hint
}

// target returns a register for the definition of x that is not forbidden.
func (a *Allocator) target(x *value, forbidden regalloc.PRegSet) regalloc.PReg {
	if x.pinned() {
		return x.home.Reg()
	}
	if r, ok := a.lent(x); ok && !forbidden.Has(r) {
		return r
	}
	return a.take(x.class(), forbidden, a.wish(x))
}

// lent returns the register that belongs to the parameter for which x is passed, if that parameter is dead until then: behind the present instruction, or
// in front of it already where early definitions are served, whose registers no read may share.
func (a *Allocator) lent(x *value) (r regalloc.PReg, ok bool) {
	if x.link == none || a.unordered {
		return r, false
	}
	p := &a.values[x.link]
	if !p.pinned() || p.end >= a.need {
		return r, false
	}
	r = p.home.Reg()
	return r, a.file[r] == a.base[r]
}

// freeDead frees the registers of values that have no more uses.
func (a *Allocator) freeDead(ops []regalloc.Operand) {
	for k := range ops {
		v := uint32(ops[k].VReg)
		if x := &a.values[v]; ops[k].Access.Reads() && x.last <= a.pos && a.inReg(v, x) {
			a.free(x.where)
		}
	}
}

// define notes that v is defined in r.
func (a *Allocator) define(v uint32, x *value, r regalloc.PReg) {
	a.out.Used = a.out.Used.Add(r)
	if x.last == 0 || x.pinned() {
		return
	}
	a.put(r, v)
	a.dirty = a.dirty.Add(r)
	if x.flags&(isRef|isRemat) == isRef {
		a.refs = stop.Append(a.in.Stop, a.refs, v)
	}
}

// settle stores v, which i has defined, if it is used in other trees.
func (a *Allocator) settle(i uint32, v regalloc.VReg) {
	x := &a.values[v]
	if x.flags&(isGlobal|isRemat) == isGlobal && !x.pinned() && a.inReg(uint32(v), x) && a.dirty.Has(x.where) {
		a.point = regalloc.After(regalloc.Inst(i))
		a.store(x.where)
	}
}

// giveSlots gives slots to what a terminator defines and other trees use, as they may come before the successors, which store it.
func (a *Allocator) giveSlots(ops []regalloc.Operand) {
	for k := range ops {
		if x := &a.values[ops[k].VReg]; ops[k].Access.Defines() && x.flags&(isGlobal|isRemat) == isGlobal && x.home == regalloc.NoAllocation {
			a.giveSlot(x)
		}
	}
}
