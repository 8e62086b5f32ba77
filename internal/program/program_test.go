//go:build linux

package program_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/wat"
)

// wasm assembles a module.
func wasm(t testing.TB, text string) []byte {
	t.Helper()
	b, err := wat.Assemble([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b.Wasm
}

// showModule prints its arguments and variables, a line each, and exits with the number of its directories.
const showModule = `(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $env_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $env (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 40)
  ;; show prints n bytes at 1 MiB, of which zeroes end lines
  (func $show (param $n i32) (local $i i32)
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
      (if (i32.eqz (i32.load8_u offset=1048576 (local.get $i))) (then (i32.store8 offset=1048576 (local.get $i) (i32.const 10))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (i32.store (i32.const 0) (i32.const 1048576))
    (i32.store (i32.const 4) (local.get $n))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start") (local $fd i32)
    (drop (call $args_sizes (i32.const 0) (i32.const 16)))
    (drop (call $args (i32.const 1024) (i32.const 1048576)))
    (call $show (i32.load (i32.const 16)))
    (drop (call $env_sizes (i32.const 0) (i32.const 16)))
    (drop (call $env (i32.const 1024) (i32.const 1048576)))
    (call $show (i32.load (i32.const 16)))
    (local.set $fd (i32.const 3))
    (block $done (loop $next
      (br_if $done (call $prestat (local.get $fd) (i32.const 0)))
      (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
      (br $next)))
    (call $exit (i32.sub (local.get $fd) (i32.const 3)))))`

// TestGrants checks what programs get that were granted different things.
func TestGrants(t *testing.T) {
	for _, target := range compile.Targets() {
		t.Run(target, func(t *testing.T) {
			m := machine(t, target)
			dir := t.TempDir()
			module := wasm(t, showModule)
			for _, c := range []struct {
				name    string
				grants  program.Grants
				args    []string
				outside []string // variables of whoever starts the program
				want    string   // what it prints, without argv[0]
				status  int
			}{
				{"nothing", program.Grants{}, []string{"--waot-env=A=1", "b"}, []string{"X=1"}, "--waot-env=A=1\nb\n", 0},
				{"variables", program.Grants{Env: []string{"A=1", "B="}}, nil, []string{"A=2", "X=1"}, "A=1\nB=\n", 0},
				{"inherited", program.Grants{Env: []string{"A=1"}, InheritEnv: true}, nil, []string{"A=2", "AB=3", "X=1"}, "A=1\nAB=3\nX=1\n", 0},
				{"directories", program.Grants{Dirs: []program.Dir{{Host: dir, Guest: "/"}, {Host: dir, Guest: "/tmp", ReadOnly: true}}}, []string{"x"}, nil, "x\n", 2},
				{"more", program.Grants{Env: []string{"A=1", "B=2"}, AtRunTime: true}, []string{"--waot-env=A=3", "--waot-dir=" + dir, "--waot-dir=" + dir + "::/x:ro", "--", "--waot-env=C=4"},
					nil, "--\n--waot-env=C=4\nA=3\nB=2\n", 2},
			} {
				o := program.Options{Grants: c.grants}
				file := build(t, target, module, &o)
				got := runWith(t, m, c.outside, "", file, c.args...)
				want := result{stdout: file + "\n" + c.want, status: c.status}
				lines := strings.SplitAfter(got.stdout, "\n") // variables come in any order: emulators change it
				slices.Sort(lines[1:])
				got.stdout = strings.Join(lines, "")
				if got != want {
					t.Errorf("%s: %+v, want %+v", c.name, got, want)
				}
			}
			open := program.Options{Grants: program.Grants{AtRunTime: true}}
			file := build(t, target, module, &open)
			for _, arg := range []string{"--waot-", "--waot-x=1", "--waot-env=", "--waot-env==1", "--waot-env=A", "--waot-dir=", "--waot-dir=::/x", "--waot-dir=x::"} {
				if got := run(t, m, "", file, arg); got.status != 2 || !strings.HasPrefix(got.stderr, file+": "+strings.SplitN(arg, "::", 2)[0]) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
					t.Errorf("%s: %+v", arg, got)
				}
			}
			missing := program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: filepath.Join(dir, "missing"), Guest: "/"}}}}
			if got := run(t, m, "", build(t, target, module, &missing)); got.status != 1 || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
				t.Errorf("a missing directory: %+v", got)
			}
		})
	}
}

