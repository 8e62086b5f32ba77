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

// compare is the comparison that the icmp, fcmp or ref_is_null d stands for.
func compare(l *lower, d *clif.InstData) comparison {
	switch d.Op {
	case clif.OpFcmp:
		return compareFloat(l, d)
	case clif.OpRefIsNull:
		return compareZero(l, d.Type, d.ArgA(), clif.Eq)
	}
	t, cc := d.Type, d.IntCC()
	x, y := d.ArgA(), d.ArgB()
	if _, ok := l.Iconst(x); ok {
		x, y, cc = y, x, cc.Swap()
	}
	if k, ok := l.Sconst(t, y); ok && fits(k) {
		return compareImm(l, t, x, k, cc)
	}
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: backend.SizeOf(t)}, intConds[cc])
	if a, ok := sinkableFull(l, y, t); ok && l.Rule("cmp_mem") {
		c.Add(l.UseAs(t, x))
		c.Address(a)
		return c
	}
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("cmp_mem_left") {
		c.In.Op = asm.CmpMem
		c.Address(a)
		c.Add(l.UseAs(t, y))
		return c
	}
	c.Add(l.UseAs(t, x), l.UseAs(t, y))
	return c
}

// compareImm compares x with an immediate.
func compareImm(l *lower, t clif.Type, x clif.Value, k int64, cc clif.IntCC) comparison {
	if k == 0 {
		return compareZero(l, t, x, cc)
	}
	if c, ok := compareByte(l, x, k, cc); ok {
		return c
	}
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: backend.SizeOf(t), Imm: k}, intConds[cc])
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("cmp_mem_imm") {
		c.Address(a)
		return c
	}
	c.Add(l.UseAs(t, x))
	return c
}

// unsigned is, by clif.IntCC, the condition that holds of the same numbers without sign.
var unsigned = [clif.NumIntCCs]clif.IntCC{clif.Eq, clif.Ne, clif.Ult, clif.Uge, clif.Ugt, clif.Ule, clif.Ult, clif.Uge, clif.Ugt, clif.Ule}

// compareByte compares a zero-extended narrow load with a number of its range in memory. Neither
// has a sign, so that a signed comparison is as an unsigned one.
func compareByte(l *lower, x clif.Value, k int64, cc clif.IntCC) (comparison, bool) {
	_, d := l.SinkableLoad(x)
	if d == nil || d.Op != clif.OpLoad {
		return comparison{}, false
	}
	bytes := d.Access().Bytes(d.Type)
	if a := d.Access(); a != clif.U8 && a != clif.U16 || k < 0 || k >= 1<<(8*bytes) {
		return comparison{}, false
	}
	a, _ := sinkable(l, x, bytes)
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: uint8(bytes), Imm: k}, intConds[unsigned[cc]])
	c.Address(a)
	return c, l.Rule("cmp_mem_narrow")
}

// compareZero compares x with zero. After test, carry and overflow are clear, as after
// a comparison with 0, so that all conditions hold as they should.
func compareZero(l *lower, t clif.Type, x clif.Value, cc clif.IntCC) comparison {
	c := backend.Comparing(backend.Inst{Op: asm.Test, Size: backend.SizeOf(t)}, intConds[cc])
	if d := l.OnlyDef(x, clif.OpBand, t); d != nil {
		a, b := l.ConstLast(d.ArgA(), d.ArgB())
		if k, ok := l.Sconst(t, b); ok {
			if fits(k) && l.Rule("test_imm") {
				testImm(l, &c, t, a, k, cc)
				return c
			}
		} else if m, ok := sinkableFull(l, a, t); ok && l.Rule("test_mem") {
			c.Address(m)
			c.Add(l.UseAs(t, b))
			return c
		}
		if l.Rule("test_band") {
			c.Add(l.UseAs(t, a), l.UseAs(t, b))
			return c
		}
	}
	if bc, ok := compareByte(l, x, 0, cc); ok {
		return bc
	}
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("cmp_mem_zero") {
		c.In.Op = asm.CmpImm
		c.Address(a)
		return c
	}
	r := l.UseAs(t, x)
	c.Add(r, r)
	return c
}

// testImm is the comparison of a & k with zero, of one byte where only eq and ne count and k
// is in the low seven or eight bits.
func testImm(l *lower, c *comparison, t clif.Type, a clif.Value, k int64, cc clif.IntCC) {
	c.In.Op, c.In.Imm = asm.TestImm, k
	if _, d := l.SinkableLoad(a); d != nil && d.Op == clif.OpLoad && cc <= clif.Ne {
		bytes := d.Access().Bytes(d.Type)
		if ac := d.Access(); (ac == clif.U8 || ac == clif.U16) && k >= 0 && k < 1<<(8*bytes) && l.Rule("test_mem_narrow") {
			m, _ := sinkable(l, a, bytes)
			c.In.Size = uint8(bytes)
			c.Address(m)
			return
		}
	}
	if m, ok := sinkableFull(l, a, t); ok && l.Rule("test_mem_imm") {
		c.Address(m)
		return
	}
	if k >= 0 && k <= 0x7f && cc <= clif.Ne {
		c.In.Size = 1
		if t == clif.I64 {
			c.Add(l.Use(a))
			return
		}
	} else if k >= 0 && t == clif.I64 { // the upper half of the mask is zero, its sign too
		c.In.Size = 4
	}
	c.Add(l.UseAs(t, a))
}

