package arith

import (
	"math"

	"github.com/waot-project/waot/clif"
)

// The bits of a number of type f32 are zero-extended. The four basic operations compute in their own
// type, so that they round once. The rest computes in f64, which is exact for f32 operands, or, for
// the square root, has enough digits that rounding twice is no different.

const (
	canonical32 = 0x7fc00000
	canonical64 = 0x7ff8000000000000
)

// Float returns x, of type t, as a number; extending an f32 loses nothing but may quiet a NaN.
func Float(t clif.Type, x uint64) float64 {
	if t == clif.F32 {
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

// FloatBits returns x rounded to t.
func FloatBits(t clif.Type, x float64) uint64 {
	switch {
	case t == clif.F32 && x != x:
		return canonical32
	case x != x:
		return canonical64
	case t == clif.F32:
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// IsNaN reports whether x, of type t, is a NaN.
func IsNaN(t clif.Type, x uint64) bool { f := Float(t, x); return f != f }

// Fadd returns x + y.
func Fadd(t clif.Type, x, y uint64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, float64(math.Float32frombits(uint32(x))+math.Float32frombits(uint32(y))))
	}
	return FloatBits(t, math.Float64frombits(x)+math.Float64frombits(y))
}

// Fsub returns x - y.
func Fsub(t clif.Type, x, y uint64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, float64(math.Float32frombits(uint32(x))-math.Float32frombits(uint32(y))))
	}
	return FloatBits(t, math.Float64frombits(x)-math.Float64frombits(y))
}

// Fmul returns x * y.
func Fmul(t clif.Type, x, y uint64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, float64(math.Float32frombits(uint32(x))*math.Float32frombits(uint32(y))))
	}
	return FloatBits(t, math.Float64frombits(x)*math.Float64frombits(y))
}

// Fdiv returns x / y.
func Fdiv(t clif.Type, x, y uint64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, float64(math.Float32frombits(uint32(x))/math.Float32frombits(uint32(y))))
	}
	return FloatBits(t, math.Float64frombits(x)/math.Float64frombits(y))
}

// Fma returns x*y + z, rounded once.
func Fma(t clif.Type, x, y, z uint64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, fma32(Float(t, x), Float(t, y), Float(t, z)))
	}
	return FloatBits(t, math.FMA(Float(t, x), Float(t, y), Float(t, z)))
}

// fma32 returns x*y + z of numbers with 24 digits, precisely enough that rounding to 24 is the only
// rounding: the product is exact, and the sum is rounded to an odd last digit if it is not.
func fma32(x, y, z float64) float64 {
	p := x * y
	s := p + z
	if math.IsInf(s, 0) || s != s {
		return s
	}
	// The error of the sum is exact too.
	v := s - p
	err := (p - (s - v)) + (z - v)
	bits := math.Float64bits(s)
	if err == 0 || bits&1 != 0 {
		return s
	}
	if (err > 0) == (s > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// Fmin returns the smaller number, -0 below 0; it is a NaN if either is. math.Min prefers an infinity to a NaN.
func Fmin(t clif.Type, x, y uint64) uint64 {
	f, g := Float(t, x), Float(t, y)
	if f != f || g != g {
		return FloatBits(t, math.NaN())
	}
	return FloatBits(t, math.Min(f, g))
}

// Fmax returns the larger number, -0 below 0; it is a NaN if either is.
func Fmax(t clif.Type, x, y uint64) uint64 {
	f, g := Float(t, x), Float(t, y)
	if f != f || g != g {
		return FloatBits(t, math.NaN())
	}
	return FloatBits(t, math.Max(f, g))
}

// Fsqrt returns the square root of x.
func Fsqrt(t clif.Type, x uint64) uint64 { return FloatBits(t, math.Sqrt(Float(t, x))) }

// Fceil returns x rounded up to an integer.
func Fceil(t clif.Type, x uint64) uint64 { return FloatBits(t, math.Ceil(Float(t, x))) }

// Ffloor returns x rounded down to an integer.
func Ffloor(t clif.Type, x uint64) uint64 { return FloatBits(t, math.Floor(Float(t, x))) }

// Ftrunc returns x rounded towards 0 to an integer.
func Ftrunc(t clif.Type, x uint64) uint64 { return FloatBits(t, math.Trunc(Float(t, x))) }

// Fnearest returns x rounded to the nearest integer, ties to even.
func Fnearest(t clif.Type, x uint64) uint64 { return FloatBits(t, math.RoundToEven(Float(t, x))) }

// The operations on the sign leave NaNs alone otherwise.
func signBit(t clif.Type) uint64 { return 1 << (t.Bits() - 1) }

// Fabs returns x without its sign.
func Fabs(t clif.Type, x uint64) uint64 { return x &^ signBit(t) }

// Fneg returns x with the other sign.
func Fneg(t clif.Type, x uint64) uint64 { return x ^ signBit(t) }

// Fcopysign returns x with the sign of y.
func Fcopysign(t clif.Type, x, y uint64) uint64 { return x&^signBit(t) | y&signBit(t) }

// Fcmp compares two numbers.
func Fcmp(cc clif.FloatCC, x, y float64) bool {
	switch cc {
	case clif.FEq:
		return x == y
	case clif.FNe:
		return x != y
	case clif.FLt:
		return x < y
	case clif.FGt:
		return x > y
	case clif.FLe:
		return x <= y
	}
	return x >= y
}

// Icmp compares integers that have been sign-extended; that keeps the order of zero-extended ones too.
func Icmp(cc clif.IntCC, x, y int64) bool {
	var holds bool
	switch cc &^ 1 {
	case clif.Eq:
		holds = x == y
	case clif.Slt:
		holds = x < y
	case clif.Sgt:
		holds = x > y
	case clif.Ult:
		holds = uint64(x) < uint64(y)
	default:
		holds = uint64(x) > uint64(y)
	}
	return holds != (cc&1 != 0)
}

// FromSint returns x rounded to the float type t.
func FromSint(t clif.Type, x int64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, float64(float32(x)))
	}
	return FloatBits(t, float64(x))
}

