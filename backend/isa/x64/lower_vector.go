package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// vectorLowerings are the functions for opcodes of vectors.
var vectorLowerings = [clif.NumOpcodes]backend.LowerFunc{
	clif.OpVconst:   lowerVconst,
	clif.OpVsplat:   lowerVsplat,
	clif.OpVextract: lowerVextract, clif.OpVextractS: lowerVextractS, clif.OpVinsert: lowerVinsert,
	clif.OpVshuffle: lowerVshuffle, clif.OpVswizzle: lowerVswizzle, clif.OpVswizzleMod: lowerVbinary,
	clif.OpVnot: lowerVnot, clif.OpVand: lowerVbinary, clif.OpVor: lowerVbinary, clif.OpVxor: lowerVbinary,
	clif.OpVandnot: lowerVswapped, clif.OpVbitselect: lowerVbitselect, clif.OpVselectTop: lowerVselectTop,
	clif.OpVanyTrue: lowerVtest, clif.OpVallTrue: lowerVtest, clif.OpVbitmask: lowerVbitmask,

	clif.OpVadd: lowerVbinary, clif.OpVsub: lowerVbinary, clif.OpVmul: lowerVmul, clif.OpVneg: lowerVneg, clif.OpVabs: lowerVabs,
	clif.OpVaddSatS: lowerVbinary, clif.OpVaddSatU: lowerVbinary, clif.OpVsubSatS: lowerVbinary, clif.OpVsubSatU: lowerVbinary,
	clif.OpVminS: lowerVbinary, clif.OpVminU: lowerVbinary, clif.OpVmaxS: lowerVbinary, clif.OpVmaxU: lowerVbinary,
	clif.OpVavgrU: lowerVbinary, clif.OpVpopcnt: lowerVpopcnt,
	clif.OpVshl: lowerVshift, clif.OpVshrS: lowerVshift, clif.OpVshrU: lowerVshift,
	clif.OpVq15mulr: lowerVbinary, clif.OpVq15mulrSat: lowerVq15mulrSat,
	clif.OpVdot: lowerVdot, clif.OpVdotUS: lowerVbinary, clif.OpVdotAdd: lowerVdotAdd, clif.OpVicmp: lowerVicmp,

	clif.OpVextendLowS: lowerVunary, clif.OpVextendLowU: lowerVunary,
	clif.OpVextendHighS: lowerVextendHighS, clif.OpVextendHighU: lowerVextendHighU,
	clif.OpVnarrowS: lowerVbinary, clif.OpVnarrowU: lowerVbinary,
	clif.OpVextaddPairS: lowerVextaddPair, clif.OpVextaddPairU: lowerVextaddPair,
	clif.OpVextmulLowS: lowerVextmul, clif.OpVextmulLowU: lowerVextmul, clif.OpVextmulHighS: lowerVextmul, clif.OpVextmulHighU: lowerVextmul,

	clif.OpVfadd: lowerVbinary, clif.OpVfsub: lowerVbinary, clif.OpVfmul: lowerVbinary, clif.OpVfdiv: lowerVbinary,
	clif.OpVfmin: lowerVfmin, clif.OpVfmax: lowerVfmax, clif.OpVfpmin: lowerVswapped, clif.OpVfpmax: lowerVswapped,
	clif.OpVfma: lowerVfma, clif.OpVfnma: lowerVfma, clif.OpVfabs: lowerVfabs, clif.OpVfneg: lowerVfneg, clif.OpVfsqrt: lowerVunary,
	clif.OpVfceil: lowerVfround, clif.OpVffloor: lowerVfround, clif.OpVftrunc: lowerVfround, clif.OpVfnearest: lowerVfround,
	clif.OpVfcmp: lowerVfcmp,

	clif.OpVcvtFromSint: lowerVunary, clif.OpVcvtFromUint: lowerVcvtFromUint,
	clif.OpVcvtToSintSat: lowerVcvtToSintSat, clif.OpVcvtToUintSat: lowerVcvtToUintSat, clif.OpVcvtToSintInd: lowerVunary,
	clif.OpVpromote: lowerVunary, clif.OpVdemote: lowerVunary,
}

