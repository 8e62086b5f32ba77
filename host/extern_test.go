//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
)

// checkNoMemory checks that all of a memory's methods report failure.
func checkNoMemory(t *testing.T, m *host.Memory) {
	t.Helper()
	var oks [14]bool
	_, oks[0] = m.Read(0, 0)
	_, oks[1] = m.ReadString(0, 1)
	_, oks[2] = m.ReadUint8(0)
	_, oks[3] = m.ReadUint16(0)
	_, oks[4] = m.ReadUint32(0)
	_, oks[5] = m.ReadUint64(0)
	oks[6] = m.Write(0, []byte{1})
	oks[7] = m.WriteString(0, "1")
	oks[8] = m.WriteUint8(0, 1)
	oks[9] = m.WriteUint16(0, 1)
	oks[10] = m.WriteUint32(0, 1)
	oks[11] = m.WriteUint64(0, 1)
	_, oks[12] = m.Grow(0)
	if oks != [14]bool{} {
		t.Errorf("methods of no memory report success: %v", oks)
	}
}

func TestMemory(t *testing.T) {
	s := newStore(t)
	m := must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1, Max: 3, HasMax: true}))
	const page = 65536
	if m.Size() != page || len(m.Bytes()) != page || m.Limits() != (host.Limits{Min: 1, Max: 3, HasMax: true}) {
		t.Errorf("size %d, limits %v", m.Size(), m.Limits())
	}
	view := m.Bytes()
	if old, ok := m.Grow(1); old != 1 || !ok {
		t.Errorf("grow: %d, %v", old, ok)
	}
	if _, ok := m.Grow(2); ok {
		t.Error("grew above the maximum")
	}
	if _, ok := m.Grow(math.MaxUint32); ok {
		t.Error("grew by all")
	}
	ok := m.WriteUint8(0, 1) && m.WriteUint16(1, 0x0302) && m.WriteUint32(3, 0x07060504) &&
		m.WriteUint64(7, 0x0f0e0d0c0b0a0908) && m.Write(15, []byte{16, 17}) && m.WriteString(17, "\x12\x13")
	want := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0}
	if !ok || !bytes.Equal(view[:20], want) {
		t.Errorf("%v, memory %v", ok, view[:20])
	}
	a, ok1 := m.ReadUint8(4)
	b, ok2 := m.ReadUint16(4)
	c, ok3 := m.ReadUint32(4)
	d, ok4 := m.ReadUint64(4)
	if a != 5 || b != 0x0605 || c != 0x08070605 || d != 0x0c0b0a0908070605 || !ok1 || !ok2 || !ok3 || !ok4 {
		t.Errorf("%x %x %x %x", a, b, c, d)
	}
	str, ok := m.ReadString(1, 3)
	if str != "\x02\x03\x04" || !ok {
		t.Errorf("string %q", str)
	}
	// At the end, and beyond.
	const size = 2 * page
	for n, x := range map[uint32]func(at uint32) bool{
		1: func(at uint32) bool { _, ok := m.ReadUint8(at); return ok && m.WriteUint8(at, 1) },
		2: func(at uint32) bool { _, ok := m.ReadUint16(at); return ok && m.WriteUint16(at, 1) },
		4: func(at uint32) bool { _, ok := m.ReadUint32(at); return ok && m.WriteUint32(at, 1) },
		8: func(at uint32) bool { _, ok := m.ReadUint64(at); return ok && m.WriteUint64(at, 1) },
		3: func(at uint32) bool { _, ok := m.Read(at, 3); return ok && m.Write(at, make([]byte, 3)) },
		5: func(at uint32) bool { _, ok := m.ReadString(at, 5); return ok && m.WriteString(at, "12345") },
	} {
		if !x(size-n) || x(size-n+1) || x(size) || x(math.MaxUint32) {
			t.Errorf("%d bytes at the end", n)
		}
	}
	if v, ok := m.Read(size, 0); len(v) != 0 || !ok {
		t.Error("nothing at the end")
	}
	if v, _ := m.Read(0, 4); cap(v) != 4 {
		t.Error("a slice reaches further than asked for")
	}
	if _, ok := m.Read(1, math.MaxUint32); ok {
		t.Error("read more than there is")
	}
}

