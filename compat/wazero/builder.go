package wazero

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"
)

// HostFunctionBuilder makes a function of a module of Go functions: one of the first three methods, then Export.
type HostFunctionBuilder interface {
	// WithGoFunction takes a function on words, and its types.
	WithGoFunction(fn api.GoFunction, params, results []api.ValueType) HostFunctionBuilder

	// WithGoModuleFunction takes a function on words that wants to know the instance that calls it.
	WithGoModuleFunction(fn api.GoModuleFunction, params, results []api.ValueType) HostFunctionBuilder

	// WithFunc takes any function whose parameters and results are numbers of 32 or 64 bits, or uintptr for externref. Before the
	// parameters it may have a context.Context, then an api.Module. Calls go through reflection.
	WithFunc(interface{}) HostFunctionBuilder

	// WithName gives the function another name than that of the export in stack traces.
	WithName(name string) HostFunctionBuilder

	// WithParameterNames gives names to all parameters.
	WithParameterNames(names ...string) HostFunctionBuilder

	// WithResultNames gives names to all results.
	WithResultNames(names ...string) HostFunctionBuilder

	// Export adds the function to the module. A second one of the same name replaces the first.
	Export(name string) HostModuleBuilder
}

// HostModuleBuilder makes a module of Go functions.
type HostModuleBuilder interface {
	// NewFunctionBuilder begins a function.
	NewFunctionBuilder() HostFunctionBuilder

	// Compile returns the module, to be instantiated under this or another name.
	Compile(context.Context) (CompiledModule, error)

	// Instantiate makes the functions known to the runtime. Functions of the result cannot be called.
	Instantiate(context.Context) (api.Module, error)
}

// hostModuleBuilder implements HostModuleBuilder.
type hostModuleBuilder struct {
	r     *runtime
	name  string
	funcs []*run.HostFunc
}

func (r *runtime) NewHostModuleBuilder(moduleName string) HostModuleBuilder {
	return &hostModuleBuilder{r: r, name: moduleName}
}

// ExportHostFunc adds a function, for packages below imports.
func (b *hostModuleBuilder) ExportHostFunc(f *run.HostFunc) {
	for i, other := range b.funcs {
		if other.ExportName == f.ExportName {
			b.funcs[i] = f
			return
		}
	}
	b.funcs = append(b.funcs, f)
}

func (b *hostModuleBuilder) NewFunctionBuilder() HostFunctionBuilder {
	return &hostFunctionBuilder{b: b}
}

func (b *hostModuleBuilder) Compile(ctx context.Context) (CompiledModule, error) {
	m, err := b.r.engine.CompileHost(ctx, b.name, b.funcs)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (b *hostModuleBuilder) Instantiate(ctx context.Context) (api.Module, error) {
	m, err := b.r.engine.CompileHost(ctx, b.name, b.funcs)
	if err != nil {
		return nil, err
	}
	i, err := b.r.engine.Instantiate(ctx, m, NewModuleConfig().(*moduleConfig).instance())
	if err != nil {
		return nil, err
	}
	return hostModule{i}, nil
}

// hostModule is a module of Go functions, which only guests may call.
type hostModule struct{ *run.Instance }

func (hostModule) ExportedFunction(string) api.Function {
	panic("calling ExportedFunction is forbidden on host modules. See the note on ExportedFunction interface")
}

// hostFunctionBuilder implements HostFunctionBuilder.
type hostFunctionBuilder struct {
	b *hostModuleBuilder
	f run.HostFunc
}

func (h *hostFunctionBuilder) WithGoFunction(fn api.GoFunction, params, results []api.ValueType) HostFunctionBuilder {
	h.f.Fn, h.f.Params, h.f.Results = fn, params, results
	return h
}

func (h *hostFunctionBuilder) WithGoModuleFunction(fn api.GoModuleFunction, params, results []api.ValueType) HostFunctionBuilder {
	h.f.Fn, h.f.Params, h.f.Results = fn, params, results
	return h
}

func (h *hostFunctionBuilder) WithFunc(fn interface{}) HostFunctionBuilder {
	h.f.Fn = fn
	return h
}

func (h *hostFunctionBuilder) WithName(name string) HostFunctionBuilder {
	h.f.Name = name
	return h
}

func (h *hostFunctionBuilder) WithParameterNames(names ...string) HostFunctionBuilder {
	h.f.ParamNames = names
	return h
}

func (h *hostFunctionBuilder) WithResultNames(names ...string) HostFunctionBuilder {
	h.f.ResultNames = names
	return h
}

func (h *hostFunctionBuilder) Export(name string) HostModuleBuilder {
	f := h.f
	f.ExportName = name
	h.b.ExportHostFunc(&f)
	return h.b
}
