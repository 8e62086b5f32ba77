package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// lowerVmul: lanes of 8 bytes have no row. Their product is that of the low halves and, 32 bits higher, the sum of those of a low
// and a high half.
func lowerVmul(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type != clif.I64x2 {
		lowerVectorProduct(l, i, d)
		return
	}
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	crossed := vectorOf(l, inLanes(asm.Vmul, 2), vectorOf(l, inLanes(asm.Vrev64, 2), y), x)
	sums := vectorOf(l, inLanes(asm.Vuaddlp, 2), crossed)
	high := vectorOf(l, inLanesBy(asm.VshlImm, 3, 32), sums)
	l.Emit(inLanes(asm.Vumlal, 2), high, vectorOf(l, inLanes(asm.Vxtn, 2), x), vectorOf(l, inLanes(asm.Vxtn, 2), y), l.Def(d, 0))
}

// vectorShift is how an opcode shifts lanes: by an immediate, or by lanes, to the right if these are negative.
type vectorShift struct {
	imm, lanes backend.Op
	right      bool
}

var vectorShifts = [clif.NumOpcodes]vectorShift{
	clif.OpVshl: {asm.VshlImm, asm.Vushl, false}, clif.OpVshrS: {asm.VsshrImm, asm.Vsshl, true}, clif.OpVshrU: {asm.VushrImm, asm.Vushl, true},
}

// lowerVshift takes the amount modulo the width.
func lowerVshift(l *lower, _ clif.Inst, d *clif.InstData) {
	s, amount := &vectorShifts[d.Op], l.NewVReg(clif.I32)
	l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: int64(d.Type.LaneBits() - 1)}, l.Low(d.ArgB()), amount)
	if s.right {
		back := l.NewVReg(clif.I32)
		l.Emit(backend.Inst{Op: asm.Neg, Size: 4}, amount, back)
		amount = back
	}
	scale := laneScale(d.Type)
	l.Emit(inLanes(s.lanes, scale), l.Use(d.ArgA()), vectorOf(l, inLanes(asm.Vdup, scale), amount), l.Def(d, 0))
}

// lowerVshiftImm: no row shifts by 0 to the right.
func lowerVshiftImm(l *lower, m *match) {
	op, k := vectorShifts[m.D.Op].imm, m.K&int64(m.T.LaneBits()-1)
	if k == 0 {
		op = asm.VshlImm
	}
	l.Emit(inLanesBy(op, laneScale(m.T), k), l.Use(m.X()), l.Def(m.D, 0))
}

// lowerVq15mulr rounds the whole products when they are narrowed.
func lowerVq15mulr(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	low := vectorOf(l, inLanesBy(asm.Vrshrn, 1, 15), vectorOf(l, inLanes(asm.Vsmull, 1), x, y))
	l.Emit(inLanesBy(asm.Vrshrn2, 1, 15), low, vectorOf(l, inLanes(asm.Vsmull2, 1), x, y), l.Def(d, 0))
}

func lowerVdot(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y, scale := l.Use(d.ArgA()), l.Use(d.ArgB()), laneScale(d.Type)
	low, high := vectorOf(l, inLanes(asm.Vsmull, scale-1), x, y), vectorOf(l, inLanes(asm.Vsmull2, scale-1), x, y)
	l.Emit(inLanes(asm.Vaddp, scale), low, high, l.Def(d, 0))
}

// lowerVdotUS multiplies bytes extended to 16 bits, which no product exceeds, the even ones apart from the odd ones.
func lowerVdotUS(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	low := vectorOf(l, inLanes(asm.Vmul, 1), vectorOf(l, inLanes(asm.Vushll, 0), x), vectorOf(l, inLanes(asm.Vsshll, 0), y))
	high := vectorOf(l, inLanes(asm.Vmul, 1), vectorOf(l, inLanes(asm.Vushll2, 0), x), vectorOf(l, inLanes(asm.Vsshll2, 0), y))
	even, odd := vectorOf(l, inLanes(asm.Vuzp1, 1), low, high), vectorOf(l, inLanes(asm.Vuzp2, 1), low, high)
	l.Emit(inLanes(asm.Vsqadd, 1), even, odd, l.Def(d, 0))
}

