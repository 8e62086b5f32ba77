package x64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// unsignedQuotient appends q = A / c, c not 0 nor a power of two.
//
// 32 bits: with m = floor(2^64/c) + 1 = (2^64 + e)/c, 0 < e <= c, the high half of x*m is
// floor(x/c + x*e/(c*2^64)), which is floor(x/c) as x*e < 2^64.
//
// 64 bits: m is 2^64 + k with k = floor(2^64*(2^s - c)/c) + 1 for 2^(s-1) < c < 2^s (Granlund and
// Montgomery 1994): q = (t + (x-t)/2) / 2^(s-1), where t is the high half of x*k.
func unsignedQuotient(l *lower, d *clif.InstData, c uint64, q vreg) {
	if d.Type == clif.I32 {
		x := l.Use(d.ArgA())
		m, _ := bits.Div64(1, 0, c)
		if c == 1 {
			emit(l, backend.Inst{Op: asm.Mov, Size: 4}, x, q)
			return
		}
		mulHigh(l, asm.MulWide, x, int64(m+1), q)
		return
	}
	x := l.Use(d.ArgA())
	s := bits.Len64(c - 1)
	two := uint64(0) // 2^s modulo 2^64
	if s < 64 {
		two = 1 << s
	}
	k, _ := bits.Div64(two-c, 0, c)
	t, diff, half, sum := l.NewVReg(clif.I64), l.NewVReg(clif.I64), l.NewVReg(clif.I64), l.NewVReg(clif.I64)
	mulHigh(l, asm.MulWide, x, int64(k+1), t)
	emit(l, backend.Inst{Op: asm.Sub, Size: 8}, x, t, diff)
	emit(l, backend.Inst{Op: asm.ShrImm, Size: 8, Imm: 1}, diff, half)
	emit(l, backend.Inst{Op: asm.Add, Size: 8}, half, t, sum)
	emit(l, backend.Inst{Op: asm.ShrImm, Size: 8, Imm: int64(s - 1)}, sum, q)
}

// mulHigh appends high = the high half of x * m.
func mulHigh(l *lower, op backend.Op, x vreg, m int64, high vreg) {
	emit(l, backend.Inst{Op: op, Size: 8}, x, temp(l, m), l.NewVReg(clif.I64), high)
}

// divisible reports whether signedQuotient can divide by c: not by 0, 1, -1 and the
// smallest integers, whose absolute values are special.
func divisible(c int64) bool { return c > 1 && c < 1<<62 || c < -1 && c > -1<<31 }

// signedQuotient appends q = A / c, rounded towards zero, for a divisible c.
//
// Let a be |c|, 2^s < a <= 2^(s+1) and m = floor(2^(w+s)/a) + 1 for width w. Then for 0 <= x < 2^(w-1)
// floor(x*m / 2^(w+s)) is floor(x/a), as m*a = 2^(w+s) + e with 0 < e <= a <= 2^(s+1); and for x < 0 it
// is one less than x/a rounded towards zero.
func signedQuotient(l *lower, d *clif.InstData, c int64, q vreg) {
	t, size, w := d.Type, sizeOf(d.Type), d.Type.Bits()
	a := uint64(max(c, -c))
	x := use(l, t, d.ArgA())
	s := bits.Len64(a-1) - 1
	floor := l.NewVReg(clif.I64)
	switch {
	case t == clif.I32: // m < 2^32 and the product is below 2^63
		m := uint64(1)<<(32+s)/a + 1
		wide, prod := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
		emit(l, backend.Inst{Op: asm.Movsx32, Size: 8}, x, wide)
		emit(l, backend.Inst{Op: asm.Imul, Size: 8}, wide, temp(l, int64(m)), prod)
		emit(l, backend.Inst{Op: asm.SarImm, Size: 8, Imm: int64(32 + s)}, prod, floor)
	default: // m is from 2^63 on, and so m-2^64 as a signed number: x is added to the high half
		m, _ := bits.Div64(1<<s, 0, a)
		high, sum := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
		mulHigh(l, asm.ImulWide, x, int64(m+1), high)
		emit(l, backend.Inst{Op: asm.Add, Size: 8}, high, x, sum)
		shiftInto(l, asm.SarImm, 8, sum, s, floor)
	}
	sign := l.NewVReg(t)
	emit(l, backend.Inst{Op: asm.ShrImm, Size: size, Imm: int64(w - 1)}, x, sign)
	if c > 0 {
		emit(l, backend.Inst{Op: asm.Add, Size: size}, floor, sign, q)
		return
	}
	pos := l.NewVReg(t)
	emit(l, backend.Inst{Op: asm.Add, Size: size}, floor, sign, pos)
	emit(l, backend.Inst{Op: asm.Neg, Size: size}, pos, q)
}

// shiftInto appends dst = x shifted by k, which may be 0.
func shiftInto(l *lower, op backend.Op, size uint8, x vreg, k int, dst vreg) {
	if k == 0 {
		emit(l, backend.Inst{Op: asm.Mov, Size: size}, x, dst)
		return
	}
	emit(l, backend.Inst{Op: op, Size: size, Imm: int64(k)}, x, dst)
}

