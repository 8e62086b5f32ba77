package linear

import (
	"slices"
	"sort"

	"github.com/waot-project/waot/regalloc"
)

// makeStackMaps lists, for each safepoint, the slots of the references that
// are live across it; all of them are in memory there.
func (rs *resolver) makeStackMaps(safepoints []uint32) error {
	out := rs.out
	limit := rs.maxLive()
	l := safepoints // falling
	rs.pairs = rs.pairs[:0]
	for p := range rs.parts {
		rs.in.Stop.PollAt(p)
		pt := &rs.parts[p]
		vr := &rs.vregs[pt.vreg]
		if len(l) == 0 || pt.start == inf || vr.flags&isRef == 0 || !rs.locOf(uint32(p)).IsSlot() {
			continue
		}
		slot := uint64(rs.homes[pt.vreg].Index())
		for r := pt.rng; r != 0 && rs.ranges[r].start < pt.end; r = rs.ranges[r].next {
			start, end := rs.ranges[r].start, min(rs.ranges[r].end, pt.end)
			j := sort.Search(len(l), func(k int) bool { return l[k] < start }) - 1
			for ; j >= 0 && l[j] < end; j-- {
				rs.in.Stop.Poll()
				if len(rs.pairs) >= limit {
					return fail(TooLarge, instOf(l[j]), pt.vreg)
				}
				if instOf(l[j]) != vr.defInst {
					rs.pairs = append(rs.pairs, uint64(len(l)-1-j)<<32|slot)
				}
			}
		}
	}
	slices.Sort(rs.pairs)
	next := 0
	for k := len(l) - 1; k >= 0; k-- {
		start := uint32(len(out.StackMapSlots))
		for ; next < len(rs.pairs) && int(rs.pairs[next]>>32) == len(l)-1-k; next++ {
			rs.in.Stop.Poll()
			out.StackMapSlots = append(out.StackMapSlots, uint32(rs.pairs[next]))
		}
		out.StackMaps = append(out.StackMaps, regalloc.StackMap{
			Inst:  regalloc.Inst(l[k] >> 2),
			Slots: regalloc.Range{Start: start, End: uint32(len(out.StackMapSlots))},
		})
	}
	return nil
}
