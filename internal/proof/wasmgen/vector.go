package wasmgen

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// vectorOperators are the operators with vectors, by the letter of their result, 0 for none; the constant and the bare load and store are not
// among them. The relaxed ones are apart.
var vectorOperators, relaxedOperators = operatorsOfVectors()

func operatorsOfVectors() (fixed, relaxed map[byte][]wasmfront.Opcode) {
	fixed, relaxed = map[byte][]wasmfront.Opcode{}, map[byte][]wasmfront.Opcode{}
	for _, op := range wasmfront.Opcodes() {
		var result byte
		if _, out, _ := strings.Cut(op.Info().Sig, ":"); out != "" {
			result = out[0]
		}
		switch {
		case op == wasmfront.OpV128Const:
		case op.Info().Feature == wasmfront.FeatureSIMD:
			fixed[result] = append(fixed[result], op)
		case op.Info().Feature == wasmfront.FeatureRelaxedSIMD:
			relaxed[result] = append(relaxed[result], op)
		}
	}
	return fixed, relaxed
}

// vectorBits returns the words of a random vector, low first: equal lanes or different ones, often corners.
func (g *gen) vectorBits() (words [2]uint64) {
	var b [16]byte
	shape := g.r.IntN(6)
	size := [...]int{1, 2, 4, 8, 4, 8}[shape]
	small := g.r.IntN(4) == 0 // such as lanes to swizzle by
	lane := func() uint64 {
		switch {
		case small:
			return uint64(g.r.IntN(20))
		case g.r.IntN(3) == 0:
			return []uint64{0, ^uint64(0), 1, 1 << (8*size - 1), 1<<(8*size-1) - 1}[g.r.IntN(5)]
		case shape == 4:
			return g.bits('f')
		case shape == 5:
			return g.bits('d')
		}
		return g.integer()
	}
	x, equal := lane(), g.r.IntN(3) == 0
	for i := 0; i < 16; i += size {
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], x)
		copy(b[i:], w[:size])
		if !equal {
			x = lane()
		}
	}
	return [2]uint64{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// vectorConstant returns the operator that pushes a constant vector.
func vectorConstant(words [2]uint64) []byte {
	b := append([]byte{0xFD}, leb(uint64(wasmfront.OpV128Const&0xFF))...)
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, words[0]), words[1])
}

func (f *fgen) vectorConst(words [2]uint64) {
	f.budget--
	f.b = append(f.b, vectorConstant(words)...)
}

// lanesOf returns how many lanes there are in the shape that is the first part of the operator's name.
func lanesOf(op wasmfront.Opcode) int {
	switch shape, _, _ := strings.Cut(op.String(), "."); shape {
	case "i8x16":
		return 16
	case "i16x8":
		return 8
	case "i32x4", "f32x4":
		return 4
	}
	return 2
}

// roundsLanes reports whether the bits of NaNs in the result of op are for the engine to choose.
func roundsLanes(op wasmfront.Opcode) bool {
	shape, name, _ := strings.Cut(op.String(), ".")
	if shape != "f32x4" && shape != "f64x2" {
		return false
	}
	name = strings.TrimPrefix(name, "relaxed_")
	return slices.ContainsFunc([]string{"add", "sub", "mul", "div", "min", "max", "sqrt", "ceil", "floor", "trunc", "nearest", "demote", "promote", "madd", "nmadd"},
		func(s string) bool { return name == s || strings.HasPrefix(name, s+"_") })
}

// vector pushes a value of type t by an operator with vectors.
func (f *fgen) vector(t byte) {
	list := vectorOperators[t]
	if f.cfg.Relaxed && len(relaxedOperators[t]) > 0 && f.chance(4) {
		list = relaxedOperators[t]
	}
	if t == 'v' && f.chance(3) {
		f.vectorIdiom()
		return
	}
	f.vectorOperator(f.one(list...))
}

// vectorStore stores a vector or a lane.
func (f *fgen) vectorStore() {
	op := f.one(vectorOperators[0]...)
	if op != wasmfront.OpV128Store || f.cfg.TornStores {
		f.vectorOperator(op)
		return
	}
	f.address()
	f.konst('i', 0x7FFF)
	f.op(wasmfront.OpI32And)
	f.produce('v')
	f.opIndex(op, f.r.IntN(5), f.r.IntN(16))
}

