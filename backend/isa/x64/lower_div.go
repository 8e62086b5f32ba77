package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// mulHigh appends the high half of A * B, and the low one if that is needed too. A constant goes to the fixed register.
func mulHigh(l *lower, i clif.Inst, d *clif.InstData, op backend.Op) {
	x, y := d.ArgA(), d.ArgB()
	if l.Joined(i) != nil {
		high, low := l.DefBoth(i)
		l.Emit(backend.Inst{Op: op, Size: 8}, l.Use(x), l.Use(y), low, high)
		return
	}
	if _, ok := l.Iconst(y); ok {
		x, y = y, x
	}
	l.Emit(backend.Inst{Op: op, Size: 8}, l.Use(x), l.Use(y), l.NewVReg(clif.I64), l.Def(d, 0))
}

func lowerUmulhi(l *lower, i clif.Inst, d *clif.InstData) { mulHigh(l, i, d, asm.MulWide) }
func lowerSmulhi(l *lower, i clif.Inst, d *clif.InstData) { mulHigh(l, i, d, asm.ImulWide) }

// lowerImul appends the low half of A * B, and the high one if that is needed too.
func lowerImul(l *lower, i clif.Inst, d *clif.InstData) {
	other := l.Joined(i)
	if other == nil {
		lowerAlu(l, i, d)
		return
	}
	op := asm.MulWide
	if other.Op == clif.OpSmulhi {
		op = asm.ImulWide
	}
	low, high := l.DefBoth(i)
	l.Emit(backend.Inst{Op: op, Size: 8}, l.Use(d.ArgA()), l.Use(d.ArgB()), low, high)
}

// otherHalf returns the instruction in front of i that computes the other half of the same product, if it can give both; else NoInst. With
// constants, low halves have better instructions.
func otherHalf(q *query, m *match) clif.Inst {
	for _, v := range [...]clif.Value{m.X(), m.Y()} {
		if _, ok := q.Iconst(v); ok {
			return clif.NoInst
		}
	}
	x, y := q.Resolve(m.X()), q.Resolve(m.Y())
	return q.InFront(m.Inst, func(d *clif.InstData) bool {
		if d.Type != clif.I64 || d.Op != clif.OpImul && d.Op != clif.OpUmulhi && d.Op != clif.OpSmulhi || (d.Op == clif.OpImul) == (m.D.Op == clif.OpImul) {
			return false
		}
		a, b := q.Resolve(d.ArgA()), q.Resolve(d.ArgB())
		return a == x && b == y || a == y && b == x
	})
}

func lowerMulJoin(l *lower, m *match) { l.Join(otherHalf(&l.Query, m), m.D) }

// division appends udiv or urem; the hardware traps on zero.
func division(l *lower, d *clif.InstData, quot, rem vreg) {
	t, size := d.Type, backend.SizeOf(d.Type)
	zero := l.Temp(0)
	l.Emit(backend.Inst{Op: asm.Div, Size: size, Trap: uint8(abi.TrapIntegerDivideByZero)},
		l.UseAs(t, d.ArgA()), zero, l.UseAs(t, d.ArgB()), quot, rem)
}

func lowerUdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	division(l, d, l.Def(d, 0), l.NewVReg(d.Type))
}

// signedDivision appends idiv with code for its hardware fault.
func signedDivision(l *lower, d *clif.InstData, code abi.TrapCode, quot, rem vreg) {
	t, size := d.Type, backend.SizeOf(d.Type)
	x, y := l.UseAs(t, d.ArgA()), l.UseAs(t, d.ArgB())
	sign := l.NewVReg(t)
	l.Emit(backend.Inst{Op: asm.Cdq, Size: size}, x, sign)
	l.Emit(backend.Inst{Op: asm.Idiv, Size: size, Trap: uint8(code)}, x, sign, y, quot, rem)
}

func lowerSdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	y := l.UseAs(d.Type, d.ArgB())
	l.Emit(backend.Inst{Op: asm.Test, Size: backend.SizeOf(d.Type), Tail: backend.TailTrap, Cond: uint8(asm.E),
		Trap: uint8(abi.TrapIntegerDivideByZero)}, y, y)
	signedDivision(l, d, abi.TrapIntegerOverflow, l.Def(d, 0), l.NewVReg(d.Type))
}

func lowerSdivNonzero(l *lower, m *match) {
	signedDivision(l, m.D, abi.TrapIntegerOverflow, l.Def(m.D, 0), l.NewVReg(m.T))
}

func lowerUrem(l *lower, _ clif.Inst, d *clif.InstData) {
	division(l, d, l.NewVReg(d.Type), l.Def(d, 0))
}

func lowerSrem(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	// y is read after rdx has been written.
	l.Ops = append(l.Ops, regalloc.FixedUse(l.UseAs(t, d.ArgA()), asm.RAX),
		regalloc.Operand{VReg: l.UseAs(t, d.ArgB()), Constraint: regalloc.Reg, Access: regalloc.LateUse},
		regalloc.FixedDef(l.NewVReg(t), asm.RAX), regalloc.FixedDef(l.Def(d, 0), asm.RDX))
	l.Push(backend.Inst{Op: opSrem, Size: backend.SizeOf(t), Trap: uint8(abi.TrapIntegerDivideByZero)}, 0)
}

func lowerSremDivisor(l *lower, m *match) {
	signedDivision(l, m.D, abi.TrapIntegerDivideByZero, l.NewVReg(m.T), l.Def(m.D, 0))
}
