//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const throwing = `(module $m (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
 (tag $t (export "t") (param i32 f64)) (tag $u) (tag $v (param v128 externref funcref exnref)) (memory (export "memory") 1)
 (func $f (throw $t (i32.const 5) (f64.const 1.5)))
 (func (export "_start") (call $f))
 (func (export "catch") (param i32) (result i32 f64) (block $b (result i32 f64) (try_table (catch $t $b) (call $f)) unreachable))
 (func (export "throw") (param i32) (throw $t (local.get 0) (f64.const 2)))
 (func (export "empty") (throw $u))
 (func $all (export "all") (throw $v (v128.const i64x2 1 2) (ref.null extern) (ref.func $all) (ref.null exn))))`

// TestUncaught: an exception that nobody catches is told in one line with its arguments, and where it was thrown.
func TestUncaught(t *testing.T) {
	setUp(t)
	if err := os.WriteFile("t.wat", []byte(throwing), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("run", "t.wat")
	if want := "waot: t.wat:3:12: function 1 (f): uncaught wasm exception (i32:5, f64:1.5)\n   0: function 1 (f) at 3:12\n   1: function 2 (_start) at 4:27\n"; status != 1 || stdout != "" || stderr != want {
		t.Errorf("status %d, %q, %q; want %q", status, stdout, stderr, want)
	}
	if status, stdout, stderr := execute("run", "--invoke", "catch", "t.wat", "1"); status != 0 || stdout != "i32:5\nf64:1.5\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := execute("run", "--invoke", "all", "t.wat"); status != 1 || !strings.Contains(stderr, "uncaught wasm exception (v128:i32x4:0x00000001,0x00000000,0x00000002,0x00000000, externref:null, funcref:not null, exnref:null)\n") {
		t.Errorf("status %d, %q", status, stderr)
	}
	status, stdout, _ = execute("run", "--json", "t.wat")
	var p struct{ Error problem }
	if err := json.Unmarshal([]byte(stdout), &p); err != nil || status != 1 || p.Error.Kind != "exception" || len(p.Error.Frames) != 2 || p.Error.Name != "f" {
		t.Errorf("status %d, %s", status, stdout)
	}
}

// TestDiffExceptions: tags and arguments are compared with those on the interpreter.
func TestDiffExceptions(t *testing.T) {
	setUp(t)
	if err := os.WriteFile("t.wat", []byte(throwing), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"throw 7": "tag 0 (i32:7, f64:2)", "empty": "tag 1 ()",
		"all": "tag 2 (v128:i32x4:0x00000001,0x00000000,0x00000002,0x00000000, externref:null, funcref:not null, externref:null)", "catch 1": ""} {
		f, arg, more := strings.Cut(name, " ")
		args := []string{"diff", "t.wat", "--json", "--invoke", f}
		if more {
			args = append(args, arg)
		}
		status, stdout, stderr := execute(args...)
		var r struct {
			Waot   execution
			Places *places
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 0 || len(r.Waot.Calls) != 1 || r.Waot.Calls[0].Exception != want {
			t.Errorf("%s: status %d, %s%s", name, status, stdout, stderr)
		}
		if want != "" && (r.Places == nil || r.Places.Exceptions != 1) {
			t.Errorf("%s: %+v", name, r.Places)
		}
	}
	// A difference is found, and reported.
	a, b := &execution{Calls: []callOutcome{{Call: "f()", Exception: "tag 0 ()"}}}, &execution{Engine: "e", Calls: []callOutcome{{Call: "f()", Exception: "tag 1 ()"}}}
	if p := comparePlaces(a, b); len(p.Differences) != 1 || p.Exceptions != 1 {
		t.Errorf("%+v", p)
	}
	if d := compare(a, b); len(d) != 1 || d[0].What != "exception of f()" {
		t.Errorf("%+v", d)
	}
	b.Calls[0].Exception = unknownException
	if d := compare(a, b); len(d) != 0 {
		t.Errorf("%+v", d)
	}
	b.Calls[0] = callOutcome{Call: "f()", Trap: "unreachable"}
	if d := compare(a, b); len(d) != 1 || d[0].Waot != uncaught {
		t.Errorf("%+v", d)
	}
}

// TestSnapshotOfExceptions: a module with exceptions of any kind has no snapshot, and that is told.
func TestSnapshotOfExceptions(t *testing.T) {
	setUp(t)
	for _, text := range []string{
		`(module (tag) (func (export "_initialize")))`,
		`(module (func (export "_initialize") (block $b (try_table (catch_all $b) unreachable))))`,
		`(module (func (export "_initialize")) (func (param exnref)))`,
		`(module (func (export "_initialize") (try (do) (catch_all))))`,
		`(module (func (export "_initialize")) (func (drop (ref.null exn))))`,
	} {
		if err := os.WriteFile("s.wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := execute("build", "s.wat", "--snapshot", "-o", "s.o"); status != 1 || !strings.Contains(stderr, "no snapshot: the module has exceptions (offset 0x") {
			t.Errorf("%s: status %d, %s", text, status, stderr)
		}
	}
}
