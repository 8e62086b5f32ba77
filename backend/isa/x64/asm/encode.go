package asm

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// PatchKind is the kind of value that fills a Patch.
type PatchKind uint8

// The kinds of patch.
const (
	PatchNone PatchKind = iota
	// PatchSym: four bytes, symbol Inst.Symbol (backend.ModeSym).
	PatchSym
	// PatchConst: four bytes, constant Inst.Const (backend.ModeConst).
	PatchConst
	// PatchRel8 and PatchRel32: one and four bytes, the target of a branch or call.
	PatchRel8
	PatchRel32
)

// Patch is the one field of an instruction that is relative to the program
// counter, and holds Inst.Disp. The value to fill in is S + Disp - (address of the field +
// its width + After); so the addend of an R_X86_64_PC32 relocation is Disp - 4 - After.
type Patch struct {
	Kind PatchKind
	// Off is the field's offset in the instruction, After the number of bytes of the
	// instruction behind the field.
	Off, After uint8
}

// noReg is no index register in an address.
const noReg = 0xff

// address is a memory operand, or (mem false) a register in base.
type address struct {
	base, index, scale uint8
	mem, rip, noBase   bool
	patch              PatchKind
	disp               int32
}

// resolve finds the rm operand: allocs begin with its operands.
func resolve(inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) address {
	a := address{index: noReg, mem: true, disp: inst.Disp}
	switch inst.Mode {
	case backend.ModeNone:
		l := allocs[0]
		if l.IsReg() {
			return address{base: l.Reg().Enc() & 15, index: noReg}
		}
		a.base, a.disp = inFrame(fr, fr.Offset(l))
	case backend.ModeBase:
		a.base = allocs[0].Reg().Enc() & 15
	case backend.ModeBaseIndex:
		a.base, a.index, a.scale = allocs[0].Reg().Enc()&15, allocs[1].Reg().Enc()&15, inst.Scale&3
		if a.disp == 0 && exchanges(a.base, a.index, a.scale) {
			a.base, a.index = a.index, a.base
		}
	case backend.ModeIndex:
		if r := allocs[0].Reg().Enc() & 15; inst.Scale&3 == 0 {
			a.base = r
		} else {
			a.noBase, a.index, a.scale = true, r, inst.Scale&3
		}
	case backend.ModeOutArg:
		a.base = RSP.Enc()
	case backend.ModeLocal:
		a.base, a.disp = inFrame(fr, fr.Locals+inst.Disp)
	case backend.ModeSym:
		a.rip, a.patch = true, PatchSym
	case backend.ModeConst:
		a.rip, a.patch = true, PatchConst
	}
	return a
}

// exchanges reports whether base and index of an address are better exchanged: rbp and r13 as a base need a displacement, as an index none.
func exchanges(base, index, scale uint8) bool { return scale == 0 && base&7 == 5 && index&7 != 5 }

// inFrame returns the base and displacement of what is off bytes from the frame pointer: the stack pointer, which is the same in the whole body, if
// that is shorter. It needs a SIB byte.
func inFrame(fr *backend.Frame, off int32) (base uint8, disp int32) {
	if up := off + int32(fr.Size); off < math.MinInt8 && up >= 0 && up <= math.MaxInt8 {
		return RSP.Enc(), up
	}
	return RBP.Enc(), off
}

// scratchLen is the room that Append makes: the longest sequence of stores. Not all of
// the stored bytes count.
const scratchLen = 32

