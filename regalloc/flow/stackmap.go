package flow

import (
	"slices"
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// mapEvent is a reference that begins or ends to be listed, by the safepoint from which on that is so: the safepoint's number, the kind, and the value.
// Events of one safepoint are in the order of their kinds, as a slot may go from one value to the next.
type mapEvent uint64

const (
	mapEnds = iota
	mapBegins
)

func newMapEvent(safepoint, kind int, value uint32) mapEvent {
	return mapEvent(safepoint)<<33 | mapEvent(kind)<<32 | mapEvent(value)
}

func (e mapEvent) safepoint() int { return int(e >> 33) }
func (e mapEvent) begins() bool   { return e>>32&1 == mapBegins }
func (e mapEvent) value() uint32  { return uint32(e) }

// makeStackMaps lists, for each safepoint, the slots of the references that
// are live across it; all of them are in memory there. Safepoints in a row with the same slots share one list.
func (rs *resolver) makeStackMaps(safepoints []uint32) error {
	out, flag := rs.Out, rs.In.Stop
	rs.mapEvents = rs.mapEvents[:0]
	if rs.hasRefs && len(safepoints) > 0 {
		rs.findMapEvents(safepoints)
		slices.Sort(rs.mapEvents)
	}
	limit, pairs, events, value := rs.maxLive(), 0, rs.mapEvents, uint32(None)
	active := rs.active[:0] // rising
	var list regalloc.Range
	for k := range safepoints {
		flag.PollAt(k)
		i := InstOf(safepoints[len(safepoints)-1-k])
		same := true
		for ; len(events) > 0 && events[0].safepoint() == k; events = events[1:] {
			value, same = events[0].value(), false
			active = rs.listed(active, events[0])
		}
		if !same {
			start := uint32(len(out.StackMapSlots))
			out.StackMapSlots = append(stop.Grow(flag, out.StackMapSlots, len(active)), active...)
			list = regalloc.Range{Start: start, End: uint32(len(out.StackMapSlots))}
		}
		if pairs += len(active); pairs > limit {
			return failLive(limit, i, value)
		}
		out.StackMaps = append(out.StackMaps, regalloc.StackMap{Inst: regalloc.Inst(i), Slots: list})
	}
	rs.active = active
	out.Stats.Refs = rs.In.PairsBeyond(pairs)
	return nil
}

// findMapEvents finds where references begin and end to be listed.
func (rs *resolver) findMapEvents(safepoints []uint32) {
	for p := range rs.parts {
		rs.In.Stop.PollAt(p)
		pt := &rs.parts[p]
		vr := &rs.Values[pt.Value]
		if pt.Start == Inf || vr.Flags&IsRef == 0 || !rs.locOf(uint32(p)).IsSlot() {
			continue
		}
		// before is how many safepoints are in front of a position, of which the first is behind most others, as safepoints fall.
		before := func(pos uint32) int {
			return len(safepoints) - sort.Search(len(safepoints), func(k int) bool { return safepoints[k] < pos })
		}
		for r := pt.Range; r != 0 && rs.Ranges[r].Start < pt.End; r = rs.Ranges[r].Next {
			rs.In.Stop.Poll()
			first, end := before(rs.Ranges[r].Start), before(min(rs.Ranges[r].End, pt.End))
			// The instruction that defines the value does not list it.
			if own := before(vr.DefInst << 2); own < end && own >= first && InstOf(safepoints[len(safepoints)-1-own]) == vr.DefInst {
				rs.listFor(first, own, pt.Value)
				first = own + 1
			}
			rs.listFor(first, end, pt.Value)
		}
	}
}

// listFor notes that a value is listed from one safepoint on and up to another one.
func (rs *resolver) listFor(first, end int, value uint32) {
	if first < end {
		rs.mapEvents = append(rs.mapEvents, newMapEvent(first, mapBegins, value), newMapEvent(end, mapEnds, value))
	}
}

// listed returns active, the slots that are listed, after an event.
func (rs *resolver) listed(active []uint32, e mapEvent) []uint32 {
	slot := uint32(rs.homes[e.value()].Index())
	at, found := slices.BinarySearch(active, slot)
	switch {
	case e.begins() && !found:
		return slices.Insert(active, at, slot)
	case !e.begins() && found:
		return slices.Delete(active, at, at+1)
	}
	return active
}