func compareFloat(l *lower, d *clif.InstData) comparison {
	fc := floatConds[d.FloatCC()]
	x, y := d.ArgA(), d.ArgB()
	if fc.swap {
		x, y = y, x
	}
	c := backend.Comparing(backend.Inst{Op: asm.Ucomif, Size: backend.SizeOf(d.Type)}, fc.cond)
	c.Add(l.Use(x))
	if a, ok := floatMem(l, d.Type, y); ok {
		c.Address(a)
		return c
	}
	c.Add(l.Use(y))
	return c
}

// boolean appends dst = d as 0 or 1.
func boolean(l *lower, _ clif.Inst, d *clif.InstData) {
	dst := l.Def(d, 0)
	if d.Op == clif.OpFcmp && d.FloatCC() <= clif.FNe && l.Rule("fcmp_mask") {
		imm := int64(0) // equal
		if d.FloatCC() == clif.FNe {
			imm = 4
		}
		mask, bits := l.NewVReg(d.Type), l.NewVReg(clif.I32)
		l.Emit(backend.Inst{Op: asm.Cmpf, Size: backend.SizeOf(d.Type), Imm: imm}, l.Use(d.ArgA()), l.Use(d.ArgB()), mask)
		l.Emit(backend.Inst{Op: asm.MovdFromF, Size: 4}, mask, bits)
		l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: 1}, bits, dst)
		return
	}
	c := l.Holds(d)
	if !asm.Cond(c.In.Cond).IsHardware() {
		floatBoolean(l, c, dst)
		return
	}
	c.Push(l, backend.TailSet, 0, dst)
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
}

func lowerTrapIf(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Truth(d.ArgA())
	c.In.Trap = d.Cond
	c.Push(l, backend.TailTrap, 0)
}

// lowerBound: the comparison traps and, for misspeculation, makes the result.
func lowerBound(l *lower, _ clif.Inst, d *clif.InstData) {
	x := l.Use(d.ArgA())
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: 8, Trap: d.Cond}, asm.AE)
	c.Add(x)
	if k, ok := l.Sconst(clif.I64, d.ArgB()); ok && fits(k) && l.Rule("bound_imm") {
		c.In.Op, c.In.Imm = asm.CmpImm, k
	} else if a, ok := sinkableFull(l, d.ArgB(), clif.I64); ok && l.Rule("bound_mem") {
		c.Address(a)
	} else {
		c.Add(l.Use(d.ArgB()))
	}
	c.Push(l, backend.TailBound, 0, x, l.Def(d, 0))
}

// branch is backend.Target.Branch.
func branch(l *lower, v clif.Value) {
	if branchAlu(l, v) {
		return
	}
	c := l.Truth(v)
	c.Push(l, backend.TailJump, regalloc.IsTerminator)
}

// branchAlu appends the operation that defines x, as a terminator that branches if v holds, where v is x, or a
// comparison of x with 0: the operation sets the flags that a test of its result would. The result
// is defined by a terminator with two successors, on whose edges there is room for moves.
func branchAlu(l *lower, v clif.Value) bool {
	x, t, cc := v, clif.I32, clif.Ne
	if _, d := l.DefInst(v); d != nil && d.Op == clif.OpIcmp {
		k, ok := l.Iconst(d.ArgB())
		if !ok || k != 0 || !l.SingleUse(v) {
			return false
		}
		x, t, cc = d.ArgA(), d.Type, d.IntCC()
	}
	i, d := l.Delayed(x, v)
	if d == nil || d.Type != t {
		return false
	}
	cond := intConds[cc]
	var op, imm backend.Op
	switch d.Op {
	case clif.OpBand:
		if l.OnlyUse(x) {
			return false // test
		}
		op, imm = asm.And, asm.AndImm
	case clif.OpBor:
		op, imm = asm.Or, asm.OrImm
	case clif.OpBxor:
		op, imm = asm.Xor, asm.XorImm
	case clif.OpIadd, clif.OpIsub:
		op, imm = asm.Add, asm.AddImm
		if d.Op == clif.OpIsub {
			op, imm = asm.Sub, asm.SubImm
		}
		switch cc { // the sum may overflow
		case clif.Eq, clif.Ne:
		case clif.Slt:
			cond = asm.S
		case clif.Sge:
			cond = asm.NS
		default:
			return false
		}
	default:
		return false
	}
	l.Rule("branch_alu")
	l.Sink(i)
	alu(l, d, op, imm)
	l.EndWith(backend.TailJump, uint8(cond))
	return true
}
