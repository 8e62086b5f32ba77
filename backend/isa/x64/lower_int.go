package x64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// intConst appends dst = x, rematerialisable.
func intConst(l *lower, x int64, dst vreg) {
	if x == 0 {
		l.EmitRemat(backend.Inst{Op: asm.Zero, Size: 4}, dst)
		return
	}
	l.EmitRemat(backend.Inst{Op: asm.MovImm, Size: 8, Imm: x}, dst)
}

// alu appends x op y for a two-address operation: with an immediate, a memory operand or
// a register. imm is the row with an immediate.
func alu(l *lower, d *clif.InstData, op, imm backend.Op) {
	t, size, dst := d.Type, backend.SizeOf(d.Type), l.Def(d, 0)
	x, y := d.ArgA(), d.ArgB()
	comm := d.Op.Info().Commutative
	if comm {
		if _, ok := l.Iconst(x); ok {
			x, y = y, x
		}
	}
	if c, ok := l.Sconst(t, y); ok && fits(c) && l.Rule("alu_imm") {
		l.Emit(backend.Inst{Op: imm, Size: size, Imm: c}, l.UseAs(t, x), dst)
		return
	}
	if a, ok := sinkableFull(l, y, t); ok && l.Rule("alu_mem") {
		emitMem(l, backend.Inst{Op: op, Size: size}, a, []vreg{l.UseAs(t, x)}, []vreg{dst})
		return
	}
	if comm {
		if a, ok := sinkableFull(l, x, t); ok && l.Rule("alu_mem_swap") {
			emitMem(l, backend.Inst{Op: op, Size: size}, a, []vreg{l.UseAs(t, y)}, []vreg{dst})
			return
		}
		if overwriteSecond(l, x, y) {
			x, y = y, x
		}
	}
	l.Emit(backend.Inst{Op: op, Size: size}, l.UseAs(t, x), l.UseAs(t, y), dst)
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

func lowerIadd(l *lower, _ clif.Inst, d *clif.InstData) {
	if a, ok := sum(l, d); ok {
		l.Access(asm.Lea, backend.SizeOf(d.Type), a, l.Def(d, 0))
		return
	}
	alu(l, d, asm.Add, asm.AddImm)
}

func lowerIsub(l *lower, _ clif.Inst, d *clif.InstData) {
	t, size := d.Type, backend.SizeOf(d.Type)
	if c, ok := l.Iconst(d.ArgA()); ok && c == 0 && l.Rule("isub_neg") {
		l.Emit(backend.Inst{Op: asm.Neg, Size: size}, l.UseAs(t, d.ArgB()), l.Def(d, 0))
		return
	}
	if c, ok := l.Sconst(t, d.ArgB()); ok && fits(-c) && !l.SingleUse(d.ArgA()) && l.Rule("isub_lea") {
		l.Access(asm.Lea, size, backend.Based(l.UseAs(t, d.ArgA()), int32(-c)), l.Def(d, 0))
		return
	}
	alu(l, d, asm.Sub, asm.SubImm)
}

// sum is an address whose value is the iadd d, if lea is better than add: it adds three
// terms, scales one, or keeps operands that are still needed. All additions are of
// d's type, and lea truncates to it.
func sum(l *lower, d *clif.InstData) (amode, bool) {
	t := d.Type
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if c, ok := l.Sconst(t, y); ok {
		if !fits(c) {
			return amode{}, false
		}
		if in := l.OnlyDef(x, clif.OpIadd, t); in != nil {
			if _, ok := l.Iconst(in.ArgA()); !ok {
				if _, ok := l.Iconst(in.ArgB()); !ok && l.Rule("iadd_lea3") {
					a := pair(l, t, in.ArgA(), in.ArgB())
					a.Disp = int32(c)
					return a, true
				}
			}
		}
		if !l.SingleUse(x) && l.Rule("iadd_lea_imm") {
			return backend.Based(l.UseAs(t, x), int32(c)), true
		}
		return amode{}, false
	}
	if scaled(l, t, y) != nil || scaled(l, t, x) != nil {
		return pair(l, t, x, y), l.Rule("iadd_lea_scaled")
	}
	if !l.SingleUse(x) && !l.SingleUse(y) && l.Rule("iadd_lea") {
		return pair(l, t, x, y), true
	}
	return amode{}, false
}

// scaled is the definition of v if it is a shift left by 1 to 3 of type t that has no other use.
func scaled(l *lower, t clif.Type, v clif.Value) *clif.InstData {
	d := l.OnlyDef(v, clif.OpIshl, t)
	if d == nil {
		return nil
	}
	if k, ok := l.Iconst(d.ArgB()); !ok || k&uint64(t.Bits()-1) > 3 || k&uint64(t.Bits()-1) == 0 {
		return nil
	}
	return d
}

// pair is the address x + y, one of them scaled if it is a shift.
func pair(l *lower, t clif.Type, x, y clif.Value) amode {
	if scaled(l, t, y) == nil {
		x, y = y, x
	}
	if s := scaled(l, t, y); s != nil {
		k, _ := l.Iconst(s.ArgB())
		return backend.Indexed(l.UseAs(t, x), l.UseAs(t, s.ArgA()), uint8(k)&3)
	}
	return backend.Indexed(l.UseAs(t, x), l.UseAs(t, y), 0)
}

func lowerImul(l *lower, _ clif.Inst, d *clif.InstData) {
	t, size := d.Type, backend.SizeOf(d.Type)
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	c, ok := l.Sconst(t, y)
	if !ok || !fits(c) {
		alu(l, d, asm.Imul, asm.ImulImm)
		return
	}
	dst := l.Def(d, 0)
	switch {
	case c == 3 || c == 5 || c == 9:
		l.Rule("imul_lea")
		r := l.UseAs(t, x)
		l.Access(asm.Lea, size, backend.Indexed(r, r, uint8(bits.TrailingZeros64(uint64(c-1)))), dst)
		return
	case c > 0 && c&(c-1) == 0 && l.Rule("imul_shift"):
		l.Emit(backend.Inst{Op: asm.ShlImm, Size: size, Imm: int64(bits.TrailingZeros64(uint64(c)))}, l.UseAs(t, x), dst)
		return
	}
	in := backend.Inst{Op: asm.ImulImm, Size: size, Imm: c}
	if a, ok := sinkableFull(l, x, t); ok && l.Rule("imul_mem_imm") {
		emitMem(l, in, a, nil, []vreg{dst})
		return
	}
	l.Emit(in, l.UseAs(t, x), dst)
}

func lowerBand(l *lower, _ clif.Inst, d *clif.InstData) {
	t, dst := d.Type, l.Def(d, 0)
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if c, ok := l.Iconst(y); ok {
		for _, m := range [...]struct {
			mask uint64
			op   backend.Op
		}{{0xff, asm.Movzx8}, {0xffff, asm.Movzx16}, {0xffff_ffff, asm.Mov}} {
			if c == m.mask && l.Rule("band_zext") {
				l.Emit(backend.Inst{Op: m.op, Size: 4}, l.UseAs(t, x), dst)
				return
			}
		}
		if t == clif.I64 && c < 1<<31 && l.Rule("band_low") { // the result is below 2^31
			l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: int64(c)}, l.Use(x), dst)
			return
		}
	} else if has(l, asm.BMI1) && lowerAndn(l, d, x, y, dst) {
		return
	}
	alu(l, d, asm.And, asm.AndImm)
}

