package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/internal/abi"
)

// ruleTable returns the rules by opcode. It is a function, not a variable, because
// rules create instructions, and rules apply to these.
func ruleTable() (r [clif.NumOpcodes]rule) {
	for _, op := range [...]clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpImul, clif.OpUmulhi, clif.OpSmulhi, clif.OpUdiv, clif.OpSdiv,
		clif.OpUrem, clif.OpSrem, clif.OpBand, clif.OpBor, clif.OpBxor} {
		r[op] = ruleBinary
	}
	r[clif.OpIadd], r[clif.OpBor], r[clif.OpImul] = ruleAdd, ruleAdd, ruleMul
	for _, op := range [...]clif.Opcode{clif.OpIshl, clif.OpUshr, clif.OpSshr, clif.OpRotl, clif.OpRotr} {
		r[op] = ruleShift
	}
	for _, op := range [...]clif.Opcode{clif.OpClz, clif.OpCtz, clif.OpPopcnt} {
		r[op] = ruleCount
	}
	for _, op := range [...]clif.Opcode{clif.OpSext8, clif.OpSext16, clif.OpSext32, clif.OpUextend, clif.OpSextend} {
		r[op] = ruleExtend
	}
	for _, op := range [...]clif.Opcode{clif.OpFadd, clif.OpFsub, clif.OpFmul, clif.OpFdiv} {
		r[op] = ruleFloat
	}
	vectorRules(&r)
	r[clif.OpIreduce] = ruleReduce
	r[clif.OpLoad] = ruleLoad
	r[clif.OpIcmp] = ruleIcmp
	r[clif.OpSelect] = ruleSelect
	r[clif.OpBitcast] = ruleBitcast
	r[clif.OpFpromote] = ruleFcvt
	r[clif.OpFdemote] = ruleFcvt
	r[clif.OpMemorySize] = ruleSize
	r[clif.OpTableSize] = ruleSize
	r[clif.OpGlobalGet] = ruleGlobal
	r[clif.OpBound] = ruleBound
	r[clif.OpTableGet] = ruleEntry
	r[clif.OpRefIsNull] = ruleIsNull
	return r
}

func ruleCount(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, ok := c.constant(d.ArgA())
	if !ok || !c.may(RuleFoldCount) {
		return none, false
	}
	n := int(c.bits(d.Type))
	switch d.Op {
	case clif.OpClz:
		return constResult(c, d.Type, uint64(bits.LeadingZeros64(x)-64+n))
	case clif.OpCtz:
		return constResult(c, d.Type, uint64(min(bits.TrailingZeros64(x), n)))
	}
	return constResult(c, d.Type, uint64(bits.OnesCount64(x)))
}

// ruleExtend folds extensions of constants and of extended values.
func ruleExtend(c *folder, d *clif.InstData) (clif.Value, bool) {
	n := 64 - c.extended(d.Op)
	if x, ok := c.constant(d.ArgA()); ok && c.may(RuleFoldExtend) {
		if d.Op != clif.OpUextend {
			x = uint64(int64(x<<n) >> n)
		}
		return constResult(c, d.Type, x)
	}
	in := c.def(d.ArgA())
	if in == nil {
		return none, false
	}
	switch {
	case d.Op == clif.OpSextend && in.Op == clif.OpIreduce && c.may(RuleSextendReduce):
		d.Op, d.Args[0] = clif.OpSext32, in.Args[0]
		return none, true
	case d.Op == clif.OpUextend && in.Op == clif.OpIreduce && c.mayBeOne(in.ArgA(), 0)&^c.allOnes(clif.I32) == 0 && c.may(RuleUextendReduce):
		return in.ArgA(), false
	case d.Op == clif.OpSext32 && in.Op == clif.OpUextend && c.may(RuleSext32Uextend):
		d.Op, d.Args[0] = clif.OpSextend, in.Args[0]
		return none, true
	case d.Op == clif.OpUextend:
		return none, false
	case (d.Op == clif.OpSext32 && in.Op == clif.OpSextend || d.Op == in.Op && d.Op != clif.OpSextend) && c.may(RuleSextTwice):
		return d.ArgA(), false
	}
	// A sign extension of a value whose sign bit, and all above it, is zero.
	if c.mayBeOne(d.ArgA(), 0)>>(63-n) != 0 {
		return none, false
	}
	switch {
	case d.Op != clif.OpSextend && c.may(RuleSextPositive):
		return d.ArgA(), false
	case d.Op == clif.OpSextend && c.may(RuleSextendPositive):
		d.Op = clif.OpUextend
		return none, true
	}
	return none, false
}

