//go:build linux && (amd64 || arm64)

package inproc

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// object is a host value for the tests.
type object struct {
	id  int
	pad [6]int // no tiny allocation: each dies on its own
}

func storeWith(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func collect(t testing.TB, s *Store) int {
	t.Helper()
	if err := s.CollectRefs(); err != nil {
		t.Fatal(err)
	}
	return s.NumRefs()
}

func TestClaims(t *testing.T) {
	s := newStore(t)
	r := s.ExternRef("a")
	if collect(t, s) != 1 || s.Extern(r) != "a" || !s.Retain(r) {
		t.Error("pinned")
	}
	s.Release(r)
	if collect(t, s) != 1 || s.Extern(r) != "a" {
		t.Error("one claim is left")
	}
	s.Release(r)
	if s.Extern(r) != "a" { // not collected yet
		t.Error("released")
	}
	if collect(t, s) != 0 || s.Extern(r) != nil || s.Retain(r) {
		t.Error("collected")
	}
	other := s.ExternRef("b")
	if other == r || s.Extern(r) != nil || s.Extern(other) != "b" {
		t.Errorf("%#x %#x", r, other)
	}
	s.Release(r) // stale: no claim of the new one
	if collect(t, s) != 1 {
		t.Error("a stale handle released another one")
	}
	for _, x := range []uint64{0, 1, 5, 8, 1 << 63, ^uint64(0), r, other + 1, other + 4, other + 8, other | 1<<63} {
		s.Release(x)
		if s.Extern(x) != nil || s.Retain(x) {
			t.Errorf("%#x", x)
		}
	}
}

func TestStaleIsRefused(t *testing.T) {
	s := newStore(t)
	r := s.ExternRef("a")
	s.Release(r)
	collect(t, s)
	tab, err := s.NewTable(xref, Limits{Min: 1})
	if err != nil || tab.Set(0, r) != ErrType || tab.Grow(1, r) != growFailed || tab.Set(0, 3) != ErrType {
		t.Error("table", err)
	}
	g, err := s.NewGlobal(xref, true, 0, 0)
	if err != nil || g.Set(r) != ErrType || g.Set(0) != nil {
		t.Error("global", err)
	}
	if _, err := s.NewGlobal(xref, false, r, 0); err != ErrType {
		t.Error(err)
	}
	if _, err := s.NewGlobal(fref, false, 8, 0); err != ErrType {
		t.Error(err)
	}
	if g.Set(s.refs.next<<refShift|refExtern) != ErrType {
		t.Error("a handle of the future")
	}
	// Nor does one of another round keep the value in its slot, wherever it came from.
	r = s.ExternRef("b")
	s.Release(r)
	store64(tab.base, r+uint64(len(s.refs.slots))<<refShift)
	if collect(t, s) != 0 {
		t.Error("kept by another word")
	}
}

// TestSlots: handles survive that the slots become more, wherever the store has their numbers; no
// handle is given twice, and stale ones stay so.
func TestSlots(t *testing.T) {
	s := newStore(t)
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error {
		rng := rand.New(rand.NewPCG(1, 2))
		live, seen, stale := map[uint64]int{}, map[uint64]bool{}, []uint64(nil)
		sizes := map[int]bool{}
		for n := range 50_000 {
			r := s.ExternRef(n)
			if seen[r] {
				t.Fatalf("%#x again", r)
			}
			seen[r], live[r] = true, n
			sizes[len(s.refs.slots)] = true
			// About as many live ones as the round has come to, most of them locals.
			for old := range live {
				if len(live) <= 100+n/8 {
					break
				}
				s.Release(old)
				delete(live, old)
				stale = append(stale, old)
			}
			if rng.IntN(64) == 0 { // pinned, and given up at once as a local
				s.Retain(r)
				s.Release(r)
			}
		}
		s.CollectRefs()
		if s.NumRefs() != len(live) || s.NumLocals() != len(live) || len(sizes) < 5 {
			t.Error(s.NumRefs(), s.NumLocals(), len(live), sizes)
		}
		for r, n := range live {
			if s.Extern(r) != n {
				t.Fatalf("%#x is %v, not %d", r, s.Extern(r), n)
			}
		}
		for _, r := range stale {
			if s.Extern(r) != nil {
				t.Fatalf("%#x lives", r)
			}
		}
		return nil
	})
	if err := h.Call(nil, nil); err != nil {
		t.Fatal(err)
	}
	if n := collect(t, s); n != 0 || s.NumLocals() != 0 {
		t.Error(n, s.NumLocals())
	}
}

