//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// Modules that call a host function, which calls back.
const (
	deepHead = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00" + // type () -> ()
		"\x02\x07\x01\x01e\x01h\x00\x00" + // import e.h
		"\x03\x03\x02\x00\x00" + "\x07\x0c\x02\x01f\x00\x01\x04leaf\x00\x02" // export f and leaf
	deepCode = "\x0a\x09\x02\x04\x00\x10\x00\x0b\x02\x00\x0b" // f calls h, leaf nothing
	// deepWasm has no start function, startWasm the function f.
	deepWasm  = deepHead + deepCode
	startWasm = deepHead + "\x08\x01\x01" + deepCode
	// deepRefWasm is deepWasm with an externref, which f passes on.
	deepRefWasm = "\x00asm\x01\x00\x00\x00\x01\x08\x02\x60\x01\x6f\x00\x60\x00\x00" + // types (externref) -> (), () -> ()
		"\x02\x07\x01\x01e\x01h\x00\x00" + "\x03\x03\x02\x00\x01" + "\x07\x0c\x02\x01f\x00\x01\x04leaf\x00\x02" +
		"\x0a\x0b\x02\x06\x00\x20\x00\x10\x00\x0b\x02\x00\x0b"
)

// deep is an instance of deepWasm, whose import the test makes.
type deep struct {
	store   *host.Store
	f, leaf *host.Func
	// levels counts calls of the host function.
	levels int
}

func compileBytes(t testing.TB, wasm string) *host.Module {
	t.Helper()
	m := must[*host.Module](t)(waot.Compile([]byte(wasm), nil))
	t.Cleanup(func() { m.Close() })
	return m
}

// newDeep makes one with the host function that h makes.
func newDeep(t *testing.T, c host.StoreOptions, h func(d *deep) any) *deep {
	t.Helper()
	d := &deep{store: must[*host.Store](t)(host.NewStore(&c))}
	t.Cleanup(func() { d.store.Close() })
	d.instantiate(t, compileBytes(t, deepWasm), h)
	return d
}

func (d *deep) instantiate(t *testing.T, m *host.Module, h func(d *deep) any) {
	t.Helper()
	i := must[*host.Instance](t)(d.store.Instantiate(bg, m, host.Imports{"e": {"h": h(d)}}))
	d.f, d.leaf = function(t, i, "f"), function(t, i, "leaf")
}

// overflows makes the instance recurse, and checks that it ends with a stack overflow and a full
// backtrace, after a number of levels between the two given, and that the store is as good as new.
func (d *deep) overflows(t *testing.T, least, most int) {
	t.Helper()
	for range 2 {
		d.levels = 0
		_, err := d.f.Call(bg)
		isOverflow(t, err, min(64, least))
		t.Logf("%d levels, %d MiB of stacks", d.levels, stacks()>>20)
		if d.levels < least || d.levels > most {
			t.Errorf("%d levels", d.levels)
		}
		d.sound(t)
	}
}

func (d *deep) sound(t *testing.T) {
	t.Helper()
	if _, err := d.leaf.Call(bg); err != nil {
		t.Error("afterwards:", err)
	}
}

// isOverflow checks that err is a stack overflow with at least the given number of frames.
func isOverflow(t *testing.T, err error, frames int) {
	t.Helper()
	var trap *host.Trap
	if !errors.As(err, &trap) || trap.Code != host.TrapStackOverflow || len(trap.Backtrace) < frames {
		t.Errorf("%.200v", err)
	}
}

// stacks is the bytes of all goroutines' stacks.
func stacks() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.StackSys
}

// touch uses the bytes of an array in the caller's frame.
//
//go:noinline
func touch(b []byte) {
	for i := 0; i < len(b); i += 512 {
		b[i]++
	}
}

// again is a host function that calls f again, and counts.
func again(d *deep) any {
	return func() error {
		d.levels++
		_, err := d.f.Call(bg)
		return err
	}
}

// againRaw is again with the least that it takes.
func againRaw(d *deep) any {
	return host.RawFunc{Func: func(*host.Caller, []uint64, []uint64) error {
		d.levels++
		return d.f.CallRaw(bg, nil)
	}}
}

