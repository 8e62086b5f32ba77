package clif

// ConstKind is what a ConstField is.
type ConstKind uint8

// The kinds.
const (
	ConstUnknown ConstKind = iota
	ConstNumber            // Bits, of a number of at most 64 bits; null is 0
	ConstFunc              // the function Bits of the module
	ConstGlobal            // the global Bits, which nothing changes
	ConstMade              // Object
)

// ConstObject is a structure that a constant expression has made.
type ConstObject struct {
	Type uint32
	// Fields is nil if all are zeros and nulls.
	Fields []ConstField
}

// ConstField is what a field was given by a constant expression.
type ConstField struct {
	Kind   ConstKind
	Bits   uint64
	Object *ConstObject
}

// HeldKind is what a Held is.
type HeldKind uint8

// The kinds.
const (
	HeldNothing HeldKind = iota // but null, if at all
	HeldFunc                    // the function Index of the module
	HeldObject                  // structures of type Index, and of no subtype of it
	HeldAny
)

// Held is what may be in a field of reference type that never changes, of all structures of one type and its subtypes that there are.
type Held struct {
	Kind  HeldKind
	Null  bool // null may be in it, too
	Index uint32
}

// HeldBy returns what is in a field of structures of type t.
func (m *Module) HeldBy(t uint32, field uint64) Held {
	if m.Held == nil || m.Held[t] == nil {
		return Held{Kind: HeldAny}
	}
	return m.Held[t][field]
}