// TestRounds: however many of the slots are in use, a new handle is found in a few steps, and
// takes a few serial numbers.
func TestRounds(t *testing.T) {
	for _, always := range []bool{false, true} {
		for _, live := range []int{0, 1, 31, 32, 33, 62, 63, 64, 65, 511, 1022, 1025, 5000} {
			s := storeWith(t, Config{})
			for n := range live {
				s.ExternRef(n)
			}
			made := 100_000
			if s.config.CollectAlways = always; always {
				made = 1000
			}
			rounds, end := 0, s.refs.end
			for range made {
				s.Release(s.ExternRef(0))
				if s.refs.end != end {
					rounds, end = rounds+1, s.refs.end
				}
			}
			if taken := rounds * len(s.refs.slots); taken > 2*made+2*len(s.refs.slots) || len(s.refs.slots) > 16*max(live, minRefRoom) {
				t.Errorf("%d live: %d serial numbers for %d handles, %d slots", live, taken, made, len(s.refs.slots))
			}
		}
	}
}

// TestEpochs: marks of a collection 2^32 ago do not count.
func TestEpochs(t *testing.T) {
	s := newStore(t)
	tab, _ := s.NewTable(xref, Limits{Min: 1})
	kept, lost := s.ExternRef("kept"), s.ExternRef("lost")
	tab.Set(0, kept)
	collect(t, s)
	s.refs.slots[1].epoch = 1 // what the next collection is called
	s.refs.epoch = 1<<32 - 1
	s.Release(kept)
	s.Release(lost)
	if collect(t, s) != 1 || s.Extern(kept) != "kept" || s.Extern(lost) != nil {
		t.Error(s.refs)
	}
}

func TestTableRoots(t *testing.T) {
	s := newStore(t)
	tab, err := s.NewTable(xref, Limits{Min: 2, Max: 10, HasMax: true})
	if err != nil {
		t.Fatal(err)
	}
	var rs []uint64
	for n := range 3 {
		rs = append(rs, s.ExternRef(n))
		s.Release(rs[n])
	}
	tab.Set(0, rs[0])
	tab.Grow(1, rs[1])
	store64(tab.base+3*8, rs[2]) // beyond the end: not a root
	if collect(t, s) != 2 || s.Extern(rs[0]) != 0 || s.Extern(rs[1]) != 1 || s.Extern(rs[2]) != nil {
		t.Error("table")
	}
	tab.Set(2, 0)
	g, _ := s.NewGlobal(xref, true, rs[0], 0)
	tab.Set(0, 0)
	if collect(t, s) != 1 || s.Extern(g.Get()) != 0 {
		t.Error("global")
	}
}

// TestDataRoots: globals and an element segment of an instance, until it is dropped.
func TestDataRoots(t *testing.T) {
	s := newStore(t)
	b := newBuilder().global(meta.Global{Type: xref, Mutable: true}).global(meta.Global{Type: i64, Mutable: true}).
		global(meta.Global{Type: xref}).export("g", abi.ExternGlobal, 0).export("n", abi.ExternGlobal, 1)
	pair, array := b.slots["pair0"], b.slots["desc2"]
	b.m.Elems = []meta.Elem{{Pair: pair, Array: array, Len: 2}}
	i := instantiate(t, s, b.image("init"), nil)
	var rs []uint64
	for n := range 6 {
		rs = append(rs, s.ExternRef(n))
		s.Release(rs[n])
	}
	g, _ := i.Global("g")
	n, _ := i.Global("n")
	g.Set(rs[0])
	n.Set(rs[1])
	store64(i.data+uintptr(b.slots["global2"]), rs[2])
	for k := range uintptr(3) {
		store64(i.data+uintptr(array)+8*k, rs[3+k])
	}
	alive := func(want ...int) {
		t.Helper()
		var got []int
		collect(t, s)
		for n, r := range rs {
			if s.Extern(r) == n {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v live, want %v", got, want)
		}
	}
	store64(i.data+uintptr(pair)+8, 99) // more than there are
	alive(0, 2, 3, 4)
	store64(i.data+uintptr(pair)+8, 1)
	alive(0, 2, 3)
	store64(i.data+uintptr(pair)+8, 0)
	g.Set(0)
	i.Close()
	alive(2)
	b = newBuilder()
	b.m.Elems = []meta.Elem{{Pair: pair, Array: b.m.InstanceSize - 8, Len: 2}}
	var bad *ImageError
	if _, err := s.Load(b.image("init")); !errors.As(err, &bad) {
		t.Error(err)
	}
}

// TestFrameRoots: what a stack map lists is kept, and nothing else; also further out.
func TestFrameRoots(t *testing.T) {
	for _, always := range []bool{false, true} {
		s := storeWith(t, Config{CollectAlways: always})
		var f *Func
		depth := 0
		var outer, made uint64
		h := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
			if depth++; depth == 1 {
				made = s.ExternRef("made")
				s.Release(outer)
				res := []uint64{0}
				if err := f.Call([]uint64{made, 0}, res); err != nil || res[0] != made {
					t.Error(res, err)
				}
				return nil
			}
			s.CollectRefs()
			if depth == 2 && (s.NumRefs() != 2 || s.Extern(outer) != "outer" || s.Extern(made) != "made") {
				t.Error(s.refs)
			}
			return nil
		})
		i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
			def("keep", fn(vt{xref, xref}, vt{xref})).image("init"), one(h))
		f = export(t, i, "keep")
		outer = s.ExternRef("outer")
		r, err := call(t, i, "keep", outer, 0)
		if err != nil || s.Extern(r[0]) != "outer" || s.NumLocals() != 0 {
			t.Error(r, err)
		}
		// A result is kept until the next call, and no longer.
		if collect(t, s) != 1 || s.Extern(r[0]) != "outer" || s.Extern(made) != nil {
			t.Error(s.refs)
		}
		depth = 2
		if r, err = call(t, i, "keep", r[0], 0); err != nil || s.Extern(r[0]) != "outer" {
			t.Error(r, err)
		}
		call(t, i, "keep", 0, 0)
		if collect(t, s) != 0 || s.Extern(r[0]) != nil {
			t.Error("result still kept")
		}
	}
}

