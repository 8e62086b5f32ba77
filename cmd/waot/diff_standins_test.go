//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/wasi"
)

// importing calls functions that nobody has, with values of all types, and traps where one answers with an odd number.
const importing = `(module
  (import "env" "mix" (func $mix (param i32 i64 f32 f64) (result i32 i64 f32 f64)))
  (import "env" "vector" (func $vector (param v128) (result v128)))
  (import "env" "ref" (func $ref (param externref funcref) (result externref)))
  (import "other" "log" (func $log (param i32)))
  (import "other" "log" (func $log2 (param i32)))
  (global $g (export "g") (mut i64) (i64.const 0))
  (global (export "v") (mut v128) (v128.const i64x2 1 2))
  (memory (export "memory") 1)
  (func (export "a") (param i32) (result i32 i64 f32 f64) (call $mix (local.get 0) (i64.const -1) (f32.const 0.5) (f64.const -2)))
  (func (export "b") (result v128) (call $vector (call $vector (v128.const i64x2 -1 5))))
  (func (export "c") (result i32) (ref.is_null (call $ref (ref.null extern) (ref.func $f))))
  (func $f (export "d") (param i32) (local $x i64)
    (call $log (local.get 0)) (call $log2 (i32.const 7))
    (call $mix (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4))
    drop drop (local.set $x)
    (i32.store (i32.const 8))
    (global.set $g (local.get $x))
    (if (i64.eqz (i64.and (local.get $x) (i64.const 1))) (then unreachable))))`

// TestDiffImports compares modules whose imports nobody has.
func TestDiffImports(t *testing.T) {
	if wasi.ModuleName != wasiModule {
		t.Error(wasiModule)
	}
	lying := liar(t, `WAOT | sed 's/"other.log(i32:0) = "/"other.log(i32:1) = "/; s/"imports": "/"imports": "x/'`)
	setUp(t)
	if err := os.WriteFile("importing.wat", []byte(importing), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("diff", "importing.wat", "--json")
	var report struct{ Waot, Wazero execution }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != 0 {
		t.Fatal(status, stdout, stderr, err)
	}
	calls := strings.Join(report.Waot.ImportCalls, "\n")
	for _, want := range []string{"env.mix(i32:0, i64:-1, f32:0.5, f64:-2) = i32:", "env.vector(v128:i32x4:0xffffffff,0xffffffff,0x00000005,0x00000000) = v128:", "env.ref(externref:null, funcref:not null) = externref:null", "other.log(i32:7) = "} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %q in\n%s", want, calls)
		}
	}
	traps, returns := 0, 0
	for i := range report.Waot.Calls {
		if c := &report.Waot.Calls[i]; strings.HasPrefix(c.Call, "d(") && c.Trap != "" {
			traps++
		} else {
			returns++
		}
	}
	if len(report.Waot.Calls) != 12 || traps == 0 || returns < 8 {
		t.Errorf("%d traps, %d returns:\n%s", traps, returns, stdout)
	}
	status, stdout, stderr = execute("diff", "importing.wat", "--runner", lying)
	if status != statusBad || !strings.Contains(stdout, "of an import differs\n  waot:   other.log(i32:1) = \n  wazero: other.log(i32:0) = \n") ||
		!strings.Contains(stdout, "interpreter agrees with wazero, the CLIF interpreter with wazero\n") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// borrowing imports a memory, a table and globals of all types, and changes them.
const borrowing = `(module
  (import "env" "memory" (memory 1 3))
  (import "env" "table" (table 4 10 funcref))
  (import "env" "g1" (global $g1 i32))
  (import "env" "g2" (global $g2 (mut i64)))
  (import "env" "f" (func $f (param i32) (result i32)))
  (import "other" "v" (global $v (mut v128)))
  (import "other" "x" (global $x f64))
  (import "other" "e" (global $e externref))
  (import "other" "y" (global $y f32))
  (global $own (export "own") i32 (global.get $g1))
  (data (global.get $g1) "hello")
  (elem (i32.const 1) func $a)
  (func $a (export "a") (result i32) (i32.load8_u (global.get $g1)))
  (func (export "b") (param i64) (global.set $g2 (i64.add (global.get $g2) (local.get 0))) (i64.store (i32.const 8) (global.get $g2)))
  (func (export "c") (result i32) (memory.grow (i32.const 1)))
  (func (export "d") (result i32) (table.size 0))
  (func (export "ee") (param i32) (result i32) (call_indirect (result i32) (i32.and (local.get 0) (i32.const 3))))
  (func (export "v") (global.set $v (i64x2.add (global.get $v) (v128.const i64x2 1 2))))
  (func (export "g") (result f64) (f64.add (global.get $x) (f64.promote_f32 (global.get $y))))
  (func (export "h") (result i32) (ref.is_null (global.get $e)))
  (func (export "i") (result i32) (i32.store (i32.const 16) (call $f (global.get $own))) (call $f (i32.load (i32.const 16)))))`

