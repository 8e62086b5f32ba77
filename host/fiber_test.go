//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/host"
)

// holds calls a Go function that may wait, from some frames further in, with a reference and a number in its frames meanwhile.
const holds = `(module (import "env" "wait" (func $wait (param i32) (result i32)))
	(func (export "f") (param $n i32) (param $x externref) (result i32 externref)
		(call $deep (local.get $n) (i32.const 5) (local.get $x)))
	(func $deep (param $n i32) (param $left i32) (param $x externref) (result i32 externref) (local $before i32)
		(local.set $before (i32.mul (local.get $n) (i32.const 7)))
		(if (local.get $left) (then (return (call $deep (local.get $n) (i32.sub (local.get $left) (i32.const 1)) (local.get $x)))))
		(i32.add (call $wait (local.get $n)) (local.get $before)) (local.get $x))
	(func (export "loop") (loop (br 0)))
	(func (export "small") (param i32) (result i32) (local.get 0)))`

// waiting is an instance of holds whose Go function lets others in, and calls what wait is at the moment.
type waiting struct {
	t        *testing.T
	store    *host.Store
	f, small *host.Func
	loop     *host.Func
	wait     func(c *host.Caller, n int32) (int32, error)
}

func newWaiting(t *testing.T, o *host.StoreOptions) *waiting {
	w := &waiting{t: t, store: must[*host.Store](t)(host.NewStore(o))}
	inst := must[*host.Instance](t)(w.store.Instantiate(bg, text(t, holds), host.Imports{"env": {
		"wait": func(c *host.Caller, n int32) (int32, error) {
			c.Leave()
			r, err := w.wait(c, n)
			c.Enter()
			return r, err
		},
	}}))
	w.f, w.small, w.loop = function(t, inst, "f"), function(t, inst, "small"), function(t, inst, "loop")
	return w
}

// call calls a function until nobody else is inside.
func (w *waiting) call(ctx context.Context, f *host.Func, args ...any) ([]any, error) {
	for {
		r, err := f.Call(ctx, args...)
		if !errors.Is(err, host.ErrBusy) {
			return r, err
		}
		runtime.Gosched()
	}
}

// check calls f and compares what it gives.
func (w *waiting) check(n int32) {
	value := &struct{ n int32 }{n}
	if r, err := w.call(bg, w.f, n, value); err != nil || r[0] != 8*n || r[1] != value {
		w.t.Errorf("f(%d): %v, %v", n, r, err)
	}
}

// collect makes the store look for references that are not needed any more.
func (w *waiting) collect() {
	for i := range 2000 {
		if _, err := w.store.ExternRef(i); err != nil && !errors.Is(err, host.ErrBusy) {
			w.t.Error(err)
		}
	}
}

