package compile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
)

// unwindModule has functions with quick ways out, many values across calls, arguments and results on the stack, switches, and checks
// whose traps stand aside, and tail calls with more and with fewer arguments than came in.
const unwindModule = `(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (table funcref (elem $walk $leaf $fewer $grow))
  (type $way (func (param i32) (result i64)))
  (type $more (func (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)))
  (func $walk (type $way) (local $a i64) (local $b i64) (local $c i64)
    (if (i32.lt_u (local.get 0) (i32.const 2)) (then (return (i64.load (local.get 0)))))
    (local.set $a (call $walk (i32.sub (local.get 0) (i32.const 1))))
    (local.set $b (call $leaf (i32.div_u (i32.const 1000) (local.get 0))))
    (local.set $c (call_indirect (type $way) (i32.sub (local.get 0) (i32.const 2)) (i32.and (local.get 0) (i32.const 1))))
    (i64.store (local.get 0) (i64.add (local.get $a) (local.get $b)))
    (i64.div_s (i64.mul (local.get $a) (local.get $b)) (i64.or (local.get $c) (i64.const 1))))
  (func $leaf (type $way)
    (block $z (block $y (block $x
      (br_table $x $y $z $x $y (i32.rem_u (local.get 0) (i32.const 5))))
      (return (i64.extend_i32_u (local.get 0))))
      (return (i64.const 7)))
    (i64.load offset=8 (local.get 0)))
  (func $many (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64 i64 i64 i64 i64 i64)
    (if (i64.eqz (local.get 11)) (then (return (local.get 0) (local.get 1) (local.get 2) (local.get 9) (local.get 10) (local.get 11))))
    (drop (call $walk (i32.const 3)))
    (call $many (local.get 11) (local.get 10) (local.get 9) (local.get 8) (local.get 7) (local.get 6)
      (local.get 5) (local.get 4) (local.get 3) (local.get 2) (local.get 1) (i64.const 0)))
  (func $twice (param i32) (local $i i32)
    (drop (call_indirect (type $way) (i32.const 1) (i32.const 3)))
    (loop $again
      (i64.store (i32.const 64) (call $walk (i32.const 6)))
      (call $many (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6)
        (i64.const 7) (i64.const 8) (i64.const 9) (i64.const 10) (i64.const 11) (i64.const 12))
      drop drop drop drop drop drop
      (drop (call $write (i32.const 1) (i32.const 128) (i32.const 0) (i32.const 136)))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get 0)))))
  (func (export "_start") (call $twice (i32.const 1)) (call $exit (i32.const 0)))
  (func $grow (type $way) (local $a i64) (local $b i64)
    (local.set $a (call $walk (local.get 0)))
    (local.set $b (call $leaf (local.get 0)))
    (return_call_indirect (type $more) (i64.const 1) (local.get $b) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6)
      (i64.const 7) (i64.const 8) (local.get $a) (i64.const 10) (local.get $b) (local.get $a) (i32.const 2)))
  (func $fewer (type $more) (local $a i64) (local $b i64)
    (if (i64.eq (local.get 9) (i64.const 99)) (then (return_call_indirect (type $more) (local.get 11) (local.get 10) (local.get 9) (local.get 8)
      (local.get 7) (local.get 6) (local.get 5) (local.get 4) (local.get 3) (local.get 2) (local.get 1) (local.get 0) (i32.const 2))))
    (local.set $a (call $walk (i32.wrap_i64 (local.get 0))))
    (local.set $b (call $leaf (i32.const 3)))
    (i64.store (i32.const 72) (i64.add (local.get $a) (i64.mul (local.get 11) (local.get $b))))
    (return_call_indirect (type $way) (i32.const 2) (i32.const 0))))`

// TestUnwind steps through programs with gdb. At each instruction, backtraces by .eh_frame have the calls that have not returned, out to the
// program's beginning, and give what the callee-saved registers held at each.
func TestUnwind(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		t.Run("C", func(t *testing.T) {
			obj, src, exe := writeAdapters(t, c, 3)
			runTool(t, c.prefix+"gcc", "-O0", "-Wno-builtin-declaration-mismatch", "-static", "-o", exe, src, obj)
			c.step(t, exe, testenv.Cases(300, 300, 3000), "main")
		})
		t.Run("executable", func(t *testing.T) {
			wasm, err := wat.Assemble(unwindModule)
			if err != nil {
				t.Fatal(err)
			}
			r := build(t, wasm, compile.Options{Target: c.target, Name: "app", OptLevel: opt.O1})
			b, err := program.Link(r.Object, r.Meta, &program.Options{Prefix: "app"})
			if err != nil {
				t.Fatal(err)
			}
			exe := filepath.Join(t.TempDir(), "app")
			if err := os.WriteFile(exe, b, 0o777); err != nil {
				t.Fatal(err)
			}
			// With all cases from the runtime's beginning on, to the end.
			c.step(t, exe, testenv.Cases(600, 600, 6000), testenv.Cases("fn6._start", "fn6._start", "waot_start_main"))
		})
	})
}

// step steps through instructions of a program, from the given functions on; each is run until it returns or n instructions are done.
func (c *toolchain) step(t *testing.T, exe string, n int, from ...string) {
	t.Helper()
	if c.prefix != "" && !testenv.Full() {
		n /= 4 // emulation is slow
	}
	const script = "testdata/unwind.py"
	args := []string{"-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set confirm off", "-ex", "set width 0"}
	gdb, machine := "gdb", "x64"
	if c.prefix == "" {
		args = append(args, "-ex", "starti")
	} else {
		gdb, machine = "gdb-multiarch", "a64"
		socket := filepath.Join(t.TempDir(), "gdb")
		// gdb does not unwind vector registers of processors with SVE.
		cmd := exec.Command(tool(t, c.run[0]), "-cpu", "cortex-a57", "-g", socket, exe)
		if err := emulate.Start(cmd); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		for range 500 {
			if _, err := os.Stat(socket); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		args = append(args, "-ex", "target remote "+socket)
	}
	gdb = tool(t, gdb)
	cmd := exec.Command(gdb, append(args, "-x", script, exe)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", fmt.Sprintf("UNWIND=%s %d %s", machine, n, strings.Join(from, " ")))
	out, err := cmd.CombinedOutput()
	m := regexp.MustCompile(`(?m)^ok (\d+)$`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if seen, _ := strconv.Atoi(string(m[1])); seen < min(n, 4000) {
		t.Errorf("%d instructions were looked at", seen)
	}
	t.Logf("%s", m[0])
}
