package opt

import (
	"math"
	"math/bits"
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
		m, s, ok := magicU(uint64(d), 32)
		high := widths{}.magicUHigh(uint64(d))
		near(d, rng, func(x uint32) {
			q := uint32(uint64(x) * m >> s)
			if ok && q != x/d {
				t.Fatalf("%d/%d = %d, want %d (m=%#x s=%d)", x, d, q, x/d, m, s)
			}
			if q, _ := bits.Mul64(uint64(x), high); q != uint64(x/d) {
				t.Fatalf("%d/%d = %d, want %d (high half)", x, d, q, x/d)
			}
		})
		if !ok {
			long++
		} else if m > 1<<32 {
			t.Fatalf("%d: multiplier %#x has more than 32 bits", d, m)
		}
	}
	if long == 0 {
		t.Error("no divisor needed the high half")
	}
}

// divisors64 are those worth trying of 64 bits.
func divisors64() (ds []uint64) {
	for _, d := range divisors() {
		ds = append(ds, uint64(d), uint64(d)<<32, uint64(d)<<32|1, -uint64(d))
	}
	for k := 2; k < 64; k++ {
		p := uint64(1) << k
		ds = append(ds, p-1, p+1, 3*p, 5*p, math.MaxUint64-p, math.MaxUint64/p, math.MaxInt64-p)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		ds = append(ds, rng.Uint64()>>rng.IntN(62))
	}
	return ds
}

// near64 is near for 64 bits.
func near64(d uint64, rng *rand.Rand, f func(x uint64)) {
	for _, m := range []uint64{0, 1, 2, 3, math.MaxUint64 / d, math.MaxUint64/d - 1, math.MaxInt64 / d, rng.Uint64() / d} {
		for e := -2; e <= 2; e++ {
			f(m*d + uint64(e))
			f(-(m*d + uint64(e)))
		}
	}
	for _, x := range []uint64{0, 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64, math.MaxUint64 - 1} {
		f(x)
	}
	for range 20 {
		f(rng.Uint64())
	}
}

func TestMagicUnsigned64(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	longs, shifted := 0, 0
	for _, d := range divisors64() {
		if d < 3 || d&(d-1) == 0 {
			continue
		}
		pre, m, s, long := widths{}.magicUWide(d)
		if long {
			longs++
		} else if pre > 0 {
			shifted++
		}
		near64(d, rng, func(x uint64) {
			q, _ := bits.Mul64(x>>pre, m)
			if long {
				q = ((x-q)/2 + q) >> (s - 1)
			} else {
				q >>= s
			}
			if q != x/d {
				t.Fatalf("%d/%d = %d, want %d (pre=%d m=%#x s=%d long=%v)", x, d, q, x/d, pre, m, s, long)
			}
		})
	}
	if longs == 0 || shifted == 0 {
		t.Error("not all forms occurred", longs, shifted)
	}
}

func TestMagicSigned64(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	added, plain := 0, 0
	for _, d := range divisors64() {
		if d < 3 || d > math.MaxInt64 || d&(d-1) == 0 {
			continue
		}
		m, s := widths{}.magicSWide(d)
		if int64(m) < 0 {
			added++
		} else {
			plain++
		}
		near64(d, rng, func(u uint64) {
			x := int64(u)
			h, _ := bits.Mul64(u, m)
			q := int64(h)
			if x < 0 {
				q -= int64(m) // x without sign is 2^64 more
			}
			q = q>>s - x>>63
			if q != x/int64(d) {
				t.Fatalf("%d/%d = %d, want %d (m=%#x s=%d)", x, d, q, x/int64(d), m, s)
			}
		})
	}
	if added == 0 || plain == 0 {
		t.Error("not all forms occurred", added, plain)
	}
}

func TestMagicSigned(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, d := range divisors() {
		if d < 3 || d > math.MaxInt32 || d&(d-1) == 0 {
			continue
		}
		m, s := magicS(uint64(d), 32)
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
