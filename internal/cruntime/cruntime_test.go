package cruntime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/cheader"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/wat"
)

// toolchain is a way to build and run a program.
type toolchain struct {
	name     string
	target   string
	compiler []string // with what is always needed
	language []string
	flags    []string
	run      []string
	level    int // 0: at the usual level, too; 1: at the full level only
}

var (
	c11   = []string{"-std=gnu11"}
	cpp17 = []string{"-xc++", "-std=gnu++17"}
)

// toolchains: C and C++, both compilers, both linkers, all kinds of program, both machines.
var toolchains = []toolchain{
	{"gcc", compile.TargetX64, []string{"gcc"}, c11, []string{"-O1"}, nil, 0},
	{"gcc -O2 -flto", compile.TargetX64, []string{"gcc"}, c11, []string{"-O2", "-flto"}, nil, 1},
	{"gcc no-pie", compile.TargetX64, []string{"gcc"}, c11, []string{"-O2", "-no-pie", "-fno-pie"}, nil, 1},
	{"gcc static", compile.TargetX64, []string{"gcc"}, c11, []string{"-O2", "-static"}, nil, 1},
	{"gcc static-pie -O3", compile.TargetX64, []string{"gcc"}, c11, []string{"-O3", "-static-pie", "-fPIE"}, nil, 1},
	{"g++", compile.TargetX64, []string{"g++"}, cpp17, []string{"-O2"}, nil, 1},
	{"clang C++ lld", compile.TargetX64, []string{"clang-19", "-Qunused-arguments"}, cpp17, []string{"-O0", "-fuse-ld=lld-19", "-static"}, nil, 0},
	{"clang -O2", compile.TargetX64, []string{"clang-19", "-Qunused-arguments"}, c11, []string{"-O2"}, nil, 1},
	{"clang lld -flto", compile.TargetX64, []string{"clang-19", "-Qunused-arguments"}, c11, []string{"-O2", "-flto", "-fuse-ld=lld-19"}, nil, 1},
	{"clang lld -flto static", compile.TargetX64, []string{"clang-19", "-Qunused-arguments"}, c11, []string{"-O2", "-flto", "-static", "-fuse-ld=lld-19"}, nil, 1},
	{"aarch64 gcc", compile.TargetA64, []string{"aarch64-linux-gnu-gcc"}, c11, []string{"-O2", "-static"}, []string{"qemu-aarch64"}, 1},
	{"aarch64 gcc PIE", compile.TargetA64, []string{"aarch64-linux-gnu-gcc"}, c11, []string{"-O1", "-mbranch-protection=standard"},
		[]string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}, 1},
}

var warnings = []string{"-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"}

func (c *toolchain) missing() string {
	tools := []string{c.compiler[0]}
	if c.run != nil {
		tools = append(tools, c.run[0])
	}
	if slices.Contains(c.flags, "-fuse-ld=lld-19") {
		tools = append(tools, "ld.lld-19")
	}
	for _, t := range tools {
		if _, err := exec.LookPath(t); err != nil {
			return t
		}
	}
	return ""
}

func tool(t testing.TB, dir string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // for a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%.2000s", strings.Join(args, " "), err, out)
	}
}

func write(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// addModule compiles testdata/name.wat into dir, as an object with a header.
func addModule(t *testing.T, dir, name string, o compile.Options) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".wat")
	if err != nil {
		t.Fatal(err)
	}
	m, err := wat.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	addWasm(t, dir, name, o, m.Wasm)
}

func addText(t *testing.T, dir, name, target string, text []byte) {
	t.Helper()
	m, err := wat.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	addWasm(t, dir, name, compile.Options{Target: target}, m.Wasm)
}

