package a64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// operation appends dst = x op y on registers of type t.
func operation(l *lower, op backend.Op, t clif.Type, x, y clif.Value, dst vreg) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t)}, l.UseAs(t, x), l.UseAs(t, y), dst)
}

// immediate appends dst = x op imm.
func immediate(l *lower, op backend.Op, t clif.Type, x clif.Value, imm int64, dst vreg) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t), Imm: imm}, l.UseAs(t, x), dst)
}

// shiftKinds are the shifts of a register operand, by opcode.
var shiftKinds = [clif.NumOpcodes]asm.Shift{clif.OpIshl: asm.LSL, clif.OpUshr: asm.LSR, clif.OpSshr: asm.ASR}

// foldShift returns y as a shifted operand, if it is one: its register and the immediate.
func foldShift(l *lower, t clif.Type, y clif.Value) (vreg, int64, bool) {
	b, ok := l.Fold(RuleShifted, t, y, 8)
	if !ok {
		return 0, 0, false
	}
	return l.UseAs(t, b.X()), shiftedBy(t, &b), true
}

// shiftedBy returns the immediate of an operand of type t that the shift b.Op shifts by b.K.
func shiftedBy(t clif.Type, b *backend.Bound) int64 {
	return asm.Shifted(shiftKinds[b.Op], uint8(amount(t, b.K)))
}

// foldExtension returns y as an extended operand, if it is one.
func foldExtension(l *lower, t clif.Type, y clif.Value) (vreg, int64, bool) {
	for r := RuleExtended; r <= RuleExtendedMaskShifted; r++ {
		b, ok := l.Fold(r, t, y, 8)
		if !ok {
			continue
		}
		ext, shift := maskExtension(b.K), 0
		if r == RuleExtended || r == RuleExtendedShifted {
			ext = extensions[b.Op]
		}
		if r >= RuleExtendedShifted {
			shift = amount(t, b.J)
		}
		return l.Low(b.X()), asm.Extended(ext, uint8(shift)), true
	}
	return 0, 0, false
}

// extensions are the sign extensions of an operand, by opcode.
var extensions = [clif.NumOpcodes]asm.Extend{
	clif.OpSext8: asm.SXTB, clif.OpSext16: asm.SXTH, clif.OpSext32: asm.SXTW, clif.OpSextend: asm.SXTW,
}

// maskExtension returns the zero-extension that masking with k amounts to.
func maskExtension(k int64) asm.Extend {
	switch k {
	case 0xff:
		return asm.UXTB
	case 0xffff:
		return asm.UXTH
	}
	return asm.UXTW
}

// extended returns how many bytes a sign extension extends.
func extended(op clif.Opcode) int {
	switch op {
	case clif.OpSext8:
		return 1
	case clif.OpSext16:
		return 2
	}
	return 4
}

// sumRows are the rows of an addition or subtraction, and the fused multiplications.
type sumRows struct {
	reg, ext, imm, opposite, fused, sfused, ufused backend.Op
}

var sums = [clif.NumOpcodes]sumRows{
	clif.OpIadd: {asm.Add, asm.AddExt, asm.AddImm, asm.SubImm, asm.Madd, asm.Smaddl, asm.Umaddl},
	clif.OpIsub: {asm.Sub, asm.SubExt, asm.SubImm, asm.AddImm, asm.Msub, 0, 0},
}

// bothOrders are x and y in this order, and in the other.
func bothOrders(x, y clif.Value) [2][2]clif.Value { return [2][2]clif.Value{{x, y}, {y, x}} }

