//go:build linux && (amd64 || arm64)

package waot_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
)

const exceptionsText = `(module $x
	(type $i (func (param i32) (result i32)))
	(import "env" "host" (func $host (param i32) (result i32)))
	(import "env" "tag" (tag $theirs (param i32 i64)))
	(import "env" "keep" (func $keep (param exnref) (result exnref)))
	(tag $all (export "all") (param i32 i64 f32 f64 v128 externref funcref exnref))
	(tag $mine (export "mine") (param i32))
	(tag $none (export "none"))
	(table (export "exns") 4 exnref)
	(table $many 4096 exnref)
	(global $g (export "exn") (mut exnref) (ref.null exn))
	(func $inc (export "inc") (type $i) (i32.add (local.get 0) (i32.const 1)))

	(func $throw (export "throw") (param i32) (throw $mine (local.get 0)))
	(func (export "throw none") (throw $none))
	(func (export "throw all") (param externref exnref)
		(throw $all (i32.const -1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i64x2 5 6) (local.get 0) (ref.func $inc) (local.get 1)))
	(func (export "catch all") (param i32) (result i32 i64 f32 f64 v128 externref funcref exnref)
		(block $h (result i32 i64 f32 f64 v128 externref funcref exnref)
			(try_table (catch $all $h) (drop (call $host (local.get 0))))
			unreachable))
	;; What the host function throws with the imported tag, and what it returns.
	(func $catch (export "catch") (param i32) (result i32 i64)
		(block $h (result i32 i64)
			(try_table (catch $theirs $h) (return (call $host (local.get 0)) (i64.const 0)))
			unreachable))
	(func (export "through") (param i32) (result i32) (call $host (local.get 0)))
	(func (export "any") (param i32) (result i32)
		(block $h (try_table (catch_all $h) (return (call $host (local.get 0)))))
		(i32.const -1))
	;; Catches everything, and throws it again.
	(func (export "again") (param i32) (result i32)
		(block $h (result exnref)
			(try_table (catch_all_ref $h) (return (call $host (local.get 0))))
			unreachable)
		throw_ref)
	(func (export "caught ref") (param i32) (result exnref)
		(block $h (result exnref)
			(try_table (catch_all_ref $h) (call $throw (local.get 0)))
			unreachable))
	(func (export "throw ref") (param exnref) (throw_ref (local.get 0)))
	(func (export "same") (param exnref) (result exnref) (local.get 0))
	(func (export "extern") (param externref) (result externref) (local.get 0))
	(func (export "kept") (param exnref) (result exnref) (call $keep (local.get 0)))
	(func (export "trap") (result i32) (block $h (try_table (catch_all $h) unreachable)) (i32.const 1))
	(func (export "loop") (param i32) (local i32)
		(loop $l
			(block $h (result i32)
				(try_table (catch $mine $h) (call $throw (local.get 1)))
				unreachable)
			(local.set 1 (i32.add (i32.const 1)))
			(br_if $l (i32.ne (local.get 1) (local.get 0)))))
	(func (export "loop ref") (param i32) (local i32)
		(loop $l
			(global.set $g (block $h (result exnref)
				(try_table (catch_all_ref $h) (call $throw (local.get 1)))
				unreachable))
			(local.set 1 (i32.add (local.get 1) (i32.const 1)))
			(br_if $l (i32.ne (local.get 1) (local.get 0)))))
	(func (export "hold") (param i32) (local i32)
		(loop $l
			(table.set $many (local.get 1) (block $h (result exnref)
				(try_table (catch_all_ref $h) (call $throw (local.get 1)))
				unreachable))
			(local.set 1 (i32.add (local.get 1) (i32.const 1)))
			(br_if $l (i32.ne (local.get 1) (local.get 0)))))
	;; Each exception holds the one before, and a table all of them.
	(func (export "links") (param i32) (local i32) (local $x exnref)
		(loop $l
			(table.set $many (local.get 1) (local.tee $x (block $h (result exnref)
				(try_table (catch_all_ref $h)
					(throw $all (local.get 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i64x2 5 6) (ref.null extern) (ref.func $inc) (local.get $x)))
				unreachable)))
			(local.set 1 (i32.add (local.get 1) (i32.const 1)))
			(br_if $l (i32.ne (local.get 1) (local.get 0)))))
	;; Each exception holds the one before.
	(func (export "chain") (param i32) (local i32)
		(loop $l
			(global.set $g (block $h (result exnref)
				(try_table (catch_all_ref $h)
					(throw $all (local.get 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i64x2 5 6) (ref.null extern) (ref.func $inc) (global.get $g)))
				unreachable))
			(local.set 1 (i32.add (local.get 1) (i32.const 1)))
			(br_if $l (i32.ne (local.get 1) (local.get 0)))))
	(func $deep (export "deep") (param i32) (result i32)
		(if (i32.eqz (local.get 0)) (then (throw $mine (i32.const 7))))
		(i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
	(func (export "catch deep") (param i32) (result i32)
		(block $h (result i32)
			(try_table (catch $mine $h) (return (call $deep (local.get 0))))
			unreachable)))`

