package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// rule rewrites one instruction with one result. It returns the value that d
// equals, or NoValue; again says that d was changed in place and may fit
// another rule.
type rule func(c *folder, d *clif.InstData) (v clif.Value, again bool)

const none = clif.NoValue

// constResult is the result of a rule for the constant x.
func constResult(c *folder, t clif.Type, x uint64) (clif.Value, bool) { return c.iconst(t, x), false }

// constLeft reports whether the left operand of d is a constant and the right one is not.
func (c *folder) constLeft(d *clif.InstData) bool {
	if _, ok := c.constant(d.ArgA()); !ok {
		return false
	}
	_, ok := c.constant(d.ArgB())
	return !ok
}

// eval computes an integer operation on constants; ok is false where it traps.
func (w widths) eval(op clif.Opcode, t clif.Type, x, y uint64) (r uint64, ok bool) {
	n := uint64(w.bits(t))
	switch op {
	case clif.OpIadd:
		r = x + y
	case clif.OpIsub:
		r = x - y
	case clif.OpImul:
		r = x * y
	case clif.OpUmulhi:
		r = w.mulHigh(x, y)
	case clif.OpSmulhi:
		r = w.mulHigh(x, y) - uint64(w.signed(t, x)>>63)&y - uint64(w.signed(t, y)>>63)&x
	case clif.OpBand:
		r = x & y
	case clif.OpBor:
		r = x | y
	case clif.OpBxor:
		r = x ^ y
	case clif.OpIshl:
		r = x << (y % n)
	case clif.OpUshr:
		r = x >> (y % n)
	case clif.OpSshr:
		r = uint64(w.signed(t, x) >> (y % n))
	case clif.OpRotl:
		r = x<<(y%n) | x>>(n-y%n)
	case clif.OpRotr:
		r = x>>(y%n) | x<<(n-y%n)
	default:
		return w.evalDiv(op, t, x, y)
	}
	return w.trunc(t, r), true
}

func (w widths) evalDiv(op clif.Opcode, t clif.Type, x, y uint64) (uint64, bool) {
	if y == 0 {
		return 0, false
	}
	a, b := w.signed(t, x), w.signed(t, y)
	switch op {
	case clif.OpUdiv:
		return x / y, true
	case clif.OpUrem:
		return x % y, true
	case clif.OpSdiv:
		if b == -1 {
			return w.trunc(t, uint64(-a)), x != 1<<(w.bits(t)-1)
		}
		return w.trunc(t, uint64(a/b)), true
	}
	if b == -1 {
		return 0, true
	}
	return w.trunc(t, uint64(a%b)), true
}

// ruleBinary folds constants, moves them right, and applies the identities of
// the opcode.
func ruleBinary(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, xok := c.constant(d.ArgA())
	y, yok := c.constant(d.ArgB())
	if xok && yok {
		if r, ok := c.eval(d.Op, d.Type, x, y); ok && c.may(RuleFoldInt) {
			return constResult(c, d.Type, r)
		}
		return none, false
	}
	if d.Op.Info().Commutative && c.constLeft(d) && c.may(RuleConstRight) {
		d.Args[0], d.Args[1] = d.Args[1], d.Args[0]
		return none, true
	}
	if yok {
		if id := rightIdentities[d.Op]; id != nil {
			if v, again := id(c, d, y); v != none || again {
				return v, again
			}
		}
	}
	if d.Args[0] == d.Args[1] {
		switch d.Op {
		case clif.OpIsub, clif.OpBxor:
			if c.may(RuleSameZero) {
				return constResult(c, d.Type, 0)
			}
		case clif.OpBand, clif.OpBor:
			if c.may(RuleSameFirst) {
				return d.ArgA(), false
			}
		}
	}
	return none, false
}

// rightIdentities handle a constant right operand.
var rightIdentities = [clif.NumOpcodes]func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool){
	clif.OpIadd: addConst, clif.OpIsub: subConst, clif.OpImul: mulConst,
	clif.OpUdiv: udivConst, clif.OpSdiv: sdivConst, clif.OpSrem: sremConst, clif.OpUrem: uremConst,
	clif.OpBand: andConst, clif.OpBor: orConst, clif.OpBxor: xorConst,
	clif.OpIshl: shiftConst, clif.OpUshr: shiftConst, clif.OpSshr: shiftConst,
	clif.OpRotl: shiftConst, clif.OpRotr: shiftConst,
}

