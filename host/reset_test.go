//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/host"
)

// everything has state of each kind, in a memory of PAGES pages.
const everything = `(module
	(import "env" "started" (func $started))
	(memory (export "memory") PAGES 40)
	(table $t (export "funcs") 2 20 funcref) (table $x (export "refs") 3 20 externref)
	(table $own 4 4 funcref)
	(global $n (export "n") (mut i32) (i32.const 7)) (global $v (mut v128) (v128.const i64x2 5 6)) (global $g (export "g") (mut externref) (ref.null extern))
	(data (i32.const 100) "static") (data $d "dropped later") (data (i32.const 65530) "edge!")
	(elem (table $t) (i32.const 1) func $one) (elem $e func $one $two) (elem (table $own) (i32.const 2) func $two)
	(start $begin)
	(func $begin (global.set $n (i32.add (global.get $n) (i32.const 1))) (i32.store (i32.const 8) (i32.const 0x55)) (call $started))
	(func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))
	(func (export "disturb") (param $x externref) (param $grow i32)
		(global.set $n (i32.const 1000)) (global.set $v (v128.const i64x2 1 2)) (global.set $g (local.get $x))
		(if (local.get $grow) (then
			(drop (memory.grow (local.get $grow)))
			(drop (table.grow $t (ref.func $two) (i32.const 3))) (drop (table.grow $x (local.get $x) (i32.const 5)))))
		(memory.fill (i32.const 0) (i32.const 0xAA) (i32.shl (memory.size) (i32.const 16)))
		(table.fill $x (i32.const 0) (local.get $x) (table.size $x)) (table.set $t (i32.const 0) (ref.func $two)) (table.set $t (i32.const 1) (ref.null func))
		(table.set $own (i32.const 2) (ref.null func)) (table.init $own $e (i32.const 0) (i32.const 0) (i32.const 2))
		(data.drop $d) (elem.drop $e))
	(func (export "sizes") (result i32 i32 i32) (memory.size) (table.size $t) (table.size $x))
	(func (export "vector") (result i64 i64) (i64x2.extract_lane 0 (global.get $v)) (i64x2.extract_lane 1 (global.get $v)))
	(func (export "own") (param i32) (result i32) (call_indirect $own (result i32) (local.get 0)))
	(func (export "first") (param i32) (result i32) (call_indirect $t (result i32) (local.get 0)))
	(func (export "data") (memory.init $d (i32.const 200) (i32.const 0) (i32.const 13)))
	(func (export "elem") (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 2)))
	(func (export "sum") (result i32) (local $i i32) (local $s i32)
		(loop $l
			(local.set $s (i32.add (i32.mul (local.get $s) (i32.const 31)) (i32.load8_u (local.get $i))))
			(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.shl (memory.size) (i32.const 16)))))
		(local.get $s))
	(func (export "grow") (result i32 i32 i32) (memory.grow (i32.const 2)) (table.grow $t (ref.null func) (i32.const 4)) (table.grow $x (ref.null extern) (i32.const 4)))
	(func (export "at") (param i32) (result i64) (i64.load (local.get 0)))
	(elem declare func $two))`

// observed is all that can be seen of an instance of everything. It leaves it disturbed.
func observed(t *testing.T, inst *host.Instance) (seen []string) {
	t.Helper()
	see := func(name string, args ...any) {
		f := must[*host.Func](t)(inst.Func(name))
		results, err := f.Call(context.Background(), args...)
		var trap *host.Trap
		if errors.As(err, &trap) {
			err = fmt.Errorf("trap %v", trap.Code)
		}
		seen = append(seen, fmt.Sprintf("%s%v: %v %v", name, args, results, err))
	}
	memory := must[*host.Memory](t)(inst.Memory("memory"))
	see("sum")
	refs := must[*host.Table](t)(inst.Table("refs"))
	for i := range refs.Len() {
		v, err := refs.Get(i)
		seen = append(seen, fmt.Sprint("refs ", i, v, err))
	}
	seen = append(seen, fmt.Sprint(memory.Size(), must[host.Value](t)(must[*host.Global](t)(inst.Global("n")).Get()), must[host.Value](t)(must[*host.Global](t)(inst.Global("g")).Get())))
	see("sizes")
	see("vector")
	for i := range int32(5) {
		see("own", i)
		see("first", i)
	}
	see("data")
	see("elem")
	see("at", int32(200))
	see("at", int32(memory.Size()-8))
	see("at", int32(memory.Size()-7))
	see("at", int32(memory.Size()+60_000))
	// What is new is empty.
	see("grow")
	see("sum")
	for i := range refs.Len() {
		v, err := refs.Get(i)
		seen = append(seen, fmt.Sprint("refs ", i, v, err))
	}
	for i := range int32(8) {
		see("first", i)
	}
	return seen
}

