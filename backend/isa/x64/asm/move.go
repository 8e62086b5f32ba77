package asm

import (
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// AppendMove encodes the copy of a value of 8 or 16 bytes from one location to another, of
// which one at least must be a register; integer and vector registers exchange
// 8 bytes. Nothing is emitted if they are the same. Flags are kept.
func AppendMove(buf []byte, from, to regalloc.Allocation, bytes uint8, fr *Frame) []byte {
	if from == to {
		return buf
	}
	inst := backend.Inst{Op: moveOp(from, to), Size: bytes}
	allocs := [2]regalloc.Allocation{from, to}
	if !to.IsReg() { // stores have the address first
		allocs = [2]regalloc.Allocation{to, from}
	}
	buf, _ = Append(buf, &inst, allocs[:], fr)
	return buf
}

// moveOp is the row that copies between two locations.
func moveOp(from, to regalloc.Allocation) backend.Op {
	switch {
	case from.IsMem() && to.IsMem() || from.IsNone() || to.IsNone():
		panic(fmt.Sprintf("asm: move from %v to %v", from, to))
	case to.IsMem() && from.Reg().Class() == regalloc.Int:
		return MovStore
	case to.IsMem():
		return MovfStore
	case from.IsMem() && to.Reg().Class() == regalloc.Int:
		return Mov
	case from.IsMem():
		return Movf
	case from.Reg().Class() == to.Reg().Class():
		if to.Reg().Class() == regalloc.Int {
			return Mov
		}
		return Movf
	case to.Reg().Class() == regalloc.Int:
		return MovdFromF
	}
	return MovdToF
}