func TestTable(t *testing.T) {
	s, other := newStore(t), newStore(t)
	f := must[*host.Func](t)(s.NewFunc(func(a int32) int32 { return a * 6 }))
	i := many(t, s)
	tab := must[*host.Table](t)(i.Table("table"))
	if err := tab.Set(0, f); err != nil {
		t.Fatal(err)
	}
	if r, err := function(t, i, "indirect").Call(bg, 0); err != nil || r[0] != int32(42) {
		t.Errorf("%v, %v", r, err)
	}
	if v, err := tab.Get(0); v != any(f) || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := tab.Get(1); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if old, err := tab.Grow(2, f); old != 2 || err != nil || tab.Len() != 4 {
		t.Errorf("%d, %v, %d", old, err, tab.Len())
	}
	var limit *host.LimitError
	if _, err := tab.Grow(1, nil); !errors.As(err, &limit) || limit.Limit != 4 {
		t.Errorf("growing beyond the maximum: %v", err)
	}
	if v, err := tab.Get(3); v != any(f) || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	strange := must[*host.Func](t)(other.NewFunc(func() {}))
	for name, err := range map[string]error{
		"number": tab.Set(0, 1), "another store's": tab.Set(0, strange), "growth": second(tab.Grow(0, "x")),
		"table of numbers": second(s.NewTable(host.TypeI32, host.Limits{})),
		"argument":         second(function(t, i, "same").Call(bg, strange)),
		"global":           second(s.NewGlobal(true, host.FuncRef(strange))),
		"no type":          second(s.NewGlobal(true, host.Value{})),
	} {
		if !errors.Is(err, host.ErrType) {
			t.Errorf("%s: %v, want ErrType", name, err)
		}
	}
	if !errors.Is(tab.Set(4, nil), host.ErrBounds) || !errors.Is(second(tab.Get(4)), host.ErrBounds) {
		t.Error("no error outside of the table")
	}
}

func TestGlobal(t *testing.T) {
	s := newStore(t)
	i := many(t, s)
	variable, constant := must[*host.Global](t)(i.Global("variable")), must[*host.Global](t)(i.Global("constant"))
	if v, err := variable.Get(); v != host.F64(1.5) || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if err := variable.Set(host.F64(2)); err != nil {
		t.Error(err)
	}
	if v, _ := variable.Get(); v.F64() != 2 {
		t.Errorf("%v", v)
	}
	if v, err := constant.Get(); v != host.I32(42) || err != nil || constant.Mutable() {
		t.Errorf("%v, %v", v, err)
	}
	if err := constant.Set(host.I32(1)); !errors.Is(err, host.ErrType) {
		t.Errorf("constant: %v", err)
	}
	if err := variable.Set(host.I32(1)); !errors.Is(err, host.ErrType) {
		t.Errorf("wrong type: %v", err)
	}
	for _, v := range []host.Value{host.I32(-1), host.I64(-1), host.F32(0.5), host.F64(-0.5), host.V128(bytes16), host.Ref("a string"), host.Ref(nil), host.FuncRef(nil), host.FuncRef(function(t, i, "f"))} {
		g := must[*host.Global](t)(s.NewGlobal(true, v))
		if x, err := g.Get(); x != v || err != nil || g.Type() != v.Type() {
			t.Errorf("%v, %v, want %v", x, err, v)
		}
		if err := g.Set(v); err != nil {
			t.Error(err)
		}
	}
}

type (
	pointer uint32
	vector  [16]byte
)

// bytes16 has 16 different bytes.
var bytes16 = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1}

