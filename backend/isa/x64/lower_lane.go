package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// This file lowers what moves lanes: splats, extraction, insertion. Shuffles are in lower_shuffle.go.

// lowLane returns a vector whose low lane of shape t is x, which is not a float.
func lowLane(l *lower, t clif.Type, x clif.Value) vreg {
	r := l.NewVReg(clif.V128)
	scalar := t.LaneType()
	l.Emit(backend.Inst{Op: asm.MovdToF, Size: backend.SizeOf(scalar)}, l.UseAs(scalar, x), r)
	return r
}

func lowerVsplat(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	avx := has(&l.Query, asm.AVX2)
	switch t {
	case clif.F64x2:
		simd(l, asm.Movddup).to(l.Use(d.ArgA()), dst)
		return
	case clif.F32x4:
		x := l.Use(d.ArgA())
		if avx {
			l.Emit(backend.Inst{Op: asm.Vbroadcastss, Size: 16}, x, dst)
			return
		}
		sized(l, asm.Shufp, 4).to(x, x, dst)
		return
	}
	x := lowLane(l, t, d.ArgA())
	switch {
	case t == clif.I64x2:
		simd(l, asm.Pshufd).by(1<<2|1<<6).to(x, dst)
	case t == clif.I32x4:
		simd(l, asm.Pshufd).to(x, dst)
	case avx && t == clif.I16x8:
		l.Emit(backend.Inst{Op: asm.Vpbroadcastw, Size: 16}, x, dst)
	case avx:
		l.Emit(backend.Inst{Op: asm.Vpbroadcastb, Size: 16}, x, dst)
	default:
		copySmall(l, t, x, dst)
	}
}

// splatRows are the instructions that load a lane and copy it to all, by shape.
var splatRows = [numShapes]backend.Op{clif.I8x16: asm.Vpbroadcastb, clif.I16x8: asm.Vpbroadcastw,
	clif.I32x4: asm.Vbroadcastss, clif.I64x2: asm.Movddup, clif.F32x4: asm.Vbroadcastss, clif.F64x2: asm.Movddup}

// lowerVsplatMemSmall: before AVX2, a shuffle copies the lane.
func lowerVsplatMemSmall(l *lower, m *match) {
	if has(&l.Query, asm.AVX2) {
		lowerVsplatMem(l, m)
		return
	}
	x := l.NewVReg(clif.V128)
	emitMem(l, insertion(l, m.T, 0).in, loaded(l, m), []vreg{zeros.reg(l)}, []vreg{x})
	copySmall(l, m.T, x, l.Def(m.D, 0))
}

// copySmall appends dst = the lowest lane of x, of 8 or 16 bits, in all lanes.
func copySmall(l *lower, t clif.Type, x, dst vreg) {
	if t == clif.I8x16 {
		simd(l, asm.Pshufb).to(x, zeros.shared(l), dst)
		return
	}
	simd(l, asm.Pshufb).constTo(x, all(t, 0x100), dst)
}

func lowerVsplatMem(l *lower, m *match) {
	emitMem(l, formOf(l, splatRows[m.T]), loaded(l, m), nil, []vreg{l.Def(m.D, 0)})
}

func lowerVextendMem(l *lower, m *match) {
	emitMem(l, simd(l, vectorRows[m.D.Op][m.T]).in, loaded(l, m), nil, []vreg{l.Def(m.D, 0)})
}

func lowerVextract(l *lower, _ clif.Inst, d *clif.InstData) {
	x, lane, dst := l.Use(d.ArgA()), int64(d.Lane()), l.Def(d, 0)
	switch d.Type {
	case clif.I8x16:
		extractSmall(l, sized(l, asm.Pextrb, 4), x, lane, asm.Movzx8, dst)
	case clif.I16x8:
		extractSmall(l, sized(l, asm.Pextrw, 4), x, lane, asm.Movzx16, dst)
	case clif.F32x4, clif.F64x2:
		extractFloat(l, d.Type, x, lane, dst)
	default:
		size := backend.SizeOf(d.Type.LaneType())
		if lane == 0 {
			l.Emit(backend.Inst{Op: asm.MovdFromF, Size: size}, x, dst)
			return
		}
		sized(l, asm.Pextrd, size).by(lane).to(x, dst)
	}
}

