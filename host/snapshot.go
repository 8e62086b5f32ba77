package host

import "github.com/waot-project/waot/host/inproc"

// Snapshot is a state of compiled code to go back to, as longjmp goes back to setjmp: the innermost call into the store, with its stack, at the moment when it
// called a Go function. Memories, tables and globals are not part of it. A snapshot is of use until that call ends, and takes as much memory as the
// stack of the call.
type Snapshot inproc.Snapshot

// Snapshot takes a snapshot, for a Go function that compiled code has called. The errors are ErrType if there is no such call, ErrBusy and
// ErrClosed.
func (s *Store) Snapshot() (*Snapshot, error) {
	x, err := s.inproc().Snapshot()
	return (*Snapshot)(x), err
}

// Restore returns the error by which a Go function goes back to the snapshot: it must return it, as must all between. It matches ErrRestore. Then compiled code goes on as if the
// function that took the snapshot had returned again, with these words as its results: missing ones are 0, and further ones are ignored.
// References in them are checked. This may be done any number of times.
func (x *Snapshot) Restore(results ...uint64) error { return (*inproc.Snapshot)(x).Restore(results) }
