package knownbugs

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
)

// TestVectorShifts shifts the lanes of vectors by every amount.
func TestVectorShifts(t *testing.T) { bugcases.Run(t, bugcases.VectorShifts(cases), check) }

// TestShuffles has masks of all patterns, for two vectors and for one.
func TestShuffles(t *testing.T) { bugcases.Run(t, bugcases.Shuffles(cases), check) }

// TestSwizzles has all indexes in all lanes.
func TestSwizzles(t *testing.T) { check(t, bugcases.Swizzles(cases)) }

// TestVectorSelects chooses between vectors by each form of condition.
func TestVectorSelects(t *testing.T) { check(t, bugcases.VectorSelects()) }

// TestVectorIdentities has what rules for numbers would match, on vectors. The compiler verifies functions after each pass.
func TestVectorIdentities(t *testing.T) { bugcases.Run(t, bugcases.VectorIdentities(cases), check) }

// TestVectorLastBytes takes operands from loads in the last bytes of memory, at all alignments.
func TestVectorLastBytes(t *testing.T) { bugcases.Run(t, bugcases.VectorOperands(cases), check) }

// TestVectorSpills has vectors beside numbers that live across calls.
func TestVectorSpills(t *testing.T) { bugcases.Run(t, bugcases.VectorSpills(), check) }
