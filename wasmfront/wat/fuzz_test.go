package wat_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// decided reports whether a message of the decoder is about what a text says, and not about how it is encoded: what is constant, and which types another one may refer to.
func decided(msg string) bool {
	return slices.ContainsFunc([]string{"constant expression required", "unknown type", "sub type"}, func(start string) bool { return strings.HasPrefix(msg, start) })
}

// FuzzAssemble: no text makes the assembler panic. Errors have one line and a place inside of the text. A module that comes out
// is well formed but for limits and for features that the decoder decides on, and each of its errors has a place.
func FuzzAssemble(f *testing.F) {
	for _, text := range []string{
		"", "(module)", "(func", `(module quote "(func)")`, `(module binary "\00asm\01\00\00\00")`,
		`(module $m (type $t (func (param $x i32) (result i64))) (import "a" "b" (func $i (type $t))) (memory (export "m") 1 2) (table $tab funcref (elem $f))
			(global $g (mut i32) (i32.const 0x1_0)) (elem declare func $f) (elem $e (table $tab) (offset (i32.const 0)) funcref (item ref.func $f) (ref.null func))
			(data $d "a\00\u{1F600}") (start $f) (export "f" (func $f)) (@custom "c" (after code) "x")
			(func $f (local $l v128) (block $b (result i32) (if (i32.const 1) (then (br_table $b 1 (i32.const 2) (i32.const 3))) (else nop)) (i32.const 0)) drop
				block loop $c br 0 end end (v128.const f32x4 nan inf -0x1p-3 1e3) local.set $l
				(select (result i32) (i32.const 1) (i32.const 2) (i32.const 3)) i32.load offset=4 align=1 drop (memory.init $d (i32.const 0) (i32.const 0) (i32.const 0))
				(call_indirect $tab (type $t) (i32.const 0) (i32.const 0)) drop))`,
		`(tag $e (export "e") (param i32)) (func (block $l (result i32 exnref) (try_table $l (catch_ref $e $l) (catch_all 1) (throw $e (i32.const 1))) (unreachable)) (throw_ref))`,
		`(tag $e) (func try $t try delegate $t catch $e rethrow $t catch_all end (try (do (try (do) (delegate 0))) (catch $e) (catch_all)))`,
		`(type $a (array (mut i16))) (rec (type $s (sub (struct (field $x i8) (field (mut i32) (ref $t)) (field (@name "y") (ref null $a))))) (type $t (sub final $s (struct (field i8)))))
			(func (param anyref) (block $l (result eqref) (br_on_cast $l anyref eqref (local.get 0)) (drop) (ref.null none)) (ref.cast (ref $s)) (struct.get_s $s $x) drop)
			(global (ref $a) (array.new_fixed $a 2 (i32.const 1) (i32.const 2))) (elem (ref $a) (item (array.new_default $a (i32.const 1))))`,
		`(type (sub 1 0 (func))) (rec (type (func (param (ref 7)))))`,
		"(@a (b) \"\\\") (; (; ;) ;) ;; x\n (func $\"a\\41\")",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := wat.Assemble([]byte(text))
		if err != nil {
			var e *wat.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Offset < 0 || e.Line > 1+strings.Count(text, "\n") {
				t.Errorf("%q: %#v", text, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: several lines: %v", text, err)
			}
			return
		}
		if strings.Contains(text, "binary") {
			return // what is in its strings may be anything
		}
		var e *wasmfront.Error
		_, err = wasmfront.Decode(m.Wasm, wasmfront.DecodableFeatures)
		if errors.As(err, &e) && e.Feature == "" && e.Limit == "" && !decided(e.Msg) {
			t.Errorf("%q is malformed: %v", text, err)
		}
		_, err = validate.All(m.Wasm, validate.Config{Features: wasmfront.DecodableFeatures})
		if errors.As(err, &e) {
			if _, ok := m.Place(e.Offset); !ok {
				t.Errorf("%q: no place for %v", text, err)
			}
		}
	})
}
