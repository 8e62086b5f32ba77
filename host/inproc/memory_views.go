package inproc

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
)

// With Config.KeepViews, slices of memories are valid as long as Go code has them. Only Go's collector can know how long that is, so they
// must be slices of its heap: a memory is a file without a name, mapped where compiled code has it, and parts of it once more over blocks of the heap, from
// which slices are taken. A block has no pointers, so that the runtime does not look into it. When no slice of it is left, its finalizer,
// which the runtime runs before it uses the block for something else, puts ordinary pages back.

const (
	// viewMappings is how many mappings a view takes, with those into which it divides that of the heap.
	viewMappings = 3
	// minViewShift is the logarithm of the size of the smallest views, maxViews how many a memory remembers.
	minViewShift = 17
	maxViews     = 64
)

// views are what a memory remembers of its views. Others exist as long as there are slices of them.
type views struct {
	file  int                  // what is mapped as the memory, or -1
	pins  bool                 // without a file: slices are of the memory itself, and pin it
	last  atomic.Pointer[view] // the one used last
	mu    sync.Mutex           // guards the rest, and the end of file
	all   map[extent]*view
	shift uint // of the smallest views to be made: rises when there are too many
	// pinned is the part of the memory that slices were taken of where no view could be made: it has to stay mapped.
	pinned extent
}

// view is a part of a memory as a part of Go's heap.
type view struct {
	part  extent // in the memory
	bytes []byte
}

// contains reports whether the bytes of a part are all in the view.
func (v *view) contains(p extent) bool {
	return v.part.low <= p.low && p.low+p.size <= v.part.low+v.part.size
}

// slice returns a part.
func (v *view) slice(p extent) []byte {
	at := p.low - v.part.low
	return v.bytes[at : at+p.size : at+p.size]
}

// initViews makes v the views of a memory of at most so many pages; without Config.KeepViews there will be none. A memory is not a file if the process may not
// have files that large: growth would end it (SIGXFSZ).
func (s *Store) initViews(v *views, pages uint64) (err error) {
	*v = views{file: -1, shift: minViewShift}
	if !s.config.KeepViews {
		return nil
	}
	if v.pins = fileLimit() < bytes64(pages*abi.PageSize); !v.pins {
		v.file, err = memfd(0)
	}
	return err
}

// Kept returns a part of the memory at the location, whose address is own, as a slice that is valid as long as somebody has it; nil if the memory has been freed meanwhile, or
// is somewhere else after a reset. It needs Config.KeepViews. How long a slice of an allocator's memory is valid, the allocator says.
func (l *Location) Kept(own unsafe.Pointer, offset, size uint64) []byte {
	if l.foreign {
		return unsafe.Slice((*byte)(own), size)
	}
	p := extent{uintptr(offset), uintptr(size)}
	if v := l.views.last.Load(); v != nil && v.contains(p) {
		return v.slice(p)
	}
	if size == 0 {
		return []byte{}
	}
	return l.views.find(own, p)
}

// find is Kept for a part that the last view has not.
func (s *views) find(own unsafe.Pointer, p extent) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.pins:
		return s.pin(own, p)
	case s.file < 0:
		return nil // the store has been closed meanwhile
	}
	place := s.around(p)
	v := s.all[place]
	if v == nil {
		var err error
		if v, err = s.open(place); err != nil {
			return s.pin(own, p)
		}
		if len(s.all) == maxViews {
			s.all = nil
			s.shift++
		}
		if s.all == nil {
			s.all = map[extent]*view{}
		}
		s.all[place] = v
	}
	s.last.Store(v)
	return v.slice(p)
}

// pin returns a part of the memory itself, which has to stay mapped.
func (s *views) pin(own unsafe.Pointer, p extent) []byte {
	s.pinned = pagesAround(s.pinned, p)
	return unsafe.Slice((*byte)(own), p.size)
}

// around is the place of the view for a part: the smallest one whose size is a power of two and that is a multiple of it away from the beginning; but if that is far too
// large, the pages of the part.
func (s *views) around(p extent) extent {
	for shift := s.shift; uintptr(1)<<shift <= 4*max(p.size, 1<<s.shift); shift++ {
		if low := p.low >> shift << shift; p.low+p.size <= low+1<<shift {
			return extent{low, 1 << shift}
		}
	}
	low := p.low &^ (pageSize - 1)
	return extent{low, alignUp(p.low+p.size, pageSize) - low}
}

// open maps a part of the memory over a block of the heap. It may reach beyond the end of the memory, where nobody looks.
func (s *views) open(p extent) (*view, error) {
	if err := process.takeViewMappings(); err != nil {
		return nil, err
	}
	block := make([]byte, p.size+pageSize)
	first := unsafe.SliceData(block)
	skip := alignUp(uintptr(unsafe.Pointer(first)), pageSize) - uintptr(unsafe.Pointer(first))
	if err := placeFile(uintptr(unsafe.Pointer(first))+skip, p.size, protRW, true, s.file, p.low); err != nil {
		// The block is as it was: the system checks its limits before it takes the old pages away.
		process.giveMappings(viewMappings)
		return nil, err
	}
	runtime.SetFinalizer(first, func(first *byte) { endView(first, skip, p.size) })
	return &view{p, block[skip : skip+p.size]}, nil
}

// endView puts pages of the heap back in the place of a view.
func endView(first *byte, skip, n uintptr) {
	if placeHeap(uintptr(unsafe.Pointer(first))+skip, n) != nil {
		runtime.SetFinalizer(first, func(first *byte) { endView(first, skip, n) }) // later
		return
	}
	process.giveMappings(viewMappings)
}

// pagesAround is the pages around a part and another one, which may be empty.
func pagesAround(pages, p extent) extent {
	low, high := p.low&^(pageSize-1), alignUp(p.low+p.size, pageSize)
	if pages.size != 0 {
		low, high = min(low, pages.low), max(high, pages.low+pages.size)
	}
	return extent{low, high - low}
}

// Where mappings have run out, the garbage collector finds views that nobody has, if there may be many: it is asked once for that many views that have been made.
const viewsToCollect = 256

// collectionPatience is how long finalizers are waited for.
const collectionPatience = 20 * time.Millisecond

// takeViewMappings counts the mappings of a view.
func (p *processState) takeViewMappings() error {
	err := p.takeMappings(viewMappings)
	if err != nil && p.viewsMade.Load() >= viewsToCollect {
		p.viewsMade.Store(0)
		runtime.GC()
		for end := time.Now().Add(collectionPatience); err != nil && time.Now().Before(end); time.Sleep(collectionPatience / 100) {
			err = p.takeMappings(viewMappings)
		}
	}
	if err == nil {
		p.viewsMade.Add(1)
	}
	return err
}

// end is for the end of the memory. Slices stay, and so must what it returns, the part of the memory of which some are, if that is not empty.
func (s *views) end() (kept extent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file >= 0 {
		closeFile(s.file)
	}
	s.file, s.pins, s.all = -1, false, nil
	s.last.Store(nil)
	return s.pinned
}

// commit makes the bytes of a memory from size up to end accessible.
func (m *Memory) commit(size, end uintptr) error {
	if m.views.file < 0 {
		if end <= m.open {
			return nil
		}
		return process.withoutSpares(func() error { return mprotect(m.base+size, end-size, protRW) })
	}
	if err := truncate(m.views.file, end); err != nil {
		return err
	}
	return placeFile(m.base+size, end-size, protRW, true, m.views.file, size)
}
