// Command behaviour writes what a runtime does in cases that programs may meet, a line for each: TestBehaviour runs it with wazero and with this module, and compares.
// The modules are in a folder that the first argument names.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/table"
	"github.com/tetratelabs/wazero/imports/assemblyscript"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

var bg = context.Background()

// goFunc is what env.h of a runtime calls.
type goFunc func(ctx context.Context, m api.Module, x uint32) uint32

// h is the function of the moment.
var h goFunc

func main() {
	for _, f := range []func(){exports, closed, linked, goFunctions, starts, contexts, programs, libraries, limits, listeners, parallel, coroutines, goroutines,
		names, builders, sections, globals, starters, notified, closing, streams, files, caches, memories, allocators, plugins, together, waiting, meanwhile, exceptions} {
		h = func(_ context.Context, _ api.Module, x uint32) uint32 { return x }
		f()
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// wasm is the module of that name.
func wasm(name string) []byte { return must(os.ReadFile(filepath.Join(os.Args[1], name+".wasm"))) }

// named are settings with a name.
func named(name string) wazero.ModuleConfig { return wazero.NewModuleConfig().WithName(name) }

// runtime is a new runtime with env.h.
func runtime(c wazero.RuntimeConfig) wazero.Runtime { return runtimeFor(bg, c) }

// runtimeFor is runtime with listeners.
func runtimeFor(ctx context.Context, c wazero.RuntimeConfig) wazero.Runtime {
	r := wazero.NewRuntimeWithConfig(ctx, c)
	must(r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, x uint32) uint32 { return h(ctx, m, x) }).Export("h").Instantiate(ctx))
	return r
}

// call calls an export.
func call(m api.Module, name string, args ...uint64) ([]uint64, error) {
	return m.ExportedFunction(name).Call(bg, args...)
}

// say writes a line. Errors are written without stacks of Go, and with their exit codes.
func say(name string, values ...any) {
	var words []string
	for _, v := range values {
		if err, ok := v.(error); ok {
			text, _, _ := strings.Cut(err.Error(), "\n\nGo runtime stack trace")
			var exit *sys.ExitError
			if errors.As(err, &exit) {
				text += fmt.Sprintf(" (exit %#x)", exit.ExitCode())
			}
			v = strings.ReplaceAll(text, "\n", `\n`)
		}
		words = append(words, fmt.Sprint(v))
	}
	fmt.Println(name+":", strings.Join(words, " "))
}

// saying writes a line if f panics.
func saying(name string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			say(name+" panics", r)
		}
	}()
	f()
}

