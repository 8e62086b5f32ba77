package interp

import (
	"math"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// The four basic operations compute in their own type, so that they round once. The rest
// computes in f64, which is exact for f32 operands, or, for the square root,
// has enough digits that rounding twice is no different.
//
// A NaN that is computed is always the positive canonical one, which
// WebAssembly allows whatever the operands were.

const (
	canonical32 = 0x7fc00000
	canonical64 = 0x7ff8000000000000
)

// float is x, of type t, as a number; extending an f32 loses nothing but may quiet a NaN.
func float(t clif.Type, x uint64) float64 {
	if t == clif.F32 {
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

// bitsOf is x rounded to t.
func bitsOf(t clif.Type, x float64) uint64 {
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

func (m *machine) fa(d *clif.InstData) float64 { return float(d.Type, m.regs[d.A]) }
func (m *machine) fb(d *clif.InstData) float64 { return float(d.Type, m.regs[d.B]) }

func (m *machine) setFloat(d *clif.InstData, x float64) { m.regs[d.Result] = bitsOf(d.Type, x) }

// arith computes in the operands' own type, so that the result is rounded once.
func (m *machine) arith(d *clif.InstData, f32 func(x, y float32) float32, f64 func(x, y float64) float64) {
	if d.Type == clif.F32 {
		x, y := math.Float32frombits(uint32(m.a(d))), math.Float32frombits(uint32(m.b(d)))
		m.setFloat(d, float64(f32(x, y)))
		return
	}
	m.setFloat(d, f64(m.fa(d), m.fb(d)))
}

func opFadd(m *machine, d *clif.InstData) {
	m.arith(d, func(x, y float32) float32 { return x + y }, func(x, y float64) float64 { return x + y })
}

func opFsub(m *machine, d *clif.InstData) {
	m.arith(d, func(x, y float32) float32 { return x - y }, func(x, y float64) float64 { return x - y })
}

func opFmul(m *machine, d *clif.InstData) {
	m.arith(d, func(x, y float32) float32 { return x * y }, func(x, y float64) float64 { return x * y })
}

func opFdiv(m *machine, d *clif.InstData) {
	m.arith(d, func(x, y float32) float32 { return x / y }, func(x, y float64) float64 { return x / y })
}

// opFmin and opFmax: math.Min prefers an infinity to a NaN, WebAssembly does not.
func opFmin(m *machine, d *clif.InstData) {
	x, y := m.fa(d), m.fb(d)
	if x != x || y != y {
		m.setFloat(d, math.NaN())
		return
	}
	m.setFloat(d, math.Min(x, y))
}

func opFmax(m *machine, d *clif.InstData) {
	x, y := m.fa(d), m.fb(d)
	if x != x || y != y {
		m.setFloat(d, math.NaN())
		return
	}
	m.setFloat(d, math.Max(x, y))
}

func opFsqrt(m *machine, d *clif.InstData)    { m.setFloat(d, math.Sqrt(m.fa(d))) }
func opFceil(m *machine, d *clif.InstData)    { m.setFloat(d, math.Ceil(m.fa(d))) }
func opFfloor(m *machine, d *clif.InstData)   { m.setFloat(d, math.Floor(m.fa(d))) }
func opFtrunc(m *machine, d *clif.InstData)   { m.setFloat(d, math.Trunc(m.fa(d))) }
func opFnearest(m *machine, d *clif.InstData) { m.setFloat(d, math.RoundToEven(m.fa(d))) }

// The operations on the sign leave NaNs alone otherwise.
func signBit(d *clif.InstData) uint64 { return 1 << (d.Type.Bits() - 1) }

func opFabs(m *machine, d *clif.InstData) { m.set64(d, m.a(d)&^signBit(d)) }
func opFneg(m *machine, d *clif.InstData) { m.set64(d, m.a(d)^signBit(d)) }
func opFcopysign(m *machine, d *clif.InstData) {
	m.set64(d, m.a(d)&^signBit(d)|m.b(d)&signBit(d))
}

var floatConds = [clif.NumFloatCCs]func(x, y float64) bool{
	clif.FEq: func(x, y float64) bool { return x == y },
	clif.FNe: func(x, y float64) bool { return x != y },
	clif.FLt: func(x, y float64) bool { return x < y },
	clif.FGt: func(x, y float64) bool { return x > y },
	clif.FLe: func(x, y float64) bool { return x <= y },
	clif.FGe: func(x, y float64) bool { return x >= y },
}

func opFcmp(m *machine, d *clif.InstData) { m.setBool(d, floatConds[d.Cond](m.fa(d), m.fb(d))) }

func opFpromote(m *machine, d *clif.InstData) { m.setFloat(d, float(clif.F32, m.a(d))) }
func opFdemote(m *machine, d *clif.InstData)  { m.setFloat(d, float(clif.F64, m.a(d))) }

// typeA returns the type of the first operand, where d.Type is the result's only.
func (m *machine) typeA(d *clif.InstData) clif.Type { return m.fn.body.TypeOf(d.ArgA()) }

func opFcvtFromSint(m *machine, d *clif.InstData) {
	x := int64(m.a(d))
	if m.typeA(d) == clif.I32 {
		x = int64(int32(x))
	}
	if d.Type == clif.F32 {
		m.setFloat(d, float64(float32(x)))
		return
	}
	m.setFloat(d, float64(x))
}

func opFcvtFromUint(m *machine, d *clif.InstData) {
	x := m.a(d)
	if d.Type == clif.F32 {
		m.setFloat(d, float64(float32(x)))
		return
	}
	m.setFloat(d, float64(x))
}

// intRange is the numbers that conversions to an integer type accept after
// rounding toward zero: lo <= x < end.
type intRange struct {
	lo, end    float64
	low, high  uint64 // what the saturating conversions give below and above
	isUnsigned bool
}

var signedRanges = [clif.NumTypes]intRange{
	clif.I32: {-1 << 31, 1 << 31, 1 << 31, 1<<31 - 1, false},
	clif.I64: {-1 << 63, 1 << 63, 1 << 63, 1<<63 - 1, false},
}

var unsignedRanges = [clif.NumTypes]intRange{
	clif.I32: {0, 1 << 32, 0, 1<<32 - 1, true},
	clif.I64: {0, 1 << 64, 0, 1<<64 - 1, true},
}

func (r *intRange) convert(x float64) uint64 {
	if r.isUnsigned {
		return uint64(x)
	}
	return uint64(int64(x))
}

func (m *machine) toInt(d *clif.InstData, r *intRange) {
	x := math.Trunc(float(m.typeA(d), m.a(d)))
	switch {
	case x != x:
		m.trap(abi.TrapBadConversion)
	case x < r.lo || x >= r.end:
		m.trap(abi.TrapIntegerOverflow)
	default:
		m.set(d, r.convert(x))
	}
}

func (m *machine) toIntSat(d *clif.InstData, r *intRange) {
	x := math.Trunc(float(m.typeA(d), m.a(d)))
	switch {
	case x != x:
		m.set(d, 0)
	case x < r.lo:
		m.set(d, r.low)
	case x >= r.end:
		m.set(d, r.high)
	default:
		m.set(d, r.convert(x))
	}
}

func opFcvtToSint(m *machine, d *clif.InstData)    { m.toInt(d, &signedRanges[d.Type]) }
func opFcvtToUint(m *machine, d *clif.InstData)    { m.toInt(d, &unsignedRanges[d.Type]) }
func opFcvtToSintSat(m *machine, d *clif.InstData) { m.toIntSat(d, &signedRanges[d.Type]) }
func opFcvtToUintSat(m *machine, d *clif.InstData) { m.toIntSat(d, &unsignedRanges[d.Type]) }

func opBitcast(m *machine, d *clif.InstData) { m.set64(d, m.a(d)) }