// lowerAndn appends x & ^y, either way round, if one is complemented.
func lowerAndn(l *lower, d *clif.InstData, x, y clif.Value, dst vreg) bool {
	for range 2 {
		if n := l.OnlyDef(y, clif.OpBxor, d.Type); n != nil {
			if c, ok := l.Sconst(d.Type, n.ArgB()); ok && c == -1 && l.Rule("band_andn") {
				l.Emit(backend.Inst{Op: asm.Andn, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, n.ArgA()), l.UseAs(d.Type, x), dst)
				return true
			}
		}
		x, y = y, x
	}
	return false
}

func lowerBor(l *lower, _ clif.Inst, d *clif.InstData) { alu(l, d, asm.Or, asm.OrImm) }

func lowerBxor(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
	if c, ok := l.Sconst(d.Type, y); ok && c == -1 && l.Rule("bxor_not") {
		l.Emit(backend.Inst{Op: asm.Not, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, x), l.Def(d, 0))
		return
	}
	alu(l, d, asm.Xor, asm.XorImm)
}

// shiftRows are the rows of a shift: by an immediate, by cl, by any register (0 if there is none).
type shiftRows struct{ imm, cl, any backend.Op }

// shift appends a shift or rotation; the hardware takes the amount modulo the width.
func shift(l *lower, d *clif.InstData, rows shiftRows) {
	t, size, dst := d.Type, backend.SizeOf(d.Type), l.Def(d, 0)
	mask := uint64(t.Bits() - 1)
	if c, ok := l.Iconst(d.ArgB()); ok && l.Rule("shift_imm") {
		if c &= mask; c == 0 { // keeps x, but clears the upper half of an i32
			l.Emit(backend.Inst{Op: asm.Mov, Size: size}, l.UseAs(t, d.ArgA()), dst)
			return
		}
		l.Emit(backend.Inst{Op: rows.imm, Size: size, Imm: int64(c)}, l.UseAs(t, d.ArgA()), dst)
		return
	}
	amount := d.ArgB()
	if m := l.DefOf(amount, clif.OpBand, t); m != nil {
		if c, ok := l.Iconst(m.ArgB()); ok && c&mask == mask && l.Rule("shift_masked") {
			amount = m.ArgA()
		}
	}
	n := l.Low(amount)
	if rows.any != 0 && has(l, asm.BMI2) && l.Rule("shift_bmi2") {
		in := backend.Inst{Op: rows.any, Size: size}
		if a, ok := sinkableFull(l, d.ArgA(), t); ok {
			emitMem(l, in, a, nil, []vreg{n, dst})
			return
		}
		l.Emit(in, l.UseAs(t, d.ArgA()), n, dst)
		return
	}
	l.Emit(backend.Inst{Op: rows.cl, Size: size}, l.UseAs(t, d.ArgA()), n, dst)
}

