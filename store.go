package waot

import "github.com/waot-project/waot/host"

// NewStore makes a store, which must be closed; see host.NewStore.
func NewStore(o *StoreOptions) (*Store, error) { return host.NewStore(o) }

// Preemption returns nil if compiled code is preempted like Go code, and otherwise why not; see host.Preemption.
func Preemption() error { return host.Preemption() }
