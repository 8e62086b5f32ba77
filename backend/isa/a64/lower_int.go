package a64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// intConst appends dst = x, rematerialisable.
func intConst(l *lower, x int64, dst vreg) {
	l.EmitRemat(backend.Inst{Op: asm.MovImm, Size: 8, Imm: x}, dst)
}

// operation appends dst = x op y on registers of type t.
func operation(l *lower, op backend.Op, t clif.Type, x, y clif.Value, dst vreg) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t)}, l.UseAs(t, x), l.UseAs(t, y), dst)
}

// immediate appends dst = x op imm.
func immediate(l *lower, op backend.Op, t clif.Type, x clif.Value, imm int64, dst vreg) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t), Imm: imm}, l.UseAs(t, x), dst)
}

// shifts are the shifts of a register operand, with their opcodes.
var shifts = [...]struct {
	op    clif.Opcode
	shift asm.Shift
}{{clif.OpIshl, asm.LSL}, {clif.OpUshr, asm.LSR}, {clif.OpSshr, asm.ASR}}

// shiftedReg is y as a shifted operand: its register and the immediate.
func shiftedReg(l *lower, t clif.Type, y clif.Value) (vreg, int64, bool) {
	for _, s := range &shifts {
		if x, k, ok := shiftedBy(l, y, s.op, t); ok {
			return l.UseAs(t, x), asm.Shifted(s.shift, uint8(k)), l.Rule("shifted_operand")
		}
	}
	return 0, 0, false
}

// extendedReg is y as an extended operand.
func extendedReg(l *lower, t clif.Type, y clif.Value) (vreg, int64, bool) {
	n := 0
	if x, k, ok := shiftedBy(l, y, clif.OpIshl, t); ok && k <= 4 {
		y, n = x, k
	}
	if !l.OnlyUse(y) {
		return 0, 0, false
	}
	if x, ext, ok := extension(l, t, y); ok && l.Rule("extended_operand") {
		return l.Low(x), asm.Extended(ext, uint8(n)), true
	}
	return 0, 0, false
}

// extension is what y extends to type t, and how.
func extension(l *lower, t clif.Type, y clif.Value) (clif.Value, asm.Extend, bool) {
	_, d := l.DefInst(y)
	if d == nil || d.Type != t {
		return 0, 0, false
	}
	switch d.Op {
	case clif.OpSext8:
		return d.ArgA(), asm.SXTB, true
	case clif.OpSext16:
		return d.ArgA(), asm.SXTH, true
	case clif.OpSext32, clif.OpSextend:
		return d.ArgA(), asm.SXTW, true
	case clif.OpBand:
		x, m := l.ConstLast(d.ArgA(), d.ArgB())
		switch k, ok := l.Iconst(m); {
		case ok && k == 0xff:
			return x, asm.UXTB, true
		case ok && k == 0xffff:
			return x, asm.UXTH, true
		case ok && k == 0xffff_ffff && t == clif.I64:
			return x, asm.UXTW, true
		}
	}
	return 0, 0, false
}

// sumRows are the rows of an addition or subtraction, and the fused multiplication.
type sumRows struct {
	reg, ext, imm, opposite, fused, sfused, ufused backend.Op
}

var (
	addRows = sumRows{asm.Add, asm.AddExt, asm.AddImm, asm.SubImm, asm.Madd, asm.Smaddl, asm.Umaddl}
	subRows = sumRows{asm.Sub, asm.SubExt, asm.SubImm, asm.AddImm, asm.Msub, 0, 0}
)

func lowerIadd(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if funnel(l, d) || increment(l, d, x, y) || increment(l, d, y, x) {
		return
	}
	sum(l, d, x, y, &addRows)
}

func lowerIsub(l *lower, _ clif.Inst, d *clif.InstData) {
	t, x, y := d.Type, d.ArgA(), d.ArgB()
	if c, ok := l.Iconst(x); ok && c == 0 {
		if c, ok := truthOf(l, y); ok && l.Rule("isub_cond") {
			c.In.Cond ^= 1
			choose(l, &c, t, x, arm{asm.Csinv, clif.NoValue, true}, l.Def(d, 0))
			return
		}
		l.Rule("isub_neg")
		negate(l, asm.Neg, t, y, l.Def(d, 0))
		return
	}
	sum(l, d, x, y, &subRows)
}

