package bugcases

import (
	"encoding/binary"
	"slices"
)

// Fault is an instruction that becomes another one, wherever it is in the code of a function.
type Fault struct {
	Name string
	Case string // the case of this package that must notice it
	Code func(b []byte)
}

// BytesOf changes what starts with the given bytes of x86-64, wherever they are: change gets the last of them and what follows.
func BytesOf(start []byte, change func(b []byte)) func([]byte) {
	return func(b []byte) {
		for i := 0; i+len(start)+3 <= len(b); i++ {
			if slices.Equal(b[i:i+len(start)], start) {
				change(b[i+len(start)-1:])
			}
		}
	}
}

// opcode changes vector instructions with an opcode that starts with 0F. Those of scalars have another prefix.
func opcode(last []byte, change func(b []byte)) func([]byte) {
	start := append([]byte{0x0F}, last...)
	return func(b []byte) {
		for i := 0; i+len(start)+4 <= len(b); i++ {
			if slices.Equal(b[i:i+len(start)], start) && !scalar(b[:i]) {
				change(b[i+len(start)-1:])
			}
		}
	}
}

// scalar reports whether the code before an opcode ends with a prefix F2 or F3, perhaps with REX behind it.
func scalar(before []byte) bool {
	n := len(before)
	if n > 0 && before[n-1]&0xF0 == 0x40 {
		n--
	}
	return n > 0 && before[n-1]&0xFE == 0xF2
}

// becomes replaces one opcode by another.
func becomes(from, to byte) func([]byte) { return opcode([]byte{from}, func(b []byte) { b[0] = to }) }

// halved replaces an opcode by another where an operand is in memory.
func halved(from, to byte) func([]byte) {
	return opcode([]byte{from}, func(b []byte) {
		if b[1] < 0xC0 {
			b[0] = to
		}
	})
}

// word replaces bits of the instructions of AArch64 that have the value under the mask.
func word(mask, value, flip uint32) func([]byte) {
	return EachWord(func(w uint32) uint32 {
		if w&mask == value {
			return w ^ flip
		}
		return w
	})
}

// EachWord changes each instruction of AArch64.
func EachWord(f func(w uint32) uint32) func([]byte) {
	return func(b []byte) {
		for i := 0; i+4 <= len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], f(binary.LittleEndian.Uint32(b[i:])))
		}
	}
}

// half makes accesses to 16 bytes accesses to the lower 8, at the same address: those with scaled offsets, and those of stur and ldur.
func half(from, to uint32) func([]byte) {
	const unscaled = 1 << 24 // is not set in them
	return EachWord(func(w uint32) uint32 {
		switch {
		case w&0xFFC00000 == from && w>>10&0xFFF < 0x800:
			return to | w&0x3FF | w>>10&0xFFF<<11
		case w&0xFFE00C00 == from&^unscaled:
			return to&^unscaled | w&0x1FFFFF
		}
		return w
	})
}

const lanes16 = 0xFF20FC00 // the bits of an instruction with three vectors of 16 bytes, but for the shape

// VectorFaults are faults of instructions of vectors, to plant one at a time, by GOARCH.
func VectorFaults(goarch string) []Fault {
	if goarch == "amd64" {
		return vectorFaultsX64[:]
	}
	return vectorFaultsA64[:]
}

