//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront/fuel"
)

// fuelText has what the tests below call. mix computes with many values of all kinds in registers, and its loop has blocks with effects.
const fuelText = `(module
  (import "host" "call" (func $host (param i32) (result i32)))
  (memory (export "memory") 1)
  (global $g (mut i64) (i64.const 0))
  (table (export "table") 4 externref)
  (func (export "spin") (loop $l (br $l)))
  (func (export "call") (param i32) (result i32) (i32.add (call $host (local.get 0)) (i32.const 1)))
  (func (export "calls") (loop $l (drop (call $host (i32.const 0))) (br $l)))
  (func (export "twice") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
  (func (export "keep") (param externref) (table.set (i32.const 0) (local.get 0)))
  (func $mix (export "mix") (param $n i32) (result i64)
    (local $a i64) (local $b i64) (local $c i64) (local $d i64) (local $x f64) (local $y f64) (local $v v128) (local $w v128) (local $i i32) (local $e i64) (local $h i64)
    (local.set $a (i64.const 0x9e3779b97f4a7c15)) (local.set $b (i64.const 3)) (local.set $c (i64.const 5)) (local.set $d (i64.const 7))
    (local.set $x (f64.const 1.25)) (local.set $y (f64.const 3)) (local.set $v (v128.const i64x2 1 2)) (local.set $w (v128.const i64x2 3 5))
    (loop $l
      (local.set $a (i64.add (i64.rotl (local.get $a) (i64.const 5)) (local.get $b)))
      (local.set $b (i64.xor (local.get $b) (i64.mul (local.get $a) (local.get $c))))
      (local.set $c (i64.add (local.get $c) (local.get $d)))
      (local.set $d (i64.sub (local.get $d) (i64.shr_u (local.get $a) (i64.const 3))))
      (local.set $e (i64.add (local.get $e) (i64.xor (local.get $d) (local.get $a))))
      (local.set $h (i64.mul (i64.add (local.get $h) (local.get $e)) (i64.const 0x100000001b3)))
      (local.set $x (f64.add (f64.mul (local.get $x) (f64.const 0.75)) (local.get $y)))
      (local.set $y (f64.sub (local.get $y) (f64.const 0.5)))
      (local.set $v (i64x2.add (local.get $v) (local.get $w)))
      (local.set $w (v128.xor (local.get $w) (i64x2.splat (local.get $a))))
      (if (i32.and (local.get $i) (i32.const 1))
        (then (i64.store (i32.and (local.get $i) (i32.const 1023)) (local.get $b)) (global.set $g (i64.add (global.get $g) (local.get $c))))
        (else (local.set $d (i64.add (local.get $d) (i64.load (i32.and (local.get $i) (i32.const 1023)))))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (i64.xor (i64.xor (i64.xor (local.get $a) (local.get $b)) (i64.xor (local.get $c) (local.get $d)))
      (i64.xor (i64.xor (i64.reinterpret_f64 (local.get $x)) (i64.reinterpret_f64 (local.get $y)))
        (i64.xor (i64.xor (i64x2.extract_lane 0 (local.get $v)) (i64x2.extract_lane 1 (local.get $w))) (i64.xor (local.get $e) (local.get $h)))))))`

// fuelStore is a store with an instance of fuelText.
type fuelStore struct {
	*testing.T
	*inproc.Store
	inst *inproc.Instance
}

