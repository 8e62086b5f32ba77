package host

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/waot-project/waot/host/inproc"
)

// Memory is a linear memory. The slices that Bytes and Read return are views: they stay valid
// until the store is closed or an instance is reset, show what compiled code writes, and write what compiled code reads. They do not grow with the
// memory. But memories of modules with CompileOptions.ExplicitBounds move when they grow: with them, views must not be used after that, unless they are from Read and
// StoreOptions.KeepViews is set; of an allocator's memory, as long as the allocator says. After the store has been closed, methods
// report failure (zero, nil, false), as do those of a nil *Memory; slices from before must
// not be touched, unless they are from Read and StoreOptions.KeepViews is set.
//
// Only Grow checks that no other goroutine is inside the store. Reading and writing from another goroutine than the one inside is
// a data race, but the methods may be called while the store is closed.
type Memory inproc.Memory

func (m *Memory) inproc() *inproc.Memory { return (*inproc.Memory)(m) }

// use returns where the memory is, nil if there is none any more: what must be kept alive until the last access.
func (m *Memory) use() *inproc.Location {
	if m == nil {
		return nil
	}
	return m.inproc().Use()
}

// Bytes returns the whole memory as it is now, not copied. It must not be touched when the store has been closed, whatever its options are.
func (m *Memory) Bytes() []byte {
	l := m.use()
	if l != nil {
		l.Lend()
	}
	return l.All()
}

// Hold calls f with the whole memory, which stays where it is until f returns: meanwhile a memory that may move does not grow, and nothing is reset. It is for functions that are given
// the memory's bytes and call parts of the program that may call the module. It must be called inside of the store. A nil f does nothing.
func (m *Memory) Hold(f func(bytes []byte)) {
	if f == nil {
		return
	}
	if m != nil {
		m.inproc().KeepStill()
		defer m.inproc().LetMove()
	}
	if m == nil {
		f(nil)
	} else {
		f(m.inproc().Bytes())
	}
}

// Size returns the current size in bytes.
func (m *Memory) Size() uint64 {
	if m == nil {
		return 0
	}
	return m.inproc().CurrentSize()
}

// Limits returns the limits that the memory was declared with, in pages of 64 KiB.
func (m *Memory) Limits() Limits { return Limits(m.inproc().Limits()) }

// Grow adds pages of 64 KiB and returns the old size in pages. ok is false, and nothing
// has changed, if a limit or the system does not allow it, or another goroutine is
// inside the store.
func (m *Memory) Grow(pages uint32) (old uint32, ok bool) {
	if m == nil {
		return 0, false
	}
	err := (*Store)(m.inproc().Store()).do(func(*inproc.Store) error {
		n := m.inproc().Grow(uint64(pages))
		old, ok = uint32(n), n != failed
		return nil
	})
	if err != nil || !ok {
		return 0, false
	}
	return old, true
}

// failed is the result of growing in package inproc if it fails.
const failed = ^uint64(0)

// Read returns n bytes from offset on, not copied. With StoreOptions.KeepViews they stay valid as long as they are held. ok is false if they are not all inside the
// memory; this holds for the methods below too.
func (m *Memory) Read(offset, n uint32) (b []byte, ok bool) {
	l := m.use()
	p := l.At(uint64(offset), uint64(n))
	if p == nil {
		return nil, false
	}
	if m.inproc().Store().KeepsViews() {
		b = l.Kept(p, uint64(offset), uint64(n))
		runtime.KeepAlive(l)
		if b == nil && m.use() != l {
			return m.Read(offset, n) // the memory has been reset meanwhile
		}
		return b, b != nil
	}
	l.Lend()
	return unsafe.Slice((*byte)(p), n), true
}

// Write copies b to offset.
func (m *Memory) Write(offset uint32, b []byte) (ok bool) {
	l := m.use()
	p := l.At(uint64(offset), uint64(len(b)))
	if p == nil {
		return false
	}
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	runtime.KeepAlive(l)
	return true
}

// ReadString returns n bytes from offset on as a string, a copy.
func (m *Memory) ReadString(offset, n uint32) (s string, ok bool) {
	l := m.use()
	p := l.At(uint64(offset), uint64(n))
	if p == nil {
		return "", false
	}
	s = string(unsafe.Slice((*byte)(p), n))
	runtime.KeepAlive(l)
	return s, true
}

// WriteString copies s to offset.
func (m *Memory) WriteString(offset uint32, s string) (ok bool) {
	l := m.use()
	p := l.At(uint64(offset), uint64(len(s)))
	if p == nil {
		return false
	}
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	runtime.KeepAlive(l)
	return true
}

// ReadUint8 returns the byte at offset.
func (m *Memory) ReadUint8(offset uint32) (x uint8, ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 1)
	if p == nil {
		return 0, false
	}
	x = *(*byte)(p)
	runtime.KeepAlive(l)
	return x, true
}

// ReadUint16 returns the little-endian number of 2 bytes at offset.
func (m *Memory) ReadUint16(offset uint32) (x uint16, ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 2)
	if p == nil {
		return 0, false
	}
	x = binary.LittleEndian.Uint16((*[2]byte)(p)[:])
	runtime.KeepAlive(l)
	return x, true
}

// ReadUint32 is like ReadUint16 for 4 bytes.
func (m *Memory) ReadUint32(offset uint32) (x uint32, ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 4)
	if p == nil {
		return 0, false
	}
	x = binary.LittleEndian.Uint32((*[4]byte)(p)[:])
	runtime.KeepAlive(l)
	return x, true
}

// ReadUint64 is like ReadUint16 for 8 bytes.
func (m *Memory) ReadUint64(offset uint32) (x uint64, ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 8)
	if p == nil {
		return 0, false
	}
	x = binary.LittleEndian.Uint64((*[8]byte)(p)[:])
	runtime.KeepAlive(l)
	return x, true
}

// WriteUint8 sets the byte at offset.
func (m *Memory) WriteUint8(offset uint32, x uint8) (ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 1)
	if p == nil {
		return false
	}
	*(*byte)(p) = x
	runtime.KeepAlive(l)
	return true
}

// WriteUint16 writes x at offset, in 2 bytes, little-endian.
func (m *Memory) WriteUint16(offset uint32, x uint16) (ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 2)
	if p == nil {
		return false
	}
	binary.LittleEndian.PutUint16((*[2]byte)(p)[:], x)
	runtime.KeepAlive(l)
	return true
}

// WriteUint32 is like WriteUint16 for 4 bytes.
func (m *Memory) WriteUint32(offset, x uint32) (ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 4)
	if p == nil {
		return false
	}
	binary.LittleEndian.PutUint32((*[4]byte)(p)[:], x)
	runtime.KeepAlive(l)
	return true
}

// WriteUint64 is like WriteUint16 for 8 bytes.
func (m *Memory) WriteUint64(offset uint32, x uint64) (ok bool) {
	l := m.use()
	p := l.At(uint64(offset), 8)
	if p == nil {
		return false
	}
	binary.LittleEndian.PutUint64((*[8]byte)(p)[:], x)
	runtime.KeepAlive(l)
	return true
}
