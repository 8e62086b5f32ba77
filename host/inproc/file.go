package inproc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// This file keeps linked images in files, from which instances map them: loading reads the declarations, and neither
// copies code nor resolves anything. Who opens such a file trusts it like a program, and must know that it is undamaged.
// Only this version of this package, with the same page size, reads it.

// fileMagic begins a file; it names the version of the form.
var fileMagic = [8]byte{'w', 'a', 'o', 't', 'i', 'm', 'g', '1'}

// filePart is a part of the file: bytes from the offset on, which counts from the start of the header.
type filePart struct{ Offset, Size uint64 }

// fileHeader begins the file, as little-endian words. Sections and memories begin at multiples of the page size.
type fileHeader struct {
	Magic    [8]byte
	PageSize uint64
	Sections [numSections]filePart
	// Memories is a table of the parts with what memories hold at first, in order; empty where there are no images.
	Memories filePart
	// Addresses and Imports are tables of the relocations that remain.
	Addresses, Imports filePart
	// Meta, Traps, StackMaps and Calls are the encoded metadata, Meta without data segments. They are the last parts.
	Meta, Traps, StackMaps, Calls filePart
}

// Sizes of the entries of the tables: two words of 4 bytes; those and a word of 8; two words of 8.
const (
	fileAddressSize = 8
	fileImportSize  = 16
	filePartSize    = 16
)

// fileWriter writes the parts of a file one behind the other.
type fileWriter struct {
	to   io.WriterAt
	base int64
	end  uint64
	err  error
}

// align makes the next part begin at a multiple of the page size.
func (w *fileWriter) align() { w.end = uint64(alignUp(uintptr(w.end), pageSize)) }

// add writes a part.
func (w *fileWriter) add(b []byte) filePart {
	p := filePart{w.end, uint64(len(b))}
	w.write(b, p.Offset)
	w.end += p.Size
	return p
}

func (w *fileWriter) write(b []byte, offset uint64) {
	if w.err == nil && len(b) > 0 {
		_, w.err = w.to.WriteAt(b, w.base+int64(offset))
	}
}

// WriteFile links an image and writes it for OpenFile, from the offset at on, a multiple of 64 KiB. What it skips
// must be zero: the file must end there, or before. The errors are those of Load, and those of writing.
func WriteFile(to io.WriterAt, at int64, img *Image) error {
	m, err := newModule(img)
	if err != nil {
		return err
	}
	h := fileHeader{Magic: fileMagic, PageSize: pageSize}
	w := &fileWriter{to: to, base: at, end: uint64(binary.Size(&h))}
	images := memoryImageSizes(m.meta)
	if images != nil {
		m.dropSegments()
	}
	for s := range numSections {
		w.align()
		from, n := m.offset[s], m.length[s]
		if s == Text {
			n = alignUp(n, pageSize) // with the filler
		}
		h.Sections[s] = w.add(m.linked[from : from+n])
		h.Sections[s].Size = uint64(m.length[s])
	}
	var memories []byte
	for n, size := range images {
		w.align()
		memories = binary.LittleEndian.AppendUint64(memories, w.end)
		memories = binary.LittleEndian.AppendUint64(memories, uint64(size))
		for i := range m.meta.Datas {
			if d := &m.meta.Datas[i]; int(d.Memory) == n {
				w.write(img.Rodata[d.Rodata:d.Rodata+d.Len], w.end+uint64(d.Offset))
			}
		}
		w.end += uint64(size)
	}
	w.align() // what follows is mapped too; and the pages before it exist
	h.Memories = w.add(memories)
	h.Addresses = w.add(m.encodeAddresses())
	h.Imports = w.add(m.encodeImports())
	declared := *m.meta
	declared.Datas, declared.Digests = nil, nil
	h.Meta = w.add(meta.EncodeMeta(&declared))
	tables := meta.EncodeTables(m.meta)
	h.Traps, h.StackMaps, h.Calls = w.add(tables.Traps), w.add(tables.StackMaps), w.add(tables.Calls)
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, &h) // to a Buffer, which takes all
	w.write(b.Bytes(), 0)
	return w.err
}

