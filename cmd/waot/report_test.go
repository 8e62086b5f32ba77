//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront/wat"
)

// TestSameReport: a trap has the same line in an executable as in run, behind the name of the program, and the same number of bytes of stack end both.
func TestSameReport(t *testing.T) {
	setUp(t)
	long := strings.Repeat("name", 200)
	for i, c := range []struct{ text, flag string }{
		{text: `(func $f unreachable) (func (export "_start") call $f)`},
		{text: `(func unreachable) (func (export "_start") call 0)`},
		{text: `(func $` + long + ` unreachable) (func (export "_start") call 0)`},
		{text: `(memory 1) (func (export "_start") (drop (i32.load (i32.const -4))))`},
		{text: `(memory 1) (func (export "_start") (drop (i32.div_s (i32.const 1) (i32.load (i32.const 0)))))`},
		{text: `(table 1 funcref) (func (export "_start") (call_indirect (i32.const 0)))`},
		{text: `(table 1 funcref) (func (export "_start") (call_indirect (i32.const 5)))`},
		{text: `(func $f unreachable) (start $f) (func (export "_start"))`},
		{text: `(memory 1) (global $g i32 (i32.const 65535)) (data (global.get $g) "ab") (func (export "_start"))`},
		{text: `(func $f (param i64) (result i64) (i64.add (call $f (i64.add (local.get 0) (i64.const 1))) (local.get 0))) (func (export "_start") (drop (call $f (i64.const 1))))`},
		{text: `(func $f (param i64) (result i64) (i64.add (call $f (i64.add (local.get 0) (i64.const 1))) (local.get 0))) (func (export "_start") (drop (call $f (i64.const 1))))`, flag: "--max-stack=65536"},
	} {
		name := fmt.Sprintf("trap%d", i)
		m, err := wat.Assemble([]byte("(module " + c.text + ")"))
		if err == nil {
			err = os.WriteFile(name+".wasm", m.Wasm, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		args := []string{name + ".wasm"}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		if status, _, stderr := execute(append([]string{"build", "-o", name}, args...)...); status != 0 {
			t.Fatal(stderr)
		}
		status, _, ran := execute(append([]string{"run"}, args...)...)
		out, err := exec.Command("./" + name).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 134 || status != statusBad {
			t.Errorf("%s: %d and %v", c.text, status, err)
		}
		want, _, _ := strings.Cut(strings.TrimPrefix(ran, "waot: "+name+".wasm: "), "\n")
		got, _, _ := strings.Cut(strings.TrimPrefix(string(out), "./"+name+": "), "\n")
		if got != want || !strings.Contains(got, "wasm trap: ") {
			t.Errorf("%s:\n%s\nrun:\n%s", c.text, got, want)
		}
	}
}

// TestBrokenPipe: a reader who leaves while a program writes is an error of the call, and ends neither the program nor the report of its trap.
func TestBrokenPipe(t *testing.T) {
	waot := builtHere(t)
	setUp(t)
	for stream := 1; stream <= 2; stream++ {
		text := fmt.Sprintf(`(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 40)
  (data (i32.const 0) "\40\00\00\00\00\00\10\00")
  (func (export "_start")
    (drop (call $write (i32.const %[1]d) (i32.const 0) (i32.const 1) (i32.const 32)))
    (if (i32.ne (call $write (i32.const %[1]d) (i32.const 0) (i32.const 1) (i32.const 32)) (i32.const 64)) (then (call $exit (i32.const 3))))
    unreachable))`, stream)
		if err := os.WriteFile("pipe.wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(waot, "run", "pipe.wat", "--cache=off")
		cmd.Stdout, cmd.Stderr = w, w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		// When a byte is there, the call has begun, and it cannot end: a pipe has room for less.
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		r.Close()
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != statusBad {
			t.Errorf("stream %d: %v", stream, cmd.ProcessState)
		}
	}
}

// TestMaxStack: how much stack a program gets is said with run and build, and what cannot be is a usage error.
func TestMaxStack(t *testing.T) {
	setUp(t)
	deep := `(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (func $f (param i32) (result i32) (if (result i32) (local.get 0) (then (i32.add (i32.const 1) (call $f (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0))))
  (func (export "_start") (call $exit (i32.shr_u (call $f (i32.const 1000000)) (i32.const 16)))))`
	if err := os.WriteFile("deep.wat", []byte(deep), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag        string
		run, status int // of the executable; -1 if it cannot be built
	}{
		{"--max-stack=8388608", statusBad, 134}, {"--max-stack=65000000", 15, 15}, {"--max-stack=100000000", statusBad, 15},
		{"--max-stack=65535", statusUsage, -1}, {"--max-stack=0", statusUsage, -1}, {"--max-stack=1073741825", statusBad, -1},
	} {
		if status, _, stderr := execute("run", "deep.wat", "-O0", c.flag); status != c.run {
			t.Errorf("run %s: status %d, want %d: %s", c.flag, status, c.run, stderr)
		}
		built, _, stderr := execute("build", "deep.wat", "-O0", "-o", "deep", c.flag)
		if (built == 0) != (c.status >= 0) || built != 0 && built != statusUsage {
			t.Errorf("build %s: status %d: %s", c.flag, built, stderr)
		} else if built == 0 {
			cmd := exec.Command("./deep")
			cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("%s: status %d, want %d", c.flag, got, c.status)
			}
		}
	}
}

// TestMaxHeap: how much an executable may have of structures and arrays is said with build, and what cannot be is a usage error.
func TestMaxHeap(t *testing.T) {
	setUp(t)
	long := `(module (type $a (array (mut i8))) (global $g (mut (ref null $a)) (ref.null $a)) (func (export "_start") (global.set $g (array.new_default $a (i32.const 1000000)))))`
	if err := os.WriteFile("long.wat", []byte(long), 0o666); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]int{"--max-heap=2000000": 0, "--max-heap=900000": 134, "--max-heap=0": -1} {
		built, _, stderr := execute("build", "long.wat", "-O0", "-o", "long", flag)
		if (built == 0) != (want >= 0) || built != 0 && built != statusUsage {
			t.Errorf("%s: status %d: %s", flag, built, stderr)
		} else if built == 0 {
			cmd := exec.Command("./long")
			if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != want {
				t.Errorf("%s: %v: %s", flag, cmd.ProcessState, out)
			}
		}
	}
}
