package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Defaults and ceilings of Config.
const (
	defaultTotalPages  = 4 * abi.MaxMemoryPages
	defaultTableMemory = 128 << 20
	defaultCount       = 4096 // of tables and memories
	defaultGlobals     = 1_000_000
	defaultHostStack   = 8 << 20
	maxHostStack       = maxGoStack / 2
	defaultExceptions  = 128 << 20
	defaultHostDepth   = 10_000
	defaultHeap        = 1 << 30
)

// complete puts defaults in the place of zeros. The error is a *LimitError.
func (c *Config) complete() error {
	orDefault(&c.MaxMemoryPages, abi.MaxMemoryPages)
	orDefault(&c.MaxTotalMemoryPages, defaultTotalPages)
	orDefault(&c.MaxTableElements, abi.DefaultTableElements)
	orDefault(&c.MaxStack, abi.DefaultStack)
	orDefault(&c.MaxHostStack, defaultHostStack)
	orDefault(&c.MaxHostDepth, defaultHostDepth)
	orDefault(&c.MaxTables, defaultCount)
	orDefault(&c.MaxMemories, defaultCount)
	orDefault(&c.MaxGlobals, defaultGlobals)
	orDefault(&c.MaxExceptionMemory, defaultExceptions)
	orDefault(&c.MaxHeapMemory, defaultHeap)
	c.MaxMemoryPages = min(c.MaxMemoryPages, abi.MaxMemoryPages)
	c.MaxTableElements = min(c.MaxTableElements, abi.MaxTableElements)
	// One table of the largest size must fit.
	orDefault(&c.MaxTableMemory, max(defaultTableMemory, 8*c.MaxTableElements))
	c.MaxStack = max(c.MaxStack, abi.MinStack)
	if err := atMost("stack bytes", c.MaxStack, maxStack); err != nil {
		return err
	}
	return atMost("host stack bytes", c.MaxHostStack, maxHostStack)
}

func orDefault[T int | uint64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// atMost returns a *LimitError if want is above limit.
func atMost(what string, want, limit uint64) error {
	if want > limit {
		return &LimitError{What: what, Want: want, Limit: limit}
	}
	return nil
}

// counted is atMost for numbers of things; a negative limit allows none.
func counted(what string, want, limit int) error {
	return atMost(what, uint64(want), uint64(max(limit, 0)))
}

// usage counts the resources with a total limit that a store has, or that something to be created in it needs.
type usage struct {
	tables, memories, globals int
	tableBytes, memoryPages   uint64 // at their current sizes
}

// grant checks that the store may have u more. Nothing is counted yet.
func (s *Store) grant(u usage) error {
	c := &s.config
	for _, err := range [...]error{
		counted("tables", s.used.tables+u.tables, c.MaxTables),
		atMost("bytes of tables", s.used.tableBytes+u.tableBytes, c.MaxTableMemory),
		counted("memories", s.used.memories+u.memories, c.MaxMemories),
		atMost("pages of memories", s.used.memoryPages+u.memoryPages, c.MaxTotalMemoryPages),
		counted("globals", s.used.globals+u.globals, c.MaxGlobals),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLimits finds what the store will not grant, before anything is made: a module has
// all of its own or leaves nothing.
func (i *Instance) checkLimits() error {
	s, m := i.store, i.module.meta
	c := &s.config
	if c.MaxInstances != 0 {
		if err := counted("instances", len(s.instances)+1, c.MaxInstances); err != nil {
			return err
		}
	}
	var u usage
	for n := range m.Memories {
		if d := &m.Memories[n]; d.Import == nil {
			if err := atMost("memory pages", d.Min, c.MaxMemoryPages); err != nil {
				return err
			}
			u.memories++
			u.memoryPages += d.Min
		}
	}
	for n := range m.Tables {
		if d := &m.Tables[n]; d.Import == nil {
			if err := atMost("table elements", d.Min, c.MaxTableElements); err != nil {
				return err
			}
			u.tables++
			u.tableBytes += tableBytes(d.Min)
		}
	}
	u.globals = ownGlobals(m)
	return s.grant(u)
}

// ownGlobals returns the number of global variables that a module defines.
func ownGlobals(m *meta.Module) (n int) {
	for i := range m.Globals {
		if m.Globals[i].Import == nil {
			n++
		}
	}
	return n
}

// tableBytes returns what the elements of a table count.
func tableBytes(elements uint64) uint64 { return 8 * elements }
