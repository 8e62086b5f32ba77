package wazero_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/experimental/table"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot"
)

var bg = context.Background()

// wasm translates a module from the text format.
func wasm(t testing.TB, text string) []byte {
	t.Helper()
	b, err := waot.ParseText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newRuntime(t testing.TB, c wazero.RuntimeConfig) wazero.Runtime {
	r := wazero.NewRuntimeWithConfig(bg, c)
	t.Cleanup(func() { r.Close(bg) })
	return r
}

func instantiate(t testing.TB, r wazero.Runtime, name, text string) api.Module {
	t.Helper()
	m, err := r.InstantiateWithConfig(bg, wasm(t, text), wazero.NewModuleConfig().WithName(name))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func call(t testing.TB, m api.Module, name string, args ...uint64) []uint64 {
	t.Helper()
	r, err := m.ExportedFunction(name).Call(bg, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCloseOrder closes an instance that others import from first: it is useless by itself then, but they go on.
func TestCloseOrder(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	lib := instantiate(t, r, "lib", `(module (memory (export "memory") 1)
		(func (export "next") (result i32) (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1))) (i32.load (i32.const 8))))`)
	app := instantiate(t, r, "app", `(module (import "lib" "next" (func $next (result i32))) (import "lib" "memory" (memory 1)) (export "twice" (func $f))
		(func $f (result i32) (drop (call $next)) (call $next)))`)
	if got := call(t, app, "twice"); got[0] != 2 {
		t.Errorf("twice: %d", got)
	}
	if err := lib.CloseWithExitCode(bg, 3); err != nil {
		t.Fatal(err)
	}
	if got := call(t, app, "twice"); got[0] != 4 {
		t.Errorf("twice: %d", got)
	}
	if _, err := lib.ExportedFunction("next").Call(bg); !errors.Is(err, sys.NewExitError(3)) || !lib.IsClosed() || r.Module("lib") != nil {
		t.Errorf("a closed instance: %v", err)
	}
	if v, ok := app.Memory().ReadUint32Le(8); !ok || v != 4 {
		t.Errorf("memory: %d, %v", v, ok)
	}
	app.Close(bg)
	if _, ok := app.Memory().ReadUint32Le(8); ok {
		t.Error("the memory is still there")
	}
	instantiate(t, r, "lib", `(module)`) // the name is free
}

// TestCaller: a Go function gets the instance whose code has called it, also where several are linked, and while one is being made.
func TestCaller(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	var names []string
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module) {
		v, _ := m.Memory().ReadByte(0)
		names = append(names, fmt.Sprint(m.Name(), v))
	}).Export("f").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	const text = `(module (import "host" "f" (func $f)) %s (memory 1) (data (i32.const 0) "\0%d") (func (export "g") (call $f)) (func $s %s (call $f)) (start $s))`
	a := instantiate(t, r, "a", fmt.Sprintf(text, "", 1, ""))
	b := instantiate(t, r, "b", fmt.Sprintf(text, `(import "a" "g" (func $g))`, 2, "(call $g)"))
	call(t, a, "g")
	call(t, b, "g")
	if want := []string{"a1", "a1", "b2", "a1", "b2"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// TestManySources: functions may come from instances that know nothing of each other; memories, tables and globals may not.
func TestManySources(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	instantiate(t, r, "a", `(module (memory (export "m") 1) (func (export "f") (param i64) (result i64) (i64.add (local.get 0) (i64.const 1))))`)
	instantiate(t, r, "b", `(module (global (export "g") i32 (i32.const 7)) (func (export "f") (param i64) (result i64) (i64.mul (local.get 0) (i64.const 2))))`)
	c := instantiate(t, r, "c", `(module (import "a" "f" (func $a (param i64) (result i64))) (import "b" "f" (func $b (param i64) (result i64)))
		(func (export "f") (param i64) (result i64) (call $b (call $a (local.get 0)))))`)
	if got := call(t, c, "f", 20); got[0] != 42 {
		t.Errorf("f(20) = %d", got)
	}
	_, err := r.Instantiate(bg, wasm(t, `(module (import "a" "m" (memory 1)) (import "b" "g" (global i32)))`))
	if err == nil || !strings.Contains(err.Error(), "waot cannot link") {
		t.Errorf("error %v", err)
	}
}

// TestParallel: goroutines that call one instance wait for each other; instances of their own run at the same time.
func TestParallel(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	meet := make(chan struct{})
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() {
		select { // the other instance's call takes this, or the reverse
		case meet <- struct{}{}:
		case <-meet:
		case <-time.After(10 * time.Second):
			t.Error("the other instance does not run")
		}
	}).Export("meet").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	const text = `(module (import "host" "meet" (func $meet)) (global $n (mut i32) (i32.const 0)) (func (export "meet") (call $meet))
		(func (export "count") (result i32) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n)))`
	a, b := instantiate(t, r, "a", text), instantiate(t, r, "b", text)
	var wg sync.WaitGroup
	for _, m := range []api.Module{a, b} {
		wg.Go(func() { call(t, m, "meet") })
	}
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				call(t, a, "count")
			}
		})
	}
	wg.Wait()
	if got := call(t, a, "count"); got[0] != 8001 {
		t.Errorf("%d calls", got)
	}
}

