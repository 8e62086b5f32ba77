// Command wasmtimerun runs modules in wasmtime for instcount, in an emulator:
//
//	wasmtimerun MODULE.wasm
//
// The module has what command waotrun gives it. It is a Go module of its own because it
// needs cgo and wasmtime's library.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

func main() {
	err := run(os.Args[1])
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

func run(file string) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cfg := wasmtime.NewConfig()
	cfg.SetStrategy(wasmtime.StrategyCranelift)
	cfg.SetCraneliftOptLevel(wasmtime.OptLevelSpeed)
	cfg.SetParallelCompilation(false)
	engine := wasmtime.NewEngineWithConfig(cfg)
	module, err := wasmtime.NewModule(engine, wasm)
	if err != nil {
		return err
	}
	store := wasmtime.NewStore(engine)
	wasi := wasmtime.NewWasiConfig()
	wasi.SetArgv([]string{"benchmark.wasm"})
	wasi.InheritStdin()
	wasi.InheritStdout()
	wasi.InheritStderr()
	if err := wasi.PreopenDir(".", ".", wasmtime.DIR_READ|wasmtime.DIR_WRITE, wasmtime.FILE_READ|wasmtime.FILE_WRITE); err != nil {
		return err
	}
	store.SetWasi(wasi)
	linker, err := newLinker(engine)
	if err != nil {
		return err
	}
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