// numShapes bounds the types of instructions of vectors: shapes, and v128.
const numShapes = clif.F64x2 + 1

// vectorRows are the rows of opcodes that are one instruction, by shape.
var vectorRows = [clif.NumOpcodes][numShapes]backend.Op{
	clif.OpVswizzleMod: {clif.I8x16: asm.Pshufb},
	clif.OpVand:        {clif.V128: asm.Pand},
	clif.OpVor:         {clif.V128: asm.Por},
	clif.OpVxor:        {clif.V128: asm.Pxor},
	clif.OpVandnot:     {clif.V128: asm.Pandn}, // swapped

	clif.OpVadd:     {clif.I8x16: asm.Paddb, clif.I16x8: asm.Paddw, clif.I32x4: asm.Paddd, clif.I64x2: asm.Paddq},
	clif.OpVsub:     {clif.I8x16: asm.Psubb, clif.I16x8: asm.Psubw, clif.I32x4: asm.Psubd, clif.I64x2: asm.Psubq},
	clif.OpVmul:     {clif.I16x8: asm.Pmullw, clif.I32x4: asm.Pmulld},
	clif.OpVabs:     {clif.I8x16: asm.Pabsb, clif.I16x8: asm.Pabsw, clif.I32x4: asm.Pabsd},
	clif.OpVaddSatS: {clif.I8x16: asm.Paddsb, clif.I16x8: asm.Paddsw},
	clif.OpVaddSatU: {clif.I8x16: asm.Paddusb, clif.I16x8: asm.Paddusw},
	clif.OpVsubSatS: {clif.I8x16: asm.Psubsb, clif.I16x8: asm.Psubsw},
	clif.OpVsubSatU: {clif.I8x16: asm.Psubusb, clif.I16x8: asm.Psubusw},
	clif.OpVminS:    {clif.I8x16: asm.Pminsb, clif.I16x8: asm.Pminsw, clif.I32x4: asm.Pminsd},
	clif.OpVminU:    {clif.I8x16: asm.Pminub, clif.I16x8: asm.Pminuw, clif.I32x4: asm.Pminud},
	clif.OpVmaxS:    {clif.I8x16: asm.Pmaxsb, clif.I16x8: asm.Pmaxsw, clif.I32x4: asm.Pmaxsd},
	clif.OpVmaxU:    {clif.I8x16: asm.Pmaxub, clif.I16x8: asm.Pmaxuw, clif.I32x4: asm.Pmaxud},
	clif.OpVavgrU:   {clif.I8x16: asm.Pavgb, clif.I16x8: asm.Pavgw},
	clif.OpVq15mulr: {clif.I16x8: asm.Pmulhrsw},
	clif.OpVdot:     {clif.I32x4: asm.Pmaddwd},
	clif.OpVdotUS:   {clif.I16x8: asm.Pmaddubsw},

	clif.OpVextendLowS: {clif.I16x8: asm.Pmovsxbw, clif.I32x4: asm.Pmovsxwd, clif.I64x2: asm.Pmovsxdq},
	clif.OpVextendLowU: {clif.I16x8: asm.Pmovzxbw, clif.I32x4: asm.Pmovzxwd, clif.I64x2: asm.Pmovzxdq},
	clif.OpVnarrowS:    {clif.I8x16: asm.Packsswb, clif.I16x8: asm.Packssdw},
	clif.OpVnarrowU:    {clif.I8x16: asm.Packuswb, clif.I16x8: asm.Packusdw},

	clif.OpVfadd:  {clif.F32x4: asm.Addp, clif.F64x2: asm.Addp},
	clif.OpVfsub:  {clif.F32x4: asm.Subp, clif.F64x2: asm.Subp},
	clif.OpVfmul:  {clif.F32x4: asm.Mulp, clif.F64x2: asm.Mulp},
	clif.OpVfdiv:  {clif.F32x4: asm.Divp, clif.F64x2: asm.Divp},
	clif.OpVfpmin: {clif.F32x4: asm.Minp, clif.F64x2: asm.Minp}, // swapped
	clif.OpVfpmax: {clif.F32x4: asm.Maxp, clif.F64x2: asm.Maxp}, // swapped
	clif.OpVfsqrt: {clif.F32x4: asm.Sqrtp, clif.F64x2: asm.Sqrtp},

	clif.OpVcvtFromSint:  {clif.F32x4: asm.CvtI32ToF32p, clif.F64x2: asm.CvtI32ToF64p},
	clif.OpVcvtToSintInd: {clif.F32x4: asm.CvtF32ToI32p, clif.F64x2: asm.CvtF64ToI32p},
	clif.OpVpromote:      {clif.F64x2: asm.CvtF32ToF64p},
	clif.OpVdemote:       {clif.F32x4: asm.CvtF64ToF32p},
}

