// Package wazero is github.com/tetratelabs/wazero on waot: programs that import that module run on waot, at native speed, when a line of their
// go.mod replaces it with this one. What differs is in docs/from-wazero.md of waot's repository.
//
// Place: above package internal/run, which compiles and links by packages waot and waot/host. The exported names and what they do are those of
// wazero v1.12.
//
// Input: modules in the binary format, Go functions, settings.
// Output: instances, as package api has them.
package wazero

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"
)

// Runtime has modules that can import from each other by name. It may be used by several goroutines.
type Runtime interface {
	// Instantiate compiles and instantiates a module, with the default settings.
	Instantiate(ctx context.Context, source []byte) (api.Module, error)

	// InstantiateWithConfig compiles and instantiates a module. Its code is given up when the instance closes.
	InstantiateWithConfig(ctx context.Context, source []byte, config ModuleConfig) (api.Module, error)

	// NewHostModuleBuilder begins a module of Go functions.
	NewHostModuleBuilder(moduleName string) HostModuleBuilder

	// CompileModule compiles a module.
	CompileModule(ctx context.Context, binary []byte) (CompiledModule, error)

	// InstantiateModule makes an instance of a module, and calls its start functions. A *sys.ExitError with a code that is not 0 is an
	// error.
	InstantiateModule(ctx context.Context, compiled CompiledModule, config ModuleConfig) (api.Module, error)

	// CloseWithExitCode closes all instances. Calls of them end with a *sys.ExitError with that code.
	CloseWithExitCode(ctx context.Context, exitCode uint32) error

	// Module returns the instance of that name; nil if there is none.
	Module(moduleName string) api.Module

	// Closer closes all instances, with exit code 0.
	api.Closer
}

// NewRuntime returns a runtime with the default settings.
func NewRuntime(ctx context.Context) Runtime { return NewRuntimeWithConfig(ctx, NewRuntimeConfig()) }

// NewRuntimeWithConfig returns a runtime.
func NewRuntimeWithConfig(_ context.Context, rConfig RuntimeConfig) Runtime {
	c := rConfig.(*runtimeConfig)
	return &runtime{run.NewRuntime(c.Config)}
}

// runtime implements Runtime.
type runtime struct{ engine *run.Runtime }

func (r *runtime) Module(name string) api.Module {
	m := r.engine.Module(name)
	switch {
	case m == nil:
		return nil
	case m.IsHost():
		return hostModule{m}
	}
	return m
}

func (r *runtime) CompileModule(ctx context.Context, binary []byte) (CompiledModule, error) {
	m, err := r.engine.Compile(ctx, binary)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (r *runtime) Instantiate(ctx context.Context, binary []byte) (api.Module, error) {
	return r.InstantiateWithConfig(ctx, binary, NewModuleConfig())
}

func (r *runtime) InstantiateWithConfig(ctx context.Context, binary []byte, config ModuleConfig) (api.Module, error) {
	m, err := r.engine.Compile(ctx, binary)
	if err != nil {
		return nil, err
	}
	m.CloseWithInstance = true
	return r.InstantiateModule(ctx, m, config)
}

func (r *runtime) InstantiateModule(ctx context.Context, compiled CompiledModule, config ModuleConfig) (api.Module, error) {
	m, err := r.engine.Instantiate(ctx, compiled.(*run.Module), config.(*moduleConfig).instance())
	if m == nil {
		return nil, err // and not an interface with nil in it
	}
	return m, err
}

func (r *runtime) Close(ctx context.Context) error { return r.CloseWithExitCode(ctx, 0) }

func (r *runtime) CloseWithExitCode(ctx context.Context, exitCode uint32) error {
	return r.engine.CloseWithExitCode(ctx, exitCode)
}

// CompiledModule is a module that can be instantiated any number of times.
type CompiledModule interface {
	// Name is the name of the module in its name section.
	Name() string

	// ImportedFunctions describes the imported functions, in the order of the module.
	ImportedFunctions() []api.FunctionDefinition

	// ExportedFunctions describes the exported functions by name.
	ExportedFunctions() map[string]api.FunctionDefinition

	// ImportedMemories describes the imported memories.
	ImportedMemories() []api.MemoryDefinition

	// ExportedMemories describes the exported memories by name.
	ExportedMemories() map[string]api.MemoryDefinition

	// CustomSections are the custom sections but the name section, with RuntimeConfig.WithCustomSections.
	CustomSections() []api.CustomSection

	// Close gives up the code. Instances are not affected.
	Close(context.Context) error
}
