package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// locations are where values are, at any position.
type locations struct {
	Intervals
	parts []Part
	homes []regalloc.Allocation // of values, in memory
	// where is, by value, the only place it is in, or several; several also if a terminator defines it in a place of its own.
	where []regalloc.Allocation
	flat  []place  // of values that have several parts, in order
	split []uint32 // these values
	flats []regalloc.Range
	// cuts says, by block, that a value changes its place where the block begins.
	cuts []bool
	// cursors are, by value, what next has found last.
	cursors []cursor
}

// cursor is a place of a value: the one at index at of locations.flat, from which the value goes to the next at until; at is None if the value
// is in one place all the time.
type cursor struct {
	loc       regalloc.Allocation
	until, at uint32
	valid     bool
}

// place says where a value is from start on.
type place struct {
	start uint32
	vreg  uint32
	loc   regalloc.Allocation
	valid bool // as Part.Valid
}

// Several, in locations.where, is more places than one. It is no location.
const Several regalloc.Allocation = 1

// flatten finds where values are, and makes arrays of the parts of those that
// have several.
func (ls *locations) flatten() {
	ls.flat, ls.split = stop.Grow(ls.In.Stop, ls.flat[:0], 2*(len(ls.parts)-len(ls.Values))), ls.split[:0]
	ls.flats = stop.Resize(ls.In.Stop, ls.flats, len(ls.Values))
	ls.where = stop.Resize(ls.In.Stop, ls.where, len(ls.Values))
	ls.cuts = stop.Zeroed(ls.In.Stop, ls.cuts, len(ls.In.Blocks))
	for v := range ls.Values {
		ls.In.Stop.PollAt(v)
		if ls.parts[v].Sib == None && (ls.Values[v].Def == regalloc.NoAllocation || !ls.DefinedByTerminator(uint32(v))) {
			ls.where[v] = ls.locOf(uint32(v))
			continue
		}
		ls.where[v] = Several
		ls.split = stop.Append(ls.In.Stop, ls.split, uint32(v))
		start := len(ls.flat)
		for p := uint32(v); p != None; p = ls.parts[p].Sib {
			if b := ls.blockAt(ls.parts[p].Start); b != None {
				ls.cuts[b] = true
			}
			ls.flat = stop.Append(ls.In.Stop, ls.flat, place{ls.parts[p].Start, uint32(v), ls.locOf(p), ls.parts[p].Valid})
		}
		ls.flats[v] = regalloc.Range{Start: uint32(start), End: uint32(len(ls.flat))}
	}
}

// blockAt returns the block that begins at pos, or None.
func (fn *function) blockAt(pos uint32) uint32 {
	if i := InstOf(pos); pos == GapOf(pos) && i < uint32(len(fn.InstBlock)) {
		if b := fn.InstBlock[i]; fn.In.Blocks[b].Insts.Start == i {
			return b
		}
	}
	return None
}

// locOf returns where part p is.
func (ls *locations) locOf(p uint32) regalloc.Allocation {
	if l := ls.parts[p].Loc; l != regalloc.NoAllocation {
		return l
	}
	return ls.homes[ls.parts[p].Value]
}

// locAt returns where v, live there, is at pos: NoAllocation if nowhere.
func (ls *locations) locAt(v, pos uint32) regalloc.Allocation {
	if l := ls.where[v]; l != Several {
		return l
	}
	r := ls.flats[v]
	l := ls.flat[r.Start:r.End]
	// The last place that starts at or before pos is in l.
	for len(l) > 4 {
		if h := len(l) / 2; l[h].start <= pos {
			l = l[h:]
		} else {
			l = l[:h]
		}
	}
	n := len(l) - 1
	for n > 0 && l[n].start > pos {
		n--
	}
	return l[n].loc
}

// begin lets next begin at position 0.
func (ls *locations) begin() {
	ls.cursors = stop.Resize(ls.In.Stop, ls.cursors, len(ls.Values))
	for v, l := range ls.where {
		ls.In.Stop.PollAt(v)
		ls.cursors[v] = cursor{loc: l, until: Inf, at: None}
	}
	ls.rewind()
}

// rewind lets next begin at position 0 again.
func (ls *locations) rewind() {
	for k, v := range ls.split {
		ls.In.Stop.PollAt(k)
		ls.turn(v, ls.flats[v].Start)
	}
}

// turn makes the place at index at of flat the present one of v, which is in several.
func (ls *locations) turn(v, at uint32) {
	until := Inf
	if at+1 < ls.flats[v].End {
		until = ls.flat[at+1].start
	}
	ls.cursors[v] = cursor{ls.flat[at].loc, until, at, ls.flat[at].valid}
}

// next is locAt for positions that do not fall from one call for v to the next.
func (ls *locations) next(v, pos uint32) regalloc.Allocation {
	c := &ls.cursors[v]
	for c.until <= pos {
		ls.turn(v, c.at+1)
	}
	return c.loc
}
