package isatest

import (
	"slices"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
)

// This file builds what patterns of lowering rules have of vectors. Vectors are made from scalar parameters by way of memory,
// and stored where the comparison of memories sees them.

// Where functions of rules have vectors in memory.
const (
	vectorInputs  = 64
	vectorOutputs = 128
)

// shapes are the controlling types of vectors.
var shapes = []clif.Type{clif.I8x16, clif.I16x8, clif.I32x4, clif.I64x2, clif.F32x4, clif.F64x2, clif.V128}

// isVector reports whether t is v128 or a shape of it.
func isVector(t clif.Type) bool { return t == clif.V128 || t.IsShape() }

// onVectors reports whether op is one of vectors.
func onVectors(op clif.Opcode) bool { return op >= clif.OpVconst && op <= clif.OpVdemote }

// typeFor returns a type that op has: a scalar if it has one.
func (g *ruleBuilder) typeFor(op clif.Opcode, t clif.Type) clif.Type {
	types := op.Info().Types
	if onVectors(op) {
		for !types.Has(t) {
			t = pickOne(g.rng, shapes...)
		}
		return t
	}
	for !types.Has(t) && types != 0 && !op.IsTerminator() {
		t = pickOne(g.rng, scalars...)
	}
	return t
}

// hasVectors reports whether a pattern is about vectors.
func hasVectors(p *pattern.Pattern) bool {
	for _, op := range p.Ops {
		if onVectors(op) {
			return true
		}
	}
	for k := range p.Args {
		if hasVectors(&p.Args[k]) {
			return true
		}
	}
	return p.Word != "" && strings.Contains(vectorWords, " "+p.Word+" ")
}

// vectorWords are the properties of values that are vectors or come from them, and the widths of loads of vectors.
const vectorWords = " vector-test vector-zero vector-const lane-mask lane 8 16 "

// hasLanes reports whether a pattern has scalars that come from vectors.
func hasLanes(p *pattern.Pattern) bool {
	return slices.ContainsFunc(p.Args, func(a pattern.Pattern) bool { return a.Word == "lane" })
}

// laneOf takes a lane, of type t, out of a vector.
func (g *ruleBuilder) laneOf(t clif.Type) clif.Value {
	op, shape := clif.OpVextract, pickOne(g.rng, shapes[:6]...)
	for shape.LaneType() != t {
		shape = pickOne(g.rng, shapes[:6]...)
	}
	if shape.LaneBits() < 32 && g.rng.IntN(2) == 0 {
		op = clif.OpVextractS
	}
	return g.Extract(op, shape, g.vectorLeaf(shape), uint8(g.rng.IntN(shape.Lanes())))
}

// rotation returns the amount of one of two shifts, k to the left or j to the right, which are often a rotation by bytes.
func (g *ruleBuilder) rotation(p *pattern.Pattern) clif.Value {
	if g.rng.IntN(4) == 0 {
		return g.constant(clif.I32)
	}
	k, width := uint64(8*(g.at&3+1)), uint64(32)
	if strings.Contains(g.row.Pattern, "i64x2") {
		width = 64
	}
	if p.Name == "j" {
		k = width - k
	}
	return g.Iconst(clif.I32, k)
}

// lowIndices shifts or masks bytes, so that most of them are below 16.
func (g *ruleBuilder) lowIndices() clif.Value {
	v := g.vectorLeaf(clif.I8x16)
	if g.rng.IntN(2) == 0 {
		return g.Binary(clif.OpVshrU, clif.I8x16, v, g.Iconst(clif.I32, uint64(3+g.rng.IntN(12))))
	}
	mask := pickOne[uint64](g.rng, 0x0f0f0f0f0f0f0f0f, 0x0f07030100020408, 0x0f0f0f0f0f1f0f0f)
	return g.Binary(clif.OpVand, clif.V128, v, g.Vconst(mask, pickOne[uint64](g.rng, mask, 0x0f0f0f0f0f0f0f8f)))
}

