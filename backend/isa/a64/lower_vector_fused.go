package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// This file fuses operations on vectors: sums with what is added, products with the lane by which they multiply, comparisons with
// zero, bitwise operations with a complement.

// addition is what a folded operand of a sum or a difference becomes. A difference has no row where minus is 0.
type addition struct {
	plus, minus backend.Op
	half        uint8 // as of vectorRow
}

// additions are the folded operands by opcode, but products of the same width.
var additions = [clif.NumOpcodes]addition{
	clif.OpVextmulLowS: {asm.Vsmlal, asm.Vsmlsl, 1}, clif.OpVextmulHighS: {asm.Vsmlal2, asm.Vsmlsl2, 1},
	clif.OpVextmulLowU: {asm.Vumlal, asm.Vumlsl, 1}, clif.OpVextmulHighU: {asm.Vumlal2, asm.Vumlsl2, 1},
	clif.OpVextendLowS: {asm.Vsaddw, asm.Vssubw, 1}, clif.OpVextendHighS: {asm.Vsaddw2, asm.Vssubw2, 1},
	clif.OpVextendLowU: {asm.Vuaddw, asm.Vusubw, 1}, clif.OpVextendHighU: {asm.Vuaddw2, asm.Vusubw2, 1},
	clif.OpVextaddPairS: {asm.Vsadalp, 0, 1}, clif.OpVextaddPairU: {asm.Vuadalp, 0, 1},
	clif.OpVshrS: {asm.Vssra, 0, 0}, clif.OpVshrU: {asm.Vusra, 0, 0},
}

// addends are the rules for operands of sums. The first two are also for what is subtracted.
var addends = [...]backend.Rule{RuleVectorWideProduct, RuleVectorExtended, RuleVectorPairs, RuleVectorShifted}

// lowerVectorSum appends x + y or x - y.
func lowerVectorSum(l *lower, i clif.Inst, d *clif.InstData) {
	x, y, rules := d.ArgA(), d.ArgB(), addends[:]
	if d.Op == clif.OpVsub {
		rules = addends[:2]
	}
	for range 2 {
		if b, ok := l.Fold(RuleVectorWideFactors, d.Type, y, 16); ok {
			_, product := l.DefInst(y)
			_, factor := l.DefInst(product.ArgA())
			b.Op = factor.Op - clif.OpVextendLowS + clif.OpVextmulLowS
			addFolded(l, d, x, &b)
			return
		}
		if d.Op == clif.OpVadd && addDifference(l, d, x, y) {
			return
		}
		if b, ok := l.Fold(RuleVectorProduct, d.Type, y, 16); ok {
			multiplyAdd(l, d, x, b.X(), b.Y())
			return
		}
		for _, rule := range rules {
			if b, ok := l.Fold(rule, d.Type, y, 16); ok {
				addFolded(l, d, x, &b)
				return
			}
		}
		if d.Op == clif.OpVsub {
			break
		}
		x, y = y, x
	}
	lowerVector(l, i, d)
}

// addFolded appends x plus or minus the operand that b describes.
func addFolded(l *lower, d *clif.InstData, x clif.Value, b *backend.Bound) {
	a, dst := &additions[b.Op], l.Def(d, 0)
	in := inLanes(a.plus, laneScale(d.Type)-a.half)
	if d.Op == clif.OpVsub {
		in.Op = a.minus
	}
	switch b.Op {
	case clif.OpVextmulLowS, clif.OpVextmulLowU, clif.OpVextmulHighS, clif.OpVextmulHighU:
		l.Emit(in, l.Use(x), l.Use(b.X()), l.Use(b.Y()), dst)
	case clif.OpVshrS, clif.OpVshrU:
		in.Imm = b.K & int64(d.Type.LaneBits()-1)
		fallthrough
	default:
		l.Emit(in, l.Use(x), l.Use(b.X()), dst)
	}
}