var vectorFaultsX64 = [...]Fault{
	{"paddb becomes paddw", "i8x16.add", becomes(0xFC, 0xFD)},
	{"psubusb becomes psubsb", "i8x16.sub_sat_u", becomes(0xD8, 0xE8)},
	{"pmullw becomes pmulhw", "i16x8.mul", becomes(0xD5, 0xE5)},
	{"pcmpgtb becomes pcmpgtw", "i8x16.gt_s", becomes(0x64, 0x65)},
	{"pcmpeqd becomes pcmpeqw", "i32x4.eq", becomes(0x76, 0x75)},
	{"punpcklbw becomes punpckhbw", "interleaved", becomes(0x60, 0x68)},
	{"packuswb becomes packsswb", "i8x16.narrow_i16x8_u", becomes(0x67, 0x63)},
	{"psrld becomes psrad", "i32x4.shr_u", opcode([]byte{0x72}, func(b []byte) {
		if b[1]&0xF8 == 0xD0 {
			b[1] ^= 0x30
		}
	})},
	{"the order of pshufd is another", "words", opcode([]byte{0x70}, func(b []byte) {
		if b[1] >= 0xC0 {
			b[2] ^= 1
		}
	})},
	{"palignr shifts by one more", "bytes shifted", opcode([]byte{0x3A, 0x0F}, func(b []byte) {
		if b[1] >= 0xC0 {
			b[2]++
		}
	})},
	{"pextrb takes the next lane", "i8x16.extract_lane_u", opcode([]byte{0x3A, 0x14}, func(b []byte) { b[2] ^= 1 })},
	{"pandn becomes pand", "v128.andnot", becomes(0xDF, 0xDB)},
	{"minps becomes maxps", "f32x4.pmin", becomes(0x5D, 0x5F)},
	{"addps becomes subps", "f32x4.add", becomes(0x58, 0x5C)},
	{"pavgb becomes pavgw", "i8x16.avgr_u", becomes(0xE0, 0xE3)},
	{"pmaddwd becomes psadbw", "i32x4.dot_i16x8_s", becomes(0xF5, 0xF6)},
	{"pabsb becomes pabsw", "i8x16.abs", opcode([]byte{0x38, 0x1C}, func(b []byte) { b[0] = 0x1D })},
	{"vectors are spilled without their upper half", "vvvl", halved(0x11, 0x13)},
	{"vectors are reloaded without their upper half", "vf", halved(0x10, 0x12)},
	{"only the lower half of a constant is loaded", "i8x16.neg", halved(0x10, 0x12)},
}

var vectorFaultsA64 = [...]Fault{
	{"add of bytes adds half words", "i8x16.add", word(0xFFE0FC00, 0x4E208400, 1<<22)},
	{"uqsub becomes sqsub", "i8x16.sub_sat_u", word(lanes16, 0x6E202C00, 1<<29)},
	{"cmgt becomes cmge", "i8x16.gt_s", word(lanes16, 0x4E203400, 0x800)},
	{"cmeq becomes cmtst", "i32x4.eq", word(lanes16, 0x6E208C00, 1<<29)},
	{"zip1 becomes zip2", "interleaved", word(lanes16, 0x4E003800, 0x4000)},
	{"sqxtun becomes sqxtn", "i8x16.narrow_i16x8_u", EachWord(func(w uint32) uint32 {
		if w&0xBF3FFC00 == 0x2E212800 {
			w = w&^0x2000F000 | 0x4000
		}
		return w
	})},
	{"ushr becomes sshr", "i32x4.shr_u", word(0xFF80FC00, 0x6F000400, 1<<29)},
	{"ext starts one byte later", "bytes shifted", word(0xFFE08400, 0x6E000000, 1<<11)},
	{"tbl becomes tbx", "swizzle", word(0xFFE0FC00, 0x4E000000, 0x1000)},
	{"bic becomes and", "v128.andnot", word(0xFFE0FC00, 0x4E601C00, 1<<22)},
	{"umin becomes smin", "i8x16.min_u", word(lanes16, 0x6E206C00, 1<<29)},
	{"fadd becomes fsub", "f32x4.add", word(0xFFA0FC00, 0x4E20D400, 1<<23)},
	{"urhadd becomes srhadd", "i8x16.avgr_u", word(lanes16, 0x6E201400, 1<<29)},
	{"ushll becomes sshll", "i16x8.extend_low_i8x16_u", word(0xFF80FC00, 0x2F00A400, 1<<29)},
	{"abs becomes neg", "i8x16.abs", word(0xFF3FFC00, 0x4E20B800, 1<<29)},
	{"vectors are spilled without their upper half", "vvvl", half(0x3D800000, 0xFD000000)},
	{"vectors are reloaded without their upper half", "vf", half(0x3DC00000, 0xFD400000)},
}
