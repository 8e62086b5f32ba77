package inproc

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/reloc"
)

// Module is a linked image, ready to be mapped any number of times, in any store.
// It is immutable and safe for concurrent use.
type Module struct {
	meta *meta.Module
	// sites returns the metadata with the tables of traps, calls and stack maps: meta, but for a module from a file,
	// which reads them when they are first needed.
	sites func() *meta.Module
	// addresses and importWords are the relocations that depend on the address or the store.
	addresses   []address
	importWords []importWord
	// offsets of the sections in the linked image, multiples of granule; sizes of
	// their contents; size of the whole.
	offset, length [numSections]uintptr
	size           uintptr
	// fd is a file with the linked image, a memfd or one of OpenFile, or -1: then linked is its bytes. inFile are
	// the offsets of the sections in the file.
	fd     int
	inFile [numSections]uintptr
	linked []byte
	closed atomic.Bool

	// images are those of the memories, or nil; without a file for those that have none.
	images []memoryImage

	// imported is the number of imported functions; the others are in the order of their code.
	imported int
	refs     refRoots
	exports  map[string]uint32
}

// address is a word of the instance data with the address of something in the image.
type address struct {
	at     uint32 // offset of the word in the instance data
	target uint32 // in the linked image
}

// importWord is a word of the instance data with the address of an imported function's descriptor, and an addend.
type importWord struct {
	at, n  uint32 // offset of the word in the instance data; index of the function
	addend int64
}

// Load checks and links an image. The errors are *ImageError, *CPUError,
// *SystemError and ErrUnsupported.
func Load(img *Image) (*Module, error) { return load(img, true) }

// load is Load; share says whether a memfd may be used.
func load(img *Image, share bool) (*Module, error) {
	m, err := newModule(img)
	if err != nil {
		return nil, err
	}
	if share {
		m.share()
		m.makeMemoryImages(img.Rodata)
	}
	return m, nil
}

// newModule checks and links an image, whose bytes the module has by itself.
func newModule(img *Image) (*Module, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	if err := img.validate(); err != nil {
		return nil, err
	}
	m := &Module{fd: -1, sites: func() *meta.Module { return img.Meta }}
	if err := m.describe(img.Meta); err != nil {
		return nil, err
	}
	return m, m.link(img)
}

// describe takes over the metadata, which are valid.
func (m *Module) describe(d *meta.Module) error {
	if err := checkCPU(d.CPU, process.cpu); err != nil {
		return err
	}
	m.meta, m.exports = d, make(map[string]uint32, len(d.Exports))
	for i := range d.Exports {
		m.exports[d.Exports[i].Name] = uint32(i)
	}
	m.imported = slices.IndexFunc(d.Funcs, func(f meta.Func) bool { return f.Import == nil })
	m.findRefRoots()
	return nil
}

// layOut places the sections, whose lengths are known, in the linked image.
func (m *Module) layOut() {
	for s := range numSections {
		m.offset[s] = m.size
		m.size = alignUp(m.size+m.length[s], granule)
	}
}

// link lays out the sections and resolves what does not depend on the address.
func (m *Module) link(img *Image) error {
	for s := range numSections {
		m.length[s] = uintptr(img.size(s))
	}
	m.layOut()
	m.linked = make([]byte, m.size)
	for s, b := range [numSections][]byte{img.Text, img.Rodata, img.Data} {
		copy(m.linked[m.offset[s]:], b)
	}
	for i := m.length[Text]; i%pageSize != 0; i++ {
		m.linked[i] = filler // the rest of the last executable page
	}
	for i := range img.Relocs {
		r := &img.Relocs[i]
		if r.IsImport {
			m.importWords = append(m.importWords, importWord{r.Offset, r.Import, r.Addend})
			continue
		}
		if r.Kind == reloc.Abs64 { // validate keeps the target within its section
			m.addresses = append(m.addresses, address{r.Offset, uint32(int64(m.offset[r.In]) + int64(r.TargetOffset) + r.Addend)})
			continue
		}
		at := m.offset[r.Section] + uintptr(r.Offset)
		target := uint64(m.offset[r.In]) + uint64(r.TargetOffset) + uint64(r.Addend)
		if !r.Kind.Apply(m.linked[at:], target, uint64(at)) { // the start of the image will be at a multiple of granule
			return &ImageError{fmt.Sprintf("relocation at %d+%#x: the value does not fit", r.Section, r.Offset)}
		}
	}
	return nil
}

// share moves the linked image to a memfd if the system allows it.
func (m *Module) share() {
	fd, err := memfd(m.size)
	if err != nil {
		return
	}
	for s := range numSections {
		at, n := m.offset[s], alignUp(m.length[s], pageSize)
		if err := writeAt(fd, m.linked[at:at+n], at); err != nil {
			closeFile(fd)
			return
		}
	}
	if !m.tryMap(fd, 0) {
		closeFile(fd)
		return
	}
	m.fd, m.inFile, m.linked = fd, m.offset, nil
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
		copy(bytesAt(to, n), m.linked[m.offset[s]:])
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
	if m.fd >= 0 {
		closeFile(m.fd)
	}
	closeImages(m.images)
	m.linked = nil
}

// funcAt returns the index of the function whose code contains offset of the text.
func (m *Module) funcAt(offset uint32) (uint32, bool) {
	defined := m.meta.Funcs[m.imported:]
	i, found := slices.BinarySearchFunc(defined, offset, func(f meta.Func, o uint32) int { return int(f.Text) - int(o) })
	if !found {
		if i == 0 {
			return 0, false
		}
		i--
	}
	if offset-defined[i].Text >= defined[i].Size {
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

// stackMapAt returns the stack slots with references at the call that returns to offset.
func (m *Module) stackMapAt(offset uint32) []int32 {
	sites := m.sites().StackMaps
	i, found := slices.BinarySearchFunc(sites, offset, func(s abi.StackMap, o uint32) int {
		return int(s.Offset) - int(o)
	})
	if !found {
		return nil
	}
	return sites[i].Slots
}
