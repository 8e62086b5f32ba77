package interp

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
)

// LiveRef is what a frame keeps alive across its current call.
type LiveRef struct {
	Func *clif.Func
	Inst clif.Inst // the call
	// Values are the values of type ref that are used after the call, without its
	// results, by number; Bits are the references that they hold.
	Values []clif.Value
	Bits   []uint64
}

// LiveRefs lists the active frames, outermost first, with the references that a stack map
// of their calls has to describe. The arguments of a call are the callee's, so they
// count only if they are used afterwards.
func (c *HostCall) LiveRefs() []LiveRef {
	m := c.m
	var out []LiveRef
	for i := range m.frames {
		fr := &m.frames[i]
		f := fr.fn.body
		if fr.fn.live == nil {
			fr.fn.live = newLiveness(f)
		}
		l := LiveRef{Func: f, Inst: fr.pc - 1, Values: fr.fn.live.after(fr.pc - 1)}
		for _, v := range l.Values {
			l.Bits = append(l.Bits, m.stack[fr.base+int(v)])
		}
		out = append(out, l)
	}
	return out
}

// liveness is which values of type ref are live at the start of each block.
type liveness struct {
	f    *clif.Func
	cfg  analysis.CFG
	refs []clif.Value // the values of type ref; sets are indexed by their positions here
	pos  []int32      // by value: position in refs, or -1
	in   []bitset     // by block
}

type bitset []uint64

func (s bitset) add(i int32)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) remove(i int32)   { s[i/64] &^= 1 << (i % 64) }
func (s bitset) has(i int32) bool { return s[i/64]>>(i%64)&1 != 0 }

func newLiveness(f *clif.Func) *liveness {
	l := &liveness{f: f, pos: make([]int32, len(f.Values)), in: make([]bitset, len(f.Blocks))}
	for v := range f.Values {
		l.pos[v] = -1
		if f.Values[v].Type == clif.Ref && f.Values[v].Kind != clif.ValueAlias {
			l.pos[v] = int32(len(l.refs))
			l.refs = append(l.refs, clif.Value(v))
		}
	}
	words := (len(l.refs) + 63) / 64
	for b := range l.in {
		l.in[b] = make(bitset, words)
	}
	l.cfg.Compute(f)
	order := l.cfg.Order()
	live := make(bitset, words)
	for changed := true; changed; {
		changed = false
		for i := len(order) - 1; i >= 0; i-- {
			b := order[i]
			l.walk(b, f.Blocks[b].Start, live)
			for _, p := range f.Params(b) {
				l.define(p, live)
			}
			for w := range live {
				changed = changed || live[w] != l.in[b][w]
			}
			copy(l.in[b], live)
		}
	}
	return l
}

// walk sets live to what is live before instruction from of block b.
func (l *liveness) walk(b clif.Block, from clif.Inst, live bitset) {
	f := l.f
	clear(live)
	for _, t := range l.cfg.Succs(b) {
		for w, x := range l.in[f.Targets[t].Block] {
			live[w] |= x
		}
		for _, a := range f.TargetArgs(t) {
			l.use(a, live)
		}
	}
	for i := f.Blocks[b].End; i > from; i-- {
		d := &f.Insts[i-1]
		for n := range clif.Value(d.NumResults) {
			l.define(uint32(d.Result+n), live)
		}
		for _, a := range d.Operands() {
			l.use(a, live)
		}
		for _, a := range f.ListOperands(d) {
			l.use(a, live)
		}
	}
}

func (l *liveness) use(v uint32, live bitset) {
	if p := l.pos[v]; p >= 0 {
		live.add(p)
	}
}

func (l *liveness) define(v uint32, live bitset) {
	if p := l.pos[v]; p >= 0 {
		live.remove(p)
	}
}

// after lists what is live after instruction i, without its results.
func (l *liveness) after(i clif.Inst) []clif.Value {
	if len(l.refs) == 0 {
		return nil
	}
	f := l.f
	live := make(bitset, (len(l.refs)+63)/64)
	for _, b := range f.Layout {
		if bd := &f.Blocks[b]; bd.Start <= i && i < bd.End {
			l.walk(b, i+1, live)
		}
	}
	d := &f.Insts[i]
	for n := range clif.Value(d.NumResults) {
		l.define(uint32(d.Result+n), live)
	}
	var out []clif.Value
	for p, v := range l.refs {
		if live.has(int32(p)) {
			out = append(out, v)
		}
	}
	return out
}
