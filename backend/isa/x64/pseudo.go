package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// The pseudo-instructions: sequences with branches inside. Their operands are in the
// comments of their functions; where a result is written before the last operand is
// read, it is an early one or the operand a late one.
const (
	opClz backend.Op = asm.NumOps + iota
	opCtz
	opSrem
	opFmin
	opFmax
	opFromUint64
	opToSint64
	opToUint64
	opToUint64Sat
	opToUint32Sat
	opToSint32Sat
	opToSint64Sat
	opJumpTable
	opJumpTableBare
	opJumpChain
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
	opClz - asm.NumOps:           {"clz", 20, emitClz},
	opCtz - asm.NumOps:           {"ctz", 20, emitCtz},
	opSrem - asm.NumOps:          {"srem", 24, emitSrem},
	opFmin - asm.NumOps:          {"fmin", 32, emitFmin},
	opFmax - asm.NumOps:          {"fmax", 32, emitFmax},
	opFromUint64 - asm.NumOps:    {"cvt_from_u64", 48, emitFromUint64},
	opToSint64 - asm.NumOps:      {"cvt_to_s64", 40, emitToSint64},
	opToUint64 - asm.NumOps:      {"cvt_to_u64", 96, emitToUint64},
	opToUint64Sat - asm.NumOps:   {"cvt_to_u64_sat", 96, emitToUint64Sat},
	opToUint32Sat - asm.NumOps:   {"cvt_to_u32_sat", 64, emitToUint32Sat},
	opToSint32Sat - asm.NumOps:   {"cvt_to_s32_sat", 64, emitToSint32Sat},
	opToSint64Sat - asm.NumOps:   {"cvt_to_s64_sat", 64, emitToSint64Sat},
	opJumpTable - asm.NumOps:     {"jump_table", 48 + firstBytes, emitJumpTable},
	opJumpTableBare - asm.NumOps: {"jump_table_bare", 40 + firstBytes, emitJumpTable},
	opCharge - asm.NumOps:        {"charge", 7 + jccLen, emitCharge},
	opChargeBy - asm.NumOps:      {"charge_by", 3 + jccLen, emitChargeBy},
	opJumpChain - asm.NumOps:     {"jump_chain", backend.MaxChain*chainEntryBytes + jmpLen, emitJumpChain},
}

// pushPseudo appends a unary pseudo-instruction with src in a register.
func pushPseudo(l *lower, in backend.Inst, src, dst vreg) {
	l.Ops = append(l.Ops, regalloc.UseOf(src, regalloc.Reg), regalloc.DefOf(dst, regalloc.Reg))
	l.Push(in, 0)
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
	allocs := backend.InRegs(regs...)
	put(s.e, &backend.Inst{Op: op, Size: size, Imm: imm}, allocs[:], s.src)
}

// pool emits an instruction on constant n and a register.
func (s *seq) pool(op backend.Op, size uint8, n uint32, r regalloc.PReg) {
	in := backend.Inst{Op: op, Size: size, Mode: backend.ModeConst}.OfConst(n)
	put(s.e, &in, []regalloc.Allocation{regalloc.InReg(r)}, s.src)
}

// j emits a short branch to a label of the sequence.
func (s *seq) j(c asm.Cond, l machbuffer.Label) { branchTo(s.e.Buf, &condForms[c].Same[0], l) }

// jmp emits an unconditional one.
func (s *seq) jmp(l machbuffer.Label) { branchTo(s.e.Buf, &jumpForms[0], l) }

func (s *seq) label() machbuffer.Label { return s.e.Buf.NewLabel() }
func (s *seq) bind(l machbuffer.Label) { s.e.Buf.Bind(l) }
func (s *seq) trap(c asm.Cond, code abi.TrapCode) {
	jccFar(s.e, c, s.e.TrapLabel(code, s.src))
}

// emitCharge: no operands. Most processors execute the subtraction and the branch as one operation.
func emitCharge(s *seq) {
	s.imm(asm.SubImm, 8, s.in.Imm, fuelReg)
	s.e.Charge(s.in, s.src, belowZero)
}

