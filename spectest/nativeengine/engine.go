// Package nativeengine runs the test scripts on compiled code inside the
// process: the whole compiler, with the register-allocation checker on, and
// host/inproc are under test.
//
// Place in the pipeline: beside it: an engine for package spectest.
//
// Input: Wasm modules.
// Output: their behaviour.
package nativeengine

import (
	"context"
	"errors"
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront"
)

// Engine compiles with the given options.
type Engine struct {
	Options compile.Options
	// Config is that of stores.
	Config inproc.Config
	// Context ends calls and instantiations, if it is not nil.
	Context context.Context
	// Image, if not nil, takes the place of the compiler: it makes an image of what stores get as a module.
	Image func(module []byte) (*inproc.Image, error)
}

// New returns the engine at an optimisation level, with every check on.
func New(level opt.Level) *Engine {
	return &Engine{Options: compile.Options{OptLevel: level, Verify: true, Jobs: 1}}
}

// Name is "native-O" and the level.
func (e *Engine) Name() string { return fmt.Sprintf("native-O%d", e.Options.OptLevel) }

// Features returns the default set.
func (e *Engine) Features() wasmfront.Features { return wasmfront.DefaultFeatures }

// NewStore returns an empty store.
func (e *Engine) NewStore() (spectest.Store, error) {
	s, err := inproc.NewStore(e.Config)
	if err != nil {
		return nil, err
	}
	return &store{engine: e, s: s, refs: map[uint64]uint64{}}, nil
}

// FuelLeft returns how much fuel the store has left.
func (s *store) FuelLeft() int64 { return int64(s.s.Fuel()) }

type store struct {
	engine  *Engine
	s       *inproc.Store
	modules []*inproc.Module
	refs    map[uint64]uint64 // by number of a host object: its reference
}

// image returns what instances of a module are made of.
func (e *Engine) image(module []byte) (*inproc.Image, error) {
	if e.Image != nil {
		return e.Image(module)
	}
	r, err := compile.Module(module, e.Options)
	if err != nil {
		return nil, err
	}
	return load.Image(r.Object, r.Meta)
}

func (s *store) Compile(module []byte) (spectest.Module, error) {
	img, err := s.engine.image(module)
	if err != nil {
		return nil, err
	}
	m, err := inproc.Load(img)
	if err != nil {
		return nil, err
	}
	s.modules = append(s.modules, m)
	return m, nil
}

// trap gives a trap the method that spectest asks for.
type trap struct{ *inproc.Trap }

// Unwrap returns the trap with its backtrace.
func (t trap) Unwrap() error { return t.Trap }

func (t trap) TrapCode() abi.TrapCode { return t.Code }

// TrapPlace returns the function, and the offset of the operator, in the module.
func (t trap) TrapPlace() (fn, offset uint32) { return t.Func, t.Offset }

// unlinkable does the same for a link error.
type unlinkable struct{ *inproc.LinkError }

func (u unlinkable) Unlinkable() string { return u.Reason }

// thrown does the same for an exception.
type thrown struct{ *inproc.Exception }

func (thrown) Thrown() {}

func convert(err error) error {
	var x *inproc.Exception
	var t *inproc.Trap
	var l *inproc.LinkError
	switch {
	case errors.As(err, &t):
		return trap{t}
	case errors.As(err, &l):
		return unlinkable{l}
	case errors.As(err, &x):
		return thrown{x}
	}
	return err
}

func (s *store) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	i, err := s.s.InstantiateContext(s.engine.Context, m.(*inproc.Module), func(module, name string) inproc.Extern {
		if e, ok := imports(module, name); ok {
			return e.(inproc.Extern)
		}
		return nil
	})
	if err != nil {
		return nil, convert(err)
	}
	return instance{i, s.engine.Context}, nil
}

func (s *store) NewFunc(sig clif.Signature, fn func(args, results []uint64)) (spectest.Extern, error) {
	return s.s.NewHostFunc(sig.FuncType(), func(_ *inproc.Caller, args, results []uint64) error {
		fn(args, results)
		return nil
	})
}

func (s *store) NewGlobal(t clif.Type, mutable bool, bits uint64) (spectest.Extern, error) {
	return s.s.NewGlobal(t.ValType(), mutable, bits, 0)
}

func (s *store) NewMemory(min, max uint64) (spectest.Extern, error) {
	return s.s.NewMemory(inproc.Limits{Min: min, Max: max, HasMax: true})
}

func (s *store) NewTable(elem clif.Type, min, max uint64) (spectest.Extern, error) {
	return s.s.NewTable(elem.ValType(), inproc.Limits{Min: min, Max: max, HasMax: true})
}

func (s *store) ExternRef(n uint64) uint64 {
	r, ok := s.refs[n]
	if !ok {
		r = s.s.ExternRef(n)
		s.refs[n] = r
	}
	return r
}

func (s *store) ExternNumber(ref uint64) (uint64, bool) {
	n, ok := s.s.Extern(ref).(uint64)
	return n, ok
}

// IsRefTo reports whether a reference is of type t, which has no index.
func (s *store) IsRefTo(ref uint64, t abi.ValType) bool { return s.s.IsRefTo(ref, t) }

func (s *store) Close() error {
	s.s.Close()
	for _, m := range s.modules {
		m.Close()
	}
	return nil
}

type instance struct {
	*inproc.Instance
	ctx context.Context
}

func (i instance) Export(name string) (spectest.Extern, bool) {
	e, err := i.Instance.Export(name)
	return e, err == nil
}

func (i instance) FuncType(name string) (*clif.Signature, bool) {
	f, err := i.Func(name)
	if err != nil {
		return nil, false
	}
	t := f.Type()
	return &clif.Signature{Params: clif.TypesOf(t.Params), Results: clif.TypesOf(t.Results)}, true
}

func (i instance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	f, err := i.Func(name)
	if err != nil {
		return nil, err
	}
	types := clif.TypesOf(f.Type().Results)
	results := make([]uint64, clif.Words(types))
	if err := f.CallContext(i.ctx, args, results); err != nil {
		return nil, convert(err)
	}
	return spectest.Values(types, results), nil
}

func (i instance) Get(name string) (spectest.Value, error) {
	g, err := i.Global(name)
	if err != nil {
		return spectest.Value{}, err
	}
	v := g.GetWords()
	return spectest.Value{Type: clif.TypeOf(g.Type()), Bits: v[0], High: v[1]}, nil
}
