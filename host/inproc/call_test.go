//go:build linux && (amd64 || arm64)

package inproc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

func floats(v ...float64) (out []uint64) {
	for _, f := range v {
		out = append(out, math.Float64bits(f))
	}
	return out
}

func TestCallArguments(t *testing.T) {
	s := newStore(t)
	i := instantiate(t, s, newBuilder().
		def("ints10", fn(types(10, i64), vt{i64})).
		def("floats10", fn(types(10, f64), vt{f64})).
		def("results11", fn(vt{i64, f64}, vt{i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64})).
		def("narrow", fn(vt{i32, f32}, vt{i32, f32})).
		def("const", fn(nil, vt{i64})).
		def("answer", fn(nil, vt{i32})).image("init"), nil)
	for _, c := range []struct {
		name       string
		args, want []uint64
	}{
		{"ints10", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
			[]uint64{1 + 4 + 12 + 32 + 80 + 192 + 448 + 1024 + 2304 + 5120}},
		{"floats10", floats(1, 2, 3, 4, 5, 6, 7, 8, 100, 9), floats(1 + 4 + 12 + 30 + 56 + 91)},
		{"results11", []uint64{100, math.Float64bits(1.5)}, []uint64{101, math.Float64bits(3), 102, math.Float64bits(4.5),
			103, math.Float64bits(6), 104, math.Float64bits(7.5), 105, math.Float64bits(9), 106}},
		{"narrow", []uint64{0xffffffff_80000001, 0xdeadbeef_3f800000}, []uint64{0x80000001, 0x3f800000}},
		{"const", nil, []uint64{0x0807060504030201}},
		{"answer", nil, []uint64{42}},
	} {
		got, err := call(t, i, c.name, c.args...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if err := export(t, i, "answer").Call([]uint64{1}, nil); err != ErrType {
		t.Errorf("wrong count: %v", err)
	}
}

func TestHostCall(t *testing.T) {
	s := newStore(t)
	typ := fn(vt{i64, f64, i32}, vt{i64, f64, f32})
	var in *Instance
	h := host(t, s, typ, func(c *Caller, args, results []uint64) error {
		if c.Instance() != in {
			t.Errorf("caller %v", c.Instance())
		}
		if d := cmp.Diff([]Frame{{Module: "test", Func: 1, Name: "pass", Offset: 21}}, c.Backtrace()); d != "" {
			t.Error(d)
		}
		results[0] = args[0] + args[2]
		results[1] = math.Float64bits(math.Float64frombits(args[1]) * 2)
		results[2] = uint64(math.Float32bits(7))
		return nil
	})
	in = instantiate(t, s, newBuilder().imp("env", "h", typ).def("pass", typ).image("init"), one(h))
	for range 3 {
		got, err := call(t, in, "pass", 40, math.Float64bits(1.25), 2)
		want := []uint64{42, math.Float64bits(2.5), uint64(math.Float32bits(7))}
		if err != nil || !slices.Equal(got, want) {
			t.Fatal(got, err)
		}
	}
}

func TestHostCallManyArguments(t *testing.T) {
	s := newStore(t)
	typ := fn(append(types(10, i64), types(10, f64)...), append(types(6, i64), types(6, f64)...))
	h := host(t, s, typ, func(c *Caller, args, results []uint64) error {
		for n := range 10 {
			if args[n] != uint64(n+1) || args[10+n] != math.Float64bits(float64(n+1)) {
				t.Errorf("argument %d: %x %x", n, args[n], args[10+n])
			}
		}
		for n := range 6 {
			results[n] = uint64(10 + n)
			results[6+n] = math.Float64bits(float64(20 + n))
		}
		return nil
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", typ).def("hostmany", fn(nil, vt{i64, f64})).image("init"), one(h))
	got, err := call(t, i, "hostmany")
	// hostmany returns sums weighted by 1 to 6.
	want := []uint64{10 + 22 + 36 + 52 + 70 + 90, math.Float64bits(20 + 42 + 66 + 92 + 120 + 150)}
	if err != nil || !slices.Equal(got, want) {
		t.Fatal(got, math.Float64frombits(got[1]), err)
	}
	// From Go directly, through the same function.
	args := make([]uint64, 20)
	for n := range 10 {
		args[n], args[10+n] = uint64(n+1), math.Float64bits(float64(n+1))
	}
	results := make([]uint64, 12)
	if err := h.Call(args, results); err != nil || results[5] != 15 {
		t.Fatal(results, err)
	}
}

func TestCalleeSaved(t *testing.T) {
	s := newStore(t)
	var leaf *Func
	h := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
		runtime.GC()
		growGoStack(200)
		return leaf.Call(nil, nil) // a nested activation in between
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("saved", fn(nil, nil)).def("leaf", fn(nil, nil)).image("init"), one(h))
	leaf = export(t, i, "leaf")
	for range 10 {
		if _, err := call(t, i, "saved"); err != nil {
			t.Fatal(err)
		}
	}
}

// growGoStack makes the goroutine's stack move.
//
//go:noinline
func growGoStack(n int) int {
	var pad [256]byte
	if n == 0 {
		return int(pad[0])
	}
	return growGoStack(n-1) + int(pad[n%256])
}

func TestReentry(t *testing.T) {
	s := newStore(t)
	var f *Func
	depth, deepest := 0, 0
	h := host(t, s, fn(vt{i64}, vt{i64}), func(c *Caller, args, results []uint64) error {
		depth++
		defer func() { depth-- }()
		if deepest = max(deepest, depth); depth == 200 {
			if n := len(c.Backtrace()); n != maxBacktrace {
				t.Errorf("%d frames", n)
			}
			growGoStack(100)
			runtime.GC()
		}
		return f.Call([]uint64{args[0] - 1}, results)
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(vt{i64}, vt{i64})).
		def("reenter", fn(vt{i64}, vt{i64})).image("init"), one(h))
	f = export(t, i, "reenter")
	for range 3 {
		got, err := call(t, i, "reenter", 200)
		if err != nil || got[0] != 200 || deepest != 200 {
			t.Fatal(got, err, deepest)
		}
	}
}

func TestHostError(t *testing.T) {
	s := newStore(t)
	stop := errors.New("exit")
	var f *Func
	h := host(t, s, fn(vt{i64}, vt{i64}), func(c *Caller, args, results []uint64) error {
		if args[0] == 1 {
			return stop
		}
		return f.Call([]uint64{args[0] - 1}, results)
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(vt{i64}, vt{i64})).
		def("reenter", fn(vt{i64}, vt{i64})).image("init"), one(h))
	f = export(t, i, "reenter")
	for range 3 {
		if _, err := call(t, i, "reenter", 10); err != stop {
			t.Fatal(err)
		}
		if s.depth != 0 || s.scratchTop != 0 || s.owner != ownerNone {
			t.Fatal("store not as before")
		}
	}
}

func TestHostPanic(t *testing.T) {
	s := newStore(t)
	var f *Func
	mode := ""
	h := host(t, s, fn(vt{i64}, vt{i64}), func(c *Caller, args, results []uint64) error {
		if args[0] > 1 {
			return f.Call([]uint64{args[0] - 1}, results)
		}
		switch mode {
		case "panic":
			panic("from the host")
		case "nil":
			var p *int
			*p = 1
		case "goexit":
			runtime.Goexit()
		}
		results[0] = 0
		return nil
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(vt{i64}, vt{i64})).
		def("reenter", fn(vt{i64}, vt{i64})).image("init"), one(h))
	f = export(t, i, "reenter")
	for _, m := range []string{"panic", "nil", "goexit", ""} {
		mode = m
		done := make(chan any)
		go func() {
			defer func() { done <- recover() }()
			got, err := call(t, i, "reenter", 5)
			if m == "" && (err != nil || got[0] != 5) {
				t.Error(got, err)
			}
		}()
		r := <-done
		if want := m == "panic" || m == "nil"; (r != nil) != want {
			t.Errorf("%s: recovered %v", m, r)
		}
		if s.depth != 0 || s.scratchTop != 0 || s.owner != ownerNone {
			t.Fatalf("%s: store not as before", m)
		}
	}
}

func TestBusy(t *testing.T) {
	s := newStore(t)
	inside, leave := make(chan bool), make(chan bool)
	h := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
		inside <- true
		<-leave
		return nil
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("saved", fn(nil, nil)).def("leaf", fn(nil, nil)).image("init"), one(h))
	leaf, saved := export(t, i, "leaf"), export(t, i, "saved")
	done := make(chan error)
	go func() { done <- saved.Call(nil, nil) }()
	<-inside
	if err := leaf.Call(nil, nil); err != ErrBusy {
		t.Errorf("call: %v", err)
	}
	if _, err := s.NewMemory(Limits{}); err != ErrBusy {
		t.Errorf("memory: %v", err)
	}
	if err := s.Close(); err != ErrBusy {
		t.Errorf("close: %v", err)
	}
	leave <- true
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := leaf.Call(nil, nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := leaf.Call(nil, nil); err != ErrClosed {
		t.Errorf("after close: %v", err)
	}
}

func TestManyHostFuncs(t *testing.T) {
	s := newStore(t)
	var fs []*Func
	const inGranule = granule / pageSize * stubsPerChunk
	for n := range inGranule + 20 {
		fs = append(fs, host(t, s, fn(nil, vt{i64}), func(_ *Caller, _, results []uint64) error {
			results[0] = uint64(n)
			return nil
		}))
	}
	for _, n := range []int{0, 1, stubsPerChunk - 3, stubsPerChunk - 2, stubsPerChunk - 1, stubsPerChunk, inGranule - 3, inGranule - 2, inGranule - 1, inGranule + 19} {
		i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, vt{i64})).
			def("pass", fn(nil, vt{i64})).image("init"), one(fs[n]))
		if got, err := call(t, i, "pass"); err != nil || got[0] != uint64(n) {
			t.Errorf("%d: %v %v", n, got, err)
		}
		if f := s.FuncOf(fs[n].Ref()); f != fs[n] {
			t.Errorf("%d: FuncOf", n)
		}
	}
}

