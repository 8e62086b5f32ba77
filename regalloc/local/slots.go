package local

import (
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// slots are the slots of values. A slot is given to another value when its owner is dead; slots of one word and of two never overlap one another,
// so that no move touches only half of a place that another move touches whole.
type slots struct {
	words int
	busy  [2]flow.Heap // by size: end of the owner's life, slot; only of owners whose end is known
	extra regalloc.Allocation
}

func (s *slots) reset() {
	s.words, s.extra = 0, regalloc.NoAllocation
	s.busy[0], s.busy[1] = s.busy[0][:0], s.busy[1][:0]
}

// fresh returns a slot that nothing has had yet.
func (s *slots) fresh(wide bool) regalloc.Allocation {
	n := 1
	if wide {
		n = 2
		s.words += s.words & 1
	}
	s.words += n
	return regalloc.InSlot(s.words - n)
}

// lifeEnd returns the position behind which x is dead everywhere.
func (a *Allocator) lifeEnd(x *value) uint32 {
	switch {
	case x.flags&isGlobal == 0:
		return x.last
	case a.unordered:
		return none
	}
	return x.end
}

// giveSlot gives x a slot, from the present position on.
func (a *Allocator) giveSlot(x *value) {
	wide := x.flags&isWide != 0
	if a.unordered {
		x.home = a.fresh(wide)
		return
	}
	end := max(a.lifeEnd(x), a.pos)
	busy := &a.busy[x.flags/isWide&1]
	if len(*busy) > 0 && uint32((*busy)[0]>>32) < a.pos {
		x.home = regalloc.InSlot(int(uint32((*busy)[0])))
		busy.Pop()
	} else {
		x.home = a.fresh(wide)
	}
	busy.Push(uint64(end)<<32 | uint64(x.home.Index()))
}

// extraSlot returns a slot of 16 bytes for cycles of moves.
func (a *Allocator) extraSlot() regalloc.Allocation {
	if a.extra == regalloc.NoAllocation {
		a.extra = a.fresh(true)
	}
	return a.extra
}