func lowerVextractS(l *lower, _ clif.Inst, d *clif.InstData) {
	op, extend := asm.Pextrb, asm.Movsx8
	if d.Type == clif.I16x8 {
		op, extend = asm.Pextrw, asm.Movsx16
	}
	bits := l.NewVReg(clif.I32)
	if lane := int64(d.Lane()); lane == 0 {
		l.Emit(backend.Inst{Op: asm.MovdFromF, Size: 4}, l.Use(d.ArgA()), bits)
	} else {
		sized(l, op, 4).by(lane).to(l.Use(d.ArgA()), bits)
	}
	l.Emit(backend.Inst{Op: extend, Size: 4}, bits, l.Def(d, 0))
}

// extractSmall appends dst = a lane of 8 or 16 bits. The lowest one takes two instructions, as the others do in the processor, but
// shorter.
func extractSmall(l *lower, extract vop, x vreg, lane int64, extend backend.Op, dst vreg) {
	if lane > 0 {
		extract.by(lane).to(x, dst)
		return
	}
	bits := l.NewVReg(clif.I32)
	l.Emit(backend.Inst{Op: asm.MovdFromF, Size: 4}, x, bits)
	l.Emit(backend.Inst{Op: extend, Size: 4}, bits, dst)
}

// extractFloat appends dst = a lane of floats. What is above in the register of a scalar is unspecified.
func extractFloat(l *lower, t clif.Type, x vreg, lane int64, dst vreg) {
	switch {
	case lane == 0:
		copyVector(l, x, dst)
	case t == clif.F32x4:
		simd(l, asm.Pshufd).by(lane).to(x, dst)
	default:
		simd(l, asm.Pshufd).by(highHalf).to(x, dst)
	}
}

// insertion returns the instruction that replaces a lane.
func insertion(l *lower, t clif.Type, lane int64) vop {
	switch t {
	case clif.I8x16:
		return simd(l, asm.Pinsrb).by(lane)
	case clif.I16x8:
		return simd(l, asm.Pinsrw).by(lane)
	case clif.F32x4:
		return simd(l, asm.Insertps).by(lane << 4)
	case clif.F64x2:
		return simd(l, [2]backend.Op{asm.MergeLow, asm.MergeHigh}[lane])
	}
	return sized(l, asm.Pinsrd, backend.SizeOf(t.LaneType())).by(lane)
}

func lowerVinsert(l *lower, _ clif.Inst, d *clif.InstData) {
	insertion(l, d.Type, int64(d.Lane())).to(l.Use(d.ArgA()), l.UseAs(d.Type.LaneType(), d.ArgB()), l.Def(d, 0))
}

func lowerVinsertMem(l *lower, m *match) {
	in := insertion(l, m.T, int64(m.D.Lane())).in
	emitMem(l, in, loaded(l, m), []vreg{l.Use(m.X())}, []vreg{l.Def(m.D, 0)})
}

// lowerStoreLane: the lowest lanes of four and eight bytes are stored as floats.
func lowerStoreLane(l *lower, m *match) {
	_, d := l.DefInst(m.Y())
	lane, bytes := int64(d.Lane()), uint8(d.Type.LaneBits()/8)
	a, x := heap(l, m.Inst, m.D), l.Use(d.ArgA())
	var o vop
	switch {
	case bytes >= 4 && lane == 0:
		l.Access(asm.MovfStore, bytes, a, x)
		return
	case bytes == 1:
		o = simd(l, asm.PextrbStore).by(lane)
	case bytes == 2:
		o = simd(l, asm.PextrwStore).by(lane)
	case bytes == 4:
		o = sized(l, asm.PextrdStore, 4).by(lane)
	default:
		o = simd(l, asm.MovhpsStore)
	}
	emitMem(l, o.in, a, nil, []vreg{x})
}

// lowerVswizzle: from 16 on, indices saturate above 127, where pshufb gives 0; below, their low bits are kept.
func lowerVswizzle(l *lower, _ clif.Inst, d *clif.InstData) {
	index := simd(l, asm.Paddusb).constOf(l.Use(d.ArgB()), all(clif.I8x16, 0x70))
	simd(l, asm.Pshufb).to(l.Use(d.ArgA()), index, l.Def(d, 0))
}

func lowerVswizzleLow(l *lower, m *match) {
	simd(l, asm.Pshufb).to(l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}