// exports looks at everything that an instance has.
func exports() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	m, err := r.Instantiate(bg, wasm("basic"))
	say("instance", err, m.Name(), m, r.Module("basic") == m)
	for _, args := range [][]uint64{{1, 2}, {1}, {1, 2, 3}} {
		results, err := call(m, "add", args...)
		say("add", results, err)
	}
	say("short stacks", m.ExportedFunction("add").CallWithStack(bg, []uint64{1}), m.ExportedFunction("multi").CallWithStack(bg, make([]uint64, 3)))
	results, err := call(m, "multi")
	say("multi", results, err)
	for _, trap := range []struct {
		name string
		args []uint64
	}{{"div", []uint64{1, 0}}, {"div", []uint64{1 << 31, 1<<32 - 1}}, {"unreach", nil}, {"load", []uint64{65533}}, {"trunc", []uint64{api.EncodeF64(1e300)}},
		{"ind", []uint64{0}}, {"ind", []uint64{1}}, {"ind", []uint64{2}}, {"ind", []uint64{3}}, {"ind", []uint64{4}}, {"rec", []uint64{1}}} {
		results, err := call(m, trap.name, trap.args...)
		say(trap.name, results, err)
	}
	say("missing", m.ExportedFunction("zz") == nil, m.ExportedMemory("zz") == nil, m.ExportedGlobal("zz") == nil, m.ExportedGlobal("memory") == nil, m.ExportedMemory("g") == nil, m.ExportedFunction("memory") == nil)
	for _, name := range []string{"g", "c"} {
		g := m.ExportedGlobal(name)
		_, mutable := g.(api.MutableGlobal)
		say("global "+name, g, g.Get(), g.Type(), mutable)
	}
	d := m.Memory().Definition()
	most, declared := d.Max()
	module, name, imported := d.Import()
	say("memory", d.Min(), most, declared, d.ExportNames(), d.ModuleName(), d.Index(), module, name, imported)
	f := m.ExportedFunction("add").Definition()
	say("function", f.Name(), f.DebugName(), f.ExportNames(), f.ParamNames(), f.ParamTypes(), f.ResultTypes(), f.ResultNames(), f.Index(), f.ModuleName(), f.GoFunction())
	var names []string
	for n := range m.ExportedFunctionDefinitions() {
		names = append(names, n)
	}
	slices.Sort(names)
	say("functions", names)
	for i := range uint32(6) {
		saying(fmt.Sprint("element ", i), func() {
			f := table.LookupFunction(m, 0, i, []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32})
			results, err := f.Call(bg, 3, 4)
			say(fmt.Sprint("element ", i), results, err, f.Definition().Name(), f.Definition().Index(), f.Definition().ExportNames(), f.Definition().DebugName())
		})
	}
	saying("table 1", func() { table.LookupFunction(m, 1, 0, nil, nil) })
	for _, pages := range []uint32{2, 3, 0} {
		before, ok := m.Memory().Grow(pages)
		say("growth", before, ok, m.Memory().Size())
	}
	size := m.Memory().Size()
	for _, part := range [][2]uint32{{size, 0}, {size + 1, 0}, {1<<32 - 1, 2}, {size - 4, 4}, {size - 3, 4}} {
		b, ok := m.Memory().Read(part[0], part[1])
		say("read", part, b, ok)
	}
	say("write", m.Memory().Write(size, nil), m.Memory().WriteString(size-1, "ab"))
}

// closed uses instances and runtimes that have been closed.
func closed() {
	r := runtime(wazero.NewRuntimeConfig())
	m := must(r.Instantiate(bg, wasm("basic")))
	f, g, mem := m.ExportedFunction("add"), m.ExportedGlobal("g"), m.Memory()
	mem.WriteUint32Le(8, 77)
	say("close", m.Close(bg), m.IsClosed(), m.CloseWithExitCode(bg, 4))
	results, err := f.Call(bg, 1, 2)
	say("call of closed", results, err)
	v, ok := mem.ReadUint32Le(8)
	say("memory of closed", v, ok, mem.Size())
	say("global of closed", g)
	say("exports of closed", m.Memory() != nil, m.ExportedMemory("memory") != nil, m.ExportedFunction("add") != nil)
	again, err := r.Instantiate(bg, wasm("basic"))
	say("again", err, r.Module("basic") == again)
	_, err = r.Instantiate(bg, wasm("basic"))
	say("twice", err)
	nameless, err := r.InstantiateWithConfig(bg, wasm("basic"), named(""))
	say("without a name", err, nameless)
	say("runtime", r.CloseWithExitCode(bg, 9), r.Close(bg), again.IsClosed())
	_, err = call(again, "noop")
	say("call after runtime", err)
	_, err = r.CompileModule(bg, wasm("basic"))
	say("compile after runtime", err)
	_, err = r.Instantiate(bg, wasm("basic"))
	say("instantiate after runtime", err)
}

// linked closes instances that import from each other, in both orders.
func linked() {
	for _, order := range []string{"provider first", "consumer first"} {
		r := runtime(wazero.NewRuntimeConfig())
		provider := must(r.InstantiateWithConfig(bg, wasm("provider"), named("provider")))
		consumer, other := must(r.Instantiate(bg, wasm("consumer"))), must(r.Instantiate(bg, wasm("other")))
		calls := func(when string) {
			for _, c := range []struct {
				m    api.Module
				name string
			}{{consumer, "twice"}, {consumer, "exported"}, {provider, "increment"}, {other, "go"}} {
				results, err := call(c.m, c.name)
				say(order+", "+when+" "+c.name, results, err)
			}
		}
		calls("open,")
		say("definition", consumer.ExportedFunction("exported").Definition().DebugName(), consumer.ExportedMemory("memory") != nil)
		must(call(consumer, "store"))
		v, ok := provider.Memory().ReadUint32Le(0)
		say("shared", v, ok)
		list := []api.Module{provider, consumer}
		if order == "consumer first" {
			slices.Reverse(list)
		}
		for i, m := range list {
			say("close", m.Close(bg))
			calls(fmt.Sprintf("%d closed,", i+1))
		}
		_, err := r.Instantiate(bg, wasm("other"))
		say("without provider", err)
		r.Close(bg)
	}
}

