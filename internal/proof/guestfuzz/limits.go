package guestfuzz

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
)

// limits are the limits of a store.
type limits struct {
	pages, elements uint64 // of each memory and table
	// The sums over all instances, including those whose instantiation has failed.
	allPages, allElements        uint64
	memories, tables, globals    int
	instances                    int
	stack                        uint64
	hostDepth                    int // calls nested in each other by functions of the host
	collectAlways, hostStackFull bool
}

// noLimit stands for more than any episode needs.
const noLimit = math.MaxInt32

// randomLimits are small, so that they are reached, and absurdly small at times.
func randomLimits(r *rand.Rand, noCollectAlways bool) limits {
	l := limits{
		pages: []uint64{1, 2, 3, 5, 9, 12}[r.IntN(6)], elements: []uint64{1, 8, 12, 30, 60, 200}[r.IntN(6)],
		allPages: rarely(r, 2, 6, 20), allElements: rarely(r, 16, 40, 200), memories: int(rarely(r, 1, 2, 4)), tables: int(rarely(r, 2, 4, 9)),
		globals: int(rarely(r, ownGlobals, 12, 20)), hostDepth: int(rarely(r, 1, 2, 5)), hostStackFull: r.IntN(20) == 0,
		instances: []int{noLimit, noLimit, 1, 2, 5}[r.IntN(5)],
		stack:     []uint64{1, 64 << 10, 96 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}[r.IntN(7)],
	}
	if r.IntN(200) == 0 {
		l.stack = 0 // 8 MiB
	}
	if !noCollectAlways && r.IntN(6) == 0 {
		// Each call of the host looks at all frames, so there must not be many.
		l.collectAlways, l.stack = true, 1
	}
	return l
}

// ownGlobals is how many globals a world needs for itself.
const ownGlobals = 3

// rarely returns one of the values, most of the time noLimit.
func rarely(r *rand.Rand, values ...uint64) uint64 {
	if r.IntN(5) != 0 {
		return noLimit
	}
	return values[r.IntN(len(values))]
}

// config returns the limits for a store.
func (l *limits) config() inproc.Config {
	c := inproc.Config{MaxMemoryPages: l.pages, MaxTableElements: l.elements, MaxStack: l.stack, CollectAlways: l.collectAlways,
		MaxTotalMemoryPages: l.allPages, MaxTableMemory: 8 * l.allElements,
		MaxMemories: l.memories, MaxTables: l.tables, MaxGlobals: l.globals, MaxHostDepth: l.hostDepth}
	if l.hostStackFull {
		c.MaxHostStack = 24 << 10
	}
	if l.instances != noLimit {
		c.MaxInstances = l.instances
	}
	return c
}

// usage is how much a store has, or will get, of the quantities whose sums are limited.
type usage struct {
	memories, tables, globals int
	pages, elements           uint64
}

// used returns what the store has.
func (w *world) used() usage {
	u := usage{memories: len(w.memories), tables: len(w.tables), globals: len(w.globals)}
	for _, m := range w.memories {
		u.pages += uint64(len(m.data)) / wasmPage
	}
	for _, t := range w.tables {
		u.elements += uint64(len(t.elems))
	}
	return u
}

// exceeded names the limits, as *host.LimitError does, that keep the store from having u more.
func (w *world) exceeded(u usage) (names []string) {
	have, l := w.used(), &w.limits
	for _, x := range []struct {
		name string
		over bool
	}{
		{"memories", have.memories+u.memories > l.memories}, {"pages of memories", have.pages+u.pages > l.allPages},
		{"tables", have.tables+u.tables > l.tables}, {"bytes of tables", have.elements+u.elements > l.allElements},
		{"globals", have.globals+u.globals > l.globals},
	} {
		if x.over {
			names = append(names, x.name)
		}
	}
	return names
}

// granted reports whether something was made. It fails if the error does not match the exceeded limits.
func (w *world) granted(what string, err error, exceeded []string) bool {
	if len(exceeded) == 0 {
		w.must(err, what)
		return true
	}
	var limit *host.LimitError
	if !errors.As(err, &limit) || !slices.Contains(exceeded, limit.What) {
		w.fail("%s: %v, want a limit of %v", what, err, exceeded)
	}
	w.count("refusals by limits")
	return false
}

// overLimits names the limits that keep the store from an instance.
func (w *world) overLimits(i *instance) (names []string) {
	p := i.prog
	var u usage
	if !p.memory.imported {
		u.memories, u.pages = 1, p.memory.min
		if p.memory.min > w.limits.pages {
			names = append(names, "memory pages")
		}
	}
	for _, t := range p.tables {
		if !t.imported {
			u.tables++
			u.elements += t.min
			if t.min > w.limits.elements {
				names = append(names, "table elements")
			}
		}
	}
	u.globals = len(p.globals) - len(importedGlobals(p))
	if w.counted >= w.limits.instances {
		names = append(names, "instances")
	}
	return append(names, w.exceeded(u)...)
}

// growMemory gives the old size in pages, or growthFailed.
func (w *world) growMemory(m *memoryItem, pages uint64) uint64 {
	old := uint64(len(m.data)) / wasmPage
	if old+pages > m.limit || len(w.exceeded(usage{pages: pages})) > 0 {
		return growthFailed
	}
	m.data = append(m.data, make([]byte, pages*wasmPage)...)
	return old
}

// growTable returns the old length, or growthFailed.
func (w *world) growTable(t *tableItem, n uint64, v value) uint64 {
	old := uint64(len(t.elems))
	if old+n > t.limit || len(w.exceeded(usage{elements: n})) > 0 {
		return growthFailed
	}
	for range n {
		t.elems = append(t.elems, v)
	}
	return old
}
