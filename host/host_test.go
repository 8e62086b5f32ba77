//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
)

var bg = context.Background()

// object is a compiled module of testdata/wasm.
func object(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	object, err := waot.CompileObject(wasm, &waot.CompileOptions{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func module(t testing.TB, name string) *host.Module {
	t.Helper()
	m, err := host.Load(object(t, name), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func newStore(t testing.TB) *host.Store {
	t.Helper()
	s, err := host.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// must gives v, and fails the test if there is an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func instantiate(t testing.TB, s *host.Store, name string, imports host.Imports) *host.Instance {
	t.Helper()
	return must[*host.Instance](t)(s.Instantiate(bg, module(t, name), imports))
}

func function(t testing.TB, i *host.Instance, name string) *host.Func {
	t.Helper()
	return must[*host.Func](t)(i.Func(name))
}

// env is what the module "many" imports.
func env(t testing.TB, s *host.Store) map[string]any {
	return map[string]any{
		"f":       func(a, b int32) int32 { return a - b },
		"nothing": func() {},
		"table":   must[*host.Table](t)(s.NewTable(host.TypeFuncRef, host.Limits{Min: 2, Max: 4, HasMax: true})),
		"memory":  must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1, Max: 3, HasMax: true})),
		"global":  must[*host.Global](t)(s.NewGlobal(true, host.I64(-5))),
	}
}

func many(t testing.TB, s *host.Store) *host.Instance {
	t.Helper()
	return instantiate(t, s, "many", host.Imports{"env": env(t, s)})
}

func TestDescriptions(t *testing.T) {
	m := module(t, "many")
	var have []string
	for _, i := range m.Imports() {
		have = append(have, i.Module+"."+i.Name+" "+i.Type.String())
	}
	for _, e := range m.Exports() {
		have = append(have, e.Name+" "+e.Type.String())
	}
	want := []string{
		"env.f function (i32, i32) -> (i32)", "env.nothing function () -> ()", "env.table table funcref 2..8",
		"env.memory memory 1..4", "env.global global mut i64",
		"div function (i32, i32) -> (i32)", "turn function (i32, i64, f32, f64) -> (f64, f32, i64, i32)",
		"call_nothing function () -> ()", "same function (funcref) -> (funcref)", "indirect function (i32) -> (i32)",
		"f function (i32, i32) -> (i32)", "deep function () -> ()", "unreachable function () -> ()",
		"ninth function (i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32)",
		"memory memory 1..4", "table table funcref 2..8", "global global mut i64", "constant global i32", "variable global mut f64",
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Error(d)
	}
	if m.Name() != "many" {
		t.Errorf("name %q", m.Name())
	}
}

// TestCall calls with every type of argument.
func TestCall(t *testing.T) {
	s := newStore(t)
	i := many(t, s)
	f := function(t, i, "f")
	for _, x := range []struct {
		name    string
		args    []any
		results []any // nil: an error
	}{
		{"div", []any{int32(-7), int32(2)}, []any{int32(-3)}},
		{"div", []any{uint32(1 << 31), 2}, []any{int32(-1 << 30)}},
		{"div", []any{math.MaxUint32, 1}, []any{int32(-1)}},
		{"div", []any{host.I32(7), host.I32(2)}, []any{int32(3)}},
		{"div", []any{math.MaxUint32 + 1, 1}, nil},
		{"div", []any{math.MinInt32 - 1, 1}, nil},
		{"div", []any{int64(7), 1}, nil},
		{"div", []any{7.0, 1}, nil},
		{"div", []any{nil, 1}, nil},
		{"div", []any{host.I64(7), 1}, nil},
		{"div", []any{7}, nil},
		{"div", []any{7, 1, 1}, nil},
		{"div", nil, nil},
		{"turn", []any{1, 2, float32(3), 4.5}, []any{4.5, float32(3), int64(2), int32(1)}},
		{"turn", []any{1, uint64(math.MaxUint64), float32(3), math.Inf(1)}, []any{math.Inf(1), float32(3), int64(-1), int32(1)}},
		{"turn", []any{1, int64(-9), float32(3), host.F64(0.5)}, []any{0.5, float32(3), int64(-9), int32(1)}},
		{"turn", []any{1, 2, 3.0, 4.5}, nil},
		{"turn", []any{1, 2, float32(3), float32(4)}, nil},
		{"turn", []any{1, int32(2), float32(3), 4.5}, nil},
		{"call_nothing", nil, []any{}},
		{"same", []any{nil}, []any{nil}},
		{"same", []any{f}, []any{f}},
		{"same", []any{host.FuncRef(f)}, []any{f}},
		{"same", []any{(*host.Func)(nil)}, []any{nil}},
		{"same", []any{i}, nil},
		{"same", []any{host.Ref(nil)}, nil},
		{"ninth", []any{1, 2, 3, 4, 5, 6, 7, 8, 9}, []any{int32(9)}},
	} {
		results, err := function(t, i, x.name).Call(bg, x.args...)
		if x.results == nil {
			if !errors.Is(err, host.ErrType) {
				t.Errorf("%s(%v) = %v, %v; want ErrType", x.name, x.args, results, err)
			}
			continue
		}
		if err != nil || len(results) != len(x.results) {
			t.Errorf("%s(%v) = %v, %v", x.name, x.args, results, err)
			continue
		}
		for n := range results {
			if results[n] != x.results[n] {
				t.Errorf("%s(%v): result %d is %T %v, want %T %v", x.name, x.args, n, results[n], results[n], x.results[n], x.results[n])
			}
		}
	}
}

func TestCallValues(t *testing.T) {
	s := newStore(t)
	i := many(t, s)
	turn := function(t, i, "turn")
	args := []host.Value{host.I32(-1), host.I64(math.MinInt64), host.F32(0.25), host.F64(-2)}
	results := make([]host.Value, 4)
	if err := turn.CallValues(bg, args, results); err != nil {
		t.Fatal(err)
	}
	if r := results; r[0].F64() != -2 || r[1].F32() != 0.25 || r[2].I64() != math.MinInt64 || r[3].I32() != -1 {
		t.Errorf("results %v", r)
	}
	if r := results[0]; r.I64() != 0 || r.I32() != 0 || r.F32() != 0 || r.Ref() != nil || r.Func() != nil || r.Type() != host.TypeF64 {
		t.Errorf("a value is something else too: %v", r)
	}
	if err := turn.CallValues(bg, args[:3], results); !errors.Is(err, host.ErrType) {
		t.Errorf("too few arguments: %v", err)
	}
	if err := turn.CallValues(bg, args, results[:3]); !errors.Is(err, host.ErrType) {
		t.Errorf("too few results: %v", err)
	}
	args[1] = host.I32(1)
	if err := turn.CallValues(bg, args, results); !errors.Is(err, host.ErrType) || !strings.Contains(err.Error(), "argument 1") {
		t.Errorf("wrong argument: %v", err)
	}
	args[1] = host.Value{}
	if err := turn.CallValues(bg, args, results); !errors.Is(err, host.ErrType) {
		t.Errorf("zero value: %v", err)
	}
	// Arguments and results in one slice, references among them.
	same := []host.Value{host.FuncRef(turn)}
	if err := function(t, i, "same").CallValues(bg, same, same); err != nil || same[0].Func() != turn {
		t.Errorf("%v, %v", same, err)
	}
	if r := function(t, i, "f").CallRaw(bg, []uint64{1}); !errors.Is(r, host.ErrType) {
		t.Errorf("stack too short: %v", r)
	}
	stack := []uint64{9, 2, 77}
	if err := function(t, i, "f").CallRaw(bg, stack); err != nil || stack[0] != 7 || stack[2] != 77 {
		t.Errorf("%v, %v", stack, err)
	}
}

func TestTraps(t *testing.T) {
	s := newStore(t)
	i := many(t, s)
	for _, x := range []struct {
		name string
		args []any
		code host.TrapCode
	}{
		{"div", []any{1, 0}, host.TrapIntegerDivideByZero},
		{"div", []any{math.MinInt32, -1}, host.TrapIntegerOverflow},
		{"unreachable", nil, host.TrapUnreachable},
		{"deep", nil, host.TrapStackOverflow},
		{"indirect", []any{0}, host.TrapUninitializedElement},
		{"indirect", []any{2}, host.TrapUndefinedElement},
	} {
		_, err := function(t, i, x.name).Call(bg, x.args...)
		var trap *host.Trap
		if !errors.As(err, &trap) || trap.Code != x.code {
			t.Errorf("%s: %v, want %v", x.name, err, x.code)
			continue
		}
		if f := trap.Backtrace[0]; f.Name != x.name || f.Module != "many" {
			t.Errorf("%s: backtrace %v", x.name, trap.Backtrace)
		}
		if !strings.Contains(err.Error(), x.code.String()) {
			t.Errorf("%s: message %q", x.name, err)
		}
		var inner *inproc.Trap
		if errors.As(err, &inner) {
			t.Errorf("%s: the error has a type of package inproc", x.name)
		}
	}
	// Programs can make traps too.
	for want, trap := range map[string]*host.Trap{
		"wasm trap: unreachable":                          {Code: host.TrapUnreachable},
		"wasm trap: unreachable in f at offset 0x10":      {Code: host.TrapUnreachable, Backtrace: []host.Frame{{Func: 3, Name: "f", Offset: 16}}},
		"wasm trap: integer divide by zero in function 3": {Code: host.TrapIntegerDivideByZero, Backtrace: []host.Frame{{Func: 3}}},
	} {
		if trap.Error() != want {
			t.Errorf("%q, want %q", trap, want)
		}
	}
}

func TestCancel(t *testing.T) {
	s := newStore(t)
	forever := function(t, instantiate(t, s, "loop", nil), "forever")
	ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
	defer cancel()
	check := func(err error, cause error) {
		t.Helper()
		var e *host.CancelError
		if !errors.As(err, &e) || !errors.Is(err, host.ErrCancelled) || !errors.Is(err, cause) {
			t.Errorf("error %v, want one of cancellation by %v", err, cause)
		}
	}
	check(forever.CallRaw(ctx, nil), context.DeadlineExceeded)
	check(forever.CallValues(ctx, nil, nil), context.DeadlineExceeded)
	_, err := s.Instantiate(ctx, module(t, "add"), nil)
	check(err, context.DeadlineExceeded)

	mine := errors.New("my own cause")
	ctx2, cancel2 := context.WithCancelCause(bg)
	time.AfterFunc(5*time.Millisecond, func() { cancel2(mine) })
	_, err = forever.Call(ctx2)
	check(err, mine)
	if _, err := function(t, instantiate(t, s, "add", nil), "add").Call(bg, 1, 2); err != nil {
		t.Errorf("after a cancellation: %v", err)
	}
}

func TestErrorsOfGoFunctions(t *testing.T) {
	s := newStore(t)
	mine := errors.New("mine")
	var f *host.Func
	e := env(t, s)
	e["nothing"] = func() error { return mine }
	e["f"] = func(ctx context.Context, c *host.Caller, a, b int32) (int32, error) {
		if a == 0 {
			panic("out of zeroes")
		}
		if c.Store() != s || c.Instance().Store() != s || ctx == nil {
			t.Error("the caller is not what it should be")
		}
		if bt := c.Backtrace(); len(bt) == 0 || bt[0].Name != "f" {
			t.Errorf("backtrace %v", bt)
		}
		_, err := f.Call(ctx, a-1, b) // nested, until it panics
		return 0, err
	}
	i := instantiate(t, s, "many", host.Imports{"env": e})
	f = function(t, i, "f")
	if _, err := function(t, i, "call_nothing").Call(bg); err != mine {
		t.Errorf("error %v, not mine as it is", err)
	}
	func() {
		defer func() {
			if p := recover(); p != "out of zeroes" {
				t.Errorf("panic %v", p)
			}
		}()
		f.Call(bg, 3, 3)
	}()
	if _, err := function(t, i, "div").Call(bg, 6, 3); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	// A trap of a nested call arrives as it is, through the host function.
	e["f"] = func(c *host.Caller, a, b int32) (int32, error) {
		_, err := function(t, c.Instance(), "unreachable").Call(c.Context())
		return 0, err
	}
	var trap *host.Trap
	if _, err := function(t, instantiate(t, s, "many", host.Imports{"env": e}), "f").Call(bg, 1, 1); !errors.As(err, &trap) || len(trap.Backtrace) != 2 {
		t.Errorf("nested trap: %v", err)
	}
}

// TestNestedContext checks the context that the host function of a nested call gets: that call's own, also if it is
// the background context, and that of the call around if it has none.
func TestNestedContext(t *testing.T) {
	type key struct{}
	s := newStore(t)
	e := env(t, s)
	outer, inner := context.WithValue(bg, key{}, "outer"), context.WithValue(bg, key{}, "inner")
	for _, x := range []struct{ ctx, want context.Context }{{nil, outer}, {bg, bg}, {inner, inner}} {
		var f *host.Func
		var got context.Context
		e["f"] = func(c *host.Caller, a, b int32) (int32, error) {
			if a == 0 {
				got = c.Context()
				return 0, nil
			}
			return 0, f.CallRaw(x.ctx, []uint64{0, 0})
		}
		f = function(t, instantiate(t, s, "many", host.Imports{"env": e}), "f")
		if err := f.CallRaw(outer, []uint64{1, 1}); err != nil || got != x.want {
			t.Errorf("nested call with %v: context %v, %v; want %v", x.ctx, got, err, x.want)
		}
	}
}

func TestLinkErrors(t *testing.T) {
	s, other := newStore(t), newStore(t)
	for _, x := range []struct {
		name string
		v    any
		want string // in the message
	}{
		{"f", nil, "unknown import: wanted function (i32, i32) -> (i32)"},
		{"f", func(a int32) int32 { return a }, "wanted function (i32, i32) -> (i32), got func(int32) int32, function (i32) -> (i32)"},
		{"f", func(a, b int) int { return a }, "func(int, int) int: a parameter cannot be int"},
		{"f", func(a, b int32) string { return "" }, "a result cannot be string"},
		{"f", func(a ...int32) int32 { return 0 }, "variadic"},
		{"f", (func(a, b int32) int32)(nil), "nil func(int32, int32) int32"},
		{"f", (*host.Func)(nil), "got *host.Func"},
		{"f", 42, "int is no function"},
		{"f", host.RawFunc{}, "RawFunc without Func"},
		{"f", host.RawFunc{Params: []host.ValType{0x79}, Func: func(*host.Caller, []uint64, []uint64) error { return nil }}, "type 0x79"},
		{"f", host.RawFunc{Params: []host.ValType{0x7f}, Func: func(*host.Caller, []uint64, []uint64) error { return nil }}, "a RawFunc with (ref 6)"},
		{"f", must[*host.Func](t)(s.NewFunc(func() {})), "got function () -> ()"},
		{"f", must[*host.Func](t)(other.NewFunc(func(a, b int32) int32 { return 0 })), "another store"},
		{"f", must[*host.Memory](t)(s.NewMemory(host.Limits{})), "got *host.Memory"},
		{"memory", func() {}, "wanted memory 1..4, got func()"},
		{"memory", must[*host.Memory](t)(s.NewMemory(host.Limits{})), "size 0"},
		{"memory", must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1})), "no maximum"},
		{"table", must[*host.Table](t)(s.NewTable(host.TypeExternRef, host.Limits{Min: 2, Max: 2, HasMax: true})), "element type"},
		{"table", must[*host.Global](t)(s.NewGlobal(true, host.I64(0))), "wanted table funcref 2..8, got *host.Global"},
		{"global", must[*host.Global](t)(s.NewGlobal(false, host.I64(0))), "mutability"},
	} {
		imports := host.Imports{"env": env(t, s)}
		imports["env"][x.name] = x.v
		_, err := s.Instantiate(bg, module(t, "many"), imports)
		var link *host.LinkError
		if !errors.As(err, &link) {
			t.Errorf("%s = %T: %v, want a LinkError", x.name, x.v, err)
			continue
		}
		if link.Module != "env" || link.Name != x.name || !strings.Contains(strings.Replace(err.Error(), `: "env" "`+x.name+`"`, "", 1), x.want) {
			t.Errorf("%s = %T: %v, want %s", x.name, x.v, err, x.want)
		}
	}
	if _, err := s.Instantiate(bg, module(t, "many"), nil); err == nil {
		t.Error("no error without imports")
	}
}