// Append encodes inst, whose operands have been allocated to allocs, at the
// end of buf. fr may be nil if nothing is in the frame. It ignores
// inst.Tail and further operands of Variadic rows. A combination that Verify
// rejects, or that an allocator must not produce, gives wrong code or panics.
func Append(buf []byte, inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) ([]byte, Patch) {
	row := &rows[inst.Op]
	if row.Imm >= IMov {
		return appendIrregular(buf, row, inst, allocs), Patch{}
	}
	f := &forms[row.Form]
	start := len(buf)
	buf = append(buf, make([]byte, scratchLen)...)
	b := (*[scratchLen]byte)(buf[start:])

	// Operands: where registers go, and the address.
	size := row.intWidth(inst.Size)
	var m address
	reg, extra := row.Digit, int8(0)
	if f.RM >= 0 {
		m = resolve(inst, allocs[f.RM:], fr)
		extra = int8(inst.Mode.NumRegs() - 1)
		if m.mem && row.MemOp != Invalid {
			row = &rows[row.MemOp]
		}
	}
	if f.Reg >= 0 {
		reg = regOf(allocs, f.Reg, f.RM, extra)
	} else if f.O >= 0 {
		m.base = regOf(allocs, f.O, f.RM, extra)
	}
	op := row.Opcode
	if size == 1 {
		op &^= 1
	}
	if row.Flags&(RegMR|HasCond|Odd8) != 0 {
		switch {
		case row.Flags&HasCond != 0:
			op |= inst.Cond & 15
		case row.Flags&Odd8 != 0:
			op |= size >> 3
		case !m.mem: // RegMR
			op ^= 2
			reg, m.base = m.base, reg
		}
	}
	imm, immLen := inst.Imm, uint(0)
	switch row.Imm {
	case INone:
	case IByte:
		immLen = 1
	case IReg:
		imm, immLen = int64(regOf(allocs, 2, f.RM, extra))<<4, 1
	case IWord:
		immLen = 2
	case IFull, IShort:
		imm, immLen, op = fullImm(row, imm, size, op)
		if row.Acc != 0 && immLen == immWidth(size) && !m.mem && m.base == 0 {
			return appendAcc(buf[:start], row, imm, size), Patch{}
		}
	case IShift:
		if immLen = 1; imm == 1 {
			op, immLen = op|0x10, 0
		}
	case IRel8:
		imm, immLen = int64(inst.Disp), 1
		m.patch = PatchRel8
	case IRel32:
		imm, immLen = int64(inst.Disp), 4
		m.patch = PatchRel32
	}

	var head uint64 // the bytes up to the displacement
	var n uint
	if row.Map < mapVEX {
		head, n = legacyHead(row, f, &m, reg, size, op)
	} else {
		v := uint8(0)
		if f.V >= 0 {
			v = regOf(allocs, f.V, f.RM, extra)
		}
		head, n = vexHead(row, &m, reg, v, size, op)
	}
	binary.LittleEndian.PutUint64(b[:], head)
	if f.RM >= 0 {
		n = putModRM(b, n, &m, reg)
	}
	patch := Patch{Kind: m.patch, Off: uint8(n), After: 0}
	if m.rip {
		patch.Off, patch.After = uint8(n-4), uint8(immLen)
	}
	if immLen != 0 {
		binary.LittleEndian.PutUint64(b[n&15:], uint64(imm))
		n += immLen
	}
	return buf[:start+int(n)], patch
}

// regOf returns the hardware number of the register in the given role; extra is how many
// operands more than one the rm operand takes.
func regOf(allocs []regalloc.Allocation, role, rm, extra int8) uint8 {
	if role > rm {
		role += extra
	}
	return allocs[role].Reg().Enc() & 15
}

// immWidth returns the width of a full immediate of an operation of the given size.
func immWidth(size uint8) uint { return uint(min(size, 4)) }

// fullImm returns the immediate reduced to its size, its width and the opcode.
func fullImm(row *Row, imm int64, size, op uint8) (int64, uint, uint8) {
	imm = normImm(imm, size)
	if row.Imm == IShort && size != 1 && imm == int64(int8(imm)) {
		return imm, 1, op | 2
	}
	return imm, immWidth(size), op
}

// normImm sign-extends imm from size bytes.
func normImm(imm int64, size uint8) int64 {
	s := 64 - 8*uint(size)
	return imm << s >> s
}

