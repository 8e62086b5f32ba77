package x64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// twoAddress are the rows of a two-address operation: with a register or memory, and with an immediate.
type twoAddress struct{ op, imm backend.Op }

var aluRows = [clif.NumOpcodes]twoAddress{
	clif.OpIadd: {asm.Add, asm.AddImm}, clif.OpIsub: {asm.Sub, asm.SubImm}, clif.OpImul: {asm.Imul, asm.ImulImm},
	clif.OpBand: {asm.And, asm.AndImm}, clif.OpBor: {asm.Or, asm.OrImm}, clif.OpBxor: {asm.Xor, asm.XorImm},
}

// lowerAlu appends x op y for a two-address operation.
func lowerAlu(l *lower, i clif.Inst, d *clif.InstData) {
	if l.Select(termAlu, i, d) {
		return
	}
	t, dst := d.Type, l.Def(d, 0)
	x, y := d.ArgA(), d.ArgB()
	if d.Op.Info().Commutative {
		if x, y = l.ConstLast(x, y); overwriteSecond(l, x, y) {
			x, y = y, x
		}
	}
	l.Emit(backend.Inst{Op: aluRows[d.Op].op, Size: backend.SizeOf(t)}, l.UseAs(t, x), l.UseAs(t, y), dst)
}

func lowerAluImm(l *lower, m *match) {
	dst := l.Def(m.D, 0)
	l.Emit(backend.Inst{Op: aluRows[m.D.Op].imm, Size: backend.SizeOf(m.T), Imm: m.K}, l.UseAs(m.T, m.X()), dst)
}

func lowerAluMem(l *lower, m *match) {
	dst, a := l.Def(m.D, 0), loaded(l, m)
	emitMem(l, backend.Inst{Op: aluRows[m.D.Op].op, Size: backend.SizeOf(m.T)}, a, []vreg{l.UseAs(m.T, m.X())}, []vreg{dst})
}

// overwriteSecond reports whether a commutative two-address instruction should
// overwrite y instead of x: if only y ends here, or if both do and y is a block
// parameter, since then the result is often its next value.
func overwriteSecond(l *lower, x, y clif.Value) bool {
	ex, ey := l.EndsHere(x), l.EndsHere(y)
	if ex != ey {
		return ey
	}
	return ex && l.IsParam(y) && !l.IsParam(x)
}

// lea appends dst = a.
func lea(l *lower, m *match, a amode) { l.Access(asm.Lea, backend.SizeOf(m.T), a, l.Def(m.D, 0)) }

// lowerLea appends the sum of x, y scaled by j, and k, as far as the rule has them. lea truncates to the type, and
// all additions have that type.
func lowerLea(l *lower, m *match) {
	lea(l, m, amode{Mode: backend.ModeBaseIndex, N: 2, Scale: uint8(amount(m.T, m.J)), Disp: int32(m.K),
		Regs: [2]vreg{l.UseAs(m.T, m.X()), l.UseAs(m.T, m.Y())}})
}

func lowerLeaImm(l *lower, m *match) { lea(l, m, backend.Based(l.UseAs(m.T, m.X()), int32(m.K))) }

func lowerLeaNegImm(l *lower, m *match) { lea(l, m, backend.Based(l.UseAs(m.T, m.X()), int32(-m.K))) }

func lowerImulLea(l *lower, m *match) {
	r := l.UseAs(m.T, m.X())
	lea(l, m, backend.Indexed(r, r, uint8(bits.TrailingZeros64(uint64(m.K-1)))))
}

func lowerIshlLea(l *lower, m *match) {
	r := l.UseAs(m.T, m.X())
	lea(l, m, backend.Indexed(r, r, 0))
}

// unary appends in x.
func unary(l *lower, m *match, in backend.Inst) {
	in.Size = backend.SizeOf(m.T)
	l.Emit(in, l.UseAs(m.T, m.X()), l.Def(m.D, 0))
}

func lowerNeg(l *lower, m *match) { unary(l, m, backend.Inst{Op: asm.Neg}) }
func lowerNot(l *lower, m *match) { unary(l, m, backend.Inst{Op: asm.Not}) }

func lowerImulShift(l *lower, m *match) {
	unary(l, m, backend.Inst{Op: asm.ShlImm, Imm: int64(bits.TrailingZeros64(uint64(m.K)))})
}

func lowerImulMemImm(l *lower, m *match) {
	in := backend.Inst{Op: asm.ImulImm, Size: backend.SizeOf(m.T), Imm: m.K}
	emitMem(l, in, loaded(l, m), nil, []vreg{l.Def(m.D, 0)})
}