// newFuelStore makes one; code counts unless o.Fuel is nil.
func newFuelStore(t *testing.T, c inproc.Config, o compile.Options, host inproc.HostFunc) *fuelStore {
	t.Helper()
	s, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := &fuelStore{T: t, Store: s}
	if host == nil {
		host = func(*inproc.Caller, []uint64, []uint64) error { return nil }
	}
	h, err := s.NewHostFunc(meta.FuncType{Params: []meta.ValType{meta.I32}, Results: []meta.ValType{meta.I32}}, host)
	if err != nil {
		t.Fatal(err)
	}
	if f.inst, err = s.Instantiate(f.load(fuelText, o), func(string, string) inproc.Extern { return h }); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fuelStore) load(text string, o compile.Options) *inproc.Module {
	f.Helper()
	wasm, err := wat.Assemble(text)
	if err != nil {
		f.Fatal(err)
	}
	o.Verify, o.Jobs = true, 1
	r, err := compile.Module(wasm, o)
	if err != nil {
		f.Fatal(err)
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		f.Fatal(err)
	}
	m, err := f.Load(img)
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// call calls an export with at most one result.
func (f *fuelStore) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	f.Helper()
	fn, err := f.inst.Func(name)
	if err != nil {
		f.Fatal(err)
	}
	_, n := fn.Words()
	results := make([]uint64, n)
	if err := fn.CallContext(ctx, args, results); err != nil || n == 0 {
		return 0, err
	}
	return results[0], nil
}

func isOutOfFuel(err error) bool {
	var trap *inproc.Trap
	return errors.As(err, &trap) && trap.Code == abi.TrapOutOfFuel
}

func counting(o compile.Options) compile.Options {
	o.Fuel = fuel.Default()
	return o
}

// TestFuelResumed: code that has run out again and again, and was given a little more each time, computes what it computes with plenty, has written the same, and has
// consumed as much.
func TestFuelResumed(t *testing.T) {
	const n = 300
	for _, o := range []compile.Options{{OptLevel: opt.O1}, {OptLevel: opt.O0}, {OptLevel: opt.O1, ExplicitBounds: true}} {
		plain := newFuelStore(t, inproc.Config{}, o, nil)
		want, err := plain.call(nil, "mix", n)
		if err != nil {
			t.Fatal(err)
		}
		plenty := newFuelStore(t, inproc.Config{Fuel: 1 << 40}, counting(o), nil)
		if got, err := plenty.call(nil, "mix", n); err != nil || got != want {
			t.Fatalf("with plenty: %#x, %v, want %#x", got, err, want)
		}
		used := 1<<40 - plenty.Fuel()
		for _, step := range []uint64{1, 7, 40, used} {
			var s *fuelStore
			given, times := uint64(0), 0
			s = newFuelStore(t, inproc.Config{OutOfFuel: func(context.Context) error {
				if s.Fuel() != 0 {
					t.Errorf("%d left where fuel has run out", s.Fuel())
				}
				if times++; times%100 == 0 {
					runtime.GC()
				}
				for s.Fuel() == 0 { // what the block costs, and what is owed
					given += step
					s.AddFuel(step)
				}
				return nil
			}}, counting(o), nil)
			if got, err := s.call(nil, "mix", n); err != nil || got != want {
				t.Fatalf("steps of %d: %#x, %v, want %#x", step, got, err, want)
			}
			if got := given - s.Fuel(); got != used {
				t.Errorf("steps of %d: consumed %d, want %d", step, got, used)
			}
			if step < used && times < n {
				t.Errorf("steps of %d: ran out %d times", step, times)
			}
			a, _ := plain.inst.Memory("memory")
			b, _ := s.inst.Memory("memory")
			if string(a.Bytes()) != string(b.Bytes()) {
				t.Errorf("steps of %d: memories differ", step)
			}
		}
	}
}

