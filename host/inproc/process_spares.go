package inproc

import (
	"errors"
	"runtime"
	"slices"
	"time"
	"weak"
)

// What a closed store had mapped stays for the next one, in part, empty as when it was new: making a mapping takes some microseconds, emptying it
// less, and some ten milliseconds in an emulator. Small ones are emptied by writing, and keep their pages.
const (
	// maxSpares bounds the spares of each kind.
	maxSpares = 32
	// maxSpareBytes bounds the accessible bytes of all, since they count where a system does not promise more memory than it has, and for limits
	// of processes. Regions of more than closedRegion bytes are not accessible as spares.
	maxSpareBytes = 64 << 20
	closedRegion  = 1 << 20
	// maxCleared bounds what is made zero, or as it was, by writing it: taking pages from a process stops all of its threads for a moment, and the pages
	// have to be touched anew; and to ask which were written takes longer. Beyond it most pages may never have been touched.
	maxCleared = 64<<10 + pageSize
	// maxSpareMemory bounds the bytes of a memory whose pages are kept. All that were written are written again, in about the time
	// that giving them back takes: the next memory that grows so far need not touch new ones, which takes ten times as long.
	maxSpareMemory = maxSpareBytes/4 + pageSize
	// maxWritten bounds the pages that are written again, but for memories of closed stores: more are taken away, and their memory is the system's.
	maxWritten = 64
)

// spares are mappings that no store has, those given last at the end.
type spares struct {
	memories []spareMemory
	images   []spareImage
	regions  []extent // zero, and accessible unless they are large
	bytes    uintptr  // accessible ones of regions, warm ones of memories
	lent     uintptr  // warm ones that memories in use have not opened
}

// hasRoom reports whether the spares may have so many bytes more.
func (s *spares) hasRoom(bytes uintptr) bool { return bytes+s.bytes+s.lent <= maxSpareBytes }

// admits reports whether one more of n has room, with bytes, which it counts.
func (s *spares) admits(n int, bytes uintptr) bool {
	if n >= maxSpares || !s.hasRoom(bytes) {
		return false
	}
	s.bytes += bytes
	return true
}

// withoutSpares calls f, and, if the system refuses something, again without spares, which may have what f needs.
func (p *processState) withoutSpares(f func() error) error {
	err := f()
	if err == nil {
		return nil
	}
	var refused *SystemError
	if errors.As(err, &refused) && p.dropSpares() {
		err = f()
	}
	if errors.As(err, &refused) && p.reclaim() {
		err = f()
	}
	return err
}

// reclaim unmaps what a process does without where addresses or mappings have run out: graves, and retired mappings that nobody holds. It reports whether there may be more
// now.
func (p *processState) reclaim() bool {
	p.mu.Lock()
	any := len(p.graves.list) > 0
	for len(p.graves.list) > 0 {
		p.dropGrave()
	}
	p.mu.Unlock()
	retired := p.retired.Load()
	if retired == 0 {
		return any
	}
	runtime.GC()
	for end := time.Now().Add(collectionPatience); p.retired.Load() > 0 && time.Now().Before(end); {
		time.Sleep(collectionPatience / 100)
	}
	return any || p.retired.Load() < retired
}

// spareMemory is a reservation for a memory, which may end later than a memory needs. Its open bytes from the page of the header on are accessible and zero, no others.
// Pages of its warm bytes, which are not fewer, may be in memory: those that are not open are zero, too.
type spareMemory struct{ low, end, open, warm uintptr }

// lent returns how many warm bytes a memory with so many open ones does not use.
func (x *spareMemory) lent(open uintptr) uintptr { return x.warm - min(x.warm, open) }

// cool gives its pages back to the system. One call removes both the pages and the access to them. It reports whether it could.
func (x *spareMemory) cool() bool {
	ok := x.warm == 0 || place(x.low+memoryHeader-pageSize, x.warm, protNone) == nil
	x.open, x.warm = 0, 0
	return ok
}

// unmap gives it up.
func (x *spareMemory) unmap() { munmap(x.low, x.end-x.low) }

// spareImage is where the image of a module is mapped, its data as they are in the file. It does not keep the module.
type spareImage struct {
	module weak.Pointer[Module]
	at     extent
}

// empty makes private mappings what they were when they were new. It reports whether it could.
func (p *processState) empty(addr, size uintptr) bool {
	return p.empties() && (size == 0 || discard(addr, size))
}

// empties reports whether the system empties mappings.
func (p *processState) empties() bool {
	p.emptyOnce.Do(func() {
		p.canEmpty = discardWorks()
		p.scanner.open()
	})
	return p.canEmpty
}

