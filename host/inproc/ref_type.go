package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// RefType is a type of references that no module has to explain: that of a table or global that Go code makes.
type RefType struct {
	// Type says what references are to, and whether they may be null. If Object is not nil only the latter counts; otherwise it has no index of a type.
	Type meta.ValType
	// Object is the type of what references are to, or nil.
	Object *ObjectType
}

// ValType returns the type with an index of the module that Object was found in. The error is ErrType if t is none.
func (t RefType) ValType() (meta.ValType, error) {
	if t.Object == nil {
		if !t.Type.IsRef() || !t.Type.NeedsNoModule() {
			return 0, ErrType
		}
		return t.Type, nil
	}
	def := t.Object.Def()
	if def == nil {
		return 0, ErrType
	}
	typ := abi.RefToKind(def.Kind, t.Object.index)
	if t.Type.IsNotNull() {
		typ = typ.NotNull()
	}
	return typ, nil
}

// own returns ValType by itself, as tables and globals have it: nil if it says nothing beyond its class.
func (t RefType) own(typ meta.ValType) *abi.OwnType {
	own := abi.OwnType{Type: typ}
	switch {
	case !typ.IsTyped():
		return nil
	case t.Object != nil:
		own = t.Object.types.records.Own(typ)
	}
	return &own
}

// Use makes the store ready for references of the type, before words for them are made: it has a heap from then on if they can be to what is in one, and the type of objects stays in use. The
// caller is inside the store. The errors are *LimitError and *SystemError.
func (s *Store) Use(t RefType) error {
	if t.Object != nil {
		s.useType(t.Object)
	}
	return s.makeHeapFor(t.Object != nil || t.Type.IsInternal())
}

// makeHeapFor makes the heap of the store if values of a type may be in it, of which internal says whether it is within any. Without a heap a small integer would be a value of the host like others.
func (s *Store) makeHeapFor(internal bool) error {
	if !internal || s.heap != nil {
		return nil
	}
	return s.makeHeap()
}

// holdFor is hold for what is made of references of type t, which it returns as ValType does.
func (s *Store) holdFor(t RefType) (typ meta.ValType, done func(), err error) {
	if typ, err = t.ValType(); err != nil {
		return 0, nil, err
	}
	if done, err = s.hold(); err != nil {
		return 0, nil, err
	}
	if err = s.Use(t); err != nil {
		done()
		return 0, nil, err
	}
	return typ, done, nil
}

// NewTableOf makes a table whose elements are v, a word of Go code. The errors are ErrType if t is no type of references or v none of its values, *LimitError, *SystemError, and ErrCancelled if a
// context has ended the call meanwhile.
func (s *Store) NewTableOf(t RefType, l Limits, v uint64) (*Table, error) {
	typ, done, err := s.holdFor(t)
	if err != nil {
		return nil, err
	}
	defer done()
	own := t.own(typ)
	w, ok := s.toNative(ownType(typ, own), v)
	if !ok {
		return nil, ErrType
	}
	table, err := s.newTable(typ, own, l)
	if err != nil {
		return nil, err
	}
	if w != 0 && !table.fill(0, uintptr(l.Min), w) {
		return nil, s.cancelError(false)
	}
	return table, nil
}

// NewGlobalOf makes a global variable with the value v, a word of Go code. The errors are ErrType if t is no type of references or v none of its values, *LimitError and *SystemError.
func (s *Store) NewGlobalOf(t RefType, mutable bool, v uint64) (*Global, error) {
	typ, done, err := s.holdFor(t)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.newGlobal(typ, t.own(typ), mutable, v, 0)
}

// ObjectType returns the type of structures or arrays that the type of the elements has the index of; nil if it has none, or one of functions.
func (t *Table) ObjectType() *ObjectType { return objectTypeOf(t.own) }

// ObjectType returns the type of structures or arrays that the type of the value has the index of; nil if it has none, or one of functions.
func (g *Global) ObjectType() *ObjectType { return objectTypeOf(g.own) }

func objectTypeOf(own *abi.OwnType) *ObjectType {
	if own == nil {
		return nil
	}
	return process.rows.ofDigest(own.To)
}
