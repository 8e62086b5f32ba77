package opt

import "github.com/waot-project/waot/clif"

// paramPass is the state of removeParams.
type paramPass struct {
	keep []uint32
}

// removeParams removes block parameters that get the same value, or
// themselves, along every edge, until none is left.
func removeParams(o *Optimizer, f *clif.Func) {
	o.reachable(f)
	any := false
	for changed := true; changed; {
		changed = false
		for _, b := range o.cfg.Order()[1:] {
			for i, p := range f.Params(b) {
				if f.Values[p].Kind != clif.ValueParam {
					continue
				}
				if v := o.onlyValue(f, b, i, clif.Value(p)); v != clif.NoValue && o.spend() {
					alias(f, clif.Value(p), v)
					changed, any = true, true
				}
			}
		}
	}
	if !any {
		return
	}
	for _, b := range o.cfg.Order()[1:] {
		o.compact(f, b)
	}
	resolveAll(f)
}

// onlyValue is the one value that parameter i of b, p, can have, or NoValue.
func (o *Optimizer) onlyValue(f *clif.Func, b clif.Block, i int, p clif.Value) clif.Value {
	same := clif.NoValue
	for _, e := range o.cfg.Preds(b) {
		v := f.Resolve(clif.Value(f.TargetArgs(e.Target)[i]))
		if v == p || v == same {
			continue
		}
		if same != clif.NoValue {
			return clif.NoValue
		}
		same = v
	}
	return same
}

// compact drops the parameters of b that have become aliases or dead, and their
// arguments along every edge.
func (o *Optimizer) compact(f *clif.Func, b clif.Block) {
	params := f.Params(b)
	keep := o.par.keep[:0]
	for i, p := range params {
		if f.Values[p].Kind == clif.ValueParam {
			f.Values[p].Num = uint16(len(keep))
			keep = append(keep, uint32(i))
		}
	}
	o.par.keep = keep
	if len(keep) == len(params) {
		return
	}
	for _, e := range o.cfg.Preds(b) {
		l := &f.Targets[e.Target].Args
		args := f.ListAt(*l)
		for n, i := range keep {
			args[n] = args[i]
		}
		l.Len = uint32(len(keep))
	}
	for n, i := range keep {
		params[n] = params[i]
	}
	f.Blocks[b].Params.Len = uint32(len(keep))
}
