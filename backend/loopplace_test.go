package backend

import (
	"math/rand"
	"testing"

	"github.com/waot-project/waot/machbuffer"
)

// loopOf is a loop of n operations of the given length and a comparison with a branch, of 3 and 2 bytes, at its end.
func loopOf(n, length uint32) (ops []Operation) {
	for k := range n {
		ops = append(ops, Operation{From: k * length, At: k * length, End: (k + 1) * length})
	}
	end := n * length
	return append(ops, Operation{From: end, At: end + 3, End: end + 5, Branch: true})
}

// TestLoopCost: the cost orders places as they were measured.
func TestLoopCost(t *testing.T) {
	for _, c := range []struct {
		what        string
		n, length   uint32
		good, worse uint32
	}{
		{"twelve operations in one line rather than two", 11, 4, 0, 32},
		{"thirteen in two lines rather than one", 12, 4, 32, 0},
		{"few in the first line rather than many", 16, 4, 40, 0},
		{"a branch within a line", 10, 5, 0, 11},
		{"not the branch alone in the last line", 14, 7, 20, 27},
	} {
		ops := loopOf(c.n, c.length)
		if a, b := loopCost(ops, c.good), loopCost(ops, c.worse); a >= b {
			t.Errorf("%s: %d and %d", c.what, a, b)
		}
	}
	if !anywhere(loopOf(2, 4), 16) || anywhere(loopOf(12, 4), 16) {
		t.Error("anywhere is wrong of a loop of three operations, or of thirteen")
	}
}

// TestBestPlace: no loop gets a worse place than it has, none moves for little, and none of thirteen to twenty operations begins with more than twelve in its
// first line.
func TestBestPlace(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 20000 {
		ops := loopOf(uint32(rng.Intn(40)), uint32(2+rng.Intn(6)))
		at, free := uint32(rng.Intn(machbuffer.CacheLine)), uint32(rng.Intn(1000))
		best := bestPlace(ops, at, free)
		if best >= machbuffer.CacheLine {
			t.Fatalf("place %d", best)
		}
		before, now := loopCost(ops, at), loopCost(ops, best)
		if best != at && now+less(before) > before {
			t.Errorf("%d operations move from %d, cost %d, to %d, cost %d", len(ops), at, before, best, now)
		}
		first := 0
		for i := range ops {
			if best+ops[i].At < machbuffer.CacheLine {
				first++
			}
		}
		if len(ops) > 12 && len(ops) <= 20 && first > 12 {
			t.Errorf("%d operations of %d begin in the first line", first, len(ops))
		}
	}
}
