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
	above     []uint32 // root after root: the trees with edges to it, each once, as thousands of edges may come from one tree
	aboveEnd  []uint32 // by block
	pairs     []livePair
	facts     int      // values live along edges to roots: each edge has to agree with the claims about the root, which the checker looks at
	seen      []uint32 // by root: the last value that was there
	climbing  []uint32
}

// livePair is a value and a block that it is live into.
type livePair struct{ v, block uint32 }

// liveInto returns the values live into b, a root.
func (lv *liveness) liveInto(b uint32) []uint32 { return ofBlock(lv.liveIn, lv.liveInEnd, b) }

// ofBlock returns the part of a list that belongs to b, where end has the ends of all blocks' parts.
func ofBlock[T any](list []T, end []uint32, b uint32) []T {
	start := uint32(0)
	if b > 0 {
		start = end[b-1]
	}
	return list[start:end[b]]
}

// sortPairs returns the values of pairs, block after block, in list's memory. By block, end has the number of values, and then where they end.
func sortPairs(f *stop.Flag, list, end []uint32, pairs []livePair) []uint32 {
	sum := uint32(0)
	for b, n := range end {
		f.PollAt(b)
		end[b] = sum
		sum += n
	}
	list = stop.Resize(f, list, len(pairs))
	for k := range pairs {
		f.PollAt(k)
		p := pairs[k]
		list[end[p.block]] = p.v
		end[p.block]++
	}
	return list
}

// findAbove finds the trees with edges to each root.
func (a *Allocator) findAbove() {
	in := a.in
	a.above = a.above[:0]
	a.aboveEnd = stop.Resize(in.Stop, a.aboveEnd, len(in.Blocks))
	a.clearSeen()
	for b := range uint32(len(in.Blocks)) {
		if a.tree[b] == b {
			for _, p := range in.PredsOf(regalloc.Block(b)) {
				in.Stop.Poll()
				if t := a.tree[p]; a.seen[t] != b {
					a.seen[t] = b
					a.above = append(stop.Room(in.Stop, a.above), t)
				}
			}
		}
		a.aboveEnd[b] = uint32(len(a.above))
	}
}

func (a *Allocator) clearSeen() {
	a.seen = stop.Resize(a.in.Stop, a.seen, len(a.in.Blocks))
	for b := range a.seen {
		a.in.Stop.PollAt(b)
		a.seen[b] = none
	}
}

// treesAbove returns the trees with edges to b, a root.
func (lv *liveness) treesAbove(b uint32) []uint32 { return ofBlock(lv.above, lv.aboveEnd, b) }

// findLive finds liveness and, for values used in several trees, the positions up to which their homes are needed.
func (a *Allocator) findLive() error {
	in := a.in
	a.pairs, a.facts = a.pairs[:0], 0
	a.liveInEnd = stop.Zeroed(in.Stop, a.liveInEnd, len(in.Blocks))
	if len(a.globals) > 0 {
		a.findAbove()
		a.clearSeen()
	}
	for _, v := range a.globals {
		if err := a.climb(v); err != nil {
			return err
		}
	}
	a.liveIn = sortPairs(in.Stop, a.liveIn, a.liveInEnd, a.pairs)
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
		a.facts += len(in.PredsOf(regalloc.Block(t)))
		end = max(end, a.lastIn[t])
		a.unordered = a.unordered || a.starts[t] < x.def
		trees := a.treesAbove(t)
		if len(trees) == 0 { // t is the entry
			return flow.Fail(flow.Undefined, none, v)
		}
		for _, up := range trees {
			if a.seen[up] != v {
				a.seen[up] = v
				work = append(work, up)
			}
		}
	}
	a.climbing, x.end = work, end
	return flow.LimitLive(in, a.facts, v)
}
