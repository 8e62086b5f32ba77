package asm

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// Bound returns the length in bytes of what Append makes of inst. allocs may have operands of a tail
// behind the row's.
func Bound(inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) uint32 {
	switch {
	case rows[inst.Op].Flags&Expands == 0 && plainModes>>inst.Mode&1 != 0:
		return WordBytes
	case inst.Mode == backend.ModeSym:
		return 2 * WordBytes
	case inst.Op == MovImm:
		x := uint64(inst.Imm)
		if inst.Size == 4 {
			x = uint64(uint32(x))
		}
		_, n := ConstSteps(x)
		return WordBytes * uint32(n)
	}
	var s steps
	s.expand(inst, allocs, fr)
	return WordBytes * uint32(s.n)
}

// MoveBound returns the length in bytes of what AppendMove makes.
func MoveBound(from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) uint32 {
	if from == to {
		return 0
	}
	if from.IsReg() && to.IsReg() {
		return WordBytes
	}
	var s steps
	s.move(from, to, bytes, fr)
	return WordBytes * uint32(s.n)
}
