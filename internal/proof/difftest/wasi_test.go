//go:build linux

package difftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/wasi"
)

// run is a way to run a WASI program, or to call what a library exports.
type run struct {
	args   []string // the program's arguments, its name first
	env    []string
	stdin  string
	dirs   []wasirun.Dir
	export string // what to call, such as _start
	params []uint64
}

func (r *run) String() string {
	if r.export != "_start" {
		return fmt.Sprintf("%s(%#x)", r.export, r.params)
	}
	return strings.Join(r.args, " ")
}

// effects is all that a run does.
type effects struct {
	Stdout, Stderr string
	Status         uint32
	Trap           string
	Results        string
	Memory         []byte
}

// config gives a run everything it may see, the same each time.
func (r *run) config(stdout, stderr *bytes.Buffer) *wasirun.Options {
	var wall, mono int64 = 1_700_000_000_000_000_000, 0
	return &wasirun.Options{
		Args: r.args, Env: r.env, Dirs: r.dirs, Stdin: strings.NewReader(r.stdin), Stdout: stdout, Stderr: stderr,
		Walltime:  func() int64 { wall += 1000; return wall },
		Monotonic: func() int64 { mono += 1_000_000; return mono },
		Rand:      &counter{},
	}
}

// counter is random numbers that are none.
type counter struct{ n uint64 }

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		c.n = c.n*6364136223846793005 + 1442695040888963407
		b[i] = byte(c.n >> 56)
	}
	return len(b), nil
}

// nativeModule compiles a module, with every check on.
func nativeModule(wasm []byte, level opt.Level) (*host.Module, error) {
	return nativeFor(wasm, compile.Options{OptLevel: level, Verify: true})
}

func nativeFor(wasm []byte, options compile.Options) (*host.Module, error) {
	r, err := compile.Module(wasm, options)
	if err != nil {
		return nil, err
	}
	var elf bytes.Buffer
	if err := r.WriteELF(&elf); err != nil {
		return nil, err
	}
	return host.Load(elf.Bytes(), nil)
}

// native runs compiled code.
func (r *run) native(mod *host.Module) (*effects, error) {
	var stdout, stderr bytes.Buffer
	e := &effects{}
	bench := host.Imports{"bench": {"start": func() {}, "end": func() {}}}
	p, err := wasirun.New(nil, mod, r.config(&stdout, &stderr), bench)
	if err == nil {
		defer p.Close()
		err = r.invoke(p, e)
		if m, err := p.Instance().Memory("memory"); err == nil {
			e.Memory = bytes.Clone(m.Bytes())
		}
	}
	e.Stdout, e.Stderr = stdout.String(), stderr.String()
	var exit *wasirun.ExitError
	var trap *host.Trap
	var thrown *host.Exception
	switch {
	case errors.As(err, &exit):
		e.Status = exit.Code
	case errors.As(err, &trap):
		e.Trap = randprog.TrapWords(abi.TrapCode(trap.Code))
	case errors.As(err, &thrown):
		e.Trap = "uncaught exception"
	case err != nil:
		return nil, err
	}
	return e, nil
}

func (r *run) invoke(p *wasirun.Program, e *effects) error {
	f, err := p.Instance().Func(r.export)
	if err != nil {
		return err
	}
	// wazero takes any number for a reference; here each stands for a value of the store.
	store, params := p.Instance().Store(), slices.Clone(r.params)
	word := 0
	for _, t := range f.Type().Params {
		if t == host.TypeExternRef {
			if params[word], err = store.ExternRef(params[word]); err != nil {
				return err
			}
		}
		word += wordsOf(t)
	}
	results := 0
	for _, t := range f.Type().Results {
		results += wordsOf(t)
	}
	stack := append(params, make([]uint64, results)...)
	if err := f.CallRaw(nil, stack); err != nil {
		return err
	}
	stack = stack[:results]
	word = 0
	for _, t := range f.Type().Results {
		if t == host.TypeExternRef && stack[word] != 0 {
			stack[word] = store.Extern(stack[word]).(uint64)
		}
		word += wordsOf(t)
	}
	if results > len(f.Type().Results) { // wazero clears upper halves by the number of the result, not of the word
		for i, t := range f.Type().Results {
			if t == host.TypeI32 || t == host.TypeF32 {
				stack[i] = uint64(uint32(stack[i]))
			}
		}
	}
	e.Results = fmt.Sprintf("%x", stack)
	return nil
}

// wordsOf is how many words a value takes in the arguments of a call.
func wordsOf(t host.ValType) int {
	if t == host.TypeV128 {
		return 2
	}
	return 1
}

// wazero runs the module under wazero, with our WASI, so that only the engines differ.
func (r *run) wazero(ctx context.Context, wasm []byte, rc wazero.RuntimeConfig) (*effects, error) {
	var stdout, stderr bytes.Buffer
	e := &effects{}
	rt := wazero.NewRuntimeWithConfig(ctx, rc.WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesTypedFunctionReferences|experimental.CoreFeaturesTailCall|experimental.CoreFeaturesExceptionHandling))
	defer rt.Close(ctx)
	w, err := wasiModule(ctx, rt, r.config(&stdout, &stderr))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	mark := func() {}
	_, err = rt.NewHostModuleBuilder("bench").NewFunctionBuilder().WithFunc(mark).Export("start").NewFunctionBuilder().WithFunc(mark).Export("end").Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	mod, err := rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err == nil {
		var results []uint64
		f := mod.ExportedFunction(r.export)
		if results, err = f.Call(ctx, r.params...); err == nil {
			for i, t := range f.Definition().ResultTypes() {
				if t == api.ValueTypeI32 || t == api.ValueTypeF32 {
					results[i] = uint64(uint32(results[i]))
				}
			}
			e.Results = fmt.Sprintf("%x", results)
		}
		if m := mod.ExportedMemory("memory"); m != nil {
			b, _ := m.Read(0, m.Size())
			e.Memory = bytes.Clone(b)
		}
	}
	e.Stdout, e.Stderr = stdout.String(), stderr.String()
	var exit *wasi.ExitError
	var theirs *sys.ExitError
	switch {
	case errors.As(err, &exit):
		e.Status = exit.Code
	case errors.As(err, &theirs):
		e.Status = theirs.ExitCode()
	case err != nil:
		trap, err := randprog.WazeroTrap(err)
		if err != nil {
			return nil, err
		}
		e.Trap = strings.TrimPrefix(trap, randprog.TrapPrefix)
	}
	return e, nil
}

// wasiModule makes our WASI a host module of wazero.
func wasiModule(ctx context.Context, rt wazero.Runtime, cfg *wasirun.Options) (*wasi.Context, error) {
	wc := &wasi.Options{Args: cfg.Args, Env: cfg.Env, Stdin: cfg.Stdin, Stdout: cfg.Stdout, Stderr: cfg.Stderr,
		Walltime: cfg.Walltime, Monotonic: cfg.Monotonic, Rand: cfg.Rand}
	for _, d := range cfg.Dirs {
		wc.Preopens = append(wc.Preopens, wasi.Preopen{Guest: d.Guest, Host: d.Host, ReadOnly: d.ReadOnly})
	}
	w, err := wasi.New(wc)
	if err != nil {
		return nil, err
	}
	b := rt.NewHostModuleBuilder(wasi.ModuleName)
	for _, f := range wasi.Functions() {
		call := api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
			var mem []byte
			if m := mod.ExportedMemory("memory"); m != nil {
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
		b.NewFunctionBuilder().WithGoModuleFunction(call, params, results).Export(f.Name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}
