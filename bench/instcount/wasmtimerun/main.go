// Command wasmtimerun runs modules in wasmtime, for instcount in an emulator, or for compare:
//
//	wasmtimerun MODULE.wasm
//	wasmtimerun compile MODULE.wasm OUT
//	wasmtimerun run OUT --dir DIR
//
// The module has what command waotrun gives it, but with run the system's clocks and random bytes. Then the time between
// bench.start and bench.end is reported as bench/protocol says, and by compile what that takes. It is a Go module of its own because it
// needs cgo and wasmtime's library.
package main

// #include <stdbool.h>
// void wasmtime_config_wasm_exceptions_set(void *, bool);
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/waot-project/waot/bench/protocol"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1:
		err = repeatable(args[0])
	case len(args) == 3 && args[0] == "compile":
		err = compile(args[1], args[2])
	case len(args) == 4 && args[0] == "run" && args[2] == "--dir":
		err = measured(args[1], args[3])
	default:
		err = errors.New("usage: wasmtimerun MODULE.wasm | compile MODULE.wasm OUT | run OUT --dir DIR")
	}
	var exit *wasmtime.Error
	if errors.As(err, &exit) {
		if status, ok := exit.ExitStatus(); ok {
			os.Exit(int(status))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wasmtimerun:", err)
		os.Exit(1)
	}
}

func newEngine() *wasmtime.Engine {
	cfg := wasmtime.NewConfig()
	cfg.SetStrategy(wasmtime.StrategyCranelift)
	cfg.SetCraneliftOptLevel(wasmtime.OptLevelSpeed)
	cfg.SetParallelCompilation(false)
	cfg.SetWasmFunctionReferences(true)
	cfg.SetWasmGC(true)
	// Its Go package has no method for exceptions. The pointer to the configuration is all that a Config has.
	C.wasmtime_config_wasm_exceptions_set(*(*unsafe.Pointer)(unsafe.Pointer(cfg)), true)
	return wasmtime.NewEngineWithConfig(cfg)
}

func load(engine *wasmtime.Engine, file string) (*wasmtime.Module, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return wasmtime.NewModule(engine, wasm)
}

// compile keeps the code of a module in a file.
func compile(in, out string) error {
	clock := protocol.Start()
	module, err := load(newEngine(), in)
	if err != nil {
		return err
	}
	var r protocol.Result
	r.CompileNS, r.CompileCPUNS = clock.Read()
	code, err := module.Serialize()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(out, code, 0o666), r.Emit())
}

// measured runs what compile has kept, and reports the time between the marks.
func measured(file, dir string) error {
	engine := newEngine()
	module, err := wasmtime.NewModuleDeserializeFile(engine, file)
	if err != nil {
		return err
	}
	linker := wasmtime.NewLinker(engine)
	var watch protocol.Stopwatch
	if err := errors.Join(linker.DefineWasi(),
		linker.FuncWrap("bench", "start", watch.Start), linker.FuncWrap("bench", "end", watch.End)); err != nil {
		return err
	}
	watch.Start()
	err = run(linker, engine, module, dir)
	var r protocol.Result
	r.ExecNS, r.ExecCPUNS = watch.Read()
	return errors.Join(err, r.Emit())
}

// repeatable compiles a module and runs it with what is equal in all runs.
func repeatable(file string) error {
	engine := newEngine()
	module, err := load(engine, file)
	if err != nil {
		return err
	}
	linker, err := newLinker(engine)
	if err != nil {
		return err
	}
	return run(linker, engine, module, ".")
}

func run(linker *wasmtime.Linker, engine *wasmtime.Engine, module *wasmtime.Module, dir string) error {
	store := wasmtime.NewStore(engine)
	wasi := wasmtime.NewWasiConfig()
	wasi.SetArgv([]string{"benchmark.wasm"})
	wasi.InheritStdin()
	wasi.InheritStdout()
	wasi.InheritStderr()
	if err := wasi.PreopenDir(dir, ".", wasmtime.DIR_READ|wasmtime.DIR_WRITE, wasmtime.FILE_READ|wasmtime.FILE_WRITE); err != nil {
		return err
	}
	store.SetWasi(wasi)
	inst, err := linker.Instantiate(store, module)
	if err != nil {
		return err
	}
	start := inst.GetFunc(store, "_start")
	if start == nil {
		return errors.New("no function _start")
	}
	_, err = start.Call(store)
	return err
}

// newLinker has WASI, of which the two functions that differ between runs are replaced.
func newLinker(engine *wasmtime.Engine) (*wasmtime.Linker, error) {
	l := wasmtime.NewLinker(engine)
	if err := l.DefineWasi(); err != nil {
		return nil, err
	}
	l.AllowShadowing(true)
	var reads uint64
	const wasi = "wasi_snapshot_preview1"
	nothing := func() {}
	return l, errors.Join(
		l.FuncWrap(wasi, "random_get", func(c *wasmtime.Caller, p, n int32) int32 {
			m := memory(c)[uint32(p):][:uint32(n)]
			for i := range m {
				m[i] = 42
			}
			return 0
		}),
		l.FuncWrap(wasi, "clock_time_get", func(c *wasmtime.Caller, id int32, precision int64, p int32) int32 {
			reads++
			binary.LittleEndian.PutUint64(memory(c)[uint32(p):], reads*uint64(time.Millisecond))
			return 0
		}),
		l.FuncWrap("bench", "start", nothing), l.FuncWrap("bench", "end", nothing))
}

// memory returns the caller's.
func memory(c *wasmtime.Caller) []byte {
	return c.GetExport("memory").Memory().UnsafeData(c)
}
