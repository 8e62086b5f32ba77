package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/effect"
)

// liveness is the state of removeDead.
type liveness struct {
	state []need       // by value
	work  []clif.Value // needed, while what they need is not yet known to be: parameters, and values that had been passed
	dead  []clif.Inst  // instructions that have been passed, the last first
}

// need says whether a value is needed.
type need uint8

const (
	unseen need = iota
	passed      // the walk has come to its definition, which has no effects, and nothing needed it
	needed
)

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
	if n := len(f.Values); cap(l.state) < n {
		l.state = make([]need, n+n/4)
	}
	l.state = l.state[:len(f.Values)]
	clear(l.state)
	l.work, l.dead = l.work[:0], l.dead[:0]
	l.walk(o, f)
	// Users before definitions: the divisor of a division must still be there.
	for k, i := range l.dead {
		f.Stop.PollAt(k)
		d := &f.Insts[i]
		if l.state[d.Result] == needed {
			continue
		}
		if o.tracing() {
			removed = append(removed, "without "+rewrite.Text(f, d))
		}
		f.Values[d.Result].Kind = clif.ValueDead
		*d = clif.InstData{Result: clif.NoValue}
	}
	for _, b := range o.cfg.Order()[1:] {
		f.Stop.Poll()
		o.dropDeadParams(f, b)
	}
	o.note(0, "what nothing needs", removed...)
}

// walk finds what is needed: users come before definitions, except along edges back, whose arguments are found needed later.
func (l *liveness) walk(o *Optimizer, f *clif.Func) {
	order := o.cfg.Order()
	for n := len(order) - 1; n >= 0; n-- {
		bd := &f.Blocks[order[n]]
		for i := bd.End; i > bd.Start; i-- {
			f.Stop.PollAt(int(i))
			switch d := &f.Insts[i-1]; {
			case d.Op == clif.OpNop:
			case o.hasEffect(f, d), d.NumResults == 1 && l.state[d.Result] == needed:
				l.needArgs(f, d)
			case d.NumResults == 1:
				l.state[d.Result] = passed
				l.dead = append(l.dead, i-1)
			}
		}
		for len(l.work) > 0 {
			v := l.work[len(l.work)-1]
			l.work = l.work[:len(l.work)-1]
			f.Stop.Poll()
			if d := &f.Values[v]; d.Kind == clif.ValueResult {
				l.needArgs(f, &f.Insts[d.Def])
				continue
			}
			for _, e := range o.cfg.Preds(clif.Block(f.Values[v].Def)) {
				l.need(f, clif.Value(f.TargetArgs(e.Target)[f.Values[v].Num]))
			}
		}
	}
}

// hasEffect reports whether d does anything besides computing its results.
func (o *Optimizer) hasEffect(f *clif.Func, d *clif.InstData) bool {
	e := d.Op.Info().Effects
	return e&(effect.Traps|effect.Writes|effect.Calls|effect.Control) != 0 && (e != effect.Traps || !o.safeDivision(f, d)) && !(isFieldRead(d.Op) && isObject(f, d.ArgA()))
}

func isFieldRead(op clif.Opcode) bool { return isFieldAccess(op) && op != clif.OpStructSet }

// isObject reports whether v is known not to be null: it was made here, or its type says so. The init function sees globals before they have what their types say.
func isObject(f *clif.Func, v clif.Value) bool {
	i := f.DefInst(v)
	if i == clif.NoInst {
		return false
	}
	switch d := &f.Insts[i]; d.Op {
	case clif.OpStructNew:
		return true
	case clif.OpStructGet:
		return f.Mod.Types[d.Aux].Fields[d.Imm].Type.IsNotNull()
	case clif.OpGlobalGet:
		return f.Index != f.Mod.InitFunc() && f.Mod.Globals[d.Aux].ValType().IsNotNull()
	}
	return false
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

func (l *liveness) need(f *clif.Func, v clif.Value) {
	old := l.state[v]
	if old == needed {
		return
	}
	l.state[v] = needed
	if old == passed || f.Values[v].Kind == clif.ValueParam {
		l.work = append(l.work, v)
	}
}

func (l *liveness) needArgs(f *clif.Func, d *clif.InstData) {
	for _, a := range d.Operands() {
		l.need(f, clif.Value(a))
	}
	for _, a := range f.ListOperands(d) {
		l.need(f, clif.Value(a))
	}
}

// dropDeadParams removes the parameters of b that are not needed, by way of
// compact, which keeps what is still a parameter.
func (o *Optimizer) dropDeadParams(f *clif.Func, b clif.Block) {
	dead := false
	for _, p := range f.Params(b) {
		if o.live.state[p] != needed {
			f.Values[p].Kind = clif.ValueDead
			dead = true
		}
	}
	if dead {
		o.compact(f, b)
	}
}
