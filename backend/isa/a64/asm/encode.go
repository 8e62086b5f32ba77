package asm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// PatchKind is the kind of value that fills a Patch.
type PatchKind uint8

// The kinds of patch.
const (
	PatchNone PatchKind = iota
	// PatchSym: an adrp and behind it an instruction with the low 12 bits of the address of Inst.Symbol
	// (backend.ModeSym).
	PatchSym
	// PatchPage: an adrp of Inst.Symbol.
	PatchPage
	// PatchConst: the literal form, 19 bits from bit 5 on as of PatchBranch19, constant Inst.Const
	// (backend.ModeConst). Of Lea it is PatchConstAdr, as PatchAdr.
	PatchConst
	PatchConstAdr
	// PatchBranch26, 19 and 14: the target of a branch or call, in words: 26 bits from bit 0 on, 19 or 14
	// from bit 5 on.
	PatchBranch26
	PatchBranch19
	PatchBranch14
	// PatchAdr: a distance in bytes: 2 bits in bits 29 and 30, 19 in 5 to 23.
	PatchAdr
)

// Patch is the one field of an instruction that is relative to the program
// counter, and holds Inst.Disp: the distance from the word to the target. Of PatchSym and PatchPage it is 0,
// and Disp the addend.
type Patch struct {
	Kind PatchKind
	// Off is the offset in bytes of the field's word in what Append made.
	Off uint8
	// Scale of PatchSym is the logarithm of the unit in bytes of the low 12 bits, as relocations have
	// one kind for each: R_AARCH64_LDST8 to 128_ABS_LO12_NC; Add says that it is that of add
	// instead.
	Scale uint8
	Add   bool
}

// Append encodes inst, whose operands have been allocated to allocs, at the
// end of buf. fr may be nil if nothing is in the frame. It ignores
// inst.Tail and further operands of Variadic rows. A combination that Verify
// rejects, or that an allocator must not produce, panics.
func Append(buf []byte, inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) ([]byte, Patch) {
	row := &rows[inst.Op]
	if row.Flags&Expands == 0 && plainModes>>inst.Mode&1 != 0 {
		w, kind := encode(row, inst, allocs)
		return binary.LittleEndian.AppendUint32(buf, w), Patch{Kind: kind}
	}
	var s steps
	s.expand(inst, allocs, fr)
	var patch Patch
	for i := range s.n {
		st := &s.list[i]
		w, kind := encode(&rows[st.inst.Op], &st.inst, st.regs[:])
		buf = binary.LittleEndian.AppendUint32(buf, w)
		if kind != PatchNone {
			patch = Patch{Kind: kind, Off: uint8(WordBytes * i)}
		}
	}
	switch inst.Mode {
	case backend.ModeSym:
		patch.Kind = PatchSym
		patch.Scale, patch.Add = uint8(bits.TrailingZeros8(row.width(inst.Size))), row.Addr == AddrLea
	case backend.ModeConst:
		patch.Kind = PatchConstAdr
	}
	return buf, patch
}

// plainModes are the modes of addresses in one word.
const plainModes = 1<<backend.ModeNone | 1<<backend.ModeBase | 1<<backend.ModeBaseIndex | 1<<backend.ModeConst

// modeLow12 is, in the steps of an expansion, ModeBase with the low 12 bits of the symbol + Disp; of AddImm the
// immediate.
const modeLow12 backend.Mode = 15

// reg returns the hardware number of the register in the given role; extra is how many
// operands more than one an address takes.
func reg(allocs []regalloc.Allocation, role, extra int8) uint32 {
	if role > 0 {
		role += extra
	}
	a := allocs[role]
	if !a.IsReg() {
		panic("asm: operand not in a register")
	}
	return uint32(a.Reg().Enc()) & 31
}

