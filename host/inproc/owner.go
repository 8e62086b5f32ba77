package inproc

import "sync/atomic"

// ownership says which goroutine is inside a store, in one word.
//
// A goroutine goes in by a compare-and-swap of ownerNone with the address of its own g, and out by
// a store of ownerNone. Closing swaps ownerNone with ownerClosed, which stays. Nothing else changes
// the word, hence:
//
//   - At most one goroutine is inside, and none once the store is closed.
//   - A goroutine that finds its own g is inside: nobody else can make that true or false.
//   - All that was done inside comes before all that the next one does, on machines with weak
//     ordering of memory, too: going out is a store-release, and going in an acquire that reads
//     what it stored. The race detector sees both.
//
// The runtime uses a g again after its goroutine has ended. None ends inside: a panic or
// runtime.Goexit in a host function ends each activation on its way (Store.end, Caller.unwind),
// and who calls Enter or Hold must call Leave.
type ownership struct {
	owner uintptr // accessed by atomic operations and storeRelease
}

// What ownership.owner is if it is not the address of a g, which is aligned.
const (
	ownerNone   = 0
	ownerClosed = 1
)

// Enter makes the calling goroutine the one inside the store, until Leave: others get
// ErrBusy, its own calls nest. It fails with ErrBusy if a goroutine is inside, this one
// included, and with ErrClosed.
func (s *Store) Enter() error {
	outer, err := s.Hold()
	if err == nil && !outer {
		return ErrBusy
	}
	return err
}

// Leave ends what Enter began. The same goroutine must call it.
func (s *Store) Leave() { storeRelease(&s.owner, ownerNone) }

// Hold is Enter for code that may run inside the store as well: outer says that the
// store was free, and that Leave must follow. The error is ErrBusy if another
// goroutine is inside, or ErrClosed.
func (s *Store) Hold() (outer bool, err error) {
	g := currentG()
	for {
		switch atomic.LoadUintptr(&s.owner) {
		case g:
			return false, nil
		case ownerNone:
			if atomic.CompareAndSwapUintptr(&s.owner, ownerNone, g) {
				return true, nil
			}
		case ownerClosed:
			return false, ErrClosed
		default:
			return false, ErrBusy
		}
	}
}

// hold is Hold with a function that leaves what was entered.
func (s *Store) hold() (func(), error) {
	outer, err := s.Hold()
	if outer {
		return s.Leave, nil
	}
	return func() {}, err
}

// Closed reports whether the store has been closed.
func (s *Store) Closed() bool { return atomic.LoadUintptr(&s.owner) == ownerClosed }

// close makes the store refuse every goroutine, if none is inside.
func (s *Store) close() error {
	switch {
	case atomic.CompareAndSwapUintptr(&s.owner, ownerNone, ownerClosed):
		return nil
	case s.Closed():
		return ErrClosed
	}
	return ErrBusy
}
