package wat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront"
)

// TestAssemble runs a module that has something of each form of the text, with known results.
func TestAssemble(t *testing.T) {
	type call struct {
		name string
		arg  uint64
		want string
	}
	calls := []call{{"a", 0, "(i64:0x4d i32:0xffffffff f32:0xc1400000)"}, {"a", 5, "(i64:0xa i32:0x3 f32:0xc1400000)"},
		{"b", 0, "(i32:0x0 f64:0x7ff8000000000001)"}, {"b", 1, `trap "uninitialized element"`}, {"b", 2, `trap "uninitialized element"`}, {"b", 3, `trap "undefined element"`},
		{"c", 10, "(i32:0x37)"}, {"c", 3, "(i32:0x1)"}, {"again", 9, "(i32:0x9)"}, {"d", 0, "(i32:0x7)"}, {"d", 1, "(i32:0x8)"}, {"d", 2, `trap "undefined element"`},
		{"e", 3, "(i32:0x6)"}, {"f", 1, "(i32:0x63)"}, {"f", 0, "(i32:0x32)"}}
	c := compare.Single(`(module (import "host" "il_l" (func $h (param i32 i64) (result i64)))
		(type $u (func (param i32) (result i32 f64)))
		(memory (export "memory") 1 2) (table 3 funcref) (global $g (export "g") (mut i64) (i64.const -5)) ;; a comment
		(elem (i32.const 1) func $id) (elem $p funcref (ref.func $id) (ref.null func)) (data (i32.const 8) "abc\ff") (data $d "xyz")
		(table $seven_eight funcref (elem $seven $eight)) (elem declare func $id) (elem (table $seven_eight) (i32.const 0) $seven)
		(func $seven (result i32) (i32.const 7)) (func $eight (result i32) i32.const 8)
		(func $id (param $x i32) (result i32) (local.get $x))
		(func (export "a") (param $x i32) (result i64 i32 f32) (local $y i64)
			(local.set $y (i64.sub (i64.extend_i32_u (local.get $x)) (global.get $g)))
			(memory.init $d (i32.const 4) (i32.const 0) (i32.const 2))
			(table.init $p (i32.const 0) (i32.const 0) (i32.const 2))
			(block $out (result i64 i32) (br_if $out (local.get $y) (i32.const 3) (local.get $x)) drop drop (i64.const 77) (i32.load8_s offset=3 align=1 (i32.const 8)))
			(f32.const -0x1.8p3))
		(func (export "b") (type $u) (call_indirect (param i32) (result i32) (local.get 0) (local.get 0)) (f64.const nan:0x8000000000001))
		(func (export "c") (param i32) (result i32) (local i32)
			(block (loop $l (local.set 1 (i32.add (local.get 1) (local.get 0))) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
			(if (result i32) (i32.gt_u (local.get 1) (i32.const 9)) (then (local.get 1)) (else (select (result i32) (i32.const 1) (i32.const 2) (local.get 1)))))
		(func (export "d") (param i32) (result i32) (call_indirect $seven_eight (result i32) (local.get 0)))
		(func (export "e") (param i32) (result i32) (local.get 0) (block $b (param i32) (result i32) (i32.mul (i32.const 2)) (br $b)))
		(func (export "f") (param i32) (result i32) (block (block (br_table 1 0 (local.get 0))) (return (i32.const 99))) (i32.const 0x3_2))
		(export "again" (func $id)))`)
	for _, k := range calls {
		c.Calls = append(c.Calls, compare.Call{Func: k.name, Args: []uint64{k.arg}})
	}
	for _, e := range append(compare.Interpreters(), compare.Natives()...) {
		h, err := compare.Play(e, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range calls {
			if got := h.Events[1+i].Result(); got != k.want {
				t.Errorf("%s: %s(%d): %s, want %s", e.Name(), k.name, k.arg, got, k.want)
			}
		}
	}
}

// TestConst: constants have all bits that they are made of, those of NaNs included.
func TestConst(t *testing.T) {
	for _, letter := range []byte("ilfd") {
		size := map[byte]int{'i': 32, 'l': 64, 'f': 32, 'd': 64}[letter]
		for _, bits := range append(compare.Corners(letter), 0xFFFFFFFF, 1<<(size-1), 1<<(size-1)|0x123456789) {
			bits = bits << (64 - size) >> (64 - size)
			text := fmt.Sprintf("(module (func (export \"f\") (result i64) %s))", wat.ToI64(letter, wat.Const(letter, bits)))
			h, err := compare.Play(compare.Interpreters()[0], compare.Single(text, compare.Call{Func: "f"}))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := h.Events[1].Result(); got != fmt.Sprintf("(i64:%#x)", bits) {
				t.Errorf("%s gives %s, want %#x", text, got, bits)
			}
		}
	}
}

// TestOperators: no operator that a module may have by default is left out because it has a type or form that the lists do not know. Relaxed
// operators are in none: engines may differ.
func TestOperators(t *testing.T) {
	listed := map[string]bool{"v128.const": true, "i8x16.shuffle": true}
	loads, stores := wat.Accesses()
	accesses := slices.Concat(loads, stores, wat.VectorAccesses())
	for _, o := range slices.Concat(accesses, wat.Vectors()) {
		listed[o.Name] = true
		if (o.Width == 0) != !slices.ContainsFunc(accesses, func(a wat.Operator) bool { return a.Name == o.Name }) {
			t.Errorf("%s accesses %d bytes", o.Name, o.Width)
		}
		if strings.Contains(o.Name, "_lane") != (o.Lanes > 0) {
			t.Errorf("%s has one of %d lanes", o.Name, o.Lanes)
		}
	}
	for _, code := range wasmfront.Opcodes() {
		info := code.Info()
		if !wasmfront.DefaultFeatures.Has(info.Feature) {
			continue
		}
		if strings.Trim(info.Sig, "ilfdvrx:") != "" {
			t.Errorf("%s has types %q, which are not known", info.Name, info.Sig)
		}
		access := info.Imm == wasmfront.ImmMemArg || info.Imm == wasmfront.ImmMemArgLane
		if (access || info.Feature == wasmfront.FeatureSIMD) && !listed[info.Name] {
			t.Errorf("%s is in no list", info.Name)
		}
	}
	if n, m := len(wat.VectorAccesses()), len(wat.Vectors()); n != 22 || m != 236-22-2 {
		t.Errorf("%d operators on vectors access memory, %d others do not", n, m)
	}
	if len(loads) != 14 || len(stores) != 9 {
		t.Errorf("%d loads, %d stores", len(loads), len(stores))
	}
	if n, m := len(wat.Numeric(1)), len(wat.Numeric(2)); n < 50 || m < 70 {
		t.Errorf("%d operators with one operand, %d with two", n, m)
	}
}
