package a64

import (
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
)

// TestPair packs pairs of comparisons and takes them out.
func TestPair(t *testing.T) {
	for first := asm.Invalid; first < asm.NumOps; first++ {
		for _, second := range []backend.Op{asm.Ccmp, asm.CcmpImm, asm.CcmnImm, asm.Fccmp} {
			for n := range 512 {
				p := pair{first, second, uint8(4 + n%2*4), asm.Cond(n) % asm.NumConds, int64(n)}
				if got := pairOf(p.pack()); got != p {
					t.Fatalf("%+v, want %+v", got, p)
				}
			}
		}
	}
}