// again8K and again64K are again with larger frames.
func again8K(d *deep) any {
	return func() error {
		d.levels++
		var b [8 << 10]byte
		touch(b[:])
		_, err := d.f.Call(bg)
		touch(b[:])
		return err
	}
}

func again64K(d *deep) any {
	return func() error {
		d.levels++
		var b [64 << 10]byte
		touch(b[:])
		_, err := d.f.Call(bg)
		touch(b[:])
		return err
	}
}

// againReflected is called by reflection.
func againReflected(d *deep) any {
	return func(ctx context.Context, _ *host.Caller) error {
		d.levels++
		_, err := d.f.Call(ctx)
		return err
	}
}

// unbounded leaves the bounds to those that cannot be set.
var unbounded = host.StoreOptions{MaxStack: 60 << 20, MaxHostStack: 128 << 20, MaxHostDepth: math.MaxInt}

// deepCases are host functions that make compiled code call them again without end.
var deepCases = map[string]func(t *testing.T){
	"call":       func(t *testing.T) { newDeep(t, host.StoreOptions{}, again).overflows(t, 1000, 10_000) },
	"raw":        func(t *testing.T) { newDeep(t, host.StoreOptions{}, againRaw).overflows(t, 2000, 10_000) },
	"reflection": func(t *testing.T) { newDeep(t, host.StoreOptions{}, againReflected).overflows(t, 1000, 10_000) },
	"8 KiB":      func(t *testing.T) { newDeep(t, host.StoreOptions{}, again8K).overflows(t, 500, 1024) },
	"64 KiB":     func(t *testing.T) { newDeep(t, host.StoreOptions{}, again64K).overflows(t, 100, 128) },

	"call, unbounded":   func(t *testing.T) { newDeep(t, unbounded, again).overflows(t, 20_000, 400_000) },
	"raw, unbounded":    func(t *testing.T) { newDeep(t, unbounded, againRaw).overflows(t, 20_000, 400_000) },
	"64 KiB, unbounded": func(t *testing.T) { newDeep(t, unbounded, again64K).overflows(t, 1500, 2048) },
	"lowered limit": func(t *testing.T) {
		debug.SetMaxStack(6 << 20) // so that no stack is larger than 4 MiB
		newDeep(t, unbounded, again64K).overflows(t, 20, 32)
	},

	"host functions alone": deepAlone,
	"start functions":      deepStarts,
	"two stores":           deepPair,
	"stores in stores":     deepStores,
	"references":           deepReferences,
	"contexts":             deepContexts,
	"panic":                deepPanic,
	"Goexit":               deepGoexit,
	"goroutines":           deepGoroutines,
}

