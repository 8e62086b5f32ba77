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

// floats are the rows for float operations, and for conversions between floats, by opcode.
var floats = [clif.NumOpcodes]backend.Op{
	clif.OpFadd: asm.Fadd, clif.OpFsub: asm.Fsub, clif.OpFmul: asm.Fmul, clif.OpFdiv: asm.Fdiv, clif.OpFmin: asm.Fmin, clif.OpFmax: asm.Fmax,
	clif.OpFabs: asm.Fabs, clif.OpFneg: asm.Fneg, clif.OpFsqrt: asm.Fsqrt,
	clif.OpFnearest: asm.Frintn, clif.OpFfloor: asm.Frintm, clif.OpFceil: asm.Frintp, clif.OpFtrunc: asm.Frintz,
	clif.OpFpromote: asm.CvtF32ToF64, clif.OpFdemote: asm.CvtF64ToF32,
}

// lowerFloat appends x op y.
func lowerFloat(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: floats[d.Op], Size: backend.SizeOf(d.Type)}, l.Use(d.ArgA()), l.Use(d.ArgB()), l.Def(d, 0))
}

// lowerFcopysign takes the sign from the second operand and the rest from the first one.
func lowerFcopysign(l *lower, _ clif.Inst, d *clif.InstData) {
	sign := tempFloat(l, d.Type, backend.SignBit(d.Type))
	l.Emit(backend.Inst{Op: asm.Vbit, Size: 8}, l.Use(d.ArgA()), l.Use(d.ArgB()), sign, l.Def(d, 0))
}

// lowerFloatUnary appends op x, with the size of x.
func lowerFloatUnary(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	l.Emit(backend.Inst{Op: floats[d.Op], Size: backend.SizeOf(from)}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerFnegMul(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.Fnmul, Size: backend.SizeOf(m.T)}, l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}
