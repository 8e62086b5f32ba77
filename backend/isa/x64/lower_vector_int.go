package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// This file lowers arithmetic of integer lanes that is more than one instruction.

// lowerVmul: products of 64 bits are sums of those of 32 bits.
func lowerVmul(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type != clif.I64x2 {
		lowerVbinary(l, i, d)
		return
	}
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	upper := simd(l, asm.Pmuludq).of(simd(l, asm.PsrlqImm).by(32).of(x), y)
	cross := simd(l, asm.Pmuludq).of(simd(l, asm.PsrlqImm).by(32).of(y), x)
	sum := simd(l, asm.PsllqImm).by(32).of(simd(l, asm.Paddq).of(upper, cross))
	simd(l, asm.Paddq).to(simd(l, asm.Pmuludq).of(x, y), sum, l.Def(d, 0))
}

func lowerVneg(l *lower, _ clif.Inst, d *clif.InstData) {
	simd(l, vectorRows[clif.OpVsub][d.Type]).to(zeros.reg(l), l.Use(d.ArgA()), l.Def(d, 0))
}

// lowerVabs: of 64 bits, it inverts and adds 1 where the sign is set.
func lowerVabs(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type != clif.I64x2 {
		lowerVunary(l, i, d)
		return
	}
	x := l.Use(d.ArgA())
	sign := signs64(l, x)
	simd(l, asm.Psubq).to(simd(l, asm.Pxor).of(x, sign), sign, l.Def(d, 0))
}

// The immediates of pshufd that copy the high half of each quadword to the low one, and the high quadword.
const (
	oddLanes = 3<<6 | 3<<4 | 1<<2 | 1
	highHalf = 3<<6 | 2<<4 | 3<<2 | 2
)

// signs64 returns lanes of 64 bits of ones where those of x are negative, else of zeros.
func signs64(l *lower, x vreg) vreg {
	return simd(l, asm.PsradImm).by(31).of(simd(l, asm.Pshufd).by(oddLanes).of(x))
}

// lowerVpopcnt looks both halves of each byte up in a table.
func lowerVpopcnt(l *lower, _ clif.Inst, d *clif.InstData) {
	const low, high = 0x0302020102010100, 0x0403030203020201
	x, nibble := l.Use(d.ArgA()), all(clif.I8x16, 15)
	counts := vector128{low, high}.reg(l)
	count := func(n vreg) vreg { return simd(l, asm.Pshufb).of(counts, simd(l, asm.Pand).constOf(n, nibble)) }
	simd(l, asm.Paddb).to(count(x), count(simd(l, asm.PsrlwImm).by(4).of(x)), l.Def(d, 0))
}

// vectorShifts are the rows of shifts by a vector's low lane; there is none of bytes, and no arithmetic one of 64 bits.
var vectorShifts = [clif.NumOpcodes][numShapes]struct{ count, imm backend.Op }{
	clif.OpVshl: {clif.I8x16: {asm.Psllw, asm.PsllwImm}, clif.I16x8: {asm.Psllw, asm.PsllwImm},
		clif.I32x4: {asm.Pslld, asm.PslldImm}, clif.I64x2: {asm.Psllq, asm.PsllqImm}},
	clif.OpVshrU: {clif.I8x16: {asm.Psrlw, asm.PsrlwImm}, clif.I16x8: {asm.Psrlw, asm.PsrlwImm},
		clif.I32x4: {asm.Psrld, asm.PsrldImm}, clif.I64x2: {asm.Psrlq, asm.PsrlqImm}},
	clif.OpVshrS: {clif.I8x16: {asm.Psraw, asm.PsrawImm}, clif.I16x8: {asm.Psraw, asm.PsrawImm},
		clif.I32x4: {asm.Psrad, asm.PsradImm}},
}

func lowerVshift(l *lower, _ clif.Inst, d *clif.InstData) {
	t, op := d.Type, d.Op
	x, dst := l.Use(d.ArgA()), l.Def(d, 0)
	amount := l.NewVReg(clif.I32)
	l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: int64(t.LaneBits() - 1)}, l.Low(d.ArgB()), amount)
	shift := simd(l, vectorShifts[op][t].count)
	switch {
	case op == clif.OpVshrS && t == clif.I8x16:
		// Bytes become words, in their upper halves.
		wide := l.NewVReg(clif.I32)
		l.Emit(backend.Inst{Op: asm.AddImm, Size: 4, Imm: 8}, amount, wide)
		n := vectorCount(l, wide)
		low := shift.of(simd(l, asm.Punpcklbw).of(x, x), n)
		high := shift.of(simd(l, asm.Punpckhbw).of(x, x), n)
		simd(l, asm.Packsswb).to(low, high, dst)
	case op == clif.OpVshrS && t == clif.I64x2:
		n := vectorCount(l, amount)
		shift := simd(l, asm.Psrlq)
		extendSign(l, t, shift.of(x, n), shift.of(all(t, 1<<63).reg(l), n), dst)
	case t == clif.I8x16:
		// The bits that leave a byte are cleared.
		n := vectorCount(l, amount)
		kept := simd(l, asm.Psrlw).of(all(clif.I16x8, 0xff).reg(l), n)
		kept = simd(l, asm.Packuswb).of(kept, kept)
		if op == clif.OpVshl {
			shift.to(simd(l, asm.Pand).of(x, kept), n, dst)
		} else {
			simd(l, asm.Pand).to(shift.of(x, n), kept, dst)
		}
	default:
		shift.to(x, vectorCount(l, amount), dst)
	}
}

