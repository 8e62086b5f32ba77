package nativeengine

import "github.com/waot-project/waot/host/inproc"

// Moving is an allocator whose memories move whenever they grow, and leave nothing of use behind: code that looks there is found.
type Moving struct{}

// Allocate implements inproc.MemoryAllocator.
func (Moving) Allocate(_, _ uint64) inproc.LinearMemory { return new(moving) }

type moving struct{ b []byte }

// Reallocate implements inproc.LinearMemory.
func (m *moving) Reallocate(size uint64) []byte {
	b := make([]byte, size)
	copy(b, m.b)
	for i := range m.b {
		m.b[i] = 0xee
	}
	m.b = b
	return b
}

// Free implements inproc.LinearMemory.
func (m *moving) Free() {}
