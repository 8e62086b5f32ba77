package objfile

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/internal/reloc"
)

// FormatError is a file that is no object that ReadELF understands.
type FormatError struct {
	Offset uint64 // in the file, of the structure that is wrong
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("objfile: at %#x: %s", e.Offset, e.Reason) }

// elfReader checks each number before it uses it. After the first error, err is set.
type elfReader struct {
	b        []byte
	headers  []elfSection // as in the file
	at       []uint64     // where in the file each header is
	section  []SectionIndex
	symtab   uint32 // number of the symbol table's section, 0 if there is none
	extended uint32 // likewise of SHT_SYMTAB_SHNDX
	symbols  []SymbolIndex
	relocs   *reloc.Types
	o        *Object
}

// ReadELF reads an ELF64 relocatable object, as AppendELF writes it. The sections'
// bytes alias b. Errors are *FormatError. The result is valid. Memory used is proportional to
// len(b).
func ReadELF(b []byte) (*Object, error) {
	r := &elfReader{b: b, o: new(Object)}
	for _, step := range []func() error{r.header, r.names, r.contents, r.readSymbols, r.readRelocs, r.groups} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := r.o.Validate(); err != nil {
		return nil, &FormatError{0, err.Error()}
	}
	return r.o, nil
}

func (r *elfReader) header() error {
	b := r.b
	le := binary.LittleEndian
	bad := func(off uint64, why string) error { return &FormatError{off, why} }
	switch {
	case len(b) < ehSize:
		return bad(0, "too short for an ELF header")
	case string(b[:4]) != "\x7fELF":
		return bad(0, "not an ELF file")
	case b[4] != 2 || b[5] != 1 || b[6] != 1:
		return bad(4, "not ELF64, little-endian, version 1")
	case le.Uint16(b[16:]) != etRel:
		return bad(16, "not a relocatable object")
	case le.Uint16(b[58:]) != shSize:
		return bad(58, "unknown size of section headers")
	}
	r.o.Machine = Machine(le.Uint16(b[18:]))
	relocs, ok := machineRelocs(r.o.Machine)
	if !ok {
		return bad(18, fmt.Sprintf("unknown machine %d", r.o.Machine))
	}
	r.relocs = relocs
	table := le.Uint64(b[40:])
	if table > uint64(len(b)) || uint64(len(b))-table < shSize {
		return bad(40, "section headers are outside of the file")
	}
	count, names := uint64(le.Uint16(b[60:])), uint64(le.Uint16(b[62:]))
	if count == 0 {
		count = le.Uint64(b[table+32:])
	}
	if names == shnXIndex {
		names = uint64(le.Uint32(b[table+40:]))
	}
	if count > (uint64(len(b))-table)/shSize {
		return bad(60, "section headers are outside of the file")
	}
	if names >= count {
		return bad(62, "no section of names")
	}
	r.headers = make([]elfSection, count)
	r.at = make([]uint64, count)
	for i := range r.headers {
		r.at[i] = table + uint64(i)*shSize
		if err := r.sectionHeader(i); err != nil {
			return err
		}
	}
	return r.resolveNames(names)
}

// sectionHeader reads header i and takes hold of the contents.
func (r *elfReader) sectionHeader(i int) error {
	h := r.b[r.at[i]:]
	le := binary.LittleEndian
	s := &r.headers[i]
	s.nameOff, s.typ, s.flags = le.Uint32(h), le.Uint32(h[4:]), le.Uint64(h[8:])
	s.offset, s.size = le.Uint64(h[24:]), le.Uint64(h[32:])
	s.link, s.info = le.Uint32(h[40:]), le.Uint32(h[44:])
	s.align, s.entrySize = le.Uint64(h[48:]), le.Uint64(h[56:])
	if i == 0 || s.typ == shtNull {
		s.typ = shtNull
		return nil
	}
	if s.align&(s.align-1) != 0 || s.align > maxAlign {
		return &FormatError{r.at[i] + 48, "alignment of a section"}
	}
	if s.typ == shtNobits {
		return nil
	}
	if s.offset > uint64(len(r.b)) || s.size > uint64(len(r.b))-s.offset {
		return &FormatError{r.at[i] + 24, "section is outside of the file"}
	}
	s.data = r.b[s.offset : s.offset+s.size : s.offset+s.size]
	return nil
}

