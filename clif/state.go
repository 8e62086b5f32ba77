package clif

// StateSet is a set of parts of what a module's instance holds: the contents of its memories, their sizes, and so on. Globals have parts of their own
// as far as these go; others share them.
type StateSet uint64

// The parts.
const (
	StateMemory     StateSet = 1 << iota // contents of memories
	StateMemorySize                      // sizes of memories
	StateTable                           // contents of tables
	StateTableSize                       // sizes of tables
	StateSegments                        // lengths and contents of segments
	StateImported                        // mutable globals that are imported, of which two may be the same
	stateGlobal0                         // the first of the other globals

	stateGlobals = 56 // how many parts globals have
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

// WrittenBy returns what d may write.
func (m *Module) WrittenBy(d *InstData) StateSet {
	switch d.Op {
	case OpStore, OpMemoryCopy, OpMemoryFill, OpMemoryInit:
		return StateMemory
	case OpMemoryGrow:
		return StateMemorySize
	case OpGlobalSet:
		return m.GlobalState(d.Aux)
	case OpTableSet, OpTableCopy, OpTableFill, OpTableInit:
		return StateTable
	case OpTableGrow:
		return StateTableSize
	case OpDataDrop, OpElemDrop, OpElemSet:
		return StateSegments
	case OpCall:
		return ^m.Funcs[d.Aux].Keeps
	case OpCallRef:
		return AllState
	}
	return 0
}

// ReadBy returns what d reads, if it is one of the instructions that only read.
func (m *Module) ReadBy(d *InstData) StateSet {
	switch d.Op {
	case OpLoad:
		return StateMemory
	case OpMemorySize:
		return StateMemorySize
	case OpGlobalGet:
		return m.GlobalState(d.Aux)
	case OpTableGet:
		return StateTable
	case OpTableSize:
		return StateTableSize
	case OpDataLen, OpElemLen:
		return StateSegments
	}
	return 0
}
