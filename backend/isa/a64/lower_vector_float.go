package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// floatLanes are the comparisons of lanes of floats. Only the inverse of the equality holds for NaNs.
var floatLanes = [clif.NumFloatCCs]vectorCompare{
	clif.FEq: {asm.Vfcmeq, false, false}, clif.FNe: {asm.Vfcmeq, false, true},
	clif.FLt: {asm.Vfcmgt, true, false}, clif.FGt: {asm.Vfcmgt, false, false}, clif.FLe: {asm.Vfcmge, true, false}, clif.FGe: {asm.Vfcmge, false, false},
}

func lowerVfcmp(l *lower, _ clif.Inst, d *clif.InstData) {
	compareLanes(l, d, &floatLanes[d.FloatCC()])
}

// lowerVfpmin: B < A ? B : A.
func lowerVfpmin(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	bitselect(l, vectorOf(l, inLanes(asm.Vfcmgt, laneScale(d.Type)), x, y), y, x, l.Def(d, 0))
}

// lowerVfpmax: A < B ? B : A.
func lowerVfpmax(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	bitselect(l, vectorOf(l, inLanes(asm.Vfcmgt, laneScale(d.Type)), y, x), y, x, l.Def(d, 0))
}

// lowerVfma overwrites the summand.
func lowerVfma(l *lower, _ clif.Inst, d *clif.InstData) {
	multiplyAdd(l, d, d.ArgC(), d.ArgA(), d.ArgB())
}

// floatLanesZero are the comparisons of lanes with zero.
var floatLanesZero = [clif.NumFloatCCs]vectorCompare{
	clif.FEq: {asm.VfcmeqZero, false, false}, clif.FNe: {asm.VfcmeqZero, false, true},
	clif.FLt: {asm.VfcmltZero, false, false}, clif.FGt: {asm.VfcmgtZero, false, false},
	clif.FLe: {asm.VfcmleZero, false, false}, clif.FGe: {asm.VfcmgeZero, false, false},
}

// floatSwapped are the conditions with the operands exchanged.
var floatSwapped = [clif.NumFloatCCs]clif.FloatCC{clif.FEq, clif.FNe, clif.FGt, clif.FLt, clif.FGe, clif.FLe}

func lowerVfcmpZero(left bool) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		cc := clif.FloatCC(m.CC)
		if left {
			cc = floatSwapped[cc]
		}
		compareLanesZero(l, m, &floatLanesZero[cc])
	}
}

// lowerVcvtFromInt extends integers that become floats of 8 bytes.
func lowerVcvtFromInt(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type == clif.F32x4 {
		lowerVector(l, i, d)
		return
	}
	extend := asm.Vsshll
	if d.Op == clif.OpVcvtFromUint {
		extend = asm.Vushll
	}
	l.Emit(inLanes(vectorRows[d.Op].op, 3), vectorOf(l, inLanes(extend, 2), l.Use(d.ArgA())), l.Def(d, 0))
}

// lowerVcvtToInt narrows integers that were floats of 8 bytes. Both steps saturate.
func lowerVcvtToInt(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type == clif.F32x4 {
		lowerVector(l, i, d)
		return
	}
	narrow := asm.Vsqxtn
	if d.Op == clif.OpVcvtToUintSat {
		narrow = asm.Vuqxtn
	}
	l.Emit(inLanes(narrow, 2), vectorOf(l, inLanes(vectorRows[d.Op].op, 3), l.Use(d.ArgA())), l.Def(d, 0))
}

// lowerVcvtToSintInd replaces what is not less than 2^31 by the least integer. What is less than -2^31 becomes that by saturation.
func lowerVcvtToSintInd(l *lower, _ clif.Inst, d *clif.InstData) {
	limit, least, scale := backend.FloatBits(clif.F64, 1<<31), uint64(1)<<63, laneScale(d.Type)
	if d.Type == clif.F32x4 {
		limit, least = backend.FloatBits(clif.F32, 1<<31)*(1<<32+1), 1<<63|1<<31
	}
	x, dst := l.Use(d.ArgA()), l.Def(d, 0)
	fits := vectorOf(l, inLanes(asm.Vfcmgt, scale), l.SharedVector(limit, limit), x)
	whole := vectorOf(l, inLanes(asm.Vfcvtzs, scale), x)
	if d.Type == clif.F32x4 {
		bitselect(l, fits, whole, l.SharedVector(least, least), dst)
		return
	}
	chosen := l.NewVReg(clif.V128)
	bitselect(l, fits, whole, l.SharedVector(least, least), chosen)
	l.Emit(inLanes(asm.Vsqxtn, 2), chosen, dst)
}