// negate appends dst = op y, y perhaps shifted.
func negate(l *lower, op backend.Op, t clif.Type, y clif.Value, dst vreg) {
	in := backend.Inst{Op: op, Size: backend.SizeOf(t)}
	r, imm, ok := shiftedReg(l, t, y)
	if !ok {
		r = l.UseAs(t, y)
	}
	in.Imm = imm
	l.Emit(in, r, dst)
}

// sum appends x + y or x - y.
func sum(l *lower, d *clif.InstData, x, y clif.Value, rows *sumRows) {
	t, dst := d.Type, l.Def(d, 0)
	if c, ok := l.Sconst(t, y); ok && sumConst(l, t, x, c, rows, dst) {
		return
	}
	for range 2 {
		if product(l, t, x, y, rows, dst) {
			return
		}
		in := backend.Inst{Size: backend.SizeOf(t)}
		if r, imm, ok := extendedReg(l, t, y); ok {
			in.Op, in.Imm = rows.ext, imm
			l.Emit(in, l.UseAs(t, x), r, dst)
			return
		}
		if r, imm, ok := shiftedReg(l, t, y); ok {
			in.Op, in.Imm = rows.reg, imm
			l.Emit(in, l.UseAs(t, x), r, dst)
			return
		}
		if !d.Op.Info().Commutative {
			break
		}
		x, y = y, x
	}
	operation(l, rows.reg, t, x, y, dst)
}

// sumConst appends dst = x + c, or x - c, if one or two immediates do.
func sumConst(l *lower, t clif.Type, x clif.Value, c int64, rows *sumRows, dst vreg) bool {
	op := rows.imm
	if c < 0 && c == int64(int32(c)) {
		op, c = rows.opposite, -c
	}
	switch {
	case asm.FitsArith(c) && l.Rule("sum_imm"):
		immediate(l, op, t, x, c, dst)
		return true
	case c > 1<<16 && c < 1<<24 && l.LoopDepth() == 0 && l.Rule("sum_imm_twice"): // a constant below needs one instruction
		mid := l.NewVReg(t)
		immediate(l, op, t, x, c&^0xfff, mid)
		l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t), Imm: c & 0xfff}, mid, dst)
		return true
	}
	return false
}

// product appends dst = x + a*b, or x - a*b, if y is a product with no other user.
func product(l *lower, t clif.Type, x, y clif.Value, rows *sumRows, dst vreg) bool {
	d := l.OnlyDef(y, clif.OpImul, t)
	if d == nil {
		return false
	}
	a, b := d.ArgA(), d.ArgB()
	if t == clif.I64 && rows.sfused != 0 {
		if ra, rb, op := wideMul(l, a, b, rows.sfused, rows.ufused); op != 0 && l.Rule("sum_mul_wide") {
			l.Emit(backend.Inst{Op: op, Size: 8}, ra, rb, l.Use(x), dst)
			return true
		}
	}
	l.Emit(backend.Inst{Op: rows.fused, Size: backend.SizeOf(t)}, l.UseAs(t, a), l.UseAs(t, b), l.UseAs(t, x), dst)
	return l.Rule("sum_mul")
}

// wideMul is the operands of a multiplication of i64 whose factors are i32, sign-extended by
// nothing else or zero-extended, and which of the rows does it, or 0.
func wideMul(l *lower, a, b clif.Value, signed, unsigned backend.Op) (x, y vreg, op backend.Op) {
	if l.F.TypeOf(l.Resolve(a)) == clif.I32 && l.F.TypeOf(l.Resolve(b)) == clif.I32 {
		return l.Use(a), l.Use(b), unsigned
	}
	da, db := l.OnlyDef(a, clif.OpSextend, clif.I64), l.OnlyDef(b, clif.OpSextend, clif.I64)
	if da == nil || db == nil {
		return 0, 0, 0
	}
	return l.Low(da.ArgA()), l.Low(db.ArgA()), signed
}