// vectorOperator pushes operands and emits an operator.
func (f *fgen) vectorOperator(op wasmfront.Opcode) {
	info := op.Info()
	in, _, _ := strings.Cut(info.Sig, ":")
	if info.Imm == wasmfront.ImmMemArg || info.Imm == wasmfront.ImmMemArgLane {
		f.address()
		in = in[1:]
	}
	for _, t := range []byte(in) {
		if t == 'i' && strings.Contains(op.String(), ".sh") && f.chance(2) {
			f.konst('i', uint64(f.r.IntN(70)))
		} else {
			f.produce(t)
		}
	}
	f.applyVector(op)
}

// applyVector emits an operator with random immediates, and what makes NaNs the canonical ones.
func (f *fgen) applyVector(op wasmfront.Opcode) {
	info := op.Info()
	in, _, _ := strings.Cut(info.Sig, ":")
	if last := in[len(in)-1]; f.cfg.LateNaNs && (last == 'f' || last == 'd') {
		f.canonical(last)
	}
	switch info.Imm {
	case wasmfront.ImmMemArg:
		f.memory(op)
	case wasmfront.ImmMemArgLane:
		f.memory(op)
		f.b = append(f.b, byte(f.r.IntN(16>>info.Align)))
	case wasmfront.ImmLane:
		f.op(op)
		f.b = append(f.b, byte(f.r.IntN(lanesOf(op))))
	case wasmfront.ImmShuffle:
		f.shuffle()
	default:
		f.op(op)
	}
	if !f.cfg.RawNaNs && roundsLanes(op) {
		f.canonicalLanes(op)
	}
}

// canonicalLanes replaces NaNs in the lanes of the vector on top of the stack by the canonical one.
func (f *fgen) canonicalLanes(op wasmfront.Opcode) {
	eq, nan := wasmfront.OpF32x4Eq, uint64(0x7FC00000_7FC00000)
	if lanesOf(op) == 2 {
		eq, nan = wasmfront.OpF64x2Eq, 0x7FF8000000000000
	}
	if f.nan[2] == 0 {
		f.nan[2] = f.newLocal('v')
		f.busy[f.nan[2]] = true
	}
	f.budget += 6
	f.opIndex(wasmfront.OpLocalTee, f.nan[2])
	f.vectorConst([2]uint64{nan, nan})
	f.opIndex(wasmfront.OpLocalGet, f.nan[2])
	f.opIndex(wasmfront.OpLocalGet, f.nan[2])
	f.op(eq)
	f.op(wasmfront.OpV128Bitselect)
}

// shuffle emits a shuffle of two vectors: of any bytes, or one that machines may have an instruction for.
func (f *fgen) shuffle() {
	size := 1 << f.r.IntN(4)
	n, k := 16/size, f.r.IntN(32/size)
	kinds := [...]func(lane int) int{
		func(i int) int { return i },
		func(i int) int { return i + k },                   // a part of both
		func(i int) int { return n - 1 - i },               // backwards
		func(i int) int { return k },                       // one lane
		func(i int) int { return i/2 + i%2*n },             // the low lanes of both in turn
		func(i int) int { return n/2 + i/2 + i%2*n },       // the high ones
		func(i int) int { return 2 * i },                   // every second lane
		func(i int) int { return 2*i + 1 },                 // the others
		func(i int) int { return i ^ 1 },                   // neighbours change places
		func(i int) int { return i + n*f.r.IntN(2) },       // lanes of either in their place
		func(i int) int { return f.r.IntN(n) + i/n },       // any of the first
		func(i int) int { return (i+k)%n + k/n*n },         // rotated
		func(int) int { return f.r.IntN(2 * n) },           // any
		func(i int) int { return i%(1+k%n) + f.r.IntN(2) }, // nearly a pattern
	}
	from := kinds[f.r.IntN(len(kinds))]
	f.op(wasmfront.OpI8x16Shuffle)
	for i := range n {
		lane := from(i) % (2 * n)
		for j := range size {
			f.b = append(f.b, byte(lane*size+j))
		}
	}
}

