package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/parmove"
)

// emit puts the moves in order and makes them edits.
func (a *Allocator) emit() {
	a.out.Stats.Splits = a.nSplit
	a.moves.UsedExtra = false
	extra := a.out.SlotWords + a.out.SlotWords&1
	env := parmove.Env{Scratch: a.env.Scratch, Extra: regalloc.InSlot(extra)}
	for i, head := range a.heads {
		if head == none {
			continue
		}
		a.in.Stop.Poll()
		seen := 0
		for r := head; r != none; r = a.recs[r].next {
			seen |= 1 << a.recs[r].when
		}
		for when := range uint8(numWhen) {
			if seen>>when&1 != 0 {
				a.emitGroup(uint32(i), when, head, &env)
			}
		}
	}
	if a.moves.UsedExtra {
		a.out.SlotWords = extra + 2
	}
}

// emitGroup emits the moves of one time beside instruction i as one parallel
// move. Rematerialisations read nothing and so come last.
func (a *Allocator) emitGroup(i uint32, when uint8, head uint32, env *parmove.Env) {
	a.group, a.remats = a.group[:0], a.remats[:0]
	for r := head; r != none; r = a.recs[r].next {
		x := &a.recs[r]
		switch {
		case x.when != when || x.spill && a.vregs[x.vreg].flags&stored != 0:
		case x.from == regalloc.NoAllocation:
			a.remats = append(a.remats, r)
		default:
			a.group = append(a.group, parmove.Move{From: x.from, To: x.to, Bytes: a.bytes(x.vreg)})
		}
	}
	point := regalloc.Before(regalloc.Inst(i))
	if when == afterward {
		point = regalloc.After(regalloc.Inst(i))
	}
	switch {
	case len(a.group) == 0:
	case len(a.group) == 1 && !(a.group[0].From.IsMem() && a.group[0].To.IsMem()):
		m := a.group[0]
		a.emitMove(point, m.From, m.To, m.Bytes)
	default:
		a.ordered = a.moves.Resolve(a.ordered[:0], a.group, *env)
		for _, m := range a.ordered {
			a.emitMove(point, m.From, m.To, m.Bytes)
		}
	}
	for _, r := range a.remats {
		if a.recs[r].to.IsMem() {
			a.rematToSlot(point, &a.recs[r])
		}
	}
	for _, r := range a.remats {
		if a.recs[r].to.IsReg() {
			a.emitRemat(point, a.recs[r].vreg, a.recs[r].to)
		}
	}
}

func (a *Allocator) emitMove(point regalloc.ProgPoint, from, to regalloc.Allocation, bytes uint8) {
	st := &a.out.Stats
	switch {
	case to.IsMem():
		st.Spills++
	case from.IsMem():
		st.Reloads++
	default:
		st.Moves++
	}
	if to.IsReg() {
		a.out.Used = a.out.Used.Add(to.Reg())
	}
	a.out.Edits = stop.Append(a.in.Stop, a.out.Edits, regalloc.Edit{Point: point, From: from, To: to, Bytes: bytes, Kind: regalloc.Move})
}

func (a *Allocator) emitRemat(point regalloc.ProgPoint, v uint32, to regalloc.Allocation) {
	a.out.Stats.Remats++
	a.out.Used = a.out.Used.Add(to.Reg())
	a.out.Edits = stop.Append(a.in.Stop, a.out.Edits, regalloc.Edit{
		Point: point, To: to, Inst: a.in.VRegs[v].Remat, Kind: regalloc.Remat, Bytes: a.bytes(v),
	})
}

// rematToSlot rematerialises into a slot by way of a register: one that is to
// be overwritten by a rematerialisation anyway, else one that is saved in the
// float scratch meanwhile.
func (a *Allocator) rematToSlot(point regalloc.ProgPoint, x *rec) {
	class := a.class(x.vreg)
	for _, r := range a.remats {
		if to := a.recs[r].to; to.IsReg() && to.Reg().Class() == class && a.env.Allocatable.Has(to.Reg()) {
			a.emitRemat(point, x.vreg, to)
			a.emitMove(point, to, x.to, a.bytes(x.vreg))
			return
		}
	}
	reg := regalloc.InReg(a.env.Order[class][0])
	scratch := regalloc.InReg(a.env.Scratch[regalloc.Float])
	width := uint8(8)
	if class == regalloc.Float {
		width = 16
	}
	a.emitMove(point, reg, scratch, width)
	a.emitRemat(point, x.vreg, reg)
	a.emitMove(point, reg, x.to, a.bytes(x.vreg))
	a.emitMove(point, scratch, reg, width)
}

// makeClaims says where values are at the entries of the blocks with several ways
// in: elsewhere, what is known at the end of the block before goes on being known.
func (a *Allocator) makeClaims() {
	in := a.in
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		info := &in.Blocks[b]
		if info.Preds.Len() > 1 {
			entry := 4 * info.Insts.Start
			live := a.liveInto(b)
			locs := a.entryLocs[a.liveInEnd[b]-uint32(len(live)):]
			for k, v := range live {
				in.Stop.PollAt(k)
				loc := locs[k]
				a.claim(loc, v)
				if home := a.homes[v]; home != loc && home != regalloc.NoAllocation && a.vregs[v].flags&(stored|isArg) != 0 {
					a.claim(home, v)
				}
			}
			for _, p := range in.ParamsOf(regalloc.Block(b)) {
				if a.parts[p].start != inf {
					a.claim(a.locAt(uint32(p), entry), uint32(p))
				}
			}
		}
		a.out.ClaimEnd = append(a.out.ClaimEnd, uint32(len(a.out.Claims)))
	}
}

func (a *Allocator) claim(loc regalloc.Allocation, v uint32) {
	if loc != regalloc.NoAllocation {
		a.out.Claims = stop.Append(a.in.Stop, a.out.Claims, regalloc.Claim{Loc: loc, VReg: regalloc.VReg(v)})
	}
}