// remainder appends d's result, A - q*c.
func remainder(l *lower, d *clif.InstData, q vreg, c int64) {
	size := sizeOf(d.Type)
	prod := l.NewVReg(d.Type)
	if d.Type == clif.I32 {
		c = int64(int32(c))
	}
	if fits(c) {
		emit(l, backend.Inst{Op: asm.ImulImm, Size: size, Imm: c}, q, prod)
	} else {
		emit(l, backend.Inst{Op: asm.Imul, Size: size}, q, temp(l, c), prod)
	}
	emit(l, backend.Inst{Op: asm.Sub, Size: size}, use(l, d.Type, d.ArgA()), prod, l.Def(d, 0))
}

// division appends udiv or urem; the hardware traps on zero.
func division(l *lower, d *clif.InstData, quot, rem vreg) {
	t, size := d.Type, sizeOf(d.Type)
	zero := temp(l, 0)
	emit(l, backend.Inst{Op: asm.Div, Size: size, Trap: uint8(abi.TrapIntegerDivideByZero)},
		use(l, t, d.ArgA()), zero, use(l, t, d.ArgB()), quot, rem)
}

func lowerUdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	if c, ok := l.Iconst(d.ArgB()); ok && c != 0 && c&(c-1) == 0 && l.Rule("udiv_shift") {
		shiftBy(l, d, asm.ShrImm, bits.TrailingZeros64(c))
		return
	}
	if c, ok := l.Iconst(d.ArgB()); ok && c != 0 && l.Rule("udiv_const") {
		unsignedQuotient(l, d, c, l.Def(d, 0))
		return
	}
	division(l, d, l.Def(d, 0), l.NewVReg(d.Type))
}

// shiftBy appends the shift of operand A by k.
func shiftBy(l *lower, d *clif.InstData, op backend.Op, k int) {
	in := backend.Inst{Op: op, Size: sizeOf(d.Type), Imm: int64(k)}
	if k == 0 {
		in = backend.Inst{Op: asm.Mov, Size: in.Size}
	}
	emit(l, in, use(l, d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerUrem(l *lower, _ clif.Inst, d *clif.InstData) {
	if c, ok := l.Iconst(d.ArgB()); ok && c != 0 && c&(c-1) == 0 && fits(int64(c-1)) && l.Rule("urem_mask") {
		emit(l, backend.Inst{Op: asm.AndImm, Size: sizeOf(d.Type), Imm: int64(c - 1)}, use(l, d.Type, d.ArgA()), l.Def(d, 0))
		return
	}
	if c, ok := l.Iconst(d.ArgB()); ok && c != 0 && c&(c-1) != 0 && l.Rule("urem_const") {
		q := l.NewVReg(d.Type)
		unsignedQuotient(l, d, c, q)
		remainder(l, d, q, int64(c))
		return
	}
	division(l, d, l.NewVReg(d.Type), l.Def(d, 0))
}

// signedDivision appends idiv with code for its hardware fault.
func signedDivision(l *lower, d *clif.InstData, code abi.TrapCode, quot, rem vreg) {
	t, size := d.Type, sizeOf(d.Type)
	x, y := use(l, t, d.ArgA()), use(l, t, d.ArgB())
	sign := l.NewVReg(t)
	emit(l, backend.Inst{Op: asm.Cdq, Size: size}, x, sign)
	emit(l, backend.Inst{Op: asm.Idiv, Size: size, Trap: uint8(code)}, x, sign, y, quot, rem)
}

func lowerSdiv(l *lower, _ clif.Inst, d *clif.InstData) {
	if c, ok := l.Sconst(d.Type, d.ArgB()); ok && divisible(c) && l.Rule("sdiv_const") {
		signedQuotient(l, d, c, l.Def(d, 0))
		return
	}
	if c, ok := l.Iconst(d.ArgB()); !ok || c == 0 {
		y := use(l, d.Type, d.ArgB())
		emit(l, backend.Inst{Op: asm.Test, Size: sizeOf(d.Type), Tail: backend.TailTrap, Cond: uint8(asm.E),
			Trap: uint8(abi.TrapIntegerDivideByZero)}, y, y)
	}
	signedDivision(l, d, abi.TrapIntegerOverflow, l.Def(d, 0), l.NewVReg(d.Type))
}

func lowerSrem(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	if c, ok := l.Sconst(t, d.ArgB()); ok && divisible(c) && l.Rule("srem_const") {
		q := l.NewVReg(t)
		signedQuotient(l, d, c, q)
		remainder(l, d, q, c)
		return
	}
	if c, ok := l.Sconst(t, d.ArgB()); ok && c != 0 && c != -1 && l.Rule("srem_idiv") {
		signedDivision(l, d, abi.TrapIntegerDivideByZero, l.NewVReg(t), l.Def(d, 0))
		return
	}
	// y is read after rdx has been written.
	l.Ops = append(l.Ops, regalloc.FixedUse(use(l, t, d.ArgA()), asm.RAX),
		regalloc.Operand{VReg: use(l, t, d.ArgB()), Constraint: regalloc.Reg, Access: regalloc.LateUse},
		regalloc.FixedDef(l.NewVReg(t), asm.RAX), regalloc.FixedDef(l.Def(d, 0), asm.RDX))
	l.Push(backend.Inst{Op: opSrem, Size: sizeOf(t), Trap: uint8(abi.TrapIntegerDivideByZero)}, 0)
}