// vectorTruth pushes 0 or 1, or the bits of a mask, that a vector has.
func (f *fgen) vectorTruth() {
	tests := [...]wasmfront.Opcode{wasmfront.OpV128AnyTrue, wasmfront.OpI8x16AllTrue, wasmfront.OpI16x8AllTrue, wasmfront.OpI32x4AllTrue, wasmfront.OpI64x2AllTrue,
		wasmfront.OpI8x16Bitmask, wasmfront.OpI16x8Bitmask, wasmfront.OpI32x4Bitmask, wasmfront.OpI64x2Bitmask}
	if f.chance(3) {
		f.produce('v')
	} else {
		f.vectorComparison()
	}
	f.op(tests[f.r.IntN(len(tests))])
}

// comparesVectors are the comparisons of lanes.
var comparesVectors = vectorComparisons()

func vectorComparisons() (list []wasmfront.Opcode) {
	for _, op := range vectorOperators['v'] {
		_, name, _ := strings.Cut(op.String(), ".")
		if name, _, _ = strings.Cut(name, "_"); slices.Contains([]string{"eq", "ne", "lt", "gt", "le", "ge"}, name) {
			list = append(list, op)
		}
	}
	return list
}

func (f *fgen) vectorComparison() {
	f.produce('v')
	if f.chance(3) {
		f.vectorConst([2]uint64{})
	} else {
		f.produce('v')
	}
	f.op(comparesVectors[f.r.IntN(len(comparesVectors))])
}

// ofVectors returns an operator from two vectors to one.
func (f *fgen) ofVectors() wasmfront.Opcode {
	for {
		op := vectorOperators['v'][f.r.IntN(len(vectorOperators['v']))]
		if info := op.Info(); info.Sig == "vv:v" && info.Imm == wasmfront.ImmNone {
			return op
		}
	}
}

// one returns one of the operators.
func (f *fgen) one(ops ...wasmfront.Opcode) wasmfront.Opcode { return ops[f.r.IntN(len(ops))] }

// vectorIdiom pushes a vector by operators in a row that compilers have rules for.
func (f *fgen) vectorIdiom() {
	idioms := [...]func(){
		f.constantVector, f.loadedVector, f.invertedVector, f.chosenVector, f.chosenExtreme, f.differences, f.widenedProduct,
		f.productOfLanes, f.shuffledTwice, f.movedLane, f.twoVectorShifts, f.halves, f.absolute,
	}
	idioms[f.r.IntN(len(idioms))]()
}

// constantVector is an operator of which one operand is constant.
func (f *fgen) constantVector() {
	if f.chance(3) {
		f.vectorConst(f.vectorBits())
		f.produce('v')
	} else {
		f.produce('v')
		f.vectorConst(f.vectorBits())
	}
	f.applyVector(f.ofVectors())
}

// loadedVector is an operator of which one operand comes from memory, perhaps behind a store.
func (f *fgen) loadedVector() {
	f.produce('v')
	if f.chance(4) {
		f.store()
	}
	loads := [...]wasmfront.Opcode{wasmfront.OpV128Load, wasmfront.OpV128Load, wasmfront.OpV128Load, wasmfront.OpV128Load32Splat, wasmfront.OpV128Load64Zero, wasmfront.OpV128Load8x8U}
	f.address()
	f.memory(loads[f.r.IntN(len(loads))])
	f.applyVector(f.ofVectors())
}

// invertedVector is an operator on bits of which an operand is inverted, or the inverse of a comparison.
func (f *fgen) invertedVector() {
	if f.chance(3) {
		f.vectorComparison()
		f.op(wasmfront.OpV128Not)
		return
	}
	f.produce('v')
	f.produce('v')
	f.op(wasmfront.OpV128Not)
	f.op(f.one(wasmfront.OpV128And, wasmfront.OpV128Or, wasmfront.OpV128Xor, wasmfront.OpV128Andnot))
}

// chosenVector chooses between vectors by a comparison or a mask.
func (f *fgen) chosenVector() {
	f.produce('v')
	if f.chance(4) {
		f.vectorConst([2]uint64{})
	} else {
		f.produce('v')
	}
	switch f.r.IntN(3) {
	case 0:
		f.vectorConst(f.vectorBits())
	case 1:
		f.vectorComparison()
		if f.chance(3) {
			f.op(wasmfront.OpV128Not)
		}
	default:
		f.produce('v')
	}
	f.op(wasmfront.OpV128Bitselect)
}