// invoke calls an export, which must not fail.
func invoke(t *testing.T, inst *host.Instance, name string, args ...any) []any {
	t.Helper()
	return must[[]any](t)(must[*host.Func](t)(inst.Func(name)).Call(bg, args...))
}

// resetWays are kinds of stores and code for TestReset.
var resetWays = []struct {
	name    string
	options func() *host.StoreOptions
	checked bool
}{
	{"reserved", func() *host.StoreOptions { return nil }, false},
	{"few pages", func() *host.StoreOptions {
		return &host.StoreOptions{MaxTotalMemoryPages: 2*3 + 2 + 5, MaxTableMemory: 8 * (2*(2+3+4) + 2*8 + 3 + 5)}
	}, false},
	{"movable", func() *host.StoreOptions { return nil }, true},
	{"views", func() *host.StoreOptions { return &host.StoreOptions{KeepViews: true} }, false},
	{"movable views", func() *host.StoreOptions { return &host.StoreOptions{KeepViews: true} }, true},
	{"allocator", func() *host.StoreOptions { return &host.StoreOptions{Allocator: &wanderer{}} }, true},
}

// TestReset: an instance that was reset is what a new one is, whatever was done to it, in stores of each kind, with small memories, which are cleared, and larger ones, whose
// pages are taken away; also if Go code has looked at the memory meanwhile, and however often.
func TestReset(t *testing.T) {
	for _, way := range resetWays {
		for _, pages := range []string{"1", "3"} {
			compiled := text
			if way.checked {
				compiled = checkedText
			}
			module := compiled(t, strings.Replace(everything, "PAGES", pages, 1))
			t.Run(way.name+" "+pages, func(t *testing.T) { testReset(t, module, way.options()) })
		}
	}
}

func testReset(t *testing.T, module *host.Module, o *host.StoreOptions) {
	starts := 0
	imports := host.Imports{"env": {"started": func() { starts++ }}}
	s := must[*host.Store](t)(host.NewStore(o))
	defer s.Close()
	want := observed(t, must[*host.Instance](t)(s.Instantiate(bg, module, imports)))
	inst := must[*host.Instance](t)(s.Instantiate(bg, module, imports))
	memory := must[*host.Memory](t)(inst.Memory("memory"))
	starts = 0
	var old []byte
	for n := range 13 {
		if n > 0 {
			if err := inst.Reset(bg); err != nil {
				t.Fatal(err)
			}
			if starts != n {
				t.Fatalf("%d starts", starts)
			}
			// Slices from before must not be used, but that must not end the process.
			bytes.Count(old, []byte{1})
		}
		if got := observed(t, inst); !cmp.Equal(got, want) {
			t.Fatalf("after %d: %s", n, cmp.Diff(want, got))
		}
		if n > 6 {
			memory.Bytes()[0]++ // from now on, memory that has grown cannot be taken away at once
		}
		invoke(t, inst, "disturb", any(n), int32(n%4))
		if n > 9 {
			old = memory.Bytes()
		}
	}
	if err := s.Reset(bg); err != nil {
		t.Fatal(err)
	}
	if got := observed(t, inst); !cmp.Equal(got, want) {
		t.Fatal(cmp.Diff(want, got))
	}
}

// TestResetReleases: what only the old state reached is given up.
func TestResetReleases(t *testing.T) {
	s := must[*host.Store](t)(host.NewStore(nil))
	defer s.Close()
	inst := must[*host.Instance](t)(s.Instantiate(bg, text(t, strings.Replace(everything, "PAGES", "1", 1)), host.Imports{"env": {"started": func() {}}}))
	gone := make(chan bool, 1)
	func() {
		value := new([100]byte)
		runtime.AddCleanup(value, func(c chan bool) { c <- true }, gone)
		invoke(t, inst, "disturb", any(value), int32(1))
	}()
	if err := inst.Reset(bg); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the value stays")
		}
	}
}

