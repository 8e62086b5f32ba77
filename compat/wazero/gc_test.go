package wazero_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/table"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// gcText uses objects inside, passes them to other functions and modules, and has all that Go code cannot take.
const gcText = `(module $gc
	(rec (type $node (sub (struct (field $n i32) (field $next (ref null $node))))) (type $leaf (sub final $node (struct (field i32) (field (ref null $node))))))
	(type $bytes (array (mut i8)))
	(type $unary (func (param i32) (result i32)))
	(import "host" "half" (func $half (param i32) (result i32)))
	(memory (export "memory") 1)
	(global $list (export "list") (mut (ref null $node)) (ref.null $node))
	(global (export "inc") (mut (ref $unary)) (ref.func $inc))
	(global (export "eq") eqref (ref.i31 (i32.const 5)))
	(table (export "nodes") 2 (ref null $node))
	(table (export "functions") 1 (ref $unary) (ref.func $inc))
	(table funcref (elem $push))
	(func $inc (export "increment") (type $unary) (i32.add (local.get 0) (i32.const 1)))
	(func $push (export "push") (param $x i32) (param $next (ref null $node)) (result (ref $node)) (struct.new $node (local.get $x) (local.get $next)))
	(func $both (export "both") (param $x i32) (param $e eqref) (param $y i64) (result i64 (ref null $node) f32)
		(local.get $y) (ref.cast (ref null $node) (local.get $e)) (f32.const 1.5))
	(func $sum (export "sum") (param $n i32) (result i32) (local $s i32) (local $at (ref null $node))
		(global.set $list (ref.null $node))
		(loop $l (global.set $list (call $push (local.get $n) (global.get $list)))
			(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
		(local.set $at (global.get $list))
		(loop $l (if (ref.is_null (local.get $at)) (then (return (call $half (local.get $s)))))
			(local.set $s (i32.add (local.get $s) (struct.get $node $n (local.get $at))))
			(local.set $at (struct.get $node $next (local.get $at)))
			(br $l))
		(unreachable))
	(func $few (export "few") (result i32) (local $f f32) (local $n (ref null $node))
		(call $both (i32.const 1) (call $push (i32.const 7) (ref.null $node)) (i64.const 9))
		(local.set $f) (local.set $n) (drop) (struct.get $node $n (local.get $n)))
	(func (export "garbage") (param $n i32) (result i32)
		(loop $l (drop (array.new_default $bytes (i32.const 1000))) (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
		(struct.get $node $n (global.get $list)))
	(func $null (export "null") (result i32) (struct.get $node $n (ref.null $node)))
	(func (export "cast") (drop (ref.cast (ref $leaf) (call $push (i32.const 1) (ref.null $node)))))
	(func $apply (export "apply") (param (ref $unary) i32) (result i32) (call_ref $unary (local.get 1) (local.get 0)))
	(func (export "extern") (param (ref extern)) (result externref) (local.get 0)))`

// gcHost is a runtime with the Go function that gcText imports.
func gcHost(t *testing.T, ctx context.Context) wazero.Runtime {
	r := newRuntime(t, wazero.NewRuntimeConfig())
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func(x uint32) uint32 { return x / 2 }).Export("half").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// noObjects is a part of the error where Go code would have to pass an object.
const noObjects = "references to objects of garbage collection cannot be passed to Go and back"

