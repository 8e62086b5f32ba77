package linear

import (
	"slices"
	"sort"

	"github.com/waot-project/waot/regalloc"
)

// makeStackMaps lists, for each safepoint, the slots of the references that
// are live across it; all of them are in memory there.
func (a *Allocator) makeStackMaps() error {
	out := a.out
	limit := a.maxLive()
	l := a.safepoints // falling
	a.pairs = a.pairs[:0]
	for p := range a.parts {
		a.in.Stop.PollAt(p)
		pt := &a.parts[p]
		vr := &a.vregs[pt.vreg]
		if len(l) == 0 || pt.start == inf || vr.flags&isRef == 0 || !a.locOf(uint32(p)).IsSlot() {
			continue
		}
		slot := uint64(a.homes[pt.vreg].Index())
		for r := pt.rng; r != 0 && a.ranges[r].start < pt.end; r = a.ranges[r].next {
			start, end := a.ranges[r].start, min(a.ranges[r].end, pt.end)
			j := sort.Search(len(l), func(k int) bool { return l[k] < start }) - 1
			for ; j >= 0 && l[j] < end; j-- {
				a.in.Stop.Poll()
				if len(a.pairs) >= limit {
					return fail(TooLarge, l[j]>>2, pt.vreg)
				}
				if l[j]>>2 != vr.defInst {
					a.pairs = append(a.pairs, uint64(len(l)-1-j)<<32|slot)
				}
			}
		}
	}
	slices.Sort(a.pairs)
	next := 0
	for k := len(l) - 1; k >= 0; k-- {
		start := uint32(len(out.StackMapSlots))
		for ; next < len(a.pairs) && int(a.pairs[next]>>32) == len(l)-1-k; next++ {
			a.in.Stop.Poll()
			out.StackMapSlots = append(out.StackMapSlots, uint32(a.pairs[next]))
		}
		out.StackMaps = append(out.StackMaps, regalloc.StackMap{
			Inst:  regalloc.Inst(l[k] >> 2),
			Slots: regalloc.Range{Start: start, End: uint32(len(out.StackMapSlots))},
		})
	}
	return nil
}