// TestEnds checks how programs end that do not return.
func TestEnds(t *testing.T) {
	for _, target := range compile.Targets() {
		t.Run(target, func(t *testing.T) {
			m := machine(t, target)
			for _, c := range []struct{ name, body, stderr string }{
				{"unreachable", `(func $f unreachable) (func (export "_start") call $f)`,
					`: offset 0x[0-9a-f]+: function 0 \(f\): wasm trap: unreachable\n   0: function 0 \(f\) at offset 0x[0-9a-f]+\n   1: function 1 \(_start\) at offset 0x[0-9a-f]+\n$`},
				{"memory", `(memory 1) (func (export "_start") (drop (i32.load (i32.const -4))))`, `: wasm trap: out of bounds memory access\n`},
				{"divide", `(memory 1) (func (export "_start") (drop (i32.div_s (i32.const 1) (i32.load (i32.const 0)))))`, `: wasm trap: integer divide by zero\n`},
				{"recursion", `(global $n (mut i64) (i64.const 0)) (func $f (param i64) (result i64) (i64.add (call $f (i64.add (local.get 0) (i64.const 1))) (local.get 0)))
					(func (export "_start") (drop (call $f (i64.const 1))))`, `: wasm trap: call stack exhausted\n`},
				{"start function", `(func $f unreachable) (start $f) (func (export "_start"))`, `: wasm trap: unreachable\n`},
				{"data", `(memory 1) (global $g i32 (i32.const 65535)) (data (global.get $g) "ab") (func (export "_start"))`, `: wasm trap: out of bounds memory access\n`},
			} {
				got := run(t, m, "", build(t, target, wasm(t, "(module "+c.body+")"), new(program.Options)))
				if got.status != 134 || !regexp.MustCompile(c.stderr).MatchString(got.stderr) || got.stdout != "" {
					t.Errorf("%s: %+v", c.name, got)
				}
			}
		})
	}
}

