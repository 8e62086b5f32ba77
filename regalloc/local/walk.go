package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/parmove"
)

// walker is the state of the walk over blocks.
type walker struct {
	saved   []saved
	savedOf []uint32 // by block: the index of its state at the end, or none
	held    []holding
	// refEdges and refCalls are how many pairs there are of an edge, or a safepoint, and a reference that is looked at there, as it may be live.
	refEdges, refCalls int

	group, ordered []parmove.Move
	remats         []rematMove
	between        int // moves of group from memory to memory
}

// saved is the state at the end of a block, for successors that are not next.
type saved struct {
	held  regalloc.Range // of walker.held
	dirty regalloc.PRegSet
}

// holding is a register and what it holds.
type holding struct {
	v uint32
	r regalloc.PReg
}

// rematMove is a value to be made again at the end of a block, and where.
type rematMove struct {
	v  uint32
	to regalloc.Allocation
}

// walk goes through the blocks.
func (a *Allocator) walk() error {
	in := a.in
	a.saved, a.held = a.saved[:0], a.held[:0]
	a.savedOf = stop.Resize(in.Stop, a.savedOf, len(in.Blocks))
	a.slots.reset()
	a.resetMeetings()
	a.pos, a.refEdges, a.refCalls, a.err = 0, 0, 0, nil
	if a.unordered {
		a.giveAllSlots()
	}
	a.touched = [numRegs]uint32{}
	a.file, a.full, a.dirty = a.base, 0, 0
	for n, b := range a.order {
		in.Stop.Poll()
		a.enterRefs(b)
		if n > 0 {
			a.enter(b, a.order[n-1])
		}
		a.insts(in.Blocks[b].Insts)
		a.leave(b, n)
		if a.err != nil {
			return a.err
		}
	}
	a.out.SlotWords = len(a.words)
	return nil
}

// giveAllSlots gives slots to all values that are used in several trees, as uses may come before definitions.
func (a *Allocator) giveAllSlots() {
	for k, v := range a.globals {
		a.in.Stop.PollAt(k)
		if x := &a.values[v]; x.home == regalloc.NoAllocation {
			a.giveSlot(x)
		}
	}
}

// enter makes the state at the start of b; the walk comes from the block last.
func (a *Allocator) enter(b, last uint32) {
	info := &a.in.Blocks[b]
	a.point, a.need = regalloc.Before(regalloc.Inst(info.Insts.Start)), a.pos+1
	p := a.parent(b)
	if p == none {
		a.enterRoot(b)
		return
	}
	if p != last {
		a.restore(a.saved[a.savedOf[p]])
	}
	if a.definesAtEnd(p) {
		if a.throwsTo(p, b) {
			a.undefine(p)
		}
		a.storeGlobals()
	}
	if info.Params.Len() > 0 {
		a.enterParams(b)
	}
}

// enterRoot makes the state at the start of a root.
func (a *Allocator) enterRoot(b uint32) {
	a.file, a.full, a.dirty = a.base, 0, 0
	params := a.in.ParamsOf(regalloc.Block(b))
	if len(params) > 0 {
		a.placeParams(b, params, nil)
		for _, p := range params {
			a.in.Stop.Poll()
			x := &a.values[p]
			if x.flags&isRef != 0 && x.last != 0 {
				a.refs = append(a.refs, uint32(p))
			}
			if x.entry.IsReg() && !x.pinned() {
				r := x.entry.Reg()
				a.put(r, uint32(p))
				a.dirty = a.dirty.Add(r)
				if x.flags&isGlobal != 0 {
					a.store(r)
				}
			}
		}
	}
	a.enterMet(b)
}

// enterMet notes what all ways to b have in registers, but for those of parameters.
func (a *Allocator) enterMet(b uint32) {
	k := a.at[b]
	if k == none {
		return
	}
	held := a.met(b)
	kept := held[:0]
	for _, h := range held {
		if !a.full.Has(h.r) {
			a.put(h.r, h.v)
			kept = append(kept, h)
		}
	}
	a.all[k].held.End = a.all[k].held.Start + uint32(len(kept))
}

// definesAtEnd reports whether the terminator of b defines values.
func (fn *function) definesAtEnd(b uint32) bool {
	ops := fn.in.OperandsOf(regalloc.Inst(fn.in.Blocks[b].Insts.End - 1))
	for k := range ops {
		if ops[k].Access.Defines() {
			return true
		}
	}
	return false
}

// throwsTo reports whether b is the handler of the call that ends its predecessor p.
func (fn *function) throwsTo(p, b uint32) bool {
	info := &fn.in.Blocks[p]
	return fn.in.Insts[info.Insts.End-1].Flags&regalloc.MayThrow != 0 && uint32(fn.in.Edges[info.Succs.Start].To) != b
}

