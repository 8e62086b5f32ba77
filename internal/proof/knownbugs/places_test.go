package knownbugs

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// TestPlaces: a trap is that of the first operator that traps, where equal operators are merged, checks folded, loads done by other
// instructions, branches become traps.
func TestPlaces(t *testing.T) {
	var b compare.Builder
	out := compare.Product([]uint64{0, 1, 32, 65530, 65533, 65536, 0xFFFFFFFF}, []uint64{0, 1, 32, 65533, 65536})
	for _, body := range []string{
		// Equal operators, of which the second cannot trap any more.
		"(drop (i32.div_u (local.get 0) (local.get 1))) (drop (i32.div_u (local.get 0) (local.get 1)))",
		"(drop (i32.load (local.get 0))) (drop (i32.load (local.get 0)))",
		"(drop (i32.load8_u offset=2 (local.get 0))) (drop (i32.load (local.get 0)))",
		"(drop (i32.rem_s (local.get 0) (local.get 1))) (drop (i32.div_s (local.get 0) (local.get 1)))",
		"(i32.store (local.get 0) (local.get 1)) (drop (i32.load (local.get 0)))",
		"(if (local.get 1) (then (drop (i32.load (local.get 0)))) (else (drop (i32.load (local.get 0)))))",
		"(if (local.get 1) (then (drop (i32.load (local.get 0))))) (drop (i32.load (local.get 0)))",
		"(if (i32.and (local.get 1) (i32.const 1)) (then unreachable) (else (drop (i32.div_u (i32.const 1) (local.get 1)))))",
		"(if (local.get 0) (then unreachable)) (if (i32.eqz (local.get 0)) (then unreachable))",
		"(block (br_if 0 (i32.lt_u (local.get 0) (local.get 1))) unreachable) unreachable",
		"(loop (drop (i32.load (local.get 0))) (local.set 0 (i32.add (local.get 0) (i32.const 8000))) (br_if 0 (local.tee 1 (i32.shr_u (local.get 1) (i32.const 1)))))",
		"(loop (drop (i32.div_u (i32.const 7) (local.get 0))) (drop (i32.load offset=4 (local.get 1))) (br_if 0 (local.tee 0 (i32.shr_u (local.get 0) (i32.const 1)))))",
		// Loads that only a check looks at, or a part of one.
		"(drop (table.get (i32.load (local.get 0))))",
		"(drop (table.get (i32.load8_u (local.get 0))))",
		"(drop (i32.div_u (local.get 1) (i32.load (local.get 0))))",
		"(drop (i32.div_s (i32.load offset=4 (local.get 1)) (i32.load (local.get 0))))",
		"(drop (i64.rem_u (i64.load offset=4 (local.get 1)) (i64.load (local.get 0))))",
		"(drop (i32.trunc_f32_s (f32.load (local.get 0))))",
		"(drop (i64.trunc_f64_u (f64.load (local.get 0))))",
		"(call_indirect (i32.load (local.get 0)))",
		"(if (i32.load (local.get 0)) (then unreachable))",
		"(if (i32.lt_s (i32.load (local.get 0)) (i32.load (local.get 1))) (then unreachable))",
		"(if (f64.lt (f64.load (local.get 0)) (f64.load (local.get 1))) (then unreachable))",
		"(br_if 0 (i32.and (i32.load (local.get 0)) (i32.load16_u (local.get 1)))) unreachable",
		// Several loads in one expression.
		"(i32.store (local.get 0) (i32.add (i32.load (local.get 0)) (i32.load (local.get 1))))",
		"(i32.store (local.get 0) (i32.sub (i32.load (local.get 1)) (i32.load (local.get 0))))",
		"(i32.store (i32.load (local.get 0)) (i32.load (local.get 1)))",
		"(i64.store offset=8 (local.get 1) (i64.mul (i64.load32_s (local.get 0)) (i64.load8_s (local.get 1))))",
		"(f64.store (local.get 1) (f64.add (f64.load (local.get 0)) (f64.mul (f64.load offset=8 (local.get 1)) (f64.load offset=16 (local.get 0)))))",
		"(drop (select (i32.load (local.get 0)) (i32.load (local.get 1)) (i32.load offset=9 (local.get 0))))",
		"(drop (f32.copysign (f32.load (local.get 0)) (f32.load (local.get 1))))",
		"(call $two (i32.load (local.get 0)) (i32.load8_s (local.get 1)))",
		"(global.set $g (i32.sub (i32.load16_s (local.get 1)) (i32.load (local.get 0))))",
		"(memory.copy (i32.load (local.get 0)) (i32.load (local.get 1)) (i32.load offset=4 (local.get 0)))",
		"(memory.fill (local.get 0) (i32.load8_u (local.get 1)) (local.get 1))",
		"(table.set (i32.load (local.get 0)) (table.get (i32.load (local.get 1))))",
		"(local $x i32) (local.set $x (i32.load8_u (local.get 0))) (drop (i32.load (local.get 1))) (global.set $g (i32.extend8_s (local.get $x)))",
		"(local $x i32) (local.set $x (i32.load (local.get 0))) (i32.load (local.get 1)) (global.set $g) (global.set $h (i64.extend_i32_s (local.get $x)))",
		"(local $x i64) (local.set $x (i64.load (local.get 0))) (drop (i32.load (local.get 1))) (global.set $d (f64.reinterpret_i64 (local.get $x)))",
		"(local $x i32) (local.set $x (i32.load (local.get 0))) (drop (i32.load (local.get 1))) (global.set $g (i32.add (global.get $g) (local.get $x)))",
		// What always traps, or at a constant address.
		"(drop (i32.load (i32.const 70000))) (drop (i32.load (local.get 0)))",
		"(drop (i32.load (local.get 0))) (drop (i32.load (i32.const 70000)))",
		"(drop (i32.div_s (local.get 0) (i32.const 0))) unreachable",
		"(drop (i32.div_s (i32.load (local.get 0)) (i32.const 0)))",
		"(drop (i32.div_s (i32.const 0x80000000) (i32.sub (i32.const 0) (local.get 1)))) (drop (i32.load (local.get 0)))",
		"(drop (i32.rem_u (i32.load (local.get 0)) (i32.load (local.get 1)))) (drop (i32.load offset=65535 (local.get 1)))",
	} {
		b.Add("ii", "", body, out...)
	}
	var consts []compare.Call
	for i, offset := range []uint64{0, 65532, 65533, 65535, 65536, 1 << 20, 0xFFFFFFFF} {
		name := fmt.Sprintf("far%d", i)
		fmt.Fprintf(&b, "(func (export %q) (param i32 i32) (drop (i32.load8_u (local.get 1))) (drop (i32.load offset=%d (local.get 0))))", name, offset)
		for _, a := range out {
			consts = append(consts, compare.Call{Func: name, Args: a})
		}
	}
	check(t, compare.Single(`(module (memory (export "memory") 1 2) (global $g (mut i32) (i32.const 0)) (global $h (mut i64) (i64.const 0)) (global $d (mut f64) (f64.const 0)) (table 6 funcref) (elem (i32.const 0) func $nothing)
		(func $nothing) (func $two (param i32 i32) `+wat.NotInlined+`(drop (i32.div_u (local.get 0) (local.get 1))))`+wat.Filled(0, 64)+b.String()+")", append(b.Calls, consts...)...))
}
