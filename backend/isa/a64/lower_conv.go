package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// pick returns a for f32 and b for f64.
func pick(t clif.Type, a, b backend.Op) backend.Op {
	if t == clif.F32 {
		return a
	}
	return b
}

// toSigned and toUnsigned are the rows that truncate a float of type t to an integer. A value that does not fit becomes the
// nearest integer that does; a NaN becomes 0.
func toSigned(t clif.Type) backend.Op   { return pick(t, asm.FcvtzsFrom32, asm.FcvtzsFrom64) }
func toUnsigned(t clif.Type) backend.Op { return pick(t, asm.FcvtzuFrom32, asm.FcvtzuFrom64) }

func lowerFcvtFromSint(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	l.Emit(backend.Inst{Op: pick(d.Type, asm.ScvtfToF32, asm.ScvtfToF64), Size: backend.SizeOf(from)}, l.UseAs(from, d.ArgA()), l.Def(d, 0))
}

func lowerFcvtFromUint(l *lower, _ clif.Inst, d *clif.InstData) {
	from := l.F.TypeOf(d.ArgA())
	l.Emit(backend.Inst{Op: pick(d.Type, asm.UcvtfToF32, asm.UcvtfToF64), Size: backend.SizeOf(from)}, l.UseAs(from, d.ArgA()), l.Def(d, 0))
}

// trapFloat appends a comparison of floats x and y that traps.
func trapFloat(l *lower, t clif.Type, x, y vreg, cond asm.Cond, code abi.TrapCode) {
	l.Emit(backend.Inst{Op: asm.Fcmp, Size: backend.SizeOf(t), Tail: backend.TailTrap, Cond: uint8(cond), Trap: uint8(code)}, x, y)
}

const (
	two63 = 1 << 63
	two64 = 1 << 64
)

// truncation appends a truncation to an integer. An i32 is truncated as 64 bits, and fits if its extension is the
// same; the limits of an i64 are exact in either type.
func truncation(l *lower, d *clif.InstData, op backend.Op, ext asm.Extend, above, below float64, under asm.Cond) {
	from := l.F.TypeOf(d.ArgA())
	x, dst := l.Use(d.ArgA()), l.Def(d, 0)
	trapFloat(l, from, x, x, asm.VS, abi.TrapBadConversion)
	if d.Type == clif.I32 {
		wide := dst
		if ext == asm.SXTW {
			wide = l.NewVReg(clif.I64)
		}
		l.Emit(backend.Inst{Op: toSigned(from), Size: 8}, x, wide)
		l.Emit(backend.Inst{Op: asm.CmpExt, Size: 8, Imm: asm.Extended(ext, 0), Tail: backend.TailTrap, Cond: uint8(asm.NE),
			Trap: uint8(abi.TrapIntegerOverflow)}, wide, wide)
		if wide != dst {
			l.Emit(backend.Inst{Op: asm.Mov, Size: 4}, wide, dst)
		}
		return
	}
	trapFloat(l, from, x, tempFloat(l, from, backend.FloatBits(from, above)), asm.GE, abi.TrapIntegerOverflow)
	trapFloat(l, from, x, tempFloat(l, from, backend.FloatBits(from, below)), under, abi.TrapIntegerOverflow)
	l.Emit(backend.Inst{Op: op, Size: 8}, x, dst)
}

// lowerFcvtToSint: an i64 fits if -2^63 <= x < 2^63.
func lowerFcvtToSint(l *lower, _ clif.Inst, d *clif.InstData) {
	truncation(l, d, toSigned(l.F.TypeOf(d.ArgA())), asm.SXTW, two63, -two63, asm.MI)
}

// lowerFcvtToUint: an i64 fits if -1 < x < 2^64.
func lowerFcvtToUint(l *lower, _ clif.Inst, d *clif.InstData) {
	truncation(l, d, toUnsigned(l.F.TypeOf(d.ArgA())), asm.UXTW, two64, -1, asm.LS)
}

// saturate appends the truncation op.
func saturate(l *lower, d *clif.InstData, op backend.Op) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerFcvtToSintSat(l *lower, _ clif.Inst, d *clif.InstData) {
	saturate(l, d, toSigned(l.F.TypeOf(d.ArgA())))
}

func lowerFcvtToUintSat(l *lower, _ clif.Inst, d *clif.InstData) {
	saturate(l, d, toUnsigned(l.F.TypeOf(d.ArgA())))
}

func lowerBitcast(l *lower, _ clif.Inst, d *clif.InstData) {
	size, x := backend.SizeOf(d.Type), d.ArgA()
	if d.Type.IsFloat() {
		l.Emit(backend.Inst{Op: asm.FmovToF, Size: size}, l.UseAs(l.F.TypeOf(x), x), l.Def(d, 0))
		return
	}
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: size}, l.Use(x), l.Def(d, 0))
}

func lowerBitcastMem(l *lower, m *match) { l.LoadAs(m, loaded(l, m)) }