func lowerImul(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if c, ok := l.Sconst(t, y); ok && imulConst(l, t, x, c, dst) {
		return
	}
	if t == clif.I64 {
		if a, b, op := wideMul(l, x, y, asm.Smull, asm.Umull); op != 0 && l.Rule("imul_wide") {
			l.Emit(backend.Inst{Op: op, Size: 8}, a, b, dst)
			return
		}
	}
	if n := l.OnlyDef(y, clif.OpIsub, t); n != nil {
		if c, ok := l.Iconst(n.ArgA()); ok && c == 0 && l.Rule("imul_neg") {
			operation(l, asm.Mneg, t, x, n.ArgB(), dst)
			return
		}
	}
	operation(l, asm.Mul, t, x, y, dst)
}

// imulConst appends dst = x * c for a power of two, or one more.
func imulConst(l *lower, t clif.Type, x clif.Value, c int64, dst vreg) bool {
	switch {
	case c > 0 && c&(c-1) == 0 && l.Rule("imul_shift"):
		immediate(l, asm.LslImm, t, x, int64(bits.TrailingZeros64(uint64(c))), dst)
		return true
	case c > 2 && (c-1)&(c-2) == 0 && l.Rule("imul_add"):
		r := l.UseAs(t, x)
		k := uint8(bits.TrailingZeros64(uint64(c - 1)))
		l.Emit(backend.Inst{Op: asm.Add, Size: backend.SizeOf(t), Imm: asm.Shifted(asm.LSL, k)}, r, r, dst)
		return true
	}
	return false
}

// logicRows are the rows of a bitwise operation: on registers, with an immediate, and with
// the second operand complemented.
type logicRows struct{ reg, imm, not backend.Op }

// logic appends x op y.
func logic(l *lower, d *clif.InstData, rows logicRows) {
	t, dst := d.Type, l.Def(d, 0)
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if c, ok := l.Iconst(y); ok && asm.FitsBits(backend.SizeOf(t), int64(c)) && l.Rule("logic_imm") {
		immediate(l, rows.imm, t, x, int64(c), dst)
		return
	}
	op := rows.reg
	for range 2 {
		if n, ok := complement(l, t, y); ok && l.OnlyUse(y) && l.Rule("logic_not") {
			op, y = rows.not, n
			break
		}
		x, y = y, x
	}
	for range 2 {
		if r, imm, ok := shiftedReg(l, t, y); ok {
			l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(t), Imm: imm}, l.UseAs(t, x), r, dst)
			return
		}
		if op == rows.not {
			break
		}
		x, y = y, x
	}
	operation(l, op, t, x, y, dst)
}

// complement is what y is the complement of.
func complement(l *lower, t clif.Type, y clif.Value) (clif.Value, bool) {
	d := l.DefOf(y, clif.OpBxor, t)
	if d == nil {
		return 0, false
	}
	x, k := l.ConstLast(d.ArgA(), d.ArgB())
	c, ok := l.Sconst(t, k)
	return x, ok && c == -1
}

func lowerBand(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if bothHold(l, d) {
		return
	}
	if c, ok := l.Iconst(y); ok && bandField(l, d.Type, x, c, l.Def(d, 0)) {
		return
	}
	logic(l, d, logicRows{asm.And, asm.AndImm, asm.Bic})
}

// bothHold appends d, a band or bor, if it is of comparisons.
func bothHold(l *lower, d *clif.InstData) bool {
	c, ok := bothOf(l, d)
	if ok {
		c.Push(l, backend.TailSet, 0, l.Def(d, 0))
	}
	return ok
}

// bandField appends dst = x & m where x is a shift and m takes a field of it.
func bandField(l *lower, t clif.Type, x clif.Value, m uint64, dst vreg) bool {
	n := t.Bits()
	if a, k, ok := shiftedBy(l, x, clif.OpUshr, t); ok && ones(m) != 0 && l.Rule("field_ubfx") {
		immediate(l, asm.Ubfx, t, a, asm.Field(uint8(k), uint8(min(ones(m), n-k))), dst)
		return true
	}
	if a, k, ok := shiftedBy(l, x, clif.OpSshr, t); ok && ones(m) != 0 && ones(m)+k <= n && l.Rule("field_ubfx") {
		immediate(l, asm.Ubfx, t, a, asm.Field(uint8(k), uint8(ones(m))), dst)
		return true
	}
	if a, k, ok := shiftedBy(l, x, clif.OpIshl, t); ok && ones(m>>k) != 0 && l.Rule("field_ubfiz") {
		immediate(l, asm.Ubfiz, t, a, asm.Field(uint8(k), uint8(min(ones(m>>k), n-k))), dst)
		return true
	}
	return false
}

