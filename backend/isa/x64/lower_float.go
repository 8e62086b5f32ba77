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

// floatMem is the address of the float v, if the instruction being lowered can read it from
// memory: a load, or a constant.
func floatMem(l *lower, t clif.Type, v clif.Value) (amode, bool) {
	if a, ok := sinkableFull(l, v, t); ok && l.Rule("float_mem") {
		return a, true
	}
	if d := l.DefOp(v, clif.OpFconst); d != nil && l.SingleUse(v) && l.Rule("float_const") {
		x := d.Imm
		if t == clif.F32 {
			x = uint64(uint32(x))
		}
		return l.Pool(x, 0, backend.SizeOf(t)), true
	}
	return amode{}, false
}

// floatRows are the rows of an operation, in SSE and in AVX.
type floatRows struct{ sse, avx backend.Op }

// floatBinary appends x op y.
func floatBinary(l *lower, d *clif.InstData, rows floatRows) {
	in := backend.Inst{Op: rows.sse, Size: backend.SizeOf(d.Type)}
	if has(l, asm.AVX) && l.Rule("float_avx") {
		in.Op = rows.avx
	}
	x, y := d.ArgA(), d.ArgB()
	dst := l.Def(d, 0)
	if a, ok := floatMem(l, d.Type, y); ok {
		emitMem(l, in, a, []vreg{l.Use(x)}, []vreg{dst})
		return
	}
	if d.Op.Info().Commutative {
		if a, ok := floatMem(l, d.Type, x); ok && l.Rule("float_mem_swap") {
			emitMem(l, in, a, []vreg{l.Use(y)}, []vreg{dst})
			return
		}
		if !l.SingleUse(x) && l.SingleUse(y) {
			x, y = y, x
		}
	}
	l.Emit(in, l.Use(x), l.Use(y), dst)
}

func lowerFadd(l *lower, _ clif.Inst, d *clif.InstData) {
	floatBinary(l, d, floatRows{asm.Addf, asm.Vaddf})
}
func lowerFsub(l *lower, _ clif.Inst, d *clif.InstData) {
	floatBinary(l, d, floatRows{asm.Subf, asm.Vsubf})
}
func lowerFmul(l *lower, _ clif.Inst, d *clif.InstData) {
	floatBinary(l, d, floatRows{asm.Mulf, asm.Vmulf})
}
func lowerFdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	floatBinary(l, d, floatRows{asm.Divf, asm.Vdivf})
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

// vector is the 16-byte constant with all elements of t equal to x: packed operations read
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

// absMask is all bits of t but the sign.
func absMask(t clif.Type) uint64 { return backend.SignBit(t) - 1 }

func lowerFcopysign(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	abs, sign := l.NewVReg(t), l.NewVReg(t)
	mask(l, asm.Andp, t, l.Use(d.ArgA()), absMask(t), abs)
	mask(l, asm.Andp, t, l.Use(d.ArgB()), backend.SignBit(t), sign)
	l.Emit(backend.Inst{Op: asm.Orp, Size: backend.SizeOf(t)}, abs, sign, l.Def(d, 0))
}

// floatUnary appends op x, x perhaps from memory.
func floatUnary(l *lower, d *clif.InstData, in backend.Inst, from clif.Type) {
	if a, ok := sinkableFull(l, d.ArgA(), from); ok && l.Rule("float_unary_mem") {
		emitMem(l, in, a, nil, []vreg{l.Def(d, 0)})
		return
	}
	l.Emit(in, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerFabs(l *lower, _ clif.Inst, d *clif.InstData) {
	mask(l, asm.Andp, d.Type, l.Use(d.ArgA()), absMask(d.Type), l.Def(d, 0))
}

func lowerFneg(l *lower, _ clif.Inst, d *clif.InstData) {
	mask(l, asm.Xorp, d.Type, l.Use(d.ArgA()), backend.SignBit(d.Type), l.Def(d, 0))
}

func lowerFsqrt(l *lower, _ clif.Inst, d *clif.InstData) {
	floatUnary(l, d, backend.Inst{Op: asm.Sqrtf, Size: backend.SizeOf(d.Type)}, d.Type)
}

// round appends a rounding in the given mode, inexact suppressed.
func round(l *lower, d *clif.InstData, mode int64) {
	floatUnary(l, d, backend.Inst{Op: asm.Roundf, Size: backend.SizeOf(d.Type), Imm: mode}, d.Type)
}

func lowerFnearest(l *lower, _ clif.Inst, d *clif.InstData) { round(l, d, 8) }
func lowerFfloor(l *lower, _ clif.Inst, d *clif.InstData)   { round(l, d, 9) }
func lowerFceil(l *lower, _ clif.Inst, d *clif.InstData)    { round(l, d, 10) }
func lowerFtrunc(l *lower, _ clif.Inst, d *clif.InstData)   { round(l, d, 11) }

func lowerFpromote(l *lower, _ clif.Inst, d *clif.InstData) {
	floatUnary(l, d, backend.Inst{Op: asm.CvtF32ToF64, Size: 4}, clif.F32)
}

func lowerFdemote(l *lower, _ clif.Inst, d *clif.InstData) {
	floatUnary(l, d, backend.Inst{Op: asm.CvtF64ToF32, Size: 8}, clif.F64)
}
