//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront/printer"
)

const throwing = `(module $m (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
 (tag $t (export "t") (param i32 f64)) (tag $u) (tag $v (export "v") (param v128 externref funcref exnref)) (tag $w (param i32 funcref)) (memory (export "memory") 1)
 (func $f (throw $t (i32.const 5) (f64.const 1.5)))
 (func (export "_start") (call $f))
 (func (export "catch") (param i32) (result i32 f64) (block $b (result i32 f64) (try_table (catch $t $b) (call $f)) unreachable))
 (func (export "throw") (param i32) (throw $t (local.get 0) (f64.const 2)))
 (func (export "empty") (throw $u))
 (func $all (export "all") (throw $v (v128.const i64x2 1 2) (ref.null extern) (ref.func $all) (ref.null exn)))
 (func (export "private") (throw $w (i32.const 1) (ref.func $all))))`

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
	if status, _, stderr := execute("run", "--invoke", "private", "t.wat"); status != 1 || !strings.Contains(stderr, "uncaught wasm exception with arguments (i32, funcref)\n") {
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

// TestSnapshotOfExceptions: a module with exceptions of any kind, or with references that have types, has no snapshot, and that is told.
func TestSnapshotOfExceptions(t *testing.T) {
	setUp(t)
	for text, has := range map[string]string{
		`(module (tag) (func (export "_initialize")))`:                                                                                "exceptions",
		`(module (func (export "_initialize") (block $b (try_table (catch_all $b) unreachable))))`:                                    "exceptions",
		`(module (func (export "_initialize")) (func (param exnref)))`:                                                                "exceptions",
		`(module (func (export "_initialize") (try (do) (catch_all))))`:                                                               "exceptions",
		`(module (func (export "_initialize")) (func (drop (ref.null exn))))`:                                                         "exceptions",
		`(module (type (struct)) (func (export "_initialize")))`:                                                                      "garbage collection",
		`(module (type $n (struct (field (ref null $n)))) (tag) (func (export "_initialize")))`:                                       "exceptions",
		`(module (type $f (func)) (type $n (struct (field (ref null $f)))) (func (export "_initialize")))`:                            "garbage collection",
		`(module (global (ref null $f) (ref.null $f)) (type $f (func)) (func (export "_initialize") (drop (ref.i31 (i32.const 1)))))`: "garbage collection",
		`(module (func (export "_initialize") (drop (ref.i31 (i32.const 1)))))`:                                                       "garbage collection",
		`(module (type $f (func)) (func (export "_initialize")) (func (param (ref $f))))`:                                             "typed function references",
	} {
		if err := os.WriteFile("s.wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := execute("build", "s.wat", "--snapshot", "-o", "s.o"); status != 1 || !strings.Contains(stderr, "no snapshot: the module has "+has+" (offset 0x") {
			t.Errorf("%s: status %d, %s", text, status, stderr)
		}
	}
}

// TestDiffGC: a module with structures and arrays is compared with the CLIF interpreter, since wazero does not know them, and made small.
func TestDiffGC(t *testing.T) {
	lying := liar(t, `WAOT | sed 's/"i32:3"/"i32:4"/'`)
	setUp(t)
	text := `(module
		(type $pair (sub (struct (field $a i32) (field $b (mut i32)) (field (ref null $pair)))))
		(type $bytes (array (mut i8)))
		(type $more (sub $pair (struct (field i32) (field (mut i32)) (field (ref null $pair)) (field f64))))
		(memory (export "memory") 1) (global (export "g") (mut anyref) (ref.null any)) (data $d "abcdef")
		(func (export "add") (param i32 i32) (result i32) (local $p (ref $pair))
			(local.set $p (struct.new $pair (local.get 0) (local.get 1) (ref.null $pair)))
			(i32.add (struct.get $pair $a (local.get $p)) (struct.get $pair $b (local.get $p))))
		(func (export "byte") (param i32) (result i32) (array.get_u $bytes (array.new_data $bytes $d (i32.const 0) (i32.const 6)) (local.get 0)))
		(func (export "cast") (param anyref) (result anyref) (ref.cast (ref null $more) (struct.new_default $pair))))`
	if err := os.WriteFile("m.wat", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("diff", "m.wat")
	if status != statusDone || !strings.Contains(stdout, "same: ") || !strings.Contains(stdout, "places of ") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = execute("diff", "m.wat", "--json")
	var r diffReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != statusDone || r.Wazero != nil || r.CLIF == nil || r.CLIF.Engine != "CLIF interpreter" {
		t.Errorf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	status, stdout, stderr = execute("diff", "m.wat", "--reduce", "small.wasm", "--runner", lying)
	for _, want := range []string{"add(i32:1, i32:2) differs\n  waot:   [i32:4]\n  CLIF interpreter: [i32:3]", "made small"} {
		if status != statusBad || !strings.Contains(stdout, want) {
			t.Errorf("status %d, no %q: %s%s", status, want, stdout, stderr)
		}
	}
	small, err := os.ReadFile("small.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := printer.String(small); err != nil || strings.Contains(text, "array") || len(small) > 90 {
		t.Errorf("%d bytes, %v: %s", len(small), err, text)
	}
}
