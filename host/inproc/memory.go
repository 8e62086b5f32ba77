package inproc

import (
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
)

// Limits are those of a memory, in pages of 64 KiB, or of a table, in elements.
type Limits struct {
	Min, Max uint64 // Max counts if HasMax
	HasMax   bool
}

// Shorthands of the binary interface as addresses.
const (
	descCode   = uintptr(abi.DescCode)
	descType   = uintptr(abi.DescType)
	descSize   = uintptr(abi.DescSize)
	descHost   = uintptr(abi.DescHost)
	refTagHost = uint64(abi.RefTagHost)
	wasmPage   = uintptr(abi.PageSize)
	// Words below the base of a memory or table: size, limit, and for this host the
	// number in the store.
	sizeBelow  = uintptr(-abi.MemorySizeOffset)
	limitBelow = uintptr(-abi.MemoryMaxPagesOffset)
	idBelow    = uintptr(24)
	// memoryHeader precedes the base of a memory; its last page is accessible.
	memoryHeader = 64 << 10
	memorySize   = memoryHeader + abi.MemoryReservation
	tableHeader  = pageSize
	hugePage     = 2 << 20    // the only size that is asked for
	growFailed   = ^uint64(0) // result of growth that fails
)

// Memory is a linear memory.
type Memory struct {
	store *Store
	// base is the address of the bytes, desc that of the descriptor, whose words are in front of it. They differ only if the memory is movable.
	base, desc uintptr
	limits     Limits // as declared
	// Of a movable memory: where its bytes come from, an allocator of the program or a mapping of its own.
	// still counts those who keep it where it is.
	foreign LinearMemory
	own     *mapping
	still   int
	// open bytes have been accessible from the start; end is that of the reservation. lent are bytes behind that may be in memory, and are zero.
	open, end, lent uintptr
	// at is where the bytes are for those who are not inside the store; nil once it has been freed.
	at atomic.Pointer[Location]
	// advised says that the system has been advised about a part of the reservation, filed that a file is mapped in the memory, beside those of views.
	// imaged says that all of the module's image is. If filed, fileEnd is where the last such file ends.
	advised, filed, imaged bool
	fileEnd                uintptr
	// runMappings are the mappings that the runs of the image take beyond the first.
	runMappings uint64
	views       *views
}

// NewMemory makes a memory, which is movable if the store has an allocator. The error is a *LimitError or *SystemError.
func (s *Store) NewMemory(l Limits) (*Memory, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.newMemory(l, s.config.Allocator != nil, s.config.Allocator)
}

// newMemory makes a memory; only if it is movable, an allocator makes its bytes.
func (s *Store) newMemory(l Limits, movable bool, a MemoryAllocator) (*Memory, error) {
	limit := abi.MemoryLimit(l.Min)
	if l.HasMax {
		limit = l.Max
	}
	limit = min(limit, s.config.MaxMemoryPages)
	if err := atMost("memory pages", l.Min, limit); err != nil {
		return nil, err
	}
	if err := s.grant(usage{memories: 1, memoryPages: l.Min}); err != nil {
		return nil, err
	}
	var m *Memory
	var err error
	if movable {
		m, err = s.newMovable(l, limit, a)
	} else {
		m, err = s.newReserved(l, limit)
	}
	if err != nil {
		return nil, err
	}
	store64(m.desc-limitBelow, limit)
	store64(m.desc-idBelow, uint64(len(s.memories)))
	if m.Grow(l.Min) == growFailed {
		m.free()
		return nil, &SystemError{Op: "committing a memory", Err: ErrNoSpace}
	}
	s.memories = append(s.memories, m)
	s.used.memories++
	return m, nil
}

// newReserved makes a memory that never moves, in a reservation that every index falls into.
func (s *Store) newReserved(l Limits, limit uint64) (*Memory, error) {
	p := &struct {
		Memory
		views views
	}{}
	m, v := &p.Memory, &p.views
	if s.config.KeepViews { // slices keep views alive, and nothing else
		v = new(views)
	}
	if err := s.initViews(v, limit); err != nil {
		return nil, err
	}
	open := uintptr(l.Min) * wasmPage
	if v.file >= 0 {
		open = 0 // the bytes will be those of a file
	}
	x, err := process.takeMemory(pageSize + open)
	if err != nil {
		v.end()
		return nil, err
	}
	base := x.low + memoryHeader
	m.store, m.base, m.desc, m.limits, m.open, m.end, m.lent, m.views = s, base, base, l, open, x.end, x.lent(pageSize+open), v
	if err = process.withoutSpares(func() error { return x.openTo(pageSize + open) }); err != nil {
		x.unmap()
		process.regain(m.lent)
		process.giveMappings(memoryMappings)
		v.end()
		return nil, err
	}
	store64(m.desc-baseBelow, uint64(base))
	m.at.Store(newLocation(base, 0, v))
	return m, nil
}

