package wazero_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/table"
	"github.com/tetratelabs/wazero/sys"
)

// plugin has one of everything that an instance can have.
const plugin = `(module
	(memory (export "memory") 2 1000)
	(table 4 funcref) (elem (i32.const 0) $few)
	(global (export "g") (mut i64) (i64.const 1))
	(func $few (export "few") (result i32) (i32.store8 (i32.const 100) (i32.const 1)) (i32.load8_u (i32.const 100)))
	(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
	(func (export "spin") (loop (br 0))))`

// marker is what accesses write. No other instance ever has it.
var marker = bytes.Repeat([]byte{0xa5}, 5000)

// accesses are what goroutines may do with an instance while it is closed and after that, by what they use.
var accesses = map[string]func(m api.Module, mem api.Memory){
	"ReadByte":       func(_ api.Module, mem api.Memory) { mem.ReadByte(70_000) },
	"ReadUint16Le":   func(_ api.Module, mem api.Memory) { mem.ReadUint16Le(70_000) },
	"ReadUint32Le":   func(_ api.Module, mem api.Memory) { mem.ReadUint32Le(70_000) },
	"ReadUint64Le":   func(_ api.Module, mem api.Memory) { mem.ReadUint64Le(70_000) },
	"ReadFloat32Le":  func(_ api.Module, mem api.Memory) { mem.ReadFloat32Le(70_000) },
	"ReadFloat64Le":  func(_ api.Module, mem api.Memory) { mem.ReadFloat64Le(70_000) },
	"WriteByte":      func(_ api.Module, mem api.Memory) { mem.WriteByte(70_000, 0xa5) },
	"WriteUint16Le":  func(_ api.Module, mem api.Memory) { mem.WriteUint16Le(70_000, 0xa5a5) },
	"WriteUint32Le":  func(_ api.Module, mem api.Memory) { mem.WriteUint32Le(70_000, 0xa5a5a5a5) },
	"WriteUint64Le":  func(_ api.Module, mem api.Memory) { mem.WriteUint64Le(70_000, 0xa5a5a5a5a5a5a5a5) },
	"WriteFloat32Le": func(_ api.Module, mem api.Memory) { mem.WriteFloat32Le(70_000, -7) },
	"WriteFloat64Le": func(_ api.Module, mem api.Memory) { mem.WriteFloat64Le(70_000, -7) },
	"Write":          func(_ api.Module, mem api.Memory) { mem.Write(70_000, marker) },
	"WriteString":    func(_ api.Module, mem api.Memory) { mem.WriteString(70_000, string(marker)) },
	"Size":           func(_ api.Module, mem api.Memory) { mem.Size() },
	"Grow":           func(_ api.Module, mem api.Memory) { mem.Grow(1) },
	"LookupFunction": func(m api.Module, _ api.Memory) {
		table.LookupFunction(m, 0, 0, nil, []api.ValueType{api.ValueTypeI32}).Call(bg)
	},
	"ExportedMemory": func(m api.Module, _ api.Memory) { m.ExportedMemory("memory").Read(0, 1) },
	"Memory":         func(m api.Module, _ api.Memory) { m.Memory().ReadByte(0) },
	"CloseWithExit":  func(m api.Module, _ api.Memory) { m.CloseWithExitCode(bg, 3) },
	"IsClosed":       func(m api.Module, _ api.Memory) { m.IsClosed() },
	"CallWithStack":  func(m api.Module, _ api.Memory) { m.ExportedFunction("few").CallWithStack(bg, make([]uint64, 1)) },
	"growing":        func(m api.Module, _ api.Memory) { m.ExportedFunction("grow").Call(bg, 1) },
	"definitions":    func(m api.Module, _ api.Memory) { m.ExportedFunctionDefinitions()["few"].ResultTypes() },
	"InternalModule": func(m api.Module, _ api.Memory) { m.(experimental.InternalModule).Global(0).Get() },
	"ExportedGlobal": func(m api.Module, _ api.Memory) {
		g := m.ExportedGlobal("g").(api.MutableGlobal)
		g.Get()
		g.Set(5)
		_ = g.String()
	},
	"Read, and after": func(_ api.Module, mem api.Memory) {
		if b, ok := mem.Read(70_000, 5000); ok {
			copy(b, marker)
		}
	},
}