func lowerBor(l *lower, _ clif.Inst, d *clif.InstData) {
	if bothHold(l, d) || funnel(l, d) || insert(l, d, d.ArgA(), d.ArgB()) || insert(l, d, d.ArgB(), d.ArgA()) {
		return
	}
	logic(l, d, logicRows{asm.Orr, asm.OrrImm, asm.Orn})
}

// insert appends x | y where x is a value with a field cleared and y the low bits, or a field, of another, in
// that place.
func insert(l *lower, d *clif.InstData, x, y clif.Value) bool {
	t := d.Type
	n := t.Bits()
	a, m, ok := maskedBy(l, x, t)
	if !ok {
		return false
	}
	hole := ^m & (1<<(n-1)<<1 - 1)
	if hole == 0 {
		return false
	}
	at := bits.TrailingZeros64(hole)
	width := ones(hole >> at)
	if width == 0 {
		return false
	}
	in := backend.Inst{Op: asm.Bfi, Size: backend.SizeOf(t), Imm: asm.Field(uint8(at), uint8(width))}
	var b clif.Value
	if at == 0 {
		if b, m, ok = maskedBy(l, y, t); ok && m == hole {
			if c, k, ok := shiftedBy(l, b, clif.OpUshr, t); ok && k+width <= n && l.Rule("field_bfxil") {
				in.Op, in.Imm, b = asm.Bfxil, asm.Field(uint8(k), uint8(width)), c
			}
			l.Rule("field_bfi")
			l.Emit(in, l.UseAs(t, a), l.UseAs(t, b), l.Def(d, 0))
			return true
		}
		if b, k, ok := shiftedBy(l, y, clif.OpUshr, t); ok && n-k == width && l.Rule("field_bfxil") { // the top bits
			in.Op, in.Imm = asm.Bfxil, asm.Field(uint8(k), uint8(width))
			l.Emit(in, l.UseAs(t, a), l.UseAs(t, b), l.Def(d, 0))
			return true
		}
		return false
	}
	if b, ok = placed(l, t, y, at, width); ok && l.Rule("field_bfi") {
		l.Emit(in, l.UseAs(t, a), l.UseAs(t, b), l.Def(d, 0))
		return true
	}
	return false
}

// placed is the value whose low bits, so many, y has at the given place, and nothing else.
func placed(l *lower, t clif.Type, y clif.Value, at, width int) (clif.Value, bool) {
	field := (uint64(1)<<width - 1) << at
	if b, k, ok := shiftedBy(l, y, clif.OpIshl, t); ok && k == at {
		if c, m, ok := maskedBy(l, b, t); ok && m == field>>at {
			return c, true
		}
		return b, at+width == t.Bits()
	}
	if b, m, ok := maskedBy(l, y, t); ok && m == field {
		if c, k, ok := shiftedBy(l, b, clif.OpIshl, t); ok && k == at {
			return c, true
		}
	}
	return 0, false
}

// funnel appends x<<k | y>>(n-k), or the sum, which is the same.
func funnel(l *lower, d *clif.InstData) bool {
	t := d.Type
	a, b := d.ArgA(), d.ArgB()
	for range 2 {
		if x, k, ok := shiftedBy(l, a, clif.OpIshl, t); ok {
			if y, r, ok := shiftedBy(l, b, clif.OpUshr, t); ok && k+r == t.Bits() && l.Rule("extr") {
				l.Emit(backend.Inst{Op: asm.Extr, Size: backend.SizeOf(t), Imm: int64(r)}, l.UseAs(t, x), l.UseAs(t, y), l.Def(d, 0))
				return true
			}
		}
		a, b = b, a
	}
	return false
}

func lowerBxor(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if c, ok := l.Sconst(d.Type, y); ok && c == -1 && l.Rule("bxor_not") {
		negate(l, asm.Mvn, d.Type, x, l.Def(d, 0))
		return
	}
	logic(l, d, logicRows{asm.Eor, asm.EorImm, asm.Eon})
}