// TestErrors: the texts and values that programs look at.
func TestErrors(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	cause := errors.New("whoops")
	if _, err := r.NewHostModuleBuilder("host").
		NewFunctionBuilder().WithFunc(func(i uint32) {
		switch i {
		case 0:
			panic(cause)
		case 1:
			panic("text")
		case 2:
			panic(sys.NewExitError(4))
		}
	}).Export("fail").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module $mod (import "host" "fail" (func $fail (param i32)))
		(func $f (export "f") (param i32) (call $fail (local.get 0)) unreachable))`)
	f := m.ExportedFunction("f")
	const stack = "\nwasm stack trace:\n\thost.fail(i32)\n\tmod.f(i32)"
	for i, want := range []string{"whoops (recovered by wazero)" + stack, "text (recovered by wazero)" + stack, "module closed with exit_code(4)",
		"wasm error: unreachable\nwasm stack trace:\n\tmod.f(i32)"} {
		_, err := f.Call(bg, uint64(i))
		if err == nil || err.Error() != want {
			t.Errorf("%d: %v, want %s", i, err, want)
		}
		if i == 0 && !errors.Is(err, cause) {
			t.Error("the cause is lost")
		}
	}
	if _, err := f.Call(bg); err == nil || err.Error() != "expected 1 params, but passed 0" {
		t.Errorf("error %v", err)
	}
	for text, want := range map[string]string{
		`(module (import "no" "f" (func)))`:                        "module[no] not instantiated",
		`(module (import "m" "g" (func)))`:                         `"g" is not exported in module "m"`,
		`(module (import "m" "f" (func (param i64))))`:             "import func[m.f]: signature mismatch: i64_v != i32_v",
		`(module (import "m" "f" (memory 1)))`:                     `export "f" in module "m" is a func, not a memory`,
		`(module (memory 1) (data (i32.const 65536) "x"))`:         "out of bounds memory access",
		`(module (func $s unreachable) (start $s))`:                "start function[0] failed: wasm error: unreachable\nwasm stack trace:\n\t.s()",
		`(module (memory 1) (func (export "_start") unreachable))`: "module[] function[_start] failed: wasm error: unreachable\nwasm stack trace:\n\t.$0()",
	} {
		if _, err := r.InstantiateWithConfig(bg, wasm(t, text), wazero.NewModuleConfig().WithName("")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestRefused: what is left out is an error that says so.
func TestRefused(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	check := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	own := struct{ experimentalsys.FS }{}
	_, err := r.InstantiateWithConfig(bg, wasm(t, `(module)`), wazero.NewModuleConfig().WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(own, "/")))
	check(err, "waot cannot serve")
}

// snapshotsRecorded is a context for snapshots, in which calls of functions that are not of Go are recorded.
func snapshotsRecorded(events *[]string) context.Context {
	return experimental.WithSnapshotter(experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(d api.FunctionDefinition) experimental.FunctionListener {
		if d.GoFunction() != nil {
			return nil
		}
		return recorder{events}
	})))
}

// TestSnapshotListeners: listeners are not told any more of calls that were left for a snapshot, and those outside are told as usual.
func TestSnapshotListeners(t *testing.T) {
	var events []string
	ctx := snapshotsRecorded(&events)
	r := newRuntime(t, wazero.NewRuntimeConfig())
	var place experimental.Snapshot
	b := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(ctx context.Context) uint32 {
		place = experimental.GetSnapshotter(ctx).Snapshot()
		return 0
	}).Export("set").NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module) {
		_, err := m.ExportedFunction("jump").Call(ctx)
		t.Errorf("a call that is left returns: %v", err)
	}).Export("nest").NewFunctionBuilder().WithFunc(func() { place.Restore([]uint64{5}) }).Export("jump")
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := r.CompileModule(ctx, wasm(t, `(module $m (import "host" "set" (func $set (result i32))) (import "host" "nest" (func $nest)) (import "host" "jump" (func $jump))
		(func $f (export "f") (result i32) (local $n i32) (local.set $n (call $set)) (if (i32.eqz (local.get $n)) (then (call $inner))) (local.get $n))
		(func $inner (call $nest)) (func $j (export "jump") (call $jump)))`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.InstantiateModule(ctx, c, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := m.ExportedFunction("f").Call(ctx); err != nil || got[0] != 5 {
			t.Errorf("f: %d, %v", got, err)
		}
		want := []string{"before m.f[] in m [m.f]", "before m.inner[] in m [m.inner m.f]", "before m.j[] in m [m.j]", "after m.f[5]"}
		if !slices.Equal(events, want) {
			t.Errorf("events:\n%s", strings.Join(events, "\n"))
		}
		events = nil
	}
}

// TestSnapshotListenersReturned: a snapshot brings back calls that have returned since, and listeners are told of their ends once more.
func TestSnapshotListenersReturned(t *testing.T) {
	var events []string
	ctx := snapshotsRecorded(&events)
	r := newRuntime(t, wazero.NewRuntimeConfig())
	var place experimental.Snapshot
	times, caught := uint64(0), false
	b := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(ctx context.Context) uint32 {
		place = experimental.GetSnapshotter(ctx).Snapshot()
		return 0
	}).Export("set").NewFunctionBuilder().WithFunc(func() {
		if times++; caught {
			defer func() { _ = recover() }()
			place.Restore(nil)
		} else if times < 3 {
			place.Restore([]uint64{times})
		}
	}).Export("jump")
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := r.CompileModule(ctx, wasm(t, `(module $m (import "host" "set" (func $set (result i32))) (import "host" "jump" (func $jump))
		(func $f (export "f") (result i32) (call $inner) (call $jump))
		(func $inner (result i32) (call $set)))`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.InstantiateModule(ctx, c, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.ExportedFunction("f").Call(ctx); err != nil || got[0] != 2 {
		t.Errorf("f: %d, %v", got, err)
	}
	want := []string{"before m.f[] in m [m.f]", "before m.inner[] in m [m.inner m.f]", "after m.inner[0]", "after m.inner[1]", "after m.inner[2]", "after m.f[2]"}
	if !slices.Equal(events, want) {
		t.Errorf("events:\n%s", strings.Join(events, "\n"))
	}
	caught = true // a Go function that goes on instead
	if got, err := m.ExportedFunction("f").Call(ctx); err != nil || got[0] != 0 {
		t.Errorf("f: %d, %v", got, err)
	}
}

// TestCoroutine: a Go function may wait for a goroutine that calls the instance, also for a coroutine that goes on in a later call.
func TestCoroutine(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	var next func() (uint64, bool)
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module) uint64 {
		if next == nil {
			var stop func()
			next, stop = iter.Pull(func(yield func(uint64) bool) {
				for yield(call(t, m, "add", 10)[0]) {
				}
			})
			t.Cleanup(stop)
		}
		v, _ := next()
		return v
	}).Export("next").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module (import "host" "next" (func $next (result i64))) (global $n (mut i64) (i64.const 0))
		(func (export "f") (result i64) (i64.add (call $next) (call $next)))
		(func (export "add") (param i64) (result i64) (global.set $n (i64.add (global.get $n) (local.get 0))) (global.get $n)))`)
	for i := range uint64(3) {
		if got := call(t, m, "f"); got[0] != 30+40*i {
			t.Errorf("f: %d", got)
		}
	}
	// Panics of such a function become errors as usual.
	next = func() (uint64, bool) { panic("the end") }
	if _, err := m.ExportedFunction("f").Call(bg); err == nil || !strings.HasPrefix(err.Error(), "the end (recovered by wazero)\nwasm stack trace:\n\thost.next() i64\n\t.$1() i64") {
		t.Errorf("error %v", err)
	}
	call(t, m, "add", 1)
}

