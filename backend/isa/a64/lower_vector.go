package a64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// vectorLowerings are the functions for opcodes of vectors. Where one instruction does it, that is lowerVector.
var vectorLowerings = makeVectorLowerings()

func makeVectorLowerings() [clif.NumOpcodes]backend.LowerFunc {
	table := [clif.NumOpcodes]backend.LowerFunc{
		clif.OpVconst: lowerVconst, clif.OpVsplat: lowerVsplat, clif.OpVextract: lowerVextract, clif.OpVextractS: lowerVextractS,
		clif.OpVinsert: lowerVinsert, clif.OpVshuffle: lowerVshuffle, clif.OpVswizzleMod: lowerVswizzleMod,
		clif.OpVbitselect: lowerVbitselect, clif.OpVselectTop: lowerVselectTop,
		clif.OpVanyTrue: lowerVectorTest, clif.OpVallTrue: lowerVectorTest, clif.OpVbitmask: lowerVbitmask,
		clif.OpVand: lowerVectorLogic, clif.OpVor: lowerVectorLogic, clif.OpVadd: lowerVectorSum, clif.OpVsub: lowerVectorSum,
		clif.OpVfmul: lowerVectorProduct, clif.OpVmul: lowerVmul, clif.OpVshl: lowerVshift, clif.OpVshrS: lowerVshift, clif.OpVshrU: lowerVshift,
		clif.OpVq15mulr: lowerVq15mulr, clif.OpVdot: lowerVdot, clif.OpVdotUS: lowerVdotUS, clif.OpVdotAdd: lowerVdotAdd,
		clif.OpVicmp: lowerVicmp, clif.OpVfcmp: lowerVfcmp, clif.OpVnarrowS: lowerVnarrow, clif.OpVnarrowU: lowerVnarrow,
		clif.OpVfpmin: lowerVfpmin, clif.OpVfpmax: lowerVfpmax, clif.OpVfma: lowerVfma, clif.OpVfnma: lowerVfma,
		clif.OpVcvtFromSint: lowerVcvtFromInt, clif.OpVcvtFromUint: lowerVcvtFromInt,
		clif.OpVcvtToSintSat: lowerVcvtToInt, clif.OpVcvtToUintSat: lowerVcvtToInt, clif.OpVcvtToSintInd: lowerVcvtToSintInd,
	}
	for op := range vectorRows {
		if vectorRows[op].op != 0 && table[op] == nil {
			table[op] = lowerVector
		}
	}
	return table
}

// vectorRow is a row that does what an opcode says, on the same operands, with lanes of the opcode's width, or of half that.
type vectorRow struct {
	op   backend.Op
	half uint8 // 1 for half the width
}

