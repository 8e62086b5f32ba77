package oracle

// #include <stdbool.h>
// void wasmtime_config_wasm_exceptions_set(void *, bool);
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront"
)

// Engine runs modules under wasmtime.
type Engine struct{ engine *wasmtime.Engine }

// New is an engine for WebAssembly 2.0, with a native stack as large as a thread of C surely
// has.
func New() *Engine {
	cfg := wasmtime.NewConfig()
	cfg.SetMaxWasmStack(2 << 20)
	cfg.SetWasmReferenceTypes(true)
	cfg.SetWasmBulkMemory(true)
	cfg.SetWasmMultiValue(true)
	cfg.SetWasmMultiMemory(true)
	cfg.SetWasmFunctionReferences(true)
	cfg.SetWasmTailCall(true)
	cfg.SetWasmGC(true) // exceptions are objects of its collector
	// Its Go package has no method for exceptions. The pointer to the configuration is all that a Config has.
	C.wasmtime_config_wasm_exceptions_set(*(*unsafe.Pointer)(unsafe.Pointer(cfg)), true)
	return &Engine{wasmtime.NewEngineWithConfig(cfg)}
}

// Name is "wasmtime".
func (e *Engine) Name() string { return "wasmtime" }

// Features is the default set.
func (e *Engine) Features() wasmfront.Features { return wasmfront.DefaultFeatures }

// NewStore returns an empty store.
func (e *Engine) NewStore() (spectest.Store, error) {
	return &store{e.engine, wasmtime.NewStore(e.engine)}, nil
}

// compiled is a module with its bytes.
type compiled struct {
	*wasmtime.Module
	wasm []byte
}

type store struct {
	engine *wasmtime.Engine
	s      *wasmtime.Store
}

func (s *store) Compile(wasm []byte) (spectest.Module, error) {
	m, err := wasmtime.NewModule(s.engine, wasm)
	if err != nil {
		return nil, err
	}
	return compiled{m, wasm}, nil
}

// trap gives a trap the method that spectest asks for.
type trap struct {
	*wasmtime.Trap
	code abi.TrapCode
}

func (t trap) TrapCode() abi.TrapCode { return t.code }

// located is a trap of code of a module; others have no frames.
type located struct {
	trap
	spectest.Place
}

func (t located) Error() string                  { return t.trap.Error() }
func (t located) TrapPlace() (fn, offset uint32) { return t.Func, t.Offset }

// thrown is an exception that nothing has caught.
type thrown struct{ error }

func (thrown) Thrown() {}

// trapCodes are our codes for wasmtime's; it does not distinguish kinds of accesses
// to tables.
var trapCodes = map[wasmtime.TrapCode]abi.TrapCode{
	wasmtime.StackOverflow:          abi.TrapStackOverflow,
	wasmtime.MemoryOutOfBounds:      abi.TrapMemoryOutOfBounds,
	wasmtime.TableOutOfBounds:       abi.TrapTableOutOfBounds,
	wasmtime.IndirectCallToNull:     abi.TrapUninitializedElement,
	wasmtime.BadSignature:           abi.TrapBadSignature,
	wasmtime.IntegerOverflow:        abi.TrapIntegerOverflow,
	wasmtime.IntegerDivisionByZero:  abi.TrapIntegerDivideByZero,
	wasmtime.BadConversionToInteger: abi.TrapBadConversion,
	wasmtime.UnreachableCodeReached: abi.TrapUnreachable,
	nullReference:                   abi.TrapNullReference,
	nullReference + 1:               abi.TrapArrayOutOfBounds,
	nullReference + 2:               abi.TrapHeapExhausted, // an array is too long
	nullReference + 3:               abi.TrapCastFailure,
}

// nullReference is the first of the codes of wasmtime's that its Go package does not name.
const nullReference wasmtime.TrapCode = 14

// ErrWideLoad is a trap that is wasmtime's mistake: this version may read 16 bytes for a
// load that feeds copysign (GHSA-vc8c-j3xm-xj73), which traps at the end of memory.
var ErrWideLoad = errors.New("wasmtime's copysign reads beyond its operand")