// recorder is a listener that writes down what it is told.
type recorder struct{ events *[]string }

func (r recorder) Before(_ context.Context, m api.Module, d api.FunctionDefinition, params []uint64, stack experimental.StackIterator) {
	var names []string
	for stack.Next() {
		names = append(names, stack.Function().Definition().DebugName())
	}
	*r.events = append(*r.events, fmt.Sprint("before ", d.DebugName(), params, " in ", m.Name(), " ", names))
}

func (r recorder) After(_ context.Context, _ api.Module, d api.FunctionDefinition, results []uint64) {
	*r.events = append(*r.events, fmt.Sprint("after ", d.DebugName(), results))
}

func (r recorder) Abort(_ context.Context, _ api.Module, d api.FunctionDefinition, err error) {
	text, _, _ := strings.Cut(err.Error(), "\n")
	*r.events = append(*r.events, fmt.Sprint("abort ", d.DebugName(), " ", text))
}

// TestListeners: listeners are told of calls of functions of guests and of Go, also by the start function and through tables, and of calls
// that never end.
func TestListeners(t *testing.T) {
	var events []string
	ctx := experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(d api.FunctionDefinition) experimental.FunctionListener {
		if d.Name() == "quiet" {
			return nil
		}
		return recorder{&events}
	}))
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(x uint64) uint64 { return x / 2 }).Export("half").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := r.CompileModule(ctx, wasm(t, `(module $m (import "host" "half" (func $half (param i64) (result i64)))
		(table funcref (elem $two)) (type $t (func (param i32) (result i32 f32)))
		(func $two (type $t) (local.get 0) (f32.const 0))
		(func $quiet (export "f") (param i32) (result i32) (drop (call_indirect (type $t) (local.get 0) (i32.const 0))))
		(func $g (export "g") (param i64) (result i64) (call $half (local.get 0)))
		(func $trap (export "trap") (drop (call $inner (i32.const 1))))
		(func $inner (param i32) (result i32) unreachable)
		(func $start (drop (call $g (i64.const 8)))) (start $start))`))
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want ...string) {
		t.Helper()
		if !slices.Equal(events, want) {
			t.Errorf("events:\n%s\nwant:\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
		}
		events = nil
	}
	m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	expect("before m.start[] in m [m.start]", "before m.g[8] in m [m.g m.start]", "before host.half[8] in m [host.half m.g m.start]", "after host.half[4]", "after m.g[4]", "after m.start[]")
	if got := call(t, m, "f", 5); got[0] != 5 {
		t.Errorf("f: %d", got)
	}
	expect("before m.two[5] in m [m.two m.quiet]", "after m.two[5 0]")
	_, err = m.ExportedFunction("trap").Call(bg)
	const text = "wasm error: unreachable"
	if want := text + "\nwasm stack trace:\n\tm.inner(i32) i32\n\tm.trap()"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	expect("before m.trap[] in m [m.trap]", "before m.inner[1] in m [m.inner m.trap]", "abort m.inner "+text, "abort m.trap "+text)
}