// lowerSum appends x + y or x - y.
func lowerSum(l *lower, _ clif.Inst, d *clif.InstData) {
	t, x, y := d.Type, d.ArgA(), d.ArgB()
	rows, dst, both := &sums[d.Op], l.Def(d, 0), d.Op.Info().Commutative
	if both {
		x, y = l.ConstLast(x, y)
	}
	for k, o := range bothOrders(x, y) {
		if k > 0 && !both {
			break
		}
		x, y := o[0], o[1]
		if foldProduct(l, t, x, y, rows, dst) {
			return
		}
		in := backend.Inst{Size: backend.SizeOf(t)}
		if r, imm, ok := foldExtension(l, t, y); ok {
			in.Op, in.Imm = rows.ext, imm
			l.Emit(in, l.UseAs(t, x), r, dst)
			return
		}
		if r, imm, ok := foldShift(l, t, y); ok {
			in.Op, in.Imm = rows.reg, imm
			l.Emit(in, l.UseAs(t, x), r, dst)
			return
		}
	}
	operation(l, rows.reg, t, x, y, dst)
}

// foldProduct appends dst = x + y, or x - y, if y is a product.
func foldProduct(l *lower, t clif.Type, x, y clif.Value, rows *sumRows, dst vreg) bool {
	if rows.sfused != 0 && t == clif.I64 {
		if b, ok := l.Fold(RuleProductUnsigned, t, y, 8); ok {
			l.Emit(backend.Inst{Op: rows.ufused, Size: 8}, l.Use(b.X()), l.Use(b.Y()), l.Use(x), dst)
			return true
		}
		if b, ok := l.Fold(RuleProductSigned, t, y, 8); ok {
			l.Emit(backend.Inst{Op: rows.sfused, Size: 8}, l.Low(b.X()), l.Low(b.Y()), l.Use(x), dst)
			return true
		}
	}
	b, ok := l.Fold(RuleProduct, t, y, 8)
	if ok {
		l.Emit(backend.Inst{Op: rows.fused, Size: backend.SizeOf(t)}, l.UseAs(t, b.X()), l.UseAs(t, b.Y()), l.UseAs(t, x), dst)
	}
	return ok
}

// sumImm returns the row that adds or subtracts k as d does, and its immediate, which is not negative.
func sumImm(m *match) (backend.Op, int64) {
	rows := &sums[m.D.Op]
	if k := magnitude(m.K); k != m.K {
		return rows.opposite, k
	}
	return rows.imm, m.K
}

func lowerSumImm(l *lower, m *match) {
	op, k := sumImm(m)
	immediate(l, op, m.T, m.X(), k, l.Def(m.D, 0))
}

func lowerSumImmTwice(l *lower, m *match) {
	op, k := sumImm(m)
	mid := l.NewVReg(m.T)
	immediate(l, op, m.T, m.X(), k&^0xfff, mid)
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(m.T), Imm: k & 0xfff}, mid, l.Def(m.D, 0))
}

// lowerNegateShifted appends op x, x shifted.
func lowerNegateShifted(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) { immediate(l, op, m.T, m.X(), shiftedBy(m.T, &m.Bound), l.Def(m.D, 0)) }
}

// lowerNegate appends op x.
func lowerNegate(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) { immediate(l, op, m.T, m.X(), 0, l.Def(m.D, 0)) }
}

func lowerImul(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	operation(l, asm.Mul, d.Type, x, y, l.Def(d, 0))
}

func lowerImulShift(l *lower, m *match) {
	immediate(l, asm.LslImm, m.T, m.X(), int64(bits.TrailingZeros64(uint64(m.K))), l.Def(m.D, 0))
}

func lowerImulAdd(l *lower, m *match) {
	r := l.UseAs(m.T, m.X())
	k := uint8(bits.TrailingZeros64(uint64(m.K - 1)))
	l.Emit(backend.Inst{Op: asm.Add, Size: backend.SizeOf(m.T), Imm: asm.Shifted(asm.LSL, k)}, r, r, l.Def(m.D, 0))
}

func lowerImulUnsigned(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.Umull, Size: 8}, l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}

func lowerImulSigned(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.Smull, Size: 8}, l.Low(m.X()), l.Low(m.Y()), l.Def(m.D, 0))
}

func lowerImulNeg(l *lower, m *match) { operation(l, asm.Mneg, m.T, m.X(), m.Y(), l.Def(m.D, 0)) }

// logicRows are the rows of a bitwise operation: on registers, with an immediate, and with
// the second operand complemented.
type logicRows struct{ reg, imm, not backend.Op }

