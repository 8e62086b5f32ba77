package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/stop"
)

// ssaRepair makes parameters of dispatchers valid again where their block no longer dominates, on demand
// (Braun et al., "Simple and Efficient Construction of Static Single Assignment Form", 2013). A variable is such a parameter. It is
// defined at the start of its block, and by its argument on each edge that bypasses the block. No other
// value needs repair: a new path is an old one without a dispatcher.
type ssaRepair struct {
	o *Optimizer
	f *clif.Func
	// known, by block and variable, is 1 plus the variable's value in the block, or 0.
	known   []uint32
	trail   []int      // positions in known that get the value that is looked for
	pending []newParam // parameters that have no arguments yet
}

// newParam is a parameter that a block gets for variable v.
type newParam struct {
	block clif.Block
	v     clif.Value
}

func (r *ssaRepair) run(o *Optimizer, f *clif.Func) {
	r.o, r.f, r.pending = o, f, r.pending[:0]
	r.known = stop.Zeroed(f.Stop, r.known, len(f.Blocks)*len(o.dis.vars))
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			r.operands(b, &f.Insts[i])
		}
		for _, t := range o.cfg.Succs(b) {
			r.list(b, f.Targets[t].Args.Off, f.Targets[t].Args.Len)
		}
	}
	for i := 0; i < len(r.pending); i++ {
		r.fill(r.pending[i])
	}
}

// operands rewrites the operands of d in block b.
func (r *ssaRepair) operands(b clif.Block, d *clif.InstData) {
	for k, a := range d.Operands() {
		d.Args[k] = uint32(r.at(b, clif.Value(a)))
	}
	if len(r.f.ListOperands(d)) > 0 {
		r.list(b, d.Args[1], d.Args[2])
	}
}

// list rewrites uses of block b, which are a part of the pool. The pool may move meanwhile.
func (r *ssaRepair) list(b clif.Block, off, n uint32) {
	for i := off; i < off+n; i++ {
		x := r.at(b, clif.Value(r.f.Pool[i]))
		r.f.Pool[i] = uint32(x)
	}
}

// variable returns 1 plus the number of v, 0 if it is no variable.
func (r *ssaRepair) variable(v clif.Value) uint32 {
	if vars := r.o.dis.varOf; int(v) < len(vars) {
		return vars[v]
	}
	return 0
}

// at returns what stands for v in block b. It goes back along single edges, up to a definition or to a block where paths meet.
func (r *ssaRepair) at(b clif.Block, v clif.Value) clif.Value {
	r.trail = r.trail[:0]
	for {
		r.f.Stop.Poll()
		n := r.variable(v)
		if n == 0 || clif.Block(r.f.Values[v].Def) == b {
			break
		}
		slot := int(b)*len(r.o.dis.vars) + int(n-1)
		if x := r.known[slot]; x != 0 {
			v = clif.Value(x - 1)
			break
		}
		r.trail = append(r.trail, slot)
		preds := r.o.cfg.Preds(b)
		if len(preds) != 1 {
			v = r.meet(b, v)
			break
		}
		b, v = preds[0].From, r.on(preds[0].Target, v)
	}
	for _, slot := range r.trail {
		r.known[slot] = uint32(v) + 1
	}
	return v
}

// on returns what stands for v at the start of edge t: v, or what the edge defines it to be.
func (r *ssaRepair) on(t clif.Target, v clif.Value) clif.Value {
	p := &r.o.dis
	if n := p.edgeOf[t]; n != 0 {
		e := &p.bypassed[n-1]
		if d := &r.f.Values[v]; clif.Block(d.Def) == e.block {
			return clif.Value(r.f.ListAt(e.args)[d.Num])
		}
	}
	return v
}

// meet gives b a parameter for v.
func (r *ssaRepair) meet(b clif.Block, v clif.Value) clif.Value {
	r.pending = append(r.pending, newParam{b, v})
	return addParam(r.f, b, r.f.TypeOf(v))
}

// fill appends the arguments of p to the edges. Parameters of a block are filled in the order in which it got them.
func (r *ssaRepair) fill(p newParam) {
	r.o.addArgs(r.f, p.block, func(e analysis.Edge) clif.Value { return r.at(e.From, r.on(e.Target, p.v)) })
}

// addParam gives block b another parameter, of type t, which has no arguments yet.
func addParam(f *clif.Func, b clif.Block, t clif.Type) clif.Value {
	bd := &f.Blocks[b]
	x := clif.Value(len(f.Values))
	f.Values = append(stop.Room(f.Stop, f.Values), clif.ValueData{Type: t, Kind: clif.ValueParam, Num: uint16(bd.Params.Len), Def: uint32(b)})
	f.AppendList(&bd.Params, uint32(x))
	return x
}

// addArgs appends an argument to each edge into b. arg may add parameters, but no edges.
func (o *Optimizer) addArgs(f *clif.Func, b clif.Block, arg func(e analysis.Edge) clif.Value) {
	last := clif.NoTarget
	for _, e := range o.cfg.Preds(b) {
		f.Stop.Poll()
		if e.Target == last {
			continue // both edges of a branch
		}
		last = e.Target
		x := arg(e)
		f.AppendList(&f.Targets[e.Target].Args, uint32(x))
	}
}
