package entropy_test

import (
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/proof/entropy"
)

// TestSource: choices are the bytes, in order, then numbers that are the same each time; all are in range.
func TestSource(t *testing.T) {
	b := []byte{7, 0, 0, 1, 0, 255, 1, 2, 3, 4}
	e := entropy.New(b)
	if n := e.IntN(10); n != 7 {
		t.Error(n)
	}
	if n := e.IntN(257); n != 256 {
		t.Error(n)
	}
	if n := e.IntN(256); n != 255 {
		t.Error(n)
	}
	if n := e.Uint32(); n != 0x01020304 {
		t.Errorf("%#x", n)
	}
	again := entropy.New(b)
	for range 4 {
		again.IntN(1)
	}
	again.IntN(1 << 20)
	again.IntN(1)
	again.IntN(1)
	seen := map[int]bool{}
	for range 1000 {
		x, y := e.IntN(6), again.IntN(6)
		if x != y || x < 0 || x > 5 {
			t.Fatal(x, y)
		}
		seen[x] = true
		if f := e.NormFloat64(); f != again.NormFloat64() || f < -4 || f >= 4 {
			t.Fatal(f)
		}
		if e.Uint64() != again.Uint64() {
			t.Fatal("not deterministic")
		}
	}
	if len(seen) != 6 {
		t.Error("some numbers never come")
	}
}

// TestOrders: a string is one order; the numbers behind its end make any.
func TestOrders(t *testing.T) {
	// The last goes where the first byte says, then the one before it; what is left over is next.
	e := entropy.New([]byte{0, 2, 1, 255, 128})
	if p := e.Perm(4); !slices.Equal(p, []int{3, 1, 2, 0}) {
		t.Error(p)
	}
	if f := e.Float64(); f != 255.0/256 {
		t.Error(f)
	}
	if f := e.Float64(); f != 0.5 {
		t.Error(f)
	}
	seen := map[[3]int]int{}
	for range 600 {
		seen[[3]int(e.Perm(3))]++
		if f := e.Float64(); f < 0 || f >= 1 {
			t.Fatal(f)
		}
	}
	for p, n := range seen {
		if n < 50 {
			t.Errorf("%v: %d times", p, n)
		}
	}
	if len(seen) != 6 {
		t.Error(seen)
	}
}
