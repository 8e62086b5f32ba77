package opt

import "github.com/waot-project/waot/clif"

// This file uses facts about results of functions (clif.FuncDecl.Nonzero). Go programs unwind by results, so the code for a null pointer
// calls a function and branches on its result. If both targets of that branch remained, the path of a failed check would join the path of a check
// that held, and facts about memory and globals would not survive the join.

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
