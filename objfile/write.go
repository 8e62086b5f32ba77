package objfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/waot-project/waot/internal/reloc"
)

// elfSection is a section header with its contents.
type elfSection struct {
	name             string
	nameOff          uint32
	typ              uint32
	flags            uint64
	offset, size     uint64
	link, info       uint32
	align, entrySize uint64
	data             []byte
}

// elfWriter lays out one file.
type elfWriter struct {
	o        *Object
	relocs   *reloc.Types
	sections []elfSection
	number   []uint32 // ELF section number of each section
	symbol   []uint32 // ELF symbol number of each symbol
	locals   uint32   // number of local symbols, the null symbol included
	grouped  []bool   // by section: in a group
}

// File is an object laid out as an ELF64 relocatable file. Its contents are the object's own, so it is written without being
// built in memory.
type File struct {
	head, table []byte       // the header, and the section headers, which come last
	sections    []elfSection // offsets and contents
	size        uint64
	o           *Object
}

// ELF returns o as a file. Errors are *Error.
func (o *Object) ELF() (*File, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	relocs, ok := machineRelocs(o.Machine)
	if !ok {
		return nil, &Error{Reason: fmt.Sprintf("machine %d is not supported", o.Machine)}
	}
	w := &elfWriter{o: o, relocs: relocs}
	w.orderSymbols()
	w.numberSections()
	if err := w.addContents(); err != nil {
		return nil, err
	}
	w.addSymbols()
	return w.file(), nil
}

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return int64(f.size) }