// vectorRows are the rows of operations on vectors, by opcode, but products.
var vectorRows = [clif.NumOpcodes]vectorRow{
	clif.OpVswizzle: {asm.Vtbl, 0}, clif.OpVnot: {asm.Vnot, 0}, clif.OpVand: {asm.Vand, 0}, clif.OpVor: {asm.Vorr, 0}, clif.OpVxor: {asm.Veor, 0},
	clif.OpVandnot: {asm.Vbic, 0},
	clif.OpVadd:    {asm.Vadd, 0}, clif.OpVsub: {asm.Vsub, 0}, clif.OpVneg: {asm.Vneg, 0}, clif.OpVabs: {asm.Vabs, 0},
	clif.OpVaddSatS: {asm.Vsqadd, 0}, clif.OpVaddSatU: {asm.Vuqadd, 0}, clif.OpVsubSatS: {asm.Vsqsub, 0}, clif.OpVsubSatU: {asm.Vuqsub, 0},
	clif.OpVminS: {asm.Vsmin, 0}, clif.OpVminU: {asm.Vumin, 0}, clif.OpVmaxS: {asm.Vsmax, 0}, clif.OpVmaxU: {asm.Vumax, 0},
	clif.OpVavgrU: {asm.Vurhadd, 0}, clif.OpVpopcnt: {asm.Vcnt, 0}, clif.OpVq15mulrSat: {asm.Vsqrdmulh, 0},
	clif.OpVextendLowS: {asm.Vsshll, 1}, clif.OpVextendLowU: {asm.Vushll, 1}, clif.OpVextendHighS: {asm.Vsshll2, 1}, clif.OpVextendHighU: {asm.Vushll2, 1},
	clif.OpVextaddPairS: {asm.Vsaddlp, 1}, clif.OpVextaddPairU: {asm.Vuaddlp, 1},
	clif.OpVextmulLowS: {asm.Vsmull, 1}, clif.OpVextmulLowU: {asm.Vumull, 1}, clif.OpVextmulHighS: {asm.Vsmull2, 1}, clif.OpVextmulHighU: {asm.Vumull2, 1},
	clif.OpVfadd: {asm.Vfadd, 0}, clif.OpVfsub: {asm.Vfsub, 0}, clif.OpVfdiv: {asm.Vfdiv, 0},
	clif.OpVfmin: {asm.Vfmin, 0}, clif.OpVfmax: {asm.Vfmax, 0},
	clif.OpVfabs: {asm.Vfabs, 0}, clif.OpVfneg: {asm.Vfneg, 0}, clif.OpVfsqrt: {asm.Vfsqrt, 0},
	clif.OpVfceil: {asm.Vfrintp, 0}, clif.OpVffloor: {asm.Vfrintm, 0}, clif.OpVftrunc: {asm.Vfrintz, 0}, clif.OpVfnearest: {asm.Vfrintn, 0},
	clif.OpVcvtFromSint: {asm.Vscvtf, 0}, clif.OpVcvtFromUint: {asm.Vucvtf, 0}, clif.OpVcvtToSintSat: {asm.Vfcvtzs, 0}, clif.OpVcvtToUintSat: {asm.Vfcvtzu, 0},
	clif.OpVpromote: {asm.Vfcvtl, 1}, clif.OpVdemote: {asm.Vfcvtn, 0},
}

// laneScale returns the logarithm of the width of a shape's lanes in bytes. The lanes of v128 are bytes.
func laneScale(t clif.Type) uint8 {
	if t == clif.V128 {
		return 0
	}
	return uint8(bits.TrailingZeros8(uint8(t.LaneBits() / 8)))
}

// inLanes returns the instruction op on whole vectors with lanes of 1<<scale bytes.
func inLanes(op backend.Op, scale uint8) backend.Inst {
	return backend.Inst{Op: op, Size: 16, Scale: scale}
}

// inLanesBy is inLanes with an immediate.
func inLanesBy(op backend.Op, scale uint8, imm int64) backend.Inst {
	return backend.Inst{Op: op, Size: 16, Scale: scale, Imm: imm}
}

// vectorOf appends in and returns its result, a fresh vector; regs are the other operands.
func vectorOf(l *lower, in backend.Inst, regs ...vreg) vreg {
	dst := l.NewVReg(clif.V128)
	l.Emit(in, append(regs, dst)...)
	return dst
}

// lowerVector appends the opcode's row.
func lowerVector(l *lower, _ clif.Inst, d *clif.InstData) {
	r := vectorRows[d.Op]
	in := inLanes(r.op, laneScale(d.Type)-r.half)
	if d.NumArgs() == 1 {
		l.Emit(in, l.Use(d.ArgA()), l.Def(d, 0))
		return
	}
	l.Emit(in, l.Use(d.ArgA()), l.Use(d.ArgB()), l.Def(d, 0))
}

func lowerVconst(l *lower, _ clif.Inst, d *clif.InstData) {
	low, high := d.V128()
	vectorConst(l, low, high, l.Def(d, 0))
}

// vectorConst implements backend.Target.VectorConst.
func vectorConst(l *lower, low, high uint64, dst vreg) {
	in, ok := asm.VectorConst(low, high)
	if !ok {
		in = backend.Inst{Op: asm.Fldr, Size: 16}
		a := l.Pool(low, high, 16)
		a.Set(&in)
	}
	l.EmitRemat(in, dst)
}