// free releases the memory, which nobody comes to any more. Who is in the middle of an access finds zeros from now on.
func (m *Memory) free() {
	l := m.at.Swap(nil)
	unused := l.end()
	if m.Movable() {
		m.freeMovable(l, unused)
		return
	}
	used := max(m.open, min(uintptr(m.Size()), bytes64(abi.MemoryReservation)))
	if m.advised {
		used = bytes64(abi.MemoryReservation) // whoever gets the reservation next does so without the advice
		process.giveMappings(hugeMappings)
	}
	process.regain(m.lent)
	x := spareMemory{low: m.base - memoryHeader, end: m.end, open: pageSize + used, warm: pageSize + max(used, m.open+m.lent)}
	anonymous := m.views.file < 0 && !m.advised
	process.giveMappings(m.runMappings)
	m.runMappings = 0
	kept := m.views.end()
	kept.low += m.base
	base := m.base
	m.base = 0
	switch {
	case kept.size != 0 && unused:
		process.unmapAround(x, kept)
	case kept.size != 0:
		process.retire(l, func() { process.unmapAround(x, kept) })
	case unused:
		if anonymous && m.filed { // pages behind the files are worth keeping if the memory has grown
			anonymous = used > m.open && place(base, m.fileEnd, protRW) == nil
		}
		process.giveMemory(x, pageSize+m.open, anonymous)
	default:
		process.buryMemory(x, l)
	}
}

// Size returns the current size in bytes.
func (m *Memory) Size() uint64 { return load64(m.desc - sizeBelow) }

// Limits are the declared ones.
func (m *Memory) Limits() Limits { return m.limits }

// Bytes returns a view of the whole memory as it is now, nil if it has been freed. It does not follow growth,
// and must not be used after the store is closed. Kept has one that may.
func (m *Memory) Bytes() []byte {
	if m.at.Load() == nil {
		return nil
	}
	return bytesAt(m.base, uintptr(m.Size()))
}

// Grow adds pages of 64 KiB and gives the old size in pages, or all ones if the
// limit or the system does not allow it. Views of before stay valid, unless the memory is movable.
func (m *Memory) Grow(pages uint64) uint64 {
	size := uintptr(m.Size())
	old := uint64(size / wasmPage)
	s := m.store
	if pages > load64(m.desc-limitBelow)-old || pages > s.config.MaxTotalMemoryPages-s.used.memoryPages {
		return growFailed
	}
	if pages == 0 {
		return old
	}
	by := uintptr(pages) * wasmPage
	if m.Movable() {
		if !m.move(size + by) {
			return growFailed
		}
		s.used.memoryPages += pages
		return old
	}
	if m.commit(size, size+by) != nil {
		return growFailed
	}
	if by >= hugeGrowth && size > 0 && s.config.HugePages {
		m.useHugePages(size, quickHugePage)
	}
	s.used.memoryPages += pages
	store64(m.desc-sizeBelow, uint64(size+by))
	m.at.Load().size.Store(uint64(size + by))
	return old
}

// limitTo keeps the memory from growing beyond pages of 64 KiB, which an instance that has it relies on.
func (m *Memory) limitTo(pages uint64) {
	store64(m.desc-limitBelow, min(pages, load64(m.desc-limitBelow)))
}

// growMemory is the helper waot_memory_grow.
func growMemory(c *Caller) uint64 { return c.helped(c.store.memoryGrow(c.store.ctx)) }

func (s *Store) memoryGrow(c *nativeContext) uint64 {
	desc := uintptr(c.ints[0])
	returned := false
	defer s.activations[s.depth-1].unwind(&returned) // an allocator of the program may panic
	old := s.memories[load64(desc-idBelow)].Grow(c.ints[1])
	returned = true
	if s.config.CollectAlways {
		s.collectRefs()
	}
	return old
}

// Store returns the store of the memory.
func (m *Memory) Store() *Store { return m.store }
