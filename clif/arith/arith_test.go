package arith_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

// TestVector has what the official suite cannot tell apart, because WebAssembly allows several results.
func TestVector(t *testing.T) {
	const ramp0, ramp1 = 0x0706050403020100, 0x0f0e0d0c0b0a0908
	for _, c := range []struct {
		op      clif.Opcode
		typ     clif.Type
		a, b, c arith.V128
		want    arith.V128
	}{
		{op: clif.OpVswizzleMod, typ: clif.I8x16, a: arith.V128{ramp0, ramp1}, b: arith.V128{0xff80_7f10_0f01_007e}, want: arith.V128{0x0000_0f00_0f01_000e}},
		{op: clif.OpVswizzle, typ: clif.I8x16, a: arith.V128{ramp0, ramp1}, b: arith.V128{0xff80_7f10_0f01_007e}, want: arith.V128{0x0000_0000_0f01_0000}},
		{op: clif.OpVselectTop, typ: clif.I16x8, a: arith.V128{0x1111_2222_3333_4444, ^uint64(0)}, b: arith.V128{0x5555_6666_7777_8888},
			c: arith.V128{0x8000_7fff_ffff_0080}, want: arith.V128{0x1111_6666_3333_8888}},
		{op: clif.OpVcvtToSintInd, typ: clif.F32x4, a: arith.V128{0x7fc00000_bfc00000, 0x4f000000_cf000000}, want: arith.V128{0x80000000_ffffffff, 0x80000000_80000000}},
		{op: clif.OpVcvtToSintInd, typ: clif.F64x2, a: arith.V128{math.Float64bits(-2147483648.9), math.Float64bits(2147483648)}, want: arith.V128{0x80000000_80000000}},
		{op: clif.OpVq15mulr, typ: clif.I16x8, a: arith.V128{0x8000_8000_4000_0001}, b: arith.V128{0x8000_7fff_4000_4000}, want: arith.V128{0x8000_8001_2000_0001}},
		{op: clif.OpVq15mulrSat, typ: clif.I16x8, a: arith.V128{0x8000}, b: arith.V128{0x8000}, want: arith.V128{0x7fff}},
		{op: clif.OpVdot, typ: clif.I16x8, a: arith.V128{0x8080_ff02}, b: arith.V128{0x8080_0103}, want: arith.V128{0x8000_0005}},
		{op: clif.OpVdotUS, typ: clif.I16x8, a: arith.V128{0xffff_ffff_8002}, b: arith.V128{0x8080_7f7f_ff03}, want: arith.V128{0x8000_7fff_ff86}},
		{op: clif.OpVdotAdd, typ: clif.I32x4, a: arith.V128{0x01020304_80808080}, b: arith.V128{0xff010101_80808080}, c: arith.V128{0x00000001_7fffffff},
			want: arith.V128{0x00000009_8000ffff}},
		{op: clif.OpVfpmin, typ: clif.F32x4, a: arith.V128{0x00000000_7fc00001}, b: arith.V128{0x80000000_00000000}, want: arith.V128{0x00000000_7fc00001}},
		{op: clif.OpVfpmax, typ: clif.F32x4, a: arith.V128{0x80000000_3f800000}, b: arith.V128{0x00000000_7fc00001}, want: arith.V128{0x80000000_3f800000}},
		{op: clif.OpVfma, typ: clif.F64x2, a: arith.V128{math.Float64bits(1 + 0x1p-52)}, b: arith.V128{math.Float64bits(1 + 0x1p-52)},
			c: arith.V128{math.Float64bits(-1 - 0x1p-51)}, want: arith.V128{math.Float64bits(0x1p-104)}},
		{op: clif.OpVfnma, typ: clif.F64x2, a: arith.V128{math.Float64bits(2)}, b: arith.V128{math.Float64bits(3)},
			c: arith.V128{math.Float64bits(10), math.Float64bits(math.Inf(1))}, want: arith.V128{math.Float64bits(4), math.Float64bits(math.Inf(1))}},
	} {
		d := &clif.InstData{Op: c.op, Type: c.typ}
		if got := arith.Vector(d, 0, c.a, c.b, c.c); got != c.want {
			t.Errorf("%v.%v %x %x %x: %x, want %x", c.op, c.typ, c.a, c.b, c.c, got, c.want)
		}
	}
}

// TestFma compares with exact arithmetic, on numbers whose sum is near the middle of two.
func TestFma(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(spread int) float32 {
		return float32(math.Ldexp(float64(1+r.IntN(1<<24))*float64(1-2*r.IntN(2)), max(-140, r.IntN(spread)-spread/2-24)))
	}
	for i := range 200_000 {
		x, y := number(8), number(8)
		z := number(120)
		if i%4 == 0 {
			z = number(200) // among them subnormal numbers
			x = number(200)
		}
		exact := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		exact.Add(exact, big.NewFloat(float64(z)))
		want, _ := exact.Float32()
		bits := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
		got := arith.Fma(clif.F32, bits(x), bits(y), bits(z))
		if got != bits(want) && !(want == 0 && got&^(1<<31) == 0) {
			t.Fatalf("%x*%x+%x: %x, want %x", x, y, z, math.Float32frombits(uint32(got)), want)
		}
	}
	inf := uint64(math.Float32bits(float32(math.Inf(1))))
	if got := arith.Fma(clif.F32, inf, 0, inf); got != 0x7fc00000 {
		t.Errorf("inf*0+inf: %x", got)
	}
}

// TestComplete: each opcode can be computed at each type.
func TestComplete(t *testing.T) {
	for op := range clif.NumOpcodes {
		if !arith.IsVector(op) {
			continue
		}
		for ty := clif.V128; ty < clif.NumControlTypes; ty++ {
			if op.Info().Types.Has(ty) {
				arith.Vector(&clif.InstData{Op: op, Type: ty}, 0, arith.V128{1, 2}, arith.V128{3, 4}, arith.V128{5, 6}) // not nil
			}
		}
	}
}
