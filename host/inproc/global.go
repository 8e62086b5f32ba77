package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Global is a global variable.
type Global struct {
	store   *Store
	addr    uintptr
	typ     meta.ValType
	own     *abi.OwnType // typ by itself, if it says more than its class
	mutable bool
	hidden  bool // see Instance.hide
}

// NewGlobal makes a global variable with the bits v; high is the upper half of a v128. t needs no module to be understood. The error is ErrType if v is no reference of
// type t, a *LimitError or *SystemError.
func (s *Store) NewGlobal(t meta.ValType, mutable bool, v, high uint64) (*Global, error) {
	if t.IsRef() {
		return s.NewGlobalOf(RefType{Type: t}, mutable, v)
	}
	if !t.IsValid() {
		return nil, ErrType
	}
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.newGlobal(t, nil, mutable, v, high)
}

func (s *Store) newGlobal(t meta.ValType, own *abi.OwnType, mutable bool, v, high uint64) (*Global, error) {
	v, ok := s.toNative(ownType(t, own), v)
	if !ok {
		return nil, ErrType
	}
	if err := s.grant(usage{globals: 1}); err != nil {
		return nil, err
	}
	at, err := s.alloc(16)
	if err != nil {
		return nil, err
	}
	g := &Global{store: s, addr: at, typ: t, own: own, mutable: mutable}
	g.put(v, high)
	s.used.globals++
	if t.Base() == meta.ExternRef {
		s.refs.globals = append(s.refs.globals, at)
	}
	return g, nil
}

// Type returns the type of the value. An index is one of the module that has made the global.
func (g *Global) Type() meta.ValType { return g.typ }

// Mutable reports whether the value may change.
func (g *Global) Mutable() bool { return g.mutable }

// clean zero-extends what is narrower than a word.
func (g *Global) clean(v uint64) uint64 {
	if g.typ.Bits() == 32 {
		return uint64(uint32(v))
	}
	return v
}

// Get returns the bits of the value; of a v128 the low half.
func (g *Global) Get() uint64 { return g.clean(g.store.fromNative(g.typ, load64(g.addr))) }

// GetWords returns the bits of the value; the second word is the upper half of a v128, and 0 for other types.
func (g *Global) GetWords() (words [2]uint64) {
	if words[0] = g.Get(); g.typ == meta.V128 {
		words[1] = load64(g.addr + 8)
	}
	return words
}

// Set stores the bits of a value; ErrType if the global is immutable, its module's own business, or a v128, or v no
// reference of its type.
func (g *Global) Set(v uint64) error {
	if g.typ == meta.V128 {
		return ErrType
	}
	return g.SetWords([2]uint64{v})
}

// SetWords is Set for all types; only of a v128 the second word counts.
func (g *Global) SetWords(v [2]uint64) error {
	if !g.mutable || g.hidden {
		return ErrType
	}
	w, ok := g.store.toNative(ownType(g.typ, g.own), v[0])
	if !ok {
		return ErrType
	}
	g.put(w, v[1])
	return nil
}

// put stores the words that compiled code has of a value.
func (g *Global) put(v, high uint64) {
	store64(g.addr, g.clean(v))
	if g.typ == meta.V128 {
		store64(g.addr+8, high)
	}
}

// Store returns the store of the global variable.
func (g *Global) Store() *Store { return g.store }
