package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
)

// This file turns branches that only choose values into selects: both edges lead to one block, with different arguments. It computes nothing
// in addition, so only speed matters. A select waits for its operands and a predicted branch does not, so a select is faster only where
// processors cannot predict the branch. As a heuristic, that is the case if the condition compares a value that the block has just loaded with something other than a constant: this
// compares elements, and checks no flag or limit.

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
		if d.Op != clif.OpBranch || !fewChoices(f, d) || !comparesLoaded(f, b, d.ArgA()) || !o.may(RuleBranchSelect) {
			continue
		}
		x, y := f.TargetArgs(clif.Target(d.Args[1])), f.TargetArgs(clif.Target(d.Args[2]))
		for i := range x {
			if x[i] != y[i] {
				t := f.TypeOf(clif.Value(x[i]))
				v := p.add(f, at, t, clif.InstData{Op: clif.OpSelect, Type: t, Args: [3]uint32{d.Args[0], x[i], y[i]}})
				x[i] = uint32(v)
			}
		}
		toJump(d, d.Args[1])
		if o.tracing() {
			o.note(f.Offset(f.Srcs[at]), "br of "+b.String(), fmt.Sprintf("selects, jump %v", f.Targets[d.Args[1]].Block))
		}
	}
	if len(p.fresh) > 0 {
		p.insert(f)
		o.cfgValid = false
	}
}

// fewChoices reports whether both ways of the branch d lead to one block, with few arguments that differ, all of them integers.
func fewChoices(f *clif.Func, d *clif.InstData) bool {
	if d.Args[1] == d.Args[2] || f.Targets[d.Args[1]].Block != f.Targets[d.Args[2]].Block {
		return false
	}
	x, y := f.TargetArgs(clif.Target(d.Args[1])), f.TargetArgs(clif.Target(d.Args[2]))
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
