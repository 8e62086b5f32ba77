package objfile

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

// relocTypes are the ELF numbers of relocations by kind; 0 is none.
type relocTypes [numRelocKinds]uint32

// machineRelocs is the numbering of each machine.
func machineRelocs(m Machine) (*relocTypes, bool) {
	switch m {
	case X86_64:
		return &x86Relocs, true
	case AArch64:
		return &a64Relocs, true
	}
	return nil, false
}

var (
	// R_X86_64_64, _PC32, _PLT32, _PC64.
	x86Relocs = relocTypes{Abs64: 1, PC32: 2, Call32: 4, PC64: 24}
	// R_AARCH64_ABS64, _PREL32, _PREL64; _CALL26, _JUMP26, _ADR_PREL_PG_HI21, _ADD_ABS_LO12_NC;
	// _LDST8_ABS_LO12_NC and so on.
	a64Relocs = relocTypes{Abs64: 257, PC32: 261, PC64: 260, Call26: 283, Jump26: 282, Page21: 275, AddLo12: 277,
		Ldst8Lo12: 278, Ldst16Lo12: 284, Ldst32Lo12: 285, Ldst64Lo12: 286, Ldst128Lo12: 299}
)
