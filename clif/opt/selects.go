package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// This file turns branches that only choose values into selects: both edges lead to one block, with different arguments. It computes nothing
// in addition, so only speed matters. A select waits for its operands and a predicted branch does not, so a select is faster only where
// processors cannot predict the branch. As a heuristic, that is the case if the condition compares a value that the block has just loaded with something other than a constant: this
// compares elements, and checks no flag or limit.
//
// Where code counts fuel, each way has a charge of its own, and one charge of what is chosen takes the place of both.

// maxSelects is how many values a branch may choose.
const maxSelects = 2

// selectPass is the state of chooseValues.
type selectPass struct{ insertions }

// chooseValues puts selects in the place of such branches.
func chooseValues(o *Optimizer, f *clif.Func) {
	p := &o.selects
	p.fresh = p.fresh[:0]
	for _, b := range f.Layout {
		f.Stop.Poll()
		at := f.Terminator(b)
		d := &f.Insts[at]
		if d.Op != clif.OpBranch {
			continue
		}
		then, els := wayFrom(f, clif.Target(d.Args[1])), wayFrom(f, clif.Target(d.Args[2]))
		if !fewChoices(f, then.to, els.to) || !comparesLoaded(f, b, d.ArgA()) || !o.may(RuleBranchSelect) {
			continue
		}
		if then.block != clif.NoBlock { // the edge is also that of the block
			then.to = copyTarget(f, then.to)
		}
		p.charge(f, at, d.ArgA(), then.cost, els.cost)
		x, y := f.TargetArgs(then.to), f.TargetArgs(els.to)
		for i := range x {
			if x[i] != y[i] {
				t := f.TypeOf(clif.Value(x[i]))
				v := p.add(f, at, t, clif.InstData{Op: clif.OpSelect, Type: t, Args: [3]uint32{d.Args[0], x[i], y[i]}})
				x[i] = uint32(v)
			}
		}
		toJump(d, uint32(then.to))
		if o.tracing() {
			o.note(f.Offset(f.Srcs[at]), "br of "+b.String(), fmt.Sprintf("selects, jump %v", f.Targets[d.Args[1]].Block))
		}
	}
	if len(p.fresh) > 0 {
		p.insert(f)
		o.cfgValid = false
	}
}

// way is a way of a branch: an edge, or, through a block that does nothing but charge fuel without comparing, the edge from there.
type way struct {
	to    clif.Target
	block clif.Block // or NoBlock
	cost  uint64
}

// wayFrom returns the way that begins with the edge t.
func wayFrom(f *clif.Func, t clif.Target) way {
	b := f.Targets[t].Block
	end := f.Terminator(b)
	if f.Insts[end].Op != clif.OpJump || f.Blocks[b].Params.Len > 0 {
		return way{to: t, block: clif.NoBlock}
	}
	cost := uint64(0)
	for i := f.Blocks[b].Start; i < end; i++ {
		switch d := &f.Insts[i]; {
		case d.Op == clif.OpNop:
		case d.Op == clif.OpCharge && d.Trap() == abi.TrapNone && cost == 0:
			cost = d.Imm
		default:
			return way{to: t, block: clif.NoBlock}
		}
	}
	if cost == 0 {
		return way{to: t, block: clif.NoBlock}
	}
	return way{to: clif.Target(f.Insts[end].Args[1]), block: b, cost: cost}
}

// copyTarget returns a new target that is as t.
func copyTarget(f *clif.Func, t clif.Target) clif.Target {
	args := f.CopyList(f.Targets[t].Args)
	f.Targets = append(stop.Room(f.Stop, f.Targets), clif.TargetData{Block: f.Targets[t].Block, Args: args})
	return clif.Target(len(f.Targets) - 1)
}

// charge charges, in front of at, what the way costs that is taken if cond holds, or else the other one.
func (p *selectPass) charge(f *clif.Func, at clif.Inst, cond clif.Value, then, els uint64) {
	if then == els {
		if then != 0 {
			p.addEffect(f, at, clif.InstData{Op: clif.OpCharge, Imm: then})
		}
		return
	}
	x := p.add(f, at, clif.I64, clif.InstData{Op: clif.OpIconst, Type: clif.I64, Imm: then})
	y := p.add(f, at, clif.I64, clif.InstData{Op: clif.OpIconst, Type: clif.I64, Imm: els})
	v := p.add(f, at, clif.I64, clif.InstData{Op: clif.OpSelect, Type: clif.I64, Args: [3]uint32{uint32(cond), uint32(x), uint32(y)}})
	p.addEffect(f, at, clif.InstData{Op: clif.OpChargeBy, Args: [3]uint32{uint32(v)}})
}

// fewChoices reports whether both edges lead to one block, with few arguments that differ, all of them integers.
func fewChoices(f *clif.Func, then, els clif.Target) bool {
	if then == els || f.Targets[then].Block != f.Targets[els].Block {
		return false
	}
	x, y := f.TargetArgs(then), f.TargetArgs(els)
	choices := 0
	for i := range x {
		f.Stop.PollAt(i)
		if x[i] == y[i] {
			continue
		}
		if choices++; choices > maxSelects || !f.TypeOf(clif.Value(x[i])).IsInt() {
			return false
		}
	}
	return choices > 0
}

// comparesLoaded reports whether v compares two values of which block b has loaded one, and none is a constant.
func comparesLoaded(f *clif.Func, b clif.Block, v clif.Value) bool {
	i := f.DefInst(v)
	if i == clif.NoInst || f.Insts[i].Op != clif.OpIcmp && f.Insts[i].Op != clif.OpFcmp {
		return false
	}
	loaded := false
	for _, x := range [...]clif.Value{f.Insts[i].ArgA(), f.Insts[i].ArgB()} {
		def := f.DefInst(x)
		if def == clif.NoInst {
			continue
		}
		switch f.Insts[def].Op {
		case clif.OpIconst, clif.OpFconst:
			return false
		case clif.OpLoad:
			loaded = loaded || def >= f.Blocks[b].Start && def < f.Blocks[b].End
		}
	}
	return loaded
}