var logics = [clif.NumOpcodes]logicRows{
	clif.OpBand: {asm.And, asm.AndImm, asm.Bic}, clif.OpBor: {asm.Orr, asm.OrrImm, asm.Orn}, clif.OpBxor: {asm.Eor, asm.EorImm, asm.Eon},
}

// lowerLogic appends x op y.
func lowerLogic(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	rows := &logics[d.Op]
	op := rows.reg
	for _, o := range bothOrders(x, y) {
		if b, ok := l.Fold(RuleComplement, t, o[1], 8); ok {
			op, x, y = rows.not, o[0], b.X()
			break
		}
	}
	for k, o := range bothOrders(x, y) {
		if k > 0 && op == rows.not {
			break
		}
		if r, imm, ok := foldShift(l, t, o[1]); ok {
			l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t), Imm: imm}, l.UseAs(t, o[0]), r, dst)
			return
		}
	}
	operation(l, op, t, x, y, dst)
}

func lowerLogicImm(l *lower, m *match) {
	immediate(l, logics[m.D.Op].imm, m.T, m.X(), int64(unsigned(m.T, m.K)), l.Def(m.D, 0))
}

// field appends op, which takes a field of x or places one.
func field(l *lower, m *match, op backend.Op, at, width int) {
	immediate(l, op, m.T, m.X(), asm.Field(uint8(at), uint8(width)), l.Def(m.D, 0))
}

func lowerBandUbfx(l *lower, m *match) {
	k := amount(m.T, m.K)
	field(l, m, asm.Ubfx, k, min(ones(unsigned(m.T, m.J)), m.T.Bits()-k))
}

func lowerBandUbfiz(l *lower, m *match) {
	k := amount(m.T, m.K)
	field(l, m, asm.Ubfiz, k, min(ones(unsigned(m.T, m.J)>>k), m.T.Bits()-k))
}

// lowerInsert appends x with the field that k clears, filled with a field of y: the low bits of y with bfi, those from j on
// with bfxil.
func lowerInsert(l *lower, m *match) {
	at, width, _ := hole(m)
	in := backend.Inst{Op: asm.Bfi, Size: backend.SizeOf(m.T), Imm: asm.Field(uint8(at), uint8(width))}
	if at == 0 && m.J != 0 {
		in.Op, in.Imm = asm.Bfxil, asm.Field(uint8(amount(m.T, m.J)), uint8(width))
	}
	l.Emit(in, l.UseAs(m.T, m.X()), l.UseAs(m.T, m.Y()), l.Def(m.D, 0))
}

func lowerExtr(l *lower, m *match) {
	l.Emit(backend.Inst{Op: asm.Extr, Size: backend.SizeOf(m.T), Imm: int64(amount(m.T, m.J))},
		l.UseAs(m.T, m.X()), l.UseAs(m.T, m.Y()), l.Def(m.D, 0))
}

// shiftRows are the rows of a shift or rotation: by a register, by an immediate.
type shiftRows struct{ reg, imm backend.Op }

var shifts = [clif.NumOpcodes]shiftRows{
	clif.OpIshl: {asm.Lsl, asm.LslImm}, clif.OpUshr: {asm.Lsr, asm.LsrImm}, clif.OpSshr: {asm.Asr, asm.AsrImm}, clif.OpRotr: {asm.Ror, asm.RorImm},
}

// lowerShift appends a shift or rotation; the hardware takes the amount modulo the width.
func lowerShift(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	l.Emit(backend.Inst{Op: shifts[d.Op].reg, Size: backend.SizeOf(t)}, l.UseAs(t, d.ArgA()), shiftAmount(l, t, d.ArgB()), l.Def(d, 0))
}

// shiftAmount returns the register of the amount y of a shift of type t. The hardware reads only its low bits.
func shiftAmount(l *lower, t clif.Type, y clif.Value) vreg { return l.LowBut(RuleShiftMasked, t, y) }