// emitChargeBy: use n.
func emitChargeBy(s *seq) {
	s.op(asm.Sub, 8, fuelReg, s.r(0))
	s.e.Charge(s.in, s.src, belowZero)
}

func belowZero(e *backend.Emitter, l machbuffer.Label) { jccFar(e, asm.L, l) }

// emitClz: use x, def d (may be x's register). For 0 the result of bsr is undefined.
func emitClz(s *seq) {
	w := int64(s.in.Size) * 8
	done := s.label()
	s.op(asm.Bsr, s.in.Size, s.r(0), s.r(1))
	s.j(asm.NE, done)
	s.imm(asm.MovImm, 4, 2*w-1, s.r(1)) // becomes w
	s.bind(done)
	s.imm(asm.XorImm, 4, w-1, s.r(1))
}

// emitCtz: use x, def d (may be x's register).
func emitCtz(s *seq) {
	done := s.label()
	s.op(asm.Bsf, s.in.Size, s.r(0), s.r(1))
	s.j(asm.NE, done)
	s.imm(asm.MovImm, 4, int64(s.in.Size)*8, s.r(1))
	s.bind(done)
}

// emitSrem: use x in rax, late use y, def rax, def d in rdx. The smallest integer % -1 is 0,
// for which the hardware would fault.
func emitSrem(s *seq) {
	size, y := s.in.Size, s.r(1)
	minus, done := s.label(), s.label()
	s.imm(asm.CmpImm, size, -1, y)
	s.j(asm.E, minus)
	s.op(asm.Cdq, size)
	s.e.Trap(s.e.Buf.Offset(), abi.TrapCode(s.in.Trap), abi.FaultDivide, 0, s.src)
	s.op(asm.Idiv, size, asm.RAX, asm.RDX, y)
	s.jmp(done)
	s.bind(minus)
	s.op(asm.Zero, 4, asm.RDX)
	s.bind(done)
}

// emitMinMax: use a, use b, def d in a's register. Equal operands may be zeros of different
// sign, and the row equal combines the signs. If an operand is a NaN, the sum of both is a NaN.
func emitMinMax(s *seq, minmax, equal backend.Op) {
	size, a, b := s.in.Size, s.r(0), s.r(1)
	differ, nan, done := s.label(), s.label(), s.label()
	s.op(asm.Ucomif, size, a, b)
	s.j(asm.NE, differ)
	s.j(asm.P, nan)
	s.op(equal, size, a, b)
	s.jmp(done)
	s.bind(nan)
	s.op(asm.Addf, size, a, b)
	s.jmp(done)
	s.bind(differ)
	s.op(minmax, size, a, b)
	s.bind(done)
}

func emitFmin(s *seq) { emitMinMax(s, asm.Minf, asm.Orp) }
func emitFmax(s *seq) { emitMinMax(s, asm.Maxf, asm.Andp) }

// emitFromUint64: use x, early temporary t, def d. From 2^63 on x is halved, with the lost bit
// or-ed to the lowest so that rounding is the same, and the result doubled.
func emitFromUint64(s *seq) {
	x, t, d := s.r(0), s.r(1), s.r(2)
	cvt, add := asm.CvtIntToF32, asm.Addf
	if s.in.Size == 8 {
		cvt = asm.CvtIntToF64
	}
	big, even, done := s.label(), s.label(), s.label()
	s.op(asm.Zerof, 0, d)
	s.op(asm.Test, 8, x, x)
	s.j(asm.S, big)
	s.op(cvt, 8, x, d)
	s.jmp(done)
	s.bind(big)
	s.op(asm.Mov, 8, x, t)
	s.imm(asm.ShrImm, 8, 1, t)
	s.j(asm.AE, even)
	s.imm(asm.OrImm, 8, 1, t)
	s.bind(even)
	s.op(cvt, 8, t, d)
	s.op(add, s.in.Size, d, d)
	s.bind(done)
}

