package wat

import (
	"fmt"
	"math"
	"strings"

	"github.com/waot-project/waot/internal/abi"
)

// Letters stand for types in the functions here: i, l, f, d and v for i32, i64, f32, f64 and v128, r and x for funcref and externref.

// TypeName returns the type that a letter stands for.
func TypeName(letter byte) string { return abi.ValTypeByLetter(letter).String() }

// Types returns "(param i32 i64)" and the like, for a word and letters; empty for no letters.
func Types(word, letters string) string {
	if letters == "" {
		return ""
	}
	var s strings.Builder
	s.WriteString("(" + word)
	for i := range letters {
		s.WriteString(" " + TypeName(letters[i]))
	}
	return s.String() + ")"
}

// Get returns (local.get n).
func Get(n int) string { return fmt.Sprintf("(local.get %d)", n) }

// Const returns the operator for a constant with those bits, also those of any NaN.
func Const(letter byte, bits uint64) string {
	switch letter {
	case 'i':
		return fmt.Sprintf("(i32.const %d)", int32(bits))
	case 'l':
		return fmt.Sprintf("(i64.const %d)", int64(bits))
	case 'f':
		abs := uint32(bits) &^ (1 << 31)
		return floatConst("f32", uint32(bits) != abs, abs > 0x7F800000, uint64(abs&0x7FFFFF), float64(math.Float32frombits(abs)))
	}
	abs := bits &^ (1 << 63)
	return floatConst("f64", bits != abs, abs > 0x7FF<<52, abs&(1<<52-1), math.Float64frombits(abs))
}

func floatConst(t string, negative, nan bool, payload uint64, abs float64) string {
	sign, number := "", fmt.Sprintf("%x", abs)
	if negative {
		sign = "-"
	}
	switch {
	case nan:
		number = fmt.Sprintf("nan:%#x", payload)
	case math.IsInf(abs, 0):
		number = "inf"
	}
	return fmt.Sprintf("(%s.const %s%s)", t, sign, number)
}

// Vector is the bits of a v128, the low half first.
type Vector [2]uint64

// Byte returns byte i, which is the one that memory has at an address i higher.
func (v Vector) Byte(i uint64) byte { return byte(v[i/8] >> (i % 8 * 8)) }

// String returns the operator for the constant.
func (v Vector) String() string { return fmt.Sprintf("(v128.const i64x2 %#x %#x)", v[0], v[1]) }

const (
	nops8  = "nop nop nop nop nop nop nop nop "
	nops64 = nops8 + nops8 + nops8 + nops8 + nops8 + nops8 + nops8 + nops8
)

// NotInlined at the start of a function's code makes the function too long to be inlined (in bytes, as package compile counts them), and
// nothing else: for cases that are about calls.
const NotInlined = nops64 + nops64 + nops64 + nops64 + nops64 + nops64 + nops64 + nops64 + nops64 + nops64

// VectorFunctions are functions that make a vector of its halves, and halves of a vector, for engines whose calls take only numbers.
const VectorFunctions = `(func $vector (param i64 i64) (result v128) (i64x2.replace_lane 1 (i64x2.splat (local.get 0)) (local.get 1)))
	(func $halves (param v128) (result i64 i64) (i64x2.extract_lane 0 (local.get 0)) (i64x2.extract_lane 1 (local.get 0)))
`

// Halves returns a call of $halves.
func Halves(e string) string { return "(call $halves " + e + ")" }

// GetVector returns the vector whose halves are the parameters n and n+1.
func GetVector(n int) string {
	return fmt.Sprintf("(call $vector (local.get %d) (local.get %d))", n, n+1)
}

// ToI64 returns an expression of type i64 with all bits of e.
func ToI64(letter byte, e string) string {
	switch letter {
	case 'i':
		return "(i64.extend_i32_u " + e + ")"
	case 'f':
		return "(i64.extend_i32_u (i32.reinterpret_f32 " + e + "))"
	case 'd':
		return "(i64.reinterpret_f64 " + e + ")"
	}
	return e
}

// Hash returns an i64 of the locals first, first+1... of those types, all of which count.
func Hash(letters string, first int) string {
	// Plain operators: the text has a length in proportion, and no depth.
	var s strings.Builder
	s.WriteString("(i64.const 17)")
	for i := range letters {
		s.WriteString(ToI64(letters[i], Get(first+i)) + "(i64.xor) (i64.const 13) (i64.rotl)")
	}
	return s.String()
}

// Distinct returns different values of the types, as expressions of local 0, an i64.
func Distinct(letters string) string {
	var s strings.Builder
	for i := range letters {
		e := fmt.Sprintf("(i64.add (i64.mul (local.get 0) (i64.const %d)) (i64.const %d))", 2*i+1, 1000*i+7)
		switch letters[i] {
		case 'i':
			e = "(i32.wrap_i64 " + e + ")"
		case 'f':
			e = "(f32.convert_i64_s " + e + ")"
		case 'd':
			e = "(f64.convert_i64_s " + e + ")"
		}
		s.WriteString(e)
	}
	return s.String()
}

// Cycle returns n letters, those of from by turns.
func Cycle(n int, from string) string { return strings.Repeat(from, n/len(from)+1)[:n] }

// SetLocals takes n results from the stack into the locals from first on.
func SetLocals(n, first int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "(local.set %d)", first+n-1-i)
	}
	return s.String()
}

// Pattern returns the byte that Filled has at an address: never zero, half of them with their upper bit set.
func Pattern(at uint64) byte { return byte(at*0x9E3779B97F4A7C15>>41) | 1 }

// Filled returns a data segment of n bytes of Pattern at an address.
func Filled(at uint64, n int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "(data (i32.const %d) \"", int32(at))
	for i := range n {
		fmt.Fprintf(&s, "\\%02x", Pattern(at+uint64(i)))
	}
	return s.String() + "\")"
}
