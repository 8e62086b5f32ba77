package run

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/internal/expctxkeys"

	"github.com/waot-project/waot/host"
)

// An instance whose context has an allocator runs code with explicit bounds checks, which finds memories wherever they are. So do instances that import
// such a memory.

// allocation is an allocator of wazero's API as stores have it.
type allocation struct {
	of   experimental.MemoryAllocator
	most bool // the capacity is the maximum
}

// Allocate implements host.MemoryAllocator.
func (a *allocation) Allocate(capacity, max uint64) host.LinearMemory {
	if a.most {
		capacity = max
	}
	return a.of.Allocate(capacity, max)
}

// allocatorOf returns the allocator of a context, or nil.
func allocatorOf(ctx context.Context) experimental.MemoryAllocator {
	a, _ := ctx.Value(expctxkeys.MemoryAllocatorKey{}).(experimental.MemoryAllocator)
	return a
}

// instanceOptions are those for an instance that a context asks for.
func (m *Instance) instanceOptions(ctx context.Context) *host.InstanceOptions {
	o := &host.InstanceOptions{Made: m.adopt}
	if a := allocatorOf(ctx); a != nil {
		o.Allocator = &allocation{a, m.rt.config.CapacityFromMax}
	}
	return o
}

// explicitFor reports whether a module needs explicit bounds checks: because it has memories of its own, and the context an allocator, or because
// it imports a memory from an instance that needs them.
func (mod *Module) explicitFor(ctx context.Context, imports []source) bool {
	memories := 0
	for _, s := range imports {
		if s.kind != api.ExternTypeMemory {
			continue
		}
		if memories++; s.from.explicit {
			return true
		}
	}
	return memories < len(mod.mems) && allocatorOf(ctx) != nil
}