// close closes the store, which must have no calls any more.
func (w *waiting) close() {
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

// A coroutine is left inside a call, by another goroutine's Go function that ends before it; and again.
func TestCoroutineLeftInCall(t *testing.T) {
	w := newWaiting(t, nil)
	var yield func(int32) bool
	next, stop := iter.Pull(func(y func(int32) bool) {
		yield = y
		for n := range int32(3) {
			w.check(1000 + n)
		}
	})
	defer stop()
	w.wait = func(c *host.Caller, n int32) (int32, error) {
		if n < 1000 {
			v, _ := next()
			if n%2 == 0 {
				w.check(n + 1) // a call of its own
			}
			return n + v - v, nil
		}
		yield(n)
		return n, nil
	}
	for n := range int32(4) {
		w.check(2 * n)
		if n == 0 {
			if err := w.store.Close(); !errors.Is(err, host.ErrBusy) {
				t.Fatalf("closing a store with a call of a coroutine: %v", err)
			}
		}
		w.collect()
	}
	w.close()
}

// Goroutines wait inside calls and end in random order, while others call and references are collected.
func TestCallsEndInAnyOrder(t *testing.T) {
	for seed := range uint64(4) {
		w := newWaiting(t, nil)
		const calls = 40
		r := rand.New(rand.NewPCG(seed, 7))
		var ends [calls]chan error
		arrived := make(chan int32, calls)
		for n := range ends {
			ends[n] = make(chan error)
		}
		w.wait = func(c *host.Caller, n int32) (int32, error) {
			if n >= calls {
				return n, nil
			}
			arrived <- n
			err := <-ends[n]
			if err != nil && err.Error() == "panic" {
				panic(err)
			}
			return n, err
		}
		var wg sync.WaitGroup
		failed := func(n int32, want error) {
			defer func() {
				if r := recover(); r != nil && r != want {
					t.Errorf("a panic with %v", r)
				}
			}()
			if _, err := w.call(bg, w.f, n, nil); err != want {
				t.Errorf("f(%d): %v", n, err)
			}
		}
		errs := [...]error{nil, nil, nil, errors.New("error"), errors.New("panic")}
		begun := 0
		for _, n := range r.Perm(calls) {
			err := errs[n%len(errs)]
			wg.Go(func() {
				if err != nil {
					failed(int32(n), err)
				} else {
					w.check(int32(n))
				}
			})
			<-arrived
			if begun++; begun%7 == 0 {
				w.check(calls + int32(n))
				w.collect()
			}
		}
		for i, n := range r.Perm(calls) {
			ends[n] <- errs[n%len(errs)]
			if i%5 == 0 {
				w.check(calls + int32(n))
			}
		}
		wg.Wait()
		w.close()
	}
}

// The end of a context ends the call that has it, and none of other goroutines.
func TestCancelOneGoroutine(t *testing.T) {
	w := newWaiting(t, nil)
	arrived, end := make(chan bool), make(chan bool)
	w.wait = func(c *host.Caller, n int32) (int32, error) {
		if n < 10 {
			arrived <- true
			<-end
		}
		return n, nil
	}
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := w.call(ctx, w.f, int32(1), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("the call whose context has ended: %v", err)
		}
	})
	<-arrived
	wg.Go(func() { w.check(2) })
	<-arrived
	w.check(10)
	cancel()
	time.Sleep(time.Millisecond)
	w.check(11)
	end <- true // of one of the two
	end <- true
	wg.Wait()
	w.check(12)
	short, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	wg.Go(func() { w.check(3) })
	<-arrived
	if _, err := w.call(short, w.loop); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a loop: %v", err)
	}
	end <- true
	wg.Wait()
	w.close()
}

// A store has a bounded number of stacks, and gives them back.
func TestManyGoroutinesAway(t *testing.T) {
	w := newWaiting(t, nil)
	end := make(chan bool)
	arrived := make(chan bool)
	w.wait = func(c *host.Caller, n int32) (int32, error) {
		arrived <- true
		<-end
		return n, nil
	}
	var limit *host.LimitError
	var wg sync.WaitGroup
	for n := int32(0); limit == nil; n++ {
		if n > 5000 {
			t.Fatal("no limit")
		}
		done := make(chan error, 1)
		wg.Go(func() {
			_, err := w.call(bg, w.f, n, nil)
			done <- err
		})
		select {
		case <-arrived:
		case err := <-done:
			if !errors.As(err, &limit) {
				t.Fatalf("call %d: %v", n, err)
			}
		}
	}
	if got, want := limit.Error(), fmt.Sprintf("%d goroutines with calls in a store wanted, limit %d", limit.Want, limit.Limit); got != "waot: "+want && got != want {
		t.Error(got)
	}
	close(end)
	wg.Wait()
	w.close()
	must[*host.Store](t)(host.NewStore(nil)).Close()
}

// A snapshot goes back to where a goroutine was while another one is in a call.
func TestSnapshotBesideOthers(t *testing.T) {
	w := newWaiting(t, nil)
	end, arrived := make(chan bool), make(chan bool)
	var place *host.Snapshot
	times := 0
	w.wait = func(c *host.Caller, n int32) (_ int32, err error) {
		if n == 1 {
			arrived <- true
			<-end
			return n, nil
		}
		if times++; times > 1 {
			return 0, place.Restore(uint64(uint32(n)))
		}
		var wg sync.WaitGroup
		wg.Go(func() { _, err = w.call(bg, w.small, int32(1)) }) // parks this call
		if wg.Wait(); err != nil {
			return 0, err
		}
		if place, err = w.store.Snapshot(); err != nil {
			return 0, err
		}
		return 0, place.Restore(uint64(uint32(n)))
	}
	var wg sync.WaitGroup
	wg.Go(func() { w.check(1) })
	<-arrived
	w.check(2)
	end <- true
	wg.Wait()
	w.close()
}
