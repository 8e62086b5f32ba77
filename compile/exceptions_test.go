package compile

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestExceptionsRefused: a module that has anything of exceptions is refused by their name, also if they are asked for; one that is wrong in another way is
// refused for that.
func TestExceptionsRefused(t *testing.T) {
	for _, c := range []struct{ text, feature string }{
		{`(tag)`, "exceptions"},
		{`(import "a" "b" (tag (param i32)))`, "exceptions"},
		{`(type (func (param exnref)))`, "exceptions"},
		{`(type (func (result (ref null noexn))))`, "exceptions"},
		{`(import "a" "b" (global exnref))`, "exceptions"},
		{`(global exnref (ref.null exn))`, "exceptions"},
		{`(global externref (ref.null extern)) (table 1 exnref)`, "exceptions"},
		{`(elem exnref (ref.null exn))`, "exceptions"},
		{`(func (local exnref))`, "exceptions"},
		{`(func (drop (ref.null noexn)))`, "exceptions"},
		{`(func (block (result (ref exn)) (unreachable)) (drop))`, "exceptions"},
		{`(func (unreachable) (select (result exnref)) (drop))`, "exceptions"},
		{`(func (unreachable) (throw_ref))`, "exceptions"},
		{`(func (try_table))`, "exceptions"},
		{`(func (try (do)))`, "legacy-exceptions"},
		{`(func (try (do) (catch_all (rethrow 0))))`, "legacy-exceptions"},
		{`(func (try (do) (delegate 0)))`, "legacy-exceptions"},
		{`(func (try (do) (delegate 1)))`, ""},
		{`(tag (result i32))`, ""},
		{`(func (throw 0))`, ""},
	} {
		m, err := wat.Assemble([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		for _, accept := range []wasmfront.Features{0, wasmfront.DecodableFeatures} {
			_, err := Module(m.Wasm, Options{Features: accept})
			var e *wasmfront.Error
			if !errors.As(err, &e) || e.Feature != c.feature {
				t.Errorf("%s: %v, want an error that names %q", c.text, err, c.feature)
			}
		}
	}
}