// TestFeatures: a runtime refuses modules that need more than it accepts.
func TestFeatures(t *testing.T) {
	for text, need := range map[string]api.CoreFeatures{
		`(module (func (param i32) (result i32) (i32.extend8_s (local.get 0))))`: api.CoreFeatureSignExtensionOps,
		`(module (func (result i32 i32) (i32.const 1) (i32.const 2)))`:           api.CoreFeatureMultiValue,
		`(module (func (result v128) (v128.const i64x2 1 2)))`:                   api.CoreFeatureSIMD,
		`(module (tag))`:                 experimental.CoreFeaturesExceptionHandling,
		`(module (func (param exnref)))`: experimental.CoreFeaturesExceptionHandling,
		`(module (import "env" "f" (func $f)) (func (export "f") (try_table (catch_all 0) (call $f))))`: experimental.CoreFeaturesExceptionHandling,
		`(module (func))`: 0,
	} {
		for _, has := range []api.CoreFeatures{api.CoreFeaturesV1, api.CoreFeaturesV2 &^ need, api.CoreFeaturesV1 | need} {
			r := newRuntime(t, wazero.NewRuntimeConfig().WithCoreFeatures(has))
			_, err := r.CompileModule(bg, wasm(t, text))
			if refused := has&need != need; (err != nil) != refused {
				t.Errorf("%s with %v: %v", text, has, err)
			}
		}
	}
}

// TestLegacyExceptions: those of the legacy proposal are refused, as wazero does.
func TestLegacyExceptions(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesExceptionHandling))
	if _, err := r.CompileModule(bg, wasm(t, `(module (func $f (try (do (call $f)) (catch_all))))`)); err == nil {
		t.Error("accepted")
	}
}

// TestExceptionListeners: a function that is left by an exception does not end, and the others do.
func TestExceptionListeners(t *testing.T) {
	var told []string
	tell := func(what string, d api.FunctionDefinition) { told = append(told, what+" "+d.Name()) }
	ctx := experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(api.FunctionDefinition) experimental.FunctionListener { return telling(tell) }))
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesExceptionHandling))
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, wasm(t, `(module (tag $t)
		(func $throw (throw $t)) (func $inner (call $throw))
		(func $outer (export "outer") (param i32) (block $h (try_table (catch $t $h) (call $inner))) (if (local.get 0) (then unreachable))))`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("outer").Call(ctx, 0); err != nil {
		t.Error(err)
	}
	if got, want := fmt.Sprint(told), "[before outer before inner before throw after outer]"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// telling is a listener that is one function.
type telling func(what string, d api.FunctionDefinition)

func (l telling) Before(_ context.Context, _ api.Module, d api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
	l("before", d)
}
func (l telling) After(_ context.Context, _ api.Module, d api.FunctionDefinition, _ []uint64) {
	l("after", d)
}
func (l telling) Abort(_ context.Context, _ api.Module, d api.FunctionDefinition, _ error) {
	l("abort", d)
}

// TestTailCalls: tail calls take no stack, not between modules either, and reach Go functions; an endless chain of them ends with its context.
func TestTailCalls(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesTailCall).WithCloseOnContextDone(true))
	if _, err := r.NewHostModuleBuilder("go").NewFunctionBuilder().WithFunc(func(_ context.Context, x uint64) uint64 { return x + 1 }).Export("inc").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	instantiate(t, r, "other", `(module (table (export "t") 2 funcref) (type $f (func (param i64 i64) (result i64)))
		(func (export "odd") (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)
			(return_call_indirect (type $f) (i64.sub (local.get 0) (i64.const 1)) (local.get 9) (i32.const 0))))`)
	m := instantiate(t, r, "m", `(module (import "go" "inc" (func $inc (param i64) (result i64))) (import "other" "t" (table 2 funcref))
		(import "other" "odd" (func $odd (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)))
		(func $even (param i64 i64) (result i64)
			(if (i64.eqz (local.get 0)) (then (return_call $inc (local.get 1))))
			(return_call $odd (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (i64.add (local.get 1) (local.get 0))))
		(elem (i32.const 0) $even)
		(func (export "f") (param i64) (result i64) (return_call $even (local.get 0) (i64.const 0))))`)
	const n = 3_000_000
	if got := call(t, m, "f", n); got[0] != n*(n+1)/2+1 {
		t.Errorf("f: %d", got)
	}
	ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
	defer cancel()
	if _, err := m.ExportedFunction("f").Call(ctx, 1<<62); err == nil {
		t.Error("an endless chain of calls ends")
	}
}