// vop is an instruction of vectors to append: SSE's, or its VEX form if the target has that.
type vop struct {
	l  *lower
	in backend.Inst
}

// simd returns the instruction of a row whose size is 16.
func simd(l *lower, op backend.Op) vop { return sized(l, op, 16) }

// sized returns the instruction of a row with a size, which for floats is that of a lane.
func sized(l *lower, op backend.Op, size uint8) vop {
	if has(&l.Query, asm.AVX) {
		op = asm.Vex(op)
	}
	return vop{l, backend.Inst{Op: op, Size: size}}
}

// formOf returns the instruction of a row that may have one form only. Lanes of floats are of four bytes.
func formOf(l *lower, op backend.Op) backend.Inst {
	switch {
	case op > asm.MovhpsStore:
		return backend.Inst{Op: op, Size: 16}
	case op == asm.Shufp:
		return sized(l, op, 4).in
	}
	return simd(l, op).in
}

// simdOf returns the instruction of a row for lanes of shape t.
func simdOf(l *lower, op backend.Op, t clif.Type) vop {
	if asm.RowOf(op).Sizes.Allow(16) {
		return simd(l, op)
	}
	return sized(l, op, uint8(t.LaneBits()/8))
}

// by returns the instruction with an immediate.
func (o vop) by(imm int64) vop {
	o.in.Imm = imm
	return o
}

// to appends the instruction with the given registers, of which the last is the result.
func (o vop) to(regs ...vreg) { o.l.Emit(o.in, regs...) }

// of appends the instruction and returns its result, a fresh vector.
func (o vop) of(x vreg, more ...vreg) vreg {
	var buf [4]vreg
	dst := o.l.NewVReg(clif.V128)
	o.to(append(append(append(buf[:0], x), more...), dst)...)
	return dst
}

// constTo appends dst = x op k.
func (o vop) constTo(x vreg, k vector128, dst vreg) {
	emitMem(o.l, o.in, k.pool(o.l), []vreg{x}, []vreg{dst})
}

// constOf returns x op k.
func (o vop) constOf(x vreg, k vector128) vreg {
	dst := o.l.NewVReg(clif.V128)
	o.constTo(x, k, dst)
	return dst
}

// vector128 is a constant.
type vector128 struct{ low, high uint64 }

// all returns the constant whose lanes of shape t are x.
func all(t clif.Type, x uint64) vector128 {
	for n := t.LaneBits(); n < 64; n *= 2 {
		x = x&(1<<n-1) | x<<n
	}
	return vector128{x, x}
}

// pool returns the address of k in the constant pool.
func (k vector128) pool(l *lower) amode { return l.Pool(k.low, k.high, 16) }

// reg returns a register with k, for an instruction whose SSE form overwrites it.
func (k vector128) reg(l *lower) vreg {
	if has(&l.Query, asm.AVX) {
		return k.shared(l)
	}
	r := l.NewVReg(clif.V128)
	vectorConst(l, k.low, k.high, r)
	return r
}

// shared returns a register with k, for an instruction that only reads it.
func (k vector128) shared(l *lower) vreg { return l.SharedVector(k.low, k.high) }

// zeros and ones are the constants that need no memory.
var zeros, ones = vector128{}, vector128{math.MaxUint64, math.MaxUint64}

