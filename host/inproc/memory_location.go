package inproc

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Location is where the bytes of a memory are, for Go code that looks at them without being inside the store: it may do so while the store is closed, or while
// the memory moves. Two rules keep addresses from becoming those of something else as long as it does:
//
//   - Who looks at bytes holds the Location until the last access (runtime.KeepAlive).
//   - The first one to come notes that. If nobody has come before the Location ends, the addresses can be used again at once. Otherwise zero pages take the
//     place of the bytes, and the addresses are retired until the garbage collector finds that nobody holds the Location.
//
// So an access takes no locked instruction, but the first one, and no lock. How long it takes, and that it may be interrupted for any time, does not matter.
//
// Slices outlive accesses, and the collector does not know of slices that are not of its heap. viewed says that such a slice was taken: what it was of
// is buried (memory_graves.go).
type Location struct {
	state atomic.Uint32
	// viewed is not nil once somebody has come. What retires the location keeps it, as nobody may hold the location then: so it is no part of anything that may lead to one,
	// as memories and stores do, by what a program keeps in its host functions.
	viewed atomic.Pointer[atomic.Bool]
	base   uintptr
	size   atomic.Uint64 // of the memory; it grows, but at a location of a movable one, and is smaller after a reset
	// bytes are those at base if an allocator made them: they may be of Go's heap.
	bytes   []byte
	foreign bool   // an allocator made them
	views   *views // of the memory as long as it is here
}

func newLocation(base uintptr, size uint64, v *views) *Location {
	l := &Location{base: base, views: v}
	l.size.Store(size)
	return l
}

// The states of locations.
const (
	locationNew   = iota // nobody has come
	locationUsed         // somebody may be in the middle of an access
	locationEnded        // the memory has another location, will have one in a moment, or is freed
)

// Use returns the memory's location, for any goroutine; nil if the memory has been freed. The caller must keep it alive until its last access, and call Lend, or
// Kept, for slices that live longer. At is small enough to be part of each access, as a call takes as long as all the rest.
func (m *Memory) Use() *Location {
	if l := m.at.Load(); l != nil && l.state.Load() == locationUsed {
		return l
	}
	return m.come()
}

// At returns the address of n bytes of the memory; nil if they are not all inside, or l is nil.
func (l *Location) At(offset, n uint64) unsafe.Pointer {
	if l == nil || offset+n > l.size.Load() {
		return nil
	}
	return ptr(l.base + uintptr(offset))
}

// All returns the memory as it is now, nil only if l is.
func (l *Location) All() []byte {
	if l == nil {
		return nil
	}
	return bytesAt(l.base, uintptr(l.size.Load()))
}

// CurrentSize is Size for any goroutine, and 0 if the memory has been freed.
func (m *Memory) CurrentSize() uint64 {
	if l := m.at.Load(); l != nil {
		return l.size.Load()
	}
	return 0
}

// Lend notes that the program gets a slice of what is here: it may hold that until the store is closed, or a movable memory moves. The location is held until that is
// noted, as what releases it looks whether it is.
func (l *Location) Lend() {
	if v := l.viewed.Load(); !v.Load() {
		v.Store(true)
	}
	runtime.KeepAlive(l)
}

// come notes that somebody is at the memory's location. It returns the one that is the memory's then, nil if there is none any more.
func (m *Memory) come() *Location {
	for l := m.at.Load(); l != nil; l = m.at.Load() {
		if l.viewed.Load() == nil {
			l.viewed.CompareAndSwap(nil, new(atomic.Bool))
		}
		if l.state.CompareAndSwap(locationNew, locationUsed) || l.state.Load() == locationUsed {
			return l
		}
		runtime.Gosched() // a moment, until at says what comes instead
	}
	return nil
}

// end makes everybody who comes wait for another location. It reports whether nobody has come.
func (l *Location) end() (unused bool) { return l.state.Swap(locationEnded) == locationNew }

// reopen takes end back.
func (l *Location) reopen(unused bool) {
	if unused {
		l.state.Store(locationNew)
	} else {
		l.state.Store(locationUsed)
	}
}

// retire calls release when nobody holds the location, which is not the memory's any more. release must not hold it either, nor what may lead to it, as a store does.
func (p *processState) retire(l *Location, release func()) {
	p.retired.Add(1)
	runtime.AddCleanup(l, func(release func()) {
		release()
		p.retired.Add(-1)
	}, release)
}
