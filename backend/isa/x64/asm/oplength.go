package asm

// OpLength returns the length in bytes of the instruction that code begins with, which Append or the machine buffer wrote; 0 if
// code is too short for one. The encoding is that of Intel's manual, volume 2, section 2.1 and appendix A, as far as it is used here.
func OpLength(code []byte) int {
	var word, wide bool // operands of 16 bits, of 64
	n := 0
	for n < len(code) {
		c := code[n]
		if c == 0x66 {
			word = true
		} else if c&0xf0 == 0x40 {
			wide = c&8 != 0
		} else if c != 0xf2 && c != 0xf3 && c != notrack {
			break
		}
		n++
	}
	m, n := opcodeMap(code, n)
	if n >= len(code) {
		return 0
	}
	op := code[n]
	n++
	var digit uint8
	if hasModRM(m, op) {
		if n >= len(code) {
			return 0
		}
		digit = code[n] >> 3 & 7
		n += modRMBytes(code[n:])
	}
	n += immediateBytes(m, op, digit, word, wide)
	if n > len(code) {
		return 0
	}
	return n
}

// notrack is the prefix of indirect jumps that need no landing place.
const notrack = 0x3e

// opcodeMap returns the map of the opcode and where that is; code[n] is behind the prefixes.
func opcodeMap(code []byte, n int) (Map, int) {
	rest := code[n:]
	switch {
	case len(rest) < 2: // an opcode at most
		if len(rest) == 1 && rest[0] == 0x0f {
			n++
		}
		return MOne, n
	case rest[0] == 0xc5:
		return M0F, n + 2
	case rest[0] == 0xc4:
		return Map(rest[1] & 31), n + 3
	case rest[0] != 0x0f:
		return MOne, n
	case rest[1] == 0x38:
		return M0F38, n + 2
	case rest[1] == 0x3a:
		return M0F3A, n + 2
	}
	return M0F, n + 1
}

// hasModRM reports whether a ModRM byte follows the opcode.
func hasModRM(m Map, op uint8) bool {
	switch m {
	case MOne:
		switch op >> 4 {
		case 0, 1, 2, 3:
			return op&7 < 4
		case 6:
			return op == 0x63 || op&^2 == 0x69
		case 8:
			return true
		case 0xc:
			return op < 0xc2 || op == 0xc6 || op == 0xc7
		case 0xd:
			return true
		case 0xf:
			return op&7 >= 6
		}
		return false
	case M0F:
		return op>>4 != 8 && op&0xf8 != 0xc8 && op != 0x0b && op != 0x77 && op != 0x05
	}
	return true
}

// modRMBytes returns the length of ModRM, SIB and displacement, with which code begins.
func modRMBytes(code []byte) int {
	mod, rm := code[0]>>6, code[0]&7
	n := 1
	if mod != 3 && rm == 4 {
		n++
		if mod == 0 && len(code) > 1 && code[1]&7 == 5 {
			n += 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2 || mod == 0 && rm == 5:
		n += 4
	}
	return n
}

// immediateBytes returns the length of the immediate; digit is the middle field of ModRM.
func immediateBytes(m Map, op, digit uint8, word, wide bool) int {
	full := 4
	if word {
		full = 2
	}
	switch m {
	case M0F38:
		return 0
	case M0F3A:
		return 1
	case M0F:
		switch {
		case op>>4 == 8:
			return 4
		case op&0xfc == 0x70, op == 0xa4, op == 0xac, op == 0xba, op == 0xc2, op >= 0xc4 && op <= 0xc6:
			return 1
		}
		return 0
	}
	switch {
	case op>>3 == 0xb8>>3:
		if wide {
			return 8
		}
		return full
	case op < 0x40 && op&7 == 5, op == 0x68, op == 0x69, op == 0x81, op == 0xa9, op == 0xc7, op == 0xf7 && digit < 2:
		return full
	case op == 0xe8, op == 0xe9:
		return 4
	case op == 0xc2:
		return 2
	case op < 0x40 && op&7 == 4, op == 0x6a, op == 0x6b, op>>4 == 7, op == 0x80, op == 0x83, op == 0xa8, op&0xf8 == 0xb0,
		op == 0xc0, op == 0xc1, op == 0xc6, op == 0xeb, op == 0xf6 && digit < 2:
		return 1
	}
	return 0
}

// FusesWithBranch reports whether the processor decodes the instruction that code begins with and a conditional branch behind it as one
// operation: comparisons, tests and simple arithmetic do, unless they have both a memory operand and an immediate.
func FusesWithBranch(code []byte) bool {
	n := 0
	for n < len(code) && (code[n]&0xf0 == 0x40 || code[n] == 0x66) {
		n++
	}
	if n+1 >= len(code) {
		return false
	}
	op, reg := code[n], code[n+1]>>6 == 3
	switch {
	case op < 0x40:
		return op&7 < 6
	case op == 0x81 || op == 0x83 || op == 0x80:
		return reg
	case op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9:
		return true
	case op == 0xf6 || op == 0xf7:
		return reg && code[n+1]>>3&7 < 2
	case op == 0xff || op == 0xfe:
		return reg && code[n+1]>>3&7 < 2
	}
	return false
}

// IsBranch reports whether code begins with a branch within a function.
func IsBranch(code []byte) bool {
	return len(code) > 1 && (code[0]>>4 == 7 || IsJump(code) || code[0] == 0x0f && code[1]>>4 == 8)
}

// IsJump reports whether code begins with an unconditional branch within a function.
func IsJump(code []byte) bool { return len(code) > 0 && code[0]&^2 == 0xe9 }