// lowerVconst: in front of a loop, a constant saves loads. But a copy of one that is used once and then overwritten is no cheaper than its load.
func lowerVconst(l *lower, _ clif.Inst, d *clif.InstData) {
	low, high := d.V128()
	kept := has(&l.Query, asm.AVX) || !l.SingleUse(d.Result)
	if dst := l.Def(d, 0); !kept || !l.VectorInFront(low, high, dst) {
		vectorConst(l, low, high, dst)
	}
}

// vectorConst implements backend.Target.VectorConst.
func vectorConst(l *lower, low, high uint64, dst vreg) {
	switch k := (vector128{low, high}); k {
	case zeros:
		l.EmitRemat(backend.Inst{Op: asm.Zerof}, dst)
	case ones:
		l.EmitRemat(backend.Inst{Op: asm.Onesf}, dst)
	default:
		in := backend.Inst{Op: asm.MovfLoad, Size: 16}
		a := k.pool(l)
		a.Set(&in)
		l.EmitRemat(in, dst)
	}
}

// foldOperand returns the address of v, if an instruction of vectors may read it from memory instead of a register.
func foldOperand(l *lower, v clif.Value) (a amode, ok bool) {
	if _, ok := l.Fold(RuleVconstOperand, clif.V128, v, 16); ok {
		low, high, _ := l.Vconst(v)
		return vector128{low, high}.pool(l), true
	}
	b, ok := l.Fold(RuleVloadOperand, clif.V128, v, 16)
	if !ok {
		return a, false
	}
	return loadedAt(l, b.Load), true
}

// values appends dst = x op y. The operand that memory may hold is y, or either if they commute.
func (o vop) values(x, y clif.Value, dst vreg) {
	l := o.l
	a, inMemory := foldOperand(l, y)
	if !inMemory && asm.RowOf(o.in.Op).Flags&asm.Commutes != 0 {
		if a, inMemory = foldOperand(l, x); inMemory || overwriteSecond(l, x, y) {
			x, y = y, x
		}
	}
	if inMemory {
		emitMem(l, o.in, a, []vreg{l.Use(x)}, []vreg{dst})
		return
	}
	o.to(l.Use(x), l.Use(y), dst)
}

// valuesOf returns x op y, a fresh vector.
func (o vop) valuesOf(x, y clif.Value) vreg {
	dst := o.l.NewVReg(clif.V128)
	o.values(x, y, dst)
	return dst
}

// value appends dst = op x.
func (o vop) value(x clif.Value, dst vreg) {
	if asm.ReadsVector(o.in.Op) {
		if a, ok := foldOperand(o.l, x); ok {
			emitMem(o.l, o.in, a, nil, []vreg{dst})
			return
		}
	}
	o.to(o.l.Use(x), dst)
}

// lowerVbinary appends x op y, for an instruction of vectorRows.
func lowerVbinary(l *lower, _ clif.Inst, d *clif.InstData) {
	simdOf(l, vectorRows[d.Op][d.Type], d.Type).values(d.ArgA(), d.ArgB(), l.Def(d, 0))
}

// lowerVswapped appends y op x.
func lowerVswapped(l *lower, _ clif.Inst, d *clif.InstData) {
	simdOf(l, vectorRows[d.Op][d.Type], d.Type).values(d.ArgB(), d.ArgA(), l.Def(d, 0))
}

// lowerVunary appends op x.
func lowerVunary(l *lower, _ clif.Inst, d *clif.InstData) {
	simdOf(l, vectorRows[d.Op][d.Type], d.Type).value(d.ArgA(), l.Def(d, 0))
}

func lowerVnot(l *lower, _ clif.Inst, d *clif.InstData) {
	invert(l, l.Use(d.ArgA()), l.Def(d, 0))
}

// invert appends dst = not x.
func invert(l *lower, x, dst vreg) { simd(l, asm.Pxor).to(x, ones.shared(l), dst) }

// lowerVbitselect appends (a and c) or (b and not c).
func lowerVbitselect(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Use(d.ArgC())
	a := simd(l, asm.Pand).of(l.Use(d.ArgA()), c)
	b := simd(l, asm.Pandn).of(c, l.Use(d.ArgB()))
	simd(l, asm.Por).to(a, b, l.Def(d, 0))
}

