package opt

import "github.com/waot-project/waot/clif"

// foldBranches makes branches on constants jumps, sends edges past empty
// blocks, and drops unreachable blocks from the layout.
func foldBranches(o *Optimizer, f *clif.Func) {
	for _, b := range f.Layout {
		t := f.Terminator(b)
		d := &f.Insts[t]
		switch d.Op {
		case clif.OpBranch:
			foldBranch(o, f, d)
		case clif.OpBrTable:
			foldTable(o, f, d)
		}
	}
	o.cfg.Compute(f)
	for _, b := range o.cfg.Order() {
		for _, t := range o.cfg.Succs(b) {
			threadEmpty(o, f, t)
		}
	}
	o.reachable(f)
}

// reachable computes the control flow graph and drops unreachable blocks from
// the layout.
func (o *Optimizer) reachable(f *clif.Func) {
	o.cfg.Compute(f)
	if len(o.cfg.Order()) == len(f.Layout) {
		return
	}
	kept := f.Layout[:0]
	for _, b := range f.Layout {
		if o.cfg.Reachable(b) {
			kept = append(kept, b)
		}
	}
	f.Layout = kept
}

func constant(f *clif.Func, v clif.Value) (uint64, bool) {
	i := f.DefInst(v)
	if i == clif.NoInst || f.Insts[i].Op != clif.OpIconst {
		return 0, false
	}
	return f.Insts[i].Imm, true
}

func toJump(d *clif.InstData, t uint32) {
	*d = clif.InstData{Op: clif.OpJump, Result: clif.NoValue, B: t}
}

func sameTarget(f *clif.Func, a, b clif.Target) bool {
	if f.Targets[a].Block != f.Targets[b].Block {
		return false
	}
	x, y := f.TargetArgs(a), f.TargetArgs(b)
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

func foldBranch(o *Optimizer, f *clif.Func, d *clif.InstData) {
	if x, ok := constant(f, d.ArgA()); ok && o.spend() {
		if x != 0 {
			toJump(d, d.B)
		} else {
			toJump(d, d.C)
		}
		return
	}
	if sameTarget(f, clif.Target(d.B), clif.Target(d.C)) && o.spend() {
		toJump(d, d.B)
	}
}

func foldTable(o *Optimizer, f *clif.Func, d *clif.InstData) {
	targets := f.VarArgs(d)
	if x, ok := constant(f, d.ArgA()); ok && o.spend() {
		toJump(d, targets[min(x, uint64(len(targets)-1))])
		return
	}
	if len(targets) == 1 && o.spend() {
		toJump(d, targets[0])
	}
}

// threadEmpty sends t past blocks that only jump and have no parameters. The
// number of hops is bounded: empty blocks may form a cycle.
func threadEmpty(o *Optimizer, f *clif.Func, t clif.Target) {
	for range 8 {
		b := f.Targets[t].Block
		d := &f.Insts[f.Terminator(b)]
		if d.Op != clif.OpJump || f.Blocks[b].Params.Len > 0 || !isEmpty(f, b) || b == f.Entry() {
			return
		}
		next := f.Targets[d.B]
		if next.Block == b || !o.spend() {
			return
		}
		f.Targets[t] = clif.TargetData{Block: next.Block, Args: f.CopyList(next.Args)}
	}
}

// isEmpty reports whether b holds nothing but nops and its terminator.
func isEmpty(f *clif.Func, b clif.Block) bool {
	for i := f.Blocks[b].Start; i < f.Terminator(b); i++ {
		if f.Insts[i].Op != clif.OpNop {
			return false
		}
	}
	return true
}
