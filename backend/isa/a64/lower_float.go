package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

func lowerFconst(l *lower, _ clif.Inst, d *clif.InstData) {
	floatConst(l, d.Type, d.Imm, l.Def(d, 0))
}

// floatConst appends dst = the float with the bits x, rematerialisable.
func floatConst(l *lower, t clif.Type, x uint64, dst vreg) {
	if t == clif.F32 {
		x = uint64(uint32(x))
	}
	size := backend.SizeOf(t)
	switch {
	case x == 0:
		l.EmitRemat(backend.Inst{Op: asm.Fzero, Size: 8}, dst)
	case asm.FitsFloat(size, x):
		l.EmitRemat(backend.Inst{Op: asm.FmovImm, Size: size, Imm: int64(x)}, dst)
	default:
		in := backend.Inst{Op: asm.Fldr, Size: size}
		a := l.Pool(x, 0, size)
		a.Set(&in)
		l.EmitRemat(in, dst)
	}
}

// tempFloat appends a fresh register with the float of the bits x.
func tempFloat(l *lower, t clif.Type, x uint64) vreg {
	v := l.NewVReg(t)
	floatConst(l, t, x, v)
	return v
}

// floatBinary appends x op y.
func floatBinary(l *lower, d *clif.InstData, op backend.Op) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, l.Use(d.ArgA()), l.Use(d.ArgB()), l.Def(d, 0))
}

func lowerFadd(l *lower, _ clif.Inst, d *clif.InstData) { floatBinary(l, d, asm.Fadd) }
func lowerFsub(l *lower, _ clif.Inst, d *clif.InstData) { floatBinary(l, d, asm.Fsub) }
func lowerFmul(l *lower, _ clif.Inst, d *clif.InstData) { floatBinary(l, d, asm.Fmul) }
func lowerFdiv(l *lower, _ clif.Inst, d *clif.InstData) { floatBinary(l, d, asm.Fdiv) }
func lowerFmin(l *lower, _ clif.Inst, d *clif.InstData) { floatBinary(l, d, asm.Fmin) }
func lowerFmax(l *lower, _ clif.Inst, d *clif.InstData) { floatBinary(l, d, asm.Fmax) }

// lowerFcopysign takes the sign from the second operand and the rest from the first one.
func lowerFcopysign(l *lower, _ clif.Inst, d *clif.InstData) {
	sign := tempFloat(l, d.Type, backend.SignBit(d.Type))
	l.Emit(backend.Inst{Op: asm.Vbit, Size: 8}, l.Use(d.ArgA()), l.Use(d.ArgB()), sign, l.Def(d, 0))
}

// floatUnary appends op x.
func floatUnary(l *lower, d *clif.InstData, op backend.Op) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerFabs(l *lower, _ clif.Inst, d *clif.InstData) { floatUnary(l, d, asm.Fabs) }

func lowerFneg(l *lower, _ clif.Inst, d *clif.InstData) { floatUnary(l, d, asm.Fneg) }

func lowerFnegMul(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.Fnmul, Size: backend.SizeOf(m.T)}, l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}

func lowerFsqrt(l *lower, _ clif.Inst, d *clif.InstData)    { floatUnary(l, d, asm.Fsqrt) }
func lowerFnearest(l *lower, _ clif.Inst, d *clif.InstData) { floatUnary(l, d, asm.Frintn) }
func lowerFfloor(l *lower, _ clif.Inst, d *clif.InstData)   { floatUnary(l, d, asm.Frintm) }
func lowerFceil(l *lower, _ clif.Inst, d *clif.InstData)    { floatUnary(l, d, asm.Frintp) }
func lowerFtrunc(l *lower, _ clif.Inst, d *clif.InstData)   { floatUnary(l, d, asm.Frintz) }

// convert appends a conversion of a float of so many bytes.
func convert(l *lower, d *clif.InstData, op backend.Op, size uint8) {
	l.Emit(backend.Inst{Op: op, Size: size}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerFpromote(l *lower, _ clif.Inst, d *clif.InstData) { convert(l, d, asm.CvtF32ToF64, 4) }
func lowerFdemote(l *lower, _ clif.Inst, d *clif.InstData)  { convert(l, d, asm.CvtF64ToF32, 8) }
