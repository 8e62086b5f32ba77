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
func (s *Store) newMovable(l Limits, a MemoryAllocator) (*Memory, error) {
	at, err := s.alloc(descriptorSize)
	if err != nil {
		return nil, err
	}
	m := &Memory{store: s, desc: at + descriptorSize, limits: l, views: views{file: -1, shift: minViewShift}}
	if a != nil {
		most := uint64(abi.MaxMemoryPages)
		if l.HasMax {
			most = l.Max
		}
		m.linear = a.Allocate(l.Min*abi.PageSize, min(most, s.config.MaxMemoryPages)*abi.PageSize)
		if m.linear == nil {
			return nil, &SystemError{Op: "allocating a memory", Err: ErrNoSpace}
		}
		m.foreign = true
	} else {
		if err := process.takeMappings(otherMappings); err != nil {
			return nil, err
		}
		p := &mapping{views: &m.views}
		m.linear = p
		if s.config.KeepViews {
			if m.views.file, err = memfd(0); err != nil {
				process.giveMappings(otherMappings)
				return nil, err
			}
		}
	}
	m.hold(nil)
	if l.Min == 0 && !m.move(0) {
		return nil, &SystemError{Op: "allocating a memory", Err: ErrNoSpace}
	}
	return m, nil
}

// Movable reports whether the memory may move when it grows.
func (m *Memory) Movable() bool { return m.linear != nil }

// hold makes b the bytes of the memory.
func (m *Memory) hold(b []byte) {
	m.bytes, m.base = b, m.desc
	if len(b) > 0 {
		m.base = uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	}
	store64(m.desc-baseBelow, uint64(m.base))
	store64(m.desc-sizeBelow, uint64(len(b)))
}

// KeepStill keeps a movable memory from moving, and so from growing, until as many calls of LetMove.
func (m *Memory) KeepStill() { m.still++ }

// LetMove ends KeepStill.
func (m *Memory) LetMove() { m.still-- }

// move makes the memory size bytes large. It reports whether there is room, and nobody keeps the memory where it is.
func (m *Memory) move(size uintptr) bool {
	if m.still > 0 {
		return false
	}
	b := m.linear.Reallocate(uint64(size))
	if uintptr(len(b)) < size {
		return false
	}
	m.hold(b[:size:size])
	return true
}

// freeMovable is free for a movable memory.
func (m *Memory) freeMovable() {
	unmap := m.views.end().size == 0 // parts may be where the memory was before
	switch {
	case m.foreign:
		m.linear.Free()
	case unmap:
		m.linear.Free()
		process.giveMappings(otherMappings)
	}
	m.bytes, m.base = nil, 0
}

// mapping is the LinearMemory of a store without an allocator: one mapping, of the file of the memory's views if it has one.
type mapping struct {
	at    extent
	views *views
}

// Reallocate implements LinearMemory.
func (p *mapping) Reallocate(size uint64) []byte {
	n := uintptr(size)
	if n == 0 {
		return nil
	}
	var low uintptr
	err := process.withoutSpares(func() (err error) {
		low, err = p.remap(n)
		return err
	})
	if err != nil {
		return nil
	}
	p.at = extent{low, n}
	return bytesAt(low, n)
}

// remap returns where n bytes begin with those of before.
func (p *mapping) remap(n uintptr) (uintptr, error) {
	s := p.views
	if s.file < 0 {
		if p.at.size == 0 {
			return reserve(n, protRW)
		}
		return mremap(p.at.low, p.at.size, n)
	}
	if err := truncate(s.file, n); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.at.size == 0 || s.pinned.size != 0 { // slices of the pinned part keep it where it is
		return mapShared(s.file, n)
	}
	return mremap(p.at.low, p.at.size, n)
}

// Free implements LinearMemory.
func (p *mapping) Free() {
	if p.at.size > 0 {
		munmap(p.at.low, p.at.size)
	}
}
