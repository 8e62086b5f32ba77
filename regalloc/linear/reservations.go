package linear

import (
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// reservations are the registers that instructions reserve. All lists hold
// falling positions, since they are built backward; the walk removes passed positions
// from their ends.
type reservations struct {
	function

	spans [64][]span // by register: reservations by operands
	// setPos are the positions where instructions clobber each of sets.
	setPos  [maxSets][]uint32
	numSets int
	sets    [maxSets]regalloc.Clobbers
	setOf   []uint8 // by index of Input.ClobberSets: the number in sets plus 1, or 0
	// regSets are, by width of a value in words less 1 and by register, the numbers
	// of the sets that lose the value there.
	regSets [2][64]uint32
	// safepoints are positions that no reference passes in a register.
	safepoints []uint32
	// unsaved is where callee-saved registers are the caller's; savePrice is what it costs to save and restore one, in units of frequency.
	unsaved   []span
	savePrice uint32
}

type span struct{ start, end uint32 }

// maxSets bounds the number of sets that have lists of their own.
const maxSets = 16

// reset empties rv and binds it to fn.
func (rv *reservations) reset(fn function) {
	rv.function = fn
	for r := range rv.spans {
		rv.spans[r] = rv.spans[r][:0]
	}
	clear(rv.regSets[:])
	for k := range rv.setPos {
		rv.setPos[k] = rv.setPos[k][:0]
	}
	rv.numSets = 0
	rv.setOf = stop.Resize(rv.in.Stop, rv.setOf, len(rv.in.ClobberSets))
	clear(rv.setOf)
	rv.safepoints = rv.safepoints[:0]
	rv.unsaved, rv.savePrice = rv.unsaved[:0], 2*entryFreq
}

// clobber reserves the clobber set with the given index at pos.
func (rv *reservations) clobber(index uint16, pos uint32) {
	set := rv.in.ClobberSets[index]
	rv.out.Used |= set.Low & rv.env.Allocatable
	if rv.setOf[index] == 0 && rv.numSets < maxSets {
		rv.addSet(index, set)
	}
	if k := rv.setOf[index]; k != 0 {
		rv.setPos[k-1] = append(rv.setPos[k-1], pos)
		return
	}
	// Too many sets: reserve whole registers, even if one half is preserved.
	for s := set.Lost(16); s != 0; s &= s - 1 {
		rv.reserve(s.First(), pos, pos+1)
	}
}

// addSet gives the clobber set with the given index a list of its own.
func (rv *reservations) addSet(index uint16, set regalloc.Clobbers) {
	bit := uint32(1) << rv.numSets
	rv.sets[rv.numSets] = set
	rv.numSets++
	rv.setOf[index] = uint8(rv.numSets)
	for k := range rv.regSets {
		for s := set.Lost(8 << k); s != 0; s &= s - 1 {
			rv.regSets[k][s.First()] |= bit
		}
	}
}

// reserve keeps r for the instruction at start from start to end.
func (rv *reservations) reserve(r regalloc.PReg, start, end uint32) {
	rv.out.Used = rv.out.Used.Add(r)
	l := rv.spans[r]
	if n := len(l); n > 0 && sameInst(l[n-1].start, start) {
		l[n-1] = span{min(l[n-1].start, start), max(l[n-1].end, end)}
		return
	}
	rv.spans[r] = append(l, span{start, end})
}

// pass drops the reservations before pos.
func (rv *reservations) pass(pos uint32) {
	for k := range rv.setPos[:rv.numSets] {
		l := rv.setPos[k]
		for len(l) > 0 && l[len(l)-1] < pos {
			l = l[:len(l)-1]
		}
		rv.setPos[k] = l
	}
}

// firstAt returns the first of the positions, not before from, at which part p
// is live, or inf.
func (w *walker) firstAt(list []uint32, p, from uint32) uint32 {
	pt := &w.parts[p]
	j := len(list) - 1
	if j < 0 || list[j] >= pt.end {
		return inf
	}
	for r := pt.rng; r != 0 && j >= 0; {
		rr := &w.ranges[r]
		start := max(rr.start, from)
		if list[j] < start {
			j = sort.Search(j, func(k int) bool { return list[k] < start }) - 1
			continue
		}
		switch {
		case list[j] >= pt.end:
			return inf
		case list[j] < rr.end:
			return list[j]
		}
		r = rr.next
	}
	return inf
}

// firstSpan returns the start of the first reservation of r by an operand in
// which part p is live (at least p's start), or inf.
func (w *walker) firstSpan(r regalloc.PReg, p uint32) uint32 {
	return w.firstOf(&w.reserved.spans[r], p)
}

// firstOf returns the start of the first of the spans in which part p is live (at least p's start), or inf. It drops spans that are past.
func (w *walker) firstOf(spans *[]span, p uint32) uint32 {
	l := *spans
	if len(l) == 0 {
		return inf
	}
	pt := &w.parts[p]
	for len(l) > 0 && l[len(l)-1].end <= w.pos {
		l = l[:len(l)-1]
	}
	*spans = l
	j := len(l) - 1
	if j < 0 || l[j].start >= pt.end {
		return inf
	}
	for x := pt.rng; x != 0 && j >= 0; {
		rr := &w.ranges[x]
		if l[j].end <= rr.start {
			j = sort.Search(j, func(k int) bool { return l[k].end <= rr.start }) - 1
			continue
		}
		switch {
		case l[j].start >= pt.end:
			return inf
		case l[j].start < rr.end:
			return max(l[j].start, rr.start)
		}
		x = rr.next
	}
	return inf
}

// firstSafepoint returns the first safepoint that the reference part p passes.
func (w *walker) firstSafepoint(p uint32) uint32 {
	pt := &w.parts[p]
	l := w.reserved.safepoints
	at := sort.Search(len(l), func(k int) bool { return l[k] < pt.start })
	pos := w.firstAt(l[:at], p, 0)
	if pos != inf && instOf(pos) == w.vregs[pt.vreg].defInst {
		pos = w.firstAt(l[:at], p, pos+1)
	}
	return pos
}
