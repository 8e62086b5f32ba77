//go:build linux

package program_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
)

// named returns a module whose functions have names.
func named(module []byte, names ...string) []byte {
	uleb := func(n int) string {
		var b []byte
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		return string(append(b, byte(n)))
	}
	list := uleb(len(names))
	for i, n := range names {
		list += uleb(i) + uleb(len(n)) + n
	}
	section := "\x04name\x01" + uleb(len(list)) + list
	return append(module, "\x00"+uleb(len(section))+section...)
}

// TestHostileNames checks all bytes of a report of functions whose names would steer the terminal, break the line or fill it.
func TestHostileNames(t *testing.T) {
	module := wasm(t, `(module (memory 1) (func unreachable) (func (call 0) (call 0)) (func (export "_start") (call 1) (call 1)))`)
	long := strings.Repeat("long", 1000)
	for _, c := range [][2]string{
		{"plain", "plain"}, {"é\u00a0ü€😀", "é\u00a0ü€😀"}, {`back\slash`, `back\slash`}, {"a\x1b[2Jb\nc\x7f", `a\x1b[2Jb\x0ac\x7f`},
		{"\u009b31m\u202ered\ufeff\u200b\U000e0041", `\u{9b}31m\u{202e}red\u{feff}\u{200b}\u{e0041}`}, {long, long}, {strings.Repeat("\u202e", 300), strings.Repeat(`\u{202e}`, 300)},
	} {
		for _, target := range compile.Targets() {
			m := machine(t, target)
			b, err := linkAs(compile.Options{Target: target, Name: "prog", OptLevel: opt.Level(0)}, named(module, c[0], c[0]), new(program.Options))
			if err != nil {
				t.Fatal(err)
			}
			file := write(t, b)
			got := run(t, m, "", file)
			var first, second, third int
			want := "%s: offset 0x%x: function 0 (%s): wasm trap: unreachable\n   0: function 0 (%s) at offset 0x%x\n   1: function 1 (%s) at offset 0x%x\n   2: function 2 (_start) at offset 0x%x\n"
			for i, line := range strings.Split(got.stderr, "\n") {
				if at := strings.LastIndex(line, " at offset 0x"); at >= 0 && i > 0 && i < 4 {
					fmt.Sscanf(line[at:], " at offset 0x%x", []*int{&first, &second, &third}[i-1])
				}
			}
			if want = fmt.Sprintf(want, file, first, c[1], c[1], first, c[1], second, third); got.stderr != want || first == 0 || second == 0 || third == 0 {
				t.Errorf("%s: %.200q: %.300q, want %.300q", target, c[0], got.stderr, want)
			}
		}
	}
}

// TestDirectories checks what is said of directories that a program cannot be given.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	module := wasm(t, `(module (func (export "_start")))`)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		granted := build(t, target, module, &program.Options{Grants: program.Grants{AtRunTime: true}})
		for _, c := range [][3]string{
			{dir + "/missing", dir + "/missing", "no such file or directory"}, {dir + "/file", dir + "/file", "not a directory"}, {dir + "/loop", dir + "/loop", "too many levels of symbolic links"},
			{"/proc/self", "/proc/self", "permission denied, or it has files of the kernel, not stored ones"}, {"/e\x9b\n", `/e\x9b\x0a`, "no such file or directory"},
			{"/" + strings.Repeat("x", 300), "/" + strings.Repeat("x", 300), "file name too long"},
		} {
			file := build(t, target, module, &program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: dir, Guest: "/"}, {Host: c[0], Guest: "/a"}}}})
			want := result{stderr: file + ": directory " + c[1] + ": " + c[2] + "\n", status: 1}
			if got := run(t, m, "", file); got != want {
				t.Errorf("%s: %+v, want %+v", target, got, want)
			}
			want.stderr = strings.Replace(want.stderr, file, granted, 1)
			if got := run(t, m, "", granted, "--waot-dir="+dir+"::/", "--waot-dir="+c[0]+"::/a"); got != want {
				t.Errorf("%s: %+v, want %+v", target, got, want)
			}
		}
	}
}

