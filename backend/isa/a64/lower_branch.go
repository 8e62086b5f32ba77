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

// comparesZero reports whether the comparison compares a register with zero.
func comparesZero(m *match) bool { return m.Cmp.In.Op == asm.CmpImm && m.Cmp.In.Imm == 0 }

// testedBits returns the mask of a tst.
func testedBits(in *backend.Inst) uint64 {
	if in.Size == 4 {
		return uint64(uint32(in.Imm))
	}
	return uint64(in.Imm)
}

// branchOn appends c with TailJump or TailTrap, as a branch that tests a register where there is one.
func branchOn(l *lower, c *comparison, tail backend.Tail, flags regalloc.InstFlags) {
	in, cond := &c.In, asm.Cond(c.In.Cond)
	switch {
	case l.FoldComparison(RuleBranchZero, c):
		in.Op = asm.Cbnz
		if cond == asm.EQ {
			in.Op = asm.Cbz
		}
	case tail == backend.TailTrap: // traps are too far away for the others
	case l.FoldComparison(RuleBranchSign, c):
		testBit(in, int64(in.Size)*8-1, cond == asm.GE)
	case l.FoldComparison(RuleBranchBit, c):
		testBit(in, int64(bits.TrailingZeros64(testedBits(in))), cond == asm.EQ)
	}
	c.Push(l, tail, flags)
}

// testBit makes in an instruction that tests whether a bit is 0 or 1.
func testBit(in *backend.Inst, bit int64, zero bool) {
	in.Op, in.Imm = asm.Tbnz, bit
	if zero {
		in.Op = asm.Tbz
	}
}

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
	for k, o := range bothOrders(x, y) {
		x, y := o[0], o[1]
		if k > 0 {
			c.In.Cond = uint8(intConds[cc].Swap())
		}
		if r, imm, ok := foldExtension(l, t, y); ok {
			c.In.Op, c.In.Imm = asm.CmpExt, imm
			c.Add(l.UseAs(t, x), r)
			return c
		}
		if r, imm, ok := foldShift(l, t, y); ok {
			c.In.Imm = imm
			c.Add(l.UseAs(t, x), r)
			return c
		}
	}
	c.In.Cond = uint8(intConds[cc])
	c.Add(l.UseAs(t, x), l.UseAs(t, y))
	return c
}

// immediateCompare returns the comparison with the constant k, not 0, or with its neighbour, if one has an immediate.
func immediateCompare(m *match) (c comparison, ok bool) {
	k, cc := m.K, clif.IntCC(m.CC)
	op, imm, ok := arithImm(k)
	if !ok {
		if k, cc, ok = neighbour(m.T, k, cc); ok {
			op, imm, ok = arithImm(k)
		}
	}
	return backend.Comparing(backend.Inst{Op: op, Size: backend.SizeOf(m.T), Imm: imm}, intConds[cc]), ok
}

func compareImm(l *lower, m *match) {
	m.Cmp, _ = immediateCompare(m)
	m.Cmp.Add(l.UseAs(m.T, m.X()))
}

// arithImm returns how to compare with k, which is not 0. Subtracting k and adding -k set all flags alike.
func arithImm(k int64) (op backend.Op, imm int64, ok bool) {
	if asm.FitsArith(k) {
		return asm.CmpImm, k, true
	}
	return asm.CmnImm, -k, k != math.MinInt64 && asm.FitsArith(-k)
}

// neighbour returns an equivalent comparison with a constant next to k: x <= k-1 for x < k, and so on.
func neighbour(t clif.Type, k int64, cc clif.IntCC) (int64, clif.IntCC, bool) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	if t == clif.I32 {
		least, most = math.MinInt32, math.MaxInt32
	}
	switch cc { // -1 is the greatest unsigned number; callers handle 0
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

// compareZero compares x with zero. The carry after tst differs from the carry of a comparison with zero, so
// only conditions that ignore the carry may follow.
func compareZero(l *lower, t clif.Type, x clif.Value, cc clif.IntCC) comparison {
	switch cc {
	case clif.Ugt:
		cc = clif.Ne
	case clif.Ule:
		cc = clif.Eq
	}
	if c, ok := l.SelectCompare(termCompare, clif.OpIcmp, t, uint8(cc), x, clif.NoValue); ok {
		return c
	}
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: backend.SizeOf(t)}, intConds[cc])
	c.Add(l.UseAs(t, x))
	return c
}

func compareTestImm(l *lower, m *match) {
	m.Cmp = backend.Comparing(backend.Inst{Op: asm.TstImm, Size: backend.SizeOf(m.T), Imm: m.K}, intConds[m.CC])
	m.Cmp.Add(l.UseAs(m.T, m.X()))
}

