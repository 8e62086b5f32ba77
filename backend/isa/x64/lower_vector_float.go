package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// This file lowers arithmetic and conversions of float lanes that are more than one instruction.

// floatLanes returns the constant with all lanes of shape t equal to x.
func floatLanes(t clif.Type, x float64) vector128 { return all(t, backend.FloatBits(t.LaneType(), x)) }

func lowerVfabs(l *lower, _ clif.Inst, d *clif.InstData) {
	simdOf(l, asm.Andp, d.Type).constTo(l.Use(d.ArgA()), all(d.Type, absMask(d.Type.LaneType())), l.Def(d, 0))
}

func lowerVfneg(l *lower, _ clif.Inst, d *clif.InstData) {
	simdOf(l, asm.Xorp, d.Type).constTo(l.Use(d.ArgA()), all(d.Type, backend.SignBit(d.Type.LaneType())), l.Def(d, 0))
}

// vectorRoundings are the modes of roundings, as roundings.
var vectorRoundings = [clif.NumOpcodes]int64{clif.OpVfnearest: 8, clif.OpVffloor: 9, clif.OpVfceil: 10, clif.OpVftrunc: 11}

func lowerVfround(l *lower, _ clif.Inst, d *clif.InstData) {
	simdOf(l, asm.Roundp, d.Type).by(vectorRoundings[d.Op]).value(d.ArgA(), l.Def(d, 0))
}

// The predicates of Cmpp. Not less is true for NaNs.
const (
	cmpEqual, cmpLess, cmpLessEqual, cmpUnordered = 0, 1, 2, 3
	cmpNotEqual, cmpNotLess, cmpOrdered           = 4, 5, 7
)

// vectorPredicates are the predicates by clif.FloatCC, and whether the operands change places.
var vectorPredicates = [clif.NumFloatCCs]struct {
	imm  int64
	swap bool
}{{cmpEqual, false}, {cmpNotEqual, false}, {cmpLess, false}, {cmpLess, true}, {cmpLessEqual, false}, {cmpLessEqual, true}}

func lowerVfcmp(l *lower, _ clif.Inst, d *clif.InstData) {
	p := vectorPredicates[d.FloatCC()]
	x, y := d.ArgA(), d.ArgB()
	if p.swap {
		x, y = y, x
	}
	simdOf(l, asm.Cmpp, d.Type).by(p.imm).values(x, y, l.Def(d, 0))
}

// The machine's minimum and maximum give the second operand if either is a NaN or both are zeros. Asked in both orders, they differ
// at most in lanes of NaNs and of zeros with different signs.

// lowerVfmin: the union of both results is a NaN if one is, and the negative zero.
func lowerVfmin(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	first, second := simdOf(l, asm.Minp, d.Type).of(x, y), simdOf(l, asm.Minp, d.Type).of(y, x)
	canonicalNaN(l, d.Type, simdOf(l, asm.Orp, d.Type).of(first, second), first, l.Def(d, 0))
}

// lowerVfmax: of zeros with different signs, the union is negative and the difference of the bits too, so that one less the other is the positive zero.
func lowerVfmax(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	first, second := simdOf(l, asm.Maxp, d.Type).of(x, y), simdOf(l, asm.Maxp, d.Type).of(y, x)
	differ := simdOf(l, asm.Xorp, d.Type).of(first, second)
	union := simdOf(l, asm.Orp, d.Type).of(second, differ)
	canonicalNaN(l, d.Type, simdOf(l, asm.Subp, d.Type).of(union, differ), differ, l.Def(d, 0))
}

// canonicalNaN appends dst = x, with lanes of canonical NaNs where x or y is a NaN.
func canonicalNaN(l *lower, t clif.Type, x, y, dst vreg) {
	unordered := simdOf(l, asm.Cmpp, t).by(cmpUnordered).of(y, x)
	union := simdOf(l, asm.Orp, t).of(x, unordered)
	rest := simd(l, asm.PsrldImm).by(10)
	if t == clif.F64x2 {
		rest = simd(l, asm.PsrlqImm).by(13)
	}
	simdOf(l, asm.Andnp, t).to(rest.of(unordered), union, dst)
}

// fusedRows are the rows of fused multiplication: the sum in the first factor's place, in the addend's.
var fusedRows = [clif.NumOpcodes]struct{ factor, addend backend.Op }{
	clif.OpVfma: {asm.Vfmadd213p, asm.Vfmadd231p}, clif.OpVfnma: {asm.Vfnmadd213p, asm.Vfnmadd231p},
}