// wideDifferences are the rows of absolute differences of extended lanes, by the opcode that extends, from OpVextendLowS on: the difference, and
// what adds it.
var wideDifferences = [...]struct{ alone, added backend.Op }{
	clif.OpVextendLowS - clif.OpVextendLowS: {asm.Vsabdl, asm.Vsabal}, clif.OpVextendHighS - clif.OpVextendLowS: {asm.Vsabdl2, asm.Vsabal2},
	clif.OpVextendLowU - clif.OpVextendLowS: {asm.Vuabdl, asm.Vuabal}, clif.OpVextendHighU - clif.OpVextendLowS: {asm.Vuabdl2, asm.Vuabal2},
}

// addDifference appends x + y if y is the absolute difference of extended lanes, and reports whether it is.
func addDifference(l *lower, d *clif.InstData, x, y clif.Value) bool {
	b, ok := l.Fold(RuleVectorWideDiff, d.Type, y, 16)
	if ok {
		in := inLanes(wideDifferences[b.Op-clif.OpVextendLowS].added, laneScale(d.Type)-1)
		l.Emit(in, l.Use(x), l.Use(b.X()), l.Use(b.Y()), l.Def(d, 0))
	}
	return ok
}

// product is the rows of a product: of two vectors, and of a vector by one lane of the other.
type product struct{ whole, lane backend.Op }

// products are the rows by opcode; of vadd and vsub those that add a product, or subtract it.
var products = [clif.NumOpcodes]product{
	clif.OpVmul: {asm.Vmul, asm.VmulLane}, clif.OpVadd: {asm.Vmla, asm.VmlaLane}, clif.OpVsub: {asm.Vmls, asm.VmlsLane},
	clif.OpVfmul: {asm.Vfmul, asm.VfmulLane}, clif.OpVfma: {asm.Vfmla, asm.VfmlaLane}, clif.OpVfnma: {asm.Vfmls, asm.VfmlsLane},
}

// lowerVectorProduct appends x * y.
func lowerVectorProduct(l *lower, _ clif.Inst, d *clif.InstData) {
	in, x, y := factors(l, d, d.ArgA(), d.ArgB())
	l.Emit(in, x, y, l.Def(d, 0))
}

// multiplyAdd appends sum + x * y or sum - x * y, as the opcode of d says.
func multiplyAdd(l *lower, d *clif.InstData, sum, x, y clif.Value) {
	in, a, b := factors(l, d, x, y)
	l.Emit(in, l.Use(sum), a, b, l.Def(d, 0))
}

// factors returns the instruction that makes the product of x and y as d has it, and the registers of both.
func factors(l *lower, d *clif.InstData, x, y clif.Value) (in backend.Inst, a, b vreg) {
	in = inLanes(products[d.Op].whole, laneScale(d.Type))
	for range 2 {
		if _, ok := l.Fold(RuleByLane, d.Type, y, 16); ok {
			from, lane, _ := laneCopies(&l.Query, d.Type, y)
			in.Op, in.Imm = products[d.Op].lane, lane
			return in, l.Use(x), l.Use(from)
		}
		x, y = y, x
	}
	return in, l.Use(x), l.Use(y)
}

// copiedLane is laneCopies of the operand in question.
func copiedLane(q *query, m *match) (from clif.Value, lane int64, ok bool) {
	return laneCopies(q, m.T, m.Arg(0))
}

// laneCopies returns the vector, or the scalar, of which one lane is in all lanes of v, a vsplat or vshuffle, of a shape for
// which there are products by a lane, and the number of the lane.
func laneCopies(q *query, shape clif.Type, v clif.Value) (from clif.Value, lane int64, ok bool) {
	if shape != clif.I32x4 && !shape.IsFloatShape() {
		return 0, 0, false
	}
	_, d := q.DefInst(v)
	switch d.Op {
	case clif.OpVsplat:
		return d.ArgA(), 0, shape.IsFloatShape() && d.Type == shape
	case clif.OpVshuffle:
		want, src := shuffled(q, d)
		all := permutations()
		for n := range all {
			p := &all[n]
			if p.in.Op != asm.VdupLane || p.in.Scale != laneScale(shape) {
				continue
			}
			if first, _, ok := p.fits(&want); ok {
				return src[first], p.in.Imm, true
			}
		}
	}
	return 0, 0, false
}

