//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/host/inproc"
)

// Goroutines that take turns and collide: at most one is ever inside, and none is lost.
func TestOneInside(t *testing.T) {
	var inside, calls, busy atomic.Int64
	unguarded := 0
	_, i := newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		if inside.Add(1) != 1 {
			t.Error("two goroutines inside")
		}
		unguarded++
		if unguarded%64 == 0 {
			runtime.Gosched()
		}
		inside.Add(-1)
		return nil
	})
	once, sum := export(t, i, "once"), export(t, i, "sum")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := make([]uint64, 1)
			for n := range 20_000 {
				f, args := once, []uint64(nil)
				if (n+g)%3 == 0 {
					f, args = sum, []uint64{5}
				}
				err := f.Call(args, r)
				switch {
				case err == inproc.ErrBusy:
					busy.Add(1)
					runtime.Gosched()
				case err != nil:
					t.Error(err)
					return
				case f == once:
					calls.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if int64(unguarded) != calls.Load() || calls.Load() == 0 {
		t.Errorf("%d calls, %d seen", calls.Load(), unguarded)
	}
	t.Log(calls.Load(), "calls", busy.Load(), "refused")
}

// waysIn are the ways into a store, with a call of f, which has one result.
var waysIn = []struct {
	name string
	call func(s *inproc.Store, f *inproc.Func) error
}{
	{"plain", func(s *inproc.Store, f *inproc.Func) error { return f.Call(nil, make([]uint64, 1)) }},
	{"plain, stack", func(s *inproc.Store, f *inproc.Func) error { return f.CallStack(nil, make([]uint64, 1)) }},
	{"context", func(s *inproc.Store, f *inproc.Func) error {
		return f.CallContext(endlessContext{context.Background()}, nil, make([]uint64, 1))
	}},
	{"entered", func(s *inproc.Store, f *inproc.Func) error {
		if err := s.Enter(); err != nil {
			return err
		}
		defer s.Leave()
		return f.Call(nil, make([]uint64, 1))
	}},
	{"held", func(s *inproc.Store, f *inproc.Func) error {
		outer, err := s.Hold()
		if outer {
			defer s.Leave()
		}
		if err == nil {
			err = f.CallContext(endlessContext{context.Background()}, nil, make([]uint64, 1))
		}
		return err
	}},
}

// endlessContext is not context.Background(), and synchronises nothing.
type endlessContext struct{ context.Context }

func (endlessContext) Done() <-chan struct{} { return nil }
func (endlessContext) Err() error            { return nil }

// What one goroutine did inside comes before what the next one does: the race detector would tell.
func TestHandOver(t *testing.T) {
	const goroutines, each = 4, 3000
	unguarded := 0 // nothing but the store orders its accesses
	s, i := newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		unguarded++
		return nil
	})
	once := export(t, i, "once")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for n := range each {
				way := &waysIn[(n+g)%len(waysIn)]
				err := way.call(s, once)
				for ; err == inproc.ErrBusy; err = way.call(s, once) {
					runtime.Gosched()
				}
				if err != nil {
					t.Error(way.name, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if unguarded != goroutines*each {
		t.Errorf("%d calls seen of %d", unguarded, goroutines*each)
	}
}

// Whatever way a host function ends, and its goroutine went in, the next one gets in.
func TestLeaveAfterPanic(t *testing.T) {
	mode := ""
	stop := errors.New("stop")
	s, i := newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		switch mode {
		case "panic":
			panic(mode)
		case "goexit":
			runtime.Goexit()
		case "error":
			return stop
		}
		return nil
	})
	once := export(t, i, "once")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, m := range []string{"panic", "goexit", "error", "", "panic"} {
		for _, way := range waysIn {
			for before := range 3 {
				done := make(chan bool)
				go func() {
					defer close(done)
					defer func() { recover() }()
					mode = ""
					for range before {
						if err := way.call(s, once); err != nil {
							t.Error(err)
						}
					}
					mode = m
					if err := way.call(s, once); m == "error" && err != stop {
						t.Error(err)
					}
				}()
				<-done
				mode = ""
				if err := s.Enter(); err != nil {
					t.Fatalf("%s, after %q: %v", way.name, m, err)
				}
				s.Leave()
				if err := once.CallContext(ctx, nil, make([]uint64, 1)); err != nil {
					t.Errorf("%s, after %q: %v", way.name, m, err)
				}
			}
		}
	}
}

// A panic of a host function ends the calls it unwinds, not what Enter began.
func TestPanicEntered(t *testing.T) {
	fail := true
	s, i := newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		if fail {
			panic("from the host")
		}
		return nil
	})
	once := export(t, i, "once")
	for _, way := range waysIn[:3] {
		if err := s.Enter(); err != nil {
			t.Fatal(way.name, err)
		}
		fail = true
		func() {
			defer func() {
				if recover() == nil {
					t.Error(way.name, "no panic")
				}
			}()
			way.call(s, once)
		}()
		fail = false
		result := make(chan error)
		go func() { result <- way.call(s, once) }()
		if err := <-result; err != inproc.ErrBusy {
			t.Error(way.name, "another goroutine:", err)
		}
		if err := way.call(s, once); err != nil {
			t.Error(way.name, err)
		}
		s.Leave()
		go func() { result <- way.call(s, once) }()
		if err := <-result; err != nil {
			t.Error(way.name, "after Leave:", err)
		}
	}
}

// Inside is inside, whichever way in was taken.
func TestEnter(t *testing.T) {
	s, i := newLoops(t, nil)
	sum, r := export(t, i, "sum"), make([]uint64, 1)
	for range 3 {
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := sum.Call([]uint64{3}, r); err != nil {
				t.Error(err)
			}
		}
		if err := s.Enter(); err != inproc.ErrBusy {
			t.Error(err)
		}
		if err := s.Close(); err != inproc.ErrBusy {
			t.Error(err)
		}
		refused := make(chan error)
		go func() { refused <- sum.Call([]uint64{3}, make([]uint64, 1)) }()
		if err := <-refused; err != inproc.ErrBusy {
			t.Error(err)
		}
		s.Leave()
		go func() { refused <- sum.Call([]uint64{3}, make([]uint64, 1)) }()
		if err := <-refused; err != nil {
			t.Error(err)
		}
	}
}