// thrower is a store with an instance of exceptionsText.
type thrower struct {
	t      *testing.T
	s      *waot.Store
	inst   *waot.Instance
	theirs *waot.Tag
	// host is what the imported function does.
	host func(ctx context.Context, c *waot.Caller, x int32) (int32, error)
}

func newThrower(t *testing.T, o *waot.StoreOptions, c *waot.CompileOptions) *thrower {
	t.Helper()
	wasm, err := waot.ParseText([]byte(exceptionsText))
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := waot.NewStore(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	x := &thrower{t: t, s: s}
	if x.theirs, err = s.NewTag(waot.TypeI32, waot.TypeI64); err != nil {
		t.Fatal(err)
	}
	x.inst, err = s.Instantiate(nil, m, waot.Imports{"env": {
		"tag":  x.theirs,
		"keep": func(x *waot.Exception) *waot.Exception { return x },
		"host": func(ctx context.Context, c *waot.Caller, n int32) (int32, error) { return x.host(ctx, c, n) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *thrower) tag(name string) *waot.Tag {
	x.t.Helper()
	tag, err := x.inst.Tag(name)
	if err != nil {
		x.t.Fatal(err)
	}
	return tag
}

func (x *thrower) call(name string, args ...any) ([]any, error) {
	return function(x.inst, name).Call(context.Background(), args...)
}

func (x *thrower) exception(tag *waot.Tag, args ...any) *waot.Exception {
	x.t.Helper()
	e, err := waot.NewException(tag, args...)
	if err != nil {
		x.t.Fatal(err)
	}
	return e
}

// want calls a function that must throw an exception with a tag and arguments, which are compared as text.
func (x *thrower) want(name string, tag *waot.Tag, text string, args ...any) *waot.Exception {
	x.t.Helper()
	var e *waot.Exception
	if _, err := x.call(name, args...); !errors.As(err, &e) || e.Tag() != tag || fmt.Sprint(e.Args()) != text {
		x.t.Fatalf("%s: %v, %v; want %s", name, err, e.Args(), text)
	}
	return e
}

func compileModes() map[string]*waot.CompileOptions {
	return map[string]*waot.CompileOptions{"O1": nil, "O0": {NoOptimize: true}, "exact": {Fuel: waot.FuelExact}, "slack": {Fuel: waot.FuelSlack}}
}

// TestExceptions: what compiled code throws uncaught is an error with the tag, typed arguments and a backtrace.
func TestExceptions(t *testing.T) {
	for name, mode := range compileModes() {
		t.Run(name, func(t *testing.T) {
			x := newThrower(t, &waot.StoreOptions{Fuel: 1 << 40}, mode)
			e := x.want("throw", x.tag("mine"), "[i32:-5]", -5)
			if b := e.Backtrace(); len(b) != 1 || b[0].Name != "throw" || b[0].Offset == 0 || e.InnerFrames() != 1 {
				t.Errorf("the backtrace is %v", b)
			}
			if got, want := e.Error(), fmt.Sprintf("wasm exception with arguments (i32) in throw at offset %#x", e.Backtrace()[0].Offset); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			x.want("throw none", x.tag("none"), "[]")
			type value struct{ n int }
			v := &value{7}
			all := x.exception(x.tag("all"), -1, 2, float32(3), 4.0, waot.V128([16]byte{5, 8: 6}), v, function(x.inst, "inc"), e)
			thrown := x.want("throw all", x.tag("all"), fmt.Sprint(all.Args()), v, e)
			if a := thrown.Args(); a[5].Ref() != any(v) || a[6].Func() != function(x.inst, "inc") || a[7].Exception() != e || a[7].Type() != waot.TypeExnRef {
				t.Errorf("the references are %v", a)
			}
			e = x.want("deep", x.tag("mine"), "[i32:7]", 100)
			if n := len(e.Backtrace()); n != 64 || e.InnerFrames() != 64 {
				t.Errorf("%d frames", n)
			}
			if r, err := x.call("catch deep", 100); err != nil || r[0] != int32(7) {
				t.Errorf("%v, %v", r, err)
			}
			x.host = func(context.Context, *waot.Caller, int32) (int32, error) { return 0, all }
			r, err := x.call("catch all", 0)
			if err != nil || r[0] != int32(-1) || r[1] != int64(2) || r[2] != float32(3) || r[3] != 4.0 || r[4] != ([16]byte{5, 8: 6}) || r[5] != any(v) || r[6] != function(x.inst, "inc") || r[7] != all.Args()[7].Exception() {
				t.Errorf("caught %v, %v", r, err)
			}
			// The exception keeps its arguments without the store.
			x.s.Close()
			if a := thrown.Args(); a[5].Ref() != any(v) || a[0].I32() != -1 || a[7].Exception().Args()[0].I32() != -5 {
				t.Errorf("the arguments are %v when the store is closed", a)
			}
			if _, err := waot.NewException(thrown.Tag()); !errors.Is(err, waot.ErrType) && !errors.Is(err, waot.ErrClosed) {
				t.Errorf("an exception of a closed store: %v", err)
			}
		})
	}
}

// TestThrowingHost: a Go function throws by the error it returns; what nobody catches comes out as it was.
func TestThrowingHost(t *testing.T) {
	for name, mode := range compileModes() {
		t.Run(name, func(t *testing.T) {
			x := newThrower(t, &waot.StoreOptions{Fuel: 1 << 40}, mode)
			e := x.exception(x.theirs, 5, 6)
			wrapped := fmt.Errorf("for a reason: %w", e)
			for _, thrown := range []error{e, wrapped} {
				x.host = func(_ context.Context, c *waot.Caller, n int32) (int32, error) { return 0, thrown }
				if r, err := x.call("catch", 0); err != nil || !cmp.Equal(r, []any{int32(5), int64(6)}) {
					t.Errorf("caught %v, %v", r, err)
				}
				if _, err := x.call("through", 0); err != thrown {
					t.Errorf("uncaught: %v", err)
				}
				if _, err := x.call("again", 0); err != error(e) {
					t.Errorf("thrown again: %v, want the same exception", err)
				}
			}
			if b := e.Backtrace(); len(b) != 1 || b[0].Name != "through" {
				t.Errorf("the backtrace is %v", b)
			}
			// A block around the call that catches another tag changes nothing.
			mine := x.exception(x.tag("mine"), 7)
			for _, thrown := range []error{mine, fmt.Errorf("for a reason: %w", mine), mine} {
				x.host = func(_ context.Context, c *waot.Caller, n int32) (int32, error) { return 0, thrown }
				if _, err := x.call("catch", 0); err != thrown {
					t.Errorf("not caught: %v, want %v", err, thrown)
				}
			}
			// An exception from a call inside goes on outside.
			x.host = func(ctx context.Context, c *waot.Caller, n int32) (int32, error) {
				r, err := function(c.Instance(), "throw").Call(ctx, n)
				if err == nil {
					err = fmt.Errorf("no exception but %v", r)
				}
				return 0, err
			}
			inner := x.want("through", x.tag("mine"), "[i32:9]", 9)
			if b := inner.Backtrace(); len(b) != 2 || b[0].Name != "throw" || b[1].Name != "through" || inner.InnerFrames() != 1 {
				t.Errorf("the backtrace across two calls is %v, %d", b, inner.InnerFrames())
			}
			// Errors that are no exceptions of the store are not caught.
			other := newThrower(t, &waot.StoreOptions{Fuel: 1 << 40}, mode)
			for _, err := range []error{errors.New("plain"), other.exception(other.theirs, 1, 2), &waot.Trap{Code: waot.TrapUnreachable}, (*waot.Exception)(nil), new(waot.Exception)} {
				x.host = func(context.Context, *waot.Caller, int32) (int32, error) { return 0, err }
				for _, name := range []string{"again", "any"} {
					if _, got := x.call(name, 0); got != err {
						t.Errorf("%s: %v has become %v", name, err, got)
					}
				}
			}
			if _, err := x.call("trap"); !isTrap(err, waot.TrapUnreachable) {
				t.Errorf("a trap is caught: %v", err)
			}
			// A Go function that is called by Go code just returns its error.
			f, err := x.s.NewFunc(func() error { return wrapped })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Call(nil); err != wrapped {
				t.Errorf("a call of a Go function: %v", err)
			}
			raw, err := x.s.NewFunc(waot.RawFunc{Func: func(*waot.Caller, []uint64, []uint64) error { return e }})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := raw.Call(nil); err != error(e) {
				t.Errorf("a call of a raw function: %v", err)
			}
		})
	}
}

func isTrap(err error, code waot.TrapCode) bool {
	var trap *waot.Trap
	return errors.As(err, &trap) && trap.Code == code
}

// TestExnRefs: a reference to an exception is opaque, can be kept, and thrown again; it is no externref, and no externref is one.
func TestExnRefs(t *testing.T) {
	x := newThrower(t, nil, nil)
	r, err := x.call("caught ref", 42)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := r[0].(*waot.Exception)
	if !ok || e.Tag() != x.tag("mine") || e.Args()[0].I32() != 42 || e.Backtrace() != nil {
		t.Fatalf("the reference is %v", r)
	}
	if _, err := x.call("loop ref", 5000); err != nil { // collects
		t.Fatal(err)
	}
	if _, err := x.call("throw ref", e); err != error(e) {
		t.Errorf("thrown again: %v", err)
	}
	for _, name := range []string{"same", "kept"} {
		if r, err := x.call(name, e); err != nil || r[0] != any(e) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if r, err := x.call(name, nil); err != nil || r[0] != nil {
			t.Errorf("%s of null: %v, %v", name, r, err)
		}
	}
	if _, err := x.call("throw ref", nil); !isTrap(err, waot.TrapNullReference) {
		t.Errorf("a null is thrown: %v", err)
	}
	other := newThrower(t, nil, nil)
	for _, wrong := range []any{7, "x", waot.Ref(e), waot.FuncRef(nil), function(x.inst, "inc"), other.exception(other.theirs, 1, 2), new(waot.Exception)} {
		if _, err := x.call("same", wrong); !errors.Is(err, waot.ErrType) {
			t.Errorf("%v as an exnref: %v", wrong, err)
		}
	}
	// As an externref an *Exception is a Go value like any other.
	if r, err := x.call("extern", e); err != nil || r[0] != any(e) {
		t.Errorf("as externref: %v, %v", r, err)
	}
	if err := function(x.inst, "extern").CallValues(nil, []waot.Value{waot.ExnRef(e)}, make([]waot.Value, 1)); !errors.Is(err, waot.ErrType) {
		t.Errorf("an exnref as externref: %v", err)
	}
	// Words.
	word, err := x.s.ExceptionRef(e)
	if err != nil || x.s.Extern(word) != any(e) {
		t.Errorf("the word is %#x, %v", word, err)
	}
	extern, err := x.s.ExternRef(e)
	if err != nil {
		t.Fatal(err)
	}
	var refused *waot.ReferenceError
	if err := function(x.inst, "same").CallRaw(nil, []uint64{extern}); !errors.As(err, &refused) || refused.Type != "exnref" {
		t.Errorf("the word of an externref as an exnref: %v", err)
	}
	if err := function(x.inst, "extern").CallRaw(nil, []uint64{word}); !errors.As(err, &refused) || refused.Type != "externref" {
		t.Errorf("the word of an exnref as an externref: %v", err)
	}
	stack := []uint64{word}
	if err := function(x.inst, "same").CallRaw(nil, stack); err != nil || stack[0] != word {
		t.Errorf("the word has become %#x, %v", stack[0], err)
	}
	x.s.Release(word)
	if _, err := other.s.ExceptionRef(e); !errors.Is(err, waot.ErrType) {
		t.Errorf("a word in another store: %v", err)
	}
	// Tables and globals.
	table, err := x.inst.Table("exns")
	if err != nil || table.Elem() != waot.TypeExnRef {
		t.Fatal(table.Elem(), err)
	}
	if err := table.Set(1, e); err != nil {
		t.Error(err)
	}
	if v, err := table.Get(1); err != nil || v != any(e) {
		t.Errorf("the element is %v, %v", v, err)
	}
	if v, err := table.Get(0); err != nil || v != nil {
		t.Errorf("the null element is %v, %v", v, err)
	}
	if err := table.Set(1, "x"); !errors.Is(err, waot.ErrType) {
		t.Errorf("a string as element: %v", err)
	}
	g, err := x.inst.Global("exn")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Set(waot.ExnRef(e)); err != nil {
		t.Error(err)
	}
	if v, err := g.Get(); err != nil || v.Exception() != e {
		t.Errorf("the global is %v, %v", v, err)
	}
	if err := g.Set(waot.Ref(e)); !errors.Is(err, waot.ErrType) {
		t.Errorf("an externref in it: %v", err)
	}
	own, err := x.s.NewGlobal(true, waot.ExnRef(e))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := own.Get(); err != nil || v.Exception() != e {
		t.Errorf("a new global is %v, %v", v, err)
	}
	if made, err := x.s.NewTable(waot.TypeExnRef, waot.Limits{Min: 2}); err != nil || made.Set(0, e) != nil {
		t.Errorf("a new table: %v", err)
	}
}

// TestTagTypes: modules describe their tags, imports are checked, and tags of equal types are different.
func TestTagTypes(t *testing.T) {
	x := newThrower(t, nil, nil)
	wasm, err := waot.ParseText([]byte(exceptionsText))
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var texts []string
	for _, i := range m.Imports() {
		texts = append(texts, fmt.Sprintf("%s.%s: %v", i.Module, i.Name, i.Type))
	}
	for _, e := range m.Exports() {
		if e.Type.Kind == waot.KindTag {
			texts = append(texts, fmt.Sprintf("%s: %v", e.Name, e.Type))
		}
	}
	want := []string{"env.host: function (i32) -> (i32)", "env.keep: function (exnref) -> (exnref)", "env.tag: tag (i32, i64)",
		"all: tag (i32, i64, f32, f64, v128, externref, funcref, exnref)", "mine: tag (i32)", "none: tag ()"}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
	if p := x.tag("all").Params(); len(p) != 8 || p[7] != waot.TypeExnRef || x.tag("all").Store() != x.s {
		t.Errorf("the parameters are %v", p)
	}
	other := newThrower(t, nil, nil)
	wrong, err := x.s.NewTag(waot.TypeI32)
	if err != nil {
		t.Fatal(err)
	}
	imports := func(tag any) waot.Imports {
		return waot.Imports{"env": {"tag": tag, "keep": func(x *waot.Exception) *waot.Exception { return x }, "host": func(n int32) int32 { return n }}}
	}
	for _, tag := range []any{nil, wrong, other.theirs, 5, func() {}, function(x.inst, "inc"), (*waot.Tag)(nil), new(waot.Tag)} {
		var link *waot.LinkError
		if _, err := x.s.Instantiate(nil, m, imports(tag)); !errors.As(err, &link) || link.Name != "tag" {
			t.Errorf("%v as a tag: %v", tag, err)
		}
	}
	for _, keep := range []any{func(x any) any { return x }, func(*waot.Func) *waot.Exception { return nil }} {
		in := imports(x.theirs)
		in["env"]["keep"] = keep
		var link *waot.LinkError
		if _, err := x.s.Instantiate(nil, m, in); !errors.As(err, &link) || link.Name != "keep" {
			t.Errorf("a function of other references: %v", err)
		}
	}
	// A tag of the same type is another one.
	again, err := x.s.NewTag(waot.TypeI32, waot.TypeI64)
	if err != nil {
		t.Fatal(err)
	}
	thrown := x.exception(again, 1, 2)
	x.host = func(context.Context, *waot.Caller, int32) (int32, error) { return 0, thrown }
	if _, err := x.call("catch", 0); err != error(thrown) {
		t.Errorf("an exception of another tag: %v", err)
	}
	// Tags of instances can be imported, and are the same then.
	second, err := x.s.Instantiate(nil, m, waot.Imports{"env": {"tag": x.theirs, "keep": func(x *waot.Exception) *waot.Exception { return x },
		"host": func(n int32) (int32, error) { return 0, x.exception(x.theirs, n, 1) }}})
	if err != nil {
		t.Fatal(err)
	}
	if mine, err := second.Tag("mine"); err != nil || mine == x.tag("mine") {
		t.Errorf("two instances have one tag: %v", err)
	}
	if r, err := function(second, "catch").Call(nil, 3); err != nil || r[0] != int32(3) {
		t.Errorf("%v, %v", r, err)
	}
	for _, args := range [][]any{{}, {1}, {1, 2, 3}, {"x", 1}, {int64(1), 1}} {
		if _, err := waot.NewException(x.theirs, args...); !errors.Is(err, waot.ErrType) {
			t.Errorf("%v as arguments: %v", args, err)
		}
	}
	if _, err := waot.NewException(nil); !errors.Is(err, waot.ErrType) {
		t.Error(err)
	}
	for _, p := range []waot.ValType{0, 99, waot.ValType(1 << 20)} {
		if _, err := x.s.NewTag(p); !errors.Is(err, waot.ErrType) {
			t.Errorf("a tag with %v: %v", p, err)
		}
	}
	if _, err := x.s.NewTag(slices.Repeat([]waot.ValType{waot.TypeI32}, 5000)...); !errors.Is(err, waot.ErrType) {
		t.Errorf("a tag with very many parameters: %v", err)
	}
}

// TestExceptionLimits: exceptions that nobody holds are collected, and those that code holds are limited.
func TestExceptionLimits(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	x := newThrower(t, &waot.StoreOptions{MaxExceptionMemory: 1 << 20}, nil)
	before := heap()
	if _, err := x.call("loop ref", n); err != nil {
		t.Fatal(err)
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("%d bytes are left of %d exceptions", grown, n)
	}
	var limit *waot.LimitError
	if _, err := x.call("links", 1200); err != nil {
		t.Errorf("1200 exceptions, each of which is in all that come after it: %v", err)
	}
	if err := x.inst.Reset(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := x.call("hold", 3000); err != nil {
		t.Errorf("3000 exceptions: %v", err)
	}
	for _, name := range []string{"hold", "chain", "links"} {
		if _, err := x.call(name, 4096*4); !errors.As(err, &limit) || limit.Limit != 1<<19 {
			t.Errorf("%s: %v, want a limit", name, err)
		}
		if err := x.inst.Reset(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := x.call("hold", 3000); err != nil {
			t.Errorf("after a reset: %v", err)
		}
		if err := x.inst.Reset(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExceptionsCancelled: a context ends code that throws and catches without end, and compiled code does not catch that.
func TestExceptionsCancelled(t *testing.T) {
	for name, mode := range compileModes() {
		t.Run(name, func(t *testing.T) {
			x := newThrower(t, &waot.StoreOptions{Fuel: 1 << 60}, mode)
			x.host = func(ctx context.Context, c *waot.Caller, n int32) (int32, error) {
				return 0, x.exception(x.theirs, n, 1)
			}
			for _, f := range []string{"loop", "loop ref"} {
				ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
				start := time.Now()
				_, err := function(x.inst, f).Call(ctx, -1)
				if d := time.Since(start); !errors.Is(err, waot.ErrCancelled) || d > 5*time.Second {
					t.Errorf("%s: %v after %v", f, err, d)
				}
				stop()
			}
			ctx, stop := context.WithCancel(context.Background())
			x.host = func(context.Context, *waot.Caller, int32) (int32, error) {
				stop()
				return 0, x.exception(x.theirs, 1, 1)
			}
			if _, err := function(x.inst, "catch").Call(ctx, 1); !errors.Is(err, waot.ErrCancelled) {
				t.Errorf("a host function that ends the context and throws: %v", err)
			}
			x.host = func(_ context.Context, c *waot.Caller, n int32) (int32, error) {
				ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
				defer stop()
				_, err := function(c.Instance(), "loop").Call(ctx, -1)
				return 0, err
			}
			if _, err := x.call("again", 1); !errors.Is(err, waot.ErrCancelled) {
				t.Errorf("the end of an inner call: %v", err)
			}
		})
	}
}

// TestExceptionsFuel: throwing costs the same at both levels, and code that throws and catches without end runs out.
func TestExceptionsFuel(t *testing.T) {
	used := map[uint64]string{}
	for _, o := range []*waot.CompileOptions{{Fuel: waot.FuelExact}, {Fuel: waot.FuelSlack}, {Fuel: waot.FuelExact, NoOptimize: true}, {Fuel: waot.FuelSlack, NoOptimize: true}} {
		x := newThrower(t, &waot.StoreOptions{Fuel: 1_000_000}, o)
		for _, name := range []string{"loop", "catch deep", "loop ref"} {
			if _, err := x.call(name, 100); err != nil {
				t.Fatal(name, err)
			}
		}
		x.want("deep", x.tag("mine"), "[i32:7]", 10)
		used[1_000_000-x.s.Fuel()] = fmt.Sprint(o)
		for _, name := range []string{"loop", "loop ref"} {
			x.s.AddFuel(1000)
			if _, err := x.call(name, -1); !isTrap(err, waot.TrapOutOfFuel) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(used) != 1 {
		t.Errorf("different counts: %v", used)
	}
}

// TestExceptionsPooled: instances of a pool throw and catch in several goroutines, and are new after each use.
func TestExceptionsPooled(t *testing.T) {
	const text = `(module (tag $t (export "t") (param i32)) (global $g (mut exnref) (ref.null exn))
		(func $throw (param i32) (throw $t (local.get 0)))
		(func (export "first") (result i32) (ref.is_null (global.get $g)))
		(func (export "run") (param i32) (result i32)
			(block $h (result i32 exnref)
				(try_table (catch_ref $t $h) (call $throw (local.get 0)))
				unreachable)
			(global.set $g))
		(func (export "out") (param i32) (call $throw (local.get 0))))`
	m := typedModule(t, text)
	pool := waot.NewPool(m, nil)
	defer pool.Close()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for k := range 50 {
				i, err := pool.Get(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				inst := i.Instance
				if r, err := function(inst, "first").Call(nil); err != nil || r[0] != int32(1) {
					t.Errorf("not new: %v, %v", r, err)
				}
				want := int32(1000*n + k)
				if r, err := function(inst, "run").Call(nil, want); err != nil || r[0] != want {
					t.Errorf("%v, %v", r, err)
				}
				tag, err := inst.Tag("t")
				var e *waot.Exception
				if _, thrown := function(inst, "out").Call(nil, want); err != nil || !errors.As(thrown, &e) || e.Tag() != tag || e.Args()[0].I32() != want {
					t.Errorf("%v, %v", thrown, err)
				}
				if r, err := function(inst, "run").Call(nil, want); err != nil || r[0] != want {
					t.Errorf("%v, %v", r, err)
				}
				i.Release()
			}
		})
	}
	wg.Wait()
}

// TestExceptionOwners: with a goroutine inside a store, nobody else makes tags or exceptions of it.
func TestExceptionOwners(t *testing.T) {
	x := newThrower(t, nil, nil)
	if err := x.s.Enter(); err != nil {
		t.Fatal(err)
	}
	done := make(chan [2]error)
	go func() {
		_, a := x.s.NewTag()
		_, b := waot.NewException(x.theirs, 1, 2)
		done <- [2]error{a, b}
	}()
	if got := <-done; !errors.Is(got[0], waot.ErrBusy) || !errors.Is(got[1], waot.ErrBusy) {
		t.Errorf("in another goroutine: %v", got)
	}
	x.s.Leave()
	e := x.exception(x.theirs, 1, 2)
	x.s.Close()
	if _, err := x.s.NewTag(); !errors.Is(err, waot.ErrClosed) {
		t.Error(err)
	}
	if _, err := waot.NewException(x.theirs, 1, 2); !errors.Is(err, waot.ErrClosed) {
		t.Error(err)
	}
	if e.Args()[1].I64() != 2 {
		t.Error(e.Args())
	}
}

// heap returns how many bytes of Go's heap are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestExceptionsWithoutTags: modules without tags of their own catch, keep and throw what others throw.
func TestExceptionsWithoutTags(t *testing.T) {
	for _, o := range []*waot.CompileOptions{nil, {NoOptimize: true}, {Fuel: waot.FuelExact}} {
		x := newThrower(t, &waot.StoreOptions{Fuel: 1 << 40}, o)
		wasm, err := waot.ParseText([]byte(`(module
			(import "x" "throw" (func $throw (param i32)))
			(func (export "rethrow") (param exnref) (throw_ref (local.get 0)))
			(func (export "catch") (param i32) (result i32)
				(block $h (try_table (catch_all $h) (return (i32.const 0) (call $throw (local.get 0)))))
				(i32.const 1))
			(func (export "ref") (param i32) (result exnref)
				(block $h (result exnref) (try_table (catch_all_ref $h) (call $throw (local.get 0))) unreachable))
			(func (export "legacy") (param i32) (result i32)
				(try (result i32) (do (call $throw (local.get 0)) (i32.const 0)) (catch_all (i32.const 1)))))`))
		if err != nil {
			t.Fatal(err)
		}
		m, err := waot.Compile(wasm, o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		inst, err := x.s.Instantiate(nil, m, waot.Imports{"x": x.inst.Exports()})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"catch", "legacy"} {
			if r, err := function(inst, name).Call(nil, 1); err != nil || r[0] != int32(1) {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		}
		r, err := function(inst, "ref").Call(nil, 5)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := r[0].(*waot.Exception)
		if e == nil || e.Tag() != x.tag("mine") || e.Args()[0].I32() != 5 {
			t.Errorf("the reference is %v", e)
		}
		if _, err := function(inst, "rethrow").Call(nil, e); err != error(e) {
			t.Errorf("thrown again: %v", err)
		}
	}
}

// BenchmarkThrow throws and catches some frames further out, 1000 times in a call.
func BenchmarkThrow(b *testing.B) {
	const text = `(module (tag $t (param i32))
		(func $deep (param i32) (result i32)
			(if (i32.eqz (local.get 0)) (then (throw $t (i32.const 1))))
			(i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
		(func $nothrow (param i32) (result i32)
			(if (i32.eqz (local.get 0)) (then (return (i32.const 1))))
			(i32.add (call $nothrow (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
		(func (export "plain") (param i32 i32) (local i32)
			(loop $l (drop (call $nothrow (local.get 0))) (br_if $l (local.tee 1 (i32.sub (local.get 1) (i32.const 1))))))
		(func (export "ref") (param i32 i32) (local i32)
			(loop $l (drop (block $h (result exnref) (try_table (catch_all_ref $h) (drop (call $deep (local.get 0)))) unreachable))
				(br_if $l (local.tee 1 (i32.sub (local.get 1) (i32.const 1))))))
		(func (export "throw") (param i32 i32) (local i32)
			(loop $l (drop (block $h (result i32) (try_table (catch $t $h) (drop (call $deep (local.get 0)))) unreachable))
				(br_if $l (local.tee 1 (i32.sub (local.get 1) (i32.const 1)))))))`
	wasm, err := waot.ParseText([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	store, inst := instantiate(wasm, nil)
	defer store.Close()
	for _, name := range []string{"plain", "throw", "ref"} {
		for _, frames := range []int{0, 9, 99} {
			b.Run(fmt.Sprintf("%s/%d", name, frames+1), func(b *testing.B) {
				f := function(inst, name)
				for b.Loop() {
					if _, err := f.Call(nil, frames, 1000); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/throw")
			})
		}
	}
}

// TestExceptionsBetween: what one instance throws another one catches, with registers, arguments and references as they should be.
func TestExceptionsBetween(t *testing.T) {
	const throwerText = `(module (import "env" "use" (func $use (param i64) (result i64)))
		(tag $t (export "t") (param v128 i64 externref f64)) (tag $big (export "big") (param i64 i64 i64 i64 i64 i64 i64 i64 v128 externref))
		;; Its variables are in registers that are saved.
		(func $throw (export "throw") (param $n i32) (param $x externref) (result i64) (local $a i64) (local $b i64) (local $c i64) (local $d i64) (local $e i64)
			(local.set $a (call $use (i64.const 101))) (local.set $b (call $use (i64.const 102))) (local.set $c (call $use (i64.const 103)))
			(local.set $d (call $use (i64.const 104))) (local.set $e (call $use (i64.const 105)))
			(if (i32.eqz (local.get $n)) (then
				(throw $t (v128.const i64x2 1 2) (i64.const 3) (local.get $x) (f64.const 4))))
			(drop (call $throw (i32.sub (local.get $n) (i32.const 1)) (local.get $x)))
			(i64.add (local.get $a) (i64.add (local.get $b) (i64.add (local.get $c) (i64.add (local.get $d) (local.get $e))))))
		;; On the way to the throw, nothing has been saved yet.
		(func $now (throw $t (v128.const i64x2 1 2) (i64.const 3) (ref.null extern) (f64.const 4)))
		(func (export "early") (param $n i64) (result i64) (local $a i64) (local $b i64)
			(if (i64.eqz (local.get $n)) (then (call $now) (return (i64.const 0))))
			(local.set $a (call $use (i64.const 101))) (local.set $b (call $use (i64.const 102)))
			(i64.add (call $use (local.get $n)) (i64.add (call $use (local.get $a)) (i64.add (local.get $a) (local.get $b)))))
		(func (export "throw big") (param $x externref)
			(throw $big (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8) (v128.const i64x2 9 10) (local.get $x))))`
	const catcherText = `(module (import "x" "t" (tag $t (param v128 i64 externref f64)))
		(import "x" "throw" (func $throw (param i32 externref) (result i64))) (import "x" "throw big" (func $big (param externref))) (import "x" "early" (func $early (param i64) (result i64)))
		(import "env" "use" (func $use (param i64) (result i64))) (import "env" "collect" (func $collect))
		(func (export "catch") (param $n i32) (param $x externref) (result i64 v128 i64 externref f64) (local $a i64) (local $b i64) (local $c i64) (local $d i64) (local $e i64)
			(local.set $a (call $use (i64.const 1))) (local.set $b (call $use (i64.const 2))) (local.set $c (call $use (i64.const 3)))
			(local.set $d (call $use (i64.const 4))) (local.set $e (call $use (i64.const 5)))
			(block $h (result v128 i64 externref f64)
				(try_table (catch $t $h) (drop (call $throw (local.get $n) (local.get $x))))
				unreachable)
			(call $values (i64.add (local.get $a) (i64.add (local.get $b) (i64.add (local.get $c) (i64.add (local.get $d) (local.get $e)))))))
		(func (export "catch early") (result i64 v128 i64 externref f64) (local $a i64) (local $b i64) (local $c i64) (local $d i64) (local $e i64)
			(local.set $a (call $use (i64.const 1))) (local.set $b (call $use (i64.const 2))) (local.set $c (call $use (i64.const 3)))
			(local.set $d (call $use (i64.const 4))) (local.set $e (call $use (i64.const 5)))
			(block $h (result v128 i64 externref f64)
				(try_table (catch $t $h) (drop (call $early (i64.const 0))))
				unreachable)
			(call $values (i64.add (local.get $a) (i64.add (local.get $b) (i64.add (local.get $c) (i64.add (local.get $d) (local.get $e)))))))
		(func $values (param v128 i64 externref f64 i64) (result i64 v128 i64 externref f64)
			(local.get 4) (local.get 0) (local.get 1) (local.get 2) (local.get 3))
		(func (export "pass") (param $x externref) (block $h (result exnref) (try_table (catch_all_ref $h) (call $big (local.get $x))) unreachable) (call $collect) throw_ref)
		(func (export "ref") (param $x externref) (result exnref) (block $h (result exnref) (try_table (catch_all_ref $h) (call $big (local.get $x))) unreachable))
		(func (export "open") (param exnref) (result v128 i64 externref f64) (call $collect)
			(block $h (result v128 i64 externref f64) (try_table (catch $t $h) (throw_ref (local.get 0))) unreachable)))`
	var s *waot.Store
	imports := waot.Imports{"env": {"use": func(x int64) int64 { return x }, "collect": func() error {
		for range 5000 { // makes handles until some are collected
			word, err := s.ExternRef("x")
			if err != nil {
				return err
			}
			s.Release(word)
		}
		return nil
	}}}
	for name, o := range compileModes() {
		t.Run(name, func(t *testing.T) {
			var err error
			if s, err = waot.NewStore(&waot.StoreOptions{Fuel: 1 << 40}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			instance := func(text string) *waot.Instance {
				t.Helper()
				wasm, err := waot.ParseText([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				m, err := waot.Compile(wasm, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { m.Close() })
				inst, err := s.Instantiate(nil, m, imports)
				if err != nil {
					t.Fatal(err)
				}
				return inst
			}
			from := instance(throwerText)
			imports["x"] = from.Exports()
			to := instance(catcherText)
			want := []any{int64(15), [16]byte{1, 8: 2}, int64(3), "value", 4.0}
			for n := range 5 {
				if r, err := function(to, "catch").Call(nil, n, "value"); err != nil || !cmp.Equal(r, want) {
					t.Errorf("%d frames: %v, %v", n, r, err)
				}
			}
			want[3] = nil
			if r, err := function(to, "catch early").Call(nil); err != nil || !cmp.Equal(r, want) {
				t.Errorf("%v, %v", r, err)
			}
			want[3] = "value"
			wantBig := "[i64:1 i64:2 i64:3 i64:4 i64:5 i64:6 i64:7 i64:8 v128:i32x4:0x00000009,0x00000000,0x0000000a,0x00000000 externref:value]"
			var e *waot.Exception
			// The catcher has no room for these arguments.
			if _, err := function(to, "pass").Call(nil, "value"); !errors.As(err, &e) || fmt.Sprint(e.Args()) != wantBig {
				t.Errorf("%v, %v", err, e.Args())
			}
			r, err := function(to, "ref").Call(nil, "value")
			if err != nil || fmt.Sprint(r[0].(*waot.Exception).Args()) != wantBig {
				t.Errorf("%v, %v", r, err)
			}
			tag, err := from.Tag("t")
			if err != nil {
				t.Fatal(err)
			}
			made, err := waot.NewException(tag, [16]byte{1, 8: 2}, 3, "value", 4.0)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // the references among the arguments are collected in between
				if r, err := function(to, "open").Call(nil, made); err != nil || !cmp.Equal(r, want[1:]) {
					t.Errorf("%v, %v", r, err)
				}
			}
		})
	}
}
