package opt

import "github.com/waot-project/waot/clif"

// simplifyEffect rewrites an instruction that is not a terminator and not a
// pure one with a result; it reports whether the instruction is to be dropped.
func (c *folder) simplifyEffect(d *clif.InstData) bool {
	switch d.Op {
	case clif.OpCall, clif.OpCallRef:
		c.call(d)
	case clif.OpTrapIf:
		return c.trapIf(d)
	case clif.OpSigCheck:
		return c.sigCheck(d)
	case clif.OpMemoryCopy, clif.OpMemoryFill:
		return c.bulk(d) || c.write(d)
	case clif.OpStore:
		c.address(d)
		return c.write(d)
	default:
		return c.write(d)
	}
	return false
}

// trapIf drops a trapif that never traps, and turns one that always traps into a trap. Otherwise
// the condition is known to be zero from here on.
func (c *folder) trapIf(d *clif.InstData) bool {
	x, neg, changed := c.strip(d.ArgA())
	if changed && !neg && c.may(RuleTrapIfStrip) {
		d.Args[0] = uint32(x)
	}
	switch c.decided(d.ArgA()) {
	case isZero:
		return c.may(RuleTrapIfNever)
	case isNonzero:
		if c.may(RuleTrapIfAlways) {
			*d = clif.InstData{Op: clif.OpTrap, Cond: d.Cond, Result: clif.NoValue}
		}
		return false
	}
	c.truth.set(d.ArgA(), isZero)
	if changed && neg {
		c.truth.set(x, isNonzero)
	}
	return false
}

// terminator turns decided branches into jumps.
func (c *folder) terminator(d *clif.InstData) {
	switch d.Op {
	case clif.OpBranch:
		c.branch(d)
	case clif.OpReturnCallRef:
		c.callKnown(d, clif.OpReturnCall)
	case clif.OpBrTable:
		targets := c.f.TargetsOf(d)
		if x, ok := c.constant(d.ArgA()); ok && c.may(RuleTableConst) {
			toJump(d, targets[min(x, uint64(len(targets)-1))])
		} else if len(targets) == 1 && c.may(RuleTableOne) {
			toJump(d, targets[0])
		}
	}
}

func (c *folder) branch(d *clif.InstData) {
	if x, neg, changed := c.strip(d.ArgA()); changed && c.may(RuleBranchStrip) {
		d.Args[0] = uint32(x)
		if neg {
			d.Args[1], d.Args[2] = d.Args[2], d.Args[1]
		}
	}
	switch x := c.decided(d.ArgA()); {
	case x == isNonzero && c.may(RuleBranchDecided):
		toJump(d, d.Args[1])
	case x == isZero && c.may(RuleBranchDecided):
		toJump(d, d.Args[2])
	case (d.Args[1] == d.Args[2] || sameTarget(c.f, clif.Target(d.Args[1]), clif.Target(d.Args[2]))) && c.may(RuleBranchAgree):
		toJump(d, d.Args[1])
	}
}

func toJump(d *clif.InstData, t uint32) {
	*d = clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, t}}
}

func sameTarget(f *clif.Func, a, b clif.Target) bool {
	if f.Targets[a].Block != f.Targets[b].Block {
		return false
	}
	x, y := f.TargetArgs(a), f.TargetArgs(b)
	for i := range x {
		if f.Resolve(clif.Value(x[i])) != f.Resolve(clif.Value(y[i])) {
			return false
		}
	}
	return true
}

// threadEmpty sends edges past blocks that only jump and have no parameters,
// and turns branches into jumps if their edges then agree.
func threadEmpty(o *Optimizer, f *clif.Func) {
	changed := false
	for _, b := range f.Layout {
		f.Stop.Poll()
		d := &f.Insts[f.Terminator(b)]
		for _, t := range f.TargetsOf(d) {
			changed = thread(o, f, clif.Target(t)) || changed
		}
		if d.Op == clif.OpBranch && d.Args[1] != d.Args[2] && sameTarget(f, clif.Target(d.Args[1]), clif.Target(d.Args[2])) && o.may(RuleEdgesAgree) {
			toJump(d, d.Args[1])
			if o.tracing() {
				o.note(f.Offset(f.Srcs[f.Terminator(b)]), "br of "+b.String(), "jump "+f.Targets[d.Args[1]].Block.String())
			}
			changed = true
		}
	}
	o.cfgValid = o.cfgValid && !changed
	o.flow(f)
}

// thread sends t past empty blocks. The number of hops is bounded: empty
// blocks may form a cycle.
func thread(o *Optimizer, f *clif.Func, t clif.Target) (changed bool) {
	for range 8 {
		b := f.Targets[t].Block
		d := &f.Insts[f.Terminator(b)]
		if d.Op != clif.OpJump || f.Blocks[b].Params.Len > 0 || !isEmpty(f, b) || b == f.Entry() {
			return changed
		}
		next := f.Targets[d.Args[1]]
		if next.Block == b || !o.may(RuleThreadEdge) {
			return changed
		}
		if o.tracing() {
			o.note(0, "an edge to "+b.String(), "an edge to "+next.Block.String())
		}
		f.Targets[t] = clif.TargetData{Block: next.Block, Args: f.CopyList(next.Args)}
		changed = true
	}
	return changed
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