// addWasm compiles a module with options that lack the name and the level.
func addWasm(t testing.TB, dir, name string, o compile.Options, wasm []byte) {
	t.Helper()
	o.Name, o.OptLevel = name, opt.Level(1)
	r, err := compile.Module(wasm, o)
	if err != nil {
		t.Fatal(err)
	}
	object, err := r.ELF(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	header, err := cheader.Generate(r.Meta, name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, name+".o", object)
	write(t, dir, name+".h", header)
}

// build builds testdata/source, which includes the headers of the modules, and returns the program's file.
func (c *toolchain) build(t *testing.T, source string, modules ...string) string {
	t.Helper()
	return c.buildWith(t, compile.Options{}, source, modules...)
}

// buildWith is build with options for the modules.
func (c *toolchain) buildWith(t *testing.T, o compile.Options, source string, modules ...string) string {
	t.Helper()
	o.Target = c.target
	if tool := c.missing(); tool != "" {
		testenv.Missing(t, "no "+tool)
	}
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/" + source)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "program.c", text)
	objects := []string{"program.o", "waot_runtime.o"}
	for _, m := range modules {
		addModule(t, dir, m, o)
		objects = append(objects, m+".o")
	}
	slower := "-DSLOWER=100"
	if c.run != nil {
		slower = "-DSLOWER=1000"
	}
	compiler := slices.Concat(c.compiler, c.language, warnings, c.flags)
	tool(t, dir, slices.Concat(compiler, []string{slower, "-c", "program.c", "-o", "program.o"})...)
	compileRuntime(t, dir, compiler)
	tool(t, dir, slices.Concat(c.compiler, c.flags, objects, []string{"-o", "program", "-pthread"})...)
	return filepath.Join(dir, "program")
}

// runtimes are the objects of the runtime that tests have compiled, by compiler and flags: it takes a second.
var runtimes struct {
	sync.Mutex
	objects map[string][]byte
}

// compileRuntime makes waot_runtime.o in dir with a compiler and its flags.
func compileRuntime(t *testing.T, dir string, compiler []string) {
	t.Helper()
	runtimes.Lock()
	defer runtimes.Unlock()
	key, file := strings.Join(compiler, " "), filepath.Join(dir, "waot_runtime.o")
	if object := runtimes.objects[key]; object != nil {
		write(t, dir, "waot_runtime.o", object)
		return
	}
	tool(t, dir, append(slices.Clone(compiler), "-c", "waot_runtime.c", "-o", file)...)
	object, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtimes.objects == nil {
		runtimes.objects = map[string][]byte{}
	}
	runtimes.objects[key] = object
}

// exec runs a program and returns what it prints, and how it ends.
func (c *toolchain) exec(t *testing.T, program string, args ...string) (stdout, stderr, end string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // for a busy machine
	defer cancel()
	command := slices.Concat(c.run, []string{program}, args)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	end = ending(cmd.Run())
	return out.String(), errors.String(), end
}

// ending says how a program ended.
func ending(err error) string {
	var e *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case errors.As(err, &e):
		return strings.TrimSuffix(e.Error(), " (core dumped)")
	}
	return err.Error()
}

// TestPrograms runs one program in many builds: traps of each kind, nested calls, growth, further instances, two
// modules, signals that are not the runtime's.
func TestPrograms(t *testing.T) {
	for _, c := range toolchains {
		t.Run(c.name, func(t *testing.T) {
			if c.level > 0 {
				testenv.OnlyFull(t, "one of many builds")
			}
			program := c.build(t, "program.c", "lib", "user")
			for _, what := range []string{"", "late", "errors", "deleted"} {
				if c.run != nil && (what == "errors" || what == "deleted") {
					continue // limits and the program's name are the emulator's
				}
				if out, errs, end := c.exec(t, program, strings.Fields(what)...); out != "ok\n" || end != "exit status 0" {
					t.Errorf("%q: %s: %s%s", what, end, out, errs)
				}
			}
		})
	}
}

// TestEnds: what nobody tries ends the process, as a program of its own would end.
func TestEnds(t *testing.T) {
	c := &toolchains[0]
	program := c.build(t, "program.c", "lib", "user")
	for _, x := range []struct{ what, end, stdout, stderr string }{
		{"trap", "signal: aborted", "", `^waot: offset 0x[0-9a-f]+: function \d+ \(load\): wasm trap: out of bounds memory access\n$`},
		{"overflow", "signal: aborted", "", `^waot: (offset 0x[0-9a-f]+: )?function \d+ \(rec\): wasm trap: call stack exhausted\n$`},
		{"fault", "signal: segmentation fault", "", ""},
		{"exit", "exit status 42", "", ""},
		{"print", "exit status 0", `^offset 0x[0-9a-f]+: function \d+ \(load\): wasm trap: out of bounds memory access\n   0: function \d+ \(load\) at offset 0x[0-9a-f]+\n   1: function \d+ \(outer\) at offset 0x[0-9a-f]+\n$`, ""},
	} {
		out, errs, end := c.exec(t, program, x.what)
		if end != x.end || !regexp.MustCompile(x.stdout).MatchString(out) || !regexp.MustCompile(x.stderr).MatchString(errs) || x.stderr == "" && errs != "" {
			t.Errorf("%s: %s, %q, %q", x.what, end, out, errs)
		}
	}
}

