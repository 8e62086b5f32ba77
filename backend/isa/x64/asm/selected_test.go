package asm

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/asmtest"
)

// TestSelected: each row is selected by something, or is the VEX form of one.
func TestSelected(t *testing.T) { asmtest.Selected(t, int(firstVex)) }
