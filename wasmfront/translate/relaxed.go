package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/wasmfront"
)

// Relaxed says which of its allowed results each relaxed operator has. The choice is made here: the operator
// becomes instructions that have one result, whatever the level of optimisation.
type Relaxed uint8

// The choices. docs/simd.md has them as a table.
const (
	RelaxedDeterministic Relaxed = iota // the specification's deterministic profile
	RelaxedX64                          // what SSE4.2 computes in the fewest instructions
	RelaxedX64FMA                       // the same with fused multiplication
	RelaxedA64                          // NEON: the deterministic profile, but fused multiplication
	RelaxedA64Dot                       // the same with sdot
	NumRelaxed
)

// relaxedCount is how many relaxed operators there are.
const relaxedCount = 20

// relaxedHandlers translates the relaxed operators, by the number after 0xFD minus 256.
var relaxedHandlers = [NumRelaxed][relaxedCount]handler{
	RelaxedDeterministic: overlay(),
	RelaxedX64:           overlay(relaxedX64),
	RelaxedX64FMA:        overlay(relaxedX64, relaxedFused),
	RelaxedA64:           overlay(relaxedFused),
	RelaxedA64Dot:        overlay(relaxedFused, relaxedDot),
}

type relaxedChoice map[wasmfront.Opcode]handler

// overlay is relaxedStrict with the given choices in place of its own.
func overlay(choices ...relaxedChoice) (h [relaxedCount]handler) {
	for _, c := range append([]relaxedChoice{relaxedStrict}, choices...) {
		for op, x := range c {
			h[op&0xff] = x
		}
	}
	return h
}

// relaxedStrict is the deterministic profile: the operator of fixed-width SIMD where there is one.
var relaxedStrict = relaxedChoice{
	wasmfront.OpI8x16RelaxedSwizzle:           {run: (*Translator).binary, code: clif.OpVswizzle, typ: clif.I8x16},
	wasmfront.OpI32x4RelaxedTruncF32x4S:       {run: (*Translator).unary, code: clif.OpVcvtToSintSat, typ: clif.F32x4},
	wasmfront.OpI32x4RelaxedTruncF32x4U:       {run: (*Translator).unary, code: clif.OpVcvtToUintSat, typ: clif.F32x4},
	wasmfront.OpI32x4RelaxedTruncF64x2SZero:   {run: (*Translator).unary, code: clif.OpVcvtToSintSat, typ: clif.F64x2},
	wasmfront.OpI32x4RelaxedTruncF64x2UZero:   {run: (*Translator).unary, code: clif.OpVcvtToUintSat, typ: clif.F64x2},
	wasmfront.OpF32x4RelaxedMadd:              {run: (*Translator).multiplyAdd, typ: clif.F32x4},
	wasmfront.OpF32x4RelaxedNmadd:             {run: (*Translator).multiplySub, typ: clif.F32x4},
	wasmfront.OpF64x2RelaxedMadd:              {run: (*Translator).multiplyAdd, typ: clif.F64x2},
	wasmfront.OpF64x2RelaxedNmadd:             {run: (*Translator).multiplySub, typ: clif.F64x2},
	wasmfront.OpI8x16RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVbitselect, typ: clif.V128},
	wasmfront.OpI16x8RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVbitselect, typ: clif.V128},
	wasmfront.OpI32x4RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVbitselect, typ: clif.V128},
	wasmfront.OpI64x2RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVbitselect, typ: clif.V128},
	wasmfront.OpF32x4RelaxedMin:               {run: (*Translator).binary, code: clif.OpVfmin, typ: clif.F32x4},
	wasmfront.OpF32x4RelaxedMax:               {run: (*Translator).binary, code: clif.OpVfmax, typ: clif.F32x4},
	wasmfront.OpF64x2RelaxedMin:               {run: (*Translator).binary, code: clif.OpVfmin, typ: clif.F64x2},
	wasmfront.OpF64x2RelaxedMax:               {run: (*Translator).binary, code: clif.OpVfmax, typ: clif.F64x2},
	wasmfront.OpI16x8RelaxedQ15mulrS:          {run: (*Translator).binary, code: clif.OpVq15mulrSat, typ: clif.I16x8},
	wasmfront.OpI16x8RelaxedDotI8x16I7x16S:    {run: (*Translator).binary, code: clif.OpVdot, typ: clif.I16x8},
	wasmfront.OpI32x4RelaxedDotI8x16I7x16AddS: {run: (*Translator).dotAdd},
}

