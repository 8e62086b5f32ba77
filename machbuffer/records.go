package machbuffer

import "github.com/waot-project/waot/internal/reloc"

// SrcLoc is the backend's name of a source position; the buffer only compares it. NoLoc is none.
type SrcLoc uint32

// NoLoc says that code has no source position.
const NoLoc SrcLoc = 0

// Reloc is a place for the linker to fill. Symbol is the backend's.
type Reloc struct {
	Offset uint32
	Symbol uint32
	Addend int64
	Kind   reloc.Kind
}

// Trap says that the instruction at Offset may trap with Code.
type Trap struct {
	Offset uint32
	Loc    SrcLoc
	Code   uint8
}

// StackMap names the stack map, by the backend's index, of the call that returns to Return.
type StackMap struct {
	Return uint32
	Index  uint32
}

// CallSite is a call that returns to Return; Data is the backend's.
type CallSite struct {
	Return uint32
	Data   uint32
}

// Veneer is a branch in an island that leads on to Label, in the Size bytes at Start.
type Veneer struct {
	Start, Size uint32
	Label       Label
}

// SrcRange gives code [Start, End) its source position.
type SrcRange struct {
	Start, End uint32
	Loc        SrcLoc
}

// srcMark starts a source range that lasts to the next mark.
type srcMark struct {
	off uint32
	loc SrcLoc
}

// AddReloc records a relocation of bytes at offset off, of an instruction already or next emitted.
func (b *Buffer) AddReloc(off uint32, kind reloc.Kind, symbol uint32, addend int64) {
	if b.err != nil {
		return
	}
	b.relocs = append(b.relocs, Reloc{Offset: off, Kind: kind, Symbol: symbol, Addend: addend})
	for i := len(b.relocs) - 1; i > 0 && b.relocs[i-1].Offset > off; i-- { // I10
		b.relocs[i-1], b.relocs[i] = b.relocs[i], b.relocs[i-1]
	}
}

// AddTrap records that the instruction which starts at offset off, already or next emitted, may trap.
func (b *Buffer) AddTrap(off uint32, code uint8, loc SrcLoc) {
	if b.err != nil {
		return
	}
	b.traps = append(b.traps, Trap{Offset: off, Code: code, Loc: loc})
	for i := len(b.traps) - 1; i > 0 && b.traps[i-1].Offset > off; i-- { // I10
		b.traps[i-1], b.traps[i] = b.traps[i], b.traps[i-1]
	}
}

// AddStackMap records the stack map of the call just emitted, which returns to the current offset.
func (b *Buffer) AddStackMap(index uint32) {
	b.stackMaps = append(b.stackMaps, StackMap{Return: b.Offset(), Index: index})
}

// AddCallSite records the call just emitted, which returns to the current offset.
func (b *Buffer) AddCallSite(data uint32) {
	b.calls = append(b.calls, CallSite{Return: b.Offset(), Data: data})
}

// SetSrcLoc gives the code emitted from here on its source position, NoLoc for none.
func (b *Buffer) SetSrcLoc(loc SrcLoc) { b.markSrc(b.Offset(), loc) }

func (b *Buffer) markSrc(off uint32, loc SrcLoc) {
	if n := len(b.src); n > 0 && b.src[n-1].off == off {
		b.src = b.src[:n-1]
	}
	if loc != b.curLoc() {
		b.src = append(b.src, srcMark{off, loc})
	}
}

func (b *Buffer) curLoc() SrcLoc {
	if n := len(b.src); n > 0 {
		return b.src[n-1].loc
	}
	return NoLoc
}

// cutRecords follows an edit of the tail: the bytes [keep, oldTail) went, those of [keep, newTail) came in their
// place as one instruction with the source position that was in force at keep. What belonged to the bytes that
// went is dropped. What was recorded at oldTail for the next instruction moves to newTail (I10: all that is left
// is at or below keep or moves to newTail >= keep).
func (b *Buffer) cutRecords(keep, oldTail, newTail uint32) {
	n := len(b.relocs)
	for n > 0 && b.relocs[n-1].Offset == oldTail {
		n--
		b.relocs[n].Offset = newTail
	}
	from := n
	for n > 0 && b.relocs[n-1].Offset >= keep {
		n--
	}
	b.relocs = append(b.relocs[:n], b.relocs[from:]...)

	n = len(b.traps)
	for n > 0 && b.traps[n-1].Offset == oldTail {
		n--
		b.traps[n].Offset = newTail
	}
	from = n
	for n > 0 && b.traps[n-1].Offset >= keep {
		n--
	}
	b.traps = append(b.traps[:n], b.traps[from:]...)

	for n = len(b.stackMaps); n > 0 && b.stackMaps[n-1].Return > keep; n-- {
	}
	b.stackMaps = b.stackMaps[:n]
	for n = len(b.calls); n > 0 && b.calls[n-1].Return > keep; n-- {
	}
	b.calls = b.calls[:n]

	loc := b.curLoc()
	for n = len(b.src); n > 0 && (b.src[n-1].off > keep || b.src[n-1].off == newTail); n-- {
	}
	b.src = b.src[:n]
	b.markSrc(newTail, loc)
}

// srcRanges turns marks into ranges.
func (b *Buffer) srcRanges(end uint32) []SrcRange {
	for i, m := range b.src {
		e := end
		if i+1 < len(b.src) {
			e = b.src[i+1].off
		}
		if m.loc != NoLoc && e > m.off {
			b.ranges = append(b.ranges, SrcRange{m.off, e, m.loc})
		}
	}
	return b.ranges
}
