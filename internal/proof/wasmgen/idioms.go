package wasmgen

import (
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// Places of the integer operators in their group, which begins with add.
const (
	placeAdd = iota
	placeSub
	placeMul
	placeDivS
	placeDivU
	placeRemS
	placeRemU
	placeAnd
	placeOr
	placeXor
	placeShl
	placeShrS
	placeShrU
	placeRotl
	placeRotr
)

// binary returns the integer operator of type t at one of the places.
func (f *fgen) binary(t byte, places ...int) wasmfront.Opcode {
	first := wasmfront.OpI32Add
	if t == 'l' {
		first = wasmfront.OpI64Add
	}
	return first + wasmfront.Opcode(places[f.r.IntN(len(places))])
}

// width returns the number of bits of an integer type.
func width(t byte) int {
	if t == 'l' {
		return 64
	}
	return 32
}

// float returns the float operator of type t that corresponds to the one of f32.
func float(t byte, f32 wasmfront.Opcode) wasmfront.Opcode {
	switch {
	case t == 'f':
		return f32
	case f32 < wasmfront.OpF32Abs: // a comparison
		return f32 - wasmfront.OpF32Eq + wasmfront.OpF64Eq
	}
	return f32 - wasmfront.OpF32Abs + wasmfront.OpF64Abs
}

// idiom pushes a value by operators in a row that compilers have rules for.
func (f *fgen) idiom(t byte) {
	ints := [...]func(t byte){
		f.twice, f.twoShifts, f.maskedShift, f.constantLeft, f.extendedConstant, f.related, f.related, f.bitField, f.shiftedOperand, f.productSum,
		f.rotation, f.joined, f.narrowed, f.negated, f.converted, f.loadedOperands, f.wideProduct, f.wideSum,
	}
	floats := [...]func(t byte){f.floatSigns, f.floatPick, f.floatRound, f.floatSum}
	if t == 'f' || t == 'd' {
		floats[f.r.IntN(len(floats))](t)
	} else {
		ints[f.r.IntN(len(ints))](t)
	}
}

// operand pushes a value of type t; an i32 is often the half of an i64 whose other half is not zero.
func (f *fgen) operand(t byte) {
	if t == 'i' && f.chance(2) {
		f.half()
		return
	}
	f.produce(t)
}

// half pushes the lower half of an i64.
func (f *fgen) half() {
	if f.chance(3) {
		f.konst('l', f.bits('l'))
		f.opIndex(wasmfront.OpLocalGet, f.anyLocal('l'))
		f.op(f.binary('l', placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor))
	} else {
		f.produce('l')
	}
	f.op(wasmfront.OpI32WrapI64)
}

// twice is the same operator twice with constants.
func (f *fgen) twice(t byte) {
	op := f.binary(t, placeAdd, placeMul, placeAnd, placeOr, placeXor)
	f.operand(t)
	for range 2 {
		f.konst(t, f.bits(t))
		f.op(op)
	}
}

func (f *fgen) twoShifts(t byte) {
	f.operand(t)
	for range 2 {
		f.konst(t, uint64(f.r.IntN(70)))
		f.op(f.binary(t, placeShl, placeShrS, placeShrU, placeRotl, placeRotr))
	}
}

// maskedShift is a shift by what is masked.
func (f *fgen) maskedShift(t byte) {
	f.operand(t)
	f.operand(t)
	f.konst(t, []uint64{31, 63, 7, 127}[f.r.IntN(4)])
	f.op(f.binary(t, placeAnd))
	f.op(f.binary(t, placeShl, placeShrS, placeShrU, placeRotl, placeRotr))
}

func (f *fgen) constantLeft(t byte) {
	f.konst(t, f.bits(t))
	f.operand(t)
	f.op(f.binary(t, placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor, placeShl, placeShrS, placeShrU, placeRotl, placeRotr))
}

// extendedConstant computes with an extended value and a constant, perhaps to narrow the result.
func (f *fgen) extendedConstant(t byte) {
	f.produce('i')
	f.extend()
	f.konst('l', f.bits('l'))
	f.op(f.binary('l', placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor, placeShl, placeShrS, placeShrU))
	if t == 'i' {
		f.op(wasmfront.OpI32WrapI64)
	}
}

func (f *fgen) extend() {
	f.op([]wasmfront.Opcode{wasmfront.OpI64ExtendI32S, wasmfront.OpI64ExtendI32U}[f.r.IntN(2)])
}

// related chooses between a value and another one that has been changed a little: one more, negated, inverted; at times of the
// same value. Machines select such pairs by one instruction.
func (f *fgen) related(t byte) {
	other := func() {
		switch f.r.IntN(4) {
		case 0:
			f.operand(t)
			f.konst(t, []uint64{1, 1, ^uint64(0)}[f.r.IntN(3)])
			f.op(f.binary(t, placeAdd, placeSub))
		case 1:
			f.konst(t, 0)
			f.operand(t)
			f.op(f.binary(t, placeSub))
		case 2:
			f.operand(t)
			f.konst(t, ^uint64(0))
			f.op(f.binary(t, placeXor))
		case 3:
			f.konst(t, []uint64{0, 1, ^uint64(0)}[f.r.IntN(3)])
		}
	}
	switch f.r.IntN(4) {
	case 0:
		other()
		f.operand(t)
	case 1:
		f.operand(t)
		other()
	case 2: // of one value, as abs and its like do
		l := f.local(t)
		f.operand(t)
		f.opIndex(wasmfront.OpLocalTee, l)
		f.konst(t, 0)
		f.opIndex(wasmfront.OpLocalGet, l)
		f.op(f.binary(t, placeSub))
		f.opIndex(wasmfront.OpLocalGet, l)
		f.konst(t, f.bits(t)&1)
		f.op(f.comparison(t))
		f.op(wasmfront.OpSelect)
		return
	case 3:
		other()
		other()
	}
	f.condition()
	f.op(wasmfront.OpSelect)
}

// bitField takes bits out of a value, or moves its lowest ones.
func (f *fgen) bitField(t byte) {
	at, n := f.r.IntN(width(t)), 1+f.r.IntN(width(t))
	mask := ^uint64(0) >> (64 - n)
	f.operand(t)
	switch f.r.IntN(4) {
	case 0:
		f.konst(t, uint64(at))
		f.op(f.binary(t, placeShrU, placeShrS))
		f.konst(t, mask)
		f.op(f.binary(t, placeAnd))
	case 1:
		f.konst(t, mask)
		f.op(f.binary(t, placeAnd))
		f.konst(t, uint64(at))
		f.op(f.binary(t, placeShl))
	case 2:
		f.konst(t, uint64(at))
		f.op(f.binary(t, placeShl))
		f.konst(t, uint64(f.r.IntN(width(t))))
		f.op(f.binary(t, placeShrS, placeShrU))
	case 3: // some bits of one value, the others of another
		f.konst(t, mask<<at)
		f.op(f.binary(t, placeAnd))
		f.operand(t)
		f.konst(t, ^(mask << at))
		f.op(f.binary(t, placeAnd))
		f.op(f.binary(t, placeOr, placeXor, placeAdd))
	}
}

// shiftedOperand is an operator of which one operand is shifted or extended.
func (f *fgen) shiftedOperand(t byte) {
	shifted := func() {
		if t == 'l' && f.chance(2) {
			f.operand('i')
			f.extend()
			if f.chance(2) {
				return
			}
		} else {
			f.operand(t)
		}
		f.konst(t, uint64(f.r.IntN([]int{4, width(t)}[f.r.IntN(2)])))
		f.op(f.binary(t, placeShl, placeShl, placeShrS, placeShrU, placeRotr))
	}
	if f.chance(2) {
		shifted()
		f.operand(t)
	} else {
		f.operand(t)
		shifted()
	}
	f.op(f.binary(t, placeAdd, placeSub, placeAnd, placeOr, placeXor))
}

// productSum adds a product to a value or takes it away, at times a product of two extended values, whose upper half it may take.
func (f *fgen) productSum(t byte) {
	product := func() {
		if t == 'l' && f.chance(2) {
			f.operand('i')
			f.extend()
			f.operand('i')
			f.extend()
		} else {
			f.operand(t)
			f.operand(t)
		}
		f.op(f.binary(t, placeMul))
	}
	switch f.r.IntN(4) {
	case 0:
		product()
		f.konst(t, uint64(width(t)/2))
		f.op(f.binary(t, placeShrS, placeShrU))
		return
	case 1:
		product()
		f.operand(t)
	default:
		f.operand(t)
		product()
	}
	f.op(f.binary(t, placeAdd, placeSub))
}

// rotation is a rotation made of two shifts, or what is nearly one.
func (f *fgen) rotation(t byte) {
	l, k := f.local(t), 1+f.r.IntN(width(t)-1)
	shifts := []int{placeShl, placeShrU}
	if f.chance(2) {
		shifts[0], shifts[1] = placeShrU, placeShl
	}
	f.operand(t)
	f.opIndex(wasmfront.OpLocalTee, l)
	f.konst(t, uint64(k))
	f.op(f.binary(t, shifts[0]))
	f.opIndex(wasmfront.OpLocalGet, l)
	if f.chance(6) {
		k++
	}
	f.konst(t, uint64(width(t)-k))
	f.op(f.binary(t, shifts[1]))
	f.op(f.binary(t, placeOr, placeXor, placeAdd))
}

// joined is an i64 made of two i32, or a part of it.
func (f *fgen) joined(t byte) {
	f.operand('i')
	f.extend()
	f.konst('l', uint64(32-f.r.IntN(2)))
	f.op(wasmfront.OpI64Shl)
	f.operand('i')
	f.extend()
	f.op(f.binary('l', placeOr, placeAdd, placeXor))
	if t == 'i' {
		f.konst('l', []uint64{0, 1, 16, 32}[f.r.IntN(4)])
		f.op(f.binary('l', placeShrU, placeShrS))
		f.op(wasmfront.OpI32WrapI64)
	}
}

// narrowed cuts a value to fewer bits, before or after it computes with it.
func (f *fgen) narrowed(t byte) {
	cut := func() {
		switch {
		case f.chance(3):
			f.konst(t, []uint64{0xFF, 0xFFFF, 0xFFFFFFFF, 0x7F, 1}[f.r.IntN(5)])
			f.op(f.binary(t, placeAnd))
		case t == 'i':
			f.op([]wasmfront.Opcode{wasmfront.OpI32Extend8S, wasmfront.OpI32Extend16S}[f.r.IntN(2)])
		default:
			f.op([]wasmfront.Opcode{wasmfront.OpI64Extend8S, wasmfront.OpI64Extend16S, wasmfront.OpI64Extend32S}[f.r.IntN(3)])
		}
	}
	f.operand(t)
	if f.chance(2) {
		cut()
	}
	f.operand(t)
	f.op(f.binary(t, placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor, placeShl, placeShrS, placeShrU))
	cut()
}

// negated is an operator of negated or inverted operands.
func (f *fgen) negated(t byte) {
	negate := func() {
		if f.chance(2) {
			f.operand(t)
			f.konst(t, ^uint64(0))
			f.op(f.binary(t, placeXor, placeMul))
			return
		}
		f.konst(t, 0)
		f.operand(t)
		f.op(f.binary(t, placeSub))
	}
	operand := func() { f.operand(t) }
	if f.chance(2) {
		negate, operand = operand, negate
	}
	negate()
	operand()
	f.op(f.binary(t, placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor))
}

// loadedOperands is an operator of which one operand or both come from memory, perhaps with a store between.
func (f *fgen) loadedOperands(t byte) {
	load := func() {
		f.address()
		f.memory(loads[t][f.r.IntN(len(loads[t]))])
	}
	load()
	switch f.r.IntN(4) {
	case 0:
		f.operand(t)
	case 1:
		f.store()
		fallthrough
	default:
		load()
	}
	switch {
	case f.chance(3) && t == 'i':
		f.op(f.comparison(t))
	case f.chance(3):
		f.condition()
		f.op(wasmfront.OpSelect)
	default:
		f.op(f.binary(t, placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor, placeShl))
	}
}

// converted is an integer that was a float or a truth value.
func (f *fgen) converted(t byte) {
	switch f.r.IntN(3) {
	case 0: // there and back
		from, to := []byte{'i', 'l'}[f.r.IntN(2)], []byte{'f', 'd'}[f.r.IntN(2)]
		f.operand(from)
		f.op(conversion(from, to)[f.r.IntN(2)])
		list := conversion(to, t)
		f.apply(list[f.r.IntN(len(list))])
	case 1: // a sum of comparisons
		f.truth()
		f.truth()
		f.op(f.binary('i', placeAdd, placeSub, placeAnd, placeOr, placeXor, placeShl))
		if t == 'l' {
			f.extend()
		}
	case 2: // a mask of a comparison
		f.konst(t, 0)
		f.truth()
		if t == 'l' {
			f.extend()
		}
		f.op(f.binary(t, placeSub))
		f.operand(t)
		f.op(f.binary(t, placeAnd, placeOr, placeXor))
	}
}

// conversion are the operators from one type to another that never trap.
func conversion(from, to byte) (list []wasmfront.Opcode) {
	for _, op := range numeric[to] {
		if in, _, _ := strings.Cut(op.Info().Sig, ":"); in == string([]byte{from}) && !truncates(op) {
			list = append(list, op)
		}
	}
	return list
}

// floatSigns changes signs before and after an operator.
func (f *fgen) floatSigns(t byte) {
	sign := func() {
		for f.chance(2) {
			f.op(float(t, []wasmfront.Opcode{wasmfront.OpF32Neg, wasmfront.OpF32Abs}[f.r.IntN(2)]))
		}
	}
	f.produce(t)
	sign()
	f.produce(t)
	sign()
	f.apply(float(t, []wasmfront.Opcode{wasmfront.OpF32Add, wasmfront.OpF32Sub, wasmfront.OpF32Mul, wasmfront.OpF32Div, wasmfront.OpF32Copysign}[f.r.IntN(5)]))
	sign()
}

// floatPick is the lesser or greater of two, by a comparison.
func (f *fgen) floatPick(t byte) {
	a, b := f.local(t), f.local(t)
	f.produce(t)
	f.opIndex(wasmfront.OpLocalSet, b)
	f.produce(t)
	f.opIndex(wasmfront.OpLocalTee, a)
	f.opIndex(wasmfront.OpLocalGet, b)
	f.opIndex(wasmfront.OpLocalGet, a)
	f.opIndex(wasmfront.OpLocalGet, b)
	f.op(float(t, wasmfront.OpF32Eq+wasmfront.Opcode(f.r.IntN(6))))
	if f.chance(3) {
		f.op(wasmfront.OpI32Eqz)
	}
	f.op(wasmfront.OpSelect)
}

// floatRound goes through another type.
func (f *fgen) floatRound(t byte) {
	from := []byte{'i', 'l'}[f.r.IntN(2)]
	if f.chance(2) {
		f.operand(from)
	} else { // a narrow load
		f.address()
		f.memory(loads[from][f.r.IntN(len(loads[from]))])
	}
	if from == 'i' && f.chance(2) {
		f.extend()
		from = 'l'
	}
	list := conversion(from, t)
	f.apply(list[f.r.IntN(len(list))])
	if f.chance(2) {
		f.apply(float(t, []wasmfront.Opcode{wasmfront.OpF32Ceil, wasmfront.OpF32Floor, wasmfront.OpF32Trunc, wasmfront.OpF32Nearest, wasmfront.OpF32Sqrt}[f.r.IntN(5)]))
	}
}

// floatSum is a product and a sum, which must not become one operation with one rounding.
func (f *fgen) floatSum(t byte) {
	f.produce(t)
	f.produce(t)
	f.produce(t)
	f.apply(float(t, wasmfront.OpF32Mul))
	f.apply(float(t, []wasmfront.Opcode{wasmfront.OpF32Add, wasmfront.OpF32Sub}[f.r.IntN(2)]))
}

// comparisons are the operators whose result is a truth value.
var comparisons = comparing()

func comparing() (list []wasmfront.Opcode) {
	for op := wasmfront.OpI32Eqz; op <= wasmfront.OpF64Ge; op++ {
		list = append(list, op)
	}
	return list
}

// comparison returns a comparison of integers of type t.
func (f *fgen) comparison(t byte) wasmfront.Opcode {
	first := wasmfront.OpI32Eq
	if t == 'l' {
		first = wasmfront.OpI64Eq
	}
	return first + wasmfront.Opcode(f.r.IntN(10))
}

// condition pushes an i32 that is mostly a truth value, at times negated.
func (f *fgen) condition() {
	if f.budget <= 0 || f.depth > maxDepth || f.chance(2) {
		f.produce('i')
		return
	}
	f.truth()
	for f.chance(4) {
		f.op(wasmfront.OpI32Eqz)
	}
}

// truth pushes 0 or 1.
func (f *fgen) truth() {
	f.depth++
	defer func() { f.depth-- }()
	if f.cfg.Vectors && f.chance(4) {
		f.vectorTruth()
		return
	}
	switch f.r.IntN(6) {
	case 0:
		f.extendedComparison()
	case 1:
		f.testedResult()
	case 2:
		f.testedBit()
	default:
		op := comparisons[f.r.IntN(len(comparisons))]
		in, _, _ := strings.Cut(op.Info().Sig, ":")
		for _, t := range []byte(in) {
			f.operand(t)
		}
		f.op(op)
	}
}

// extendedComparison compares extended values with each other or with a constant.
func (f *fgen) extendedComparison() {
	f.operand('i')
	f.extend()
	if f.chance(3) {
		f.konst('l', f.bits('l'))
	} else {
		f.operand('i')
		f.extend()
	}
	f.op(f.comparison('l'))
}

// testedResult compares the result of an operator with zero or another small number; many machines set flags by the operator.
func (f *fgen) testedResult() {
	t := "il"[f.r.IntN(2)]
	f.operand(t)
	f.operand(t)
	f.op(f.binary(t, placeAdd, placeSub, placeAnd, placeAnd, placeOr, placeXor, placeShl))
	f.konst(t, []uint64{0, 0, 0, 1, ^uint64(0)}[f.r.IntN(5)])
	f.op(f.comparison(t))
}

// testedBit says what one bit is.
func (f *fgen) testedBit() {
	t := "il"[f.r.IntN(2)]
	bit := f.r.IntN(width(t))
	f.operand(t)
	if f.chance(2) {
		f.konst(t, 1<<bit)
		f.op(f.binary(t, placeAnd))
		f.konst(t, 0)
		f.op(f.comparison(t))
		return
	}
	f.konst(t, uint64(bit))
	f.op(f.binary(t, placeShrU, placeShrS))
	f.konst(t, 1)
	f.op(f.binary(t, placeAnd))
	if t == 'l' {
		f.op(wasmfront.OpI32WrapI64)
	}
}
