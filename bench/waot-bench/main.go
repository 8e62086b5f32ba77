//go:build linux

// Command waot-bench is waot as an engine of a benchmark driver:
//
//	waot-bench [FLAGS] compile IN.wasm OUT  writes an object
//	waot-bench [FLAGS] run OUT --dir DIR    runs its _start
//
// run gives the module WASI preview 1 with DIR preopened under the name it has, argv[0]
// only, no environment, and the imports bench.start and bench.end, between which
// it measures, or all of a run that has no such marks. compile and run append one JSON line to the file that
// $WASMBENCH_RESULT names, or writes it to standard error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/waot-project/waot/bench/protocol"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/internal/gcpace"
	"github.com/waot-project/waot/wasmfront/fuel"
)

func main() {
	jobs := flag.Int("jobs", 0, "workers; 0 means one per processor")
	level := flag.Int("O", 1, "optimisation level")
	cpu := flag.String("cpu", "x86-64-v2", "level of processor")
	check := flag.Bool("check", true, "check each register allocation")
	regalloc := flag.String("regalloc", "", "register allocator")
	counts := flag.String("fuel", "", "how code counts fuel: exact, slack, or not at all")
	flag.Parse()
	o := compile.Options{Collect: true, Jobs: *jobs, OptLevel: opt.Level(*level), CPU: *cpu, Regalloc: *regalloc, SkipChecker: !*check, FuelSlack: *counts == "slack"}
	if *counts != "" {
		o.Fuel = fuel.Default()
	}
	var r protocol.Result
	var err error
	switch args := flag.Args(); {
	case len(args) == 3 && args[0] == "compile":
		gcpace.Set() // as cmd/waot
		err = compileFile(&r, args[1], args[2], o)
	case len(args) == 4 && args[0] == "run" && args[2] == "--dir":
		err = runFile(&r, args[1], args[3])
	default:
		fmt.Fprintln(os.Stderr, "usage: waot-bench [FLAGS] compile IN.wasm OUT | run OUT --dir DIR")
		os.Exit(2)
	}
	if err != nil {
		r.Err = err.Error()
		fmt.Fprintln(os.Stderr, "waot-bench:", err)
	}
	if e := r.Emit(); e != nil {
		fmt.Fprintln(os.Stderr, "waot-bench:", e)
		os.Exit(1)
	}
	if err != nil {
		os.Exit(1)
	}
}

func compileFile(r *protocol.Result, in, out string, o compile.Options) error {
	wasm, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	clock := protocol.Start()
	res, err := compile.Module(wasm, o)
	if err != nil {
		return err
	}
	object, err := res.File(nil)
	if err != nil {
		return err
	}
	r.CompileNS, r.CompileCPUNS = clock.Read()
	r.CompileRSSKB = cost.Read().Peak >> 10
	r.CodeBytes = res.Stats.Text
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	_, err = object.WriteTo(f)
	return errors.Join(err, f.Close())
}

func runFile(r *protocol.Result, file, dir string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mod, err := host.Load(b, nil)
	if err != nil {
		return err
	}
	// A collection would have to wait for native code, and interrupt it meanwhile.
	runtime.GC()
	debug.SetGCPercent(-1)
	var watch protocol.Stopwatch
	watch.Start()
	status, err := wasirun.Run(nil, mod, &wasirun.Options{
		Args: []string{"benchmark.wasm"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Dirs:  []wasirun.Dir{{Host: dir, Guest: dir}},
		Store: &host.StoreOptions{Fuel: math.MaxInt64},
	}, host.Imports{"bench": {
		"start": watch.Start, "end": watch.End,
	}})
	r.ExecNS, r.ExecCPUNS = watch.Read()
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	return err
}
