package opt

import (
	"math"
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// rule rewrites one instruction with one result. It returns the value that d
// equals, or NoValue; again says that d was changed in place and may fit
// another rule.
type rule func(c *folder, d *clif.InstData) (v clif.Value, again bool)

const none = clif.NoValue

func trunc(t clif.Type, x uint64) uint64 {
	if t == clif.I32 {
		return uint64(uint32(x))
	}
	return x
}

// signed is x as a signed number of type t.
func signed(t clif.Type, x uint64) int64 {
	if t == clif.I32 {
		return int64(int32(x))
	}
	return int64(x)
}

func allOnes(t clif.Type) uint64 { return trunc(t, ^uint64(0)) }

// constResult is what a rule returns to say "this is x".
func constResult(c *folder, t clif.Type, x uint64) (clif.Value, bool) { return c.iconst(t, x), false }

// swapConst puts a constant left operand of a commutative instruction right.
func swapConst(c *folder, d *clif.InstData) bool {
	if _, ok := c.constant(d.ArgA()); !ok {
		return false
	}
	if _, ok := c.constant(d.ArgB()); ok {
		return false
	}
	d.A, d.B = d.B, d.A
	return true
}

// eval computes an integer operation on constants; ok is false where it traps.
func eval(op clif.Opcode, t clif.Type, x, y uint64) (r uint64, ok bool) {
	n := uint64(t.Bits())
	switch op {
	case clif.OpIadd:
		r = x + y
	case clif.OpIsub:
		r = x - y
	case clif.OpImul:
		r = x * y
	case clif.OpUmulhi:
		r, _ = bits.Mul64(x, y)
	case clif.OpSmulhi:
		r, _ = bits.Mul64(x, y)
		r -= uint64(int64(x)>>63)&y + uint64(int64(y)>>63)&x
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
		r = uint64(signed(t, x) >> (y % n))
	case clif.OpRotl, clif.OpRotr:
		k := int(y % n)
		if op == clif.OpRotr {
			k = -k
		}
		if t == clif.I32 {
			return uint64(bits.RotateLeft32(uint32(x), k)), true
		}
		return bits.RotateLeft64(x, k), true
	default:
		return evalDiv(op, t, x, y)
	}
	return trunc(t, r), true
}

func evalDiv(op clif.Opcode, t clif.Type, x, y uint64) (uint64, bool) {
	if y == 0 {
		return 0, false
	}
	a, b := signed(t, x), signed(t, y)
	switch op {
	case clif.OpUdiv:
		return x / y, true
	case clif.OpUrem:
		return x % y, true
	case clif.OpSdiv:
		if b == -1 {
			return trunc(t, uint64(-a)), x != 1<<(t.Bits()-1)
		}
		return trunc(t, uint64(a/b)), true
	}
	if b == -1 {
		return 0, true
	}
	return trunc(t, uint64(a%b)), true
}

// ruleBinary folds constants, moves them right, and applies the identities of
// the opcode.
func ruleBinary(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, xok := c.constant(d.ArgA())
	y, yok := c.constant(d.ArgB())
	if xok && yok {
		if r, ok := eval(d.Op, d.Type, x, y); ok {
			return constResult(c, d.Type, r)
		}
		return none, false
	}
	if d.Op.Info().Commutative && swapConst(c, d) {
		return none, true
	}
	if yok {
		if id := rightIdentities[d.Op]; id != nil {
			if v, again := id(c, d, y); v != none || again {
				return v, again
			}
		}
	}
	if d.A == d.B {
		if same := sameOperands[d.Op]; same != nil {
			return same(c, d)
		}
	}
	return none, false
}

// rightIdentities handle a constant right operand.
var rightIdentities = [clif.NumOpcodes]func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool){
	clif.OpIadd: addConst,
	clif.OpIsub: func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
		d.Op, d.B = clif.OpIadd, uint32(c.iconst(d.Type, -y))
		return none, true
	},
	clif.OpImul: mulConst,
	clif.OpUdiv: func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
		switch {
		case y == 1:
			return d.ArgA(), false
		case y != 0 && y&(y-1) == 0:
			d.Op, d.B = clif.OpUshr, uint32(c.iconst(d.Type, uint64(bits.TrailingZeros64(y))))
			return none, true
		}
		return divConst(c, d, y)
	},
	clif.OpSdiv: func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
		if y == 1 {
			return d.ArgA(), false
		}
		return divConst(c, d, y)
	},
	clif.OpSrem: remConst,
	clif.OpUrem: func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
		if y != 0 && y&(y-1) == 0 {
			d.Op, d.B = clif.OpBand, uint32(c.iconst(d.Type, y-1))
			return none, true
		}
		return remConst(c, d, y)
	},
	clif.OpBand: andConst,
	clif.OpBor: func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
		switch y {
		case 0:
			return d.ArgA(), false
		case allOnes(d.Type):
			return d.ArgB(), false
		}
		return reassociate(c, d, y)
	},
	clif.OpBxor: func(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
		if y == 0 {
			return d.ArgA(), false
		}
		return reassociate(c, d, y)
	},
	clif.OpIshl: shiftConst, clif.OpUshr: shiftConst, clif.OpSshr: shiftConst,
	clif.OpRotl: shiftConst, clif.OpRotr: shiftConst,
}

