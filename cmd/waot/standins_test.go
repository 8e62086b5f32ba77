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

// TestDiffUnsupportedImports: what has no stand-ins is refused, with a reason.
func TestDiffUnsupportedImports(t *testing.T) {
	setUp(t)
	for text, want := range map[string]string{
		`(import "a" "m" (memory 1))`:                                      `the import "a" "m" is no function`,
		`(import "a" "f" (func)) (import "a" "f" (func (result i32)))`:     `the import "a" "f" has two types`,
		`(import "" "f" (func))`:                                           "wazero has no modules without a name",
		`(import "wasi_snapshot_preview1" "no_such_function" (func))`:      "no_such_function",
		`(import "a" "f" (func)) (import "b" "g" (global i32)) (memory 1)`: `the import "b" "g" is no function`,
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
	if status != statusDone || !strings.Contains(stdout, "init() differs") || !strings.Contains(stdout, "the CLIF interpreter with waot\nthat is known: "+survivingSegments) {
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
	if dropped([]byte(files["lib.wasm"])) != nil {
		t.Error("lib.wasm has nothing to drop")
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
