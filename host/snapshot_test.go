//go:build linux && (amd64 || arm64)

package host_test

import (
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// text compiles a module in the text format.
func text(t testing.TB, wat string) *host.Module {
	t.Helper()
	object := must[[]byte](t)(waot.CompileObject(must[[]byte](t)(waot.ParseText([]byte(wat))), nil))
	m := must[*host.Module](t)(host.Load(object, nil))
	t.Cleanup(func() { m.Close() })
	return m
}

// jumps has a function that sets a place to go back to, keeps locals across it, and calls one that goes back there, some frames and some stack further in.
const jumps = `(module (import "env" "set" (func $set (param i32) (result i32 f64 i64 i64 i64)))
	(import "env" "jump" (func $jump (param i32)))
	(import "env" "hold" (func $hold (param externref)))
	(memory (export "memory") 1)
	(func (export "f") (param $x i32) (param $y f64) (result i32 f64) (local $n i32)
		(local.set $n (i32.mul (local.get $x) (i32.const 3)))
		(call $set (i32.const 0)) drop drop drop (local.set $y) (local.set $x)
		(if (i32.eqz (local.get $x)) (then (call $deep (i32.const 5) (i64.const 1))))
		(i32.add (local.get $n) (local.get $x)) (local.get $y))
	(func $deep (param i32 i64)
		(if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1)) (i64.mul (local.get 1) (i64.const 3)))
			(i64.store (i32.const 8) (local.get 1)))
		(else (call $jump (i32.const 0)))))
	(func (export "again") (result i32) (local $n i32)
		(call $set (i32.const 0)) drop drop drop drop (local.set $n)
		(if (i32.lt_s (local.get $n) (i32.const 1000)) (then (call $jump (i32.add (local.get $n) (i32.const 1)))))
		(local.get $n))
	(func (export "refs") (param externref) (result externref) (local $n i32)
		(call $set (i32.const 0)) drop drop drop drop (local.set $n)
		(if (result externref) (local.get $n) (then (local.get 0))
			(else (local.set 0 (ref.null extern)) (call $jump (i32.const 1)) (local.get 0))))
	(func (export "jump") (param i32) (call $jump (local.get 0))))`

// TestSnapshot goes back in one call, through other calls, many times, and to calls that have ended.
func TestSnapshot(t *testing.T) {
	s := newStore(t)
	var place *host.Snapshot
	var inst *host.Instance
	results := func(n int32) []uint64 { return []uint64{uint64(uint32(n)), math.Float64bits(2.5), 3, 4, 5} }
	nested, jumped := false, 0
	inst = must[*host.Instance](t)(s.Instantiate(bg, text(t, jumps), host.Imports{"env": {
		"set": host.RawFunc{Params: []host.ValType{host.TypeI32}, Results: []host.ValType{host.TypeI32, host.TypeF64, host.TypeI64, host.TypeI64, host.TypeI64},
			Func: func(_ *host.Caller, _, r []uint64) (err error) {
				copy(r, results(0))
				place, err = s.Snapshot()
				return err
			}},
		"jump": func(n int32) error {
			if nested {
				nested = false
				defer func() { jumped++ }()
				_, err := function(t, inst, "jump").Call(bg, n)
				if !errors.Is(err, host.ErrRestore) {
					t.Errorf("a call that is left for a snapshot: %v", err)
				}
				return err
			}
			for i := range 2000 { // make the collector look for handles
				if _, err := s.ExternRef(i); err != nil {
					return err
				}
			}
			return place.Restore(results(n + 7)...)
		},
		"hold": func(any) {},
	}}))
	for _, nested = range []bool{false, true} {
		got := must[[]any](t)(function(t, inst, "f").Call(bg, 100, 1.5))
		if !slices.Equal(got, []any{int32(307), 2.5}) {
			t.Errorf("f: %v", got)
		}
	}
	if jumped != 1 {
		t.Errorf("the Go function in between ended %d times", jumped)
	}
	if got := must[[]any](t)(function(t, inst, "again").Call(bg)); got[0].(int32) < 1000 {
		t.Errorf("again: %v", got)
	}
	value := &struct{ int }{5}
	if got := must[[]any](t)(function(t, inst, "refs").Call(bg, value)); got[0] != value {
		t.Errorf("refs: %v", got)
	}
	// The calls that set it have ended.
	if _, err := function(t, inst, "jump").Call(bg, 1); !errors.Is(err, host.ErrRestore) {
		t.Errorf("a snapshot of a call that has ended: %v", err)
	}
	if _, err := s.Snapshot(); !errors.Is(err, host.ErrType) {
		t.Errorf("a snapshot outside of all calls: %v", err)
	}
	direct := must[*host.Func](t)(s.NewFunc(func() error { _, err := s.Snapshot(); return err }))
	if _, err := direct.Call(bg); !errors.Is(err, host.ErrType) {
		t.Errorf("a snapshot without compiled code: %v", err)
	}
	if got := must[[]any](t)(function(t, inst, "f").Call(bg, 1, 1.5)); !slices.Equal(got, []any{int32(10), 2.5}) {
		t.Errorf("f afterwards: %v", got)
	}
}

// waits calls a Go function, twice, and changes a global around it.
const waits = `(module (import "env" "wait" (func $wait (param i32) (result i32))) (global $n (mut i32) (i32.const 0))
	(func (export "f") (param i32) (result i32) (local $before i32)
		(local.set $before (i32.mul (local.get 0) (i32.const 7)))
		(i32.add (i32.add (call $wait (local.get 0)) (call $wait (local.get 0))) (local.get $before)))
	(func (export "add") (param i32) (result i32)
		(global.set $n (i32.add (global.get $n) (local.get 0))) (global.get $n)))`

// TestAway: goroutines that a Go function waits for get in if it lets them, nest, and come back to it, whatever way it ends.
func TestAway(t *testing.T) {
	s := newStore(t)
	var add *host.Func
	other := func() (err error) {
		for done := make(chan struct{}); ; <-done {
			if err = s.Enter(); err == nil {
				s.Leave()
			}
			go func() {
				defer close(done)
				_, err = add.Call(bg, 1)
			}()
			<-done
			return err
		}
	}
	wait := func(c *host.Caller, n int32) (int32, error) { return n, other() }
	inst := must[*host.Instance](t)(s.Instantiate(bg, text(t, waits), host.Imports{"env": {
		"wait": func(c *host.Caller, n int32) (int32, error) { return wait(c, n) },
	}}))
	f := function(t, inst, "f")
	add = function(t, inst, "add")
	if _, err := f.Call(bg, 1); !errors.Is(err, host.ErrBusy) {
		t.Errorf("a goroutine that is not let in: %v", err)
	}
	wait = func(c *host.Caller, n int32) (int32, error) {
		if c.Leave(); n < 20 {
			return n, other() // taken back when it returns
		}
		if err := other(); err != nil {
			return 0, err
		}
		// A call of its own, a further one of another goroutine in that, and iter.Pull.
		next, stop := iter.Pull(func(yield func(int32) bool) {
			got, err := f.Call(bg, n-10)
			if err != nil {
				t.Error(err)
			}
			yield(got[0].(int32))
		})
		defer stop()
		v, _ := next()
		got, err := add.Call(bg, 1)
		if c.Enter(); err == nil && (got[0].(int32) == 0 || len(c.Backtrace()) == 0 || v == 0) {
			t.Errorf("add: %v, %d", got, v)
		}
		return n, err
	}
	for n := range int32(40) {
		if got := must[[]any](t)(f.Call(bg, n)); got[0] != 9*n {
			t.Errorf("f(%d) is %v", n, got)
		}
	}
	for name, end := range map[string]func() error{"panic": func() error { panic("the panic") }, "error": func() error { return errors.New("the error") }} {
		wait = func(c *host.Caller, n int32) (int32, error) {
			c.Leave()
			if err := other(); err != nil {
				return 0, err
			}
			return 0, end()
		}
		func() {
			defer func() { recover() }()
			if _, err := f.Call(bg, 1); err == nil {
				t.Errorf("%s: no error", name)
			}
		}()
		if err := s.Enter(); err != nil {
			t.Fatalf("after %s: %v", name, err)
		}
		s.Leave()
	}
	wait = func(c *host.Caller, n int32) (int32, error) {
		c.Leave()
		if err := s.Close(); !errors.Is(err, host.ErrBusy) {
			t.Errorf("closing a store with a call: %v", err)
		}
		return n, nil
	}
	must[[]any](t)(f.Call(bg, 1))
}

// TestAwayTogether: goroutines call at the same time a function that lets others in, so that calls nest and wait in all orders.
func TestAwayTogether(t *testing.T) {
	s := newStore(t)
	inst := must[*host.Instance](t)(s.Instantiate(bg, text(t, waits), host.Imports{"env": {
		"wait": func(c *host.Caller, n int32) int32 { c.Leave(); return n },
	}}))
	f, add := function(t, inst, "f"), function(t, inst, "add")
	total := int32(0)
	var wg sync.WaitGroup
	for n := range int32(4) {
		wg.Go(func() {
			for range 500 {
				got, err := f.Call(bg, n)
				if errors.Is(err, host.ErrBusy) {
					continue
				}
				if err != nil || got[0] != 9*n {
					t.Errorf("f(%d) is %v, %v", n, got, err)
				}
			}
			for _, err := add.Call(bg, 1); err != nil; _, err = add.Call(bg, 1) {
				if !errors.Is(err, host.ErrBusy) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := must[[]any](t)(add.Call(bg, 0)); got[0] != total+4 {
		t.Errorf("%v additions", got)
	}
}

// TestAwayDeep: calls that go on without end, each on a goroutine of its own, end by the limit of their depth.
func TestAwayDeep(t *testing.T) {
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{MaxHostDepth: 200}))
	t.Cleanup(func() { s.Close() })
	var f *host.Func
	deepest := 0
	inst := must[*host.Instance](t)(s.Instantiate(bg, text(t, waits), host.Imports{"env": {
		"wait": func(c *host.Caller, n int32) (r int32, err error) {
			deepest = max(deepest, int(n))
			c.Leave()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, err = f.Call(bg, n+1)
			}()
			<-done
			return r, err
		},
	}}))
	f = function(t, inst, "f")
	var trap *host.Trap
	if _, err := f.Call(bg, 1); !errors.As(err, &trap) || trap.Code != host.TrapStackOverflow || deepest != 200 {
		t.Errorf("%d calls, %v", deepest, err)
	}
	if err := s.Enter(); err != nil {
		t.Fatal(err)
	}
	s.Leave()
}

// TestSnapshotFuel: going back does not give fuel back.
func TestSnapshotFuel(t *testing.T) {
	wasm := must[[]byte](t)(waot.ParseText([]byte(jumps)))
	var used []uint64
	for _, o := range []waot.CompileOptions{{Fuel: waot.FuelExact}, {Fuel: waot.FuelExact, NoOptimize: true}, {Fuel: waot.FuelSlack}} {
		m := must[*host.Module](t)(waot.Compile(wasm, &o))
		defer m.Close()
		const budget = 1 << 40
		s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{Fuel: budget}))
		defer s.Close()
		var place *host.Snapshot
		inst := must[*host.Instance](t)(s.Instantiate(bg, m, host.Imports{"env": {
			"set": host.RawFunc{Params: []host.ValType{host.TypeI32}, Results: []host.ValType{host.TypeI32, host.TypeF64, host.TypeI64, host.TypeI64, host.TypeI64},
				Func: func(*host.Caller, []uint64, []uint64) (err error) {
					place, err = s.Snapshot()
					return err
				}},
			"jump": func(n int32) error { return place.Restore(uint64(n), 0, 0, 0, 0) },
			"hold": func(any) {},
		}}))
		if got := must[[]any](t)(function(t, inst, "again").Call(bg)); got[0] != int32(1000) {
			t.Fatal(got)
		}
		used = append(used, budget-s.Fuel())
	}
	if used[0] < 8_000 || used[1] != used[0] || used[2] != used[0] {
		t.Errorf("consumed %d", used)
	}
}
