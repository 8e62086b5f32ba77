package waot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot"
)

const listText = `(module
  (import "env" "next" (func $next (result i32)))
  (memory (export "memory") 1)
  (global $n (mut i32) (i32.const 0))
  (func (export "add") (param i32)
    (i32.store (i32.shl (global.get $n) (i32.const 2)) (i32.add (local.get 0) (call $next)))
    (global.set $n (i32.add (global.get $n) (i32.const 1))))
  (func (export "get") (param i32) (result i32 i32) (i32.load (i32.shl (local.get 0) (i32.const 2))) (global.get $n)))`

// TestCompileSnapshot: a Go function initialises the instance, and each instance of the module begins there, also after a reset.
func TestCompileSnapshot(t *testing.T) {
	wasm, err := waot.ParseText([]byte(listText))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	next := int32(100)
	imports := waot.Imports{"env": {"next": func() int32 { next++; return next }}}
	m, err := waot.Compile(wasm, &waot.CompileOptions{Snapshot: &waot.SnapshotOptions{Imports: imports, Run: func(ctx context.Context, inst *waot.Instance) error {
		add, err := inst.Func("add")
		if err != nil {
			return err
		}
		for i := range int32(3) {
			if _, err := add.Call(ctx, 10*i); err != nil {
				return err
			}
		}
		mem, err := inst.Memory("memory")
		if err != nil {
			return err
		}
		mem.WriteUint32(60000, 5)
		return nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if next != 103 {
		t.Errorf("next was called %d times", next-100)
	}
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	inst, err := s.Instantiate(ctx, m, imports)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, c := range []struct{ i, x, n int32 }{{0, 101, 3}, {1, 112, 3}, {2, 123, 3}, {15000, 5, 3}} {
			get, err := inst.Func("get")
			if err != nil {
				t.Fatal(err)
			}
			r, err := get.Call(ctx, c.i)
			if err != nil || r[0] != c.x || r[1] != c.n {
				t.Errorf("get %d: %v %v", c.i, r, err)
			}
		}
		add, err := inst.Func("add")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := add.Call(ctx, 7); err != nil {
			t.Fatal(err)
		}
		if err := inst.Reset(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSnapshotModule: the module is the same each time, and errors have their types.
func TestSnapshotModule(t *testing.T) {
	text := `(module (memory 1) (func (export "_initialize") (i32.store (i32.const 8) (i32.const 77))) (func $gone) (func (export "spin") (loop $l (br $l))) (func (export "trap") unreachable))`
	wasm, err := waot.ParseText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	one, stats, err := waot.SnapshotModule(context.Background(), wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := waot.SnapshotModule(context.Background(), wasm, &waot.CompileOptions{Target: "aarch64-linux", NoOptimize: true, Snapshot: &waot.SnapshotOptions{Export: "_initialize"}})
	if err != nil || string(one) != string(two) {
		t.Errorf("the modules differ: %v", err)
	}
	if stats.Export != "_initialize" || stats.Funcs != 4 || stats.DeadFuncs != 2 || stats.MemoryBytes != 65536 || stats.DataBytes != 1 || stats.Took <= 0 {
		t.Errorf("%+v", stats)
	}
	snapshot := func(o waot.SnapshotOptions, timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		_, err := waot.CompileContext(ctx, wasm, &waot.CompileOptions{Snapshot: &o})
		return err
	}
	var refused *waot.SnapshotError
	if err := snapshot(waot.SnapshotOptions{Export: "none"}, time.Minute); !errors.As(err, &refused) || !strings.Contains(err.Error(), `no function "none"`) {
		t.Error(err)
	}
	var trap *waot.Trap
	if err := snapshot(waot.SnapshotOptions{Export: "trap"}, time.Minute); !errors.As(err, &trap) || trap.Code != waot.TrapUnreachable {
		t.Error(err)
	}
	if err := snapshot(waot.SnapshotOptions{Export: "spin"}, 20*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	var invalid *waot.ModuleError
	if _, _, err := waot.SnapshotModule(nil, []byte("no module"), nil); !errors.As(err, &invalid) {
		t.Error(err)
	}
	failed := errors.New("failed")
	if err := snapshot(waot.SnapshotOptions{Run: func(context.Context, *waot.Instance) error { return failed }}, time.Minute); !errors.Is(err, failed) {
		t.Error(err)
	}
}
