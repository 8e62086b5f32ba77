//go:build linux

package difftest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// programRuns is how the programs in wazero's module are run, by the end of the
// path. Programs that are not listed run without arguments.
var programRuns = []struct {
	suffix string
	runs   [][]string // arguments behind the name
}{
	{"/cat.wasm", [][]string{{"/text"}, {"/missing"}, {}, {"/text", "/empty"}}},
	{"/cat-tinygo.wasm", [][]string{{"/text"}, {"/missing"}}},
	{"/testdata/cli.wasm", [][]string{{"3", "4"}, {"x"}, {}}},
	{"/cargo-wasi/wasi.wasm", wasiTestRuns},
	{"/tinygo/wasi.wasm", wasiTestRuns},
	{"/zig-cc/wasi.wasm", wasiTestRuns},
	{"/zig/wasi.wasm", wasiTestRuns},
	{"/print_args.wasm", [][]string{{}, {"a", "", "long argument"}}},
	{"/wasi_arg.wasm", [][]string{{"a", "b"}}},
}

var wasiTestRuns = [][]string{
	{"ls", "/"}, {"ls", "/", "repeat"}, {"ls", "./sub"}, {"ls", "./text"}, {"ls", "./missing"}, {"ls", "./many"}, {"stat"},
	{"preopen"}, {"poll"}, {"poll", "0", "1"}, {"sleepmillis", "1"}, {"open-rdonly"}, {"open-wronly"}, {"unknown"}, {},
}

// endless are functions that do not return, or modules that are not ours to run.
var endless = map[string]bool{
	"infinite_loop.wasm": true, "huge_call_stack_unwind.wasm": true, "inoutdispatcher.wasm": true,
}

// TestPrograms runs every module in wazero's source that needs nothing but WASI, as
// a program or by calling what it exports: output, exit status, trap, results and
// memory are those under wazero.
func TestPrograms(t *testing.T) {
	modules := 0
	var runs atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d modules, %d runs at two levels", modules, runs.Load())
		if testenv.Full() && (modules < 100 || runs.Load() < 400) {
			t.Error("too few")
		}
	})
	modules = eachProgram(t, func(name string, wasm []byte, m *wasmfront.Module) {
		t.Run(name, func(t *testing.T) {
			if slowPrograms[filepath.Base(name)] {
				testenv.OnlyFull(t, "takes seconds")
			}
			t.Parallel()
			var engines []engine
			for _, level := range []opt.Level{opt.O0, opt.O1} {
				mod, err := nativeModule(wasm, level)
				skipUnsupported(t, err)
				t.Cleanup(func() { mod.Close() })
				engines = append(engines, func(r *run) (*effects, error) { return r.native(mod) })
			}
			runs.Add(runProgram(t, name, wasm, m, engines))
		})
	})
}

// slowPrograms take seconds each, because they are large or recurse deeply.
var slowPrograms = map[string]bool{"733.wasm": true, "main.wasm": true}

// engine runs a program that it has compiled.
type engine func(*run) (*effects, error)

// eachProgram visits the programs and libraries in wazero's source, and gives their number.
func eachProgram(t *testing.T, visit func(name string, wasm []byte, m *wasmfront.Module)) (modules int) {
	t.Helper()
	root := wazeroDir(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "spectest" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".wasm") || endless[d.Name()] {
			return nil
		}
		wasm, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m, err := validate.Module(wasm, validate.Config{})
		if err != nil || !onlyWASI(m) {
			return nil
		}
		modules++
		visit(strings.TrimPrefix(path, root)[1:], wasm, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 25 {
		t.Errorf("only %d modules found", modules)
	}
	return modules
}

// skipUnsupported skips the test of a module that needs what is not supported, and fails it for any other error.
func skipUnsupported(t *testing.T, err error) {
	t.Helper()
	var invalid *wasmfront.Error
	if errors.As(err, &invalid) && invalid.Feature != "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wazeroDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir
	}
	testenv.Missing(t, "wazero's source is not in the module cache")
	return ""
}

func onlyWASI(m *wasmfront.Module) bool {
	for i := range m.Imports {
		if m.Imports[i].Module != wasi.ModuleName {
			return false
		}
	}
	return true
}

// runProgram compares what engines do, one for each level, with wazero. It gives the number of runs.
func runProgram(t *testing.T, name string, wasm []byte, m *wasmfront.Module, engines []engine) int32 {
	ctx := context.Background()
	all := planRuns(name, m)
	var dirs []wasirun.Dir
	if len(m.Imports) > 0 {
		dirs = sandbox(t)
	}
	cache := wazero.NewCompilationCache()
	defer cache.Close(ctx)
	for i := range all {
		r := &all[i]
		r.dirs = dirs
		want, err := r.wazero(ctx, wasm, wazero.NewRuntimeConfigCompiler().WithCompilationCache(cache))
		if err != nil {
			t.Fatalf("%v: wazero: %v", r, err)
		}
		for n, do := range engines {
			got, err := do(r)
			if err != nil {
				t.Fatalf("engine %d: %v: %v", n, r, err)
			}
			if d := cmp.Diff(want, got, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); d != "" {
				t.Errorf("engine %d: %v: -wazero +waot\n%s", n, r, d)
			}
		}
	}
	return int32(len(all))
}

