package bugcases

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// Trapping are operators that each trap in a different way if local 0 is 1, and effects.
var Trapping = []struct{ Name, Text string }{
	{"load", "(drop (i32.load (i32.mul (local.get 0) (i32.const 65535))))"},
	{"f64 load", "(drop (f64.load (i32.mul (local.get 0) (i32.const 65535))))"},
	{"store", "(i64.store (i32.mul (local.get 0) (i32.const 65535)) (i64.const -2))"},
	{"divide", "(drop (i32.div_u (i32.const 5) (i32.eqz (local.get 0))))"},
	{"divide 64", "(drop (i64.rem_s (i64.const 5) (i64.extend_i32_u (i32.eqz (local.get 0)))))"},
	{"overflow", "(drop (i32.div_s (i32.shl (i32.const 1) (i32.mul (local.get 0) (i32.const 31))) (i32.const -1)))"},
	{"overflow 64", "(drop (i64.div_s (i64.shl (i64.const 1) (i64.mul (i64.extend_i32_u (local.get 0)) (i64.const 63))) (i64.const -1)))"},
	{"trunc", "(drop (i32.trunc_f64_s (f64.mul (f64.convert_i32_u (local.get 0)) (f64.const 1e10))))"},
	{"trunc NaN", "(drop (i64.trunc_f32_u (f32.div (f32.const 1) (f32.sub (f32.const 1) (f32.convert_i32_u (local.get 0))))))"},
	{"unreachable", "(if (local.get 0) (then (unreachable)))"},
	{"null", "(call_indirect (i32.add (i32.const 0) (local.get 0)))"},
	{"type", "(call_indirect (i32.shl (local.get 0) (i32.const 1)))"},
	{"element", "(call_indirect (i32.mul (local.get 0) (i32.const 10)))"},
	{"table.get", "(drop (table.get (i32.mul (local.get 0) (i32.const 10))))"},
	{"table.set", "(table.set (i32.mul (local.get 0) (i32.const 10)) (ref.null func)) (table.set (i32.const 0) (ref.func $nothing))"},
	{"fill", "(memory.fill (i32.const 65500) (i32.const 5) (i32.mul (local.get 0) (i32.const 37)))"},
	{"copy", "(memory.copy (i32.const 65500) (i32.const 0) (i32.mul (local.get 0) (i32.const 37)))"},
	{"init", "(memory.init 0 (i32.const 8) (i32.mul (local.get 0) (i32.const 6)) (i32.const 2))"},
	{"table.init", "(table.init 1 (i32.const 4) (local.get 0) (i32.const 1))"},
	{"table.copy", "(table.copy (i32.const 0) (i32.mul (local.get 0) (i32.const 10)) (i32.const 1))"},
	{"effect", "(i32.store8 offset=20 (local.get 0) (i32.add (i32.const 1) (i32.load8_u offset=20 (local.get 0))))"},
	{"global", "(global.set $g (i32.add (global.get $g) (i32.const 1)))"},
	{"host", "(global.set $g (call $host (global.get $g)))"},
}

// FirstTrap has all pairs of two traps in one function: the first one counts, and nothing after it happens.
func FirstTrap(choice Choice) *compare.Case {
	var b compare.Builder
	for i, x := range Trapping {
		for n, y := range Trapping {
			if !choice.Has(i+n, 4) {
				continue
			}
			second := strings.ReplaceAll(y.Text, "(local.get 0)", "(local.get 1)")
			bodies := []string{x.Text + "(i32.store16 (i32.const 40) (i32.const 1))" + second + "(i32.store16 (i32.const 42) (i32.const 2))", x.Text + second}
			for k, body := range bodies {
				name := fmt.Sprintf("%s, %s %d", x.Name, y.Name, k)
				fmt.Fprintf(&b, "(func (export %q) (param i32 i32) %s)\n", name, body)
				for _, a := range compare.Product([]uint64{0, 1}, []uint64{0, 1}) {
					b.Calls = append(b.Calls, compare.Call{Func: name, Args: a}, compare.Call{Func: "state"}, compare.Call{Func: "clear"})
				}
			}
		}
	}
	// Operands of one operator: the left one first.
	values := []string{"(i32.load (local.get 0))", "(i32.div_u (i32.const 1) (local.get 1))", "(i32.trunc_f32_s (f32.convert_i32_u (local.get 0)))", "(i32.load8_s offset=65535 (local.get 1))",
		"(i32.rem_s (local.get 0) (local.get 1))", "(call $pick (local.get 1))"}
	args := Sampled(choice, compare.Product([]uint64{0, 65533, 0xFFFFFFFF}, []uint64{0, 1, 2, 3}), 2)
	for i, x := range values {
		for n, y := range values {
			if !choice.Has(i+n, 1) {
				continue
			}
			for _, op := range []string{"add", "and", "shl", "lt_u", "div_s"} {
				b.Add("ii", "i", fmt.Sprintf("(i32.%s %s %s)", op, x, y), args...)
			}
			b.Add("ii", "", fmt.Sprintf("(i32.store %s %s)", x, y), args...)
			b.Add("ii", "i", fmt.Sprintf("(select %s %s (i32.load (i32.mul (local.get 1) (i32.const 30000))))", x, y), args...)
			b.Add("ii", "i", fmt.Sprintf("(call $pick (i32.add %s (call $pick %s)))", x, y), args...)
		}
	}
	c := compare.Single(`(module (import "host" "i_i" (func $host (param i32) (result i32)))
		(memory (export "memory") 1) (global $g (export "g") (mut i32) (i32.const 0)) (data "abcdefg") `+wat.Filled(0, 64)+`
		(table 6 funcref) (elem (i32.const 0) func $nothing) (elem func $nothing) (elem (i32.const 2) func $pick)
		(func $nothing) (func $pick (param i32) (result i32) `+wat.NotInlined+`(if (i32.eq (local.get 0) (i32.const 3)) (then unreachable)) (local.get 0))
		(func (export "state") (result i64 i32 i32) (i64.load (i32.const 0)) (i32.load (i32.const 40)) (global.get $g))
		(func (export "clear") (memory.fill (i32.const 0) (i32.const 1) (i32.const 64)) (memory.fill (i32.const 65400) (i32.const 1) (i32.const 136)))`+b.String()+")", b.Calls...)
	c.Watch = !choice.Sample()
	return c
}
