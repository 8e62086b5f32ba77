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

// Whatever way a host function ends, the next goroutine gets in. The first calls of a
// goroutine are regular, the later ones by a grant.
func TestLeaveAfterPanic(t *testing.T) {
	mode := ""
	stop := errors.New("stop")
	_, i := newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
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
		for granted := range 4 {
			done := make(chan bool)
			go func() {
				defer close(done)
				defer func() { recover() }()
				r := make([]uint64, 1)
				mode = ""
				for range granted {
					if err := once.CallContext(context.Background(), nil, r); err != nil {
						t.Error(err)
					}
				}
				mode = m
				if err := once.Call(nil, r); m == "error" && err != stop {
					t.Error(err)
				}
			}()
			<-done
			mode = ""
			if err := once.CallContext(ctx, nil, make([]uint64, 1)); err != nil {
				t.Errorf("after %q: %v", m, err)
			}
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
