package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// intConds are the conditions after Cmp, by clif.IntCC.
var intConds = [clif.NumIntCCs]asm.Cond{asm.E, asm.NE, asm.L, asm.GE, asm.G, asm.LE, asm.B, asm.AE, asm.A, asm.BE}

// floatConds are the conditions after Ucomif, by clif.FloatCC, and whether the operands
// change places: A and AE are false for a NaN.
var floatConds = [clif.NumFloatCCs]struct {
	cond asm.Cond
	swap bool
}{{asm.FEq, false}, {asm.FNe, false}, {asm.A, true}, {asm.A, false}, {asm.AE, true}, {asm.AE, false}}

// compare implements backend.Target.Compare.
func compare(l *lower, d *clif.InstData, v clif.Value) comparison {
	if d == nil {
		return compareZero(l, clif.I32, v, clif.Ne)
	}
	switch d.Op {
	case clif.OpFcmp:
		return compareFloat(l, d)
	case clif.OpRefIsNull:
		return compareZero(l, d.Type, d.ArgA(), clif.Eq)
	case clif.OpRefEq:
		return compareEqual(8, l.Use(d.ArgA()), l.Use(d.ArgB()))
	case clif.OpRefTest:
		return compareRefTest(l, d)
	case clif.OpHeapFull:
		return compareHeapFull(l, d)
	}
	t, cc := d.Type, d.IntCC()
	x, y := d.ArgA(), d.ArgB()
	if _, ok := l.Iconst(x); ok {
		x, y, cc = y, x, cc.Swap()
	}
	if k, ok := l.Sconst(t, y); ok && k == 0 {
		return compareZero(l, t, x, cc)
	}
	if c, ok := l.SelectCompare(termCompare, clif.OpIcmp, t, uint8(cc), x, y); ok {
		return c
	}
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: backend.SizeOf(t)}, intConds[cc])
	c.Add(l.UseAs(t, x), l.UseAs(t, y))
	return c
}

func compareImm(l *lower, m *match) {
	c := begin(m, asm.CmpImm, backend.SizeOf(m.T))
	c.In.Imm = m.K
	c.Add(l.UseAs(m.T, m.X()))
}

// compareZero compares x with zero. After test, carry and overflow are clear, as after
// a comparison with 0, so that all conditions hold as they should.
func compareZero(l *lower, t clif.Type, x clif.Value, cc clif.IntCC) comparison {
	if c, ok := l.SelectCompare(termCompare, clif.OpIcmp, t, uint8(cc), x, clif.NoValue); ok {
		return c
	}
	c := backend.Comparing(backend.Inst{Op: asm.Test, Size: backend.SizeOf(t)}, intConds[cc])
	r := l.UseAs(t, x)
	c.Add(r, r)
	return c
}

// begin makes Match.Cmp the comparison op of the given size, without operands yet.
func begin(m *match, op backend.Op, size uint8) *comparison {
	m.Cmp = backend.Comparing(backend.Inst{Op: op, Size: size}, intConds[m.CC])
	return &m.Cmp
}

func compareMem(l *lower, m *match) {
	c, a := begin(m, asm.Cmp, backend.SizeOf(m.T)), loaded(l, m)
	c.Add(l.UseAs(m.T, m.X()))
	c.Address(a)
}

func compareMemLeft(l *lower, m *match) {
	c := begin(m, asm.CmpMem, backend.SizeOf(m.T))
	c.Address(loaded(l, m))
	c.Add(l.UseAs(m.T, m.Y()))
}

func compareMemImm(l *lower, m *match) {
	c := begin(m, asm.CmpImm, backend.SizeOf(m.T))
	c.In.Imm = m.K
	c.Address(loaded(l, m))
}

// unsigned is, by clif.IntCC, the unsigned form of the condition.
var unsigned = [clif.NumIntCCs]clif.IntCC{clif.Eq, clif.Ne, clif.Ult, clif.Uge, clif.Ugt, clif.Ule, clif.Ult, clif.Uge, clif.Ugt, clif.Ule}

// compareMemNarrow compares bytes in memory with a constant. Neither is negative, so a signed comparison is the same as an
// unsigned one.
func compareMemNarrow(l *lower, m *match) {
	c := begin(m, asm.CmpImm, uint8(access(&l.F.Insts[m.Load])))
	c.In.Imm, c.In.Cond = m.K, uint8(intConds[unsigned[m.CC]])
	c.Address(loaded(l, m))
}

func compareTestMemNarrow(l *lower, m *match) {
	c := begin(m, asm.TestImm, uint8(access(&l.F.Insts[m.Load])))
	c.In.Imm = m.K
	c.Address(loaded(l, m))
}

