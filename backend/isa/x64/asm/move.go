package asm

import (
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// AppendMove encodes the copy of a value of 4, 8 or 16 bytes from one location to another. At
// least one of them must be a register. Copies between integer and vector registers
// are of up to 8 bytes. A value of 4 bytes is zero-extended in registers, and has 4 bytes in memory. Nothing is emitted if both locations are the same. Flags are kept.
func AppendMove(buf []byte, from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) []byte {
	if from == to {
		return buf
	}
	if bytes <= 8 && isInt(from, to) {
		return appendIntMove(buf, from, to, bytes, fr)
	}
	inst := backend.Inst{Op: moveOp(from, to), Size: bytes}
	allocs := [2]regalloc.Allocation{from, to}
	if !to.IsReg() { // stores have the address first
		allocs = [2]regalloc.Allocation{to, from}
	}
	buf, _ = Append(buf, &inst, allocs[:], fr)
	return buf
}

// isInt reports whether a copy is between integer registers, or one and memory.
func isInt(from, to regalloc.Allocation) bool {
	return (from.IsReg() || to.IsReg()) && (!from.IsReg() || from.Reg().Class() == regalloc.Int) &&
		(!to.IsReg() || to.Reg().Class() == regalloc.Int)
}

// appendIntMove is AppendMove for the most frequent copies, by hand: mov r, r/m and mov r/m, r. A test
// compares it with the rows.
func appendIntMove(buf []byte, from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) []byte {
	op, reg, mem := byte(0x89), from, to // to memory, or between registers
	if !from.IsReg() {
		op, reg, mem = 0x8b, to, from
	}
	r := reg.Reg().Enc() & 15
	rex := intMoveREX(from, to, bytes)
	if rex != 0 {
		buf = append(buf, rex)
	}
	if mem.IsReg() {
		return append(buf, op, 0xc0|r&7<<3|mem.Reg().Enc()&7)
	}
	base, disp := inFrame(fr, fr.Offset(mem))
	modrm := r&7<<3 | base
	switch {
	case base == RSP.Enc() && disp == 0:
		return append(buf, op, modrm, sibRSP)
	case base == RSP.Enc():
		return append(buf, op, 0x40|modrm, sibRSP, byte(disp))
	case disp == int32(int8(disp)):
		return append(buf, op, 0x40|modrm, byte(disp))
	}
	return append(buf, op, 0x80|modrm, byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
}

// intMoveREX returns the REX prefix of a copy between integer registers, or one and memory; 0 if it has none. Copies between registers that need one copy
// all 8 bytes: the upper half is zero either way, and on an AMD Zen 5 a loop of shootout-heapsort takes 6 % longer with copies of 4.
func intMoveREX(from, to regalloc.Allocation, bytes uint8) (rex byte) {
	if bytes == 8 {
		rex = 0x48
	}
	switch {
	case from.IsMem():
		rex |= 0x44 * (to.Reg().Enc() >> 3 & 1)
	case to.IsMem():
		rex |= 0x44 * (from.Reg().Enc() >> 3 & 1)
	default:
		r, m := from.Reg().Enc()>>3&1, to.Reg().Enc()>>3&1
		rex |= 0x48*(r|m) | r<<2 | m
	}
	return rex
}

// sibRSP is the SIB byte of an address that is the stack pointer plus a displacement.
const sibRSP = 0x24

// moveOp returns the row that copies between two locations.
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
