package run

import (
	"sync"

	"github.com/waot-project/waot/host"
)

// retired keeps the stores of closed instances that gave out slices of their memories. Programs use such slices a little longer than the
// instance, since in wazero the garbage collector knows of them. Here it cannot know. So the stores that were closed last stay, up to the bounds
// below, and all others are given back.
type retired struct {
	mu    sync.Mutex
	queue []retiredStore
	bytes uint64
}

type retiredStore struct {
	store *host.Store
	bytes uint64
}

// The bounds of what is kept. The last store is kept whatever its size.
const (
	maxRetired      = 64
	maxRetiredBytes = 256 << 20
)

// kept is process-wide, as a slice may outlive its runtime as well.
var kept retired

// add keeps a store, and closes those that are beyond the bounds.
func (r *retired) add(s *host.Store, bytes uint64) {
	r.mu.Lock()
	r.queue = append(r.queue, retiredStore{s, bytes})
	r.bytes += bytes
	n := 0
	for len(r.queue)-n > 1 && (len(r.queue)-n > maxRetired || r.bytes > maxRetiredBytes) {
		r.bytes -= r.queue[n].bytes
		n++
	}
	old := r.queue[:n:n]
	r.queue = r.queue[n:]
	r.mu.Unlock()
	for _, x := range old {
		x.store.Close()
	}
}

// retire closes the store of a group whose instances are all closed, or keeps it for a while.
func (g *group) retire() {
	viewed, bytes := false, uint64(0)
	for _, m := range g.instances() {
		if mem := m.mem.Load(); mem != nil && mem.viewed.Load() {
			viewed = true
			bytes += mem.mem.Size()
		}
	}
	if viewed {
		kept.add(g.store, bytes)
		return
	}
	g.store.Close()
}