// goFunctions ends Go functions in all ways.
func goFunctions() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	var m api.Module
	plain := h
	for _, c := range []struct {
		name string
		f    goFunc
	}{
		{"returns", func(ctx context.Context, caller api.Module, x uint32) uint32 {
			say("caller", caller.Name(), caller == m, caller.Memory() != nil, ctx == bg)
			return x
		}},
		{"panics with a string", func(context.Context, api.Module, uint32) uint32 { panic("oops") }},
		{"panics with an error", func(context.Context, api.Module, uint32) uint32 { panic(errors.New("an error")) }},
		{"panics with a number", func(context.Context, api.Module, uint32) uint32 { panic(5) }},
		{"fails", func(_ context.Context, _ api.Module, x uint32) uint32 { return 1 / (x - x) }},
		{"exits", func(context.Context, api.Module, uint32) uint32 { panic(sys.NewExitError(6)) }},
		{"exits with 0", func(context.Context, api.Module, uint32) uint32 { panic(sys.NewExitError(0)) }},
		{"nests", func(ctx context.Context, caller api.Module, x uint32) uint32 {
			if x > 3 {
				return x
			}
			results, err := caller.ExportedFunction("f").Call(ctx, uint64(x)+1)
			return uint32(must(results, err)[0])
		}},
		{"passes a nested error on", func(ctx context.Context, caller api.Module, x uint32) uint32 {
			if x == 2 {
				panic("inner")
			}
			results, err := caller.ExportedFunction("f").Call(ctx, 2)
			say("nested", err)
			return uint32(must(results, err)[0])
		}},
		{"waits for a goroutine", func(ctx context.Context, caller api.Module, x uint32) uint32 {
			if x > 3 {
				return x
			}
			done := make(chan uint64)
			go func() { done <- must(caller.ExportedFunction("f").Call(ctx, 9))[0] }()
			return uint32(<-done)
		}},
		{"closes", func(ctx context.Context, caller api.Module, x uint32) uint32 {
			caller.CloseWithExitCode(ctx, 7)
			return 5
		}},
		{"closes and exits", func(ctx context.Context, caller api.Module, x uint32) uint32 {
			caller.CloseWithExitCode(ctx, 7)
			panic(sys.NewExitError(8))
		}},
	} {
		h = c.f
		for _, name := range []string{"f", "deep", "after"} {
			m = must(r.InstantiateWithConfig(bg, wasm("caller"), named(c.name+" "+name)))
			results, err := call(m, name, 1)
			say(c.name+", "+name, results, err, m.IsClosed())
			m.Close(bg)
		}
	}
	h = plain
	saying("export of Go functions", func() { r.Module("env").ExportedFunction("h") })
	say("Go functions", len(r.Module("env").ExportedFunctionDefinitions()), r.Module("env").ExportedMemory("x") == nil)
}

// starts instantiates what cannot be, or fails at once.
func starts() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	for _, c := range []struct {
		name, module string
		f            goFunc
	}{
		{"works", "start", h},
		{"exits", "start", func(context.Context, api.Module, uint32) uint32 { panic(sys.NewExitError(3)) }},
		{"fails", "start", func(context.Context, api.Module, uint32) uint32 { panic("start fails") }},
		{"traps", "badstart", h},
		{"does not fit", "badimport", h},
		{"has data outside", "baddata", h},
		{"has elements outside", "badelements", h},
	} {
		h = c.f
		m, err := r.InstantiateWithConfig(bg, wasm(c.module), named(c.name))
		say("a start that "+c.name, err, m == nil)
	}
	for _, name := range []string{"unreach", "add", "zz"} {
		m, err := r.InstantiateWithConfig(bg, wasm("basic"), named("start "+name).WithStartFunctions("noop", name))
		say("start function "+name, err, m == nil)
	}
	c := must(r.CompileModule(bg, wasm("basic")))
	say("close compiled", c.Close(bg), c.Close(bg))
	m, err := r.InstantiateModule(bg, c, named("late"))
	say("instantiate closed compiled", err, m == nil)
}

