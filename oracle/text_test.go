package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// operator is a numeric operator with operands of one type each.
type operator struct {
	name   string
	params string // a letter an operand: i, l, f, d
	result byte
}

var typeNames = map[byte]string{'i': "i32", 'l': "i64", 'f': "f32", 'd': "f64", 'r': "funcref", 'x': "externref"}

func watType(t byte) string { return typeNames[t] }

// watTypes is "(param i32 i64)" and the like; empty for none.
func watTypes(what, ts string) string {
	if ts == "" {
		return ""
	}
	var s strings.Builder
	s.WriteString("(" + what)
	for i := range ts {
		s.WriteString(" " + watType(ts[i]))
	}
	return s.String() + ")"
}

// binaries and unaries are all numeric operators, conversions included.
func binaries() (out []operator) {
	add := func(t byte, result byte, names string) {
		for _, n := range strings.Fields(names) {
			out = append(out, operator{watType(t) + "." + n, string([]byte{t, t}), result})
		}
	}
	for _, t := range []byte("il") {
		add(t, t, "add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr")
		add(t, 'i', "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u")
	}
	for _, t := range []byte("fd") {
		add(t, t, "add sub mul div min max copysign")
		add(t, 'i', "eq ne lt gt le ge")
	}
	return out
}

func unaries() (out []operator) {
	add := func(result byte, param byte, names string) {
		for _, n := range strings.Fields(names) {
			out = append(out, operator{watType(result) + "." + n, string(param), result})
		}
	}
	add('i', 'i', "clz ctz popcnt eqz extend8_s extend16_s")
	add('l', 'l', "clz ctz popcnt extend8_s extend16_s extend32_s")
	out = append(out, operator{"i64.eqz", "l", 'i'})
	for _, t := range []byte("fd") {
		add(t, t, "abs neg ceil floor trunc nearest sqrt")
		n := watType(t)
		add(t, 'i', "convert_i32_s convert_i32_u")
		add(t, 'l', "convert_i64_s convert_i64_u")
		for _, r := range []byte("il") {
			add(r, t, fmt.Sprintf("trunc_%s_s trunc_%[1]s_u trunc_sat_%[1]s_s trunc_sat_%[1]s_u", n))
		}
	}
	add('i', 'l', "wrap_i64")
	add('l', 'i', "extend_i32_s extend_i32_u")
	add('f', 'd', "demote_f64")
	add('d', 'f', "promote_f32")
	add('i', 'f', "reinterpret_f32")
	add('f', 'i', "reinterpret_i32")
	add('l', 'd', "reinterpret_f64")
	add('d', 'l', "reinterpret_i64")
	return out
}

// access is a load or store operator.
type access struct {
	name  string
	typ   byte
	width uint64
}

func loads() []access {
	return []access{{"i32.load", 'i', 4}, {"i32.load8_s", 'i', 1}, {"i32.load8_u", 'i', 1}, {"i32.load16_s", 'i', 2},
		{"i32.load16_u", 'i', 2}, {"i64.load", 'l', 8}, {"i64.load8_s", 'l', 1}, {"i64.load8_u", 'l', 1},
		{"i64.load16_s", 'l', 2}, {"i64.load16_u", 'l', 2}, {"i64.load32_s", 'l', 4}, {"i64.load32_u", 'l', 4},
		{"f32.load", 'f', 4}, {"f64.load", 'd', 8}}
}

func stores() []access {
	return []access{{"i32.store", 'i', 4}, {"i32.store8", 'i', 1}, {"i32.store16", 'i', 2}, {"i64.store", 'l', 8},
		{"i64.store8", 'l', 1}, {"i64.store16", 'l', 2}, {"i64.store32", 'l', 4}, {"f32.store", 'f', 4}, {"f64.store", 'd', 8}}
}

// corners are the values of a type that operators treat differently.
func corners(t byte) []uint64 {
	switch t {
	case 'i':
		return []uint64{0, 1, 2, 7, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001,
			0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFF80, 0x12345678}
	case 'l':
		return []uint64{0, 1, 2, 7, 31, 32, 63, 64, 0x80, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x123456789ABCDEF0,
			0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFFF}
	case 'f':
		out := []uint64{0x7F800001, 0x7FC00000, 0xFFC12345, 0x80000000, 1, 0x807FFFFF, 0x4EFFFFFF, 0x5EFFFFFF, 0xCF000001, 0xDF000001}
		for _, x := range floats {
			out = append(out, uint64(math.Float32bits(float32(x))))
		}
		return unique(out)
	case 'd':
		out := []uint64{0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8123456789ABC, 1 << 63, 1, 0x800FFFFFFFFFFFFF,
			0x41DFFFFFFFC00000, 0x43DFFFFFFFFFFFFF, 0xC1E0000000200000, 0xC3E0000000000001, 0x36A0000000000000, 0x47EFFFFFF0000000}
		for _, x := range floats {
			out = append(out, math.Float64bits(x))
		}
		return unique(out)
	}
	return nil
}

