// Command wazerorun runs modules in wazero's compiler, for instcount in an emulator, or for compare:
//
//	wazerorun MODULE.wasm
//	wazerorun -measure MODULE.wasm
//
// The module has what command waotrun gives it, but with -measure the system's clocks and random bytes. Then what compiling takes, and the
// time between bench.start and bench.end, is reported as bench/protocol says.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/bench/protocol"
)

func main() {
	measured := flag.Bool("measure", false, "report the time between the marks")
	flag.Parse()
	err := run(context.Background(), flag.Arg(0), *measured)
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "wazerorun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, measured bool) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	var clock protocol.Clock
	var result protocol.Result
	config := wazero.NewModuleConfig().WithName("").WithArgs("benchmark.wasm").
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(".", "."))
	if measured {
		config = config.WithSysNanotime().WithSysWalltime().WithRandSource(rand.Reader)
	} else {
		config = repeatable(config)
	}
	if _, err := r.NewHostModuleBuilder("bench").
		NewFunctionBuilder().WithFunc(func() { clock = protocol.Start() }).Export("start").
		NewFunctionBuilder().WithFunc(func() { result.ExecNS, result.ExecCPUNS = clock.Read() }).Export("end").
		Instantiate(ctx); err != nil {
		return err
	}
	compiling := protocol.Start()
	module, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return err
	}
	result.CompileNS, result.CompileCPUNS = compiling.Read()
	_, err = r.InstantiateModule(ctx, module, config)
	if measured {
		err = errors.Join(err, result.Emit())
	}
	return err
}

// repeatable adds a clock that counts its readings, and one constant for random bytes.
func repeatable(config wazero.ModuleConfig) wazero.ModuleConfig {
	var reads int64
	clock := func() int64 {
		reads++
		return reads * int64(time.Millisecond)
	}
	return config.WithRandSource(constant{}).WithNanotime(clock, 1).
		WithWalltime(func() (sec int64, nsec int32) {
			t := clock()
			return t / 1e9, int32(t % 1e9)
		}, 1)
}

// constant is a source of bytes that are all the same.
type constant struct{}

func (constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 42
	}
	return len(p), nil
}
