//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// lifetimes has one of everything, and functions that use it.
const lifetimes = `(module
	(import "env" "f" (func $f (result i32)))
	(memory (export "memory") 2 20)
	(table (export "table") 4 20 funcref)
	(table (export "externs") 4 20 externref)
	(global (export "global") (mut i64) (i64.const 1))
	(elem (i32.const 0) $few)
	(func $few (export "few") (result i32) (i32.store (i32.const 4096) (i32.const 1)) (i32.load (i32.const 8)))
	(func (export "host") (result i32) (call $f))
	(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
	(func (export "externs_of") (param externref) (result externref) (local.get 0)))`

// lifetime is a store with an instance, and what can be had of it.
type lifetime struct {
	store          *host.Store
	inst           *host.Instance
	mem            *host.Memory
	table, externs *host.Table
	global         *host.Global
	few, host      *host.Func
	grow, extern   *host.Func
	ref            uint64
	mu             sync.Mutex
	snapshot       atomic.Pointer[host.Snapshot]
}

func newLifetime(t *testing.T, m *host.Module, o *host.StoreOptions) *lifetime {
	t.Helper()
	x := &lifetime{store: must[*host.Store](t)(host.NewStore(o))}
	x.inst = must[*host.Instance](t)(x.store.Instantiate(bg, m, host.Imports{"env": {"f": func() int32 {
		if p, err := x.store.Snapshot(); err == nil {
			x.snapshot.Store(p)
		}
		runtime.Gosched()
		return 1
	}}}))
	x.mem = must[*host.Memory](t)(x.inst.Memory("memory"))
	x.table, x.externs = must[*host.Table](t)(x.inst.Table("table")), must[*host.Table](t)(x.inst.Table("externs"))
	x.global = must[*host.Global](t)(x.inst.Global("global"))
	x.few, x.host = function(t, x.inst, "few"), function(t, x.inst, "host")
	x.grow, x.extern = function(t, x.inst, "grow"), function(t, x.inst, "externs_of")
	x.ref = must[uint64](t)(x.store.ExternRef("value"))
	return x
}

// marker is what accesses write. No other store ever has it.
var marker = bytes.Repeat([]byte{0xa5}, 5000)

// accesses are what goroutines may do with what a store has had, while it is closed and after that.
var accesses = map[string]func(x *lifetime){
	"ReadUint8":   func(x *lifetime) { x.mem.ReadUint8(70_000) },
	"ReadUint16":  func(x *lifetime) { x.mem.ReadUint16(70_000) },
	"ReadUint32":  func(x *lifetime) { x.mem.ReadUint32(70_000) },
	"ReadUint64":  func(x *lifetime) { x.mem.ReadUint64(70_000) },
	"ReadString":  func(x *lifetime) { x.mem.ReadString(100, 100_000) },
	"WriteUint8":  func(x *lifetime) { x.mem.WriteUint8(70_000, 0xa5) },
	"WriteUint16": func(x *lifetime) { x.mem.WriteUint16(70_000, 0xa5a5) },
	"WriteUint32": func(x *lifetime) { x.mem.WriteUint32(70_000, 0xa5a5a5a5) },
	"WriteUint64": func(x *lifetime) { x.mem.WriteUint64(70_000, 0xa5a5a5a5a5a5a5a5) },
	"Write":       func(x *lifetime) { x.mem.Write(70_000, marker) },
	"WriteString": func(x *lifetime) { x.mem.WriteString(70_000, string(marker)) },
	"Read":        func(x *lifetime) { x.mem.Read(70_000, 8) },
	"Bytes":       func(x *lifetime) { x.mem.Bytes() },
	"Size":        func(x *lifetime) { x.mem.Size() },
	"Grow":        func(x *lifetime) { x.mem.Grow(1) },
	"Limits":      func(x *lifetime) { x.mem.Limits() },
	"views": func(x *lifetime) {
		if b, ok := x.mem.Read(70_000, 5000); ok {
			x.mu.Lock() // slices are the program's: what two goroutines do with them is its business
			copy(b, marker)
			x.mu.Unlock()
		}
	},
	"table": func(x *lifetime) {
		x.table.Len()
		x.table.Get(0)
		x.table.Set(1, x.few)
		x.table.Grow(1, x.few)
	},
	"externs": func(x *lifetime) {
		x.externs.Get(0)
		x.externs.Set(1, "value")
		x.externs.Grow(1, "value")
	},
	"global":  func(x *lifetime) { x.global.Get(); x.global.Set(host.I64(5)) },
	"few":     func(x *lifetime) { x.few.Call(bg); x.few.CallRaw(bg, make([]uint64, 1)) },
	"host":    func(x *lifetime) { x.host.Call(bg) },
	"extern":  func(x *lifetime) { x.extern.Call(bg, "value") },
	"growing": func(x *lifetime) { x.grow.Call(bg, 1) },
	"exports": func(x *lifetime) { x.inst.Exports(); x.inst.Memory("memory"); x.inst.At(host.KindGlobal, 0) },
	"words": func(x *lifetime) {
		x.store.Extern(x.ref)
		x.store.Retain(x.ref)
		x.store.Release(x.ref)
		x.store.ExternRef(1)
		x.store.FuncOf(x.few.Ref())
	},
	"snapshot": func(x *lifetime) {
		x.store.Snapshot()
		if p := x.snapshot.Load(); p != nil {
			p.Restore(1)
		}
	},
	"new": func(x *lifetime) {
		x.store.NewMemory(host.Limits{Min: 1})
		x.store.NewGlobal(true, host.I32(1))
		x.store.NewTable(host.TypeFuncRef, host.Limits{Min: 1})
		x.store.NewFunc(func() {})
	},
	"close": func(x *lifetime) { x.store.Close() },
}

