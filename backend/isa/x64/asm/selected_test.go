package asm

import (
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/asmtest"
)

// TestSelected: each row is selected by something, or marked with ForSIMD.
func TestSelected(t *testing.T) {
	list := make([]asmtest.Row, NumOps)
	for op := range list {
		list[op].Later = rows[op].Flags&ForSIMD != 0
	}
	for _, op := range []backend.Op{Jmp, JmpShort, Jcc, JccShort, Nop} { // branches and what fills gaps
		list[op].ByHand = true
	}
	asmtest.Selected(t, list)
}
