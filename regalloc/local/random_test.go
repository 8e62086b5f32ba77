package local_test

import (
	"flag"
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/regalloc/local"
)

var (
	count = flag.Int("functions", 0, "random functions to check, if not as many as the level of the tests says")
	first = flag.Uint64("first", 1, "seed of the first")
	full  = flag.Bool("full", false, "run the pathological tests at full size")
)

func fresh() alloctest.Allocator { return local.New() }

// TestRandom: values have one home, and callee-saved registers are saved in the prologue.
func TestRandom(t *testing.T) {
	alloctest.Random(t, fresh, *count, *first, "splits", "blocks where registers are not saved")
}

func TestSteadyStateAllocatesNothing(t *testing.T) { alloctest.SteadyState(t, local.New()) }

// TestPathological measures shapes that make allocators quadratic.
func TestPathological(t *testing.T) { alloctest.Pathological(t, fresh, *full) }

// TestEnds: tail calls, and calls that may throw.
func TestEnds(t *testing.T) { alloctest.Ends(t, fresh) }
