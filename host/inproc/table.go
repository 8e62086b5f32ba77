package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Table is a table of references.
type Table struct {
	store  *Store
	base   uintptr
	mapped extent
	elem   meta.ValType
	own    *abi.OwnType // elem by itself, if it says more than its class
	limits Limits
	hidden bool // see Instance.hide
}

// NewTable is NewTableOf for nulls.
func (s *Store) NewTable(elem meta.ValType, l Limits) (*Table, error) {
	return s.NewTableOf(RefType{Type: elem}, l, 0)
}

func (s *Store) newTable(elem meta.ValType, own *abi.OwnType, l Limits) (*Table, error) {
	limit := s.config.MaxTableElements
	if l.HasMax {
		limit = min(limit, l.Max)
	}
	if err := atMost("table elements", l.Min, limit); err != nil {
		return nil, err
	}
	if err := s.grant(usage{tables: 1, tableBytes: tableBytes(l.Min)}); err != nil {
		return nil, err
	}
	// All of it is accessible and zero from the start: the system commits pages when they are written.
	size := alignUp(tableHeader+uintptr(min(tableBytes(limit), s.config.MaxTableMemory)), pageSize)
	mapped, err := process.takeRegion(size)
	if err != nil {
		return nil, err
	}
	t := &Table{store: s, base: mapped.low + tableHeader, mapped: mapped, elem: elem, own: own, limits: l}
	store64(t.base-sizeBelow, l.Min)
	store64(t.base-limitBelow, limit)
	store64(t.base-idBelow, uint64(len(s.tables)))
	s.tables = append(s.tables, t)
	s.used.tables++
	s.used.tableBytes += tableBytes(l.Min)
	if elem.Base() == meta.ExternRef {
		s.refs.tables = append(s.refs.tables, t)
	}
	return t, nil
}

// Len returns the current length in elements.
func (t *Table) Len() uint64 { return load64(t.base - sizeBelow) }

// Elem returns the type of the elements. An index is one of the module that has made the table.
func (t *Table) Elem() meta.ValType { return t.elem }

// Limits are the declared ones.
func (t *Table) Limits() Limits { return t.limits }

// Get is element i, a reference, or ErrBounds.
func (t *Table) Get(i uint64) (uint64, error) {
	if i >= t.Len() {
		return 0, ErrBounds
	}
	return t.store.fromNative(t.elem, load64(t.base+8*uintptr(i))), nil
}

// Set stores a reference; the error is ErrBounds, or ErrType if ref is none of the
// element type in this store, or the table is its module's own business.
func (t *Table) Set(i, ref uint64) error {
	if t.hidden {
		return ErrType
	}
	if i >= t.Len() {
		return ErrBounds
	}
	w, ok := t.store.toNative(ownType(t.elem, t.own), ref)
	if !ok {
		return ErrType
	}
	store64(t.base+8*uintptr(i), w)
	return nil
}

// Grow adds n elements with value ref and gives the old length, or all ones if
// a limit does not allow it (CheckGrow says which) or ref does not fit, or if a context ends the call before
// many elements are filled.
func (t *Table) Grow(n, ref uint64) uint64 {
	w, ok := t.store.toNative(ownType(t.elem, t.own), ref)
	if !ok || t.hidden {
		return growFailed
	}
	return t.grow(n, w)
}

// CheckGrow returns what keeps the table from having n elements more with value ref, a *LimitError, or ErrType if ref is none of the element type in this store, or the table is
// its module's own business; or nil.
func (t *Table) CheckGrow(n, ref uint64) error {
	if _, ok := t.store.toNative(ownType(t.elem, t.own), ref); !ok || t.hidden {
		return ErrType
	}
	old, limit := t.Len(), load64(t.base-limitBelow)
	if n > limit-old {
		return &LimitError{What: "table elements", Want: old + n, Limit: limit}
	}
	return t.store.grant(usage{tableBytes: tableBytes(n)})
}

// grow is Grow with a reference as compiled code has it.
func (t *Table) grow(n, ref uint64) uint64 {
	s, old := t.store, t.Len()
	if n > load64(t.base-limitBelow)-old || tableBytes(n) > s.config.MaxTableMemory-s.used.tableBytes {
		return growFailed
	}
	// Elements beyond the length are null.
	if ref != 0 && !t.fill(uintptr(old), uintptr(n), ref) {
		return growFailed
	}
	s.used.tableBytes += tableBytes(n)
	store64(t.base-sizeBelow, old+n)
	return old
}

// fill makes ref of the n elements from the first on, which are null and nobody sees yet. It gives up, and
// leaves them null, when the end of a context ends the call.
func (t *Table) fill(first, n uintptr, ref uint64) bool {
	const piece = 64 << 10 // elements, half a millisecond
	elements := wordsAt(t.base+8*first, n)
	for done := 0; done < len(elements); {
		next := elements[done:min(done+piece, len(elements))]
		for i := range next {
			next[i] = ref
		}
		done += len(next)
		if done < len(elements) && t.store.callEnded() {
			clear(elements[:done])
			return false
		}
	}
	return true
}

// growTable is the helper waot_table_grow.
func growTable(c *Caller) uint64 { return c.helped(c.store.tableGrow(c.store.ctx)) }

func (s *Store) tableGrow(c *nativeContext) uint64 {
	base := uintptr(c.ints[0])
	old := s.tables[load64(base-idBelow)].grow(c.ints[1], c.ints[2])
	if s.config.CollectAlways {
		s.collectRefs()
	}
	return old
}

// Store returns the store of the table.
func (t *Table) Store() *Store { return t.store }
