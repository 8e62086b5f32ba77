package asm

import (
	"math/bits"
)

// Shift is how a register operand is shifted.
type Shift uint8

// The shifts: the hardware's codes. ROR is for And to Eon, Tst and Mvn only.
const (
	LSL Shift = iota
	LSR
	ASR
	ROR
)

var shiftNames = [4]string{"lsl", "lsr", "asr", "ror"}

// Shifted returns the Imm of a row with a shifted register; n is 0 to bits-1.
func Shifted(s Shift, n uint8) int64 { return int64(s)<<6 | int64(n) }

// shiftedOf returns what Shifted made imm from. Of any other imm it returns some shift, from which Shifted makes another number.
func shiftedOf(imm int64) (s Shift, n uint8) { return Shift(imm >> 6 & 3), uint8(imm & 63) }

// Extend is how a register operand is extended.
type Extend uint8

// The extensions: the hardware's codes.
const (
	UXTB Extend = iota
	UXTH
	UXTW
	UXTX
	SXTB
	SXTH
	SXTW
	SXTX
)

var extendNames = [8]string{"uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"}

// Extended returns the Imm of a row with an extended register, which is then shifted left by n, 0 to 4.
func Extended(e Extend, n uint8) int64 { return int64(e)<<3 | int64(n) }

// extendedOf is to Extended as shiftedOf to Shifted.
func extendedOf(imm int64) (e Extend, n uint8) { return Extend(imm >> 3 & 7), uint8(imm & 7) }

// Field returns the Imm of a bit field of width bits from bit lsb on; width is at least 1, and
// lsb+width at most the operation's width.
func Field(lsb, width uint8) int64 { return int64(width)<<8 | int64(lsb) }

// fieldOf is to Field as shiftedOf to Shifted.
func fieldOf(imm int64) (lsb, width uint8) { return uint8(imm), uint8(imm >> 8) }

// CondImm returns the Imm of CcmpImm and CcmnImm: value is 0 to 31, flags 0 to 15.
func CondImm(value, flags uint8) int64 { return int64(value)<<4 | int64(flags) }

// condImmOf is to CondImm as shiftedOf to Shifted.
func condImmOf(imm int64) (value, flags uint8) { return uint8(imm >> 4 & 31), uint8(imm & 15) }

// The Imm of Bti: by which indirect branches the place may be reached.
const (
	BtiC  = 1 // calls
	BtiJ  = 2 // jumps
	BtiJC = 3 // both
)

// FitsArith reports whether imm is an immediate of AddImm to CmnImm.
func FitsArith(imm int64) bool {
	_, ok := arithField(imm)
	return ok
}

// arithField returns the field of an arithmetic immediate.
func arithField(imm int64) (uint32, bool) {
	switch {
	case imm>>12 == 0:
		return uint32(imm) << 10, true
	case imm>>24 == 0 && imm&0xfff == 0:
		return 1<<22 | uint32(imm>>12)<<10, true
	}
	return 0, false
}

// FitsBits reports whether the low size (4 or 8) bytes of imm are an immediate of AndImm to TstImm:
// a run of ones in an element of 2, 4, 8, 16, 32 or 64 bits, rotated, and repeated.
func FitsBits(size uint8, imm int64) bool {
	_, ok := bitsField(uint64(imm), size)
	return ok
}

// bitsField is N, immr and imms of a bitmask immediate, in place.
func bitsField(x uint64, size uint8) (uint32, bool) {
	if size == 4 {
		x = x<<32 | x&0xffff_ffff
	}
	if x == 0 || x == ^uint64(0) {
		return 0, false
	}
	n := uint(64) // of the shortest element
	for n > 2 && x == bits.RotateLeft64(x, int(n/2)) {
		n /= 2
	}
	// The run begins where a 1 follows a 0 in circular order; there must be one such place in each element.
	begins := x &^ bits.RotateLeft64(x, 1)
	if bits.OnesCount64(begins) != int(64/n) {
		return 0, false
	}
	start := uint(bits.TrailingZeros64(begins))
	ones := uint(bits.OnesCount64(x)) / (64 / n)
	immr := (n - start) & (n - 1)
	imms := -(2*n)&0x3f | (ones - 1)
	return uint32(n>>6<<22 | immr<<16 | imms<<10), true
}

// FitsFloat reports whether a float of size (4 or 8) bytes, given by its bits, is an immediate of FmovImm:
// n/16 * 2^e with n 16 to 31 and e -3 to 4, or its negative.
func FitsFloat(size uint8, b uint64) bool {
	_, ok := floatField(size, b)
	return ok
}

// floatField returns imm8 in place.
func floatField(size uint8, b uint64) (uint32, bool) {
	low, e := 48, 8 // the mantissa's lowest bit that counts; copies of a bit in the exponent
	if size == 4 {
		low, e = 19, 5
	}
	sign, exp := b>>(low+e+7), b>>(low+6)&(2<<e-1)
	if sign > 1 || b&(1<<low-1) != 0 || exp != 1<<e && exp != 1<<e-1 {
		return 0, false
	}
	return uint32(sign<<7|exp&1<<6|b>>low&0x3f) << 13, true
}
