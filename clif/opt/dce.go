package opt

import "github.com/waot-project/waot/clif"

// liveness is the state of removeDead.
type liveness struct {
	live []bool // by value
	work []clif.Value
}

// removeDead removes instructions without effects whose results nothing needs,
// and block parameters that only feed themselves. What is needed is what an
// instruction with effects uses, directly or not. Reads that cannot trap have no
// effect that anybody sees.
func removeDead(o *Optimizer, f *clif.Func) {
	l := &o.live
	l.live = append(l.live[:0], make([]bool, len(f.Values))...)
	l.work = l.work[:0]
	o.reachable(f)
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			if d := &f.Insts[i]; d.Op.Has(clif.CanTrap | clif.Writes | clif.Calls | clif.Terminates) {
				l.needArgs(f, d)
			}
		}
	}
	for len(l.work) > 0 {
		v := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		if d := &f.Values[v]; d.Kind == clif.ValueResult {
			l.needArgs(f, &f.Insts[d.Def])
		} else {
			for _, e := range o.cfg.Preds(clif.Block(d.Def)) {
				l.need(clif.Value(f.TargetArgs(e.Target)[d.Num]))
			}
		}
	}
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			d := &f.Insts[i]
			if !d.Op.Has(clif.CanTrap|clif.Writes|clif.Calls|clif.Terminates) && d.NumResults == 1 && !l.live[d.Result] {
				*d = clif.InstData{Result: clif.NoValue}
			}
		}
	}
	for _, b := range o.cfg.Order()[1:] {
		o.dropDeadParams(f, b)
	}
}

func (l *liveness) need(v clif.Value) {
	if !l.live[v] {
		l.live[v] = true
		l.work = append(l.work, v)
	}
}

func (l *liveness) needArgs(f *clif.Func, d *clif.InstData) {
	args := [...]uint32{d.A, d.B, d.C}
	for _, a := range args[:d.NumArgs()] {
		l.need(clif.Value(a))
	}
	if d.Op != clif.OpBrTable {
		for _, a := range f.VarArgs(d) {
			l.need(clif.Value(a))
		}
	}
}

// dropDeadParams removes the parameters of b that are not needed, by way of
// compact, which keeps what is still a parameter.
func (o *Optimizer) dropDeadParams(f *clif.Func, b clif.Block) {
	dead := false
	for _, p := range f.Params(b) {
		if !o.live.live[p] {
			f.Values[p].Kind = clif.ValueDead
			dead = true
		}
	}
	if dead {
		o.compact(f, b)
	}
}