// TestFuelHandler: what a handler may do, and how it may end the call.
func TestFuelHandler(t *testing.T) {
	var s *fuelStore
	var act func(context.Context) error
	s = newFuelStore(t, inproc.Config{OutOfFuel: func(ctx context.Context) error { return act(ctx) }}, counting(compile.Options{OptLevel: opt.O1}), nil)
	spin := func(ctx context.Context) error {
		_, err := s.call(ctx, "spin")
		return err
	}
	works := func() {
		t.Helper()
		s.AddFuel(100)
		if got, err := s.call(nil, "twice", 21); err != nil || got != 42 || s.Fuel() != 97 {
			t.Fatalf("afterwards: %d, %v, %d left", got, err, s.Fuel())
		}
		s.AddFuel(1)
		if _, err := s.call(nil, "spin"); err == nil {
			t.Fatal("spin ended")
		}
	}

	act = func(context.Context) error { return nil }
	if err := spin(nil); !isOutOfFuel(err) {
		t.Fatal(err)
	}
	works()

	mine := errors.New("mine")
	act = func(context.Context) error { return mine }
	if err := spin(nil); err != mine {
		t.Fatal(err)
	}
	works()

	// Nobody can use the store meanwhile.
	m, _ := s.inst.Memory("memory")
	fn, _ := s.inst.Func("twice")
	tried := 0
	act = func(context.Context) error {
		if tried++; tried > 3 {
			return mine
		}
		if err := fn.Call([]uint64{1}, []uint64{0}); err != inproc.ErrBusy {
			t.Errorf("a call: %v", err)
		}
		if _, err := s.Store.NewMemory(inproc.Limits{Min: 1}); err != inproc.ErrBusy {
			t.Errorf("a memory: %v", err)
		}
		if err := s.Store.Reset(nil); err != inproc.ErrBusy {
			t.Errorf("a reset: %v", err)
		}
		if err := s.Store.Close(); err != inproc.ErrBusy {
			t.Errorf("closing: %v", err)
		}
		if err := s.Store.Enter(); err != inproc.ErrBusy {
			t.Errorf("entering: %v", err)
		}
		s.Store.LeaveEntered()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Store.Hold(); err != inproc.ErrBusy {
				t.Errorf("another goroutine: %v", err)
			}
		})
		wg.Wait()
		_ = m
		s.AddFuel(1000)
		return nil
	}
	if err := spin(nil); err != mine {
		t.Fatal(err)
	}
	works()

	act = func(context.Context) error { panic(mine) }
	func() {
		defer func() {
			if recover() != mine {
				t.Error("no panic")
			}
		}()
		spin(nil)
	}()
	act = func(context.Context) error { return mine }
	works()
	done := make(chan bool)
	act = func(context.Context) error { runtime.Goexit(); return nil }
	go func() {
		defer close(done)
		spin(nil)
	}()
	<-done
	act = func(context.Context) error { return mine }
	works()

	// A context that ends while the handler adds fuel ends the call.
	ctx, cancel := context.WithCancel(context.Background())
	act = func(c context.Context) error {
		if c != ctx {
			t.Error("not the context of the call")
		}
		cancel()
		s.AddFuel(10)
		return nil
	}
	if err := spin(ctx); !errors.Is(err, inproc.ErrCancelled) {
		t.Fatal(err)
	}
	act = func(context.Context) error { return mine }
	if err := spin(nil); err != mine { // what the handler has added is there
		t.Fatal(err)
	}
	works()
}

// TestFuelNested: the count is one for calls that nest, and for those of other goroutines that host functions let in.
func TestFuelNested(t *testing.T) {
	for _, slack := range []bool{false, true} {
		var s *fuelStore
		o := counting(compile.Options{OptLevel: opt.O1})
		o.FuelSlack = slack
		s = newFuelStore(t, inproc.Config{Fuel: 1000}, o, func(c *inproc.Caller, args, results []uint64) error {
			before := s.Fuel()
			if args[0] == 0 {
				return nil
			}
			if got, err := s.call(nil, "call", args[0]-1); err != nil {
				return err
			} else {
				results[0] = got
			}
			if used := before - s.Fuel(); used != args[0]*8 {
				t.Errorf("depth %d: consumed %d", args[0], used)
			}
			other := make(chan error)
			c.Leave()
			go func() {
				_, err := s.call(nil, "twice", 1)
				other <- err
			}()
			err := <-other
			c.Enter()
			s.AddFuel(3)
			return err
		})
		if got, err := s.call(nil, "call", 10); err != nil || got != 11 {
			t.Fatal(got, err)
		}
		if want := uint64(1000 - 11*8); s.Fuel() != want {
			t.Errorf("slack %t: %d left, want %d", slack, s.Fuel(), want)
		}
		if !s.ConsumeFuel(s.Fuel()-5) || s.Fuel() != 5 || s.ConsumeFuel(6) || s.Fuel() != 0 || s.ConsumeFuel(1) || !s.ConsumeFuel(0) {
			t.Errorf("%d left", s.Fuel())
		}
		s.AddFuel(math.MaxUint64)
		if s.Fuel() != math.MaxInt64 {
			t.Errorf("%d left", s.Fuel())
		}
	}
}

