//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/host"
)

// rawStore is a store with functions that get and give words.
type rawStore struct {
	store               *host.Store
	put, get, same      *host.Func // compiled
	giveExtern, giveRef *host.Func // Go functions that give word
	word                uint64
	slots, table        *host.Table
	keep                *host.Instance
	called              uint64 // what the import of keep got last
	caller              *host.Caller
}

func newRawStore(t testing.TB) *rawStore {
	t.Helper()
	return must[*rawStore](t)(openRawStore(t, module(t, "keep"), module(t, "many")))
}

func openRawStore(t testing.TB, keep, many *host.Module) (*rawStore, error) {
	s, err := host.NewStore(nil)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	r := &rawStore{store: s}
	give := func(typ host.ValType) *host.Func {
		return must[*host.Func](t)(s.NewFunc(host.RawFunc{Results: []host.ValType{typ}, Func: func(_ *host.Caller, _, results []uint64) error {
			results[0] = r.word
			return nil
		}}))
	}
	r.giveExtern, r.giveRef = give(host.TypeExternRef), give(host.TypeFuncRef)
	if r.keep, err = s.Instantiate(bg, keep, host.Imports{"env": {"show": host.RawFunc{Params: []host.ValType{host.TypeExternRef},
		Func: func(c *host.Caller, args, _ []uint64) error {
			r.called, r.caller = args[0], c
			return nil
		}}}}); err != nil {
		return nil, err
	}
	e := env(t, s)
	i, err := s.Instantiate(bg, many, host.Imports{"env": e})
	if err != nil {
		return nil, err
	}
	r.put, r.get, r.same = function(t, r.keep, "put"), function(t, r.keep, "get"), function(t, i, "same")
	r.slots, r.table = must[*host.Table](t)(r.keep.Table("slots")), e["table"].(*host.Table)
	return r, nil
}

// TestWordsOfOthers gives a store words of externrefs and funcrefs of another one, while that is open
// and after it has been closed, stale words of its own, and those of the other kind.
func TestWordsOfOthers(t *testing.T) {
	a, b := newRawStore(t), newRawStore(t)
	if err := b.slots.Set(0, "own"); err != nil {
		t.Fatal(err)
	}
	x := must[uint64](t)(a.store.ExternRef("from a"))
	stale := must[uint64](t)(b.store.ExternRef("stale"))
	own := must[uint64](t)(b.store.ExternRef("own"))
	b.store.Release(stale)
	for range 10_000 { // collects
		b.store.Release(must[uint64](t)(b.store.ExternRef("garbage")))
	}
	f := a.same.Ref()
	refused := func(when string) {
		t.Helper()
		for _, c := range []struct {
			name string
			f    *host.Func
			args []uint64
			word *uint64
		}{
			{"externref", b.put, []uint64{0, x}, nil},
			{"stale", b.put, []uint64{0, stale}, nil},
			{"function for a value", b.put, []uint64{0, b.same.Ref()}, nil},
			{"funcref", b.same, []uint64{f}, nil},
			{"Go function", b.same, []uint64{a.giveRef.Ref()}, nil},
			{"value for a function", b.same, []uint64{own}, nil},
			{"number", b.same, []uint64{uint64(1) << 40}, nil},
			{"result", b.giveExtern, []uint64{0}, &x},
			{"stale result", b.giveExtern, []uint64{0}, &stale},
			{"result of a function", b.giveRef, []uint64{0}, &f},
		} {
			if c.word != nil {
				b.word = *c.word
			}
			err := c.f.CallRaw(bg, c.args)
			var e *host.ReferenceError
			if !errors.As(err, &e) || !errors.Is(err, host.ErrType) {
				t.Errorf("%s, %s: %v", when, c.name, err)
			}
		}
		if v, err := b.slots.Get(0); v != "own" || err != nil {
			t.Errorf("%s: %v, %v", when, v, err)
		}
		if b.store.Extern(x) != nil || b.store.Retain(x) || b.store.Extern(stale) != nil || b.store.FuncOf(f) != nil || b.store.FuncOf(own) != nil || b.store.Extern(b.same.Ref()) != nil {
			t.Errorf("%s: a word of something else", when)
		}
		b.store.Release(x)
	}
	refused("open")
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	refused("closed")
	c := newRawStore(t) // where the closed one was, perhaps
	b = c
	own = must[uint64](t)(c.store.ExternRef("own"))
	if err := c.slots.Set(0, "own"); err != nil {
		t.Fatal(err)
	}
	refused("another")
	// What is right goes through.
	stack := []uint64{0, own}
	if err := c.put.CallRaw(bg, stack); err != nil {
		t.Error(err)
	}
	c.word = c.same.Ref()
	for _, f := range []*host.Func{c.giveRef, c.same} {
		stack := []uint64{c.same.Ref()}
		if err := f.CallRaw(bg, stack); err != nil || c.store.FuncOf(stack[0]) != c.same {
			t.Errorf("%#x, %v", stack[0], err)
		}
	}
	if err := function(t, c.keep, "show").CallRaw(bg, []uint64{0}); err != nil || c.store.Extern(c.called) != "own" {
		t.Errorf("%v, %v", c.store.Extern(c.called), err)
	}
}

