package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/resumable"
)

// This file uses what is known of results of functions (clif.FuncDecl.Nonzero). In programs of Go, whose functions unwind by results, a branch on the result of a call
// follows each check for a null pointer. If both of its ways remained, the way behind a failed check would meet that of the
// check that held, and nothing that is known of memory and globals would outlive the meeting.

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
