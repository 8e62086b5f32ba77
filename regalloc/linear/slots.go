package linear

import (
	"slices"

	"github.com/waot-project/waot/regalloc"
)

// spiller is the state of giving slots to values. Values whose extents, from
// the first to the last position where they are live, do not meet may share a
// slot; slots of one word and of two never overlap one another, so that no move
// touches half of a place that another one touches whole.
type spiller struct {
	order  []uint64 // start of extent, value
	busy   []uint64 // heap of end of extent, slot
	slots  []slot
	free   [2][]uint32 // by size; a slot that is not isFree is to be skipped
	endsAt []uint32    // by value: end of the extent
	starts []uint32    // by value: start of the extent
	slotOf []uint32    // by value
}

type slot struct {
	word   uint32
	wide   bool
	isFree bool
}

// assignSlots gives each value its home: a slot if some part is in memory.
func (a *Allocator) assignSlots() {
	a.homes = resize(a.homes, len(a.vregs))
	a.starts = resize(a.starts, len(a.vregs))
	a.endsAt = resize(a.endsAt, len(a.vregs))
	a.slotOf = resize(a.slotOf, len(a.vregs))
	a.order, a.busy, a.slots = a.order[:0], a.busy[:0], a.slots[:0]
	a.free[0], a.free[1] = a.free[0][:0], a.free[1][:0]
	for v := range a.vregs {
		vr := &a.vregs[v]
		a.homes[v], a.slotOf[v] = regalloc.NoAllocation, none
		if vr.flags&isArg != 0 {
			a.homes[v] = vr.def
		}
		a.starts[v], a.endsAt[v] = a.ranges[vr.rng].start, vr.end
	}
	for _, x := range a.slotUsers {
		a.starts[x.vreg] = min(a.starts[x.vreg], x.pos)
		a.endsAt[x.vreg] = max(a.endsAt[x.vreg], x.pos+1)
	}
	for v := range a.vregs {
		if f := a.vregs[v].flags; f&needSlot != 0 && f&(isArg|isRemat) == 0 {
			a.order = append(a.order, uint64(a.starts[v])<<32|uint64(v))
		}
	}
	slices.Sort(a.order)
	words := 0
	for _, key := range a.order {
		words = a.assignSlot(uint32(key), uint32(key>>32), words)
	}
	a.out.SlotWords = words
}

// assignSlot gives v a slot, preferably that of the value it is copied from or
// to, and returns the size of the spill area so far.
func (a *Allocator) assignSlot(v, start uint32, words int) int {
	for len(a.busy) > 0 && uint32(a.busy[0]>>32) <= start {
		s := uint32(a.busy[0])
		a.pop()
		size := 0
		if a.slots[s].wide {
			size = 1
		}
		a.slots[s].isFree = true
		a.free[size] = append(a.free[size], s)
	}
	wide := a.vregs[v].flags&isWide != 0
	s := uint32(none)
	if l := a.vregs[v].link; l != none && a.slotOf[l] != none {
		if h := a.slotOf[l]; a.slots[h].isFree && a.slots[h].wide == wide {
			s = h
		}
	}
	list := &a.free[0]
	if wide {
		list = &a.free[1]
	}
	for s == none && len(*list) > 0 {
		top := (*list)[len(*list)-1]
		*list = (*list)[:len(*list)-1]
		if a.slots[top].isFree {
			s = top
		}
	}
	if s == none {
		s = uint32(len(a.slots))
		n := 1
		if wide {
			n = 2
			words += words & 1
		}
		a.slots = append(a.slots, slot{word: uint32(words), wide: wide})
		words += n
	}
	a.slots[s].isFree = false
	a.slotOf[v] = s
	a.homes[v] = regalloc.InSlot(int(a.slots[s].word))
	a.push(uint64(a.endsAt[v])<<32 | uint64(s))
	return words
}

// push and pop keep busy a heap with its least element first.
func (sp *spiller) push(x uint64) {
	sp.busy = append(sp.busy, x)
	i := len(sp.busy) - 1
	for i > 0 && sp.busy[(i-1)/2] > x {
		sp.busy[i] = sp.busy[(i-1)/2]
		i = (i - 1) / 2
	}
	sp.busy[i] = x
}

func (sp *spiller) pop() {
	n := len(sp.busy) - 1
	x := sp.busy[n]
	sp.busy = sp.busy[:n]
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && sp.busy[c+1] < sp.busy[c] {
			c++
		}
		if sp.busy[c] >= x {
			break
		}
		sp.busy[i] = sp.busy[c]
		i = c
	}
	if n > 0 {
		sp.busy[i] = x
	}
}
