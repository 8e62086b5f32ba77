package opt

import (
	"math"
	"math/rand/v2"
	"testing"
)

// divisors are those worth trying exhaustively near and far.
func divisors() []uint32 {
	var ds []uint32
	for d := uint32(3); d < 300; d++ {
		ds = append(ds, d)
	}
	for k := range 32 {
		p := uint32(1) << k
		ds = append(ds, p-1, p+1, math.MaxUint32-p, math.MaxUint32/p, math.MaxInt32-p)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		ds = append(ds, rng.Uint32()>>rng.IntN(30))
	}
	return append(ds, 139968, 1000000007, 0xffffffff, 0xfffffffe, 0x80000001, 0x7fffffff)
}

// near calls f with dividends around multiples of d, where rounding would show,
// and with random ones.
func near(d uint32, rng *rand.Rand, f func(x uint32)) {
	for _, m := range []uint32{0, 1, 2, 3, math.MaxUint32 / d, math.MaxUint32/d - 1, math.MaxInt32 / d, rng.Uint32() / d} {
		for e := -2; e <= 2; e++ {
			f(m*d + uint32(e))
			f(-(m*d + uint32(e)))
		}
	}
	for _, x := range []uint32{0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 - 1} {
		f(x)
	}
	for range 20 {
		f(rng.Uint32())
	}
}

func TestMagicUnsigned(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	long := 0
	for _, d := range divisors() {
		if d < 3 || d&(d-1) == 0 {
			continue
		}
		m, s, isLong := magicU(d)
		near(d, rng, func(x uint32) {
			var q uint32
			if isLong {
				q = uint32((uint64(x)*(m-1<<32)>>32 + uint64(x)) >> (s - 32))
			} else {
				q = uint32(uint64(x) * m >> s)
			}
			if q != x/d {
				t.Fatalf("%d/%d = %d, want %d (m=%#x s=%d long=%v)", x, d, q, x/d, m, s, isLong)
			}
		})
		if isLong {
			long++
		} else if m > 1<<32 {
			t.Fatalf("%d: multiplier %#x has more than 32 bits", d, m)
		}
	}
	if long == 0 {
		t.Error("no divisor needed the long form")
	}
}

func TestMagicSigned(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, d := range divisors() {
		if d < 3 || d > math.MaxInt32 || d&(d-1) == 0 {
			continue
		}
		m, s := magicS(d)
		if m >= 1<<32 {
			t.Fatalf("%d: multiplier %#x", d, m)
		}
		near(d, rng, func(u uint32) {
			x := int32(u)
			q := int32(int64(x)*int64(m)>>s - int64(x)>>63)
			if q != x/int32(d) {
				t.Fatalf("%d/%d = %d, want %d", x, d, q, x/int32(d))
			}
		})
	}
}