// WriteTo writes the file. Errors are out's.
func (f *File) WriteTo(out io.Writer) (int64, error) {
	n := uint64(0)
	// write writes b at the given offset, behind what has been written.
	write := func(offset uint64, b []byte) error {
		for _, part := range [2][]byte{make([]byte, offset-n), b} {
			if len(part) == 0 {
				continue
			}
			k, err := out.Write(part)
			n += uint64(k)
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := write(0, f.head)
	for i := 1; i < len(f.sections) && err == nil; i++ {
		f.o.Stop.Poll()
		err = write(f.sections[i].offset, f.sections[i].data)
	}
	if err == nil {
		err = write(f.size-uint64(len(f.table)), f.table)
	}
	return int64(n), err
}

// AppendELF appends o as an ELF64 relocatable object to dst. Errors are *Error.
func (o *Object) AppendELF(dst []byte) ([]byte, error) {
	f, err := o.ELF()
	if err != nil {
		return nil, err
	}
	out := appender(slices.Grow(dst, int(f.size)))
	f.WriteTo(&out) // which takes all
	return out, nil
}

// appender is a Writer that appends.
type appender []byte

func (a *appender) Write(b []byte) (int, error) {
	*a = append(*a, b...)
	return len(b), nil
}

// WriteELF writes o as an ELF64 relocatable object. Errors are *Error, or out's.
func (o *Object) WriteELF(out io.Writer) error {
	f, err := o.ELF()
	if err != nil {
		return err
	}
	_, err = f.WriteTo(out)
	return err
}

// orderSymbols numbers the symbols: ELF wants local ones first.
func (w *elfWriter) orderSymbols() {
	w.symbol = make([]uint32, len(w.o.Symbols))
	n := uint32(1)
	for pass := range 2 {
		for i := range w.o.Symbols {
			w.o.Stop.Poll()
			if (w.o.Symbols[i].Binding == Local) == (pass == 0) {
				w.symbol[i] = n
				n++
			}
		}
		if pass == 0 {
			w.locals = n
		}
	}
}

// numberSections decides on section numbers: null, groups, then each section, directly
// followed by its relocations.
func (w *elfWriter) numberSections() {
	n := uint32(1 + len(w.o.Groups))
	w.number = make([]uint32, len(w.o.Sections))
	for i := range w.o.Sections {
		w.number[i] = n
		n++
		if len(w.o.Sections[i].Relocs) > 0 {
			n++
		}
	}
	w.grouped = make([]bool, len(w.o.Sections))
	for i := range w.o.Groups {
		for _, s := range w.o.Groups[i].Sections {
			w.grouped[s] = true
		}
	}
	w.sections = make([]elfSection, 1, n+4)
}

// symtabNumber returns the section number of the symbol table, which comes right after the
// last section.
func (w *elfWriter) symtabNumber() uint32 {
	n := uint32(1 + len(w.o.Groups) + len(w.o.Sections))
	for i := range w.o.Sections {
		if len(w.o.Sections[i].Relocs) > 0 {
			n++
		}
	}
	return n
}

func (w *elfWriter) addContents() error {
	symtab := w.symtabNumber()
	for i := range w.o.Groups {
		g := &w.o.Groups[i]
		data := binary.LittleEndian.AppendUint32(nil, grpComdat)
		for _, s := range g.Sections {
			data = binary.LittleEndian.AppendUint32(data, w.number[s])
			if len(w.o.Sections[s].Relocs) > 0 {
				data = binary.LittleEndian.AppendUint32(data, w.number[s]+1)
			}
		}
		w.sections = append(w.sections, elfSection{name: ".group", typ: shtGroup, link: symtab,
			info: w.symbol[g.Signature], align: 4, entrySize: 4, size: uint64(len(data)), data: data})
	}
	for i := range w.o.Sections {
		s := &w.o.Sections[i]
		e := elfSection{name: s.Name, typ: sectionTypes[s.Kind], align: uint64(max(s.Align, 1)), size: s.Bytes(), data: s.Data}
		for _, f := range sectionFlags {
			if s.Flags&f.flag != 0 {
				e.flags |= f.elf
			}
		}
		if w.grouped[i] {
			e.flags |= shfGroup
		}
		w.sections = append(w.sections, e)
		if len(s.Relocs) == 0 {
			continue
		}
		rela, err := w.rela(s)
		if err != nil {
			return err
		}
		r := elfSection{name: ".rela" + s.Name, typ: shtRela, flags: shfInfoLink | e.flags&shfGroup, link: symtab,
			info: w.number[i], align: 8, entrySize: relaSize, size: uint64(len(rela)), data: rela}
		w.sections = append(w.sections, r)
	}
	return nil
}

func (w *elfWriter) rela(s *Section) ([]byte, error) {
	b := make([]byte, 0, relaSize*len(s.Relocs))
	for i := range s.Relocs {
		w.o.Stop.Poll()
		r := &s.Relocs[i]
		typ := w.relocs[r.Kind]
		if typ == 0 {
			return nil, &Error{Section: s.Name, Reason: fmt.Sprintf("relocation at %#x: kind %d does not exist on this machine", r.Offset, r.Kind)}
		}
		b = binary.LittleEndian.AppendUint64(b, r.Offset)
		b = binary.LittleEndian.AppendUint64(b, uint64(w.symbol[r.Symbol])<<32|uint64(typ))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Addend))
	}
	return b, nil
}

