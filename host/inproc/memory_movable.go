package inproc

import (
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
)

// A movable memory has no reservation: its bytes are where they fit, and go elsewhere when they grow. Only code with explicit bounds checks can use it, which
// reads base and size in the memory's descriptor. All instances that have the memory have the address of the one descriptor.

// MemoryAllocator makes the bytes of movable memories.
type MemoryAllocator interface {
	// Allocate begins a memory that is expected to have capacity bytes soon, and never has more than max.
	Allocate(capacity, max uint64) LinearMemory
}

// LinearMemory is the bytes of a memory.
type LinearMemory interface {
	// Reallocate returns size bytes, that begin with those of before and go on with zeroes; nil if there is no room.
	Reallocate(size uint64) []byte
	// Free is called when nobody uses the bytes any more.
	Free()
}

const (
	// baseBelow is where a descriptor has the base, descriptorSize how much of it is below its address.
	baseBelow      = uintptr(-abi.MemoryBaseOffset)
	descriptorSize = baseBelow
)

// newMovable makes the memory, without bytes yet; a may be nil.
func (s *Store) newMovable(l Limits, limit uint64, a MemoryAllocator) (*Memory, error) {
	at, err := s.alloc(descriptorSize)
	if err != nil {
		return nil, err
	}
	m := &Memory{store: s, desc: at + descriptorSize, limits: l, views: &views{file: -1, shift: minViewShift}}
	if a != nil {
		if m.foreign, err = s.allocate(a, l); err != nil {
			return nil, err
		}
	} else {
		if err := process.takeMappings(otherMappings); err != nil {
			return nil, err
		}
		m.views = new(views)
		if err = s.initViews(m.views, limit); err != nil {
			process.giveMappings(otherMappings)
			return nil, err
		}
		m.own = &mapping{views: m.views}
	}
	m.hold(nil)
	if l.Min == 0 && !m.move(0) {
		m.free()
		return nil, &SystemError{Op: "allocating a memory", Err: ErrNoSpace}
	}
	return m, nil
}

// allocate has an allocator begin a memory.
func (s *Store) allocate(a MemoryAllocator, l Limits) (LinearMemory, error) {
	most := uint64(abi.MaxMemoryPages)
	if l.HasMax {
		most = l.Max
	}
	m := a.Allocate(l.Min*abi.PageSize, min(most, s.config.MaxMemoryPages)*abi.PageSize)
	if m == nil {
		return nil, &SystemError{Op: "allocating a memory", Err: ErrNoSpace}
	}
	return m, nil
}

// Movable reports whether the memory may move when it grows.
func (m *Memory) Movable() bool { return m.own != nil || m.foreign != nil }

// hold makes b the bytes of the memory, at a new location.
func (m *Memory) hold(b []byte) {
	m.base = m.desc
	if len(b) > 0 {
		m.base = uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	}
	store64(m.desc-baseBelow, uint64(m.base))
	store64(m.desc-sizeBelow, uint64(len(b)))
	l := newLocation(m.base, uint64(len(b)), m.views)
	if m.foreign != nil {
		l.bytes, l.foreign = b, true
	}
	m.at.Store(l)
}

// KeepStill keeps a movable memory from moving, and so from growing, and any memory from being reset, until as many calls of LetMove.
func (m *Memory) KeepStill() { m.still++ }

// LetMove ends KeepStill.
func (m *Memory) LetMove() { m.still-- }

// move makes the memory size bytes large. It reports whether there is room, and nobody keeps the memory where it is.
func (m *Memory) move(size uintptr) bool {
	if m.still > 0 {
		return false
	}
	if m.foreign != nil {
		b := m.reallocate(size)
		if uintptr(len(b)) < size {
			return false
		}
		m.hold(b[:size:size]) // what becomes of the bytes of before, the allocator says
		return true
	}
	l := m.at.Load()
	if size <= m.own.at.size {
		// The location stays: who is there keeps the mapping, however often the memory grows.
		store64(m.desc-sizeBelow, uint64(size))
		l.size.Store(uint64(size))
		return true
	}
	unused := l.end()
	b, ok := m.own.resize(size, l, unused)
	if !ok {
		l.reopen(unused)
		return false
	}
	m.hold(b)
	return true
}

// reallocate asks the allocator. That may call code which wants the memory to grow, and would be overtaken then: growth never makes a memory smaller.
func (m *Memory) reallocate(size uintptr) []byte {
	m.KeepStill()
	defer m.LetMove()
	return m.foreign.Reallocate(uint64(size))
}

// freeMovable is free for a movable memory.
func (m *Memory) freeMovable(l *Location, unused bool) {
	kept := m.views.end().size != 0 // parts may be where the memory was before
	m.base = 0
	switch {
	case m.foreign != nil:
		m.foreign.Free()
	case !kept:
		m.own.free(l, unused)
	}
}

// mapping is the bytes of a movable memory of a store without an allocator: one mapping, of the file of the memory's views if it has one. It may be larger
// than the memory.
type mapping struct {
	at    extent
	views *views
}

// resize returns n bytes that begin with those of before, which were at location l. The mapping of before stays if somebody may be there, or have slices of it.
func (p *mapping) resize(n uintptr, l *Location, unused bool) (b []byte, ok bool) {
	to := extent{size: n}
	stays := p.at.size > 0 && (!unused || p.pinned())
	err := process.withoutSpares(func() (err error) {
		to.low, err = p.remap(&to.size, stays)
		return err
	})
	if err != nil {
		return nil, false
	}
	if stays {
		if process.takeMappings(otherMappings) != nil {
			munmap(to.low, to.size)
			return nil, false
		}
		p.free(l, unused)
	}
	p.at = to
	return bytesAt(to.low, n), true
}

// remap returns where n bytes begin with those of before, or more bytes, and sets n. If the mapping of before stays and there is no file, they are a copy.
func (p *mapping) remap(n *uintptr, stays bool) (uintptr, error) {
	if p.views.file >= 0 {
		if err := truncate(p.views.file, *n); err != nil {
			return 0, err
		}
		if stays || p.at.size == 0 {
			return mapShared(p.views.file, *n)
		}
	}
	if p.at.size > 0 && !stays {
		return mremap(p.at.low, p.at.size, *n)
	}
	if stays {
		*n = max(*n, 2*p.at.size) // so that all copies together take as long as the last
	}
	low, err := reserve(*n, protRW)
	if err == nil && stays {
		copy(bytesAt(low, p.at.size), bytesAt(p.at.low, p.at.size))
	}
	return low, err
}

// pinned reports whether slices keep the mapping where it is.
func (p *mapping) pinned() bool {
	p.views.mu.Lock()
	defer p.views.mu.Unlock()
	return p.views.pinned.size != 0
}

// free gives up the mapping, which was location l, unless slices pin it.
func (p *mapping) free(l *Location, unused bool) {
	gone := mapping{p.at, p.views}
	switch at := gone.at; {
	case at.size == 0:
		process.giveMappings(otherMappings)
	case gone.pinned():
	case unused:
		munmap(at.low, at.size)
		process.giveMappings(otherMappings)
	default:
		if gone.views.file < 0 {
			place(at.low, at.size, protRW) // gives pages back; those of a file are not the mapping's own
		}
		process.retireGrave(l, at, false, gone.pinned)
	}
}