// extendedBytes makes words of bytes, most of them as signed says.
func (g *ruleBuilder) extendedBytes(signed bool) clif.Value {
	op := pickOne(g.rng, clif.OpVextendLowS, clif.OpVextendHighS)
	if signed != (g.rng.IntN(12) != 0) {
		op = pickOne(g.rng, clif.OpVextendLowU, clif.OpVextendHighU)
	}
	return g.Unary(op, clif.I16x8, g.vectorLeaf(clif.I8x16))
}

// laneMask compares vectors.
func (g *ruleBuilder) laneMask() clif.Value {
	if g.rng.IntN(3) == 0 {
		t := pickOne(g.rng, clif.F32x4, clif.F64x2)
		return g.Vfcmp(clif.FloatCC(g.rng.IntN(int(clif.NumFloatCCs))), t, g.vectorLeaf(t), g.vectorLeaf(t))
	}
	t := pickOne(g.rng, shapes[:4]...)
	return g.Vicmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), t, g.vectorLeaf(t), g.vectorLeaf(t))
}

// makeVectors makes the vectors of which leaves are chosen: two of integers, one of each width of floats.
func (g *ruleBuilder) makeVectors() {
	at := uint64(vectorInputs)
	for _, k := range []int{2, 3, 3, 2, 4, 5, 5, 4, 6, 7} {
		g.Store(g.F.TypeOf(g.params[k]), clif.Full, 0, g.Iconst(clif.I32, at), g.params[k], 0)
		at += uint64(g.F.TypeOf(g.params[k]).Bits() / 8)
	}
	for k := range g.vectors {
		g.vectors[k] = g.Load(clif.V128, clif.Full, 0, g.Iconst(clif.I32, vectorInputs+16*uint64(k)), 0)
	}
}

// vectorLeaf returns a vector for lanes of the shape t.
func (g *ruleBuilder) vectorLeaf(t clif.Type) clif.Value {
	if t.IsShape() && t.IsFloatShape() && g.rng.IntN(8) != 0 {
		return g.vectors[2+t.LaneBits()/64]
	}
	return pickOne(g.rng, g.vectors[:]...)
}

// vectorInst makes the instruction op of vectors, of shape t, as a pattern has its operands; where that says nothing, they are any.
func (g *ruleBuilder) vectorInst(p *pattern.Pattern, op clif.Opcode, t clif.Type) clif.Value {
	t = g.typeFor(op, t) // the type of the whole may not be one of this opcode
	info := op.Info()
	sig, _, _ := strings.Cut(info.Sig, ":")
	var args [3]clif.Value
	for k := range sig {
		of := map[byte]clif.Type{'V': t, 'i': clif.I32}[sig[k]]
		if sig[k] == 'e' {
			of = t.LaneType()
		}
		args[k] = clif.NoValue
		if k < len(p.Args) {
			inner := of
			if ops := p.Args[k].Ops; ops != nil && onVectors(ops[0]) {
				inner = t // its type is the shape, though its result may be a scalar
			}
			args[k] = g.value(&p.Args[k], inner)
		}
		if args[k] == clif.NoValue || isVector(of) != (g.F.TypeOf(args[k]) == clif.V128) || !isVector(of) && g.F.TypeOf(args[k]) != of {
			args[k] = g.leaf(of)
		}
	}
	if g.misses(p, missSwapped) {
		args[0], args[1] = args[1], args[0]
	}
	switch info.Format {
	case clif.FormatVconst:
		return g.Vconst(pickOne(g.rng, 0, g.rng.Uint64()), pickOne(g.rng, 0, g.rng.Uint64()))
	case clif.FormatUnary:
		return g.Unary(op, t, args[0])
	case clif.FormatTernary:
		return g.Ternary(op, t, args[0], args[1], args[2])
	case clif.FormatIntCmp:
		return g.Vicmp(clif.IntCC(g.vectorCond(p, int(clif.NumIntCCs))), t, args[0], args[1])
	case clif.FormatFloatCmp:
		return g.Vfcmp(clif.FloatCC(g.vectorCond(p, int(clif.NumFloatCCs))), t, args[0], args[1])
	case clif.FormatExtract:
		return g.Extract(op, t, args[0], uint8(g.rng.IntN(t.Lanes())))
	case clif.FormatInsert:
		return g.Insert(t, args[0], args[1], uint8(g.rng.IntN(t.Lanes())))
	case clif.FormatShuffle:
		var lanes [16]uint8
		width, lane := pickOne(g.rng, 1, 4, 8), g.rng.IntN(32)
		for k := range lanes {
			if lanes[k] = uint8(lane&^(width-1) + k%width); width == 1 {
				lanes[k] = uint8(g.rng.IntN(32))
			}
		}
		return g.Shuffle(args[0], args[1], lanes)
	}
	return g.Binary(op, t, args[0], args[1])
}