// TestFuelSlack: code that does not compare ends when the host looks.
func TestFuelSlack(t *testing.T) {
	o := counting(compile.Options{OptLevel: opt.O1})
	o.FuelSlack = true
	more := 0
	var s *fuelStore
	s = newFuelStore(t, inproc.Config{Fuel: 1000, OutOfFuel: func(context.Context) error {
		if more > 0 {
			more--
			s.AddFuel(1 << 40)
		}
		return nil
	}}, o, nil)
	if inproc.Preemption() == nil {
		if _, err := s.call(nil, "spin"); !isOutOfFuel(err) {
			t.Fatal(err)
		}
	}
	if s.Fuel() != 0 {
		t.Error("some is left")
	}
	if _, err := s.call(nil, "calls"); !isOutOfFuel(err) {
		t.Fatal(err)
	}
	s.AddFuel(3)
	if got, err := s.call(nil, "twice", 2); err != nil || got != 4 || s.Fuel() != 0 {
		t.Fatal(got, err, s.Fuel())
	}
	if _, err := s.call(nil, "twice", 2); !isOutOfFuel(err) {
		t.Fatal(err)
	}
	more = 1
	want, err := newFuelStore(t, inproc.Config{}, compile.Options{OptLevel: opt.O1}, nil).call(nil, "mix", 5_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.call(nil, "mix", 5_000_000); err != nil || got != want || more != 0 {
		t.Fatalf("resumed: %#x, %v, want %#x", got, err, want)
	}
	s.AddFuel(1 << 50)
	most := s.Fuel()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := s.call(ctx, "spin"); !errors.Is(err, inproc.ErrCancelled) {
		t.Fatal(err)
	}
	if left := s.Fuel(); left == 0 || left >= most {
		t.Errorf("%d left where a context has ended code", left)
	}
}

// TestFuelConsumed: what a host function takes away is gone, and code that owes something then traps.
func TestFuelConsumed(t *testing.T) {
	for _, slack := range []bool{false, true} {
		o := counting(compile.Options{OptLevel: opt.O1})
		o.FuelSlack = slack
		var s *fuelStore
		var had bool
		s = newFuelStore(t, inproc.Config{Fuel: 100}, o, func(_ *inproc.Caller, args, results []uint64) error {
			had = s.ConsumeFuel(args[0])
			return nil
		})
		if _, err := s.call(nil, "call", 50); err != nil || !had || s.Fuel() != 42 {
			t.Fatal(err, had, s.Fuel())
		}
		if _, err := s.call(nil, "call", 34); err != nil || !had || s.Fuel() != 0 {
			t.Fatal(err, had, s.Fuel())
		}
		s.AddFuel(100)
		if _, err := s.call(nil, "call", 93); !isOutOfFuel(err) || had || s.Fuel() != 0 {
			t.Fatal(err, had, s.Fuel())
		}
		s.AddFuel(100)
		if _, err := s.call(nil, "call", math.MaxUint32); !isOutOfFuel(err) || had || s.Fuel() != 0 {
			t.Fatal(err, had, s.Fuel())
		}
	}
}

// TestFuelKinds: code that counts and code that does not cannot meet; a store that only code without counts uses has no fuel.
func TestFuelKinds(t *testing.T) {
	plain, counts := compile.Options{OptLevel: opt.O1}, counting(compile.Options{OptLevel: opt.O1})
	slack := counts
	slack.FuelSlack = true
	for _, c := range []struct {
		first, second compile.Options
		want          error
	}{{plain, plain, nil}, {counts, counts, nil}, {counts, slack, nil}, {slack, counts, nil}, {plain, counts, inproc.ErrFuel}, {slack, plain, inproc.ErrFuel}} {
		s := newFuelStore(t, inproc.Config{Fuel: 10}, c.first, nil)
		if _, err := s.Instantiate(s.load(`(module (func (export "f")))`, c.second), nil); err != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	s := newFuelStore(t, inproc.Config{Fuel: 10}, plain, nil)
	if s.AddFuel(5); s.Fuel() != 0 || s.ConsumeFuel(1) {
		t.Error("a store without code that counts has fuel")
	}
	s = newFuelStore(t, inproc.Config{Fuel: 10}, counts, nil)
	if _, err := s.call(nil, "spin"); !isOutOfFuel(err) {
		t.Fatal(err)
	}
	if err := s.inst.Reset(nil); err != nil || s.Fuel() != 0 {
		t.Errorf("an instance that is reset gives fuel: %v", err)
	}
	if err := s.Store.Reset(nil); err != nil || s.Fuel() != 10 {
		t.Errorf("a store that is reset has %d units, %v", s.Fuel(), err)
	}
}

// TestKeptRegisters: what code keeps in registers while a host function lets others in is there when it goes on, whether or not the code counts fuel.
func TestKeptRegisters(t *testing.T) {
	const values = 14
	var text strings.Builder
	text.WriteString(`(module (import "host" "call" (func $wait (param i32) (result i32))) (func (export "run") (param $n i32) (result i32)`)
	for k := range values {
		fmt.Fprintf(&text, "(local $v%d i32)", k)
	}
	for k := range values {
		fmt.Fprintf(&text, "(local.set $v%d (i32.add (i32.mul (local.get $n) (i32.const %d)) (i32.const %d)))", k, k+3, 1000*k)
	}
	text.WriteString("(drop (call $wait (local.get $n))) (local.get $n)")
	for k := range values {
		fmt.Fprintf(&text, "(i32.mul (i32.const 31)) (i32.add (local.get $v%d))", k)
	}
	text.WriteString("))")
	want := func(n uint32) (x uint32) {
		x = n
		for k := range uint32(values) {
			x = 31*x + n*(k+3) + 1000*k
		}
		return x
	}
	for _, o := range []compile.Options{{OptLevel: opt.O1}, {OptLevel: opt.O1, Regalloc: "ssa"}, counting(compile.Options{OptLevel: opt.O1})} {
		s := newFuelStore(t, inproc.Config{}, compile.Options{OptLevel: opt.O1, Fuel: o.Fuel}, nil)
		s.AddFuel(1000)
		inside, gates := make(chan uint64), map[uint64]chan bool{1: make(chan bool), 2: make(chan bool), 3: make(chan bool)}
		wait, err := s.NewHostFunc(meta.FuncType{Params: []meta.ValType{meta.I32}, Results: []meta.ValType{meta.I32}}, func(c *inproc.Caller, args, _ []uint64) error {
			n := args[0]
			c.Leave()
			inside <- n
			<-gates[n]
			c.Enter()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if s.inst, err = s.Instantiate(s.load(text.String(), o), func(string, string) inproc.Extern { return wait }); err != nil {
			t.Fatal(err)
		}
		fn, err := s.inst.Func("run")
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan [2]uint64)
		for n := range uint64(3) {
			go func() {
				out := []uint64{0}
				if err := fn.Call([]uint64{n + 1}, out); err != nil {
					t.Error(err)
				}
				results <- [2]uint64{n + 1, out[0]}
			}()
			<-inside
		}
		for _, n := range []uint64{1, 3, 2} {
			gates[n] <- true
			if got := <-results; got[0] != n || got[1] != uint64(want(uint32(n))) {
				t.Errorf("regalloc %q, fuel %t: goroutine %d computes %#x, want %#x", o.Regalloc, o.Fuel != nil, got[0], got[1], want(uint32(n)))
			}
		}
	}
}