// lowerVdotAdd adds in 32 bits, because the sum of two products may have 17.
func lowerVdotAdd(l *lower, _ clif.Inst, d *clif.InstData) {
	x, y := l.Use(d.ArgA()), l.Use(d.ArgB())
	if has(l, asm.DotProduct) {
		l.Emit(inLanes(asm.Vsdot, 2), l.Use(d.ArgC()), x, y, l.Def(d, 0))
		return
	}
	low := vectorOf(l, inLanes(asm.Vsaddlp, 1), vectorOf(l, inLanes(asm.Vsmull, 0), x, y))
	high := vectorOf(l, inLanes(asm.Vsaddlp, 1), vectorOf(l, inLanes(asm.Vsmull2, 0), x, y))
	l.Emit(inLanes(asm.Vadd, 2), vectorOf(l, inLanes(asm.Vaddp, 2), low, high), l.Use(d.ArgC()), l.Def(d, 0))
}

// vectorCompare is how lanes are compared: the row, perhaps with the operands exchanged, perhaps with the result inverted.
type vectorCompare struct {
	op           backend.Op
	swap, invert bool
}

// intLanes are the comparisons of lanes of integers.
var intLanes = [clif.NumIntCCs]vectorCompare{
	clif.Eq: {asm.Vcmeq, false, false}, clif.Ne: {asm.Vcmeq, false, true},
	clif.Slt: {asm.Vcmgt, true, false}, clif.Sge: {asm.Vcmge, false, false}, clif.Sgt: {asm.Vcmgt, false, false}, clif.Sle: {asm.Vcmge, true, false},
	clif.Ult: {asm.Vcmhi, true, false}, clif.Uge: {asm.Vcmhs, false, false}, clif.Ugt: {asm.Vcmhi, false, false}, clif.Ule: {asm.Vcmhs, true, false},
}

func lowerVicmp(l *lower, _ clif.Inst, d *clif.InstData) { compareLanes(l, d, &intLanes[d.IntCC()]) }

// compareLanes appends the comparison d.
func compareLanes(l *lower, d *clif.InstData, c *vectorCompare) {
	x, y, dst := l.Use(d.ArgA()), l.Use(d.ArgB()), l.Def(d, 0)
	if c.swap {
		x, y = y, x
	}
	in := inLanes(c.op, laneScale(d.Type))
	if c.invert {
		l.Emit(inLanes(asm.Vnot, 0), vectorOf(l, in, x, y), dst)
		return
	}
	l.Emit(in, x, y, dst)
}

// lowerVectorTest appends 0 or 1.
func lowerVectorTest(l *lower, _ clif.Inst, d *clif.InstData) {
	c := testVector(l, d)
	c.Push(l, backend.TailSet, 0, l.Def(d, 0))
}

// testVector returns the comparison that holds if the vany_true, vall_true or vbitmask d is not 0.
func testVector(l *lower, d *clif.InstData) comparison {
	switch d.Op {
	case clif.OpVallTrue:
		return allLanes(l, d.Type, l.Use(d.ArgA()))
	case clif.OpVbitmask:
		return anyBit(l, laneMask(l, d.Type, d.ArgA()))
	}
	return anyBit(l, l.Use(d.ArgA()))
}

// compareVectorTest compares a test with 0.
func compareVectorTest(l *lower, m *match) {
	m.Cmp = testVector(l, definition(&l.Query, m, 0))
	if clif.IntCC(m.CC) == clif.Eq {
		m.Cmp.In.Cond ^= 1
	}
}

// compareBitmask compares the bitmask of all lanes with all ones.
func compareBitmask(l *lower, m *match) {
	d := definition(&l.Query, m, 0)
	m.Cmp = allLanes(l, d.Type, laneMask(l, d.Type, d.ArgA()))
	if clif.IntCC(m.CC) == clif.Ne {
		m.Cmp.In.Cond ^= 1
	}
}

// anyBit returns the comparison that holds if x is not zero.
func anyBit(l *lower, x vreg) comparison {
	half := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: 8}, vectorOf(l, inLanes(asm.Vumaxp, 2), x, x), half)
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: 8}, asm.NE)
	c.Add(half)
	return c
}

// allLanes returns the comparison that holds if no lane of x is zero.
func allLanes(l *lower, shape clif.Type, x vreg) comparison {
	if shape == clif.I64x2 { // there is no minimum of 8 bytes
		c := anyBit(l, vectorOf(l, inLanes(asm.VcmeqZero, 3), x))
		c.In.Cond = uint8(asm.EQ)
		return c
	}
	least := l.NewVReg(clif.I32)
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: 4}, vectorOf(l, inLanes(asm.Vuminv, laneScale(shape)), x), least)
	c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: 4}, asm.NE)
	c.Add(least)
	return c
}