// dropSegments makes the instance data such as it is once the images are mapped: the static data segments are
// dropped, so that their addresses are not needed.
func (m *Module) dropSegments() {
	dropped := make(map[uint32]bool, len(m.meta.Datas))
	data := m.linked[m.offset[Data]:]
	for i := range m.meta.Datas {
		pair := m.meta.Datas[i].Pair
		dropped[pair] = true
		binary.LittleEndian.PutUint64(data[pair+abi.SegmentLength:], 0)
	}
	kept := m.addresses[:0]
	for _, w := range m.addresses {
		if !dropped[w.at] {
			kept = append(kept, w)
		}
	}
	m.addresses = kept
}

func (m *Module) encodeAddresses() []byte {
	b := make([]byte, 0, fileAddressSize*len(m.addresses))
	for _, w := range m.addresses {
		b = binary.LittleEndian.AppendUint32(b, w.at)
		b = binary.LittleEndian.AppendUint32(b, w.target)
	}
	return b
}

func (m *Module) encodeImports() []byte {
	var b []byte
	for _, w := range m.importWords {
		b = binary.LittleEndian.AppendUint32(b, w.at)
		b = binary.LittleEndian.AppendUint32(b, w.n)
		b = binary.LittleEndian.AppendUint64(b, uint64(w.addend))
	}
	return b
}

// OpenFile returns the module that WriteFile has written from the offset at on. The file may be closed afterwards, but its bytes must stay:
// instances map them. The errors are *ImageError, *CPUError, *SystemError, ErrUnsupported, and those of package meta.
func OpenFile(f *os.File, at int64) (*Module, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	var h fileHeader
	head := make([]byte, binary.Size(&h))
	if _, err := f.ReadAt(head, at); err != nil {
		return nil, &ImageError{"no header"}
	}
	binary.Read(bytes.NewReader(head), binary.LittleEndian, &h) // which is as long as h
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := h.check(st.Size() - at); err != nil {
		return nil, err
	}
	m := &Module{}
	if m.fd, err = dupFile(f.Fd()); err != nil {
		return nil, err
	}
	if err := m.open(&h, uintptr(at)); err != nil {
		if m.fd >= 0 {
			closeFile(m.fd)
		}
		closeImages(m.images)
		return nil, err
	}
	return m, nil
}

// check makes sure that the parts are within the file, which has size bytes from the header on, and in order.
func (h *fileHeader) check(size int64) error {
	if h.Magic != fileMagic || h.PageSize != pageSize {
		return &ImageError{"the file was written by another version"}
	}
	end := uint64(binary.Size(h))
	for _, p := range []filePart{h.Sections[Text], h.Sections[Rodata], h.Sections[Data], h.Memories, h.Addresses, h.Imports, h.Meta, h.Traps, h.StackMaps, h.Calls} {
		if p.Offset < end || p.Offset > uint64(size) || p.Size > uint64(size)-p.Offset {
			return &ImageError{"parts of the file lie outside of it"}
		}
		end = p.Offset + p.Size
	}
	for s := range numSections {
		if p := h.Sections[s]; p.Offset%pageSize != 0 || p.Size > abi.MaxSectionBytes {
			return &ImageError{"section of the file"}
		}
	}
	if h.Memories.Offset%pageSize != 0 {
		return &ImageError{"tables of the file"}
	}
	return nil
}