// TestCache: runtimes share code, also by way of a folder.
func TestCache(t *testing.T) {
	folder, err := wazero.NewCompilationCacheWithDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []wazero.CompilationCache{wazero.NewCompilationCache(), folder} {
		for range 2 {
			r := wazero.NewRuntimeWithConfig(bg, wazero.NewRuntimeConfig().WithCompilationCache(c))
			m := instantiate(t, r, "", `(module (func (export "f") (result i32) (i32.const 7)))`)
			if got := call(t, m, "f"); got[0] != 7 {
				t.Errorf("f: %d", got)
			}
			r.Close(bg)
		}
		c.Close(bg)
	}
}

// TestLongjmp: a longjmp ends the functions up to the invoke function below setjmp, and the guest knows.
func TestLongjmp(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	c, err := r.CompileModule(bg, wasm(t, `(module (import "env" "invoke_ii" (func $invoke (param i32 i32) (result i32))) (import "env" "_emscripten_throw_longjmp" (func $throw))
		(table funcref (elem $jump $stay)) (global $sp (mut i32) (i32.const 100)) (global $threw (mut i32) (i32.const 0))
		(func (export "emscripten_stack_get_current") (result i32) (global.get $sp))
		(func (export "_emscripten_stack_restore") (param i32) (global.set $sp (local.get 0)))
		(func (export "setThrew") (param i32 i32) (global.set $threw (local.get 0)))
		(func $jump (param i32) (result i32) (global.set $sp (i32.const 5)) (call $throw) (i32.const 1))
		(func $stay (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
		(func (export "f") (param i32) (result i32 i32 i32) (call $invoke (local.get 0) (i32.const 41)) (global.get $sp) (global.get $threw)))`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := emscripten.InstantiateForModule(bg, r, c); err != nil {
		t.Fatal(err)
	}
	m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, m, "f", 1); !slices.Equal(got, []uint64{42, 100, 0}) {
		t.Errorf("without a jump: %d", got)
	}
	if got := call(t, m, "f", 0); !slices.Equal(got[1:], []uint64{100, 1}) {
		t.Errorf("with a jump: %d", got)
	}
}

// TestContexts: contexts end calls where the runtime is told so, and nowhere else; so does closing.
func TestContexts(t *testing.T) {
	const text = `(module (func (export "loop") (loop (br 0))) (func (export "f")))`
	ends := newRuntime(t, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	short, cancel := context.WithTimeout(bg, 10*time.Millisecond)
	defer cancel()
	m := instantiate(t, ends, "a", text)
	if _, err := m.ExportedFunction("loop").Call(short); !errors.Is(err, sys.NewExitError(sys.ExitCodeDeadlineExceeded)) || !m.IsClosed() {
		t.Errorf("after a deadline: %v", err)
	}
	m = instantiate(t, ends, "b", text)
	time.AfterFunc(10*time.Millisecond, func() { m.CloseWithExitCode(bg, 5) })
	if _, err := m.ExportedFunction("loop").Call(bg); !errors.Is(err, sys.NewExitError(5)) {
		t.Errorf("after closing: %v", err)
	}
	m = instantiate(t, newRuntime(t, wazero.NewRuntimeConfig()), "c", text)
	<-short.Done()
	if _, err := m.ExportedFunction("f").Call(short); err != nil {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestGivenContext: Go functions get the context that the program gave, whatever the store gets.
func TestGivenContext(t *testing.T) {
	for _, ends := range []bool{false, true} {
		r := newRuntime(t, wazero.NewRuntimeConfig().WithCloseOnContextDone(ends))
		ctx, cancel := context.WithCancel(context.WithValue(bg, "key", 1))
		defer cancel()
		seen := 0
		if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(c context.Context) {
			if c != ctx {
				t.Errorf("the function gets %v", c)
			}
			seen++
		}).Export("f").Instantiate(bg); err != nil {
			t.Fatal(err)
		}
		m := instantiate(t, r, "m", `(module (import "host" "f" (func $f)) (func (export "g") (call $f)))`)
		if _, err := m.ExportedFunction("g").Call(ctx); err != nil || seen != 1 {
			t.Errorf("%d calls, %v", seen, err)
		}
	}
}

// TestCloseInside closes an instance from a Go function that its code has called: everything is freed after the call.
func TestCloseInside(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module) { m.CloseWithExitCode(ctx, 6) }).Export("f").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module (import "host" "f" (func $f)) (memory 1) (func (export "g") (call $f) (i32.store (i32.const 0) (i32.const 1))))`)
	if _, err := m.ExportedFunction("g").Call(bg); !errors.Is(err, sys.NewExitError(6)) {
		t.Errorf("error %v", err)
	}
	if _, ok := m.Memory().ReadByte(0); ok {
		t.Error("the memory is still there")
	}
}

// TestValues passes references and vectors, and looks at what is not exported.
func TestValues(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(x uintptr) uintptr { return x + 1 }).Export("f").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module (import "host" "f" (func $f (param externref) (result externref)))
		(table 2 funcref) (elem (i32.const 1) $v) (global $g (export "g") (mut f64) (f64.const 1.5))
		(func (export "ref") (param externref) (result externref) (call $f (local.get 0)))
		(func $v (export "v") (param v128 i64) (result i64 v128) (local.get 1) (local.get 0)))`)
	if got := call(t, m, "ref", 41); got[0] != 42 {
		t.Errorf("ref: %d", got)
	}
	if got := call(t, m, "v", 1, 2, 3); !slices.Equal(got, []uint64{3, 1, 2}) {
		t.Errorf("v: %d", got)
	}
	g := m.ExportedGlobal("g").(api.MutableGlobal)
	if g.Set(api.EncodeF64(2.5)); api.DecodeF64(g.Get()) != 2.5 || g.String() != "global(2.500000)" {
		t.Errorf("g is %v", g)
	}
	types := []api.ValueType{0x7b, api.ValueTypeI64}
	f := table.LookupFunction(m, 0, 1, types, []api.ValueType{api.ValueTypeI64, 0x7b})
	if got, err := f.Call(bg, 4, 5, 6); err != nil || !slices.Equal(got, []uint64{6, 4, 5}) {
		t.Errorf("element 1: %d, %v", got, err)
	}
	for i, want := range []string{"invalid table access", "indirect call type mismatch", "invalid table access"} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); r != want {
					t.Errorf("element %d: %v, want %s", i, r, want)
				}
			}()
			table.LookupFunction(m, 0, uint32(i), nil, nil)
		}()
	}
}

