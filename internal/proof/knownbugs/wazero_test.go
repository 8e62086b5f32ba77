package knownbugs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// wazeroEngine runs modules on wazero's interpreter. Of the host, modules can import functions only.
type wazeroEngine struct{}

func (wazeroEngine) Name() string { return "wazero" }

// Features implements spectest.Engine: a module has one memory.
func (wazeroEngine) Features() wasmfront.Features {
	return wasmfront.DefaultFeatures &^ wasmfront.FeatureMultiMemory
}

func (wazeroEngine) NewStore() (spectest.Store, error) {
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesTypedFunctionReferences | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExceptionHandling)
	return &wazeroStore{rt: wazero.NewRuntimeWithConfig(context.Background(), config)}, nil
}

// wazeroTraps are the codes of traps that wazero has one message for.
var wazeroTraps = map[abi.TrapCode]abi.TrapCode{abi.TrapUndefinedElement: abi.TrapTableOutOfBounds, abi.TrapUninitializedElement: abi.TrapTableOutOfBounds}

// wazeroTrap is a trap of wazero.
type wazeroTrap struct {
	error
	code abi.TrapCode
}

func (t wazeroTrap) TrapCode() abi.TrapCode { return t.code }

// wazeroError makes an error of wazero a trap if it is one.
func wazeroError(err error) error {
	_, text, ok := strings.Cut(err.Error(), "wasm error: ")
	if !ok && strings.HasPrefix(err.Error(), "data[") { // a segment that does not fit
		_, text, ok = strings.Cut(err.Error(), "]: ")
	}
	if !ok {
		return err
	}
	switch text, _, _ = strings.Cut(text, "\n"); text {
	case "invalid table access":
		return wazeroTrap{err, abi.TrapTableOutOfBounds}
	case "stack overflow":
		return wazeroTrap{err, abi.TrapStackOverflow}
	}
	for code := abi.TrapNone + 1; code < abi.NumTrapCodes; code++ {
		if code.Message() == text {
			return wazeroTrap{err, code}
		}
	}
	return err
}

type wazeroStore struct {
	spectest.Store // nil: for the methods that nothing calls
	rt             wazero.Runtime
}

// wazeroModule is a compiled module.
type wazeroModule struct {
	code wazero.CompiledModule
	decl *wasmfront.Module
}

// wazeroExtern is what a module exports by a name.
type wazeroExtern struct {
	owner api.Module
	name  string
}

// wazeroFunc is a function of the host.
type wazeroFunc struct {
	sig clif.Signature
	fn  func(args, results []uint64)
}

func (s *wazeroStore) Close() error { return s.rt.Close(context.Background()) }

func (s *wazeroStore) Compile(wasm []byte) (spectest.Module, error) {
	decl, err := validate.Module(wasm, validate.Config{})
	if err != nil {
		return nil, err
	}
	code, err := s.rt.CompileModule(context.Background(), wasm)
	if err != nil {
		return nil, err
	}
	return wazeroModule{code, decl}, nil
}

func (s *wazeroStore) NewFunc(sig clif.Signature, fn func(args, results []uint64)) (spectest.Extern, error) {
	return wazeroFunc{sig, fn}, nil
}

func (s *wazeroStore) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	mod := m.(wazeroModule)
	modules, err := s.resolve(mod.decl, imports)
	if err != nil {
		return nil, err
	}
	ctx := experimental.WithImportResolver(context.Background(), func(name string) api.Module { return modules[name] })
	inst, err := s.rt.InstantiateModule(ctx, mod.code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, wazeroError(err)
	}
	return wazeroInstance{inst, mod.decl}, nil
}

