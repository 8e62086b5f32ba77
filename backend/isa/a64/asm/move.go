package asm

import (
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// AppendMove encodes the copy of a value of 8 or 16 bytes from one location to another, of
// which one at least must be a register; integer and vector registers exchange
// 8 bytes. Nothing is emitted if they are the same. Flags are kept. AddrScratch may change.
func AppendMove(buf []byte, from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) []byte {
	if from == to {
		return buf
	}
	var s steps
	s.move(from, to, bytes, fr)
	for i := range s.n {
		st := &s.list[i]
		w, _ := encode(&rows[st.inst.Op], &st.inst, st.regs[:])
		buf = binary.LittleEndian.AppendUint32(buf, w)
	}
	return buf
}

// move appends the words of a copy.
func (s *steps) move(from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) {
	inst := backend.Inst{Op: moveOp(from, to), Size: max(bytes, 8)}
	if inst.Op == Fmov && bytes == 16 {
		inst.Op = Vmov
	}
	switch {
	case from.IsMem():
		s.inFrame(&inst, fr.Offset(from), fr, AddrScratch, []regalloc.Allocation{to})
	case to.IsMem():
		s.inFrame(&inst, fr.Offset(to), fr, AddrScratch, []regalloc.Allocation{from})
	default:
		s.add(inst, from.Reg(), to.Reg())
	}
}

// moveOp returns the row that copies between two locations.
func moveOp(from, to regalloc.Allocation) backend.Op {
	switch {
	case from.IsMem() && to.IsMem() || from.IsNone() || to.IsNone():
		panic(fmt.Sprintf("asm: move from %v to %v", from, to))
	case to.IsMem():
		return moveRows[from.Reg().Class()].store
	case from.IsMem():
		return moveRows[to.Reg().Class()].load
	case from.Reg().Class() == to.Reg().Class():
		return moveRows[to.Reg().Class()].copy
	case to.Reg().Class() == regalloc.Int:
		return FmovFromF
	}
	return FmovToF
}

// moveRows are the rows that copy, by class.
var moveRows = [regalloc.NumClasses]struct{ load, store, copy backend.Op }{
	regalloc.Int: {Ldr, Str, Mov}, regalloc.Float: {Fldr, Fstr, Fmov},
}
