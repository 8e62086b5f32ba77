//go:build linux

package difftest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/gobpipe"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront"
)

// This file runs programs on the other machine, in an emulator: they are compiled here, and the objects are executed by
// this package's test binary, built for the other machine, which serves one request after the other.

// serveEnv makes the test binary a server.
const serveEnv = "WAOT_DIFFTEST_SERVE"

// EnvSlow runs in the emulator what takes long there, too.
const EnvSlow = "WAOT_EMULATE_ALL"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) == "" {
		os.Exit(m.Run())
	}
	var mod *host.Module
	if err := gobpipe.Serve(os.Stdin, os.Stdout, func(q *request) *reply {
		before := cputime.Used()
		a := answer(q, &mod)
		a.CPU = cputime.Used() - before
		return a
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// request is a run of an object.
type request struct {
	Object []byte // empty if it is that of the request before
	Args   []string
	Env    []string
	Stdin  string
	Dirs   [][2]string // here, there
	Export string
	Params []uint64
}

// reply is what it did.
type reply struct {
	Effects *effects
	Err     string
	CPU     time.Duration // that it took, the emulator included
}

func answer(q *request, mod **host.Module) *reply {
	var err error
	if len(q.Object) > 0 {
		if *mod != nil {
			(*mod).Close()
		}
		if *mod, err = host.Load(q.Object, nil); err != nil {
			return &reply{Err: err.Error()}
		}
	}
	r := &run{args: q.Args, env: q.Env, stdin: q.Stdin, export: q.Export, params: q.Params}
	for _, d := range q.Dirs {
		r.dirs = append(r.dirs, wasirun.Dir{Host: d[0], Guest: d[1]})
	}
	e, err := r.native(*mod)
	if err != nil {
		return &reply{Err: err.Error()}
	}
	return &reply{Effects: e}
}

// elsewhere is a server on the other machine.
type elsewhere struct {
	target  string
	process *gobpipe.Process[request, reply]
	loaded  *byte // the first byte of the object that the server has
	cpu     time.Duration
}

// startElsewhere builds and starts the server. Without an emulator the test is skipped, or fails where that must not be.
func startElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	if testing.Short() {
		t.Skip("runs in an emulator")
	}
	i := slices.IndexFunc(compile.Targets(), func(s string) bool { return compile.GOARCH(s) != runtime.GOARCH })
	x := &elsewhere{target: compile.Targets()[i]}
	m, err := emulate.For(compile.GOARCH(x.target), "")
	if err != nil {
		fmt.Fprintf(os.Stderr, "WARNING: programs for %s are not run: %v\n", x.target, err)
		testenv.Missing(t, err.Error())
	}
	program, err := m.Build(t.Context(), t.TempDir(), ".", "test", "-c", "-ldflags=-w")
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(context.Background(), program)
	cmd.Env = append(cmd.Env, serveEnv+"=1")
	cmd.Stderr = os.Stderr
	if x.process, err = gobpipe.Start[request, reply](cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.process.Close(); err != nil {
			t.Errorf("the server on %s: %v", x.target, err)
		}
	})
	return x
}

// compile compiles a module for the other machine.
func (x *elsewhere) compile(wasm []byte, level opt.Level) (engine, error) {
	res, err := compile.Module(wasm, compile.Options{OptLevel: level, Target: x.target})
	if err != nil {
		return nil, err
	}
	var elf bytes.Buffer
	if err := res.WriteELF(&elf); err != nil {
		return nil, err
	}
	object := elf.Bytes()
	return func(r *run) (*effects, error) { return x.run(object, r) }, nil
}

// run executes an object.
func (x *elsewhere) run(object []byte, r *run) (*effects, error) {
	q := request{Args: r.args, Env: r.env, Stdin: r.stdin, Export: r.export, Params: r.params}
	for _, d := range r.dirs {
		q.Dirs = append(q.Dirs, [2]string{d.Host, d.Guest})
	}
	if x.loaded != &object[0] {
		q.Object, x.loaded = object, &object[0]
	}
	a, err := x.process.Ask(&q)
	if err != nil {
		return nil, err
	}
	x.cpu += a.CPU
	if a.Err != "" {
		return nil, errors.New(a.Err)
	}
	return a.Effects, nil
}

// TestElsewhere runs programs on the other machine.
func TestElsewhere(t *testing.T) {
	x := startElsewhere(t)
	t.Run("programs", x.programs)
	t.Run("go", x.goProgram)
	t.Run("vectors", x.vectorKernels)
	t.Run("benchmarks", x.benchmarks)
}