// shift appends a shift or rotation; the hardware takes the amount modulo the width.
func shift(l *lower, d *clif.InstData, reg, imm backend.Op) {
	t, dst := d.Type, l.Def(d, 0)
	if k, ok := amount(l, t, d.ArgB()); ok && l.Rule("shift_imm") {
		shiftConst(l, t, imm, d.ArgA(), k, dst)
		return
	}
	l.Emit(backend.Inst{Op: reg, Size: backend.SizeOf(t)}, l.UseAs(t, d.ArgA()), shiftAmount(l, t, d.ArgB()), dst)
}

// shiftConst appends dst = x shifted by k. Nothing to shift keeps x, but clears the upper half of an i32.
func shiftConst(l *lower, t clif.Type, op backend.Op, x clif.Value, k int, dst vreg) {
	if k == 0 {
		l.Emit(backend.Inst{Op: asm.Mov, Size: backend.SizeOf(t)}, l.UseAs(t, x), dst)
		return
	}
	immediate(l, op, t, x, int64(k), dst)
}

// shiftAmount is the register of the amount y, of which the hardware reads the low bits only.
func shiftAmount(l *lower, t clif.Type, y clif.Value) vreg {
	mask := uint64(t.Bits() - 1)
	if m := l.DefOf(y, clif.OpBand, t); m != nil {
		x, k := l.ConstLast(m.ArgA(), m.ArgB())
		if c, ok := l.Iconst(k); ok && c&mask == mask && l.Rule("shift_masked") {
			y = x
		}
	}
	return l.Low(y)
}

func lowerIshl(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	if k, ok := amount(l, t, d.ArgB()); ok && k != 0 {
		if ishlField(l, t, d.ArgA(), k, l.Def(d, 0)) {
			return
		}
	}
	shift(l, d, asm.Lsl, asm.LslImm)
}

// ishlField appends dst = x << k where x is an extension or low bits.
func ishlField(l *lower, t clif.Type, x clif.Value, k int, dst vreg) bool {
	room := t.Bits() - k
	if a, m, ok := maskedBy(l, x, t); ok && ones(m) != 0 && l.Rule("field_ubfiz") {
		immediate(l, asm.Ubfiz, t, a, asm.Field(uint8(k), uint8(min(ones(m), room))), dst)
		return true
	}
	if !l.OnlyUse(x) {
		return false
	}
	a, ext, ok := extension(l, t, x)
	if !ok {
		return false
	}
	width := 8 << (ext & 3)
	l.Rule("field_sbfiz") // of zero extensions maskedBy has seen to
	l.Emit(backend.Inst{Op: asm.Sbfiz, Size: backend.SizeOf(t), Imm: asm.Field(uint8(k), uint8(min(width, room)))}, l.Low(a), dst)
	return true
}

// fieldRows are the rows of a shift right that take a field, or place one.
type fieldRows struct{ take, place backend.Op }

// shiftedField appends dst = (x << a) >> k.
func shiftedField(l *lower, t clif.Type, x clif.Value, k int, rows fieldRows, dst vreg) bool {
	v, a, ok := shiftedBy(l, x, clif.OpIshl, t)
	if !ok {
		return false
	}
	n := t.Bits()
	if k >= a && l.Rule("field_extract") {
		immediate(l, rows.take, t, v, asm.Field(uint8(k-a), uint8(n-k)), dst)
		return true
	}
	immediate(l, rows.place, t, v, asm.Field(uint8(a-k), uint8(n-a)), dst)
	return l.Rule("field_place")
}

func lowerUshr(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	if k, ok := amount(l, t, d.ArgB()); ok && k != 0 {
		if shiftedField(l, t, d.ArgA(), k, fieldRows{asm.Ubfx, asm.Ubfiz}, dst) {
			return
		}
		if x, m, ok := maskedBy(l, d.ArgA(), t); ok && ones(m>>k) != 0 && l.Rule("field_ubfx") {
			immediate(l, asm.Ubfx, t, x, asm.Field(uint8(k), uint8(ones(m>>k))), dst)
			return
		}
	}
	shift(l, d, asm.Lsr, asm.LsrImm)
}

func lowerSshr(l *lower, _ clif.Inst, d *clif.InstData) {
	t := d.Type
	if k, ok := amount(l, t, d.ArgB()); ok && k != 0 && shiftedField(l, t, d.ArgA(), k, fieldRows{asm.Sbfx, asm.Sbfiz}, l.Def(d, 0)) {
		return
	}
	shift(l, d, asm.Asr, asm.AsrImm)
}

