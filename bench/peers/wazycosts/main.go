// Command wazycosts measures wazy for bench/costs, which starts it.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"unsafe"

	"github.com/samyfodil/wazy"
	"github.com/samyfodil/wazy/api"
	"github.com/samyfodil/wazy/imports/wasi_snapshot_preview1"

	"github.com/waot-project/waot/bench/costs/edges"
	"github.com/waot-project/waot/wasmfront"
)

func main() {
	resident := flag.String("resident", "", "the module whose instances' memory to print")
	flag.Parse()
	if err := edges.Serve(engine{}, *resident); err != nil {
		fmt.Fprintln(os.Stderr, "wazycosts:", err)
		os.Exit(1)
	}
}

// engine is wazy's compiler. Its calls end with their context in any case.
type engine struct{}

func config() wazy.RuntimeConfig {
	return wazy.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2 | api.CoreFeatureExceptionHandling | api.CoreFeatureTailCall |
		api.CoreFeatureTypedFunctionReferences)
}

func (engine) Guest(wasm []byte, _ bool) (edges.Guest, error) {
	ctx := context.Background()
	rt := wazy.NewRuntimeWithConfig(ctx, config())
	long := []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}
	same := api.GoFunc(func(context.Context, []uint64) {})
	env := rt.NewHostModuleBuilder("env")
	for _, f := range []struct {
		name   string
		params []api.ValueType
		call   api.GoFunc
	}{
		{"raw", long, func(_ context.Context, stack []uint64) { stack[0] += stack[1] }},
		{"extern", []api.ValueType{api.ValueTypeExternref}, same},
		{"func", []api.ValueType{wasmfront.FuncRef.Code()}, same},
	} {
		env.NewFunctionBuilder().WithGoFunction(f.call, f.params, f.params[:1]).Export(f.name)
	}
	env.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
		stack[0] += stack[1] + uint64(mod.Memory().Size())
	}), long, long[:1]).Export("module")
	// It takes functions of Go by their types, but only with these two parameters in front.
	wazy.HostFunc2(env.NewFunctionBuilder(), func(_ context.Context, _ api.Module, a, b int64) int64 {
		return edges.Typed(a, b)
	}).Export("typed")
	wazy.HostFunc3(env.NewFunctionBuilder(), func(_ context.Context, _ api.Module, a int32, b int64, f float64) int64 {
		return edges.Mixed(a, b, f)
	}).Export("mixed")
	if _, err := env.Instantiate(ctx); err != nil {
		return nil, err
	}
	mod, err := rt.Instantiate(ctx, wasm)
	return instanceOfCosts{instance{mod}, rt}, err
}

type instance struct{ mod api.Module }

func (i instance) Func(name string) (edges.Func, error) {
	f := i.mod.ExportedFunction(name)
	if f == nil {
		return edges.Func{}, fmt.Errorf("no function %s", name)
	}
	return edges.Func{Raw: f.CallWithStack, Call: func(ctx context.Context) error {
		_, err := f.Call(ctx, 1, 2)
		return err
	}}, nil
}

func (i instance) Close() error { return i.mod.Close(context.Background()) }

type instanceOfCosts struct {
	instance
	rt wazy.Runtime
}

var value = "a value"

func (instanceOfCosts) Ref(kind string) (uint64, error) {
	if kind == "extern" {
		return uint64(uintptr(unsafe.Pointer(&value))), nil
	}
	return 0, nil // null: Go cannot get another one
}

func (g instanceOfCosts) Close() error { return g.rt.Close(context.Background()) }

type program struct {
	rt  wazy.Runtime
	mod wazy.CompiledModule
	// cache is a folder with the compiled module.
	cache string
	wasm  []byte
}

func (engine) Program(wasm []byte) (edges.Program, error) {
	ctx := context.Background()
	p := &program{rt: wazy.NewRuntimeWithConfig(ctx, config()), wasm: wasm}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.rt); err != nil {
		return nil, err
	}
	bench := p.rt.NewHostModuleBuilder("bench")
	for _, name := range []string{"start", "end"} {
		wazy.HostProc0(bench.NewFunctionBuilder(), func(context.Context, api.Module) {}).Export(name)
	}
	_, err := bench.Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	if p.mod, err = p.rt.CompileModule(ctx, wasm); err != nil {
		return nil, err
	}
	if p.cache, err = os.MkdirTemp("", "waot-costs"); err != nil {
		return nil, err
	}
	return p, p.Load()
}

// Load compiles the module out of the cache.
func (p *program) Load() error {
	ctx := context.Background()
	cache, err := wazy.NewCompilationCacheWithDir(p.cache)
	if err != nil {
		return err
	}
	rt := wazy.NewRuntimeWithConfig(ctx, config().WithCompilationCache(cache))
	if _, err := rt.CompileModule(ctx, p.wasm); err != nil {
		return err
	}
	if err := rt.Close(ctx); err != nil {
		return err
	}
	return cache.Close(ctx)
}

func (p *program) Close() error {
	p.rt.Close(context.Background())
	return os.RemoveAll(p.cache)
}

func (p *program) Instantiate(wasi bool, stdout *os.File) (edges.Instance, error) {
	c := wazy.NewModuleConfig().WithName("").WithStartFunctions()
	if wasi {
		c = c.WithArgs("program").WithSysWalltime().WithSysNanotime()
		if stdout != nil {
			c = c.WithStdout(stdout)
		} else {
			c = c.WithStdout(&bytes.Buffer{})
		}
	}
	mod, err := p.rt.InstantiateModule(context.Background(), p.mod, c)
	return instance{mod}, err
}