// TestLifetimes: goroutines use an instance while it is closed. That ends no process, reaches no other instance, and gives errors and zeros in the end.
func TestLifetimes(t *testing.T) {
	rounds := 1
	if os.Getenv("WAOT_FULL") != "" {
		rounds = 200
	}
	r := newRuntime(t, wazero.NewRuntimeConfig())
	c, err := r.CompileModule(bg, wasm(t, plugin))
	if err != nil {
		t.Fatal(err)
	}
	newPlugin := func() api.Module {
		m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, access := range accesses {
		for range rounds {
			m := newPlugin()
			mem := m.Memory()
			var stop atomic.Bool
			var running, all sync.WaitGroup
			running.Add(1)
			all.Go(func() {
				access(m, mem)
				running.Done()
				for !stop.Load() {
					runtime.Gosched()
					access(m, mem)
				}
			})
			running.Wait()
			if name != "CloseWithExit" {
				call(t, m, "grow", 1)
			}
			m.Close(bg)
			other := newPlugin()
			b, _ := other.Memory().Read(0, 1<<17)
			for range 3 {
				if i := bytes.IndexByte(b, 0xa5); i >= 0 {
					t.Errorf("%s: another instance got what was written, at %d", name, i)
				}
				call(t, other, "few")
			}
			stop.Store(true)
			all.Wait()
			if mem.WriteByte(0, 1) || mem.Size() != 0 || m.ExportedGlobal("g").Get() != 0 {
				t.Errorf("%s: a closed instance has a memory or global", name)
			}
			var exit *sys.ExitError
			if _, err := m.ExportedFunction("few").Call(bg); !errors.As(err, &exit) {
				t.Errorf("%s: a call: %v", name, err)
			}
			other.Close(bg)
		}
	}
}

// TestClosedByContext: the goroutine that calls an instance may use its memory afterwards, though the end of the context closes it at any time.
func TestClosedByContext(t *testing.T) {
	rounds := 30
	if os.Getenv("WAOT_FULL") != "" {
		rounds = 3000
	}
	r := newRuntime(t, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	c, err := r.CompileModule(bg, wasm(t, plugin))
	if err != nil {
		t.Fatal(err)
	}
	page := make([]byte, 1<<16)
	for i := range rounds {
		m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(bg)
		go func() {
			time.Sleep(time.Duration(i%10) * 10 * time.Microsecond)
			cancel()
		}()
		f := m.ExportedFunction("few")
		for err == nil {
			_, err = f.Call(ctx)
			for range 10 {
				m.Memory().Write(0, page)
				m.Memory().ReadUint64Le(70_000)
			}
		}
		var exit *sys.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != sys.ExitCodeContextCanceled {
			t.Fatal(err)
		}
		m.Close(bg)
	}
}

// TestClosedWhileWriting: the context of a call ends shortly before the call does, so that the call succeeds, and the instance is closed while the
// goroutine writes what takes longer than closing.
func TestClosedWhileWriting(t *testing.T) {
	rounds := 3
	if os.Getenv("WAOT_FULL") != "" {
		rounds = 500
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // one for what closes
	r := newRuntime(t, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	var end func()
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() { end() }).Export("end").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	c, err := r.CompileModule(bg, wasm(t, `(module (import "env" "end" (func $end)) (memory (export "memory") 64) (func (export "last") (call $end)))`))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 64<<16)
	text := string(all)
	for name, write := range map[string]func(api.Memory) bool{
		"Write":       func(mem api.Memory) bool { return mem.Write(0, all) },
		"WriteString": func(mem api.Memory) bool { return mem.WriteString(0, text) },
		"Read": func(mem api.Memory) bool {
			b, ok := mem.Read(0, uint32(len(all)))
			copy(b, all)
			return ok
		},
	} {
		for late := 0; late < rounds; { // the calls that succeeded
			m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(bg)
			end = cancel
			f := m.ExportedFunction("last")
			_, err = f.Call(ctx)
			if err == nil {
				late++
				for write(m.Memory()) {
				}
			}
			_, err = f.Call(ctx)
			var exit *sys.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != sys.ExitCodeContextCanceled {
				t.Fatalf("%s: %v", name, err)
			}
			cancel()
		}
	}
}

// TestClosedWhileInside: an instance is closed while another goroutine is in the store for a moment, by something that is not a call. What the instance had is given
// back all the same.
func TestClosedWhileInside(t *testing.T) {
	rounds := 200
	if os.Getenv("WAOT_FULL") != "" {
		rounds = 3000
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r := newRuntime(t, wazero.NewRuntimeConfig())
	c, err := r.CompileModule(bg, wasm(t, plugin))
	if err != nil {
		t.Fatal(err)
	}
	for name, use := range map[string]func(m api.Module, g api.MutableGlobal){
		"Get":              func(_ api.Module, g api.MutableGlobal) { g.Get() },
		"Set":              func(_ api.Module, g api.MutableGlobal) { g.Set(1) },
		"Grow":             func(m api.Module, _ api.MutableGlobal) { m.Memory().Grow(1000) },
		"ExportedFunction": func(m api.Module, _ api.MutableGlobal) { m.ExportedFunction("few") },
		"LookupFunction": func(m api.Module, _ api.MutableGlobal) {
			table.LookupFunction(m, 0, 0, nil, []api.ValueType{api.ValueTypeI32})
		},
	} {
		for range rounds {
			m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatal(err)
			}
			mem, g := m.Memory(), m.ExportedGlobal("g").(api.MutableGlobal)
			var stop atomic.Bool
			var started, ended sync.WaitGroup
			started.Add(1)
			ended.Go(func() {
				use(m, g)
				for started.Done(); !stop.Load(); {
					use(m, g)
				}
			})
			started.Wait()
			m.Close(bg)
			stop.Store(true)
			ended.Wait()
			if mem.Size() != 0 {
				t.Fatalf("%s: the memory stays", name)
			}
		}
	}
}

// TestInstanceWhileAnotherIsMade: a Go function that the start function of one instance calls makes another one, in the same store, whose start function calls Go, too.
// Each is told apart, and has its own memory.
func TestInstanceWhileAnotherIsMade(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	var callers []string
	var a, b api.Module
	const text = `(module (import "lib" "via" (func $via)) (import "env" "who" (func $who)) (memory (export "memory") 1) (data (i32.const 0) "%s")
		(func $s (call %s)) (start $s) (func (export "who") (call $who)))`
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() {
		if b == nil {
			b = instantiate(t, r, "b", fmt.Sprintf(text, "b", "$who"))
		}
	}).Export("nest").NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module) {
		c, _ := m.Memory().ReadByte(0)
		callers = append(callers, m.Name()+string(rune(c)))
	}).Export("who").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	instantiate(t, r, "lib", `(module (import "env" "nest" (func $nest)) (func (export "via") (call $nest)))`)
	a = instantiate(t, r, "a", fmt.Sprintf(text, "a", "$via"))
	call(t, a, "who")
	call(t, b, "who")
	if want := []string{"bb", "aa", "bb"}; !slices.Equal(callers, want) {
		t.Errorf("callers and what they have: %q, want %q", callers, want)
	}
	for _, m := range []api.Module{a, b} {
		if c, _ := m.Memory().ReadByte(0); string(rune(c)) != m.Name() {
			t.Errorf("%s has the memory of %c", m.Name(), c)
		}
	}
}

