package waot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

const typedText = `(module $typed
	(type $i (func (param i32) (result i32)))
	(type $l (func (param i64) (result i64)))
	(import "env" "pick" (func $pick (param (ref null $i) i32) (result (ref $i))))
	(import "env" "some" (func $some (result (ref extern))))
	(func $inc (export "inc") (type $i) (i32.add (local.get 0) (i32.const 1)))
	(func (export "neg") (type $i) (i32.sub (i32.const 0) (local.get 0)))
	(func (export "long") (type $l) (local.get 0))
	(global $exact (export "exact global") (mut (ref $i)) (ref.func $inc))
	(global (export "maybe global") (mut (ref null $i)) (ref.null $i))
	(table (export "table") 2 5 (ref $i) (ref.func $inc))
	(func (export "call") (param (ref $i) i32) (result i32) (call_ref $i (local.get 1) (local.get 0)))
	(func (export "null") (param (ref null $i)) (result i32) (ref.is_null (local.get 0)))
	(func (export "extern") (param (ref extern)) (result externref) (local.get 0))
	(func (export "picked") (param i32) (result i32) (call_ref $i (i32.const 5) (call $pick (ref.null $i) (local.get 0))))
	(func (export "some") (result (ref extern)) (call $some))
	(func (export "exact") (param i32) (result i32) (call_ref $i (local.get 0) (global.get $exact)))
	(func (export "element") (param i32 i32) (result i32) (call_indirect (type $i) (local.get 0) (local.get 1))))`

