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

// branchOn appends c with TailJump or TailTrap, as a branch that tests a register where there is one.
func branchOn(l *lower, c *comparison, tail backend.Tail, flags regalloc.InstFlags) {
	in, cond := &c.In, asm.Cond(c.In.Cond)
	top := int64(in.Size)*8 - 1
	switch {
	case in.Op == asm.CmpImm && in.Imm == 0 && cond <= asm.NE && l.Rule("branch_zero"):
		in.Op = asm.Cbnz
		if cond == asm.EQ {
			in.Op = asm.Cbz
		}
	case tail == backend.TailTrap: // traps are too far away for the others
	case in.Op == asm.CmpImm && in.Imm == 0 && (cond == asm.LT || cond == asm.GE) && l.Rule("branch_sign"):
		testBit(in, top, cond == asm.GE)
	case in.Op == asm.TstImm && cond <= asm.NE:
		m := uint64(in.Imm)
		if in.Size == 4 {
			m = uint64(uint32(m))
		}
		if m&(m-1) == 0 && l.Rule("branch_bit") {
			testBit(in, int64(bits.TrailingZeros64(m)), cond == asm.EQ)
		}
	}
	c.Push(l, tail, flags)
}

// testBit makes in the test of a bit for 0 or 1.
func testBit(in *backend.Inst, bit int64, zero bool) {
	in.Op, in.Imm = asm.Tbnz, bit
	if zero {
		in.Op = asm.Tbz
	}
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
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: backend.SizeOf(t)}, intConds[cc])
	for range 2 {
		if r, imm, ok := extendedReg(l, t, y); ok {
			c.In.Op, c.In.Imm = asm.CmpExt, imm
			c.Add(l.UseAs(t, x), r)
			return c
		}
		if r, imm, ok := shiftedReg(l, t, y); ok {
			c.In.Imm = imm
			c.Add(l.UseAs(t, x), r)
			return c
		}
		x, y, c.In.Cond = y, x, uint8(asm.Cond(c.In.Cond).Swap())
	}
	c.Add(l.UseAs(t, x), l.UseAs(t, y))
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
	c := backend.Comparing(backend.Inst{Op: op, Size: backend.SizeOf(t), Imm: imm}, intConds[cc])
	c.Add(l.UseAs(t, x))
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
	size := backend.SizeOf(t)
	if c, ok := compareTwo(l, t, x, cc); ok {
		return c
	}
	if d := l.OnlyDef(x, clif.OpBand, t); d != nil && cc <= clif.Sle {
		a, b := l.ConstLast(d.ArgA(), d.ArgB())
		if k, ok := l.Sconst(t, b); ok && asm.FitsBits(size, k) {
			l.Rule("test_imm")
			c := backend.Comparing(backend.Inst{Op: asm.TstImm, Size: size, Imm: k}, intConds[cc])
			c.Add(l.UseAs(t, a))
			return c
		}
		l.Rule("test_band")
		c := backend.Comparing(backend.Inst{Op: asm.Tst, Size: size}, intConds[cc])
		c.Add(l.UseAs(t, a), l.UseAs(t, b))
		return c
	}
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: size}, intConds[cc])
	c.Add(l.UseAs(t, x))
	return c
}

// compareTwo compares x, the conjunction or disjunction of two comparisons, with zero: the second comparison is made if the
// first does not decide, else the flags are set as if it had been.
func compareTwo(l *lower, t clif.Type, x clif.Value, cc clif.IntCC) (c comparison, ok bool) {
	if cc > clif.Ne || t != clif.I32 {
		return c, false
	}
	d := l.OnlyDef(x, clif.OpBand, t)
	if d == nil {
		d = l.OnlyDef(x, clif.OpBor, t)
	}
	if d == nil {
		return c, false
	}
	c, ok = bothOf(l, d)
	c.In.Cond ^= uint8(cc ^ clif.Ne)
	return c, ok
}

// bothOf is a comparison that holds if d, a band or bor, is 1, if its operands are comparisons without other users.
func bothOf(l *lower, d *clif.InstData) (c comparison, ok bool) {
	a, b := d.ArgA(), d.ArgB()
	if outcome(l, a) == nil || outcome(l, b) == nil {
		return c, false
	}
	if !plainly(l, b) && plainly(l, a) {
		a, b = b, a
	}
	if ofTwo(l, a) {
		if a, b = b, a; ofTwo(l, a) {
			return c, false
		}
	}
	c = l.Holds(outcome(l, a))
	next, cond := conditional(l, b)
	p := pair{first: c.In.Op, second: next.In.Op, size: next.In.Size, cond: asm.Cond(c.In.Cond), imm: next.In.Imm}
	decided := cond.Invert()
	if d.Op == clif.OpBor {
		p.cond, decided = p.cond.Invert(), cond
	}
	p.imm |= decided.Flags()
	c.In.Op, c.In.Cond, c.In.Disp = opCompareTwo, uint8(cond), p.disp()
	c.Add(next.Regs()...)
	return c, l.Rule("compare_two")
}

