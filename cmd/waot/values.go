package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/meta"
)

// typeNames are the names of value types in the text format.
var typeNames = map[meta.ValType]string{
	meta.I32: "i32", meta.I64: "i64", meta.F32: "f32", meta.F64: "f64", meta.V128: "v128",
	meta.FuncRef: "funcref", meta.ExternRef: "externref",
}

// typeList writes a list of types as in a function type.
func typeList(types []meta.ValType) string {
	var names []string
	for _, t := range types {
		names = append(names, typeNames[t])
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// callWords calls a function with raw words, and returns those of its results.
func callWords(ctx context.Context, f *host.Func, args []uint64) (results []uint64, err error) {
	t := f.Type()
	stack := make([]uint64, max(len(t.Params), len(t.Results)))
	copy(stack, args)
	if err := f.CallRaw(ctx, stack); err != nil {
		return nil, err
	}
	return stack[:len(t.Results)], nil
}

// parseValue reads an argument of the given type as raw bits. Integers are
// decimal or, with 0x, hexadecimal, signed or unsigned; references only null.
func parseValue(t meta.ValType, s string) (uint64, error) {
	bad := func() (uint64, error) { return 0, usagef("%q is no %s", s, typeNames[t]) }
	switch t {
	case meta.I32, meta.I64:
		bits := 64
		if t == meta.I32 {
			bits = 32
		}
		if x, err := strconv.ParseInt(s, 0, bits); err == nil {
			return uint64(x) & (1<<bits - 1), nil
		}
		x, err := strconv.ParseUint(s, 0, bits)
		if err != nil {
			return bad()
		}
		return x, nil
	case meta.F32:
		x, err := strconv.ParseFloat(s, 32)
		if err != nil {
			return bad()
		}
		return uint64(math.Float32bits(float32(x))), nil
	case meta.F64:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return bad()
		}
		return math.Float64bits(x), nil
	case meta.FuncRef, meta.ExternRef:
		if s == "null" {
			return 0, nil
		}
	}
	return bad()
}

// formatValue writes a result with its type. NaNs have their bits.
func formatValue(t meta.ValType, v uint64) string {
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
	if v == 0 {
		return typeNames[t] + ":null"
	}
	return typeNames[t] + ":not null"
}
