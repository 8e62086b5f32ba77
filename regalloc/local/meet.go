package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Where ways meet, what all of them have in the same register, and at home as well, is still in that register. The roots of loops have nothing: the walk
// comes to them before it has seen all ways.

// meeting is what the ways to a root have in common.
type meeting struct {
	held regalloc.Range // of meetings.common
	ways int            // that have been seen
}

// meetings are those of all roots.
type meetings struct {
	all    []meeting
	at     []uint32 // by block: its meeting, or none
	common []holding
}

// resetMeetings forgets all.
func (a *Allocator) resetMeetings() {
	in := a.in
	a.all, a.common = a.all[:0], a.common[:0]
	a.at = stop.Resize(in.Stop, a.at, len(in.Blocks))
	for b := range a.at {
		in.Stop.PollAt(b)
		a.at[b] = none
	}
}

// meet notes what registers hold at the end of block b, which jumps to the root.
func (a *Allocator) meet(b, root uint32) {
	if b >= root || a.unordered {
		return
	}
	if a.at[root] == none {
		a.at[root] = uint32(len(a.all))
		start := uint32(len(a.common))
		for m := a.full &^ a.dirty; m != 0; m &= m - 1 {
			r := m.First()
			if x := &a.values[a.file[r]]; x.last > a.starts[root] {
				a.common = stop.Append(a.in.Stop, a.common, holding{a.file[r], r})
			}
		}
		a.all = stop.Append(a.in.Stop, a.all, meeting{regalloc.Range{Start: start, End: uint32(len(a.common))}, 1})
		return
	}
	m := &a.all[a.at[root]]
	m.ways++
	kept := m.held.Start
	for _, h := range a.common[m.held.Start:m.held.End] {
		if a.file[h.r] == h.v && !a.dirty.Has(h.r) {
			a.common[kept] = h
			kept++
		}
	}
	m.held.End = kept
}

// met returns what all ways to the root have in registers.
func (a *Allocator) met(root uint32) []holding {
	if k := a.at[root]; k != none && a.all[k].ways == a.in.Blocks[root].Preds.Len() {
		return a.common[a.all[k].held.Start:a.all[k].held.End]
	}
	return nil
}