// chosenExtreme is the lesser or greater of two vectors, by a comparison.
func (f *fgen) chosenExtreme() {
	x, y := f.local('v'), f.local('v')
	f.produce('v')
	f.opIndex(wasmfront.OpLocalSet, y)
	f.produce('v')
	f.opIndex(wasmfront.OpLocalTee, x)
	f.opIndex(wasmfront.OpLocalGet, y)
	if f.chance(2) {
		x, y = y, x
	}
	f.opIndex(wasmfront.OpLocalGet, x)
	f.opIndex(wasmfront.OpLocalGet, y)
	f.op(comparesVectors[f.r.IntN(len(comparesVectors))])
	f.op(wasmfront.OpV128Bitselect)
}

// differences is the distance of unsigned or signed lanes.
func (f *fgen) differences() {
	kinds := [...][3]wasmfront.Opcode{
		{wasmfront.OpI8x16MaxU, wasmfront.OpI8x16MinU, wasmfront.OpI8x16Sub}, {wasmfront.OpI16x8MaxS, wasmfront.OpI16x8MinS, wasmfront.OpI16x8Sub},
		{wasmfront.OpI32x4MaxU, wasmfront.OpI32x4MinU, wasmfront.OpI32x4Sub}, {wasmfront.OpI8x16SubSatU, 0, wasmfront.OpV128Or}, {wasmfront.OpI16x8SubSatU, 0, wasmfront.OpV128Or},
	}
	k := kinds[f.r.IntN(len(kinds))]
	x, y := f.local('v'), f.local('v')
	f.produce('v')
	f.opIndex(wasmfront.OpLocalSet, x)
	f.produce('v')
	f.opIndex(wasmfront.OpLocalSet, y)
	f.opIndex(wasmfront.OpLocalGet, x)
	f.opIndex(wasmfront.OpLocalGet, y)
	f.op(k[0])
	if k[1] == 0 {
		x, y, k[1] = y, x, k[0]
	}
	f.opIndex(wasmfront.OpLocalGet, x)
	f.opIndex(wasmfront.OpLocalGet, y)
	f.op(k[1])
	f.op(k[2])
}

// widenedProduct multiplies extended lanes.
func (f *fgen) widenedProduct() {
	extensions := [...][]wasmfront.Opcode{
		{wasmfront.OpI16x8Mul, wasmfront.OpI16x8ExtendLowI8x16S, wasmfront.OpI16x8ExtendLowI8x16U, wasmfront.OpI16x8ExtendHighI8x16S, wasmfront.OpI16x8ExtendHighI8x16U},
		{wasmfront.OpI32x4Mul, wasmfront.OpI32x4ExtendLowI16x8S, wasmfront.OpI32x4ExtendLowI16x8U, wasmfront.OpI32x4ExtendHighI16x8S, wasmfront.OpI32x4ExtendHighI16x8U},
		{wasmfront.OpI64x2Mul, wasmfront.OpI64x2ExtendLowI32x4S, wasmfront.OpI64x2ExtendLowI32x4U, wasmfront.OpI64x2ExtendHighI32x4S, wasmfront.OpI64x2ExtendHighI32x4U},
	}
	e := extensions[f.r.IntN(len(extensions))]
	op := f.one(e[1:]...)
	f.produce('v')
	f.op(op)
	f.produce('v')
	if f.chance(4) {
		op = f.one(e[1:]...)
	}
	f.op(op)
	f.op(e[0])
}

// productOfLanes is a product and a sum of lanes: of floats it must not be rounded once only.
func (f *fgen) productOfLanes() {
	kinds := [...][2]wasmfront.Opcode{{wasmfront.OpF32x4Mul, wasmfront.OpF32x4Add}, {wasmfront.OpF64x2Mul, wasmfront.OpF64x2Sub}, {wasmfront.OpI32x4Mul, wasmfront.OpI32x4Add},
		{wasmfront.OpI16x8Mul, wasmfront.OpI16x8Sub}, {wasmfront.OpI32x4DotI16x8S, wasmfront.OpI32x4Add}, {wasmfront.OpI16x8ExtmulLowI8x16U, wasmfront.OpI16x8Add},
		{wasmfront.OpI64x2ExtmulHighI32x4S, wasmfront.OpI64x2Add}}
	k := kinds[f.r.IntN(len(kinds))]
	first := f.chance(2)
	if first {
		f.produce('v')
	}
	f.produce('v')
	f.produce('v')
	f.applyVector(k[0])
	if !first {
		f.produce('v')
	}
	f.applyVector(k[1])
}

