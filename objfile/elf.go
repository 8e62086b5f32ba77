package objfile

import "github.com/waot-project/waot/internal/reloc"

// The parts of the ELF format that objects use. Names are the format's.
const (
	ehSize   = 64
	shSize   = 64
	symSize  = 24
	relaSize = 24

	etRel = 1

	shtNull     = 0
	shtProgbits = 1
	shtSymtab   = 2
	shtStrtab   = 3
	shtRela     = 4
	shtNote     = 7
	shtNobits   = 8
	shtGroup    = 17
	shtIndices  = 18

	shfWrite    = 1 << 0
	shfAlloc    = 1 << 1
	shfExec     = 1 << 2
	shfInfoLink = 1 << 6
	shfGroup    = 1 << 9
	shfExclude  = 1 << 31

	shnLoReserve = 0xff00
	shnAbs       = 0xfff1
	shnXIndex    = 0xffff

	stbLocal  = 0
	stbGlobal = 1
	stbWeak   = 2

	stvHidden = 2

	grpComdat = 1
)

// symbolTypes are the ELF numbers (STT_…) of SymbolKind.
var symbolTypes = [...]uint8{NoType: 0, Func: 2, Data: 1, SectionSym: 3, FileSym: 4}

// sectionTypes are the ELF numbers of SectionKind.
var sectionTypes = [...]uint32{Progbits: shtProgbits, Nobits: shtNobits, Note: shtNote}

// sectionFlags pairs flags with ELF's.
var sectionFlags = [...]struct {
	flag SectionFlags
	elf  uint64
}{{Alloc, shfAlloc}, {Write, shfWrite}, {Exec, shfExec}, {Exclude, shfExclude}}

// machineRelocs are the kinds of relocation of each machine.
func machineRelocs(m Machine) (*reloc.Types, bool) {
	switch m {
	case X86_64:
		return &reloc.X64, true
	case AArch64:
		return &reloc.A64, true
	}
	return nil, false
}
