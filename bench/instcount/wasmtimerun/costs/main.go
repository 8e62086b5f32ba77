// Command costs measures wasmtime for bench/costs, which starts it: only what edges.Loops are.
package main

// #include <stdbool.h>
// void wasmtime_config_wasm_exceptions_set(void *, bool);
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/waot-project/waot/bench/costs/edges"
)

func main() {
	if err := edges.Serve(newEngine(), ""); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

// engine is wasmtime with what the loops need.
type engine struct{ *wasmtime.Engine }

func newEngine() engine {
	cfg := wasmtime.NewConfig()
	cfg.SetStrategy(wasmtime.StrategyCranelift)
	cfg.SetCraneliftOptLevel(wasmtime.OptLevelSpeed)
	cfg.SetWasmTailCall(true)
	cfg.SetWasmFunctionReferences(true)
	cfg.SetWasmGC(true) // exceptions are objects of its collector
	// Its Go package has no method for exceptions. The pointer to the configuration is all that a Config has.
	C.wasmtime_config_wasm_exceptions_set(*(*unsafe.Pointer)(unsafe.Pointer(cfg)), true)
	return engine{wasmtime.NewEngineWithConfig(cfg)}
}

func (engine) Guest([]byte, bool) (edges.Guest, error) { return nil, errors.ErrUnsupported }

func (e engine) Program(wasm []byte) (edges.Program, error) {
	m, err := wasmtime.NewModule(e.Engine, wasm)
	return program{e, m}, err
}

// program is a compiled module.
type program struct {
	engine engine
	module *wasmtime.Module
}

func (p program) Instantiate(wasi bool, stdout *os.File) (edges.Instance, error) {
	s := wasmtime.NewStore(p.engine.Engine)
	l := wasmtime.NewLinker(p.engine.Engine)
	if wasi {
		w := wasmtime.NewWasiConfig()
		w.SetArgv([]string{"program"})
		if err := errors.Join(w.SetStdoutFile(stdout.Name()), l.DefineWasi()); err != nil {
			return nil, err
		}
		s.SetWasi(w)
	}
	i, err := l.Instantiate(s, p.module)
	return instance{s, i}, err
}

func (program) Load() error    { return errors.ErrUnsupported }
func (p program) Close() error { p.module.Close(); return nil }

type instance struct {
	store *wasmtime.Store
	*wasmtime.Instance
}

// Func returns a function of words of 32 bits.
func (i instance) Func(name string) (edges.Func, error) {
	f := i.GetFunc(i.store, name)
	if f == nil {
		return edges.Func{}, fmt.Errorf("no function %s", name)
	}
	return edges.Func{Raw: func(_ context.Context, stack []uint64) error {
		args := make([]any, len(stack))
		for k, w := range stack {
			args[k] = int32(w)
		}
		r, err := f.Call(i.store, args...)
		if n, ok := r.(int32); ok {
			stack[0] = uint64(uint32(n))
		}
		return err
	}}, nil
}

func (i instance) Close() error { i.store.Close(); return nil }
