package main

import "encoding/binary"

// classifyA64 decodes the word of an instruction.
func classifyA64(code []byte) class { return classify(binary.LittleEndian.Uint32(code)) }

// field is bits hi to lo of an instruction.
func field(w uint32, hi, lo int) uint32 { return w >> lo & (1<<(hi-lo+1) - 1) }

// classify decodes one instruction as far as classes need it (Arm Architecture
// Reference Manual, "A64 instruction set encoding").
func classify(w uint32) class {
	switch {
	case field(w, 27, 27) == 1 && field(w, 25, 25) == 0:
		return classifyMemory(w)
	case isBranch(w):
		return classBranch
	case isMove(w):
		return classMove
	}
	return 0
}

func isBranch(w uint32) bool {
	return field(w, 30, 26) == 0b00101 || // b, bl
		field(w, 30, 26) == 0b01101 || // cbz, cbnz, tbz, tbnz
		field(w, 31, 25) == 0b0101010 || // b.cond, bc.cond
		field(w, 31, 25) == 0b1101011 // br, blr, ret, and those that authenticate
}

// isMove recognises the forms that mov and fmov have between registers. A 32-bit mov
// is one too, though it clears the upper half.
func isMove(w uint32) bool {
	rm, rn := field(w, 20, 16), field(w, 9, 5)
	switch {
	case field(w, 30, 21) == 0b01_01010_00_0: // orr rd, zr, rm
		return rn == 31 && field(w, 15, 10) == 0 && rm != 31
	case field(w, 30, 10) == 0b00_10001_0_0_000000000000: // add rd, rn, #0
		return rn == 31 || field(w, 4, 0) == 31
	case field(w, 31, 21) == 0b0_0_0_01110_10_1 || field(w, 31, 21) == 0b0_1_0_01110_10_1: // orr vd, vn, vm
		return field(w, 15, 10) == 0b000111 && rm == rn
	case field(w, 31, 24) == 0b0_0_0_11110: // fmov sd, sn
		return field(w, 21, 10) == 0b1_000000_10000
	}
	return false
}

// classifyMemory is of the group "loads and stores".
func classifyMemory(w uint32) class {
	var c class
	vector := field(w, 26, 26) == 1
	switch field(w, 29, 28) {
	case 0: // exclusive, ordered, compare and swap; structures of vectors
		c = byBit(field(w, 22, 22))
		if !vector && field(w, 24, 24) == 0 && field(w, 21, 21) == 1 && (field(w, 23, 23) == 1 || field(w, 31, 31) == 0) {
			c = classLoad | classStore // cas, casp
		}
	case 1:
		switch {
		case field(w, 24, 24) == 0: // relative to pc
			if !vector && field(w, 31, 30) == 3 {
				return 0 // prfm
			}
			return classLoad
		case field(w, 21, 21) == 1: // tags, copies of memory
			return 0
		case field(w, 23, 22) == 0: // stlur
			c = classStore
		default: // ldapur
			c = classLoad
		}
	case 2:
		c = byBit(field(w, 22, 22)) | classPair
	case 3:
		if c = classifySingle(w, vector); c == 0 {
			return 0
		}
	}
	if base := field(w, 9, 5); base == 31 || base == 29 {
		c |= classStack
	}
	return c
}

// classifySingle is of the forms of one register, but those of classifyMemory's cases 0 and 1.
func classifySingle(w uint32, vector bool) class {
	opc := field(w, 23, 22)
	if field(w, 24, 24) == 0 && field(w, 21, 21) == 1 && !vector {
		switch field(w, 11, 10) {
		case 0:
			if field(w, 15, 12) == 0b1100 && opc == 0b10 {
				return classLoad // ldapr
			}
			return classLoad | classStore // ldadd, swp and the like
		case 1, 3:
			return classLoad // ldraa, ldrab
		}
	}
	switch {
	case vector:
		return byBit(opc & 1)
	case opc == 0:
		return classStore
	case opc == 2 && field(w, 31, 30) == 3:
		return 0 // prfm
	}
	return classLoad
}

// byBit is of an instruction whose bit says that it loads.
func byBit(load uint32) class {
	if load == 1 {
		return classLoad
	}
	return classStore
}