func compareTest(l *lower, m *match) {
	m.Cmp = backend.Comparing(backend.Inst{Op: asm.Tst, Size: backend.SizeOf(m.T)}, intConds[m.CC])
	m.Cmp.Add(l.UseAs(m.T, m.X()), l.UseAs(m.T, m.Y()))
}

// compareTwo compares the conjunction or disjunction of two comparisons with zero.
func compareTwo(l *lower, m *match) {
	m.Cmp = compareBoth(l, m.Op, m.X(), m.Y())
	m.Cmp.In.Cond ^= m.CC ^ uint8(clif.Ne)
}

// lowerCompareTwo makes their 0 or 1.
func lowerCompareTwo(l *lower, m *match) {
	c := compareBoth(l, m.D.Op, m.D.ArgA(), m.D.ArgB())
	c.Push(l, backend.TailSet, 0, l.Def(m.D, 0))
}

// matchBoth is the guard both-compare: x and y are comparisons that nothing else uses, and one of them can come first.
func matchBoth(q *query, m *match) bool {
	if onlyComparison(q, m.X()) == nil || onlyComparison(q, m.Y()) == nil {
		return false
	}
	return !mayCompareTwo(q, m.X()) || !mayCompareTwo(q, m.Y())
}

// compareBoth returns a comparison that holds if the band or bor of a and b, for which matchBoth holds, is 1: the second
// comparison is made if the first does not decide, else the flags are set as if it had been.
func compareBoth(l *lower, op clif.Opcode, a, b clif.Value) comparison {
	if !isSimpleSecond(l, b) && isSimpleSecond(l, a) {
		a, b = b, a
	}
	if mayCompareTwo(&l.Query, a) {
		a, b = b, a
	}
	c := l.Holds(onlyComparison(&l.Query, a))
	next, cond := conditional(l, b)
	p := pair{first: c.In.Op, second: next.In.Op, size: next.In.Size, cond: asm.Cond(c.In.Cond), imm: next.In.Imm}
	decided := cond.Invert()
	if op == clif.OpBor {
		p.cond, decided = p.cond.Invert(), cond
	}
	p.imm |= decided.Flags()
	c.In.Op, c.In.Cond = opCompareTwo, uint8(cond)
	c.In.SetSecond(p.pack())
	c.Add(next.Regs()...)
	return c
}

// onlyComparison returns the comparison that defines v if nothing else uses v, else nil.
func onlyComparison(q *query, v clif.Value) *clif.InstData {
	if !q.OnlyUse(v) {
		return nil
	}
	_, d := q.DefInst(v)
	if d == nil || d.Op != clif.OpIcmp && d.Op != clif.OpFcmp && d.Op != clif.OpRefIsNull {
		return nil
	}
	return d
}

// mayCompareTwo reports whether v, the result of a comparison, may become a compareTwo itself: it tests a band or bor, perhaps
// through comparisons with zero. Such a comparison cannot be the first of two.
func mayCompareTwo(q *query, v clif.Value) bool {
	for {
		_, d := q.DefInst(v)
		switch {
		case d == nil:
			return false
		case d.Op == clif.OpBand || d.Op == clif.OpBor:
			return true
		case d.Op != clif.OpIcmp || d.Type != clif.I32:
			return false
		}
		x, y := q.ConstLast(d.ArgA(), d.ArgB())
		if k, ok := q.Iconst(y); !ok || k != 0 {
			return false
		}
		v = x
	}
}

// isSimpleSecond reports whether the comparison that defines v takes no more instructions as the second of two, in its
// conditional form, than alone.
func isSimpleSecond(l *lower, v clif.Value) bool {
	d := onlyComparison(&l.Query, v)
	if d.Op != clif.OpIcmp {
		return true
	}
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if k, ok := l.Sconst(d.Type, y); ok {
		return k > -32 && k < 32 && l.DefOf(x, clif.OpBand, d.Type) == nil && onlyComparison(&l.Query, x) == nil
	}
	return true
}

