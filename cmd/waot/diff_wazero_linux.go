package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/wasi"
	"github.com/waot-project/waot/wasmfront"
)

// runWazero runs the calls under wazero, with waot's WASI. memory is the name of the
// exported memory to compare, or empty. Instantiation and calls may take no longer than limit.
func runWazero(limit time.Duration, bin []byte, cfg wasirun.Options, calls []call, at observed, interpreter bool) (*execution, error) {
	var stdout, stderr bytes.Buffer
	o := &execution{Engine: "wazero"}
	rc := wazero.NewRuntimeConfigCompiler()
	if interpreter {
		o.Engine, rc = "wazero interpreter", wazero.NewRuntimeConfigInterpreter()
	}
	imported := &answers{}
	defer func() {
		o.Stdout, o.Stderr = hashOf(stdout.Bytes()), hashOf(stderr.Bytes())
		imported.note(o)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(untouched))
	rc = rc.WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesTypedFunctionReferences | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExceptionHandling).WithCloseOnContextDone(true)
	if limit := memoryLimit(bin); limit < abi.MaxMemoryPages {
		rc = rc.WithMemoryLimitPages(limit)
	}
	rt := wazero.NewRuntimeWithConfig(ctx, rc)
	defer rt.Close(context.Background())
	w, err := wasiUnderWazero(ctx, rt, fixed(cfg, &stdout, &stderr))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := imported.underWazero(ctx, rt, bin); err != nil {
		return nil, err
	}
	own, lent, err := owned(bin)
	if err != nil {
		return nil, err
	}
	mod, err := rt.InstantiateWithConfig(ctx, own, wazero.NewModuleConfig().WithName(moduleName).WithStartFunctions("_initialize"))
	if err != nil {
		one := callError(err)
		if one == nil {
			return nil, fmt.Errorf("wazero: %w", err)
		}
		o.Start = one.String()
		return o, nil
	}
	for i := range calls {
		f := mod.ExportedFunction(calls[i].name)
		if f == nil {
			return nil, fmt.Errorf("wazero: no exported function %q", calls[i].name)
		}
		t := meta.FuncType{Params: wasmTypes(f.Definition().ParamTypes()), Results: wasmTypes(f.Definition().ResultTypes())}
		one := &callOutcome{}
		results, err := f.Call(ctx, calls[i].args...)
		if err != nil {
			if one = callError(err); one == nil {
				return nil, fmt.Errorf("wazero: %w", err)
			}
		} else {
			one.Results = formatValues(t.Results, results)
		}
		one.Call = calls[i].describe(&t)
		o.Calls = append(o.Calls, *one)
	}
	// The first exported memory, as on our side.
	if m := mod.ExportedMemory(cmp.Or(lent.memory, at.memory)); m != nil {
		if b, ok := m.Read(0, m.Size()); ok {
			o.Memory = hashOf(b)
		}
	}
	note := func(name, export string) error {
		g := mod.ExportedGlobal(export)
		words := []uint64{g.Get()}
		if abi.ValTypeByCode(g.Type()) == meta.V128 {
			if words, err = vectorOf(ctx, rt, export, g); err != nil {
				return fmt.Errorf("wazero: %w", err)
			}
		}
		o.Globals = append(o.Globals, globalOutcome{name, formatValue(abi.ValTypeByCode(g.Type()), words)})
		return nil
	}
	for _, name := range at.globals {
		if err := note(name, name); err != nil {
			return nil, err
		}
	}
	for _, name := range lent.globals {
		if err := note(name, ownGlobal+name); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// untouchedMemory is all that a memory may become, of which the kernel makes a page when it is touched: wazero's own memories are cleared and copied
// when they grow, which takes seconds for some gigabytes.
type untouchedMemory []byte

func untouched(_, most uint64) experimental.LinearMemory {
	m, err := syscall.Mmap(-1, 0, int(max(most, abi.PageSize)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		m = nil // Reallocate says so
	}
	return untouchedMemory(m)
}

// Reallocate returns the memory with a size in bytes, or nil if there is none.
func (m untouchedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m)) {
		return nil
	}
	return m[:size:size]
}

// Free gives the memory back.
func (m untouchedMemory) Free() {
	if m != nil {
		_ = syscall.Munmap(m)
	}
}

// memoryLimit returns how large a memory gets, in pages, if a module has one that states no maximum: the specification leaves that open, and
// wazero's ends where waot's does. What a module states holds by itself.
func memoryLimit(bin []byte) uint32 {
	m, err := wasmfront.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil || len(m.Memories) == 0 || m.Memories[0].HasMax {
		return abi.MaxMemoryPages
	}
	return uint32(abi.MemoryLimit(m.Memories[0].Min))
}

// moduleName is the name under which wazero has the module, for vectorOf.
const moduleName = "compared"

