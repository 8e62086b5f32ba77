package asm

import (
	"strings"
	"testing"
)

// TestMemBytes: mnemonics of accesses say their width, or it is the operand size; what accesses no memory has none.
func TestMemBytes(t *testing.T) {
	accesses := 0
	for op := Invalid + 1; op < NumOps; op++ {
		row := RowOf(op)
		for _, size := range []uint8{4, 8, 16} {
			if !row.Sizes.Allow(size) {
				continue
			}
			want := 0
			if row.MayFault() {
				accesses++
				switch want = int(size); {
				case strings.HasSuffix(row.Name, "b"):
					want = 1
				case strings.HasSuffix(row.Name, "h"):
					want = 2
				case strings.HasSuffix(row.Name, "sw"):
					want = 4
				}
			}
			if got := row.MemBytes(size); got != want {
				t.Errorf("%s of size %d: %d bytes, want %d", row.Name, size, got, want)
			}
		}
	}
	if accesses < 20 {
		t.Errorf("%d accesses", accesses)
	}
}