// TestViews: a slice of a memory sees growth and writes, and outlives its instance, however many come after it.
func TestViews(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	const text = `(module (memory 1 4) (data (i32.const 4) "data") (func (export "grow") (drop (memory.grow (i32.const 1))) (i32.store8 (i32.const 5) (i32.const 65))))`
	m := instantiate(t, r, "", text)
	view, ok := m.Memory().Read(4, 4)
	view[3] = 'x'
	call(t, m, "grow")
	if b, _ := m.Memory().ReadByte(7); !ok || string(view) != "dAtx" || b != 'x' {
		t.Errorf("view %q", view)
	}
	m.Close(bg)
	for range 200 {
		n := instantiate(t, r, "", text)
		other, _ := n.Memory().Read(4, 4)
		n.Close(bg)
		copy(other, "else")
		if string(view) != "dAtx" {
			t.Fatalf("view %q after closing", view)
		}
	}
}

// TestAllocator: code uses the bytes of an allocator, into which programs map files.
func TestAllocator(t *testing.T) {
	const size = 8 << 16
	bytes, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(bytes)
	ctx := experimental.WithMemoryAllocator(bg, experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { return &sliced{b: bytes} }))
	r := newRuntime(t, wazero.NewRuntimeConfig())
	m, err := r.Instantiate(ctx, wasm(t, `(module (memory 4) (func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0))))`))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("from the file"); err != nil {
		t.Fatal(err)
	}
	view, _ := m.Memory().Read(0, 4<<16)
	if &view[0] != &bytes[0] {
		t.Error("a slice is not the allocator's")
	}
	if _, _, e := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&view[1<<16])), 4096, syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_FIXED, f.Fd(), 0); e != 0 {
		t.Fatal(e)
	}
	if got := call(t, m, "get", 1<<16+5); got[0] != 't' {
		t.Errorf("the code sees %q", got[0])
	}
	bytes[4<<16-1] = 'x'
	if got := call(t, m, "get", 4<<16-1); got[0] != 'x' {
		t.Errorf("the code sees %q", got[0])
	}
	if _, err := m.ExportedFunction("get").Call(bg, 4<<16); err == nil {
		t.Error("the code sees what is behind the memory")
	}
	m.Close(bg)
	// Of an instance that fails, the memory is given back, too; wazero forgets it.
	freed := 0
	ctx = experimental.WithMemoryAllocator(bg, experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { return &sliced{b: bytes, freed: &freed} }))
	if _, err := r.Instantiate(ctx, wasm(t, `(module (memory 1) (data (i32.const 65535) "abc"))`)); err == nil || freed != 1 {
		t.Errorf("%v, %d freed", err, freed)
	}
}

// sliced is a memory in a slice, as far as that goes.
type sliced struct {
	b     []byte
	freed *int
}

func (s *sliced) Reallocate(size uint64) []byte { return s.b[:size] }
func (s *sliced) Free() {
	if s.freed != nil {
		*s.freed++
	}
}

