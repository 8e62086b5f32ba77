package compare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
)

// recorder is a test that notes failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Name() string        { return "recorder/case 1" }
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); panic(r) }
func (r *recorder) Fatal(args ...any)            { r.Fatalf("%v", args) }

// check gives the failures that Harness.Check reports.
func (x *Harness) failures(t *testing.T, c *Case) []string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		x.Check(r, c)
	}()
	return r.failures
}

// liar is the CLIF interpreter, with the results of calls changed.
type liar struct {
	spectest.Engine
	lie func(inst spectest.Instance, values []spectest.Value, err error) ([]spectest.Value, error)
}

func (l liar) Name() string { return "liar" }

func (l liar) NewStore() (spectest.Store, error) {
	s, err := l.Engine.NewStore()
	return liarStore{s, l}, err
}

type liarStore struct {
	spectest.Store
	liar
}

func (s liarStore) Close() error { return s.Store.Close() }

func (s liarStore) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	inst, err := s.Store.Instantiate(m, imports)
	return liarInstance{inst, s.liar}, err
}

type liarInstance struct {
	spectest.Instance
	liar
}

func (i liarInstance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	values, err := i.Instance.Invoke(name, args)
	return i.lie(i.Instance, slices.Clone(values), err)
}

// trap is a trap with a place.
type trap struct {
	code   abi.TrapCode
	offset uint32
}

func (t trap) Error() string              { return t.code.Message() }
func (t trap) TrapCode() abi.TrapCode     { return t.code }
func (t trap) TrapPlace() (fn, at uint32) { return 1, t.offset }

const everything = `(module (import "host" "id_l" (func $h (param i32 f64) (result i64)))
	(memory (export "mem") 16) (global $g (export "g") (mut f32) (f32.const nan:0x200000)) (table 1 funcref)
	(func (export "get") (param i32) (result i32 f32 funcref) (local.get 0) (f32.const nan) (table.get (i32.const 0)))
	(func (export "set") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))
	(func (export "host") (param i32) (result i64) (call $h (local.get 0) (f64.const -3)))
	(func (export "vector") (param i32) (result v128) (v128.const i64x2 5 7))
	(func (export "trap") (param i32) (drop (call_indirect (result i32) (i32.const 1)))))`

// TestLies: whatever an engine does otherwise than the others is reported.
func TestLies(t *testing.T) {
	type values = []spectest.Value
	same := func(_ spectest.Instance, v values, err error) (values, error) { return v, err }
	change := func(i int, v spectest.Value) func(spectest.Instance, values, error) (values, error) {
		return func(_ spectest.Instance, list values, err error) (values, error) { list[i] = v; return list, err }
	}
	fail := func(e error) func(spectest.Instance, values, error) (values, error) {
		return func(spectest.Instance, values, error) (values, error) { return nil, e }
	}
	for _, c := range []struct {
		name, fn string
		lie      func(spectest.Instance, values, error) (values, error)
		exact    bool
		want     string // in the failure; empty for none
	}{
		{"truth", "get", same, true, ""},
		{"value", "get", change(0, spectest.Value{Type: clif.I32, Bits: 6}), false, "i32:0x6"},
		{"type", "get", change(0, spectest.Value{Type: clif.I64, Bits: 5}), false, "i64:0x5"},
		{"another NaN", "get", change(1, spectest.Value{Type: clif.F32, Bits: 0xFFC00001}), false, ""},
		{"another NaN where it counts", "get", change(1, spectest.Value{Type: clif.F32, Bits: 0xFFC00001}), true, "f32:0xffc00001"},
		{"no NaN", "get", change(1, spectest.Value{Type: clif.F32, Bits: 0x7F800000}), false, "f32:0x7f800000"},
		{"a function", "get", change(2, spectest.Value{Type: clif.FuncRef, Bits: 1}), false, ":0x1"},
		{"the low half of a vector", "vector", change(0, spectest.Value{Type: clif.V128, Bits: 6, High: 7}), false, "v128:0x6,0x7"},
		{"the high half of a vector", "vector", change(0, spectest.Value{Type: clif.V128, Bits: 5, High: 8}), false, "v128:0x5,0x8"},
		{"fewer values", "get", func(_ spectest.Instance, v values, err error) (values, error) { return v[:2], err }, false, "1 differences"},
		{"a trap instead of values", "get", fail(trap{abi.TrapUnreachable, 0}), false, `trap "unreachable"`},
		{"an error", "get", fail(errors.New("broken")), false, "broken"},
		{"values instead of a trap", "trap", fail(nil), false, "1 differences"},
		{"another trap", "trap", fail(trap{abi.TrapBadSignature, 0}), false, "indirect call type mismatch"},
		{"a trap that the judge does not tell apart", "trap", fail(trap{abi.TrapTableOutOfBounds, 0}), false, "out of bounds table access"},
		{"another place", "trap", fail(trap{abi.TrapUndefinedElement, 0xFFFF}), false, "0xffff"},
		{"a global", "get", func(i spectest.Instance, v values, err error) (values, error) {
			x, _ := i.Export("g")
			x.(*interp.Global).Bits = 7
			return v, err
		}, false, "globals afterwards: (f32:0x7)"},
		{"a call of the host more", "host", func(i spectest.Instance, v values, err error) (values, error) {
			i.Invoke("host", []uint64{5})
			return v, err
		}, false, "calls of the host: [0x2 0x5 0xc008000000000000 0x2 0x5 0xc008000000000000], want [0x2 0x5 0xc008000000000000]"},
		{"a memory that is larger", "get", func(i spectest.Instance, v values, err error) (values, error) {
			x, _ := i.Export("mem")
			m := x.(*interp.Memory)
			m.Data = append(m.Data, make([]byte, 1<<16)...)
			return v, err
		}, false, "memories afterwards"},
	} {
		honest := Interpreters()[0]
		k := Single(everything, Call{Func: c.fn, Args: []uint64{5}})
		k.ExactNaNs = c.exact
		x := Harness{Judge: honest, JudgeTraps: map[abi.TrapCode]abi.TrapCode{abi.TrapUndefinedElement: abi.TrapTableOutOfBounds},
			Engines: []spectest.Engine{honest, liar{honest, c.lie}}, Dump: t.TempDir()}
		got := x.failures(t, k)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want) || !strings.Contains(got[0], "liar")) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if dumped, err := os.ReadFile(filepath.Join(x.Dump, "recorder_case_1.0.wasm")); c.want != "" && c.name != "an error" && (err != nil || string(dumped[:4]) != "\x00asm") {
			t.Errorf("%s: the module was not written: %v", c.name, err)
		}
	}
}

