package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// State is what an instance has beside its code, all by the indices of its module.
type State struct {
	Memories [][]byte // whole pages
	Tables   [][]Ref
	Globals  []Value
	// DroppedData and DroppedElems say which segments have been dropped. Active and declarative ones are in any case.
	DroppedData, DroppedElems []bool
	// Frames are the calls that are under way, the outermost one first. The innermost one is of the marker.
	Frames []Frame
	// Calls are made again by each instance, before anything else.
	Calls []Call
}

// Call is a call of an imported function whose parameters are i32, and whose result does not matter.
type Call struct {
	Func uint32
	Args []uint32
}

// Ref is a reference: the index of a function, or Null.
type Ref int64

// Null is the reference to nothing.
const Null Ref = -1

// Value is a number, a vector, or a reference.
type Value struct {
	Bits, High uint64
	Ref        Ref
}

// Frame is a call that is under way: what its function has when it calls the next one.
type Frame struct {
	Func   uint32
	Call   int // how many calls are in front of the one that is under way
	Locals []Value
	// Operands are those below the arguments of the call.
	Operands []Value
}

// Error says why a module cannot be frozen. It is nothing that is wrong with the module.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

// Errorf makes an *Error.
func Errorf(format string, args ...any) *Error { return &Error{fmt.Sprintf(format, args...)} }

// Digest returns a digest of all but the frames and calls.
func (s *State) Digest() [sha256.Size]byte {
	h := sha256.New()
	number := func(x uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, x)) }
	for _, mem := range s.Memories {
		number(uint64(len(mem)))
		const gap = 4096
		for low, high := nextData(mem, 0, gap); low < high; low, high = nextData(mem, high, gap) {
			number(uint64(low))
			h.Write(mem[low:high])
		}
	}
	for _, t := range s.Tables {
		number(uint64(len(t)))
		for _, r := range t {
			number(uint64(r))
		}
	}
	for _, g := range s.Globals {
		number(g.Bits)
		number(g.High)
		number(uint64(g.Ref))
	}
	for _, dropped := range [][]bool{s.DroppedData, s.DroppedElems} {
		for _, d := range dropped {
			number(map[bool]uint64{true: 1}[d])
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// none is in the place of the index of a function that is not there.
const none = ^uint32(0)

// markerOf returns the index of the function that is the marker.
func markerOf(m *wasmfront.Module) (uint32, error) {
	found := none
	for i := range m.Imports {
		imp := &m.Imports[i]
		if imp.Kind != abi.ExternFunc || imp.Module != abi.MarkerModule || imp.Name != abi.MarkerName {
			continue
		}
		if t := m.FuncType(imp.Index); len(t.Params)+len(t.Results) > 0 {
			return none, Errorf("the import %s.%s has the type %v; it must have neither parameters nor results", imp.Module, imp.Name, t)
		}
		if found != none {
			return none, Errorf("the module imports %s.%s twice", imp.Module, imp.Name)
		}
		found = imp.Index
	}
	return found, nil
}

// checkOwn refuses modules that share state with others.
func checkOwn(m *wasmfront.Module) error {
	for i := range m.Imports {
		if imp := &m.Imports[i]; imp.Kind != abi.ExternFunc {
			return Errorf("the module imports the %v %s.%s; a snapshot has only what is the module's own", imp.Kind, imp.Module, imp.Name)
		}
	}
	return nil
}
