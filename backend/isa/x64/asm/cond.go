package asm

// Cond is a condition on the flags, for backend.Inst.Cond. The first sixteen
// are the hardware's codes; FEq and FNe take two of them.
type Cond uint8

// The conditions. B to A compare unsigned integers, and floats after Ucomisf
// (A and AE are false if unordered, B, BE and E true); L to G signed integers.
const (
	O  Cond = iota // overflow
	NO             // no overflow
	B              // below: CF
	AE             // above or equal: not CF
	E              // equal: ZF
	NE             // not equal
	BE             // below or equal: CF or ZF
	A              // above
	S              // sign
	NS             // no sign
	P              // parity: unordered
	NP             // no parity: ordered
	L              // less: SF != OF
	GE             // greater or equal
	LE             // less or equal
	G              // greater
	// FEq: floats ordered and equal: E and NP.
	FEq
	// FNe: floats unordered or not equal: NE or P.
	FNe
	NumConds
)

var condNames = [NumConds]string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g",
	"feq", "fne"}

// String returns the suffix of the mnemonic, as in "jae"; "feq" and "fne" for the two
// that no single instruction tests.
func (c Cond) String() string {
	if c >= NumConds {
		return "cond?"
	}
	return condNames[c]
}

// Invert returns the condition that holds exactly if c does not, unordered floats
// included.
func (c Cond) Invert() Cond { return c ^ 1 }

// IsHardware reports whether one instruction can test c.
func (c Cond) IsHardware() bool { return c < FEq }

// Parts returns the hardware conditions that make up c: c holds if first and second
// do (both is true) or if one of them does. Hardware conditions come
// twice.
func (c Cond) Parts() (first, second Cond, both bool) {
	switch c {
	case FEq:
		return E, NP, true
	case FNe:
		return NE, P, false
	}
	return c, c, true
}