// appendAcc encodes an instruction on rax with a full immediate.
func appendAcc(buf []byte, row *Row, imm int64, size uint8) []byte {
	op := row.Acc
	switch size {
	case 1:
		return append(buf, op&^1, byte(imm))
	case 2:
		return append(buf, 0x66, op, byte(imm), byte(imm>>8))
	case 8:
		buf = append(buf, 0x48)
	}
	return binary.LittleEndian.AppendUint32(append(buf, op), uint32(imm))
}

// Endbr64 is the instruction where indirect branches may lead. It does nothing, and no rule or pseudo-instruction has it, so it is no row.
var Endbr64 = [...]byte{0xf3, 0x0f, 0x1e, 0xfa}

// NoTrack is the prefix of an indirect jump that may lead to other instructions, too.
const NoTrack = 0x3e

// prefixBytes are the bytes of mandatory prefixes, by Prefix and, for PScalar and
// PPacked, by Size: 4 (and less), 8, 16.
var prefixBytes = [...][3]uint8{
	PNone: {}, P66: {0x66, 0x66, 0x66}, PF2: {0xf2, 0xf2, 0xf2}, PF3: {0xf3, 0xf3, 0xf3},
	PScalar: {0xf3, 0xf2, 0}, PPacked: {0, 0x66, 0},
}

// prefix returns the mandatory prefix byte, or 0.
func (r *Row) prefix(size uint8) uint8 {
	return prefixBytes[r.Prefix][(size>>3)%3]
}

// rexW returns 1 if REX.W or VEX.W is to be set.
func (r *Row) rexW(size uint8) uint8 {
	if size == 8 && r.Flags&NoW == 0 && r.Prefix < PScalar && r.Sizes != noSize {
		return 1
	}
	return 0
}

// legacyHead returns prefixes, REX, and opcode bytes. reg is ModRM.reg; m.base is the
// register in ModRM.rm, or in the opcode.
func legacyHead(row *Row, f *FormInfo, m *address, reg, size, op uint8) (head uint64, n uint) {
	if p := row.prefix(size); p != 0 {
		head, n = uint64(p), 8
	} else if size == 2 {
		head, n = 0x66, 8
	}
	rex := row.rexW(size)<<3 | reg>>3<<2 | m.base>>3&1
	if m.index != noReg {
		rex |= m.index >> 3 << 1
	}
	if rex != 0 || size == 1 && reg&^3 == 4 && f.Reg >= 0 || !m.mem && m.base&^3 == 4 && row.rmWidth(size) == 1 && f.RM >= 0 {
		head |= uint64(0x40|rex) << n
		n += 8
	}
	switch row.Map {
	case M0F:
		head |= 0x0f << n
		n += 8
	case M0F38:
		head |= 0x380f << n
		n += 16
	case M0F3A:
		head |= 0x3a0f << n
		n += 16
	}
	if f.O >= 0 {
		op |= m.base & 7
	}
	head |= uint64(op) << n
	n += 8
	if row.ModRM != 0 {
		head |= uint64(row.ModRM) << n
		n += 8
	}
	return head, n / 8
}

// vexPrefix is VEX.pp by mandatory prefix byte.
func vexPrefix(p uint8) uint8 {
	switch p {
	case 0x66:
		return 1
	case 0xf3:
		return 2
	case 0xf2:
		return 3
	}
	return 0
}

// vexHead is VEX prefix and opcode, with vvvv = v.
func vexHead(row *Row, m *address, reg, v, size, op uint8) (head uint64, n uint) {
	w := row.rexW(size)
	x, bb := uint8(0), m.base>>3&1
	if m.index != noReg {
		x = m.index >> 3
	}
	low := (^v&15)<<3 | vexPrefix(row.prefix(size)) // L is 0
	mm := uint8(row.Map - mapVEX)
	if w|x|bb == 0 && mm == 1 {
		return 0xc5 | uint64((^reg>>3&1)<<7|low)<<8 | uint64(op)<<16, 3
	}
	second := (^reg>>3&1)<<7 | (x^1)<<6 | (bb^1)<<5 | mm
	return 0xc4 | uint64(second)<<8 | uint64(w<<7|low)<<16 | uint64(op)<<24, 4
}

