package knownbugs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
)

// TestTypeIndices names types by indices that take one byte, two and three where they are signed, as heap types are, and where they are not: in locals, blocks,
// globals, segments and operators. The types next to them are others.
func TestTypeIndices(t *testing.T) {
	var types, rest strings.Builder
	var calls []compare.Call
	next := 0
	for k, index := range []int{0, 1, 62, 63, 64, 65, 127, 128, 129, 8190, 8191, 8192, 8193, 16383, 16384} {
		for ; next < index; next++ {
			types.WriteString("(type (func (param f64)))")
		}
		next++
		params, args := strings.Repeat(" i32", k), strings.Repeat(" (i32.const 1)", k)
		fmt.Fprintf(&types, "(type $t%d (func (param%s) (result i64)))\n", k, params)
		fmt.Fprintf(&rest, `(func $f%[1]d (type $t%[1]d) (i64.const %[2]d)) (global $g%[1]d (mut (ref null $t%[1]d)) (ref.null $t%[1]d)) (elem declare func $f%[1]d)
			(func (export "f%[1]d") (result i64) (local $l (ref null $t%[1]d)) (local $n (ref $t%[1]d))
			(local.set $l (ref.func $f%[1]d)) (local.set $n (ref.as_non_null (local.get $l))) (global.set $g%[1]d (local.get $n))
			(block $null (result i64)
				(i64.const -1)
				(drop (br_on_null $null (global.get $g%[1]d)))
				(i64.add (call_ref $t%[1]d%[3]s (block $it (result (ref $t%[1]d)) (br_on_non_null $it (global.get $g%[1]d)) (unreachable))))))
			(func (export "null%[1]d") (result i64) (call_ref $t%[1]d%[3]s (ref.null $t%[1]d)))
		`, k, 1000+index, args)
		calls = append(calls, compare.Call{Func: fmt.Sprintf("f%d", k)}, compare.Call{Func: fmt.Sprintf("null%d", k)})
	}
	check(t, compare.Single("(module "+types.String()+rest.String()+")", calls...))
}

// TestTypesOfModules has equal types at other indices in another module, also such as refer to others (for those that refer to themselves see spectest/nativeengine TestTypedRefs): functions are called with them through a table, and
// linked by them.
func TestTypesOfModules(t *testing.T) {
	var calls []compare.Call
	for i := range uint64(4) {
		for _, name := range []string{"deep", "plain"} {
			calls = append(calls, compare.Call{Module: 1, Func: name, Args: []uint64{i}})
		}
	}
	check(t, &compare.Case{Calls: calls, Modules: []compare.Module{
		{Name: "a", Text: `(module (type $i (func (result i32))) (type $s (func (param (ref null $i)) (result i32))) (type $d (func (param (ref null $s) (ref $i)) (result i32)))
			(table (export "t") 4 funcref) (elem (i32.const 0) func $d $s $i) (func $i (type $i) (i32.const 1)) (func $s (type $s) (ref.is_null (local.get 0)))
			(func $d (export "d") (type $d) (i32.add (call_ref $i (local.get 1)) (call_ref $s (ref.null $i) (local.get 0)))))`},
		{Name: "b", Text: `(module (type (func)) (type (func (param funcref funcref) (result i32))) (type $j (func (result i32))) (type $self (func (param (ref null $j)) (result i32)))
			(type $e (func (param (ref null $self) (ref $j)) (result i32)))
			(import "a" "t" (table 4 funcref)) (import "a" "d" (func $d (type $e)))
			(func $one (type $j) (i32.const 10)) (func $two (type $self) (i32.const 100)) (elem declare func $one $two $d)
			(func (export "deep") (param i32) (result i32) (i32.add (call_ref $e (ref.func $two) (ref.func $one) (ref.func $d)) (call_indirect (type $e) (ref.func $two) (ref.func $one) (local.get 0))))
			(func (export "plain") (param i32) (result i32) (call_indirect (type 1) (ref.func $two) (ref.func $one) (local.get 0))))`},
	}})
}

// TestSubtypesAtLinks imports globals of subtypes, and has segments of typed references, active and passive, whose elements are globals too.
func TestSubtypesAtLinks(t *testing.T) {
	check(t, &compare.Case{Calls: []compare.Call{{Module: 1, Func: "f", Args: []uint64{0}}, {Module: 1, Func: "f", Args: []uint64{1}}, {Module: 1, Func: "f", Args: []uint64{2}}, {Module: 1, Func: "g"}}, Modules: []compare.Module{
		{Name: "a", Text: `(module (type $i (func (result i32))) (func $i (type $i) (i32.const 5)) (global (export "g") (ref $i) (ref.func $i)))`},
		{Name: "b", Text: `(module (type (func)) (type $j (func (result i32))) (import "a" "g" (global $exact (ref $j))) (import "a" "g" (global $maybe (ref null $j))) (import "a" "g" (global $any funcref))
			(func $own (type $j) (i32.const 6)) (table $t 3 (ref null $j)) (elem (table $t) (i32.const 0) (ref $j) (global.get $exact) (ref.func $own)) (elem $p (ref null $j) (global.get $maybe) (ref.null $j))
			(func (export "f") (param i32) (result i32) (table.init $t $p (i32.const 1) (i32.const 0) (i32.const 2)) (call_ref $j (table.get $t (local.get 0))))
			(func (export "g") (result i32) (ref.is_null (global.get $any))))`},
	}})
}

// TestEmptyGroups has recursion groups of no type and of one, so that there are more groups than types and fewer.
func TestEmptyGroups(t *testing.T) {
	check(t, compare.Single(`(module (rec) (rec (type $i (func (result i32)))) (rec) (type $j (func (result i32))) (rec)
		(func $f (type $i) (i32.const 3)) (elem declare func $f) (func (export "f") (result i32) (call_ref $j (ref.func $f))))`, compare.Call{Func: "f"}))
}
