package asm

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
)

// MaxConst is the most steps that ConstSteps gives.
const MaxConst = 4

// ConstStep is one instruction of a sequence that makes a constant: Movz, Movn, or OrrImm of the zero
// register first, then Movk.
type ConstStep struct {
	Op   backend.Op
	Size uint8 // 4 zero-extends
	// Shift is the position of the 16 bits, in units of 16; 0 of OrrImm.
	Shift uint8
	Imm   uint64
}

// later are the sets of halves (16 bits each) that Movk may write, smallest sets first.
var later = [...]uint8{0, 8, 4, 2, 1, 12, 10, 6, 9, 5, 3, 14}

// ConstSteps makes the 64-bit constant x by the shortest sequence of a Movz, Movn or OrrImm followed by
// Movks; n is 1 to MaxConst.
func ConstSteps(x uint64) (steps [MaxConst]ConstStep, n int) {
	for _, set := range later {
		first, ok := firstStep(x, set)
		if !ok {
			continue
		}
		steps[0], n = first, 1
		for ; set != 0; set &= set - 1 {
			k := uint8(bits.TrailingZeros8(set))
			steps[n] = ConstStep{Movk, 8, k, half(x, k)}
			if first.Size == 4 && x>>32 == 0 && k < 2 {
				steps[n].Size = 4
			}
			n++
		}
		return steps, n
	}
	return steps, 0 // not reached: Movz makes any single half
}

// half returns 16 bits of x.
func half(x uint64, k uint8) uint64 { return x >> (16 * (k & 3)) & 0xffff }

// firstStep makes a value that has the halves of x, except for those in set.
func firstStep(x uint64, set uint8) (ConstStep, bool) {
	var nonzero, nonones uint8 // sets of halves
	for k := range uint8(4) {
		if set>>k&1 != 0 {
			continue
		}
		if half(x, k) != 0 {
			nonzero |= 1 << k
		}
		if half(x, k) != 0xffff {
			nonones |= 1 << k
		}
	}
	const low = 3 // the halves of a w register
	switch {
	case nonzero&(nonzero-1) == 0:
		k := lowest(nonzero)
		return ConstStep{Movz, 4 + k/2*4, k, half(x, k) & keep(nonzero)}, true
	case nonones&(nonones-1) == 0:
		k := lowest(nonones)
		return ConstStep{Movn, 8, k, ^half(x, k) & 0xffff & keep(nonones)}, true
	case nonzero&^low == 0 && nonones&low&(nonones&low-1) == 0:
		k := lowest(nonones & low)
		return ConstStep{Movn, 4, k, ^half(x, k) & 0xffff & keep(nonones&low)}, true
	}
	if bits.OnesCount8(set) > 2 {
		return ConstStep{}, false
	}
	if nonzero&^low == 0 {
		if m, ok := bitmaskLike(x&0xffff_ffff, set&low, 4); ok {
			return ConstStep{OrrImm, 4, 0, m}, true
		}
	}
	m, ok := bitmaskLike(x, set, 8)
	return ConstStep{OrrImm, 8, 0, m}, ok
}

// lowest returns the first half of set, 0 if there is none.
func lowest(set uint8) uint8 { return uint8(bits.TrailingZeros8(set|16)) & 3 }

// keep returns a mask for the half of set: 0 if there is none.
func keep(set uint8) uint64 {
	if set == 0 {
		return 0
	}
	return 0xffff
}

// bitmaskLike returns a bitmask immediate of the given size that equals x except for the halves in set. It tries all zeros,
// all ones and the other halves there: if any value works, one of these works.
func bitmaskLike(x uint64, set, size uint8) (uint64, bool) {
	if set == 0 {
		return x, FitsBits(size, int64(x))
	}
	k := lowest(set)
	for _, v := range [...]uint64{0, 0xffff, half(x, 0), half(x, 1), half(x, 2), half(x, 3)} {
		if m, ok := bitmaskLike(x&^(0xffff<<(16*k))|v<<(16*k), set&(set-1), size); ok {
			return m, true
		}
	}
	return 0, false
}