// convert gives a trap its code. wasm is the module that was called into.
func convert(err error, wasm []byte) error {
	var t *wasmtime.Trap
	switch {
	case err != nil && strings.Contains(err.Error(), "thrown Wasm exception"):
		return thrown{err}
	case !errors.As(err, &t):
		return err
	}
	c := t.Code()
	if c == nil {
		return err
	}
	code, ok := trapCodes[*c]
	if !ok {
		return err
	}
	frames := t.Frames()
	if len(frames) == 0 {
		return trap{t, code}
	}
	if code == abi.TrapMemoryOutOfBounds {
		const f32copysign, f64copysign = 0x98, 0xA6 // which do not access memory
		at := frames[0].ModuleOffset()
		if at < uint(len(wasm)) && (wasm[at] == f32copysign || wasm[at] == f64copysign) {
			return ErrWideLoad
		}
	}
	return located{trap{t, code}, spectest.Place{Func: frames[0].FuncIndex(), Offset: uint32(frames[0].ModuleOffset())}}
}

func (s *store) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	mod := m.(compiled)
	var externs []wasmtime.AsExtern
	for _, i := range mod.Imports() {
		name := ""
		if n := i.Name(); n != nil {
			name = *n
		}
		x, ok := imports(i.Module(), name)
		if !ok {
			return nil, fmt.Errorf("unknown import %s.%s", i.Module(), name)
		}
		externs = append(externs, x.(wasmtime.AsExtern))
	}
	i, err := wasmtime.NewInstance(s.s, mod.Module, externs)
	if err != nil {
		return nil, convert(err, mod.wasm)
	}
	return &instance{s.s, i, mod.wasm, map[string]*function{}}, nil
}

// kinds are wasmtime's value types.
var kinds = map[clif.Type]wasmtime.ValKind{clif.I32: wasmtime.KindI32, clif.I64: wasmtime.KindI64,
	clif.F32: wasmtime.KindF32, clif.F64: wasmtime.KindF64, clif.FuncRef: wasmtime.KindFuncref, clif.Ref: wasmtime.KindExternref}

func toKinds(ts []clif.Type) []*wasmtime.ValType {
	out := make([]*wasmtime.ValType, len(ts))
	for i, t := range ts {
		out[i] = wasmtime.NewValType(kinds[t])
	}
	return out
}

func fromKinds(ts []*wasmtime.ValType) []clif.Type {
	out := make([]clif.Type, len(ts))
	for i, t := range ts {
		for c, k := range kinds {
			if k == t.Kind() {
				out[i] = c
			}
		}
	}
	return out
}

// toVal makes a value of its bits. References to functions cannot be made: they are null.
func toVal(t clif.Type, bits uint64) wasmtime.Val {
	switch t {
	case clif.I32:
		return wasmtime.ValI32(int32(bits))
	case clif.I64:
		return wasmtime.ValI64(int64(bits))
	case clif.F32:
		return wasmtime.ValF32(math.Float32frombits(uint32(bits)))
	case clif.F64:
		return wasmtime.ValF64(math.Float64frombits(bits))
	case clif.FuncRef:
		return wasmtime.ValFuncref(nil)
	}
	if bits == 0 {
		return wasmtime.ValExternref(nil)
	}
	return wasmtime.ValExternref(bits)
}

// fromAny is the bits of a value; 1 for a reference to a function.
func fromAny(v any) uint64 {
	switch v := v.(type) {
	case int32:
		return uint64(uint32(v))
	case int64:
		return uint64(v)
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	case uint64:
		return v
	case *wasmtime.Func:
		if v != nil {
			return 1
		}
	}
	return 0
}

func (s *store) NewFunc(sig clif.Signature, fn func(args, results []uint64)) (spectest.Extern, error) {
	t := wasmtime.NewFuncType(toKinds(sig.Params), toKinds(sig.Results))
	return wasmtime.NewFunc(s.s, t, func(_ *wasmtime.Caller, vals []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
		args, results := make([]uint64, len(vals)), make([]uint64, len(sig.Results))
		for i := range vals {
			args[i] = fromAny(vals[i].Get())
		}
		fn(args, results)
		out := make([]wasmtime.Val, len(results))
		for i := range results {
			out[i] = toVal(sig.Results[i], results[i])
		}
		return out, nil
	}), nil
}