// isPow2 reports whether y is a power of two.
func isPow2(y uint64) bool { return y != 0 && y&(y-1) == 0 }

// reassociate: (x op k1) op k2 => x op (k1 op k2).
func reassociate(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	in := c.defOp(d.ArgA(), d.Op)
	if in == nil || in.Type != d.Type {
		return none, false
	}
	k, ok := c.constant(in.ArgB())
	if !ok || !c.may(RuleReassociate) {
		return none, false
	}
	a := in.Args[0]
	r, _ := c.eval(d.Op, d.Type, k, y)
	d.Args[0], d.Args[1] = a, uint32(c.iconst(d.Type, r))
	return none, true
}

func addConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	if y == 0 && c.may(RuleAddZero) {
		return d.ArgA(), false
	}
	return reassociate(c, d, y)
}

func subConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	if !c.may(RuleSubConst) {
		return none, false
	}
	d.Op, d.Args[1] = clif.OpIadd, uint32(c.iconst(d.Type, -y))
	return none, true
}

func mulConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	switch {
	case y == 0 && c.may(RuleMulZero):
		return d.ArgB(), false
	case y == 1 && c.may(RuleMulOne):
		return d.ArgA(), false
	case y == c.allOnes(d.Type) && c.may(RuleMulMinusOne):
		d.Op, d.Args[1] = clif.OpIsub, d.Args[0]
		d.Args[0] = uint32(c.iconst(d.Type, 0))
		return none, true
	case isPow2(y) && c.may(RuleMulPow2):
		d.Op, d.Args[1] = clif.OpIshl, uint32(c.iconst(d.Type, uint64(bits.TrailingZeros64(y))))
		return none, true
	}
	return reassociate(c, d, y)
}

// andConst: masks, and a mask of a value that is zero outside it.
func andConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	switch {
	case y == 0 && c.may(RuleAndZero):
		return d.ArgB(), false
	case y == c.allOnes(d.Type) && c.may(RuleAndOnes):
		return d.ArgA(), false
	case c.mayBeOne(d.ArgA(), 0)&^y == 0 && c.may(RuleAndKnown):
		return d.ArgA(), false
	case d.Type == clif.I64 && y == c.allOnes(clif.I32) && c.may(RuleAndLowHalf):
		d.Op, d.Args[0], d.Args[1] = clif.OpUextend, uint32(c.unary(clif.OpIreduce, clif.I32, d.ArgA())), 0
		return none, true
	}
	return reassociate(c, d, y)
}

func orConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	switch {
	case y == 0 && c.may(RuleOrZero):
		return d.ArgA(), false
	case y == c.allOnes(d.Type) && c.may(RuleOrOnes):
		return d.ArgB(), false
	}
	return reassociate(c, d, y)
}

func xorConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	switch {
	case y == 0 && c.may(RuleXorZero):
		return d.ArgA(), false
	case y == c.allOnes(d.Type) && invert(c, d):
		return none, true
	}
	return reassociate(c, d, y)
}

// invert makes d, which inverts all bits, a sum with a constant, since ^x is -1 - x: ^(k - x) is x + ^k, and ^((x ^ k) + m) is
// (x ^ ^k) - m.
func invert(c *folder, d *clif.InstData) bool {
	if in := c.defOp(d.ArgA(), clif.OpIsub); in != nil {
		k, ok := c.constant(in.ArgA())
		if !ok || !c.may(RuleNotSub) {
			return false
		}
		d.Op, d.Args[0], d.Args[1] = clif.OpIadd, in.Args[1], uint32(c.iconst(d.Type, ^k))
		return true
	}
	sum := c.defOp(d.ArgA(), clif.OpIadd)
	if sum == nil {
		return false
	}
	xor := c.defOp(sum.ArgA(), clif.OpBxor)
	if xor == nil {
		return false
	}
	k, isConst := c.constant(xor.ArgB())
	m, ok := c.constant(sum.ArgB())
	if !isConst || !ok || !c.may(RuleNotAdd) {
		return false
	}
	x := c.binary(clif.OpBxor, d.Type, xor.ArgA(), c.iconst(d.Type, ^k))
	d.Op, d.Args[0], d.Args[1] = clif.OpIadd, uint32(x), uint32(c.iconst(d.Type, -m))
	return true
}