// FromUint returns x rounded to the float type t.
func FromUint(t clif.Type, x uint64) uint64 {
	if t == clif.F32 {
		return FloatBits(t, float64(float32(x)))
	}
	return FloatBits(t, float64(x))
}

// Range is how a float that is to become an integer lies to the range of that.
type Range uint8

// The ranges.
const (
	Inside Range = iota
	Below
	Above
	NotANumber
)

// intRange is the numbers that conversions to an integer type accept after rounding toward zero,
// lo <= x < end, and the least and the largest integer.
type intRange struct {
	lo, end   float64
	low, high uint64
}

var signedRanges = [clif.NumTypes]intRange{
	clif.I32: {-1 << 31, 1 << 31, 1 << 31, 1<<31 - 1},
	clif.I64: {-1 << 63, 1 << 63, 1 << 63, 1<<63 - 1},
}

var unsignedRanges = [clif.NumTypes]intRange{
	clif.I32: {0, 1 << 32, 0, 1<<32 - 1},
	clif.I64: {0, 1 << 64, 0, 1<<64 - 1},
}

// where says how x, which has no fraction, lies to r.
func (r *intRange) where(x float64) Range {
	switch {
	case x != x:
		return NotANumber
	case x < r.lo:
		return Below
	case x >= r.end:
		return Above
	}
	return Inside
}

// saturated returns n, or the end of the range that is next.
func (r *intRange) saturated(where Range, n uint64) uint64 {
	return [...]uint64{Inside: n, Below: r.low, Above: r.high, NotANumber: 0}[where]
}

// ToSint rounds x toward zero to a signed integer of type t, I32 or I64. If it is outside, the result saturates;
// that of a NaN is 0.
func ToSint(t clif.Type, x float64) (uint64, Range) {
	r := &signedRanges[t]
	x = math.Trunc(x)
	where := r.where(x)
	if where != Inside {
		return r.saturated(where, 0), where
	}
	n := uint64(int64(x))
	if t == clif.I32 {
		n = uint64(uint32(n))
	}
	return n, Inside
}

// ToUint is ToSint for integers without sign.
func ToUint(t clif.Type, x float64) (uint64, Range) {
	r := &unsignedRanges[t]
	x = math.Trunc(x)
	if where := r.where(x); where != Inside {
		return r.saturated(where, 0), where
	}
	return uint64(x), Inside
}
