package asm

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/asmtest"
)

// TestSelected: each row is selected by something, or marked with ForSIMD.
func TestSelected(t *testing.T) {
	list := make([]asmtest.Row, NumOps)
	for op := range list {
		list[op].Later = rows[op].Flags&ForSIMD != 0
	}
	asmtest.Selected(t, list)
}