// encode returns the word of a one-word instruction, and the kind of its field.
func encode(row *Row, inst *backend.Inst, allocs []regalloc.Allocation) (uint32, PatchKind) {
	f := &forms[row.Form]
	w := row.word(inst.Size)
	extra, kind := int8(0), PatchNone
	if f.Addr {
		extra = int8(numAddr(inst.Mode)) - 1
		a, ok := row.address(inst)
		if inst.Mode == backend.ModeConst {
			if row.Lit == 0 {
				reject(row, inst)
			}
			w, kind = row.literal(inst.Size), PatchConst
		} else {
			w |= reg(allocs, 0, 0) << 5
			if inst.Mode == backend.ModeBaseIndex {
				w |= reg(allocs, 1, 0) << 16
			}
		}
		if !ok {
			reject(row, inst)
		}
		w |= a
	} else {
		if f.N >= 0 {
			w |= reg(allocs, f.N, 0) << 5
		}
		if f.M >= 0 {
			w |= reg(allocs, f.M, 0) << 16
		}
	}
	if f.D >= 0 {
		w |= reg(allocs, f.D, extra)
	}
	if f.A >= 0 {
		w |= reg(allocs, f.A, extra) << 10
	}
	if row.Imm != INone {
		k := &immKinds[row.Imm]
		field, ok := k.field(immediateOf(inst))
		if !ok {
			reject(row, inst)
		}
		w |= field
		kind = k.patch
	}
	if row.Flags&HasCond != 0 {
		w |= row.cond(inst)
	}
	return w, kind
}

// reject says that an operand does not fit.
func reject(row *Row, inst *backend.Inst) {
	panic(fmt.Sprintf("asm: %s does not fit: %+v", row.Name, *inst))
}

// cond returns the condition's field.
func (r *Row) cond(inst *backend.Inst) uint32 {
	c := uint32(inst.Cond)
	if c >= uint32(NumConds) {
		reject(r, inst)
	}
	switch {
	case r.Flags&CondLow != 0:
		return c
	case r.Flags&CondInv != 0:
		c ^= 1
	}
	return c << 12
}

// width returns the width in bytes of the memory operand.
func (r *Row) width(size uint8) uint8 {
	if r.Mem != 0 {
		return r.Mem
	}
	return size
}

// literal returns the word of the literal form: in bits 30 and 31 it has the size.
func (r *Row) literal(size uint8) uint32 {
	switch {
	case r.Mem != 0 || size == 4:
		return r.Lit
	case size == 8:
		return r.Lit | 1<<30
	}
	return r.Lit | 1<<31
}

// address returns the fields of an address in one word, without the registers; false if it does not fit. For rows with
// AddrLea there are no fields.
func (r *Row) address(inst *backend.Inst) (uint32, bool) {
	switch inst.Mode {
	case backend.ModeBase:
		return r.dispField(inst.Size, inst.Disp)
	case backend.ModeBaseIndex:
		return r.indexField(inst)
	case modeLow12:
		return r.dispField(inst.Size, 0)
	case backend.ModeConst:
		f, ok := words(inst.Disp, 19)
		return f << 5, ok
	}
	return 0, false
}

// dispField returns the field of a displacement.
func (r *Row) dispField(size uint8, disp int32) (uint32, bool) {
	width := int32(r.width(size))
	switch r.Addr {
	case AddrMem:
		if q := disp / width; disp&(width-1) == 0 && q>>12 == 0 {
			return 1<<24 | uint32(q)<<10, true
		}
		return uint32(disp) & 0x1ff << 12, disp>>8 == disp>>31
	case AddrPair, AddrPairPre, AddrPairPost:
		q := disp / width
		return uint32(q) & 0x7f << 15, disp&(width-1) == 0 && q>>6 == q>>31
	case AddrLea:
		return 0, true
	}
	return 0, false
}

// indexField returns the field of an index's extension.
func (r *Row) indexField(inst *backend.Inst) (uint32, bool) {
	e := indexExtend(inst)
	if inst.Disp != 0 || e&2 == 0 || inst.Imm>>3 != 0 {
		return 0, false
	}
	if r.Addr == AddrLea {
		return 0, inst.Scale <= 4
	}
	scaled := uint32(0)
	if inst.Scale != 0 {
		scaled = 1
	}
	return 1<<21 | uint32(e)<<13 | scaled<<12 | 1<<11, r.Addr == AddrMem && (scaled == 0 || r.width(inst.Size) == 1<<inst.Scale)
}

// indexExtend returns the extension of an index.
func indexExtend(inst *backend.Inst) Extend {
	if inst.Imm == 0 {
		return UXTX
	}
	return Extend(inst.Imm)
}

// FitsDisp reports whether an address [base + disp] (backend.ModeBase) can be encoded in an instruction of
// the row op and the given size. If so, the instruction is one word, unless it is Lea.
func FitsDisp(op backend.Op, size uint8, disp int32) bool {
	_, ok := rows[op].dispField(size, disp)
	return ok
}
