//go:build linux && (amd64 || arm64)

package inproc

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Which pages of a private mapping the process has written, the kernel tells since version 6.7 (PAGEMAP_SCAN of /proc/self/pagemap, Documentation/admin-guide/mm/pagemap.rst). To
// write these again costs a tenth of taking them away and touching new ones.

// pageScan is the argument of PAGEMAP_SCAN (struct pm_scan_arg), and where its answer goes.
type pageScan struct {
	size, flags, start, end, walked uint64
	regions, numRegions, maxPages   uint64
	inverted, wanted, anyOf, told   uint64
	found                           [maxWritten]pageRegion
}

// pageRegion is pages in a row (struct page_region).
type pageRegion struct{ start, end, categories uint64 }

const (
	pagemapScan = 3<<30 | uint(unsafe.Offsetof(pageScan{}.found))<<16 | 'f'<<8 | 16 // _IOWR('f', 16, struct pm_scan_arg)
	pageFile    = 1 << 2                                                            // of a file, and not written through this mapping
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
	pageZero    = 1 << 5 // read, and never written
)

// scanner asks the kernel.
type scanner struct {
	file int
	pool sync.Pool // of *pageScan, which must not move
}

// open finds out whether the kernel answers, and rightly: file is -1 if not.
func (s *scanner) open() {
	s.file = -1
	file, err := syscall.Open("/proc/self/pagemap", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	kept, err := dupFile(uintptr(file))
	syscall.Close(file)
	if err != nil {
		return
	}
	s.pool.New = func() any { return new(pageScan) }
	if s.file = kept; !s.works() {
		closeFile(kept)
		s.file = -1
	}
}

// works tries it on mappings of each kind, of which a page was read and another one written.
func (s *scanner) works() bool {
	fd, err := memfd(4 * pageSize)
	if err != nil {
		return false
	}
	defer closeFile(fd)
	for _, flags := range []int{syscall.MAP_ANON, 0} {
		at, err := mmap(0, 4*pageSize, protRW, syscall.MAP_PRIVATE|flags, fd, 0)
		if err != nil {
			return false
		}
		defer munmap(at, 4*pageSize)
		store64(at+2*pageSize, load64(at+pageSize)+1)
		var found []extent
		known := s.written(at, 4*pageSize, false, maxWritten, func(x extent) { found = append(found, x) })
		if !known || len(found) != 1 || found[0].low != at+2*pageSize {
			return false
		}
	}
	return true
}

// written calls f for all pages that have been written, in rows. It reports false if it cannot say, they are more than most, or the rows more than maxWritten; then it has not called f. Pages of the
// system's one page of zeros have mostly been read only; but where a file is mapped, the system has put it in the place of zeros that were written (KSM): zeros says that
// they count.
func (s *scanner) written(addr, size uintptr, zeros bool, most uint64, f func(extent)) bool {
	if s.file < 0 {
		return false
	}
	x := s.pool.Get().(*pageScan)
	defer s.pool.Put(x)
	end := uint64(addr + alignUp(size, pageSize))
	not := uint64(pageFile | pageZero)
	if zeros {
		not = pageFile
	}
	*x = pageScan{size: uint64(unsafe.Offsetof(x.found)), start: uint64(addr), end: end, numRegions: maxWritten, maxPages: most,
		inverted: not, wanted: not, anyOf: pagePresent | pageSwapped, told: pagePresent}
	x.regions = uint64(uintptr(unsafe.Pointer(&x.found)))
	n, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.file), uintptr(pagemapScan), uintptr(unsafe.Pointer(x)))
	runtime.KeepAlive(x)
	if e != 0 || x.walked != end || n > maxWritten {
		return false
	}
	for _, r := range x.found[:n] {
		f(extent{uintptr(r.start), uintptr(r.end - r.start)})
	}
	return true
}
