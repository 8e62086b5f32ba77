package a64

import (
	"math"
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// intConds are the conditions after Cmp, by clif.IntCC.
var intConds = [clif.NumIntCCs]asm.Cond{asm.EQ, asm.NE, asm.LT, asm.GE, asm.GT, asm.LE, asm.LO, asm.HS, asm.HI, asm.LS}

// floatConds are the conditions after Fcmp, by clif.FloatCC. All but NE are false for a NaN, and so their inverses true.
var floatConds = [clif.NumFloatCCs]asm.Cond{asm.EQ, asm.NE, asm.MI, asm.GT, asm.LS, asm.GE}

// comparison is an instruction that sets flags, not yet appended: its tail and the tail's registers
// are the consumer's to add.
type comparison struct {
	in   backend.Inst
	cond asm.Cond
	n    int
	regs [5]vreg
}

func (c *comparison) add(regs ...vreg) { c.n += copy(c.regs[c.n:], regs) }

// push appends the comparison with the given tail and the tail's registers.
func (c *comparison) push(l *lower, tail backend.Tail, flags regalloc.InstFlags, regs ...vreg) {
	c.in.Tail, c.in.Cond = tail, uint8(c.cond)
	c.add(regs...)
	l.Ops = asm.Operands(l.Ops, &c.in, c.regs[:c.n]...)
	l.Push(c.in, flags)
}

// branch appends the comparison with TailJump or TailTrap, as a branch that tests a register where there is one.
func (c *comparison) branch(l *lower, tail backend.Tail, flags regalloc.InstFlags) {
	top := int64(c.in.Size)*8 - 1
	equal := c.cond == asm.EQ
	switch {
	case c.in.Op == asm.CmpImm && c.in.Imm == 0 && c.cond <= asm.NE && l.Rule("branch_zero"):
		c.in.Op = asm.Cbnz
		if equal {
			c.in.Op = asm.Cbz
		}
	case tail == backend.TailTrap: // traps are too far away for the others
	case c.in.Op == asm.CmpImm && c.in.Imm == 0 && (c.cond == asm.LT || c.cond == asm.GE) && l.Rule("branch_sign"):
		c.testBit(top, c.cond == asm.GE)
	case c.in.Op == asm.TstImm && c.cond <= asm.NE:
		m := uint64(c.in.Imm)
		if c.in.Size == 4 {
			m = uint64(uint32(m))
		}
		if m&(m-1) == 0 && l.Rule("branch_bit") {
			c.testBit(int64(bits.TrailingZeros64(m)), equal)
		}
	}
	c.push(l, tail, flags)
}

// testBit makes c the test of a bit for 0 or 1.
func (c *comparison) testBit(bit int64, zero bool) {
	c.in.Op, c.in.Imm = asm.Tbnz, bit
	if zero {
		c.in.Op = asm.Tbz
	}
}

// truth is a comparison that holds if the i32 v is not zero. Comparisons that
// define v are folded.
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
	if k, ok := l.Sconst(t, y); ok {
		if c, ok := compareImm(l, t, x, k, cc); ok {
			return c
		}
	}
	c := comparison{in: backend.Inst{Op: asm.Cmp, Size: sizeOf(t)}, cond: intConds[cc]}
	for range 2 {
		if r, imm, ok := extendedReg(l, t, y); ok {
			c.in.Op, c.in.Imm = asm.CmpExt, imm
			c.add(use(l, t, x), r)
			return c
		}
		if r, imm, ok := shiftedReg(l, t, y); ok {
			c.in.Imm = imm
			c.add(use(l, t, x), r)
			return c
		}
		x, y, c.cond = y, x, c.cond.Swap()
	}
	c.add(use(l, t, x), use(l, t, y))
	return c
}

// compareImm compares x with an immediate, if it or its neighbour fits.
func compareImm(l *lower, t clif.Type, x clif.Value, k int64, cc clif.IntCC) (comparison, bool) {
	if k == 0 {
		return compareZero(l, t, x, cc), true
	}
	op, imm, ok := arithImm(k)
	if !ok {
		if k, cc, ok = neighbour(t, k, cc); ok {
			op, imm, ok = arithImm(k)
		}
	}
	if !ok {
		return comparison{}, false
	}
	l.Rule("cmp_imm")
	c := comparison{in: backend.Inst{Op: op, Size: sizeOf(t), Imm: imm}, cond: intConds[cc]}
	c.add(use(l, t, x))
	return c, true
}

// arithImm is how to compare with k, which is not 0: of the difference from k and the sum with -k all flags are the same.
func arithImm(k int64) (op backend.Op, imm int64, ok bool) {
	if asm.FitsArith(k) {
		return asm.CmpImm, k, true
	}
	return asm.CmnImm, -k, k != math.MinInt64 && asm.FitsArith(-k)
}

