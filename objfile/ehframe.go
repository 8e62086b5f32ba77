package objfile

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
)

// Frame is the unwind information of one function.
type Frame struct {
	Symbol SymbolIndex // of the section, or the function
	Addend int64
	Size   uint32
	// HasFrame says that the instructions of the machine's call frame information are at the offset Prologue, less than 128 bytes
	// from the entry. Without a frame the rules of the entry hold throughout.
	HasFrame bool
	Prologue uint32
}

// The parts of DWARF's call frame information that frames need.
const (
	cfaAdvance1  = 0x02 // DW_CFA_advance_loc1
	cfaDefReg    = 0x0d // DW_CFA_def_cfa_register
	cfaDefOffset = 0x0e // DW_CFA_def_cfa_offset
	cfaDef       = 0x0c // DW_CFA_def_cfa
	cfaOffset    = 0x80 // DW_CFA_offset, or'ed with the register
	cfaAdvance   = 0x40 // DW_CFA_advance_loc, or'ed with the distance
	dwPCRel4     = 0x1b // DW_EH_PE_pcrel | DW_EH_PE_sdata4

	// dataAlign is the unit of where registers are saved; dataAlignSLEB is its encoding.
	dataAlign     = -8
	dataAlignSLEB = 0x78
)

// appendRules encodes rules. All numbers have one byte as LEB128.
func appendRules(b []byte, rules []abi.CFIRule) []byte {
	for _, r := range rules {
		switch r.Kind {
		case abi.CFAIs:
			b = append(b, cfaDef, r.Reg, uint8(r.Offset))
		case abi.CFAOffset:
			b = append(b, cfaDefOffset, uint8(r.Offset))
		case abi.CFARegister:
			b = append(b, cfaDefReg, r.Reg)
		case abi.SavedAt:
			b = append(b, cfaOffset|r.Reg, uint8(r.Offset/dataAlign))
		}
	}
	return b
}

// appendSteps encodes what changes from the prologue on.
func appendSteps(b []byte, info *abi.CFI, prologue uint32) []byte {
	for i, s := range info.Steps {
		if i == 0 {
			b = append(b, cfaAdvance1, (uint8(prologue)+s.Bytes)/info.CodeAlign)
		} else {
			b = append(b, cfaAdvance|s.Bytes/info.CodeAlign)
		}
		b = appendRules(b, s.Rules)
	}
	return b
}

// EHFrame returns the section .eh_frame of functions of a machine.
func EHFrame(info *abi.CFI, frames []Frame) Section {
	s := Section{Name: ".eh_frame", Flags: Alloc, Align: 8}
	b := make([]byte, 0, 24+32*len(frames))
	// The CIE: version 1, augmentation "zR", data alignment -8.
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, 0, 0, 0, 0, 1, 'z', 'R', 0, info.CodeAlign, dataAlignSLEB, info.ReturnAddress, 1, dwPCRel4)
	b = appendRules(b, info.Entry)
	b = padEntry(b, 0)
	for i := range frames {
		f := &frames[i]
		start := len(b)
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(start+4)) // back to the CIE at 0
		s.Relocs = append(s.Relocs, Reloc{Offset: uint64(len(b)), Kind: reloc.PC32, Symbol: f.Symbol, Addend: f.Addend})
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, f.Size)
		b = append(b, 0) // no augmentation data
		if f.HasFrame {
			b = appendSteps(b, info, f.Prologue)
		}
		b = padEntry(b, start)
	}
	s.Data = b
	return s
}

// padEntry pads the entry that begins at start with DW_CFA_nop and sets its
// length.
func padEntry(b []byte, start int) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