// relaxedX64 are the operators for which SSE has shorter code with other results.
var relaxedX64 = relaxedChoice{
	wasmfront.OpI8x16RelaxedSwizzle:           {run: (*Translator).binary, code: clif.OpVswizzleMod, typ: clif.I8x16},
	wasmfront.OpI32x4RelaxedTruncF32x4S:       {run: (*Translator).unary, code: clif.OpVcvtToSintInd, typ: clif.F32x4},
	wasmfront.OpI32x4RelaxedTruncF64x2SZero:   {run: (*Translator).unary, code: clif.OpVcvtToSintInd, typ: clif.F64x2},
	wasmfront.OpI8x16RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVselectTop, typ: clif.I8x16},
	wasmfront.OpI16x8RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVselectTop, typ: clif.I8x16},
	wasmfront.OpI32x4RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVselectTop, typ: clif.I32x4},
	wasmfront.OpI64x2RelaxedLaneselect:        {run: (*Translator).ternary, code: clif.OpVselectTop, typ: clif.I64x2},
	wasmfront.OpF32x4RelaxedMin:               {run: (*Translator).swapped, code: clif.OpVfpmin, typ: clif.F32x4},
	wasmfront.OpF32x4RelaxedMax:               {run: (*Translator).swapped, code: clif.OpVfpmax, typ: clif.F32x4},
	wasmfront.OpF64x2RelaxedMin:               {run: (*Translator).swapped, code: clif.OpVfpmin, typ: clif.F64x2},
	wasmfront.OpF64x2RelaxedMax:               {run: (*Translator).swapped, code: clif.OpVfpmax, typ: clif.F64x2},
	wasmfront.OpI16x8RelaxedQ15mulrS:          {run: (*Translator).binary, code: clif.OpVq15mulr, typ: clif.I16x8},
	wasmfront.OpI16x8RelaxedDotI8x16I7x16S:    {run: (*Translator).swapped, code: clif.OpVdotUS, typ: clif.I16x8},
	wasmfront.OpI32x4RelaxedDotI8x16I7x16AddS: {run: (*Translator).dotAddUS},
}

// relaxedFused rounds once.
var relaxedFused = relaxedChoice{
	wasmfront.OpF32x4RelaxedMadd:  {run: (*Translator).ternary, code: clif.OpVfma, typ: clif.F32x4},
	wasmfront.OpF32x4RelaxedNmadd: {run: (*Translator).ternary, code: clif.OpVfnma, typ: clif.F32x4},
	wasmfront.OpF64x2RelaxedMadd:  {run: (*Translator).ternary, code: clif.OpVfma, typ: clif.F64x2},
	wasmfront.OpF64x2RelaxedNmadd: {run: (*Translator).ternary, code: clif.OpVfnma, typ: clif.F64x2},
}

// relaxedDot adds four products without rounding to 16 bits in between.
var relaxedDot = relaxedChoice{
	wasmfront.OpI32x4RelaxedDotI8x16I7x16AddS: {run: (*Translator).ternary, code: clif.OpVdotAdd, typ: clif.I32x4},
}

// swapped is binary with its operands in the other order.
func (t *Translator) swapped(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Binary(h.code, h.typ, y, x))
}

// multiplyAdd rounds the product, then adds the third operand.
func (t *Translator) multiplyAdd(_ *wasmfront.Operator, h *handler) {
	t.multiplyThen(clif.OpVfadd, h.typ)
}

// multiplySub rounds the product, then subtracts it from the third operand.
func (t *Translator) multiplySub(_ *wasmfront.Operator, h *handler) {
	t.multiplyThen(clif.OpVfsub, h.typ)
}

func (t *Translator) multiplyThen(op clif.Opcode, shape clif.Type) {
	z, y, x := t.pop(), t.pop(), t.pop()
	product := t.canonical(shape, t.b.Binary(clif.OpVfmul, shape, x, y))
	t.push(t.canonical(shape, t.b.Binary(op, shape, z, product)))
}

// dotAdd adds sums of two products in pairs, then the third operand.
func (t *Translator) dotAdd(*wasmfront.Operator, *handler) {
	z, y, x := t.pop(), t.pop(), t.pop()
	t.addPairs(t.b.Binary(clif.OpVdot, clif.I16x8, x, y), z)
}

// dotAddUS is dotAdd with vdot_us, whose first operand is the one of 7 bits.
func (t *Translator) dotAddUS(*wasmfront.Operator, *handler) {
	z, y, x := t.pop(), t.pop(), t.pop()
	t.addPairs(t.b.Binary(clif.OpVdotUS, clif.I16x8, y, x), z)
}

func (t *Translator) addPairs(sums, z clif.Value) {
	t.push(t.b.Binary(clif.OpVadd, clif.I32x4, t.b.Unary(clif.OpVextaddPairS, clif.I32x4, sums), z))
}
