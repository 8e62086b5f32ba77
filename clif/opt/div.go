package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// Division by a constant becomes a multiplication by a scaled reciprocal, after
// Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication" (PLDI 1994). For 32 bits, 64-bit arithmetic has room for the whole
// product; for 64 bits umulhi and smulhi give its high half.

// magicU returns the reciprocal of d (not 0, not a power of two) for unsigned dividends x of n bits, n at most 32:
// x/d = x*m >> s with m <= 2^n; ok is false if m would need n+1 bits.
func magicU(d uint64, n uint) (m uint64, s uint, ok bool) {
	l := uint(bits.Len64(d)) // 2^(l-1) < d < 2^l
	for s = n; s < n+l; s++ {
		// m = ceil(2^s/d) is exact enough if m*d - 2^s <= 2^(s-n).
		m = (1<<s + d - 1) / d
		if m <= 1<<n && m*d-1<<s <= 1<<(s-n) {
			return m, s, true
		}
	}
	return 0, 0, false
}

// magicUHigh is m such that x/d is the high half of x*m for x of half the width of i64, say n of 2n bits: with
// m = floor(2^2n/d) + 1 = (2^2n + e)/d, 0 < e <= d, that is floor(x/d + x*e/(d*2^2n)), and x*e < 2^2n.
func (w widths) magicUHigh(d uint64) uint64 {
	m, _ := w.divHigh(1, d)
	return m + 1
}

// udivNarrow is x/k for an i32 x and a constant k that is neither 0 nor a power of two.
func (c *folder) udivNarrow(x clif.Value, k uint64) clif.Value {
	const t = clif.I64
	wide := c.unary(clif.OpUextend, t, x)
	m, s, ok := magicU(k, c.bits(clif.I32))
	if !ok {
		return c.unary(clif.OpIreduce, clif.I32, c.binary(clif.OpUmulhi, t, wide, c.iconst(t, c.magicUHigh(k))))
	}
	p := c.binary(clif.OpImul, t, wide, c.iconst(t, m))
	return c.unary(clif.OpIreduce, clif.I32, c.binary(clif.OpUshr, t, p, c.iconst(t, uint64(s))))
}

// magicUWide is pre, m and s such that x/d is the high half of (x>>pre)*m, shifted right by s, for
// unsigned dividends of n bits, the width of i64, and d neither 0 nor a power of two. If long, m has n+1 bits, of
// which the lowest n are returned.
//
// With m = (2^(n+s) + e)/d, 0 < e <= d, the result is floor(x/d + x*e/(d*2^(n+s))), which is x/d if
// e <= 2^s, as x < 2^n; after a shift by pre, if e <= 2^(s+pre).
func (w widths) magicUWide(d uint64) (pre uint, m uint64, s uint, long bool) {
	n := w.bits(clif.I64)
	for _, pre = range [...]uint{0, uint(bits.TrailingZeros64(d))} {
		odd := d >> pre
		for s = 0; s < n && 1<<s < odd; s++ {
			q, r := w.divHigh(1<<s, odd)
			if s+pre >= n || odd-r <= 1<<(s+pre) {
				return pre, q + 1, s, false
			}
		}
	}
	// d is odd. For 2^(s-1) < d < 2^s, m - 2^n is floor(2^n*(2^s - d)/d) + 1.
	s = uint(bits.Len64(d))
	m, _ = w.divHigh(1<<(s-1)-d+1<<(s-1), d)
	return 0, m + 1, s, true
}

// udivWide is x/k for an i64 x and a constant k that is neither 0 nor a power of two.
func (c *folder) udivWide(x clif.Value, k uint64) clif.Value {
	const t = clif.I64
	shr := func(x clif.Value, by uint) clif.Value {
		if by == 0 {
			return x
		}
		return c.binary(clif.OpUshr, t, x, c.iconst(t, uint64(by)))
	}
	pre, m, s, long := c.magicUWide(k)
	h := c.binary(clif.OpUmulhi, t, shr(x, pre), c.iconst(t, m))
	if !long {
		return shr(h, s)
	}
	// (h + x) >> s = (h + (x-h)/2) >> (s-1), without overflow.
	half := shr(c.binary(clif.OpIsub, t, x, h), 1)
	return shr(c.binary(clif.OpIadd, t, half, h), s-1)
}

// magicS is m and s such that x/d, rounded down, is x*m >> s for 0 <= x < 2^(n-1), n at most 32,
// and one more than that for -2^(n-1) <= x < 0 rounded towards zero. d is at
// least 3 and not a power of two.
func magicS(d uint64, n uint) (m uint64, s uint) {
	for s = n - 1; ; s++ {
		m = 1<<s/d + 1
		// The error m*d - 2^s, times 2^(n-1), must stay below 2^s.
		if (m*d-1<<s)<<(n-1) < 1<<s {
			return m, s
		}
	}
}