// TestThreads: threads with an instance each, which trap all the time; and threads whose instances are made of spare ones of each other.
func TestThreads(t *testing.T) {
	sanitized := toolchain{"gcc -fsanitize=thread", compile.TargetX64, []string{"gcc"}, c11, []string{"-O1", "-fsanitize=thread"}, []string{"setarch", "-R"}, 1}
	for _, c := range append(slices.Clone(toolchains), sanitized) {
		if c.name != "gcc" && c.name != "aarch64 gcc" && c.name != sanitized.name {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if c.level > 0 {
				testenv.OnlyFull(t, "another machine, and a sanitizer")
			}
			for _, p := range []struct{ source, module string }{{"threads.c", "lib"}, {"spares.c", "state"}} {
				if out, errs, end := c.exec(t, c.build(t, p.source, p.module)); out != "ok\n" || end != "exit status 0" {
					t.Errorf("%s: %s: %s%s", p.source, end, out, errs)
				}
			}
		})
	}
}

// TestMemories: an object with two memories, on each machine.
func TestMemories(t *testing.T) {
	for _, c := range toolchains {
		if c.level > 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if out, errs, end := c.exec(t, c.build(t, "memories.c", "memories")); out != "ok\n" || end != "exit status 0" {
				t.Errorf("%s: %s%s", end, out, errs)
			}
		})
	}
}

// odd is a module whose names are difficult in C.
const odd = `(module
  (import "a-b" "c" (func $c))
  (import "a_b" "c" (func $d (param v128) (result f32)))
  (import "./x.js" "9" (memory 1))
  (func (export "int") (result i32) (i32.const 1))
  (func (export "int_") (result i32) (i32.const 2))
  (func (export "x-y") (result i32) (i32.const 3))
  (func (export "x_y") (result i32) (i32.const 4))
  (func (export "instantiate") (result i32) (i32.const 5))
  (func (export "new") (result i32) (i32.const 6))
  (func (export "_start") (result i32) (i32.const 7))
  (func (export "*/ int x;\n") (result i32) (i32.const 8))
  (func (export "") (result i32) (i32.const 9))
  (func (export "9") (result i32) (i32.const 10))
  (func (export "errno") (result i32) (i32.const 11))
  (func (export "instance") (result i32) (i32.const 12))
  (func (export "Zebra") (result i32) (i32.const 13))
  (func (export "caf\c3\a9") (result i32) (i32.const 14))
  (func (export "__asm__") (export "_Bool") (export "int32_t") (export "INT32_MAX"))
  (func (export "v") (param v128 funcref externref i64 f32 f64) (result v128) (local.get 0))
)`

const oddProgram = `#include <errno.h>
#include "odd-module.h"
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif
void aZ2db_c(void) {}
float a_b_c(waot_v128 v) { return (float)v[0]; }
#ifdef __cplusplus
}
#endif
int main(void)
{
	struct odd_module_exports x;
	struct odd_module_imports in = {(uint8_t *)waot_memory_new(1, 1)};
	waot_v128 v = {1, 2};
	waot_trap trap;
	if (odd_module_instantiate(&in, &trap) || odd_module_new(&x, &in, &trap))
		return 1;
	printf("%d %d %d %d ", odd_module_int(), odd_module_int_(), odd_module_xZ2dy(), odd_module_x_y());
	printf("%d %d %d %d ", odd_module_export_instantiate(), odd_module_export_new(), odd_module__start(), odd_module____int_x__());
	printf("%d %d %d ", odd_module_(), odd_module_9(), odd_module_errno());
	printf("%d %d %d\n", odd_module_export_instance(), odd_module_Zebra(), odd_module_caf__());
	printf("%d %d %d %d ", x.int_(), x.int__(), x.m9(), x.errno_());
	printf("%d %lld\n", x.Zebra(), x.v(v, 0, 0, 1, 2, 3)[1]);
	return 0;
}
`

