package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/waot-project/waot/bench/costs/edges"
	"github.com/waot-project/waot/wasmfront"
)

// wazeroEngine is wazero's compiler.
type wazeroEngine struct{}

func wazeroConfig(closing bool) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling | experimental.CoreFeaturesTailCall |
		experimental.CoreFeaturesTypedFunctionReferences).WithCloseOnContextDone(closing)
}

func (wazeroEngine) Guest(wasm []byte, closing bool) (edges.Guest, error) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazeroConfig(closing))
	long := []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}
	same := api.GoFunc(func(context.Context, []uint64) {})
	externRef, funcRef := []api.ValueType{api.ValueTypeExternref}, []api.ValueType{wasmfront.FuncRef.Code()}
	_, err := rt.NewHostModuleBuilder("env").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
		stack[0] += stack[1]
	}), long, long[:1]).Export("raw").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
		stack[0] += stack[1] + uint64(mod.Memory().Size())
	}), long, long[:1]).Export("module").
		NewFunctionBuilder().WithFunc(edges.Typed).Export("typed").
		NewFunctionBuilder().WithFunc(edges.Mixed).Export("mixed").
		NewFunctionBuilder().WithGoFunction(same, externRef, externRef).Export("extern").
		NewFunctionBuilder().WithGoFunction(same, funcRef, funcRef).Export("func").
		Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	mod, err := rt.Instantiate(ctx, wasm)
	return wazeroGuest{wazeroInstance{mod}, rt}, err
}

type wazeroInstance struct{ mod api.Module }

func (i wazeroInstance) Func(name string) (edges.Func, error) {
	f := i.mod.ExportedFunction(name)
	if f == nil {
		return edges.Func{}, fmt.Errorf("no function %s", name)
	}
	return edges.Func{Raw: f.CallWithStack, Call: func(ctx context.Context) error {
		_, err := f.Call(ctx, 1, 2)
		return err
	}}, nil
}

func (i wazeroInstance) Close() error { return i.mod.Close(context.Background()) }

type wazeroGuest struct {
	wazeroInstance
	rt wazero.Runtime
}

var value = "a value"

func (wazeroGuest) Ref(kind string) (uint64, error) {
	if kind == "extern" {
		return uint64(uintptr(unsafe.Pointer(&value))), nil
	}
	return 0, nil // null: Go cannot get another one
}

func (g wazeroGuest) Close() error { return g.rt.Close(context.Background()) }

// wazeroProgram is a compiled module.
type wazeroProgram struct {
	rt  wazero.Runtime
	mod wazero.CompiledModule
	// cache is a folder with the compiled module.
	cache string
	wasm  []byte
}

func (wazeroEngine) Program(wasm []byte) (edges.Program, error) {
	ctx := context.Background()
	p := &wazeroProgram{rt: wazero.NewRuntimeWithConfig(ctx, wazeroConfig(false)), wasm: wasm}
	_, err := wasi_snapshot_preview1.Instantiate(ctx, p.rt)
	if err != nil {
		return nil, err
	}
	nothing := api.GoFunc(func(context.Context, []uint64) {})
	_, err = p.rt.NewHostModuleBuilder("bench").
		NewFunctionBuilder().WithGoFunction(nothing, nil, nil).Export("start").
		NewFunctionBuilder().WithGoFunction(nothing, nil, nil).Export("end").Instantiate(ctx)
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
func (p *wazeroProgram) Load() error {
	ctx := context.Background()
	cache, err := wazero.NewCompilationCacheWithDir(p.cache)
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, wazeroConfig(false).WithCompilationCache(cache))
	if _, err := rt.CompileModule(ctx, p.wasm); err != nil {
		return err
	}
	if err := rt.Close(ctx); err != nil {
		return err
	}
	return cache.Close(ctx)
}

func (p *wazeroProgram) Close() error {
	p.rt.Close(context.Background())
	return os.RemoveAll(p.cache)
}

func (p *wazeroProgram) Instantiate(wasi bool, stdout *os.File) (edges.Instance, error) {
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if wasi {
		c = c.WithArgs("program").WithSysWalltime().WithSysNanotime()
		if stdout != nil {
			c = c.WithStdout(stdout)
		} else {
			c = c.WithStdout(&bytes.Buffer{})
		}
	}
	mod, err := p.rt.InstantiateModule(context.Background(), p.mod, c)
	return wazeroInstance{mod}, err
}
