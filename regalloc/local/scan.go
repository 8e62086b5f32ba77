package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// scanner is what the scan finds besides what it notes of values.
type scanner struct {
	globals []uint32 // values used in other trees than that of their definition
	uses    []use
	starts  []uint32 // by root: the position in front of it
	lastIn  []uint32 // by root: the position at the end of its last predecessor
	// named are the registers that operands name or instructions clobber, needs how many registers of a class any instruction
	// may need at once.
	named regalloc.PRegSet
	needs [regalloc.NumClasses]int
}

// use is a tree in which a value is used that another one defines, in a list.
type use struct{ tree, next uint32 }

// maxWeighed is the depth of loops up to which deeper ones weigh more, each weightShift bits.
const maxWeighed, weightShift = 4, 3

// scan goes through the operands.
func (a *Allocator) scan() {
	in := a.in
	a.globals, a.uses = a.globals[:0], a.uses[:0]
	a.lastIn = stop.Resize(in.Stop, a.lastIn, len(in.Blocks))
	a.starts = stop.Resize(in.Stop, a.starts, len(in.Blocks))
	a.named, a.needs = 0, [regalloc.NumClasses]int{}
	pos := uint32(0)
	for _, b := range a.order {
		tree, info := a.tree[b], &in.Blocks[b]
		w := uint32(1) << (weightShift * min(info.LoopDepth, maxWeighed))
		a.starts[b] = pos
		for _, p := range in.ParamsOf(regalloc.Block(b)) {
			x := &a.values[p]
			x.tree, x.def, x.weight = tree, pos, w
		}
		if tree != b && info.Params.Len() > 0 {
			for _, v := range in.ArgsOf(*a.edgeTo(b)) {
				a.used(uint32(v), tree, pos+1, w)
			}
		}
		pos = a.scanInsts(info.Insts, tree, pos, w)
		if info.Succs.Len() == 1 {
			a.scanEdge(&in.Edges[info.Succs.Start], tree, pos, w)
		}
	}
}

// edgeTo returns the only edge to b.
func (fn *function) edgeTo(b uint32) *regalloc.Edge {
	succs := fn.in.SuccsOf(regalloc.Block(fn.parent(b)))
	for k := range succs {
		if uint32(succs[k].To) == b {
			return &succs[k]
		}
	}
	return nil
}

// scanInsts scans the instructions of a block behind position pos, and returns the position of the last one. Each use weighs w.
func (a *Allocator) scanInsts(r regalloc.Range, tree, pos, w uint32) uint32 {
	in, values := a.in, a.values
	op, _ := in.OperandRange(regalloc.Inst(r.Start))
	for i := r.Start; i < r.End; i++ {
		in.Stop.PollAt(int(i))
		pos++
		inst := &in.Insts[i]
		ops := in.Operands[op:inst.OperandEnd]
		op = inst.OperandEnd
		var fixed regalloc.PRegSet
		for k := range ops {
			o := &ops[k]
			x := &values[o.VReg]
			x.weight += w
			if o.Access.Reads() {
				x.last = pos
				if x.tree != tree {
					a.usedElsewhere(uint32(o.VReg), tree)
				}
			} else {
				x.tree, x.def = tree, pos
			}
			if o.Constraint >= regalloc.Fixed {
				fixed |= a.scanConstraint(x, o, inst.Flags&regalloc.IsTerminator != 0)
			}
		}
		if inst.Flags&regalloc.IsTailCall != 0 {
			a.named |= fixed // all operands are in places of their own
		} else if fixed != 0 || inst.Clobbers != 0 {
			a.scanNamed(fixed, in.ClobberSets[inst.Clobbers], len(ops))
		} else if len(ops) > a.needs[regalloc.Int] {
			a.needs[regalloc.Int] = len(ops)
		}
	}
	return pos
}

// scanConstraint notes what a constraint of one place, or Reuse, says of x. It returns the register that it names, as a set.
func (a *Allocator) scanConstraint(x *value, o *regalloc.Operand, terminator bool) regalloc.PRegSet {
	switch o.Constraint {
	case regalloc.FixedArg:
		if o.Access.Reads() {
			break
		}
		x.flags |= noPin
		if x.flags&isRef == 0 {
			x.flags |= isArg
			x.home = regalloc.InArg(int(o.Arg))
		}
	case regalloc.Fixed:
		if o.Access.Reads() {
			if x.hint == regalloc.NoPReg {
				x.hint = o.PReg()
			}
		} else if terminator {
			x.flags |= noPin
		}
		return regalloc.SetOf(o.PReg())
	}
	return 0
}

// scanNamed notes an instruction of n operands that names registers or clobbers some.
func (a *Allocator) scanNamed(fixed regalloc.PRegSet, lost regalloc.Clobbers, n int) {
	named := fixed | lost.Low
	a.named |= named
	a.out.Used |= lost.Low & a.env.CalleeSaved
	n -= fixed.Len()
	for c := range a.needs {
		class := regalloc.Class(c)
		a.needs[c] = max(a.needs[c], n+((named|lost.High)&a.env.Allocatable).OfClass(class).Len())
	}
}

// scanEdge scans the only edge out of a block that ends at pos. The arguments of other edges are used where their targets begin.
func (a *Allocator) scanEdge(e *regalloc.Edge, tree, pos, w uint32) {
	to := uint32(e.To)
	if a.tree[to] != to {
		return
	}
	a.lastIn[to] = pos
	params := a.in.ParamsOf(e.To)
	for k, v := range a.in.ArgsOf(*e) {
		a.used(uint32(v), tree, pos, w)
		a.values[v].link = uint32(params[k])
	}
}

// used notes a use of v.
func (a *Allocator) used(v, tree, pos, w uint32) {
	x := &a.values[v]
	x.last = pos
	x.weight += w
	if x.tree != tree {
		a.usedElsewhere(v, tree)
	}
}

// usedElsewhere notes a use of v in a tree that does not define it.
func (a *Allocator) usedElsewhere(v, tree uint32) {
	x := &a.values[v]
	switch {
	case x.flags&isRemat != 0:
		return
	case x.uses == none:
		x.flags |= isGlobal
		a.globals = stop.Append(a.in.Stop, a.globals, v)
	case a.uses[x.uses].tree == tree:
		return
	}
	a.uses = stop.Append(a.in.Stop, a.uses, use{tree, x.uses})
	x.uses = uint32(len(a.uses)) - 1
}
