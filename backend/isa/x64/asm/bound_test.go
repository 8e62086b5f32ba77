package asm

import (
	"testing"

	"github.com/waot-project/waot/backend"
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
