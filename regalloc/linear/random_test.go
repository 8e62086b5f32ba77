package linear_test

import (
	"flag"
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
)

var (
	count = flag.Int("functions", 0, "random functions to check, if not as many as the level of the tests says")
	first = flag.Uint64("first", 1, "seed of the first")
)

func TestRandom(t *testing.T) {
	alloctest.Random(t, fresh, *count, *first)
}

// TestEnds: tail calls, and calls that may throw.
func TestEnds(t *testing.T) { alloctest.Ends(t, fresh) }