// TestLifetimes: whatever goroutines do with what a store has had while it is closed, and while its memory grows, nothing of the process or of another store
// is harmed, and they get errors and zeros in the end.
func TestLifetimes(t *testing.T) {
	rounds := testenv.Cases(1, 1, 40)
	wasm := must[[]byte](t)(waot.ParseText([]byte(lifetimes)))
	for _, c := range []struct {
		name string
		o    *host.StoreOptions
		c    *waot.CompileOptions
	}{
		{"reserved", nil, nil},
		{"reserved, views", &host.StoreOptions{KeepViews: true}, nil},
		{"movable", nil, &waot.CompileOptions{ExplicitBounds: true}},
		{"movable, views", &host.StoreOptions{KeepViews: true}, &waot.CompileOptions{ExplicitBounds: true}},
	} {
		m := must[*host.Module](t)(waot.Compile(wasm, c.c))
		defer m.Close()
		for name, access := range accesses {
			if name == "views" && c.o == nil {
				continue // it touches slices that must not be touched
			}
			for range rounds {
				raceLifetime(t, c.name+": "+name, m, c.o, access)
			}
		}
	}
}

// raceLifetime lets goroutines access what a store has while its memory grows, and while it is closed and another store comes.
func raceLifetime(t *testing.T, name string, m *host.Module, o *host.StoreOptions, access func(*lifetime)) {
	t.Helper()
	x := newLifetime(t, m, o)
	var stop atomic.Bool
	var running, all sync.WaitGroup
	for range 2 {
		running.Add(1)
		all.Go(func() {
			access(x)
			running.Done()
			for !stop.Load() {
				runtime.Gosched()
				access(x)
			}
		})
	}
	running.Wait()
	for range 3 {
		x.grow.Call(bg, 1)
	}
	for err := x.store.Close(); !errors.Is(err, host.ErrClosed); err = x.store.Close() {
		runtime.Gosched()
	}
	other := newLifetime(t, m, o)
	for range 3 {
		other.grow.Call(bg, 1)
		if i := bytes.IndexByte(other.mem.Bytes(), 0xa5); i >= 0 {
			t.Errorf("%s: another store got what was written, at %d", name, i)
		}
	}
	if b, ok := x.mem.Read(0, 1); ok || b != nil || x.mem.Size() != 0 || x.table.Len() != 0 {
		t.Errorf("%s: a closed store has a memory or table", name)
	}
	if _, err := x.few.Call(bg); !errors.Is(err, host.ErrClosed) {
		t.Errorf("%s: a call: %v", name, err)
	}
	if _, err := x.global.Get(); !errors.Is(err, host.ErrClosed) {
		t.Errorf("%s: a global: %v", name, err)
	}
	stop.Store(true)
	all.Wait()
	other.store.Close()
}

// BenchmarkMemory is an access to a memory by Go code.
func BenchmarkMemory(b *testing.B) {
	s, err := host.NewStore(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m, err := s.NewMemory(host.Limits{Min: 1})
	if err != nil {
		b.Fatal(err)
	}
	word := make([]byte, 8)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"ReadUint8", func() { m.ReadUint8(8) }},
		{"ReadUint32", func() { m.ReadUint32(8) }},
		{"WriteUint64", func() { m.WriteUint64(8, 1) }},
		{"Write", func() { m.Write(8, word) }},
		{"Read", func() { m.Read(8, 8) }},
		{"Size", func() { m.Size() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.run()
			}
		})
	}
}

// TestNoModule: what is not there is an error.
func TestNoModule(t *testing.T) {
	s := must[*host.Store](t)(host.NewStore(nil))
	defer s.Close()
	if _, err := s.Instantiate(nil, nil, nil); !errors.Is(err, host.ErrType) {
		t.Errorf("no module: %v", err)
	}
	var none *host.Memory
	if none.Write(0, nil) || none.Size() != 0 || none.Bytes() != nil {
		t.Error("no memory has bytes")
	}
}

// TestFileLimit: a limit of the size of files is none for memories, whatever they keep.
func TestFileLimit(t *testing.T) {
	const child = "WAOT_FILE_LIMIT"
	if os.Getenv(child) == "" {
		cmd := exec.Command("/bin/sh", "-c", `ulimit -f 8 && exec "$0" -test.run='^TestFileLimit$'`, os.Args[0])
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, syscall.ENOEXEC) && !strings.Contains(string(out), "xec format") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	m := must[*host.Module](t)(waot.Compile(must[[]byte](t)(waot.ParseText([]byte(writes))), nil))
	for _, keep := range []bool{false, true} {
		s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{KeepViews: keep}))
		inst := must[*host.Instance](t)(s.Instantiate(bg, m, nil))
		mem := must[*host.Memory](t)(inst.Memory("memory"))
		view, ok := mem.Read(100_000, 4)
		if n, grown := mem.Grow(3); !ok || n != 2 || !grown || string(view) != "data" {
			t.Errorf("views %v: %q, grown from %d", keep, view, n)
		}
		s.Close()
		if keep && string(view) != "data" {
			t.Errorf("afterwards: %q", view)
		}
	}
}
