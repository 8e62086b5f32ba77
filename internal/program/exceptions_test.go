//go:build linux

package program_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// throwing is a module that leaves with status 7 if all is well, and throws, or traps, if it has an argument: as many as its number says.
const throwing = `(module
	(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	(import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
	(memory (export "memory") 1)
	(tag $e (param i32)) (tag $nest (param exnref i64))
	(table $t 1 exnref) (table $many 0 10000000 exnref)
	(global $g (mut exnref) (ref.null exn))
	%s
	(func $throw (param i32) (throw $e (local.get 0)))
	(func $down (param i32) (result i32)
		(if (i32.eqz (local.get 0)) (then (throw $e (i32.const 5))))
		(i32.add (call $down (i32.sub (local.get 0) (i32.const 1))) (local.get 0)))
	(func $catch (param i32) (result exnref)
		(block $h (result exnref) (try_table (catch_all_ref $h) (call $throw (local.get 0))) (unreachable)))
	(func $number (param exnref) (result i32)
		(block $h (result i32) (try_table (catch $e $h) (throw_ref (local.get 0))) (unreachable)))
	(func $loop (param $n i32)
		(loop $next
			(drop (call $catch (local.get $n)))
			(br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
	(func $keep (param $n i32)
		(loop $next
			(drop (table.grow $many (call $catch (local.get $n)) (i32.const 1)))
			(br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
	(func (export "_start")
		(drop (call $args (i32.const 0) (i32.const 4)))
		(if (i32.eq (i32.load (i32.const 0)) (i32.const 2)) (then (call $throw (i32.const 1))))
		(if (i32.eq (i32.load (i32.const 0)) (i32.const 3)) (then
			(block $h (try_table (catch_all $h) (drop (call $down (i32.const -1))))))) ;; the stack ends first
		(if (i32.eq (i32.load (i32.const 0)) (i32.const 4)) (then (call $keep (i32.const 5000000))))
		(table.set $t (i32.const 0) (call $catch (i32.const 3)))
		(global.set $g (call $catch (i32.const 4)))
		(call $loop (i32.const 1000000))
		(block $h (result i32)
			(try_table (catch $e $h) (drop (call $down (i32.const 100000))))
			(unreachable))
		(if (i32.ne (i32.const 5)) (then (unreachable)))
		(call $exit (i32.add (call $number (table.get $t (i32.const 0))) (call $number (global.get $g))))))`

// TestExceptions: executables throw and catch, a million times in little memory; an exception that nothing catches is reported as a trap is.
func TestExceptions(t *testing.T) {
	for _, target := range compile.Targets() {
		m := machine(t, target)
		file := build(t, target, wasm(t, fmt.Sprintf(throwing, "")), new(program.Options))
		started := build(t, target, wasm(t, fmt.Sprintf(throwing, "(func $begin (call $throw (i32.const 1))) (start $begin)")), new(program.Options))
		for _, x := range []struct {
			file   string
			args   []string
			status int
			stderr string
		}{
			{file, nil, 7, `^$`},
			{file, []string{"x"}, 134, `^\S+: offset 0x[0-9a-f]+: function 2 \(throw\): uncaught wasm exception\n   0: function 2 \(throw\) at offset 0x[0-9a-f]+\n   1: function 8 \(_start\) at offset 0x[0-9a-f]+\n$`},
			{file, []string{"x", "y"}, 134, `function 3 \(down\): wasm trap: call stack exhausted\n`},
			{started, nil, 134, `function 3 \(throw\): uncaught wasm exception\n   0: .*\n   1: function 2 \(begin\) at`},
		} {
			if got := run(t, m, "", x.file, x.args...); got.status != x.status || got.stdout != "" || !regexp.MustCompile(x.stderr).MatchString(got.stderr) {
				t.Errorf("%s, %v: %+v", target, x.args, got)
			}
		}
		if target != compile.HostTarget() {
			continue
		}
		// The memory has 8 GiB of addresses, and the table 80 MB.
		for _, x := range []struct{ limit, args, end, text string }{
			{"ulimit -v 8550000 && ", "", "exit status 7", ""},
			{"ulimit -v 8500000 && ", " x y z", "exit status 1", ": no memory for an exception\n"},
			{"", " x y z", "exit status 1", ": no memory for an exception\n"},
		} {
			if out, err := exec.Command("/bin/sh", "-c", x.limit+"exec "+file+x.args).CombinedOutput(); fmt.Sprint(err) != x.end || !strings.HasSuffix(string(out), x.text) {
				t.Errorf("%q, arguments %q: %v: %s", x.limit, x.args, err, out)
			}
		}
	}
}

// TestExceptionPrograms: real programs with exceptions, of both proposals.
func TestExceptionPrograms(t *testing.T) {
	dir := testenv.Material(t, testenv.EnvWasm3)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		for _, name := range []string{"ehbig-new", "ehbig-legacy", "sj-new", "sj-legacy"} {
			module, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(dir, name+".expected"))
			if err != nil {
				t.Fatal(err)
			}
			if got := run(t, m, "", build(t, target, module, new(program.Options))); got.stdout != string(want) || got.status != 0 {
				t.Errorf("%s on %s: %+v", name, target, got)
			}
		}
	}
}
