// Package reloc holds the kinds of relocation, which bits each changes, and how ELF numbers them on each machine.
//
// Place in the pipeline: a leaf. The machine buffer and the back end record relocations, the object driver resolves those
// within a module, objects hold the others, and hosts resolve them.
//
// Input: a kind, the bytes of its field, and two addresses.
// Output: the bytes with the value in them.
package reloc

import (
	"encoding/binary"
	"math"
)

// Kind says how the value of a field is computed. S is the address of the symbol, A the addend, P the address of the
// field. The numbers are part of the digests of sections: they stay as they are.
type Kind uint8

// The kinds. Those from Call26 on are of AArch64: P is the address of an instruction, a multiple of 4, and the field is a
// part of it. Page(x) is x without its low 12 bits.
const (
	Abs64       Kind = iota // 8 bytes: S + A
	PC32                    // 4 bytes: S + A - P
	Call32                  // 4 bytes: the same, of a call or jump, which may go through a linkage table
	PC64                    // 8 bytes: S + A - P
	Call26                  // bl: (S + A - P) / 4 in 26 bits; may go through a veneer
	Jump26                  // b: the same
	Page21                  // adrp: (Page(S + A) - Page(P)) / 4096 in 21 bits
	AddLo12                 // add: the low 12 bits of S + A
	Ldst8Lo12               // load or store of 1 byte: the same
	Ldst16Lo12              // of 2 bytes: the same, which must be a multiple of 2, divided by 2
	Ldst32Lo12              // of 4 bytes
	Ldst64Lo12              // of 8 bytes
	Ldst128Lo12             // of 16 bytes
	NumKinds
)

// Width returns the number of bytes of the field, or of the instruction that it is a part of.
func (k Kind) Width() uint64 {
	if k == Abs64 || k == PC64 {
		return 8
	}
	return 4
}

// InInstruction reports whether the field is a part of an instruction that must be at a multiple of 4.
func (k Kind) InInstruction() bool { return k >= Call26 }

// Types are the ELF numbers of the kinds that a machine has, by kind; 0 is none.
type Types [NumKinds]uint32

// The machines.
var (
	// X64 has R_X86_64_64, _PC32, _PLT32, _PC64.
	X64 = Types{Abs64: 1, PC32: 2, Call32: 4, PC64: 24}
	// A64 has R_AARCH64_ABS64, _PREL32, _PREL64; _CALL26, _JUMP26, _ADR_PREL_PG_HI21, _ADD_ABS_LO12_NC;
	// _LDST8_ABS_LO12_NC and so on.
	A64 = Types{Abs64: 257, PC32: 261, PC64: 260, Call26: 283, Jump26: 282, Page21: 275, AddLo12: 277,
		Ldst8Lo12: 278, Ldst16Lo12: 284, Ldst32Lo12: 285, Ldst64Lo12: 286, Ldst128Lo12: 299}
)

// Has reports whether the machine has kind k.
func (t *Types) Has(k Kind) bool { return k < NumKinds && t[k] != 0 }

// Kind returns the kind with the ELF number typ; ok is false if the machine has none.
func (t *Types) Kind(typ uint32) (k Kind, ok bool) {
	for k, n := range t {
		if n == typ && n != 0 {
			return Kind(k), true
		}
	}
	return 0, false
}

// Apply puts the value of kind k, which is below NumKinds, into field, Width bytes that are at address p; s is the address
// that is referred to, with the addend. If the value does not fit, it leaves the field as it is and reports false.
func (k Kind) Apply(field []byte, s, p uint64) (ok bool) {
	le := binary.LittleEndian
	d := int64(s - p)
	switch {
	case k == Abs64:
		le.PutUint64(field, s)
	case k == PC64:
		le.PutUint64(field, uint64(d))
	case k.InInstruction():
		inst, ok := k.patch(le.Uint32(field), s, p)
		le.PutUint32(field, inst)
		return ok
	case d < math.MinInt32 || d > math.MaxInt32:
		return false
	default:
		le.PutUint32(field, uint32(d))
	}
	return true
}

// patch is inst, an instruction of AArch64 at p, with the value in it. If that does not fit, inst stays as it is.
func (k Kind) patch(inst uint32, s, p uint64) (uint32, bool) {
	const (
		imm26 = 1<<26 - 1
		imm19 = 1<<19 - 1
		imm12 = 1<<12 - 1
	)
	switch k {
	case Call26, Jump26:
		d := int64(s - p)
		if d&3 != 0 || d < -1<<27 || d >= 1<<27 {
			return inst, false
		}
		return inst&^imm26 | uint32(d>>2)&imm26, true
	case Page21:
		d := int64(s&^imm12 - p&^imm12)
		if d < -1<<32 || d >= 1<<32 {
			return inst, false
		}
		n := uint32(d >> 12)
		return inst&^(3<<29|imm19<<5) | n&3<<29 | n>>2&imm19<<5, true
	}
	scale := loScale[k-AddLo12]
	lo := uint32(s) & imm12
	if lo&(1<<scale-1) != 0 {
		return inst, false
	}
	return inst&^(imm12<<10) | lo>>scale<<10, true
}

// loScale is, by kind from AddLo12 on, the logarithm of what the low 12 bits are divided by.
var loScale = [...]uint8{0, 0, 1, 2, 3, 4}