// vectorCond returns one of the conditions of a pattern, of n that there are.
func (g *ruleBuilder) vectorCond(p *pattern.Pattern, n int) uint8 {
	cc := uint8(g.rng.IntN(n))
	if p.Conds != nil {
		cc = pickOne(g.rng, p.Conds...)
	}
	return g.cond(p, cc)
}

// testOfVector makes a test of a vector.
func (g *ruleBuilder) testOfVector(ops ...clif.Opcode) clif.Value {
	op := pickOne(g.rng, ops...)
	t := g.typeFor(op, clif.I8x16)
	if op == clif.OpVanyTrue {
		t = clif.V128
	}
	v := g.vectorLeaf(t)
	if g.rng.IntN(3) == 0 {
		v = g.laneMask()
	}
	return g.Unary(op, t, v)
}

// vectorContext makes a user of the vector v, most often one with lanes as v has them.
func (g *ruleBuilder) vectorContext(v clif.Value) {
	if g.rng.IntN(3) == 0 {
		g.finish(v)
		return
	}
	op := pickOne(g.rng, clif.OpVbitmask, clif.OpVadd, clif.OpVsub, clif.OpVmul, clif.OpVand, clif.OpVor, clif.OpVandnot, clif.OpVminS,
		clif.OpVfadd, clif.OpVfmul, clif.OpVfpmax, clif.OpVabs, clif.OpVfsqrt, clif.OpVicmp, clif.OpVfcmp)
	t := pickOne(g.rng, shapes...)
	if _, d := g.definition(v); d != nil && d.Op != clif.OpVshuffle {
		t = d.Type
	}
	t = g.typeFor(op, t)
	switch op.Info().Format {
	case clif.FormatUnary:
		g.finish(g.Unary(op, t, v))
	case clif.FormatIntCmp:
		g.finish(g.Vicmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), t, g.vectorLeaf(t), v))
	case clif.FormatFloatCmp:
		g.finish(g.Vfcmp(clif.FloatCC(g.rng.IntN(int(clif.NumFloatCCs))), t, g.vectorLeaf(t), v))
	default:
		x, y := g.vectorLeaf(t), v
		if g.rng.IntN(2) == 0 {
			x, y = y, x
		}
		g.finish(g.Binary(op, t, x, y))
	}
}

// storeVectors stores the vectors of vs. The bits of NaNs may differ from machine to machine: lanes with NaNs become 0.
func (g *ruleBuilder) storeVectors(vs []clif.Value) {
	at := uint64(vectorOutputs)
	for _, v := range vs {
		if g.F.TypeOf(v) != clif.V128 {
			continue
		}
		if _, d := g.definition(v); d != nil && isFloatResult(d) {
			t := d.Type
			if d.Op == clif.OpVpromote || d.Op == clif.OpVdemote {
				t = clif.F32x4
			}
			v = g.Binary(clif.OpVand, clif.V128, v, g.Vfcmp(clif.FEq, t, v, v))
		}
		g.Store(clif.V128, clif.Full, 0, g.Iconst(clif.I32, at), v, 0)
		at += 16
	}
}

// isFloatResult reports whether the result of d are floats that it has computed.
func isFloatResult(d *clif.InstData) bool {
	return d.Op >= clif.OpVfadd && d.Op <= clif.OpVdemote && d.Op != clif.OpVfcmp && d.Type.IsShape() && d.Type.IsFloatShape()
}