// typedModule compiles a text.
func typedModule(t *testing.T, text string) *waot.Module {
	t.Helper()
	wasm, err := waot.ParseText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestTypedRefs: what Go code passes where types of references say more than their class is checked, and compiled code gets what it is told.
func TestTypedRefs(t *testing.T) {
	m := typedModule(t, typedText)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var picks []*waot.Func
	var some any
	imports := waot.Imports{"env": {
		"pick": func(f *waot.Func, i int32) *waot.Func {
			if f != nil {
				t.Errorf("a null has become %v", f)
			}
			return picks[i]
		},
		"some": func() any { return some },
	}}
	inst, err := s.Instantiate(context.Background(), m, imports)
	if err != nil {
		t.Fatal(err)
	}
	funcs := map[string]*waot.Func{}
	for _, name := range []string{"inc", "neg", "long", "call", "null", "extern", "picked", "some", "exact", "element"} {
		if funcs[name], err = inst.Func(name); err != nil {
			t.Fatal(err)
		}
	}
	other, err := s.NewFunc(func(x int32) int32 { return x * 10 }) // of the type i, too
	if err != nil {
		t.Fatal(err)
	}
	var none *waot.Func
	picks = []*waot.Func{funcs["neg"], other, nil, funcs["long"]}
	call := func(name string, args ...any) string {
		out, err := funcs[name].Call(context.Background(), args...)
		var ref *waot.ReferenceError
		switch {
		case errors.As(err, &ref):
			return ref.What + " " + fmt.Sprint(ref.Index) + " " + ref.Type
		case err != nil:
			return err.Error()
		}
		return fmt.Sprint(out...)
	}
	for _, c := range []struct{ got, want string }{
		{call("call", funcs["inc"], 4), "5"},
		{call("call", other, 4), "40"},
		{call("call", none, 4), "argument 0 (ref 0)"},
		{call("call", nil, 4), "argument 0 (ref 0)"},
		{call("call", funcs["long"], 4), "argument 0 (ref 0)"},
		{call("null", nil), "1"},
		{call("null", other), "0"},
		{call("null", funcs["call"]), "argument 0 (ref null 0)"},
		{call("extern", "a value"), "a value"},
		{call("extern", nil), "argument 0 (ref extern)"},
		{call("picked", 0), "-5"},
		{call("picked", 1), "50"},
		{call("picked", 2), "result 0 (ref 0)"},
		{call("picked", 3), "result 0 (ref 0)"},
		{call("some"), "result 0 (ref extern)"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	some = 7
	if got := call("some"); got != "7" {
		t.Error(got)
	}

	exact, err := inst.Global("exact global")
	if err != nil {
		t.Fatal(err)
	}
	maybe, err := inst.Global("maybe global")
	if err != nil {
		t.Fatal(err)
	}
	table, err := inst.Table("table")
	if err != nil {
		t.Fatal(err)
	}
	grow := func(v any) error { _, err := table.Grow(1, v); return err }
	for _, c := range []struct {
		what string
		err  error
		ok   bool
	}{
		{"exact = neg", exact.Set(waot.FuncRef(funcs["neg"])), true},
		{"exact = null", exact.Set(waot.FuncRef(nil)), false},
		{"exact = long", exact.Set(waot.FuncRef(funcs["long"])), false},
		{"exact = i32", exact.Set(waot.I32(0)), false},
		{"maybe = null", maybe.Set(waot.FuncRef(nil)), true},
		{"maybe = other", maybe.Set(waot.FuncRef(other)), true},
		{"maybe = long", maybe.Set(waot.FuncRef(funcs["long"])), false},
		{"element 1 = other", table.Set(1, other), true},
		{"element 1 = null", table.Set(1, nil), false},
		{"element 1 = long", table.Set(1, funcs["long"]), false},
		{"grow by null", grow(nil), false},
		{"grow by long", grow(funcs["long"]), false},
		{"grow by neg", grow(funcs["neg"]), true},
	} {
		if c.ok != (c.err == nil) || !c.ok && !errors.Is(c.err, waot.ErrType) {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	if a, b, c := call("exact", 3), call("element", 6, 1), call("element", 6, 2); a != "-3" || b != "60" || c != "-6" {
		t.Error(a, b, c)
	}
	if v, err := maybe.Get(); err != nil || v.Func() != other {
		t.Error(v, err)
	}
	if _, err := s.NewTable(exact.Type(), waot.Limits{}); !errors.Is(err, waot.ErrType) {
		t.Error(err)
	}
}

// TestTypedLinks: imports whose references say more than their class.
func TestTypedLinks(t *testing.T) {
	m := typedModule(t, typedText)
	wants := typedModule(t, `(module (type (func)) (type $j (func (param i32) (result i32)))
		(import "env" "f" (func $f (param (ref null $j) i32) (result (ref $j))))
		(import "env" "g" (global $g (mut (ref $j)))) (import "env" "t" (table 2 5 (ref $j))))`)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	pick := func(*waot.Func, int32) *waot.Func { return nil }
	inst, err := s.Instantiate(context.Background(), m, waot.Imports{"env": {"pick": pick, "some": func() any { return 1 }}})
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]any{}
	for _, name := range []string{"exact global", "maybe global", "table", "call", "null"} {
		if exports[name], err = inst.Export(name); err != nil {
			t.Fatal(err)
		}
	}
	funcrefs, err := s.NewTable(waot.TypeFuncRef, waot.Limits{Min: 2, Max: 5, HasMax: true})
	if err != nil {
		t.Fatal(err)
	}
	mine, err := s.NewGlobal(true, waot.FuncRef(nil))
	if err != nil {
		t.Fatal(err)
	}
	pickOf, err := s.NewFunc(pick) // takes and gives funcrefs
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{"f": pick, "g": exports["exact global"], "t": exports["table"]}
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"f", pick, ""},
		{"f", pickOf, "function type"},
		{"f", func(int32, *waot.Func) *waot.Func { return nil }, "wanted function"},
		{"g", exports["maybe global"], "type differs"},
		{"g", mine, "type differs"},
		{"t", funcrefs, "element type"},
	} {
		env := map[string]any{}
		for name, v := range good {
			env[name] = v
		}
		env[c.name] = c.v
		_, err := s.Instantiate(context.Background(), wants, waot.Imports{"env": env})
		var link *waot.LinkError
		if (err == nil) != (c.want == "") || c.want != "" && (!errors.As(err, &link) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s = %T: %v, want %q", c.name, c.v, err, c.want)
		}
	}
	for i, x := range wants.Imports() {
		if got, want := x.Type.String(), []string{"function ((ref null 1), i32) -> ((ref 1))", "table (ref 1) 2..5", "global mut (ref 1)"}[i]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTypedTwice: a Go function that is imported twice may have two types, if they are of the same classes.
func TestTypedTwice(t *testing.T) {
	m := typedModule(t, `(module (type $v (func (result i32)))
		(import "env" "f" (func $typed (param (ref null $v)) (result i32))) (import "env" "f" (func $any (param funcref) (result i32)))
		(import "env" "f" (func $again (param funcref) (result i32)))
		(func $one (type $v) (i32.const 1)) (elem declare func $one)
		(func (export "call") (result i32 i32 i32) (call $typed (ref.func $one)) (call $any (ref.null func)) (call $again (ref.func $one))))`)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	inst, err := s.Instantiate(context.Background(), m, waot.Imports{"env": {"f": func(f *waot.Func) int32 {
		if f == nil {
			return 5
		}
		return 7
	}}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := inst.Func("call")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := f.Call(context.Background()); fmt.Sprint(out, err) != "[7 5 7] <nil>" {
		t.Error(out, err)
	}
	other, err := s.NewFunc(func(*waot.Func) int32 { return 0 }) // has one type
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Instantiate(context.Background(), m, waot.Imports{"env": {"f": other}}); err == nil || !strings.Contains(err.Error(), "wanted function type ((ref null 0)) -> (i32), got (funcref) -> (i32)") {
		t.Error(err)
	}
}

// TestTypedState: instances with typed references are reset, and images are made of them.
func TestTypedState(t *testing.T) {
	m := typedModule(t, `(module (type $i (func (param i32) (result i32)))
		(func $inc (export "inc") (type $i) (i32.add (local.get 0) (i32.const 1))) (func $neg (type $i) (i32.sub (i32.const 0) (local.get 0)))
		(global $g (mut (ref $i)) (ref.func $inc)) (global $n (mut (ref null $i)) (ref.null $i)) (table $t 2 5 (ref $i) (ref.func $inc)) (table $u 2 5 (ref null $i)) (elem declare func $neg)
		(func (export "change") (global.set $g (ref.func $neg)) (global.set $n (ref.func $neg)) (table.set $t (i32.const 1) (ref.func $neg)) (drop (table.grow $t (ref.func $neg) (i32.const 1)))
			(table.set $u (i32.const 1) (ref.func $neg)))
		(func (export "look") (result i32 i32 i32 i32 i32 i32) (call_ref $i (i32.const 5) (global.get $g)) (ref.is_null (global.get $n)) (call_indirect $t (type $i) (i32.const 5) (i32.const 1))
			(table.size $t) (ref.is_null (table.get $u (i32.const 0))) (ref.is_null (table.get $u (i32.const 1)))))`)
	look := func(m *waot.Module, change, reset bool) string {
		s, err := waot.NewStore(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		inst, err := s.Instantiate(context.Background(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		call := func(name string) string {
			f, err := inst.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			out, err := f.Call(context.Background())
			return fmt.Sprint(out, err)
		}
		if change {
			call("change")
		}
		if reset {
			if err := inst.Reset(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if change && !reset {
			b, err := inst.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if m, err = waot.Load(b, nil); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			if inst, err = s.Instantiate(context.Background(), m, nil); err != nil {
				t.Fatal(err)
			}
		}
		return call("look")
	}
	const fresh, changed = "[6 1 6 2 1 1] <nil>", "[-5 0 -5 3 1 0] <nil>"
	for _, c := range []struct{ got, want string }{{look(m, false, false), fresh}, {look(m, true, true), fresh}, {look(m, true, false), changed}} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	// What is initialised before is refused by name.
	wasm, err := waot.ParseText([]byte(`(module (type $i (func)) (func $f (type $i)) (func (export "_initialize")) (memory (export "memory") 1) (func (export "f") (call_ref $i (ref.null $i))))`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := waot.Compile(wasm, &waot.CompileOptions{Snapshot: &waot.SnapshotOptions{}}); err == nil || !strings.Contains(err.Error(), "typed function references") {
		t.Error(err)
	}
}

// TestImportsOfSeveralTypes: a module may import one name with several types, each of which gets the value that fits.
func TestImportsOfSeveralTypes(t *testing.T) {
	wasm, err := waot.ParseText([]byte(`(module
		(import "js" "f" (func $int (param i32) (result i32)))
		(import "js" "f" (func $wide (param i64) (result i32)))
		(import "js" "f" (func $again (param i32) (result i32)))
		(func (export "sum") (result i32)
			(i32.add (call $int (i32.const 1)) (i32.add (call $wide (i64.const 2)) (call $again (i32.const 3))))))`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	narrow, wide := func(x int32) int32 { return x }, func(x int64) int32 { return int32(10 * x) }
	inst, err := s.Instantiate(context.Background(), m, waot.Imports{"js": {"f": []any{wide, narrow}}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := inst.Func("sum")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Call(context.Background()); err != nil || r[0] != int32(24) {
		t.Errorf("%v, %v", r, err)
	}
	for _, v := range []any{narrow, []any{narrow}, []any{}} {
		var link *waot.LinkError
		if _, err := s.Instantiate(context.Background(), m, waot.Imports{"js": {"f": v}}); !errors.As(err, &link) {
			t.Errorf("%T: %v", v, err)
		}
	}
}

// TestTypedConstantOfStore: a memory is what it is for the import of a memory, and a value for that of a constant externref of the same name, as are functions, tables and tags.
func TestTypedConstantOfStore(t *testing.T) {
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	memory, err := s.NewMemory(waot.Limits{Min: 1})
	if err != nil {
		t.Fatal(err)
	}
	table, err := s.NewTable(waot.TypeFuncRef, waot.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := s.NewTag()
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.NewFunc(func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{memory, table, tag, f} {
		m := typedModule(t, `(module (import "a" "b" (global $g externref)) (func (export "get") (result externref) (global.get $g)))`)
		if v == any(memory) {
			m = typedModule(t, `(module (import "a" "b" (memory 1)) (import "a" "b" (global $g externref)) (func (export "get") (result externref) (global.get $g)))`)
		}
		inst, err := s.Instantiate(context.Background(), m, waot.Imports{"a": {"b": v}})
		if err != nil {
			t.Error(err)
			continue
		}
		get, err := inst.Func("get")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := get.Call(context.Background()); err != nil || r[0] != v {
			t.Errorf("%T is %v, %v", v, r, err)
		}
	}
	var link *waot.LinkError
	for text, v := range map[string]any{`(global (mut externref))`: memory, `(global anyref)`: memory, `(global externref)`: new(waot.Memory), `(global  externref)`: 5} {
		if _, err := s.Instantiate(context.Background(), typedModule(t, `(module (import "a" "b" `+text+`))`), waot.Imports{"a": {"b": v}}); !errors.As(err, &link) {
			t.Errorf("%T for %s: %v", v, text, err)
		}
	}
}