// putModRM writes ModRM, SIB and displacement at n and returns the end.
func putModRM(b *[scratchLen]byte, n uint, m *address, reg uint8) uint {
	modrm := reg & 7 << 3
	switch {
	case !m.mem:
		b[n&15] = 0xc0 | modrm | m.base&7
		return n + 1
	case m.rip:
		b[n&15] = modrm | 5
		binary.LittleEndian.PutUint32(b[(n+1)&15:], uint32(m.disp))
		return n + 5
	case m.noBase: // ModRM.rm 4, SIB.base 5 with mod 0: no base
		b[n&15] = modrm | 4
		b[(n+1)&15] = m.scale<<6 | m.index&7<<3 | 5
		binary.LittleEndian.PutUint32(b[(n+2)&15:], uint32(m.disp))
		return n + 6
	}
	// ModRM.rm 5 (rbp, r13) with mod 0 means something else.
	width := uint(4)
	switch {
	case m.disp == 0 && m.base&7 != 5:
		width = 0
	case m.disp == int32(int8(m.disp)):
		modrm, width = modrm|0x40, 1
	default:
		modrm |= 0x80
	}
	if m.index == noReg && m.base&7 != 4 {
		b[n&15] = modrm | m.base&7
		n++
	} else { // SIB; index 4 is none
		b[n&15] = modrm | 4
		index := uint8(4)
		if m.index != noReg {
			index = m.index & 7
		}
		b[(n+1)&15] = m.scale<<6 | index<<3 | m.base&7
		n += 2
	}
	binary.LittleEndian.PutUint32(b[n&15:], uint32(m.disp))
	return n + width
}

// movImmSize returns the form that a move of imm of size 4 or 8 takes: 4: B8+r id,
// zero-extended; 0: REX.W C7 /0 id, sign-extended; 8: REX.W B8+r iq.
func movImmSize(size uint8, imm int64) int {
	switch {
	case size != 8 || imm == int64(uint32(imm)):
		return 4
	case imm == int64(int32(imm)):
		return 0
	}
	return 8
}

// maxNop is the longest single no-operation used.
const maxNop = 9

// nops are the recommended sequences of 1 to maxNop bytes.
var nops = [maxNop + 1]string{1: "\x90", 2: "\x66\x90", 3: "\x0f\x1f\x00", 4: "\x0f\x1f\x40\x00", 5: "\x0f\x1f\x44\x00\x00",
	6: "\x66\x0f\x1f\x44\x00\x00", 7: "\x0f\x1f\x80\x00\x00\x00\x00", 8: "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	9: "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"}

// AppendNops appends n bytes of no-operations, as few instructions as it takes.
func AppendNops(buf []byte, n int) []byte {
	for n > 0 {
		k := min(n, maxNop)
		buf, _ = Append(buf, &backend.Inst{Op: Nop, Imm: int64(k)}, nil, nil)
		n -= k
	}
	return buf
}

// appendIrregular encodes the rows whose encoding depends on the immediate.
func appendIrregular(buf []byte, row *Row, inst *backend.Inst, allocs []regalloc.Allocation) []byte {
	if row.Imm == INop {
		if inst.Imm < 1 || inst.Imm > maxNop {
			panic(fmt.Sprintf("asm: nop of %d bytes", inst.Imm))
		}
		return append(buf, nops[inst.Imm]...)
	}
	r := allocs[0].Reg().Enc() & 15
	rexB := r >> 3
	switch movImmSize(inst.Size, inst.Imm) {
	case 4:
		if rexB != 0 {
			buf = append(buf, 0x41)
		}
		return binary.LittleEndian.AppendUint32(append(buf, row.Opcode|r&7), uint32(inst.Imm))
	case 0:
		return binary.LittleEndian.AppendUint32(append(buf, 0x48|rexB, 0xc7, 0xc0|r&7), uint32(inst.Imm))
	}
	return binary.LittleEndian.AppendUint64(append(buf, 0x48|rexB, row.Opcode|r&7), uint64(inst.Imm))
}