// lowerVfma overwrites the addend, which is often a sum that goes around a loop, unless only the first factor ends here.
func lowerVfma(l *lower, _ clif.Inst, d *clif.InstData) {
	if !has(&l.Query, asm.FMA) {
		panic(backend.Unsupported("fused multiplication of vectors is not supported below x86-64-v3"))
	}
	x, y, z := d.ArgA(), d.ArgB(), d.ArgC()
	in := backend.Inst{Op: fusedRows[d.Op].addend, Size: uint8(d.Type.LaneBits() / 8)}
	if l.EndsHere(x) && !l.EndsHere(z) {
		in.Op = fusedRows[d.Op].factor
		l.Emit(in, l.Use(x), l.Use(y), l.Use(z), l.Def(d, 0))
		return
	}
	l.Emit(in, l.Use(z), l.Use(x), l.Use(y), l.Def(d, 0))
}

// lowerVcvtFromUint makes floats of the upper and the lower 16 bits by putting them behind the exponents of 2^39 and 2^23, of whole
// numbers of 32 bits by putting them behind that of 2^52.
func lowerVcvtFromUint(l *lower, _ clif.Inst, d *clif.InstData) {
	x, dst := l.Use(d.ArgA()), l.Def(d, 0)
	if d.Type == clif.F64x2 {
		joined := simd(l, asm.Punpckldq).constOf(x, all(clif.I32x4, 0x43300000))
		simdOf(l, asm.Subp, d.Type).constTo(joined, floatLanes(d.Type, 1<<52), dst)
		return
	}
	const odd = 0xaa
	low := simd(l, asm.Pblendw).by(odd).constOf(x, floatLanes(d.Type, 1<<23))
	upper := simd(l, asm.Pblendw).by(odd).constOf(simd(l, asm.PsrldImm).by(16).of(x), floatLanes(d.Type, 1<<39))
	upper = simdOf(l, asm.Subp, d.Type).constOf(upper, floatLanes(d.Type, 1<<39+1<<23))
	simdOf(l, asm.Addp, d.Type).to(upper, low, dst)
}

// lowerVcvtToSintSat: the machine's conversion gives the smallest number for all that does not fit.
func lowerVcvtToSintSat(l *lower, _ clif.Inst, d *clif.InstData) {
	t, x, dst := d.Type, l.Use(d.ArgA()), l.Def(d, 0)
	if t == clif.F64x2 { // the largest one for what is above, 0 for NaNs
		ordered := simdOf(l, asm.Cmpp, t).by(cmpEqual).of(x, x)
		bound := simdOf(l, asm.Andp, t).constOf(ordered, floatLanes(t, 1<<31-1))
		simd(l, asm.CvtF64ToI32p).to(simdOf(l, asm.Minp, t).of(x, bound), dst)
		return
	}
	above := simdOf(l, asm.Cmpp, t).by(cmpNotLess).constOf(x, floatLanes(t, 1<<31))
	number := simd(l, asm.Pxor).of(simd(l, asm.CvtF32ToI32p).of(x), above) // the smallest one inverted is the largest
	simd(l, asm.Pand).to(simdOf(l, asm.Cmpp, t).by(cmpOrdered).of(x, x), number, dst)
}

// lowerVcvtToUintSat: NaNs and negative numbers become 0 first.
func lowerVcvtToUintSat(l *lower, _ clif.Inst, d *clif.InstData) {
	t, x, dst, zero := d.Type, l.Use(d.ArgA()), l.Def(d, 0), zeros.shared(l)
	x = simdOf(l, asm.Maxp, t).of(x, zero)
	if t == clif.F64x2 { // plus 2^52, the number is in the lower half
		x = simdOf(l, asm.Minp, t).constOf(x, floatLanes(t, 1<<32-1))
		x = simdOf(l, asm.Addp, t).constOf(simdOf(l, asm.Roundp, t).by(vectorRoundings[clif.OpVftrunc]).of(x), floatLanes(t, 1<<52))
		sized(l, asm.Shufp, 4).by(2<<2).to(x, zero, dst)
		return
	}
	// What is above 2^31 is 2^31, which the conversion gives, plus the rest, which may be above 2^31 again.
	rest := simdOf(l, asm.Subp, t).constOf(x, floatLanes(t, 1<<31))
	above := simdOf(l, asm.Cmpp, t).by(cmpNotLess).constOf(rest, floatLanes(t, 1<<31))
	upper := simd(l, asm.Pxor).of(simd(l, asm.CvtF32ToI32p).of(rest), above)
	upper = simd(l, asm.Pmaxsd).of(upper, zero)
	simd(l, asm.Paddd).to(simd(l, asm.CvtF32ToI32p).of(x), upper, dst)
}