// programs is TestPrograms on the other machine.
func (x *elsewhere) programs(t *testing.T) {
	runs, visited := int32(0), 0
	step := testenv.Cases(1, 18, 1)
	modules := eachProgram(t, func(name string, wasm []byte, m *wasmfront.Module) {
		if visited++; visited%step != 0 {
			return
		}
		t.Run(name, func(t *testing.T) {
			var engines []engine
			for _, level := range []opt.Level{opt.O0, opt.O1} {
				e, err := x.compile(wasm, level)
				skipUnsupported(t, err)
				engines = append(engines, e)
			}
			runs += runProgram(t, name, wasm, m, engines)
		})
	})
	t.Logf("one in %d of %d modules, %d runs at two levels on %s, %.1f s", step, modules, runs, x.target, x.cpu.Seconds())
}

// goProgram runs a program that the Go compiler has made for WASI.
func (x *elsewhere) goProgram(t *testing.T) {
	testenv.OnlyFull(t, "takes long in an emulator; programs and benchmarks have some of TinyGo")
	file := filepath.Join(t.TempDir(), "report.wasm")
	build := exec.Command("go", "build", "-o", file, "../../../examples/report")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		here, err := nativeModule(wasm, level)
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		there, err := x.compile(wasm, level)
		if err != nil {
			t.Fatal(err)
		}
		runs := []run{
			{export: "_start", args: []string{"report", "/README.md"}, dirs: []wasirun.Dir{{Host: "../../../examples", Guest: "/"}}},
			{export: "_start", args: []string{"report", "/missing"}, dirs: []wasirun.Dir{{Host: "../../../examples", Guest: "/"}}},
			{export: "_start", args: []string{"report"}},
		}
		for _, r := range runs {
			want, err := r.native(here)
			if err != nil {
				t.Fatal(err)
			}
			got, err := there(&r)
			if err != nil {
				t.Fatal(err)
			}
			if got.Stdout != want.Stdout || got.Stderr != want.Stderr || got.Status != want.Status || got.Trap != want.Trap {
				t.Errorf("O%d %v: here %q %q %d %s, there %q %q %d %s", level, &r, want.Stdout, want.Stderr, want.Status, want.Trap,
					got.Stdout, got.Stderr, got.Status, got.Trap)
			}
			if len(want.Stdout)+len(want.Stderr) == 0 {
				t.Errorf("O%d %v: no output", level, &r)
			}
		}
	}
}

// benchmarks is TestBenchmarks on the other machine, the shortest first. What takes long runs if EnvSlow is set.
func (x *elsewhere) benchmarks(t *testing.T) {
	files := benchmarks(t)
	seconds := func(file string) float64 { return emulated[benchmarkName(file)] }
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(seconds(a), seconds(b)) })
	ran, left := 0, 0
	for _, file := range files {
		t.Run(benchmarkName(file), func(t *testing.T) {
			if seconds(file) > testenv.Cases(0, 0, maxEmulated) {
				testenv.OnlyFull(t, "takes seconds in an emulator")
			}
			if seconds(file) > maxEmulated && os.Getenv(EnvSlow) == "" {
				left++
				t.Skipf("takes %g s in an emulator; set %s", seconds(file), EnvSlow)
			}
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ran++
			for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O0, opt.O1}) { // programs run at both
				do, err := x.compile(wasm, level)
				if err != nil {
					ran--
				}
				skipUnsupported(t, err)
				before := x.cpu
				runBenchmark(t, file, do)
				t.Logf("O%d: %.1f s", level, (x.cpu - before).Seconds())
			}
		})
	}
	t.Logf("%d of %d modules ran on %s, %d are left out for their time", ran, len(files), x.target, left)
	for name := range emulated {
		if !slices.ContainsFunc(files, func(f string) bool { return benchmarkName(f) == name }) {
			t.Errorf("no module %s", name)
		}
	}
}

// maxEmulated is how many seconds of processor time a module may take in an emulator, both levels together, to be run
// at the full level.
const maxEmulated = 30.0

// emulated is how many seconds of processor time benchmark modules take in an emulator, both levels together, if more
// than one.
var emulated = map[string]float64{
	"gcc-loops/benchmark.wasm": 60, "sqlite3/sqlite3.wasm": 17, "shootout/shootout-fib2.wasm": 12, "shootout/shootout-heapsort.wasm": 7,
	"shootout/shootout-sieve.wasm": 3, "shootout/shootout-matrix.wasm": 1.4,
}
