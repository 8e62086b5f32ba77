package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/internal/internalapi"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/wasmfront"
)

// Instance is an instance of a guest, or a module of Go functions that guests can import.
type Instance struct {
	internalapi.WazeroOnlyType
	rt   *Runtime
	mod  *Module
	name string
	sys  *System

	grp *group // nil for Go functions
	// explicit: the code has explicit bounds checks, and memories may be an allocator's.
	explicit bool
	// inst is set by the instantiation.
	inst atomic.Pointer[host.Instance]
	mem  atomic.Pointer[Memory]

	closed   atomic.Uint64 // 0, or 1 and the exit code in the upper half
	notifier experimental.CloseNotifier

	mu    sync.Mutex
	calls map[*ending]struct{} // that are to end with the instance
}

// Name implements api.Module.
func (m *Instance) Name() string { return m.name }

// String implements api.Module.
func (m *Instance) String() string { return "Module[" + m.name + "]" }

// System returns what the instance can reach by WASI.
func (m *Instance) System() *System { return m.sys }

// IsHost reports whether it is a module of Go functions.
func (m *Instance) IsHost() bool { return m.mod.host != nil }

// itself is how Of finds an instance behind a type that embeds it.
func (m *Instance) itself() *Instance { return m }

// exitError is the error of calls of a closed instance; nil if it is open.
func (m *Instance) exitError() error {
	if c := m.closed.Load(); c != 0 {
		return sys.NewExitError(uint32(c >> 32))
	}
	return nil
}

// IsClosed implements api.Module.
func (m *Instance) IsClosed() bool { return m.closed.Load() != 0 }

// Close implements api.Module.
func (m *Instance) Close(ctx context.Context) error { return m.CloseWithExitCode(ctx, 0) }

// CloseWithExitCode implements api.Module.
func (m *Instance) CloseWithExitCode(ctx context.Context, exitCode uint32) error {
	if !m.closed.CompareAndSwap(0, 1|uint64(exitCode)<<32) {
		return nil
	}
	m.rt.forget(m)
	if m.notifier != nil {
		m.notifier.CloseNotify(ctx, exitCode)
	}
	m.mu.Lock()
	for e := range m.calls {
		e.end(context.Canceled)
	}
	m.mu.Unlock()
	if m.grp != nil {
		m.grp.release()
	}
	if m.mod.CloseWithInstance {
		return m.mod.Close(ctx)
	}
	return nil
}

// adopt makes the instance that of the store, which calls it before code of the instance runs.
func (m *Instance) adopt(inst *host.Instance) {
	if len(m.mod.mems) > 0 {
		var x any
		if m.grp.enter(func() (err error) { x, err = inst.At(host.KindMemory, 0); return err }) == nil {
			m.mem.Store(&Memory{grp: m.grp, mem: x.(*host.Memory), def: m.mod.mems[0]})
		}
	}
	m.inst.Store(inst)
	m.grp.findOnly()
}

// callerOf is the instance that calls a Go function, which m has imported.
func (m *Instance) callerOf(c *host.Caller) *Instance {
	if m.grp.only.Load() == m {
		return m
	}
	inst := c.Instance()
	if inst == nil {
		return m
	}
	return cmp.Or(m.grp.instanceOf(inst), m)
}

// Memory implements api.Module.
func (m *Instance) Memory() api.Memory {
	if mem := m.mem.Load(); mem != nil {
		return mem
	}
	return nil
}

// ExportedMemory implements api.Module.
func (m *Instance) ExportedMemory(name string) api.Memory {
	if e, ok := m.mod.exports[name]; !ok || e.kind != api.ExternTypeMemory {
		return nil
	}
	return m.Memory()
}

// ExportedMemoryDefinitions implements api.Module.
func (m *Instance) ExportedMemoryDefinitions() map[string]api.MemoryDefinition {
	return m.mod.ExportedMemories()
}

// ExportedFunctionDefinitions implements api.Module.
func (m *Instance) ExportedFunctionDefinitions() map[string]api.FunctionDefinition {
	return m.mod.ExportedFunctions()
}

// ExportedFunction implements api.Module.
func (m *Instance) ExportedFunction(name string) api.Function {
	e, ok := m.mod.exports[name]
	if !ok || e.kind != api.ExternTypeFunc {
		return nil
	}
	if m.mod.host != nil {
		return &goFunction{m: m, f: m.mod.host[e.index]}
	}
	inst := m.inst.Load()
	if inst == nil {
		return nil
	}
	var fn *host.Func
	def := m.mod.funcs[e.index]
	err := m.grp.enter(func() (err error) { fn, err = inst.Func(name); return err })
	if err == nil && def.from != nil {
		if owner, own := m.grp.placeOf(fn); owner != nil {
			return newFunction(owner, own, fn, nil)
		}
	}
	return newFunction(m, def, fn, err)
}

