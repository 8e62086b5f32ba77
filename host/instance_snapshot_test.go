//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/host"
)

const snapshotText = `(module
	(import "env" "f" (func $import (result i32)))
	(memory (export "memory") 1 600)
	(memory $second 0)
	(table $t (export "table") 4 funcref)
	(table $r 2 externref)
	(global $i (mut i32) (i32.const 1))
	(global $v (mut v128) (v128.const i64x2 1 1))
	(global $ref (mut funcref) (ref.null func))
	(global $ref2 (mut funcref) (ref.null func))
	(data (i32.const 8) "active")
	(data $gone "gone")
	(data $kept "kept")
	(elem (i32.const 0) $one)
	(elem $egone func $one $two)
	(elem $ekept func $two $import)
	(elem declare func $one $two $import)
	(func $one (export "one") (result i32) (i32.const 1))
	(func $two (result i32) (i32.const 2))
	(func $start (global.set $i (i32.add (global.get $i) (i32.const 1))))
	(start $start)
	(func (export "_initialize")
	  (drop (memory.grow (i32.const 500)))
	  (drop (memory.grow $second (i32.const 3)))
	  (i32.store (i32.const 65536) (i32.const 0x12345678))
	  (i32.store (i32.const 30000000) (i32.const 99))
	  (i64.store $second (i32.const 70000) (i64.const -2))
	  (drop (table.grow $t (ref.func $two) (i32.const 3)))
	  (table.set $t (i32.const 2) (ref.func $import))
	  (global.set $i (i32.add (global.get $i) (i32.const 40)))
	  (global.set $v (v128.const i64x2 5 -7))
	  (global.set $ref (ref.func $two))
	  (global.set $ref2 (ref.func $import))
	  (data.drop $gone)
	  (elem.drop $egone))
	(func (export "word") (param i32) (result i32) (i32.load (local.get 0)))
	(func (export "set") (param i32 i32) (i32.store (local.get 0) (local.get 1)))
	(func (export "second") (param i32) (result i64) (i64.load $second (local.get 0)))
	(func (export "sizes") (result i32 i32 i32 i32) (memory.size) (memory.size $second) (table.size $t) (table.size $r))
	(func (export "grow") (result i32 i32) (memory.grow (i32.const 1)) (table.grow $t (ref.null func) (i32.const 1)))
	(func (export "indirect") (param i32) (result i32) (call_indirect $t (result i32) (local.get 0)))
	(func (export "globals") (result i32 i64 i64) (global.get $i) (i64x2.extract_lane 0 (global.get $v)) (i64x2.extract_lane 1 (global.get $v)))
	(func (export "ref") (result i32 i32) (table.set $t (i32.const 1) (global.get $ref)) (table.set $t (i32.const 3) (global.get $ref2))
	  (call_indirect $t (result i32) (i32.const 1)) (call_indirect $t (result i32) (i32.const 3)))
	(func (export "init") (param i32 i32) (memory.init $kept (i32.const 100) (local.get 0) (local.get 1)))
	(func (export "gone") (param i32) (memory.init $gone (i32.const 100) (i32.const 0) (local.get 0)))
	(func (export "table init") (param i32) (table.init $t $ekept (i32.const 0) (i32.const 0) (local.get 0)))
	(func (export "table gone") (param i32) (table.init $t $egone (i32.const 0) (i32.const 0) (local.get 0))))`

