// Package wasi_snapshot_preview1 gives a runtime the functions of WASI preview 1. What they reach is what the calling instance's wazero.ModuleConfig
// says.
package wasi_snapshot_preview1

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/run"
)

// ModuleName is the name under which guests import the functions.
const ModuleName = "wasi_snapshot_preview1"

// MustInstantiate is Instantiate that panics.
func MustInstantiate(ctx context.Context, r wazero.Runtime) {
	if _, err := Instantiate(ctx, r); err != nil {
		panic(err)
	}
}

// Instantiate makes the functions known to the runtime.
func Instantiate(ctx context.Context, r wazero.Runtime) (api.Closer, error) {
	return NewBuilder(r).Instantiate(ctx)
}

// Builder makes a module with the functions.
type Builder interface {
	// Compile returns a module, to be instantiated under this or another name.
	Compile(context.Context) (wazero.CompiledModule, error)

	// Instantiate makes the functions known to the runtime.
	Instantiate(context.Context) (api.Closer, error)
}

// NewBuilder returns a Builder.
func NewBuilder(r wazero.Runtime) Builder { return &builder{r} }

type builder struct{ r wazero.Runtime }

func (b *builder) functions() wazero.HostModuleBuilder {
	h := b.r.NewHostModuleBuilder(ModuleName)
	NewFunctionExporter().ExportFunctions(h)
	return h
}

func (b *builder) Compile(ctx context.Context) (wazero.CompiledModule, error) {
	return b.functions().Compile(ctx)
}

func (b *builder) Instantiate(ctx context.Context) (api.Closer, error) {
	return b.functions().Instantiate(ctx)
}

// FunctionExporter adds the functions to a module that a program builds.
type FunctionExporter interface {
	ExportFunctions(wazero.HostModuleBuilder)
}

// NewFunctionExporter returns a FunctionExporter.
func NewFunctionExporter() FunctionExporter { return exporter{} }

type exporter struct{}

func (exporter) ExportFunctions(b wazero.HostModuleBuilder) {
	for _, f := range run.WASIFunctions() {
		b.(run.HostFuncExporter).ExportHostFunc(f)
	}
}