// TestGC: modules use objects inside. What would take one to Go or back is refused by name.
func TestGC(t *testing.T) {
	m := instantiate(t, gcHost(t, bg), "gc", gcText)
	if got := call(t, m, "sum", 1000); got[0] != 250250 {
		t.Errorf("sum: %d", got)
	}
	if got := call(t, m, "garbage", 100_000); got[0] != 1 { // 100 MB
		t.Errorf("garbage: %d", got)
	}
	if got := call(t, m, "few"); got[0] != 7 {
		t.Errorf("few: %d", got)
	}
	for name, want := range map[string]string{"null": "wasm error: null structure reference\nwasm stack trace:\n\tgc.null() i32", "cast": "wasm error: cast failure"} {
		if _, err := m.ExportedFunction(name).Call(bg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, args := range map[string][]uint64{"push": {1, 0}, "both": {1, 0, 2}} {
		f := m.ExportedFunction(name)
		if _, err := f.Call(bg, args...); err == nil || !strings.Contains(err.Error(), noObjects) || !strings.Contains(err.Error(), "gc."+name+"(i32,anyref") {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.CallWithStack(bg, make([]uint64, 4)); err == nil || !strings.Contains(err.Error(), noObjects) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m.ExportedGlobal("list") != nil || m.ExportedGlobal("eq") != nil {
		t.Error("Go code gets a global with an object")
	}
	globals := m.(experimental.InternalModule)
	for i := range globals.NumGlobal() {
		if g := globals.Global(i); (g.Get() == 0) != (i != 1) {
			t.Errorf("global %d: %v", i, g)
		}
	}
	// References to functions and externrefs are words, and checked.
	if got := call(t, m, "apply", m.ExportedGlobal("inc").Get(), 41); got[0] != 42 {
		t.Errorf("apply: %d", got)
	}
	if got := call(t, m, "extern", 77); got[0] != 77 {
		t.Errorf("extern: %d", got)
	}
	for name, args := range map[string][]uint64{"apply": {0, 1}, "extern": {0}} {
		if _, err := m.ExportedFunction(name).Call(bg, args...); err == nil || !strings.Contains(err.Error(), "0x0 is no valid (ref") {
			t.Errorf("%s of null: %v", name, err)
		}
	}
	if got, err := table.LookupFunction(m, 1, 0, []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}).Call(bg, 1); err != nil || got[0] != 2 {
		t.Errorf("a function in a table: %v, %v", got, err)
	}
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "is the module's own") {
			t.Errorf("a function with an object in a table that is not exported: %v", err)
		}
	}()
	table.LookupFunction(m, 2, 0, nil, nil)
}

// TestGCLinked: linked modules pass each other objects, if their types are equal as instantiations compare them, and not by way of Go.
func TestGCLinked(t *testing.T) {
	r := gcHost(t, bg)
	m := instantiate(t, r, "gc", gcText)
	user := instantiate(t, r, "user", `(module
		(rec (type $node (sub (struct (field $n i32) (field $next (ref null $node))))) (type $leaf (sub final $node (struct (field i32) (field (ref null $node))))))
		(import "gc" "push" (func $push (param i32 (ref null $node)) (result (ref $node))))
		(import "gc" "list" (global $list (mut (ref null $node)))) (import "gc" "nodes" (table $nodes 2 (ref null $node))) (import "gc" "eq" (global eqref))
		(func (export "second") (param i32) (result i32)
			(table.set $nodes (i32.const 1) (call $push (local.get 0) (global.get $list)))
			(global.set $list (table.get $nodes (i32.const 1)))
			(struct.get $node $n (ref.as_non_null (struct.get $node $next (global.get $list))))))`)
	call(t, m, "sum", 5)
	if got := call(t, user, "second", 9); got[0] != 1 {
		t.Errorf("second: %d", got)
	}
	if _, err := r.NewHostModuleBuilder("odd").NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), []api.ValueType{api.ValueTypeI32}, []api.ValueType{0x6e}).Export("f").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	instantiate(t, r, "alone", `(module (memory (export "m") 1))`)
	for text, want := range map[string]string{
		`(import "gc" "push" (func (param i32 anyref) (result anyref)))`:                                            "incompatible import type",
		`(import "gc" "push" (func (param i32 i32) (result anyref)))`:                                               "signature mismatch: i32i32_anyref != i32anyref_anyref",
		`(import "gc" "nodes" (table 2 anyref))`:                                                                    "incompatible import type",
		`(import "gc" "eq" (global i31ref))`:                                                                        "incompatible import type",
		`(import "gc" "eq" (global externref))`:                                                                     "value type mismatch: externref != eqref",
		`(import "host" "half" (func (param i32) (result anyref)))`:                                                 "signature mismatch: i32_anyref != i32_i32",
		`(import "odd" "f" (func (param i32) (result eqref)))`:                                                      noObjects,
		`(import "gc" "both" (func (param i32 eqref i64) (result i64 anyref f32))) (import "alone" "m" (memory 1))`: noObjects + ", as between modules that know nothing of each other",
	} {
		if _, err := r.Instantiate(bg, wasm(t, "(module "+text+")")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestGCListeners: listeners are told of calls of functions with objects, in whose place they get 0.
func TestGCListeners(t *testing.T) {
	var events []string
	ctx := experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(d api.FunctionDefinition) experimental.FunctionListener {
		if d.Name() == "sum" {
			return nil
		}
		return recorder{&events}
	}))
	r := gcHost(t, bg)
	c, err := r.CompileModule(ctx, wasm(t, gcText))
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.InstantiateModule(bg, c, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, m, "sum", 1); got[0] != 0 {
		t.Errorf("sum: %d", got)
	}
	call(t, m, "few")
	call(t, m, "apply", m.ExportedGlobal("inc").Get(), 1)
	events[len(events)-4] = "" // has the word of a function
	if want := []string{
		"before gc.push[1 0] in gc [gc.push gc.sum]", "after gc.push[0]",
		"before gc.few[] in gc [gc.few]", "before gc.push[7 0] in gc [gc.push gc.few]", "after gc.push[0]", "before gc.both[1 0 9] in gc [gc.both gc.few]", "after gc.both[9 0 1069547520]", "after gc.few[7]",
		"", "before gc.inc[1] in gc [gc.inc gc.apply]", "after gc.inc[2]", "after gc.apply[2]",
	}; !slices.Equal(events, want) {
		t.Errorf("events:\n%s", strings.Join(events, "\n"))
	}
}

