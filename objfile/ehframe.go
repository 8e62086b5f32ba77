package objfile

import (
	"encoding/binary"
	"math"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
)

// Frame is the unwind information of one function.
type Frame struct {
	Symbol SymbolIndex // of the section, or the function
	Addend int64
	Size   uint32
	// HasFrame says that the instructions of the machine's call frame information are at the offset Prologue. Without a frame
	// the rules of the entry hold throughout.
	HasFrame bool
	Prologue uint32
	// Saved are the rules of the registers that the function saves. Changes are in its code, behind the prologue and in order; at first the
	// registers are kept.
	Saved   []abi.CFIRule
	Changes []abi.CFIChange
}

// The parts of DWARF's call frame information that frames need.
const (
	cfaAdvance1       = 0x02 // DW_CFA_advance_loc1
	cfaAdvance2       = 0x03 // DW_CFA_advance_loc2
	cfaAdvance4       = 0x04 // DW_CFA_advance_loc4
	cfaOffsetExtended = 0x05 // DW_CFA_offset_extended
	cfaRestoreExt     = 0x06 // DW_CFA_restore_extended
	cfaRemember       = 0x0a // DW_CFA_remember_state
	cfaRestoreState   = 0x0b // DW_CFA_restore_state
	cfaDef            = 0x0c // DW_CFA_def_cfa
	cfaDefReg         = 0x0d // DW_CFA_def_cfa_register
	cfaDefOffset      = 0x0e // DW_CFA_def_cfa_offset
	cfaDefSF          = 0x12 // DW_CFA_def_cfa_sf
	cfaAdvance        = 0x40 // DW_CFA_advance_loc, or'ed with the distance
	cfaOffset         = 0x80 // DW_CFA_offset, or'ed with the register
	cfaRestore        = 0xc0 // DW_CFA_restore, or'ed with the register
	maxShort          = 0x3f // the greatest operand that is or'ed
	dwPCRel4          = 0x1b // DW_EH_PE_pcrel | DW_EH_PE_sdata4

	// dataAlign is the unit of where registers are saved; dataAlignSLEB is its encoding.
	dataAlign     = -8
	dataAlignSLEB = 0x78
)

// appendRules encodes rules.
func appendRules(b []byte, rules []abi.CFIRule) []byte {
	for _, r := range rules {
		offset := uint64(r.Offset)
		switch r.Kind {
		case abi.CFAIs:
			b = binary.AppendUvarint(append(b, cfaDef, r.Reg), offset)
		case abi.CFAOffset:
			b = binary.AppendUvarint(append(b, cfaDefOffset), offset)
		case abi.CFARegister:
			b = append(b, cfaDefReg, r.Reg)
		case abi.SavedAt:
			if r.Reg <= maxShort {
				b = append(b, cfaOffset|r.Reg)
			} else {
				b = append(b, cfaOffsetExtended, r.Reg)
			}
			b = binary.AppendUvarint(b, uint64(r.Offset/dataAlign))
		}
	}
	return b
}

// appendRestores encodes that the registers of rules hold again what they did at the entry.
func appendRestores(b []byte, rules []abi.CFIRule) []byte {
	for _, r := range rules {
		switch {
		case r.Kind != abi.SavedAt:
		case r.Reg <= maxShort:
			b = append(b, cfaRestore|r.Reg)
		default:
			b = append(b, cfaRestoreExt, r.Reg)
		}
	}
	return b
}

// frameEncoder encodes the instructions of frames that lie one behind the other.
type frameEncoder struct {
	b    []byte
	info *abi.CFI
	f    *Frame
	base uint32 // of f, from the start of the first
	at   uint32 // where the rules encoded so far begin to hold, from there
}

// advance encodes that what follows holds from offset to of the frame on.
func (e *frameEncoder) advance(to uint32) {
	to += e.base
	n := (to - e.at) / uint32(e.info.CodeAlign)
	e.at = to
	switch {
	case n == 0:
	case n <= maxShort:
		e.b = append(e.b, cfaAdvance|uint8(n))
	case n <= math.MaxUint8:
		e.b = append(e.b, cfaAdvance1, uint8(n))
	case n <= math.MaxUint16:
		e.b = binary.LittleEndian.AppendUint16(append(e.b, cfaAdvance2), uint16(n))
	default:
		e.b = binary.LittleEndian.AppendUint32(append(e.b, cfaAdvance4), n)
	}
}

