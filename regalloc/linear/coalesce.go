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
	intervals
	reserved *reservations

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
	depth      int8   // loop depth for which pref was chosen; -1 for a mere hint
	pref       uint8
	owner      uint32 // of its slot, or none
	// unsafe are registers that some member cannot keep, because they are clobbered where
	// it is live.
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
	mergeDepths   = 3   // greatest loop depth that is distinguished
)

// coalesce makes the classes, edges in deep loops first.
func (co *coalescer) coalesce(iv intervals, reserved *reservations) {
	co.intervals, co.reserved = iv, reserved
	in := co.in
	for r := range co.favourite {
		co.favourite[r] = none
	}
	co.classOf = stop.Resize(co.in.Stop, co.classOf, len(co.vregs))
	for v := range co.classOf {
		co.classOf[v] = none
	}
	co.classes = co.classes[:0]
	co.merged = append(co.merged[:0], rng{start: inf, end: inf})
	co.effort = 1024 + 16*len(in.VRegLists)
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
				co.coalesceEdges(regalloc.Block(b))
			}
		}
	}
}

// coalesceEdges joins what b passes with the parameters that it is passed for.
func (co *coalescer) coalesceEdges(b regalloc.Block) {
	for _, e := range co.in.SuccsOf(b) {
		if e.Args.Len() == 0 {
			continue
		}
		params := co.in.ParamsOf(e.To)
		for k, v := range co.in.ArgsOf(e) {
			co.in.Stop.PollAt(k)
			co.join(uint32(params[k]), uint32(v))
		}
	}
}

// join merges the classes of v and w if no two of their members are ever live
// at once.
func (co *coalescer) join(v, w uint32) {
	x, y := &co.vregs[v], &co.vregs[w]
	if v == w || x.rng == 0 || y.rng == 0 || (x.flags^y.flags)&kindFlags != 0 || (x.flags|y.flags)&noClass != 0 {
		return
	}
	c, d := co.classFor(v), co.classFor(w)
	if c == d && c != none {
		return
	}
	if c == none {
		c = co.newClass(v)
	}
	if d == none {
		d = co.newClass(w)
	}
	p, q := &co.classes[c], &co.classes[d]
	if !co.disjoint(p, q) {
		return
	}
	co.mergeRanges(p, q)
	q.parent = c
	if p.pref == uint8(regalloc.NoPReg) {
		p.pref = q.pref
	}
}

// classFor returns the class that v is in now, or none.
func (co *coalescer) classFor(v uint32) uint32 {
	c := co.classOf[v]
	if c == none || co.classes[c].parent == c {
		return c
	}
	for co.classes[c].parent != c {
		up := &co.classes[c].parent
		*up = co.classes[*up].parent
		c = *up
	}
	co.classOf[v] = c
	return c
}

// newClass makes a class of v alone.
func (co *coalescer) newClass(v uint32) uint32 {
	vr := &co.vregs[v]
	n, head := uint32(len(co.classes)), uint32(len(co.merged))
	for r := vr.rng; r != 0; r = co.ranges[r].next {
		x := co.ranges[r]
		co.merged = stop.Append(co.in.Stop, co.merged, rng{x.start, x.end, uint32(len(co.merged) + 1)})
	}
	tail := uint32(len(co.merged) - 1)
	co.merged[tail].next = 0
	co.classes = stop.Append(co.in.Stop, co.classes, class{parent: n, head: head, cursor: head, tail: tail, depth: -1, pref: vr.pref, owner: none})
	co.classOf[v] = n
	return n
}

// disjoint reports whether no ranges of p and q overlap; false if that takes too
// long to find out.
func (co *coalescer) disjoint(p, q *class) bool {
	m := co.merged
	if m[p.tail].end <= m[q.head].start || m[q.tail].end <= m[p.head].start {
		return true
	}
	i, j := p.head, q.head
	steps := min(maxMergeSteps, co.effort)
	for n := 0; n < steps; n++ {
		x, y := &m[i], &m[j]
		switch {
		case x.end <= y.start:
			i = x.next
		case y.end <= x.start:
			j = y.next
		default:
			co.effort -= n
			return false
		}
		if i == 0 || j == 0 {
			co.effort -= n
			return true
		}
	}
	co.effort -= steps
	return false
}

// mergeRanges puts the ranges of q among those of p; they are disjoint.
func (co *coalescer) mergeRanges(p, q *class) {
	m := co.merged
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
		co.in.Stop.Poll()
		// Ranges from i on that come before j.
		for m[i].next != 0 && m[m[i].next].start < m[j].start {
			i = m[i].next
		}
		m[i].next, j = j, m[i].next
		i = m[i].next
	}
}

// coveted reports whether r is the favourite of a class other than own, and a value of
// that class is live somewhere between pos, where the walk is, and end.
func (co *coalescer) coveted(r regalloc.PReg, own, pos, end uint32) bool {
	c := co.favourite[r&63]
	if c == none || c == own {
		return false
	}
	return co.liveIn(&co.classes[c], pos, end)
}

// liveIn reports whether a value of cl is live somewhere between pos, where the walk is, and end.
func (co *coalescer) liveIn(cl *class, pos, end uint32) bool {
	for co.merged[cl.cursor].end <= pos && cl.cursor != cl.tail {
		cl.cursor = co.merged[cl.cursor].next
	}
	x := &co.merged[cl.cursor]
	return x.end > pos && x.start < end
}

// unsafe are the registers that v, of class c, should not begin with, as
// other members could not keep them.
func (co *coalescer) unsafe(c, v uint32) regalloc.PRegSet {
	if c == none {
		return 0
	}
	cl := &co.classes[c]
	if !cl.hasUnsafe {
		cl.hasUnsafe = true
		for k, l := range co.reserved.setPos[:co.reserved.numSets] {
			if n := len(l); n > 0 && l[n-1] < co.merged[cl.tail].end && co.meets(l, cl.head) {
				cl.unsafe |= co.reserved.sets[k].Lost(co.bytes(v))
			}
		}
	}
	return cl.unsafe
}

// meets reports whether one of the positions, which fall, lies in a range of
// the list r.
func (co *coalescer) meets(list []uint32, r uint32) bool {
	j := len(list) - 1
	for ; r != 0 && j >= 0; r = co.merged[r].next {
		x := &co.merged[r]
		if list[j] < x.start {
			j = sort.Search(j, func(k int) bool { return list[k] < x.start }) - 1
		}
		if j >= 0 && list[j] < x.end {
			return true
		}
	}
	return false
}
