package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// The pseudo-instructions: sequences with branches or flags inside. Their operands are in the
// comments of their functions; where a result is written before the last operand is
// read, it is an early one or the operand a late one.
const (
	// opCallInd: a call of the address in memory, ModeSym or ModeBase; the operands of the address come first,
	// then those of the call; Popped as of a call. See emitCallInd.
	opCallInd backend.Op = asm.NumOps + iota
	// opTailCallInd: a tail call of the address in memory, ModeSym; the operands are those of the call. opTailCallReg: of the address in the first operand. See emitTailCall.
	opTailCallInd
	opTailCallReg
	opJumpTable
	opJumpTableBare
	opJumpChain
	// opCompareTwo: a comparison and, if that does not decide, another one; see pair. Any tail.
	opCompareTwo
	opCharge
	opChargeBy
	endPseudo
)

// pseudo describes a pseudo-instruction: name, bound of its size, emission.
type pseudo struct {
	name string
	max  uint32
	emit func(s *seq)
}

var pseudos = [endPseudo - asm.NumOps]pseudo{
	opCallInd - asm.NumOps:       {"call_ind", 5 * 4, nil},
	opTailCallInd - asm.NumOps:   {"tail_call_ind", 3 * 4, nil},
	opTailCallReg - asm.NumOps:   {"tail_call_reg", 2 * 4, nil},
	opJumpTable - asm.NumOps:     {"jump_table", 10*4 + firstBytes, emitJumpTable},
	opJumpTableBare - asm.NumOps: {"jump_table_bare", 8*4 + firstBytes, emitJumpTable},
	opJumpChain - asm.NumOps:     {"jump_chain", 8 * (backend.MaxChain + 1), emitJumpChain},
	opCompareTwo - asm.NumOps:    {"compare_two", 2 * 4, emitCompareTwo},
	opCharge - asm.NumOps:        {"charge", 3 * 4, emitCharge},
	opChargeBy - asm.NumOps:      {"charge_by", 3 * 4, emitChargeBy},
}

// seq is the emission of one pseudo-instruction.
type seq struct {
	e    *backend.Emitter
	in   *backend.Inst
	src  uint32
	regs []regalloc.Allocation
}

// r returns the register of operand n.
func (s *seq) r(n int) regalloc.PReg { return s.regs[n].Reg() }

// op emits an instruction on physical registers, in the order of the row's roles; a Def
// that reuses is left out.
func (s *seq) op(op backend.Op, size uint8, regs ...regalloc.PReg) { s.imm(op, size, 0, regs...) }

func (s *seq) imm(op backend.Op, size uint8, imm int64, regs ...regalloc.PReg) {
	s.cond(op, size, 0, imm, regs...)
}

// cond is imm of an instruction with a condition.
func (s *seq) cond(op backend.Op, size uint8, c asm.Cond, imm int64, regs ...regalloc.PReg) {
	allocs := backend.InRegs(regs...)
	put(s.e, &backend.Inst{Op: op, Size: size, Cond: uint8(c), Imm: imm}, allocs[:], s.src)
}

// j emits a branch to a label.
func (s *seq) j(c asm.Cond, l machbuffer.Label) { emitBranch(s.e, onConds[c], l) }

// compareIndex compares the index with k; t is a register for it, or NoPReg if it is small.
func (s *seq) compareIndex(k int64, t regalloc.PReg) {
	if asm.FitsArith(k) {
		s.imm(asm.CmpImm, 4, k, s.r(0))
		return
	}
	s.imm(asm.MovImm, 4, k, t)
	s.op(asm.Cmp, 4, s.r(0), t)
}

// emitCharge: no operands.
func emitCharge(s *seq) {
	low := s.in.Imm & 0xfff
	if high := s.in.Imm - low; high != 0 {
		s.imm(asm.SubImm, 8, high, fuelReg, fuelReg)
	}
	s.imm(asm.SubsImm, 8, low, fuelReg, fuelReg)
	s.e.Charge(s.in, s.src, belowZero)
}

// emitChargeBy: use n.
func emitChargeBy(s *seq) {
	s.op(asm.Sub, 8, fuelReg, s.r(0), fuelReg)
	s.imm(asm.CmpImm, 8, 0, fuelReg)
	s.e.Charge(s.in, s.src, belowZero)
}

func belowZero(e *backend.Emitter, l machbuffer.Label) { emitBranch(e, onConds[asm.LT], l) }

// firstBytes is the most that emitFirst appends.
const firstBytes = 4 * 4

