package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBlockSet: blocks are taken in falling order, whatever comes between, with any number of levels.
func TestBlockSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s BlockSet
	for _, n := range []int{1, 64, 65, 4096, 4097, 300_000, 3} {
		s.Reset(nil, n)
		var want []uint32 // rising
		for range 1000 {
			if b := uint32(r.IntN(n)); r.IntN(3) > 0 {
				if at, found := slices.BinarySearch(want, b); !found {
					want = slices.Insert(want, at, b)
				}
				s.Add(b)
			} else if len(want) > 0 {
				last := want[len(want)-1]
				want = want[:len(want)-1]
				if got := s.TakeLast(); got != last {
					t.Fatalf("%d blocks: %d is taken, want %d", n, got, last)
				}
			}
			if s.Empty() != (len(want) == 0) {
				t.Fatalf("%d blocks: empty is %t, of %d", n, s.Empty(), len(want))
			}
		}
	}
}
