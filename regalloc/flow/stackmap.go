package flow

import (
	"slices"
	"sort"

	"github.com/waot-project/waot/regalloc"
)

// makeStackMaps lists, for each safepoint, the slots of the references that
// are live across it; all of them are in memory there.
func (rs *resolver) makeStackMaps(safepoints []uint32) error {
	out := rs.Out
	limit := rs.maxLive()
	l := safepoints // falling
	rs.pairs = rs.pairs[:0]
	parts := rs.parts
	if !rs.hasRefs || len(l) == 0 {
		parts = nil
	}
	for p := range parts {
		rs.In.Stop.PollAt(p)
		pt := &parts[p]
		vr := &rs.Values[pt.Value]
		if pt.Start == Inf || vr.Flags&IsRef == 0 || !rs.locOf(uint32(p)).IsSlot() {
			continue
		}
		slot := uint64(rs.homes[pt.Value].Index())
		for r := pt.Range; r != 0 && rs.Ranges[r].Start < pt.End; r = rs.Ranges[r].Next {
			start, end := rs.Ranges[r].Start, min(rs.Ranges[r].End, pt.End)
			j := sort.Search(len(l), func(k int) bool { return l[k] < start }) - 1
			for ; j >= 0 && l[j] < end; j-- {
				rs.In.Stop.Poll()
				if len(rs.pairs) >= limit {
					return failLive(limit, InstOf(l[j]), pt.Value)
				}
				if InstOf(l[j]) != vr.DefInst {
					rs.pairs = append(rs.pairs, uint64(len(l)-1-j)<<32|slot)
				}
			}
		}
	}
	slices.Sort(rs.pairs)
	next := 0
	for k := len(l) - 1; k >= 0; k-- {
		rs.In.Stop.PollAt(k)
		start := uint32(len(out.StackMapSlots))
		for ; next < len(rs.pairs) && int(rs.pairs[next]>>32) == len(l)-1-k; next++ {
			rs.In.Stop.Poll()
			out.StackMapSlots = append(out.StackMapSlots, uint32(rs.pairs[next]))
		}
		out.StackMaps = append(out.StackMaps, regalloc.StackMap{
			Inst:  regalloc.Inst(l[k] >> 2),
			Slots: regalloc.Range{Start: start, End: uint32(len(out.StackMapSlots))},
		})
	}
	return nil
}
