package translate_test

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
)

// TestSurveyClosed: objects are known only where no reference to an object or function enters or leaves.
func TestSurveyClosed(t *testing.T) {
	for _, c := range []struct {
		imports, fields string
		closed          bool
	}{
		{"", "", true},
		{"", `(func (export "f") (param i32) (result f64) (f64.const 0)) (func (export "g"))`, true},
		{`(import "m" "f" (func (param i32) (result i64)))`, "", true},
		{`(import "m" "f" (func (param externref) (result externref)))`, "", true},
		{`(import "m" "f" (func (param externref)))`, `(func (result externref) (extern.convert_any (ref.null any)))`, false},
		{`(import "m" "f" (func (result externref)))`, `(func (param externref) (drop (any.convert_extern (local.get 0))))`, false},
		{`(import "m" "g" (global externref))`, `(global anyref (any.convert_extern (global.get 0)))`, false},
		{"", `(func (param externref) (drop (any.convert_extern (local.get 0))))`, true},
		{`(import "m" "f" (func (param anyref)))`, "", false},
		{`(import "m" "f" (func (result (ref $s))))`, "", false},
		{`(import "m" "f" (func (result i31ref)))`, "", false},
		{`(import "m" "f" (func (param funcref)))`, "", false},
		{`(import "m" "f" (func (result exnref)))`, "", false},
		{`(import "m" "g" (global (ref null $s)))`, "", false},
		{`(import "m" "g" (global (mut i32)))`, "", true},
		{`(import "m" "t" (table 1 funcref))`, "", false},
		{`(import "m" "t" (table 1 externref))`, "", true},
		{`(import "m" "e" (tag (param (ref $s))))`, "", false},
		{`(import "m" "e" (tag (param i32)))`, "", true},
		{`(import "m" "m" (memory 1))`, "", true},
		{"", `(func (export "f") (param structref))`, false},
		{"", `(func (export "f") (result (ref null $f)) (ref.null $f))`, false},
		{"", `(func (param (ref $s)))`, true},
		{"", `(global (export "g") (ref null $s) (ref.null $s))`, false},
		{"", `(global (export "g") externref (ref.null extern))`, true},
		{"", `(table (export "t") 1 (ref null $f))`, false},
		{"", `(table 1 (ref null $f))`, true},
		{"", `(tag (export "e") (param (ref null $s)))`, false},
		{"", `(tag (param (ref null $s)))`, true},
		{"", `(tag (param externref)) (func (param externref) (drop (any.convert_extern (local.get 0))))`, false},
		{"", `(tag (param externref))`, true},
		{"", `(memory (export "m") 1)`, true},
	} {
		cm := surveyed(t, `(type $s (struct (field (ref null $s)))) (type $f (func))`+c.imports+`(func $nothing) (global (ref $s) (struct.new $s (ref.null $s)))`+c.fields)
		if closed := cm.Held != nil; closed != c.closed {
			t.Errorf("%s %s: closed is %v", c.imports, c.fields, closed)
		}
	}
}