// emitFirst emits what stands in front of a jump table (backend.Inst.First), if anything does. t is a register for it.
func (s *seq) emitFirst(t regalloc.PReg) {
	e, n := s.e, int64(s.in.First())
	if n == 0 {
		return
	}
	first := e.Label(e.Dest(e.Table(s.in.Table())[0]))
	if n == 1 {
		emitBranch(e, testOf(&backend.Inst{Op: asm.Cbz, Size: 4}, s.regs), first)
		return
	}
	s.compareIndex(n, t)
	s.j(asm.LO, first)
}

// emitJumpTable: use index, early temporary t, def u (may be the index's register). The table follows, and its
// entries are distances from its start. If the processor wrongly predicts that the index is in range, it
// uses index 0, except in opJumpTableBare.
func emitJumpTable(s *seq) {
	e, t, u := s.e, s.r(1), s.r(2)
	b := e.Buf
	blocks := e.Table(s.in.Table())
	n := len(blocks) - 1
	s.emitFirst(t)
	s.compareIndex(int64(n), t)
	s.j(asm.HS, e.Label(e.Dest(blocks[n])))
	index := s.r(0)
	if s.in.Op == opJumpTable {
		s.cond(asm.Csel, 4, asm.HS, 0, asm.ZR, index, u)
		s.op(asm.Csdb, 0)
		index = u
	}
	table := e.TableLabel(s.in.Table())
	at := b.Offset()
	s.op(asm.Adr, 8, t)
	b.UseLabel(at, adr21, table)
	put(e, &backend.Inst{Op: asm.Ldrsw, Size: 8, Mode: backend.ModeBaseIndex, Scale: 2},
		[]regalloc.Allocation{regalloc.InReg(t), regalloc.InReg(index), regalloc.InReg(u)}, s.src)
	s.op(asm.Add, 8, t, u, t)
	s.op(asm.Br, 8, t)
	b.Bind(table)
	e.TableEntries(s.in.Table())
}

// emitJumpChain: use index. A comparison for each entry.
func emitJumpChain(s *seq) {
	e := s.e
	blocks := e.Table(s.in.Table())
	for k, b := range blocks[:len(blocks)-1] {
		l := e.Label(e.Dest(b))
		if k == 0 {
			emitBranch(e, testOf(&backend.Inst{Op: asm.Cbz, Size: 4}, s.regs), l)
			continue
		}
		s.compareIndex(int64(k), regalloc.NoPReg)
		s.j(asm.EQ, l)
	}
	jumpTo(e, e.Dest(blocks[len(blocks)-1]))
}

// pair is Inst.Second of opCompareTwo. Size and Imm of the Inst belong to the first comparison; Cond is the condition after
// both. The operands of the first comparison come first, then those of the second, then those of the tail.
type pair struct {
	first, second backend.Op // second is Ccmp, CcmpImm, CcmnImm or Fccmp
	size          uint8      // of the second
	cond          asm.Cond   // under which the second is made
	imm           int64      // of the second
}

// Bits of a pair in Inst.Second; the size is 4 or 8.
const (
	pairCond, pairSize, pairSecond, pairFirst = 9, 13, 14, 22
	secondOp, firstOp                         = 1<<(pairFirst-pairSecond) - 1, 1<<(32-pairFirst) - 1
)

// pack returns the pair as Inst.Second.
func (p *pair) pack() int32 {
	return int32(p.first)<<pairFirst | int32(p.second)<<pairSecond | int32(p.size>>3)<<pairSize | int32(p.cond)<<pairCond | int32(p.imm)
}

// pairOf returns the pair that was packed.
func pairOf(packed int32) pair {
	return pair{
		first: backend.Op(packed>>pairFirst) & firstOp, second: backend.Op(packed>>pairSecond) & secondOp,
		size: 4 << (packed >> pairSize & 1), cond: asm.Cond(packed >> pairCond & 15), imm: int64(packed & (1<<pairCond - 1)),
	}
}

// emitCompareTwo: uses of both comparisons.
func emitCompareTwo(s *seq) {
	e, p := s.e, pairOf(s.in.Second())
	shapes := e.Target.Shapes
	first := backend.Inst{Op: p.first, Size: s.in.Size, Imm: s.in.Imm}
	second := backend.Inst{Op: p.second, Size: p.size, Cond: uint8(p.cond), Imm: p.imm}
	put(e, &first, s.regs, s.src)
	regs := s.regs[shapes.NumOwn(&first):]
	put(e, &second, regs, s.src)
	emitTail(e, s.in, s.regs, regs[shapes.NumOwn(&second):], s.src)
}
