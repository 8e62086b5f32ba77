package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/resumable"
)

// This file uses facts about results of functions (clif.FuncDecl.Nonzero). Go programs unwind by results, so the code for a null pointer
// calls a function and branches on its result. If both targets of that branch remained, the path of a failed check would join the path of a check
// that held, and facts about memory and globals would not survive the join.

// decideReturns turns branches on results that are never 0 into jumps.
func decideReturns(o *Optimizer, f *clif.Func) {
	if !f.Mod.HasNonzero {
		return
	}
	o.flow(f)
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		i := f.Terminator(b)
		d := &f.Insts[i]
		if d.Op != clif.OpBranch || !resumable.ReturnsNonzero(f, &o.cfg, d.ArgA()) || !o.may(RuleNonzeroResult) {
			continue
		}
		toJump(d, d.Args[1])
		o.cfgValid = false
		if o.tracing() {
			o.note(f.Offset(f.Srcs[i]), "br of "+b.String(), "jump "+f.Targets[d.Args[1]].Block.String())
		}
	}
}
