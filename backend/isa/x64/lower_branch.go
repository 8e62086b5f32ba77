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

// comparison is an instruction that sets flags, not yet appended: its tail and the tail's registers
// are the consumer's to add.
type comparison struct {
	in   backend.Inst
	cond asm.Cond
	n    int
	regs [6]vreg
}

func (c *comparison) add(regs ...vreg) { c.n += copy(c.regs[c.n:], regs) }

// address adds a memory operand.
func (c *comparison) address(a amode) {
	a.set(&c.in)
	c.add(a.regs[:a.n]...)
}

// push appends the comparison with the given tail and the tail's registers.
func (c *comparison) push(l *lower, tail backend.Tail, flags regalloc.InstFlags, regs ...vreg) {
	c.in.Tail, c.in.Cond = tail, uint8(c.cond)
	c.add(regs...)
	l.Ops = asm.Operands(l.Ops, &c.in, c.regs[:c.n]...)
	l.Push(c.in, flags)
}

// truth is a comparison that holds if the i32 v is not zero. Comparisons that
// define v are folded; if they have other users too, loads are not folded into them.
func truth(l *lower, v clif.Value) (c comparison) {
	invert, held := false, 0
	for {
		_, d := l.DefInst(v)
		if d == nil {
			break
		}
		isCmp := d.Op == clif.OpIcmp || d.Op == clif.OpFcmp || d.Op == clif.OpRefIsNull
		if !isCmp {
			break
		}
		if !l.SingleUse(v) {
			held++
			l.HoldLoads(1)
		}
		if in, ok := negated(l, d); ok && l.Rule("cond_eqz") {
			if d.IntCC() == clif.Eq {
				invert = !invert
			}
			v = in
			continue
		}
		c = compare(l, d)
		l.HoldLoads(-held)
		if invert {
			c.cond = c.cond.Invert()
		}
		l.Rule("cond_cmp")
		return c
	}
	c = compareZero(l, clif.I32, v, clif.Ne)
	l.HoldLoads(-held)
	if invert {
		c.cond = c.cond.Invert()
	}
	return c
}

// negated is x where d is x == 0 or x != 0 of type i32.
func negated(l *lower, d *clif.InstData) (clif.Value, bool) {
	if d.Op != clif.OpIcmp || d.Type != clif.I32 || d.IntCC() > clif.Ne {
		return 0, false
	}
	k, ok := l.Iconst(d.ArgB())
	return d.ArgA(), ok && k == 0
}

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
	c := comparison{cond: intConds[cc]}
	if k, ok := l.Sconst(t, y); ok && fits(k) {
		return compareImm(l, t, x, k, cc)
	}
	c.in = backend.Inst{Op: asm.Cmp, Size: sizeOf(t)}
	if a, ok := sinkableFull(l, y, t); ok && l.Rule("cmp_mem") {
		c.add(use(l, t, x))
		c.address(a)
		return c
	}
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("cmp_mem_left") {
		c.in.Op = asm.CmpMem
		c.address(a)
		c.add(use(l, t, y))
		return c
	}
	c.add(use(l, t, x), use(l, t, y))
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
	c := comparison{in: backend.Inst{Op: asm.CmpImm, Size: sizeOf(t), Imm: k}, cond: intConds[cc]}
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("cmp_mem_imm") {
		c.address(a)
		return c
	}
	c.add(use(l, t, x))
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
	c := comparison{in: backend.Inst{Op: asm.CmpImm, Size: uint8(bytes), Imm: k}, cond: intConds[unsigned[cc]]}
	c.address(a)
	return c, l.Rule("cmp_mem_narrow")
}

// compareZero compares x with zero. After test, carry and overflow are clear, as after
// a comparison with 0, so that all conditions hold as they should.
func compareZero(l *lower, t clif.Type, x clif.Value, cc clif.IntCC) comparison {
	c := comparison{in: backend.Inst{Op: asm.Test, Size: sizeOf(t)}, cond: intConds[cc]}
	if d := defOf(l, x, clif.OpBand, t); d != nil && l.OnlyUse(x) {
		a, b := d.ArgA(), d.ArgB()
		if _, ok := l.Iconst(a); ok {
			a, b = b, a
		}
		if k, ok := l.Sconst(t, b); ok {
			if fits(k) && l.Rule("test_imm") {
				testImm(l, &c, t, a, k, cc)
				return c
			}
		} else if m, ok := sinkableFull(l, a, t); ok && l.Rule("test_mem") {
			c.address(m)
			c.add(use(l, t, b))
			return c
		}
		if l.Rule("test_band") {
			c.add(use(l, t, a), use(l, t, b))
			return c
		}
	}
	if bc, ok := compareByte(l, x, 0, cc); ok {
		return bc
	}
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("cmp_mem_zero") {
		c.in.Op = asm.CmpImm
		c.address(a)
		return c
	}
	r := use(l, t, x)
	c.add(r, r)
	return c
}

