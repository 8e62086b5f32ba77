package host

import (
	"github.com/waot-project/waot/host/inproc"
)

// Table is a table of references. Its elements are what Func.Call takes and returns for their type: *Func in a table of funcrefs, any Go value in a table of
// externrefs, *Object and I31 in one of eqrefs; nil is null. Methods that return an error can also fail with ErrBusy and ErrClosed. Elem, ObjectType and Limits may be called from any
// goroutine.
type Table inproc.Table

func (t *Table) inproc() *inproc.Table { return (*inproc.Table)(t) }

func (t *Table) store() *Store { return (*Store)(t.inproc().Store()) }

// Elem returns the type of the elements.
func (t *Table) Elem() ValType { return ValType(t.inproc().Elem()) }

// ObjectType returns the type of structures or arrays that Elem has the index of; nil if it has none, or one of functions.
func (t *Table) ObjectType() *ObjectType { return (*ObjectType)(t.inproc().ObjectType()) }

// Limits returns the limits that the table was declared with, in elements.
func (t *Table) Limits() Limits { return Limits(t.inproc().Limits()) }

// Len returns the current number of elements, or 0 if the store is closed or another goroutine is
// inside.
func (t *Table) Len() (n uint32) {
	t.store().do(func(*inproc.Store) error {
		n = uint32(t.inproc().Len())
		return nil
	})
	return n
}

// Get returns element i. The errors are ErrBounds, and ErrType for what stays inside of a module: see Instance.At.
func (t *Table) Get(i uint32) (v any, err error) {
	err = t.store().do(func(s *inproc.Store) error {
		if t.inproc().Withholds(uint64(i)) {
			return detail(ErrType, "element %d is the module's own", i)
		}
		w, err := t.inproc().Get(uint64(i))
		x, _ := takeValue(s, t.inproc().Elem(), []uint64{w})
		v = x.Any()
		return err
	})
	return v, err
}

// Set makes v element i. The errors are ErrBounds, and ErrType if v is not of the type of the elements, such as a *Func or *Object of another store, or one of another type.
func (t *Table) Set(i uint32, v any) error {
	return t.with(v, func(w uint64) error { return t.inproc().Set(uint64(i), w) })
}

// Grow adds n elements v and returns the old length. The errors are ErrType as for Set, and *LimitError if
// the table, or the store in all, cannot have that many.
func (t *Table) Grow(n uint32, v any) (old uint32, err error) {
	err = t.with(v, func(w uint64) error {
		if err := t.inproc().CheckGrow(uint64(n), w); err != nil {
			return err
		}
		length := t.inproc().Grow(uint64(n), w)
		if length == failed {
			return ErrCancelled
		}
		old = uint32(length)
		return nil
	})
	return old, err
}

// with calls f with the word for v.
func (t *Table) with(v any, f func(w uint64) error) error {
	x, err := valueOf(t.Elem(), v)
	if err != nil {
		return err
	}
	return t.store().do(func(s *inproc.Store) error { return x.with(s, f) })
}

// Global is a global variable. Get and Set can also fail with ErrBusy and ErrClosed; the other methods may be called from
// any goroutine.
type Global inproc.Global

func (g *Global) inproc() *inproc.Global { return (*inproc.Global)(g) }

func (g *Global) store() *Store { return (*Store)(g.inproc().Store()) }

// Type returns the type of the value.
func (g *Global) Type() ValType { return ValType(g.inproc().Type()) }

// ObjectType returns the type of structures or arrays that Type has the index of; nil if it has none, or one of functions.
func (g *Global) ObjectType() *ObjectType { return (*ObjectType)(g.inproc().ObjectType()) }

// Mutable reports whether the value may change.
func (g *Global) Mutable() bool { return g.inproc().Mutable() }

// Get returns the value. The error is ErrType for what stays inside of a module: see Instance.At.
func (g *Global) Get() (v Value, err error) {
	err = g.store().do(func(s *inproc.Store) error {
		if g.inproc().Withholds() {
			return detail(ErrType, "the value is the module's own")
		}
		words := g.inproc().GetWords()
		v, _ = takeValue(s, g.inproc().Type(), words[:])
		return nil
	})
	return v, err
}

// Set changes the value. v has the base of the variable's type (ValType.Base), such as AnyRef(o) for an *Object. The error is ErrType if v has another type, is a reference that is not of the variable's type or is of another store, or if the variable is
// immutable.
func (g *Global) Set(v Value) error {
	switch {
	case v.Type() != g.Type().Base():
		return detail(ErrType, "wanted %v, got %v", g.Type(), v.Type())
	case !g.Mutable():
		return detail(ErrType, "the global is immutable")
	}
	return g.store().do(func(s *inproc.Store) error {
		return v.with(s, func(w uint64) error { return g.inproc().SetWords([2]uint64{w, v.high}) })
	})
}
