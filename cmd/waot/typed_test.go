//go:build linux && (amd64 || arm64)

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTypedExecutable: an executable, whose runtime knows only the classes of types, runs a module with typed references in types, tables and globals, and says where one is null.
func TestTypedExecutable(t *testing.T) {
	setUp(t)
	text := `(module (type $i (func (result i32))) (type $s (func (param (ref null $s) externref) (result (ref func)))) (memory (export "memory") 1)
		(func $one (type $i) (i32.const 1)) (func $s (type $s) (ref.func $one)) (global (ref $i) (ref.func $one)) (global $n (mut (ref null $i)) (ref.null $i)) (table 3 (ref $i) (ref.func $one))
		(func (export "_start") (drop (call_ref $s (ref.null $s) (ref.null extern) (ref.func $s))) (drop (call_indirect (type $i) (i32.const 2))) (drop (call_ref $i (global.get 0))) (drop (call_ref $i (global.get $n))))
		(elem declare func $s))`
	if err := os.WriteFile("m.wat", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := execute("build", "m.wat", "-o", "m"); status != 0 {
		t.Fatal(stderr)
	}
	out, err := exec.Command("./m").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "wasm trap: null reference") || !strings.Contains(string(out), "(_start)") {
		t.Errorf("%v: %s", err, out)
	}
}