// lowerVmulExtended multiplies narrow lanes.
func lowerVmulExtended(l *lower, m *match) {
	op := definition(&l.Query, m, 0).Op
	product := [...]backend.Op{
		clif.OpVextendLowS - clif.OpVextendLowS: asm.Vsmull, clif.OpVextendLowU - clif.OpVextendLowS: asm.Vumull,
		clif.OpVextendHighS - clif.OpVextendLowS: asm.Vsmull2, clif.OpVextendHighU - clif.OpVextendLowS: asm.Vumull2,
	}[op-clif.OpVextendLowS]
	l.Emit(inLanes(product, laneScale(m.T)-1), l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}

// lowerVectorLogic appends x & y or x | y, or that with the complement of one.
func lowerVectorLogic(l *lower, i clif.Inst, d *clif.InstData) {
	complemented, x, y := asm.Vbic, d.ArgA(), d.ArgB()
	if d.Op == clif.OpVor {
		complemented = asm.Vorn
	}
	for range 2 {
		if b, ok := l.Fold(RuleVectorNot, clif.V128, y, 16); ok {
			l.Emit(inLanes(complemented, 0), l.Use(x), l.Use(b.X()), l.Def(d, 0))
			return
		}
		x, y = y, x
	}
	lowerVector(l, i, d)
}

// lowerAbsDiff appends the absolute difference of x and y.
func lowerAbsDiff(op backend.Op) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		l.Emit(inLanes(op, laneScale(m.T)), l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
	}
}

func lowerAbsDiffSaturated(l *lower, m *match) {
	l.Emit(inLanes(asm.Vuabd, laneScale(definition(&l.Query, m, 0).Type)), l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}

func lowerAbsDiffWide(l *lower, m *match) {
	l.Emit(inLanes(wideDifferences[m.Op-clif.OpVextendLowS].alone, laneScale(m.T)-1), l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}

// intLanesZero are the comparisons of lanes with zero. Without sign, to be greater is to differ.
var intLanesZero = [clif.NumIntCCs]vectorCompare{
	clif.Eq: {asm.VcmeqZero, false, false}, clif.Ne: {asm.Vcmtst, true, false},
	clif.Slt: {asm.VcmltZero, false, false}, clif.Sge: {asm.VcmgeZero, false, false}, clif.Sgt: {asm.VcmgtZero, false, false}, clif.Sle: {asm.VcmleZero, false, false},
	clif.Ugt: {asm.Vcmtst, true, false}, clif.Ule: {asm.VcmeqZero, false, false},
}

func lowerVicmpZero(left bool) func(l *lower, m *match) {
	return func(l *lower, m *match) {
		cc := clif.IntCC(m.CC)
		if left {
			cc = cc.Swap()
		}
		compareLanesZero(l, m, &intLanesZero[cc])
	}
}

// compareLanesZero appends the comparison of x with zero. Cmtst compares x & x.
func compareLanesZero(l *lower, m *match, c *vectorCompare) {
	in, x, dst := inLanes(c.op, laneScale(m.T)), l.Use(m.X()), l.Def(m.D, 0)
	switch {
	case c.op == asm.Vcmtst:
		l.Emit(in, x, x, dst)
	case c.invert:
		l.Emit(inLanes(asm.Vnot, 0), vectorOf(l, in, x), dst)
	default:
		l.Emit(in, x, dst)
	}
}

func lowerVicmpTest(l *lower, m *match) {
	l.Emit(inLanes(asm.Vcmtst, laneScale(m.T)), l.Use(m.X()), l.Use(m.Y()), l.Def(m.D, 0))
}
