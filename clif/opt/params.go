package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
)

// paramPass is the state of removeParams. Parameters are numbered in the order
// of blocks.
type paramPass struct {
	keep  []uint32
	base  []uint32 // by block: the number of its first parameter
	param []paramState
	watch []watcher
	work  []uint32     // watchers of parameters that have become aliases
	dirty []clif.Block // blocks that have lost parameters
}

// paramState is the search for a second value of a parameter: the arguments of
// all edges before at are same or the parameter itself.
type paramState struct {
	same  clif.Value
	at    uint32
	first uint32 // watchers: number + 1, 0 if none
}

// watcher is an entry in a list of parameters to look at again.
type watcher struct {
	value clif.Value
	next  uint32
}

// removeParams removes block parameters that get the same value, or
// themselves, along every edge, until none is left. Values that are the same stay
// the same, so each parameter goes once through its arguments: it waits at
// the first that differs from those before, until one of the two becomes an
// alias.
func removeParams(o *Optimizer, f *clif.Func) {
	o.flow(f)
	p := &o.par
	if cap(p.base) < len(f.Blocks) {
		p.base = make([]uint32, len(f.Blocks)+len(f.Blocks)/4)
	}
	p.base, p.param = p.base[:len(f.Blocks)], p.param[:0]
	p.watch, p.work, p.dirty = p.watch[:0], p.work[:0], p.dirty[:0]
	for _, b := range o.cfg.Order() {
		p.base[b] = uint32(len(p.param))
		f.Stop.Poll()
		for range f.Blocks[b].Params.Len {
			p.param = append(p.param, paramState{same: clif.NoValue})
		}
	}
	if len(p.param) == 0 {
		return
	}
	for _, b := range o.cfg.Order()[1:] {
		for _, v := range f.Params(b) {
			f.Stop.Poll()
			o.examine(f, clif.Value(v))
		}
	}
	for len(p.work) > 0 {
		n := p.work[len(p.work)-1]
		p.work = p.work[:len(p.work)-1]
		for ; n != 0; n = p.watch[n-1].next {
			f.Stop.Poll()
			o.examine(f, p.watch[n-1].value)
		}
	}
	if len(p.dirty) == 0 {
		return
	}
	for _, b := range p.dirty {
		f.Stop.Poll()
		o.compact(f, b)
	}
	f.ResolveInsts()
	f.ResolveTargets()
}

// examine continues with the arguments of parameter v, and makes it an alias if
// they are all one value.
func (o *Optimizer) examine(f *clif.Func, v clif.Value) {
	d := &f.Values[v]
	if d.Kind != clif.ValueParam {
		return
	}
	b := clif.Block(d.Def)
	s := &o.par.param[o.par.base[b]+uint32(d.Num)]
	same := s.same
	if same != clif.NoValue {
		same = f.Resolve(same)
	}
	preds := o.cfg.Preds(b)
	for ; int(s.at) < len(preds); s.at++ {
		a := f.Resolve(clif.Value(f.TargetArgs(preds[s.at].Target)[d.Num]))
		if a == v || a == same {
			continue
		}
		if same != clif.NoValue {
			s.same = same
			o.par.wait(f, same, v)
			o.par.wait(f, a, v)
			return
		}
		same = a
	}
	if same == clif.NoValue || !o.may(RuleParamSame) {
		return
	}
	if o.tracing() {
		o.note(0, fmt.Sprintf("parameter %v of %v", v, b), same.String())
	}
	f.MakeAlias(v, same)
	o.par.dirty = append(o.par.dirty, b)
	if s.first != 0 {
		o.par.work = append(o.par.work, s.first)
		s.first = 0
	}
}

// wait has v examined again when on becomes an alias.
func (p *paramPass) wait(f *clif.Func, on, v clif.Value) {
	if d := &f.Values[on]; d.Kind == clif.ValueParam {
		s := &p.param[p.base[d.Def]+uint32(d.Num)]
		p.watch = append(p.watch, watcher{v, s.first})
		s.first = uint32(len(p.watch))
	}
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
		f.Stop.Poll()
		l := &f.Targets[e.Target].Args
		if int(l.Len) != len(params) {
			continue // two edges with one target
		}
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