// ruleReduce: the low half of an extension, of a constant, and of arithmetic
// on extensions.
func ruleReduce(c *folder, d *clif.InstData) (clif.Value, bool) {
	if x, ok := c.constant(d.ArgA()); ok && c.may(RuleFoldReduce) {
		return constResult(c, clif.I32, x)
	}
	in := c.def(d.ArgA())
	if in == nil {
		return none, false
	}
	switch in.Op {
	case clif.OpUextend, clif.OpSextend:
		if c.may(RuleReduceExtend) {
			return in.ArgA(), false
		}
	case clif.OpSext32:
		if c.may(RuleReduceSext32) {
			d.Args[0] = in.Args[0]
			return none, true
		}
	case clif.OpBand:
		k, ok := c.constant(in.ArgB())
		switch {
		case ok && c.trunc(clif.I32, k) == c.allOnes(clif.I32) && c.may(RuleReduceMask):
			d.Args[0] = in.Args[0]
			return none, true
		case ok && c.hasLow(in.ArgA()) && c.may(RuleReduceAnd):
			return c.narrow(d, clif.OpBand, c.low(in.ArgA()), c.iconst(clif.I32, k))
		}
	case clif.OpIshl:
		k, ok := c.constant(in.ArgB())
		if k %= uint64(c.bits(clif.I64)); ok && c.hasLow(in.ArgA()) && k < uint64(c.bits(clif.I32)) && c.may(RuleReduceShl) {
			return c.narrow(d, clif.OpIshl, c.low(in.ArgA()), c.iconst(clif.I32, k))
		}
	case clif.OpIadd, clif.OpIsub, clif.OpImul, clif.OpBor, clif.OpBxor:
		op, x, y := in.Op, in.ArgA(), in.ArgB() // a constant may be placed
		if c.hasLow(x) && c.hasLow(y) && c.may(RuleReduceArith) {
			return c.narrow(d, op, c.low(x), c.low(y))
		}
	}
	return reduceOnly(c, d)
}

// reduceOnly computes a number in 32 bits if nothing needs more of it. The ireduce of an operand costs nothing: an instruction
// of 32 bits reads the low half of a register.
func reduceOnly(c *folder, d *clif.InstData) (clif.Value, bool) {
	in := *c.def(d.ArgA())
	if !lowMakesLow[in.Op] || !c.demand.onlyLow(d.ArgA()) {
		return none, false
	}
	if in.Op == clif.OpIshl {
		k, ok := c.constant(in.ArgB())
		if ok = ok && k < uint64(c.bits(clif.I32)); !ok || !c.may(RuleReduceOnly) {
			return none, false
		}
		return c.narrow(d, in.Op, c.unary(clif.OpIreduce, clif.I32, in.ArgA()), c.iconst(clif.I32, k))
	}
	if !c.may(RuleReduceOnly) {
		return none, false
	}
	x := c.unary(clif.OpIreduce, clif.I32, in.ArgA())
	return c.narrow(d, in.Op, x, c.unary(clif.OpIreduce, clif.I32, in.ArgB()))
}

// narrow replaces d, an ireduce, by op of the narrow x and y.
func (c *folder) narrow(d *clif.InstData, op clif.Opcode, x, y clif.Value) (clif.Value, bool) {
	*d = clif.InstData{Op: op, Type: clif.I32, Args: [3]uint32{uint32(x), uint32(y)}, Result: d.Result, NumResults: d.NumResults}
	return none, true
}

// hasLow reports whether the low half of v needs no instruction, except perhaps a constant.
func (c *folder) hasLow(v clif.Value) bool {
	in := c.def(v)
	return in != nil && (in.Op == clif.OpIconst || in.Op == clif.OpUextend || in.Op == clif.OpSextend)
}

// low returns the low half of v, for which hasLow holds.
func (c *folder) low(v clif.Value) clif.Value {
	in := c.def(v)
	if in.Op == clif.OpIconst {
		return c.iconst(clif.I32, in.Imm)
	}
	return in.ArgA()
}

func (w widths) compare(cc clif.IntCC, t clif.Type, x, y uint64) bool {
	a, b := w.signed(t, x), w.signed(t, y)
	switch cc &^ 1 {
	case clif.Eq:
		return (x == y) != (cc == clif.Ne)
	case clif.Slt:
		return (a < b) != (cc == clif.Sge)
	case clif.Sgt:
		return (a > b) != (cc == clif.Sle)
	case clif.Ult:
		return (x < y) != (cc == clif.Uge)
	}
	return (x > y) != (cc == clif.Ule)
}

func boolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func ruleIcmp(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, xok := c.constant(d.ArgA())
	y, yok := c.constant(d.ArgB())
	switch {
	case xok && yok && c.may(RuleFoldIcmp):
		return constResult(c, clif.I32, boolBits(c.compare(d.IntCC(), d.Type, x, y)))
	case d.Args[0] == d.Args[1] && c.may(RuleIcmpSame):
		return constResult(c, clif.I32, boolBits(c.compare(d.IntCC(), d.Type, 0, 0)))
	case xok && !yok && c.may(RuleIcmpConstRight):
		d.Args[0], d.Args[1], d.Cond = d.Args[1], d.Args[0], uint8(d.IntCC().Swap())
		return none, true
	case yok && y == 0:
		if v, again := compareZero(c, d); v != none || again {
			return v, again
		}
	}
	if d.Type == clif.I64 {
		return compareExtended(c, d, y, yok)
	}
	return none, false
}

// compareExtended narrows comparisons of 64 bits that 32 bits decide.
func compareExtended(c *folder, d *clif.InstData, y uint64, constant bool) (clif.Value, bool) {
	x := c.def(d.ArgA())
	if x == nil || x.Op != clif.OpUextend && x.Op != clif.OpSextend {
		return none, false
	}
	cc, a, b := d.IntCC(), x.Args[0], none
	if x.Op == clif.OpUextend {
		cc = unsignedCC[cc]
	}
	if in := c.def(d.ArgB()); in != nil && in.Op == x.Op && c.may(RuleIcmpExtends) {
		b = in.ArgA()
	} else if constant {
		low := c.trunc(clif.I32, y)
		fits := low == y
		if x.Op == clif.OpSextend {
			fits = c.trunc(clif.I64, uint64(c.signed(clif.I32, y))) == y
		}
		switch {
		case fits && c.may(RuleIcmpExtendConst):
			b = c.iconst(clif.I32, low)
		case !fits && x.Op == clif.OpUextend && c.may(RuleIcmpExtendFar):
			// No number of 32 bits is near y, so comparing any of them with y decides for all.
			return constResult(c, clif.I32, boolBits(c.compare(d.IntCC(), clif.I64, 0, y)))
		}
	}
	if b == none {
		return none, false
	}
	d.Type, d.Cond, d.Args[0], d.Args[1] = clif.I32, uint8(cc), a, uint32(b)
	return none, true
}

// unsignedCC is, by condition on zero-extended numbers, the equivalent condition on the 32-bit
// numbers themselves.
var unsignedCC = [clif.NumIntCCs]clif.IntCC{
	clif.Eq: clif.Eq, clif.Ne: clif.Ne, clif.Slt: clif.Ult, clif.Sge: clif.Uge, clif.Sgt: clif.Ugt, clif.Sle: clif.Ule,
	clif.Ult: clif.Ult, clif.Uge: clif.Uge, clif.Ugt: clif.Ugt, clif.Ule: clif.Ule,
}

// compareZero: (cmp != 0) => cmp, (cmp == 0) => not cmp, x <u 0 => false, and
// comparisons of extensions.
func compareZero(c *folder, d *clif.InstData) (clif.Value, bool) {
	switch cc := d.IntCC(); {
	case (cc == clif.Ult || cc == clif.Uge) && c.may(RuleIcmpNever):
		return constResult(c, clif.I32, boolBits(cc == clif.Uge))
	case (cc == clif.Ugt || cc == clif.Ule) && c.may(RuleIcmpZero):
		d.Cond = uint8(clif.Ne)
		if cc == clif.Ule {
			d.Cond = uint8(clif.Eq)
		}
		return none, true
	case cc != clif.Eq && cc != clif.Ne:
		return none, false
	}
	if x := c.truth.get(d.ArgA()); x != unknown && d.Type == clif.I32 && c.may(RuleIcmpDecided) {
		return constResult(c, clif.I32, boolBits((x == isZero) == (d.IntCC() == clif.Eq)))
	}
	in := c.def(d.ArgA())
	if in == nil {
		return none, false
	}
	switch {
	case isBool[in.Op] && d.IntCC() == clif.Ne && c.may(RuleIcmpBool):
		return d.ArgA(), false
	case in.Op == clif.OpIcmp && d.IntCC() == clif.Eq && c.may(RuleIcmpInvert):
		r := d.Result
		*d = *in
		d.Cond, d.Result = uint8(in.IntCC().Invert()), r
		return none, true
	case (in.Op == clif.OpUextend || in.Op == clif.OpSextend) && c.may(RuleIcmpExtendZero):
		d.Type, d.Args[0] = clif.I32, in.Args[0]
		d.Args[1] = uint32(c.iconst(clif.I32, 0))
		return none, true
	}
	return none, false
}