// lowerVshiftImm: bytes are shifted as words, and cleared of their neighbours' bits.
func lowerVshiftImm(l *lower, m *match) {
	t, op := m.T, m.D.Op
	width := int64(t.LaneBits())
	k := m.K & (width - 1)
	x, dst := l.Use(m.X()), l.Def(m.D, 0)
	if k == 0 {
		copyVector(l, x, dst)
		return
	}
	if k == 1 && op == clif.OpVshl { // more units add than shift
		simd(l, vectorRows[clif.OpVadd][t]).to(x, x, dst)
		return
	}
	left, right := simd(l, vectorShifts[clif.OpVshl][t].imm).by(k), simd(l, vectorShifts[clif.OpVshrU][t].imm).by(k)
	sign := all(t, 1<<(width-1)>>k)
	switch {
	case t == clif.I8x16 && op == clif.OpVshl:
		simd(l, asm.Pand).constTo(left.of(x), all(t, 0xff<<k), dst)
	case t == clif.I8x16 && op == clif.OpVshrU:
		simd(l, asm.Pand).constTo(right.of(x), all(t, 0xff>>k), dst)
	case t == clif.I8x16 && k == 7:
		simd(l, asm.Pcmpgtb).to(zeros.reg(l), x, dst)
	case t == clif.I8x16:
		shifted := simd(l, asm.Pand).constOf(right.of(x), all(t, 0xff>>k))
		simd(l, asm.Psubb).constTo(simd(l, asm.Pxor).constOf(shifted, sign), sign, dst)
	case t == clif.I64x2 && op == clif.OpVshrS && k == 63:
		simd(l, asm.PsradImm).by(31).to(simd(l, asm.Pshufd).by(oddLanes).of(x), dst)
	case t == clif.I64x2 && op == clif.OpVshrS && k < 32:
		const odd = 0xcc
		simd(l, asm.Pblendw).by(odd).to(right.of(x), simd(l, asm.PsradImm).by(k).of(x), dst)
	case t == clif.I64x2 && op == clif.OpVshrS:
		simd(l, asm.Psubq).constTo(simd(l, asm.Pxor).constOf(right.of(x), sign), sign, dst)
	default:
		simd(l, vectorShifts[op][t].imm).by(k).to(x, dst)
	}
}

// vectorCount returns a vector with the amount of a shift.
func vectorCount(l *lower, amount vreg) vreg {
	n := l.NewVReg(clif.V128)
	l.Emit(backend.Inst{Op: asm.MovdToF, Size: 4}, amount, n)
	return n
}

// extendSign appends dst = x with the bits above that of sign equal to this one.
func extendSign(l *lower, t clif.Type, x, sign, dst vreg) {
	simd(l, vectorRows[clif.OpVsub][t]).to(simd(l, asm.Pxor).of(x, sign), sign, dst)
}

// lowerVq15mulrSat: the product of the two smallest numbers is the only one that does not fit.
func lowerVq15mulrSat(l *lower, _ clif.Inst, d *clif.InstData) {
	product := simd(l, asm.Pmulhrsw).of(l.Use(d.ArgA()), l.Use(d.ArgB()))
	over := simd(l, asm.Pcmpeqw).constOf(product, all(clif.I16x8, 0x8000))
	simd(l, asm.Pxor).to(product, over, l.Def(d, 0))
}

// lowerVdot: products of even bytes and of odd ones.
func lowerVdot(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type == clif.I32x4 {
		lowerVbinary(l, i, d)
		return
	}
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	odd := func(x vreg) vreg { return simd(l, asm.PsrawImm).by(8).of(x) }
	even := func(x vreg) vreg { return odd(simd(l, asm.PsllwImm).by(8).of(x)) }
	simd(l, asm.Paddw).to(simd(l, asm.Pmullw).of(even(x), even(y)), simd(l, asm.Pmullw).of(odd(x), odd(y)), l.Def(d, 0))
}

