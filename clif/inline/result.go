package inline

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
)

// This file lets constants that a body returns decide the branch on the result behind the call. Functions of Go's compiler return 0, or 1 if they
// unwind, and behind each call is a branch to a return of 1. Where a body is inlined, its ways would meet in front of that branch only to part
// again, and what is known of memory and globals, such as the stack pointer that is read there, would be lost.

// maxBehind is how many instructions there may be between the call and the branch, and in the block that returns or traps.
const maxBehind = 8

// leaves returns the edge that results of the call i, of block b, other than 0 may take at once, or NoTarget if the body returns none, or no 0. It makes the
// branch on the result a jump if all results are constants.
//
// The edge leads to a block that returns or traps, so nothing else is reached by it. Nothing there, nor on the edge, is the result or was read behind the call, and
// what is between the call and the branch has no effects.
func (n *Inliner) leaves(f *clif.Func, b clif.Block, i clif.Inst, body *Body) clif.Target {
	end := f.Terminator(b)
	d, br := &f.Insts[i], &f.Insts[end]
	if br.Op != clif.OpBranch || d.NumResults != 1 || br.ArgA() != d.Result || end-i > maxBehind {
		return clif.NoTarget
	}
	for _, e := range f.Insts[i+1 : end] {
		if e.Op.Has(effect.Traps | effect.Writes | effect.Calls) {
			return clif.NoTarget
		}
	}
	zero, other, all := results(&body.f)
	leave := clif.Target(br.Args[1])
	if !zero || !other || !apart(f, f.Insts[i:end], leave) || !n.mayDecide(f, i, br) {
		return clif.NoTarget
	}
	if all {
		*br = clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, br.Args[2]}}
	}
	return leave
}

// results reports whether g returns 0, and constants other than 0, and nothing else.
func results(g *clif.Func) (zero, other, all bool) {
	all = true
	for i := range g.Insts {
		switch d := &g.Insts[i]; {
		case d.Op.IsTailCall():
			all = false
		case d.Op != clif.OpReturn:
		case nonzero(g, d):
			other = true
		default:
			k := g.DefInst(clif.Value(g.ListOperands(d)[0]))
			isZero := k != clif.NoInst && g.Insts[k].Op == clif.OpIconst
			zero, all = zero || isZero, all && isZero
		}
	}
	return zero, other, all
}

// nonzero reports whether d returns a constant other than 0.
func nonzero(g *clif.Func, d *clif.InstData) bool {
	k := g.DefInst(clif.Value(g.ListOperands(d)[0]))
	return k != clif.NoInst && g.Insts[k].Op == clif.OpIconst && g.Insts[k].Imm != 0
}

// apart reports whether the edge t leads to a block that returns or traps soon, and neither uses what one of the instructions gives.
func apart(f *clif.Func, from []clif.InstData, t clif.Target) bool {
	to := f.Targets[t].Block
	end := f.Terminator(to)
	if end == clif.NoInst || end-f.Blocks[to].Start > maxBehind || f.Insts[end].Op != clif.OpReturn && f.Insts[end].Op != clif.OpTrap || gives(from, f.TargetArgs(t)) {
		return false
	}
	for i := f.Blocks[to].Start; i <= end; i++ {
		d := &f.Insts[i]
		if gives(from, d.Operands()) || gives(from, f.ListOperands(d)) {
			return false
		}
	}
	return true
}

// gives reports whether one of the instructions gives one of the values.
func gives(from []clif.InstData, values []uint32) bool {
	for _, v := range values {
		for i := range from {
			if d := &from[i]; v-uint32(d.Result) < uint32(d.NumResults) {
				return true
			}
		}
	}
	return false
}

// mayDecide reports whether the Control lets the results of call i decide the branch br, and if so notes it.
func (n *Inliner) mayDecide(f *clif.Func, i clif.Inst, br *clif.InstData) bool {
	c := n.Control
	if c == nil {
		return true
	}
	if !c.Spend(&ruleResults) {
		return false
	}
	e := &c.Log[len(c.Log)-1]
	e.Src = f.Offset(f.Srcs[i])
	if c.Trace {
		e.Before = fmt.Sprintf("a branch to %v or %v behind the call", f.Targets[br.Args[1]].Block, f.Targets[br.Args[2]].Block)
		e.After = []string{"edges to them from the returns of constants"}
	}
	return true
}
