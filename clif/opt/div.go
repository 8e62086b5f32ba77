package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// Division by a constant becomes a multiplication by a scaled reciprocal, after
// Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication" (PLDI 1994). For 32 bits, 64-bit arithmetic has room for the whole
// product; for 64 bits umulhi and smulhi give its high half.

// magicU is the reciprocal of d (not 0, not a power of two) for 32-bit unsigned
// dividends x: x/d = x*m >> s with m <= 2^32; ok is false if m would need 33 bits.
func magicU(d uint32) (m uint64, s uint, ok bool) {
	l := uint(bits.Len32(d)) // 2^(l-1) < d < 2^l
	for s = 32; s < 32+l; s++ {
		// m = ceil(2^s/d) is exact enough if m*d - 2^s <= 2^(s-32).
		m = (1<<s + uint64(d) - 1) / uint64(d)
		if m <= 1<<32 && m*uint64(d)-1<<s <= 1<<(s-32) {
			return m, s, true
		}
	}
	return 0, 0, false
}

// magicU32High is m such that x/d is the high half of x*m for 32-bit x: with
// m = floor(2^64/d) + 1 = (2^64 + e)/d, 0 < e <= d, that is floor(x/d + x*e/(d*2^64)), and x*e < 2^64.
func magicU32High(d uint32) uint64 {
	m, _ := bits.Div64(1, 0, uint64(d))
	return m + 1
}

// udiv32 is x/k for a constant k that is neither 0 nor a power of two.
func (c *folder) udiv32(x clif.Value, k uint32) clif.Value {
	const t = clif.I64
	wide := c.unary(clif.OpUextend, t, x)
	m, s, ok := magicU(k)
	if !ok {
		return c.unary(clif.OpIreduce, clif.I32, c.binary(clif.OpUmulhi, t, wide, c.iconst(t, magicU32High(k))))
	}
	p := c.binary(clif.OpImul, t, wide, c.iconst(t, m))
	return c.unary(clif.OpIreduce, clif.I32, c.binary(clif.OpUshr, t, p, c.iconst(t, uint64(s))))
}

// magicU64 is pre, m and s such that x/d is the high half of (x>>pre)*m, shifted right by s, for
// 64-bit unsigned dividends and d neither 0 nor a power of two. If long, m has 65 bits, of which the
// lowest 64 are returned.
//
// With m = (2^(64+s) + e)/d, 0 < e <= d, the result is floor(x/d + x*e/(d*2^(64+s))), which is x/d if
// e <= 2^s, as x < 2^64; after a shift by pre, if e <= 2^(s+pre).
func magicU64(d uint64) (pre uint, m uint64, s uint, long bool) {
	for _, pre = range [...]uint{0, uint(bits.TrailingZeros64(d))} {
		odd := d >> pre
		for s = 0; s < 64 && 1<<s < odd; s++ {
			q, r := bits.Div64(1<<s, 0, odd)
			if s+pre >= 64 || odd-r <= 1<<(s+pre) {
				return pre, q + 1, s, false
			}
		}
	}
	// d is odd. For 2^(s-1) < d < 2^s, m - 2^64 is floor(2^64*(2^s - d)/d) + 1.
	s = uint(bits.Len64(d))
	m, _ = bits.Div64(1<<(s-1)-d+1<<(s-1), 0, d)
	return 0, m + 1, s, true
}

// udiv64 is x/k for a constant k that is neither 0 nor a power of two.
func (c *folder) udiv64(x clif.Value, k uint64) clif.Value {
	const t = clif.I64
	shr := func(x clif.Value, by uint) clif.Value {
		if by == 0 {
			return x
		}
		return c.binary(clif.OpUshr, t, x, c.iconst(t, uint64(by)))
	}
	pre, m, s, long := magicU64(k)
	h := c.binary(clif.OpUmulhi, t, shr(x, pre), c.iconst(t, m))
	if !long {
		return shr(h, s)
	}
	// (h + x) >> s = (h + (x-h)/2) >> (s-1), without overflow.
	half := shr(c.binary(clif.OpIsub, t, x, h), 1)
	return shr(c.binary(clif.OpIadd, t, half, h), s-1)
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

// magicS64 is m and s such that x/a, rounded down, is x*m >> (64+s) for 0 <= x < 2^63, and one less than
// x/a rounded towards zero for -2^63 <= x < 0; a is at least 3 and not a power of two.
//
// With m = (2^(64+s) + e)/a, 0 < e <= a, both hold if e <= 2^(s+1), as |x| <= 2^63. m may be 2^63 or more.
func magicS64(a uint64) (m uint64, s uint) {
	for ; ; s++ {
		q, r := bits.Div64(1<<s, 0, a)
		if a-r <= 2<<s {
			return q + 1, s
		}
	}
}

// sdiv64 is x/k for a constant k whose magnitude is at least 3 and not a power of two.
func (c *folder) sdiv64(x clif.Value, k int64) clif.Value {
	const t = clif.I64
	m, s := magicS64(uint64(max(k, -k)))
	q := c.binary(clif.OpSmulhi, t, x, c.iconst(t, m))
	if int64(m) < 0 { // as a signed number it is 2^64 less
		q = c.binary(clif.OpIadd, t, q, x)
	}
	if s > 0 {
		q = c.binary(clif.OpSshr, t, q, c.iconst(t, uint64(s)))
	}
	sign := c.binary(clif.OpSshr, t, x, c.iconst(t, 63))
	if k < 0 {
		return c.binary(clif.OpIsub, t, sign, q)
	}
	return c.binary(clif.OpIsub, t, q, sign)
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
		switch {
		case y&(y-1) == 0:
		case t == clif.I32:
			return c.udiv32(x, uint32(y))
		default:
			return c.udiv64(x, y)
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
		default:
			return c.sdiv64(x, k)
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