// TestGoFunctions calls Go functions of many types, directly and by reflection.
func TestGoFunctions(t *testing.T) {
	s := collecting(t)
	type key struct{}
	ctx := context.WithValue(bg, key{}, "value")
	self := must[*host.Func](t)(s.NewFunc(func() {}))
	mine := errors.New("mine")
	for _, x := range []struct {
		fn            any
		typ           string
		args, results []any
		err           error
	}{
		{fn: func() {}, typ: "() -> ()"},
		{fn: func(a int32) {}, typ: "(i32) -> ()", args: []any{1}},
		{fn: func(a, b uint64) {}, typ: "(i64, i64) -> ()", args: []any{1, 2}},
		{fn: func() int32 { return -1 }, typ: "() -> (i32)", results: []any{int32(-1)}},
		{fn: func(a int32) int32 { return a - 2 }, typ: "(i32) -> (i32)", args: []any{1}, results: []any{int32(-1)}},
		{fn: func(a, b uint32) uint32 { return a / b }, typ: "(i32, i32) -> (i32)", args: []any{-1, 2}, results: []any{int32(math.MaxInt32)}},
		{fn: func(a, b, c int64) int64 { return a + b/c }, typ: "(i64, i64, i64) -> (i64)", args: []any{-1, -4, 2}, results: []any{int64(-3)}},
		{fn: func(a float64) float64 { return -a }, typ: "(f64) -> (f64)", args: []any{1.5}, results: []any{-1.5}},
		{fn: math.Pow, typ: "(f64, f64) -> (f64)", args: []any{2.0, 3.0}, results: []any{8.0}},
		{fn: func(c *host.Caller) {}, typ: "() -> ()"},
		{fn: func(c *host.Caller, a uint32) {}, typ: "(i32) -> ()", args: []any{1}},
		{fn: func(c *host.Caller, a, b uint32) {}, typ: "(i32, i32) -> ()", args: []any{1, 2}},
		{fn: func(c *host.Caller, a uint32) uint32 { return a + 1 }, typ: "(i32) -> (i32)", args: []any{1}, results: []any{int32(2)}},
		{fn: func(c *host.Caller, a, b int32) int32 { return a - b }, typ: "(i32, i32) -> (i32)", args: []any{1, 2}, results: []any{int32(-1)}},
		{fn: func(ctx context.Context, c *host.Caller, a, b int64) {}, typ: "(i64, i64) -> ()", args: []any{1, 2}},
		{fn: func(ctx context.Context, c *host.Caller, a, b int64) int64 {
			if ctx.Value(key{}) != "value" || c.Context() != ctx || c.Store() != s || c.Instance() != nil || c.Memory() != nil {
				return 0
			}
			return a - b
		}, typ: "(i64, i64) -> (i64)", args: []any{1, 2}, results: []any{int64(-1)}},
		// By reflection.
		{fn: func(ctx context.Context) any { return ctx.Value(key{}) }, typ: "() -> (externref)", results: []any{"value"}},
		{fn: func(ctx context.Context, a float32) float32 { return a / 2 }, typ: "(f32) -> (f32)", args: []any{float32(1)}, results: []any{float32(0.5)}},
		{fn: func(a int32, b uint64, c float32, d float64, p pointer) (pointer, float64, float32, uint64, int32) {
			return p, d, c, b, a
		}, typ: "(i32, i64, f32, f64, i32) -> (i32, f64, f32, i64, i32)", args: []any{-1, -2, float32(3), 4.0, math.MaxUint32},
			results: []any{int32(-1), 4.0, float32(3), int64(-2), int32(-1)}},
		{fn: func(a, b any) (any, any) { return b, a }, typ: "(externref, externref) -> (externref, externref)", args: []any{nil, key{}}, results: []any{key{}, nil}},
		{fn: func(f *host.Func) *host.Func { return f }, typ: "(funcref) -> (funcref)", args: []any{self}, results: []any{self}},
		{fn: func(f *host.Func) *host.Func { return f }, typ: "(funcref) -> (funcref)", args: []any{nil}, results: []any{nil}},
		{fn: func(v any) any { return v.(*host.Func) }, typ: "(externref) -> (externref)", args: []any{self}, results: []any{self}},
		{fn: func(v [16]byte) [16]byte { v[15]++; return v }, typ: "(v128) -> (v128)", args: []any{[16]byte{15: 8}}, results: []any{[16]byte{15: 9}}},
		{fn: func(a int32, v vector, x any, w [16]byte, f *host.Func, b int64) (*host.Func, vector, int64, [16]byte, any) {
			return f, vector(w), b, v, x
		}, typ: "(i32, v128, externref, v128, funcref, i64) -> (funcref, v128, i64, v128, externref)",
			args: []any{1, bytes16, key{}, host.V128([16]byte{1}), self, 2}, results: []any{self, [16]byte{1}, int64(2), bytes16, key{}}},
		{fn: func() error { return nil }, typ: "() -> ()"},
		{fn: func() error { return mine }, typ: "() -> ()", err: mine},
		{fn: func(a int32) (int32, error) { return a, nil }, typ: "(i32) -> (i32)", args: []any{5}, results: []any{int32(5)}},
		{fn: func(a int32) (int32, error) { return a, mine }, typ: "(i32) -> (i32)", args: []any{5}, err: mine},
		{fn: host.RawFunc{Params: []host.ValType{host.TypeF32}, Results: []host.ValType{host.TypeI32},
			Func: func(c *host.Caller, args, results []uint64) error { results[0] = args[0]; return nil }},
			typ: "(f32) -> (i32)", args: []any{float32(1)}, results: []any{int32(0x3f800000)}},
		{fn: host.RawFunc{Params: []host.ValType{host.TypeI32, host.TypeV128}, Results: []host.ValType{host.TypeV128, host.TypeI64},
			Func: func(c *host.Caller, args, results []uint64) error {
				results[0], results[1], results[2] = args[2], args[1], args[0]
				return nil
			}},
			typ: "(i32, v128) -> (v128, i64)", args: []any{7, bytes16}, results: []any{[16]byte(append(slices.Clone(bytes16[8:]), bytes16[:8]...)), int64(7)}},
	} {
		f, err := s.NewFunc(x.fn)
		if err != nil {
			t.Errorf("%T: %v", x.fn, err)
			continue
		}
		if f.Type().String() != x.typ || f.Store() != s {
			t.Errorf("%T: type %v, want %s", x.fn, f.Type(), x.typ)
		}
		for range 2 {
			results, err := f.Call(ctx, x.args...)
			if x.results == nil {
				x.results = []any{}
			}
			if err != x.err || err == nil && !reflect.DeepEqual(results, x.results) {
				t.Errorf("%T: %v, %v, want %v, %v", x.fn, results, err, x.results, x.err)
			}
		}
	}
	for _, fn := range []any{nil, 1, (func())(nil), func(int) {}, func(string) {}, func(...int32) {}, func() int { return 0 }, func() (error, int32) { return nil, 0 },
		func(*host.Caller, context.Context) {}, func(int32, context.Context) {}, func(error) {}, func(*host.Memory) {}, func([]byte) {}, func([8]byte) {}, func([16]int8) {}, func() [17]byte { return [17]byte{} }, host.RawFunc{}} {
		if _, err := s.NewFunc(fn); !errors.Is(err, host.ErrType) {
			t.Errorf("%T: %v, want ErrType", fn, err)
		}
	}
}

