package main

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront"
)

// nativeEngine runs test scripts as native code in this process.
type nativeEngine struct{ opt *options }

func (e *nativeEngine) Name() string { return fmt.Sprintf("native-O%d", e.opt.level) }

func (e *nativeEngine) Features() wasmfront.Features { return wasmfront.DefaultFeatures }

func (e *nativeEngine) NewStore() (spectest.Store, error) {
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		return nil, err
	}
	return &nativeStore{opt: e.opt, store: s, numbers: map[uint64]uint64{}}, nil
}

type nativeStore struct {
	opt     *options
	store   *inproc.Store
	numbers map[uint64]uint64 // references of host objects, by number
}

// trapError makes a trap a spectest.Trapper.
type trapError struct{ *inproc.Trap }

func (e trapError) TrapCode() abi.TrapCode { return e.Trap.Code }

// linkError makes a failed import a spectest.Unlinkable.
type linkError struct{ *inproc.LinkError }

func (e linkError) Unlinkable() string { return e.LinkError.Reason }

func specError(err error) error {
	var t *inproc.Trap
	var l *inproc.LinkError
	switch {
	case errors.As(err, &t):
		return trapError{t}
	case errors.As(err, &l):
		return linkError{l}
	}
	return err
}

func (s *nativeStore) Compile(wasm []byte) (spectest.Module, error) {
	art, err := compileModule("module.wasm", wasm, s.opt)
	if err != nil {
		return nil, err
	}
	img, err := art.image()
	if err != nil {
		return nil, err
	}
	return s.store.Load(img)
}

func (s *nativeStore) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	i, err := s.store.Instantiate(m.(*inproc.Module), func(module, name string) inproc.Extern {
		if e, ok := imports(module, name); ok {
			return e.(inproc.Extern)
		}
		return nil
	})
	if err != nil {
		return nil, specError(err)
	}
	return &nativeInstance{i}, nil
}

// metaTypes and clifTypes translate between the two numberings of types.
var clifTypes = map[meta.ValType]clif.Type{
	meta.I32: clif.I32, meta.I64: clif.I64, meta.F32: clif.F32, meta.F64: clif.F64, meta.V128: clif.V128,
	meta.FuncRef: clif.FuncRef, meta.ExternRef: clif.Ref,
}

func metaType(t clif.Type) meta.ValType {
	for m, c := range clifTypes {
		if c == t {
			return m
		}
	}
	return 0
}

func (s *nativeStore) NewFunc(sig clif.Signature, fn func(args, results []uint64)) (spectest.Extern, error) {
	var t meta.FuncType
	for _, p := range sig.Params {
		t.Params = append(t.Params, metaType(p))
	}
	for _, r := range sig.Results {
		t.Results = append(t.Results, metaType(r))
	}
	return s.store.NewHostFunc(t, func(_ *inproc.CallContext, args, results []uint64) error {
		fn(args, results)
		return nil
	})
}

func (s *nativeStore) NewGlobal(t clif.Type, mutable bool, bits uint64) (spectest.Extern, error) {
	return s.store.NewGlobal(metaType(t), mutable, bits)
}

func (s *nativeStore) NewMemory(low, high uint64) (spectest.Extern, error) {
	return s.store.NewMemory(inproc.Limits{Min: low, Max: high, HasMax: true})
}

func (s *nativeStore) NewTable(elem clif.Type, low, high uint64) (spectest.Extern, error) {
	return s.store.NewTable(metaType(elem), inproc.Limits{Min: low, Max: high, HasMax: true})
}

func (s *nativeStore) ExternRef(n uint64) uint64 {
	ref, ok := s.numbers[n]
	if !ok {
		ref = s.store.ExternRef(n)
		s.numbers[n] = ref
	}
	return ref
}

func (s *nativeStore) ExternNumber(ref uint64) (uint64, bool) {
	n, ok := s.store.Extern(ref).(uint64)
	return n, ok
}

func (s *nativeStore) Close() error { return s.store.Close() }

type nativeInstance struct{ inst *inproc.Instance }

func (i *nativeInstance) Export(name string) (spectest.Extern, bool) {
	e, err := i.inst.Export(name)
	return e, err == nil
}

func (i *nativeInstance) FuncType(name string) (*clif.Signature, bool) {
	f, err := i.inst.Func(name)
	if err != nil {
		return nil, false
	}
	sig := new(clif.Signature)
	for _, p := range f.Type().Params {
		sig.Params = append(sig.Params, clifTypes[p])
	}
	for _, r := range f.Type().Results {
		sig.Results = append(sig.Results, clifTypes[r])
	}
	return sig, true
}

func (i *nativeInstance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	f, err := i.inst.Func(name)
	if err != nil {
		return nil, err
	}
	types := f.Type().Results
	results := make([]uint64, len(types))
	if err := f.Call(args, results); err != nil {
		return nil, specError(err)
	}
	values := make([]spectest.Value, len(types))
	for n, t := range types {
		values[n] = spectest.Value{Type: clifTypes[t], Bits: results[n]}
	}
	return values, nil
}

func (i *nativeInstance) Get(name string) (spectest.Value, error) {
	g, err := i.inst.Global(name)
	if err != nil {
		return spectest.Value{}, err
	}
	return spectest.Value{Type: clifTypes[g.Type()], Bits: g.Get()}, nil
}