// vectorOf returns both halves of an exported global of type v128, low first. wazero's API gives only the low half of one,
// so a module that imports the global gets it.
func vectorOf(ctx context.Context, rt wazero.Runtime, name string, g api.Global) ([]uint64, error) {
	mutable := "\x00"
	if _, ok := g.(api.MutableGlobal); ok {
		mutable = "\x01"
	}
	sized := func(s string) string { return string(binary.AppendUvarint(nil, uint64(len(s)))) + s }
	section := func(id, item string) string { return id + sized("\x01"+item) }
	getter := "\x00asm\x01\x00\x00\x00" +
		section("\x01", "\x60\x00\x01\x7b") + // a function without parameters and with a v128 as its result
		section("\x02", sized(moduleName)+sized(name)+"\x03\x7b"+mutable) +
		section("\x03", "\x00") +
		section("\x07", sized("get")+"\x00\x00") +
		section("\x0a", sized("\x00\x23\x00\x0b")) // global.get 0
	mod, err := rt.InstantiateWithConfig(ctx, []byte(getter), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, err
	}
	return mod.ExportedFunction("get").Call(ctx)
}

// stackOverflow is what wazero says when its stack is used up.
const stackOverflow = "stack overflow"

// callError returns a trap, exception or exit of wazero; nil if it is none of them.
func callError(err error) *callOutcome {
	var exit *wasi.ExitError
	var theirs *sys.ExitError
	switch {
	case errors.As(err, &exit):
		return &callOutcome{Exit: &exit.Code}
	case errors.As(err, &theirs) && theirs.ExitCode() != sys.ExitCodeDeadlineExceeded:
		code := theirs.ExitCode()
		return &callOutcome{Exit: &code}
	}
	_, msg, ok := strings.Cut(err.Error(), "wasm error: ")
	switch {
	case strings.HasPrefix(err.Error(), stackOverflow): // of its compiler alone, without a backtrace
		msg = err.Error()
	case !ok:
		return nil
	}
	line, _, _ := strings.Cut(msg, "\n")
	if line == "uncaught exception" {
		return &callOutcome{Exception: unknownException}
	}
	return &callOutcome{Trap: line}
}

// wasiOptions are the options as package wasi takes them.
func wasiOptions(o *wasirun.Options) *wasi.Options {
	wc := &wasi.Options{Args: o.Args, Env: o.Env, Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		Walltime: o.Walltime, Monotonic: o.Monotonic, Rand: o.Rand}
	for _, d := range o.Dirs {
		wc.Preopens = append(wc.Preopens, wasi.Preopen{Guest: d.Guest, Host: d.Host, ReadOnly: d.ReadOnly, Devices: d.Devices})
	}
	return wc
}

// wasiUnderWazero instantiates waot's WASI as a host module.
func wasiUnderWazero(ctx context.Context, rt wazero.Runtime, o *wasirun.Options) (*wasi.Context, error) {
	w, err := wasi.New(wasiOptions(o))
	if err != nil {
		return nil, err
	}
	b := rt.NewHostModuleBuilder(wasi.ModuleName)
	for _, f := range wasi.Functions() {
		run := api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
			var mem []byte
			if m := mod.ExportedMemory("memory"); m != nil { // Memory() is not nil even if there is none
				mem, _ = m.Read(0, m.Size())
			}
			errno, err := f.Call(w, mem, stack)
			if err != nil {
				panic(err)
			}
			if f.Results != "" {
				stack[0] = uint64(errno)
			}
		})
		params, results := wasi.Types(&f, api.ValueTypeI32, api.ValueTypeI64)
		b.NewFunctionBuilder().WithGoModuleFunction(run, params, results).Export(f.Name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// underWazero instantiates the stand-ins for a module as host modules.
func (a *answers) underWazero(ctx context.Context, rt wazero.Runtime, bin []byte) error {
	list, err := standInsOf(bin)
	if err != nil {
		return err
	}
	builders := map[string]wazero.HostModuleBuilder{}
	for i := range list {
		s := &list[i]
		b := builders[s.module]
		if b == nil {
			if s.module == "" {
				return errors.New("wazero has no modules without a name, as one is imported")
			}
			b = rt.NewHostModuleBuilder(s.module)
			builders[s.module] = b
		}
		words := 0
		for _, t := range s.params {
			words += t.Words()
		}
		run := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
			a.answer(s, slices.Clone(stack[:words]), stack)
		})
		b.NewFunctionBuilder().WithGoModuleFunction(run, apiTypes(s.params), apiTypes(s.results)).Export(s.name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("wazero: %w", err)
		}
	}
	return nil
}

// apiTypes is the inverse of wasmTypes.
func apiTypes(ts []meta.ValType) []api.ValueType {
	var out []api.ValueType
	for _, t := range ts {
		out = append(out, t.Code())
	}
	return out
}

// wasmTypes returns the types that wazero has by their codes in the binary format.
func wasmTypes(ts []api.ValueType) []meta.ValType {
	var out []meta.ValType
	for _, t := range ts {
		out = append(out, abi.ValTypeByCode(t))
	}
	return out
}