// TestInstanceSnapshot: instances of an image begin where the instance was, also after resets, from bytes and from a file.
func TestInstanceSnapshot(t *testing.T) {
	ctx := context.Background()
	mod := text(t, snapshotText)
	s := newStore(t)
	imports := host.Imports{"env": {"f": func() int32 { return 55 }}}
	inst, err := s.Instantiate(ctx, mod, imports)
	if err != nil {
		t.Fatal(err)
	}
	call(t, inst, "_initialize")
	img, err := inst.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	call(t, inst, "set", int32(65536), int32(1)) // what happens later is not in the image
	file := filepath.Join(t.TempDir(), "x.img")
	if err := os.WriteFile(file, img, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func() (*host.Module, error){
		"bytes": func() (*host.Module, error) { return host.Load(img, nil) },
		"file":  func() (*host.Module, error) { return host.LoadFile(file, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			m, err := load()
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s := newStore(t)
			inst, err := s.Instantiate(ctx, m, imports)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := inst.Func("_initialize"); !errors.Is(err, host.ErrNotExported) {
				t.Error("the snapshot can be initialised again")
			}
			for range 3 {
				checkSnapshot(t, inst)
				if err := inst.Reset(ctx); err != nil {
					t.Fatal(err)
				}
			}
			again, err := inst.Snapshot()
			if err != nil || string(again) != string(img) {
				t.Fatalf("a snapshot of a snapshot differs: %d bytes, %d, %v", len(again), len(img), err)
			}
		})
	}
}

func checkSnapshot(t *testing.T, inst *host.Instance) {
	t.Helper()
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"word", []any{int32(65536)}, "[305419896]"}, {"word", []any{int32(8)}, "[1769235297]"}, {"word", []any{int32(0)}, "[0]"}, {"word", []any{int32(30000000)}, "[99]"}, {"word", []any{int32(20000000)}, "[0]"},
		{"second", []any{int32(70000)}, "[-2]"}, {"sizes", nil, "[501 3 7 2]"},
		{"indirect", []any{int32(0)}, "[1]"}, {"indirect", []any{int32(2)}, "[55]"}, {"indirect", []any{int32(4)}, "[2]"}, {"indirect", []any{int32(6)}, "[2]"},
		{"globals", nil, "[42 5 -7]"}, {"ref", nil, "[2 55]"},
		{"init", []any{int32(1), int32(3)}, "[]"}, {"word", []any{int32(100)}, "[7630949]"},
		{"table init", []any{int32(2)}, "[]"}, {"indirect", []any{int32(0)}, "[2]"}, {"indirect", []any{int32(1)}, "[55]"},
		{"gone", []any{int32(0)}, "[]"}, {"table gone", []any{int32(0)}, "[]"},
		{"set", []any{int32(65536), int32(7)}, "[]"}, {"set", []any{int32(20000000), int32(7)}, "[]"}, {"set", []any{int32(30000000), int32(7)}, "[]"}, {"grow", nil, "[501 7]"},
	} {
		if got := fmt.Sprint(call(t, inst, c.name, c.args...)); got != c.want {
			t.Errorf("%s %v gives %s, want %s", c.name, c.args, got, c.want)
		}
	}
	for _, name := range []string{"gone", "table gone"} {
		f, _ := inst.Func(name)
		if _, err := f.Call(context.Background(), int32(1)); err == nil {
			t.Errorf("%s: what has been dropped is there", name)
		}
	}
}

// TestNoInstanceSnapshot: what a snapshot cannot have is named.
func TestNoInstanceSnapshot(t *testing.T) {
	ctx := context.Background()
	for want, source := range map[string]string{
		"element 1 of table 0 is a reference to a value of the host": `(module (import "env" "x" (func $x (result externref))) (table 2 externref) (func (export "f") (table.set (i32.const 1) (call $x))))`,
		"global 0 is a reference to a value of the host":             `(module (import "env" "x" (func $x (result externref))) (global (mut externref) (ref.null extern)) (func (export "f") (global.set 0 (call $x))))`,
		"imports the memory env.m":                                   `(module (import "env" "m" (memory 1)) (func (export "f")))`,
		"imports the global env.g":                                   `(module (import "env" "g" (global i32)) (func (export "f")))`,
		"imports the table env.t":                                    `(module (import "env" "t" (table 1 funcref)) (func (export "f")))`,
	} {
		s := newStore(t)
		mem, err := s.NewMemory(host.Limits{Min: 1})
		if err != nil {
			t.Fatal(err)
		}
		table, err := s.NewTable(host.TypeFuncRef, host.Limits{Min: 1})
		if err != nil {
			t.Fatal(err)
		}
		global, err := s.NewGlobal(false, host.I32(5))
		if err != nil {
			t.Fatal(err)
		}
		inst, err := s.Instantiate(ctx, text(t, source), host.Imports{"env": {"x": func() any { return "x" }, "m": mem, "t": table, "g": global}})
		if err != nil {
			t.Fatal(err)
		}
		call(t, inst, "f")
		_, err = inst.Snapshot()
		var refused *host.SnapshotError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := newStore(t)
	var inst *host.Instance
	var inner error
	inst, err := s.Instantiate(ctx, text(t, `(module (import "env" "f" (func $f)) (func (export "f") (call $f)))`), host.Imports{"env": {"f": func() { _, inner = inst.Snapshot() }}})
	if err != nil {
		t.Fatal(err)
	}
	call(t, inst, "f")
	if !errors.Is(inner, host.ErrBusy) {
		t.Errorf("while code runs: %v", inner)
	}
	inst.Close()
	if _, err := inst.Snapshot(); !errors.Is(err, host.ErrClosed) {
		t.Errorf("of a closed instance: %v", err)
	}
}

func call(t *testing.T, inst *host.Instance, name string, args ...any) []any {
	t.Helper()
	f, err := inst.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return results
}