func lowerIshl(l *lower, _ clif.Inst, d *clif.InstData) {
	if c, ok := l.Iconst(d.ArgB()); ok && !l.SingleUse(d.ArgA()) && c&uint64(d.Type.Bits()-1) == 1 && l.Rule("ishl_lea") {
		r := l.UseAs(d.Type, d.ArgA())
		l.Access(asm.Lea, backend.SizeOf(d.Type), backend.Indexed(r, r, 0), l.Def(d, 0))
		return
	}
	shift(l, d, shiftRows{asm.ShlImm, asm.Shl, asm.Shlx})
}

func lowerUshr(l *lower, _ clif.Inst, d *clif.InstData) {
	shift(l, d, shiftRows{asm.ShrImm, asm.Shr, asm.Shrx})
}

func lowerSshr(l *lower, _ clif.Inst, d *clif.InstData) {
	shift(l, d, shiftRows{asm.SarImm, asm.Sar, asm.Sarx})
}

func lowerRotr(l *lower, _ clif.Inst, d *clif.InstData) {
	w := uint64(d.Type.Bits())
	if c, ok := l.Iconst(d.ArgB()); ok && has(l, asm.BMI2) && c&(w-1) != 0 && !l.SingleUse(d.ArgA()) && l.Rule("rotr_rorx") {
		l.Emit(backend.Inst{Op: asm.Rorx, Size: backend.SizeOf(d.Type), Imm: int64(c & (w - 1))}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
		return
	}
	shift(l, d, shiftRows{asm.RorImm, asm.Ror, 0})
}

func lowerRotl(l *lower, _ clif.Inst, d *clif.InstData) {
	w := uint64(d.Type.Bits())
	if c, ok := l.Iconst(d.ArgB()); ok && has(l, asm.BMI2) && c&(w-1) != 0 && !l.SingleUse(d.ArgA()) && l.Rule("rotl_rorx") {
		l.Emit(backend.Inst{Op: asm.Rorx, Size: backend.SizeOf(d.Type), Imm: int64(w - c&(w-1))}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
		return
	}
	shift(l, d, shiftRows{asm.RolImm, asm.Rol, 0})
}

// unary appends op x, x perhaps from memory.
func unary(l *lower, d *clif.InstData, op backend.Op) {
	in := backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}
	if a, ok := sinkableFull(l, d.ArgA(), d.Type); ok && l.Rule("unary_mem") {
		emitMem(l, in, a, nil, []vreg{l.Def(d, 0)})
		return
	}
	l.Emit(in, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerClz(l *lower, _ clif.Inst, d *clif.InstData) {
	if has(l, asm.LZCNT) && l.Rule("clz_lzcnt") {
		unary(l, d, asm.Lzcnt)
		return
	}
	pushPseudo(l, backend.Inst{Op: opClz, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerCtz(l *lower, _ clif.Inst, d *clif.InstData) {
	if has(l, asm.BMI1) && l.Rule("ctz_tzcnt") {
		unary(l, d, asm.Tzcnt)
		return
	}
	pushPseudo(l, backend.Inst{Op: opCtz, Size: backend.SizeOf(d.Type)}, l.UseAs(d.Type, d.ArgA()), l.Def(d, 0))
}

func lowerPopcnt(l *lower, _ clif.Inst, d *clif.InstData) { unary(l, d, asm.Popcnt) }

// extend appends a sign extension of the low bytes of x, x perhaps from memory.
func extend(l *lower, d *clif.InstData, op backend.Op, bytes int) {
	in := backend.Inst{Op: op, Size: backend.SizeOf(d.Type)}
	if a, ok := sinkable(l, d.ArgA(), bytes); ok && l.Rule("extend_mem") {
		emitMem(l, in, a, nil, []vreg{l.Def(d, 0)})
		return
	}
	l.Emit(in, l.Low(d.ArgA()), l.Def(d, 0))
}

func lowerSext8(l *lower, _ clif.Inst, d *clif.InstData)   { extend(l, d, asm.Movsx8, 1) }
func lowerSext16(l *lower, _ clif.Inst, d *clif.InstData)  { extend(l, d, asm.Movsx16, 2) }
func lowerSext32(l *lower, _ clif.Inst, d *clif.InstData)  { extend(l, d, asm.Movsx32, 4) }
func lowerSextend(l *lower, _ clif.Inst, d *clif.InstData) { extend(l, d, asm.Movsx32, 4) }

// lowerIreduce clears the upper half. The 64 bits of a load are not read as 32:
// the access must keep its width.
func lowerIreduce(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.Mov, Size: 4}, l.Use(d.ArgA()), l.Def(d, 0))
}