// TestExportsAsImports connects two instances.
func TestExportsAsImports(t *testing.T) {
	s := newStore(t)
	a := many(t, s)
	exports := a.Exports()
	if len(exports) != 14 {
		t.Errorf("%d exports", len(exports))
	}
	exports["nothing"] = exports["call_nothing"]
	b := instantiate(t, s, "many", host.Imports{"env": exports})
	if r, err := function(t, b, "f").Call(bg, 9, 2); err != nil || r[0] != int32(7) {
		t.Errorf("%v, %v", r, err)
	}
	ma, mb := must[*host.Memory](t)(a.Memory("memory")), must[*host.Memory](t)(b.Memory("memory"))
	if ma != mb {
		t.Error("two handles of one memory differ")
	}
	for _, err := range []error{
		second(b.Func("memory")), second(b.Func("g")), second(b.Memory("f")), second(b.Table("f")), second(b.Global("f")), second(b.Export("")),
	} {
		if !errors.Is(err, host.ErrNotExported) {
			t.Errorf("error %v, want ErrNotExported", err)
		}
	}
	b.Close()
	if _, err := b.Func("f"); !errors.Is(err, host.ErrClosed) {
		t.Errorf("closed instance: %v", err)
	}
	if b.Name() != "many" || b.Store() != s {
		t.Error("a closed instance has forgotten what it is")
	}
}

