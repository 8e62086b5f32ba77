package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// This file moves lanes between vectors, and to and from memory, without general registers. The instructions that load or store
// one lane have no displacement or index: where an address has one, a scalar is loaded or stored instead.

// laneRows are the rows that load and store the lowest lane, by the logarithm of its width.
var laneRows = [...]struct{ load, store backend.Op }{{asm.FldrB, asm.FstrB}, {asm.FldrH, asm.FstrH}, {asm.Fldr, asm.Fstr}, {asm.Fldr, asm.Fstr}}

// isBare reports whether a is an address in a register.
func isBare(a *amode) bool { return a.Mode == backend.ModeBase && a.Disp == 0 }

// laneAccess appends an access of a lane at a.
func laneAccess(l *lower, op backend.Op, scale uint8, lane int64, a amode, regs ...vreg) {
	in := inLanesBy(op, scale, lane)
	a.Set(&in)
	in.Scale = scale
	l.Emit(in, append([]vreg{a.Regs[0]}, regs...)...)
}

// loadLane returns a fresh vector with the lowest lane from memory.
func loadLane(l *lower, scale uint8, a amode) vreg {
	v := l.NewVReg(clif.V128)
	l.Access(laneRows[scale].load, 1<<scale, a, v)
	return v
}

func lowerSplatMem(l *lower, m *match) {
	scale, a, dst := laneScale(m.T), loaded(l, m), l.Def(m.D, 0)
	if isBare(&a) {
		laneAccess(l, asm.Vld1r, scale, 0, a, dst)
		return
	}
	l.Emit(inLanes(asm.VdupLane, scale), loadLane(l, scale, a), dst)
}

func lowerInsertMem(l *lower, m *match) {
	x, scale, a, dst := l.Use(m.X()), laneScale(m.T), loaded(l, m), l.Def(m.D, 0)
	if isBare(&a) {
		laneAccess(l, asm.Vld1Lane, scale, int64(m.D.Lane()), a, x, dst)
		return
	}
	l.Emit(inLanesBy(asm.VinsLane, scale, asm.TwoLanes(m.D.Lane(), 0)), x, loadLane(l, scale, a), dst)
}

// storeLane appends a store of the lane that the vextract d takes.
func storeLane(l *lower, a amode, d *clif.InstData) {
	scale, x, lane := laneScale(d.Type), l.Use(d.ArgA()), int64(d.Lane())
	switch {
	case lane != 0 && isBare(&a):
		laneAccess(l, asm.Vst1Lane, scale, lane, a, x)
		return
	case lane != 0:
		x = vectorOf(l, inLanesBy(asm.VmovLane, scale, lane), x)
	}
	l.Access(laneRows[scale].store, 1<<scale, a, x)
}

func lowerSplatLane(l *lower, m *match) {
	from := definition(&l.Query, m, 0)
	l.Emit(inLanesBy(asm.VdupLane, laneScale(m.T), int64(from.Lane())), l.Use(m.X()), l.Def(m.D, 0))
}

func lowerInsertLane(l *lower, m *match) {
	from := definition(&l.Query, m, 1)
	l.Emit(inLanesBy(asm.VinsLane, laneScale(m.T), asm.TwoLanes(m.D.Lane(), from.Lane())), l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}