// TestEntitiesOfOthers gives a store functions, tables, memories and globals of another one.
func TestEntitiesOfOthers(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{"f", "nothing", "table", "memory", "global"} {
		for _, closed := range []bool{false, true} {
			other := newRawStore(t).store
			foreign := env(t, other)
			foreign["f"] = must[*host.Func](t)(other.NewFunc(foreign["f"]))
			foreign["nothing"] = must[*host.Func](t)(other.NewFunc(foreign["nothing"]))
			if closed {
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
			}
			e := env(t, s)
			e[name] = foreign[name]
			var link *host.LinkError
			if _, err := s.Instantiate(bg, module(t, "many"), host.Imports{"env": e}); !errors.As(err, &link) || link.Name != name {
				t.Errorf("%s, closed %v: %v", name, closed, err)
			}
		}
	}
}

// TestCallerAfterwards: a Caller that is used after its time knows nothing.
func TestCallerAfterwards(t *testing.T) {
	r := newRawStore(t)
	show := function(t, r.keep, "show")
	for _, closed := range []bool{false, true} {
		if !closed {
			if err := show.CallRaw(bg, []uint64{0}); err != nil {
				t.Fatal(err)
			}
		} else if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
		c := r.caller
		if c.Instance() != nil || c.Memory() != nil || c.Backtrace() != nil || c.Context() != context.Background() || c.Store() != r.store {
			t.Errorf("closed %v: something is left", closed)
		}
	}
}

// TestWordsWhileClosing uses words on some goroutines while others close the stores they are of: what is
// not refused gives the very value.
func TestWordsWhileClosing(t *testing.T) {
	keep, many := module(t, "keep"), module(t, "many")
	type shared struct {
		*rawStore
		ref uint64
	}
	var stores [2]atomic.Pointer[shared]
	open := func(n int) {
		r := must[*rawStore](t)(openRawStore(t, keep, many))
		s := &shared{rawStore: r}
		s.ref = must[uint64](t)(r.store.ExternRef(s))
		stores[n].Store(s)
	}
	open(0)
	open(1)
	stop := make(chan bool)
	var wg sync.WaitGroup
	var right, refused atomic.Int64
	for g := range 3 {
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				default:
				}
				s, other := stores[(g+k)%2].Load(), stores[(g+k+1)%2].Load()
				if v := s.store.Extern(s.ref); v != nil && v != s {
					t.Errorf("a word is %v", v)
				}
				if s.store.Extern(other.ref) != nil || s.store.FuncOf(other.same.Ref()) != nil {
					t.Error("a word of another store")
				}
				s.slots.Len()
				stack := []uint64{s.same.Ref()}
				if k%2 == 0 {
					stack[0] = other.same.Ref()
				}
				err := s.same.CallRaw(bg, stack)
				switch {
				case err == nil && (k%2 == 0 || stack[0] != s.same.Ref()):
					t.Errorf("%#x came through", stack[0])
				case err == nil:
					right.Add(1)
				case errors.Is(err, host.ErrBusy), errors.Is(err, host.ErrClosed), k%2 == 0 && errors.Is(err, host.ErrType):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	closed := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		n := closed % 2
		old := stores[n].Load()
		if old.store.Close() == nil {
			open(n)
			closed++
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d stores closed, %d words right, %d refused", closed, right.Load(), refused.Load())
	if closed == 0 || right.Load() == 0 || refused.Load() == 0 {
		t.Error("one-sided")
	}
}