func TestSafepointWalk(t *testing.T) {
	s := newStore(t)
	var f *Func
	a, b := s.ExternRef("a"), s.ExternRef("b")
	type seen struct {
		Name string
		Refs []any
	}
	var got []seen
	depth := 0
	h := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
		if depth++; depth == 1 {
			return f.Call([]uint64{b, 0}, []uint64{0})
		}
		c.SafepointWalk(func(fr Frame, refs []uint64) {
			x := seen{Name: fr.Name}
			for _, r := range refs {
				x.Refs = append(x.Refs, s.Extern(r))
			}
			got = append(got, x)
		})
		return nil
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("keep", fn(vt{xref, xref}, vt{xref})).image("init"), one(h))
	f = export(t, i, "keep")
	if r, err := call(t, i, "keep", a, b); err != nil || s.Extern(r[0]) != "a" {
		t.Fatal(r, err)
	}
	want := []seen{{"keep", []any{nil, "b"}}, {"keep", []any{"b", "a"}}} // by displacement, rising
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestHelpersAgainstGo(t *testing.T) {
	s := newStore(t)
	m, err := s.NewMemory(Limits{Min: 4})
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := s.internType(&meta.FuncType{Params: types(3, i64)})
	helper := func(h abi.Helper) func(a, b, c uint64) {
		f := &Func{store: s, typ: typ.funcType, code: process.helpers[h]}
		return func(a, b, c uint64) {
			if err := f.Call([]uint64{a, b, c}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	move, set, fill := helper(abi.HelperMemmove), helper(abi.HelperMemset), helper(abi.HelperTableFill)
	b := m.Bytes()
	want := make([]byte, len(b))
	reset := func() {
		for n := range b {
			b[n] = byte(n*7 + n>>8)
		}
		copy(want, b)
	}
	reset()
	check := func(what string, lo, hi int) {
		t.Helper()
		lo, hi = max(lo-80, 0), min(hi+80, len(b))
		if !slices.Equal(b[lo:hi], want[lo:hi]) {
			t.Fatalf("%s differs", what)
		}
	}
	sizes := []int{255, 256, 257, 1000, 2047, 2048, 2049, 4096, 5000, 60000}
	for n := range 200 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		for _, d := range []int{0, 1, -1, 7, -7, 15, -16, 33, -33, 63, -63, 64, -64, 65, -65, 100, -100, 1000, -1000, 70000, -70000} {
			from, to := 75001, 75001+d
			move(uint64(m.base)+uint64(to), uint64(m.base)+uint64(from), uint64(n))
			copy(want[to:to+n], want[from:from+n])
			check(fmt.Sprintf("memmove of %d by %d", n, d), min(from, to), max(from, to)+n)
		}
		set(uint64(m.base)+333, uint64(n)|0xff00, uint64(n))
		for k := range n {
			want[333+k] = byte(n)
		}
		check(fmt.Sprintf("memset of %d", n), 333, 333+n)
		if n < 5000 {
			fill(uint64(m.base)+1024, 0x0102030405060708*uint64(n%7), uint64(n))
			for k := range n {
				for j := range 8 {
					want[1024+8*k+j] = byte(0x0102030405060708 * uint64(n%7) >> (8 * j))
				}
			}
			check(fmt.Sprintf("table fill of %d", n), 1024, 1024+8*n)
		}
	}
	if !slices.Equal(b, want) {
		t.Fatal("something was written elsewhere")
	}
}

// TestHeapHelpers: the machine code that fills and copies elements does what Go does, and writes nothing else.
func TestHeapHelpers(t *testing.T) {
	s := newStore(t)
	m, err := s.NewMemory(Limits{Min: 1})
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := s.internType(&meta.FuncType{Params: types(4, i64)})
	helper := func(h abi.Helper) func(args ...uint64) {
		f := &Func{store: s, typ: typ.funcType, code: process.helpers[h]}
		return func(args ...uint64) {
			if err := f.Call(append(args, make([]uint64, 4-len(args))...), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill, widen, narrow := helper(abi.HelperHeapFill), helper(abi.HelperHeapWiden), helper(abi.HelperHeapNarrow)
	b := m.Bytes()
	for i := range b {
		b[i] = byte(i*7+i>>8) | 1
	}
	const value, to, from = 64, 1008, 20_000 // what fills is aligned as it is in the instance data
	want := slices.Clone(b)
	at := func(n int) uint64 { return uint64(m.base) + uint64(n) }
	for n := range 70 {
		for _, size := range []int{1, 2, 4, 8, 16} {
			fill(at(to+size), at(value), uint64(n), uint64(size))
			for k := range n {
				copy(want[to+size+k*size:], want[value:value+size])
			}
			if !slices.Equal(b, want) {
				t.Fatalf("fill with %d of %d bytes", n, size)
			}
		}
		widen(at(to), at(from), uint64(n))
		for k := range n {
			copy(want[to+8*k:], append(slices.Clone(want[from+4*k:from+4*k+4]), 0, 0, 0, 0))
		}
		if !slices.Equal(b, want) {
			t.Fatalf("widen %d", n)
		}
		narrow(at(to), at(from), uint64(n))
		for k := range n {
			copy(want[to+4*k:], want[from+8*k:from+8*k+4])
		}
		if !slices.Equal(b, want) {
			t.Fatalf("narrow %d", n)
		}
	}
}

func TestStoresInParallel(t *testing.T) {
	img := newBuilder().def("chain", fn(vt{i64, i64}, vt{i64})).image("init")
	m, err := Load(img)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 20 {
				s, err := NewStore(Config{})
				if err != nil {
					t.Error(err)
					return
				}
				i, err := s.Instantiate(m, nil)
				if err != nil {
					t.Error(err)
					return
				}
				want := uint64(g)
				for range 10000 {
					want *= 0x9e3779b97f4a7c15
					want = want<<7 | want>>57
				}
				got, err := call(t, i, "chain", uint64(g), 10000)
				if err != nil || got[0] != want {
					t.Error(got, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCall(b *testing.B) {
	s := newStore(b)
	i := instantiate(b, s, newBuilder().def("leaf", fn(nil, nil)).
		def("double", fn(vt{i64}, vt{i64})).image("init"), nil)
	b.Run("empty", func(b *testing.B) {
		f := export(b, i, "leaf")
		b.ReportAllocs()
		for b.Loop() {
			f.Call(nil, nil)
		}
	})
	b.Run("int", func(b *testing.B) {
		f := export(b, i, "double")
		w := []uint64{1}
		b.ReportAllocs()
		for b.Loop() {
			f.Call(w, w)
		}
	})
	b.Run("entered", func(b *testing.B) { // between Enter and Leave
		f := export(b, i, "leaf")
		if err := s.Enter(); err != nil {
			b.Fatal(err)
		}
		defer s.Leave()
		b.ReportAllocs()
		for b.Loop() {
			f.Call(nil, nil)
		}
	})
	b.Run("context", func(b *testing.B) { // one that has no end, but is not the background's
		f, ctx := export(b, i, "leaf"), context.WithValue(context.Background(), 0, 0)
		b.ReportAllocs()
		for b.Loop() {
			f.CallContext(ctx, nil, nil)
		}
	})
	refs := instantiate(b, s, newBuilder().def("leaf", fn(vt{xref}, nil)).def("double", fn(vt{fref}, vt{i64})).
		def("answer", fn(nil, vt{i32})).def("refunc", fn(nil, vt{fref})).image("init"), nil)
	for _, x := range []struct{ name, export string }{{"externref", "leaf"}, {"funcref", "double"}, {"funcref_result", "refunc"}} {
		b.Run(x.name, func(b *testing.B) {
			f, w := export(b, refs, x.export), []uint64{0}
			args, results := w[:len(f.Type().Params)], make([]uint64, len(f.Type().Results))
			if w[0] = f.Ref(); x.name == "externref" {
				w[0] = s.ExternRef(b)
			}
			b.ReportAllocs()
			for b.Loop() {
				f.Call(args, results)
			}
		})
	}
	b.Run("host", func(b *testing.B) { // a function of the host, called by Go
		h := host(b, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error { return nil })
		b.ReportAllocs()
		for b.Loop() {
			h.Call(nil, nil)
		}
	})
}

func BenchmarkHostCall(b *testing.B) {
	s := newStore(b)
	h := host(b, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error { return nil })
	i := instantiate(b, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("hostloop", fn(vt{i64}, nil)).image("init"), one(h))
	f := export(b, i, "hostloop")
	b.ReportAllocs()
	b.ResetTimer()
	if err := f.Call([]uint64{uint64(b.N)}, nil); err != nil {
		b.Fatal(err)
	}
}
