package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/wasmfront"
)

// HostFunc is a Go function that modules can import.
type HostFunc struct {
	ExportName              string
	Name                    string // ExportName if empty
	Params, Results         []api.ValueType
	ParamNames, ResultNames []string
	// Fn is an api.GoModuleFunction or api.GoFunction with the types above, or any Go function that has them itself.
	Fn any
	// HoldsMemory: it holds slices of the memory while it runs, so no other goroutine gets into the store if memories may move.
	HoldsMemory bool

	call     func(ctx context.Context, m api.Module, stack []uint64)
	listener experimental.FunctionListener
	def      *FuncDef
}

// WithFn returns the same function with other code.
func (h *HostFunc) WithFn(fn any) *HostFunc {
	c := *h
	c.Fn = fn
	return &c
}

// withListener returns the same function with a listener.
func (h *HostFunc) withListener(l experimental.FunctionListener) *HostFunc {
	c := *h
	c.listener = l
	return &c
}

// HostFuncExporter is what a HostModuleBuilder is beside.
type HostFuncExporter interface{ ExportHostFunc(*HostFunc) }

// CompileHost makes a module of Go functions.
func (r *Runtime) CompileHost(ctx context.Context, name string, funcs []*HostFunc) (*Module, error) {
	if name == "" {
		return nil, errors.New("a module name must not be empty")
	}
	m := &Module{rt: r, name: name, start: -1, exports: map[string]exported{}, host: []*HostFunc{}}
	for i, f := range funcs {
		h := *f
		if err := h.resolve(r.config.Features); err != nil {
			return nil, fmt.Errorf("func[%s.%s] %w", name, h.ExportName, err)
		}
		if h.Name == "" {
			h.Name = h.ExportName
		}
		h.ParamNames, h.ResultNames = h.ParamNames[:min(len(h.ParamNames), len(h.Params))], h.ResultNames[:min(len(h.ResultNames), len(h.Results))]
		h.def = &FuncDef{definition: definition{module: name, index: uint32(i), exports: []string{h.ExportName}}, name: h.Name, goFunc: h.Fn,
			params: h.Params, results: h.Results, paramNames: h.ParamNames, resultNames: h.ResultNames}
		h.def.countWords()
		m.funcs = append(m.funcs, h.def)
		m.host = append(m.host, &h)
		m.exports[h.ExportName] = exported{api.ExternTypeFunc, uint32(i)}
	}
	m.listen(ctx)
	return m, nil
}

// resolve finds out how to call the function, and its types.
func (h *HostFunc) resolve(features api.CoreFeatures) error {
	switch fn := h.Fn.(type) {
	case api.GoModuleFunc:
		h.call = fn // the frequent case, with fewer calls
	case api.GoModuleFunction:
		h.call = fn.Call
	case api.GoFunc:
		h.call = func(ctx context.Context, _ api.Module, stack []uint64) { fn(ctx, stack) }
	case api.GoFunction:
		h.call = func(ctx context.Context, _ api.Module, stack []uint64) { fn.Call(ctx, stack) }
	default:
		var err error
		if h.call, err = h.Reflect(); err != nil {
			return err
		}
		if have, want := len(h.ParamNames), len(h.Params); have != 0 && have != want {
			return fmt.Errorf("has %d params, but %d params names", have, want)
		}
		if have, want := len(h.ResultNames), len(h.Results); have != 0 && have != want {
			return fmt.Errorf("has %d results, but %d results names", have, want)
		}
	}
	if len(h.Results) > 1 {
		if err := features.RequireEnabled(api.CoreFeatureMultiValue); err != nil {
			return fmt.Errorf("multiple result types invalid as %v", err)
		}
	}
	return nil
}

var (
	typeModule  = reflect.TypeFor[api.Module]()
	typeContext = reflect.TypeFor[context.Context]()
	typeError   = reflect.TypeFor[error]()
)

// valueTypeOf is the type that a kind of Go stands for.
func valueTypeOf(k reflect.Kind) (api.ValueType, bool) {
	switch k {
	case reflect.Int32, reflect.Uint32:
		return api.ValueTypeI32, true
	case reflect.Int64, reflect.Uint64:
		return api.ValueTypeI64, true
	case reflect.Float32:
		return api.ValueTypeF32, true
	case reflect.Float64:
		return api.ValueTypeF64, true
	case reflect.Uintptr:
		return api.ValueTypeExternref, true
	}
	return 0, false
}

