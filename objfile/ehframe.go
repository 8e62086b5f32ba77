package objfile

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/reloc"
)

// Unwind says how a function's frame is found.
type Unwind uint8

// The shapes of frames.
const (
	// UnwindNone: the stack pointer is as at the entry throughout, and so is where the return address is.
	UnwindNone Unwind = iota
	// UnwindFP: the function begins with push rbp; mov rbp, rsp, or with stp x29, x30, [sp, #-16]!; mov x29, sp.
	UnwindFP
)

// Frame is the unwind information of one function.
type Frame struct {
	Symbol       SymbolIndex // of the section, or the function
	Addend       int64
	Size         uint32
	Unwind       Unwind
	PrologueSkip uint32 // bytes in front of that, below 32, such as bti c
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

	dwRBP = 6
	dwRSP = 7
	dwRIP = 16

	dwX29 = 29
	dwX30 = 30
	dwSP  = 31
)

// ehMachine is what call frame information of a machine has of its own.
type ehMachine struct {
	codeAlign, returnAddress uint8
	// entry holds at the entry, pushed once the first instruction of a prologue has run, framed after the second.
	entry, pushed, framed []byte
	// first and second are the lengths of these instructions, in units of codeAlign.
	first, second uint8
}

// Offsets of saved registers are in units of the data alignment, -8, from the frame address.
var (
	ehX64 = ehMachine{codeAlign: 1, returnAddress: dwRIP, first: 1, second: 3,
		entry:  []byte{cfaDef, dwRSP, 8, cfaOffset | dwRIP, 1},
		pushed: []byte{cfaDefOffset, 16, cfaOffset | dwRBP, 2},
		framed: []byte{cfaDefReg, dwRBP}}
	ehA64 = ehMachine{codeAlign: 4, returnAddress: dwX30, first: 1, second: 1,
		entry:  []byte{cfaDef, dwSP, 0},
		pushed: []byte{cfaDefOffset, 16, cfaOffset | dwX29, 2, cfaOffset | dwX30, 1},
		framed: []byte{cfaDefReg, dwX29}}
)

// EHFrame is the section .eh_frame of functions of machine m, X86_64 or AArch64.
func EHFrame(m Machine, frames []Frame) Section {
	eh := &ehX64
	if m == AArch64 {
		eh = &ehA64
	}
	s := Section{Name: ".eh_frame", Flags: Alloc, Align: 8}
	b := make([]byte, 0, 24+32*len(frames))
	// The CIE: version 1, augmentation "zR", data alignment -8.
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, 0, 0, 0, 0, 1, 'z', 'R', 0, eh.codeAlign, 0x78, eh.returnAddress, 1, dwPCRel4)
	b = append(b, eh.entry...)
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
		if f.Unwind == UnwindFP {
			b = append(b, cfaAdvance1, uint8(f.PrologueSkip)/eh.codeAlign+eh.first)
			b = append(b, eh.pushed...)
			b = append(b, cfaAdvance|eh.second)
			b = append(b, eh.framed...)
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