func lowerVsplat(l *lower, _ clif.Inst, d *clif.InstData) {
	if d.Type.IsFloatShape() {
		l.Emit(inLanes(asm.VdupLane, laneScale(d.Type)), l.Use(d.ArgA()), l.Def(d, 0))
		return
	}
	l.Emit(inLanes(asm.Vdup, laneScale(d.Type)), l.UseAs(d.Type.LaneType(), d.ArgA()), l.Def(d, 0))
}

// lowerVextract moves a lane. The lowest one of 4 or 8 bytes is a scalar already.
func lowerVextract(l *lower, _ clif.Inst, d *clif.InstData) {
	scale, lane := laneScale(d.Type), int64(d.Lane())
	in := inLanesBy(asm.Vumov, scale, lane)
	switch {
	case d.Type.IsFloatShape() && lane == 0:
		in = backend.Inst{Op: asm.Fmov, Size: 1 << scale}
	case d.Type.IsFloatShape():
		in.Op = asm.VmovLane
	case scale >= 2 && lane == 0:
		in = backend.Inst{Op: asm.FmovFromF, Size: 1 << scale}
	}
	l.Emit(in, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerVextractS(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.Vsmov, Size: 4, Scale: laneScale(d.Type), Imm: int64(d.Lane())}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerVinsert(l *lower, _ clif.Inst, d *clif.InstData) {
	x, scale := l.Use(d.ArgA()), laneScale(d.Type)
	if d.Type.IsFloatShape() {
		l.Emit(inLanesBy(asm.VinsLane, scale, asm.TwoLanes(d.Lane(), 0)), x, l.Use(d.ArgB()), l.Def(d, 0))
		return
	}
	l.Emit(inLanesBy(asm.Vins, scale, int64(d.Lane())), x, l.UseAs(d.Type.LaneType(), d.ArgB()), l.Def(d, 0))
}

// lowerVswizzleMod keeps of each index the low four bits and the top one, which makes it too large.
func lowerVswizzleMod(l *lower, _ clif.Inst, d *clif.InstData) {
	const keep = 0x8f8f8f8f8f8f8f8f
	index := vectorOf(l, inLanes(asm.Vand, 0), l.Use(d.ArgB()), l.SharedVector(keep, keep))
	l.Emit(inLanes(asm.Vtbl, 0), l.Use(d.ArgA()), index, l.Def(d, 0))
}

// lowerVbitselect appends the form that overwrites an operand which ends here.
func lowerVbitselect(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y, mask := d.ArgA(), d.ArgB(), d.ArgC()
	endsMask, endsY, endsX := l.EndsHere(mask), l.EndsHere(y), l.EndsHere(x)
	m, a, b, dst := l.Use(mask), l.Use(x), l.Use(y), l.Def(d, 0)
	switch {
	case endsMask:
		bitselect(l, m, a, b, dst)
	case endsY:
		l.Emit(inLanes(asm.Vbit, 0), b, a, m, dst)
	case endsX:
		l.Emit(inLanes(asm.Vbif, 0), a, b, m, dst)
	default:
		bitselect(l, m, a, b, dst)
	}
}

// bitselect appends dst = the bits of a where the mask has ones, of b where it has zeros. The mask is overwritten.
func bitselect(l *lower, mask, a, b, dst vreg) { l.Emit(inLanes(asm.Vbsl, 0), mask, a, b, dst) }

func lowerVselectTop(l *lower, _ clif.Inst, d *clif.InstData) {
	mask := vectorOf(l, inLanes(asm.VcmltZero, laneScale(d.Type)), l.Use(d.ArgC()))
	bitselect(l, mask, l.Use(d.ArgA()), l.Use(d.ArgB()), l.Def(d, 0))
}

// selectVector appends dst = a if c holds, else b: by a mask, as fcsel takes 8 bytes only.
func selectVector(l *lower, c *comparison, a, b, dst vreg) {
	ones := l.NewVReg(clif.I64)
	c.In.SetChoice(backend.Form{Op: asm.Csetm, Size: 8})
	c.Push(l, backend.TailSet, 0, ones)
	bitselect(l, vectorOf(l, inLanes(asm.Vdup, 3), ones), a, b, dst)
}
