package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
)

// nameCallees makes direct calls of those of references that are read from fields in which only one function is: the entries of tables of methods that no class overrides. The field is still
// read, since that traps where there is no object; null, which may be in it too, is not called.
func nameCallees(o *Optimizer, f *clif.Func) {
	if f.Mod.Held == nil || f.Index == f.Mod.InitFunc() {
		return
	}
	for _, b := range f.Layout {
		f.Stop.Poll()
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			if d := &f.Insts[i]; d.Op == clif.OpCallRef || d.Op == clif.OpReturnCallRef {
				o.nameCallee(f, i, d)
			}
		}
	}
}

func (o *Optimizer) nameCallee(f *clif.Func, i clif.Inst, d *clif.InstData) {
	def := f.DefInst(f.Resolve(d.ArgA()))
	if def == clif.NoInst {
		return
	}
	h := held(f.Mod, &f.Insts[def])
	if h.Kind != clif.HeldFunc || !f.Mod.IsSubSig(f.Mod.Funcs[h.Index].Sig, clif.SigIndex(d.Aux)) || !o.may(RuleCallHeld) {
		return
	}
	before := ""
	if o.tracing() {
		before = rewrite.Text(f, d)
	}
	op := clif.OpCall
	if d.Op == clif.OpReturnCallRef {
		op = clif.OpReturnCall
	}
	d.Op, d.Aux, d.Args[0] = op, h.Index, 0
	if o.tracing() {
		o.note(f.Offset(f.Srcs[i]), before, rewrite.Text(f, d))
	}
}
