package jsstring_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/jsstring"
)

// text imports all functions, and exports them.
const text = `(module $strings
	(type $array (array (mut i16)))
	(import "wasm:js-string" "cast" (func $cast (param externref) (result (ref extern))))
	(import "wasm:js-string" "test" (func $test (param externref) (result i32)))
	(import "wasm:js-string" "fromCharCodeArray" (func $fromCharCodeArray (param (ref null $array) i32 i32) (result (ref extern))))
	(import "wasm:js-string" "intoCharCodeArray" (func $intoCharCodeArray (param externref (ref null $array) i32) (result i32)))
	(import "wasm:js-string" "fromCharCode" (func $fromCharCode (param i32) (result (ref extern))))
	(import "wasm:js-string" "fromCodePoint" (func $fromCodePoint (param i32) (result (ref extern))))
	(import "wasm:js-string" "charCodeAt" (func $charCodeAt (param externref i32) (result i32)))
	(import "wasm:js-string" "codePointAt" (func $codePointAt (param externref i32) (result i32)))
	(import "wasm:js-string" "length" (func $length (param externref) (result i32)))
	(import "wasm:js-string" "concat" (func $concat (param externref externref) (result (ref extern))))
	(import "wasm:js-string" "substring" (func $substring (param externref i32 i32) (result (ref extern))))
	(import "wasm:js-string" "equals" (func $equals (param externref externref) (result i32)))
	(import "wasm:js-string" "compare" (func $compare (param externref externref) (result i32)))
	(export "cast" (func $cast)) (export "test" (func $test)) (export "fromCharCodeArray" (func $fromCharCodeArray)) (export "intoCharCodeArray" (func $intoCharCodeArray))
	(export "fromCharCode" (func $fromCharCode)) (export "fromCodePoint" (func $fromCodePoint)) (export "charCodeAt" (func $charCodeAt)) (export "codePointAt" (func $codePointAt))
	(export "length" (func $length)) (export "concat" (func $concat)) (export "substring" (func $substring)) (export "equals" (func $equals)) (export "compare" (func $compare))
	(import "'" "a constant: \f0\9f\98\80" (global $constant externref))
	(import "'" "" (global $empty (ref extern)))
	(table $t (export "table") 2000 externref)
	(func (export "constant") (result externref) (global.get $constant))
	(func (export "empty") (result externref) (global.get $empty))
	(func (export "new") (param i32) (result (ref $array)) (array.new_default $array (local.get 0)))
	(func (export "keep") (param i32 i32) (local $s externref)
		(local.set $s (call $fromCharCodeArray (array.new $array (i32.const 120) (local.get 1)) (i32.const 0) (local.get 1)))
		(table.set $t (local.get 0) (local.get $s)))
	(func (export "repeat") (param externref i32) (result externref) (local $s externref)
		(local.set $s (global.get $empty))
		(loop (local.set $s (call $concat (local.get $s) (local.get 0))) (br_if 0 (local.tee 1 (i32.sub (local.get 1) (i32.const 1)))))
		(local.get $s))
	(func (export "caught") (param externref) (result i32)
		(block $h (try_table (catch_all $h) (drop (call $length (local.get 0)))))
		(i32.const 1)))`

// guest is a store with an instance.
type guest struct {
	*testing.T
	s    *waot.Store
	inst *waot.Instance
}