// TestWASI: two instances of a runtime have a system each, and exit by themselves.
func TestWASI(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	wasi_snapshot_preview1.MustInstantiate(bg, r)
	c, err := r.CompileModule(bg, wasm(t, `(module (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
		(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (memory (export "memory") 1)
		(func (export "_start") (drop (call $sizes (i32.const 0) (i32.const 4))) (call $exit (i32.load (i32.const 0)))))`))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		_, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName("").WithArgs(make([]string, n)...))
		if exit, ok := err.(*sys.ExitError); n > 0 && (!ok || exit.ExitCode() != uint32(n)) || n == 0 && err != nil {
			t.Errorf("%d arguments: %v", n, err)
		}
	}
}

// TestAllocations: calls with a stack do not allocate, with a context that can end either, nor do Go functions on words.
func TestAllocations(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	i32 := []api.ValueType{api.ValueTypeI32}
	if _, err := r.NewHostModuleBuilder("host").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0]++ }), i32, i32).Export("f").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { stack[0]++ }), i32, i32).Export("g").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { stack[0], stack[1] = 3, 4 }), nil, []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}).Export("h").
		Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module (import "host" "f" (func $f (param i32) (result i32))) (import "host" "g" (func $g (param i32) (result i32))) (import "host" "h" (func $h (result i64 i64)))
		(func (export "f") (param i32) (result i32) (call $f (local.get 0))) (func (export "g") (param i32) (result i32) (call $g (local.get 0)))
		(func (export "h") (param i32) (result i32) (i32.wrap_i64 (i64.mul (call $h))) (i32.add (i32.const 30))))`)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	stack := make([]uint64, 1)
	for _, name := range []string{"f", "g", "h"} {
		f := m.ExportedFunction(name)
		for _, c := range []context.Context{bg, ctx} {
			if n := testing.AllocsPerRun(100, func() {
				stack[0] = 41
				if err := f.CallWithStack(c, stack); err != nil || stack[0] != 42 {
					t.Fatal(stack, err)
				}
			}); n != 0 {
				t.Errorf("%s: %v allocations with %v", name, n, c)
			}
		}
	}
}

// TestGoexit ends a goroutine inside a Go function: the instance can be called again, and gives its memory back when it is closed.
func TestGoexit(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(context.Context) { runtime.Goexit() }).Export("f").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module (import "host" "f" (func $f)) (memory (export "memory") 1) (func (export "exit") (call $f)) (func (export "one") (result i32) (i32.const 1)))`)
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		m.ExportedFunction("exit").Call(bg)
		returned = true
	}()
	if <-ended {
		t.Error("the call has returned")
	}
	if got := call(t, m, "one"); got[0] != 1 {
		t.Errorf("one: %d", got)
	}
	m.Close(bg)
	if n := m.Memory().Size(); n != 0 {
		t.Errorf("the closed instance has %d bytes of memory", n)
	}
}

// TestGoexitCloses: the goroutine of a call closes the instance and ends. What the instance had is given back.
func TestGoexitCloses(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module) {
		m.Close(bg)
		runtime.Goexit()
	}).Export("end").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	m := instantiate(t, r, "m", `(module (import "host" "end" (func $end)) (memory (export "memory") 1) (func (export "f") (call $end)))`)
	mem := m.Memory()
	go m.ExportedFunction("f").Call(bg)
	for mem.Size() != 0 {
		time.Sleep(time.Millisecond)
	}
}

// directly returns an export of a module that waot runs, without this module.
func directly(b *testing.B, text, export string, imports waot.Imports) *waot.Func {
	b.Helper()
	mod, err := waot.Compile(wasm(b, text), nil)
	if err != nil {
		b.Fatal(err)
	}
	s, err := waot.NewStore(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	inst, err := s.Instantiate(nil, mod, imports)
	if err != nil {
		b.Fatal(err)
	}
	f, err := inst.Func(export)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// BenchmarkHostCall compares a call of a Go function, from a loop in compiled code, with the same on waot directly.
func BenchmarkHostCall(b *testing.B) {
	const text = `(module (import "env" "f" (func $f (param i32) (result i32))) (func (export "loop") (param i64)
		(loop (if (i64.ne (local.get 0) (i64.const 0)) (then (drop (call $f (i32.const 1))) (local.set 0 (i64.sub (local.get 0) (i64.const 1))) (br 1))))))`
	i32 := []api.ValueType{api.ValueTypeI32}
	r := newRuntime(b, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0]++ }), i32, i32).
		Export("f").Instantiate(bg); err != nil {
		b.Fatal(err)
	}
	f := instantiate(b, r, "m", text).ExportedFunction("loop")
	types := []waot.ValType{waot.TypeI32}
	direct := directly(b, text, "loop", waot.Imports{"env": {"f": waot.RawFunc{Params: types, Results: types, Func: func(_ *waot.Caller, args, results []uint64) error {
		results[0] = args[0] + 1
		return nil
	}}}})
	b.Run("compat", func(b *testing.B) { f.CallWithStack(bg, []uint64{uint64(b.N)}) })
	b.Run("waot", func(b *testing.B) { direct.CallRaw(bg, []uint64{uint64(b.N)}) })
}

