package spectest

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// Engine compiles and runs modules. Errors tell their kind by their type
// anywhere in the chain: *wasmfront.Error for a module that is refused (with
// Feature or Limit if it is not the module's fault), Unlinkable for an import that
// cannot be satisfied, Trapper for a trap.
type Engine interface {
	// Name identifies the engine in messages.
	Name() string
	// Features are what modules may use.
	Features() wasmfront.Features
	// NewStore returns a new world: each script has its own.
	NewStore() (Store, error)
}

// Store is where instances live that can import from each other.
type Store interface {
	// Compile decodes and validates everything, bodies included.
	Compile(wasm []byte) (Module, error)
	// Instantiate links and starts the module. If it traps, what it wrote
	// to imported entities stays.
	Instantiate(m Module, imports func(module, name string) (Extern, bool)) (Instance, error)

	// The entities of the host module. Of args and results a v128 takes two words, the low half first.
	NewFunc(sig clif.Signature, fn func(args, results []uint64)) (Extern, error)
	NewGlobal(t clif.Type, mutable bool, bits uint64) (Extern, error)
	NewMemory(min, max uint64) (Extern, error)
	NewTable(elem clif.Type, min, max uint64) (Extern, error)

	// ExternRef is the reference to the host's object number n, the same each
	// time; ExternNumber is its inverse.
	ExternRef(n uint64) uint64
	ExternNumber(ref uint64) (n uint64, ok bool)

	// Close frees everything.
	Close() error
}

// Module is a compiled module; what it is depends on the engine.
type Module any

// Extern is what an instance exports and another imports; what it is depends
// on the engine.
type Extern any

// Value is a number or reference: raw bits, i32 and f32 zero-extended, a null
// reference 0.
type Value struct {
	Type clif.Type
	Bits uint64 // of a v128 the low half
	High uint64 // the other half
}

// Values returns values of the types, of which words has the raw bits: two words for a v128, the low half first.
func Values(types []clif.Type, words []uint64) []Value {
	values := make([]Value, len(types))
	for i, t := range types {
		values[i] = Value{Type: t, Bits: words[0]}
		if t == clif.V128 {
			values[i].High = words[1]
			words = words[1:]
		}
		words = words[1:]
	}
	return values
}

// Instance is an instance of a module.
type Instance interface {
	// Export is the entity of that name.
	Export(name string) (Extern, bool)
	// FuncType is the type of the function of that name.
	FuncType(name string) (*clif.Signature, bool)
	// Invoke calls the function of that name, whose type the arguments fit: two words for a v128, the low half first.
	Invoke(name string, args []uint64) ([]Value, error)
	// Get reads the global of that name.
	Get(name string) (Value, error)
}

// Trapper is an error that is a trap.
type Trapper interface {
	error
	TrapCode() abi.TrapCode
}

// Thrower is an error that is an exception, which nothing has caught.
type Thrower interface {
	error
	// Thrown says nothing more.
	Thrown()
}

// Placer is a Trapper that knows where the trap arose.
type Placer interface {
	Trapper
	// TrapPlace is the function, and the offset of the operator, in the module.
	TrapPlace() (fn, offset uint32)
}

// Place is where in a module a trap arose: at the first operator that traps in the order of execution, whatever is merged, moved or folded.
type Place struct {
	Func   uint32 `json:"func"`
	Offset uint32 `json:"offset"`
}

func (p *Place) String() string {
	if p == nil {
		return "no known place"
	}
	return fmt.Sprintf("function %d at offset %#x", p.Func, p.Offset)
}

// Differs reports whether both places are known, which is to say not nil, and not the same.
func (p *Place) Differs(q *Place) bool { return p != nil && q != nil && *p != *q }

// PlaceOf returns the place of a trap, nil if its engine does not say, or if it can be any. Which function has no more stack
// is each engine's affair, as it depends on the sizes of frames. (A cancelled call stops anywhere, too, but is no trap.)
func PlaceOf(t Trapper) *Place {
	p, ok := t.(Placer)
	if !ok || t.TrapCode() == abi.TrapStackOverflow {
		return nil
	}
	fn, offset := p.TrapPlace()
	return &Place{fn, offset}
}

// Unlinkable is an error about an import.
type Unlinkable interface {
	error
	// Unlinkable is "unknown import" or "incompatible import type".
	Unlinkable() string
}