// shiftConst appends dst = x shifted by k. Nothing to shift keeps x, but clears the upper half of an i32.
func shiftConst(l *lower, m *match, op backend.Op, k int) {
	if k == 0 {
		l.Emit(backend.Inst{Op: asm.Mov, Size: backend.SizeOf(m.T)}, l.UseAs(m.T, m.X()), l.Def(m.D, 0))
		return
	}
	immediate(l, op, m.T, m.X(), int64(k), l.Def(m.D, 0))
}

func lowerShiftImm(l *lower, m *match) { shiftConst(l, m, shifts[m.D.Op].imm, amount(m.T, m.K)) }

// lowerRotlImm rotates right by the width minus the amount.
func lowerRotlImm(l *lower, m *match) { shiftConst(l, m, asm.RorImm, amount(m.T, -m.K)) }

func lowerIshlUbfiz(l *lower, m *match) {
	j := amount(m.T, m.J)
	field(l, m, asm.Ubfiz, j, min(ones(unsigned(m.T, m.K)), m.T.Bits()-j))
}

func lowerIshlSbfiz(l *lower, m *match) {
	j := amount(m.T, m.J)
	width := min(8*extended(m.Op), m.T.Bits()-j)
	l.Emit(backend.Inst{Op: asm.Sbfiz, Size: backend.SizeOf(m.T), Imm: asm.Field(uint8(j), uint8(width))}, l.Low(m.X()), l.Def(m.D, 0))
}

// lowerTakeField appends (x << j) >> k for k >= j.
func lowerTakeField(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		k := amount(m.T, m.K)
		field(l, m, op, k-amount(m.T, m.J), m.T.Bits()-k)
	}
}

// lowerPlaceField appends (x << j) >> k for k < j.
func lowerPlaceField(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		j := amount(m.T, m.J)
		field(l, m, op, j-amount(m.T, m.K), m.T.Bits()-j)
	}
}

func lowerUshrMask(l *lower, m *match) {
	k := amount(m.T, m.K)
	field(l, m, asm.Ubfx, k, ones(unsigned(m.T, m.J)>>k))
}

// lowerRotl rotates right by the negative.
func lowerRotl(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	back := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Neg, Size: 4}, shiftAmount(l, t, d.ArgB()), back)
	l.Emit(backend.Inst{Op: asm.Ror, Size: backend.SizeOf(t)}, l.UseAs(t, d.ArgA()), back, dst)
}

func lowerClz(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.Clz, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerCtz(l *lower, _ clif.Inst, d *clif.InstData) {
	size, back := backend.SizeOf(d.Type), l.NewVReg(d.Type)
	l.Emit(backend.Inst{Op: asm.Rbit, Size: size}, l.UseAs(d.Type, d.ArgA()), back)
	l.Emit(backend.Inst{Op: asm.Clz, Size: size}, back, l.Def(d, 0))
}

// lowerPopcnt counts the bits of each byte in a vector register and adds the bytes. FmovToF clears the rest of the
// register.
func lowerPopcnt(l *lower, _ clif.Inst, d *clif.InstData) {
	x, counts, total := l.NewVReg(clif.F64), l.NewVReg(clif.F64), l.NewVReg(clif.F64)
	l.Emit(backend.Inst{Op: asm.FmovToF, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), x)
	l.Emit(backend.Inst{Op: asm.Vcnt, Size: 8}, x, counts)
	l.Emit(backend.Inst{Op: asm.Vaddv, Size: 8}, counts, total)
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: 4}, total, l.Def(d, 0))
}

// lowerSextMem appends a sign-extending load of the operand.
func lowerSextMem(a clif.Access) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		f := loads[m.T][a]
		l.Access(f.Op, f.Size, loaded(l, m), l.Def(m.D, 0))
	}
}

func lowerSextSbfx(l *lower, m *match) {
	field(l, m, asm.Sbfx, amount(m.T, m.K), 8*extended(m.D.Op))
}

func lowerIreduceUbfx(l *lower, m *match) {
	immediate(l, asm.Ubfx, clif.I64, m.X(), asm.Field(uint8(amount(clif.I64, m.K)), 32), l.Def(m.D, 0))
}
