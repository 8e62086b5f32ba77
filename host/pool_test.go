//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// counter is a module whose state tells whether it is new; work traps if its argument is negative, and does not end if it is 0.
const counter = `(module (import "env" "seen" (func $seen (param i32)))
	(memory (export "memory") 1) (global $n (mut i32) (i32.const 0))
	(func (export "work") (param $x i32) (result i32)
		(call $seen (local.get $x))
		(if (i32.lt_s (local.get $x) (i32.const 0)) (then unreachable))
		(if (i32.eqz (local.get $x)) (then (loop $l (br $l))))
		(global.set $n (i32.add (global.get $n) (local.get $x)))
		(drop (memory.grow (i32.const 1)))
		(i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (global.get $n)))
		(i32.add (i32.load (i32.const 8)) (memory.size))))`

// poolSystem is a System that counts; sum has the calls.
type poolSystem struct {
	sum            *atomic.Int64
	open           *atomic.Int64
	resets, closed int
	fails          bool
}

func (s *poolSystem) Imports() host.Imports {
	return host.Imports{"env": {"seen": func(x int32) { s.sum.Add(1) }}}
}

func (s *poolSystem) Reset() error {
	if s.resets++; s.fails {
		return errors.New("no reset")
	}
	return nil
}

func (s *poolSystem) Close() error {
	s.closed++
	s.open.Add(-1)
	return nil
}

// TestPool: goroutines take instances, which are new to each of them, and never more than there may be; broken ones are closed.
func TestPool(t *testing.T) {
	const most, workers = 3, 8
	rounds := 300
	var sum, open, top, prepared atomic.Int64
	p := host.NewPool(text(t, counter), &host.PoolOptions{Max: most,
		System: func() (host.System, error) {
			if n := open.Add(1); n > most {
				t.Errorf("%d instances", n)
			}
			return &poolSystem{sum: &sum, open: &open}, nil
		},
		Prepare: func(context.Context, *host.Instance) error { prepared.Add(1); return nil }})
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for n := range rounds {
				x, err := p.Get(bg)
				if err != nil {
					t.Error(err)
					return
				}
				top.Store(max(top.Load(), open.Load()))
				work := must[*host.Func](t)(x.Func("work"))
				switch arg := int32(1 + k + n); {
				case n%10 == 3:
					if _, err := work.Call(bg, int32(-1)); err == nil {
						t.Error("no trap")
					}
				case n%50 == 7:
					ctx, cancel := context.WithTimeout(bg, time.Millisecond)
					if _, err := work.Call(ctx, int32(0)); !errors.Is(err, host.ErrCancelled) {
						t.Error(err)
					}
					cancel()
				default:
					if got, err := work.Call(bg, arg); err != nil || got[0] != arg+2 {
						t.Errorf("work(%d) gives %v, %v", arg, got, err)
					}
				}
				if n%20 == 5 {
					x.Discard()
				}
				x.Release()
				x.Release()
			}
		})
	}
	wg.Wait()
	if open.Load() == 0 || top.Load() < 2 || prepared.Load() < workers*int64(rounds)/2 {
		t.Errorf("%d instances are kept, %d were in use at once, prepared %d times", open.Load(), top.Load(), prepared.Load())
	}
	if err := p.Close(); err != nil || open.Load() != 0 {
		t.Error(err, open.Load())
	}
	if err := p.Close(); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
	if _, err := p.Get(bg); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
}

// TestPoolWaits: Get waits until an instance is given back, its context ends, or the pool is closed.
func TestPoolWaits(t *testing.T) {
	p := host.NewPool(text(t, strings.Replace(counter, `(import "env" "seen" (func $seen (param i32)))`, `(func $seen (param i32))`, 1)), &host.PoolOptions{Max: 1})
	first := must[*host.PoolInstance](t)(p.Get(nil))
	same := first.Instance
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	if _, err := p.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	got := make(chan *host.PoolInstance)
	go func() {
		x, err := p.Get(bg)
		if err != nil {
			t.Error(err)
		}
		got <- x
	}()
	select {
	case <-got:
		t.Error("two instances")
	case <-time.After(5 * time.Millisecond):
	}
	first.Release()
	second := <-got
	if second.Instance != same || first.Instance != nil {
		t.Error("another instance, or the first user has it still")
	}
	failed := make(chan error)
	go func() {
		_, err := p.Get(bg)
		failed <- err
	}()
	time.Sleep(time.Millisecond)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
	f := must[*host.Func](t)(second.Func("work"))
	second.Release()
	if _, err := f.Call(bg, int32(1)); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
}

