package image

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/reloc"
)

// magic begins a file; its end is the version of the form.
const magic = "waotimg3"

// Is reports whether b begins like a file with an image, of whatever version.
func Is(b []byte) bool { return bytes.HasPrefix(b, []byte(magic[:len(magic)-1])) }

// part is a part of the file: bytes from the offset on, which counts from the start of the header.
type part struct{ Offset, Size uint64 }

// header begins the file, as little-endian words. Sections and memories begin at multiples of Page, in the order of their numbers.
type header struct {
	Magic [len(magic)]byte
	// Sum is the CRC-32C of all that follows it. It finds damage, which reading of the parts would not.
	Sum      uint64
	Page     uint64 // of the image
	Sections [NumSections]part
	Address  [NumSections]uint64
	Flags    uint64
	// Memories is a table with an entry for each run of pages of a memory, empty if the init function writes what memories hold.
	Memories part
	// Tables has, for each table, how many functions it holds, and these; it is empty if the init function writes what tables hold.
	Tables part
	// Addresses is a list as .relr.dyn has it, Imports a table.
	Addresses, Imports part
	// Meta, Traps, StackMaps and Calls are the encoded metadata. They are the last parts.
	Meta, Traps, StackMaps, Calls part
}

var headerSize = uint64(binary.Size(header{}))

// flagReady is Image.Ready, in Flags.
const flagReady = 1

// summed is where what the sum is of begins.
const summed = len(magic) + 8

// memoryEntry is an entry of the table of memories: where a run of pages is in the file, and where in which memory. Runs are in order.
type memoryEntry struct {
	Pages       part
	Memory, Low uint64
}

// importEntry is an entry of the table of imports.
type importEntry struct {
	At, Func uint32
	Addend   int64
}

// Append appends the file with an image to dst, which it may not alias.
func Append(dst []byte, img *Image) []byte {
	w := writer{b: dst, start: len(dst), page: img.Page}
	h := header{Magic: [len(magic)]byte([]byte(magic)), Page: img.Page, Address: img.Address}
	w.b = append(w.b, make([]byte, headerSize)...)
	for s := range NumSections {
		w.align()
		h.Sections[s] = w.add(img.Section(s))
	}
	var memories []memoryEntry
	for i, m := range img.Memories {
		for _, r := range m.Runs(img.Page) {
			w.align()
			e := memoryEntry{w.add(make([]byte, r.Size())), uint64(i), r.Low}
			r.CopyTo(w.b[w.start+int(e.Pages.Offset):])
			memories = append(memories, e)
		}
	}
	w.align() // the last page of a section has nothing else
	h.Memories = w.table(memories)
	var tables []uint32
	for _, t := range img.Tables {
		tables = append(append(tables, uint32(len(t))), t...)
	}
	h.Tables = w.table(tables)
	if img.Ready {
		h.Flags |= flagReady
	}
	h.Addresses = w.add(reloc.AppendRelr(nil, img.Addresses))
	imports := make([]importEntry, len(img.Imports))
	for i, x := range img.Imports {
		imports[i] = importEntry(x)
	}
	h.Imports = w.table(imports)
	m := *img.Meta
	m.Digests = nil
	h.Meta = w.add(meta.EncodeMeta(&m))
	sites := meta.EncodeTables(&m)
	h.Traps, h.StackMaps, h.Calls = w.add(sites.Traps), w.add(sites.StackMaps), w.add(sites.Calls)
	file := w.b[w.start:]
	h.put(file)
	h.Sum = sum(file)
	h.put(file)
	return w.b
}

// writer appends the parts of a file.
type writer struct {
	b     []byte
	start int
	page  uint64
}

// align makes the next part begin at a multiple of the page size.
func (w *writer) align() {
	at := uint64(len(w.b) - w.start)
	w.b = append(w.b, make([]byte, alignUp(at, w.page)-at)...)
}

func (w *writer) add(b []byte) part {
	p := part{uint64(len(w.b) - w.start), uint64(len(b))}
	w.b = append(w.b, b...)
	return p
}

// table writes a slice of structs of words.
func (w *writer) table(entries any) part {
	at := len(w.b)
	w.b, _ = binary.Append(w.b, binary.LittleEndian, entries)
	return part{uint64(at - w.start), uint64(len(w.b) - at)}
}

func (h *header) put(file []byte) { binary.Encode(file, binary.LittleEndian, h) }

func sum(file []byte) uint64 {
	return uint64(crc32.Checksum(file[summed:], crc32.MakeTable(crc32.Castagnoli)))
}

// File is an image whose parts lie in the bytes of a file. The tables of Meta are empty: see Sites.
type File struct {
	Image
	// SectionAt are where the sections are in the file, MemoryAt where the pieces of memories are, by memory: multiples of Page. The pieces are runs of pages.
	SectionAt [NumSections]uint64
	MemoryAt  [][]uint64
	tables    meta.Sections
}

