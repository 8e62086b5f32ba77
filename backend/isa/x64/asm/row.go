package asm

import "github.com/waot-project/waot/backend"

// Row describes one machine instruction, or the few that differ only in the
// size of their operands.
type Row struct {
	// Name is the mnemonic. With Sizes that have mnemonics of their own they are
	// listed in rising order of size, separated by bars. A row with HasCond takes the condition's
	// name as suffix.
	Name string
	// Form is the operands: roles, places in the encoding, order in the text.
	Form Form
	// Sizes are the allowed values of Inst.Size, each its own bit; 0 if Size does
	// not matter.
	Sizes Sizes
	// Prefix is the mandatory prefix. The operand-size prefix of Size 2 is not
	// mentioned in rows.
	Prefix Prefix
	// Map is the opcode map, and tells VEX from legacy encoding.
	Map Map
	// Opcode is the last opcode byte, of sizes over 1 where there are such; Size
	// 1 clears its bit 0.
	Opcode uint8
	// Digit is ModRM.reg (the manual's /digit) where no operand is there.
	Digit uint8
	// Imm is the kind of immediate.
	Imm ImmKind
	// Acc, if not 0, is the opcode of the short form with a full immediate for rax,
	// without ModRM.
	Acc uint8
	// ModRM, if not 0, is the fixed byte after the opcode.
	ModRM uint8
	// RM is the width in bytes of the rm operand, where it is not Size.
	RM uint8
	// MemOp, if not 0, is the row to use instead if the rm operand is in memory.
	// It has the same roles.
	MemOp backend.Op
	// Feature is what the processor must have.
	Feature Feature
	Flags   Flags
}

// Sizes is a set of operand sizes.
type Sizes = backend.Sizes

// The sets in use.
const (
	S1     Sizes = 1
	S2     Sizes = 2
	S4     Sizes = 4
	S8     Sizes = 8
	S16    Sizes = 16
	S48          = S4 | S8
	S248         = S2 | S4 | S8
	S1248        = S1 | S2 | S4 | S8
	S4816        = S4 | S8 | S16
	noSize Sizes = 0
)

// Prefix is a mandatory prefix, or a rule for one.
type Prefix uint8

// The prefixes. PScalar and PPacked go by Size, and such rows have no REX.W.
const (
	PNone   Prefix = iota
	P66            // 66
	PF2            // F2
	PF3            // F3
	PScalar        // Size 4: F3 (ss); 8: F2 (sd); 16: none
	PPacked        // Size 4: none (ps); 8: 66 (pd)
)

// Map is an opcode map.
type Map uint8

// The opcode maps. The numbers of the VEX maps are the hardware's plus 4.
const (
	MOne   Map = 0 // one byte
	M0F    Map = 1 // 0F
	M0F38  Map = 2 // 0F 38
	M0F3A  Map = 3 // 0F 3A
	V0F    Map = 5 // VEX.128.0F or VEX.LZ.0F
	V0F38  Map = 6 // VEX 0F38
	V0F3A  Map = 7 // VEX 0F3A
	mapVEX Map = 4
)

// ImmKind is how Inst.Imm is encoded.
type ImmKind uint8

// The kinds of immediate.
const (
	INone  ImmKind = iota
	IByte          // ib: one byte, signed or unsigned
	IWord          // iw: two bytes, unsigned
	IFull          // ib, iw, id by Size; sign-extended for Size 8
	IShort         // as IFull, but in one sign-extended byte with opcode bit 1 set where it fits
	IShift         // ib; a shift by 1 has opcode D1 and no immediate
	IReg           // is4: the register of role 2, in the upper half of a byte
	IRel8          // cb: Inst.Disp, a branch distance from the end of the instruction
	IRel32         // cd: likewise in four bytes
	IMov           // the shortest form of moving Imm to a register
	INop           // Imm is the instruction's own length
)

// Feature is a set of processor features beyond the x86-64 baseline.
type Feature uint16

// The features; 0 is x86-64-v1 (with SSE2).
const (
	SSE3 Feature = 1 << iota
	SSSE3
	SSE41
	SSE42
	POPCNT
	LZCNT
	BMI1
	BMI2
	AVX
	AVX2
	FMA
)

// Has reports whether all features of g are in f.
func (f Feature) Has(g Feature) bool { return f&g == g }

// Flags are properties of a row.
type Flags uint16

