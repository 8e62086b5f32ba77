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
	// relocs are those that depend on the address or the store: absolute ones.
	relocs []Reloc
	// offsets of the sections in the linked image, multiples of granule; sizes of
	// their contents; size of the whole.
	offset, length [numSections]uintptr
	size           uintptr
	// fd is a memfd with the linked image, or -1: then linked is its bytes.
	fd     int
	linked []byte
	closed atomic.Bool

	// images are those of the memories, or nil; without a file for those that have none.
	images []memoryImage

	// imported is the number of imported functions; the others are in the order of their code.
	imported int
	refs     refRoots
	exports  map[string]uint32
}

// Load checks and links an image. The errors are *ImageError, *CPUError,
// *SystemError and ErrUnsupported.
func Load(img *Image) (*Module, error) { return load(img, true) }

// load is Load; share says whether a memfd may be used.
func load(img *Image, share bool) (*Module, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	if err := img.validate(); err != nil {
		return nil, err
	}
	if err := checkCPU(img.Meta.CPU, process.cpu); err != nil {
		return nil, err
	}
	m := &Module{meta: img.Meta, fd: -1, exports: make(map[string]uint32, len(img.Meta.Exports))}
	for i := range img.Meta.Exports {
		m.exports[img.Meta.Exports[i].Name] = uint32(i)
	}
	m.imported = slices.IndexFunc(img.Meta.Funcs, func(f meta.Func) bool { return f.Import == nil })
	m.findRefRoots()
	if err := m.link(img); err != nil {
		return nil, err
	}
	if share {
		m.share()
		m.makeMemoryImages(img.Rodata)
	}
	return m, nil
}

// link lays out the sections and resolves what does not depend on the address.
func (m *Module) link(img *Image) error {
	for s, b := range [numSections][]byte{img.Text, img.Rodata, img.Data} {
		m.offset[s], m.length[s] = m.size, uintptr(len(b))
		m.size = alignUp(m.size+uintptr(len(b)), granule)
	}
	m.linked = make([]byte, m.size)
	for s, b := range [numSections][]byte{img.Text, img.Rodata, img.Data} {
		copy(m.linked[m.offset[s]:], b)
	}
	for i := m.length[Text]; i%pageSize != 0; i++ {
		m.linked[i] = filler // the rest of the last executable page
	}
	for i := range img.Relocs {
		r := &img.Relocs[i]
		if r.Kind == reloc.Abs64 {
			m.relocs = append(m.relocs, *r)
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
	if !m.tryMap(fd) {
		closeFile(fd)
		return
	}
	m.fd, m.linked = fd, nil
}

// tryMap finds out whether the system lets the file be mapped executable.
func (m *Module) tryMap(fd int) bool {
	at, err := process.allocCode(granule)
	if err != nil {
		return false
	}
	defer process.freeCode(at, granule)
	return placeFile(at, pageSize, process.protText, true, fd, 0) == nil
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
			if err := placeFile(to, n, prots[s], s != Data, m.fd, m.offset[s]); err != nil {
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
	i, found := slices.BinarySearchFunc(m.meta.Traps, offset, func(t abi.TrapSite, o uint32) int {
		return int(t.Offset) - int(o)
	})
	if !found {
		return nil
	}
	return &m.meta.Traps[i]
}

// callAt returns the place in the Wasm module of the call that returns to offset.
func (m *Module) callAt(offset uint32) uint32 {
	i, found := slices.BinarySearchFunc(m.meta.Calls, offset, func(c abi.CallSite, o uint32) int {
		return int(c.Offset) - int(o)
	})
	if !found {
		return 0
	}
	return m.meta.Calls[i].Src
}

// stackMapAt returns the stack slots with references at the call that returns to offset.
func (m *Module) stackMapAt(offset uint32) []int32 {
	i, found := slices.BinarySearchFunc(m.meta.StackMaps, offset, func(s abi.StackMap, o uint32) int {
		return int(s.Offset) - int(o)
	})
	if !found {
		return nil
	}
	return m.meta.StackMaps[i].Slots
}
