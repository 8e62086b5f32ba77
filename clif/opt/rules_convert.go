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
	rows := rows()
	for op := range clif.NumOpcodes {
		switch {
		case arith.IsVector(op) && op != clif.OpVconst:
			r[op] = ruleVector
		case rows.byOp[op].num > 0:
			r[op] = ruleRows
		}
	}
	r[clif.OpIadd], r[clif.OpBor], r[clif.OpImul], r[clif.OpUshr] = ruleAdd, ruleAdd, ruleMul, ruleUshr
	r[clif.OpLoad] = ruleLoad
	r[clif.OpMemorySize] = ruleSize
	r[clif.OpTableSize] = ruleSize
	r[clif.OpGlobalGet] = ruleGlobal
	r[clif.OpTableGet] = ruleEntry
	r[clif.OpStructGet], r[clif.OpStructGetS], r[clif.OpStructGetU] = ruleField, ruleField, ruleField
	r[clif.OpRefIsNull] = ruleIsNull
	r[clif.OpRefTest], r[clif.OpArrayLen] = ruleRefTest, ruleArrayLen
	return r
}

// countBits is what d, a clz, ctz or popcnt, gives for x.
func (w widths) countBits(d *clif.InstData, x uint64) uint64 {
	n := int(w.bits(d.Type))
	switch d.Op {
	case clif.OpClz:
		return uint64(bits.LeadingZeros64(x) - 64 + n)
	case clif.OpCtz:
		return uint64(min(bits.TrailingZeros64(x), n))
	}
	return uint64(bits.OnesCount64(x))
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

// unsignedCC is, by condition on zero-extended numbers, the equivalent condition on the 32-bit
// numbers themselves.
var unsignedCC = [clif.NumIntCCs]clif.IntCC{
	clif.Eq: clif.Eq, clif.Ne: clif.Ne, clif.Slt: clif.Ult, clif.Sge: clif.Uge, clif.Sgt: clif.Ugt, clif.Sle: clif.Ule,
	clif.Ult: clif.Ult, clif.Uge: clif.Uge, clif.Ugt: clif.Ugt, clif.Ule: clif.Ule,
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

func (c *folder) fconst(t clif.Type, x uint64) clif.Value {
	return c.make1(clif.InstData{Op: clif.OpFconst, Type: t, Imm: x}, t)
}
