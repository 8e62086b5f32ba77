package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

func lowerFconst(l *lower, _ clif.Inst, d *clif.InstData) {
	floatConst(l, d.Type, d.Imm, l.Def(d, 0))
}

// floatConst appends dst = the float with the bits x, rematerialisable.
func floatConst(l *lower, t clif.Type, x uint64, dst vreg) {
	if t == clif.F32 {
		x = uint64(uint32(x))
	}
	if x == 0 {
		l.EmitRemat(backend.Inst{Op: asm.Zerof}, dst)
		return
	}
	in := backend.Inst{Op: asm.MovfLoad, Size: backend.SizeOf(t)}
	a := l.Pool(x, 0, backend.SizeOf(t))
	a.Set(&in)
	l.EmitRemat(in, dst)
}

// pooled returns the address of the float constant v, of type t, in the pool.
func pooled(l *lower, t clif.Type, v clif.Value) amode {
	x := l.DefOp(v, clif.OpFconst).Imm
	if t == clif.F32 {
		x = uint64(uint32(x))
	}
	return l.Pool(x, 0, backend.SizeOf(t))
}

// floatOps are the rows of an operation, in SSE and in AVX.
var floatOps = [clif.NumOpcodes]struct{ sse, avx backend.Op }{
	clif.OpFadd: {asm.Addf, asm.Vaddf}, clif.OpFsub: {asm.Subf, asm.Vsubf}, clif.OpFmul: {asm.Mulf, asm.Vmulf}, clif.OpFdiv: {asm.Divf, asm.Vdivf},
}

// floatInst returns the instruction for d, an AVX one if the target has AVX.
func floatInst(l *lower, d *clif.InstData) backend.Inst {
	in := backend.Inst{Op: floatOps[d.Op].sse, Size: backend.SizeOf(d.Type)}
	if has(&l.Query, asm.AVX) {
		in.Op = floatOps[d.Op].avx
	}
	return in
}

// lowerFloat appends x op y.
func lowerFloat(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := d.ArgA(), d.ArgB()
	if d.Op.Info().Commutative && !l.SingleUse(x) && l.SingleUse(y) {
		x, y = y, x
	}
	l.Emit(floatInst(l, d), l.Use(x), l.Use(y), l.Def(d, 0))
}

func lowerFloatMem(l *lower, m *match) {
	a := loaded(l, m)
	emitMem(l, floatInst(l, m.D), a, []vreg{l.Use(m.X())}, []vreg{l.Def(m.D, 0)})
}

func lowerFloatConst(l *lower, m *match) {
	a := pooled(l, m.T, m.Y())
	emitMem(l, floatInst(l, m.D), a, []vreg{l.Use(m.X())}, []vreg{l.Def(m.D, 0)})
}

// minmax appends the pseudo-instruction op: both operands in registers, the result in the
// first one's.
func minmax(l *lower, d *clif.InstData, op backend.Op) {
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg), regalloc.UseOf(l.Use(d.ArgB()), regalloc.Reg),
		regalloc.ReuseDef(l.Def(d, 0), 0))
	l.Push(backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, 0)
}

func lowerFmin(l *lower, _ clif.Inst, d *clif.InstData) { minmax(l, d, opFmin) }
func lowerFmax(l *lower, _ clif.Inst, d *clif.InstData) { minmax(l, d, opFmax) }

// vector returns the 16-byte constant with all elements of t equal to x: packed operations read
// 16 bytes, so that no scalar may stand there.
func vector(l *lower, t clif.Type, x uint64) amode {
	if t == clif.F32 {
		x |= x << 32
	}
	return l.Pool(x, x, 16)
}

// mask appends dst = x op the constant k in each element.
func mask(l *lower, op backend.Op, t clif.Type, x vreg, k uint64, dst vreg) {
	emitMem(l, backend.Inst{Op: op, Size: backend.SizeOf(t)}, vector(l, t, k), []vreg{x}, []vreg{dst})
}

// absMask returns all bits of t but the sign.
func absMask(t clif.Type) uint64 { return backend.SignBit(t) - 1 }

func lowerFcopysign(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	abs, sign := l.NewVReg(t), l.NewVReg(t)
	mask(l, asm.Andp, t, l.Use(d.ArgA()), absMask(t), abs)
	mask(l, asm.Andp, t, l.Use(d.ArgB()), backend.SignBit(t), sign)
	l.Emit(backend.Inst{Op: asm.Orp, Size: backend.SizeOf(t)}, abs, sign, l.Def(d, 0))
}

// floatUnary returns the instruction for d, an operation or conversion of one float.
func floatUnary(d *clif.InstData) backend.Inst {
	switch d.Op {
	case clif.OpFpromote:
		return backend.Inst{Op: asm.CvtF32ToF64, Size: 4}
	case clif.OpFdemote:
		return backend.Inst{Op: asm.CvtF64ToF32, Size: 8}
	case clif.OpFsqrt:
		return backend.Inst{Op: asm.Sqrtf, Size: backend.SizeOf(d.Type)}
	}
	return backend.Inst{Op: asm.Roundf, Size: backend.SizeOf(d.Type), Imm: roundings[d.Op]}
}

// roundings are the modes of roundings, with inexact suppressed.
var roundings = [clif.NumOpcodes]int64{clif.OpFnearest: 8, clif.OpFfloor: 9, clif.OpFceil: 10, clif.OpFtrunc: 11}

// lowerFloatUnary appends op x.
func lowerFloatUnary(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(floatUnary(d), l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerFloatUnaryMem(l *lower, m *match) {
	emitMem(l, floatUnary(m.D), loaded(l, m), nil, []vreg{l.Def(m.D, 0)})
}

func lowerFabs(l *lower, _ clif.Inst, d *clif.InstData) {
	mask(l, asm.Andp, d.Type, l.Use(d.ArgA()), absMask(d.Type), l.Def(d, 0))
}

func lowerFneg(l *lower, _ clif.Inst, d *clif.InstData) {
	mask(l, asm.Xorp, d.Type, l.Use(d.ArgA()), backend.SignBit(d.Type), l.Def(d, 0))
}