func (s *store) NewGlobal(t clif.Type, mutable bool, bits uint64) (spectest.Extern, error) {
	return wasmtime.NewGlobal(s.s, wasmtime.NewGlobalType(wasmtime.NewValType(kinds[t]), mutable), toVal(t, bits))
}

func (s *store) NewMemory(min, max uint64) (spectest.Extern, error) {
	t, err := wasmtime.NewMemoryType(uint32(min), true, uint32(max), false)
	if err != nil {
		return nil, err
	}
	return wasmtime.NewMemory(s.s, t)
}

func (s *store) NewTable(elem clif.Type, min, max uint64) (spectest.Extern, error) {
	t := wasmtime.NewTableType(wasmtime.NewValType(kinds[elem]), uint32(min), true, uint32(max))
	return wasmtime.NewTable(s.s, t, toVal(elem, 0))
}

func (s *store) ExternRef(n uint64) uint64              { return n + 1 }
func (s *store) ExternNumber(ref uint64) (uint64, bool) { return ref - 1, ref != 0 }

func (s *store) Close() error {
	s.s.Close()
	return nil
}

type instance struct {
	s     *wasmtime.Store
	i     *wasmtime.Instance
	wasm  []byte
	funcs map[string]*function
}

// function is an exported function with its type, which is slow to ask for.
type function struct {
	f   *wasmtime.Func
	sig clif.Signature
}

func (i *instance) Export(name string) (spectest.Extern, bool) {
	x := i.i.GetExport(i.s, name)
	switch {
	case x == nil:
		return nil, false
	case x.Func() != nil:
		return x.Func(), true
	case x.Memory() != nil:
		return &Memory{x.Memory(), i.s}, true
	case x.Table() != nil:
		return x.Table(), true
	}
	return &Global{x.Global(), i.s}, true
}

// Global is an exported global.
type Global struct {
	*wasmtime.Global
	s *wasmtime.Store
}

// Set writes raw bits.
func (g *Global) Set(bits uint64) error {
	t := fromKinds([]*wasmtime.ValType{g.Type(g.s).Content()})
	return g.Global.Set(g.s, toVal(t[0], bits))
}

// Memory is an exported memory.
type Memory struct {
	*wasmtime.Memory
	s *wasmtime.Store
}

// Bytes is a view of the whole memory as it is now, valid while the store is used by
// nobody.
func (m *Memory) Bytes() []byte { return m.UnsafeData(m.s) }

func (i *instance) function(name string) (*function, bool) {
	if f, ok := i.funcs[name]; ok {
		return f, true
	}
	f := i.i.GetFunc(i.s, name)
	if f == nil {
		return nil, false
	}
	t := f.Type(i.s)
	i.funcs[name] = &function{f, clif.Signature{Params: fromKinds(t.Params()), Results: fromKinds(t.Results())}}
	return i.funcs[name], true
}

func (i *instance) FuncType(name string) (*clif.Signature, bool) {
	f, ok := i.function(name)
	if !ok {
		return nil, false
	}
	return &f.sig, true
}

func (i *instance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	f, ok := i.function(name)
	if !ok {
		return nil, fmt.Errorf("no function %q", name)
	}
	vals := make([]any, len(args))
	for n := range args {
		vals[n] = toVal(f.sig.Params[n], args[n])
	}
	r, err := f.f.Call(i.s, vals...)
	if err != nil {
		return nil, convert(err, i.wasm)
	}
	out := make([]spectest.Value, len(f.sig.Results))
	for n, t := range f.sig.Results {
		out[n].Type = t
		if list, ok := r.([]wasmtime.Val); ok {
			out[n].Bits = fromAny(list[n].Get())
		} else {
			out[n].Bits = fromAny(r)
		}
	}
	return out, nil
}

func (i *instance) Get(name string) (spectest.Value, error) {
	x := i.i.GetExport(i.s, name)
	if x == nil || x.Global() == nil {
		return spectest.Value{}, fmt.Errorf("no global %q", name)
	}
	g := x.Global()
	t := fromKinds([]*wasmtime.ValType{g.Type(i.s).Content()})
	return spectest.Value{Type: t[0], Bits: fromAny(g.Get(i.s).Get())}, nil
}
