package printer

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/wat"
)

// decided reports whether an error is one about what a text says, and not about how it is encoded.
func decided(e *wasmfront.Error) bool {
	for _, msg := range []string{"constant expression required", "unknown type", "sub type"} {
		if strings.HasPrefix(e.Msg, msg) {
			return true
		}
	}
	return false
}

// FuzzText: no text makes the reader or the printer panic. What is read is printed, and read again as the same module. Only of a module that is
// given as bytes may the text be refused, as numbers can be too large, and names of locals that do not exist be lost.
func FuzzText(f *testing.F) {
	forms, err := os.ReadFile("testdata/forms.wat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(forms))
	for _, text := range []string{
		`(func (export "f") (param i32) (result i32) (i32.add (local.get 0) (i32.const -0x_1)))`,
		`(module $m (memory (data "\u{1f600}")) (table funcref (elem $f)) (func $f (@name "g") (local $x i32) block $x br $x end))`,
		`(func (block $a (loop $a (br_table $a 1 2 (i32.const 0)))) (if (i32.const 1) (then) (else (unreachable))))`,
		`(global (export "g") v128 (v128.const f32x4 nan -0x1p-149 inf 1e38)) (global f64 (f64.const -nan:0x123))`,
		`(tag $e (import "a" "b") (param i32)) (func (block $l (result i32 exnref) (try_table $l (catch_ref $e $l) (catch_all 1) (throw $e (i32.const 1))) (unreachable)) (throw_ref))`,
		`(tag $e) (func try $t (do) catch $e rethrow $t catch_all end (try (do (try (do) (delegate 0)))))`,
		`(tag $e) (func try $t try delegate $t catch $e rethrow $t catch_all end (try (do (try (do) (delegate 0))) (catch $e) (catch_all)))`,
		`(type $a (array (mut i16))) (rec (type $s (sub (struct (field $x i8) (field (mut i32) (ref $t)) (field (@name "y") (ref null $a))))) (type $t (sub final $s (struct (field i8)))))
			(func (param anyref) (block $l (result eqref) (br_on_cast $l anyref eqref (local.get 0)) (drop) (ref.null none)) (ref.cast (ref $s)) (struct.get_s $s $x) drop)
			(global (ref $a) (array.new_fixed $a 2 (i32.const 1) (i32.const 2)))`,
		`(type (sub 1 0 (func))) (rec (type (func (param (ref 7)))))`,
		`(module binary "\00asm\01\00\00\00" "\00\05\04name")`, `(module quote "(func)")`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := wat.Assemble([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		given := strings.Contains(text, "binary")
		out, err := String(m.Wasm)
		if err != nil {
			// The decoder decides on limits, some features, what is constant, and which types another one may refer to.
			if e := err.(*wasmfront.Error); !given && e.Feature == "" && e.Limit == "" && !decided(e) {
				t.Error(err)
			}
			return
		}
		again, err := wat.Assemble([]byte(out))
		if err != nil {
			if !given {
				t.Errorf("%v:\n%s", err, out)
			}
			return
		}
		if d := difference(m.Wasm, again.Wasm, !given); d != "" {
			t.Errorf("%s:\n%s", d, out)
		}
		if second, err := String(again.Wasm); err != nil || second != out {
			t.Errorf("%v: another text: %s", err, cmp.Diff(out, second))
		}
	})
}
