//go:build linux

package program_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
)

// bounded reads what its segment says, grows its memory, uses the new page, and leaves with its old size in the tens; or traps.
const bounded = `(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	(memory (export "memory") 1) (data (i32.const 100) "\07")
	(func (export "_start")
		(i32.store (i32.const 200) (memory.grow (i32.const 3)))
		(i32.store offset=196608 (i32.const 0) (i32.load8_u (i32.const 100)))
		(if (i32.load8_u (i32.const 101)) (then (drop (i32.load (i32.const 262141)))))
		(call $exit (i32.add (i32.load (i32.const 196608)) (i32.mul (i32.const 10) (i32.load (i32.const 200)))))))`

// TestExplicitBounds: executables with explicit bounds checks run, and trap, on both machines; on this one they do with few addresses.
func TestExplicitBounds(t *testing.T) {
	trapping := strings.Replace(bounded, `\07`, `\07\01`, 1)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		files := [2]string{}
		for i, text := range []string{bounded, trapping} {
			b, err := linkAs(compile.Options{Target: target, Name: "prog", OptLevel: opt.O1, ExplicitBounds: true}, wasm(t, text), new(program.Options))
			if err != nil {
				t.Fatal(err)
			}
			files[i] = write(t, b)
		}
		if got := run(t, m, "", files[0]); got.status != 17 {
			t.Errorf("%s: %+v", target, got)
		}
		if got := run(t, m, "", files[1]); got.status == 17 || !strings.Contains(got.stderr, "out of bounds memory access") {
			t.Errorf("%s: %+v", target, got)
		}
		if target != compile.HostTarget() {
			continue
		}
		err := exec.Command("/bin/sh", "-c", "ulimit -v 500000 && exec "+files[0]).Run()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 17 {
			t.Errorf("with few addresses: %v", err)
		}
		out, err := exec.Command("/bin/sh", "-c", "ulimit -v 500000 && exec "+build(t, target, wasm(t, bounded), new(program.Options))).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "addresses") {
			t.Errorf("a reservation with few addresses: %v, %s", err, out)
		}
	}
}