// mayBeOne returns a mask of the bits of v that are not known to be zero.
func (c *folder) mayBeOne(v clif.Value, depth int) uint64 {
	t := c.f.TypeOf(v)
	in := c.def(v)
	if in == nil || depth > 3 {
		return c.allOnes(t)
	}
	switch in.Op {
	case clif.OpIconst:
		return in.Imm
	case clif.OpIcmp, clif.OpFcmp, clif.OpRefIsNull, clif.OpVanyTrue, clif.OpVallTrue:
		return 1
	case clif.OpVbitmask:
		return c.trunc(clif.I32, 1<<in.Type.Lanes()-1)
	case clif.OpVextract:
		if t == clif.I32 {
			return 1<<c.scaled(uint(in.Type.LaneBits())) - 1
		}
	case clif.OpLoad:
		if a := in.Access(); a == clif.U8 || a == clif.U16 || a == clif.U32 {
			return 1<<c.scaled(uint(8*a.Bytes(t))) - 1
		}
	case clif.OpUextend:
		return c.mayBeOne(in.ArgA(), depth+1)
	case clif.OpIreduce:
		return c.trunc(clif.I32, c.mayBeOne(in.ArgA(), depth+1))
	case clif.OpClz, clif.OpCtz, clif.OpPopcnt:
		return 2*uint64(c.bits(clif.I64)) - 1
	case clif.OpSelect:
		return c.mayBeOne(in.ArgB(), depth+1) | c.mayBeOne(in.ArgC(), depth+1)
	case clif.OpBand:
		return c.mayBeOne(in.ArgA(), depth+1) & c.mayBeOne(in.ArgB(), depth+1)
	case clif.OpBor, clif.OpBxor:
		return c.mayBeOne(in.ArgA(), depth+1) | c.mayBeOne(in.ArgB(), depth+1)
	case clif.OpUshr:
		if k, ok := c.constant(in.ArgB()); ok {
			return c.mayBeOne(in.ArgA(), depth+1) >> (k % uint64(c.bits(t)))
		}
	case clif.OpIshl:
		if k, ok := c.constant(in.ArgB()); ok {
			return c.trunc(t, c.mayBeOne(in.ArgA(), depth+1)<<(k%uint64(c.bits(t))))
		}
	}
	return c.allOnes(t)
}

// shiftConst reduces the amount, and finds sign extensions written as shifts.
func shiftConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	n := uint64(c.bits(d.Type))
	switch {
	case y%n == 0 && c.may(RuleShiftZero):
		return d.ArgA(), false
	case y >= n && c.may(RuleShiftFar):
		d.Args[1] = uint32(c.iconst(d.Type, y%n))
		return none, true
	case d.Op == clif.OpUshr && y == n-1:
		return carryBits(c, d)
	case d.Op != clif.OpSshr || y == 0 || y >= n:
		return none, false
	}
	in := c.defOp(d.ArgA(), clif.OpIshl)
	if in == nil {
		return none, false
	}
	if k, ok := c.constant(in.ArgB()); !ok || k != y {
		return none, false
	}
	for _, op := range [...]clif.Opcode{clif.OpSext8, clif.OpSext16, clif.OpSext32} {
		if n-y == uint64(c.extended(op)) && c.may(RuleShiftExtend) {
			*d = clif.InstData{Op: op, Type: d.Type, Args: [3]uint32{in.Args[0]}, Result: d.Result, NumResults: d.NumResults}
			return none, true
		}
	}
	return none, false
}

// extended returns how many bits a sign extension extends.
func (w widths) extended(op clif.Opcode) uint {
	switch op {
	case clif.OpSext8:
		return w.scaled(8)
	case clif.OpSext16:
		return w.scaled(16)
	}
	return w.scaled(32)
}

// ruleShift drops masks of the amount that the shift implies.
func ruleShift(c *folder, d *clif.InstData) (clif.Value, bool) {
	if m := c.defOp(d.ArgB(), clif.OpBand); m != nil {
		n := uint64(c.bits(d.Type))
		if k, ok := c.constant(m.ArgB()); ok && k&(n-1) == n-1 && c.may(RuleShiftMask) {
			d.Args[1] = m.Args[0]
			return none, true
		}
	}
	return ruleBinary(c, d)
}