// TestLocals: what host functions called from Go keep, nested, and give up.
func TestLocals(t *testing.T) {
	s := newStore(t)
	var g *Func
	var inner, first, second uint64
	g = host(t, s, fn(vt{xref}, vt{xref}), func(c *Caller, args, results []uint64) error {
		inner = s.ExternRef("inner")
		s.Release(first) // not its own
		results[0] = s.ExternRef("result")
		if collect(t, s) < 3 || s.Extern(args[0]) != "first" {
			t.Error("inner")
		}
		return nil
	})
	f := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
		first, second = s.ExternRef("first"), s.ExternRef("second")
		res := []uint64{0}
		if err := g.Call([]uint64{first}, res); err != nil {
			t.Error(err)
		}
		if n := collect(t, s); n != 3 || s.Extern(inner) != nil || s.Extern(res[0]) != "result" || s.Extern(first) != "first" {
			t.Error(n, s.refs)
		}
		// The same result many times is one local.
		keep := res[0]
		for range 10 {
			g.Call([]uint64{first}, res)
			s.Release(res[0])
			if s.NumLocals() != 3 || s.Extern(keep) != "result" {
				t.Fatal(s.refs)
			}
		}
		s.Release(first)
		if n := collect(t, s); n != 2 || s.Extern(first) != nil || s.Extern(second) != "second" || s.Extern(keep) != "result" {
			t.Error(n, s.refs)
		}
		s.Retain(second)
		return nil
	})
	if err := f.Call(nil, nil); err != nil {
		t.Fatal(err)
	}
	if n := collect(t, s); n != 1 || s.Extern(second) != "second" || s.NumLocals() != 0 {
		t.Error(n, s.refs)
	}
}

// TestLocalsOfFailures: errors, panics and traps end what host functions keep.
func TestLocalsOfFailures(t *testing.T) {
	for _, always := range []bool{false, true} {
		s := storeWith(t, Config{CollectAlways: always})
		stop := errors.New("stop")
		var nested *Func
		how := ""
		h := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
			for n := range 3 {
				s.ExternRef(n)
			}
			switch how {
			case "error":
				return stop
			case "panic":
				panic(stop)
			case "nested error", "nested panic", "nested trap":
				_, how, _ = cut(how)
				return nested.Call([]uint64{s.ExternRef("a"), s.ExternRef("b")}, []uint64{0})
			case "trap":
				u, _ := c.Instance().Func("unreachable")
				return u.Call(nil, nil)
			}
			return nil
		})
		i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
			def("keep", fn(vt{xref, xref}, vt{xref})).def("unreachable", fn(nil, nil)).image("init"), one(h))
		nested = export(t, i, "keep")
		for _, how = range []string{"error", "panic", "trap", "nested error", "nested panic", "nested trap", ""} {
			name := how
			func() {
				defer func() {
					if r := recover(); r != nil && r != stop {
						panic(r)
					}
				}()
				a := s.ExternRef("a")
				defer s.Release(a)
				if _, err := call(t, i, "keep", a, a); (err == nil) != (name == "") {
					t.Errorf("%q: %v", name, err)
				}
			}()
			if s.NumLocals() != 0 || s.depth != 0 {
				t.Errorf("%q: %d locals, depth %d", name, s.NumLocals(), s.depth)
			}
			how = ""
			call(t, i, "keep", 0, 0)
			if n := collect(t, s); n != 0 {
				t.Errorf("%q: %d references left", name, n)
			}
			for _, c := range s.activations {
				if c.words.typ != nil {
					t.Errorf("%q: words of a host function that has ended", name)
				}
			}
		}
	}
}