// frame encodes the whole of it. What changes only at the end of the function, or changes back at once, is left out.
func (e *frameEncoder) frame() {
	changes := e.f.Changes
	for len(changes) > 0 && changes[0].Kind == abi.StackLowered {
		e.advance(changes[0].Offset)
		e.b = binary.AppendUvarint(append(e.b, cfaDefOffset), uint64(int64(e.info.Entry[0].Offset)-int64(changes[0].Popped)))
		changes = changes[1:]
	}
	at := e.f.Prologue
	for _, s := range e.info.Steps {
		at += uint32(s.Bytes)
		e.advance(at)
		e.b = appendRules(e.b, s.Rules)
	}
	saved, wanted := false, false
	left := false // the frame
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case abi.RegistersSaved, abi.RegistersKept:
			wanted = c.Kind == abi.RegistersSaved
		case abi.FrameLeft, abi.ReturnMoved:
			e.left(c, saved, left, returnsAtEnd(changes[i:], e.f.Size))
			left = true
		case abi.FrameBack:
			left = false
			if c.Offset < e.f.Size {
				e.advance(c.Offset)
				e.b = append(e.b, cfaRestoreState)
			}
		}
		if next := i + 1; left || wanted == saved || next < len(changes) && changes[next].Offset == c.Offset || c.Offset >= e.f.Size {
			continue
		}
		saved = wanted
		e.advance(c.Offset)
		if saved {
			e.b = appendRules(e.b, e.f.Saved)
		} else {
			e.b = appendRestores(e.b, e.f.Saved)
		}
	}
}

// returnsAtEnd reports whether the frame that the first of changes has left comes back only at the end of the function.
func returnsAtEnd(changes []abi.CFIChange, end uint32) bool {
	for _, c := range changes {
		if c.Kind == abi.FrameBack {
			return c.Offset >= end
		}
	}
	return true
}

// left encodes that the frame has been left, maybe after a part of the arguments has been popped; last says that it does not come back.
func (e *frameEncoder) left(c *abi.CFIChange, saved, again, last bool) {
	e.advance(c.Offset)
	if !again && !last {
		e.b = append(e.b, cfaRemember)
	}
	if offset := int64(e.info.Entry[0].Offset) - int64(c.Popped); offset >= 0 {
		e.b = binary.AppendUvarint(append(e.b, cfaDef, e.info.Stack), uint64(offset))
	} else {
		e.b = appendSLEB(append(e.b, cfaDefSF, e.info.Stack), offset/dataAlign)
	}
	if e.info.RedZone && c.Kind != abi.ReturnMoved || again && !e.info.RedZone {
		return
	}
	for _, s := range e.info.Steps {
		e.b = appendRestores(e.b, s.Rules)
	}
	if saved {
		e.b = appendRestores(e.b, e.f.Saved)
	}
}

// appendSLEB encodes x as signed LEB128.
func appendSLEB(b []byte, x int64) []byte {
	for x < -0x40 || x >= 0x40 {
		b = append(b, uint8(x)|0x80)
		x >>= 7
	}
	return append(b, uint8(x)&0x7f)
}

// One entry describes several functions, up to maxTogether: that saves most of what an entry takes, and unwinders read an entry from its
// beginning. maxGap is how far two of them may lie apart, in bytes.
const (
	maxTogether = 16
	maxGap      = 64
)

// together returns how many of the frames, which are not empty, can share an entry: what lies between them is not described by another.
func together(frames []Frame) int {
	n := 1
	for n < min(len(frames), maxTogether) {
		last, next := &frames[n-1], &frames[n]
		gap := next.Addend - last.Addend - int64(last.Size)
		if next.Symbol != last.Symbol || gap < 0 || gap > maxGap || next.Addend+int64(next.Size)-frames[0].Addend > math.MaxUint32 {
			break
		}
		n++
	}
	return n
}

// group encodes frames that share an entry. Each but the last leaves the rules as they are at the entry of a function.
func (e *frameEncoder) group(frames []Frame) {
	for i := range frames {
		e.f = &frames[i]
		e.base = uint32(e.f.Addend - frames[0].Addend)
		if i > 0 && frames[i-1].HasFrame {
			e.advance(0)
			e.b = append(e.b, cfaRestoreState)
		}
		if !e.f.HasFrame {
			continue
		}
		if i < len(frames)-1 {
			e.b = append(e.b, cfaRemember)
		}
		e.frame()
	}
}

// EHFrame returns the section .eh_frame of functions of a machine, which are in order.
func EHFrame(info *abi.CFI, frames []Frame) Section {
	s := Section{Name: ".eh_frame", Flags: Alloc, Align: 8}
	b := make([]byte, 0, 24+32*len(frames))
	// The CIE: version 1, augmentation "zR", data alignment -8.
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, 0, 0, 0, 0, 1, 'z', 'R', 0, info.CodeAlign, dataAlignSLEB, info.ReturnAddress, 1, dwPCRel4)
	b = appendRules(b, info.Entry)
	b = padEntry(b, 0, 8)
	for len(frames) > 0 {
		n := together(frames)
		first, last := &frames[0], &frames[n-1]
		start := len(b)
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(start+4)) // back to the CIE at 0
		s.Relocs = append(s.Relocs, Reloc{Offset: uint64(len(b)), Kind: reloc.PC32, Symbol: first.Symbol, Addend: first.Addend})
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(last.Addend-first.Addend)+last.Size)
		b = append(b, 0) // no augmentation data
		e := frameEncoder{b: b, info: info}
		e.group(frames[:n])
		b = e.b
		align := 4
		if frames = frames[n:]; len(frames) == 0 {
			align = 8 // of the section
		}
		b = padEntry(b, start, align)
	}
	s.Data = b
	return s
}

// padEntry pads the entry that begins at start with DW_CFA_nop to a multiple of align and sets its length.
func padEntry(b []byte, start, align int) []byte {
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
