package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// makeClaims says where values are at the entries of blocks that have several incoming
// edges. At other entries the facts from the end of the predecessor still hold.
func (rs *resolver) makeClaims() {
	in := rs.In
	rs.Out.Claims = stop.Grow(in.Stop, rs.Out.Claims, len(rs.live.LiveIn))
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		info := &in.Blocks[b]
		if info.Preds.Len() > 1 {
			rs.claimLive(b)
			entry := 4 * info.Insts.Start
			for _, p := range in.ParamsOf(regalloc.Block(b)) {
				if rs.parts[p].Start != Inf {
					rs.claim(rs.locAt(uint32(p), entry), uint32(p))
				}
			}
		}
		rs.Out.ClaimEnd = append(rs.Out.ClaimEnd, uint32(len(rs.Out.Claims)))
	}
}

// claimLive says where the values live into b are.
func (rs *resolver) claimLive(b uint32) {
	entries, values := rs.entriesOf(b), rs.live.LiveInto(b)
	claims := stop.Grow(rs.In.Stop, rs.Out.Claims, 2*len(values))
	where, homes, flat := rs.where, rs.homes, rs.flat
	for len(values) > 0 {
		n := rs.In.Stop.Chunk(len(values))
		for _, v := range values[:n] {
			loc, valid := where[v], false
			if loc == Several {
				x := &flat[entries[0]]
				loc, valid, entries = x.loc, x.valid, entries[1:]
			}
			if loc != regalloc.NoAllocation {
				claims = append(claims, regalloc.Claim{Loc: loc, VReg: regalloc.VReg(v)})
			}
			if home := homes[v]; home != loc && home != regalloc.NoAllocation && (valid || rs.Values[v].Flags&(Stored|IsArg) != 0) {
				claims = append(claims, regalloc.Claim{Loc: home, VReg: regalloc.VReg(v)})
			}
		}
		values = values[n:]
	}
	rs.Out.Claims = claims
}

func (rs *resolver) claim(loc regalloc.Allocation, v uint32) {
	if loc != regalloc.NoAllocation {
		rs.Out.Claims = stop.Append(rs.In.Stop, rs.Out.Claims, regalloc.Claim{Loc: loc, VReg: regalloc.VReg(v)})
	}
}