// str returns the string at off of the string table tab.
func str(tab []byte, off uint32) (string, bool) {
	if int64(off) >= int64(len(tab)) {
		return "", off == 0
	}
	n := bytes.IndexByte(tab[off:], 0)
	if n < 0 {
		return "", false
	}
	return string(tab[off : int(off)+n]), true
}

func (r *elfReader) resolveNames(n uint64) error {
	tab := r.headers[n].data
	if r.headers[n].typ != shtStrtab {
		return &FormatError{62, "the section of names is no string table"}
	}
	total := 0
	for i := range r.headers {
		s := &r.headers[i]
		if s.typ == shtNull {
			continue
		}
		name, ok := str(tab, s.nameOff)
		// Names may share bytes of the table, so their sum must be bounded.
		if total += len(name); !ok || total > maxNames(len(r.b)) {
			return &FormatError{r.at[i], "name of a section"}
		}
		s.name = name
	}
	return nil
}

// maxNames bounds the sum of the lengths of all names of a file of n bytes.
func maxNames(n int) int { return 16*n + 1<<16 }

// names does what header left: finding the symbol table.
func (r *elfReader) names() error {
	for i := range r.headers {
		switch s := &r.headers[i]; s.typ {
		case shtSymtab:
			if r.symtab != 0 || s.entrySize != symSize || s.size%symSize != 0 || s.size == 0 {
				return &FormatError{r.at[i], "symbol table"}
			}
			r.symtab = uint32(i)
		case shtIndices:
			if r.extended != 0 {
				return &FormatError{r.at[i], "second table of section numbers"}
			}
			r.extended = uint32(i)
		}
	}
	return nil
}

// contents makes sections of the headers that are ones.
func (r *elfReader) contents() error {
	r.section = make([]SectionIndex, len(r.headers))
	for i := range r.headers {
		s := &r.headers[i]
		r.section[i] = Undefined
		kind := SectionKind(0)
		switch s.typ {
		case shtProgbits:
			kind = Progbits
		case shtNobits:
			kind = Nobits
		case shtNote:
			kind = Note
		case shtNull, shtSymtab, shtStrtab, shtRela, shtGroup, shtIndices:
			continue
		default:
			return &FormatError{r.at[i] + 4, fmt.Sprintf("section of unknown type %#x", s.typ)}
		}
		sec := Section{Name: s.name, Kind: kind, Align: uint32(max(s.align, 1)), Data: s.data}
		if kind == Nobits {
			sec.Size = s.size
		}
		rest := s.flags &^ shfGroup
		for _, f := range sectionFlags {
			if rest&f.elf != 0 {
				sec.Flags |= f.flag
				rest &^= f.elf
			}
		}
		if rest != 0 {
			return &FormatError{r.at[i] + 8, fmt.Sprintf("unknown section flags %#x", rest)}
		}
		r.section[i] = r.o.AddSection(sec)
	}
	return nil
}

func (r *elfReader) readSymbols() error {
	if r.symtab == 0 {
		return nil
	}
	tab := &r.headers[r.symtab]
	if int64(tab.link) >= int64(len(r.headers)) || r.headers[tab.link].typ != shtStrtab {
		return &FormatError{r.at[r.symtab] + 40, "the symbol table has no names"}
	}
	strs := r.headers[tab.link].data
	n := len(tab.data) / symSize
	if r.extended != 0 && len(r.headers[r.extended].data) < 4*n {
		return &FormatError{r.at[r.extended], "table of section numbers is too short"}
	}
	r.symbols = make([]SymbolIndex, n)
	total := 0
	for i := 1; i < n; i++ {
		s, err := r.symbol(i, strs)
		if err != nil {
			return err
		}
		if total += len(s.Name); total > maxNames(len(r.b)) {
			return &FormatError{r.at[r.symtab], "names of symbols are too long"}
		}
		r.symbols[i] = r.o.AddSymbol(s)
	}
	return nil
}

