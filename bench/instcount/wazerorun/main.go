// Command wazerorun runs modules in wazero's compiler for instcount, in an emulator:
//
//	wazerorun MODULE.wasm
//
// The module has what command waotrun gives it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

func main() {
	err := run(context.Background(), os.Args[1])
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "wazerorun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	nothing := func(context.Context) {}
	if _, err := r.NewHostModuleBuilder("bench").NewFunctionBuilder().WithFunc(nothing).Export("start").
		NewFunctionBuilder().WithFunc(nothing).Export("end").Instantiate(ctx); err != nil {
		return err
	}
	var reads int64
	clock := func() int64 {
		reads++
		return reads * int64(time.Millisecond)
	}
	_, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithArgs("benchmark.wasm").
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(".", ".")).WithRandSource(constant{}).
		WithNanotime(clock, 1).
		WithWalltime(func() (sec int64, nsec int32) {
			t := clock()
			return t / 1e9, int32(t % 1e9)
		}, 1))
	return err
}

// constant is a source of bytes that are all the same.
type constant struct{}

func (constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 42
	}
	return len(p), nil
}
