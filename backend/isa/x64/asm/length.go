package asm

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// headBytes is, by row, the most bytes of prefixes but REX, opcode, and ModRM; a VEX prefix is counted at
// its full length. Rows that have another for operands in memory have the greater number.
var headBytes = makeHeadBytes()

func makeHeadBytes() (t [NumOps]uint8) {
	head := func(r *Row) int {
		n := 1 // opcode
		switch {
		case r.Map >= mapVEX:
			n += 3
		case r.Map >= M0F38:
			n += 2
		case r.Map == M0F:
			n++
		}
		if r.Map < mapVEX && r.Prefix != PNone {
			n++
		}
		if forms[r.Form].RM >= 0 || r.ModRM != 0 {
			n++
		}
		return n
	}
	for i := range rows {
		if r := &rows[i]; r.Name != "" {
			n := head(r)
			if r.MemOp != Invalid {
				n = max(n, head(&rows[r.MemOp]))
			}
			t[i] = uint8(n)
		}
	}
	return t
}

// Bound returns a bound of the length in bytes of what Append makes of inst, at most two more than
// it is. allocs may have operands of a tail behind the row's.
func Bound(inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) uint32 {
	row := &rows[inst.Op]
	n := uint32(headBytes[inst.Op])
	switch row.Imm {
	case IMov:
		return n + immMoveBytes[movImmSize(inst.Size, inst.Imm)] + rex(row, inst, allocs)
	case INop:
		return uint32(inst.Imm)
	case IByte, IReg, IRel8:
		n++
	case IShift:
		if inst.Imm != 1 {
			n++
		}
	case IWord:
		n += 2
	case IRel32:
		n += 4
	case IFull, IShort:
		_, w, _ := fullImm(row, inst.Imm, row.intWidth(inst.Size), 0)
		n += uint32(w)
	}
	if inst.Size == 2 {
		n++
	}
	return n + rex(row, inst, allocs) + addressBytes(row, inst, allocs, fr)
}

// immMoveBytes are the bytes of a move beyond opcode and REX, by movImmSize.
var immMoveBytes = [9]uint32{4: 4, 0: 6, 8: 9}

// rex returns 1 if there may be a REX prefix.
func rex(row *Row, inst *backend.Inst, allocs []regalloc.Allocation) uint32 {
	if row.Map >= mapVEX {
		return 0
	}
	if inst.Size&(1|8) != 0 || row.RM == 1 {
		return 1
	}
	for _, a := range allocs {
		if a.IsReg() && a.Reg().Enc()&8 != 0 {
			return 1
		}
	}
	return 0
}

// addressBytes returns the SIB byte and displacement of the rm operand.
func addressBytes(row *Row, inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) uint32 {
	mode := inst.Mode
	if mode == backend.ModeIndex && inst.Scale&3 == 0 {
		mode = backend.ModeBase
	}
	switch mode {
	case backend.ModeNone:
		rm := forms[row.Form].RM
		if rm < 0 || allocs[rm].IsReg() {
			return 0
		}
		return frameBytes(fr, fr.Offset(allocs[rm]))
	case backend.ModeBase:
		base := allocs[forms[row.Form].RM].Reg().Enc() & 7
		n := dispBytes(inst.Disp, base == 5)
		if base == 4 {
			n++
		}
		return n
	case backend.ModeBaseIndex:
		at := allocs[forms[row.Form].RM:]
		base, index := at[0].Reg().Enc(), at[1].Reg().Enc()
		return 1 + dispBytes(inst.Disp, base&7 == 5 && !exchanges(base, index, inst.Scale&3))
	case backend.ModeOutArg:
		return 1 + dispBytes(inst.Disp, false)
	case backend.ModeLocal:
		return frameBytes(fr, fr.Locals+inst.Disp)
	case backend.ModeIndex:
		return 5
	}
	return 4 // relative to the program counter
}

// frameBytes is addressBytes of what is off bytes from the frame pointer.
func frameBytes(fr *backend.Frame, off int32) uint32 {
	base, disp := inFrame(fr, off)
	if base == RSP.Enc() {
		return 1 + dispBytes(disp, false)
	}
	return dispBytes(disp, true)
}

// dispBytes returns the length of a displacement; some bases need one.
func dispBytes(d int32, always bool) uint32 {
	switch {
	case d == 0 && !always:
		return 0
	case d == int32(int8(d)):
		return 1
	}
	return 4
}

// MoveBound returns a bound of the length in bytes of what AppendMove makes.
func MoveBound(from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) uint32 {
	reg, mem := from, to
	if !from.IsReg() {
		reg, mem = to, from
	}
	switch {
	case mem.IsReg() && from.Reg().Class() == regalloc.Int && to.Reg().Class() == regalloc.Int:
		if intMoveREX(from, to, bytes) == 0 {
			return 2
		}
		return 3
	case mem.IsReg():
		return 5
	case reg.Reg().Class() == regalloc.Int:
		if intMoveREX(from, to, bytes) == 0 {
			return 2 + frameBytes(fr, fr.Offset(mem))
		}
		return 3 + frameBytes(fr, fr.Offset(mem))
	}
	return 5 + frameBytes(fr, fr.Offset(mem))
}