// testImm is the comparison of a & k with zero, of one byte where only eq and ne count and k
// is in the low seven or eight bits.
func testImm(l *lower, c *comparison, t clif.Type, a clif.Value, k int64, cc clif.IntCC) {
	c.in.Op, c.in.Imm = asm.TestImm, k
	if _, d := l.SinkableLoad(a); d != nil && d.Op == clif.OpLoad && cc <= clif.Ne {
		bytes := d.Access().Bytes(d.Type)
		if ac := d.Access(); (ac == clif.U8 || ac == clif.U16) && k >= 0 && k < 1<<(8*bytes) && l.Rule("test_mem_narrow") {
			m, _ := sinkable(l, a, bytes)
			c.in.Size = uint8(bytes)
			c.address(m)
			return
		}
	}
	if m, ok := sinkableFull(l, a, t); ok && l.Rule("test_mem_imm") {
		c.address(m)
		return
	}
	if k >= 0 && k <= 0x7f && cc <= clif.Ne {
		c.in.Size = 1
		if t == clif.I64 {
			c.add(l.Use(a))
			return
		}
	} else if k >= 0 && t == clif.I64 { // the upper half of the mask is zero, its sign too
		c.in.Size = 4
	}
	c.add(use(l, t, a))
}

func compareFloat(l *lower, d *clif.InstData) comparison {
	fc := floatConds[d.FloatCC()]
	x, y := d.ArgA(), d.ArgB()
	if fc.swap {
		x, y = y, x
	}
	c := comparison{in: backend.Inst{Op: asm.Ucomif, Size: sizeOf(d.Type)}, cond: fc.cond}
	c.add(l.Use(x))
	if a, ok := floatMem(l, d.Type, y); ok {
		c.address(a)
		return c
	}
	c.add(l.Use(y))
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
		emit(l, backend.Inst{Op: asm.Cmpf, Size: sizeOf(d.Type), Imm: imm}, l.Use(d.ArgA()), l.Use(d.ArgB()), mask)
		emit(l, backend.Inst{Op: asm.MovdFromF, Size: 4}, mask, bits)
		emit(l, backend.Inst{Op: asm.AndImm, Size: 4, Imm: 1}, bits, dst)
		return
	}
	var c comparison
	if in, ok := negated(l, d); ok { // perhaps of another comparison
		c = truth(l, in)
		if d.IntCC() == clif.Eq {
			c.cond = c.cond.Invert()
		}
		if !c.cond.IsHardware() {
			floatBoolean(l, c, dst)
			return
		}
	} else {
		c = compare(l, d)
	}
	c.push(l, backend.TailSet, 0, dst)
}

// floatBoolean appends dst = 1 if c holds, which takes two conditions.
func floatBoolean(l *lower, c comparison, dst vreg) {
	one, zero := temp(l, 1), temp(l, 0)
	selectInto(l, c, one, zero, dst)
}

// selectInto appends dst = c ? a : b.
func selectInto(l *lower, c comparison, a, b, dst vreg) {
	if c.cond == asm.FEq { // two conditions for the first operand cannot be tested one after the other
		c.cond, a, b = asm.FNe, b, a
	}
	c.push(l, backend.TailSelect, 0, a, b, dst)
}

func lowerSelect(l *lower, _ clif.Inst, d *clif.InstData) {
	c := truth(l, d.ArgA())
	selectInto(l, c, l.Use(d.ArgB()), l.Use(d.ArgC()), l.Def(d, 0))
}

func lowerTrap(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Push(backend.Inst{Op: backend.OpTrap, Trap: d.Cond}, regalloc.IsTerminator)
}

func lowerTrapIf(l *lower, _ clif.Inst, d *clif.InstData) {
	c := truth(l, d.ArgA())
	c.in.Trap = d.Cond
	c.push(l, backend.TailTrap, 0)
}

func lowerJump(l *lower, _ clif.Inst, _ *clif.InstData) { jump(l) }

func jump(l *lower) { l.Push(backend.Inst{Op: backend.OpJump}, regalloc.IsTerminator) }

func lowerBranch(l *lower, _ clif.Inst, d *clif.InstData) {
	if l.NumSuccs() == 1 && l.Rule("br_same") {
		jump(l)
		return
	}
	if branchAlu(l, d.ArgA()) {
		return
	}
	c := truth(l, d.ArgA())
	c.push(l, backend.TailJump, regalloc.IsTerminator)
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

// maxChain is the most entries that a br_table has as a chain of comparisons.
const maxChain = 4

func lowerBrTable(l *lower, _ clif.Inst, d *clif.InstData) {
	if l.NumSuccs() == 1 && l.Rule("br_table_same") {
		jump(l)
		return
	}
	entries := l.TableEdges(int(d.C))
	n := len(entries) - 1 // without the default
	in := backend.Inst{Op: opJumpTable, Size: 4, Ref: l.JumpTable(entries), Imm: int64(n)}
	index := l.Use(d.ArgA())
	if n <= maxChain && l.Rule("br_table_chain") {
		in.Op = opJumpChain
		l.Ops = append(l.Ops, regalloc.UseOf(index, regalloc.Reg))
		l.Push(in, regalloc.IsTerminator)
		return
	}
	l.Rule("br_table")
	l.Ops = append(l.Ops, regalloc.UseOf(index, regalloc.Reg),
		regalloc.Operand{VReg: l.NewVReg(clif.I64), Constraint: regalloc.Reg, Access: regalloc.EarlyDef},
		regalloc.DefOf(l.NewVReg(clif.I64), regalloc.Reg))
	l.Push(in, regalloc.IsTerminator)
}