// conditional returns the comparison that defines v in its conditional form: without tail, flags and condition;
// cond is the condition after it under which v is 1.
func conditional(l *lower, v clif.Value) (c comparison, cond asm.Cond) {
	d := onlyComparison(&l.Query, v)
	switch d.Op {
	case clif.OpFcmp:
		c.In = backend.Inst{Op: asm.Fccmp, Size: backend.SizeOf(d.Type)}
		c.Add(l.Use(d.ArgA()), l.Use(d.ArgB()))
		return c, floatConds[d.FloatCC()]
	case clif.OpRefIsNull:
		c.In = backend.Inst{Op: asm.CcmpImm, Size: 8}
		c.Add(l.Use(d.ArgA()))
		return c, asm.EQ
	}
	t, cc := d.Type, d.IntCC()
	x, y := d.ArgA(), d.ArgB()
	if _, ok := l.Iconst(x); ok {
		x, y, cc = y, x, cc.Swap()
	}
	c.In = backend.Inst{Op: asm.Ccmp, Size: backend.SizeOf(t)}
	c.Add(l.UseAs(t, x))
	switch b, ok := l.Fold(RuleCcmpImm, t, y, 8); {
	case !ok:
		c.Add(l.UseAs(t, y))
	case b.K < 0:
		c.In.Op, c.In.Imm = asm.CcmnImm, asm.CondImm(uint8(-b.K), 0)
	default:
		c.In.Op, c.In.Imm = asm.CcmpImm, asm.CondImm(uint8(b.K), 0)
	}
	return c, intConds[cc]
}

func compareFloat(l *lower, d *clif.InstData) comparison {
	x, y, cond := d.ArgA(), d.ArgB(), floatConds[d.FloatCC()]
	if isFloatZero(&l.Query, d.Type, x) {
		x, y, cond = y, x, cond.SwapFloat()
	}
	c, ok := l.SelectCompare(termCompare, clif.OpFcmp, d.Type, d.Cond, x, y)
	if !ok {
		c.In = backend.Inst{Op: asm.Fcmp, Size: backend.SizeOf(d.Type)}
		c.Add(l.Use(x), l.Use(y))
	}
	c.In.Cond = uint8(cond)
	return c
}

func compareFloatZero(l *lower, m *match) {
	m.Cmp = backend.Comparing(backend.Inst{Op: asm.FcmpZero, Size: backend.SizeOf(m.T)}, asm.EQ)
	m.Cmp.Add(l.Use(m.X()))
}

// isFloatZero reports whether v is a constant zero of either sign, which compare alike.
func isFloatZero(q *query, t clif.Type, v clif.Value) bool {
	d := q.DefOp(v, clif.OpFconst)
	return d != nil && d.Imm<<(64-t.Bits())<<1 == 0
}

// lowerCompare appends dst = d as 0 or 1.
func lowerCompare(l *lower, _ clif.Inst, d *clif.InstData) {
	dst := l.Def(d, 0)
	c := l.Holds(d)
	if l.FoldComparison(RuleIcmpSign, &c) {
		l.Emit(backend.Inst{Op: asm.LsrImm, Size: c.In.Size, Imm: int64(c.In.Size)*8 - 1}, c.First(), dst)
		return
	}
	c.Push(l, backend.TailSet, 0, dst)
}

func lowerSelect(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Truth(d.ArgA())
	t, a, b := d.Type, d.ArgB(), d.ArgC()
	if t.IsFloat() {
		c.Push(l, backend.TailSelect, 0, l.Use(a), l.Use(b), l.Def(d, 0))
		return
	}
	if t == clif.V128 {
		selectVector(l, &c, l.Use(a), l.Use(b), l.Def(d, 0))
		return
	}
	other := foldAlternative(l, t, b)
	if !other.saves {
		if o := foldAlternative(l, t, a); o.saves {
			a, other, c.In.Cond = b, o, c.In.Cond^1
		}
	}
	choose(l, &c, t, a, other, l.Def(d, 0))
}

// alternative is how csel, csinc, csinv or csneg makes what it chooses if the condition does not hold.
type alternative struct {
	op backend.Op
	v  clif.Value // NoValue is zero
	// saves an instruction.
	saves bool
}

// alternatives are the rules for what is chosen, and how it is made.
var alternatives = [...]struct {
	rule backend.Rule
	op   backend.Op
	zero bool
}{
	{RuleSelectZero, asm.Csel, true}, {RuleSelectOne, asm.Csinc, true}, {RuleSelectOnes, asm.Csinv, true},
	{RuleSelectNot, asm.Csinv, false}, {RuleSelectInc, asm.Csinc, false}, {RuleSelectNeg, asm.Csneg, false},
}

// foldAlternative returns v, of type t, as the alternative chosen if the condition does not hold.
func foldAlternative(l *lower, t clif.Type, v clif.Value) alternative {
	for _, a := range &alternatives {
		if b, ok := l.Fold(a.rule, t, v, 8); ok {
			if a.zero {
				return alternative{a.op, clif.NoValue, true}
			}
			return alternative{a.op, b.X(), true}
		}
	}
	return alternative{asm.Csel, v, false}
}