// blends are the selections by top bits of lanes, in SSE and in AVX.
var blends = [numShapes]struct{ sse, avx backend.Op }{
	clif.I8x16: {asm.Pblendvb, asm.Vpblendvb}, clif.I16x8: {asm.Pblendvb, asm.Vpblendvb},
	clif.I32x4: {asm.Blendvps, asm.Vblendvps}, clif.I64x2: {asm.Blendvpd, asm.Vblendvpd},
}

func lowerVselectTop(l *lower, _ clif.Inst, d *clif.InstData) {
	c := l.Use(d.ArgC())
	if d.Type == clif.I16x8 {
		c = simd(l, asm.PsrawImm).by(15).of(c)
	}
	blend(l, d.Type, l.Use(d.ArgA()), l.Use(d.ArgB()), c, l.Def(d, 0))
}

// blend appends dst = the lanes of a where the top bit of c's is set, else of b. There is no blend of lanes of 16 bits: the top bits of both
// bytes must be equal.
func blend(l *lower, t clif.Type, a, b, c, dst vreg) {
	op := blends[t].sse
	if has(&l.Query, asm.AVX) {
		op = blends[t].avx
	}
	l.Emit(backend.Inst{Op: op, Size: 16}, b, a, c, dst)
}

// lowerVselectMask: lanes of ones and zeros choose whole bytes.
func lowerVselectMask(l *lower, m *match) {
	blend(l, clif.I8x16, l.Use(m.X()), l.Use(m.Y()), l.Use(m.Z()), l.Def(m.D, 0))
}

// lowerVtest appends vany_true or vall_true as 0 or 1.
func lowerVtest(l *lower, _ clif.Inst, d *clif.InstData) {
	dst := l.Def(d, 0)
	c := vectorTest(l, d)
	c.Push(l, backend.TailSet, 0, dst)
}

// vectorTest returns the comparison that a vany_true or vall_true stands for.
func vectorTest(l *lower, d *clif.InstData) comparison {
	x, cond := l.Use(d.ArgA()), asm.NE
	if d.Op == clif.OpVallTrue {
		x, cond = simd(l, equals[d.Type]).of(x, zeros.shared(l)), asm.E
	}
	c := backend.Comparing(simd(l, asm.Ptest).in, cond)
	c.Add(x, x)
	return c
}

// compareVectorTest: a test of a vector sets the flags.
func compareVectorTest(l *lower, m *match) {
	_, d := l.DefInst(m.X())
	m.Cmp = vectorTest(l, d)
	if clif.IntCC(m.CC) == clif.Eq {
		m.Cmp.In.Cond ^= 1
	}
}

// compareBitmask: the top bits of words are those of every second byte.
func compareBitmask(l *lower, m *match) {
	bytes := l.NewVReg(clif.I32)
	sized(l, asm.Pmovmskb, 4).to(l.Use(m.X()), bytes)
	c := begin(m, asm.TestImm, 4)
	c.In.Imm = 0xaaaa
	c.Add(bytes)
}

// lowerVbitmask: words are packed to bytes, which keeps their signs.
func lowerVbitmask(l *lower, _ clif.Inst, d *clif.InstData) {
	x, dst := l.Use(d.ArgA()), l.Def(d, 0)
	switch d.Type {
	case clif.I8x16:
		sized(l, asm.Pmovmskb, 4).to(x, dst)
	case clif.I16x8:
		sized(l, asm.Pmovmskb, 4).to(simd(l, asm.Packsswb).of(x, zeros.shared(l)), dst)
	case clif.I32x4:
		sized(l, asm.Movmsk, 4).to(x, dst)
	case clif.I64x2:
		sized(l, asm.Movmsk, 8).to(x, dst)
	}
}

// copyVector appends dst = x, or what is of it in the register of a scalar.
func copyVector(l *lower, x, dst vreg) {
	l.Ops = append(l.Ops, regalloc.UseOf(x, regalloc.Reg), regalloc.DefOf(dst, regalloc.Reg)) // a slot is not read in part
	l.Push(backend.Inst{Op: asm.Movf, Size: 16}, 0)
}
