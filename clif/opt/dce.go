package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
)

// liveness is the state of removeDead.
type liveness struct {
	live []bool // by value
	work []clif.Value
}

// removeDead removes instructions without effects whose results nothing needs,
// and block parameters that only feed themselves. A value is needed if an
// instruction with effects uses it, directly or through other values. Reads that cannot trap have no
// visible effect. All of it is one rewrite, since dead values may use each
// other around a loop.
func removeDead(o *Optimizer, f *clif.Func) {
	l := &o.live
	o.flow(f)
	if !o.may(RuleDead) {
		return
	}
	var removed []string // for the log
	if n := len(f.Values); cap(l.live) < n {
		l.live = make([]bool, n+n/4)
	}
	l.live = l.live[:len(f.Values)]
	clear(l.live)
	l.work = l.work[:0]
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			if d := &f.Insts[i]; o.hasEffect(f, d) {
				l.needArgs(f, d)
			}
		}
	}
	for len(l.work) > 0 {
		v := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		f.Stop.Poll()
		if d := &f.Values[v]; d.Kind == clif.ValueResult {
			l.needArgs(f, &f.Insts[d.Def])
		} else {
			for _, e := range o.cfg.Preds(clif.Block(d.Def)) {
				l.need(clif.Value(f.TargetArgs(e.Target)[d.Num]))
			}
		}
	}
	// Users before definitions: the divisor of a division must still be there.
	order := o.cfg.Order()
	for n := len(order) - 1; n >= 0; n-- {
		b := order[n]
		for i := f.Blocks[b].End; i > f.Blocks[b].Start; i-- {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i-1]
			if d.NumResults == 1 && !l.live[d.Result] && !o.hasEffect(f, d) {
				if o.tracing() {
					removed = append(removed, "without "+rewrite.Text(f, d))
				}
				f.Values[d.Result].Kind = clif.ValueDead
				*d = clif.InstData{Result: clif.NoValue}
			}
		}
	}
	for _, b := range o.cfg.Order()[1:] {
		f.Stop.Poll()
		o.dropDeadParams(f, b)
	}
	o.note(0, "what nothing needs", removed...)
}

// hasEffect reports whether d does anything besides computing its results.
func (o *Optimizer) hasEffect(f *clif.Func, d *clif.InstData) bool {
	e := d.Op.Info().Effects
	return e&(clif.CanTrap|clif.Writes|clif.Calls|clif.Terminates) != 0 && (e != clif.CanTrap || !o.safeDivision(f, d))
}

// safeDivision reports whether d divides by a constant that cannot make it
// trap.
func (o *Optimizer) safeDivision(f *clif.Func, d *clif.InstData) bool {
	switch d.Op {
	case clif.OpUdiv, clif.OpUrem, clif.OpSdiv, clif.OpSrem:
		i := f.DefInst(d.ArgB())
		if i == clif.NoInst || f.Insts[i].Op != clif.OpIconst {
			return false
		}
		k := f.Insts[i].Imm
		return k != 0 && (d.Op != clif.OpSdiv || k != o.allOnes(d.Type))
	}
	return false
}

func (l *liveness) need(v clif.Value) {
	if !l.live[v] {
		l.live[v] = true
		l.work = append(l.work, v)
	}
}

func (l *liveness) needArgs(f *clif.Func, d *clif.InstData) {
	switch d.NumArgs() {
	case 3:
		l.need(d.ArgC())
		fallthrough
	case 2:
		l.need(d.ArgB())
		fallthrough
	case 1:
		l.need(d.ArgA())
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