// unique is list without what was in it before; the order stays.
func unique(list []uint64) (out []uint64) {
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

var floats = []float64{0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, math.Inf(1), math.Inf(-1), 2147483647, 2147483648, -2147483648,
	-2147483649, 4294967295, 4294967296, 8388609.5, 1 << 63, -1 << 63, 1 << 64, 1e30, -0.99}

// constant is the operator for a constant of those bits.
func constant(t byte, bits uint64) string {
	switch t {
	case 'i':
		return fmt.Sprintf("(i32.const %d)", int32(bits))
	case 'l':
		return fmt.Sprintf("(i64.const %d)", int64(bits))
	case 'f':
		return fmt.Sprintf("(f32.reinterpret_i32 (i32.const %d))", int32(bits))
	}
	return fmt.Sprintf("(f64.reinterpret_i64 (i64.const %d))", int64(bits))
}

// literal is constant, in one operator also for floats.
func literal(t byte, bits uint64) string {
	switch t {
	case 'f':
		sign, abs := "", bits&0x7FFFFFFF
		if bits>>31 != 0 {
			sign = "-"
		}
		if abs > 0x7F800000 {
			return fmt.Sprintf("(f32.const %snan:%#x)", sign, abs&0x7FFFFF)
		}
		return fmt.Sprintf("(f32.const %s%s)", sign, hexFloat(float64(math.Float32frombits(uint32(abs)))))
	case 'd':
		sign, abs := "", bits<<1>>1
		if bits>>63 != 0 {
			sign = "-"
		}
		if abs > 0x7FF<<52 {
			return fmt.Sprintf("(f64.const %snan:%#x)", sign, abs<<12>>12)
		}
		return fmt.Sprintf("(f64.const %s%s)", sign, hexFloat(math.Float64frombits(abs)))
	}
	return constant(t, bits)
}

func hexFloat(x float64) string {
	if math.IsInf(x, 0) {
		return "inf"
	}
	return fmt.Sprintf("%x", x)
}

// toBits is an expression of type i64 for one of type t, the same for all NaNs unless exact.
func toBits(t byte, e string, exact bool) string {
	switch t {
	case 'i':
		return "(i64.extend_i32_u " + e + ")"
	case 'f':
		if !exact {
			return "(call $bits_f " + e + ")"
		}
		return "(i64.extend_i32_u (i32.reinterpret_f32 " + e + "))"
	case 'd':
		if !exact {
			return "(call $bits_d " + e + ")"
		}
		return "(i64.reinterpret_f64 " + e + ")"
	}
	return e
}

// bitsFuncs are what toBits calls.
const bitsFuncs = `
(func $bits_f (param f32) (result i64)
  (if (f32.ne (local.get 0) (local.get 0)) (then (return (i64.const 0x7fc00000))))
  (i64.extend_i32_u (i32.reinterpret_f32 (local.get 0))))
(func $bits_d (param f64) (result i64)
  (if (f64.ne (local.get 0) (local.get 0)) (then (return (i64.const 0x7ff8000000000000))))
  (i64.reinterpret_f64 (local.get 0)))
`

// builder collects the text of a module with many functions.
type builder struct {
	strings.Builder
	n     int
	calls []call
}

// add adds an exported function with a generated name, and calls of it.
func (b *builder) add(params, results, body string, args ...[]uint64) string {
	name := fmt.Sprintf("f%d", b.n)
	b.addNamed(name, params, results, body, args...)
	return name
}

func (b *builder) addNamed(name, params, results, body string, args ...[]uint64) {
	b.n++
	fmt.Fprintf(b, "(func (export %q) %s %s %s)\n", name, watTypes("param", params), watTypes("result", results), body)
	for _, a := range args {
		b.calls = append(b.calls, call{fn: name, args: a})
	}
}

// get is (local.get n).
func get(n int) string { return fmt.Sprintf("(local.get %d)", n) }

// product is all lists with an element of each set.
func product(sets ...[]uint64) [][]uint64 {
	out := [][]uint64{nil}
	for _, s := range sets {
		var next [][]uint64
		for _, head := range out {
			for _, x := range s {
				next = append(next, append(append([]uint64{}, head...), x))
			}
		}
		out = next
	}
	return out
}

// each is one list of one element for each value.
func each(values ...uint64) [][]uint64 { return product(values) }

// filled is a data segment of n bytes at offset at, none of which is zero.
func filled(at, n int) string {
	s := fmt.Sprintf("(data (i32.const %d) \"", at)
	x := uint32(at + 12345)
	for range n {
		x = x*1103515245 + 12345
		s += fmt.Sprintf("\\%02x", byte(x>>16)|1)
	}
	return s + "\")"
}
