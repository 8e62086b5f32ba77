package asm

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/asmtest"
)

// TestSelected: each row is selected by something.
func TestSelected(t *testing.T) { asmtest.Selected(t, int(NumOps)) }