// zero is empty for anonymous memory that can be written, all of whose pages may have been touched.
func (p *processState) zero(addr, size uintptr) bool { return p.zeroWritten(addr, size, maxWritten) }

// zeroWritten is zero that writes so many pages at most where it can ask which.
func (p *processState) zeroWritten(addr, size uintptr, pages uint64) bool {
	if size <= p.clears {
		clear(bytesAt(addr, size))
		return true
	}
	clearRow := func(x extent) { clear(bytesAt(x.low, x.size)) }
	return p.empties() && p.scanner.written(addr, size, false, pages, clearRow) || p.empty(addr, size)
}

// touchedBelow reports whether the page of private memory below an address is in memory, or swapped out. The scanner takes half the time that mincore takes.
func (p *processState) touchedBelow(addr uintptr) bool {
	touched := false
	if p.empties() && p.scanner.written(addr-pageSize, pageSize, true, 2, func(extent) { touched = true }) {
		return touched
	}
	return inMemoryBelow(addr)
}

// restore is empty for the data of a module's image.
func (p *processState) restore(m *Module, data uintptr) bool {
	if m.pristine == nil || m.length[Data] > p.clears {
		return p.empty(data, alignUp(m.length[Data], pageSize))
	}
	copy(bytesAt(data, m.length[Data]), m.pristine)
	return true
}

// takeLast takes the last element out that is wanted.
func takeLast[T any](list *[]T, wanted func(*T) bool) (found T, ok bool) {
	for i := len(*list) - 1; i >= 0; i-- {
		if wanted(&(*list)[i]) {
			found = (*list)[i]
			*list = slices.Delete(*list, i, i+1)
			return found, true
		}
	}
	return found, false
}

// takeMemory returns a reservation for a memory, if possible one whose first open bytes are accessible.
func (p *processState) takeMemory(open uintptr) (x spareMemory, err error) {
	ok := false
	err = p.takeWith(memoryMappings, func() {
		if x, ok = takeLast(&p.spares.memories, func(x *spareMemory) bool { return x.open == open }); !ok {
			x, ok = takeLast(&p.spares.memories, func(*spareMemory) bool { return true })
		}
		p.spares.bytes -= x.warm
		p.spares.lent += x.lent(open)
	})
	if ok || err != nil {
		return x, err
	}
	err = p.withoutSpares(func() (err error) {
		x, err = p.reserveMemory()
		return err
	})
	if err != nil {
		p.giveMappings(memoryMappings)
	}
	return x, err
}

// openTo makes the first open bytes accessible, and no others.
func (x *spareMemory) openTo(open uintptr) error {
	first := x.low + memoryHeader - pageSize
	switch {
	case x.open < open:
		return mprotect(first+x.open, open-x.open, protRW)
	case x.open > open:
		return mprotect(first+open, x.open-open, protNone)
	}
	return nil
}

// regain ends what takeMemory has lent.
func (p *processState) regain(lent uintptr) {
	if lent != 0 {
		p.mu.Lock()
		p.spares.lent -= lent
		p.mu.Unlock()
	}
}

// giveMemory takes back what takeMemory gave, whose open bytes are accessible. They are anonymous if no file is mapped
// there, and nothing was advised. Of those that are kept the first stay accessible: the next memory of the kind finds it as it needs it, and grows as this one did.
func (p *processState) giveMemory(x spareMemory, first uintptr, anonymous bool) {
	at := x.low + memoryHeader - pageSize
	p.mu.Lock()
	usable := anonymous && x.warm <= maxSpareMemory && p.spares.hasRoom(x.warm)
	p.mu.Unlock()
	usable = usable && p.zeroWritten(at, x.open, maxSpareMemory/pageSize)
	if usable && x.open > first {
		usable = mprotect(at+first, x.open-first, protNone) == nil
		x.open = first
	}
	if !usable {
		usable = x.cool()
	}
	p.keepMemory(x, usable)
}

// keepMemory keeps a reservation for the next memory if that is usable and there is room, and unmaps it otherwise. The mappings of a memory are given back.
func (p *processState) keepMemory(x spareMemory, usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mappings -= memoryMappings
	if usable && p.spares.admits(len(p.spares.memories), x.warm) {
		p.spares.memories = append(p.spares.memories, x)
		return
	}
	x.unmap()
}

// unmapAround unmaps a reservation but for some pages, which stay as long as the process lives.
func (p *processState) unmapAround(x spareMemory, kept extent) {
	end := kept.low + kept.size
	munmap(x.low, kept.low-x.low)
	munmap(end, x.end-end)
	p.giveMappings(memoryMappings - 1)
}