func compareTestMemImm(l *lower, m *match) {
	c := begin(m, asm.TestImm, backend.SizeOf(m.T))
	c.In.Imm = m.K
	c.Address(loaded(l, m))
}

// compareTestImm tests only one byte if the condition is eq or ne and k fits in seven bits. It tests 32 bits if the upper
// half of the mask and its sign bit are zero.
func compareTestImm(l *lower, m *match) {
	c := begin(m, asm.TestImm, backend.SizeOf(m.T))
	c.In.Imm = m.K
	switch {
	case m.K >= 0 && m.K <= 0x7f && clif.IntCC(m.CC) <= clif.Ne:
		c.In.Size = 1
		if m.T == clif.I64 {
			c.Add(l.Use(m.X()))
			return
		}
	case m.K >= 0 && m.T == clif.I64:
		c.In.Size = 4
	}
	c.Add(l.UseAs(m.T, m.X()))
}

func compareTestMem(l *lower, m *match) {
	c := begin(m, asm.Test, backend.SizeOf(m.T))
	c.Address(loaded(l, m))
	c.Add(l.UseAs(m.T, m.Y()))
}

func compareTest(l *lower, m *match) {
	begin(m, asm.Test, backend.SizeOf(m.T)).Add(l.UseAs(m.T, m.X()), l.UseAs(m.T, m.Y()))
}

func compareFloat(l *lower, d *clif.InstData) comparison {
	fc := floatConds[d.FloatCC()]
	x, y := d.ArgA(), d.ArgB()
	if fc.swap {
		x, y = y, x
	}
	c, ok := l.SelectCompare(termCompare, clif.OpFcmp, d.Type, d.Cond, x, y)
	if !ok {
		c.In = backend.Inst{Op: asm.Ucomif, Size: backend.SizeOf(d.Type)}
		c.Add(l.Use(x), l.Use(y))
	}
	c.In.Cond = uint8(fc.cond)
	return c
}

func compareFloatMem(l *lower, m *match) { compareFloatAt(l, m, loaded) }

func compareFloatConst(l *lower, m *match) {
	compareFloatAt(l, m, func(l *lower, m *match) amode { return pooled(l, m.T, m.Y()) })
}

// compareFloatAt compares x with the float at an address.
func compareFloatAt(l *lower, m *match, at func(l *lower, m *match) amode) {
	c := begin(m, asm.Ucomif, backend.SizeOf(m.T))
	c.Add(l.Use(m.X()))
	c.Address(at(l, m))
}

// lowerCompare appends dst = d as 0 or 1.
func lowerCompare(l *lower, _ clif.Inst, d *clif.InstData) {
	dst := l.Def(d, 0)
	c := l.Holds(d)
	if !asm.Cond(c.In.Cond).IsHardware() {
		floatBoolean(l, c, dst)
		return
	}
	c.Push(l, backend.TailSet, 0, dst)
}

// carryOf returns the comparison that defines operand n, with its operands in the order in which its result is a carry, or the absence of one.
func carryOf(q *query, m *match, n int) clif.InstData {
	_, def := q.DefInst(m.Arg(n))
	d := *def
	if cc := d.IntCC(); cc == clif.Ugt || cc == clif.Ule {
		d.Args[0], d.Args[1], d.Cond = d.Args[1], d.Args[0], uint8(cc.Swap())
	}
	return d
}

// isCarry reports whether compare leaves the operands of that comparison in this order: it puts a constant last.
func isCarry(q *query, m *match, n int) bool {
	d := carryOf(q, m, n)
	_, first := q.Iconst(d.ArgA())
	return !first
}

// lowerCarry appends x with the carry that is operand n added or subtracted.
func lowerCarry(tail backend.Tail, n int) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		d := carryOf(&l.Query, m, n)
		c := compare(l, &d, d.Result)
		c.Push(l, tail, 0, l.Use(m.X()), l.Def(m.D, 0))
	}
}

func lowerFcmpMask(l *lower, m *match) {
	imm := int64(0) // equal
	if m.D.FloatCC() == clif.FNe {
		imm = 4
	}
	mask, bits := l.NewVReg(m.T), l.NewVReg(clif.I32)
	l.Emit(backend.Inst{Op: asm.Cmpf, Size: backend.SizeOf(m.T), Imm: imm}, l.Use(m.X()), l.Use(m.Y()), mask)
	l.Emit(backend.Inst{Op: asm.MovdFromF, Size: 4}, mask, bits)
	l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: 1}, bits, l.Def(m.D, 0))
}

