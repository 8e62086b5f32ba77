package flow

import (
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// spiller is the state of giving slots to values. What is in one class shares a
// slot. Owners (classes, or values without a class) may also share a slot if their extents, from the
// first to the last position where they are live, do not overlap;
// slots of one word and of two never overlap one another, so that no move
// touches only half of a place that another move touches whole.
type spiller struct {
	Intervals
	coalescer *Classes
	homes     []regalloc.Allocation

	order   []uint64 // start of extent, index of owner
	owners  []owner
	spilled []uint32 // values with slots
	busy    Heap     // of end of extent, slot
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

// assign gives each value its home, a slot if some part is in memory, and returns the
// homes, by value, and the values with slots.
func (sp *spiller) assign(iv Intervals, classes *Classes) (homes []regalloc.Allocation, spilled []uint32) {
	sp.Intervals, sp.coalescer = iv, classes
	sp.homes = stop.Resize(sp.In.Stop, sp.homes, len(sp.Values))
	sp.order, sp.owners, sp.spilled = sp.order[:0], sp.owners[:0], sp.spilled[:0]
	sp.busy, sp.slots = sp.busy[:0], sp.slots[:0]
	sp.free[0], sp.free[1] = sp.free[0][:0], sp.free[1][:0]
	for v := range sp.Values {
		sp.In.Stop.PollAt(v)
		vr := &sp.Values[v]
		sp.homes[v] = regalloc.NoAllocation
		switch f := vr.Flags; {
		case f&IsArg != 0:
			sp.homes[v] = vr.Def
		case f&(NeedSlot|IsRemat) == NeedSlot:
			sp.spilled = stop.Append(sp.In.Stop, sp.spilled, uint32(v))
			sp.homes[v] = regalloc.InSlot(int(sp.ownerOf(uint32(v)))) // for the time being
		}
	}
	for n := range sp.owners {
		sp.order = stop.Append(sp.In.Stop, sp.order, uint64(sp.owners[n].start)<<32|uint64(n))
	}
	slices.Sort(sp.order)
	words := 0
	for _, key := range sp.order {
		sp.In.Stop.Poll()
		words = sp.assignSlot(&sp.owners[uint32(key)], words)
	}
	for _, v := range sp.spilled {
		o := &sp.owners[sp.homes[v].Index()]
		sp.homes[v] = regalloc.InSlot(int(sp.slots[o.slot].word))
	}
	sp.Out.SlotWords = words
	return sp.homes, sp.spilled
}

// ownerOf returns the owner of v's slot, perhaps a new one.
func (sp *spiller) ownerOf(v uint32) uint32 {
	n := uint32(len(sp.owners))
	vr := &sp.Values[v]
	o := owner{sp.Ranges[vr.Range].Start, vr.End, None, vr.Flags&IsWide != 0}
	if c := sp.coalescer.ClassFor(v); c != None {
		cl := &sp.coalescer.All[c]
		if cl.owner != None {
			return cl.owner
		}
		cl.owner = n
		o.start, o.end = sp.coalescer.merged[cl.head].Start, sp.coalescer.merged[cl.tail].End
	}
	sp.owners = stop.Append(sp.In.Stop, sp.owners, o)
	return n
}

// assignSlot gives o a slot and returns the size of the spill area so far.
func (sp *spiller) assignSlot(o *owner, words int) int {
	for len(sp.busy) > 0 && uint32(sp.busy[0]>>32) <= o.start {
		s := uint32(sp.busy[0])
		sp.busy.Pop()
		size := 0
		if sp.slots[s].wide {
			size = 1
		}
		sp.slots[s].isFree = true
		sp.free[size] = append(sp.free[size], s)
	}
	s := uint32(None)
	list := &sp.free[0]
	if o.wide {
		list = &sp.free[1]
	}
	for s == None && len(*list) > 0 {
		top := (*list)[len(*list)-1]
		*list = (*list)[:len(*list)-1]
		if sp.slots[top].isFree {
			s = top
		}
	}
	if s == None {
		s = uint32(len(sp.slots))
		n := 1
		if o.wide {
			n = 2
			words += words & 1
		}
		sp.slots = append(sp.slots, slot{word: uint32(words), wide: o.wide})
		words += n
	}
	sp.slots[s].isFree = false
	o.slot = s
	sp.busy.Push(uint64(o.end)<<32 | uint64(s))
	return words
}
