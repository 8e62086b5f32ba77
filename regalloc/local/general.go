package local

import (
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// demand is what one instruction asks of registers. Those for which the fewest registers will do are served first: named registers, then
// operands that live from the reads to the writes, then others.
type demand struct {
	i      uint32
	ops    []regalloc.Operand
	allocs []regalloc.Allocation
	lost   regalloc.Clobbers
	// Registers that uses name, and that definitions name, by way of uses also; early are those named by early definitions.
	fixedUse, fixedDef, fixedEarly regalloc.PRegSet
	// held are the registers given to reads, throughout those that nothing else may have until the end.
	held, throughout regalloc.PRegSet
	safepoint        bool
	// crowded: there might be too few registers if operands had some that may be in slots.
	crowded bool
}

// general allocates any instruction.
func (a *Allocator) general(i uint32, ops []regalloc.Operand, allocs []regalloc.Allocation) {
	inst := &a.in.Insts[i]
	if inst.Flags&regalloc.IsTailCall != 0 {
		a.tailCall(ops, allocs)
		return
	}
	d := demand{i: i, ops: ops, allocs: allocs, lost: a.in.ClobberSets[inst.Clobbers], safepoint: inst.Flags&regalloc.Safepoint != 0}
	for k := range ops {
		o := &ops[k]
		if o.Constraint == regalloc.Reuse && ops[o.Arg].Constraint == regalloc.Fixed {
			d.fixedDef = d.fixedDef.Add(ops[o.Arg].PReg())
		}
		switch {
		case o.Constraint != regalloc.Fixed:
		case o.Access.Reads():
			d.fixedUse = d.fixedUse.Add(o.PReg())
		default:
			d.fixedDef = d.fixedDef.Add(o.PReg())
			if o.Access == regalloc.EarlyDef {
				d.fixedEarly = d.fixedEarly.Add(o.PReg())
			}
		}
	}
	d.crowded = a.crowded(&d)
	a.fixedUses(&d)
	if d.lost.High != d.lost.Low {
		a.throughout(&d, true)
	}
	a.throughout(&d, false)
	a.plainUses(&d)
	a.need = a.pos + 1
	a.spare(&d)
	if d.safepoint {
		a.safepoint(&d)
	}
	a.freeDead(ops)
	a.definitions(&d)
	if inst.Flags&regalloc.IsTerminator == 0 {
		for k := range ops {
			if ops[k].Access.Defines() {
				a.settleGeneral(&d, k)
			}
		}
	}
}

// crowded computes demand.crowded.
func (a *Allocator) crowded(d *demand) bool {
	named := d.fixedUse | d.fixedDef | d.lost.Low | d.lost.High
	n := 0 // operands in registers that they do not name
	for k := range d.ops {
		if d.ops[k].Constraint != regalloc.Fixed {
			n++
		}
	}
	for c := range a.avail {
		if n > (a.avail[c] &^ named).Len() {
			return true
		}
	}
	return false
}

// fixedUses brings values to the registers that their uses name, and frees those of early definitions.
func (a *Allocator) fixedUses(d *demand) {
	named := d.fixedUse | d.fixedDef
	for m := d.fixedEarly & a.full; m != 0; m &= m - 1 {
		a.displace(m.First(), named, d.lost.Low)
	}
	for k := range d.ops {
		o := &d.ops[k]
		if o.Constraint != regalloc.Fixed || !o.Access.Reads() {
			continue
		}
		v, p := uint32(o.VReg), o.PReg()
		d.allocs[k] = regalloc.InReg(p)
		d.held = d.held.Add(p)
		if o.Access == regalloc.LateUse {
			d.throughout = d.throughout.Add(p)
		}
		if a.file[p] == v || d.copied(k) {
			continue
		}
		if a.full.Has(p) {
			a.displace(p, named|d.held, d.lost.Low)
		}
		x := &a.values[v]
		elsewhere := a.inReg(v, x)
		a.bring(v, x, p)
		if !elsewhere {
			a.keepCopy(v, x, p)
		}
	}
}

// copied reports whether an operand in front of number k reads the same value in the same register.
func (d *demand) copied(k int) bool {
	for j := range d.ops[:k] {
		if d.ops[j].VReg == d.ops[k].VReg && d.ops[j].Access.Reads() && d.ops[j].Constraint == regalloc.Fixed && d.ops[j].Arg == d.ops[k].Arg {
			return true
		}
	}
	return false
}

// displace takes r away from its value, which moves to an empty register if there is one, to one that is not named and not lost if its life goes on.
func (a *Allocator) displace(r regalloc.PReg, named, lost regalloc.PRegSet) {
	x := &a.values[a.file[r]]
	if x.last < a.need {
		a.free(r)
		return
	}
	empty := a.avail[x.class()] &^ (a.full | named)
	if x.last > a.pos {
		empty &^= lost
	}
	if cheap := empty &^ (a.env.CalleeSaved &^ a.out.Used); cheap != 0 {
		a.relocate(a.file[r], x, cheap.First())
		return
	}
	a.evict(r)
}

// throughout serves operands that nothing may share a register with from the reads to the writes, of 16 bytes or of fewer: late uses, early definitions,
// and uses tied to definitions.
func (a *Allocator) throughout(d *demand, wide bool) {
	for k := range d.ops {
		o := &d.ops[k]
		x := &a.values[o.VReg]
		if o.Access == regalloc.Use && o.Constraint != regalloc.Reuse || d.lost.High != d.lost.Low && (x.flags&isWide != 0) != wide {
			continue
		}
		bad := d.fixedDef | d.lost.Lost(x.bytes)
		switch {
		case o.Constraint == regalloc.Fixed || o.Constraint == regalloc.FixedArg || o.Access == regalloc.Def && o.Constraint != regalloc.Reuse:
		case o.Access == regalloc.LateUse:
			a.lateUse(d, k, bad)
		case o.Constraint == regalloc.Reuse:
			a.tiedUse(d, k, bad)
		case o.Constraint == regalloc.Any && d.crowded && !x.pinned():
			a.defineInSlot(d, k)
		default:
			r := a.target(x, bad|d.held|d.fixedUse)
			d.allocs[k] = regalloc.InReg(r)
			d.held, d.throughout = d.held.Add(r), d.throughout.Add(r)
		}
	}
}

// lateUse serves operand k, a late use; bad are registers in which its value would not survive.
func (a *Allocator) lateUse(d *demand, k int, bad regalloc.PRegSet) {
	o := &d.ops[k]
	v, x := uint32(o.VReg), &a.values[o.VReg]
	// A reference would be lost in a register. A register of its own takes none from others, and is to be kept from definitions.
	if o.Constraint == regalloc.Any && !x.pinned() && (d.crowded || d.safepoint && x.flags&isRef != 0) {
		switch held := a.inReg(v, x); {
		case !held && x.flags&isRemat != 0:
			a.rematInSlot(v, x)
		case held && (a.dirty.Has(x.where) || x.flags&isRemat != 0):
			a.store(x.where)
		}
		d.allocs[k] = x.home
		return
	}
	r := a.fetch(v, bad, d.held|d.fixedUse)
	d.allocs[k] = regalloc.InReg(r)
	d.held, d.throughout = d.held.Add(r), d.throughout.Add(r)
}

// tiedUse serves operand k, a definition, and the use whose register it shares.
func (a *Allocator) tiedUse(d *demand, k int, bad regalloc.PRegSet) {
	use := int(d.ops[k].Arg)
	if d.ops[use].Constraint == regalloc.Fixed {
		d.allocs[k] = d.allocs[use]
		d.throughout = d.throughout.Add(d.allocs[use].Reg())
		return
	}
	r := a.fetchTied(d.ops[use].VReg, d.ops[k].VReg, d.held|d.fixedUse, bad|d.throughout|d.fixedUse)
	d.allocs[use], d.allocs[k] = regalloc.InReg(r), regalloc.InReg(r)
	d.held, d.throughout = d.held.Add(r), d.throughout.Add(r)
}

// plainUses serves the other uses.
func (a *Allocator) plainUses(d *demand) {
	for pass := range 2 { // those that may be in memory come last
		for k := range d.ops {
			o := &d.ops[k]
			if o.Access != regalloc.Use || o.Constraint == regalloc.Fixed || (o.Constraint == regalloc.Any) != (pass == 1) || d.tied(k) {
				continue
			}
			if pass == 1 {
				if m := a.memory(o, d.held|d.fixedUse); m != regalloc.NoAllocation {
					d.allocs[k] = m
					continue
				}
			}
			r := a.fetch(uint32(o.VReg), d.fixedEarly, d.held|d.fixedUse)
			d.allocs[k] = regalloc.InReg(r)
			d.held = d.held.Add(r)
		}
	}
}

// tied reports whether some definition shares the register of operand k.
func (d *demand) tied(k int) bool {
	for j := range d.ops {
		if d.ops[j].Constraint == regalloc.Reuse && int(d.ops[j].Arg) == k {
			return true
		}
	}
	return false
}

// spare stores the values that the instruction takes out of their registers and that are used later. Its own reads still find them there.
func (a *Allocator) spare(d *demand) {
	for m := (d.lost.Low | d.lost.High | d.fixedDef) & a.full; m != 0; m &= m - 1 {
		r := m.First()
		x := &a.values[a.file[r]]
		if (d.lost.Lost(x.bytes) | d.fixedDef).Has(r) {
			a.evict(r)
		}
	}
}

// safepoint stores the references that live on, and lists their slots.
func (a *Allocator) safepoint(d *demand) {
	if a.countRefs(&a.refCalls, a.refs) {
		return
	}
	out := a.out
	start := uint32(len(out.StackMapSlots))
	live := a.refs[:0]
	for _, v := range a.refs {
		a.in.Stop.Poll()
		x := &a.values[v]
		if a.refEnd[v] <= a.pos && !d.keeps(v) {
			continue
		}
		live = append(live, v)
		if a.inReg(v, x) && a.dirty.Has(x.where) {
			a.store(x.where)
		}
		out.StackMapSlots = stop.Append(a.in.Stop, out.StackMapSlots, uint32(x.home.Index()))
	}
	a.refs = live
	for m := a.full; a.hasRefs && m != 0; m &= m - 1 {
		if r := m.First(); a.values[a.file[r]].flags&isRef != 0 {
			a.free(r)
		}
	}
	slices.Sort(out.StackMapSlots[start:])
	list := regalloc.Range{Start: start, End: uint32(len(out.StackMapSlots))}
	if n := len(out.StackMaps); n > 0 {
		// Calls in a row with the same references share a list.
		if last := out.StackMaps[n-1].Slots; slices.Equal(out.StackMapSlots[last.Start:last.End], out.StackMapSlots[start:]) {
			list, out.StackMapSlots = last, out.StackMapSlots[:start]
		}
	}
	out.StackMaps = stop.Append(a.in.Stop, out.StackMaps, regalloc.StackMap{Inst: regalloc.Inst(d.i), Slots: list})
}

// keeps reports whether v, a reference, is read late in a slot.
func (d *demand) keeps(v uint32) bool {
	for k := range d.ops {
		if o := &d.ops[k]; uint32(o.VReg) == v && o.Access == regalloc.LateUse && d.allocs[k].IsSlot() {
			return true
		}
	}
	return false
}

// definitions gives the definitions places.
func (a *Allocator) definitions(d *demand) {
	taken := d.throughout | d.fixedDef
	for k := range d.ops {
		o := &d.ops[k]
		if !o.Access.Defines() {
			continue
		}
		v, x := uint32(o.VReg), &a.values[o.VReg]
		switch o.Constraint {
		case regalloc.FixedArg:
			d.allocs[k] = regalloc.InArg(int(o.Arg))
			continue
		case regalloc.Fixed:
			d.allocs[k] = regalloc.InReg(o.PReg())
			a.out.Used = a.out.Used.Add(o.PReg())
			if !x.pinned() {
				a.define(v, x, o.PReg())
			}
			continue
		case regalloc.Reuse:
		default:
			if o.Access == regalloc.EarlyDef && d.allocs[k].IsSlot() {
				continue
			} else if o.Access == regalloc.EarlyDef {
				break
			}
			forbidden := taken | d.lost.Lost(x.bytes)
			if o.Constraint == regalloc.Any && !x.pinned() && d.crowded {
				a.defineInSlot(d, k)
				continue
			}
			r := a.target(x, forbidden)
			d.allocs[k] = regalloc.InReg(r)
			taken = taken.Add(r)
		}
		a.define(v, x, d.allocs[k].Reg())
	}
}

// defineInSlot gives definition k a slot.
func (a *Allocator) defineInSlot(d *demand, k int) {
	v, x := uint32(d.ops[k].VReg), &a.values[d.ops[k].VReg]
	if x.home == regalloc.NoAllocation {
		a.giveSlot(x)
	}
	d.allocs[k] = x.home
	if x.flags&isRef != 0 && x.last != 0 {
		a.refs = stop.Append(a.in.Stop, a.refs, v)
	}
}

// settleGeneral brings definition k to where it has to be behind the instruction.
func (a *Allocator) settleGeneral(d *demand, k int) {
	o := &d.ops[k]
	x := &a.values[o.VReg]
	a.point = regalloc.After(regalloc.Inst(d.i))
	switch {
	case x.pinned() && d.allocs[k] != x.home:
		a.edit(d.allocs[k], x.home, x.bytes)
	case o.Constraint == regalloc.FixedArg && x.flags&isRef != 0 && x.last != 0:
		// References in argument words are not known at safepoints.
		if x.home == regalloc.NoAllocation {
			a.giveSlot(x)
		}
		scratch := regalloc.InReg(a.env.Scratch[regalloc.Float])
		a.edit(d.allocs[k], scratch, x.bytes)
		a.edit(scratch, x.home, x.bytes)
		a.refs = stop.Append(a.in.Stop, a.refs, uint32(o.VReg))
	default:
		a.settle(d.i, o.VReg)
	}
}