// TestPoolErrors: what cannot be made, or reset, is closed, and its place is free again.
func TestPoolErrors(t *testing.T) {
	var open atomic.Int64
	var sum atomic.Int64
	sys := &poolSystem{sum: &sum, open: &open}
	refuse := errors.New("refused")
	var prepare, makes error
	o := &host.PoolOptions{Max: 2, // one will run when it is given back
		System:  func() (host.System, error) { open.Add(1); return sys, makes },
		Prepare: func(context.Context, *host.Instance) error { return prepare },
		Imports: func(s *host.Store) (host.Imports, error) { return nil, nil },
	}
	p := host.NewPool(text(t, counter), o)
	defer p.Close()
	for _, what := range []*error{&prepare, &makes} {
		*what = refuse
		for range 3 {
			if _, err := p.Get(bg); !errors.Is(err, refuse) {
				t.Error(err)
			}
		}
		*what = nil
	}
	open.Add(-3) // what was made with an error is not closed
	x := must[*host.PoolInstance](t)(p.Get(bg))
	inst := x.Instance
	sys.fails = true
	x.Release()
	sys.fails = false
	x = must[*host.PoolInstance](t)(p.Get(bg))
	if x.Instance == inst || x.System != host.System(sys) {
		t.Error("an instance that was not reset is handed out")
	}
	inst = x.Instance
	prepare = refuse
	x.Release()
	prepare = nil
	if x = must[*host.PoolInstance](t)(p.Get(bg)); x.Instance == inst {
		t.Error("an instance that was not prepared is handed out")
	}
	// Given back while code runs on another goroutine: closed when that ends.
	ctx, cancel := context.WithCancel(bg)
	done := make(chan error)
	f := must[*host.Func](t)(x.Func("work"))
	before, calls := open.Load(), sum.Load()
	go func() {
		_, err := f.Call(ctx, int32(0))
		done <- err
	}()
	for sum.Load() == calls {
		runtime.Gosched()
	}
	x.Release()
	if y := must[*host.PoolInstance](t)(p.Get(bg)); y.Instance == inst {
		t.Error("an instance that runs is handed out")
	} else {
		y.Release()
	}
	cancel()
	if err := <-done; !errors.Is(err, host.ErrCancelled) {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); open.Load() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(fmt.Sprint("what was given back while it ran stays: ", open.Load(), before))
		}
	}
}

// TestPoolStart: the system is new before the start function runs again.
func TestPoolStart(t *testing.T) {
	sys := &orderedSystem{}
	p := host.NewPool(text(t, `(module (import "env" "seen" (func $seen)) (start $seen))`), &host.PoolOptions{Max: 1, System: func() (host.System, error) { return sys, nil }})
	defer p.Close()
	for range 3 {
		must[*host.PoolInstance](t)(p.Get(bg)).Release()
	}
	if got, want := strings.Join(sys.what, " "), "start reset start reset start reset start"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

type orderedSystem struct{ what []string }

func (s *orderedSystem) Imports() host.Imports {
	return host.Imports{"env": {"seen": func() { s.what = append(s.what, "start") }}}
}
func (s *orderedSystem) Reset() error { s.what = append(s.what, "reset"); return nil }
func (s *orderedSystem) Close() error { return nil }

// TestPoolPanics: what panics in functions of the program, or ends its goroutine, takes no place for ever; nor does a nil system with an error.
func TestPoolPanics(t *testing.T) {
	panics, module := false, text(t, `(module (func (export "f")))`)
	fail := func() {
		if panics {
			panic("in the program")
		}
	}
	for _, o := range []*host.PoolOptions{
		{Prepare: func(context.Context, *host.Instance) error { fail(); return nil }},
		{Imports: func(*host.Store) (host.Imports, error) { fail(); return nil, nil }},
		{System: func() (host.System, error) { fail(); return &orderedSystem{}, nil }},
		{System: func() (host.System, error) {
			if panics {
				return (*orderedSystem)(nil), errors.New("none")
			}
			return &orderedSystem{}, nil
		}},
	} {
		o.Max = 1
		p := host.NewPool(module, o)
		try := func(f func()) {
			defer func() { recover() }()
			f()
		}
		panics = true
		for range 3 {
			try(func() {
				if x, err := p.Get(bg); err == nil {
					t.Error("no panic, nor error")
					x.Discard()
				}
			})
		}
		panics = false
		x := must[*host.PoolInstance](t)(p.Get(bg))
		panics = true
		try(x.Release)
		panics = false
		must[*host.PoolInstance](t)(p.Get(nil)).Release()
		p.Close()
	}
}

// TestPoolLeftBehind: an instance whose user has made something in the store is not handed out again.
func TestPoolLeftBehind(t *testing.T) {
	module := text(t, `(module (memory (export "memory") 1 5) (table (export "t") 1 externref) (func (export "f")))`)
	p := host.NewPool(module, &host.PoolOptions{Max: 1})
	defer p.Close()
	for name, leave := range map[string]func(s *host.Store, inst *host.Instance){
		"nothing":     func(s *host.Store, inst *host.Instance) { must[*host.Memory](t)(inst.Memory("memory")).Grow(2) },
		"an instance": func(s *host.Store, inst *host.Instance) { must[*host.Instance](t)(s.Instantiate(bg, module, nil)) },
		"a memory":    func(s *host.Store, inst *host.Instance) { must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1})) },
		"a function":  func(s *host.Store, inst *host.Instance) { must[*host.Func](t)(s.NewFunc(func() {})) },
		"a claim":     func(s *host.Store, inst *host.Instance) { must[uint64](t)(s.ExternRef(5)) },
		"a reference": func(s *host.Store, inst *host.Instance) { must[*host.Table](t)(inst.Table("t")).Set(0, 5) },
	} {
		x := must[*host.PoolInstance](t)(p.Get(bg))
		inst := x.Instance
		leave(inst.Store(), inst)
		x.Release()
		x = must[*host.PoolInstance](t)(p.Get(bg))
		if again, want := x.Instance == inst, name == "nothing" || name == "a reference"; again != want {
			t.Errorf("%s is left: the same instance again: %v", name, again)
		}
		x.Release()
	}
}