// TestMemories: a byte that differs is noticed wherever it is in a memory, at the end of a case; and after each call, in a
// watched one. What cannot be looked at is an error.
func TestMemories(t *testing.T) {
	const size = 17 << 16
	c := Single(`(module (memory (export "any name") 17) (func (export "set") (param i32 i32) (i32.store8 (local.get 0) (local.get 1))))`)
	for _, e := range []spectest.Engine{Interpreters()[0], Natives()[0]} {
		for _, c.Watch = range []bool{false, true} {
			run := func(at, value uint64) *History {
				c.Calls = []Call{{Func: "set", Args: []uint64{at, value}}, {Func: "set", Args: []uint64{at, value}}}
				h, err := Play(e, c)
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			want := run(0, 0)
			for _, at := range []uint64{0, 1, 128<<10 - 1, watchedBytes / 2, size / 2, size - watchedBytes/2 - 1, size - 1} {
				d := c.diff(run(at, 1), want, nil)
				seen := "memories afterwards"
				if inside := at < watchedBytes/2 || at >= size-watchedBytes/2; c.Watch && inside {
					seen = "2 differences"
				}
				if !strings.Contains(d, seen) {
					t.Errorf("%s: a byte at %#x: %q, want %q", e.Name(), at, d, seen)
				}
				if d := c.diff(run(at, 0), want, nil); d != "" {
					t.Errorf("%s: the same makes a difference: %s", e.Name(), d)
				}
			}
		}
	}
	if _, err := memoryContent("no memory"); err == nil {
		t.Error("a memory of an unknown type passes")
	}
}

// TestModules: modules import from each other by name; one that traps has no exports, and what it wrote before stays.
func TestModules(t *testing.T) {
	c := &Case{Modules: []Module{
		{Name: "owner", Text: `(module (memory (export "memory") 1) (func (export "get") (result i32) (i32.load8_u (i32.const 9))))`},
		{Text: `(module (import "owner" "memory" (memory 1)) (data (i32.const 9) "A") (data (i32.const 65536) "B") (func (export "f")))`},
		{Text: `(module (import "owner" "get" (func $get (result i32))) (export "again" (func $get)))`},
	}, Calls: []Call{{Module: 0, Func: "get"}, {Module: 1, Func: "f"}, {Module: 2, Func: "again"}}}
	want := []string{"()", `trap "out of bounds memory access"`, "()", "(i32:0x41)", "no instance", "(i32:0x41)"}
	for _, e := range append(Interpreters(), Natives()...) {
		h, err := Play(e, c)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range h.Events {
			got = append(got, h.Events[i].Result())
		}
		if !slices.Equal(got, want) || h.traps() != 2 {
			t.Errorf("%s: %q, %d traps, want %q", e.Name(), got, h.traps(), want)
		}
	}
	for _, text := range []string{`(module (import "host" "what" (func)))`, `(module (import "host" "iz_i" (func)))`, `(module (func (i32.add)))`, `(module`} {
		if _, err := Play(Interpreters()[0], Single(text)); err == nil {
			t.Errorf("%s runs", text)
		}
	}
}

// TestBuilder: arguments fit their types, and are not those of others.
func TestBuilder(t *testing.T) {
	var b Builder
	args := []uint64{0x1_FFFF_FFFF, 0x1_FFFF_FFFF}
	b.Add("", "", "")
	if name := b.Add("il", "f", "(body)", args); name != "f1" || b.NumFuncs() != 2 {
		t.Errorf("%s, %d functions", name, b.NumFuncs())
	}
	if want := "(func (export \"f0\")   )\n(func (export \"f1\") (param i32 i64) (result f32) (body))\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if len(b.Calls) != 1 || b.Calls[0].String() != "0.f1([0xffffffff 0x1ffffffff])" || args[0] != 0x1_FFFF_FFFF {
		t.Errorf("%v, %#x", b.Calls, args)
	}
}
