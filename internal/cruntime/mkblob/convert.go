package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// machines are the machines that objects can be of.
var machines = map[elf.Machine]struct {
	machine objfile.Machine
	relocs  *reloc.Types
}{
	elf.EM_X86_64:  {objfile.X86_64, &reloc.X64},
	elf.EM_AARCH64: {objfile.AArch64, &reloc.A64},
}

// converter makes an object of an ELF file that a C compiler has written.
type converter struct {
	f        *elf.File
	relocs   *reloc.Types
	o        *objfile.Object
	sections []objfile.SectionIndex // by ELF number
	symbols  []objfile.SymbolIndex
}

// convert reads f. It leaves out what programs do not need, and refuses what it does not know.
func convert(f *elf.File) (*objfile.Object, error) {
	m, ok := machines[f.Machine]
	if !ok || f.Type != elf.ET_REL {
		return nil, fmt.Errorf("%v of %v", f.Type, f.Machine)
	}
	c := &converter{f: f, relocs: m.relocs, o: &objfile.Object{Machine: m.machine}}
	for _, step := range []func() error{c.addSections, c.addSymbols, c.addRelocs} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.o, c.o.Validate()
}

func (c *converter) addSections() error {
	for _, s := range c.f.Sections {
		n := objfile.Undefined
		sec := objfile.Section{Name: s.Name, Align: uint32(max(s.Addralign, 1))}
		switch {
		case s.Flags&elf.SHF_ALLOC == 0 && s.Name != ".note.GNU-stack":
			c.sections = append(c.sections, n)
			continue
		case s.Type == elf.SHT_NOBITS:
			sec.Kind, sec.Size = objfile.Nobits, s.Size
		case s.Type == elf.SHT_NOTE:
			sec.Kind = objfile.Note
		}
		for _, x := range []struct {
			elf elf.SectionFlag
			own objfile.SectionFlags
		}{{elf.SHF_ALLOC, objfile.Alloc}, {elf.SHF_WRITE, objfile.Write}, {elf.SHF_EXECINSTR, objfile.Exec}} {
			if s.Flags&x.elf != 0 {
				sec.Flags |= x.own
			}
		}
		if s.Flags&(elf.SHF_TLS|elf.SHF_GROUP|elf.SHF_LINK_ORDER) != 0 {
			return fmt.Errorf("section %s has flags %v", s.Name, s.Flags)
		}
		if sec.Kind != objfile.Nobits {
			data, err := s.Data()
			if err != nil {
				return err
			}
			sec.Data = data
		}
		c.sections = append(c.sections, c.o.AddSection(sec))
	}
	return nil
}

func (c *converter) addSymbols() error {
	symbols, err := c.f.Symbols()
	if err != nil {
		return err
	}
	c.symbols = make([]objfile.SymbolIndex, 1, len(symbols)+1)
	for i, s := range symbols {
		sym := objfile.Symbol{Name: s.Name, Section: objfile.Undefined, Value: s.Value, Size: s.Size,
			Binding: objfile.Binding(elf.ST_BIND(s.Info)), Hidden: elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN}
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FILE:
			sym.Kind = objfile.FileSym
		case elf.STT_FUNC:
			sym.Kind = objfile.Func
		case elf.STT_OBJECT:
			sym.Kind = objfile.Data
		case elf.STT_SECTION:
			sym.Kind = objfile.SectionSym
		}
		if s.Section != elf.SHN_UNDEF && s.Section < elf.SHN_LORESERVE {
			sym.Section = c.sections[s.Section]
		} else if s.Section != elf.SHN_UNDEF && sym.Kind != objfile.FileSym {
			return fmt.Errorf("symbol %d, %s, is in %v", i, s.Name, s.Section)
		}
		if sym.Binding == objfile.Local && sym.Section == objfile.Undefined && sym.Kind != objfile.FileSym {
			c.symbols = append(c.symbols, 0) // of a section that is left out, whose relocations are, too
			continue
		}
		c.symbols = append(c.symbols, c.o.AddSymbol(sym))
	}
	return nil
}

func (c *converter) addRelocs() error {
	const relaSize = 24
	le := binary.LittleEndian
	for _, s := range c.f.Sections {
		if s.Type != elf.SHT_RELA || c.sections[s.Info] == objfile.Undefined {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		to := &c.o.Sections[c.sections[s.Info]]
		for ; len(data) >= relaSize; data = data[relaSize:] {
			info := le.Uint64(data[8:])
			kind, ok := c.relocs.Kind(uint32(info))
			if !ok {
				return fmt.Errorf("relocation of %s+%#x has the unknown type %d (%s)", to.Name, le.Uint64(data), uint32(info), c.o.Symbols[c.symbols[info>>32]].Name)
			}
			to.Relocs = append(to.Relocs, objfile.Reloc{Offset: le.Uint64(data), Kind: kind, Symbol: c.symbols[info>>32], Addend: int64(le.Uint64(data[16:]))})
		}
	}
	return nil
}
