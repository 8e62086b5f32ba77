package clif

import "github.com/waot-project/waot/internal/effect"

// StateSet is a set of parts of what a module's instance holds: the contents of its memories, their sizes, and so on. Globals have parts of their own
// as far as these go; others share them.
type StateSet uint64

// The parts.
const (
	StateMemory     = StateSet(effect.Memory)     // contents of memories
	StateMemorySize = StateSet(effect.MemorySize) // sizes of memories
	StateTable      = StateSet(effect.Table)      // contents of tables
	StateTableSize  = StateSet(effect.TableSize)  // sizes of tables
	StateSegments   = StateSet(effect.Segments)   // lengths and contents of segments
	StateFuel       = StateSet(effect.Fuel)       // the count of fuel
	StateException  = StateSet(effect.Exception)  // the exception that is under way
	StateHeap       = StateSet(effect.Heap)       // contents of collected objects
	StateImported   = StateSet(effect.Global)     // mutable globals that are imported, of which two may be the same
	stateGlobal0    = StateImported << 1          // the first of the other globals

	stateGlobals = 55 // how many parts globals have
)

// AllState is all parts.
const AllState = ^StateSet(0)

// GlobalState returns the part that global g is.
func (m *Module) GlobalState(g uint32) StateSet {
	if d := &m.Globals[g]; d.Import != nil && d.Mutable {
		return StateImported
	}
	return stateGlobal0 << (g % stateGlobals)
}

// StateOf returns the parts of p. Of globals it is none: which one an instruction means, its index says.
func StateOf(p effect.Parts) StateSet { return StateSet(p &^ effect.Global) }

// WrittenBy returns what d may write. What makes an object writes to none that is there.
func (m *Module) WrittenBy(d *InstData) StateSet {
	e := d.Op.Info().Effects
	if d.Op == OpStructNew || d.Op == OpArrayNew {
		return 0
	}
	if e.Has(effect.Calls) {
		return m.writtenByCall(d)
	}
	return m.states(d, e.Written())
}

// writtenByCall returns what the call d may write.
func (m *Module) writtenByCall(d *InstData) StateSet {
	if d.Op.Info().Entity == EntFunc {
		return ^m.Funcs[d.Aux].Keeps
	}
	return AllState
}

// ReadBy returns what d reads.
func (m *Module) ReadBy(d *InstData) StateSet {
	e := d.Op.Info().Effects
	if e.Has(effect.Calls) {
		return AllState
	}
	return m.states(d, e.Read())
}

func (m *Module) states(d *InstData, p effect.Parts) StateSet {
	s := StateOf(p)
	if p&effect.Global != 0 {
		s |= m.GlobalState(d.Aux)
	}
	return s
}