// limited runs a program that may have so many KiB of addresses.
func limited(t *testing.T, kib int, file string) (string, int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$0"`, kib), file)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// TestFewAddresses checks that programs with explicit bounds checks need few addresses, also if their memories and tables state no maximum, and that others say what would help.
func TestFewAddresses(t *testing.T) {
	module := wasm(t, `(module
	  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	  (memory (export "memory") 16) (memory $second 100) (table $t 10 funcref) (table $second_table 1000 externref)
	  (func $f (param i32) (result i32) (if (result i32) (local.get 0) (then (i32.add (i32.const 1) (call $f (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0))))
	  (func (export "_start")
	    ;; all can grow a little, a memory and the stack a lot
	    (if (i32.eq (table.grow $t (ref.null func) (i32.const 5)) (i32.const -1)) (then (call $exit (i32.const 1))))
	    (if (i32.eq (table.grow $second_table (ref.null extern) (i32.const 5)) (i32.const -1)) (then (call $exit (i32.const 2))))
	    (if (i32.eq (memory.grow $second (i32.const 1)) (i32.const -1)) (then (call $exit (i32.const 3))))
	    (if (i32.eq (memory.grow (i32.const 300)) (i32.const -1)) (then (call $exit (i32.const 4))))
	    (call $exit (i32.and (i32.const 64) (call $f (i32.const 50000))))))`)
	o := new(program.Options)
	b, err := linkAs(compile.Options{Target: compile.HostTarget(), Name: "prog", OptLevel: opt.O1, ExplicitBounds: true}, module, o)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, b)
	if out, status := limited(t, 96<<10, file); out != "" || status != 64 {
		t.Errorf("with 96 MiB: %d: %s", status, out)
	}
	const more = ": more addresses are needed (ulimit -v)"
	if out, status := limited(t, 12<<10, file); out != file+": no room for what a memory begins with"+more+"\n" || status != 1 {
		t.Errorf("with 12 MiB: %d: %s", status, out)
	}
	if out, status := limited(t, 4<<10, file); out != file+": no room for the stack"+more+", and --max-stack makes a program that needs less\n" || status != 1 {
		t.Errorf("with 4 MiB: %d: %s", status, out)
	}
	guarded := build(t, compile.HostTarget(), module, new(program.Options))
	if out, status := limited(t, 96<<10, guarded); out != guarded+": no room for a memory: 8 GiB of addresses are needed, and with --bounds=explicit less\n" || status != 1 {
		t.Errorf("8 GiB in 96 MiB: %d: %s", status, out)
	}
}

// TestMaxStack checks that a program has the stack that it is built with.
func TestMaxStack(t *testing.T) {
	module := wasm(t, `(module
	  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	  (global $n (mut i32) (i32.const 0)) (memory 1)
	  (func $f (param i32) (result i32) (if (result i32) (local.get 0) (then (i32.add (i32.const 1) (call $f (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0))))
	  (func (export "_start") (call $exit (i32.shr_u (call $f (i32.const 1000000)) (i32.const 16)))))`)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		for _, c := range []struct {
			stack  uint64
			status int
		}{{0, 134}, {64 << 10, 134}, {1<<20 + 1, 134}, {256 << 20, 15}} {
			b, err := linkAs(compile.Options{Target: target, Name: "prog", OptLevel: opt.Level(0)}, module, &program.Options{MaxStack: c.stack})
			if err != nil {
				t.Fatal(err)
			}
			if got := run(t, m, "", write(t, b)); got.status != c.status || (c.status == 134) != strings.Contains(got.stderr, "call stack exhausted") {
				t.Errorf("%s: %d bytes: %d: %.200s", target, c.stack, got.status, got.stderr)
			}
		}
	}
}