// shuffledTwice is a shuffle of a shuffle.
func (f *fgen) shuffledTwice() {
	l := f.local('v')
	f.produce('v')
	f.produce('v')
	f.shuffle()
	f.opIndex(wasmfront.OpLocalTee, l)
	f.opIndex(wasmfront.OpLocalGet, l)
	f.shuffle()
}

// movedLane puts a lane that it takes out into the same or another place, or into all.
func (f *fgen) movedLane() {
	shapes := [...][3]wasmfront.Opcode{
		{wasmfront.OpI8x16ExtractLaneS, wasmfront.OpI8x16ReplaceLane, wasmfront.OpI8x16Splat}, {wasmfront.OpI16x8ExtractLaneU, wasmfront.OpI16x8ReplaceLane, wasmfront.OpI16x8Splat},
		{wasmfront.OpI32x4ExtractLane, wasmfront.OpI32x4ReplaceLane, wasmfront.OpI32x4Splat}, {wasmfront.OpI64x2ExtractLane, wasmfront.OpI64x2ReplaceLane, wasmfront.OpI64x2Splat},
		{wasmfront.OpF32x4ExtractLane, wasmfront.OpF32x4ReplaceLane, wasmfront.OpF32x4Splat}, {wasmfront.OpF64x2ExtractLane, wasmfront.OpF64x2ReplaceLane, wasmfront.OpF64x2Splat},
	}
	s := shapes[f.r.IntN(len(shapes))]
	l := f.local('v')
	f.produce('v')
	f.opIndex(wasmfront.OpLocalSet, l)
	if f.chance(3) {
		f.opIndex(wasmfront.OpLocalGet, l)
		f.applyVector(s[0])
		f.applyVector(s[2])
		return
	}
	if f.chance(2) {
		f.opIndex(wasmfront.OpLocalGet, l)
	} else {
		f.produce('v')
	}
	f.opIndex(wasmfront.OpLocalGet, l)
	f.applyVector(s[0])
	f.applyVector(s[1])
}

func (f *fgen) twoVectorShifts() {
	shapes := [...]wasmfront.Opcode{wasmfront.OpI8x16Shl, wasmfront.OpI16x8Shl, wasmfront.OpI32x4Shl, wasmfront.OpI64x2Shl} // then shr_s, shr_u
	first := shapes[f.r.IntN(len(shapes))]
	f.produce('v')
	for range 2 {
		f.konst('i', uint64(f.r.IntN(70)))
		f.op(first + wasmfront.Opcode(f.r.IntN(3)))
	}
}

// halves narrows two vectors that were made by extending one.
func (f *fgen) halves() {
	l := f.local('v')
	f.produce('v')
	f.opIndex(wasmfront.OpLocalTee, l)
	f.op(f.one(wasmfront.OpI16x8ExtendLowI8x16S, wasmfront.OpI16x8ExtendLowI8x16U))
	f.opIndex(wasmfront.OpLocalGet, l)
	f.op(f.one(wasmfront.OpI16x8ExtendHighI8x16S, wasmfront.OpI16x8ExtendHighI8x16U))
	f.op(f.one(wasmfront.OpI8x16NarrowI16x8S, wasmfront.OpI8x16NarrowI16x8U, wasmfront.OpI16x8Add, wasmfront.OpV128Xor))
}

// absolute is a vector and its negation, one of which is chosen, or added.
func (f *fgen) absolute() {
	kinds := [...][2]wasmfront.Opcode{{wasmfront.OpI8x16Neg, wasmfront.OpI8x16MaxS}, {wasmfront.OpI16x8Neg, wasmfront.OpI16x8MaxS}, {wasmfront.OpI32x4Neg, wasmfront.OpI32x4MaxS},
		{wasmfront.OpI64x2Neg, wasmfront.OpI64x2Add}, {wasmfront.OpF32x4Neg, wasmfront.OpF32x4Max}, {wasmfront.OpF64x2Neg, wasmfront.OpF64x2Sub}}
	k := kinds[f.r.IntN(len(kinds))]
	l := f.local('v')
	f.produce('v')
	f.opIndex(wasmfront.OpLocalTee, l)
	if f.chance(4) {
		f.produce('v')
	} else {
		f.opIndex(wasmfront.OpLocalGet, l)
	}
	f.op(k[0])
	f.applyVector(k[1])
}
