// Package experimental has settings that programs pass in contexts, and more of instances than package api.
//
// What this version does with them: close notifiers, import resolvers, numbers of workers, listeners, memory allocators and snapshots work.
package experimental

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/expctxkeys"
)

// Features beyond WebAssembly 2.0. Extended constant expressions and tail calls are always on, and typed function references where reference types are. Exceptions are those of WebAssembly 3.0.
// Threads are accepted here, but modules that use them do not compile.
const (
	CoreFeaturesThreads api.CoreFeatures = api.CoreFeatureSIMD << (iota + 1)
	CoreFeaturesTailCall
	CoreFeaturesExtendedConst
	CoreFeaturesExceptionHandling
	CoreFeaturesTypedFunctionReferences
)

// InternalModule is what every api.Module of a guest is, too.
type InternalModule interface {
	api.Module

	// NumGlobal is the number of globals, imported ones included.
	NumGlobal() int

	// Global returns a global by its index. It panics if there is none.
	Global(i int) api.Global
}

// ProgramCounter is a place in compiled code.
type ProgramCounter uint64

// InternalFunction is a function in a stack trace.
type InternalFunction interface {
	Definition() api.FunctionDefinition

	// SourceOffsetForPC returns the offset of a place in the module; 0 if it is not known.
	SourceOffsetForPC(pc ProgramCounter) uint64
}

// CloseNotifier is told when an instance closes.
type CloseNotifier interface {
	CloseNotify(ctx context.Context, exitCode uint32)
}

// CloseNotifyFunc is a CloseNotifier.
type CloseNotifyFunc func(ctx context.Context, exitCode uint32)

// CloseNotify implements CloseNotifier.
func (f CloseNotifyFunc) CloseNotify(ctx context.Context, exitCode uint32) { f(ctx, exitCode) }

// WithCloseNotifier returns a context for instantiations whose instances tell the notifier.
func WithCloseNotifier(ctx context.Context, notifier CloseNotifier) context.Context {
	if notifier == nil {
		return ctx
	}
	return context.WithValue(ctx, expctxkeys.CloseNotifierKey{}, notifier)
}

// ImportResolver returns the instance that an import's module name stands for; nil to look in the runtime.
type ImportResolver func(name string) api.Module

// WithImportResolver returns a context for instantiations that ask the resolver first.
func WithImportResolver(ctx context.Context, resolver ImportResolver) context.Context {
	return context.WithValue(ctx, expctxkeys.ImportResolverKey{}, resolver)
}

// WithCompilationWorkers returns a context for compilations with that many functions at a time.
func WithCompilationWorkers(ctx context.Context, workers int) context.Context {
	return context.WithValue(ctx, expctxkeys.CompilationWorkers{}, workers)
}

// GetCompilationWorkers returns what WithCompilationWorkers has set; at least 1.
func GetCompilationWorkers(ctx context.Context) int {
	n, _ := ctx.Value(expctxkeys.CompilationWorkers{}).(int)
	return max(n, 1)
}

// MemoryAllocator makes memories.
type MemoryAllocator interface {
	Allocate(cap, max uint64) LinearMemory
}

// MemoryAllocatorFunc is a MemoryAllocator.
type MemoryAllocatorFunc func(cap, max uint64) LinearMemory

// Allocate implements MemoryAllocator.
func (f MemoryAllocatorFunc) Allocate(cap, max uint64) LinearMemory { return f(cap, max) }

// LinearMemory is a memory of a MemoryAllocator.
type LinearMemory interface {
	Reallocate(size uint64) []byte
	Free()
}

// WithMemoryAllocator returns a context for instantiations whose memories are the allocator's. Their code compares addresses with the size of the memory; it is compiled
// when the first instance of a module needs it, or at once if the context of the compilation has an allocator, too. Free is called when all instances that are linked are closed.
func WithMemoryAllocator(ctx context.Context, allocator MemoryAllocator) context.Context {
	if allocator == nil {
		return ctx
	}
	return context.WithValue(ctx, expctxkeys.MemoryAllocatorKey{}, allocator)
}

// Snapshot is a state of a call to return to.
type Snapshot interface {
	// Restore goes back, in the place of returning: it panics, and the code goes on as if the Go function that took the snapshot had returned again, with these
	// results. Calls in between end. If the call of the snapshot has ended, the panic arrives at the program.
	Restore(ret []uint64)
}

// Snapshotter takes snapshots.
type Snapshotter interface {
	// Snapshot takes a snapshot of the innermost call, for the Go function that it has called. It has a copy of the stack of the call.
	Snapshot() Snapshot
}

// WithSnapshotter returns a context with which Go functions that calls lead to have a Snapshotter.
func WithSnapshotter(ctx context.Context) context.Context {
	return context.WithValue(ctx, expctxkeys.EnableSnapshotterKey{}, struct{}{})
}

// GetSnapshotter returns the Snapshotter for a Go function. It panics if the call has none.
func GetSnapshotter(ctx context.Context) Snapshotter {
	return ctx.Value(expctxkeys.SnapshotterKey{}).(Snapshotter)
}