// strip strips comparisons of v with zero: x != 0 is true exactly if x is not zero,
// and x == 0 if x is zero, which negated says.
func (c *folder) strip(v clif.Value) (x clif.Value, negated, changed bool) {
	for range 8 {
		in := c.defOp(v, clif.OpIcmp)
		if in == nil || in.Type != clif.I32 || in.IntCC() != clif.Eq && in.IntCC() != clif.Ne {
			break
		}
		if k, ok := c.constant(in.ArgB()); !ok || k != 0 {
			break
		}
		negated = negated != (in.IntCC() == clif.Eq)
		v, changed = in.ArgA(), true
	}
	return v, negated, changed
}

func ruleSelect(c *folder, d *clif.InstData) (clif.Value, bool) {
	if d.Args[1] == d.Args[2] && c.may(RuleSelectSame) {
		return d.ArgB(), false
	}
	if x := c.decided(d.ArgA()); x != unknown && c.may(RuleSelectDecided) {
		if x == isZero {
			return d.ArgC(), false
		}
		return d.ArgB(), false
	}
	if x, neg, changed := c.strip(d.ArgA()); changed && c.may(RuleSelectStrip) {
		d.Args[0] = uint32(x)
		if neg {
			d.Args[1], d.Args[2] = d.Args[2], d.Args[1]
		}
		return none, true
	}
	x, xok := c.constant(d.ArgB())
	y, yok := c.constant(d.ArgC())
	if xok && yok && x^y == 1 && x|y == 1 && c.may(RuleSelectBool) {
		return c.selectBool(d, x)
	}
	return none, false
}

// selectBool: c ? 1 : 0 and c ? 0 : 1 are comparisons of c with zero.
func (c *folder) selectBool(d *clif.InstData, x uint64) (clif.Value, bool) {
	b := d.ArgA()
	if x == 0 || c.mayBeOne(b, 0)&^1 != 0 {
		cc := clif.Ne
		if x == 0 {
			cc = clif.Eq
		}
		b = c.make1(clif.InstData{Op: clif.OpIcmp, Type: clif.I32, Cond: uint8(cc), Args: [3]uint32{d.Args[0], uint32(c.iconst(clif.I32, 0))}}, clif.I32)
	}
	if d.Type == clif.I64 {
		b = c.unary(clif.OpUextend, clif.I64, b)
	}
	return b, false
}

// ruleSize: a memory or table that cannot grow, imported or not, has the size
// that its declaration says.
func ruleSize(c *folder, d *clif.InstData) (clif.Value, bool) {
	m := c.f.Mod
	if d.Op == clif.OpTableSize {
		if t := &m.Tables[d.Aux]; t.HasMax && t.Min == t.Max && c.may(RuleSizeFixed) {
			return constResult(c, clif.I64, t.Min)
		}
		return none, false
	}
	if t := &m.Memories[d.Aux]; t.HasMax && t.Min == t.Max && c.may(RuleSizeFixed) {
		return constResult(c, clif.I64, t.Min*abi.PageSize)
	}
	return none, false
}

func ruleBitcast(c *folder, d *clif.InstData) (clif.Value, bool) {
	if in := c.defOp(d.ArgA(), clif.OpBitcast); in != nil && c.may(RuleBitcastBack) {
		return in.ArgA(), false
	}
	if x, ok := c.constant(d.ArgA()); ok && c.may(RuleFoldBitcast) {
		return c.fconst(d.Type, x), false
	}
	if x, ok := c.fconstant(d.ArgA()); ok && c.may(RuleFoldBitcast) {
		return constResult(c, d.Type, x)
	}
	return none, false
}

func (c *folder) fconst(t clif.Type, x uint64) clif.Value {
	return c.make1(clif.InstData{Op: clif.OpFconst, Type: t, Imm: x}, t)
}

var floatOps = [clif.NumOpcodes]func(t clif.Type, x, y uint64) uint64{
	clif.OpFadd: arith.Fadd, clif.OpFsub: arith.Fsub, clif.OpFmul: arith.Fmul, clif.OpFdiv: arith.Fdiv,
}

// ruleFloat folds arithmetic whose result is not a NaN.
func ruleFloat(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, xok := c.fconstant(d.ArgA())
	y, yok := c.fconstant(d.ArgB())
	if !xok || !yok {
		return none, false
	}
	r := floatOps[d.Op](d.Type, x, y)
	if arith.IsNaN(d.Type, r) || !c.may(RuleFoldFloat) {
		return none, false
	}
	return c.fconst(d.Type, r), false
}

// ruleFcvt folds changes of the float type whose result is not a NaN.
func ruleFcvt(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, ok := c.fconstant(d.ArgA())
	if !ok {
		return none, false
	}
	r := arith.FloatBits(d.Type, arith.Float(c.f.TypeOf(d.ArgA()), x))
	if arith.IsNaN(d.Type, r) || !c.may(RuleFoldFcvt) {
		return none, false
	}
	return c.fconst(d.Type, r), false
}
