package asm

import (
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// step is one word of an expansion.
type step struct {
	inst backend.Inst
	regs [4]regalloc.Allocation
}

// steps are the words that an instruction stands for.
type steps struct {
	n    int
	list [MaxLen / WordBytes]step
}

// add appends a word.
func (s *steps) add(inst backend.Inst, regs ...regalloc.PReg) {
	st := &s.list[s.n]
	st.inst = inst
	for i, r := range regs {
		st.regs[i] = regalloc.InReg(r)
	}
	s.n++
}

// expand finds the words of inst.
func (s *steps) expand(inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) {
	row := &rows[inst.Op]
	switch {
	case inst.Op == MovImm:
		s.constant(inst.Size, inst.Imm, allocs[0].Reg())
	case row.Addr == AddrLea:
		s.lea(inst, allocs, fr)
	case inst.Mode == backend.ModeSym:
		if inst.Disp&(int32(row.width(inst.Size))-1) != 0 {
			reject(row, inst)
		}
		s.add(backend.Inst{Op: Adrp, Disp: inst.Disp}.OfSymbol(inst.Symbol()), AddrScratch)
		s.access(inst, modeLow12, inst.Disp, AddrScratch, allocs)
	case inst.Mode == backend.ModeOutArg:
		s.near(inst, SP, inst.Disp, AddrScratch, allocs)
	case inst.Mode == backend.ModeLocal:
		s.inFrame(inst, fr.Locals+inst.Disp, fr, AddrScratch, allocs)
	default:
		panic(fmt.Sprintf("asm: %s in mode %d", row.Name, inst.Mode))
	}
}

// constant makes x in d.
func (s *steps) constant(size uint8, x int64, d regalloc.PReg) {
	if size == 4 {
		x = int64(uint32(x))
	}
	list, n := ConstSteps(uint64(x))
	for i := range list[:n] {
		st := &list[i]
		inst := backend.Inst{Op: st.Op, Size: st.Size, Scale: st.Shift, Imm: int64(st.Imm)}
		if st.Op == Movz || st.Op == Movn {
			s.add(inst, d)
		} else if st.Op == OrrImm {
			s.add(inst, ZR, d)
		} else {
			s.add(inst, d, d)
		}
	}
}

// access appends inst with the address [base + disp]; allocs are its other operands.
func (s *steps) access(inst *backend.Inst, m backend.Mode, disp int32, base regalloc.PReg, allocs []regalloc.Allocation) {
	st := &s.list[s.n]
	st.inst, st.regs[0] = *inst, regalloc.InReg(base)
	st.inst.Mode, st.inst.Disp = m, disp
	copy(st.regs[1:], allocs)
	s.n++
}

// inFrame appends an access at disp from fp, by fp or sp.
func (s *steps) inFrame(inst *backend.Inst, disp int32, fr *backend.Frame, scratch regalloc.PReg, allocs []regalloc.Allocation) {
	if FitsDisp(inst.Op, inst.Size, disp) {
		s.access(inst, backend.ModeBase, disp, FP, allocs)
		return
	}
	s.near(inst, SP, disp+int32(fr.Size), scratch, allocs)
}

// near appends an access at base + disp, by way of scratch where it is out of reach.
func (s *steps) near(inst *backend.Inst, base regalloc.PReg, disp int32, scratch regalloc.PReg, allocs []regalloc.Allocation) {
	if low := disp & 0xfff; disp>>24 == 0 && disp > 0xfff && FitsDisp(inst.Op, inst.Size, low) && !FitsDisp(inst.Op, inst.Size, disp) {
		s.add(backend.Inst{Op: AddImm, Size: 8, Imm: int64(disp - low)}, base, scratch)
		base, disp = scratch, low
	}
	if !FitsDisp(inst.Op, inst.Size, disp) {
		s.addOffset(base, int64(disp), scratch, scratch)
		base, disp = scratch, 0
	}
	s.access(inst, backend.ModeBase, disp, base, allocs)
}

// addOffset appends d = base + x, where -2^32 < x < 2^32. It uses temp if the magnitude of x is 2^24 or more; temp may be d
// unless d is base.
func (s *steps) addOffset(base regalloc.PReg, x int64, d, temp regalloc.PReg) {
	op, abs := AddImm, x
	if x < 0 {
		op, abs = SubImm, -x
	}
	high, low := abs&^0xfff, abs&0xfff
	switch {
	case abs>>24 != 0:
		s.constant(8, x, temp)
		s.add(backend.Inst{Op: AddExt, Size: 8, Imm: Extended(UXTX, 0)}, base, temp, d)
	case high == 0 || low == 0:
		s.add(backend.Inst{Op: op, Size: 8, Imm: abs}, base, d)
	default:
		s.add(backend.Inst{Op: op, Size: 8, Imm: high}, base, d)
		s.add(backend.Inst{Op: op, Size: 8, Imm: low}, d, d)
	}
}

// lea appends the words of Lea.
func (s *steps) lea(inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) {
	if _, ok := rows[Lea].address(inst); !ok && plainModes>>inst.Mode&1 != 0 {
		reject(&rows[Lea], inst)
	}
	d := allocs[numAddr(inst.Mode)].Reg()
	switch inst.Mode {
	case backend.ModeBase:
		s.addOffset(allocs[0].Reg(), int64(inst.Disp), d, AddrScratch)
	case backend.ModeBaseIndex:
		s.add(backend.Inst{Op: AddExt, Size: 8, Imm: Extended(indexExtend(inst), inst.Scale)}, allocs[0].Reg(), allocs[1].Reg(), d)
	case backend.ModeSym:
		s.add(backend.Inst{Op: Adrp, Disp: inst.Disp}.OfSymbol(inst.Symbol()), d)
		s.add(backend.Inst{Op: AddImm, Size: 8, Mode: modeLow12, Disp: inst.Disp}.OfSymbol(inst.Symbol()), d, d)
	case backend.ModeConst:
		s.add(backend.Inst{Op: Adr, Disp: inst.Disp}.OfConst(inst.Const()), d)
	case backend.ModeOutArg:
		s.addOffset(SP, int64(inst.Disp), d, d)
	case backend.ModeLocal:
		disp := int64(fr.Locals) + int64(inst.Disp)
		if !FitsArith(max(disp, -disp)) && FitsArith(disp+int64(fr.Size)) {
			s.addOffset(SP, disp+int64(fr.Size), d, d)
			return
		}
		s.addOffset(FP, disp, d, d)
	default:
		panic(fmt.Sprintf("asm: lea in mode %d", inst.Mode))
	}
}
