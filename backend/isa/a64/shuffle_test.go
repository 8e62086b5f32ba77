package a64

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/backend/isa/a64/asm"
)

// TestPermutations: each permutation is found for its bytes from any sources, no two of them are the same, and random bytes fit none that
// does not make them.
func TestPermutations(t *testing.T) {
	seen := map[bytesOf]int{}
	for n := range permutations() {
		p := &permutations()[n]
		if k, ok := seen[p.bytes]; ok {
			t.Errorf("%s and %s are the same", asm.RowOf(permutations()[k].in.Op).Name, asm.RowOf(p.in.Op).Name)
		}
		seen[p.bytes] = n
		for sources := range uint8(4) {
			first, second := sources&1, sources>>1
			var want bytesOf
			for i, b := range p.bytes {
				if want[i] = first<<4 | b; b >= 16 {
					want[i] = second<<4 | b&15
				}
			}
			a, b, ok := p.fits(&want)
			if !ok || a != first || !p.one && b != second {
				t.Errorf("%s of %d and %d: %d and %d, %v", asm.RowOf(p.in.Op).Name, first, second, a, b, ok)
			}
			want[5] ^= 1
			if _, _, ok := p.fits(&want); ok {
				t.Errorf("%s makes another byte", asm.RowOf(p.in.Op).Name)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		var want bytesOf
		for i := range want {
			want[i] = uint8(r.IntN(32))
		}
		for n := range permutations() {
			if _, _, ok := permutations()[n].fits(&want); ok {
				t.Errorf("%s makes %d", asm.RowOf(permutations()[n].in.Op).Name, want)
			}
		}
	}
}