// Reflect takes the types from those of the Go function, and returns what calls it by reflection.
func (h *HostFunc) Reflect() (api.GoModuleFunc, error) {
	fn := reflect.ValueOf(h.Fn)
	if fn.Kind() != reflect.Func {
		return nil, fmt.Errorf("kind != func: %s", fn.Kind())
	}
	t := fn.Type()
	hasContext, hasModule, first := false, false, 0
	if t.NumIn() > 0 && t.In(0).Kind() == reflect.Interface {
		switch {
		case t.In(0).Implements(typeModule):
			return nil, errors.New("invalid signature: api.Module parameter must be preceded by context.Context")
		case t.In(0).Implements(typeContext):
			hasContext, first = true, 1
			if t.NumIn() > 1 && t.In(1).Implements(typeModule) {
				hasModule, first = true, 2
			}
		}
	}
	h.Params, h.Results = nil, nil
	for i := first; i < t.NumIn(); i++ {
		v, ok := valueTypeOf(t.In(i).Kind())
		if !ok {
			for _, once := range []reflect.Type{typeModule, typeContext} {
				if t.In(i).Implements(once) {
					return nil, fmt.Errorf("param[%d] is a %s, which may be defined only once as param[0]", i, once)
				}
			}
			return nil, fmt.Errorf("param[%d] is unsupported: %s", i, t.In(i).Kind())
		}
		h.Params = append(h.Params, v)
	}
	for i := range t.NumOut() {
		v, ok := valueTypeOf(t.Out(i).Kind())
		if !ok {
			if t.Out(i).Implements(typeError) {
				return nil, fmt.Errorf("result[%d] is an error, which is unsupported", i)
			}
			return nil, fmt.Errorf("result[%d] is unsupported: %s", i, t.Out(i).Kind())
		}
		h.Results = append(h.Results, v)
	}
	return func(ctx context.Context, m api.Module, stack []uint64) {
		in := make([]reflect.Value, t.NumIn())
		if hasContext {
			in[0] = reflect.ValueOf(&ctx).Elem()
		}
		if hasModule {
			in[1] = reflect.ValueOf(&m).Elem()
		}
		for i := first; i < len(in); i++ {
			in[i] = fromWord(t.In(i), stack[i-first])
		}
		for i, v := range fn.Call(in) {
			stack[i] = toWord(v)
		}
	}, nil
}

// fromWord is a word as a value of a Go type.
func fromWord(t reflect.Type, w uint64) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Float32:
		v.SetFloat(float64(math.Float32frombits(uint32(w))))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(w))
	case reflect.Int32:
		v.SetInt(int64(int32(w)))
	case reflect.Int64:
		v.SetInt(int64(w))
	case reflect.Uint32:
		v.SetUint(uint64(uint32(w)))
	default:
		v.SetUint(w)
	}
	return v
}

// toWord is the reverse of fromWord.
func toWord(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Float32:
		return uint64(math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return math.Float64bits(v.Float())
	case reflect.Int32:
		return uint64(uint32(v.Int()))
	case reflect.Int64:
		return uint64(v.Int())
	}
	return v.Uint()
}

// raw is the function as one of the store of an importing instance.
func (h *HostFunc) raw(importer *Instance) host.RawFunc {
	f := host.RawFunc{Params: hostTypes(h.Params), Results: hostTypes(h.Results)}
	f.Func = h.open(importer)
	if h.listener != nil {
		f.Func = h.openTold(importer)
	}
	if h.HoldsMemory {
		f.Func = h.unlessMoving(importer, f.Func)
	}
	if h.def.refs {
		f.Func = h.withRefs(f.Func)
	}
	return f
}

func hostTypes(list []api.ValueType) []host.ValType {
	types := make([]host.ValType, len(list))
	for i, t := range list {
		types[i] = host.ValType(wasmfront.TypeByCode(t))
	}
	return types
}

// rawFunc is the code of a host.RawFunc.
type rawFunc = func(c *host.Caller, args, results []uint64) error

// open is the function for a store, for most cases: other goroutines get into the store meanwhile, as programs expect it: a coroutine, for example, that the function
// waits for. All is in one function, since each call in between takes a nanosecond or two.
func (h *HostFunc) open(importer *Instance) rawFunc {
	call, g := h.call, importer.grp
	return func(c *host.Caller, args, results []uint64) (err error) {
		m := importer
		if g.only.Load() != m {
			m = importer.callerOf(c)
		}
		returned := false
		defer func() {
			if !returned {
				c.Enter()
				g.away--
				err = h.recovered(m, c, recover())
			}
		}()
		stack := shared(args, results)
		ctx := given(c.Context())
		g.away++
		c.Leave()
		call(ctx, m, stack)
		c.Enter()
		g.away--
		returned = true
		if len(results) == 1 {
			results[0] = stack[0] // without a call
		} else {
			copy(results, stack)
		}
		return nil
	}
}

// openTold is open for a function with a listener, which may wait for other goroutines, too.
func (h *HostFunc) openTold(importer *Instance) rawFunc {
	open := h.open(importer)
	return func(c *host.Caller, args, results []uint64) (err error) {
		m, ctx := importer.callerOf(c), given(c.Context())
		defer func() {
			if r := recover(); r != nil { // of the listener
				err = h.recovered(m, c, r)
			}
		}()
		importer.grp.outside(c, func() {
			h.listener.Before(ctx, m, h.def, args, &frames{first: h.def, caller: c, outside: true, m: m, at: -1})
		})
		switch err = open(c, args, results); {
		case err == nil:
			importer.grp.outside(c, func() { h.listener.After(ctx, m, h.def, results) })
		case !errors.Is(err, host.ErrRestore):
			importer.grp.outside(c, func() { h.listener.Abort(ctx, m, h.def, err) })
		}
		return err
	}
}

