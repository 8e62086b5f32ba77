package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// slots are the slots of values. A slot is given to another value when its owner is dead; slots of one word and of two never overlap one another,
// so that no move touches only half of a place that another move touches whole.
type slots struct {
	words []slot       // by word of the spill area
	busy  [2]flow.Heap // by size: end of the owners' lives, slot; void if that is not the end any more
	// extra is the first of extras slots that no value has.
	extra  regalloc.Allocation
	extras int
}

// slot says when a slot is free: behind until, and behind since up to from.
type slot struct{ until, since, from uint32 }

func (s *slots) reset() {
	s.words, s.extra, s.extras = s.words[:0], regalloc.NoAllocation, 0
	s.busy[0], s.busy[1] = s.busy[0][:0], s.busy[1][:0]
}

// freshSlot returns a slot that nothing has had yet.
func (a *Allocator) freshSlot(wide bool) regalloc.Allocation {
	if wide && len(a.words)%2 != 0 {
		a.words = append(a.words, slot{})
	}
	at := regalloc.InSlot(len(a.words))
	a.words = append(stop.Room(a.in.Stop, a.words), slot{})
	if wide {
		a.words = append(a.words, slot{})
	}
	return at
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

// giveSlot gives x a slot, from the present position on: that of the parameter for which it is passed, if that is free.
func (a *Allocator) giveSlot(x *value) {
	if a.unordered {
		x.home = a.freshSlot(x.flags&isWide != 0)
		return
	}
	end := max(a.lifeEnd(x), a.pos)
	if x.link != none {
		if at := a.values[x.link].home; at.IsSlot() && a.join(x, at, end) {
			return
		}
	}
	a.takeSlot(x, end, a.pos)
}

// join gives x the slot at if that is free for its life, which ends at end.
func (a *Allocator) join(x *value, at regalloc.Allocation, end uint32) bool {
	s := &a.words[at.Index()]
	switch {
	case s.until < a.pos || s.until == a.pos && a.point.IsAfter():
		a.occupy(x, at, end, a.pos)
	case s.since < a.pos && end <= s.from:
		s.since = end
		x.home = at
	default:
		return false
	}
	return true
}

// giveParamSlot gives x, a parameter of a root that begins behind start, a slot, where the present edge passes arg, or nil: that of arg, or of the parameter
// for which x is passed, if their lives end in front of the root.
func (a *Allocator) giveParamSlot(x, arg *value, start uint32) {
	if a.unordered {
		x.home = a.freshSlot(x.flags&isWide != 0)
		return
	}
	end := max(a.lifeEnd(x), a.pos)
	if arg != nil && a.follow(x, arg, end, start) || x.link != none && a.follow(x, &a.values[x.link], end, start) {
		return
	}
	a.takeSlot(x, end, start)
}

// follow gives x, whose life is from start to end, the slot of y, if that is free then.
func (a *Allocator) follow(x, y *value, end, start uint32) bool {
	if !y.home.IsSlot() {
		return false
	}
	until := a.words[y.home.Index()].until
	if until > max(start, a.pos) {
		return false
	}
	a.occupy(x, y.home, end, start)
	a.words[y.home.Index()].since = max(until, a.pos)
	return true
}

// takeSlot gives x any slot for a life from from to end; other owners may have it in front of that.
func (a *Allocator) takeSlot(x *value, end, from uint32) {
	busy := &a.busy[x.flags/isWide&1]
	for len(*busy) > 0 && uint32((*busy)[0]>>32) < a.pos {
		top := (*busy)[0]
		busy.Pop()
		if at := uint32(top); a.words[at].until == uint32(top>>32) {
			a.occupy(x, regalloc.InSlot(int(at)), end, from)
			return
		}
	}
	a.occupy(x, a.freshSlot(x.flags&isWide != 0), end, from)
}

// occupy makes x the owner of the slot at, for a life from from to end.
func (a *Allocator) occupy(x *value, at regalloc.Allocation, end, from uint32) {
	a.words[at.Index()] = slot{until: end, since: a.pos, from: from}
	a.busy[x.flags/isWide&1].Push(uint64(end)<<32 | uint64(at.Index()))
	x.home = at
}

// extraSlot returns the first of n slots of 16 bytes in a row, for parallel moves.
func (a *Allocator) extraSlot(n int) regalloc.Allocation {
	if n > a.extras {
		a.extra, a.extras = a.freshSlot(true), max(n, 2*a.extras) // so all that there have been are no more than twice the last
		for range a.extras - 1 {
			a.freshSlot(true)
		}
	}
	return a.extra
}
