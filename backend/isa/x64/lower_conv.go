package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// fromInt returns the row that converts a signed integer to t.
func fromInt(t clif.Type) backend.Op {
	if t == clif.F32 {
		return asm.CvtIntToF32
	}
	return asm.CvtIntToF64
}

// toInt returns the row that truncates a float of type t to a signed integer. A value that does not fit
// becomes the smallest integer.
func toInt(t clif.Type) backend.Op {
	if t == clif.F32 {
		return asm.CvtF32ToInt
	}
	return asm.CvtF64ToInt
}

func lowerFcvtFromSint(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	l.Emit(backend.Inst{Op: fromInt(d.Type), Size: backend.SizeOf(from)}, l.UseAs(from, d.ArgA()), l.Def(d, 0))
}

func lowerCvtMem(l *lower, m *match) {
	in := backend.Inst{Op: fromInt(m.T), Size: backend.SizeOf(l.F.TypeOf(m.X()))}
	emitMem(l, in, loaded(l, m), nil, []vreg{l.Def(m.D, 0)})
}

func lowerFcvtFromUint(l *lower, _ clif.Inst, d *clif.InstData) {
	if l.F.TypeOf(d.ArgA()) == clif.I32 || l.F.TypeOf(l.Resolve(d.ArgA())) == clif.I32 { // zero-extended, and so a positive i64
		l.Emit(backend.Inst{Op: fromInt(d.Type), Size: 8}, l.Use(d.ArgA()), l.Def(d, 0))
		return
	}
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg), early(l, clif.I64),
		regalloc.DefOf(l.Def(d, 0), regalloc.Reg))
	l.Push(backend.Inst{Op: opFromUint64, Size: backend.SizeOf(d.Type)}, 0)
}

// early returns a temporary register that no operand shares.
func early(l *lower, t clif.Type) regalloc.Operand {
	return regalloc.Operand{VReg: l.NewVReg(t), Constraint: regalloc.Reg, Access: regalloc.EarlyDef}
}

// trapNaN appends a comparison of the float x with itself that traps if it is a NaN.
func trapNaN(l *lower, t clif.Type, x vreg) {
	c := backend.Comparing(backend.Inst{Op: asm.Ucomif, Size: backend.SizeOf(t), Trap: uint8(abi.TrapBadConversion)}, asm.P)
	c.Add(x)
	c.Add(x)
	c.Push(l, backend.TailTrap, 0)
}

// trapNE appends a comparison of 64-bit integers that traps with overflow if they
// differ.
func trapNE(l *lower, x, y vreg) {
	l.Emit(backend.Inst{Op: asm.Cmp, Size: 8, Tail: backend.TailTrap, Cond: uint8(asm.NE), Trap: uint8(abi.TrapIntegerOverflow)}, x, y)
}

const two63 = 1 << 63

// lowerFcvtToSint: an i32 is truncated as 64 bits, and fits if its sign extension is the
// same; for an i64 the result says whether x has to be looked at.
func lowerFcvtToSint(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	x := l.Use(d.ArgA())
	if d.Type == clif.I64 {
		k := l.PoolConst(backend.FloatBits(from, -two63), 0, backend.SizeOf(from))
		pushPseudo(l, backend.Inst{Op: opToSint64, Size: backend.SizeOf(from), Trap: uint8(abi.TrapIntegerOverflow)}.OfConst(k), x, l.Def(d, 0))
		return
	}
	trapNaN(l, from, x)
	wide, sext := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: toInt(from), Size: 8}, x, wide)
	l.Emit(backend.Inst{Op: asm.Movsx32, Size: 8}, wide, sext)
	trapNE(l, wide, sext)
	l.Emit(backend.Inst{Op: asm.Mov, Size: 4}, wide, l.Def(d, 0))
}

// lowerFcvtToUint: an i32 is truncated as 64 bits, and fits if its zero extension is the same;
// an i64 above 2^63 is truncated less 2^63.
func lowerFcvtToUint(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	x := l.Use(d.ArgA())
	trapNaN(l, from, x)
	if d.Type == clif.I32 {
		wide := l.NewVReg(clif.I64)
		dst := l.Def(d, 0)
		l.Emit(backend.Inst{Op: toInt(from), Size: 8}, x, wide)
		l.Emit(backend.Inst{Op: asm.Mov, Size: 4}, wide, dst)
		trapNE(l, wide, dst)
		return
	}
	toUint64(l, d, from, opToUint64)
}

// toUint64 appends a conversion that takes the constants 2^63 and -2^63 from the pool.
func toUint64(l *lower, d *clif.InstData, from clif.Type, op backend.Op) {
	k := l.PoolConst(backend.FloatBits(from, two63), 0, backend.SizeOf(from))
	l.PoolConst(backend.FloatBits(from, -two63), 0, backend.SizeOf(from))
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg), regalloc.DefOf(l.Def(d, 0), regalloc.Reg), early(l, clif.I64))
	l.Push(backend.Inst{Op: op, Size: backend.SizeOf(from), Trap: uint8(abi.TrapIntegerOverflow)}.OfConst(k), 0)
}

func lowerFcvtToSintSat(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	op := opToSint32Sat
	if d.Type == clif.I64 {
		op = opToSint64Sat
	}
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg), regalloc.DefOf(l.Def(d, 0), regalloc.Reg))
	l.Push(backend.Inst{Op: op, Size: backend.SizeOf(from)}, 0)
}

func lowerFcvtToUintSat(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	if d.Type == clif.I64 {
		toUint64(l, d, from, opToUint64Sat)
		return
	}
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg), regalloc.DefOf(l.Def(d, 0), regalloc.Reg), early(l, clif.I64))
	l.Push(backend.Inst{Op: opToUint32Sat, Size: backend.SizeOf(from)}, 0)
}

func lowerBitcast(l *lower, _ clif.Inst, d *clif.InstData) {
	size, x := backend.SizeOf(d.Type), d.ArgA()
	if d.Type.IsFloat() {
		l.Emit(backend.Inst{Op: asm.MovdToF, Size: size}, l.UseAs(l.F.TypeOf(x), x), l.Def(d, 0))
		return
	}
	l.Emit(backend.Inst{Op: asm.MovdFromF, Size: size}, l.Use(x), l.Def(d, 0))
}

// lowerBitcastMem applies RuleBitcastMem and RuleIreduceMem: the bits in memory are those of the result.
func lowerBitcastMem(l *lower, m *match) { l.LoadAs(m, loaded(l, m)) }