// TestBlocked checks that a trap is reported also if the program was started with all signals blocked.
func TestBlocked(t *testing.T) {
	file := build(t, compile.HostTarget(), wasm(t, `(module (memory 1) (func (export "_start") (drop (i32.load (i32.const -4)))))`), new(program.Options))
	out, err := exec.Command("env", "--block-signal", file).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 134 || !strings.Contains(string(out), "out of bounds memory access") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestExitStatus checks that a status is what waot run makes of it: its low byte, but 1 for what would then be 0.
func TestExitStatus(t *testing.T) {
	for status, want := range map[int]int{0: 0, 3: 3, 300: 44, -1: 255, 256: 1, 1 << 31: 1} {
		module := wasm(t, fmt.Sprintf(`(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (func (export "_start") (call $exit (i32.const %d))))`, status))
		for _, target := range compile.Targets() {
			m := machine(t, target)
			if got := run(t, m, "", build(t, target, module, new(program.Options))); got.status != want {
				t.Errorf("%s: %d: %+v", target, status, got)
			}
		}
	}
}

// TestInitialize checks that a program which has the function of libraries, too, calls it first, as waot run does.
func TestInitialize(t *testing.T) {
	module := wasm(t, `(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32))) (memory (export "memory") 1)
	  (func (export "_initialize") (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 9))))
	  (func (export "_start") (call $exit (i32.load (i32.const 0)))))`)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		if got := run(t, m, "", build(t, target, module, new(program.Options))); got.status != 9 {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

// TestMemoryOfWASI: WASI reads and writes the memory that is exported as "memory", whichever that is.
func TestMemoryOfWASI(t *testing.T) {
	module := wasm(t, `(module (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	  (memory $first 1) (memory $main (export "memory") 2) (memory $last (export "last") 1)
	  (data (memory $first) (i32.const 0) "another memory, and no vector") (data (memory $main) (i32.const 0) "\70\11\01\00\06\00\00\00") (data (memory $main) (i32.const 70000) "hello\n")
	  (func (export "_start")
	    (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 100)) (then unreachable))
	    (if (i32.ne (i32.load $main (i32.const 100)) (i32.const 6)) (then unreachable))
	    (if (i32.or (i32.load $first (i32.const 100)) (i32.load $last (i32.const 100))) (then unreachable))))`)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		if got := run(t, m, "", build(t, target, module, new(program.Options))); got != (result{"hello\n", "", 0}) {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

// TestRefused checks modules that cannot be executables.
func TestRefused(t *testing.T) {
	const wasi = "an executable has only the functions of wasi_snapshot_preview1, and not the import "
	for _, c := range []struct{ text, want string }{
		{`(func (export "main"))`, "no exported function _start: only a program can be an executable; write an object (-o NAME.o) of a library"},
		{`(memory (export "_start") 1)`, "no exported function _start: only a program can be an executable; write an object (-o NAME.o) of a library"},
		{`(func (export "_start") (result i32) (i32.const 0))`, "_start must take and return nothing: parameters: 0, results: 1"},
		{`(func (export "_start")) (func (export "_initialize") (param i32))`, "_initialize must take and return nothing: parameters: 1, results: 0"},
		{`(import "env" "f" (func)) (import "wasi_snapshot_preview1" "fd_close" (func (param i64) (result i32))) (import "env" "m" (memory 1)) (func (export "_start"))`,
			wasi + "env.f (function), wasi_snapshot_preview1.fd_close (function of another type), env.m (memory)"},
		{`(import "wasi_snapshot_preview1" "fd_chown" (func)) (import "env" "t" (table 1 funcref)) (import "env" "g" (global i32)) (func (export "_start"))`,
			wasi + "wasi_snapshot_preview1.fd_chown (function), env.t (table), env.g (global)"},
	} {
		_, err := link(compile.TargetX64, wasm(t, "(module "+c.text+")"), new(program.Options))
		var refused *program.Error
		if !errors.As(err, &refused) || err.Error() != c.want {
			t.Errorf("%s: %v; want %s", c.text, err, c.want)
		}
	}
	if _, err := link(compile.TargetX64, wasm(t, `(module (func (export "_start")))`), &program.Options{Prefix: "another"}); err == nil || !strings.Contains(err.Error(), "nothing defines another.object") {
		t.Errorf("another prefix: %v", err)
	}
}

// TestFile checks what tools see of an executable.
func TestFile(t *testing.T) {
	for _, target := range compile.Targets() {
		sizes := map[bool]int{}
		for _, stripped := range []bool{false, true} {
			b, err := link(target, wasm(t, showModule), &program.Options{Stripped: stripped})
			if err != nil {
				t.Fatal(err)
			}
			again, err := link(target, wasm(t, showModule), &program.Options{Stripped: stripped})
			if err != nil || !bytes.Equal(b, again) {
				t.Errorf("%s: two builds differ: %v", target, err)
			}
			sizes[stripped] = len(b)
			f, err := elf.NewFile(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[elf.ProgType]int{}
			for _, p := range f.Progs {
				kinds[p.Type]++
				if p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
					t.Errorf("%s: a segment can be written and executed", target)
				}
			}
			if f.Type != elf.ET_DYN || kinds[elf.PT_INTERP] != 0 || kinds[elf.PT_GNU_STACK] != 1 || kinds[elf.PT_GNU_RELRO] != 1 || kinds[elf.PT_GNU_PROPERTY] != 1 {
				t.Errorf("%s: %v with %v", target, f.Type, kinds)
			}
			symbols, err := f.Symbols()
			found := 0
			for _, s := range symbols {
				if s.Name == "fn8._start" || s.Name == "fn7.show" || s.Name == "_start" {
					found++
				}
				if s.Name == "wasi_snapshot_preview1..path_open" {
					t.Errorf("%s: there is %s, which nothing calls", target, s.Name)
				}
			}
			if stripped != errors.Is(err, elf.ErrNoSymbols) || !stripped && found != 3 {
				t.Errorf("%s: symbols: %v, %d found", target, err, found)
			}
		}
		if sizes[false] > 64<<10 || sizes[true] >= sizes[false] {
			t.Errorf("%s: %d bytes, %d without symbols", target, sizes[false], sizes[true])
		}
	}
}

// TestSegments reads /proc/self/maps of a running program: nothing is writable and executable, and what was relocated is read-only.
func TestSegments(t *testing.T) {
	m := machine(t, compile.HostTarget())
	file := build(t, compile.HostTarget(), wasm(t, `(module
	  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
	  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
	  (memory (export "memory") 1)
	  (func (export "_start")
	    ;; a subscription to standard input's being readable: it ends when the test closes it
	    (i32.store8 (i32.const 8) (i32.const 1))
	    (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))))`), new(program.Options))
	cmd := m.Command(t.Context(), file)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for range 1000 { // until it has relocated itself
		maps, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "maps"))
		if err != nil {
			t.Fatal(err)
		}
		own = own[:0]
		for _, line := range strings.Split(string(maps), "\n") {
			if f := strings.Fields(line); len(f) > 1 && strings.Contains(f[1], "wx") {
				t.Errorf("writable and executable: %s", line)
			} else if strings.HasSuffix(line, file) {
				own = append(own, f[1])
			}
		}
		if strings.Join(own, " ") == "r--p r-xp r--p rw-p" {
			break
		}
	}
	if got := strings.Join(own, " "); got != "r--p r-xp r--p rw-p" {
		t.Errorf("segments %s", got)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLimits checks that the limit for files is an error of each call that would exceed it, also of the last that does not exceed it
// wholly, and ends no program.
func TestLimits(t *testing.T) {
	module := wasm(t, `(module
	  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
	  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	  (import "wasi_snapshot_preview1" "fd_pwrite" (func $pwrite (param i32 i32 i32 i64 i32) (result i32)))
	  (import "wasi_snapshot_preview1" "fd_allocate" (func $allocate (param i32 i64 i64) (result i32)))
	  (import "wasi_snapshot_preview1" "fd_filestat_set_size" (func $set_size (param i32 i64) (result i32)))
	  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	  (memory (export "memory") 1)
	  (data (i32.const 0) "\40\00\00\00\00\80\00\00file")
	  (func $want (param $want i32) (param $got i32) (param $status i32)
	    (if (i32.ne (local.get $want) (local.get $got)) (then (call $exit (local.get $status)))))
	  (func (export "_start") (local $fd i32)
	    (call $want (i32.const 0) (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 4) (i32.const 1) (i64.const 0x400140) (i64.const 0) (i32.const 0) (i32.const 16)) (i32.const 1))
	    (local.set $fd (i32.load (i32.const 16)))
	    (call $want (i32.const 22) (call $pwrite (local.get $fd) (i32.const 0) (i32.const 1) (i64.const 1048576) (i32.const 20)) (i32.const 2))
	    (call $want (i32.const 22) (call $set_size (local.get $fd) (i64.const 1048576)) (i32.const 3))
	    (call $want (i32.const 22) (call $allocate (local.get $fd) (i64.const 0) (i64.const 1048576)) (i32.const 4))
	    (call $want (i32.const 0) (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 20)) (i32.const 5))
	    (call $want (i32.const 22) (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 24)) (i32.const 6))))`)
	for _, target := range compile.Targets() {
		m, o := machine(t, target), program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: t.TempDir(), Guest: "/"}}}}
		file := build(t, target, module, &o)
		cmd := m.Command(t.Context(), file)
		cmd = exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -f 8 && exec "$@"`, "sh"}, cmd.Args...)...)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestFewFiles checks that the limit for open files has its own words.
func TestFewFiles(t *testing.T) {
	file := build(t, compile.HostTarget(), wasm(t, `(module (func (export "_start")))`), new(program.Options))
	out, err := exec.Command("sh", "-c", `ulimit -n 4 && exec "$0"`, file).CombinedOutput()
	if string(out) != file+": too many open files\n" || err == nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestGofmt formats a file of Go's library with gofmt as an executable on each machine, and with gofmt itself.
func TestGofmt(t *testing.T) {
	testenv.OnlyFull(t, "gofmt as an executable")
	source := filepath.Join(runtime.GOROOT(), "src", "go", "printer", "nodes.go")
	text, err := os.ReadFile(source)
	if err != nil {
		testenv.Missing(t, "no sources of Go: "+err.Error())
	}
	messy := bytes.ReplaceAll(text, []byte("\n\t"), []byte("\n  "))
	gofmt := exec.Command("gofmt")
	gofmt.Stdin = bytes.NewReader(messy)
	want, err := gofmt.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gofmt.wasm")
	cmd := exec.Command("go", "build", "-o", file, "cmd/gofmt")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range compile.Targets() {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "messy.go"), messy, 0o666); err != nil {
			t.Fatal(err)
		}
		m, o := machine(t, target), program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: dir, Guest: "/"}}}}
		program := build(t, target, module, &o)
		if got := run(t, m, string(messy), program); got.stdout != string(want) || got.status != 0 {
			t.Errorf("%s: status %d, %d bytes, want %d; %s", target, got.status, len(got.stdout), len(want), got.stderr)
		}
		if got := run(t, m, "", program, "-w", "messy.go"); got != (result{}) {
			t.Errorf("%s: -w: %+v", target, got)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "messy.go")); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: the file was not rewritten: %v", target, err)
		}
	}
}
