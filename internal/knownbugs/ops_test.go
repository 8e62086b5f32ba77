package knownbugs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront"
)

// operator is a numeric operator, or one that accesses memory.
type operator struct {
	name   string
	params string // a letter an operand: i, l, f, d
	result string // a letter, or none for stores
	width  uint64 // bytes accessed
}

func (o *operator) store() bool { return o.result == "" }

// accesses are all operators with an address that a module may have.
func accesses(t *testing.T) (loads, stores []operator) {
	t.Helper()
	for _, code := range wasmfront.Opcodes() {
		info := code.Info()
		if info.Imm != wasmfront.ImmMemArg && info.Imm != wasmfront.ImmMemArgLane || !wasmfront.DefaultFeatures.Has(info.Feature) {
			continue
		}
		params, result, _ := strings.Cut(info.Sig, ":")
		o := operator{info.Name, params, result, 1 << info.Align}
		switch {
		case strings.Trim(params+result, "ilfd") != "" || info.Imm != wasmfront.ImmMemArg:
			t.Errorf("%s accesses memory and is in no test here", info.Name)
		case o.store():
			stores = append(stores, o)
		default:
			loads = append(loads, o)
		}
	}
	if len(loads) != 14 || len(stores) != 9 {
		t.Fatalf("%d loads, %d stores", len(loads), len(stores))
	}
	return loads, stores
}

// numeric are all operators from numbers to a number that a module may have, with that
// many operands.
func numeric(operands int) (out []operator) {
	for _, code := range wasmfront.Opcodes() {
		info := code.Info()
		params, result, _ := strings.Cut(info.Sig, ":")
		if info.Imm == wasmfront.ImmNone && len(params) == operands && len(result) == 1 && wasmfront.DefaultFeatures.Has(info.Feature) &&
			strings.Trim(params+result, "ilfd") == "" {
			out = append(out, operator{name: info.Name, params: params, result: result})
		}
	}
	return out
}

// divides reports whether the operator traps for some operands.
func (o *operator) divides() bool {
	return strings.Contains(o.name, "div_") || strings.Contains(o.name, "rem_") || strings.Contains(o.name, "trunc_f")
}

// loaded is what a load gives for the bytes at its address.
func loaded(o *operator, b []byte) uint64 {
	var x uint64
	for i := range b {
		x |= uint64(b[i]) << (8 * i)
	}
	if strings.HasSuffix(o.name, "_s") {
		x = uint64(int64(x) << (64 - 8*len(b)) >> (64 - 8*len(b)))
	}
	if o.result == "i" || o.result == "f" {
		x = uint64(uint32(x))
	}
	return x
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
		slices.Sort(out)
		return slices.Compact(out)
	case 'd':
		out := []uint64{0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8123456789ABC, 1 << 63, 1, 0x800FFFFFFFFFFFFF,
			0x41DFFFFFFFC00000, 0x43DFFFFFFFFFFFFF, 0xC1E0000000200000, 0xC3E0000000000001, 0x36A0000000000000, 0x47EFFFFFF0000000}
		for _, x := range floats {
			out = append(out, math.Float64bits(x))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return nil
}

var floats = []float64{0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, math.Inf(1), math.Inf(-1), 2147483647, 2147483648, -2147483648,
	-2147483649, 4294967295, 4294967296, 8388609.5, 1 << 63, -1 << 63, 1 << 64, 1e30, -0.99}

// literal is the operator for a constant of those bits.
func literal(t byte, bits uint64) string {
	switch t {
	case 'i':
		return fmt.Sprintf("(i32.const %d)", int32(bits))
	case 'l':
		return fmt.Sprintf("(i64.const %d)", int64(bits))
	case 'f':
		sign, abs := "", bits&0x7FFFFFFF
		if bits>>31&1 != 0 {
			sign = "-"
		}
		if abs > 0x7F800000 {
			return fmt.Sprintf("(f32.const %snan:%#x)", sign, abs&0x7FFFFF)
		}
		return fmt.Sprintf("(f32.const %s%s)", sign, hexFloat(float64(math.Float32frombits(uint32(abs)))))
	}
	sign, abs := "", bits<<1>>1
	if bits>>63 != 0 {
		sign = "-"
	}
	if abs > 0x7FF<<52 {
		return fmt.Sprintf("(f64.const %snan:%#x)", sign, abs<<12>>12)
	}
	return fmt.Sprintf("(f64.const %s%s)", sign, hexFloat(math.Float64frombits(abs)))
}

func hexFloat(x float64) string {
	if math.IsInf(x, 0) {
		return "inf"
	}
	return fmt.Sprintf("%x", x)
}

// toI64 is an expression of type i64 with all bits of one of type t.
func toI64(t byte, e string) string {
	switch t {
	case 'i':
		return "(i64.extend_i32_u " + e + ")"
	case 'f':
		return "(i64.extend_i32_u (i32.reinterpret_f32 " + e + "))"
	case 'd':
		return "(i64.reinterpret_f64 " + e + ")"
	}
	return e
}

// hashes is an i64 of the locals first, first+1... of those types, all of which count.
func hashes(ts string, first int) string {
	e := "(i64.const 17)"
	for i := range ts {
		e = fmt.Sprintf("(i64.rotl (i64.xor %s %s) (i64.const 13))", e, toI64(ts[i], get(first+i)))
	}
	return e
}

// different are different values of the types, as expressions made of local 0, an i64.
func different(ts string) string {
	var s strings.Builder
	for i := range ts {
		e := fmt.Sprintf("(i64.add (i64.mul (local.get 0) (i64.const %d)) (i64.const %d))", 2*i+1, 1000*i+7)
		s.WriteString(map[byte]string{'i': "(i32.wrap_i64 " + e + ")", 'l': e, 'f': "(f32.convert_i64_s " + e + ")", 'd': "(f64.convert_i64_s " + e + ")"}[ts[i]])
	}
	return s.String()
}

// mixed is n types by turns.
func mixed(n int, from string) string { return strings.Repeat(from, n/len(from)+1)[:n] }

// setLocals takes n results from the stack into the locals from first on.
func setLocals(n, first int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "(local.set %d)", first+n-1-i)
	}
	return s.String()
}

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
				next = append(next, append(slices.Clone(head), x))
			}
		}
		out = next
	}
	return out
}

// each is one list of one element for each value.
func each(values ...uint64) [][]uint64 { return product(values) }

// pattern is what filled memory holds at an address; never zero, half of the bytes with
// their upper bit set.
func pattern(at uint64) byte { return byte(at*0x9E3779B97F4A7C15>>41) | 1 }

// filled is a data segment of n bytes of the pattern at an offset.
func filled(at uint64, n int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "(data (i32.const %d) \"", int32(at))
	for i := range n {
		fmt.Fprintf(&s, "\\%02x", pattern(at+uint64(i)))
	}
	return s.String() + "\")"
}