// floatBoolean appends dst = 1 if c holds, which takes two conditions.
func floatBoolean(l *lower, c comparison, dst vreg) {
	one, zero := l.Temp(1), l.Temp(0)
	selectInto(l, c, one, zero, dst)
}

// selectInto appends dst = c ? a : b.
func selectInto(l *lower, c comparison, a, b, dst vreg) {
	if c.In.Cond == uint8(asm.FEq) { // two conditions for the first operand cannot be tested one after the other
		c.In.Cond, a, b = uint8(asm.FNe), b, a
	}
	c.Push(l, backend.TailSelect, 0, a, b, dst)
}

func lowerSelect(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Truth(d.ArgA())
	selectInto(l, c, l.Use(d.ArgB()), l.Use(d.ArgC()), l.Def(d, 0))
	if d.Type == clif.V128 { // the emitted move does not know the width of a slot
		l.Ops[len(l.Ops)-3].Constraint = regalloc.Reg
	}
}

func lowerTrapIf(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Truth(d.ArgA())
	c.In.Trap = d.Cond
	c.Push(l, backend.TailTrap, 0)
}

// lowerBound appends a comparison that traps, and that makes the result for the case of misspeculation.
func lowerBound(l *lower, _ clif.Inst, d *clif.InstData) {
	x, c := beginBound(l, d)
	c.Add(l.Use(d.ArgB()))
	c.Push(l, backend.TailBound, 0, x, l.Def(d, 0))
}

// beginBound returns the comparison of a bound with its first operand, which is x.
func beginBound(l *lower, d *clif.InstData) (x vreg, c comparison) {
	x, c = l.Use(d.ArgA()), backend.Comparing(backend.Inst{Op: asm.Cmp, Size: 8, Trap: d.Cond}, asm.AE)
	c.Add(x)
	return x, c
}

func lowerBoundImm(l *lower, m *match) {
	x, c := beginBound(l, m.D)
	c.In.Op, c.In.Imm = asm.CmpImm, m.K
	if m.K >= 0 && l.BytesOfVReg(x) == 4 {
		c.In.Size = 4
	}
	c.Push(l, backend.TailBound, 0, x, l.Def(m.D, 0))
}

func lowerBoundMem(l *lower, m *match) {
	x, c := beginBound(l, m.D)
	c.Address(loaded(l, m))
	c.Push(l, backend.TailBound, 0, x, l.Def(m.D, 0))
}

func lowerBranch(l *lower, _ clif.Inst, d *clif.InstData) {
	if !l.JumpIfOne() {
		c := l.Truth(d.ArgA())
		c.Push(l, backend.TailJump, regalloc.IsTerminator)
	}
}

// branchAlu returns the operation that defines x, where v is x, or a comparison of x with 0, and the condition after
// the operation under which v is not 0; NoInst where the operation does not set the flags that a test of its
// result would.
func branchAlu(q *query, v clif.Value) (clif.Inst, asm.Cond) {
	x, t, cc := v, clif.I32, clif.Ne
	if _, d := q.DefInst(v); d != nil && d.Op == clif.OpIcmp {
		k, ok := q.Iconst(d.ArgB())
		if !ok || k != 0 || !q.SingleUse(v) {
			return clif.NoInst, 0
		}
		x, t, cc = d.ArgA(), d.Type, d.IntCC()
	}
	i, d := q.Delayed(x, v)
	if d == nil || d.Type != t {
		return clif.NoInst, 0
	}
	switch d.Op {
	case clif.OpBand:
		if !q.OnlyUse(x) { // else test
			return i, intConds[cc]
		}
	case clif.OpBor, clif.OpBxor:
		return i, intConds[cc]
	case clif.OpIadd, clif.OpIsub:
		switch cc { // the sum may overflow
		case clif.Eq, clif.Ne:
			return i, intConds[cc]
		case clif.Slt:
			return i, asm.S
		case clif.Sge:
			return i, asm.NS
		}
	}
	return clif.NoInst, 0
}

// matchBranchAlu is the guard alu-decides.
func matchBranchAlu(q *query, m *match) bool {
	if q.NumSuccs() == 1 {
		return false
	}
	i, cond := branchAlu(q, m.X())
	m.Load, m.J = i, int64(cond)
	return m.Load != clif.NoInst
}

// lowerBranchAlu makes the operation the terminator. Its result is defined by a terminator with two successors, on whose
// edges there is room for moves.
func lowerBranchAlu(l *lower, m *match) {
	lowerAlu(l, m.Load, &l.F.Insts[m.Load])
	l.EndWith(backend.TailJump, uint8(m.J))
}