// TestGCSettings: runtimes without reference types refuse such modules; an allocator works beside a heap, and snapshots do not.
func TestGCSettings(t *testing.T) {
	for features, want := range map[api.CoreFeatures]bool{api.CoreFeaturesV1: false, api.CoreFeaturesV2 &^ api.CoreFeatureReferenceTypes: false, api.CoreFeaturesV2: true} {
		r := newRuntime(t, wazero.NewRuntimeConfig().WithCoreFeatures(features))
		if _, err := r.CompileModule(bg, wasm(t, `(module (type (struct (field i32))))`)); (err == nil) != want {
			t.Errorf("%v: %v", features, err)
		}
	}
	r := gcHost(t, bg)
	allocated := 0
	ctx := experimental.WithMemoryAllocator(bg, experimental.MemoryAllocatorFunc(func(capacity, _ uint64) experimental.LinearMemory {
		allocated++
		return &sliced{b: make([]byte, capacity)}
	}))
	m, err := r.InstantiateWithConfig(ctx, wasm(t, gcText), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, m, "sum", 10); got[0] != 27 || allocated != 1 {
		t.Errorf("sum: %d, with %d memories of the allocator", got, allocated)
	}
	var failure any
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(ctx context.Context) {
		defer func() {
			failure = recover()
			panic(failure)
		}()
		experimental.GetSnapshotter(ctx).Snapshot()
	}).Export("snapshot").Instantiate(bg); err != nil {
		t.Fatal(err)
	}
	taker := instantiate(t, r, "taker", `(module (type $s (struct)) (import "env" "snapshot" (func $f)) (func (export "f") (drop (struct.new $s)) (call $f)))`)
	_, err = taker.ExportedFunction("f").Call(experimental.WithSnapshotter(bg))
	if e, _ := failure.(error); err == nil || !errors.Is(err, e) || !strings.Contains(err.Error(), "collected heap") {
		t.Errorf("a snapshot: %v, %v", failure, err)
	}
}

// TestGCKotlin: a program of Kotlin for WASI, which lives by objects, tables of functions of its own types and exceptions, writes what it should, also with listeners for all functions.
func TestGCKotlin(t *testing.T) {
	const file = "../../internal/proof/difftest/testdata/kotlin/collections."
	program, err := os.ReadFile(file + "wasm")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file + "expected")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	listened := experimental.WithFunctionListenerFactory(bg, experimental.FunctionListenerFactoryFunc(func(api.FunctionDefinition) experimental.FunctionListener {
		return experimental.FunctionListenerFunc(func(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
			calls++
		})
	}))
	for _, ctx := range []context.Context{bg, listened} {
		r := newRuntime(t, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesExceptionHandling))
		wasi_snapshot_preview1.MustInstantiate(bg, r)
		var out strings.Builder
		if _, err := r.InstantiateWithConfig(ctx, program, wazero.NewModuleConfig().WithStdout(&out)); err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want) {
			t.Errorf("%s, want\n%s", &out, want)
		}
	}
	if calls < 1000 {
		t.Errorf("%d calls of listeners", calls)
	}
}
