//go:build linux && (amd64 || arm64)

package wasirun_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/wasmfront/wat"
)

// start makes an instance of a module of testdata/wasm in a new store, with a system.
func start(t *testing.T, name string, cfg wasirun.Options) (*wasirun.System, *host.Instance) {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	system, err := wasirun.NewSystem(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { system.Close() })
	mod := compiled(t, wasm)
	store, err := host.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	inst, err := store.Instantiate(context.Background(), mod, system.Imports())
	if err != nil {
		t.Fatal(err)
	}
	return system, inst
}

func TestSystem(t *testing.T) {
	var out bytes.Buffer
	system, inst := start(t, "cat", wasirun.Options{Stdin: strings.NewReader("some text"), Stdout: &out})
	if err := system.Initialize(context.Background(), inst); err != nil {
		t.Errorf("without _initialize: %v", err)
	}
	status, err := system.Start(context.Background(), inst)
	if status != 9 || err != nil || out.String() != "some text" {
		t.Errorf("status %d, error %v, output %q", status, err, out.String())
	}
	f, err := inst.Func("_start")
	if err != nil {
		t.Fatal(err)
	}
	var exit *wasirun.ExitError
	if _, err := f.Call(context.Background()); !errors.As(err, &exit) || exit.Code != 0 {
		t.Errorf("called directly: %v", err)
	}
	inst.Close()
	if _, err := system.Start(context.Background(), inst); !errors.Is(err, host.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestSystemErrors(t *testing.T) {
	if _, err := wasirun.NewSystem(&wasirun.Options{Args: []string{"a\x00"}}); err == nil {
		t.Error("no error for NUL in an argument")
	}
	if _, err := wasirun.NewSystem(&wasirun.Options{Dirs: []wasirun.Dir{{Host: "/does/not/exist", Guest: "/"}}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	system, inst := start(t, "add", wasirun.Options{})
	if _, err := system.Start(context.Background(), inst); !errors.Is(err, wasirun.ErrNoStart) {
		t.Errorf("library: %v", err)
	}
}

// TestCancelWait ends a program that waits for input.
func TestCancelWait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	system, inst := start(t, "cat", wasirun.Options{Stdin: r})
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err = system.Start(ctx, inst)
		cancel()
		var e *host.CancelError
		if !errors.As(err, &e) || !errors.Is(err, host.ErrCancelled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
		if len(e.Backtrace) != 1 || e.Backtrace[0].Name != "_start" {
			t.Errorf("backtrace %v", e.Backtrace)
		}
	}
	if _, err := w.WriteString("later"); err != nil {
		t.Fatal(err)
	}
	if status, err := system.Start(context.Background(), inst); status != 5 || err != nil {
		t.Errorf("status %d, error %v", status, err)
	}
}

// TestRoot gives a program a directory that is open already.
func TestRoot(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	system, inst := start(t, "hello", wasirun.Options{Dirs: []wasirun.Dir{{Root: root, Guest: "/", ReadOnly: true}}})
	if status, err := system.Start(context.Background(), inst); status != 0 || err != nil {
		t.Errorf("status %d, error %v", status, err)
	}
}

// TestImportsOf: a module gets what it imports of the system, whatever else it imports, and no more.
func TestImportsOf(t *testing.T) {
	text := `(module
		(import "wasi_snapshot_preview1" "args_sizes_get" (func (param i32 i32) (result i32)))
		(import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32)))
		(import "wasi_snapshot_preview1" "args_sizes_get" (func (param i32 i32) (result i32)))
		(import "wasi_snapshot_preview1" "no_such" (func))
		(import "waot" "snapshot" (func))
		(import "env" "fd_read" (func)))`
	asm, err := wat.Assemble([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	system, err := wasirun.NewSystem(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	mod := compiled(t, asm.Wasm)
	all, got := system.Imports(), system.ImportsOf(mod)
	want := map[string][]string{"wasi_snapshot_preview1": {"args_sizes_get", "clock_time_get"}, "waot": {"snapshot"}}
	for module, functions := range got {
		if names := slices.Sorted(maps.Keys(functions)); !slices.Equal(names, want[module]) {
			t.Errorf("%s: %v", module, names)
		}
		for name, f := range functions {
			f, g := f.(host.RawFunc), all[module][name].(host.RawFunc)
			if !slices.Equal(f.Params, g.Params) || !slices.Equal(f.Results, g.Results) {
				t.Errorf("%s: %v %v", name, f, g)
			}
		}
	}
	if len(got) != len(want) || len(system.ImportsOf(nil)) != 0 {
		t.Error(got)
	}
}

// BenchmarkInstantiate is a store with an instance of a small program, and its end.
func BenchmarkInstantiate(b *testing.B) {
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "cat.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	mod := compiled(b, wasm)
	b.ReportAllocs()
	for b.Loop() {
		system, err := wasirun.NewSystem(nil)
		if err != nil {
			b.Fatal(err)
		}
		store, err := host.NewStore(nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := store.Instantiate(context.Background(), mod, system.ImportsOf(mod)); err != nil {
			b.Fatal(err)
		}
		system.Close()
		store.Close()
	}
}
