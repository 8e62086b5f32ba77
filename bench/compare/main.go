// Command compare measures waot beside wazero on the programs of bench/kernels, or on the modules
// of bench/vectors, and prints ratios of medians over interleaved rounds. It needs nothing but the Go
// toolchain and this module.
//
//	go run ./bench/compare [-rounds N] [-json] [-vectors] [KERNEL...]
//	go run ./bench/compare -go [-rounds N] [-json] [-node NODE] [-with NAME=PROGRAM] [PROGRAM...]
//	go run ./bench/compare -modules DIR [-rounds N] [-json] [-node NODE] [-with NAME=PROGRAM] [MODULE...]
//	go run ./bench/compare -objects [-rounds N] [-json] [-node NODE] [-with NAME=PROGRAM] [PROGRAM...]
//
// With -go it measures the programs of bench/programs, in processor time: native, under waot, wazero, wazy, wasm2go, wasmtime if there
// is a C compiler, and V8 if there is a node. With -modules it measures those of a benchmark suite, or all that lie in a folder, and what
// compiling them takes. With -objects it measures programs with garbage collection: the kernels of bench/objects, splay of the suite whose
// modules are in the folder that WAOT_BENCH_DIR names, and Kotlin's in the one that WAOT_WASM3_DIR names.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/bench/vectors"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/host/wasirun"
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds; each runs every engine once")
	asJSON := flag.Bool("json", false, "print JSON")
	ofVectors := flag.Bool("vectors", false, "measure the kernels of bench/vectors")
	ofPrograms := flag.Bool("go", false, "measure the Go programs of bench/programs")
	modules := flag.String("modules", "", "measure the modules in a `folder`")
	ofObjects := flag.Bool("objects", false, "measure programs with garbage collection")
	node := flag.String("node", "node", "with -go, -modules, -objects: the `program` that has V8")
	with := flag.String("with", "", "with -go, -modules, -objects: another engine, `NAME=PROGRAM` with the commands of waot-bench")
	without := flag.String("without", "", "with -go, -modules, -objects: `names` of engines to leave out, as tables have them, with commas between them")
	flag.Parse()
	names, n := flag.Args(), max(1, *rounds)
	peers := &setup{rounds: n, node: *node, with: *with, without: strings.Split(*without, ","), objects: *ofObjects, log: os.Stderr}
	var found table
	var err error
	switch {
	case *ofPrograms:
		found, err = peers.comparePrograms(names)
	case *modules != "":
		found, err = peers.compareModules(*modules, names)
	case *ofObjects:
		found, err = peers.compareObjects(names)
	case *ofVectors:
		found, err = compareVectors(names, n, os.Stderr)
	default:
		found, err = compare(names, n, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	if *asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		enc.Encode(found)
		return
	}
	found.write(os.Stdout)
}

// table is a result.
type table interface{ write(w io.Writer) }

// rows is the result for what runs within this process.
type rows []row

// row is one line of it: medians, and how many times longer wazero takes than waot.
type row struct {
	Name     string  `json:"name"`
	WaotNS   int64   `json:"waot_ns"`
	WazeroNS int64   `json:"wazero_ns"`
	Ratio    float64 `json:"wazero_over_waot"`
}

func (rows rows) write(w io.Writer) {
	fmt.Fprintf(w, "%-22s %12s %12s %14s\n", "", "waot", "wazero", "wazero / waot")
	product, n := 0.0, 0
	for _, r := range rows {
		fmt.Fprintf(w, "%-22s %12s %12s %13.2fx\n", r.Name, time.Duration(r.WaotNS).Round(time.Microsecond),
			time.Duration(r.WazeroNS).Round(time.Microsecond), r.Ratio)
		if !strings.HasPrefix(r.Name, "compile") {
			product += math.Log(r.Ratio)
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "%-22s %39.2fx\n", "run, geometric mean", math.Exp(product/float64(n)))
	}
}

// engine is a way to compile and run a program.
type engine interface {
	// compile compiles the program, keeps the result, and says how long that took.
	compile(wasm []byte) (time.Duration, error)
	// run runs what compile kept with one argument; it gives the time between the marks
	// and what the program printed.
	run(arg string) (time.Duration, string, error)
}

func compare(names []string, rounds int, log io.Writer) (rows, error) {
	wasm, err := buildKernels()
	if err != nil {
		return nil, err
	}
	engines := []engine{&waotEngine{}, &wazeroEngine{}}
	var times [2][]time.Duration
	for r := range rounds {
		for k := range engines {
			e := (k + r) % 2
			d, err := engines[e].compile(wasm)
			if err != nil {
				return nil, err
			}
			times[e] = append(times[e], d)
		}
	}
	found := rows{medians("compile, one worker", times)}
	if len(names) == 0 {
		_, list, err := engines[0].run("")
		if err != nil {
			return nil, err
		}
		names = strings.Fields(list)
	}
	for _, name := range names {
		fmt.Fprintf(log, "%s\n", name)
		row, err := runRounds(engines, name, name, rounds)
		if err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, nil
}

// runRounds runs what the engines have compiled, a kernel of that name.
func runRounds(engines []engine, name, arg string, rounds int) (row, error) {
	var times [2][]time.Duration
	want := ""
	for r := range rounds {
		for k := range engines {
			e := (k + r) % 2
			d, out, err := engines[e].run(arg)
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", name, err)
			}
			if want == "" {
				want = out
			}
			if out != want || !strings.HasPrefix(out, name+" ") {
				return row{}, fmt.Errorf("%s: the engines print %q and %q", name, want, out)
			}
			times[e] = append(times[e], d)
		}
	}
	return medians("run "+name, times), nil
}