// truncate emits d = x truncated to a signed integer of n bytes.
func (s *seq) truncate(n uint8, x, d regalloc.PReg) {
	t := clif.F32
	if s.in.Size == 8 {
		t = clif.F64
	}
	s.op(toInt(t), n, x, d)
}

// emitToSint64: use x, def d. If the truncation gives the smallest integer, that is right for -2^63, the constant, alone.
func emitToSint64(s *seq) {
	x, d := s.r(0), s.r(1)
	done := s.label()
	s.truncate(8, x, d)
	s.imm(asm.CmpImm, 8, 1, d) // overflows for the smallest only
	s.j(asm.NO, done)
	s.op(asm.Ucomif, s.in.Size, x, x)
	s.trap(asm.P, abi.TrapBadConversion)
	s.pool(asm.Ucomif, s.in.Size, s.in.Const(), x)
	s.trap(asm.NE, abi.TrapIntegerOverflow)
	s.bind(done)
}

// above emits d = x - 2^63 truncated, for x from 2^63 on; constant Const+1 is -2^63.
func (s *seq) above(x, d regalloc.PReg) {
	s.pool(asm.MovfLoad, s.in.Size, s.in.Const()+1, scratch)
	s.op(asm.Addf, s.in.Size, scratch, x)
	s.truncate(8, scratch, d)
	s.op(asm.Test, 8, d, d)
}

// compareTop compares x with the first constant, 2^63.
func (s *seq) compareTop(x regalloc.PReg) {
	s.pool(asm.Ucomif, s.in.Size, s.in.Const(), x)
}

// emitToUint64: use x, def d, early temporary t. x is not a NaN.
func emitToUint64(s *seq) {
	x, d, t := s.r(0), s.r(1), s.r(2)
	big, done := s.label(), s.label()
	s.compareTop(x)
	s.j(asm.AE, big)
	s.truncate(8, x, d)
	s.op(asm.Test, 8, d, d)
	s.trap(asm.S, abi.TrapIntegerOverflow)
	s.jmp(done)
	s.bind(big)
	s.above(x, d)
	s.trap(asm.S, abi.TrapIntegerOverflow)
	s.imm(asm.MovImm, 8, math.MinInt64, t)
	s.op(asm.Xor, 8, d, t)
	s.bind(done)
}

// emitToUint64Sat: use x, def d, early temporary t. A NaN is not above 2^63, and truncated gives the
// smallest integer, so 0.
func emitToUint64Sat(s *seq) {
	x, d, t := s.r(0), s.r(1), s.r(2)
	big, most, done := s.label(), s.label(), s.label()
	s.compareTop(x)
	s.j(asm.AE, big)
	s.truncate(8, x, d)
	s.op(asm.Test, 8, d, d)
	s.j(asm.NS, done)
	s.op(asm.Zero, 4, d)
	s.jmp(done)
	s.bind(big)
	s.above(x, d)
	s.j(asm.S, most)
	s.imm(asm.MovImm, 8, math.MinInt64, t)
	s.op(asm.Xor, 8, d, t)
	s.jmp(done)
	s.bind(most)
	s.imm(asm.MovImm, 8, -1, d)
	s.bind(done)
}

// emitToUint32Sat: use x, def d, early temporary t. If x does not fit, d is 0 for a NaN or a negative x, else the
// largest integer.
func emitToUint32Sat(s *seq) {
	x, d, t := s.r(0), s.r(1), s.r(2)
	done := s.label()
	s.truncate(8, x, d)
	s.op(asm.Mov, 4, d, t)
	s.op(asm.Cmp, 8, t, d)
	s.j(asm.E, done)
	s.op(asm.Zerof, 0, scratch)
	s.op(asm.Ucomif, s.in.Size, x, scratch)
	s.imm(asm.MovImm, 4, 0, d) // keeps flags
	s.j(asm.BE, done)
	s.imm(asm.MovImm, 4, math.MaxUint32, d)
	s.bind(done)
}

