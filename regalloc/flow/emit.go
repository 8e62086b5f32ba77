package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/parmove"
)

// emitter is the state of making edits.
type emitter struct {
	function
	*moveList
	moves parmove.Resolver

	group, ordered []parmove.Move
	remats         []uint32
}

// emit puts the moves of fn in order and makes them edits.
func (em *emitter) emit(fn function, list *moveList) {
	em.function, em.moveList = fn, list
	em.moves.UsedExtra = 0
	extra := em.Out.SlotWords + em.Out.SlotWords&1
	env := parmove.Env{Scratch: em.Env.Scratch, Swaps: em.Env.Swaps, Extra: regalloc.InSlot(extra)}
	em.Out.Edits = stop.Grow(em.In.Stop, em.Out.Edits, len(em.recs))
	for i, head := range em.heads {
		if head == None {
			continue
		}
		em.In.Stop.Poll()
		seen := 0
		for r := head; r != None; r = em.recs[r].next {
			seen |= 1 << em.recs[r].when
		}
		for when := range uint8(numWhen) {
			if seen>>when&1 != 0 {
				em.emitGroup(uint32(i), when, head, &env)
			}
		}
	}
	if n := em.moves.UsedExtra; n > 0 {
		em.Out.SlotWords = extra + n
	}
}

// emitGroup emits the moves of one time beside instruction i as one parallel
// move. Rematerialisations read nothing and so come last.
func (em *emitter) emitGroup(i uint32, when uint8, head uint32, env *parmove.Env) {
	em.group, em.remats = em.group[:0], em.remats[:0]
	for r := head; r != None; r = em.recs[r].next {
		x := &em.recs[r]
		switch {
		case x.when != when || x.spill && em.Values[x.vreg].Flags&Stored != 0:
		case x.from == regalloc.NoAllocation:
			em.remats = append(em.remats, r)
		default:
			em.group = append(em.group, parmove.Move{From: x.from, To: x.to, Bytes: em.Bytes(x.vreg)})
		}
	}
	point := regalloc.Before(regalloc.Inst(i))
	if when == afterward {
		point = regalloc.After(regalloc.Inst(i))
	}
	switch {
	case len(em.group) == 0:
	case len(em.group) == 1 && !(em.group[0].From.IsMem() && em.group[0].To.IsMem()):
		m := em.group[0]
		em.emitMove(point, m.From, m.To, m.Bytes)
	default:
		em.ordered = em.moves.Resolve(em.ordered[:0], em.group, *env)
		for _, m := range em.ordered {
			if m.Swap {
				em.Out.AppendSwap(em.In, point, m.From, m.To)
				continue
			}
			em.emitMove(point, m.From, m.To, m.Bytes)
		}
	}
	for _, r := range em.remats {
		if em.recs[r].to.IsMem() {
			em.rematToSlot(point, &em.recs[r])
		}
	}
	for _, r := range em.remats {
		if em.recs[r].to.IsReg() {
			em.emitRemat(point, em.recs[r].vreg, em.recs[r].to)
		}
	}
}

func (em *emitter) emitMove(point regalloc.ProgPoint, from, to regalloc.Allocation, bytes uint8) {
	em.Out.AppendMove(em.In, point, from, to, bytes)
}

func (em *emitter) emitRemat(point regalloc.ProgPoint, v uint32, to regalloc.Allocation) {
	em.Out.AppendRemat(em.In, point, regalloc.VReg(v), to)
}

// rematToSlot rematerialises into a slot: by way of a register that another rematerialisation will overwrite anyway; or else straight, if the machine
// can; or else by way of a register that the float scratch saves meanwhile.
func (em *emitter) rematToSlot(point regalloc.ProgPoint, x *rec) {
	class := em.ClassOf(x.vreg)
	for _, r := range em.remats {
		if to := em.recs[r].to; to.IsReg() && to.Reg().Class() == class && em.Env.Allocatable.Has(to.Reg()) {
			em.emitRemat(point, x.vreg, to)
			em.emitMove(point, to, x.to, em.Bytes(x.vreg))
			return
		}
	}
	if em.In.VRegs[x.vreg].Storable {
		em.Out.AppendStoreConst(em.In, point, regalloc.VReg(x.vreg), x.to)
		return
	}
	reg := regalloc.InReg(em.Env.Order[class][0])
	scratch := regalloc.InReg(em.Env.Scratch[regalloc.Float])
	width := uint8(8)
	if class == regalloc.Float {
		width = 16
	}
	em.emitMove(point, reg, scratch, width)
	em.emitRemat(point, x.vreg, reg)
	em.emitMove(point, reg, x.to, em.Bytes(x.vreg))
	em.emitMove(point, scratch, reg, width)
}
