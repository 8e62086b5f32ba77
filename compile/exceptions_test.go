package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestExceptionsWithoutTags: a module without tags has the parts that exceptions need if and only if functions of it that are called have instructions for them.
func TestExceptionsWithoutTags(t *testing.T) {
	for text, want := range map[string]bool{
		`(func)`:                false,
		`(func (param exnref))`: false,
		`(global exnref (ref.null exn)) (table 1 exnref) (func (drop (ref.null noexn)))`: false,
		`(func unreachable (try_table))`:                                                 false,
		`(tag)`:                                                                          true,
		`(import "a" "b" (tag (param i32)))`:                                             true,
		`(func (export "f") (param exnref) (throw_ref (local.get 0)))`:                   true,
		`(import "a" "b" (func $f)) (func (export "f") (try_table (catch_all 0) (call $f)))`:                                                                              true,
		`(import "a" "b" (func $f)) (func (export "f") (try (do (call $f)) (catch_all)))`:                                                                                 true,
		`(func) (func $g (export "g") (param exnref) (call $h (local.get 0))) (func) (func $h (param exnref) (throw_ref (local.get 0)))`:                                  true,
		`(func $h (param exnref) (throw_ref (local.get 0))) (func (export "f") (param exnref) (call $h (local.get 0)) (try_table (catch_all 0) (call $h (local.get 0))))`: true,
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

// TestExceptionsRefused: without the features, a module that has anything of exceptions is refused by their name; one that is wrong in another way is
// refused for that. With them the others compile.
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
		const without = wasmfront.DefaultFeatures &^ (wasmfront.FeatureExceptions | wasmfront.FeatureLegacyExceptions)
		_, err = Module(m.Wasm, Options{Features: without})
		var e *wasmfront.Error
		if !errors.As(err, &e) || e.Feature != c.feature {
			t.Errorf("%s: %v, want an error that names %q", c.text, err, c.feature)
		}
		if _, err := Module(m.Wasm, Options{}); (err == nil) != (c.feature != "") {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// TestExceptionBase: where the address of the instance data is in a register, the block that defines it is one for what has to do with exceptions, too: each such instruction beside globals that another
// block reads.
func TestExceptionBase(t *testing.T) {
	const globals = `(drop (global.get 0)) (global.set 0 (f64.neg (global.get 0))) (global.set 1 (i32.const 3))`
	for _, code := range []string{
		`(if (local.get 0) (then (throw 0 (i64.const 0)))) ` + globals,
		`(if (local.get 0) (then (throw_ref (ref.null exn)))) ` + globals,
		`(block (result i64) (try_table (catch 0 0) (call 0) (return)) (unreachable)) (drop) ` + globals,
		`(try (do (if (local.get 0) (then (call 0)))) (catch 0 (drop)) (catch_all (rethrow 0))) ` + globals,
		`(if (local.get 0) (then (try (do (call 0)) (catch_all (rethrow 0)))) (else ` + globals + `))`,
	} {
		m, err := wat.Assemble([]byte(`(import "m" "f" (func)) (tag (param i64)) (global (mut f64) (f64.const 0)) (global (mut i32) (i32.const 0)) (func (export "f") (param i32) ` + code + `)`))
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		for _, target := range Targets() {
			for _, regalloc := range []string{"linear", "ssa", "local"} {
				for _, level := range []opt.Level{opt.O0, opt.O1} {
					if _, err := Module(m.Wasm, Options{OptLevel: level, Target: target, Regalloc: regalloc, Verify: true}); err != nil {
						t.Errorf("%s, %s, %s, -O%d: %v", code, target, regalloc, level, err)
					}
				}
			}
		}
	}
}

// TestNestedRethrows: n handlers inside each other, in the innermost of which each of their exceptions may be thrown again, have about n*n pairs of an edge and a reference, and
// as many of a call and a reference. Each of the two has a limit of its own, without the mid-end, too (docs/limits.md).
func TestNestedRethrows(t *testing.T) {
	for n, accepted := range map[int]bool{1500: true, 3000: false} {
		var b strings.Builder
		b.WriteString(`(import "m" "f" (func $f)) (func (export "f") (param i64) (try (do `)
		b.WriteString(strings.Repeat(`(try (do (call $f)) (catch_all `, n))
		for k := range n {
			fmt.Fprintf(&b, `(if (i64.eq (local.get 0) (i64.const %d)) (then (rethrow %d)))`, k, k+1)
		}
		b.WriteString(strings.Repeat(`))`, n) + `) (catch_all)))`)
		m, err := wat.Assemble([]byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Module(m.Wasm, Options{OptLevel: opt.O0})
		var e *FuncError
		if accepted && err != nil || !accepted && !errors.As(err, &e) {
			t.Errorf("%d handlers: %v", n, err)
		}
	}
}

// TestExceptionTables: the tables that unwinding needs are decoded as they were encoded.
func TestExceptionTables(t *testing.T) {
	m, err := wat.Assemble([]byte(`(import "m" "f" (func $f (param i32) (result i32))) (tag)
		(func (export "f") (param i32 i32 i32 i32) (result i32)
			(block $a (try_table (catch_all $a)
				(return (i32.add (i32.add (call $f (local.get 0)) (call $f (local.get 1))) (i32.add (call $f (local.get 2)) (call $f (local.get 3)))))))
			(i32.add (local.get 0) (i32.add (local.get 1) (local.get 2))))`))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range Targets() {
		r, err := Module(m.Wasm, Options{OptLevel: opt.O1, Target: target})
		if err != nil {
			t.Fatal(err)
		}
		size := func(name string) uint64 { return r.Object.Sections[r.Object.SectionIndex(name)].Bytes() }
		got, err := meta.Decode(meta.Encode(r.Meta), meta.Sizes{Text: size(".text"), Rodata: size(".rodata"), Data: size(".data")})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Handlers) != 4 || !slices.Equal(got.Handlers, r.Meta.Handlers) {
			t.Errorf("%s: handlers %v, want %v", target, got.Handlers, r.Meta.Handlers)
		}
		same := func(a, b abi.Saves) bool { return a.Registers == b.Registers && slices.Equal(a.Changes, b.Changes) }
		if !slices.EqualFunc(got.Saves, r.Meta.Saves, same) || !slices.ContainsFunc(got.Saves, func(s abi.Saves) bool { return s.Registers != 0 }) {
			t.Errorf("%s: saves %v, want %v", target, got.Saves, r.Meta.Saves)
		}
	}
}
