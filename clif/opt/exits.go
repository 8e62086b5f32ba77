package opt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/stop"
)

// This file ends the live ranges of loop parameters where their next values are computed. Let v be a parameter of a loop's header, and let the back
// edge pass next = v+k for it. If code after the loop uses v, both values need a register, and each iteration a move. That code can compute v
// as next-k instead: one instruction after the loop replaces one in it.
//
// This is correct wherever next is defined, because next and v are of the same iteration: after a back edge, every path to
// the use computes next again. It pays if nothing in the loop uses v after the definition of next.

// exitPass is the state of exitValues.
type exitPass struct {
	insertions
	f     *clif.Func
	o     *Optimizer
	loops analysis.Loops
	found []loopValue
	of    []uint32 // by value: the number of the one in found with that parameter, plus 1
	users []exitUse
	// behind is by block: one that defines a next value dominates it, so a use there may matter.
	behind []bool
}

// loopValue is a parameter v of a loop's header whose next value is v+k.
type loopValue struct {
	v, next clif.Value
	k       uint64
	def     clif.Inst // of next
	block   clif.Block
	header  clif.Block
	used    bool // the loop uses v behind def
}

// exitUse is a use of such a parameter in a block behind the loop.
type exitUse struct {
	value uint32     // number in found
	exit  clif.Block // a block behind the loop that dominates the use, the first one if that is near
	slot  *uint32    // where v is an operand or argument
}

const (
	// maxBack is how many blocks that dominate the edge back are searched for the definition of next.
	maxBack = 32
	// maxNest is how many loops around a block are looked at. It counts as in the loop if there are more.
	maxNest = 8
	// maxExit is how many blocks in front of a use are candidates for the definition.
	maxExit = 8
)

func exitValues(o *Optimizer, f *clif.Func) {
	p := &o.exits
	p.o, p.f, p.found, p.fresh = o, f, p.found[:0], p.fresh[:0]
	o.flow(f)
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		p.find(b)
	}
	if len(p.found) == 0 {
		return
	}
	p.of = stop.Zeroed(f.Stop, p.of, len(f.Values))
	for i := range p.found {
		p.of[p.found[i].v] = uint32(i + 1)
	}
	p.loops.Compute(f, &o.cfg)
	p.findUses()
	if p.rewrite(); len(p.fresh) > 0 {
		p.insert(f)
	}
}

// find appends the parameters of b, the header of a loop with one edge back, whose next value is a sum with a constant.
func (p *exitPass) find(b clif.Block) {
	f, back, number := p.f, analysis.Edge{From: clif.NoBlock}, p.o.cfg.Number(b)
	for _, e := range p.o.cfg.Preds(b) {
		f.Stop.Poll()
		if p.o.cfg.Number(e.From) < number {
			continue // it does not go back, as most do not: many functions need no dominators here
		}
		if p.o.dominators(f); !p.o.dom.Dominates(b, e.From) {
			continue
		}
		if back.From != clif.NoBlock {
			return
		}
		back = e
	}
	if back.From == clif.NoBlock {
		return
	}
	args := f.TargetArgs(back.Target)
	for n, v := range f.Params(b) {
		f.Stop.PollAt(n)
		x := loopValue{v: clif.Value(v), next: clif.Value(args[n]), header: b}
		if x.def = f.DefInst(x.next); x.def == clif.NoInst {
			continue
		}
		d := &f.Insts[x.def]
		if d.Op != clif.OpIadd || d.ArgA() != x.v {
			continue
		}
		k := f.DefInst(d.ArgB())
		if k == clif.NoInst || f.Insts[k].Op != clif.OpIconst {
			continue
		}
		x.k = f.Insts[k].Imm
		if x.block = p.blockOf(x.def, back.From); x.block == clif.NoBlock {
			continue
		}
		p.found = append(stop.Room(f.Stop, p.found), x)
	}
}

