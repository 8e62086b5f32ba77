package asm

import "github.com/waot-project/waot/backend"

// Row describes one machine instruction, or the few that differ only in the
// size of their operands.
type Row struct {
	// Name is the mnemonic.
	Name string
	// Word is the instruction with zero in its fields, for the smallest Size.
	Word uint32
	// Wide and Quad are the bits that are flipped for Size 8 and 16.
	Wide, Quad uint32
	// Lit is the word of the literal form, 0 if there is none.
	Lit uint32
	// Form is the operands: roles, places in the encoding, order in the text.
	Form Form
	// Sizes are the allowed values of Inst.Size, each its own bit; 0 if Size does
	// not matter.
	Sizes Sizes
	// Imm is the kind of immediate.
	Imm ImmKind
	// Addr is how the address is encoded.
	Addr AddrKind
	// Mem is the width in bytes of the memory operand, where it is not Size.
	Mem uint8
	// Lanes are the widths that the lanes of a vector may have.
	Lanes Lanes
	// SP is the set of roles (bit numbers) whose register 31 is the stack pointer, not zero. The base of
	// an address is not mentioned.
	SP uint8
	// W are the widths of the operands by role, where not Size; see operandWidth.
	W [4]uint8
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
	S816         = S8 | S16
	S4816        = S4 | S8 | S16
	noSize Sizes = 0
)

// Lanes are the widths of lanes that a row has, and their place in the word. Inst.Scale is the logarithm of the width in
// bytes.
type Lanes struct {
	// Set has bit n for lanes of 1<<n bytes. 0: the row has no lanes but bytes.
	Set uint8
	// At is the bit where Inst.Scale - Least is, or elsewhere.
	At, Least uint8
}

// elsewhere is Lanes.At if the immediate has the width of the lanes, or the row has one only. Shifted so far left, it vanishes.
const elsewhere = 32

// Feature is a set of processor features beyond ARMv8.0-A.
type Feature uint16

// The features.
const (
	// DotProduct is FEAT_DotProd.
	DotProduct Feature = 1 << iota
)

// AddrKind is how the address of a row is encoded.
type AddrKind uint8

// The kinds of address.
const (
	AddrNone     AddrKind = iota
	AddrMem               // [base, #disp], scaled and unsigned or unscaled and signed; [base, index]
	AddrPair              // [base, #disp], scaled, 7 bits
	AddrPairPre           // [base, #disp]!, likewise
	AddrPairPost          // [base], #disp, likewise
	AddrBase              // [base]
	AddrLea               // any
)

// Flags are properties of a row.
type Flags uint16

// The flags.
const (
	// Commutes: the first two uses may change places.
	Commutes Flags = 1 << iota
	// SetsFlags: status flags are changed; of SetsFlags rows Inst.Tail may be any.
	SetsFlags
	// ReadsFlags: status flags are an input.
	ReadsFlags
	// HasCond: Inst.Cond is in bits 12 to 15; with CondLow in bits 0 to 3, with CondInv inverted.
	HasCond
	CondLow
	CondInv
	// SelfTail: a branch that includes its own TailJump or TailTrap.
	SelfTail
	// Variadic: any number of further operands may follow those of the form
	// (arguments and results of calls).
	Variadic
	// NoFault: the memory operand is not accessed.
	NoFault
	// Expands: more than one word, or another row's.
	Expands
)

// RowOf returns the row of op, which must be below NumOps. Callers must not change
// it.
func RowOf(op backend.Op) *Row { return &rows[op] }

// MayFault reports whether the instruction accesses memory at its address.
func (r *Row) MayFault() bool { return r.Addr != AddrNone && r.Flags&NoFault == 0 }

// MemBytes returns the width in bytes of the memory operand of an instruction of the given size (one register
// of a pair), 0 if there is none.
func (r *Row) MemBytes(size uint8) int {
	switch {
	case r.Addr == AddrNone || r.Addr == AddrLea:
		return 0
	case r.Mem != 0:
		return int(r.Mem)
	}
	return int(size)
}

// WordBytes is the length of an instruction word.
const WordBytes = 4

// MaxLen bounds the length in bytes of the code that Append makes of any instruction.
const MaxLen = 4 * WordBytes

// fitsLanes reports whether lanes of 1<<scale bytes are allowed. There is no use for lanes of more than 2 bytes in half a
// vector.
func (r *Row) fitsLanes(size, scale uint8) bool {
	return r.Lanes.Set == 0 || r.Lanes.Set>>scale&1 != 0 && (size == 16 || scale <= 1)
}

// word returns the word for size, without fields.
func (r *Row) word(size uint8) uint32 {
	switch {
	case r.Sizes == noSize:
	case size == 8:
		return r.Word ^ r.Wide
	case size == 16:
		return r.Word ^ r.Quad
	}
	return r.Word
}

// Widths of operands in Row.W that are not numbers of bytes.
const (
	wVector      = 0x80 + iota // a vector of Size
	wHalf                      // a vector of 8 bytes
	wWide                      // a vector of 16 bytes, lanes twice as wide
	wBytes                     // a vector of 16 bytes, the lanes are bytes
	wList                      // a list of one vector of 16 bytes
	wElement                   // a lane, without its number
	wListElement               // a list of one lane
	wLane                      // a scalar in a vector register, as wide as a lane
	wGeneral                   // w or x, by the lanes
	wExtend                    // w or x, by the extension
)

// operandWidth returns the width of role i, for appendReg.
func (r *Row) operandWidth(i int, inst *backend.Inst) uint8 {
	w := uint8(0)
	if i < len(r.W) {
		w = r.W[i]
	}
	switch w {
	case 0:
		if r.Sizes == noSize {
			return 8
		}
		return inst.Size
	case wExtend:
		if extend, _ := extendedOf(inst.Imm); extend != UXTX && extend != SXTX {
			return 4
		}
		return inst.Size
	case wVector, wHalf, wWide, wBytes, wList, wElement, wListElement:
		return vectorShape(w, inst.Size, inst.Scale)
	case wLane:
		return 1 << inst.Scale
	case wGeneral:
		return max(4, uint8(1)<<inst.Scale)
	}
	return w
}

// vectorShape returns the shape that an operand of the width w in Row.W has.
func vectorShape(w, size, scale uint8) uint8 {
	switch w {
	case wHalf:
		return shapeVector | scale
	case wWide:
		return shapeVector | shapeQuad | scale + 1
	case wBytes:
		return shapeVector | shapeQuad
	case wList:
		return shapeVector | shapeQuad | shapeList | scale
	case wElement:
		return shapeVector | shapeElement | scale
	case wListElement:
		return shapeVector | shapeElement | shapeList | scale
	}
	return shapeVector | size&16>>4<<2 | scale
}

// Role describes one operand of a form.
type Role = backend.Role

// FormInfo is a list of roles, with the places of their registers in the
// encoding (role numbers, or -1): bits 0 to 4, 5 to 9, 16 to 20, 10 to 14. Of a use and the
// Def that reuses it only the use's place is given. One role may have two places.
type FormInfo struct {
	D, N, M, A int8
	// Addr: role 0 is an address.
	Addr bool
	// Text is the order in the assembly text: a digit is a role; i the immediate, c the
	// condition, t the branch target, z a zero, f a zero that is a float, r the zero register; l and m the first and the
	// second lane number in the immediate, in brackets.
	Text  string
	Roles []Role
}
