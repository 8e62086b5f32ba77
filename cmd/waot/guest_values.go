package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

// callWords calls a function with raw words, and returns those of its results.
func callWords(ctx context.Context, f *host.Func, args []uint64) (results []uint64, err error) {
	np, nr := (*inproc.Func)(f).Words()
	stack := make([]uint64, max(np, nr))
	copy(stack, args)
	if err := f.CallRaw(ctx, stack); err != nil {
		return nil, err
	}
	return stack[:nr], nil
}

// parseValues reads arguments of the given types as raw words: two for a v128, the low half first.
func parseValues(types []meta.ValType, texts []string) (words []uint64, err error) {
	for i, t := range types {
		if t == meta.V128 {
			var v [2]uint64
			v, err = parseVector(texts[i])
			words = append(words, v[:]...)
		} else {
			var v uint64
			v, err = parseValue(t, texts[i])
			words = append(words, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return words, nil
}

// parseValue reads an argument of the given type, not v128, as raw bits. Integers are
// decimal or, with 0x, hexadecimal, signed or unsigned; floats too, and a NaN may have a payload
// (nan:0x1) or all its bits (nan(0x7fc00000)), and is canonical without; references only null. The type may be in front, as in what formatValue writes.
func parseValue(t meta.ValType, written string) (uint64, error) {
	s := strings.TrimPrefix(written, t.Base().String()+":")
	switch t.Base() {
	case meta.I32:
		if x, err := parseInteger(s, 32); err == nil {
			return x, nil
		}
	case meta.I64:
		if x, err := parseInteger(s, 64); err == nil {
			return x, nil
		}
	case meta.F32:
		if x, err := parseFloat(s, 32); err == nil {
			return x, nil
		}
	case meta.F64:
		if x, err := parseFloat(s, 64); err == nil {
			return x, nil
		}
	case meta.FuncRef, meta.ExternRef:
		if s == "null" && !t.IsNotNull() {
			return 0, nil
		}
	}
	return 0, usagef("%q is no %v", written, t)
}

// parseInteger reads an integer of the given number of bits.
func parseInteger(s string, bits int) (uint64, error) {
	if x, err := strconv.ParseInt(s, 0, bits); err == nil {
		return uint64(x) & (1<<bits - 1), nil
	}
	return strconv.ParseUint(s, 0, bits)
}

// parseFloat reads a float of the given number of bits, and returns these.
func parseFloat(s string, bits int) (uint64, error) {
	number := strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	if len(number) >= 3 && strings.EqualFold(number[:3], "nan") && len(s)-len(number) <= 1 {
		return parseNaN(s[:len(s)-len(number)] == "-", number[3:], bits)
	}
	x, err := strconv.ParseFloat(s, bits)
	if bits == 32 {
		return uint64(math.Float32bits(float32(x))), err
	}
	return math.Float64bits(x), err
}

// parseNaN returns the bits of a NaN by what follows the word: nothing, ":canonical" or ":arithmetic" for the canonical one, ":" and a payload that is not 0, or
// all bits in parentheses, which include the sign.
func parseNaN(negative bool, text string, bits int) (uint64, error) {
	mantissa := map[int]int{32: 23, 64: 52}[bits]
	infinity := uint64(1)<<(bits-1) - 1<<mantissa
	sign := uint64(1) << (bits - 1)
	if inner, ok := strings.CutPrefix(text, "("); ok {
		inner, closed := strings.CutSuffix(inner, ")")
		x, err := strconv.ParseUint(inner, 0, bits)
		if err != nil || !closed || negative || x&^sign <= infinity {
			return 0, strconv.ErrSyntax
		}
		return x, nil
	}
	x := uint64(1) << (mantissa - 1)
	switch payload, ok := strings.CutPrefix(text, ":"); {
	case text == "" || payload == "canonical" || payload == "arithmetic":
	case !ok:
		return 0, strconv.ErrSyntax
	default:
		var err error
		if x, err = strconv.ParseUint(payload, 0, mantissa); err != nil || x == 0 {
			return 0, strconv.ErrSyntax
		}
	}
	if negative {
		infinity |= sign
	}
	return infinity | x, nil
}

// shapes are the shapes of vectors by name, with the size of a lane in bits.
var shapes = map[string]struct {
	bits  int
	parse func(s string, bits int) (uint64, error)
}{
	"i8x16": {8, parseInteger}, "i16x8": {16, parseInteger}, "i32x4": {32, parseInteger}, "i64x2": {64, parseInteger},
	"f32x4": {32, parseFloat}, "f64x2": {64, parseFloat},
}

// parseVector reads a v128: the name of a shape and its lanes, lane 0 first, as in "v128:i32x4:1,2,3,4", "i32x4:1,2,3,4",
// and "v128.const i32x4 1 2 3 4" of the text format.
func parseVector(s string) (v [2]uint64, err error) {
	text := strings.TrimPrefix(strings.TrimPrefix(s, "v128:"), "v128.const ")
	name, list := text, ""
	if at := strings.IndexAny(text, ": "); at >= 0 {
		name, list = text[:at], text[at+1:]
	}
	lanes := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	bad := usagef("%q is no v128, which is written such as v128:i32x4:1,2,3,4", s)
	shape, ok := shapes[name]
	if !ok || len(lanes)*shape.bits != 128 {
		return v, bad
	}
	for i, lane := range lanes {
		x, err := shape.parse(lane, shape.bits)
		if err != nil {
			return v, bad
		}
		v[i*shape.bits/64] |= x << (i * shape.bits % 64)
	}
	return v, nil
}

// formatValues writes values, each with its type, of raw words.
func formatValues(types []meta.ValType, words []uint64) (texts []string) {
	for _, t := range types {
		texts = append(texts, formatValue(t, words))
		words = words[t.Words():]
	}
	return texts
}

// formatValue writes the value that words begin with, with its type. NaNs have their bits.
func formatValue(t meta.ValType, words []uint64) string {
	v := words[0]
	switch t {
	case meta.I32:
		return fmt.Sprintf("i32:%d", int32(v))
	case meta.I64:
		return fmt.Sprintf("i64:%d", int64(v))
	case meta.F32:
		x := math.Float32frombits(uint32(v))
		if x != x {
			return fmt.Sprintf("f32:nan(0x%08x)", uint32(v))
		}
		return "f32:" + strconv.FormatFloat(float64(x), 'g', -1, 32)
	case meta.F64:
		x := math.Float64frombits(v)
		if x != x {
			return fmt.Sprintf("f64:nan(0x%016x)", v)
		}
		return "f64:" + strconv.FormatFloat(x, 'g', -1, 64)
	}
	if t == meta.V128 {
		return fmt.Sprintf("v128:i32x4:0x%08x,0x%08x,0x%08x,0x%08x", uint32(v), v>>32, uint32(words[1]), words[1]>>32)
	}
	if v == 0 {
		return t.Base().String() + ":null"
	}
	return t.Base().String() + ":not null"
}
