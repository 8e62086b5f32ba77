package waot_test

import (
	"context"
	"errors"
	"testing"

	"github.com/waot-project/waot"
)

// fuelled compiles a module in the text format for code that counts fuel.
func fuelled(t *testing.T, text string, o waot.CompileOptions) *waot.Module {
	t.Helper()
	wasm, err := waot.ParseText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if o.Fuel == waot.FuelOff {
		o.Fuel = waot.FuelExact
	}
	m, err := waot.Compile(wasm, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

const sumText = `(module
  (import "host" "look" (func $look))
  (memory (export "memory") 1)
  (func (export "sum") (param $n i32) (result i32) (local $s i32)
    (if (local.get $n) (then
      (loop $l
        (local.set $s (i32.add (local.get $s) (local.get $n)))
        (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))
    (local.get $s))
  (func (export "look") (call $look))
  (func (export "fill") (param $n i32) (memory.fill (i32.const 0) (i32.const 7) (local.get $n)))
  (func (export "deep") (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (i32.add (i32.const 1) (call 4 (i32.sub (local.get $n) (i32.const 1)))))
      (else (i32.const 0))))
  (func (export "spin") (loop $l (br $l))))`

func TestFuel(t *testing.T) {
	for _, o := range []waot.CompileOptions{{}, {NoOptimize: true}, {CPU: "x86-64-v3"}, {ExplicitBounds: true}} {
		m := fuelled(t, sumText, o)
		s, err := waot.NewStore(&waot.StoreOptions{Fuel: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var seen []uint64
		look, err := s.NewFunc(func() { seen = append(seen, s.Fuel()); s.AddFuel(100) })
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Instantiate(context.Background(), m, waot.Imports{"host": {"look": look}})
		if err != nil {
			t.Fatal(err)
		}
		left := func(want uint64) {
			t.Helper()
			if got := s.Fuel(); got != want {
				t.Fatalf("%+v: %d left, want %d", o, got, want)
			}
		}
		call := func(name string, args ...any) error {
			t.Helper()
			f, err := i.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Call(context.Background(), args...)
			return err
		}
		left(1000)
		if err := call("sum", int32(10)); err != nil {
			t.Fatal(err)
		}
		left(1000 - 2 - 10*9 - 1)
		if err := call("look"); err != nil {
			t.Fatal(err)
		}
		left(907 - 5 + 100)
		if len(seen) != 1 || seen[0] != 902 {
			t.Fatal(seen)
		}
		if err := call("fill", int32(640)); err != nil {
			t.Fatal(err)
		}
		left(1002 - 3 - 5 - 10)
		var trap *waot.Trap
		if err := call("spin"); !errors.As(err, &trap) || trap.Code != waot.TrapOutOfFuel || len(trap.Backtrace) != 1 {
			t.Fatal(err)
		}
		left(0)
		s.AddFuel(50)
		left(50)
		if err := call("sum", int32(5)); err != nil {
			t.Fatal(err)
		}
		left(50 - 2 - 45 - 1)
	}
}
