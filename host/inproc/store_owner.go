package inproc

import (
	"slices"
	"sync/atomic"
	"time"
)

// ownership says which goroutine is inside a store, in one word.
//
// A goroutine goes in by a compare-and-swap of ownerNone with the address of its own g, and out by
// a store of ownerNone. Closing swaps ownerNone with ownerClosed, which stays.
//
// A host function may let others in meanwhile (Caller.Leave): it stores its g with ownerAway, which is as free as
// ownerNone, and swaps that back before compiled code goes on (Caller.Enter). If the same goroutine goes in, its call nests in that of the host function. Another
// one parks the calls of the first with their native stack, takes another stack (fiber), and stores ownerAway alone when it goes out, if it has not been
// parked itself meanwhile. Enter brings back what was parked, and waits only while a goroutine is inside: calls of
// different goroutines end in any order.
//
// Nothing else changes the word, hence:
//
//   - At most one goroutine is inside, and none once the store is closed.
//   - A goroutine that finds its own g is inside: nobody else can make that true or false.
//   - All that was done inside comes before all that the next one does, on machines with weak
//     ordering of memory, too: going out is a store-release, and going in an acquire that reads
//     what it stored. The race detector sees both.
//   - A store with activations, parked ones included, is never ownerNone, so it cannot be closed.
//
// The runtime uses a g again after its goroutine has ended. None ends inside, or away: a panic or
// runtime.Goexit in a host function ends each activation on its way (Store.end, Caller.unwind),
// and who calls Enter or Hold must call Leave.
type ownership struct {
	owner uintptr // accessed by atomic operations and storeRelease
	// vacant is the owner while nobody is inside and the store's fiber has no calls: ownerNone, or ownerAway if others are parked.
	vacant uintptr
}

// What ownership.owner is if it is not the address of a g, which is aligned.
const (
	ownerClosed = 0 // so that the zero Store is a closed one
	ownerNone   = 1
	ownerAside  = 4 // code of the program runs where compiled code was stopped, at any instruction: it may add fuel, and do nothing else
	ownerAway   = 2 // added to a g: it is in a host function that lets others in; alone: parked goroutines are
)

// newOwnership returns that of a store where nobody is inside.
func newOwnership() ownership { return ownership{owner: ownerNone, vacant: ownerNone} }

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
func (s *Store) Leave() { storeRelease(&s.owner, s.free()) }

// LeaveEntered is Leave for who may have got an error from Enter: then it does nothing, so that a closed store stays closed.
func (s *Store) LeaveEntered() {
	if atomic.LoadUintptr(&s.owner) == currentG() && s.free() != ownerClosed {
		s.Leave()
	}
}

// free is the owner when who has taken the store goes out.
func (s *Store) free() uintptr {
	if s.depth == 0 {
		return s.vacant
	}
	return s.activations[s.depth-1].away
}

// Hold is Enter for code that may run inside the store as well: outer says that the
// store was free, and that Leave must follow. The error is ErrBusy if another
// goroutine is inside, or ErrClosed, or there is no native stack for the goroutine.
func (s *Store) Hold() (outer bool, err error) {
	g := currentG()
	for {
		switch w := atomic.LoadUintptr(&s.owner); {
		case w == g:
			return false, nil
		case w == ownerNone:
			if atomic.CompareAndSwapUintptr(&s.owner, ownerNone, g) {
				return true, nil
			}
		case w == ownerClosed:
			return false, ErrClosed
		case w&ownerAway == 0:
			return false, ErrBusy
		case atomic.CompareAndSwapUintptr(&s.owner, w, g):
			if w != g|ownerAway {
				if err := s.selectFiber(g); err != nil {
					storeRelease(&s.owner, w)
					return false, err
				}
			}
			return true, nil
		}
	}
}

// Leave lets other goroutines into the store, until Enter or until the host function returns. It is for the host function that the
// innermost activation runs: to wait for goroutines that use the store, or because it cannot know. Of the Caller
// it may use nothing but Enter and Context meanwhile; what it calls in the store nests as usual.
func (c *Caller) Leave() {
	s := c.store
	g := atomic.LoadUintptr(&s.owner)
	if s.depth == 0 || s.activations[s.depth-1] != c || g != currentG() {
		return // c is not what it should be, and nothing happens
	}
	c.away = g | ownerAway
	storeRelease(&s.owner, c.away)
}

// Enter ends what Leave began. It waits until no other goroutine is inside.
func (c *Caller) Enter() {
	if c.away == 0 {
		return
	}
	s := c.store
	if !atomic.CompareAndSwapUintptr(&s.owner, c.away, c.away&^ownerAway) {
		c.await()
	}
	c.away = 0
}

// await is Enter where others have been in since Leave: somebody is inside, or the calls are parked.
func (c *Caller) await() {
	s := c.store
	for wait := time.Microsecond; ; {
		w := atomic.LoadUintptr(&s.owner)
		if w&ownerAway == 0 { // somebody is inside
			time.Sleep(wait)
			wait = min(2*wait, time.Millisecond)
			continue
		}
		if !atomic.CompareAndSwapUintptr(&s.owner, w, c.away&^ownerAway) {
			continue
		}
		if w != c.away {
			s.unpark(slices.IndexFunc(s.parked, func(f fiber) bool { return f.activations[f.depth-1] == c }))
		}
		return
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
