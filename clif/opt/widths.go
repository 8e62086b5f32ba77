package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// widths are the widths of integers as the rules see them. The zero value gives
// the true widths. Tests divide all widths by 2^shrink, so that a rule can be
// tried on all numbers: with shrink 3, i64 has 8 bits, i32 has 4, and
// sext8 extends one.
type widths struct{ shrink uint8 }

// scaled returns a width that is n bits.
func (w widths) scaled(n uint) uint { return n >> w.shrink }

// bits returns the width of a number of type t, or of a lane.
func (w widths) bits(t clif.Type) uint {
	if t.IsShape() {
		return uint(t.LaneBits()) >> w.shrink
	}
	return uint(t.Bits()) >> w.shrink
}

// trunc returns the bits of x that a number of type t has.
func (w widths) trunc(t clif.Type, x uint64) uint64 {
	s := 64 - w.bits(t)
	return x << s >> s
}

// signed is x as a signed number of type t.
func (w widths) signed(t clif.Type, x uint64) int64 {
	s := 64 - w.bits(t)
	return int64(x<<s) >> s
}

func (w widths) allOnes(t clif.Type) uint64 { return w.trunc(t, ^uint64(0)) }

// mulHigh returns the high half of the product of two i64 without sign.
func (w widths) mulHigh(x, y uint64) uint64 {
	if w.shrink > 0 {
		return x * y >> w.bits(clif.I64)
	}
	hi, _ := bits.Mul64(x, y)
	return hi
}

// divHigh is quotient and remainder of hi * 2^n by d, where n is the width of i64 and hi < d.
func (w widths) divHigh(hi, d uint64) (q, r uint64) {
	if w.shrink > 0 {
		x := hi << w.bits(clif.I64)
		return x / d, x % d
	}
	return bits.Div64(hi, 0, d)
}
