package compile

import (
	"slices"
	"testing"
)

// TestStore: what is kept stays as it is and where it is, whatever its size.
func TestStore(t *testing.T) {
	var s store[uint32]
	var spans []span
	sizes := []int{0, 1, 5, chunkBytes/4 - 6, 1, 0, chunkBytes, 3, chunkBytes / 8, chunkBytes / 8, chunkBytes / 8}
	numbered := func(k int) []uint32 {
		x := make([]uint32, sizes[k])
		for i := range x {
			x[i] = uint32(k<<20 + i)
		}
		return x
	}
	var first *uint32
	for k := range sizes {
		src := numbered(k)
		spans = append(spans, s.keep(src))
		clear(src)
		if k == 1 {
			first = &s.at(spans[k])[0]
		}
	}
	for k, p := range spans {
		if got := s.at(p); !slices.Equal(got, numbered(k)) || int(p.len()) != sizes[k] {
			t.Errorf("%d: %d elements of %d", k, len(got), sizes[k])
		}
	}
	if first != &s.at(spans[1])[0] {
		t.Error("a chunk has moved")
	}
	if len(s.chunks) != 5 {
		t.Errorf("%d chunks", len(s.chunks))
	}
}