// reassociate: (x op k1) op k2 => x op (k1 op k2).
func reassociate(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	in := c.defOp(d.ArgA(), d.Op)
	if in == nil || in.Type != d.Type {
		return none, false
	}
	k, ok := c.constant(in.ArgB())
	if !ok {
		return none, false
	}
	a := in.A
	r, _ := eval(d.Op, d.Type, k, y)
	d.A, d.B = a, uint32(c.iconst(d.Type, r))
	return none, true
}

func addConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	if y == 0 {
		return d.ArgA(), false
	}
	return reassociate(c, d, y)
}

func mulConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	switch {
	case y == 0:
		return d.ArgB(), false
	case y == 1:
		return d.ArgA(), false
	case y == allOnes(d.Type):
		d.Op, d.B = clif.OpIsub, d.A
		d.A = uint32(c.iconst(d.Type, 0))
		return none, true
	case y&(y-1) == 0:
		d.Op, d.B = clif.OpIshl, uint32(c.iconst(d.Type, uint64(bits.TrailingZeros64(y))))
		return none, true
	}
	return reassociate(c, d, y)
}

// andConst: masks, and a mask of a value that is zero outside it.
func andConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	switch y {
	case 0:
		return d.ArgB(), false
	case allOnes(d.Type):
		return d.ArgA(), false
	}
	if c.mayBeOne(d.ArgA(), 0)&^y == 0 {
		return d.ArgA(), false
	}
	if d.Type == clif.I64 && y == math.MaxUint32 {
		d.Op, d.A, d.B = clif.OpUextend, uint32(c.unary(clif.OpIreduce, clif.I32, d.ArgA())), 0
		return none, true
	}
	return reassociate(c, d, y)
}

// mayBeOne is a mask of the bits of v that are not known to be zero.
func (c *folder) mayBeOne(v clif.Value, depth int) uint64 {
	t := c.f.TypeOf(v)
	in := c.def(v)
	if in == nil || depth > 3 {
		return allOnes(t)
	}
	switch in.Op {
	case clif.OpIconst:
		return in.Imm
	case clif.OpIcmp, clif.OpFcmp, clif.OpRefIsNull:
		return 1
	case clif.OpLoad:
		if a := in.Access(); a == clif.U8 || a == clif.U16 || a == clif.U32 {
			return 1<<(8*a.Bytes(t)) - 1
		}
	case clif.OpUextend:
		return c.mayBeOne(in.ArgA(), depth+1)
	case clif.OpIreduce:
		return uint64(uint32(c.mayBeOne(in.ArgA(), depth+1)))
	case clif.OpClz, clif.OpCtz, clif.OpPopcnt:
		return 0x7F
	case clif.OpSelect:
		return c.mayBeOne(in.ArgB(), depth+1) | c.mayBeOne(in.ArgC(), depth+1)
	case clif.OpBand:
		return c.mayBeOne(in.ArgA(), depth+1) & c.mayBeOne(in.ArgB(), depth+1)
	case clif.OpBor, clif.OpBxor:
		return c.mayBeOne(in.ArgA(), depth+1) | c.mayBeOne(in.ArgB(), depth+1)
	case clif.OpUshr:
		if k, ok := c.constant(in.ArgB()); ok {
			return c.mayBeOne(in.ArgA(), depth+1) >> (k % uint64(t.Bits()))
		}
	case clif.OpIshl:
		if k, ok := c.constant(in.ArgB()); ok {
			return trunc(t, c.mayBeOne(in.ArgA(), depth+1)<<(k%uint64(t.Bits())))
		}
	}
	return allOnes(t)
}

// shiftConst reduces the amount, and finds sign extensions written as shifts.
func shiftConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	n := uint64(d.Type.Bits())
	if y%n == 0 {
		return d.ArgA(), false
	}
	if y >= n {
		d.B = uint32(c.iconst(d.Type, y%n))
		return none, true
	}
	if d.Op != clif.OpSshr {
		return none, false
	}
	in := c.defOp(d.ArgA(), clif.OpIshl)
	if in == nil {
		return none, false
	}
	if k, ok := c.constant(in.ArgB()); !ok || k != y {
		return none, false
	}
	var op clif.Opcode
	switch n - y {
	case 8:
		op = clif.OpSext8
	case 16:
		op = clif.OpSext16
	case 32:
		op = clif.OpSext32
	default:
		return none, false
	}
	*d = clif.InstData{Op: op, Type: d.Type, A: in.A, Result: d.Result, NumResults: d.NumResults}
	return none, true
}

// sameOperands handle x op x.
var sameOperands = [clif.NumOpcodes]rule{
	clif.OpIsub: zeroResult, clif.OpBxor: zeroResult,
	clif.OpBand: firstOperand, clif.OpBor: firstOperand,
}

func zeroResult(c *folder, d *clif.InstData) (clif.Value, bool) { return constResult(c, d.Type, 0) }

func firstOperand(_ *folder, d *clif.InstData) (clif.Value, bool) { return d.ArgA(), false }

// ruleShift drops masks of the amount that the shift implies.
func ruleShift(c *folder, d *clif.InstData) (clif.Value, bool) {
	if m := c.defOp(d.ArgB(), clif.OpBand); m != nil {
		n := uint64(d.Type.Bits())
		if k, ok := c.constant(m.ArgB()); ok && k&(n-1) == n-1 {
			d.B = m.A
			return none, true
		}
	}
	return ruleBinary(c, d)
}