// TestSurveyHeld: what field 0 of $t holds, whose type is given, if $a, $b and $c are functions of its type, $u is a subtype of $t and $v one of $u, and $o another one of the same.
func TestSurveyHeld(t *testing.T) {
	const types = `
		(type $f (func)) (type $p (sub (struct))) (type $q (sub $p (struct (field i32))))
		(type $t (sub (struct (field %[1]s)))) (type $u (sub $t (struct (field %[1]s) (field i32)))) (type $v (sub $u (struct (field %[1]s) (field i32) (field i64))))
		(type $o (sub (struct (field %[1]s)))) (func $a) (func $b)`
	const fn, obj = "(ref null $f)", "(ref null $p)"
	global := func(typ, x string) string {
		rest := map[string]string{"$u": "(i32.const 0)", "$v": "(i32.const 0) (i64.const 0)"}[typ]
		return fmt.Sprintf("(global (ref %[1]s) (struct.new %[1]s %[2]s %[3]s))", typ, x, rest)
	}
	one, p, q := clif.Held{Kind: clif.HeldFunc}, clif.Held{Kind: clif.HeldObject, Index: 1}, clif.Held{Kind: clif.HeldObject, Index: 2}
	orNull := func(h clif.Held) clif.Held { h.Null = true; return h }
	any, nothing := clif.Held{Kind: clif.HeldAny}, clif.Held{Null: true}
	for _, c := range []struct {
		name, field, fields string
		want                clif.Held
	}{
		{"never made", fn, "", any},
		{"one function", fn, global("$t", "(ref.func $a)"), one},
		{"twice", fn, global("$t", "(ref.func $a)") + global("$t", "(ref.func $a)"), one},
		{"two", fn, global("$t", "(ref.func $a)") + global("$t", "(ref.func $b)"), any},
		{"null", fn, global("$t", "(ref.null $f)"), nothing},
		{"one or null", fn, global("$t", "(ref.func $a)") + global("$t", "(ref.null $f)"), orNull(one)},
		{"null or one", fn, global("$t", "(ref.null $f)") + global("$t", "(ref.func $a)"), orNull(one)},
		{"in a subtype", fn, global("$v", "(ref.func $a)"), one},
		{"another one in a subtype", fn, global("$t", "(ref.func $a)") + global("$v", "(ref.func $b)"), any},
		{"another one in an equal type", fn, global("$t", "(ref.func $a)") + global("$o", "(ref.func $b)"), any},
		{"only in an equal type", fn, global("$o", "(ref.func $a)"), one},
		{"made by a body", fn, global("$t", "(ref.func $a)") + "(func (drop (struct.new $t (ref.func $a))))", any},
		{"a subtype made by a body", fn, global("$t", "(ref.func $a)") + "(func (drop (struct.new_default $v)))", any},
		{"an equal type made by a body", fn, global("$t", "(ref.func $a)") + "(func (drop (struct.new_default $o)))", any},
		{"made of defaults", fn, global("$t", "(ref.func $a)") + "(global (ref $t) (struct.new_default $t))", any},
		{"a subtype made of defaults", fn, global("$t", "(ref.func $a)") + "(global (ref $u) (struct.new_default $u))", any},
		{"in a global that changes", fn, "(global (mut (ref null $t)) (struct.new $t (ref.func $a)))", one},
		{"in a table", fn, "(table 1 (ref $t) (struct.new $t (ref.func $a)))", one},
		{"in a table too", fn, global("$t", "(ref.func $a)") + "(table 1 (ref $t) (struct.new $t (ref.func $b)))", any},
		{"in a segment", fn, "(elem (ref $t) (struct.new $t (ref.func $a)))", one},
		{"in a segment too", fn, global("$t", "(ref.func $a)") + "(elem (ref null $t) (ref.null $t) (item (struct.new $t (ref.func $b))))", any},
		{"in an array of another", fn, "(type $many (array (ref $t))) (global (ref $many) (array.new_fixed $many 2 (struct.new $t (ref.func $a)) (struct.new $t (ref.func $b))))", any},
		{"a global's", fn, "(global $g (ref $f) (ref.func $a))" + global("$t", "(global.get $g)"), any},
		{"a field that changes", "(mut (ref null $f))", global("$t", "(ref.func $a)"), any},
		{"a structure", obj, global("$t", "(struct.new $p)"), p},
		{"a structure of a subtype", obj, global("$t", "(struct.new $q (i32.const 1))"), q},
		{"structures of two types", obj, global("$t", "(struct.new $p)") + global("$t", "(struct.new $q (i32.const 1))"), any},
		{"a structure of defaults", obj, global("$t", "(struct.new_default $q)"), q},
		{"a global's structure", obj, "(global $g (ref $p) (struct.new $q (i32.const 1)))" + global("$t", "(global.get $g)"), q},
		{"a structure of a global that changes", obj, "(global $g (mut (ref $p)) (struct.new $q (i32.const 1))) (func (global.set $g (struct.new $p)))" + global("$t", "(struct.new $q (i32.const 2))"), q},
		{"a structure or null", obj, global("$t", "(struct.new $p)") + global("$u", "(ref.null $p)"), orNull(p)},
	} {
		cm := surveyed(t, fmt.Sprintf(types, c.field)+c.fields)
		got := cm.HeldBy(3, 0)
		if got.Kind == clif.HeldAny {
			got = any
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
