package linear

import (
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// spiller is the state of giving slots to values. What is in one class shares a
// slot. Besides, owners (classes or values in none) whose extents, from the
// first to the last position where they are live, do not meet may share one;
// slots of one word and of two never overlap one another, so that no move
// touches half of a place that another one touches whole.
type spiller struct {
	order   []uint64 // start of extent, index of owner
	owners  []owner
	spilled []uint32 // values with slots
	busy    []uint64 // heap of end of extent, slot
	slots   []slot
	free    [2][]uint32 // by size; a slot that is not isFree is to be skipped
}

// owner is a class, or a value that is in none, that gets a slot.
type owner struct {
	start, end uint32 // extent
	slot       uint32
	wide       bool
}

type slot struct {
	word   uint32
	wide   bool
	isFree bool
}

// assignSlots gives each value its home: a slot if some part is in memory.
func (a *Allocator) assignSlots() {
	a.homes = stop.Resize(a.in.Stop, a.homes, len(a.vregs))
	a.order, a.owners, a.spilled = a.order[:0], a.owners[:0], a.spilled[:0]
	a.busy, a.slots = a.busy[:0], a.slots[:0]
	a.free[0], a.free[1] = a.free[0][:0], a.free[1][:0]
	for v := range a.vregs {
		a.in.Stop.PollAt(v)
		vr := &a.vregs[v]
		a.homes[v] = regalloc.NoAllocation
		switch f := vr.flags; {
		case f&isArg != 0:
			a.homes[v] = vr.def
		case f&(needSlot|isRemat) == needSlot:
			a.spilled = stop.Append(a.in.Stop, a.spilled, uint32(v))
			a.homes[v] = regalloc.InSlot(int(a.ownerOf(uint32(v)))) // for the time being
		}
	}
	for n := range a.owners {
		a.order = stop.Append(a.in.Stop, a.order, uint64(a.owners[n].start)<<32|uint64(n))
	}
	slices.Sort(a.order)
	words := 0
	for _, key := range a.order {
		a.in.Stop.Poll()
		words = a.assignSlot(&a.owners[uint32(key)], words)
	}
	for _, v := range a.spilled {
		o := &a.owners[a.homes[v].Index()]
		a.homes[v] = regalloc.InSlot(int(a.slots[o.slot].word))
	}
	a.out.SlotWords = words
}

// ownerOf is the owner of v's slot, perhaps a new one.
func (a *Allocator) ownerOf(v uint32) uint32 {
	n := uint32(len(a.owners))
	vr := &a.vregs[v]
	o := owner{a.ranges[vr.rng].start, vr.end, none, vr.flags&isWide != 0}
	if c := a.classFor(v); c != none {
		cl := &a.classes[c]
		if cl.owner != none {
			return cl.owner
		}
		cl.owner = n
		o.start, o.end = a.merged[cl.head].start, a.merged[cl.tail].end
	}
	a.owners = stop.Append(a.in.Stop, a.owners, o)
	return n
}

// assignSlot gives o a slot and returns the size of the spill area so far.
func (a *Allocator) assignSlot(o *owner, words int) int {
	for len(a.busy) > 0 && uint32(a.busy[0]>>32) <= o.start {
		s := uint32(a.busy[0])
		a.pop()
		size := 0
		if a.slots[s].wide {
			size = 1
		}
		a.slots[s].isFree = true
		a.free[size] = append(a.free[size], s)
	}
	s := uint32(none)
	list := &a.free[0]
	if o.wide {
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
		if o.wide {
			n = 2
			words += words & 1
		}
		a.slots = append(a.slots, slot{word: uint32(words), wide: o.wide})
		words += n
	}
	a.slots[s].isFree = false
	o.slot = s
	a.push(uint64(o.end)<<32 | uint64(s))
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