func compiled(t *testing.T, text string) *waot.Module {
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

func newGuest(t *testing.T, c inproc.Config, o *jsstring.Options) *guest {
	t.Helper()
	m := compiled(t, text)
	p, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	s := (*waot.Store)(p)
	imports, err := jsstring.Imports(s, m, o)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(context.Background(), m, imports)
	if err != nil {
		t.Fatal(err)
	}
	return &guest{t, s, inst}
}

func (g *guest) call(name string, args ...any) (any, error) {
	g.Helper()
	f, err := g.inst.Func(name)
	if err != nil {
		g.Fatal(err)
	}
	r, err := f.Call(context.Background(), args...)
	return append(r, nil)[0], err
}

func (g *guest) must(name string, args ...any) any {
	g.Helper()
	r, err := g.call(name, args...)
	if err != nil {
		g.Fatalf("%s%v: %v", name, args, err)
	}
	return r
}

// u is a string of code units.
func u(units ...uint16) *jsstring.String { return jsstring.FromUTF16(units) }

// TestBuiltins: each function, at the edges of what the proposal says.
func TestBuiltins(t *testing.T) {
	for _, always := range []bool{false, true} {
		g := newGuest(t, inproc.Config{CollectAlways: always}, nil)
		array := func(units ...uint16) *waot.Object {
			a := g.must("new", len(units)).(*waot.Object)
			if err := a.Write(0, units); err != nil {
				t.Fatal(err)
			}
			return a
		}
		smile, abc, empty := u('a', 0xd83d, 0xde00, 'b'), u('a', 'b', 'c'), u()
		four := array('w', 0, 0xd800, 0xffff)
		const (
			noString, noArray, bounds, noPoint = waot.TrapCastFailure, waot.TrapNullArray, waot.TrapArrayOutOfBounds, waot.TrapUnreachable
		)
		for _, c := range []struct {
			name string
			args []any
			want any // a number, a string, or the code of a trap
		}{
			{"test", []any{abc}, 1}, {"test", []any{empty}, 1}, {"test", []any{"text of Go"}, 1}, {"test", []any{nil}, 0}, {"test", []any{5}, 0}, {"test", []any{four}, 0}, {"test", []any{waot.I31(1)}, 0},
			{"test", []any{(*jsstring.String)(nil)}, 0}, {"test", []any{*abc}, 0},
			{"cast", []any{abc}, abc}, {"cast", []any{"ü😀"}, u('ü', 0xd83d, 0xde00)}, {"cast", []any{nil}, noString}, {"cast", []any{5}, noString}, {"cast", []any{four}, noString},
			{"length", []any{smile}, 4}, {"length", []any{empty}, 0}, {"length", []any{nil}, noString}, {"length", []any{1.5}, noString},
			{"fromCharCodeArray", []any{four, 0, 4}, u('w', 0, 0xd800, 0xffff)}, {"fromCharCodeArray", []any{four, 2, 3}, u(0xd800)}, {"fromCharCodeArray", []any{four, 4, 4}, empty},
			{"fromCharCodeArray", []any{four, 5, 5}, bounds}, {"fromCharCodeArray", []any{four, 3, 2}, bounds}, {"fromCharCodeArray", []any{four, 0, 5}, bounds}, {"fromCharCodeArray", []any{four, -1, 2}, bounds},
			{"fromCharCodeArray", []any{four, 0, -1}, bounds}, {"fromCharCodeArray", []any{nil, 0, 0}, noArray},
			{"intoCharCodeArray", []any{abc, nil, 0}, noArray}, {"intoCharCodeArray", []any{nil, nil, 0}, noArray}, {"intoCharCodeArray", []any{nil, four, 0}, noString}, {"intoCharCodeArray", []any{abc, four, 2}, bounds},
			{"intoCharCodeArray", []any{abc, four, -1}, bounds}, {"intoCharCodeArray", []any{empty, four, 5}, bounds}, {"intoCharCodeArray", []any{empty, four, 4}, 0}, {"intoCharCodeArray", []any{abc, array(1, 2, 3), 0}, 3},
			{"fromCharCode", []any{'x'}, u('x')}, {"fromCharCode", []any{0x10041}, u('A')}, {"fromCharCode", []any{-1}, u(0xffff)}, {"fromCharCode", []any{0xdc00}, u(0xdc00)},
			{"fromCodePoint", []any{'x'}, u('x')}, {"fromCodePoint", []any{0xffff}, u(0xffff)}, {"fromCodePoint", []any{0x1f600}, u(0xd83d, 0xde00)}, {"fromCodePoint", []any{0x10ffff}, u(0xdbff, 0xdfff)}, {"fromCodePoint", []any{0xd800}, u(0xd800)},
			{"fromCodePoint", []any{0x110000}, noPoint}, {"fromCodePoint", []any{-1}, noPoint},
			{"charCodeAt", []any{smile, 1}, 0xd83d}, {"charCodeAt", []any{smile, 3}, 'b'}, {"charCodeAt", []any{smile, 4}, bounds}, {"charCodeAt", []any{smile, -1}, bounds}, {"charCodeAt", []any{empty, 0}, bounds}, {"charCodeAt", []any{nil, 0}, noString},
			{"codePointAt", []any{smile, 0}, 'a'}, {"codePointAt", []any{smile, 1}, 0x1f600}, {"codePointAt", []any{smile, 2}, 0xde00}, {"codePointAt", []any{u(0xd83d, 0xde00), 0}, 0x1f600}, {"codePointAt", []any{u(0xd83d), 0}, 0xd83d}, {"codePointAt", []any{u(0xd83d, 'a'), 0}, 0xd83d},
			{"codePointAt", []any{u(0xde00, 0xd83d), 0}, 0xde00}, {"codePointAt", []any{smile, 4}, bounds}, {"codePointAt", []any{smile, -1}, bounds}, {"codePointAt", []any{nil, 0}, noString}, {"codePointAt", []any{u(0xfffd), 0}, 0xfffd},
			{"concat", []any{abc, smile}, u('a', 'b', 'c', 'a', 0xd83d, 0xde00, 'b')}, {"concat", []any{u(0xd83d), u(0xde00)}, u(0xd83d, 0xde00)}, {"concat", []any{empty, empty}, empty}, {"concat", []any{"x", "y"}, u('x', 'y')},
			{"concat", []any{abc, nil}, noString}, {"concat", []any{nil, abc}, noString}, {"concat", []any{abc, 5}, noString},
			{"substring", []any{abc, 1, 2}, u('b')}, {"substring", []any{abc, 1, 99}, u('b', 'c')}, {"substring", []any{abc, 1, -1}, u('b', 'c')}, {"substring", []any{abc, 2, 1}, empty}, {"substring", []any{abc, 3, 3}, empty},
			{"substring", []any{abc, 4, 5}, empty}, {"substring", []any{abc, -1, 2}, empty}, {"substring", []any{smile, 2, 3}, u(0xde00)}, {"substring", []any{nil, 0, 0}, noString},
			{"equals", []any{abc, u('a', 'b', 'c')}, 1}, {"equals", []any{abc, "abc"}, 1}, {"equals", []any{abc, smile}, 0}, {"equals", []any{nil, nil}, 1}, {"equals", []any{nil, empty}, 0}, {"equals", []any{empty, nil}, 0}, {"equals", []any{nil, abc}, 0},
			{"equals", []any{5, abc}, noString}, {"equals", []any{abc, 5}, noString}, {"equals", []any{5, nil}, noString}, {"equals", []any{nil, 5}, noString},
			{"compare", []any{abc, u('a', 'b', 'c')}, 0}, {"compare", []any{abc, smile}, -1}, {"compare", []any{smile, abc}, 1}, {"compare", []any{empty, abc}, -1}, {"compare", []any{abc, empty}, 1},
			{"compare", []any{u(0xffff), u(0xd83d, 0xde00)}, 1}, {"compare", []any{nil, abc}, noString}, {"compare", []any{abc, nil}, noString}, {"compare", []any{nil, nil}, noString},
			{"constant", nil, jsstring.New("a constant: 😀")}, {"empty", nil, empty},
		} {
			got, err := g.call(c.name, c.args...)
			if code, ok := c.want.(waot.TrapCode); ok {
				var trap *waot.Trap
				if !errors.As(err, &trap) || trap.Code != code {
					t.Errorf("%s%v: %v, %v, want the trap %v", c.name, c.args, got, err, code)
				}
				continue
			}
			if s, ok := got.(string); ok {
				got = jsstring.New(s)
			}
			var same bool
			switch want := c.want.(type) {
			case *jsstring.String:
				s, ok := got.(*jsstring.String)
				same = ok && slices.Equal(s.UTF16(), want.UTF16())
			default:
				same = fmt.Sprint(got) == fmt.Sprint(want)
			}
			if err != nil || !same {
				t.Errorf("%s%v is %v, %v, not %v", c.name, c.args, got, err, c.want)
			}
		}
		into := array(9, 9, 9, 9, 9)
		g.must("intoCharCodeArray", smile, into, 1)
		units := make([]uint16, 5)
		if err := into.Read(0, units); err != nil || !slices.Equal(units, []uint16{9, 'a', 0xd83d, 0xde00, 'b'}) {
			t.Errorf("an array with a string is %v, %v", units, err)
		}
	}
}

// TestTraps: no handler catches them, and they say where they were.
func TestTraps(t *testing.T) {
	g := newGuest(t, inproc.Config{}, nil)
	_, err := g.call("caught", 5)
	var trap *waot.Trap
	if !errors.As(err, &trap) || trap.Inner != 1 || len(trap.Backtrace) != 1 || trap.Backtrace[0].Offset == 0 {
		t.Errorf("%v with %+v", err, trap)
	}
}

// TestStrings: what Go code sees.
func TestStrings(t *testing.T) {
	for text, units := range map[string][]uint16{"": {}, "aü€": {'a', 'ü', '€'}, "😀": {0xd83d, 0xde00}} {
		s := jsstring.New(text)
		if !slices.Equal(s.UTF16(), units) || s.Len() != len(units) || s.String() != text {
			t.Errorf("%q has units %x and is %q", text, s.UTF16(), s)
		}
	}
	if s := u('a', 0xd800, 'b').String(); s != "a\ufffdb" {
		t.Errorf("a surrogate without a partner gives %q", s)
	}
	if s := jsstring.New("a\xffb"); !slices.Equal(s.UTF16(), []uint16{'a', 0xfffd, 'b'}) {
		t.Errorf("a byte that is not UTF-8 gives %x", s.UTF16())
	}
	units := []uint16{'a'}
	s := jsstring.FromUTF16(units)
	units[0] = 'b'
	s.UTF16()[0] = 'c'
	if s.String() != "a" {
		t.Errorf("a string has become %q", s)
	}
	var null *jsstring.String
	if null.Len() != 0 || null.String() != "" || null.UTF16() != nil || null.Weight() != 64 {
		t.Error("a nil string is not empty")
	}
}

// TestImports: types are compared exactly, and what is not ours is left to others.
func TestImports(t *testing.T) {
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, c := range []struct {
		text string
		o    *jsstring.Options
		want string // the imports, or an error
	}{
		{`(import "wasm:js-string" "length" (func (param externref) (result i32)))`, nil, "wasm:js-string.length"},
		{`(import "wasm:js-string" "length" (func (param (ref extern)) (result i32)))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "length" (func (param externref) (result i64)))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "length" (func (param externref i32) (result i32)))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "length" (func (param externref)))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "cast" (func (param externref) (result externref)))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "length" (global i32))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "size" (func (param externref) (result i32))) (import "env" "length" (func))`, nil, ""},
		{`(type $a (array (mut i16))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern))))`, nil, "wasm:js-string.fromCharCodeArray"},
		{`(type $a (array (mut i16))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref $a) i32 i32) (result (ref extern))))`, nil, "incompatible import type"},
		{`(type $a (array (mut i8))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern))))`, nil, "incompatible import type"},
		{`(type $a (array i16)) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern))))`, nil, "incompatible import type"},
		{`(type $a (sub (array (mut i16)))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern))))`, nil, "incompatible import type"},
		{`(rec (type $a (array (mut i16))) (type (struct))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern))))`, nil, "incompatible import type"},
		{`(type $f (func (param externref) (result i32))) (type (struct)) (import "wasm:js-string" "length" (func (type $f)))`, nil, "wasm:js-string.length"},
		{`(type $f (sub (func (param externref) (result i32)))) (import "wasm:js-string" "length" (func (type $f)))`, nil, "incompatible import type"},
		{`(type $f (sub (func (param externref) (result i32)))) (type $g (sub final $f (func (param externref) (result i32)))) (import "wasm:js-string" "length" (func (type $g)))`, nil, "incompatible import type"},
		{`(rec (type $f (func (param externref) (result i32))) (type (struct))) (import "wasm:js-string" "length" (func (type $f)))`, nil, "incompatible import type"},
		{`(rec (type $a (array (mut i16))) (type $f (func (param (ref null $a) i32 i32) (result (ref extern))))) (import "wasm:js-string" "fromCharCodeArray" (func (type $f)))`, nil, "incompatible import type"},
		{`(import "wasm:js-string" "fromCharCodeArray" (func (param arrayref i32 i32) (result (ref extern))))`, nil, "incompatible import type"},
		{`(import "'" "x" (global externref)) (import "'" "x" (global (ref extern))) (import "S" "y" (global externref))`, nil, "'.x"},
		{`(import "'" "x" (global externref)) (import "S" "y" (global externref))`, &jsstring.Options{Constants: "S"}, "S.y"},
		{`(import "'" "x" (global (mut externref)))`, nil, "incompatible import type"},
		{`(import "'" "x" (global anyref))`, nil, "incompatible import type"},
		{`(import "'" "x" (func))`, nil, "incompatible import type"},
	} {
		imports, err := jsstring.Imports(s, compiled(t, "(module "+c.text+")"), c.o)
		var link *waot.LinkError
		if errors.As(err, &link) {
			if link.Reason != c.want {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		var got []string
		for module, names := range imports {
			for name := range names {
				got = append(got, module+"."+name)
			}
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
	const fromArray = "function ((ref null (array (mut i16))), i32, i32) -> ((ref extern))"
	for text, want := range map[string]string{
		`(import "wasm:js-string" "length" (func (param (ref extern)) (result i64)))`:                                                                "wanted a function ((ref extern)) -> (i64), but the builtin is a function (externref) -> (i32)",
		`(import "wasm:js-string" "length" (global i32))`:                                                                                            "wanted global i32, but the builtin is a function (externref) -> (i32)",
		`(type $a (array (mut i8))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref $a) i32 i32) (result (ref extern))))`:             "wanted a function ((ref (array (mut i8))), i32, i32) -> ((ref extern)), but the builtin is a " + fromArray,
		`(rec (type $f (func (param externref) (result i32))) (type (struct))) (import "wasm:js-string" "length" (func (type $f)))`:                  "wanted a function (externref) -> (i32) of a type, or with one, that is open,",
		`(type $a (sub (array (mut i16)))) (import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern))))`: "wanted a " + fromArray + " of a type, or with one, that is open,",
		`(import "'" "x" (global (mut externref)))`:                                                                                                  "wanted global mut externref, but a constant is an immutable global",
	} {
		if _, err := jsstring.Imports(s, compiled(t, "(module "+text+")"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := jsstring.Imports(nil, nil, nil); !errors.Is(err, waot.ErrClosed) {
		t.Error(err)
	}
	s.Close()
	if _, err := jsstring.Imports(s, compiled(t, `(module (import "'" "x" (global externref)))`), nil); !errors.Is(err, waot.ErrClosed) {
		t.Error(err)
	}
}

// TestMemory: strings that nothing reaches are collected before they take much, and those that are kept are bounded.
func TestMemory(t *testing.T) {
	g := newGuest(t, inproc.Config{}, &jsstring.Options{MaxMemory: 32 << 20})
	for range 200 {
		g.must("keep", 0, 1<<20) // 400 MB in all
	}
	long := g.must("repeat", "0123456789", 3000).(*jsstring.String)
	if long.Len() != 30_000 {
		t.Errorf("%d code units", long.Len())
	}
	var limit *waot.LimitError
	kept := 0
	for ; kept < 100; kept++ {
		if _, err := g.call("keep", kept, 1<<20); errors.As(err, &limit) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if kept < 14 || kept > 16 || limit == nil || limit.What != "bytes of strings" || limit.Limit != 32<<20 {
		t.Errorf("%d strings of 2 MiB below 32, and then %v", kept, limit)
	}
	if _, err := g.call("length", long); err != nil {
		t.Error(err)
	}
	table, err := g.inst.Table("table")
	if err != nil {
		t.Fatal(err)
	}
	big, err := table.Get(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(2000) { // one string, however often it is there
		if err := table.Set(i, big); err != nil {
			t.Fatal(err)
		}
	}
	g.must("keep", 3, 1<<20)
}

// TestArraysOfOthers: another module that imports the functions by a type with all references cannot pass what is no array of code units.
func TestArraysOfOthers(t *testing.T) {
	m := compiled(t, `(module (type $a (array (mut i16)))
		(import "wasm:js-string" "intoCharCodeArray" (func (param externref (ref null $a) i32) (result i32)))
		(import "wasm:js-string" "fromCharCodeArray" (func (param (ref null $a) i32 i32) (result (ref extern)))))`)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	imports, err := jsstring.Imports(s, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := compiled(t, `(module (type $units (array (mut i16))) (type $bytes (array (mut i8))) (type $s (struct (field (mut i32)) (field (mut i32)))) (rec (type $other (array (mut i16))) (type (struct)))
		(import "wasm:js-string" "intoCharCodeArray" (func $into (param externref anyref i32) (result i32)))
		(import "wasm:js-string" "fromCharCodeArray" (func $from (param anyref i32 i32) (result (ref extern))))
		(func $object (param i32) (result anyref)
			(if (i32.eq (local.get 0) (i32.const 0)) (then (return (array.new_default $units (i32.const 8)))))
			(if (i32.eq (local.get 0) (i32.const 1)) (then (return (array.new_default $bytes (i32.const 8)))))
			(if (i32.eq (local.get 0) (i32.const 2)) (then (return (struct.new_default $s))))
			(if (i32.eq (local.get 0) (i32.const 3)) (then (return (ref.i31 (i32.const 1)))))
			(array.new_default $other (i32.const 8)))
		(func (export "into") (param externref i32) (result i32) (call $into (local.get 0) (call $object (local.get 1)) (i32.const 0)))
		(func (export "from") (param i32) (result externref) (call $from (call $object (local.get 0)) (i32.const 0) (i32.const 2))))`)
	inst, err := s.Instantiate(context.Background(), other, imports)
	if err != nil {
		t.Fatal(err)
	}
	into, err := inst.Func("into")
	if err != nil {
		t.Fatal(err)
	}
	from, err := inst.Func("from")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		var trap *waot.Trap
		if _, err := into.Call(context.Background(), "text", int32(n)); (err == nil) != (n == 0) || err != nil && !errors.As(err, &trap) {
			t.Errorf("into object %d: %v", n, err)
		}
		if _, err := from.Call(context.Background(), int32(n)); (err == nil) != (n == 0) || err != nil && !errors.As(err, &trap) {
			t.Errorf("from object %d: %v", n, err)
		}
	}
}