// TestRecursion calls one reflected function from within itself.
func TestRecursion(t *testing.T) {
	s := collecting(t)
	var f *host.Func
	f = must[*host.Func](t)(s.NewFunc(func(ctx context.Context, n int32, v any, x float32) (int32, any, error) {
		if n == 0 {
			return 0, v, nil
		}
		r, err := f.Call(ctx, n-1, v.(int)+1, x)
		if err != nil {
			return 0, nil, err
		}
		return r[0].(int32) + n, r[1], nil
	}))
	if r, err := f.Call(bg, 50, 1, float32(0)); err != nil || r[0] != int32(1275) || r[1] != 51 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestReferences(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testReferences(t, newStore(t)) })
	t.Run("collecting", func(t *testing.T) { testReferences(t, collecting(t)) })
}

// collecting is a store that collects references whenever it can.
func collecting(t *testing.T) *host.Store {
	s := must[*inproc.Store](t)(inproc.NewStore(inproc.Config{CollectAlways: true}))
	t.Cleanup(func() { s.Close() })
	return (*host.Store)(s)
}

func testReferences(t *testing.T, s *host.Store) {
	var shown []any
	i := instantiate(t, s, "keep", host.Imports{"env": {"show": func(v any) { shown = append(shown, v) }}})
	put, get, show := function(t, i, "put"), function(t, i, "get"), function(t, i, "show")
	values := []any{"a", 2, nil, &shown}
	for n, v := range values {
		if _, err := put.Call(bg, n, v); err != nil {
			t.Fatal(err)
		}
	}
	for range 3000 { // more than a collection keeps
		if _, err := put.Call(bg, 2, "garbage"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := put.Call(bg, 2, nil); err != nil {
		t.Fatal(err)
	}
	slots := must[*host.Table](t)(i.Table("slots"))
	for n, v := range values {
		if r, err := get.Call(bg, n); err != nil || r[0] != v {
			t.Errorf("%v, %v, want %v", r, err, v)
		}
		if x, err := slots.Get(uint32(n)); err != nil || x != v {
			t.Errorf("%v, %v, want %v", x, err, v)
		}
		if _, err := show.Call(bg, n); err != nil || shown[n] != v {
			t.Errorf("%v, %v, want %v", shown, err, v)
		}
	}
	if v, err := must[*host.Global](t)(i.Global("last")).Get(); err != nil || v != host.Ref(nil) {
		t.Errorf("%v, %v", v, err)
	}
	if err := slots.Set(0, 3.5); err != nil {
		t.Error(err)
	}
	// The same by words.
	stack := []uint64{0}
	if err := s.Enter(); err != nil {
		t.Fatal(err)
	}
	if err := get.CallRaw(bg, stack); err != nil || s.Extern(stack[0]) != 3.5 {
		t.Errorf("%v, %v", s.Extern(stack[0]), err)
	}
	s.Leave()
	w := must[uint64](t)(s.ExternRef("word"))
	if err := put.CallRaw(bg, []uint64{1, w}); err != nil {
		t.Error(err)
	}
	s.Release(w)
	if x, err := slots.Get(1); err != nil || x != "word" {
		t.Errorf("%v, %v", x, err)
	}
	if s.FuncOf(put.Ref()) != put || s.FuncOf(0) != nil || s.Extern(0) != nil {
		t.Error("words of functions")
	}
	if _, err := put.Call(bg, 99, nil); err == nil || !strings.Contains(err.Error(), host.TrapTableOutOfBounds.String()) {
		t.Errorf("%v", err)
	}
}

// TestCollection checks that references of all origins are given up: handles do not pile up.
func TestCollection(t *testing.T) {
	s := newStore(t)
	i := instantiate(t, s, "keep", host.Imports{"env": {"show": func(any) {}}})
	put, get, show := function(t, i, "put"), function(t, i, "get"), function(t, i, "show")
	slots, last := must[*host.Table](t)(i.Table("slots")), must[*host.Global](t)(i.Global("last"))
	f := must[*host.Func](t)(s.NewFunc(func(v any) (any, any) { return v, "new" }))
	const rounds = 3000
	for n := range rounds {
		for name, err := range map[string]error{
			"put": second(put.Call(bg, 1, n)), "get": second(get.Call(bg, 1)), "show": second(show.Call(bg, 1)),
			"slots": slots.Set(2, n), "last": last.Set(host.Ref(n)), "f": second(f.Call(bg, n)),
			"trap": trapOnly(put.Call(bg, 99, n)),
		} {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if n := (*inproc.Store)(s).NumRefs(); n > rounds {
		t.Errorf("%d handles are left", n)
	}
	if err := (*inproc.Store)(s).CollectRefs(); err != nil {
		t.Fatal(err)
	}
	if n := (*inproc.Store)(s).NumRefs(); n > 5 { // slots 1 and 2, the global, results of the last call
		t.Errorf("%d handles are left after a collection", n)
	}
}

// TestRetainInside: what a function retains stays its own, also if the call that gave it the value came from another
// function of the host, and made the word.
func TestRetainInside(t *testing.T) {
	s := newStore(t)
	ref := []host.ValType{host.TypeExternRef}
	var word uint64
	retain := must[*host.Func](t)(s.NewFunc(host.RawFunc{Params: ref, Func: func(c *host.Caller, args, _ []uint64) error {
		word = args[0]
		if !c.Store().Retain(word) {
			t.Error("not retained")
		}
		return nil
	}}))
	outer := must[*host.Func](t)(s.NewFunc(func() error {
		_, err := retain.Call(bg, "value")
		return err
	}))
	for _, f := range []func() error{
		func() error { return second(outer.Call(bg)) },
		func() error { return second(retain.Call(bg, "value")) },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []any{"value", nil} {
			if err := (*inproc.Store)(s).CollectRefs(); err != nil {
				t.Fatal(err)
			}
			if v := s.Extern(word); v != want {
				t.Errorf("the word stands for %v, want %v", v, want)
			}
			s.Release(word)
		}
	}
}

// trapOnly gives an error if a call did not trap.
func trapOnly(_ []any, err error) error {
	var trap *host.Trap
	if errors.As(err, &trap) {
		return nil
	}
	return fmt.Errorf("error %v, want a trap", err)
}

// TestAllocations checks that calls do not allocate, in both directions.
func TestAllocations(t *testing.T) {
	s := newStore(t)
	e := env(t, s)
	raw := func(c *host.Caller, args, results []uint64) error { results[0] = args[0] + args[1]; return nil }
	two := []host.ValType{host.TypeI32, host.TypeI32}
	e["f"] = host.RawFunc{Params: two, Results: two[:1], Func: raw}
	i := instantiate(t, s, "many", host.Imports{"env": e})
	e["f"] = func(c *host.Caller, a, b uint32) uint32 {
		if v, ok := c.Memory().ReadUint32(0); ok {
			return a + b + v
		}
		return 0
	}
	j := instantiate(t, s, "many", host.Imports{"env": e})
	keep := instantiate(t, s, "keep", host.Imports{"env": {"show": func(any) {}}})
	stack := []uint64{1, 2}
	values := []host.Value{host.I32(1), host.I32(2)}
	results := make([]host.Value, 4)
	mixed := []host.Value{host.I32(1), host.I64(2), host.F32(3), host.F64(4)}
	refs := []host.Value{host.FuncRef(function(t, i, "f"))}
	extern := []host.Value{host.I32(0), host.Ref(s)}
	global := e["global"].(*host.Global)
	ctx := context.WithValue(bg, "key", 1)
	div, f, g, turn, same, put, get := function(t, i, "div"), function(t, i, "f"), function(t, j, "f"), function(t, i, "turn"), function(t, i, "same"), function(t, keep, "put"), function(t, keep, "get")
	for name, call := range map[string]func() error{
		"CallRaw":                      func() error { return div.CallRaw(ctx, stack) },
		"CallRaw without context":      func() error { return div.CallRaw(nil, stack) },
		"CallValues":                   func() error { return div.CallValues(ctx, values, results[:1]) },
		"CallValues of all types":      func() error { return turn.CallValues(ctx, mixed, results) },
		"CallValues with a funcref":    func() error { return same.CallValues(ctx, refs, results[:1]) },
		"RawFunc":                      func() error { return f.CallRaw(ctx, stack) },
		"Go function without reflect":  func() error { return g.CallRaw(ctx, stack) },
		"Global.Get":                   func() error { return second(global.Get()) },
		"CallValues with an externref": func() error { return put.CallValues(ctx, extern, nil) },
		"CallValues giving externref":  func() error { return get.CallValues(ctx, extern[:1], results[:1]) },
	} {
		stack[0], stack[1] = 1, 2
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(1000, func() { call() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	reflected := must[*host.Func](t)(s.NewFunc(func(a, b float32) (float32, error) { return a, nil }))
	t.Logf("a reflected function: %v allocations", testing.AllocsPerRun(1000, func() { reflected.CallRaw(ctx, stack) }))
}

func BenchmarkCall(b *testing.B) {
	s := newStore(b)
	e := env(b, s)
	i := instantiate(b, s, "many", host.Imports{"env": e})
	same, nothing := function(b, i, "same"), function(b, i, "call_nothing")
	div := function(b, i, "div")
	stack := []uint64{0, 0}
	values, results := []host.Value{host.I32(7), host.I32(2)}, make([]host.Value, 1)
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			stack[0] = 0
			same.CallRaw(bg, stack)
		}
	})
	b.Run("raw_without_context", func(b *testing.B) {
		for b.Loop() {
			same.CallRaw(nil, stack[:1])
		}
	})
	b.Run("inproc", func(b *testing.B) { // what CallRaw adds to this is its own
		for b.Loop() {
			stack[0] = 0
			(*inproc.Func)(same).CallContext(bg, stack[:1], stack[:1])
		}
	})
	b.Run("values", func(b *testing.B) {
		for b.Loop() {
			div.CallValues(bg, values, results)
		}
	})
	b.Run("any", func(b *testing.B) {
		for b.Loop() {
			div.Call(bg, 7, 2)
		}
	})
	b.Run("host", func(b *testing.B) {
		for b.Loop() {
			nothing.CallRaw(bg, nil)
		}
	})
	reflected := must[*host.Func](b)(s.NewFunc(func(a, b float32) float32 { return a }))
	b.Run("reflected", func(b *testing.B) {
		for b.Loop() {
			reflected.CallRaw(bg, stack)
		}
	})
	m := e["memory"].(*host.Memory)
	b.Run("ReadUint32", func(b *testing.B) {
		for b.Loop() {
			m.ReadUint32(8)
		}
	})
}
