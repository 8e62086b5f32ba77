package linear

import (
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// coalescer is the state of finding values that are best in one place: block
// parameters and what is passed for them. Where no two of them are live at
// once they are a class, which has one spill slot and one favourite register;
// if all get it, edges need no moves for them.
type coalescer struct {
	classOf []uint32 // by value: a class or none; resolve with classFor
	classes []class
	merged  []rng // ranges of the classes' members, in order; 0 is the end of lists
	effort  int   // steps left for comparing ranges

	favourite [64]uint32 // by register: the class whose pref it became last
}

// class is a set of values of one kind, no two of them live at once.
type class struct {
	parent     uint32 // another class that this one has become part of, or itself
	head, tail uint32 // ranges
	depth      int8   // loop depth for which pref was chosen; -1 is a mere wish
	pref       uint8
	owner      uint32 // of its slot, or none
	// unsafe are registers that some member cannot have for long, as a set of
	// clobbers has them where it is live.
	unsafe    regalloc.PRegSet
	cursor    uint32 // range not before the walk's position
	hasUnsafe bool
}

const (
	// kindFlags have to agree in a class.
	kindFlags = isFloat | isWide | isRef
	// noClass are values whose homes are places of their own.
	noClass = isRemat | isArg

	maxMergeSteps = 256 // for one pair of classes
	mergeDepths   = 3   // loop depths that are told apart, and lesser ones
)

// coalesce makes the classes, edges in deep loops first.
func (a *Allocator) coalesce() {
	in := a.in
	a.classOf = stop.Resize(a.in.Stop, a.classOf, len(a.vregs))
	for v := range a.classOf {
		a.classOf[v] = none
	}
	a.classes = a.classes[:0]
	a.merged = append(a.merged[:0], rng{start: inf, end: inf})
	a.effort = 1024 + 16*len(in.VRegLists)
	deepest := uint16(0)
	for b := range in.Blocks {
		if in.Blocks[b].Succs.Len() > 0 {
			deepest = max(deepest, min(in.Blocks[b].LoopDepth, mergeDepths))
		}
	}
	for d := int(deepest); d >= 0; d-- {
		for b := len(in.Blocks) - 1; b >= 0; b-- {
			in.Stop.Poll()
			if int(min(in.Blocks[b].LoopDepth, mergeDepths)) == d {
				a.coalesceEdges(regalloc.Block(b))
			}
		}
	}
}

// coalesceEdges joins what b passes with the parameters that it is passed for.
func (a *Allocator) coalesceEdges(b regalloc.Block) {
	for _, e := range a.in.SuccsOf(b) {
		if e.Args.Len() == 0 {
			continue
		}
		params := a.in.ParamsOf(e.To)
		for k, v := range a.in.ArgsOf(e) {
			a.in.Stop.PollAt(k)
			a.join(uint32(params[k]), uint32(v))
		}
	}
}

// join makes v and w one class if they, and all that are in one with them, are
// never live at once.
func (a *Allocator) join(v, w uint32) {
	x, y := &a.vregs[v], &a.vregs[w]
	if v == w || x.rng == 0 || y.rng == 0 || (x.flags^y.flags)&kindFlags != 0 || (x.flags|y.flags)&noClass != 0 {
		return
	}
	c, d := a.classFor(v), a.classFor(w)
	if c == d && c != none {
		return
	}
	if c == none {
		c = a.newClass(v)
	}
	if d == none {
		d = a.newClass(w)
	}
	p, q := &a.classes[c], &a.classes[d]
	if !a.disjoint(p, q) {
		return
	}
	a.mergeRanges(p, q)
	q.parent = c
	if p.pref == uint8(regalloc.NoPReg) {
		p.pref = q.pref
	}
}

// classFor is the class that v is in now, or none.
func (a *Allocator) classFor(v uint32) uint32 {
	c := a.classOf[v]
	if c == none || a.classes[c].parent == c {
		return c
	}
	for a.classes[c].parent != c {
		up := &a.classes[c].parent
		*up = a.classes[*up].parent
		c = *up
	}
	a.classOf[v] = c
	return c
}

// newClass makes a class of v alone.
func (a *Allocator) newClass(v uint32) uint32 {
	vr := &a.vregs[v]
	n, head := uint32(len(a.classes)), uint32(len(a.merged))
	for r := vr.rng; r != 0; r = a.ranges[r].next {
		x := a.ranges[r]
		a.merged = stop.Append(a.in.Stop, a.merged, rng{x.start, x.end, uint32(len(a.merged) + 1)})
	}
	tail := uint32(len(a.merged) - 1)
	a.merged[tail].next = 0
	a.classes = stop.Append(a.in.Stop, a.classes, class{parent: n, head: head, cursor: head, tail: tail, depth: -1, pref: vr.pref, owner: none})
	a.classOf[v] = n
	return n
}

// disjoint reports whether no ranges of p and q overlap; false if that takes too
// long to find out.
func (a *Allocator) disjoint(p, q *class) bool {
	m := a.merged
	if m[p.tail].end <= m[q.head].start || m[q.tail].end <= m[p.head].start {
		return true
	}
	i, j := p.head, q.head
	steps := min(maxMergeSteps, a.effort)
	for n := 0; n < steps; n++ {
		x, y := &m[i], &m[j]
		switch {
		case x.end <= y.start:
			i = x.next
		case y.end <= x.start:
			j = y.next
		default:
			a.effort -= n
			return false
		}
		if i == 0 || j == 0 {
			a.effort -= n
			return true
		}
	}
	a.effort -= steps
	return false
}

// mergeRanges puts the ranges of q among those of p; they are disjoint.
func (a *Allocator) mergeRanges(p, q *class) {
	m := a.merged
	i, j := p.head, q.head
	if m[j].start < m[i].start {
		i, j = j, i
	}
	tail := p.tail
	if m[q.tail].end > m[p.tail].end {
		tail = q.tail
	}
	p.head, p.cursor, p.tail = i, i, tail
	for j != 0 {
		a.in.Stop.Poll()
		// Ranges from i on that come before j.
		for m[i].next != 0 && m[m[i].next].start < m[j].start {
			i = m[i].next
		}
		m[i].next, j = j, m[i].next
		i = m[i].next
	}
}

// coveted reports whether r is the favourite of another class that p is in, one
// of which is live somewhere in p.
func (a *Allocator) coveted(r regalloc.PReg, p uint32) bool {
	pt := &a.parts[p]
	c := a.favourite[r&63]
	if c == none || c == a.classFor(pt.vreg) {
		return false
	}
	cl := &a.classes[c]
	for a.merged[cl.cursor].end <= a.pos && cl.cursor != cl.tail {
		cl.cursor = a.merged[cl.cursor].next
	}
	x := &a.merged[cl.cursor]
	return x.end > a.pos && x.start < pt.end
}

// unsafe are the registers that a value of v's class should not begin with, as
// other members could not keep them.
func (a *Allocator) unsafe(v uint32) regalloc.PRegSet {
	c := a.classFor(v)
	if c == none {
		return 0
	}
	cl := &a.classes[c]
	if !cl.hasUnsafe {
		cl.hasUnsafe = true
		for k, l := range a.setPos[:a.numSets] {
			if n := len(l); n > 0 && l[n-1] < a.merged[cl.tail].end && a.meets(l, cl.head) {
				cl.unsafe |= a.sets[k].Lost(a.bytes(v))
			}
		}
	}
	return cl.unsafe
}

// meets reports whether one of the positions, which fall, lies in a range of
// the list r.
func (a *Allocator) meets(list []uint32, r uint32) bool {
	j := len(list) - 1
	for ; r != 0 && j >= 0; r = a.merged[r].next {
		x := &a.merged[r]
		if list[j] < x.start {
			j = sort.Search(j, func(k int) bool { return list[k] < x.start }) - 1
		}
		if j >= 0 && list[j] < x.end {
			return true
		}
	}
	return false
}
