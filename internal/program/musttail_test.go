//go:build linux

package program_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// interpreted is what the interpreter runs: fib, and line, which adds 1 so often without a branch.
const (
	lineLength  = 20_000
	interpreted = `(module
	(func $fib (export "fib") (param i32) (result i32)
		(if (i32.lt_u (local.get 0) (i32.const 2)) (then (return (local.get 0))))
		(i32.add (call $fib (i32.sub (local.get 0) (i32.const 2))) (call $fib (i32.sub (local.get 0) (i32.const 1)))))
	(func (export "line") (param i32) (result i32) %s (local.get 0)))`
)

// TestTailProgram: an interpreter of WebAssembly whose instructions go on to the next ones by tail calls runs in a small stack.
func TestTailProgram(t *testing.T) {
	module, err := os.ReadFile(filepath.Join(testenv.Material(t, testenv.EnvWasm3), "wasm3-tail.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := fmt.Sprintf(interpreted, strings.Repeat("(local.set 0 (i32.add (local.get 0) (i32.const 1)))", lineLength))
	if err := os.WriteFile(filepath.Join(dir, "fib32.wasm"), wasm(t, text), 0o666); err != nil {
		t.Fatal(err)
	}
	o := program.Options{MaxStack: 1 << 18, Grants: program.Grants{Dirs: []program.Dir{{Host: dir, Guest: "/"}}}}
	for _, target := range compile.Targets() {
		m := machine(t, target)
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			b, err := linkAs(compile.Options{Target: target, Name: "prog", OptLevel: level}, module, &o)
			if err != nil {
				t.Fatal(err)
			}
			file := write(t, b)
			for call, want := range map[string]string{"fib 27": "196418", "line 5": fmt.Sprint(lineLength + 5)} {
				name, arg, _ := strings.Cut(call, " ")
				got := run(t, m, "", file, "--func", name, "/fib32.wasm", arg)
				if got.status != 0 || got.stdout+got.stderr != "Result: "+want+"\n" {
					t.Errorf("%s -O%d: %s is not %s: %+v", target, level, call, want, got)
				}
			}
		}
	}
}
