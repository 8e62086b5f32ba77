package wat

import (
	"strconv"
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// Operator is an operator on numbers or vectors, or one that accesses memory.
type Operator struct {
	Name   string
	Params string // a letter an operand: i, l, f, d, v
	Result string // a letter, or none for stores
	Width  uint64 // bytes accessed, 0 for operators without memory
	Lanes  int    // of the vector whose lane is an immediate, 0 if none is
}

// Store reports whether an operator that accesses memory is a store.
func (o *Operator) Store() bool { return o.Result == "" }

// Type returns the type of the number that a load or a store moves.
func (o *Operator) Type() byte {
	if o.Store() {
		return o.Params[1]
	}
	return o.Result[0]
}

// Traps reports whether a numeric operator traps for some operands.
func (o *Operator) Traps() bool {
	return strings.Contains(o.Name, "div_") || strings.Contains(o.Name, "rem_") || strings.Contains(o.Name, ".trunc_f")
}

// Accesses returns all operators with an address that a module may have by default, in the order of their codes.
func Accesses() (loads, stores []Operator) {
	for _, o := range operators(wasmfront.ImmMemArg) {
		if o.Store() {
			stores = append(stores, o)
		} else {
			loads = append(loads, o)
		}
	}
	return loads, stores
}

// Numeric returns all operators from that many numbers to a number that a module may have by default, in the order of their codes.
func Numeric(operands int) (out []Operator) {
	for _, o := range operators(wasmfront.ImmNone) {
		if len(o.Params) == operands && len(o.Result) == 1 {
			o.Width = 0
			out = append(out, o)
		}
	}
	return out
}

// operators returns the numeric operators, with immediates of a form, that a module may have by default.
func operators(form wasmfront.ImmKind) (out []Operator) {
	for _, code := range wasmfront.Opcodes() {
		info := code.Info()
		params, result, _ := strings.Cut(info.Sig, ":")
		if info.Imm == form && wasmfront.DefaultFeatures.Has(info.Feature) && strings.Trim(params+result, "ilfd") == "" {
			out = append(out, Operator{Name: info.Name, Params: params, Result: result, Width: 1 << info.Align})
		}
	}
	return out
}

// VectorAccesses returns the operators of fixed-width SIMD with an address, in the order of their codes. Those of a lane have a vector as
// second operand.
func VectorAccesses() (out []Operator) {
	for _, form := range []wasmfront.ImmKind{wasmfront.ImmMemArg, wasmfront.ImmMemArgLane} {
		out = append(out, vectorOperators(form)...)
	}
	return out
}

// Vectors returns the operators of fixed-width SIMD without memory, but for constants and shuffles, in the order of their codes: first those
// without immediates, then those with a lane.
func Vectors() (out []Operator) {
	for _, form := range []wasmfront.ImmKind{wasmfront.ImmNone, wasmfront.ImmLane} {
		for _, o := range vectorOperators(form) {
			o.Width = 0
			out = append(out, o)
		}
	}
	return out
}

// vectorOperators returns the operators of fixed-width SIMD with immediates of a form. The results of relaxed ones may differ between engines.
func vectorOperators(form wasmfront.ImmKind) (out []Operator) {
	for _, code := range wasmfront.Opcodes() {
		info := code.Info()
		if info.Imm != form || info.Feature != wasmfront.FeatureSIMD {
			continue
		}
		o := Operator{Name: info.Name, Width: 1 << info.Align}
		o.Params, o.Result, _ = strings.Cut(info.Sig, ":")
		switch form {
		case wasmfront.ImmMemArgLane:
			o.Lanes = 16 / int(o.Width)
		case wasmfront.ImmLane:
			o.Lanes = lanes(o.Name)
		}
		out = append(out, o)
	}
	return out
}

// lanes returns the number of lanes that the name of an operator begins with: 4 for f32x4.add.
func lanes(name string) (n int) {
	shape, _, _ := strings.Cut(name, ".")
	_, number, _ := strings.Cut(shape, "x")
	n, _ = strconv.Atoi(number)
	return n
}