// resolve finds the modules that a module imports from: wazero knows no other way to satisfy an import. Functions of the host become a
// module that wazero finds by its name.
func (s *wazeroStore) resolve(decl *wasmfront.Module, imports func(module, name string) (spectest.Extern, bool)) (map[string]api.Module, error) {
	modules, hosts := map[string]api.Module{}, map[string]wazero.HostModuleBuilder{}
	for i := range decl.Imports {
		from, name := decl.Imports[i].Module, decl.Imports[i].Name
		x, ok := imports(from, name)
		if !ok {
			return nil, fmt.Errorf("unknown import %s.%s", from, name)
		}
		switch x := x.(type) {
		case wazeroExtern:
			if other := modules[from]; other != nil && other != x.owner || x.name != name {
				return nil, fmt.Errorf("import %s.%s is of another module, or has another name there", from, name)
			}
			modules[from] = x.owner
		case wazeroFunc:
			if hosts[from] == nil {
				hosts[from] = s.rt.NewHostModuleBuilder(from)
			}
			hosts[from].NewFunctionBuilder().WithGoFunction(x.function(), wazeroTypes(x.sig.Params), wazeroTypes(x.sig.Results)).Export(name)
		}
	}
	for from, b := range hosts { // An error if another module had functions of the host with this name.
		if modules[from] != nil {
			return nil, fmt.Errorf("%s is the host, and another module", from)
		}
		if _, err := b.Instantiate(context.Background()); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

// function gives the function arguments whose upper halves, if they are of 32 bits, are zero: on wazero's stack they need not be.
func (f wazeroFunc) function() api.GoFunction {
	return api.GoFunc(func(_ context.Context, stack []uint64) {
		args := slices.Clone(stack[:len(f.sig.Params)])
		for i, t := range f.sig.Params {
			args[i] = zeroExtended(t, args[i])
		}
		f.fn(args, stack[:len(f.sig.Results)])
	})
}

func zeroExtended(t clif.Type, bits uint64) uint64 {
	if t == clif.I32 || t == clif.F32 {
		return uint64(uint32(bits))
	}
	return bits
}

// wazeroTypeCodes are wazero's types of values.
var wazeroTypeCodes = map[clif.Type]api.ValueType{clif.I32: api.ValueTypeI32, clif.I64: api.ValueTypeI64, clif.F32: api.ValueTypeF32, clif.F64: api.ValueTypeF64,
	clif.FuncRef: 0x70, clif.Ref: api.ValueTypeExternref}

func wazeroTypes(types []clif.Type) (out []api.ValueType) {
	for _, t := range types {
		out = append(out, wazeroTypeCodes[t])
	}
	return out
}

// wazeroValue makes a value of what wazero gives for it.
func wazeroValue(code api.ValueType, bits uint64) (spectest.Value, error) {
	for t, c := range wazeroTypeCodes {
		if c == code {
			return spectest.Value{Type: t, Bits: zeroExtended(t, bits)}, nil
		}
	}
	return spectest.Value{}, fmt.Errorf("type %#x is not known", code)
}

type wazeroInstance struct {
	mod  api.Module
	decl *wasmfront.Module
}

func (i wazeroInstance) Export(name string) (spectest.Extern, bool) {
	for n := range i.decl.Exports {
		if i.decl.Exports[n].Name == name {
			return wazeroExtern{i.mod, name}, true
		}
	}
	return nil, false
}

// Bytes is the content of a memory.
func (x wazeroExtern) Bytes() []byte {
	m := x.owner.ExportedMemory(x.name)
	b, _ := m.Read(0, m.Size())
	return b
}

func (i wazeroInstance) FuncType(string) (*clif.Signature, bool) { return nil, false }

func (i wazeroInstance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	f := i.mod.ExportedFunction(name)
	if f == nil {
		return nil, fmt.Errorf("no function %q", name)
	}
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		return nil, wazeroError(err)
	}
	var values []spectest.Value
	for n, t := range f.Definition().ResultTypes() {
		v, err := wazeroValue(t, results[n])
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

func (i wazeroInstance) Get(name string) (spectest.Value, error) {
	g := i.mod.ExportedGlobal(name)
	if g == nil {
		return spectest.Value{}, errors.New("no global " + name)
	}
	return wazeroValue(g.Type(), g.Get())
}
