// Command waot-bench is waot as an engine of a benchmark driver:
//
//	waot-bench [FLAGS] compile IN.wasm OUT    writes an object
//	waot-bench [FLAGS] run OUT --dir DIR      runs its _start
//
// run gives the module WASI preview 1 with DIR preopened under the name it has, argv[0]
// only, no environment, and the imports bench.start and bench.end, between which
// it measures. Each command appends one JSON line to the file that
// $WASMBENCH_RESULT names, or writes it to standard error.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
)

// result is the JSON line.
type result struct {
	CompileNS    int64  `json:"compile_ns,omitempty"`     // wall
	CompileCPUNS int64  `json:"compile_cpu_ns,omitempty"` // user and system, all threads
	CodeBytes    int    `json:"code_bytes,omitempty"`
	ExecNS       int64  `json:"exec_ns,omitempty"` // from bench.start to bench.end
	ExecCPUNS    int64  `json:"exec_cpu_ns,omitempty"`
	Err          string `json:"err,omitempty"`
}

func main() {
	jobs := flag.Int("jobs", 0, "workers; 0 means one per processor")
	level := flag.Int("O", 1, "optimisation level")
	cpu := flag.String("cpu", "x86-64-v2", "level of processor")
	check := flag.Bool("check", true, "check each register allocation")
	flag.Parse()
	var r result
	var err error
	switch args := flag.Args(); {
	case len(args) == 3 && args[0] == "compile":
		err = compileFile(&r, args[1], args[2], compile.Options{
			Jobs: *jobs, OptLevel: opt.Level(*level), CPU: *cpu, SkipChecker: !*check,
		})
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
	if e := emit(&r); e != nil {
		fmt.Fprintln(os.Stderr, "waot-bench:", e)
		os.Exit(1)
	}
	if err != nil {
		os.Exit(1)
	}
}

func emit(r *result) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	name := os.Getenv("WASMBENCH_RESULT")
	if name == "" {
		_, err = os.Stderr.Write(b)
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// cpuTime returns the user and system time of this process.
func cpuTime() int64 {
	const clockProcessCPU = 2
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func compileFile(r *result, in, out string, o compile.Options) error {
	wasm, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	debug.SetGCPercent(400)
	cpu, start := cpuTime(), time.Now()
	res, err := compile.Module(wasm, o)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := res.WriteELF(&b); err != nil {
		return err
	}
	r.CompileNS, r.CompileCPUNS = time.Since(start).Nanoseconds(), cpuTime()-cpu
	r.CodeBytes = res.Stats.Text
	return os.WriteFile(out, b.Bytes(), 0o666)
}

func runFile(r *result, file, dir string) error {
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
	var cpu int64
	var start time.Time
	status, err := wasirun.Run(nil, mod, &wasirun.Options{
		Args: []string{"benchmark.wasm"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Dirs: []wasirun.Dir{{Host: dir, Guest: dir}},
	}, host.Imports{"bench": {
		"start": func() { cpu, start = cpuTime(), time.Now() },
		"end":   func() { r.ExecNS, r.ExecCPUNS = time.Since(start).Nanoseconds(), cpuTime()-cpu },
	}})
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	return err
}