func lowerRotr(l *lower, _ clif.Inst, d *clif.InstData) { shift(l, d, asm.Ror, asm.RorImm) }

// lowerRotl rotates right by the negative.
func lowerRotl(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	if k, ok := amount(l, t, d.ArgB()); ok && l.Rule("rotl_imm") {
		shiftConst(l, t, asm.RorImm, d.ArgA(), (t.Bits()-k)&(t.Bits()-1), dst)
		return
	}
	back := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Neg, Size: 4}, shiftAmount(l, t, d.ArgB()), back)
	l.Emit(backend.Inst{Op: asm.Ror, Size: backend.SizeOf(t)}, l.UseAs(t, d.ArgA()), back, dst)
}

// unary appends op x.
func unary(l *lower, d *clif.InstData, op backend.Op) {
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerClz(l *lower, _ clif.Inst, d *clif.InstData) { unary(l, d, asm.Clz) }

func lowerCtz(l *lower, _ clif.Inst, d *clif.InstData) {
	size, back := backend.SizeOf(d.Type), l.NewVReg(d.Type)
	l.Emit(backend.Inst{Op: asm.Rbit, Size: size}, l.UseAs(d.Type, d.ArgA()), back)
	l.Emit(backend.Inst{Op: asm.Clz, Size: size}, back, l.Def(d, 0))
}

// lowerPopcnt counts the bits of each byte in a vector register, the rest of which FmovToF clears, and adds
// the bytes.
func lowerPopcnt(l *lower, _ clif.Inst, d *clif.InstData) {
	x, counts, total := l.NewVReg(clif.F64), l.NewVReg(clif.F64), l.NewVReg(clif.F64)
	l.Emit(backend.Inst{Op: asm.FmovToF, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), x)
	l.Emit(backend.Inst{Op: asm.Vcnt, Size: 8}, x, counts)
	l.Emit(backend.Inst{Op: asm.Vaddv, Size: 8}, counts, total)
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: 4}, total, l.Def(d, 0))
}

// extend appends a sign extension of the low bytes of x, x perhaps from memory, or a field.
func extend(l *lower, d *clif.InstData, op backend.Op, bytes int) {
	x, dst := d.ArgA(), l.Def(d, 0)
	if i, ld := sinkable(l, x, bytes); ld != nil && l.Rule("extend_mem") {
		f := loads[d.Type][[...]clif.Access{1: clif.S8, 2: clif.S16, 4: clif.S32}[bytes]]
		l.Access(f.Op, f.Size, heap(l, i, ld), dst)
		return
	}
	if t := d.Type; l.F.TypeOf(x) == t {
		for _, right := range [...]clif.Opcode{clif.OpUshr, clif.OpSshr} {
			if a, k, ok := shiftedBy(l, x, right, t); ok && k+8*bytes <= t.Bits() && l.Rule("field_sbfx") {
				immediate(l, asm.Sbfx, t, a, asm.Field(uint8(k), uint8(8*bytes)), dst)
				return
			}
		}
	}
	l.Emit(backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}, l.Low(x), dst)
}

func lowerSext8(l *lower, _ clif.Inst, d *clif.InstData)   { extend(l, d, asm.Sxtb, 1) }
func lowerSext16(l *lower, _ clif.Inst, d *clif.InstData)  { extend(l, d, asm.Sxth, 2) }
func lowerSext32(l *lower, _ clif.Inst, d *clif.InstData)  { extend(l, d, asm.Sxtw, 4) }
func lowerSextend(l *lower, _ clif.Inst, d *clif.InstData) { extend(l, d, asm.Sxtw, 4) }

// lowerIreduce clears the upper half, or takes a field. The 64 bits of a load are not read as 32:
// the access must keep its width.
func lowerIreduce(l *lower, _ clif.Inst, d *clif.InstData) {
	dst := l.Def(d, 0)
	for _, right := range [...]clif.Opcode{clif.OpUshr, clif.OpSshr} {
		if x, k, ok := shiftedBy(l, d.ArgA(), right, clif.I64); ok && k <= 32 && l.Rule("field_ireduce") {
			immediate(l, asm.Ubfx, clif.I64, x, asm.Field(uint8(k), 32), dst)
			return
		}
	}
	l.Emit(backend.Inst{Op: asm.Mov, Size: 4}, l.Use(d.ArgA()), dst)
}
