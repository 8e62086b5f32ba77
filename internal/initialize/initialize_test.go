package initialize_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/initialize"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// frozen returns the snapshot of a module in the text format.
func frozen(t *testing.T, text string, o *initialize.Options) *initialize.Result {
	t.Helper()
	r, err := initialize.Snapshot(context.Background(), assembled(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := validate.All(r.Wasm, validate.Config{Features: wasmfront.DefaultFeatures}); err != nil {
		t.Fatalf("the snapshot is not valid: %v", err)
	}
	return r
}

func assembled(t *testing.T, text string) []byte {
	t.Helper()
	wasm, err := wat.Assemble("(module " + text + ")")
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// instance instantiates a module, with imports that are nothing.
func instance(t *testing.T, wasm []byte, imports host.Imports) *host.Instance {
	t.Helper()
	r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := loaded.New(img)
	if err != nil {
		t.Fatal(err)
	}
	store, err := host.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	inst, err := store.Instantiate(context.Background(), (*host.Module)(mod), imports)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

func call(t *testing.T, inst *host.Instance, name string, args ...any) []any {
	t.Helper()
	f, err := inst.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestSnapshot: all that an instance has is in the snapshot, and what led there is not.
func TestSnapshot(t *testing.T) {
	r := frozen(t, `
	(import "env" "unused" (func $import (result i32)))
	(memory (export "memory") 1 10)
	(memory $second 0)
	(table $t (export "table") 4 funcref)
	(table $r 2 externref)
	(global $i (mut i32) (i32.const 1))
	(global $l (mut i64) (i64.const 1))
	(global $f (mut f32) (f32.const 1))
	(global $d (mut f64) (f64.const 1))
	(global $v (mut v128) (v128.const i64x2 1 1))
	(global $ref (mut funcref) (ref.null func))
	(global $fixed i32 (i32.const 77))
	(data (i32.const 8) "active")
	(data $gone "gone")
	(data $kept "kept")
	(elem (i32.const 0) $one)
	(elem $egone func $one $two)
	(elem $ekept func $two $import)
	(elem declare func $one $two $three $four $import)
	(func $three (result i32) (i32.const 3))
	(func $four (result i32) (i32.const 4))
	(func (export "four") (table.set $t (i32.const 1) (ref.func $four)))
	(func $one (export "one") (result i32) (i32.const 1))
	(func $two (result i32) (i32.const 2))
	(func $dead (param i32) (i32.store (i32.const 65536) (local.get 0)))
	(func (export "_initialize")
	  (drop (memory.grow (i32.const 1)))
	  (drop (memory.grow $second (i32.const 3)))
	  (call $dead (i32.const 0x12345678))
	  (i64.store $second (i32.const 70000) (i64.const -2))
	  (drop (table.grow $t (ref.func $two) (i32.const 3)))
	  (table.set $t (i32.const 2) (ref.func $import))
	  (table.set $t (i32.const 3) (ref.func $three))
	  (global.set $i (i32.const -5))
	  (global.set $l (i64.const -6))
	  (global.set $f (f32.const -0x1p-3))
	  (global.set $d (f64.const nan))
	  (global.set $v (v128.const i64x2 5 -7))
	  (global.set $ref (ref.func $two))
	  (data.drop $gone)
	  (elem.drop $egone))
	(func (export "word") (param i32) (result i32) (i32.load (local.get 0)))
	(func (export "second") (param i32) (result i64) (i64.load $second (local.get 0)))
	(func (export "sizes") (result i32 i32 i32 i32) (memory.size) (memory.size $second) (table.size $t) (table.size $r))
	(func (export "indirect") (param i32) (result i32) (call_indirect $t (result i32) (local.get 0)))
	(func (export "globals") (result i32 i64 f32 i64 i64 i64) (global.get $i) (global.get $l) (global.get $f) (i64.reinterpret_f64 (global.get $d))
	  (i64x2.extract_lane 0 (global.get $v)) (i64x2.extract_lane 1 (global.get $v)))
	(func (export "ref") (result i32) (table.set $t (i32.const 1) (global.get $ref)) (call_indirect $t (result i32) (i32.const 1)))
	(func (export "init") (param i32 i32) (memory.init $kept (i32.const 100) (local.get 0) (local.get 1)))
	(func (export "gone") (param i32) (memory.init $gone (i32.const 100) (i32.const 0) (local.get 0)))
	(func (export "table init") (param i32) (table.init $t $ekept (i32.const 0) (i32.const 0) (local.get 0)))
	(func (export "table gone") (param i32) (table.init $t $egone (i32.const 0) (i32.const 0) (local.get 0)))`, &initialize.Options{})
	if r.Stats.Dead != 2 || r.Export != "_initialize" || r.Marker {
		t.Errorf("%+v", r.Stats)
	}
	inst := instance(t, r.Wasm, host.Imports{"env": {"unused": func() int32 { return 55 }}})
	if _, err := inst.Func("_initialize"); err == nil {
		t.Error("the snapshot can be initialised again")
	}
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"word", []any{int32(65536)}, "[305419896]"}, {"word", []any{int32(8)}, "[1769235297]"}, {"word", []any{int32(0)}, "[0]"},
		{"second", []any{int32(70000)}, "[-2]"}, {"sizes", nil, "[2 3 7 2]"},
		{"indirect", []any{int32(0)}, "[1]"}, {"indirect", []any{int32(2)}, "[55]"}, {"indirect", []any{int32(4)}, "[2]"}, {"indirect", []any{int32(6)}, "[2]"},
		{"indirect", []any{int32(3)}, "[3]"}, {"four", nil, "[]"}, {"indirect", []any{int32(1)}, "[4]"},
		{"globals", nil, "[-5 -6 -0.125 9221120237041090560 5 -7]"}, {"ref", nil, "[2]"},
		{"init", []any{int32(1), int32(3)}, "[]"}, {"word", []any{int32(100)}, "[7630949]"},
		{"table init", []any{int32(2)}, "[]"}, {"indirect", []any{int32(0)}, "[2]"}, {"indirect", []any{int32(1)}, "[55]"},
		{"gone", []any{int32(0)}, "[]"}, {"table gone", []any{int32(0)}, "[]"},
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

// TestResumed: a program that is frozen while it runs goes on, through all kinds of blocks.
func TestResumed(t *testing.T) {
	const program = `
	(import "waot" "snapshot" (func $snapshot))
	(import "env" "tell" (func $tell (param i32)))
	(memory (export "memory") 1)
	(type $ii (func (param i32 i32) (result i32)))
	(table 3 funcref) (elem (i32.const 1) $deep) (elem declare func $other)
	(global $n (mut i32) (i32.const 0))
	(func $other (type $ii) (i32.const 7000))
	(func $deep (type $ii) (local $x i64) (local $i i32) (local $v v128) (local $f funcref) (local $none externref) (local $e f32)
	  (local.set $f (ref.func $other)) (local.set $e (f32.const 2.5))
	  (local.set $x (i64.const 1000))
	  (local.set $v (v128.const i64x2 7 8))
	  (call $tell (i32.const 1))
	  (if (result i32) (i32.ge_s (local.get 0) (i32.const 3))
	    (then
	      ;; The first time nobody is told: what was under way then must be forgotten.
	      (if (i32.eq (global.get $n) (i32.const 1)) (then (call $snapshot)))
	      (call $tell (i32.const 2)) (i32.const 40))
	    (else
	      (f64.const 0.5) (i64.const -3)
	      (i32.const 5)
	      (block $out (param i32) (result i32)
	        (loop $again (param i32) (result i32)
	          (i32.add (local.get $i))
	          (local.set $i (i32.add (local.get $i) (i32.const 1)))
	          (call $tell (local.get $i))
	          (i32.const 100)
	          (i32.const 9)
	          (i32.add (local.get 0) (i32.const 1))
	          (i32.const 2)
	          (call_indirect (type $ii) (i32.const 1))
	          (i32.add)
	          (i32.add)
	          (br_table $again $again $out (select (i32.const 0) (i32.const 5) (i32.lt_u (local.get $i) (i32.const 3))))))
	      (call $tell (i32.const 3))
	      (local.set $i) (i32.wrap_i64) (i32.add (local.get $i)) (local.set $i) (i32.trunc_f64_s (f64.mul (f64.const 8))) (i32.add (local.get $i))))
	  (i32.add (i32.wrap_i64 (local.get $x)))
	  (i32.add (i32.wrap_i64 (i64x2.extract_lane 1 (local.get $v))))
	  (table.set (i32.const 2) (local.get $f))
	  (i32.add (call_indirect (type $ii) (i32.const 0) (i32.const 0) (i32.const 2)))
	  (i32.add (ref.is_null (local.get $none)))
	  (i32.add (i32.trunc_f32_s (f32.mul (local.get $e) (f32.const 2)))))
	(func (export "_start")
	  (block (loop (call $tell (call $deep (i32.const 2) (i32.const 0)))
	    (global.set $n (i32.add (global.get $n) (i32.const 1)))
	    (block (br_if 2 (i32.eq (global.get $n) (i32.const 3)))) (br 0)) (call $tell (i32.const -1)))
	  (call $tell (i32.const 99)))`
	wasm := assembled(t, program)
	want := told(t, wasm, false)
	r := frozen(t, program, &initialize.Options{Imports: host.Imports{"env": {"tell": func(int32) {}}}})
	if got := told(t, r.Wasm, true); fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 10 || !r.Marker {
		t.Errorf("told %v, want %v", got, want)
	}
	again := frozen(t, program, &initialize.Options{Imports: host.Imports{"env": {"tell": func(int32) {}}}})
	if string(again.Wasm) != string(r.Wasm) {
		t.Error("the snapshot is another one each time")
	}
}

// told returns what a program tells from the marker on, or, if that is behind it, from its beginning.
func told(t *testing.T, wasm []byte, marked bool) (list []int32) {
	inst := instance(t, wasm, host.Imports{"env": {"tell": func(x int32) {
		if marked {
			list = append(list, x)
		}
	}}, "waot": {"snapshot": func() { marked = true }}})
	call(t, inst, "_start")
	return list
}

// TestResumedTails: what is under way is what tail calls have left of it, and code that goes on may end in tail calls, also of what has called the marker.
func TestResumedTails(t *testing.T) {
	const program = `
	(import "waot" "snapshot" (func $snapshot))
	(import "env" "tell" (func $tell (param i32)))
	(memory (export "memory") 1)
	(type $ii (func (param i32 i32) (result i32)))
	(table funcref (elem $hop $deep))
	(func $mark (if (i32.eqz (i32.const 0)) (then (return_call $snapshot))))
	(func $end (param i32) (call $tell (i32.const 5)) (return_call $tell (local.get 0)))
	(func $hop (type $ii) (return_call_indirect (type $ii) (local.get 1) (local.get 0) (i32.const 1)))
	(func $deep (type $ii) (local $x i32)
	  (local.set $x (i32.mul (local.get 0) (i32.const 10)))
	  (call $tell (local.get $x))
	  (if (i32.eqz (local.get 0)) (then (call $mark) (return (i32.const 1000))))
	  (local.set $x (i32.add (local.get $x) (call_indirect (type $ii) (local.get 1) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))))
	  (if (i32.eq (local.get 0) (i32.const 2)) (then (return_call $last (local.get $x) (local.get 1))))
	  (call $tell (local.get $x))
	  (i32.add (local.get $x) (local.get 1)))
	(func $last (type $ii) (call $tell (local.get 0)) (i32.add (local.get 1) (i32.const 7)))
	(func (export "_start") (call $tell (call $deep (i32.const 3) (i32.const 4))) (return_call $end (i32.const 99)))`
	wasm := assembled(t, program)
	want := told(t, wasm, false)
	r := frozen(t, program, &initialize.Options{Imports: host.Imports{"env": {"tell": func(int32) {}}}})
	if got := told(t, r.Wasm, true); fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 5 || !r.Marker {
		t.Errorf("told %v, want %v", got, want)
	}
}

// TestRefused: what a snapshot cannot have is named.
func TestRefused(t *testing.T) {
	wasi := func(name, params, body string) string {
		return `(import "wasi_snapshot_preview1" "` + name + `" (func $f (param ` + params + `) (result i32))) (memory (export "memory") 1) (func (export "_initialize") (drop (call $f ` + body + `)))`
	}
	c := func(n string) string { return "(i32.const " + n + ")" }
	cases := map[string]struct {
		text, want string
		o          initialize.Options
	}{
		"a clock":             {wasi("clock_time_get", "i32 i64 i32", c("0")+"(i64.const 0)"+c("0")), "looks at a clock", initialize.Options{}},
		"random numbers":      {wasi("random_get", "i32 i32", c("0")+c("8")), "random numbers", initialize.Options{}},
		"input":               {wasi("fd_read", "i32 i32 i32 i32", c("0")+c("8")+c("1")+c("0")) + `(data (i32.const 8) "\10\00\00\00\01")`, "standard input", initialize.Options{}},
		"output":              {wasi("fd_write", "i32 i32 i32 i32", c("1")+c("8")+c("1")+c("0")) + `(data (i32.const 8) "\10\00\00\00\01")`, "standard output", initialize.Options{}},
		"a closed stream":     {wasi("fd_close", "i32", c("1")), "closes descriptor 1", initialize.Options{}},
		"rights":              {wasi("fd_fdstat_set_rights", "i32 i64 i64", c("1")+"(i64.const 0)(i64.const 0)"), "changes the rights of descriptor 1", initialize.Options{}},
		"a call":              {`(import "env" "f" (func $f)) (func (export "_initialize") (call $f))`, `calls the imported function "env" "f"`, initialize.Options{}},
		"an imported memory":  {`(import "env" "m" (memory 1)) (func (export "_initialize"))`, "imports the memory env.m", initialize.Options{}},
		"a reference":         {`(import "env" "f" (func $f (result externref))) (table 1 externref) (func (export "_initialize") (table.set (i32.const 0) (call $f)))`, "element 0 of table 0 is a reference to a value of the host", initialize.Options{Imports: host.Imports{"env": {"f": func() any { return "x" }}}}},
		"nothing to call":     {``, "exports neither", initialize.Options{}},
		"a whole program":     {`(func (export "_start"))`, "to its end", initialize.Options{}},
		"no such function":    {`(func (export "f"))`, `no function "g"`, initialize.Options{Export: "g"}},
		"parameters":          {`(func (export "f") (param i32))`, "has parameters", initialize.Options{Export: "f"}},
		"an end":              {`(import "wasi_snapshot_preview1" "proc_exit" (func $f (param i32))) (memory (export "memory") 1) (func (export "_initialize") (call $f (i32.const 3)))`, "ended with status 3", initialize.Options{}},
		"a trap":              {`(func (export "_initialize") unreachable)`, "unreachable", initialize.Options{}},
		"a marker of a type":  {`(import "waot" "snapshot" (func (param i32))) (func (export "_initialize"))`, "neither parameters nor results", initialize.Options{}},
		"a marker too early":  {`(import "waot" "snapshot" (func $m)) (func $s (call $m)) (start $s) (func (export "_start"))`, "while it is instantiated", initialize.Options{}},
		"a reference in code": {`(import "waot" "snapshot" (func $m)) (import "env" "f" (func $f (result externref))) (func (export "_start") (local externref) (local.set 0 (call $f)) (call $m))`, "a reference to a value of the host in a local", initialize.Options{Imports: host.Imports{"env": {"f": func() any { return "x" }}}}},
	}
	const marker = `(import "waot" "snapshot" (func $m)) `
	answers, second := int32(0), false
	count := func() int32 { answers++; return answers }
	for name, c := range map[string]struct {
		text, want string
		o          initialize.Options
	}{
		"a marker in front":      {marker + `(func (export "_initialize") (call $m)) (func (export "_start"))`, "calls waot.snapshot in _initialize", initialize.Options{}},
		"a marker before Run":    {marker + `(func (export "_initialize") (call $m))`, "calls waot.snapshot in _initialize", initialize.Options{Run: func(context.Context, *host.Instance) error { return nil }}},
		"no marker":              {marker + `(func (export "_start"))`, "_start has returned, and has not called", initialize.Options{}},
		"the marker itself":      {marker + `(export "_start" (func $m))`, `the function "_start" is imported`, initialize.Options{}},
		"a library's parameters": {`(func (export "_initialize") (param i32)) (func (export "f"))`, `"_initialize" has parameters`, initialize.Options{Export: "f"}},
		"other answers":          {marker + `(import "env" "f" (func $f (result i32))) (memory 1) (func (export "_start") (i32.store (i32.const 0) (call $f)) (call $m))`, "memories, tables or globals differ", initialize.Options{Imports: host.Imports{"env": {"f": count}}}},
		"another way":            {marker + `(import "env" "f" (func $f (result i32))) (func (export "_start") (if (i32.and (call $f) (i32.const 1)) (then (call $m)) (else (call $m))))`, "from elsewhere", initialize.Options{Imports: host.Imports{"env": {"f": count}}}},
		"a trap the second time": {marker + `(import "env" "f" (func $f (result i32))) (func (export "_start") (if (i32.and (call $f) (i32.const 1)) (then unreachable)) (call $m))`, "it traps the second time", initialize.Options{Imports: host.Imports{"env": {"f": func() int32 { second = !second; return map[bool]int32{false: 1}[second] }}}}},
		"memory for two runs":    {marker + `(memory 1) (global $g (mut i32) (i32.const 0)) (func (export "_start") (global.set $g (memory.grow (i32.const 9))) (call $m))`, "memories, tables or globals differ", initialize.Options{Store: &host.StoreOptions{MaxTotalMemoryPages: 10}}},
		"a callback": {marker + `(import "env" "f" (func $f)) (func (export "g") (call $m)) (func (export "_start") (call $f))`, "from a Go function", initialize.Options{Imports: host.Imports{"env": {"f": func(c *host.Caller) error {
			g, _ := c.Instance().Func("g")
			_, err := g.Call(context.Background())
			return err
		}}}}},
		"an early time": {`(func (export "_initialize"))`, "clocks cannot say", initialize.Options{Time: time.Unix(-1, 0)}},
		"a late time":   {`(func (export "_initialize"))`, "clocks cannot say", initialize.Options{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"many locals": {marker + `(func (export "_start") (local ` + strings.Repeat("i64 ", 49_990) + `) (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8) (i64.const 9) (i64.const 10) (i64.const 11) (call $m)` +
			strings.Repeat("(drop)", 11) + `)`, "cannot be written down", initialize.Options{}},
		"a large recursion": {marker + `(func $r (param i32) (if (local.get 0) (then (call $r (i32.sub (local.get 0) (i32.const 1)))) (else (call $m)))` + strings.Repeat("(local.set 0 (i32.mul (local.get 0) (i32.const 1234567)))", 10_000) + `) (func (export "_start") (call $r (i32.const 4000)))`,
			"takes too much code", initialize.Options{}},
		"large loops": {marker + `(func (export "_start") (local $x i32) ` + strings.Repeat("(loop ", 500) + `(call $m)` + strings.Repeat("(local.set $x (i32.mul (local.get $x) (i32.const 1234567)))", 10_000) + strings.Repeat(")", 500) + `)`,
			"takes too much code", initialize.Options{}},
	} {
		if _, ok := cases[name]; ok {
			t.Fatal(name)
		}
		cases[name] = c
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := initialize.Snapshot(context.Background(), assembled(t, c.text), &c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestGiven: what is given can be used, and is the same each time.
func TestGiven(t *testing.T) {
	dir := t.TempDir()
	text := `
	(import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
	(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
	(import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
	(import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
	(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	(memory (export "memory") 1)
	(data (i32.const 64) "file") (data (i32.const 80) "\40\00\00\00\04\00\00\00")
	(func (export "_initialize")
	  (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 0)))
	  (drop (call $random (i32.const 8) (i32.const 16)))
	  (drop (call $open (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 4) (i32.const 1) (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 32)))
	  (drop (call $write (i32.const 1) (i32.const 80) (i32.const 1) (i32.const 36)))
	  CLOSE)
	(func (export "word") (param i32) (result i64) (i64.load (local.get 0)))`
	var out strings.Builder
	o := &initialize.Options{Time: time.Unix(1000, 0), Seed: "x", Dirs: []wasirun.Dir{{Host: dir, Guest: "/"}}, Output: &out}
	closing := strings.Replace(text, "CLOSE", "(drop (call $close (i32.load (i32.const 32))))", 1)
	first, second := frozen(t, closing, o), frozen(t, closing, o)
	if string(first.Wasm) != string(second.Wasm) {
		t.Error("the snapshots differ")
	}
	if out.String() != "filefile" {
		t.Errorf("written: %q", &out)
	}
	o.Seed = "y"
	if third := frozen(t, closing, o); string(first.Wasm) == string(third.Wasm) {
		t.Error("the seed does not count")
	}
	_, err := initialize.Snapshot(context.Background(), assembled(t, strings.Replace(text, "CLOSE", "", 1)), o)
	if err == nil || !strings.Contains(err.Error(), "left descriptor 4 open") {
		t.Error(err)
	}
}

// TestFlags: each instance sets the flags again that the program has set.
func TestFlags(t *testing.T) {
	r := frozen(t, `
	(import "wasi_snapshot_preview1" "fd_fdstat_set_flags" (func $set (param i32 i32) (result i32)))
	(memory (export "memory") 1)
	(func (export "_initialize") (drop (call $set (i32.const 1) (i32.const 4))) (drop (call $set (i32.const 0) (i32.const 1))) (drop (call $set (i32.const 1) (i32.const 0))) (drop (call $set (i32.const 77) (i32.const 4))))`,
		&initialize.Options{})
	var calls [][2]int32
	instance(t, r.Wasm, host.Imports{"wasi_snapshot_preview1": {"fd_fdstat_set_flags": func(fd, flags int32) int32 {
		calls = append(calls, [2]int32{fd, flags})
		return 0
	}}})
	if fmt.Sprint(calls) != "[[0 1] [1 0]]" {
		t.Error(calls)
	}
}

// TestTrapPlace: the place of a trap is that in the module as it was given.
func TestTrapPlace(t *testing.T) {
	wasm := assembled(t, `(data $d "x") (elem $e func $f) (func $f (data.drop $d) (elem.drop $e) (data.drop $d) unreachable) (func (export "_initialize") (data.drop $d) (call $f))`)
	_, err := initialize.Snapshot(context.Background(), wasm, &initialize.Options{})
	var trap *host.Trap
	if !errors.As(err, &trap) || len(trap.Backtrace) != 2 {
		t.Fatal(err)
	}
	for i, op := range []wasmfront.Opcode{wasmfront.OpUnreachable, wasmfront.OpCall} {
		if f := trap.Backtrace[i]; wasm[f.Offset] != byte(op) {
			t.Errorf("frame %d at %d, where %#x is", i, f.Offset, wasm[f.Offset])
		}
	}
}

// TestClosedWorld: what only the initialisation wrote is constant, and what only it called has no code: the function is as large as if the constants had been written.
func TestClosedWorld(t *testing.T) {
	const text = `(memory 1) (global $mode (mut i32) (i32.const 0)) (table 4 funcref) (type $t (func (param i32) (result i32)))
	(func $large (param i32) (result i32) (i32.rem_u (i32.rotl (i32.mul (local.get 0) (i32.const 7)) (i32.popcnt (local.get 0))) (i32.const 1234567)))
	(func $three (type $t) (i32.add (call $large (local.get 0)) (i32.const 3)))
	(elem declare func $three)
	(func (export "work") (param i32) (result i32)
	  (if (i32.eq (global.get $mode) (i32.const 7)) (then (return (call_indirect (type $t) (local.get 0) (i32.const 2)))))
	  (call $gone (local.get 0)))
	(func $gone (param i32) (result i32) (i32.div_s (local.get 0) (i32.load (local.get 0))))
	INIT`
	const init = `(func (export "_initialize") (global.set $mode (i32.const 7)) (table.set (i32.const 2) (ref.func $three)))`
	size := func(wasm []byte) uint32 {
		r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Meta.Exports {
			if e.Name == "work" {
				return r.Meta.Funcs[e.Index].Size
			}
		}
		return 0
	}
	before := size(assembled(t, strings.Replace(text, "INIT", init, 1)))
	after := size(frozen(t, strings.Replace(text, "INIT", init, 1), &initialize.Options{}).Wasm)
	written := strings.NewReplacer("(mut i32) (i32.const 0)", "i32 (i32.const 7)", "(elem declare func $three)", "(elem (i32.const 2) $three)", "INIT", "").Replace(text)
	if want := size(assembled(t, written)); after != want || after >= before {
		t.Errorf("the function has %d bytes, %d when frozen, %d as written", before, after, want)
	}
}

// TestMarkerInInitialize: a library may be frozen in the middle of its initialisation, which goes on where it is initialised.
func TestMarkerInInitialize(t *testing.T) {
	r := frozen(t, `(import "waot" "snapshot" (func $m)) (import "env" "tell" (func $tell (param i32)))
	(func (export "_initialize") (call $tell (i32.const 1)) (call $m) (call $tell (i32.const 2)))`, &initialize.Options{Imports: host.Imports{"env": {"tell": func(int32) {}}}})
	var told []int32
	inst := instance(t, r.Wasm, host.Imports{"env": {"tell": func(x int32) { told = append(told, x) }}})
	call(t, inst, "_initialize")
	if fmt.Sprint(told) != "[2]" || r.Export != "_initialize" || !r.Marker {
		t.Error(told, r.Export, r.Marker)
	}
}

// TestResult: an export that is frozen keeps its type.
func TestResult(t *testing.T) {
	r := frozen(t, `(import "waot" "snapshot" (func $m)) (func (export "f") (result i32 i64) (call $m) (i32.const 7) (i64.const 8))`, &initialize.Options{Export: "f"})
	if got := fmt.Sprint(call(t, instance(t, r.Wasm, nil), "f")); got != "[7 8]" {
		t.Error(got)
	}
}

// TestDeep: very many calls may be under way, also of imports that are not called.
func TestDeep(t *testing.T) {
	const depth = 20_000
	r := frozen(t, fmt.Sprintf(`(import "waot" "snapshot" (func $m)) (import "env" "f" (func)) (func $r (param i32) (result i32)
	(if (result i32) (local.get 0) (then (i32.add (call $r (i32.sub (local.get 0) (i32.const 1))) (i32.const 1))) (else (call $m) (i32.const 0))))
	(func (export "f") (result i32) (call $r (i32.const %d)))`, depth), &initialize.Options{Export: "f", Imports: host.Imports{"env": {"f": func() {}}}})
	if got := fmt.Sprint(call(t, instance(t, r.Wasm, host.Imports{"env": {"f": func() {}}}), "f")); got != fmt.Sprintf("[%d]", depth) {
		t.Error(got)
	}
}

// TestLimits: what is added while a program runs does not count.
func TestLimits(t *testing.T) {
	r := frozen(t, `(import "waot" "snapshot" (func $m)) (memory 1) (table 1 funcref) (global (mut i32) (i32.const 0)) (func (export "f") (result i32) (local funcref) (global.set 0 (i32.const 3)) (call $m) (global.get 0))`,
		&initialize.Options{Export: "f", Store: &host.StoreOptions{MaxMemories: 1, MaxTables: 1, MaxGlobals: 1}})
	if got := fmt.Sprint(call(t, instance(t, r.Wasm, nil), "f")); got != "[3]" {
		t.Error(got)
	}
}

// TestSegments: a memory with bytes far apart makes no more segments than engines take, and a table with gaps no more than it needs.
func TestSegments(t *testing.T) {
	r := frozen(t, `(memory (export "memory") 500) (table $t 1000 funcref) (func $f (result i32) (i32.const 9)) (elem declare func $f)
	(func (export "_initialize") (local $i i32)
	  (loop $l (i32.store8 (local.get $i) (i32.const 7)) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 256))) (i32.const 32000000))))
	  (local.set $i (i32.const 1))
	  (loop $l (table.set $t (local.get $i) (ref.func $f)) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 2))) (i32.const 600))))
	  (table.set $t (i32.const 700) (ref.func $f)))
	(func (export "at") (param i32) (result i32) (i32.load8_u (local.get 0)))
	(func (export "call") (param i32) (result i32) (call_indirect $t (result i32) (local.get 0)))`, &initialize.Options{})
	m, err := wasmfront.Decode(r.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Data); n > 100_000 {
		t.Errorf("%d data segments", n)
	}
	if n := len(m.Elems); n != 3 { // two, and the one that was there
		t.Errorf("%d element segments", n)
	}
	inst := instance(t, r.Wasm, nil)
	for at, want := range map[int32]string{0: "[7]", 1: "[0]", 256: "[7]", 31999744: "[7]", 32000256: "[0]"} {
		if got := fmt.Sprint(call(t, inst, "at", at)); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
	for _, i := range []int32{1, 3, 599, 700} {
		if got := fmt.Sprint(call(t, inst, "call", i)); got != "[9]" {
			t.Errorf("element %d: %s", i, got)
		}
	}
	for _, i := range []int32{0, 2, 601, 999} {
		f, _ := inst.Func("call")
		if _, err := f.Call(context.Background(), i); err == nil {
			t.Errorf("element %d is there", i)
		}
	}
}

// TestEnds: the end of a context ends what is done after the program, too.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	wasm := assembled(t, `(memory 1) (func (export "f"))`)
	_, err := initialize.Snapshot(ctx, wasm, &initialize.Options{Run: func(context.Context, *host.Instance) error { cancel(); return nil }})
	var ended *compile.CancelError
	if !errors.As(err, &ended) {
		t.Error(err)
	}
}

// TestPanic: a panic of the caller's function leaves nothing behind: more of them than the process may have memories.
func TestPanic(t *testing.T) {
	wasm := assembled(t, `(memory 1) (func (export "f"))`)
	for range 40 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			initialize.Snapshot(context.Background(), wasm, &initialize.Options{Run: func(_ context.Context, inst *host.Instance) error {
				t.Cleanup(func() {
					if _, err := inst.Snapshot(); !errors.Is(err, host.ErrClosed) {
						t.Errorf("the instance is open: %v", err)
					}
				})
				panic("x")
			}})
		}()
	}
}

// TestNames: functions keep their names where their indices change, and lose names that cannot be read.
func TestNames(t *testing.T) {
	text := `(import "waot" "snapshot" (func $snapshot)) (import "env" "f" (func $imported)) (func $one (call $snapshot) unreachable) (func $start (export "_start") (call $one))`
	wasm := assembled(t, text)
	for _, damaged := range []bool{false, true} {
		want := "[one start]"
		if damaged {
			wasm = append(wasm, 0) // the name section is the last one
			i := bytes.LastIndex(wasm, []byte("\x04name"))
			wasm[i-1]++
			want = "[ _start]"
		}
		r, err := initialize.Snapshot(context.Background(), wasm, &initialize.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := instance(t, r.Wasm, host.Imports{"env": {"f": func() {}}}).Func("_start")
		if err != nil {
			t.Fatal(err)
		}
		var trap *host.Trap
		if _, err := f.Call(context.Background()); !errors.As(err, &trap) {
			t.Fatal(err)
		}
		var names []string
		for _, f := range trap.Backtrace {
			names = append(names, f.Name)
		}
		if fmt.Sprint(names) != want {
			t.Errorf("names %v, want %s", names, want)
		}
	}
}

// TestDropped: that a segment has been dropped is noted where the module has no globals.
func TestDropped(t *testing.T) {
	for _, text := range []string{
		`(memory 1) (data $d "x") (func (export "_initialize") (data.drop $d)) (func (export "f") (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))`,
		`(table 1 funcref) (elem $e func $f) (func $f (export "f") (table.init $e (i32.const 0) (i32.const 0) (i32.const 1))) (func (export "_initialize") (elem.drop $e))`,
	} {
		f, err := instance(t, frozen(t, text, &initialize.Options{}).Wasm, nil).Func("f")
		if err != nil {
			t.Fatal(err)
		}
		var trap *host.Trap
		if _, err := f.Call(context.Background()); !errors.As(err, &trap) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
