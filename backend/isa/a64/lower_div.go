package a64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

func lowerUmulhi(l *lower, _ clif.Inst, d *clif.InstData) { binary(l, d, asm.Umulh) }
func lowerSmulhi(l *lower, _ clif.Inst, d *clif.InstData) { binary(l, d, asm.Smulh) }

// binary appends x op y.
func binary(l *lower, d *clif.InstData, op backend.Op) {
	operation(l, op, d.Type, d.ArgA(), d.ArgB(), l.Def(d, 0))
}

// trapZero appends a trap if x is zero.
func trapZero(l *lower, t clif.Type, x vreg, code abi.TrapCode) {
	l.Emit(backend.Inst{Op: asm.Cbz, Size: backend.SizeOf(t), Tail: backend.TailTrap, Trap: uint8(code)}, x)
}

// divisor returns the register of the divisor of d, after a trap if it may be zero: the hardware does not trap.
func divisor(l *lower, d *clif.InstData) vreg {
	y := l.UseAs(d.Type, d.ArgB())
	if _, ok := l.Fold(RuleDivNonzero, d.Type, d.ArgB(), 8); !ok {
		trapZero(l, d.Type, y, abi.TrapIntegerDivideByZero)
	}
	return y
}

func lowerUdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	y := divisor(l, d)
	l.Emit(backend.Inst{Op: asm.Udiv, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), y, l.Def(d, 0))
}

// lowerSdiv: (x ^ smallest) | ^y is zero exactly if x is the smallest integer and y is -1.
func lowerSdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	t, size := d.Type, backend.SizeOf(d.Type)
	x := l.UseAs(t, d.ArgA())
	y := divisor(l, d)
	if _, ok := l.Fold(RuleSdivNoOverflow, t, d.ArgB(), 8); !ok {
		smallest := int64(math.MinInt64)
		if t == clif.I32 {
			smallest = 1 << 31
		}
		differs, either := l.NewVReg(t), l.NewVReg(t)
		l.Emit(backend.Inst{Op: asm.EorImm, Size: size, Imm: smallest}, x, differs)
		l.Emit(backend.Inst{Op: asm.Orn, Size: size}, differs, y, either)
		trapZero(l, t, either, abi.TrapIntegerOverflow)
	}
	l.Emit(backend.Inst{Op: asm.Sdiv, Size: size}, x, y, l.Def(d, 0))
}

// remainder appends x - x/y*y. The smallest integer divided by -1 gives itself here, so its remainder is 0.
func remainder(l *lower, d *clif.InstData, op backend.Op) {
	t, size := d.Type, backend.SizeOf(d.Type)
	x := l.UseAs(t, d.ArgA())
	y := divisor(l, d)
	quot := l.NewVReg(t)
	l.Emit(backend.Inst{Op: op, Size: size}, x, y, quot)
	l.Emit(backend.Inst{Op: asm.Msub, Size: size}, quot, y, x, l.Def(d, 0))
}

func lowerUrem(l *lower, _ clif.Inst, d *clif.InstData) { remainder(l, d, asm.Udiv) }
func lowerSrem(l *lower, _ clif.Inst, d *clif.InstData) { remainder(l, d, asm.Sdiv) }
