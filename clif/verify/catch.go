package verify

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// catches finds the calls that catches belong to, and checks the first part of F8.
func (v *Verifier) catches() {
	f := v.f
	v.caught = stop.Resize(f.Stop, v.caught, len(f.Blocks))
	for _, b := range f.Layout {
		v.caught[b] = f.CaughtCall(b)
		v.block, v.inst = b, f.Terminator(b)
		if f.Insts[v.inst].Op == clif.OpCatch && v.caught[b] == clif.NoInst {
			v.fail("there is no call that it belongs to")
			return
		}
	}
}

// behindNormal reports whether all ways to the current block go along the edge to the first target of the catch at the end of from: the second part of F8.
func (v *Verifier) behindNormal(from clif.Block) bool {
	first := clif.Target(v.f.Insts[v.f.Terminator(from)].Args[1])
	to := v.f.Targets[first].Block
	for _, e := range v.cfg.Preds(to) {
		if (e.From != from || e.Target != first) && !v.dom.Dominates(to, e.From) {
			return false
		}
	}
	return v.block != from && v.dom.Dominates(to, v.block)
}