// lowerVdotAdd: sums of two products, then of four.
func lowerVdotAdd(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	low := simd(l, asm.Pmaddwd).of(simd(l, asm.Pmovsxbw).of(x), simd(l, asm.Pmovsxbw).of(y))
	high := simd(l, asm.Pmaddwd).of(highS(l, clif.I16x8, x), highS(l, clif.I16x8, y))
	simd(l, asm.Paddd).to(simd(l, asm.Phaddd).of(low, high), l.Use(d.ArgC()), l.Def(d, 0))
}

// equals and greater are the comparisons that there are; those of greater are signed.
var (
	equals  = [numShapes]backend.Op{clif.I8x16: asm.Pcmpeqb, clif.I16x8: asm.Pcmpeqw, clif.I32x4: asm.Pcmpeqd, clif.I64x2: asm.Pcmpeqq}
	greater = [numShapes]backend.Op{clif.I8x16: asm.Pcmpgtb, clif.I16x8: asm.Pcmpgtw, clif.I32x4: asm.Pcmpgtd, clif.I64x2: asm.Pcmpgtq}
)

// bounds are the operations whose result is x where x compares so with y. Lanes of 64 bits have none.
var bounds = [clif.NumIntCCs]clif.Opcode{clif.Sge: clif.OpVmaxS, clif.Sle: clif.OpVminS, clif.Uge: clif.OpVmaxU, clif.Ule: clif.OpVminU}

func lowerVicmp(l *lower, _ clif.Inst, d *clif.InstData) {
	compareLanes(l, d.Type, d.IntCC(), d.ArgA(), d.ArgB(), l.Def(d, 0))
}

// compareLanes appends dst = ones in the lanes for which cc holds, else zeros.
func compareLanes(l *lower, t clif.Type, cc clif.IntCC, x, y clif.Value, dst vreg) {
	if bounds[cc] != 0 && t != clif.I64x2 {
		r := l.Use(x) // first: what is used twice is not read from memory
		simd(l, equals[t]).to(simd(l, vectorRows[bounds[cc]][t]).valuesOf(x, y), r, dst)
		return
	}
	switch cc {
	case clif.Slt, clif.Ult, clif.Sle, clif.Ule:
		x, y, cc = y, x, cc.Swap()
	}
	switch cc {
	case clif.Eq:
		simd(l, equals[t]).values(x, y, dst)
	case clif.Ne:
		invert(l, simd(l, equals[t]).valuesOf(x, y), dst)
	case clif.Sgt:
		simd(l, greater[t]).values(x, y, dst)
	case clif.Sge:
		invert(l, simd(l, greater[t]).valuesOf(y, x), dst)
	case clif.Ugt:
		greaterUnsigned(l, t, x, y, dst)
	case clif.Uge:
		below := l.NewVReg(clif.V128)
		greaterUnsigned(l, t, y, x, below)
		invert(l, below, dst)
	}
}

// inverseShorter reports whether compareLanes appends fewer instructions for the inverse of cc. Of constants, ugt and ult take as many.
func inverseShorter(t clif.Type, cc clif.IntCC) bool {
	switch cc {
	case clif.Ne, clif.Sge, clif.Sle:
		return true
	case clif.Ugt, clif.Ult:
		return t != clif.I64x2
	case clif.Uge, clif.Ule:
		return t == clif.I64x2
	}
	return false
}

// lowerVselectInverse: where the inverse holds, y is chosen.
func lowerVselectInverse(l *lower, m *match) {
	_, d := l.DefInst(m.D.ArgC())
	mask, dst := l.NewVReg(clif.V128), l.Def(m.D, 0)
	x, y := l.Use(m.X()), l.Use(m.Y())
	compareLanes(l, d.Type, d.IntCC().Invert(), m.Z(), m.W(), mask)
	blend(l, clif.I8x16, y, x, mask, dst)
}

// greaterUnsigned compares x and y with their signs inverted, which order as x and y do without signs.
func greaterUnsigned(l *lower, t clif.Type, x, y clif.Value, dst vreg) {
	top := all(t, 1<<(t.LaneBits()-1))
	unsign := func(v clif.Value) vreg {
		if low, high, ok := l.Vconst(v); ok {
			return vector128{low ^ top.low, high ^ top.high}.reg(l)
		}
		return simd(l, asm.Pxor).constOf(l.Use(v), top)
	}
	simd(l, greater[t]).to(unsign(x), unsign(y), dst)
}

// interleavings put lanes of half the width of t's side by side: those of the low halves of two vectors, of the high ones.
var interleavings = [numShapes]struct{ low, high backend.Op }{
	clif.I16x8: {asm.Punpcklbw, asm.Punpckhbw}, clif.I32x4: {asm.Punpcklwd, asm.Punpckhwd}, clif.I64x2: {asm.Punpckldq, asm.Punpckhdq},
}

// highS returns the sign-extended high lanes of x.
func highS(l *lower, t clif.Type, x vreg) vreg {
	return simd(l, vectorRows[clif.OpVextendLowS][t]).of(simd(l, asm.Pshufd).by(highHalf).of(x))
}

