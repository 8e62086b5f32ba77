// Package moving has memories that move whenever they can, for tests of code that must not rely on where memories are.
//
// Place in the pipeline: beside it: an allocator for stores of host/inproc.
//
// Input: sizes.
// Output: bytes, each time elsewhere.
package moving

import "github.com/waot-project/waot/host/inproc"

// Allocator is an allocator whose memories move whenever they grow, large ones when they have doubled, and leave nothing of use behind: code that looks there is found.
type Allocator struct{}

// Allocate implements inproc.MemoryAllocator.
func (Allocator) Allocate(_, _ uint64) inproc.LinearMemory { return new(memory) }

// large is from where on a memory moves only when it has doubled: each move copies all of it.
const large = 512 << 10

type memory struct{ b []byte }

// Reallocate implements inproc.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > large && size <= uint64(cap(m.b)) {
		m.b = m.b[:size]
		return m.b
	}
	room := size
	if size > large {
		room *= 2
	}
	b := make([]byte, size, room)
	copy(b, m.b)
	for i := range m.b {
		m.b[i] = 0xee
	}
	m.b = b
	return b
}

// Free implements inproc.LinearMemory.
func (m *memory) Free() {}