// The flags.
const (
	// Commutes: the first two uses may change places.
	Commutes Flags = 1 << iota
	// SetsFlags: status flags are changed (perhaps to undefined ones).
	SetsFlags
	// ReadsFlags: status flags are an input.
	ReadsFlags
	// HasCond: Inst.Cond is added to the opcode.
	HasCond
	// NoW: REX.W is not set for Size 8 (64 bits are the default, or it is the size
	// of a float).
	NoW
	// As32: Size 8 is done as Size 4; the result is zero-extended.
	As32
	// RegMR: between registers the opcode with bit 1 flipped is used, which
	// exchanges reg and rm.
	RegMR
	// Odd8: Size 8 sets bit 0 of the opcode.
	Odd8
	// Unaligned: a 16-byte memory operand need not be aligned.
	Unaligned
	// FalseDep: the instruction waits for the old value of its result register, because
	// it keeps the upper part. Clearing the register before (Zerof)
	// shortens dependency chains.
	FalseDep
	// Variadic: any number of further operands may follow those of the form
	// (arguments and results of calls).
	Variadic
	// NoFault: the memory operand is not accessed.
	NoFault
	// Divides: traps on zero or overflow.
	Divides
	// Whole: the 16-byte operand that may be in memory is always a vector, so that its spill slot is of 16 bytes, and aligned.
	Whole
)

// RowOf returns the row of op, which must be below NumOps. Callers must not change
// it.
func RowOf(op backend.Op) *Row { return &rows[op] }

// MayFault reports whether the instruction with an address accesses memory there.
func (r *Row) MayFault() bool {
	return (forms[r.Form].Mem != NoMem || r.MemOp != 0) && r.Flags&NoFault == 0
}

// rmWidth returns the width of the rm operand.
func (r *Row) rmWidth(size uint8) uint8 {
	if r.RM != 0 {
		return r.RM
	}
	return r.intWidth(size)
}

// intWidth returns the width of the integer register operands besides rm.
func (r *Row) intWidth(size uint8) uint8 {
	switch {
	case r.Sizes == noSize:
		return 8
	case r.Flags&As32 != 0 && size == 8:
		return 4
	}
	return size
}

// MaxLen bounds the length in bytes of any encoded instruction.
const MaxLen = 15

// MaxBytes returns the largest length in bytes that the instruction can have.
func (r *Row) MaxBytes() int {
	switch r.Imm {
	case IMov:
		return 10
	case INop:
		return maxNop
	}
	n := 1 // opcode
	switch {
	case r.Map >= mapVEX:
		n += 3
	default:
		n += int(r.Map) + 1 // escape bytes, REX
		if r.Prefix != PNone || r.Sizes&S2 != 0 {
			n++
		}
	}
	f := &forms[r.Form]
	if f.RM >= 0 || r.ModRM != 0 {
		n++
	}
	if f.Mem != NoMem {
		n += 5
	}
	switch r.Imm {
	case IByte, IReg, IShift, IRel8:
		n++
	case IWord:
		n += 2
	case IRel32:
		n += 4
	case IFull, IShort:
		n += min(4, maxSize(r.Sizes))
	}
	if r.MemOp != 0 {
		n = max(n, rows[r.MemOp].MaxBytes())
	}
	return n
}

// maxSize returns the largest size of s, 4 if there is none.
func maxSize(s Sizes) int {
	for n := 16; n > 0; n /= 2 {
		if s&Sizes(n) != 0 {
			return n
		}
	}
	return 4
}

// Role describes one operand of a form.
type Role = backend.Role

// FormInfo is a list of roles, with the places of their registers in the
// encoding (role numbers, or -1). Implicit registers have no place; of a use and the
// Def that reuses it only the use's place is given.
type FormInfo struct {
	Reg, RM, V, O int8 // ModRM.reg; ModRM.rm; VEX.vvvv; low bits of the opcode
	// Mem is whether RM may be memory.
	Mem MemRule
	// Text is the order in the assembly text: a digit is a role; i the immediate,
	// c the register cl, t the branch target.
	Text  string
	Roles []Role
}

// MemRule is whether an rm operand is a register or memory.
type MemRule uint8

// The rules.
const (
	NoMem   MemRule = iota // Mode is ModeNone
	MayMem                 // any Mode
	MustMem                // Mode is not ModeNone; of RM only the address is read
)
