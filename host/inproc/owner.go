package inproc

import (
	"sync"
	"sync/atomic"
)

// ownership says which goroutine is inside a store.
//
// The regular way in is holder, under a mutex. It takes as long as the rest of a call into native
// code, so a goroutine that comes again gets a grant, by which it goes in and out with
// plain stores; another that wants in revokes the grant first. The two sides agree
// without atomic instructions on the frequent one:
//
//	in:     inside = 1; is the grant still the store's?
//	out:    inside = 0; is the grant still the store's?
//	revoke: the grant is no longer the store's; membarrier; is inside 1?
//
// membarrier makes every thread of the process execute a memory barrier. If the revoker then
// sees inside 0, the owner's next store to it comes after that barrier, hence its next load of the
// store's grant, too, and it goes the regular way. If it sees 1, the owner is inside or
// is about to find out; its holding is made a regular one, and it gives that up when it
// goes out, or turns back. (Asymmetric Dekker synchronisation; membarrier(2), "private expedited".)
//
// Besides who is inside, the order of what they do to the store counts, on machines where other accesses
// may pass a plain store. Going out is a store-release, and the revoker's load an
// acquire: if it sees the 0 of a going-out, all that was done inside comes before all that the next
// one does. An older 0 will do: had the owner gone in again since, its test of the grant would have followed
// the barrier, and failed. Going in needs no acquire: nobody but the owner was inside since it got
// the grant, which it got with mu held, as did everybody before give the store up. And nothing done inside is
// seen by others before the test has succeeded, since stores do not happen on a guess.
//
// Invariant: the goroutine of the store's grant is the holder, or nobody is.
type ownership struct {
	// grant is the store's, or nil. It changes with mu held; enterGranted reads it.
	grant atomic.Pointer[grant]
	// holder is the address of the g of the goroutine inside by the regular way, 0 if there
	// is none. It changes with mu held. Nobody else can find its own g there.
	holder atomic.Uintptr
	closed atomic.Bool

	mu     sync.Mutex
	last   uintptr  // the g that was the holder last
	grants []*grant // all that were given
}

// maxGrants bounds the grants of a store: each may have to be revoked, which takes
// microseconds.
const maxGrants = 8

// grant is the right of one goroutine to go in without the mutex. It is not used again
// after it has been revoked.
type grant struct {
	g      uintptr
	inside uintptr // 0 or 1; written by that goroutine only
	// regular says that the holding became a regular one; guarded by mu.
	regular bool
}

// What acquire found.
const (
	stateTaken   = 0 // the store was free
	stateInside  = 1 // this goroutine has it already
	stateRefused = 2
)

// acquire takes the store by the regular way. After stateTaken, release must follow.
func (s *Store) acquire() int {
	o, g := &s.ownership, currentG()
	if o.has(g) {
		return stateInside
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed.Load():
		return stateRefused
	case o.has(g): // a revocation was under way
		return stateInside
	case o.holder.Load() != 0 || !o.revoke(g):
		return stateRefused
	}
	o.holder.Store(g)
	if o.last == g && o.grant.Load() == nil && len(o.grants) < maxGrants && process.canGrant {
		o.grants = append(o.grants, &grant{g: g})
		o.grant.Store(o.grants[len(o.grants)-1])
	}
	o.last = g
	return stateTaken
}

// has reports whether goroutine g, which asks for itself, is inside.
func (o *ownership) has(g uintptr) bool {
	if o.holder.Load() == g {
		return true
	}
	x := o.grant.Load()
	return x != nil && x.g == g && x.inside != 0
}

// revoke takes back a grant that is not g's; mu is held and there is no holder. It reports whether
// the store is free.
func (o *ownership) revoke(g uintptr) bool {
	x := o.grant.Load()
	if x == nil || x.g == g {
		return true
	}
	o.grant.Store(nil)
	memoryBarrier()
	if atomic.LoadUintptr(&x.inside) == 0 {
		return true
	}
	x.regular = true
	o.holder.Store(x.g)
	return false
}

// release ends what acquire took.
func (s *Store) release() {
	o := &s.ownership
	o.mu.Lock()
	o.holder.Store(0)
	o.mu.Unlock()
}

// held is the grant by which the calling goroutine is inside, or nil.
func (s *Store) held() *grant {
	o, g := &s.ownership, currentG()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range o.grants {
		if x.g == g && x.inside != 0 {
			return x
		}
	}
	return nil
}

// stillGranted is the test that must follow enterGranted. If the grant has been revoked, it undoes
// what that did; the revoker may have made it a regular holding already.
func (s *Store) stillGranted(x *grant) bool {
	if s.grant.Load() == x {
		return true
	}
	x.inside = 0
	s.leaveRevoked(x)
	return false
}

// leaveGranted ends what enterGranted began.
func (s *Store) leaveGranted(x *grant) {
	storeRelease(&x.inside, 0)
	if s.grant.Load() != x {
		s.leaveRevoked(x)
	}
}

// leaveRevoked ends the holding of a grant that was revoked.
func (s *Store) leaveRevoked(x *grant) {
	o := &s.ownership
	o.mu.Lock()
	defer o.mu.Unlock()
	if x.regular {
		x.regular = false
		o.holder.Store(0)
	}
}

// close makes the store refuse everybody, if nobody is inside.
func (o *ownership) close() error {
	g := currentG()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed.Load():
		return ErrClosed
	case o.holder.Load() != 0 || o.has(g) || !o.revoke(g):
		return ErrBusy
	}
	o.closed.Store(true)
	o.grant.Store(nil)
	return nil
}

// refusal says why acquire failed.
func (s *Store) refusal() error {
	if s.closed.Load() {
		return ErrClosed
	}
	return ErrBusy
}

// Enter makes the calling goroutine the one inside the store, until Leave: others get
// ErrBusy, its own calls nest. It fails with ErrBusy if a goroutine is inside, this one
// included, and with ErrClosed.
func (s *Store) Enter() error {
	switch s.acquire() {
	case stateTaken:
		return nil
	case stateInside:
		return ErrBusy
	}
	return s.refusal()
}

// Leave ends what Enter began. The same goroutine must call it.
func (s *Store) Leave() { s.release() }

// Hold is Enter for code that may run inside the store as well: outer says that the
// store was free, and that Leave must follow. The error is ErrBusy if another
// goroutine is inside, or ErrClosed.
func (s *Store) Hold() (outer bool, err error) {
	switch s.acquire() {
	case stateTaken:
		return true, nil
	case stateInside:
		return false, nil
	}
	return false, s.refusal()
}

// hold is Hold with a function that releases what was taken.
func (s *Store) hold() (func(), error) {
	outer, err := s.Hold()
	if outer {
		return s.release, nil
	}
	return func() {}, err
}
