// Package wazerotest has modules, functions, globals and memories made of Go values, for tests of code that takes those of package api.
package wazerotest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/internal/internalapi"
	"github.com/tetratelabs/wazero/internal/run"
	"github.com/tetratelabs/wazero/sys"
)

var (
	_ experimental.InternalModule = (*Module)(nil)
	_ api.Function                = (*Function)(nil)
	_ api.Memory                  = (*Memory)(nil)
)

// Module is a module. Its fields must not change once a method has been called.
type Module struct {
	internalapi.WazeroOnlyType

	ModuleName   string
	Functions    []*Function
	Globals      []*Global
	ExportMemory *Memory // exported as "memory", or nil

	bound  sync.Once
	closed atomic.Uint64 // 0, or 1 and the exit code in the upper half
}

// NewModule returns a module with a memory, which may be nil, and functions.
func NewModule(memory *Memory, functions ...*Function) *Module {
	return &Module{ExportMemory: memory, Functions: functions}
}

// bind tells what the module has that it is its.
func (m *Module) bind() {
	m.bound.Do(func() {
		for i, f := range m.Functions {
			f.module, f.index = m, uint32(i)
		}
		if m.ExportMemory != nil {
			m.ExportMemory.module = m
		}
	})
}

// Name implements api.Module.
func (m *Module) Name() string { return m.ModuleName }

// String implements api.Module.
func (m *Module) String() string { return "module[" + m.ModuleName + "]" }

// Memory implements api.Module.
func (m *Module) Memory() api.Memory { return m.ExportedMemory("memory") }

// ExportedMemory implements api.Module.
func (m *Module) ExportedMemory(name string) api.Memory {
	if m.bind(); m.ExportMemory == nil || name != "memory" {
		return nil
	}
	return m.ExportMemory
}

// ExportedMemoryDefinitions implements api.Module.
func (m *Module) ExportedMemoryDefinitions() map[string]api.MemoryDefinition {
	all := map[string]api.MemoryDefinition{}
	if m.bind(); m.ExportMemory != nil {
		all["memory"] = m.ExportMemory.Definition()
	}
	return all
}

// exported is the function of that name; nil if there is none.
func (m *Module) exported(name string) *Function {
	m.bind()
	for _, f := range m.Functions {
		for _, n := range f.ExportNames {
			if n == name {
				return f
			}
		}
	}
	return nil
}

// ExportedFunction implements api.Module.
func (m *Module) ExportedFunction(name string) api.Function {
	if f := m.exported(name); f != nil {
		return f
	}
	return nil
}

// ExportedFunctionDefinitions implements api.Module.
func (m *Module) ExportedFunctionDefinitions() map[string]api.FunctionDefinition {
	m.bind()
	all := map[string]api.FunctionDefinition{}
	for _, f := range m.Functions {
		for _, n := range f.ExportNames {
			all[n] = f.Definition()
		}
	}
	return all
}

// ExportedGlobal implements api.Module.
func (m *Module) ExportedGlobal(name string) api.Global {
	for _, g := range m.Globals {
		for _, n := range g.ExportNames {
			if n == name {
				return g
			}
		}
	}
	return nil
}

// NumGlobal implements experimental.InternalModule.
func (m *Module) NumGlobal() int { return len(m.Globals) }

// Global implements experimental.InternalModule.
func (m *Module) Global(i int) api.Global { return m.Globals[i] }

// NumFunction is the number of functions.
func (m *Module) NumFunction() int { return len(m.Functions) }

// Function returns a function by its index.
func (m *Module) Function(i int) api.Function {
	m.bind()
	return m.Functions[i]
}

// Close implements api.Module.
func (m *Module) Close(ctx context.Context) error { return m.CloseWithExitCode(ctx, 0) }

// CloseWithExitCode implements api.Module.
func (m *Module) CloseWithExitCode(_ context.Context, exitCode uint32) error {
	m.closed.CompareAndSwap(0, 1|uint64(exitCode)<<32)
	return nil
}

// IsClosed implements api.Module.
func (m *Module) IsClosed() bool { return m.closed.Load() != 0 }

// ExitStatus returns the code that the module was closed with, and whether it was.
func (m *Module) ExitStatus() (exitCode uint32, exited bool) {
	c := m.closed.Load()
	return uint32(c >> 32), c != 0
}

// Global is a global.
type Global struct {
	internalapi.WazeroOnlyType

	ValueType   api.ValueType
	Value       uint64 // as a word
	ExportNames []string
}

// GlobalI32 returns a global of type i32.
func GlobalI32(value int32, export ...string) *Global {
	return &Global{ValueType: api.ValueTypeI32, Value: api.EncodeI32(value), ExportNames: export}
}