// choose appends dst = c ? a : o. Csel takes all 64 bits of both operands, so that the upper half of an i32 is clear
// where theirs are; the others take those of the type.
func choose(l *lower, c *comparison, t clif.Type, a clif.Value, o alternative, dst vreg) {
	if o.op != asm.Csel {
		c.In.SetChoice(backend.Form{Op: o.op, Size: backend.SizeOf(t)})
	}
	switch {
	case o.v != clif.NoValue && o.op == asm.Csel:
		c.Push(l, backend.TailSelect, 0, l.Use(a), l.Use(o.v), dst)
		return
	case o.v != clif.NoValue:
		c.Push(l, backend.TailSelect, 0, l.Use(a), l.UseAs(t, o.v), dst)
		return
	}
	k, ok := l.Sconst(t, a)
	switch {
	case ok && k == 1 && o.op == asm.Csel:
		c.In.SetChoice(backend.Form{})
		c.Push(l, backend.TailSet, 0, dst)
	case ok && k == -1 && o.op == asm.Csel:
		c.In.SetChoice(backend.Form{Op: asm.Csetm, Size: backend.SizeOf(t)})
		c.Push(l, backend.TailSet, 0, dst)
	case ok && k == 0 && o.op != asm.Csel: // 0 or 1, 0 or -1
		c.In.SetChoice(backend.Form{Op: cset(o.op), Size: backend.SizeOf(t)})
		c.In.Cond ^= 1
		c.Push(l, backend.TailSet, 0, dst)
	default:
		c.Push(l, backend.TailSelectZero, 0, l.Use(a), dst)
	}
}

// cset returns the row that chooses between 0 and the result of op, Csinc or Csinv, on 0.
func cset(op backend.Op) backend.Op {
	if op == asm.Csinc {
		return asm.Cset
	}
	return asm.Csetm
}

// lowerSumCond appends x + y where y is the result of a comparison.
func lowerSumCond(l *lower, m *match) {
	c := l.Holds(onlyComparison(&l.Query, m.Y()))
	c.In.Cond ^= 1
	choose(l, &c, m.T, m.X(), alternative{asm.Csinc, m.X(), true}, l.Def(m.D, 0))
}

// lowerIsubCond appends 0 - y where y is the result of a comparison.
func lowerIsubCond(l *lower, m *match) {
	c := l.Holds(onlyComparison(&l.Query, m.Y()))
	c.In.Cond ^= 1
	choose(l, &c, m.T, m.D.ArgA(), alternative{asm.Csinv, clif.NoValue, true}, l.Def(m.D, 0))
}

func lowerTrapIf(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Truth(d.ArgA())
	c.In.Trap = d.Cond
	branchOn(l, &c, backend.TailTrap, 0)
}

// lowerBound appends a comparison that traps, and that makes the result for the case of misspeculation.
func lowerBound(l *lower, _ clif.Inst, d *clif.InstData) {
	x := l.Use(d.ArgA())
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: 8, Trap: d.Cond}, asm.HS)
	c.Add(x)
	c.Add(l.Use(d.ArgB()))
	c.Push(l, backend.TailBound, 0, x, l.Def(d, 0))
}

func lowerBoundImm(l *lower, m *match) {
	x := l.Use(m.X())
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: 8, Imm: m.K, Trap: m.D.Cond}, asm.HS)
	c.Add(x)
	c.Push(l, backend.TailBound, 0, x, l.Def(m.D, 0))
}

func lowerBranch(l *lower, _ clif.Inst, d *clif.InstData) {
	if !l.JumpIfOne() {
		c := l.Truth(d.ArgA())
		branchOn(l, &c, backend.TailJump, regalloc.IsTerminator)
	}
}

func lowerBranchKnown(l *lower, m *match) {
	c := compareZero(l, clif.I32, m.X(), clif.Ne)
	branchOn(l, &c, backend.TailJump, regalloc.IsTerminator)
}

// booleanExists reports whether v is the result of a comparison and a later user has already materialised it. Then testing v
// costs less than comparing again. Comparisons with zero are tests themselves.
func booleanExists(q *query, v clif.Value) bool {
	if q.EndsHere(v) {
		return false
	}
	_, d := q.DefInst(v)
	switch {
	case d == nil:
		return false
	case d.Op == clif.OpIcmp:
		k, ok := q.Iconst(d.ArgB())
		return !ok || k != 0
	}
	return d.Op == clif.OpFcmp
}