// highU returns the zero-extended high lanes of x.
func highU(l *lower, t clif.Type, x vreg) vreg {
	return simd(l, interleavings[t].high).of(x, zeros.shared(l))
}

func lowerVextendHighS(l *lower, _ clif.Inst, d *clif.InstData) {
	high := simd(l, asm.Pshufd).by(highHalf).of(l.Use(d.ArgA()))
	simd(l, vectorRows[clif.OpVextendLowS][d.Type]).to(high, l.Def(d, 0))
}

func lowerVextendHighU(l *lower, _ clif.Inst, d *clif.InstData) {
	simd(l, interleavings[d.Type].high).to(l.Use(d.ArgA()), zeros.shared(l), l.Def(d, 0))
}

// lowerVextaddPair multiplies by 1 and adds products in pairs. Words without signs are made signed by subtracting 2^15 from each.
func lowerVextaddPair(l *lower, _ clif.Inst, d *clif.InstData) {
	x, dst := l.Use(d.ArgA()), l.Def(d, 0)
	bytes, words := all(clif.I8x16, 1), all(clif.I16x8, 1)
	signed := d.Op == clif.OpVextaddPairS
	switch {
	case d.Type == clif.I16x8 && signed:
		simd(l, asm.Pmaddubsw).to(bytes.reg(l), x, dst)
	case d.Type == clif.I16x8:
		simd(l, asm.Pmaddubsw).constTo(x, bytes, dst)
	case signed:
		simd(l, asm.Pmaddwd).constTo(x, words, dst)
	default:
		x = simd(l, asm.Pxor).constOf(x, all(clif.I16x8, 0x8000))
		simd(l, asm.Paddd).constTo(simd(l, asm.Pmaddwd).constOf(x, words), all(clif.I32x4, 0x10000), dst)
	}
}

// lowerVextaddQuads adds four bytes.
func lowerVextaddQuads(l *lower, m *match) {
	pairs := simd(l, asm.Pmaddubsw).constOf(l.Use(m.X()), all(clif.I8x16, 1))
	simd(l, asm.Pmaddwd).constTo(pairs, all(clif.I16x8, 1), l.Def(m.D, 0))
}

// lowerVextaddProducts adds products of bytes, which are extended to words first.
func lowerVextaddProducts(l *lower, m *match) {
	high := m.Op == clif.OpVextmulHighS || m.Op == clif.OpVextmulHighU
	signed := m.Op == clif.OpVextmulLowS || m.Op == clif.OpVextmulHighS
	x, y := extended(l, high, signed, l.Use(m.X())), extended(l, high, signed, l.Use(m.Y()))
	simd(l, asm.Pmaddwd).to(x, y, l.Def(m.D, 0))
}

// lowerVextaddBytes adds products of what was bytes.
func lowerVextaddBytes(l *lower, m *match) {
	simd(l, asm.Pmaddwd).to(l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}

// lowerVextmul: bytes are extended first; of words there are the halves of products; even doublewords have whole products.
func lowerVextmul(l *lower, _ clif.Inst, d *clif.InstData) {
	t, x, y, dst := d.Type, l.Use(d.ArgA()), l.Use(d.ArgB()), l.Def(d, 0)
	high := d.Op == clif.OpVextmulHighS || d.Op == clif.OpVextmulHighU
	signed := d.Op == clif.OpVextmulLowS || d.Op == clif.OpVextmulHighS
	choose := func(s, u backend.Op) backend.Op {
		if signed {
			return s
		}
		return u
	}
	switch t {
	case clif.I16x8:
		simd(l, asm.Pmullw).to(extended(l, high, signed, x), extended(l, high, signed, y), dst)
	case clif.I32x4:
		low, upper := simd(l, asm.Pmullw).of(x, y), simd(l, choose(asm.Pmulhw, asm.Pmulhuw)).of(x, y)
		op := interleavings[t].low
		if high {
			op = interleavings[t].high
		}
		simd(l, op).to(low, upper, dst)
	case clif.I64x2:
		spread := simd(l, asm.Pshufd).by(1<<4 | 1<<6)
		if high {
			spread = spread.by(2 | 2<<2 | 3<<4 | 3<<6)
		}
		simd(l, choose(asm.Pmuldq, asm.Pmuludq)).to(spread.of(x), spread.of(y), dst)
	}
}

// extended returns half of the bytes of x as words.
func extended(l *lower, high, signed bool, x vreg) vreg {
	switch {
	case high && signed:
		return highS(l, clif.I16x8, x)
	case high:
		return highU(l, clif.I16x8, x)
	case signed:
		return simd(l, asm.Pmovsxbw).of(x)
	}
	return simd(l, asm.Pmovzxbw).of(x)
}