// inside is the function for a store that nobody else gets into meanwhile.
func (h *HostFunc) inside(importer *Instance) rawFunc {
	return func(c *host.Caller, args, results []uint64) (err error) {
		m := importer.callerOf(c)
		defer func() {
			if r := recover(); r != nil {
				err = h.recovered(m, c, r)
			}
		}()
		stack := shared(args, results)
		h.run(given(c.Context()), m, c, stack)
		copy(results, stack)
		return nil
	}
}

// unlessMoving is inside for callers whose memories may move, and open for others.
func (h *HostFunc) unlessMoving(importer *Instance, open rawFunc) rawFunc {
	inside := h.inside(importer)
	return func(c *host.Caller, args, results []uint64) error {
		if importer.callerOf(c).explicit {
			return inside(c, args, results)
		}
		return open(c, args, results)
	}
}

// shared are words for the arguments, which they have, and for the results: the longer of the slices.
func shared(args, results []uint64) []uint64 {
	if len(results) > len(args) {
		copy(results, args)
		return results
	}
	return args
}

// withRefs is the function where words of externrefs have to be converted.
func (h *HostFunc) withRefs(inner rawFunc) rawFunc {
	return func(c *host.Caller, args, results []uint64) error {
		s := c.Store()
		words := append([]uint64(nil), args...)
		fromStore(s, h.Params, words)
		if err := inner(c, words, results); err != nil {
			return err
		}
		return toStore(s, h.Results, results)
	}
}

// fromStore replaces the words of externrefs in a store by those that the program gave.
func fromStore(s *host.Store, types []api.ValueType, words []uint64) {
	eachExternref(types, words, func(w *uint64) error {
		v, _ := s.Extern(*w).(uintptr)
		*w = uint64(v)
		return nil
	})
}

// toStore is the reverse of fromStore.
func toStore(s *host.Store, types []api.ValueType, words []uint64) error {
	return eachExternref(types, words, func(w *uint64) (err error) {
		if *w != 0 {
			*w, err = s.ExternRef(uintptr(*w))
		}
		return err
	})
}

// eachExternref calls f for the words of externrefs.
func eachExternref(types []api.ValueType, words []uint64, f func(*uint64) error) error {
	at := 0
	for _, t := range types {
		if t == api.ValueTypeExternref {
			if err := f(&words[at]); err != nil {
				return err
			}
		}
		if at++; t == typeV128 {
			at++
		}
	}
	return nil
}

// run calls the function, and its listener if there is one; c is nil if Go code called.
func (h *HostFunc) run(ctx context.Context, m *Instance, c *host.Caller, stack []uint64) {
	if h.listener != nil {
		h.told(ctx, m, c, stack)
	} else {
		h.call(ctx, m, stack)
	}
}

// told calls a function with a listener.
func (h *HostFunc) told(ctx context.Context, m *Instance, c *host.Caller, stack []uint64) {
	h.listener.Before(ctx, m, h.def, stack[:h.def.paramWords], &frames{first: h.def, caller: c, m: m, at: -1})
	defer func() {
		if r := recover(); r != nil {
			err := h.recovered(m, c, r)
			h.listener.Abort(ctx, m, h.def, err)
			panic(&toldError{err})
		}
	}()
	h.call(ctx, m, stack)
	h.listener.After(ctx, m, h.def, stack[:h.def.resultWords])
}

// frames is the stack as listeners see it: the Go function, if it is one, then the frames of compiled code.
type frames struct {
	first  *FuncDef     // the Go function, or nil
	caller *host.Caller // nil if Go code called
	// outside: the listener is told while others get into the store.
	outside bool
	m       *Instance
	rest    []host.Frame
	at      int // in rest; before its beginning for the Go function
}

func (f *frames) Next() bool {
	if f.at == -1 {
		if f.caller != nil {
			if f.outside {
				f.caller.Enter()
			}
			f.rest = f.m.grp.visible(f.caller.Frames())
			if f.outside {
				f.caller.Leave()
			}
		}
		if f.first != nil {
			f.at = -2
			return true
		}
	}
	f.at = max(f.at, -1) + 1
	return f.at < len(f.rest)
}

func (f *frames) Function() experimental.InternalFunction {
	if f.at < 0 {
		return internalFunction{f.first, 0}
	}
	x := &f.rest[f.at]
	return internalFunction{f.m.grp.definitionOf(x), uint64(x.Offset)}
}

func (f *frames) ProgramCounter() experimental.ProgramCounter {
	if f.at < 0 {
		return 0
	}
	return experimental.ProgramCounter(f.rest[f.at].Offset)
}

// internalFunction is a frame; offset is its place in the module.
type internalFunction struct {
	def    *FuncDef
	offset uint64
}

func (f internalFunction) Definition() api.FunctionDefinition                   { return f.def }
func (f internalFunction) SourceOffsetForPC(experimental.ProgramCounter) uint64 { return f.offset }
