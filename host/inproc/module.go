package inproc

import (
	"bytes"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
)

// Module is a linked image, ready to be mapped any number of times, in any store.
// It is immutable and safe for concurrent use.
type Module struct {
	meta *meta.Module
	// sites returns the metadata with the tables of traps, calls and stack maps: meta, but for a module from a file,
	// which reads them when they are first needed.
	sites func() *meta.Module
	// addresses and importWords are the words that depend on the address or the store: see Image.
	addresses   []uint64
	importWords []image.ImportWord
	// offsets of the sections in the image, multiples of the page size; sizes of
	// their contents; size of the whole.
	offset, length [numSections]uintptr
	size           uintptr
	// fd is a file with the sections, a memfd or one of OpenFile, or -1: then linked is their bytes. inFile are
	// the offsets of the sections in the file.
	fd     int
	inFile [numSections]uintptr
	linked [numSections][]byte
	// pristine is the data as they are in the file, if they are few.
	pristine []byte
	closed   atomic.Bool
	self     weak.Pointer[Module] // which spare images have
	// largeFrames says that a function has a frame that is not smaller than largeFrame.
	largeFrames bool

	// images are those of the memories, or nil; without a file for those that have none.
	images []memoryImage

	// tables is what tables hold at first, and ready that the init function has run: see Image.
	tables [][]uint32
	ready  bool

	// imported is the number of imported functions; the others are in the order of their code.
	imported int
	refs     refRoots
	exports  map[string]uint32
	// records are those of the types.
	records *abi.Records
	// numbers are the numbers of the types among those of the process, as long as there are stores that use them, of which numbersUsers is the number: see Store.useTypes.
	numbers      []typeNumber
	numbersUsers int
	objectTypes  *moduleTypes // nil if the module has nothing to do with objects
	numbersMu    sync.Mutex
	// types are those that stores have asked for, by index.
	types []atomic.Pointer[funcType]
}

// Load checks an image and makes it ready to be mapped. It copies what it needs: the caller may change the bytes afterwards, but not
// Meta and the tables of words. The errors are *ImageError, *CPUError,
// *SystemError and ErrUnsupported.
func Load(img *Image) (*Module, error) { return load(img, true) }

// load is Load; share says whether a memfd may be used.
func load(img *Image, share bool) (*Module, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	if err := img.Check(); err != nil {
		return nil, err
	}
	m := &Module{fd: -1, sites: func() *meta.Module { return img.Meta }}
	if err := m.take(img); err != nil {
		return nil, err
	}
	m.keep(img, share)
	return m, nil
}

// keep copies the bytes of an image, to memfds if share says that it may.
func (m *Module) keep(img *Image, share bool) {
	for s := range numSections {
		m.linked[s] = img.Section(s)
	}
	if share {
		m.share()
	}
	if m.fd < 0 {
		for s := range numSections {
			m.linked[s] = bytes.Clone(m.linked[s])
		}
	}
	m.makeMemoryImages(img.Memories, share)
}

// take takes over an image, which is valid, but for its bytes.
func (m *Module) take(img *Image) error {
	if err := forThisMachine(img); err != nil {
		return err
	}
	for s := range numSections {
		m.offset[s], m.length[s] = uintptr(img.Address[s]), uintptr(len(img.Section(s)))
	}
	m.size = uintptr(img.Size())
	m.addresses, m.importWords, m.tables, m.ready = img.Addresses, img.Imports, img.Tables, img.Ready
	return m.describe(img.Meta)
}

// describe takes over the metadata, which are valid.
func (m *Module) describe(d *meta.Module) error {
	if err := checkCPU(d.CPU, process.cpu); err != nil {
		return err
	}
	m.self = weak.Make(m)
	m.meta, m.exports, m.types = d, make(map[string]uint32, len(d.Exports)), make([]atomic.Pointer[funcType], len(d.Types))
	for i := range d.Exports {
		m.exports[d.Exports[i].Name] = uint32(i)
	}
	m.largeFrames = slices.ContainsFunc(d.Funcs, func(f meta.Func) bool { return f.Frame >= largeFrame })
	m.records = d.Records(nil)
	if m.meta.Heap != nil {
		m.objectTypes = &moduleTypes{defs: m.meta.Heap.Defs, records: m.records}
	}
	m.imported = slices.IndexFunc(d.Funcs, func(f meta.Func) bool { return f.Import == nil })
	m.findRefRoots()
	return nil
}

