package linear

import (
	"sort"

	"github.com/waot-project/waot/regalloc/flow"
)

// regQueue is what is known of one register from the walk's position on: the
// ranges it is given away for, rising and disjoint. Ranges before head are past.
type regQueue struct {
	list []occupied
	head int
	busy uint32 // the register is given away from the walk's position up to here; a position that is past if that is not known
	// reserved is a position in front of which, from the walk's position on, no operand reserves the register.
	reserved uint32
}

// occupied is a range of a part that has the register.
type occupied struct{ start, end, part uint32 }

// pass drops what ends at or before pos, and returns the first range left, or
// one that begins at inf.
func (q *regQueue) pass(pos uint32) occupied {
	for q.head < len(q.list) {
		if o := q.list[q.head]; o.end > pos {
			return o
		}
		q.head++
	}
	return occupied{flow.Inf, flow.Inf, flow.None}
}

// search returns the index of the first range that ends after pos, from i on.
func (q *regQueue) search(i int, pos uint32) int {
	for n := 0; n < 8; n++ {
		if i >= len(q.list) || q.list[i].end > pos {
			return i
		}
		i++
	}
	return i + sort.Search(len(q.list)-i, func(k int) bool { return q.list[i+k].end > pos })
}

// insert adds a range that is disjoint from all others, at or after index from,
// and returns where.
func (q *regQueue) insert(from int, o occupied) int {
	i := q.search(max(from, q.head), o.start)
	if q.head > 0 && i-q.head <= len(q.list)-i {
		copy(q.list[q.head-1:], q.list[q.head:i])
		q.head--
		q.list[i-1] = o
		return i - 1
	}
	q.list = append(q.list, occupied{})
	copy(q.list[i+1:], q.list[i:])
	q.list[i] = o
	return i
}

// remove takes away all ranges of part, whose last ends at end.
func (q *regQueue) remove(part, end uint32) {
	q.busy = 0
	if o := q.list[q.head]; o.part == part && o.end >= end {
		q.head++
		return
	}
	stop := sort.Search(len(q.list)-q.head, func(k int) bool { return q.list[q.head+k].start >= end }) + q.head
	to := stop
	for i := stop - 1; i >= q.head; i-- {
		if q.list[i].part != part {
			to--
			q.list[to] = q.list[i]
		}
	}
	q.head = to
}

// freeUntil returns the first position at which part pt is live and the register
// is given away to another part than except, or inf. That may be the start of
// any range; if the layout shows a use of a value before its definition, also the start of
// the definition.
func (w *walker) freeUntil(q *regQueue, pt *flow.Part, except uint32) uint32 {
	o := q.pass(w.pos)
	if o.start >= pt.End {
		return flow.Inf
	}
	i := q.head
	for r := pt.Range; r != 0; {
		rr := &w.Ranges[r]
		i = q.search(i, rr.Start)
		if i == len(q.list) || q.list[i].start >= pt.End {
			return flow.Inf
		}
		if q.list[i].part == except {
			i++
			continue
		}
		if q.list[i].start < rr.End {
			return max(q.list[i].start, rr.Start)
		}
		for r != 0 && w.Ranges[r].End <= q.list[i].start {
			r = w.Ranges[r].Next
		}
	}
	return flow.Inf
}

// occupy gives the register to part p.
func (w *walker) occupy(q *regQueue, p uint32) {
	q.pass(w.pos)
	if q.head > 256 && q.head > len(q.list)/2 {
		q.list = append(q.list[:0], q.list[q.head:]...)
		q.head = 0
	}
	r, end := w.parts[p].Range, w.parts[p].End
	if n := len(q.list); n > q.head {
		last := min(q.list[n-1].start, end)
		for i := 0; r != 0 && w.Ranges[r].Start < last; r = w.Ranges[r].Next {
			i = q.insert(i, occupied{w.Ranges[r].Start, min(w.Ranges[r].End, end), p})
		}
	}
	// What is left comes behind all others.
	list := q.list
	for r != 0 {
		rr := &w.Ranges[r]
		if rr.Start >= end {
			break
		}
		list = append(list, occupied{rr.Start, min(rr.End, end), p})
		r = rr.Next
	}
	q.list = list
}
