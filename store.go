package waot

import "github.com/waot-project/waot/host"

// NewStore makes a store, which must be closed; see host.NewStore.
func NewStore(o *StoreOptions) (*Store, error) { return host.NewStore(o) }

// NewPool returns a pool of instances of m, each in a store of its own; see host.NewPool.
func NewPool(m *Module, o *PoolOptions) *Pool { return host.NewPool(m, o) }

// Preemption returns nil if compiled code is preempted like Go code, and otherwise why not; see host.Preemption.
func Preemption() error { return host.Preemption() }

// FreeOSMemory gives back to the system what closed stores have left for the next ones; see host.FreeOSMemory.
func FreeOSMemory() { host.FreeOSMemory() }