// TestLocalsOfCancelledCalls: so does the end of the context.
func TestLocalsOfCancelledCalls(t *testing.T) {
	for _, always := range []bool{false, true} {
		s := storeWith(t, Config{CollectAlways: always})
		ctx, cancel := context.WithCancel(context.Background())
		h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error {
			s.ExternRef("local")
			cancel()
			for !s.callEnded() {
				time.Sleep(time.Millisecond)
			}
			if s.ExternRef("late"); collect(t, s) != 3 {
				t.Error(s.refs)
			}
			return nil
		})
		i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
			def("keep", fn(vt{xref, xref}, vt{xref})).image("init"), one(h))
		a := s.ExternRef("a")
		s.Release(a)
		if err := export(t, i, "keep").CallContext(ctx, []uint64{a, 0}, []uint64{0}); !errors.Is(err, ErrCancelled) {
			t.Error(err)
		}
		if collect(t, s) != 0 || s.NumLocals() != 0 {
			t.Error(s.refs)
		}
	}
}

func cut(s string) (string, string, bool) {
	i := slices.Index([]byte(s), ' ')
	return s[:i], s[i+1:], true
}

// TestValuesDie: Go's collector takes the values of collected handles, and of a
// closed store.
func TestValuesDie(t *testing.T) {
	s := storeWith(t, Config{})
	x, y := &object{id: 1}, &object{id: 2}
	wx, wy := weak.Make(x), weak.Make(y)
	s.Release(s.ExternRef(x))
	s.ExternRef(y)
	collect(t, s)
	x, y = nil, nil
	runtime.GC()
	if wx.Value() != nil || wy.Value() == nil {
		t.Error("the wrong one lives")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if wy.Value() != nil {
		t.Error("lives in a closed store")
	}
	if s.CollectRefs() != ErrClosed || s.Extern(2) != nil || s.NumRefs() != 0 {
		t.Error("closed store")
	}
	runtime.KeepAlive(s)
}

// TestCollectsByItself: garbage is bounded without a call of CollectRefs, and the work
// per handle too, whatever the number of live handles and the size of tables.
func TestCollectsByItself(t *testing.T) {
	s := newStore(t)
	tab, err := s.NewTable(xref, Limits{Min: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	const live = 5000
	for n := range uint64(live) {
		r := s.ExternRef(n)
		tab.Set(n*7, r)
		s.Release(r)
	}
	start := s.refs.epoch
	most := 0
	const total = 1_000_000
	for range total {
		s.Release(s.ExternRef(s))
		most = max(most, s.NumRefs())
	}
	n := int(s.refs.epoch - start)
	if most > live+2+1<<20/8 || n == 0 || n > total/(1<<20/8)+2 {
		t.Errorf("at most %d in use, %d collections", most, n)
	}
	if collect(t, s) != live {
		t.Error(s.NumRefs())
	}
	for n := range uint64(live) {
		if r, _ := tab.Get(n * 7); s.Extern(r) != n {
			t.Fatal(n)
		}
	}
}

func TestCollectBusy(t *testing.T) {
	s := newStore(t)
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error {
		done := make(chan error)
		go func() { done <- s.CollectRefs() }()
		return <-done
	})
	if err := h.Call(nil, nil); err != ErrBusy {
		t.Error(err)
	}
}

func BenchmarkExternRef(b *testing.B) {
	s := newStore(b)
	var v any = &object{}
	b.ReportAllocs()
	for b.Loop() {
		s.Release(s.ExternRef(v))
	}
}

// BenchmarkHostCallRef is a call of a host function that gets and gives a reference.
func BenchmarkHostCallRef(b *testing.B) {
	s := newStore(b)
	ref := s.ExternRef("a") // what it gets is no reference, which the code here does not need
	h := host(b, s, fn(vt{xref}, vt{xref}), func(_ *Caller, args, results []uint64) error {
		results[0] = ref
		return nil
	})
	i := instantiate(b, s, newBuilder().imp("env", "h", fn(vt{xref}, vt{xref})).
		def("hostloop", fn(vt{i64}, nil)).image("init"), one(h))
	f := export(b, i, "hostloop")
	b.ReportAllocs()
	b.ResetTimer()
	if err := f.Call([]uint64{uint64(b.N)}, nil); err != nil {
		b.Fatal(err)
	}
}

// TestHelpersThatCollect: the helpers that run on the Go stack, and may collect, are those that the
// binary interface says may; the others are machine code. waot_heap_new is machine code that goes on there where there is no room.
func TestHelpersThatCollect(t *testing.T) {
	if err := process.start(); err != nil {
		t.Fatal(err)
	}
	for h, info := range abi.Helpers {
		if leaf := process.helpers[h] != 0; leaf == info.Collects && abi.Helper(h) != abi.HelperHeapNew {
			t.Errorf("%s: machine code %v, collects %v", info.Symbol, leaf, info.Collects)
		}
	}
}