// compareVectors is compare for the kernels of bench/vectors, each a module of its own. Their compilation is too short to be measured.
func compareVectors(names []string, rounds int, log io.Writer) (rows, error) {
	engines := []engine{&waotEngine{}, &wazeroEngine{}}
	if len(names) == 0 {
		names = vectors.Names()
	}
	var found rows
	for _, name := range names {
		fmt.Fprintf(log, "%s\n", name)
		wasm, err := vectors.Module(name)
		if err != nil {
			return nil, err
		}
		for _, e := range engines {
			if _, err := e.compile(wasm); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		row, err := runRounds(engines, name, "", rounds)
		if err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, nil
}

func medians(name string, times [2][]time.Duration) row {
	var m [2]int64
	for e := range times {
		slices.Sort(times[e])
		m[e] = times[e][len(times[e])/2].Nanoseconds()
	}
	return row{name, m[0], m[1], float64(m[1]) / float64(m[0])}
}

// buildKernels builds bench/kernels for WASI.
func buildKernels() ([]byte, error) {
	dir, err := os.MkdirTemp("", "waot-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "kernels.wasm")
	cmd := exec.Command("go", "build", "-o", out, "github.com/waot-project/waot/bench/kernels")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// quiet runs f with no collection of garbage during it.
func quiet(f func() error) error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return f()
}

// waotEngine is waot with the defaults of its command, but for one worker.
type waotEngine struct{ mod *host.Module }

func (e *waotEngine) compile(wasm []byte) (d time.Duration, err error) {
	if e.mod != nil {
		e.mod.Close()
	}
	runtime.GC()
	start := time.Now()
	r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1})
	d = time.Since(start)
	if err == nil {
		var img *inproc.Image
		if img, err = load.Image(r.Object, r.Meta); err == nil {
			var m *loaded.Module
			m, err = loaded.New(img)
			e.mod = (*host.Module)(m)
		}
	}
	return d, err
}

func (e *waotEngine) run(arg string) (d time.Duration, out string, err error) {
	var stdout bytes.Buffer
	var begin time.Time
	err = quiet(func() error {
		status, err := wasirun.Run(nil, e.mod, &wasirun.Options{
			Args: []string{"kernels", arg}, Stdout: &stdout, Stderr: os.Stderr,
		}, host.Imports{"bench": {
			"start": func() { begin = time.Now() },
			"end":   func() { d = time.Since(begin) },
		}})
		if err == nil && status != 0 {
			err = fmt.Errorf("exit status %d", status)
		}
		return err
	})
	return d, stdout.String(), err
}

// wazeroEngine is wazero's compiler with wazero's WASI.
type wazeroEngine struct {
	rt         wazero.Runtime
	mod        wazero.CompiledModule
	start, end func()
}

func (e *wazeroEngine) compile(wasm []byte) (time.Duration, error) {
	ctx := experimental.WithCompilationWorkers(context.Background(), 1)
	if e.rt != nil {
		e.rt.Close(ctx)
	}
	e.rt = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	wasi_snapshot_preview1.MustInstantiate(ctx, e.rt)
	_, err := e.rt.NewHostModuleBuilder("bench").
		NewFunctionBuilder().WithFunc(func() { e.start() }).Export("start").
		NewFunctionBuilder().WithFunc(func() { e.end() }).Export("end").
		Instantiate(ctx)
	if err != nil {
		return 0, err
	}
	runtime.GC()
	start := time.Now()
	e.mod, err = e.rt.CompileModule(ctx, wasm)
	return time.Since(start), err
}

func (e *wazeroEngine) run(arg string) (d time.Duration, out string, err error) {
	var stdout bytes.Buffer
	var begin time.Time
	e.start, e.end = func() { begin = time.Now() }, func() { d = time.Since(begin) }
	err = quiet(func() error {
		ctx := context.Background()
		cfg := wazero.NewModuleConfig().WithName("").WithArgs("kernels", arg).WithStdout(&stdout).WithStderr(os.Stderr).
			WithSysWalltime().WithSysNanotime()
		m, err := e.rt.InstantiateModule(ctx, e.mod, cfg)
		if m != nil {
			defer m.Close(ctx)
		}
		var exit *sys.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 0 {
			return nil
		}
		return err
	})
	return d, stdout.String(), err
}
