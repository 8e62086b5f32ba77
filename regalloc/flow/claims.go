package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// makeClaims says where values are at the entries of blocks that have several incoming
// edges. At other entries the facts from the end of the predecessor still hold.
func (rs *resolver) makeClaims() {
	in := rs.In
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		info := &in.Blocks[b]
		if info.Preds.Len() > 1 {
			entry := 4 * info.Insts.Start
			entries := rs.entriesOf(b)
			for k, v := range rs.live.LiveInto(b) {
				in.Stop.PollAt(k)
				loc, valid := rs.where[v], false
				if loc == Several {
					x := &rs.flat[entries[0]]
					loc, valid, entries = x.loc, x.valid, entries[1:]
				}
				rs.claim(loc, v)
				if home := rs.homes[v]; home != loc && home != regalloc.NoAllocation && (valid || rs.Values[v].Flags&(Stored|IsArg) != 0) {
					rs.claim(home, v)
				}
			}
			for _, p := range in.ParamsOf(regalloc.Block(b)) {
				if rs.parts[p].Start != Inf {
					rs.claim(rs.locAt(uint32(p), entry), uint32(p))
				}
			}
		}
		rs.Out.ClaimEnd = append(rs.Out.ClaimEnd, uint32(len(rs.Out.Claims)))
	}
}

func (rs *resolver) claim(loc regalloc.Allocation, v uint32) {
	if loc != regalloc.NoAllocation {
		rs.Out.Claims = stop.Append(rs.In.Stop, rs.Out.Claims, regalloc.Claim{Loc: loc, VReg: regalloc.VReg(v)})
	}
}
