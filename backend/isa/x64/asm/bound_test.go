package asm

import (
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// TestBoundOfAddresses: of an instruction without prefixes and immediates that depend on operands, the bound is exact for each address.
func TestBoundOfAddresses(t *testing.T) {
	for _, a := range sampleAddrs {
		var g sampler
		g.ints = len(sampleInts) - 1 // rax comes first
		g.withAddr(backend.Inst{Op: Mov, Size: 8}, a)
		s := g.out[0]
		code, _ := Append(nil, &s.inst, s.allocs, &testFrame)
		if n := int(Bound(&s.inst, s.allocs, &testFrame)); n != len(code) {
			t.Errorf("%s: % x, bound is %d", s.text(), code, n)
		}
	}
}

// framePlaces are slots and arguments of each length of address.
var framePlaces = []regalloc.Allocation{regalloc.InSlot(0), regalloc.InSlot(1), regalloc.InSlot(15), regalloc.InSlot(16), regalloc.InSlot(33), regalloc.InSlot(34),
	regalloc.InSlot(49), regalloc.InArg(0), regalloc.InArg(100)}

// TestBoundOfMoves: the bound of a move of an int is exact, that of another one at most two more than its length.
func TestBoundOfMoves(t *testing.T) {
	places := append(slices.Clone(framePlaces), regalloc.InReg(RAX), regalloc.InReg(R9), regalloc.InReg(XMM1), regalloc.InReg(XMM9))
	isInt := func(a regalloc.Allocation) bool { return a.IsMem() || a.Reg().Class() == regalloc.Int }
	for _, from := range places {
		for _, to := range places {
			if from == to || from.IsMem() && to.IsMem() {
				continue
			}
			for _, width := range []uint8{4, 8} {
				code := AppendMove(nil, from, to, width, &testFrame)
				spare := 2
				if isInt(from) && isInt(to) {
					spare = 0
				}
				if n := int(MoveBound(from, to, width, &testFrame)); n < len(code) || n > len(code)+spare {
					t.Errorf("%v to %v, %d bytes: % x, bound is %d", from, to, width, code, n)
				}
			}
		}
	}
}