func second[T any](_ T, err error) error { return err }

func TestLoadErrors(t *testing.T) {
	good := object(t, "add")
	flipped := append([]byte(nil), good...)
	file, err := elf.NewFile(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	flipped[file.Section(".text").Offset] ^= 1
	for name, b := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "short": good[:100], "flipped": flipped} {
		var e *host.ObjectError
		if _, err := host.Load(b, nil); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	s, err := host.NewStore(&host.StoreOptions{MaxMemoryPages: 2, MaxTableElements: 3, MaxInstances: 1, MaxStack: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var limit *host.LimitError
	if _, err := s.NewMemory(host.Limits{Min: 3}); !errors.As(err, &limit) || limit.Limit != 2 {
		t.Errorf("memory: %v", err)
	}
	if _, err := s.NewTable(host.TypeFuncRef, host.Limits{Min: 4}); !errors.As(err, &limit) {
		t.Errorf("table: %v", err)
	}
	many(t, s)
	if _, err := s.Instantiate(bg, module(t, "add"), nil); !errors.As(err, &limit) || limit.What != "instances" {
		t.Errorf("instances: %v", err)
	}
	if _, err := host.NewStore(&host.StoreOptions{MaxStack: 1 << 40}); !errors.As(err, &limit) {
		t.Errorf("stack: %v", err)
	}
}

func TestModuleClose(t *testing.T) {
	s := newStore(t)
	m, err := host.Load(object(t, "many"), nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	e := env(t, s)
	i := must[*host.Instance](t)(s.Instantiate(bg, m, host.Imports{"env": e}))
	if err := m.Close(); err != nil || closed {
		t.Error(err)
	}
	if err := m.Close(); !errors.Is(err, host.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	if _, err := s.Instantiate(bg, m, host.Imports{"env": e}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("instantiating a closed module: %v", err)
	}
	if r, err := function(t, i, "f").Call(bg, 9, 2); err != nil || r[0] != int32(7) {
		t.Errorf("%v, %v", r, err)
	}
}

// TestParallel shares one module among stores on many goroutines.
func TestParallel(t *testing.T) {
	m := module(t, "many")
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range 10 {
				s := newStore(t)
				e := env(t, s)
				e["f"] = func(a, b int32) int32 { return a*int32(g) - b }
				i, err := s.Instantiate(bg, m, host.Imports{"env": e})
				if err != nil {
					t.Error(err)
					return
				}
				for k := range 20 {
					r, err := function(t, i, "f").Call(bg, n, k)
					if err != nil || r[0] != int32(n*g-k) {
						t.Errorf("%v, %v", r, err)
					}
					if _, err := function(t, i, "div").Call(bg, 1, 0); err == nil {
						t.Error("no trap")
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
}

// TestBusy uses a store while another goroutine is inside.
func TestBusy(t *testing.T) {
	s := newStore(t)
	entered, leave := make(chan bool), make(chan bool)
	e := env(t, s)
	e["nothing"] = func() { entered <- true; <-leave }
	i := instantiate(t, s, "many", host.Imports{"env": e})
	f, tab, g, mem := function(t, i, "f"), e["table"].(*host.Table), e["global"].(*host.Global), e["memory"].(*host.Memory)
	add := module(t, "add")
	nothing := function(t, i, "call_nothing")
	done := make(chan error)
	go func() { done <- second(nothing.Call(bg)) }()
	<-entered
	for name, err := range map[string]error{
		"Call":        second(f.Call(bg, 1, 1)),
		"Close":       s.Close(),
		"Enter":       s.Enter(),
		"Instantiate": second(s.Instantiate(bg, add, nil)),
		"NewFunc":     second(s.NewFunc(func() {})),
		"NewMemory":   second(s.NewMemory(host.Limits{})),
		"NewTable":    second(s.NewTable(host.TypeFuncRef, host.Limits{})),
		"NewGlobal":   second(s.NewGlobal(true, host.I32(1))),
		"ExternRef":   second(s.ExternRef(1)),
		"Func":        second(i.Func("f")),
		"Table.Get":   second(tab.Get(0)),
		"Table.Set":   tab.Set(0, nil),
		"Table.Grow":  second(tab.Grow(1, nil)),
		"Global.Get":  second(g.Get()),
		"Global.Set":  g.Set(host.I64(1)),
	} {
		if !errors.Is(err, host.ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", name, err)
		}
	}
	if _, ok := mem.Grow(1); ok {
		t.Error("a memory of a busy store grew")
	}
	if len(i.Exports()) != 0 || tab.Len() != 0 || s.Extern(1) != nil || s.FuncOf(f.Ref()) != nil {
		t.Error("a busy store gives something")
	}
	leave <- true
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestClosed uses what belonged to a store after that has been closed.
func TestClosed(t *testing.T) {
	s := newStore(t)
	e := env(t, s)
	i := instantiate(t, s, "many", host.Imports{"env": e})
	f, tab, g, mem := function(t, i, "f"), e["table"].(*host.Table), e["global"].(*host.Global), e["memory"].(*host.Memory)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Call":        second(f.Call(bg, 1, 1)),
		"CallRaw":     f.CallRaw(bg, make([]uint64, 2)),
		"Close":       s.Close(),
		"Enter":       s.Enter(),
		"Instantiate": second(s.Instantiate(bg, module(t, "add"), nil)),
		"NewFunc":     second(s.NewFunc(func() {})),
		"NewMemory":   second(s.NewMemory(host.Limits{})),
		"NewGlobal":   second(s.NewGlobal(true, host.I32(1))),
		"ExternRef":   second(s.ExternRef(1)),
		"Func":        second(i.Func("f")),
		"Export":      second(i.Export("deep")),
		"Table.Get":   second(tab.Get(0)),
		"Table.Set":   tab.Set(0, nil),
		"Table.Grow":  second(tab.Grow(1, nil)),
		"Global.Get":  second(g.Get()),
		"Global.Set":  g.Set(host.I64(1)),
	} {
		if !errors.Is(err, host.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
	s.Release(5)
	if mem.Bytes() != nil || mem.Size() != 0 || tab.Len() != 0 || len(i.Exports()) != 0 || s.Extern(1) != nil || s.FuncOf(f.Ref()) != nil {
		t.Error("a closed store gives something")
	}
	checkNoMemory(t, mem)
	checkNoMemory(t, nil)
	if f.Type().String() != "(i32, i32) -> (i32)" || g.Type() != host.TypeI64 || tab.Elem() != host.TypeFuncRef || mem.Limits().Max != 3 {
		t.Error("types have been forgotten")
	}
}

// TestMade: the program knows an instance before a Go function is called by its start function, also where the instantiation fails; there is nothing in its memory yet.
func TestMade(t *testing.T) {
	s := newStore(t)
	for _, fails := range []string{"", "unreachable"} {
		var made *host.Instance
		var events []string
		o := &host.InstanceOptions{Made: func(i *host.Instance) {
			made = i
			v, _ := must[*host.Memory](t)(i.Memory("memory")).ReadUint8(0)
			events = append(events, fmt.Sprint("made ", v))
		}}
		f := func(c *host.Caller) {
			v, _ := c.Memory().ReadUint8(0)
			events = append(events, fmt.Sprint("start ", v, c.Instance() == made))
		}
		i, err := s.InstantiateWith(bg, text(t, `(module (import "env" "f" (func $f)) (memory (export "memory") 1) (data (i32.const 0) "\07")
			(func $s (call $f) `+fails+`) (start $s))`), host.Imports{"env": {"f": f}}, o)
		if (err == nil) != (fails == "") || err == nil && i != made {
			t.Errorf("%v, %v, made %v", i, err, made)
		}
		if want := []string{"made 0", "start 7 true"}; !slices.Equal(events, want) {
			t.Errorf("%q, want %q", events, want)
		}
	}
}
