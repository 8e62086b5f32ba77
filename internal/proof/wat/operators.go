package wat

import (
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// Operator is a numeric operator, or one that accesses memory.
type Operator struct {
	Name   string
	Params string // a letter an operand: i, l, f, d
	Result string // a letter, or none for stores
	Width  uint64 // bytes accessed, 0 for numeric operators
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
			out = append(out, Operator{info.Name, params, result, 1 << info.Align})
		}
	}
	return out
}
