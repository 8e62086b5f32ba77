package flow

import (
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Classes is the state of finding values that are best in one place: block
// parameters and what is passed for them. Where no two of them are live at
// once they are a class, which has one spill slot and one favourite register;
// if all get it, edges need no moves for them.
type Classes struct {
	Intervals
	reserved *Reservations

	classOf []uint32 // by value: a class or none; resolve with classFor
	All     []class
	merged  []Range // ranges of the classes' members, in order; 0 is the end of lists
	effort  int     // steps left for comparing ranges

	Favourite [64]uint32 // by register: the class whose pref it became last
}

// class is a set of values of one kind, no two of them live at once.
type class struct {
	Parent     uint32 // another class that this one has become part of, or itself
	head, tail uint32 // ranges
	Depth      int8   // loop depth for which pref was chosen; -1 for a mere hint
	Pref       uint8
	owner      uint32 // of its slot, or none
	// unsafe are registers that some member cannot keep, because they are clobbered where
	// it is live.
	unsafe    regalloc.PRegSet
	cursor    uint32 // range not before the walk's position
	hasUnsafe bool
}

const (
	// kindFlags have to agree in a class.
	kindFlags = IsFloat | IsWide | IsRef
	// noClass are values whose homes are places of their own.
	noClass = IsRemat | IsArg

	maxMergeSteps = 256 // for one pair of classes
	mergeDepths   = 3   // greatest loop depth that is distinguished
)

// coalesce makes the classes, edges in deep loops first.
func (co *Classes) coalesce(iv Intervals, reserved *Reservations) {
	co.Intervals, co.reserved = iv, reserved
	in := co.In
	for r := range co.Favourite {
		co.Favourite[r] = None
	}
	co.classOf = stop.Resize(co.In.Stop, co.classOf, len(co.Values))
	for v := range co.classOf {
		co.classOf[v] = None
	}
	most := min(len(co.Values), len(in.VRegLists))
	co.All = stop.Grow(in.Stop, co.All[:0], most)
	co.merged = append(stop.Grow(in.Stop, co.merged[:0], most+1), Range{Start: Inf, End: Inf})
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
func (co *Classes) coalesceEdges(b regalloc.Block) {
	for _, e := range co.In.SuccsOf(b) {
		if e.Args.Len() == 0 {
			continue
		}
		params := co.In.ParamsOf(e.To)
		for k, v := range co.In.ArgsOf(e) {
			co.In.Stop.PollAt(k)
			co.join(uint32(params[k]), uint32(v))
		}
	}
}

// join merges the classes of v and w if no two of their members are ever live
// at once.
func (co *Classes) join(v, w uint32) {
	x, y := &co.Values[v], &co.Values[w]
	if v == w || x.Range == 0 || y.Range == 0 || (x.Flags^y.Flags)&kindFlags != 0 || (x.Flags|y.Flags)&noClass != 0 {
		return
	}
	c, d := co.ClassFor(v), co.ClassFor(w)
	if c == d && c != None {
		return
	}
	if c == None {
		c = co.newClass(v)
	}
	if d == None {
		d = co.newClass(w)
	}
	p, q := &co.All[c], &co.All[d]
	if !co.disjoint(p, q) {
		return
	}
	co.mergeRanges(p, q)
	q.Parent = c
	if p.Pref == uint8(regalloc.NoPReg) {
		p.Pref = q.Pref
	}
}

// ClassFor returns the class that v is in now, or none.
func (co *Classes) ClassFor(v uint32) uint32 {
	c := co.classOf[v]
	if c == None || co.All[c].Parent == c {
		return c
	}
	for co.All[c].Parent != c {
		up := &co.All[c].Parent
		*up = co.All[*up].Parent
		c = *up
	}
	co.classOf[v] = c
	return c
}

// newClass makes a class of v alone.
func (co *Classes) newClass(v uint32) uint32 {
	vr := &co.Values[v]
	n, head := uint32(len(co.All)), uint32(len(co.merged))
	for r := vr.Range; r != 0; r = co.Ranges[r].Next {
		x := co.Ranges[r]
		co.merged = stop.Append(co.In.Stop, co.merged, Range{x.Start, x.End, uint32(len(co.merged) + 1)})
	}
	tail := uint32(len(co.merged) - 1)
	co.merged[tail].Next = 0
	co.All = stop.Append(co.In.Stop, co.All, class{Parent: n, head: head, cursor: head, tail: tail, Depth: -1, Pref: vr.Pref, owner: None})
	co.classOf[v] = n
	return n
}

// disjoint reports whether no ranges of p and q overlap; false if that takes too
// long to find out.
func (co *Classes) disjoint(p, q *class) bool {
	m := co.merged
	if m[p.tail].End <= m[q.head].Start || m[q.tail].End <= m[p.head].Start {
		return true
	}
	i, j := p.head, q.head
	steps := min(maxMergeSteps, co.effort)
	for n := 0; n < steps; n++ {
		x, y := &m[i], &m[j]
		switch {
		case x.End <= y.Start:
			i = x.Next
		case y.End <= x.Start:
			j = y.Next
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
func (co *Classes) mergeRanges(p, q *class) {
	m := co.merged
	i, j := p.head, q.head
	if m[j].Start < m[i].Start {
		i, j = j, i
	}
	tail := p.tail
	if m[q.tail].End > m[p.tail].End {
		tail = q.tail
	}
	p.head, p.cursor, p.tail = i, i, tail
	for j != 0 {
		co.In.Stop.Poll()
		// Ranges from i on that come before j.
		for m[i].Next != 0 && m[m[i].Next].Start < m[j].Start {
			i = m[i].Next
		}
		m[i].Next, j = j, m[i].Next
		i = m[i].Next
	}
}

// Coveted reports whether r is the favourite of a class other than own, and a value of
// that class is live somewhere between pos, where the walk is, and end.
func (co *Classes) Coveted(r regalloc.PReg, own, pos, end uint32) bool {
	c := co.Favourite[r&63]
	if c == None || c == own {
		return false
	}
	return co.liveIn(&co.All[c], pos, end)
}

// liveIn reports whether a value of cl is live somewhere between pos, where the walk is, and end.
func (co *Classes) liveIn(cl *class, pos, end uint32) bool {
	for co.merged[cl.cursor].End <= pos && cl.cursor != cl.tail {
		cl.cursor = co.merged[cl.cursor].Next
	}
	x := &co.merged[cl.cursor]
	return x.End > pos && x.Start < end
}

// Unsafe are the registers that v, of class c, should not begin with, as
// other members could not keep them.
func (co *Classes) Unsafe(c, v uint32) regalloc.PRegSet {
	if c == None {
		return 0
	}
	cl := &co.All[c]
	if !cl.hasUnsafe {
		cl.hasUnsafe = true
		for k, l := range co.reserved.SetPos[:co.reserved.NumSets] {
			if n := len(l); n > 0 && l[n-1] < co.merged[cl.tail].End && co.meets(l, cl.head) {
				cl.unsafe |= co.reserved.sets[k].Lost(co.Bytes(v))
			}
		}
	}
	return cl.unsafe
}

// meets reports whether one of the positions, which fall, lies in a range of
// the list r.
func (co *Classes) meets(list []uint32, r uint32) bool {
	j := len(list) - 1
	for ; r != 0 && j >= 0; r = co.merged[r].Next {
		x := &co.merged[r]
		if list[j] < x.Start {
			j = sort.Search(j, func(k int) bool { return list[k] < x.Start }) - 1
		}
		if j >= 0 && list[j] < x.End {
			return true
		}
	}
	return false
}
