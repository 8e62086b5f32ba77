package machbuffer

import "github.com/waot-project/waot/internal/reloc"

// TrapSite is the backend's number of a trap site.
type TrapSite uint32

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
	Site   TrapSite
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
func (b *Buffer) AddTrap(off uint32, code uint8, site TrapSite) {
	if b.err != nil {
		return
	}
	b.traps = append(b.traps, Trap{Offset: off, Code: code, Site: site})
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

// cutRecords follows an edit of the tail: the bytes [keep, oldTail) went, those of [keep, newTail) came in their
// place as one instruction. What belonged to the bytes that went is dropped. What was recorded at oldTail for the next instruction moves to newTail (I10: all that is left
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
}
