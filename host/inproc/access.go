package inproc

import "sync/atomic"

// Hold is Enter for code that may run inside the store as well: outer says that the
// store was free, and that Leave must follow. The error is ErrBusy if another
// goroutine is inside, or ErrClosed.
func (s *Store) Hold() (outer bool, err error) {
	switch acquire(&s.owner) {
	case stateTaken:
		s.entered()
		return true, nil
	case stateInside:
		return false, nil
	}
	return false, s.refusal()
}

// Closed reports whether the store has been closed.
func (s *Store) Closed() bool { return atomic.LoadUintptr(&s.owner) == ownerClosed }

// Store is the store of the function.
func (f *Func) Store() *Store { return f.store }

// Store is the store of the memory.
func (m *Memory) Store() *Store { return m.store }

// Store is the store of the table.
func (t *Table) Store() *Store { return t.store }

// Store is the store of the global variable.
func (g *Global) Store() *Store { return g.store }

// MaxLen is the length that the table can grow to.
func (t *Table) MaxLen() uint64 { return load64(t.base - limitBelow) }