// takeImage maps the image of a module, or takes a place where it is mapped.
func (p *processState) takeImage(m *Module) (base uintptr, err error) {
	var x spareImage
	ok := false
	err = p.takeWith(imageMappings, func() {
		x, ok = takeLast(&p.spares.images, func(x *spareImage) bool { return x.module == m.self })
	})
	if ok || err != nil {
		return x.at.low, err
	}
	if base, err = p.allocCode(m.size); err == nil {
		if err = p.withoutSpares(func() error { return m.mapAt(base) }); err == nil {
			return base, nil
		}
		p.freeCode(base, m.size)
	}
	p.giveMappings(imageMappings)
	return 0, err
}

// giveImage takes back what takeImage gave, whose code is executable again if it was not.
func (p *processState) giveImage(m *Module, base uintptr) {
	usable := m.fd >= 0 && p.restore(m, base+m.offset[Data])
	p.mu.Lock()
	p.mappings -= imageMappings
	dropped := extent{base, m.size}
	if usable && !m.closed.Load() {
		p.spares.images = append(p.spares.images, spareImage{m.self, dropped})
		dropped = p.spares.surplus()
	}
	p.mu.Unlock()
	if dropped.size > 0 {
		p.freeCode(dropped.low, dropped.size)
	}
}

// surplus takes the oldest image out, if its module is forgotten, or if there are too many. Those of forgotten modules become the oldest in time.
func (s *spares) surplus() (x extent) {
	if oldest := &s.images[0]; len(s.images) > maxSpares || oldest.module.Value() == nil {
		x = oldest.at
		s.images = slices.Delete(s.images, 0, 1)
	}
	return x
}

// dropImages unmaps the spare images of a module.
func (p *processState) dropImages(m *Module) {
	for {
		p.mu.Lock()
		x, ok := takeLast(&p.spares.images, func(x *spareImage) bool { return x.module == m.self })
		p.mu.Unlock()
		if !ok {
			return
		}
		p.freeCode(x.at.low, x.at.size)
	}
}

// takeRegion returns a region of memory that is zero and accessible.
func (p *processState) takeRegion(size uintptr) (extent, error) {
	var x extent
	ok := false
	err := p.takeWith(otherMappings, func() {
		if x, ok = takeLast(&p.spares.regions, func(x *extent) bool { return x.size == size }); ok && size <= closedRegion {
			p.spares.bytes -= size
		}
	})
	switch {
	case err != nil:
		return extent{}, err
	case ok && size <= closedRegion:
		return x, nil
	case ok:
		if mprotect(x.low, size, protRW) == nil {
			return x, nil
		}
		munmap(x.low, size)
	}
	x.size = size
	err = p.withoutSpares(func() (err error) {
		x.low, err = reserve(size, protRW)
		return err
	})
	if err != nil {
		p.giveMappings(otherMappings)
		return extent{}, err
	}
	if size > hugePage {
		// Otherwise the first word would commit a huge page on systems that use them by default.
		madvise(x.low, size, madvNoHuge)
	}
	return x, nil
}

// giveRegion takes back what takeRegion gave, of which the first used bytes may not be zero any more.
func (p *processState) giveRegion(x extent, used uintptr) {
	usable, open := p.zero(x.low, used), x.size
	if usable && x.size > closedRegion {
		usable, open = mprotect(x.low, x.size, protNone) == nil, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mappings -= otherMappings
	if usable && p.spares.admits(len(p.spares.regions), open) {
		p.spares.regions = append(p.spares.regions, x)
		return
	}
	munmap(x.low, x.size)
}

// FreeOSMemory gives back to the system what closed stores have left for the next ones: spares, and the pages of native stacks. Reservations for memories
// stay, since what follows a grave in one keeps graves together.
func FreeOSMemory() {
	p := &process
	p.mu.Lock()
	all := p.spares
	p.spares = spares{lent: all.lent}
	for _, x := range all.memories {
		if x.cool() {
			p.spares.memories = append(p.spares.memories, x)
		} else {
			x.unmap()
		}
	}
	for _, x := range p.stacks {
		madvise(x.at+guardEnd, stackSize-guardEnd, madvDontNeed)
	}
	p.mu.Unlock()
	all.memories = nil
	all.drop(p)
}

// dropSpares unmaps all spares. It reports whether there were any.
func (p *processState) dropSpares() bool {
	p.mu.Lock()
	all := p.spares
	p.spares = spares{lent: all.lent}
	p.mu.Unlock()
	return all.drop(p)
}

// drop unmaps spares that the process does not have any more. It reports whether there are any.
func (all *spares) drop(p *processState) bool {
	for _, x := range all.memories {
		x.unmap()
	}
	for _, x := range all.regions {
		munmap(x.low, x.size)
	}
	for _, x := range all.images {
		p.freeCode(x.at.low, x.at.size)
	}
	return len(all.memories)+len(all.regions)+len(all.images) > 0
}
