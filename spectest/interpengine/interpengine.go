// Package interpengine runs the test scripts on the CLIF interpreter: decoder,
// validator, translation, CLIF verifier and interpreter are under test.
//
// Place in the pipeline: beside it: an engine for package spectest.
//
// Input: Wasm modules.
// Output: their behaviour.
package interpengine

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Engine is the interpreter.
type Engine struct {
	// Rewrite, if not nil, changes each function after translation; the result
	// is verified again.
	Rewrite func(*clif.Func) error
	// Translation is what operators become (compile.Options.Translation).
	Translation translate.Options
	// Label is added to the name.
	Label   string
	Options interp.Options
}

// Name is "interp", and the label.
func (e *Engine) Name() string { return "interp" + e.Label }

// Features returns the default set.
func (e *Engine) Features() wasmfront.Features {
	return wasmfront.DefaultFeatures
}

// NewStore returns an empty store.
func (e *Engine) NewStore() (spectest.Store, error) {
	return &store{e, interp.NewStore(e.Options)}, nil
}

// FuelLeft returns how much fuel the store has left.
func (s *store) FuelLeft() int64 { return max(0, s.Fuel) }

type store struct {
	engine *Engine
	*interp.Store
}

// Module is a translated module; functions are by index, nil if imported.
type Module struct {
	Decl  *clif.Module
	Funcs []*clif.Func
}

// Body returns a function of m: an interp.Provider.
func (m *Module) Body(i clif.FuncIndex) (*clif.Func, error) {
	if f := m.Funcs[i]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("function %d has no body", i)
}

// Translate decodes, validates, translates and verifies a whole module. Errors
// about the module are *wasmfront.Error; others are bugs.
func (e *Engine) Translate(wasm []byte) (*Module, error) {
	m, err := validate.Module(wasm, validate.Config{Features: e.Features()})
	if err != nil {
		return nil, validate.Reason(wasm, err)
	}
	cm := translate.Module(m, m.DecodeNames())
	tr := translate.New(m, cm)
	tr.Options = e.Translation
	out := &Module{Decl: cm, Funcs: make([]*clif.Func, len(cm.Funcs))}
	for i := m.NumImportedFuncs; i < uint32(len(cm.Funcs)); i++ {
		f := new(clif.Func)
		if clif.FuncIndex(i) == cm.InitFunc() {
			tr.Init(f)
		} else if err := tr.Func(f, i); err != nil {
			return nil, validate.Reason(wasm, err)
		}
		if err := e.check(f); err != nil {
			return nil, err
		}
		out.Funcs[i] = f
	}
	return out, nil
}

func (e *Engine) check(f *clif.Func) error {
	if err := verify.Func(f); err != nil {
		return err
	}
	if e.Rewrite == nil {
		return nil
	}
	if err := e.Rewrite(f); err != nil {
		return err
	}
	return verify.Func(f)
}

func (s *store) Compile(wasm []byte) (spectest.Module, error) {
	m, err := s.engine.Translate(wasm)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (s *store) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	mod := m.(*Module)
	inst, err := s.Store.Instantiate(mod.Decl, mod.Body, func(module, name string) (interp.Extern, bool) {
		e, ok := imports(module, name)
		if !ok {
			return nil, false
		}
		return e.(interp.Extern), true
	})
	if err != nil {
		return nil, err
	}
	return instance{inst}, nil
}

func (s *store) NewFunc(sig clif.Signature, fn func(args, results []uint64)) (spectest.Extern, error) {
	return s.NewHostFunc("host", sig, func(_ *interp.HostCall, args, results []uint64) error {
		fn(args, results)
		return nil
	}), nil
}

func (s *store) NewGlobal(t clif.Type, mutable bool, bits uint64) (spectest.Extern, error) {
	return &interp.Global{Type: t, Mutable: mutable, Bits: bits}, nil
}

func (s *store) NewMemory(min, max uint64) (spectest.Extern, error) {
	return interp.NewMemory(min, max, true), nil
}

func (s *store) NewTable(elem clif.Type, min, max uint64) (spectest.Extern, error) {
	return interp.NewTable(elem, min, max, true), nil
}

func (s *store) ExternRef(n uint64) uint64 { return s.Store.ExternRef(n) }

func (s *store) ExternNumber(ref uint64) (uint64, bool) {
	n, ok := s.Store.ExternValue(ref).(uint64)
	return n, ok
}

func (s *store) Close() error { return nil }

type instance struct{ *interp.Instance }

func (i instance) Export(name string) (spectest.Extern, bool) {
	e, ok := i.Instance.Export(name)
	return e, ok
}

func (i instance) FuncType(name string) (*clif.Signature, bool) {
	if f, ok := i.function(name); ok {
		return f.Signature(), true
	}
	return nil, false
}

func (i instance) function(name string) (*interp.Function, bool) {
	e, _ := i.Instance.Export(name)
	f, ok := e.(*interp.Function)
	return f, ok
}

func (i instance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	f, ok := i.function(name)
	if !ok {
		return nil, fmt.Errorf("no function %q", name)
	}
	words, err := f.Call(args)
	if err != nil {
		return nil, err
	}
	return spectest.Values(f.Signature().Results, words), nil
}

func (i instance) Get(name string) (spectest.Value, error) {
	e, _ := i.Instance.Export(name)
	g, ok := e.(*interp.Global)
	if !ok {
		return spectest.Value{}, fmt.Errorf("no global %q", name)
	}
	return spectest.Value{Type: g.Type, Bits: g.Bits, High: g.High}, nil
}