// TestResetErrors: what cannot be reset says so, and is as it was.
func TestResetErrors(t *testing.T) {
	s := must[*host.Store](t)(host.NewStore(nil))
	fail, reset := false, error(nil)
	var inst *host.Instance
	imports := host.Imports{"env": {"started": func() error {
		if inst != nil {
			reset = inst.Reset(bg)
		}
		if fail {
			return errors.New("refused")
		}
		return nil
	}}}
	module := text(t, strings.Replace(everything, "PAGES", "1", 1))
	inst = must[*host.Instance](t)(s.Instantiate(bg, module, imports))
	invoke(t, inst, "disturb", nil, int32(3))
	// From inside.
	if err := inst.Reset(bg); err != nil || !errors.Is(reset, host.ErrBusy) {
		t.Error(err, reset)
	}
	// The start function fails, and does not any more.
	fail = true
	if err := inst.Reset(bg); err == nil || err.Error() != "refused" {
		t.Error(err)
	}
	fail = false
	if err := s.Reset(bg); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	var cancelled *host.CancelError
	if err := inst.Reset(ctx); !errors.As(err, &cancelled) {
		t.Error(err)
	}
	// A memory is held.
	must[*host.Memory](t)(inst.Memory("memory")).Hold(func(b []byte) {
		if err := inst.Reset(bg); !errors.Is(err, host.ErrBusy) {
			t.Error(err)
		}
		b[len(b)-1]++
	})
	// Another instance needs what has grown.
	invoke(t, inst, "disturb", nil, int32(3))
	other := text(t, `(module (import "m" "memory" (memory 2)) (func (export "f") (result i32) (i32.load (i32.const 65536))))`)
	user := must[*host.Instance](t)(s.Instantiate(bg, other, host.Imports{"m": inst.Exports()}))
	var link *host.LinkError
	if err := inst.Reset(bg); !errors.As(err, &link) || link.Detail != "size 1, at least 2 wanted" {
		t.Error(err)
	}
	if got := invoke(t, user, "f"); fmt.Sprint(got) != "[-1431655766]" {
		t.Error(got)
	}
	inst.Close()
	if err := inst.Reset(bg); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
	module.Close()
	if err := user.Reset(bg); err != nil {
		t.Error(err)
	}
	s.Close()
	for _, err := range []error{user.Reset(bg), s.Reset(bg), new(host.Instance).Reset(bg), (*host.Instance)(nil).Reset(bg), (*host.Store)(nil).Reset(bg)} {
		if !errors.Is(err, host.ErrClosed) {
			t.Error(err)
		}
	}
}

// TestResetShared: an instance that imports a memory finds it where it is after a reset.
func TestResetShared(t *testing.T) {
	for _, way := range resetWays {
		compiled := text
		if way.checked {
			compiled = checkedText
		}
		t.Run(way.name, func(t *testing.T) {
			s := must[*host.Store](t)(host.NewStore(way.options()))
			defer s.Close()
			inst := must[*host.Instance](t)(s.Instantiate(bg, compiled(t, strings.Replace(everything, "PAGES", "1", 1)), host.Imports{"env": {"started": func() {}}}))
			user := must[*host.Instance](t)(s.Instantiate(bg, compiled(t, `(module (import "m" "memory" (memory 1)) (data (i32.const 300) "user")
				(func (export "load") (param i32) (result i32) (i32.load (local.get 0))) (func (export "store") (param i32) (i32.store (local.get 0) (i32.const 5))))`),
				host.Imports{"m": inst.Exports()}))
			memory := must[*host.Memory](t)(inst.Memory("memory"))
			for n := range 4 {
				invoke(t, inst, "disturb", nil, int32(2))
				memory.Bytes()
				reset, user300 := s.Reset, 0x72657375
				if n%2 == 1 {
					reset, user300 = inst.Reset, 0
				}
				if err := reset(bg); err != nil {
					t.Fatal(err)
				}
				invoke(t, user, "store", int32(1000))
				got := fmt.Sprint(invoke(t, user, "load", int32(100)), invoke(t, user, "load", int32(300)), invoke(t, inst, "at", int32(1000)), memory.Size())
				if want := fmt.Sprint([]int{0x74617473}, []int{user300}, []int{5}, 65536); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if _, err := must[*host.Func](t)(user.Func("load")).Call(bg, int32(65536)); err == nil {
					t.Error("no trap beyond the memory")
				}
			}
		})
	}
}