// undefine forgets what the terminator of p defines: registers do not hold it where the call has thrown.
func (a *Allocator) undefine(p uint32) {
	ops := a.in.OperandsOf(regalloc.Inst(a.in.Blocks[p].Insts.End - 1))
	for k := range ops {
		v := uint32(ops[k].VReg)
		if x := &a.values[v]; ops[k].Access.Defines() && !x.pinned() && a.inReg(v, x) {
			a.free(x.where)
		}
	}
}

// storeGlobals stores what is used in other trees and could not be stored behind the terminator that defines it.
func (a *Allocator) storeGlobals() {
	for m := a.dirty; m != 0; m &= m - 1 {
		if r := m.First(); a.values[a.file[r]].flags&isGlobal != 0 {
			a.store(r)
		}
	}
}

// enterParams copies the arguments for the parameters of b, which is no root.
func (a *Allocator) enterParams(b uint32) {
	a.pos++ // the arguments are used here
	args := a.in.ArgsOf(*a.edgeTo(b))
	for k, p := range a.in.ParamsOf(regalloc.Block(b)) {
		a.in.Stop.Poll()
		x := &a.values[p]
		if x.last == 0 {
			continue
		}
		if x.pinned() {
			a.bring(uint32(args[k]), &a.values[args[k]], x.where)
			continue
		}
		from := &a.values[args[k]]
		keep := regalloc.PRegSet(0)
		if a.inReg(uint32(args[k]), from) {
			keep = regalloc.SetOf(from.where)
		}
		r := a.take(x.class(), keep, x.hint)
		a.bring(uint32(args[k]), from, r)
		a.define(uint32(p), x, r)
		if x.flags&isGlobal != 0 {
			a.store(r)
		}
	}
	a.pos--
}

// save keeps the present state for the successors of b.
func (a *Allocator) save(b uint32) {
	s := saved{dirty: a.dirty}
	s.held.Start = uint32(len(a.held))
	for m := a.full | a.own; m != 0; m &= m - 1 {
		if r := m.First(); a.file[r] != a.base[r] {
			a.held = stop.Append(a.in.Stop, a.held, holding{a.file[r], r})
		}
	}
	s.held.End = uint32(len(a.held))
	a.savedOf[b] = uint32(len(a.saved))
	a.saved = stop.Append(a.in.Stop, a.saved, s)
}

// restore makes s the present state, without what is dead.
func (a *Allocator) restore(s saved) {
	a.file, a.full, a.dirty = a.base, 0, 0
	for _, h := range a.held[s.held.Start:s.held.End] {
		if x := &a.values[h.v]; x.last >= a.need || x.flags&isGlobal != 0 && s.dirty.Has(h.r) {
			a.put(h.r, h.v)
		}
	}
	a.dirty = s.dirty & (a.full | a.own)
}

// leave ends b, number n of the order: it takes its edges, or keeps the state for blocks that begin with it.
func (a *Allocator) leave(b uint32, n int) {
	succs := a.in.SuccsOf(regalloc.Block(b))
	switch {
	case len(succs) == 0:
	case len(succs) == 1 && a.tree[succs[0].To] == uint32(succs[0].To):
		a.point = regalloc.Before(regalloc.Inst(a.in.Blocks[b].Insts.End - 1))
		if succs[0].Args.Len() > 0 {
			a.passArgs(&succs[0])
		}
		a.meet(b, uint32(succs[0].To))
	case len(succs) > 1 || n+1 == len(a.order) || a.order[n+1] != uint32(succs[0].To):
		a.save(b)
	}
}

// passArgs moves the arguments of an edge to a root.
func (a *Allocator) passArgs(e *regalloc.Edge) {
	params, args := a.in.ParamsOf(e.To), a.in.ArgsOf(*e)
	a.placeParams(uint32(e.To), params, args)
	a.beginPass()
	for k, p := range params {
		a.in.Stop.PollAt(k)
		if to := a.values[p].entry; to != regalloc.NoAllocation {
			a.pass(uint32(args[k]), to)
		}
	}
	a.endPass()
}

// tailCall brings what a tail call reads to the places that its operands name. Nothing is live behind it, and it alone changes argument words, in which
// values may have their homes: so all moves are one parallel move.
func (a *Allocator) tailCall(ops []regalloc.Operand, allocs []regalloc.Allocation) {
	a.beginPass()
	for k := range ops {
		a.in.Stop.PollAt(k)
		o := &ops[k]
		if allocs[k] = regalloc.InReg(o.PReg()); o.Constraint == regalloc.FixedArg {
			allocs[k] = regalloc.InArg(int(o.Arg))
		}
		a.pass(uint32(o.VReg), allocs[k])
	}
	a.endPass()
}