// zextRow returns the row that keeps the bits of the mask k, 8, 16 or 32 ones, and clears the rest; 0 for other masks.
func zextRow(t clif.Type, k int64) backend.Op {
	if t == clif.I32 {
		k = int64(uint32(k))
	}
	switch k {
	case 0xff:
		return asm.Movzx8
	case 0xffff:
		return asm.Movzx16
	case 0xffff_ffff:
		return asm.Mov
	}
	return 0
}

func lowerZext(l *lower, m *match) {
	l.Emit(backend.Inst{Op: zextRow(m.T, m.K), Size: 4}, l.UseAs(m.T, m.X()), l.Def(m.D, 0))
}

// lowerBandLow masks in 32 bits: the result is below 2^31.
func lowerBandLow(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: m.K}, l.Use(m.X()), l.Def(m.D, 0))
}

func lowerAndn(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.Andn, Size: backend.SizeOf(m.T)}, l.UseAs(m.T, m.Y()), l.UseAs(m.T, m.X()), l.Def(m.D, 0))
}

// shiftRows are the rows of a shift: by an immediate, by cl, by any register (0 if there is none).
type shiftRows struct{ imm, cl, any backend.Op }

var shifts = [clif.NumOpcodes]shiftRows{
	clif.OpIshl: {asm.ShlImm, asm.Shl, asm.Shlx}, clif.OpUshr: {asm.ShrImm, asm.Shr, asm.Shrx}, clif.OpSshr: {asm.SarImm, asm.Sar, asm.Sarx},
	clif.OpRotl: {asm.RolImm, asm.Rol, 0}, clif.OpRotr: {asm.RorImm, asm.Ror, 0},
}

// lowerShift appends a shift or rotation; the hardware takes the amount modulo the width.
func lowerShift(l *lower, _ clif.Inst, d *clif.InstData) {
	t, n := d.Type, shiftAmount(l, d.Type, d.ArgB())
	l.Emit(backend.Inst{Op: shifts[d.Op].cl, Size: backend.SizeOf(t)}, l.UseAs(t, d.ArgA()), n, l.Def(d, 0))
}

// shiftAmount returns the register of the amount y of a shift of type t. The hardware reads only its low bits.
func shiftAmount(l *lower, t clif.Type, y clif.Value) vreg { return l.LowBut(RuleShiftMasked, t, y) }

// lowerShiftImm: a shift by nothing keeps x, but clears the upper half of an i32.
func lowerShiftImm(l *lower, m *match) {
	in := backend.Inst{Op: shifts[m.D.Op].imm, Imm: amount(m.T, m.K)}
	if in.Imm == 0 {
		in.Op = asm.Mov
	}
	unary(l, m, in)
}

func lowerShiftBMI2Mem(l *lower, m *match) {
	n := shiftAmount(l, m.T, m.Y())
	in := backend.Inst{Op: shifts[m.D.Op].any, Size: backend.SizeOf(m.T)}
	emitMem(l, in, loaded(l, m), nil, []vreg{n, l.Def(m.D, 0)})
}

func lowerShiftBMI2(l *lower, m *match) {
	n := shiftAmount(l, m.T, m.Y())
	l.Emit(backend.Inst{Op: shifts[m.D.Op].any, Size: backend.SizeOf(m.T)}, l.UseAs(m.T, m.X()), n, l.Def(m.D, 0))
}

// lowerRorx appends a rotation by a constant. A left rotation by k is a right rotation by the width minus k.
func lowerRorx(l *lower, m *match) {
	k := m.K
	if m.D.Op == clif.OpRotl {
		k = -k
	}
	unary(l, m, backend.Inst{Op: asm.Rorx, Imm: amount(m.T, k)})
}

// lowerUnary appends op x.
func lowerUnary(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) { unary(l, m, backend.Inst{Op: op}) }
}

// lowerUnaryMem appends op on the memory operand of the folded load.
func lowerUnaryMem(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		emitMem(l, backend.Inst{Op: op, Size: backend.SizeOf(m.T)}, loaded(l, m), nil, []vreg{l.Def(m.D, 0)})
	}
}

func lowerClz(l *lower, _ clif.Inst, d *clif.InstData) { bitScan(l, d, opClz) }
func lowerCtz(l *lower, _ clif.Inst, d *clif.InstData) { bitScan(l, d, opCtz) }

// bitScan appends the pseudo-instruction op.
func bitScan(l *lower, d *clif.InstData, op backend.Op) {
	pushPseudo(l, backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerPopcnt(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.Popcnt, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}
