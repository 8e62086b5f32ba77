package linear

import (
	"sort"

	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// firstAt returns the first of the positions, not before from, at which part p
// is live, or inf.
func (w *walker) firstAt(list []uint32, p, from uint32) uint32 {
	pt := &w.parts[p]
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
// which part p is live (at least p's start), or inf.
func (w *walker) firstSpan(r regalloc.PReg, p uint32) uint32 {
	return w.firstOf(&w.reserved.Spans[r], p)
}

// firstOf returns the start of the first of the spans in which part p is live (at least p's start), or inf. It drops spans that are past.
func (w *walker) firstOf(spans *[]flow.Span, p uint32) uint32 {
	l := *spans
	if len(l) == 0 {
		return flow.Inf
	}
	pt := &w.parts[p]
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

// firstSafepoint returns the first safepoint that the reference part p passes.
func (w *walker) firstSafepoint(p uint32) uint32 {
	pt := &w.parts[p]
	l := w.reserved.Safepoints
	at := sort.Search(len(l), func(k int) bool { return l[k] < pt.Start })
	pos := w.firstAt(l[:at], p, 0)
	if pos != flow.Inf && flow.InstOf(pos) == w.Values[pt.Value].DefInst {
		pos = w.firstAt(l[:at], p, pos+1)
	}
	return pos
}