// Parse reads a file that Append has made. known is whether the bytes are known to be undamaged: then the time does not depend on the
// size of code and constants, and what addresses refer to is not read. Errors are *Error and those of package meta.
func Parse(b []byte, known bool) (*File, error) {
	var h header
	if uint64(len(b)) < headerSize || !Is(b) {
		return nil, &Error{"no header"}
	}
	binary.Decode(b, binary.LittleEndian, &h) // which is as long as h
	if string(h.Magic[:]) != magic {
		return nil, &Error{"made by another version"}
	}
	if err := h.check(uint64(len(b))); err != nil {
		return nil, err
	}
	b = b[:h.Calls.Offset+h.Calls.Size]
	if !known && h.Sum != sum(b) {
		return nil, &Error{"damaged"}
	}
	in := func(p part) []byte { return b[p.Offset : p.Offset+p.Size : p.Offset+p.Size] }
	f := &File{tables: meta.Sections{Traps: in(h.Traps), StackMaps: in(h.StackMaps), Calls: in(h.Calls)}}
	f.Page = h.Page
	f.Text, f.Rodata, f.Data, f.Address = in(h.Sections[Text]), in(h.Sections[Rodata]), in(h.Sections[Data]), h.Address
	for s := range NumSections {
		f.SectionAt[s] = h.Sections[s].Offset
	}
	var err error
	if f.Meta, err = meta.DecodeUnhashed(in(h.Meta), f.Sizes()); err != nil {
		return nil, err
	}
	if f.Addresses, err = reloc.ReadRelr(in(h.Addresses), uint64(len(f.Data))); err != nil {
		return nil, &Error{err.Error()}
	}
	imports, err := readTable[importEntry](in(h.Imports))
	if err != nil {
		return nil, err
	}
	for _, x := range imports {
		f.Imports = append(f.Imports, ImportWord(x))
	}
	if err := f.readMemories(b, in(h.Memories), &h); err != nil {
		return nil, err
	}
	if h.Flags&^flagReady != 0 {
		return nil, &Error{"unknown flags"}
	}
	f.Ready = h.Flags&flagReady != 0
	if err := f.readTables(in(h.Tables)); err != nil {
		return nil, err
	}
	return f, f.checkParts(known)
}

// check makes sure that the parts are within the file, of that size, and in order.
func (h *header) check(size uint64) error {
	if h.Page == 0 {
		return &Error{"no pages"}
	}
	end := headerSize
	for _, p := range []part{h.Sections[Text], h.Sections[Rodata], h.Sections[Data], h.Memories, h.Tables, h.Addresses, h.Imports, h.Meta, h.Traps, h.StackMaps, h.Calls} {
		if p.Offset < end || p.Offset > size || p.Size > size-p.Offset {
			return &Error{"parts of the file lie outside of it"}
		}
		end = p.Offset + p.Size
	}
	for s := range NumSections {
		if h.Sections[s].Offset%h.Page != 0 {
			return &Error{"section of the file"}
		}
	}
	if h.Memories.Offset%h.Page != 0 {
		return &Error{"tables of the file"}
	}
	return nil
}

func readTable[T any](b []byte) ([]T, error) {
	var entry T
	size := binary.Size(entry)
	if len(b)%size != 0 {
		return nil, &Error{"table of the file"}
	}
	t := make([]T, len(b)/size)
	binary.Decode(b, binary.LittleEndian, t)
	return t, nil
}

// readMemories reads the table of memories. Their pages lie behind the sections and before the tables.
func (f *File) readMemories(b, table []byte, h *header) error {
	entries, err := readTable[memoryEntry](table)
	if err != nil || len(entries) == 0 {
		return err
	}
	f.Memories, f.MemoryAt = make([]Memory, len(f.Meta.Memories)), make([][]uint64, len(f.Meta.Memories))
	end, last := h.Sections[Data].Offset+h.Sections[Data].Size, memoryEntry{}
	for _, e := range entries {
		p := e.Pages
		if p.Offset < end || p.Offset > h.Memories.Offset || p.Size > h.Memories.Offset-p.Offset || p.Size == 0 || (p.Offset|p.Size|e.Low)%h.Page != 0 ||
			e.Memory >= uint64(len(f.Memories)) || e.Memory < last.Memory || e.Memory == last.Memory && e.Low < last.Low+last.Pages.Size {
			return &Error{"memory of the file"}
		}
		end, last = p.Offset+p.Size, e
		f.MemoryAt[e.Memory] = append(f.MemoryAt[e.Memory], p.Offset)
		f.Memories[e.Memory] = append(f.Memories[e.Memory], Piece{e.Low, b[p.Offset:end:end]})
	}
	return nil
}

// readTables reads what tables hold.
func (f *File) readTables(b []byte) error {
	words, err := readTable[uint32](b)
	if err != nil || len(words) == 0 {
		return err
	}
	for len(words) > 0 {
		n := uint64(words[0])
		if n > uint64(len(words)-1) {
			return &Error{"contents of a table"}
		}
		f.Image.Tables = append(f.Image.Tables, words[1:1+n:1+n])
		words = words[1+n:]
	}
	return nil
}

// Sites returns the metadata with the tables of traps, stack maps and calls. Errors are those of package meta.
func (f *File) Sites() (*meta.Module, error) { return f.Meta.ReadTables(f.tables, f.Sizes()) }

// CloneSites returns Sites for when the bytes may have changed.
func (f *File) CloneSites() func() (*meta.Module, error) {
	t, m, sizes := f.tables, f.Meta, f.Sizes()
	t = meta.Sections{Traps: bytes.Clone(t.Traps), StackMaps: bytes.Clone(t.StackMaps), Calls: bytes.Clone(t.Calls)}
	return func() (*meta.Module, error) { return m.ReadTables(t, sizes) }
}
