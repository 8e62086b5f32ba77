package opt

import "github.com/waot-project/waot/clif"

// This file uses what is known of results of functions (clif.FuncDecl.Nonzero). In programs of Go, whose functions unwind by results, a branch on the result of a call
// follows each check for a null pointer. If both of its ways remained, the way behind a failed check would meet that of the
// check that held, and nothing that is known of memory and globals would outlive the meeting.

// maxPassed is how many parameters a result is followed through: those that inlined functions return to.
const maxPassed = 4

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
		if d.Op != clif.OpBranch || !o.returnsNonzero(f, d.ArgA()) || !o.may(RuleNonzeroResult) {
			continue
		}
		toJump(d, d.Args[1])
		o.cfgValid = false
		if o.tracing() {
			o.note(f.Offset(f.Srcs[i]), "br of "+b.String(), "jump "+f.Targets[d.Args[1]].Block.String())
		}
	}
}

// returnsNonzero reports whether v is the result of a call of a function that never returns 0.
func (o *Optimizer) returnsNonzero(f *clif.Func, v clif.Value) bool {
	for n := 0; f.Values[v].Kind == clif.ValueParam; n++ {
		b := clif.Block(f.Values[v].Def)
		preds := o.cfg.Preds(b)
		if n == maxPassed || len(preds) != 1 || b == f.Entry() {
			return false
		}
		v = clif.Value(f.TargetArgs(preds[0].Target)[f.Values[v].Num])
	}
	i := f.DefInst(v)
	return i != clif.NoInst && f.Insts[i].Op == clif.OpCall && f.Mod.Funcs[f.Insts[i].Aux].Nonzero
}
