//go:build linux

package cruntime_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasisuite"
)

// wasiTarget is a machine that tests of WASI run on.
type wasiTarget struct {
	name, prefix string   // of the compiler's target and the tools
	run          []string // in front of a program
	static       bool
}

func wasiTargets() []wasiTarget {
	return []wasiTarget{
		{name: compile.TargetX64},
		{name: compile.TargetA64, prefix: "aarch64-linux-gnu-", run: []string{"qemu-aarch64"}, static: true},
	}
}

// missing skips the test, or fails it in CI, if tools for the target are missing.
func (w *wasiTarget) missing(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" && w.prefix == "" {
		t.Skip("SKIPPED: gcc of this machine is not for x86-64")
	}
	for _, tool := range append([]string{w.prefix + "gcc"}, w.run...) {
		if _, err := exec.LookPath(tool); err != nil {
			testenv.Missing(t, err.Error())
		}
	}
}

// gcc runs the compiler, which must say nothing.
func (w *wasiTarget) gcc(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command(w.prefix+"gcc", args...).CombinedOutput(); err != nil || len(out) != 0 {
		t.Fatalf("%sgcc %v: %v\n%s", w.prefix, args, err, out)
	}
}

// sharedDir is a folder for what several tests need, and made what is there.
var (
	sharedDir string
	made      = map[string]bool{}
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cruntime")
	if err != nil {
		panic(err)
	}
	sharedDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// once makes a file for several tests, and gives its name.
func once(name string, build func(file string)) string {
	file := filepath.Join(sharedDir, name)
	if !made[name] {
		build(file)
		made[name] = true
	}
	return file
}

// runtimeFlags are for the compiler of the runtime and of test programs.
var runtimeFlags = []string{"-O1", "-Wall", "-Wextra", "-Werror", "-c", "-o"}

// wasiRuntime compiles the runtime, once for the same flags, and a test program, and gives their objects.
func (w *wasiTarget) wasiRuntime(t testing.TB, program string, more ...string) []string {
	t.Helper()
	source := once(cruntime.SourceFile, func(string) {
		if err := cruntime.Write(sharedDir); err != nil {
			t.Fatal(err)
		}
	})
	object := once(w.prefix+strings.Join(more, "")+".o", func(file string) {
		w.gcc(t, slices.Concat(more, runtimeFlags, []string{file, "-std=c11", "-ffreestanding", source})...)
	})
	for _, name := range []string{program, "options.h"} { // so that go test knows that the result depends on it
		if _, err := os.ReadFile(filepath.Join("testdata/wasi", name)); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(t.TempDir(), "program.o")
	w.gcc(t, slices.Concat(more, runtimeFlags, []string{own, "-I", sharedDir, "testdata/wasi/" + program})...)
	return []string{object, own}
}

// calls is the program testdata/wasi/calls.c.
func (w *wasiTarget) calls(t testing.TB) string {
	return once(w.prefix+"calls", func(file string) {
		if err := os.Rename(w.link(t, callsModule(), w.wasiRuntime(t, "calls.c")), file); err != nil {
			t.Fatal(err)
		}
	})
}

// link compiles a module to an object with the prefix prog, and links it.
func (w *wasiTarget) link(t testing.TB, wasm []byte, objects []string, more ...string) string {
	t.Helper()
	r, err := compile.Module(wasm, compile.Options{Target: w.name, Name: "prog", OptLevel: opt.O1})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteELF(&b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	obj, exe := filepath.Join(dir, "prog.o"), filepath.Join(dir, "prog")
	if err := os.WriteFile(obj, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"-o", exe, obj}, objects, more)
	if w.static {
		args = append(args, "-static")
	}
	w.gcc(t, append(args, "-Wl,--fatal-warnings")...)
	return exe
}

// TestWASISuite runs the official WASI preview 1 tests as programs with the C runtime.
func TestWASISuite(t *testing.T) {
	for _, w := range wasiTargets() {
		t.Run(w.name, func(t *testing.T) {
			if w.prefix != "" {
				testenv.OnlyFull(t, "programs of another machine")
			}
			w.missing(t)
			objects := w.wasiRuntime(t, "program.c")
			wasisuite.Run(t, testenv.Full(), func(t *testing.T, test *wasisuite.Test) {
				exe := w.link(t, test.Wasm, objects)
				w.runSuiteTest(t, test, exe)
				if w.prefix == "" { // where the kernel lacks openat2, as qemu-aarch64 does
					w.runSuiteTest(t, test, exe, "--no-openat2")
				}
			})
		})
	}
}

func (w *wasiTarget) runSuiteTest(t *testing.T, test *wasisuite.Test, exe string, args ...string) {
	t.Helper()
	for _, v := range test.Env {
		args = append(args, "--env", v)
	}
	if dir := test.Directory(t); dir != "" {
		args = append(args, "--dir", dir+"::/")
	}
	args = slices.Concat(w.run, []string{exe}, args, []string{"--"}, test.Args)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != test.ExitCode {
		t.Errorf("%v: exit status %d, want %d; error %v; standard error:\n%s", args, code, test.ExitCode, err, stderr.Bytes())
	}
	if test.Stdout != nil && stdout.String() != *test.Stdout {
		t.Errorf("standard output %q, want %q", stdout.String(), *test.Stdout)
	}
}
