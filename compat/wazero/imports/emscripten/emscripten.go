// Package emscripten gives a runtime the functions that modules of Emscripten import from "env": those that notify of growth of the memory, and those for
// longjmp.
package emscripten

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"
	"github.com/tetratelabs/wazero/sys"
)

// The names of functions that Emscripten imports.
const (
	moduleName   = "env"
	notifyGrowth = "emscripten_notify_memory_growth"
	throwLongjmp = "_emscripten_throw_longjmp"
	invokePrefix = "invoke_" // then a letter for the result, and one for each parameter
)

// MustInstantiate is Instantiate that panics.
//
// Deprecated: use InstantiateForModule.
func MustInstantiate(ctx context.Context, r wazero.Runtime) {
	if _, err := Instantiate(ctx, r); err != nil {
		panic(err)
	}
}

// Instantiate makes the function for growth known to the runtime.
//
// Deprecated: use InstantiateForModule.
func Instantiate(ctx context.Context, r wazero.Runtime) (api.Closer, error) {
	return instantiate(ctx, r, NewFunctionExporter())
}

func instantiate(ctx context.Context, r wazero.Runtime, e FunctionExporter) (api.Closer, error) {
	b := r.NewHostModuleBuilder(moduleName)
	e.ExportFunctions(b)
	return b.Instantiate(ctx)
}

// FunctionExporter adds the functions to a module "env" that a program builds.
type FunctionExporter interface {
	ExportFunctions(wazero.HostModuleBuilder)
}

// NewFunctionExporter returns a FunctionExporter for growth.
//
// Deprecated: use NewFunctionExporterForModule.
func NewFunctionExporter() FunctionExporter { return exporter{growth()} }

// InstantiateForModule makes the functions that a module imports known to the runtime.
func InstantiateForModule(ctx context.Context, r wazero.Runtime, guest wazero.CompiledModule) (api.Closer, error) {
	e, err := NewFunctionExporterForModule(guest)
	if err != nil {
		return nil, err
	}
	return instantiate(ctx, r, e)
}

// NewFunctionExporterForModule returns a FunctionExporter for what a module imports.
func NewFunctionExporterForModule(guest wazero.CompiledModule) (FunctionExporter, error) {
	e := exporter{}
	for _, f := range guest.ImportedFunctions() {
		switch module, name, _ := f.Import(); {
		case module != moduleName:
		case name == notifyGrowth:
			e = append(e, growth())
		case name == throwLongjmp:
			e = append(e, &run.HostFunc{ExportName: name, Fn: api.GoFunc(func(context.Context, []uint64) { panic(errLongjmp) })})
		case strings.HasPrefix(name, invokePrefix):
			e = append(e, invoke(name, f.ParamTypes(), f.ResultTypes()))
		}
	}
	return e, nil
}

type exporter []*run.HostFunc

func (e exporter) ExportFunctions(b wazero.HostModuleBuilder) {
	for _, f := range e {
		b.(run.HostFuncExporter).ExportHostFunc(f)
	}
}

func growth() *run.HostFunc {
	return &run.HostFunc{ExportName: notifyGrowth, Params: []api.ValueType{api.ValueTypeI32}, ParamNames: []string{"memory_index"},
		Fn: api.GoFunc(func(context.Context, []uint64) {})}
}

// errLongjmp ends the functions between longjmp and the invoke function that setjmp was called below.
var errLongjmp = errors.New(throwLongjmp)

// invoke is a function that calls what table 0 has at its first parameter, with the others, and stops a longjmp.
func invoke(name string, params, results []api.ValueType) *run.HostFunc {
	names := []string{"index"}
	for i := 1; i < len(params); i++ {
		names = append(names, "a"+strconv.Itoa(i))
	}
	var rest []api.ValueType
	if len(params) > 0 {
		rest = params[1:]
	}
	return &run.HostFunc{ExportName: name, Params: params, Results: results, ParamNames: names[:min(len(names), len(params))],
		Fn: api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			f := run.Of(m).LookupFunction(0, uint32(stack[0]), rest, results)
			copy(stack, stack[1:])
			catch(ctx, m, f, stack)
		})}
}

// catch calls f. If a longjmp ends it, the stack of the guest is as before, and the guest knows.
func catch(ctx context.Context, m api.Module, f api.Function, stack []uint64) {
	var words [2]uint64 // the stack pointer; then the arguments of setThrew
	mustCall(ctx, m, "emscripten_stack_get_current", words[:])
	err := f.CallWithStack(ctx, stack)
	if err == nil {
		return
	}
	if _, ok := err.(*sys.ExitError); ok {
		panic(err)
	}
	mustCall(ctx, m, "_emscripten_stack_restore", words[:])
	if !errors.Is(err, errLongjmp) {
		panic(err)
	}
	words = [2]uint64{1, 0}
	mustCall(ctx, m, "setThrew", words[:])
}

// mustCall calls an export of the guest.
func mustCall(ctx context.Context, m api.Module, name string, stack []uint64) {
	f := m.ExportedFunction(name)
	if f == nil {
		panic(fmt.Sprintf("%s not exported", name))
	}
	if err := f.CallWithStack(ctx, stack); err != nil {
		panic(err)
	}
}
