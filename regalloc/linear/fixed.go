package linear

import (
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// fixed is what instructions reserve. All lists are of
// falling positions, since they are built backward; the walk takes what it has
// passed off their ends.
type fixed struct {
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
}

type span struct{ start, end uint32 }

// maxSets bounds the number of sets that have lists of their own.
const maxSets = 16

func (a *Allocator) resetFixed() {
	for r := range a.spans {
		a.spans[r] = a.spans[r][:0]
	}
	clear(a.regSets[:])
	for k := range a.setPos {
		a.setPos[k] = a.setPos[k][:0]
	}
	a.numSets = 0
	a.setOf = stop.Resize(a.in.Stop, a.setOf, len(a.in.ClobberSets))
	clear(a.setOf)
	a.safepoints = a.safepoints[:0]
}

// clobber reserves the clobber set with the given index at pos.
func (a *Allocator) clobber(index uint16, pos uint32) {
	set := a.in.ClobberSets[index]
	a.out.Used |= set.Low & a.env.Allocatable
	if a.setOf[index] == 0 && a.numSets < maxSets {
		a.addSet(index, set)
	}
	if k := a.setOf[index]; k != 0 {
		a.setPos[k-1] = append(a.setPos[k-1], pos)
		return
	}
	// Too many sets: even a value that fits into the half that is kept has to go.
	for s := set.Lost(16); s != 0; s &= s - 1 {
		a.reserve(s.First(), pos, pos+1)
	}
}

// addSet gives the clobber set with the given index a list of its own.
func (a *Allocator) addSet(index uint16, set regalloc.Clobbers) {
	bit := uint32(1) << a.numSets
	a.sets[a.numSets] = set
	a.numSets++
	a.setOf[index] = uint8(a.numSets)
	for k := range a.regSets {
		for s := set.Lost(8 << k); s != 0; s &= s - 1 {
			a.regSets[k][s.First()] |= bit
		}
	}
}

// reserve keeps r for the instruction at start from start to end.
func (a *Allocator) reserve(r regalloc.PReg, start, end uint32) {
	a.out.Used = a.out.Used.Add(r)
	l := a.spans[r]
	if n := len(l); n > 0 && l[n-1].start>>2 == start>>2 {
		l[n-1] = span{min(l[n-1].start, start), max(l[n-1].end, end)}
		return
	}
	a.spans[r] = append(l, span{start, end})
}

// pass drops the reservations before pos.
func (f *fixed) pass(pos uint32) {
	for k := range f.setPos[:f.numSets] {
		l := f.setPos[k]
		for len(l) > 0 && l[len(l)-1] < pos {
			l = l[:len(l)-1]
		}
		f.setPos[k] = l
	}
}

// firstAt returns the first of the positions, not before from, at which part p
// is live, or inf.
func (a *Allocator) firstAt(list []uint32, p, from uint32) uint32 {
	pt := &a.parts[p]
	j := len(list) - 1
	if j < 0 || list[j] >= pt.end {
		return inf
	}
	for r := pt.rng; r != 0 && j >= 0; {
		rr := &a.ranges[r]
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
func (a *Allocator) firstSpan(r regalloc.PReg, p uint32) uint32 {
	l := a.spans[r]
	if len(l) == 0 {
		return inf
	}
	pt := &a.parts[p]
	for len(l) > 0 && l[len(l)-1].end <= a.pos {
		l = l[:len(l)-1]
	}
	a.spans[r] = l
	j := len(l) - 1
	if j < 0 || l[j].start >= pt.end {
		return inf
	}
	for x := pt.rng; x != 0 && j >= 0; {
		rr := &a.ranges[x]
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
func (a *Allocator) firstSafepoint(p uint32) uint32 {
	pt := &a.parts[p]
	l := a.safepoints
	at := sort.Search(len(l), func(k int) bool { return l[k] < pt.start })
	pos := a.firstAt(l[:at], p, 0)
	if pos != inf && pos>>2 == a.vregs[pt.vreg].defInst {
		pos = a.firstAt(l[:at], p, pos+1)
	}
	return pos
}
