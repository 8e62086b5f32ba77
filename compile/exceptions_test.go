package compile

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestExceptionsWithoutTags: a module without tags has the parts that exceptions need if and only if its functions have instructions for them.
func TestExceptionsWithoutTags(t *testing.T) {
	for text, want := range map[string]bool{
		`(func)`:                false,
		`(func (param exnref))`: false,
		`(global exnref (ref.null exn)) (table 1 exnref) (func (drop (ref.null noexn)))`: false,
		`(func unreachable (try_table))`:                                                 false,
		`(tag)`:                                                                          true,
		`(import "a" "b" (tag (param i32)))`:                                             true,
		`(func (throw_ref (ref.null exn)))`:                                              true,
		`(import "a" "b" (func $f)) (func (try_table (catch_all 0) (call $f)))`:          true,
		`(import "a" "b" (func $f)) (func (try (do (call $f)) (catch_all)))`:             true,
		`(func) (func $g (call $h)) (func) (func $h (throw_ref (ref.null exn)))`:         true,
		`(func $h (param exnref) (throw_ref (local.get 0))) (func (call $h (ref.null exn)) (try_table (catch_all 0) (call $h (ref.null exn))))`: true,
	} {
		m, err := wat.Assemble([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			for _, jobs := range []int{1, 4} {
				r, err := Module(m.Wasm, Options{OptLevel: level, Jobs: jobs, Verify: true})
				if err != nil {
					t.Errorf("%s: %v", text, err)
				} else if got := r.Meta.Exceptions != nil; got != want {
					t.Errorf("%s: exceptions: %t", text, got)
				}
			}
		}
	}
}