// blockOf returns the block of instruction i, which dominates b, or NoBlock if it is far from there.
func (p *exitPass) blockOf(i clif.Inst, b clif.Block) clif.Block {
	for range maxBack {
		if d := &p.f.Blocks[b]; i >= d.Start && i < d.End {
			return b
		}
		if b == p.f.Entry() {
			break
		}
		b = p.o.dom.Idom(b)
	}
	return clif.NoBlock
}

// findUses collects the uses behind loops, and finds the parameters that their loops use behind the sums.
func (p *exitPass) findUses() {
	f := p.f
	p.users, p.behind = p.users[:0], stop.Zeroed(f.Stop, p.behind, len(f.Blocks))
	for i := range p.found {
		p.behind[p.found[i].block] = true
	}
	for n, b := range p.o.cfg.Order() {
		f.Stop.PollAt(n)
		if p.behind[b] = p.behind[b] || n > 0 && p.behind[p.o.dom.Idom(b)]; !p.behind[b] {
			continue
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i]
			p.useAll(b, i, d.Operands())
			p.useAll(b, i, f.ListOperands(d))
		}
		for _, t := range p.o.cfg.Succs(b) {
			p.useAll(b, f.Terminator(b), f.TargetArgs(t))
		}
	}
}

func (p *exitPass) useAll(b clif.Block, i clif.Inst, values []uint32) {
	for n := range values {
		p.f.Stop.PollAt(n)
		p.use(b, i, &values[n])
	}
}

// use notes that instruction i, of block b, uses the value in slot.
func (p *exitPass) use(b clif.Block, i clif.Inst, slot *uint32) {
	n := p.of[*slot]
	if n == 0 {
		return
	}
	x := &p.found[n-1]
	if x.used || !p.o.dom.Dominates(x.block, b) || b == x.block && i <= x.def {
		return
	}
	if p.inLoop(b, x.header) {
		x.used = true
		return
	}
	exit := b
	for range maxExit {
		up := p.o.dom.Idom(exit)
		if p.inLoop(up, x.header) {
			break
		}
		exit = up
	}
	p.users = append(stop.Room(p.f.Stop, p.users), exitUse{n - 1, exit, slot})
}

// inLoop reports whether b is in the loop with the given header, or in so many loops that it may be.
func (p *exitPass) inLoop(b, header clif.Block) bool {
	b = p.loops.Innermost(b)
	for range maxNest {
		if b == clif.NoBlock || b == header {
			return b == header
		}
		b = p.loops.Around(b)
	}
	return true
}

// rewrite lets the uses behind loops use next-k, which the first block there computes.
func (p *exitPass) rewrite() {
	f := p.f
	slices.SortStableFunc(p.users, func(a, b exitUse) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.exit, b.exit))
	})
	var before exitUse
	value, allowed := clif.NoValue, false
	for n, u := range p.users {
		f.Stop.PollAt(n)
		x := &p.found[u.value]
		if x.used {
			continue
		}
		if value == clif.NoValue || u.value != before.value || u.exit != before.exit {
			at := f.Blocks[u.exit].Start
			if allowed = p.o.may(RuleExitValue); !allowed {
				value, before = x.v, u
				continue
			}
			value, before = p.value(x, at), u
			if p.o.tracing() {
				p.o.note(f.Offset(f.Srcs[at]), fmt.Sprintf("%v, as the loop leaves it", x.v), fmt.Sprintf("%v: %v - %d", value, x.next, int64(x.k)))
			}
		}
		*u.slot = uint32(value)
	}
}

// value returns next-k of x, in front of at.
func (p *exitPass) value(x *loopValue, at clif.Inst) clif.Value {
	t := p.f.TypeOf(x.v)
	k := p.add(p.f, at, t, clif.InstData{Op: clif.OpIconst, Type: t, Imm: p.o.trunc(t, -x.k)})
	return p.add(p.f, at, t, clif.InstData{Op: clif.OpIadd, Type: t, Args: [3]uint32{uint32(x.next), uint32(k)}})
}
