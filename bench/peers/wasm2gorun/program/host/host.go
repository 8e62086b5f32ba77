// Package host has what a translated module imports. The functions of WASI, methods of Host, are written by wasm2gorun.
package host

import (
	"errors"
	"os"

	"github.com/waot-project/waot/bench/protocol"
	"github.com/waot-project/waot/wasi"
)

// Host is all modules that a guest imports.
type Host struct {
	Result protocol.Result
	system *wasi.Context
	funcs  []wasi.Func
	memory *[]byte
	clock  protocol.Clock
}

// New gives the working directory as ".", argv[0] only, and no environment.
func New() (*Host, error) {
	system, err := wasi.New(&wasi.Options{
		Args: []string{"benchmark.wasm"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Preopens: []wasi.Preopen{{Host: ".", Guest: "."}},
	})
	return &Host{system: system, funcs: wasi.Functions()}, err
}

// Memory is what a translation calls the type of memories.
type Memory = interface {
	Slice() *[]byte
	Grow(delta, max int64) int64
}

// Init gets the module when it is complete.
func (h *Host) Init(module any) {
	if m, ok := module.(interface{ Xmemory() Memory }); ok {
		h.memory = m.Xmemory().Slice()
	}
}

// Xstart and Xend are the marks between which is measured.
func (h *Host) Xstart() { h.clock = protocol.Start() }
func (h *Host) Xend()   { h.Result.ExecNS, h.Result.ExecCPUNS = h.clock.Read() }

// call calls a function of WASI. The error that ends the guest goes up as a panic.
func (h *Host) call(function int, args ...uint64) int32 {
	errno, err := h.funcs[function].Call(h.system, *h.memory, args)
	if err != nil {
		panic(err)
	}
	return int32(errno)
}

// Run runs what a guest starts with, and returns the status with which it exits.
func Run(start func()) (status int) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			var exit *wasi.ExitError
			if !errors.As(p, &exit) {
				panic(p)
			}
			status = int(exit.Code)
		default:
			panic(p)
		}
	}()
	start()
	return 0
}