// TestPoolFuel: each use of an instance has what the store has at first, whatever the one before has left.
func TestPoolFuel(t *testing.T) {
	wasm := must[[]byte](t)(waot.ParseText([]byte(`(module (func (export "spin") (loop $l (br $l))) (func (export "three") (drop (i32.add (i32.const 1) (i32.const 2)))))`)))
	m := must[*host.Module](t)(waot.Compile(wasm, &waot.CompileOptions{Fuel: waot.FuelExact}))
	defer m.Close()
	p := host.NewPool(m, &host.PoolOptions{Store: &host.StoreOptions{Fuel: 100}, Max: 1})
	defer p.Close()
	for n, use := range []string{"three", "spin", "three", "three"} {
		x := must[*host.PoolInstance](t)(p.Get(bg))
		if left := x.Store().Fuel(); left != 100 {
			t.Fatalf("use %d has %d units", n, left)
		}
		_, err := function(t, x.Instance, use).Call(bg)
		var trap *host.Trap
		if out := errors.As(err, &trap) && trap.Code == host.TrapOutOfFuel; out != (use == "spin") || !out && err != nil {
			t.Fatal(use, err)
		}
		x.Release()
	}
}

// TestPoolHeap: what instances of a pool have made on the heap is gone for who gets them next, but for what Go code keeps.
func TestPoolHeap(t *testing.T) {
	const queue = `(module (type $node (struct (field $next (ref null $node)) (field $x i32)))
		(global $list (mut (ref null $node)) (ref.null $node))
		(func (export "add") (param $x i32) (result (ref $node))
			(global.set $list (struct.new $node (global.get $list) (local.get $x))) (ref.as_non_null (global.get $list)))
		(func (export "x") (param (ref null $node)) (result i32) (struct.get $node $x (local.get 0)))
		(func (export "garbage") (param $n i32) (loop $l (drop (array.new $bytes (i32.const 1) (local.get $n)))
			(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
		(type $bytes (array i8))
		(func (export "length") (result i32) (local $r (ref null $node)) (local $n i32)
			(local.set $r (global.get $list))
			(block $end (loop $l
				(br_if $end (ref.is_null (local.get $r)))
				(local.set $n (i32.add (local.get $n) (i32.const 1)))
				(local.set $r (struct.get $node $next (local.get $r)))
				(br $l)))
			(local.get $n)))`
	p := host.NewPool(text(t, queue), &host.PoolOptions{Max: 2, Store: &host.StoreOptions{MaxHeapMemory: 2 << 20}})
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for n := range 25 {
				x, err := p.Get(bg)
				if err != nil {
					t.Error(err)
					return
				}
				call := func(name string, args ...any) any {
					r, err := must[*host.Func](t)(x.Func(name)).Call(bg, args...)
					if err != nil {
						t.Error(name, err)
					}
					return append(r, nil)[0]
				}
				var kept any
				for i := range 5 {
					kept = call("add", 10*k+i)
				}
				call("garbage", 3000)
				if call("length") != int32(5) || call("x", kept) != int32(10*k+4) {
					t.Errorf("a list of %v, round %d", call("length"), n)
				}
				x.Release()
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