// beginPass begins a parallel move, of what pass says, which endPass ends.
func (a *Allocator) beginPass() { a.group, a.remats, a.between = a.group[:0], a.remats[:0], 0 }

// pass brings v to the place to.
func (a *Allocator) pass(v uint32, to regalloc.Allocation) {
	x := &a.values[v]
	from := x.home
	switch {
	case a.file[x.where] == v:
		from = regalloc.InReg(x.where)
	case x.flags&isRemat != 0:
		a.remats = stop.Append(a.in.Stop, a.remats, rematMove{v, to})
		return
	}
	if from == to {
		return
	}
	if from.IsMem() && to.IsMem() {
		a.between++
	}
	a.group = stop.Append(a.in.Stop, a.group, parmove.Move{From: from, To: to, Bytes: x.bytes})
}

func (a *Allocator) endPass() {
	switch {
	case len(a.group) == 0:
	case len(a.group) == 1 && a.between == 0:
		m := &a.group[0]
		a.edit(m.From, m.To, m.Bytes)
	default:
		env := parmove.Env{Scratch: a.env.Scratch, Swaps: a.env.Swaps}
		if aside := a.moves.SetAside(a.group); a.between > 1 || aside > 0 {
			env.Extra = a.extraSlot(max(1, aside))
		}
		a.ordered = a.moves.Resolve(a.ordered[:0], a.group, env)
		for k := range a.ordered {
			a.move(&a.ordered[k])
		}
	}
	a.passRemats()
}

// passRemats makes values again, which reads nothing and so comes last.
func (a *Allocator) passRemats() {
	for _, m := range a.remats {
		a.in.Stop.Poll()
		if m.to.IsMem() {
			a.rematToSlot(m)
		}
	}
	for _, m := range a.remats {
		if m.to.IsReg() {
			a.remat(m.v, m.to.Reg())
		}
	}
}

// rematToSlot makes a value again in a slot: straight, if the machine can, or else by way of a register, which the scratch register saves meanwhile.
func (a *Allocator) rematToSlot(m rematMove) {
	if a.in.VRegs[m.v].Storable {
		a.out.AppendStoreConst(a.in, a.point, regalloc.VReg(m.v), m.to)
		return
	}
	x := &a.values[m.v]
	r := a.env.Order[x.class()][0]
	reg, scratch, width := regalloc.InReg(r), regalloc.InReg(a.env.Scratch[regalloc.Float]), uint8(8)
	if x.flags&isFloat != 0 {
		width = 16
	}
	a.edit(reg, scratch, width)
	a.remat(m.v, r)
	a.edit(reg, m.to, x.bytes)
	a.edit(scratch, reg, width)
}

// rematInSlot makes v again in a slot of its own, where no register is left for it.
func (a *Allocator) rematInSlot(v uint32, x *value) {
	if x.home == regalloc.NoAllocation {
		a.giveSlot(x)
	}
	a.rematToSlot(rematMove{v, x.home})
}

// placeParams says where the parameters of b, a root, are at its start, unless that is said already: the present state is that of the end of a predecessor,
// which passes args, or there are none.
func (a *Allocator) placeParams(b uint32, params, args []regalloc.VReg) {
	var chosen regalloc.PRegSet
	for k, p := range params {
		a.in.Stop.PollAt(k)
		x := &a.values[p]
		if x.entry != regalloc.NoAllocation {
			return // all are placed at once, and those in front of it have no uses
		}
		switch {
		case x.last == 0:
			continue
		case x.home != regalloc.NoAllocation:
			x.entry = x.home
			continue
		}
		var v uint32
		var arg *value
		if args != nil {
			v, arg = uint32(args[k]), &a.values[args[k]]
		}
		empty := a.avail[x.class()] &^ chosen
		if empty == 0 || x.flags&isGlobal != 0 {
			a.giveParamSlot(x, arg, a.starts[b])
			if empty == 0 || arg != nil && arg.home == x.home && !a.inReg(v, arg) {
				x.entry = x.home
				continue
			}
		}
		r := a.entryRegister(x, empty, k, args)
		chosen = chosen.Add(r)
		x.entry = regalloc.InReg(r)
	}
}

// entryRegister chooses a register for x, parameter number k, out of the given ones.
func (a *Allocator) entryRegister(x *value, empty regalloc.PRegSet, k int, args []regalloc.VReg) regalloc.PReg {
	if args != nil {
		v, arg := uint32(args[k]), &a.values[args[k]]
		if a.inReg(v, arg) && empty.Has(arg.where) {
			return arg.where
		}
	}
	if empty.Has(x.hint) {
		return x.hint
	}
	if cheap := empty &^ (a.env.CalleeSaved &^ a.out.Used); cheap != 0 {
		return cheap.First()
	}
	return empty.First()
}