// contexts ends contexts, with runtimes that mind and with others.
func contexts() {
	for _, minds := range []bool{false, true} {
		r := runtime(wazero.NewRuntimeConfig().WithCloseOnContextDone(minds))
		name := func(s string) string { return fmt.Sprintf("%s (%t)", s, minds) }
		m := must(r.InstantiateWithConfig(bg, wasm("caller"), named("a")))
		ctx, cancel := context.WithCancel(bg)
		cancel()
		results, err := m.ExportedFunction("f").Call(ctx, 1)
		say(name("ended before"), results, err, m.IsClosed())
		m = must(r.InstantiateWithConfig(bg, wasm("caller"), named("b")))
		ctx, cancel = context.WithCancel(bg)
		h = func(ctx context.Context, m api.Module, x uint32) uint32 {
			cancel()
			time.Sleep(50 * time.Millisecond)
			say("meanwhile", ctx.Err(), m.IsClosed())
			return x
		}
		results, err = m.ExportedFunction("after").Call(ctx, 1)
		say(name("ended inside"), results, err, m.IsClosed(), errors.Is(err, context.Canceled))
		m = must(r.InstantiateWithConfig(bg, wasm("caller"), named("c")))
		ctx, cancel = context.WithTimeout(bg, 10*time.Millisecond)
		h = func(ctx context.Context, m api.Module, x uint32) uint32 {
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond)
			return x
		}
		results, err = m.ExportedFunction("f").Call(ctx, 1)
		cancel()
		say(name("timed out"), results, err, m.IsClosed(), errors.Is(err, context.DeadlineExceeded))
		if minds {
			m = must(r.InstantiateWithConfig(bg, wasm("basic"), named("d")))
			ctx, cancel = context.WithTimeout(bg, 10*time.Millisecond)
			_, err = m.ExportedFunction("loop").Call(ctx)
			cancel()
			say("a loop", err, m.IsClosed())
			_, err = call(m, "noop")
			say("after the loop", err)
			m = must(r.InstantiateWithConfig(bg, wasm("basic"), named("e")))
			time.AfterFunc(10*time.Millisecond, func() { m.CloseWithExitCode(bg, 77) })
			_, err = call(m, "loop")
			say("a loop that is closed", err)
		}
		r.Close(bg)
	}
}

// programs are programs of WASI.
func programs() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	wasi_snapshot_preview1.MustInstantiate(bg, r)
	for _, name := range []string{"exit0", "exit3"} {
		m, err := r.Instantiate(bg, wasm(name))
		say(name, err, m == nil)
		results, err := call(m, "seven")
		say("seven", results, err, m.IsClosed(), r.Module(name) == nil)
	}
	m := must(r.InstantiateWithConfig(bg, wasm("exit0"), named("library").WithStartFunctions()))
	results, err := call(m, "exit", 300)
	say("exit 300", results, err, m.IsClosed())
	_, err = r.InstantiateWithConfig(bg, wasm("exit0"), named("x").WithEnv("", "x"))
	say("empty variable", err)
	_, err = r.InstantiateWithConfig(bg, wasm("exit0"), named("x").WithArgs("a\x00"))
	say("zero in an argument", err)
}

// libraries uses the functions of AssemblyScript and Emscripten.
func libraries() {
	r := wazero.NewRuntime(bg)
	defer r.Close(bg)
	var stdout, stderr bytes.Buffer
	b := r.NewHostModuleBuilder("env")
	assemblyscript.NewFunctionExporter().WithTraceToStdout().ExportFunctions(b)
	must(b.Instantiate(bg))
	m := must(r.InstantiateWithConfig(bg, wasm("assemblyscript"), named("as").WithStdout(&stdout).WithStderr(&stderr)))
	_, err := call(m, "trace")
	say("trace", err, strings.TrimSpace(stdout.String()))
	_, err = call(m, "abort")
	say("abort", err, strings.TrimSpace(stderr.String()), m.IsClosed())
	saying("env twice", func() { emscripten.MustInstantiate(bg, r) })
}