// own returns type t of the module by itself if it says more than its class, or nil.
func (m *Module) own(t meta.ValType) *abi.OwnType {
	if !t.IsTyped() {
		return nil
	}
	o := m.records.Own(t)
	return &o
}

// ownType returns type t by itself, which own is if it says more than its class.
func ownType(t meta.ValType, own *abi.OwnType) abi.OwnType {
	if own != nil {
		return *own
	}
	return abi.OwnType{Type: t}
}

// share moves the sections to a memfd if the system allows it.
func (m *Module) share() {
	fd, err := memfd(alignUp(m.size, pageSize))
	if err != nil {
		return
	}
	for s := range numSections {
		if err := writeAt(fd, m.linked[s], m.offset[s]); err != nil {
			closeFile(fd)
			return
		}
	}
	if !m.tryMap(fd, 0) {
		closeFile(fd)
		return
	}
	if m.length[Data] <= maxCleared {
		m.pristine = bytes.Clone(m.linked[Data])
	}
	m.fd, m.inFile, m.linked = fd, m.offset, [numSections][]byte{}
}

// tryMap finds out whether the system lets a page of the file be mapped executable.
func (m *Module) tryMap(fd int, offset uintptr) bool {
	at, err := process.allocCode(granule)
	if err != nil {
		return false
	}
	defer process.freeCode(at, granule)
	return placeFile(at, pageSize, process.protText, true, fd, offset) == nil
}

// mapAt maps the image at an address of the arena.
func (m *Module) mapAt(at uintptr) error {
	if m.closed.Load() {
		return ErrClosed
	}
	prots := [numSections]int{process.protText, protR, protRW}
	for s := range numSections {
		n := alignUp(m.length[s], pageSize)
		if n == 0 {
			continue
		}
		to := at + m.offset[s]
		if m.fd >= 0 {
			if err := placeFile(to, n, prots[s], s != Data, m.fd, m.inFile[s]); err != nil {
				return err
			}
			continue
		}
		if err := place(to, n, protRW); err != nil {
			return err
		}
		copy(bytesAt(to, n), m.linked[s])
		if s == Text {
			flushCode(to, n)
		}
		if s != Data {
			if err := mprotect(to, n, prots[s]); err != nil {
				return err
			}
		}
	}
	syncCores()
	return nil
}

// Meta returns the metadata of the module; it must not be changed.
func (m *Module) Meta() *meta.Module { return m.meta }

// Close gives up what further instances would need. Instances that exist are not
// affected. It must not run at the same time as an instantiation of m.
func (m *Module) Close() {
	if m.closed.Swap(true) {
		return
	}
	process.dropImages(m)
	if m.fd >= 0 {
		closeFile(m.fd)
	}
	closeImages(m.images)
	m.linked = [numSections][]byte{}
}

// funcAt returns the index of the function whose code contains offset of the text.
func (m *Module) funcAt(offset uint32) (uint32, bool) {
	defined := m.meta.Funcs[m.imported:]
	// The first one that ends behind offset: those without code end where they begin.
	i := sort.Search(len(defined), func(i int) bool { return uint64(defined[i].Text)+uint64(defined[i].Size) > uint64(offset) })
	if i == len(defined) || offset < defined[i].Text {
		return 0, false
	}
	return uint32(m.imported + i), true
}

// trapAt returns the trap site at offset of the text.
func (m *Module) trapAt(offset uint32) *abi.TrapSite {
	sites := m.sites().Traps
	i, found := slices.BinarySearchFunc(sites, offset, func(t abi.TrapSite, o uint32) int {
		return int(t.Offset) - int(o)
	})
	if !found {
		return nil
	}
	return &sites[i]
}

// callAt returns the place in the Wasm module of the call that returns to offset.
func (m *Module) callAt(offset uint32) uint32 {
	sites := m.sites().Calls
	i, found := slices.BinarySearchFunc(sites, offset, func(c abi.CallSite, o uint32) int {
		return int(c.Offset) - int(o)
	})
	if !found {
		return 0
	}
	return sites[i].Src
}

// stackMap returns the stack slots with references in f, in the memory of buf if it has room for them.
func (f *nativeFrame) stackMap(buf []int32) []int32 {
	return f.inst.module.sites().StackMaps.At(uint32(f.pc-f.inst.base), buf)
}