// outcome is the comparison of which v is the outcome, without other users, or nil.
func outcome(l *lower, v clif.Value) *clif.InstData {
	if !l.OnlyUse(v) {
		return nil
	}
	_, d := l.DefInst(v)
	if d == nil || d.Op != clif.OpIcmp && d.Op != clif.OpFcmp && d.Op != clif.OpRefIsNull {
		return nil
	}
	return d
}

// ofTwo reports whether the comparison with the outcome v may be one of a band or bor with zero, which compareTwo sees to: it is
// not the first of another two.
func ofTwo(l *lower, v clif.Value) bool {
	for {
		_, d := l.DefInst(v)
		switch {
		case d == nil:
			return false
		case d.Op == clif.OpBand || d.Op == clif.OpBor:
			return true
		case d.Op != clif.OpIcmp || d.Type != clif.I32:
			return false
		}
		x, y := l.ConstLast(d.ArgA(), d.ArgB())
		if k, ok := l.Iconst(y); !ok || k != 0 {
			return false
		}
		v = x
	}
}

// plainly reports whether the comparison with the outcome v can be made by conditional without further instructions that
// another form of it would not need.
func plainly(l *lower, v clif.Value) bool {
	d := outcome(l, v)
	if d.Op != clif.OpIcmp {
		return true
	}
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if k, ok := l.Sconst(d.Type, y); ok {
		return k > -32 && k < 32 && l.DefOf(x, clif.OpBand, d.Type) == nil && outcome(l, x) == nil
	}
	return true
}

// conditional is the comparison with the outcome v as one that is made under a condition: without tail, flags and condition;
// cond is the condition after it under which v is 1.
func conditional(l *lower, v clif.Value) (c comparison, cond asm.Cond) {
	d := outcome(l, v)
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
	switch k, ok := l.Sconst(t, y); {
	case ok && k >= 0 && k < 32:
		c.In.Op, c.In.Imm = asm.CcmpImm, asm.CondImm(uint8(k), 0)
	case ok && k < 0 && k > -32:
		c.In.Op, c.In.Imm = asm.CcmnImm, asm.CondImm(uint8(-k), 0)
	default:
		c.Add(l.UseAs(t, y))
	}
	return c, intConds[cc]
}