// toSintSat: use x, def d. If the truncation gives the smallest integer, this may be right, or x may be a NaN or too
// large.
func toSintSat(s *seq, n uint8, most int64) {
	x, d := s.r(0), s.r(1)
	number, done := s.label(), s.label()
	s.truncate(n, x, d)
	s.imm(asm.CmpImm, n, 1, d) // overflows for the smallest only
	s.j(asm.NO, done)
	s.op(asm.Ucomif, s.in.Size, x, x)
	s.j(asm.NP, number)
	s.op(asm.Zero, 4, d)
	s.jmp(done)
	s.bind(number)
	s.op(asm.Zerof, 0, scratch)
	s.op(asm.Ucomif, s.in.Size, x, scratch)
	s.j(asm.B, done)
	s.imm(asm.MovImm, n, most, d)
	s.bind(done)
}

func emitToSint32Sat(s *seq) { toSintSat(s, 4, math.MaxInt32) }
func emitToSint64Sat(s *seq) { toSintSat(s, 8, math.MaxInt64) }

// firstBytes is the most that emitFirst appends.
const firstBytes = 7 + jccLen

// emitFirst emits what stands in front of a jump table (backend.Inst.First), if anything does.
func (s *seq) emitFirst() {
	e, below := s.e, asm.B
	switch n := s.in.First(); n {
	case 0:
		return
	case 1:
		s.op(asm.Test, 4, s.r(0), s.r(0))
		below = asm.E
	default:
		s.imm(asm.CmpImm, 4, int64(n), s.r(0))
	}
	jccFar(e, below, e.Label(e.Dest(e.Table(s.in.Table())[0])))
}

// emitJumpTable: use index, early temporary t, def u (may be the index's register). The table's entries are
// distances from its start. They need no landing code, which would make Go's programs 6 % larger: the table cannot be written, and the index is
// bounded. If the processor wrongly predicts that the index is in range, it uses index 0, except in
// opJumpTableBare.
func emitJumpTable(s *seq) {
	e, t, u := s.e, s.r(1), s.r(2)
	blocks := e.Table(s.in.Table())
	index, table, distance := s.r(0), t, u
	s.emitFirst()
	s.imm(asm.CmpImm, 4, int64(s.in.Entries()), index)
	jccFar(e, asm.AE, e.Label(e.Dest(blocks[len(blocks)-1])))
	if s.in.Op == opJumpTable {
		s.mask(4, index, t)
		index, table, distance = t, u, t
	}
	leaLabel(e, table, e.TableLabel(s.in.Table()))
	put(e, &backend.Inst{Op: asm.Movsx32, Size: 8, Mode: backend.ModeBaseIndex, Scale: 2},
		[]regalloc.Allocation{regalloc.InReg(table), regalloc.InReg(index), regalloc.InReg(distance)}, s.src)
	s.op(asm.Add, 8, t, u)
	e.Buf.PutU8(asm.NoTrack)
	s.op(asm.JmpInd, 8, t)
	e.Buf.NoFallThrough()
}

// mask emits d = x if the carry flag is set, else d = 0. The flag is set if a comparison has found x below its bound. No
// branch is involved, so nothing can be mispredicted.
func (s *seq) mask(size uint8, x, d regalloc.PReg) {
	s.op(asm.Sbb, size, d, d)
	s.op(asm.And, size, d, x)
}

// chainEntryBytes is the most that emitJumpChain appends for an entry: a comparison with a small constant, and a branch.
const chainEntryBytes = 4 + jccLen

// emitJumpChain: use index. A comparison for each entry.
func emitJumpChain(s *seq) {
	e := s.e
	blocks := e.Table(s.in.Table())
	for k, b := range blocks[:len(blocks)-1] {
		if k == 0 {
			s.op(asm.Test, 4, s.r(0), s.r(0))
		} else {
			s.imm(asm.CmpImm, 4, int64(k), s.r(0))
		}
		jccWithin(e, asm.E, e.Dest(b), uint32(len(blocks)-2-k)*chainEntryBytes+jmpLen)
	}
	jumpTo(e, e.Dest(blocks[len(blocks)-1]))
}
