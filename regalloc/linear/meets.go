package linear

import (
	"sort"

	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// firstAt returns the first of the positions, not before from, at which part pt
// is live, or inf.
func (w *walker) firstAt(list []uint32, pt *flow.Part, from uint32) uint32 {
	j := len(list) - 1
	if j < 0 || list[j] >= pt.End {
		return flow.Inf
	}
	for r := pt.Range; r != 0 && j >= 0; {
		rr := &w.Ranges[r]
		start := max(rr.Start, from)
		if list[j] < start {
			j = sort.Search(j, func(k int) bool { return list[k] < start }) - 1
			continue
		}
		switch {
		case list[j] >= pt.End:
			return flow.Inf
		case list[j] < rr.End:
			return list[j]
		}
		r = rr.Next
	}
	return flow.Inf
}

// firstSpan returns the start of the first reservation of r by an operand in
// which part pt is live (at least pt's start), or inf.
func (w *walker) firstSpan(r regalloc.PReg, pt *flow.Part) uint32 {
	spans := &w.reserved.Spans[r&63]
	at := w.firstOf(spans, pt)
	w.regs[r&63].reserved = flow.Inf
	if n := len(*spans); n > 0 {
		w.regs[r&63].reserved = (*spans)[n-1].Start
	}
	return at
}

// firstOf returns the start of the first of the spans in which part pt is live (at least pt's start), or inf. It drops spans that are past.
func (w *walker) firstOf(spans *[]flow.Span, pt *flow.Part) uint32 {
	l := *spans
	if len(l) == 0 {
		return flow.Inf
	}
	for len(l) > 0 && l[len(l)-1].End <= w.pos {
		l = l[:len(l)-1]
	}
	*spans = l
	j := len(l) - 1
	if j < 0 || l[j].Start >= pt.End {
		return flow.Inf
	}
	for x := pt.Range; x != 0 && j >= 0; {
		rr := &w.Ranges[x]
		if l[j].End <= rr.Start {
			j = sort.Search(j, func(k int) bool { return l[k].End <= rr.Start }) - 1
			continue
		}
		switch {
		case l[j].Start >= pt.End:
			return flow.Inf
		case l[j].Start < rr.End:
			return max(l[j].Start, rr.Start)
		}
		x = rr.Next
	}
	return flow.Inf
}

// firstSafepoint returns the first safepoint that the reference part pt passes.
func (w *walker) firstSafepoint(pt *flow.Part) uint32 {
	l := w.reserved.Safepoints
	at := sort.Search(len(l), func(k int) bool { return l[k] < pt.Start })
	pos := w.firstAt(l[:at], pt, 0)
	if pos != flow.Inf && flow.InstOf(pos) == w.Values[pt.Value].DefInst {
		pos = w.firstAt(l[:at], pt, pos+1)
	}
	return pos
}
