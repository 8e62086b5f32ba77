package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

// rule rewrites one instruction with one result. It returns the value that d
// equals, or NoValue; again says that d was changed in place and may fit
// another rule.
type rule func(c *folder, d *clif.InstData) (v clif.Value, again bool)

const none = clif.NoValue

// constResult is the result of a rule for the constant x.
func constResult(c *folder, t clif.Type, x uint64) (clif.Value, bool) { return c.iconst(t, x), false }

// eval computes an operation on constants; ok is false where it traps or gives a NaN, and for opcodes that are not here.
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
	case clif.OpUdiv, clif.OpSdiv, clif.OpUrem, clif.OpSrem:
		return w.evalDiv(op, t, x, y)
	default:
		r, ok = evalFloat(op, t, x, y)
		return r, ok && !arith.IsNaN(t, r)
	}
	return w.trunc(t, r), true
}

func evalFloat(op clif.Opcode, t clif.Type, x, y uint64) (r uint64, ok bool) {
	switch op {
	case clif.OpFadd:
		return arith.Fadd(t, x, y), true
	case clif.OpFsub:
		return arith.Fsub(t, x, y), true
	case clif.OpFmul:
		return arith.Fmul(t, x, y), true
	case clif.OpFdiv:
		return arith.Fdiv(t, x, y), true
	case clif.OpFpromote, clif.OpFdemote:
		return arith.FloatBits(t, arith.Float(clif.F32+clif.F64-t, x)), true
	}
	return 0, false
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

// isPow2 reports whether y is a power of two.
func isPow2(y uint64) bool { return y != 0 && y&(y-1) == 0 }

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

// extended returns how many bits an extension extends.
func (w widths) extended(op clif.Opcode) uint {
	switch op {
	case clif.OpSext8:
		return w.scaled(8)
	case clif.OpSext16:
		return w.scaled(16)
	case clif.OpSext32, clif.OpSextend, clif.OpUextend:
		return w.scaled(32)
	}
	panic(op.String() + " extends nothing")
}

// ruleUshr: rows, and carries.
func ruleUshr(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v, again := ruleRows(c, d); v != none || again {
		return v, again
	}
	if y, ok := c.constant(d.ArgB()); ok && y == uint64(c.bits(d.Type))-1 {
		return carryBits(c, d)
	}
	return none, false
}
