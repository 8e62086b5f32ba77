package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scriptRunner is a command that runs scripts as wasmtime's does: this waot, which is right, as the tests of its suite show.
func scriptRunner(t *testing.T, line string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "wasmtime")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+strings.ReplaceAll(line, "WAOT", builtHere(t))+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	return script
}

// TestWasmtime: wasmtime's command is asked where engines differ, and says who is right.
func TestWasmtime(t *testing.T) {
	judge := scriptRunner(t, `[ "$1" = wast ] && shift && exec WAOT spectest "$@"`)
	refusing := scriptRunner(t, `exit 1`)
	lying := liar(t, `WAOT | sed 's/"i32:3"/"i32:4"/; s/"f32:-2.5"/"f32:2.5"/; s/"trap": "unreachable"/"trap": "integer overflow"/'`)
	both := liar(t, `WAOT | sed 's/"memory": "/"memory": "x/'`)
	setUp(t)
	for name, text := range map[string]string{
		// wazero's segments survive, so that it alone does not trap.
		"surviving": `(module (memory (export "memory") 1) (data (i32.const 0) "abc")
  (func (export "init") (memory.init 0 (i32.const 16) (i32.const 0) (i32.const 3))))`,
		"three":     `(module (func (export "three") (result i32) (i32.const 3)))`,
		"importing": `(module (import "env" "f" (func)) (func (export "three") (result i32) (i32.const 3)))`,
		"starting":  `(module (func $s unreachable) (start $s))`,
		// Everything that scripts have words for.
		"all": `(module (memory (export "memory") 1) (table 3 funcref) (elem (i32.const 1) $n)
  (global (export "a \"\u{e9}\\ name") i64 (i64.const -5)) (global (export "v") v128 (v128.const i32x4 1 2 3 4))
  (func $n (export "nan") (param f32) (result f32 f64) (f32.neg (local.get 0)) (f64.const -nan:0x123))
  (func (export "infinite") (result f32 f64) (f32.const inf) (f64.const -inf))
  (func (export "floats") (result f32 f64) (f32.const -2.5) (f64.const 1e300))
  (func (export "refs") (param externref) (result externref funcref funcref) (local.get 0) (ref.null func) (ref.func $n))
  (func (export "null") (result externref funcref) (ref.null extern) (ref.null func))
  (func (export "vector") (param v128) (result v128) (local.get 0))
  (func (export "divide") (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
  (func (export "far") (drop (i32.load (i32.const -1))))
  (func (export "call") (call_indirect (i32.const 2)))
  (func $deep (export "deep") (call $deep))
  (func (export "dead") unreachable)
  (elem declare func $n))`,
	} {
		if err := os.WriteFile(name+".wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		line   string
		status int
		want   string // "" if it is not asked, or does not say
	}{
		{"surviving.wat", statusDone, "waot"},
		{"three.wat --runner " + lying, statusBad, "wazero"},
		{"all.wat --runner " + lying, statusBad, "wazero"},
		{"all.wat --runner " + both, statusBad, "both"},
		{"starting.wat --runner " + liar(t, `WAOT | sed 's/"trap: unreachable"/"trap: integer overflow"/'`), statusBad, "wazero"},
		{"importing.wat --runner " + lying, statusBad, ""},
		{"all.wat", statusDone, ""},
	} {
		line := append([]string{"diff", "--wasmtime", judge}, strings.Fields(x.line)...)
		status, stdout, stderr := execute(line...)
		_, said, _ := strings.Cut(stdout, ", wasmtime with ")
		said, _, _ = strings.Cut(said, "\n")
		if status != x.status || said != x.want || stderr != "" {
			t.Errorf("%s: status %d, want %d, wasmtime with %q, want %q\n%s%s", x.line, status, x.status, said, x.want, stdout, stderr)
		}
	}
	if status, stdout, _ := execute("diff", "three.wat", "--runner", lying, "--wasmtime", refusing); status != statusBad || strings.Contains(stdout, "wasmtime") {
		t.Errorf("one that does not take the module: status %d\n%s", status, stdout)
	}
	t.Setenv("PATH", filepath.Dir(judge)+":"+os.Getenv("PATH"))
	if _, stdout, _ := execute("diff", "three.wat", "--runner", lying, "--json"); !strings.Contains(stdout, `"wasmtime_agrees_with": "wazero"`) {
		t.Errorf("in the path: %s", stdout)
	}
	if _, stdout, _ := execute("diff", "three.wat", "--runner", lying, "--wasmtime=off"); strings.Contains(stdout, "wasmtime") {
		t.Errorf("off: %s", stdout)
	}
	if status, _, stderr := execute("diff", "three.wat", "--wasmtime=nothing-like-it"); status != statusUsage || stderr != "waot: --wasmtime=nothing-like-it: there is no such command\n" {
		t.Errorf("status %d, %s", status, stderr)
	}
}