// neighbour is another comparison with the same outcome as that with k: x < k as x <= k-1, and so on.
func neighbour(t clif.Type, k int64, cc clif.IntCC) (int64, clif.IntCC, bool) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	if t == clif.I32 {
		least, most = math.MinInt32, math.MaxInt32
	}
	switch cc { // -1 is the greatest without sign; 0 was treated before
	case clif.Slt:
		return k - 1, clif.Sle, k != least
	case clif.Sge:
		return k - 1, clif.Sgt, k != least
	case clif.Sle:
		return k + 1, clif.Slt, k != most
	case clif.Sgt:
		return k + 1, clif.Sge, k != most
	case clif.Ult:
		return k - 1, clif.Ule, true
	case clif.Uge:
		return k - 1, clif.Ugt, true
	case clif.Ule:
		return k + 1, clif.Ult, k != -1
	case clif.Ugt:
		return k + 1, clif.Uge, k != -1
	}
	return 0, cc, false
}

// compareZero compares x with zero. The carry after tst is not that of a comparison with zero, so
// that only conditions without it may follow.
func compareZero(l *lower, t clif.Type, x clif.Value, cc clif.IntCC) comparison {
	switch cc {
	case clif.Ugt:
		cc = clif.Ne
	case clif.Ule:
		cc = clif.Eq
	}
	size := sizeOf(t)
	if d := onlyDef(l, x, clif.OpBand, t); d != nil && cc <= clif.Sle {
		a, b := constLast(l, d.ArgA(), d.ArgB())
		if k, ok := l.Sconst(t, b); ok && asm.FitsBits(size, k) {
			l.Rule("test_imm")
			c := comparison{in: backend.Inst{Op: asm.TstImm, Size: size, Imm: k}, cond: intConds[cc]}
			c.add(use(l, t, a))
			return c
		}
		l.Rule("test_band")
		c := comparison{in: backend.Inst{Op: asm.Tst, Size: size}, cond: intConds[cc]}
		c.add(use(l, t, a), use(l, t, b))
		return c
	}
	c := comparison{in: backend.Inst{Op: asm.CmpImm, Size: size}, cond: intConds[cc]}
	c.add(use(l, t, x))
	return c
}

func compareFloat(l *lower, d *clif.InstData) comparison {
	x, y := d.ArgA(), d.ArgB()
	c := comparison{in: backend.Inst{Op: asm.Fcmp, Size: sizeOf(d.Type)}, cond: floatConds[d.FloatCC()]}
	if isFloatZero(l, d.Type, x) {
		x, y, c.cond = y, x, c.cond.SwapFloat()
	}
	c.add(l.Use(x))
	if isFloatZero(l, d.Type, y) && l.Rule("fcmp_zero") {
		c.in.Op = asm.FcmpZero
		return c
	}
	c.add(l.Use(y))
	return c
}

// isFloatZero reports whether v is a constant zero of either sign, which compare alike.
func isFloatZero(l *lower, t clif.Type, v clif.Value) bool {
	d := l.DefOp(v, clif.OpFconst)
	return d != nil && d.Imm<<(64-t.Bits())<<1 == 0
}

// boolean appends dst = d as 0 or 1.
func boolean(l *lower, _ clif.Inst, d *clif.InstData) {
	dst := l.Def(d, 0)
	var c comparison
	if in, ok := negated(l, d); ok { // perhaps of another comparison
		c = truth(l, in)
		if d.IntCC() == clif.Eq {
			c.cond = c.cond.Invert()
		}
	} else {
		c = compare(l, d)
	}
	if c.in.Op == asm.CmpImm && c.in.Imm == 0 && c.cond == asm.LT && l.Rule("icmp_sign") {
		emit(l, backend.Inst{Op: asm.LsrImm, Size: c.in.Size, Imm: int64(c.in.Size)*8 - 1}, c.regs[0], dst)
		return
	}
	c.push(l, backend.TailSet, 0, dst)
}

func lowerSelect(l *lower, _ clif.Inst, d *clif.InstData) {
	c := truth(l, d.ArgA())
	c.push(l, backend.TailSelect, 0, l.Use(d.ArgB()), l.Use(d.ArgC()), l.Def(d, 0))
}

func lowerTrap(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Push(backend.Inst{Op: backend.OpTrap, Trap: d.Cond}, regalloc.IsTerminator)
}

func lowerTrapIf(l *lower, _ clif.Inst, d *clif.InstData) {
	c := truth(l, d.ArgA())
	c.in.Trap = d.Cond
	c.branch(l, backend.TailTrap, 0)
}

func lowerJump(l *lower, _ clif.Inst, _ *clif.InstData) { jump(l) }

func jump(l *lower) { l.Push(backend.Inst{Op: backend.OpJump}, regalloc.IsTerminator) }

func lowerBranch(l *lower, _ clif.Inst, d *clif.InstData) {
	if l.NumSuccs() == 1 && l.Rule("br_same") {
		jump(l)
		return
	}
	c := truth(l, d.ArgA())
	c.branch(l, backend.TailJump, regalloc.IsTerminator)
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
	l.JumpsThrough(in.Ref)
	l.Ops = append(l.Ops, regalloc.UseOf(index, regalloc.Reg),
		regalloc.Operand{VReg: l.NewVReg(clif.I64), Constraint: regalloc.Reg, Access: regalloc.EarlyDef},
		regalloc.DefOf(l.NewVReg(clif.I64), regalloc.Reg))
	l.Push(in, regalloc.IsTerminator)
}