// TestDiffLent compares a module that imports more than functions.
func TestDiffLent(t *testing.T) {
	lying := map[string]string{
		"memory":        liar(t, `WAOT | sed 's/"memory": "./"memory": "x/'`),
		"global env.g2": liar(t, `WAOT | sed '/"name": "env.g2"/,/}/s/"value": "i64:/"value": "i64:1/'`),
		"other.v":       liar(t, `WAOT | sed '/"name": "other.v"/,/}/s/00000421/00000420/'`),
	}
	setUp(t)
	if err := os.WriteFile("borrowing.wat", []byte(borrowing), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("diff", "borrowing.wat", "--json")
	var report struct{ Waot, Wazero execution }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != 0 {
		t.Fatal(status, stdout, stderr, err)
	}
	results := map[string]string{}
	for i := range report.Waot.Calls {
		c := &report.Waot.Calls[i]
		results[c.Call] = c.String()
	}
	for call, want := range map[string]string{"a()": "[i32:104]", "c()": "[i32:1]", "d()": "[i32:4]", "g()": "[f64:2176]", "h()": "[i32:1]", "ee(i32:1)": "[i32:104]", "ee(i32:0)": "trap: invalid table access"} {
		if results[call] != want {
			t.Errorf("%s: %s, want %s", call, results[call], want)
		}
	}
	names := ""
	for _, g := range report.Waot.Globals {
		names += g.Name + " "
	}
	if names != "own env.g1 env.g2 other.v other.x other.y " || report.Waot.Memory == "" || report.Waot.Imports == "" {
		t.Errorf("globals %s, memory %s, imports %s", names, report.Waot.Memory, report.Waot.Imports)
	}
	for what, runner := range lying {
		if status, stdout, stderr := execute("diff", "borrowing.wat", "--runner", runner); status != statusBad || !strings.Contains(stdout, what+" differs") || !strings.Contains(stdout, "the CLIF interpreter with wazero") {
			t.Errorf("%s: status %d\n%s%s", what, status, stdout, stderr)
		}
	}
}

// TestDiffUnsupportedImports: what has no stand-ins is refused, with a reason.
func TestDiffUnsupportedImports(t *testing.T) {
	setUp(t)
	for text, want := range map[string]string{
		`(import "a" "f" (func)) (import "a" "f" (func (result i32)))`: `the import "a" "f" has two types`,
		`(type $t (func)) (import "a" "f" (func (param (ref $t))))`:    `the import "a" "f" has typed references`,
		`(type $t (func)) (import "a" "t" (table 1 (ref null $t)))`:    `the import "a" "t" has typed references`,
		`(import "a" "g" (global (ref func)))`:                         `the import "a" "g" has typed references`,
		`(import "" "f" (func))`:                                       "wazero has no modules without a name",
		`(import "wasi_snapshot_preview1" "no_such_function" (func))`:  `m.wat: the import "wasi_snapshot_preview1" "no_such_function" is no function of WASI`,
		`(import "wasi_snapshot_preview1" "fd_write" (func))`:          `m.wat: the import "wasi_snapshot_preview1" "fd_write" has another type than WASI's`,
		`(import "a" "g" (global i32)) (import "a" "g" (global i32))`:  `the import "a" "g" is there twice`,
	} {
		if err := os.WriteFile("m.wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := execute("diff", "m.wat")
		if status != statusBad || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d\n%s%s, want %q", text, status, stdout, stderr, want)
		}
	}
}

// TestKnownDefects: differences that come from wazero's known defects are said to, and others in such modules are not.
func TestKnownDefects(t *testing.T) {
	lying, honest := liar(t, `WAOT | sed 's/"i32:3"/"i32:4"/'`), liar(t, `WAOT`)
	setUp(t)
	// init traps by the specification: the active segment is dropped.
	surviving := `(module (memory (export "memory") 1) (data (i32.const 0) "abc") (data "passive")
  (func (export "init") (memory.init 0 (i32.const 16) (i32.const 0) (i32.const 3)))
  (func (export "three") (result i32) (i32.const 3)) (start $s) (func $s (i32.store8 (i32.const 40) (i32.const 1))))`
	if err := os.WriteFile("surviving.wat", []byte(surviving), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := execute("diff", "surviving.wat")
	if status != statusDone || !strings.Contains(stdout, "init() differs") || !strings.Contains(stdout, "the CLIF interpreter with waot\nthat is known: active data segments survive instantiation in wazero, and there") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	status, stdout, _ = execute("diff", "surviving.wat", "--runner", lying)
	if status != statusBad || strings.Contains(stdout, "known") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	small := filepath.Join(t.TempDir(), "small.wasm")
	if status, stdout, _ = execute("diff", "surviving.wat", "--reduce", small, "--runner", honest); status != statusDone || strings.Contains(stdout, "made small") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	if withoutDefects([]byte(files["lib.wasm"])) != nil {
		t.Error("lib.wasm has no segments")
	}

	// Instantiation traps by the specification, before the second segment and the start function. wazero ignores all segments from the first that does not fit.
	unfit := func(offset string, more string) string {
		return `(module (import "m" "g" (global $g i32)) (table 4 funcref) (table $t 2 funcref) (func $f (result i32) (i32.const 7)) (memory (export "memory") 1)
  (elem (i32.const 0) $f) (elem (table $t) (offset ` + offset + `) func $f $f) (elem (i32.const 1) $f) (elem (table $t) (i32.const 0) funcref (ref.null func))
  (func (export "call") (result i32) (call_indirect (result i32) (i32.const 0)))
  (func (export "first") (result i32) (call_indirect (result i32) (i32.const 1))) ` + more + `)`
	}
	const ignored = "that is known: wazero ignores active element segments that do not fit"
	copies := `(data (i32.const 0) "abc") (data "passive") (start $s) (func $s (memory.init 0 (i32.const 16) (i32.const 0) (i32.const 3)))`
	for _, test := range []struct {
		text, want string
	}{
		{unfit("(i32.const 1)", ""), ignored},
		{unfit("(i32.const -1)", ""), ignored},
		{unfit("(global.get $g)", ""), ignored},
		{unfit("(i32.const 1)", `(start $s) (func $s (i32.store8 (i32.const 5) (i32.const 6)))`), ignored},
		{unfit("(i32.const 0)", ""), "same: "},
		// wazero skips a segment without elements, wherever it is to go.
		{`(module (table 1 funcref) (elem (i32.const 2)) (func (export "f") (result i32) (i32.const 5)))`, ignored},
		// What would be wrong behind a segment that does not fit does not happen.
		{unfit("(i32.const 1)", copies), ignored},
		{unfit("(i32.const 0)", copies), "that is known: active data segments survive instantiation in wazero, and there"},
	} {
		if err := os.WriteFile("unfit.wat", []byte(test.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if status, stdout, stderr := execute("diff", "unfit.wat"); status != statusDone || !strings.Contains(stdout, test.want) {
			t.Errorf("%s:\nstatus %d\n%s%s", test.text, status, stdout, stderr)
		}
	}

	largest := `(module (memory 65536) (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0))) (func (export "size") (result i32) (memory.size)))`
	if err := os.WriteFile("largest.wat", []byte(largest), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("diff", "largest.wat", "--json")
	var report struct {
		Same   bool
		Wazero execution
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != statusDone || report.Wazero.Engine != "wazero interpreter" {
		t.Errorf("status %d\n%s%s %v", status, stdout, stderr, err)
	}
}

// TestNumbers: a stand-in's numbers are of their types, and not all the same.
func TestNumbers(t *testing.T) {
	s := &standIn{module: "m", name: "f", results: []meta.ValType{meta.I32, meta.F32, meta.F64, meta.ExternRef}}
	seen := map[string]bool{}
	a := &answers{}
	for range 100 {
		results := make([]uint64, 4)
		a.answer(s, nil, results)
		if results[0]>>32 != 0 || results[1]>>32 != 0 || results[3] != 0 || strings.Contains(strings.Join(formatValues(s.results, results), " "), "nan") {
			t.Errorf("%x", results)
		}
		seen[formatValue(meta.I32, results)] = true
	}
	if len(seen) < 50 || a.calls != 100 {
		t.Errorf("%d numbers", len(seen))
	}
}

// TestRunStandIns: bisect runs modules with stand-ins, which tell of their calls as diff does.
func TestRunStandIns(t *testing.T) {
	runner := builtHere(t)
	setUp(t)
	if err := os.WriteFile("importing.wat", []byte(importing), 0o666); err != nil {
		t.Fatal(err)
	}
	status, _, first := execute("run", "importing.wat", "--stand-ins", "--invoke=d", "5")
	_, _, second := execute("run", "importing.wat", "--stand-ins", "--invoke=d", "5")
	if first != second || !strings.Contains(first, "waot: other.log(5) = \nwaot: other.log(7) = \nwaot: env.mix(1, 2, 3, 4) = ") {
		t.Errorf("status %d\n%s%s", status, first, second)
	}
	status, stdout, stderr := execute("bisect", "importing.wat", "--invoke=d", "--runner", runner, "--", "5")
	if status != statusBad || !strings.Contains(stdout, "good at -O1: nothing to find") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}