// sandbox is directories for runs, which must not change them.
func sandbox(t *testing.T) []wasirun.Dir {
	dir, tmp := t.TempDir(), t.TempDir()
	for _, f := range []struct{ name, text string }{
		{"text", "greetings\n" + strings.Repeat("0123456789", 2000)}, {"empty", ""}, {"sub/one", "1"}, {"sub/two", "2"},
	} {
		name := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(f.text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		name := filepath.Join(dir, "many", fmt.Sprintf("file%d", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Reading must not change the time of the last access: it is seen in memories.
	now := time.Now()
	for _, name := range []string{"text", "empty"} {
		if err := os.Chtimes(filepath.Join(dir, name), now.Add(time.Hour), now); err != nil {
			t.Fatal(err)
		}
	}
	return []wasirun.Dir{{Host: dir, Guest: "/"}, {Host: tmp, Guest: "/tmp"}}
}

func planRuns(path string, m *wasmfront.Module) []run {
	var out []run
	base := run{export: "_start", env: []string{"ANIMAL=bear", "FOOD=sushi"}, stdin: "from the input\n"}
	for i := range m.Exports {
		if m.Exports[i].Name == "_start" {
			lists := [][]string{nil}
			for _, p := range programRuns {
				if strings.HasSuffix(path, p.suffix) {
					lists = p.runs
				}
			}
			for _, l := range lists {
				r := base
				r.args = append([]string{"program"}, l...)
				out = append(out, r)
			}
			return out
		}
	}
	for i := range m.Exports {
		e := &m.Exports[i]
		if e.Kind != abi.ExternFunc || e.Name == "_initialize" {
			continue
		}
		for _, v := range []uint64{1, 7, 100} {
			r := base
			r.args, r.export = []string{"library"}, e.Name
			for _, t := range m.FuncType(e.Index).Params {
				switch t {
				case wasmfront.V128: // two words
					r.params = append(r.params, v, v)
				case wasmfront.FuncRef, wasmfront.ExnRef: // null
					r.params = append(r.params, 0)
				default:
					r.params = append(r.params, v)
				}
			}
			out = append(out, r)
		}
	}
	return out
}

// TestBenchmarks runs the benchmark modules whose features are supported; the
// output must be what is recorded beside them.
func TestBenchmarks(t *testing.T) {
	notEmulated(t)
	for _, file := range benchmarks(t) {
		t.Run(benchmarkName(file), func(t *testing.T) {
			if s := emulated[benchmarkName(file)]; s > testenv.Cases(0, 5, s) {
				testenv.OnlyFull(t, "takes long")
			}
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, level := range []opt.Level{opt.O0, opt.O1} {
				res, err := compile.Module(wasm, compile.Options{OptLevel: level})
				skipUnsupported(t, err)
				img, err := load.Image(res.Object, res.Meta)
				if err != nil {
					t.Fatal(err)
				}
				mod, err := loaded.New(img)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { mod.Close() })
				runBenchmark(t, file, func(r *run) (*effects, error) { return r.native((*host.Module)(mod)) })
			}
		})
	}
}

// benchmarks are the files of the benchmark modules.
func benchmarks(t *testing.T) []string {
	t.Helper()
	root := testenv.Material(t, testenv.EnvBench)
	files, err := filepath.Glob(filepath.Join(root, "*", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules in %s (%v)", root, err)
	}
	return files
}

// benchmarkName is the folder and the name of a benchmark module.
func benchmarkName(file string) string {
	return filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
}

// runBenchmark compares what an engine does for a benchmark module with what is recorded.
func runBenchmark(t *testing.T, file string, do engine) {
	t.Helper()
	expected := func(stream string) string {
		for _, base := range []string{strings.TrimSuffix(file, ".wasm"), filepath.Join(filepath.Dir(file), "default")} {
			if b, err := os.ReadFile(base + "." + stream + ".expected"); err == nil {
				return string(b)
			}
		}
		t.Fatalf("no expected %s", stream)
		return ""
	}
	want := &effects{Stdout: expected("stdout"), Stderr: expected("stderr")}
	got, err := do(&run{export: "_start", args: []string{"benchmark"}, dirs: []wasirun.Dir{{Host: filepath.Dir(file), Guest: "."}}})
	if err != nil {
		t.Fatal(err)
	}
	got.Memory, got.Results = nil, ""
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%.2000s", d)
	}
}