// limits bounds memories.
func limits() {
	for _, pages := range []uint32{50, 120} {
		r := wazero.NewRuntimeWithConfig(bg, wazero.NewRuntimeConfig().WithMemoryLimitPages(pages))
		m, err := r.Instantiate(bg, wasm("large"))
		say(fmt.Sprint("limit ", pages), err)
		if m != nil {
			for _, n := range []uint64{30, 20} {
				results, err := call(m, "grow", n)
				say("growth", int32(results[0]), err)
			}
			most, declared := m.Memory().Definition().Max()
			say("definition", m.Memory().Definition().Min(), most, declared)
		}
		r.Close(bg)
	}
	saying("too many pages", func() { wazero.NewRuntimeConfig().WithMemoryLimitPages(70000) })
}

// teller is a listener that writes what it is told.
type teller struct{}

func (teller) Before(_ context.Context, m api.Module, d api.FunctionDefinition, args []uint64, stack experimental.StackIterator) {
	var names []string
	for stack.Next() {
		names = append(names, stack.Function().Definition().DebugName())
	}
	say("before", d.DebugName(), m.Name(), args, names)
}

func (teller) After(_ context.Context, m api.Module, d api.FunctionDefinition, results []uint64) {
	say("after", d.DebugName(), m.Name(), results)
}

func (teller) Abort(_ context.Context, m api.Module, d api.FunctionDefinition, err error) {
	say("abort", d.DebugName(), m.Name(), err)
}

// listeners tells of calls that end in all ways, and of closing.
func listeners() {
	ctx := experimental.WithCloseNotifier(bg, experimental.CloseNotifyFunc(func(_ context.Context, code uint32) { say("notified", code) }))
	ctx = experimental.WithFunctionListenerFactory(ctx, experimental.FunctionListenerFactoryFunc(func(api.FunctionDefinition) experimental.FunctionListener { return teller{} }))
	r := wazero.NewRuntime(bg)
	must(r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, x uint32) uint32 { return h(ctx, m, x) }).
		WithName("name").WithParameterNames("x").Export("h").Instantiate(ctx))
	m := must(r.Instantiate(ctx, wasm("caller")))
	for _, f := range []goFunc{h,
		func(context.Context, api.Module, uint32) uint32 { panic("boom") },
		func(ctx context.Context, m api.Module, x uint32) uint32 {
			if x == 1 {
				results, err := m.ExportedFunction("f").Call(ctx, 2)
				say("nested", results, err)
			}
			return x
		},
	} {
		h = f
		results, err := call(m, "deep", 1)
		say("deep", results, err)
	}
	say("close", m.CloseWithExitCode(bg, 12), r.Close(bg))
}

// parallel runs instances of one module at the same time.
func parallel() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	c := must(r.CompileModule(bg, wasm("caller")))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range uint64(50) {
				m := must(r.InstantiateModule(bg, c, named("")))
				if results, err := call(m, "f", n); err != nil || results[0] != 100+n {
					say("parallel", results, err)
				}
				m.Close(bg)
			}
		})
	}
	wg.Wait()
}

// coroutines leaves a coroutine inside a call, and ends the call around it first.
func coroutines() {
	for _, told := range []bool{false, true} {
		ctx := bg
		if told {
			ctx = experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(api.FunctionDefinition) experimental.FunctionListener { return teller{} }))
		}
		r := runtimeFor(ctx, wazero.NewRuntimeConfig())
		m := must(r.Instantiate(ctx, wasm("caller")))
		var yield func(uint32) bool
		next, stop := iter.Pull(func(y func(uint32) bool) {
			yield = y
			for n := range uint64(3) {
				results, err := call(m, "deep", 100+n)
				say("the coroutine's call", results, err)
			}
		})
		h = func(_ context.Context, _ api.Module, x uint32) uint32 {
			switch {
			case x < 100:
				v, ok := next()
				say("next", v, ok)
			case x == 102:
				panic("the coroutine panics")
			default:
				say("yielded", yield(x))
			}
			return x
		}
		for range 4 {
			results, err := call(m, "deep", 1)
			say("deep", results, err)
		}
		stop()
		say("close", m.Close(bg), r.Close(bg))
	}
}

