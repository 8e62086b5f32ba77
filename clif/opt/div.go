package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// Division by a constant becomes a multiplication by a scaled reciprocal, after
// Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication" (PLDI 1994). For 32 bits, 64-bit arithmetic has room for the whole
// product, so that shifts and one addition suffice.

// magicU is the reciprocal of d (not 0, not a power of two) for 32-bit unsigned
// dividends x: x/d = x*m >> s if m fits in 32 bits; otherwise m has 33 bits, s is 32
// or more, and long is true.
func magicU(d uint32) (m uint64, s uint, long bool) {
	l := uint(bits.Len32(d)) // 2^(l-1) < d < 2^l
	for s = 32; s < 32+l; s++ {
		// m = ceil(2^s/d) is exact enough if m*d - 2^s <= 2^(s-32).
		m = (1<<s + uint64(d) - 1) / uint64(d)
		if m <= 1<<32 && m*uint64(d)-1<<s <= 1<<(s-32) {
			return m, s, false
		}
	}
	// ceil(2^(32+l)/d): 2^(32+l) may not fit in 64 bits, 2^(32+l) - 2^32*d does.
	rest := (1<<l - uint64(d)) << 32
	return 1<<32 + (rest+uint64(d)-1)/uint64(d), 32 + l, true
}

// udiv32 is x/k for a constant k that is neither 0 nor a power of two.
func (c *folder) udiv32(x clif.Value, k uint32) clif.Value {
	const t = clif.I64
	m, s, long := magicU(k)
	wide := c.unary(clif.OpUextend, t, x)
	if !long {
		p := c.binary(clif.OpImul, t, wide, c.iconst(t, m))
		return c.unary(clif.OpIreduce, clif.I32, c.binary(clif.OpUshr, t, p, c.iconst(t, uint64(s))))
	}
	// x*m >> s = (x + (x*(m-2^32) >> 32)) >> (s-32), without overflow.
	p := c.binary(clif.OpImul, t, wide, c.iconst(t, m-1<<32))
	p = c.binary(clif.OpIadd, t, c.binary(clif.OpUshr, t, p, c.iconst(t, 32)), wide)
	return c.unary(clif.OpIreduce, clif.I32, c.binary(clif.OpUshr, t, p, c.iconst(t, uint64(s-32))))
}

// magicS is m and s such that x/d, rounded down, is x*m >> s for 0 <= x < 2^31,
// and one more than that for -2^31 <= x < 0 rounded towards zero. d is at
// least 3 and not a power of two.
func magicS(d uint32) (m uint64, s uint) {
	for s = 31; ; s++ {
		m = 1<<s/uint64(d) + 1
		// The error m*d - 2^s, times 2^31, must stay below 2^s.
		if (m*uint64(d)-1<<s)<<31 < 1<<s {
			return m, s
		}
	}
}

// sdiv32 is x/k for a constant k whose magnitude is at least 3 and not a power of two.
func (c *folder) sdiv32(x clif.Value, k int32) clif.Value {
	const t = clif.I64
	d := uint32(max(k, -k))
	m, s := magicS(d)
	wide := c.unary(clif.OpSextend, t, x)
	q := c.binary(clif.OpSshr, t, c.binary(clif.OpImul, t, wide, c.iconst(t, m)), c.iconst(t, uint64(s)))
	sign := c.binary(clif.OpSshr, t, wide, c.iconst(t, 63))
	if k < 0 {
		q = c.binary(clif.OpIsub, t, sign, q)
	} else {
		q = c.binary(clif.OpIsub, t, q, sign)
	}
	return c.unary(clif.OpIreduce, clif.I32, q)
}

// sdivPow2 is x / 2^k of type t, 1 <= k < bits-1: negative dividends get 2^k-1
// added, to round towards zero.
func (c *folder) sdivPow2(t clif.Type, x clif.Value, k uint) clif.Value {
	n := uint(t.Bits())
	sign := c.binary(clif.OpSshr, t, x, c.iconst(t, uint64(n-1)))
	bias := c.binary(clif.OpUshr, t, sign, c.iconst(t, uint64(n-k)))
	return c.binary(clif.OpSshr, t, c.binary(clif.OpIadd, t, x, bias), c.iconst(t, uint64(k)))
}

// quotient is x/y for the division or remainder d with the constant divisor y, or
// none where the machine's division has to do.
func (c *folder) quotient(d *clif.InstData, y uint64) clif.Value {
	t, x := d.Type, d.ArgA()
	switch d.Op {
	case clif.OpUdiv, clif.OpUrem:
		if t == clif.I32 && y > 2 && y&(y-1) != 0 {
			return c.udiv32(x, uint32(y))
		}
	case clif.OpSdiv, clif.OpSrem:
		k := signed(t, y)
		mag := uint64(max(k, -k))
		switch {
		case mag < 2 || k == -k:
		case mag&(mag-1) == 0:
			q := c.sdivPow2(t, x, uint(bits.TrailingZeros64(mag)))
			if k < 0 {
				q = c.binary(clif.OpIsub, t, c.iconst(t, 0), q)
			}
			return q
		case t == clif.I32:
			return c.sdiv32(x, int32(k))
		}
	}
	return none
}

func divConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	return c.quotient(d, y), false
}

// remConst: x - x/y*y.
func remConst(c *folder, d *clif.InstData, y uint64) (clif.Value, bool) {
	q := c.quotient(d, y)
	if q == none {
		return none, false
	}
	p := c.binary(clif.OpImul, d.Type, q, c.iconst(d.Type, y))
	return c.binary(clif.OpIsub, d.Type, d.ArgA(), p), false
}