// TestNames: names that are no identifiers, that clash, or are keywords, in C and C++.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	addText(t, dir, "odd-module", compile.TargetX64, []byte(odd))
	header, err := os.ReadFile(filepath.Join(dir, "odd-module.h"))
	if err != nil {
		t.Fatal(err)
	}
	imports := ""
	for _, line := range strings.Split(string(header), "\n") {
		if strings.Contains(line, "a_b") || strings.Contains(line, "aZ2db") {
			imports += line + "\n"
		}
	}
	if want := "void aZ2db_c(void) __asm__(\"aZ2db..c\");\nfloat a_b_c(waot_v128) __asm__(\"a_b..c\");\n"; imports != want {
		t.Errorf("imports\n%swant\n%s", imports, want)
	}
	write(t, dir, "program.c", []byte(oddProgram))
	for _, compiler := range [][]string{append([]string{"gcc"}, c11...), append([]string{"clang-19", "-Qunused-arguments"}, cpp17...)} {
		if _, err := exec.LookPath(compiler[0]); err != nil {
			testenv.Missing(t, "no "+compiler[0])
		}
		command := slices.Concat(compiler, warnings, []string{"-O1"})
		tool(t, dir, slices.Concat(command, []string{"-c", "program.c", "-o", "program.o"})...)
		compileRuntime(t, dir, command)
		tool(t, dir, compiler[0], "program.o", "waot_runtime.o", "odd-module.o", "-o", "program")
		out, errs, end := (&toolchain{}).exec(t, filepath.Join(dir, "program"))
		if want := "1 2 3 4 5 6 7 8 9 10 11 12 13 14\n1 2 10 11 13 2\n"; out != want {
			t.Errorf("%s: %s, %q %s, want %q", compiler[0], end, out, errs, want)
		}
	}
}

// taken is a module whose imports are called like functions of the C library.
const taken = `(module
  (import "on" "exit" (func $exit (param i32 i32) (result i32)))
  (import "sched" "yield" (func $yield (result i32)))
  (func (export "try") (result i32) (i32.add (call $exit (i32.const 1) (i32.const 2)) (call $yield))))`

// TestLibraryNames: no function of a library satisfies an import, whatever the import is called, and one that the program
// defines replaces none of a library.
func TestLibraryNames(t *testing.T) {
	const caller = "#include \"taken.h\"\n%s\nint main(void) { waot_trap t; return taken_instantiate(&t) ? 99 : taken_try()%s; }\n"
	const functions = "int32_t on_exit(int32_t a, int32_t b) { return a + b; }\nint32_t sched_yield(void) { return 4; }\nint other(void);"
	const other = "#include <sched.h>\nint other(void);\nint other(void) { return sched_yield(); }\n"
	for _, c := range toolchains {
		t.Run(c.name, func(t *testing.T) {
			if c.level > 0 {
				testenv.OnlyFull(t, "one of many builds")
			}
			if tool := c.missing(); tool != "" {
				testenv.Missing(t, "no "+tool)
			}
			dir := t.TempDir()
			if err := cruntime.Write(dir); err != nil {
				t.Fatal(err)
			}
			addText(t, dir, "taken", c.target, []byte(taken))
			compiler := slices.Concat(c.compiler, c.language, warnings, c.flags)
			compileC := func(name string) {
				tool(t, dir, slices.Concat(compiler, []string{"-c", name + ".c", "-o", name + ".o"})...)
			}
			compileRuntime(t, dir, compiler)
			link := slices.Concat(c.compiler, c.flags, []string{"program.o", "waot_runtime.o", "taken.o", "-o", "program"})
			write(t, dir, "program.c", fmt.Appendf(nil, caller, "", ""))
			compileC("program")
			cmd := exec.Command(link[0], link[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("on..exit")) || !bytes.Contains(out, []byte("sched..yield")) {
				t.Errorf("without the functions: %v: %s", err, out)
			}
			write(t, dir, "program.c", fmt.Appendf(nil, caller, functions, " + other()"))
			write(t, dir, "other.c", []byte(other))
			compileC("program")
			compileC("other")
			tool(t, dir, append(link, "other.o")...)
			if out, errs, end := c.exec(t, filepath.Join(dir, "program")); end != "exit status 7" {
				t.Errorf("%s: %s%s", end, out, errs)
			}
		})
	}
}

// TestFiles: Write writes both files, and says why it cannot.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{cruntime.HeaderFile: cruntime.Header(), cruntime.SourceFile: cruntime.Source()} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) || len(got) < 1000 {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
	}
	if err := cruntime.Write(filepath.Join(dir, "none")); err == nil {
		t.Error("wrote into a folder that does not exist")
	}
}