// laneMask returns a vector of ones in the lanes whose top bit v has, of zeros in the others.
func laneMask(l *lower, shape clif.Type, v clif.Value) vreg {
	if _, ok := l.Fold(RuleLaneMask, shape, v, 16); ok {
		return l.Use(v)
	}
	return vectorOf(l, inLanes(asm.VcmltZero, laneScale(shape)), l.Use(v))
}

// laneBits has, by the logarithm of a lane's width, a vector with another bit in each lane; of bytes, in each byte of a half.
var laneBits = [...]struct{ low, high uint64 }{
	{0x80402010_08040201, 0x80402010_08040201}, {0x0008_0004_0002_0001, 0x0080_0040_0020_0010}, {2<<32 | 1, 8<<32 | 4}, {1, 2},
}

// lowerVbitmask adds up a bit of each lane.
func lowerVbitmask(l *lower, _ clif.Inst, d *clif.InstData) {
	scale, dst := laneScale(d.Type), l.Def(d, 0)
	k := &laneBits[scale]
	x := vectorOf(l, inLanes(asm.Vand, 0), laneMask(l, d.Type, d.ArgA()), l.SharedVector(k.low, k.high))
	switch scale {
	case 0:
		for range 3 { // to one byte of each half
			x = vectorOf(l, inLanes(asm.Vaddp, 0), x, x)
		}
		l.Emit(inLanes(asm.Vumov, 1), x, dst)
		return
	case 3:
		x = vectorOf(l, inLanes(asm.VaddpD, 3), x)
	default:
		x = vectorOf(l, inLanes(asm.Vaddv, scale), x)
	}
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: 4}, x, dst)
}

// lowerCtzBitmask finds the first byte whose top bit is set. If there is none, 16 is found, which becomes the 32 of a mask without ones.
func lowerCtzBitmask(l *lower, m *match) {
	first, sixteen := l.NewVReg(clif.I32), l.NewVReg(clif.I32)
	firstNibble(l, maskNibbles(l, m), first)
	l.Emit(backend.Inst{Op: asm.AndImm, Size: 4, Imm: 16}, first, sixteen)
	l.Emit(backend.Inst{Op: asm.Add, Size: 4}, first, sixteen, l.Def(m.D, 0))
}

// lowerCtzNotBitmask finds the first byte whose top bit is not set. If there is none, that is 16, as of the complement of a mask.
func lowerCtzNotBitmask(l *lower, m *match) {
	none := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Mvn, Size: 8}, maskNibbles(l, m), none)
	firstNibble(l, none, l.Def(m.D, 0))
}

// maskNibbles returns four bits for each byte of x, ones if its top bit is set. The mask of x is not used then.
func maskNibbles(l *lower, m *match) vreg {
	l.Release(maskOf(&l.Query, m.Arg(0)))
	nibbles := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.FmovFromF, Size: 8}, vectorOf(l, inLanesBy(asm.Vshrn, 0, 4), laneMask(l, clif.I8x16, m.X())), nibbles)
	return nibbles
}

// firstNibble appends dst = the number of nibbles below the first one that is not 0.
func firstNibble(l *lower, nibbles, dst vreg) {
	back, zeros := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Rbit, Size: 8}, nibbles, back)
	l.Emit(backend.Inst{Op: asm.Clz, Size: 8}, back, zeros)
	l.Emit(backend.Inst{Op: asm.LsrImm, Size: 4, Imm: 2}, zeros, dst)
}

// lowerVnarrow saturates the lanes of the first operand to the low half, then those of the second to the high one.
func lowerVnarrow(l *lower, _ clif.Inst, d *clif.InstData) {
	low, high, scale := asm.Vsqxtn, asm.Vsqxtn2, laneScale(d.Type)
	if d.Op == clif.OpVnarrowU {
		low, high = asm.Vsqxtun, asm.Vsqxtun2
	}
	l.Emit(inLanes(high, scale), vectorOf(l, inLanes(low, scale), l.Use(d.ArgA())), l.Use(d.ArgB()), l.Def(d, 0))
}
