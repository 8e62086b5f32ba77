package ssa_test

import (
	"flag"
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/regalloc/ssa"
)

var full = flag.Bool("full", false, "run the pathological tests at full size")

func fresh() alloctest.Allocator { return ssa.New() }

func TestSteadyStateAllocatesNothing(t *testing.T) { alloctest.SteadyState(t, ssa.New()) }

// TestPathological measures shapes that make allocators quadratic.
func TestPathological(t *testing.T) { alloctest.Pathological(t, fresh, *full) }
