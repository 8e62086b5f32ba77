package asm

import (
	"encoding/binary"
	"sync"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// vexRows are the rows of VEX instructions, by the opcode between registers and by that with an address.
var vexRows = sync.OnceValue(func() *[2][256][]backend.Op {
	t := new([2][256][]backend.Op)
	add := func(mem int, opcode uint8, op backend.Op) { t[mem][opcode] = append(t[mem][opcode], op) }
	for op := range NumOps {
		row := &rows[op]
		if row.Map < mapVEX {
			continue
		}
		f := &forms[row.Form]
		for odd := range 1 + uint8(row.Flags&Odd8/Odd8) {
			if f.Mem != NoMem && row.MemOp == Invalid {
				add(1, row.Opcode+odd, op)
			}
			switch {
			case f.Mem == MustMem:
			case row.Flags&RegMR != 0:
				add(0, row.Opcode+odd^2, op)
			default:
				add(0, row.Opcode+odd, op)
			}
		}
	}
	return t
})

// vexInst is an instruction taken apart: what prefix, opcode and ModRM say, and the registers of the address.
type vexInst struct {
	reg, v, w, pp, mm, opcode uint8
	backend.Inst
	rm  []uint8
	end int // of the address
}

// DecodeVex returns the text and the length of the instruction that code begins with. The length is 0 if it is none of the VEX
// instructions that Append writes.
func DecodeVex(code []byte) (text string, n int) {
	d, ok := vexParts(code)
	if !ok {
		return "", 0
	}
	mem := 0
	if d.Mode != backend.ModeNone {
		mem = 1
	}
	for _, op := range vexRows()[mem][d.opcode] {
		row := &rows[op]
		f := &forms[row.Form]
		size, ok := d.sizeFor(row)
		if !ok || f.Reg < 0 && d.reg != row.Digit || f.V < 0 && d.v != 0 {
			continue
		}
		n, selector := d.end, uint8(0)
		if row.Imm != INone {
			if n == len(code) {
				return "", 0
			}
			d.Imm, selector = int64(code[n]), code[n]>>4
			n++
		}
		d.Op, d.Size = op, size
		return string(PrintAsm(nil, &d.Inst, d.allocs(row, selector), nil)), n
	}
	return "", 0
}

// vexParts takes the instruction apart that code begins with.
func vexParts(code []byte) (d vexInst, ok bool) {
	var x, b, low uint8
	n := 0
	switch {
	case len(code) > 3 && code[0] == 0xc5:
		d.reg, low, d.mm, n = ^code[1]>>7<<3, code[1], 1, 2
	case len(code) > 4 && code[0] == 0xc4:
		d.reg, x, b = ^code[1]>>7<<3, ^code[1]>>6&1<<3, ^code[1]>>5&1<<3
		d.mm, d.w, low, n = code[1]&31, code[2]>>7, code[2], 3
	default:
		return d, false
	}
	if low&4 != 0 { // 256 bits
		return d, false
	}
	d.v, d.pp, d.opcode = ^low>>3&15, low&3, code[n]
	d.reg |= code[n+1] >> 3 & 7
	ok = d.address(code, n+1, x, b)
	return d, ok
}

// address reads ModRM, at n, SIB and displacement; x and b extend index and base.
func (d *vexInst) address(code []byte, n int, x, b uint8) bool {
	mod, rm := code[n]>>6, code[n]&7
	n++
	width := [4]int{0, 1, 4, 0}[mod]
	switch {
	case mod == 3:
		d.rm = []uint8{rm | b}
	case mod == 0 && rm == 5:
		d.Mode, width = backend.ModeSym, 4
	case rm != 4:
		d.Mode, d.rm = backend.ModeBase, []uint8{rm | b}
	case n == len(code):
		return false
	default:
		base, index := code[n]&7, code[n]>>3&7|x
		d.Scale = code[n] >> 6
		n++
		switch {
		case mod == 0 && base == 5:
			d.Mode, d.rm, width = backend.ModeIndex, []uint8{index}, 4
		case index == 4:
			d.Mode, d.rm, d.Scale = backend.ModeBase, []uint8{base | b}, 0
		default:
			d.Mode, d.rm = backend.ModeBaseIndex, []uint8{base | b, index}
		}
		if d.Mode == backend.ModeIndex && index == 4 { // no register at all
			return false
		}
	}
	if d.end = n + width; d.end > len(code) {
		return false
	}
	switch width {
	case 1:
		d.Disp = int32(int8(code[n]))
	case 4:
		d.Disp = int32(binary.LittleEndian.Uint32(code[n:]))
	}
	return true
}

// sizeFor returns the size with which the row has the opcode, map, prefix and W of d.
func (d *vexInst) sizeFor(row *Row) (size uint8, ok bool) {
	if uint8(row.Map-mapVEX) != d.mm {
		return 0, false
	}
	for size := uint8(4); size <= 16; size *= 2 {
		if row.Flags&Odd8 != 0 && d.opcode&1 != size>>3 {
			continue
		}
		if row.Sizes.Allow(size) && vexPrefix(row.prefix(size)) == d.pp && row.rexW(size) == d.w {
			return size, true
		}
	}
	return 0, false
}

// allocs returns the registers of the row's roles; selector is that of role 2 where an immediate holds it.
func (d *vexInst) allocs(row *Row, selector uint8) (list []regalloc.Allocation) {
	f := &forms[row.Form]
	reg, rm := d.reg, d.rm
	if row.Flags&RegMR != 0 && d.Mode == backend.ModeNone {
		reg, rm = rm[0], []uint8{reg}
	}
	for i, role := range f.Roles {
		class, numbers := role.Class, []uint8{0}
		switch int8(i) {
		case f.RM:
			if numbers = rm; d.Mode != backend.ModeNone {
				class = regalloc.Int
			}
		case f.Reg:
			numbers[0] = reg
		case f.V:
			numbers[0] = d.v
		default:
			numbers[0] = selector
		}
		first := RAX
		if class == regalloc.Float {
			first = XMM0
		}
		for _, n := range numbers {
			list = append(list, regalloc.InReg(first+regalloc.PReg(n)))
		}
	}
	return list
}
