package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/internal/proof/stress/guest"
	"github.com/waot-project/waot/wasmfront"
)

// modules are the inputs.
type modules struct {
	costs, small, system, large []byte
	largeName                   string
}

func findModules() (*modules, error) {
	m := &modules{costs: guest.Costs(), small: guest.Small(), system: guest.System()}
	if dir := os.Getenv("WAOT_BENCH_DIR"); dir != "" {
		b, err := os.ReadFile(filepath.Join(dir, "sqlite3", "sqlite3.wasm"))
		m.large, m.largeName = b, "sqlite3"
		return m, err
	}
	dir, err := os.MkdirTemp("", "waot-costs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "report.wasm")
	cmd := exec.Command("go", "build", "-o", out, "github.com/waot-project/waot/examples/report")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	m.largeName = "a Go program"
	m.large, err = os.ReadFile(out)
	return m, err
}

// The host functions of guest.Costs, for both engines.
func typed(a, b int64) int64                  { return a + b }
func mixed(a int32, b int64, f float64) int64 { return int64(a) + b + int64(f) }

func rawSame(_ *waot.Caller, args, results []uint64) error { results[0] = args[0]; return nil }

// waotGuest is an instance of guest.Costs.
type waotGuest struct {
	store *waot.Store
	inst  *waot.Instance
}

func newWaotGuest(wasm []byte) (*waotGuest, error) {
	mod, err := waot.Compile(wasm, nil)
	if err != nil {
		return nil, err
	}
	g := &waotGuest{}
	if g.store, err = waot.NewStore(nil); err != nil {
		return nil, err
	}
	long := []waot.ValType{waot.TypeI64, waot.TypeI64}
	g.inst, err = g.store.Instantiate(nil, mod, waot.Imports{"env": {
		"raw": waot.RawFunc{Params: long, Results: long[:1], Func: func(_ *waot.Caller, args, results []uint64) error {
			results[0] = args[0] + args[1]
			return nil
		}},
		"module": waot.RawFunc{Params: long, Results: long[:1], Func: func(c *waot.Caller, args, results []uint64) error {
			results[0] = args[0] + args[1] + c.Memory().Size()
			return nil
		}},
		"typed":  typed,
		"mixed":  mixed,
		"extern": waot.RawFunc{Params: []waot.ValType{waot.TypeExternRef}, Results: []waot.ValType{waot.TypeExternRef}, Func: rawSame},
		"func":   waot.RawFunc{Params: []waot.ValType{waot.TypeFuncRef}, Results: []waot.ValType{waot.TypeFuncRef}, Func: rawSame},
	}})
	return g, err
}

// wazeroGuest is an instance of guest.Costs.
type wazeroGuest struct {
	rt  wazero.Runtime
	mod api.Module
}

// newWazeroGuest makes one whose calls end with their context, or not.
func newWazeroGuest(wasm []byte, close bool) (*wazeroGuest, error) {
	ctx := context.Background()
	g := &wazeroGuest{rt: wazero.NewRuntimeWithConfig(ctx, wazeroConfig(close))}
	long := []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}
	same := api.GoFunc(func(context.Context, []uint64) {})
	externRef, funcRef := []api.ValueType{api.ValueTypeExternref}, []api.ValueType{wasmfront.FuncRef.Code()}
	_, err := g.rt.NewHostModuleBuilder("env").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
		stack[0] += stack[1]
	}), long, long[:1]).Export("raw").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
		stack[0] += stack[1] + uint64(mod.Memory().Size())
	}), long, long[:1]).Export("module").
		NewFunctionBuilder().WithFunc(typed).Export("typed").
		NewFunctionBuilder().WithFunc(mixed).Export("mixed").
		NewFunctionBuilder().WithGoFunction(same, externRef, externRef).Export("extern").
		NewFunctionBuilder().WithGoFunction(same, funcRef, funcRef).Export("func").
		Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	g.mod, err = g.rt.Instantiate(ctx, wasm)
	return g, err
}

func wazeroConfig(close bool) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(close)
}

// waotProgram is a module with WASI, compiled.
type waotProgram struct {
	mod    *waot.Module
	object []byte
}

func newWaotProgram(wasm []byte) (p *waotProgram, err error) {
	p = &waotProgram{}
	if p.object, err = waot.CompileObject(wasm, nil); err == nil {
		p.mod, err = waot.Load(p.object, nil)
	}
	return p, err
}

// waotInstance is an instance with what it needs.
type waotInstance struct {
	store *waot.Store
	sys   *waot.WASI
	inst  *waot.Instance
}

// instantiate makes an instance in a store of its own, the way to have one that can be dropped.
func (p *waotProgram) instantiate(wasi bool, stdout *os.File) (*waotInstance, error) {
	i := &waotInstance{}
	var err error
	if i.store, err = waot.NewStore(nil); err != nil {
		return nil, err
	}
	var imports waot.Imports
	if wasi {
		c := &waot.WASIOptions{Args: []string{"program"}}
		if stdout != nil {
			c.Stdout = stdout
		}
		if i.sys, err = waot.NewWASI(c); err != nil {
			return nil, err
		}
		imports = i.sys.Imports()
		imports["bench"] = map[string]any{"start": func() {}, "end": func() {}} // for modules of the suite
	}
	i.inst, err = i.store.Instantiate(nil, p.mod, imports)
	return i, err
}

// reset makes the instance new, after some pages of its memory have been written.
func (i *waotInstance) reset() error {
	if memory, err := i.inst.Memory("memory"); err == nil {
		for page := uint64(0); page < 20 && page*40_000 < memory.Size(); page++ {
			memory.WriteUint8(uint32(page*40_000), 1)
		}
	}
	if err := i.store.Reset(nil); err != nil || i.sys == nil {
		return err
	}
	return i.sys.Reset()
}

func (i *waotInstance) close() error {
	if i.sys != nil {
		if err := i.sys.Close(); err != nil {
			return err
		}
	}
	return i.store.Close()
}

// wazeroProgram is the same with wazero.
type wazeroProgram struct {
	rt  wazero.Runtime
	mod wazero.CompiledModule
	// cache is a folder with the compiled module.
	cache string
	wasm  []byte
}

func newWazeroProgram(wasm []byte) (*wazeroProgram, error) {
	ctx := context.Background()
	p := &wazeroProgram{rt: wazero.NewRuntimeWithConfig(ctx, wazeroConfig(false)), wasm: wasm}
	_, err := wasi_snapshot_preview1.Instantiate(ctx, p.rt)
	if err != nil {
		return nil, err
	}
	_, err = p.rt.NewHostModuleBuilder("bench").NewFunctionBuilder().WithFunc(func() {}).Export("start").
		NewFunctionBuilder().WithFunc(func() {}).Export("end").Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	if p.mod, err = p.rt.CompileModule(ctx, wasm); err != nil {
		return nil, err
	}
	if p.cache, err = os.MkdirTemp("", "waot-costs"); err != nil {
		return nil, err
	}
	return p, p.load()
}

// load compiles the module out of the cache.
func (p *wazeroProgram) load() error {
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

func (p *wazeroProgram) close() {
	p.rt.Close(context.Background())
	os.RemoveAll(p.cache)
}

func (p *wazeroProgram) instantiate(wasi bool, stdout *os.File) (api.Module, error) {
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if wasi {
		c = c.WithArgs("program").WithSysWalltime().WithSysNanotime()
		if stdout != nil {
			c = c.WithStdout(stdout)
		} else {
			c = c.WithStdout(&bytes.Buffer{})
		}
	}
	return p.rt.InstantiateModule(context.Background(), p.mod, c)
}
