// Command wazyrun runs a module in wazy's compiler for bench/compare:
//
//	wazyrun MODULE.wasm
//
// The module has WASI preview 1 with the working directory preopened as ".", argv[0] only, no environment, and the imports
// bench.start and bench.end. What compiling took, and the time between the marks, is reported as bench/protocol says.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/samyfodil/wazy"
	"github.com/samyfodil/wazy/api"
	"github.com/samyfodil/wazy/imports/wasi_snapshot_preview1"
	"github.com/samyfodil/wazy/sys"

	"github.com/waot-project/waot/bench/protocol"
)

func main() {
	err := run(context.Background(), os.Args[1])
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "wazyrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := wazy.NewRuntimeWithConfig(ctx, wazy.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV3))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	var watch protocol.Stopwatch
	var result protocol.Result
	bench := r.NewHostModuleBuilder("bench")
	for name, mark := range map[string]func(){
		"start": watch.Start, "end": watch.End,
	} {
		wazy.HostProc0(bench.NewFunctionBuilder(), func(context.Context, api.Module) { mark() }).Export(name)
	}
	if _, err := bench.Instantiate(ctx); err != nil {
		return err
	}
	compiling := protocol.Start()
	module, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return err
	}
	result.CompileNS, result.CompileCPUNS = compiling.Read()
	watch.Start()
	_, err = r.InstantiateModule(ctx, module, wazy.NewModuleConfig().WithName("").WithArgs("benchmark.wasm").
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithFSConfig(wazy.NewFSConfig().WithDirMount(".", ".")).
		WithSysNanotime().WithSysWalltime().WithRandSource(rand.Reader))
	result.ExecNS, result.ExecCPUNS = watch.Read()
	return errors.Join(err, result.Emit())
}