// TestDeep: recursion through host functions traps, whatever they are, and long before Go's limit for
// stacks, which would end the process: hence a process for each case.
func TestDeep(t *testing.T) {
	const variable = "HOST_TEST_DEEP"
	if name := os.Getenv(variable); name != "" {
		deepCases[name](t)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(deepCases)) {
		t.Run(name, func(t *testing.T) {
			words := append(strings.Fields(os.Getenv("WAOT_EMULATOR")), os.Args[0], "-test.run=^TestDeep$", "-test.v")
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Env = append(os.Environ(), variable+"="+name)
			out, err := cmd.CombinedOutput()
			t.Logf("%.2000s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// deepAlone recurses by a reference to the host function itself, without compiled code.
func deepAlone(t *testing.T) {
	levels := 0
	f := must[*host.Func](t)(newStore(t).NewFunc(func(f *host.Func) error {
		levels++
		_, err := f.Call(bg, f)
		return err
	}))
	_, err := f.Call(bg, f)
	isOverflow(t, err, 0)
	if levels < 1000 || levels > 10_000 {
		t.Errorf("%d levels", levels)
	}
}

// deepStarts recurses by start functions.
func deepStarts(t *testing.T) {
	d := newDeep(t, host.StoreOptions{}, again)
	m := compileBytes(t, startWasm)
	var h *host.Func
	h = must[*host.Func](t)(d.store.NewFunc(func() error {
		d.levels++
		_, err := d.store.Instantiate(bg, m, host.Imports{"e": {"h": h}})
		return err
	}))
	_, err := h.Call(bg)
	isOverflow(t, err, 64)
	d.sound(t)
}

// deepPair recurses through two stores.
func deepPair(t *testing.T) {
	var a, b *deep
	a = newDeep(t, host.StoreOptions{}, func(*deep) any { return func() error { _, err := b.f.Call(bg); return err } })
	b = newDeep(t, host.StoreOptions{}, func(*deep) any { return again64K(a) })
	a.overflows(t, 100, 128)
	b.sound(t)
}

// deepStores makes a store in each level. No store sees more than one.
func deepStores(t *testing.T) {
	m := compileBytes(t, deepWasm)
	levels := 0
	var level func() error
	level = func() error {
		levels++
		s := must[*host.Store](t)(host.NewStore(nil))
		defer s.Close()
		i, err := s.Instantiate(bg, m, host.Imports{"e": {"h": func() error { return below(16, level) }}})
		if err != nil {
			return err
		}
		_, err = function(t, i, "f").Call(bg)
		return err
	}
	isOverflow(t, level(), 0)
	if levels < 200 || levels > 256 {
		t.Errorf("%d levels", levels)
	}
	newDeep(t, host.StoreOptions{}, again).overflows(t, 1000, 10_000)
}

// deepReferences goes through one store after the other, each of which sees only an outermost call, with a reference.
func deepReferences(t *testing.T) {
	m := compileBytes(t, deepRefWasm)
	var stores []*deep
	levels := 0
	for n := range 256 {
		d := &deep{store: newStore(t)}
		d.instantiate(t, m, func(*deep) any {
			return host.RawFunc{Params: []host.ValType{host.TypeExternRef}, Func: func(*host.Caller, []uint64, []uint64) error {
				levels++
				return below(64, func() error { return stores[n+1].f.CallRaw(bg, []uint64{0}) })
			}}
		})
		stores = append(stores, d)
	}
	isOverflow(t, stores[0].f.CallRaw(bg, []uint64{0}), 0)
	if levels < 50 || levels > 64 {
		t.Errorf("%d levels", levels)
	}
	for _, d := range stores {
		d.sound(t)
	}
}

// below calls f below n frames of 64 KiB.
func below(n int, f func() error) error {
	if n == 0 {
		return f()
	}
	var b [64 << 10]byte
	touch(b[:])
	err := below(n-1, f)
	touch(b[:])
	return err
}

// foreignContext is a context that package context does not know, for each child of which it starts a
// goroutine.
type foreignContext struct {
	context.Context
	done chan struct{}
	over *atomic.Bool
}

func (c foreignContext) Done() <-chan struct{} { return c.done }

func (c foreignContext) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

type deepKey struct{}

// deepContexts recurses with contexts that end with one, which the innermost level ends.
func deepContexts(t *testing.T) {
	base := foreignContext{bg, make(chan struct{}), new(atomic.Bool)}
	goroutines := runtime.NumGoroutine()
	d := newDeep(t, host.StoreOptions{}, func(d *deep) any {
		return func(ctx context.Context) error {
			d.levels++
			if d.levels%3 != 0 {
				ctx = context.WithValue(ctx, deepKey{}, d.levels)
			} else if d.levels%2 != 0 {
				ctx = nil
			}
			_, err := d.f.Call(ctx)
			var trap *host.Trap
			if errors.As(err, &trap) {
				isOverflow(t, err, 64)
				if n := runtime.NumGoroutine() - goroutines; n > 3 {
					t.Errorf("%d goroutines for %d levels", n, d.levels)
				}
				base.over.Store(true)
				close(base.done)
				return nil
			}
			return err
		}
	})
	if _, err := d.f.Call(base); !errors.Is(err, host.ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Errorf("%.200v", err)
	}
	if d.levels < 1000 {
		t.Errorf("%d levels", d.levels)
	}
	d.sound(t)
}

// deepPanic panics in the innermost level.
func deepPanic(t *testing.T) {
	d := newDeep(t, host.StoreOptions{}, func(d *deep) any {
		return func() {
			if _, err := d.f.Call(bg); err != nil {
				panic(err)
			}
		}
	})
	func() {
		defer func() {
			err, _ := recover().(error)
			isOverflow(t, err, 64)
		}()
		d.f.Call(bg)
	}()
	d.sound(t)
}

// deepGoexit ends the goroutine in the innermost level.
func deepGoexit(t *testing.T) {
	d := newDeep(t, host.StoreOptions{}, func(d *deep) any {
		return func() {
			if _, err := d.f.Call(bg); err != nil {
				runtime.Goexit()
			}
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.f.Call(bg)
		t.Error("not ended")
	}()
	<-done
	d.sound(t)
}

// deepGoroutines recurses on many goroutines, which wait for each other in the innermost level.
func deepGoroutines(t *testing.T) {
	const goroutines = 32
	m := compileBytes(t, deepWasm)
	var bottom, done sync.WaitGroup
	bottom.Add(goroutines)
	peak := uint64(0)
	for n := range goroutines {
		done.Go(func() {
			d := &deep{store: must[*host.Store](t)(host.NewStore(nil))}
			defer d.store.Close()
			d.instantiate(t, m, func(*deep) any {
				return func() error {
					_, err := d.f.Call(bg)
					if d.levels++; d.levels == 1 {
						bottom.Done()
						bottom.Wait()
						if n == 0 {
							peak = stacks()
						}
					}
					return err
				}
			})
			_, err := d.f.Call(bg)
			isOverflow(t, err, 64)
			d.sound(t)
		})
	}
	done.Wait()
	t.Logf("%d MiB of stacks", peak>>20)
	// Stacks are twice what is in use, at most.
	if peak > goroutines*(16<<20)*5/4 {
		t.Errorf("%d bytes of stacks", peak)
	}
}

// TestHostStackBase: what nested calls may use is counted from the outermost one, whatever called the store before
// and of whatever type that call is.
func TestHostStackBase(t *testing.T) {
	d := &deep{store: newStore(t)}
	d.instantiate(t, compileBytes(t, deepRefWasm), func(d *deep) any {
		return host.RawFunc{Params: []host.ValType{host.TypeExternRef}, Func: func(*host.Caller, []uint64, []uint64) error {
			if d.levels++; d.levels == 3 {
				return nil
			}
			return d.f.CallRaw(bg, []uint64{0})
		}}
	})
	leaf := func() error { return d.leaf.CallRaw(bg, nil) }
	for _, before := range []func() error{leaf, func() error { return below(16, leaf) }} {
		for name, call := range map[string]func() error{
			"CallRaw": func() error { return d.f.CallRaw(bg, []uint64{0}) },
			"Call":    func() error { _, err := d.f.Call(bg, nil); return err },
		} {
			if err := before(); err != nil {
				t.Fatal(err)
			}
			d.levels = 0
			if err := call(); err != nil || d.levels != 3 {
				t.Errorf("%s: %d levels: %v", name, d.levels, err)
			}
		}
	}
}

// TestHostDepth: the limits of nesting are exact, and ones that are too large are refused.
func TestHostDepth(t *testing.T) {
	for _, n := range []int{-1, 1, 2, 100} {
		d := newDeep(t, host.StoreOptions{MaxHostDepth: n}, again)
		d.overflows(t, max(n, 1), max(n, 1))
		d = newDeep(t, host.StoreOptions{MaxHostDepth: n}, againRaw)
		d.overflows(t, max(n, 1), max(n, 1))
	}
	// With 64 KiB a level.
	newDeep(t, host.StoreOptions{MaxHostStack: 1 << 20}, again64K).overflows(t, 15, 16)
	newDeep(t, host.StoreOptions{MaxHostStack: 1}, again64K).overflows(t, 1, 1)
	var limit *host.LimitError
	if _, err := host.NewStore(&host.StoreOptions{MaxHostStack: 128<<20 + 1}); !errors.As(err, &limit) || limit.What != "host stack bytes" {
		t.Error(err)
	}
}
