package local

import (
	"cmp"
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// finish makes claims, and puts edits in order if the walk did not take the blocks in theirs.
func (a *Allocator) finish() {
	a.claim()
	a.out.Stats.Live = a.in.PairsBeyond(a.facts) + a.in.PairsBeyond(len(a.refPairs))
	a.out.Stats.Refs = a.in.PairsBeyond(a.refEdges) + a.in.PairsBeyond(a.refCalls)
	if a.unordered {
		slices.SortStableFunc(a.out.Edits, func(x, y regalloc.Edit) int { return cmp.Compare(x.Point, y.Point) })
		slices.SortFunc(a.out.StackMaps, func(x, y regalloc.StackMap) int { return cmp.Compare(x.Inst, y.Inst) })
	}
}

// claim says where values are at the starts of roots: those live into it in their homes, and parameters. Other blocks begin with what is known at the end of
// their predecessor.
func (a *Allocator) claim() {
	in, out := a.in, a.out
	out.ClaimEnd = stop.Resize(in.Stop, out.ClaimEnd, len(in.Blocks))
	claims := stop.Grow(in.Stop, out.Claims, len(a.liveIn))
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		if a.tree[b] == b {
			for _, v := range a.liveInto(b) {
				in.Stop.Poll()
				claims = append(claims, regalloc.Claim{Loc: a.values[v].home, VReg: regalloc.VReg(v)})
			}
			for _, p := range in.ParamsOf(regalloc.Block(b)) {
				if at := a.values[p].entry; at != regalloc.NoAllocation {
					claims = append(stop.Room(in.Stop, claims), regalloc.Claim{Loc: at, VReg: p})
				}
			}
			for _, h := range a.met(b) {
				claims = append(stop.Room(in.Stop, claims), regalloc.Claim{Loc: regalloc.InReg(h.r), VReg: regalloc.VReg(h.v)})
			}
		}
		out.ClaimEnd[b] = uint32(len(claims))
	}
	out.Claims = claims
}
