package validate_test

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestGC: what operators on structures, arrays and casts take and give.
func TestGC(t *testing.T) {
	const types = `
		(type $p (sub (struct (field (mut i8)) (field (mut (ref null $p))) (field i64))))
		(type $q (sub final $p (struct (field (mut i8)) (field (mut (ref null $p))) (field i64) (field (ref $p)))))
		(type $b (array (mut i8))) (type $s (array (mut i16))) (type $c (array i8)) (type $r (array (mut (ref null $p)))) (type $n (array (ref $p)))
		(type $f (func (param i32))) (data $d "") (elem $e (ref null $q) (ref.null $q)) (elem $g funcref)`
	for _, c := range []struct{ body, msg string }{
		{`(func (result i32) (struct.get_s $p 0 (ref.null $p)))`, ""},
		{`(func (result i32) (struct.get $p 0 (ref.null $p)))`, "type mismatch: struct.get of (mut i8)"},
		{`(func (result i64) (struct.get_u $p 2 (ref.null $p)))`, "type mismatch: struct.get_u of i64"},
		{`(func (result i64) (struct.get $p 2 (ref.null $q)))`, ""},
		{`(func (result i64) (struct.get $q 2 (ref.null $p)))`, "type mismatch: expected (ref null 1) but (ref null 0) on the stack"},
		{`(func (result i64) (struct.get $q 4 (ref.null $q)))`, "unknown field 4"},
		{`(func (struct.set $p 2 (ref.null $p) (i64.const 1)))`, "immutable field 2"},
		{`(func (result (ref $p)) (struct.new_default $p))`, ""},
		{`(func (result (ref $q)) (struct.new_default $q))`, "type mismatch: struct.new_default of a type whose field 3 has no default value"},
		{`(func (result (ref $q)) (struct.new $q (i32.const 1) (ref.null none) (i64.const 1) (struct.new_default $p)))`, ""},
		{`(func (result (ref $q)) (struct.new $q (i32.const 1) (ref.null none) (i64.const 1) (ref.null none)))`, "type mismatch: expected (ref 0) but nullref on the stack"},
		{`(func (result (ref $q)) (struct.new $b (i32.const 1)))`, "type mismatch: type 2 is of kind array, not struct"},
		{`(func (result (ref $n)) (array.new_default $n (i32.const 1)))`, "type mismatch: array.new_default of a type whose field 0 has no default value"},
		{`(func (result (ref $n)) (array.new_fixed $n 2 (struct.new_default $p) (struct.new_default $p)))`, ""},
		{`(func (result (ref $n)) (array.new_fixed $n 2 (struct.new_default $p)))`, "type mismatch: expected (ref 0) but nothing on the stack"},
		{`(func (array.copy $b $c (ref.null $b) (i32.const 0) (ref.null $c) (i32.const 0) (i32.const 0)))`, ""},
		{`(func (array.copy $c $b (ref.null $c) (i32.const 0) (ref.null $b) (i32.const 0) (i32.const 0)))`, "immutable array"},
		{`(func (array.copy $b $s (ref.null $b) (i32.const 0) (ref.null $s) (i32.const 0) (i32.const 0)))`, "array types do not match: (mut i16) for (mut i8)"},
		{`(func (array.copy $r $n (ref.null $r) (i32.const 0) (ref.null $n) (i32.const 0) (i32.const 0)))`, ""},
		{`(func (array.init_elem $r $e (ref.null $r) (i32.const 0) (i32.const 0) (i32.const 0)))`, ""},
		{`(func (array.init_elem $r $g (ref.null $r) (i32.const 0) (i32.const 0) (i32.const 0)))`, "type mismatch: segment of funcref for an array of (mut (ref null 0))"},
		{`(func (array.init_data $r $d (ref.null $r) (i32.const 0) (i32.const 0) (i32.const 0)))`, "array type is not numeric or vector: (ref null 0)"},
		{`(func (array.fill $c (ref.null $c) (i32.const 0) (i32.const 0) (i32.const 0)))`, "immutable array"},
		{`(func (result i32) (array.len (ref.null $s)))`, ""},
		{`(func (result i32) (array.len (ref.null $p)))`, "type mismatch: expected arrayref but (ref null 0) on the stack"},
		{`(func (param externref) (result i32) (ref.eq (local.get 0) (ref.null none)))`, "type mismatch: expected eqref but externref on the stack"},
		{`(func (param externref) (result (ref any)) (any.convert_extern (local.get 0)))`, "type mismatch: expected (ref any) but anyref on the stack"},
		{`(func (param (ref extern)) (result (ref any)) (any.convert_extern (local.get 0)))`, ""},
		{`(func (param anyref) (result (ref $q)) (ref.cast (ref $q) (local.get 0)))`, ""},
		{`(func (param funcref) (result (ref $q)) (ref.cast (ref $q) (local.get 0)))`, "type mismatch: expected anyref but funcref on the stack"},
		{`(func (result (ref $q)) (unreachable) (ref.cast (ref $q)))`, ""},
		// Where null goes well, it is not what stays; else it may be.
		{`(func (param anyref) (result (ref any)) (block (result (ref null $p)) (br_on_cast 0 anyref (ref null $p) (local.get 0)) (return)) (unreachable))`, ""},
		{`(func (param anyref) (result (ref any)) (block (result (ref null $p)) (br_on_cast 0 anyref (ref $p) (local.get 0)) (return)) (unreachable))`, "type mismatch: expected (ref any) but anyref on the stack"},
		{`(func (param anyref) (result (ref $p)) (block (result anyref) (br_on_cast_fail 0 anyref (ref $p) (local.get 0)) (return)) (unreachable))`, ""},
		{`(func (param anyref) (result (ref $p)) (block (result (ref any)) (br_on_cast_fail 0 anyref (ref $p) (local.get 0)) (return)) (unreachable))`, "type mismatch: br_on_cast_fail with anyref for a label that takes other operands"},
		{`(func (param eqref) (block (result anyref) (br_on_cast 0 eqref anyref (local.get 0)) (return)) (unreachable))`, "type mismatch: br_on_cast from eqref to anyref"},
		{`(func (param (ref null $f)) (call_ref $f (i32.const 1) (local.get 0)))`, ""},
		{`(func (param (ref null $p)) (call_ref $p (local.get 0)))`, "type mismatch: type 0 is of kind struct, not func"},
		{`(global (ref $p) (struct.new $p (i32.const 1) (ref.null $q) (i64.const 5)))`, ""},
		{`(global (ref $q) (struct.new_default $p))`, "type mismatch: constant expression must yield one (ref 1)"},
		{`(global (ref i31) (ref.i31 (i64.const 1)))`, "type mismatch: ref.i31 needs i32"},
		{`(global (ref $n) (array.new_fixed $n 1 (ref.null none)))`, "type mismatch: array.new_fixed needs (ref 0)"},
		{`(global externref (extern.convert_any (ref.i31 (i32.const 1))))`, ""},
		{`(func (block (type $p)))`, "type 0 is not a function type"},
		{`(type $u (sub (func (param (ref null $q)) (result anyref)))) (type (sub $u (func (param (ref null $p)) (result eqref))))`, ""},
		{`(type $u (sub (func (param (ref null $p)) (result anyref)))) (type (sub $u (func (param (ref null $q)) (result eqref))))`, "sub type 9 does not match super type 8"},
		{`(tag (type $b))`, "type 2 is not a function type"},
	} {
		wasm, err := wat.Assemble("(module " + types + c.body + ")")
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		switch _, err := validate.All(wasm, validate.Config{Features: wasmfront.DecodableFeatures}); {
		case c.msg == "" && err != nil:
			t.Errorf("%s: %v", c.body, err)
		case c.msg != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+c.msg)):
			t.Errorf("%s: %v, want %s", c.body, err, c.msg)
		}
	}
}