// sdivNarrow is x/k for an i32 x and a constant k whose magnitude is at least 3 and not a power of two.
func (c *folder) sdivNarrow(x clif.Value, k int64) clif.Value {
	const t = clif.I64
	m, s := magicS(uint64(max(k, -k)), c.bits(clif.I32))
	wide := c.unary(clif.OpSextend, t, x)
	q := c.binary(clif.OpSshr, t, c.binary(clif.OpImul, t, wide, c.iconst(t, m)), c.iconst(t, uint64(s)))
	return c.unary(clif.OpIreduce, clif.I32, c.towardsZero(q, wide, k))
}

// towardsZero corrects q, the i64 quotient of x and the magnitude of k rounded down, to x/k rounded towards zero.
func (c *folder) towardsZero(q, x clif.Value, k int64) clif.Value {
	const t = clif.I64
	sign := c.binary(clif.OpSshr, t, x, c.iconst(t, uint64(c.bits(t)-1)))
	if k < 0 {
		return c.binary(clif.OpIsub, t, sign, q)
	}
	return c.binary(clif.OpIsub, t, q, sign)
}

// magicSWide is m and s such that x/a, rounded down, is x*m >> (n+s) for 0 <= x < 2^(n-1), and one less than
// x/a rounded towards zero for -2^(n-1) <= x < 0, where n is the width of i64; a is at least 3 and not a power of two.
//
// With m = (2^(n+s) + e)/a, 0 < e <= a, both hold if e <= 2^(s+1), as |x| <= 2^(n-1). m may be 2^(n-1) or more.
func (w widths) magicSWide(a uint64) (m uint64, s uint) {
	for ; ; s++ {
		q, r := w.divHigh(1<<s, a)
		if a-r <= 2<<s {
			return q + 1, s
		}
	}
}

// sdivWide is x/k for an i64 x and a constant k whose magnitude is at least 3 and not a power of two.
func (c *folder) sdivWide(x clif.Value, k int64) clif.Value {
	const t = clif.I64
	m, s := c.magicSWide(uint64(max(k, -k)))
	q := c.binary(clif.OpSmulhi, t, x, c.iconst(t, m))
	if c.signed(t, m) < 0 { // m as a signed number is 2^64 less
		q = c.binary(clif.OpIadd, t, q, x)
	}
	if s > 0 {
		q = c.binary(clif.OpSshr, t, q, c.iconst(t, uint64(s)))
	}
	return c.towardsZero(q, x, k)
}

// sdivPow2 is x / 2^k of type t, 1 <= k < bits: negative dividends get 2^k-1
// added, to round towards zero.
func (c *folder) sdivPow2(t clif.Type, x clif.Value, k uint) clif.Value {
	n := c.bits(t)
	sign := c.binary(clif.OpSshr, t, x, c.iconst(t, uint64(n-1)))
	bias := c.binary(clif.OpUshr, t, sign, c.iconst(t, uint64(n-k)))
	return c.binary(clif.OpSshr, t, c.binary(clif.OpIadd, t, x, bias), c.iconst(t, uint64(k)))
}

// magnitude of the signed constant y of type t.
func (w widths) magnitude(t clif.Type, y uint64) uint64 {
	k := w.signed(t, y)
	return uint64(max(k, -k)) // right for the smallest int64 too
}

// udiv is x/y for a constant y of type t that is neither 0 nor a power of two.
func (c *folder) udiv(t clif.Type, x clif.Value, y uint64) clif.Value {
	if t == clif.I32 {
		return c.udivNarrow(x, y)
	}
	return c.udivWide(x, y)
}

// sdiv is x/y for a constant y of type t whose magnitude is at least 2.
func (c *folder) sdiv(t clif.Type, x clif.Value, y uint64) clif.Value {
	k, mag := c.signed(t, y), c.magnitude(t, y)
	switch {
	case isPow2(mag):
		q := c.sdivPow2(t, x, uint(bits.TrailingZeros64(mag)))
		if k < 0 {
			q = c.binary(clif.OpIsub, t, c.iconst(t, 0), q)
		}
		return q
	case t == clif.I32:
		return c.sdivNarrow(x, k)
	}
	return c.sdivWide(x, k)
}

// remainder is x - q*y for the remainder d of x and y.
func (c *folder) remainder(d *clif.InstData, q clif.Value, y uint64) clif.Value {
	p := c.binary(clif.OpImul, d.Type, q, c.iconst(d.Type, y))
	return c.binary(clif.OpIsub, d.Type, d.ArgA(), p)
}