// addSymbols adds the symbol table, its extension where section numbers need one, and
// the string tables.
func (w *elfWriter) addSymbols() {
	n := len(w.o.Symbols) + 1
	tab := make([]byte, symSize*n)
	extended := make([]byte, 4*n)
	useExtended := false
	strs := newStringTable(n)
	order := make([]int, n) // by ELF number, so that an object that is read and written again does not change
	for i, at := range w.symbol {
		order[at] = i
	}
	for at := 1; at < n; at++ {
		w.o.Stop.Poll()
		s := &w.o.Symbols[order[at]]
		b := tab[symSize*at:]
		binary.LittleEndian.PutUint32(b, strs.add(s.Name))
		b[4] = uint8(s.Binding)<<4 | symbolTypes[s.Kind]
		if s.Hidden {
			b[5] = stvHidden
		}
		section := uint16(0)
		switch {
		case s.Kind == FileSym:
			section = shnAbs
		case s.Section == Undefined:
		case w.number[s.Section] >= shnLoReserve:
			section, useExtended = shnXIndex, true
			binary.LittleEndian.PutUint32(extended[4*at:], w.number[s.Section])
		default:
			section = uint16(w.number[s.Section])
		}
		binary.LittleEndian.PutUint16(b[6:], section)
		binary.LittleEndian.PutUint64(b[8:], s.Value)
		binary.LittleEndian.PutUint64(b[16:], s.Size)
	}
	symtab := uint32(len(w.sections))
	strtab := symtab + 1
	if useExtended {
		strtab++
	}
	w.sections = append(w.sections, elfSection{name: ".symtab", typ: shtSymtab, link: strtab, info: w.locals, align: 8,
		entrySize: symSize, size: uint64(len(tab)), data: tab})
	if useExtended {
		w.sections = append(w.sections, elfSection{name: ".symtab_shndx", typ: shtIndices, link: symtab, align: 4,
			entrySize: 4, size: uint64(len(extended)), data: extended})
	}
	w.sections = append(w.sections, elfSection{name: ".strtab", typ: shtStrtab, align: 1, size: uint64(len(strs.data)), data: strs.data})
	names := newStringTable(len(w.sections))
	w.sections = append(w.sections, elfSection{name: ".shstrtab", typ: shtStrtab, align: 1})
	for i := range w.sections {
		w.sections[i].nameOff = names.add(w.sections[i].name)
	}
	last := &w.sections[len(w.sections)-1]
	last.data, last.size = names.data, uint64(len(names.data))
}

// stringTable collects strings, each once.
type stringTable struct {
	data []byte
	off  map[string]uint32
}

func newStringTable(n int) *stringTable {
	return &stringTable{data: []byte{0}, off: make(map[string]uint32, n)}
}

func (t *stringTable) add(s string) uint32 {
	if s == "" {
		return 0
	}
	off, ok := t.off[s]
	if !ok {
		off = uint32(len(t.data))
		t.off[s] = off
		t.data = append(append(t.data, s...), 0)
	}
	return off
}

// file lays the sections out, and makes header and section headers.
func (w *elfWriter) file() *File {
	at := uint64(ehSize)
	for i := 1; i < len(w.sections); i++ {
		s := &w.sections[i]
		at = (at + s.align - 1) &^ (s.align - 1)
		s.offset = at
		at += uint64(len(s.data))
	}
	at = (at + 7) &^ 7
	count := uint64(len(w.sections))
	f := &File{head: make([]byte, ehSize), table: make([]byte, count*shSize), sections: w.sections, size: at + count*shSize, o: w.o}
	b, le := f.head, binary.LittleEndian
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], etRel)
	le.PutUint16(b[18:], uint16(w.o.Machine))
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[40:], at)
	le.PutUint16(b[52:], ehSize)
	le.PutUint16(b[58:], shSize)
	// Numbers that do not fit into the header are in section header 0.
	shnum, shstr := uint16(count), uint16(count-1)
	if count >= shnLoReserve {
		shnum = 0
		w.sections[0].size = count
	}
	if count-1 >= shnLoReserve {
		shstr = shnXIndex
		w.sections[0].link = uint32(count - 1)
	}
	le.PutUint16(b[60:], shnum)
	le.PutUint16(b[62:], shstr)
	for i := range w.sections {
		w.o.Stop.Poll()
		s := &w.sections[i]
		h := f.table[uint64(i)*shSize:]
		le.PutUint32(h, s.nameOff)
		le.PutUint32(h[4:], s.typ)
		le.PutUint64(h[8:], s.flags)
		le.PutUint64(h[24:], s.offset)
		le.PutUint64(h[32:], s.size)
		le.PutUint32(h[40:], s.link)
		le.PutUint32(h[44:], s.info)
		le.PutUint64(h[48:], s.align)
		le.PutUint64(h[56:], s.entrySize)
	}
	return f
}