// BenchmarkCall compares a call of an empty function with the same on waot directly.
func BenchmarkCall(b *testing.B) {
	const text = `(module (func (export "f") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))`
	f := instantiate(b, newRuntime(b, wazero.NewRuntimeConfig()), "m", text).ExportedFunction("f")
	direct := directly(b, text, "f", nil)
	stack := []uint64{1, 2}
	b.Run("compat", func(b *testing.B) {
		for b.Loop() {
			f.CallWithStack(bg, stack)
		}
	})
	b.Run("waot", func(b *testing.B) {
		for b.Loop() {
			direct.CallRaw(bg, stack)
		}
	})
}

// waiter is a listener that runs a function when a call begins and when it ends.
type waiter struct{ run func() }

func (w waiter) Before(_ context.Context, _ api.Module, _ api.FunctionDefinition, _ []uint64, stack experimental.StackIterator) {
	w.run()
	for stack.Next() {
		stack.Function().Definition()
	}
	w.run()
}
func (w waiter) After(context.Context, api.Module, api.FunctionDefinition, []uint64) { w.run() }
func (w waiter) Abort(context.Context, api.Module, api.FunctionDefinition, error)    { w.run() }

// TestListenersWait: a listener may wait for a goroutine that calls the instance, and reads what it exports.
func TestListenersWait(t *testing.T) {
	waits := 0
	var m api.Module
	ctx := experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(d api.FunctionDefinition) experimental.FunctionListener {
		if d.DebugName() == ".quiet" {
			return nil
		}
		return waiter{func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if got := call(t, m, "quiet"); got[0] != 7 || m.ExportedGlobal("g").Get() != 5 {
					t.Errorf("quiet: %d", got)
				}
			}()
			<-done
			waits++
		}}
	}))
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() {}).Export("f").NewFunctionBuilder().WithFunc(func() { panic("no") }).Export("no").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := r.CompileModule(ctx, wasm(t, `(module (import "host" "f" (func $f)) (import "host" "no" (func $no)) (global (export "g") i32 (i32.const 5))
		(func $quiet (export "quiet") (result i32) (i32.const 7))
		(func $ok (export "ok") (call $f)) (func $no_ (export "no") (call $no)))`))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = r.InstantiateModule(ctx, c, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	call(t, m, "ok")
	if _, err := m.ExportedFunction("no").Call(bg); err == nil {
		t.Error("no error")
	}
	if waits != 12 {
		t.Errorf("%d waits", waits)
	}
}

// TestListenersNames: a module may export what has the name that the instrumentation would use.
func TestListenersNames(t *testing.T) {
	var events []string
	ctx := experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(api.FunctionDefinition) experimental.FunctionListener {
		return recorder{&events}
	}))
	r := newRuntime(t, wazero.NewRuntimeConfig())
	m, err := r.Instantiate(ctx, wasm(t, `(module (func $s (export "\00waot.start")) (func $l (export "\00waot.listeners")) (func $m (export "\00waot.listeners+")) (start $s))`))
	if err != nil {
		t.Fatal(err)
	}
	call(t, m, "\x00waot.listeners+")
	if len(events) != 4 || len(m.ExportedFunctionDefinitions()) != 3 {
		t.Errorf("%q", events)
	}
}

// TestNil: nil is taken where wazero takes it, and for the contexts of calls; what cannot be without gives an error or the panic that it gives there.
func TestNil(t *testing.T) {
	for _, done := range []bool{false, true} {
		r := wazero.NewRuntimeWithConfig(nil, wazero.NewRuntimeConfig().WithCompilationCache(nil).WithCloseOnContextDone(done))
		c, err := r.CompileModule(bg, wasm(t, `(module (func (export "f") (param i32) (result i32) (local.get 0)))`))
		if err != nil {
			t.Fatal(err)
		}
		config := wazero.NewModuleConfig().WithName("").WithFS(nil).WithFSConfig(nil).WithStdin(nil).WithStdout(nil).WithStderr(nil).WithRandSource(nil).
			WithOsyield(nil).WithNanosleep(nil).WithWalltime(nil, 0).WithNanotime(nil, 0).WithFSConfig(wazero.NewFSConfig().WithFSMount(nil, "/"))
		m, err := r.InstantiateModule(bg, c, config)
		if err != nil {
			t.Fatal(err)
		}
		if results, err := m.ExportedFunction("f").Call(nil, 7); err != nil || results[0] != 7 {
			t.Errorf("a call: %v, %v", results, err)
		}
		if _, err := r.CompileModule(bg, nil); err == nil {
			t.Error("nil is a module")
		}
		if _, err := r.NewHostModuleBuilder("h").NewFunctionBuilder().WithFunc(nil).Export("f").Instantiate(bg); err == nil {
			t.Error("nil is a function")
		}
		if err := errors.Join(c.Close(nil), m.Close(nil), r.Close(nil)); err != nil {
			t.Error(err)
		}
	}
}