// open reads what loading needs.
func (m *Module) open(h *fileHeader, at uintptr) error {
	low := h.Memories.Offset
	tables, err := mapFile(m.fd, at+uintptr(low), uintptr(h.Calls.Offset+h.Calls.Size-low))
	if err != nil {
		return err
	}
	// Instances keep the module, which may be closed: the tables stay as long as it is there.
	runtime.AddCleanup(m, func(b []byte) { munmap(addressOf(b), uintptr(len(b))) }, tables)
	part := func(p filePart) []byte { return tables[p.Offset-low:][:p.Size] }
	for s := range numSections {
		m.length[s], m.inFile[s] = uintptr(h.Sections[s].Size), at+uintptr(h.Sections[s].Offset)
	}
	m.layOut()
	sizes := meta.Sizes{Text: uint64(m.length[Text]), Rodata: uint64(m.length[Rodata]), Data: uint64(m.length[Data])}
	d, err := meta.DecodeUnhashed(part(h.Meta), sizes)
	if err != nil {
		return err
	}
	if d.Arch != machine {
		return &ImageError{fmt.Sprintf("code for %q", d.Arch)}
	}
	if err := m.describe(d); err != nil {
		return err
	}
	s := meta.Sections{Traps: part(h.Traps), StackMaps: part(h.StackMaps), Calls: part(h.Calls)}
	m.sites = sync.OnceValue(func() *meta.Module {
		defer runtime.KeepAlive(m)
		full, err := d.ReadTables(s, sizes)
		if err != nil {
			fatal(fmt.Sprintf("a file with a compiled module was changed: %v\n", err))
		}
		return full
	})
	if err := m.readWords(part(h.Addresses), part(h.Imports)); err != nil {
		return err
	}
	if err := m.openImages(part(h.Memories), h, at); err != nil {
		return err
	}
	if !m.tryMap(m.fd, m.inFile[Text]) { // programs may not be started from there
		return m.readFile()
	}
	return nil
}

// openImages takes the images of memories from the file.
func (m *Module) openImages(table []byte, h *fileHeader, at uintptr) error {
	if len(table) == 0 {
		return nil
	}
	if len(table) != filePartSize*len(m.meta.Memories) {
		return &ImageError{"memories of the file"}
	}
	m.images = make([]memoryImage, len(m.meta.Memories))
	for i := range m.images {
		m.images[i].fd = -1
	}
	for i := range m.images {
		p := filePart{binary.LittleEndian.Uint64(table[filePartSize*i:]), binary.LittleEndian.Uint64(table[filePartSize*i+8:])}
		first := min(m.meta.Memories[i].Min, abi.MaxMemoryPages) * abi.PageSize
		if p.Offset%pageSize != 0 || p.Size%pageSize != 0 || p.Offset > h.Memories.Offset || p.Size > min(h.Memories.Offset-p.Offset, first) {
			return &ImageError{"memory of the file"}
		}
		if p.Size == 0 {
			continue
		}
		fd, err := dupFile(uintptr(m.fd))
		if err != nil {
			return err
		}
		m.images[i] = memoryImage{fd, at + uintptr(p.Offset), uintptr(p.Size)}
	}
	return nil
}

// readWords reads the tables of relocations.
func (m *Module) readWords(addresses, imports []byte) error {
	if len(addresses)%fileAddressSize+len(imports)%fileImportSize != 0 {
		return &ImageError{"relocations of the file"}
	}
	wrong := func(at uint32) bool { return at%8 != 0 || uintptr(at)+8 > m.length[Data] }
	m.addresses = make([]address, 0, len(addresses)/fileAddressSize)
	for ; len(addresses) > 0; addresses = addresses[fileAddressSize:] {
		w := address{binary.LittleEndian.Uint32(addresses), binary.LittleEndian.Uint32(addresses[4:])}
		if wrong(w.at) || uintptr(w.target) > m.size {
			return &ImageError{"relocation of the file"}
		}
		m.addresses = append(m.addresses, w)
	}
	for ; len(imports) > 0; imports = imports[fileImportSize:] {
		w := importWord{binary.LittleEndian.Uint32(imports), binary.LittleEndian.Uint32(imports[4:]), int64(binary.LittleEndian.Uint64(imports[8:]))}
		if wrong(w.at) || int64(w.n) >= int64(m.imported) {
			return &ImageError{"relocation of the file"}
		}
		m.importWords = append(m.importWords, w)
	}
	return nil
}

// readFile copies the image out of the file.
func (m *Module) readFile() error {
	m.linked = make([]byte, m.size)
	for s := range numSections {
		if m.length[s] == 0 {
			continue
		}
		n := m.length[s]
		if s == Text {
			n = alignUp(n, pageSize) // with the filler
		}
		b, err := mapFile(m.fd, m.inFile[s], n)
		if err != nil {
			return err
		}
		copy(m.linked[m.offset[s]:], b)
		munmap(addressOf(b), uintptr(len(b)))
	}
	closeFile(m.fd)
	m.fd = -1
	m.share()
	return nil
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