// TestInstanceThatFailed: the start function of an instance traps when a table of another one has its function. That function runs as the instance's own, also where
// it calls Go by a function that the other one has imported.
func TestInstanceThatFailed(t *testing.T) {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	var callers []string
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module) {
		c, _ := m.Memory().ReadByte(0)
		callers = append(callers, m.Name()+string(rune(c)))
	}).Export("who").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	lib := instantiate(t, r, "lib", `(module (import "env" "who" (func $who)) (memory 1) (data (i32.const 0) "l") (table (export "table") 4 funcref) (elem (i32.const 0) $who)
		(func (export "run") (param i32) (call_indirect (local.get 0))))`)
	call(t, lib, "run", 0)
	if _, err := r.InstantiateWithConfig(bg, wasm(t, `(module (import "lib" "table" (table 4 funcref)) (import "env" "who" (func $who)) (memory 1) (data (i32.const 0) "b") (elem (i32.const 1) $f $g)
		(func $f (call_indirect (i32.const 0))) (func $g (call $who)) (func $s unreachable) (start $s))`), wazero.NewModuleConfig().WithName("bad")); err == nil {
		t.Fatal("no error")
	}
	for i := range uint64(3) {
		call(t, lib, "run", i)
	}
	if want := []string{"libl", "libl", "badb", "badb"}; !slices.Equal(callers, want) {
		t.Errorf("callers and what they have: %q, want %q", callers, want)
	}
}