// ExportedGlobal implements api.Module. For Go code there are no globals with references to objects.
func (m *Instance) ExportedGlobal(name string) api.Global {
	e, ok := m.mod.exports[name]
	if !ok || e.kind != api.ExternTypeGlobal {
		return nil
	}
	g := m.Global(int(e.index)).(*Global)
	if g.typ == typeAnyref {
		return nil
	}
	if m.mod.globals[e.index].Mutable {
		return &MutableGlobal{Global: g}
	}
	return g
}

// NumGlobal implements experimental.InternalModule.
func (m *Instance) NumGlobal() int { return len(m.mod.globals) }

// Global implements experimental.InternalModule. The value of one with a reference to an object is 0.
func (m *Instance) Global(i int) api.Global {
	g := &Global{m: m, typ: valueType(m.mod.globals[i].Type)}
	x, err := m.at(host.KindGlobal, uint32(i))
	if err == nil {
		g.global = x.(*host.Global)
	}
	return g
}

// at returns what has an index in the instance.
func (m *Instance) at(kind host.Kind, n uint32) (x any, err error) {
	inst := m.inst.Load()
	if inst == nil {
		return nil, host.ErrClosed
	}
	err = m.grp.enter(func() (err error) { x, err = inst.At(kind, n); return err })
	return x, err
}

// LookupFunction returns what a call_indirect of this type would call. It panics where that would trap. Calls of what it finds in a closed instance fail.
func (m *Instance) LookupFunction(table, i uint32, params, results []api.ValueType) api.Function {
	if int64(table) >= int64(len(m.mod.tables)) {
		panic("table index out of range")
	}
	var v any
	x, err := m.at(host.KindTable, table)
	if err == nil {
		err = m.grp.enter(func() (err error) { v, err = x.(*host.Table).Get(i); return err })
	}
	if errors.Is(err, host.ErrClosed) {
		d := &FuncDef{definition: definition{module: m.mod.name}, params: params, results: results}
		d.countWords()
		return newFunction(m, d, nil, err)
	}
	if errors.Is(err, host.ErrType) { // it stays inside
		panic(err)
	}
	f, ok := v.(*host.Func)
	if err != nil || !ok || f == nil {
		panic(errTableAccess)
	}
	d := &FuncDef{definition: definition{module: m.mod.name}}
	t := f.Type()
	for _, p := range t.Params {
		d.params = append(d.params, valueType(wasmfront.ValType(p)))
	}
	for _, r := range t.Results {
		d.results = append(d.results, valueType(wasmfront.ValType(r)))
	}
	if d.countWords(); d.typeName() != (&FuncDef{params: params, results: results}).typeName() {
		panic(errTypeMismatch)
	}
	if owner, own := m.grp.placeOf(f); owner != nil {
		return newFunction(owner, own, f, nil)
	}
	return newFunction(m, d, f, nil)
}

// Global is a global variable.
type Global struct {
	m      *Instance
	global *host.Global // nil if the instance is closed
	typ    api.ValueType
}

// Type implements api.Global.
func (g *Global) Type() api.ValueType { return g.typ }

// Get implements api.Global. The value of a closed instance's global is 0.
func (g *Global) Get() uint64 {
	var v host.Value
	if g.global == nil || g.m.grp.enter(func() (err error) { v, err = g.global.Get(); return err }) != nil {
		return 0
	}
	switch g.typ {
	case api.ValueTypeI32:
		return api.EncodeI32(v.I32())
	case api.ValueTypeI64:
		return uint64(v.I64())
	case api.ValueTypeF32:
		return api.EncodeF32(v.F32())
	case api.ValueTypeF64:
		return api.EncodeF64(v.F64())
	case typeV128:
		b := v.V128()
		return le.Uint64(b[:])
	case typeFuncref:
		if f := v.Func(); f != nil {
			return f.Ref()
		}
		return 0
	}
	w, _ := v.Ref().(uintptr)
	return uint64(w)
}

// String implements api.Global.
func (g *Global) String() string {
	switch w := g.Get(); g.typ {
	case api.ValueTypeF32:
		return fmt.Sprintf("global(%f)", api.DecodeF32(w))
	case api.ValueTypeF64:
		return fmt.Sprintf("global(%f)", api.DecodeF64(w))
	default:
		return fmt.Sprintf("global(%d)", w)
	}
}

// MutableGlobal is a global variable that can change.
type MutableGlobal struct {
	internalapi.WazeroOnlyType
	*Global
}
