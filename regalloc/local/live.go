package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// liveness is the values live into each root, parameters excepted. They are found by walking from each use up to the
// definition (Boissinot et al., computing liveness sets for SSA-form programs, 2011), value by value and tree by tree.
type liveness struct {
	liveIn    []uint32 // root after root
	liveInEnd []uint32 // by block
	pairs     []livePair
	seen      []uint32 // by root: the last value that was there
	climbing  []uint32
}

// livePair is a value and a root that it is live into.
type livePair struct{ v, tree uint32 }

// liveInto returns the values live into b, a root.
func (lv *liveness) liveInto(b uint32) []uint32 {
	start := uint32(0)
	if b > 0 {
		start = lv.liveInEnd[b-1]
	}
	return lv.liveIn[start:lv.liveInEnd[b]]
}

// findLive finds liveness and, for values used in several trees, the positions up to which their homes are needed.
func (a *Allocator) findLive() error {
	in := a.in
	a.pairs = a.pairs[:0]
	a.seen = stop.Resize(in.Stop, a.seen, len(in.Blocks))
	a.liveInEnd = stop.Zeroed(in.Stop, a.liveInEnd, len(in.Blocks))
	for b := range a.seen {
		in.Stop.PollAt(b)
		a.seen[b] = none
	}
	for _, v := range a.globals {
		if err := a.climb(v); err != nil {
			return err
		}
	}
	sum := uint32(0)
	for b, n := range a.liveInEnd {
		in.Stop.PollAt(b)
		a.liveInEnd[b] = sum
		sum += n
	}
	a.liveIn = stop.Resize(in.Stop, a.liveIn, len(a.pairs))
	for k := range a.pairs {
		in.Stop.PollAt(k)
		p := a.pairs[k]
		a.liveIn[a.liveInEnd[p.tree]] = p.v
		a.liveInEnd[p.tree]++
	}
	return nil
}

// climb finds the roots that v is live into.
func (a *Allocator) climb(v uint32) error {
	x := &a.values[v]
	if x.tree == none {
		return flow.Fail(flow.Undefined, none, v)
	}
	in, end := a.in, x.last
	a.seen[x.tree] = v
	work := a.climbing[:0]
	for u := x.uses; u != none; u = a.uses[u].next {
		if t := a.uses[u].tree; a.seen[t] != v {
			a.seen[t] = v
			work = append(work, t)
		}
	}
	for len(work) > 0 {
		in.Stop.Poll()
		t := work[len(work)-1]
		work = work[:len(work)-1]
		a.pairs = stop.Append(in.Stop, a.pairs, livePair{v, t})
		a.liveInEnd[t]++
		end = max(end, a.lastIn[t])
		a.unordered = a.unordered || a.starts[t] < x.def
		preds := in.PredsOf(regalloc.Block(t))
		if len(preds) == 0 { // t is the entry
			return flow.Fail(flow.Undefined, none, v)
		}
		for _, p := range preds {
			if up := a.tree[p]; a.seen[up] != v {
				a.seen[up] = v
				work = append(work, up)
			}
		}
	}
	a.climbing, x.end = work, end
	return flow.LimitLive(in, len(a.pairs), v)
}