// goroutines ends calls of goroutines in the order in which they began, so that the calls overlap.
func goroutines() {
	r := runtime(wazero.NewRuntimeConfig())
	defer r.Close(bg)
	m := must(r.Instantiate(bg, wasm("caller")))
	const n = 5
	arrived, done := make(chan uint32), make(chan string)
	var end [n]chan bool
	h = func(_ context.Context, _ api.Module, x uint32) uint32 {
		arrived <- x
		<-end[x]
		if x == 2 {
			panic("this one fails")
		}
		return x
	}
	for i := range end {
		end[i] = make(chan bool)
		go func() {
			results, err := call(m, "deep", uint64(i))
			done <- fmt.Sprint(i, results, err)
		}()
		say("arrived", <-arrived)
	}
	for i := range end {
		end[i] <- true
		say("done", strings.ReplaceAll(<-done, "\n", `\n`))
	}
}

// allocator says what it is asked for. Its memories move when they grow, up to most bytes.
type allocator struct{ most uint64 }

func (a *allocator) Allocate(capacity, max uint64) experimental.LinearMemory {
	say("allocate", capacity>>16, max>>16)
	return &allocated{allocator: a}
}

type allocated struct {
	*allocator
	b []byte
}

func (m *allocated) Reallocate(size uint64) []byte {
	say("reallocate", size>>16)
	if size > m.most {
		return nil
	}
	b := make([]byte, size)
	copy(b, m.b)
	clear(m.b)
	m.b = b
	return b
}

func (m *allocated) Free() { say("free") }

// allocators instantiates with an allocator, of which the runtime and other instances may know nothing.
func allocators() {
	for _, c := range []struct {
		name   string
		config wazero.RuntimeConfig
	}{
		{"no limit", wazero.NewRuntimeConfig()},
		{"limit", wazero.NewRuntimeConfig().WithMemoryLimitPages(3)},
		{"capacity from the maximum", wazero.NewRuntimeConfig().WithMemoryCapacityFromMax(true)},
	} {
		say("allocator, " + c.name)
		r := runtime(c.config)
		with := experimental.WithMemoryAllocator(bg, &allocator{most: 4 << 16})
		compiled := must(r.CompileModule(bg, wasm("basic")))
		plain := must(r.InstantiateModule(bg, compiled, named("plain")))
		m := must(r.InstantiateModule(with, compiled, named("allocated")))
		for _, m := range []api.Module{plain, m} {
			must(call(m, "store", 65532, 11))
			view, _ := m.Memory().Read(65532, 4)
			results, err := call(m, "load", 65533)
			say("across the end", results, err)
			results, err = call(m, "grow", 1)
			say("grow", results, err, len(view), m.Memory().Size())
			must(call(m, "store", 131068, 12))
			v, ok := m.Memory().ReadUint32Le(131068)
			w, _ := m.Memory().ReadUint32Le(65532)
			say("read", v, w, ok)
			before, ok := m.Memory().Grow(1)
			say("grow from Go", before, ok)
			for range 3 {
				results, err = call(m, "grow", 1)
				say("grow again", results, err)
			}
			results, err = call(m, "load", 131068)
			say("load", results, err)
			say("zero", must(call(m, "grow", 0)))
		}
		say("close", m.Close(bg), plain.Close(bg))
		provider := must(r.InstantiateWithConfig(with, wasm("provider"), named("provider")))
		consumer := must(r.Instantiate(bg, wasm("consumer")))
		before, ok := provider.Memory().Grow(1)
		must(call(consumer, "store"))
		v, _ := provider.Memory().ReadUint32Le(0)
		say("shared", before, ok, v, consumer.Memory().Size())
		say("close", consumer.Close(bg), provider.Close(bg))
		must(r.InstantiateWithConfig(with, wasm("start"), named("start")))
		r.Close(bg)
	}
}