func compareFloat(l *lower, d *clif.InstData) comparison {
	x, y := d.ArgA(), d.ArgB()
	c := backend.Comparing(backend.Inst{Op: asm.Fcmp, Size: backend.SizeOf(d.Type)}, floatConds[d.FloatCC()])
	if isFloatZero(l, d.Type, x) {
		x, y, c.In.Cond = y, x, uint8(asm.Cond(c.In.Cond).SwapFloat())
	}
	c.Add(l.Use(x))
	if isFloatZero(l, d.Type, y) && l.Rule("fcmp_zero") {
		c.In.Op = asm.FcmpZero
		return c
	}
	c.Add(l.Use(y))
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
	c := l.Holds(d)
	if c.In.Op == asm.CmpImm && c.In.Imm == 0 && c.In.Cond == uint8(asm.LT) && l.Rule("icmp_sign") {
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
	other := otherwise(l, t, b)
	if !other.saves {
		if o := otherwise(l, t, a); o.saves {
			a, other, c.In.Cond = b, o, c.In.Cond^1
		}
	}
	choose(l, &c, t, a, other, l.Def(d, 0))
}

// arm is how csel, csinc, csinv or csneg makes what it chooses if the condition does not hold.
type arm struct {
	op backend.Op
	v  clif.Value // NoValue is zero
	// saves an instruction.
	saves bool
}

// otherwise is the arm v of type t.
func otherwise(l *lower, t clif.Type, v clif.Value) arm {
	if k, ok := l.Sconst(t, v); ok {
		switch k {
		case 0:
			return arm{asm.Csel, clif.NoValue, l.Rule("select_zero")}
		case 1:
			return arm{asm.Csinc, clif.NoValue, l.Rule("select_one")}
		case -1:
			return arm{asm.Csinv, clif.NoValue, l.Rule("select_ones")}
		}
	}
	if !l.OnlyUse(v) {
		return arm{asm.Csel, v, false}
	}
	if x, ok := complement(l, t, v); ok && l.Rule("select_not") {
		return arm{asm.Csinv, x, true}
	}
	if d := l.DefOf(v, clif.OpIadd, t); d != nil {
		x, y := l.ConstLast(d.ArgA(), d.ArgB())
		if k, ok := l.Iconst(y); ok && k == 1 && l.Rule("select_inc") {
			return arm{asm.Csinc, x, true}
		}
	}
	if d := l.DefOf(v, clif.OpIsub, t); d != nil {
		if k, ok := l.Iconst(d.ArgA()); ok && k == 0 && l.Rule("select_neg") {
			return arm{asm.Csneg, d.ArgB(), true}
		}
	}
	return arm{asm.Csel, v, false}
}

// choose appends dst = c ? a : o. Csel takes all 64 bits of both operands, so that the upper half of an i32 is clear
// where theirs are; the others take those of the type.
func choose(l *lower, c *comparison, t clif.Type, a clif.Value, o arm, dst vreg) {
	if o.op != asm.Csel {
		c.In.Ref = asm.Choice(o.op, backend.SizeOf(t))
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
		c.In.Ref = 0
		c.Push(l, backend.TailSet, 0, dst)
	case ok && k == -1 && o.op == asm.Csel:
		c.In.Ref = asm.Choice(asm.Csetm, backend.SizeOf(t))
		c.Push(l, backend.TailSet, 0, dst)
	case ok && k == 0 && o.op != asm.Csel: // 0 or 1, 0 or -1
		c.In.Ref = asm.Choice(cset(o.op), backend.SizeOf(t))
		c.In.Cond ^= 1
		c.Push(l, backend.TailSet, 0, dst)
	default:
		c.Push(l, backend.TailSelectZero, 0, l.Use(a), dst)
	}
}

// cset is the row that chooses 0 or what op, Csinc or Csinv, makes of 0.
func cset(op backend.Op) backend.Op {
	if op == asm.Csinc {
		return asm.Cset
	}
	return asm.Csetm
}

// truthOf is a comparison that holds if v, the outcome of one with no other user, is 1.
func truthOf(l *lower, v clif.Value) (c comparison, ok bool) {
	if d := outcome(l, v); d != nil {
		return l.Holds(d), true
	}
	return c, false
}

// increment appends x + y where y is the outcome of a comparison.
func increment(l *lower, d *clif.InstData, x, y clif.Value) bool {
	c, ok := truthOf(l, y)
	if !ok {
		return false
	}
	c.In.Cond ^= 1
	choose(l, &c, d.Type, x, arm{asm.Csinc, x, true}, l.Def(d, 0))
	return l.Rule("sum_cond")
}

func lowerTrapIf(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Truth(d.ArgA())
	c.In.Trap = d.Cond
	branchOn(l, &c, backend.TailTrap, 0)
}

// lowerBound: the comparison traps and, for misspeculation, makes the result.
func lowerBound(l *lower, _ clif.Inst, d *clif.InstData) {
	x := l.Use(d.ArgA())
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: 8, Trap: d.Cond}, asm.HS)
	c.Add(x)
	if k, ok := l.Sconst(clif.I64, d.ArgB()); ok && k > 0 && asm.FitsArith(k) && l.Rule("bound_imm") {
		c.In.Op, c.In.Imm = asm.CmpImm, k
	} else {
		c.Add(l.Use(d.ArgB()))
	}
	c.Push(l, backend.TailBound, 0, x, l.Def(d, 0))
}

// branch is backend.Target.Branch.
func branch(l *lower, v clif.Value) {
	var c comparison
	if known(l, v) && l.Rule("branch_known") {
		c = compareZero(l, clif.I32, v, clif.Ne)
	} else {
		c = l.Truth(v)
	}
	branchOn(l, &c, backend.TailJump, regalloc.IsTerminator)
}

// known reports whether v is the outcome of a comparison that a later user has computed in any case, so that testing v is
// less than to compare again. Comparisons with zero are tests themselves.
func known(l *lower, v clif.Value) bool {
	if l.EndsHere(v) {
		return false
	}
	_, d := l.DefInst(v)
	switch {
	case d == nil:
		return false
	case d.Op == clif.OpIcmp:
		k, ok := l.Iconst(d.ArgB())
		return !ok || k != 0
	}
	return d.Op == clif.OpFcmp
}