// GlobalI64 returns a global of type i64.
func GlobalI64(value int64, export ...string) *Global {
	return &Global{ValueType: api.ValueTypeI64, Value: api.EncodeI64(value), ExportNames: export}
}

// GlobalF32 returns a global of type f32.
func GlobalF32(value float32, export ...string) *Global {
	return &Global{ValueType: api.ValueTypeF32, Value: api.EncodeF32(value), ExportNames: export}
}

// GlobalF64 returns a global of type f64.
func GlobalF64(value float64, export ...string) *Global {
	return &Global{ValueType: api.ValueTypeF64, Value: api.EncodeF64(value), ExportNames: export}
}

// Type implements api.Global.
func (g *Global) Type() api.ValueType { return g.ValueType }

// Get implements api.Global.
func (g *Global) Get() uint64 { return g.Value }

// String implements api.Global.
func (g *Global) String() string {
	switch g.ValueType {
	case api.ValueTypeI32:
		return strconv.Itoa(int(api.DecodeI32(g.Value)))
	case api.ValueTypeI64:
		return strconv.FormatInt(int64(g.Value), 10)
	case api.ValueTypeF32:
		return strconv.FormatFloat(float64(api.DecodeF32(g.Value)), 'g', -1, 32)
	case api.ValueTypeF64:
		return strconv.FormatFloat(api.DecodeF64(g.Value), 'g', -1, 64)
	}
	return "0x" + strconv.FormatUint(g.Value, 16)
}

// Function is a function.
type Function struct {
	internalapi.WazeroOnlyType

	GoModuleFunction        api.GoModuleFunction
	ParamTypes, ResultTypes []api.ValueType
	FunctionName            string
	DebugName               string
	ParamNames, ResultNames []string
	ExportNames             []string

	module *Module
	index  uint32
}

// NewFunction returns a function for a Go function that takes a context.Context, an api.Module, and numbers. It panics if the type is not possible.
func NewFunction(fn any) *Function {
	h := run.HostFunc{Fn: fn}
	call, err := h.Reflect()
	t := reflect.TypeOf(fn)
	if err != nil || t.NumIn() != len(h.Params)+2 {
		panic(fmt.Sprintf("cannot construct wasm function from go function of type %s", t))
	}
	types := func(list []api.ValueType) []api.ValueType { return append([]api.ValueType{}, list...) }
	return &Function{GoModuleFunction: api.GoModuleFunc(call), ParamTypes: types(h.Params), ResultTypes: types(h.Results)}
}

// Definition implements api.Function.
func (f *Function) Definition() api.FunctionDefinition { return functionDefinition{f: f} }

// Call implements api.Function.
func (f *Function) Call(ctx context.Context, params ...uint64) ([]uint64, error) {
	stack := make([]uint64, max(len(f.ParamTypes), len(f.ResultTypes)))
	copy(stack, params)
	results := stack[:len(f.ResultTypes)]
	err := f.CallWithStack(ctx, stack)
	if err != nil {
		clear(results)
	}
	return results, err
}

// CallWithStack implements api.Function.
func (f *Function) CallWithStack(ctx context.Context, stack []uint64) error {
	switch {
	case f.ParamTypes == nil || f.ResultTypes == nil:
		return errors.New("missing function signature")
	case f.GoModuleFunction == nil:
		return errors.New("missing function implementation")
	case f.module == nil:
		return errors.New("missing function module")
	}
	if code, closed := f.module.ExitStatus(); closed {
		return sys.NewExitError(code)
	}
	f.GoModuleFunction.Call(ctx, f.module, stack)
	return nil
}

// functionDefinition describes a function.
type functionDefinition struct {
	internalapi.WazeroOnlyType
	f *Function
}

func (d functionDefinition) ModuleName() string {
	if d.f.module == nil {
		return ""
	}
	return d.f.module.ModuleName
}

func (d functionDefinition) DebugName() string {
	if d.f.DebugName != "" {
		return d.f.DebugName
	}
	return fmt.Sprintf("%s.$%d", d.ModuleName(), d.f.index)
}

func (d functionDefinition) Name() string                           { return d.f.FunctionName }
func (d functionDefinition) Index() uint32                          { return d.f.index }
func (d functionDefinition) Import() (module, name string, ok bool) { return "", "", false }
func (d functionDefinition) ExportNames() []string                  { return d.f.ExportNames }
func (d functionDefinition) GoFunction() any                        { return d.f.GoModuleFunction }
func (d functionDefinition) ParamTypes() []api.ValueType            { return d.f.ParamTypes }
func (d functionDefinition) ParamNames() []string                   { return d.f.ParamNames }
func (d functionDefinition) ResultTypes() []api.ValueType           { return d.f.ResultTypes }
func (d functionDefinition) ResultNames() []string                  { return d.f.ResultNames }