// symbol reads entry i of the symbol table.
func (r *elfReader) symbol(i int, strs []byte) (s Symbol, err error) {
	tab := &r.headers[r.symtab]
	b := tab.data[i*symSize:]
	le := binary.LittleEndian
	bad := func(why string) (Symbol, error) {
		return s, &FormatError{tab.offset + uint64(i)*symSize, why}
	}
	name, ok := str(strs, le.Uint32(b))
	if !ok {
		return bad("name of a symbol")
	}
	s = Symbol{Name: name, Section: Undefined, Value: le.Uint64(b[8:]), Size: le.Uint64(b[16:]), Binding: Binding(b[4] >> 4)}
	if s.Binding > Weak {
		return bad("unknown binding of a symbol")
	}
	kind := bytes.IndexByte(symbolTypes[:], b[4]&15)
	if kind < 0 {
		return bad("unknown type of a symbol")
	}
	s.Kind = SymbolKind(kind)
	switch b[5] {
	case 0:
	case stvHidden:
		s.Hidden = true
	default:
		return bad("unknown visibility of a symbol")
	}
	section := uint32(le.Uint16(b[6:]))
	if s.Kind == FileSym {
		if section != shnAbs || s.Binding != Local {
			return bad("file symbol")
		}
		return s, nil
	}
	switch {
	case section == shnXIndex && r.extended != 0:
		section = le.Uint32(r.headers[r.extended].data[4*i:])
	case section >= shnLoReserve:
		return bad("symbol in a special section")
	}
	if section == 0 {
		return s, nil
	}
	if int64(section) >= int64(len(r.section)) || r.section[section] == Undefined {
		return bad("section of a symbol")
	}
	s.Section = r.section[section]
	return s, nil
}

func (r *elfReader) readRelocs() error {
	for i := range r.headers {
		h := &r.headers[i]
		if h.typ != shtRela {
			continue
		}
		if h.entrySize != relaSize || h.size%relaSize != 0 || h.link != r.symtab || r.symtab == 0 {
			return &FormatError{r.at[i], "relocation section"}
		}
		if int64(h.info) >= int64(len(r.section)) || r.section[h.info] == Undefined {
			return &FormatError{r.at[i] + 44, "relocations of no section"}
		}
		s := &r.o.Sections[r.section[h.info]]
		if len(s.Relocs) != 0 {
			return &FormatError{r.at[i], "second relocations of a section"}
		}
		s.Relocs = make([]Reloc, 0, len(h.data)/relaSize)
		for at := 0; at < len(h.data); at += relaSize {
			b := h.data[at:]
			le := binary.LittleEndian
			info := le.Uint64(b[8:])
			kind, ok := r.relocs.Kind(uint32(info))
			sym := info >> 32
			if !ok || sym == 0 || sym >= uint64(len(r.symbols)) {
				return &FormatError{h.offset + uint64(at), "relocation"}
			}
			s.Relocs = append(s.Relocs, Reloc{Offset: le.Uint64(b), Kind: kind, Symbol: r.symbols[sym], Addend: int64(le.Uint64(b[16:]))})
		}
	}
	return nil
}

func (r *elfReader) groups() error {
	for i := range r.headers {
		h := &r.headers[i]
		if h.typ != shtGroup {
			continue
		}
		if h.size < 4 || h.size%4 != 0 || h.link != r.symtab || h.info == 0 || int64(h.info) >= int64(len(r.symbols)) {
			return &FormatError{r.at[i], "section group"}
		}
		le := binary.LittleEndian
		if le.Uint32(h.data) != grpComdat {
			return &FormatError{h.offset, "section group that is not COMDAT"}
		}
		g := Group{Signature: r.symbols[h.info]}
		for at := 4; at < len(h.data); at += 4 {
			n := le.Uint32(h.data[at:])
			if int64(n) >= int64(len(r.headers)) {
				return &FormatError{h.offset + uint64(at), "section of a group"}
			}
			if r.headers[n].typ == shtRela {
				continue
			}
			if r.section[n] == Undefined {
				return &FormatError{h.offset + uint64(at), "section of a group"}
			}
			g.Sections = append(g.Sections, r.section[n])
		}
		r.o.Groups = append(r.o.Groups, g)
	}
	return nil
}
