package wasmgen

import "github.com/waot-project/waot/wasmfront"

// wideProduct pushes words of a product of 128 bits that is built from halves, as compilers and libraries build it. Now and then
// one of its steps is another one, so that it is no product.
func (f *fgen) wideProduct(t byte) {
	w := wideGen{fgen: f, x: f.wideLocal(), y: f.wideLocal(), m: f.newLocal('l'), n: f.newLocal('l'), wrong: -1}
	if f.chance(3) {
		w.wrong = f.r.IntN(40)
	}
	if f.chance(2) {
		w.byHalves()
	} else {
		w.byCarries()
	}
	if t == 'i' {
		f.op(wasmfront.OpI32WrapI64)
	}
}

// wideLocal returns a new local that holds a number of 64 bits.
func (f *fgen) wideLocal() int {
	f.operand('l')
	l := f.newLocal('l')
	f.opIndex(wasmfront.OpLocalSet, l)
	return l
}

// wideGen generates one product: of the locals x and y, with the locals m and n.
type wideGen struct {
	*fgen
	x, y, m, n int
	steps      int
	wrong      int // the number of the step that is another one
}

// step is an operator at one of the places of the group, or another one.
func (w *wideGen) step(place int) {
	if w.steps++; w.steps == w.wrong {
		w.op(w.binary('l', placeAdd, placeSub, placeMul, placeAnd, placeOr, placeXor))
		return
	}
	w.op(w.binary('l', place))
}

func (w *wideGen) get(l int) { w.opIndex(wasmfront.OpLocalGet, l) }

func (w *wideGen) shift(place int) {
	w.konst('l', 32)
	w.step(place)
}

func (w *wideGen) low() {
	w.konst('l', 1<<32-1)
	w.step(placeAnd)
}

// product pushes the product of an upper or lower half of x and one of y.
func (w *wideGen) product(upperX, upperY bool) {
	for _, h := range [...]struct {
		l     int
		upper bool
	}{{w.x, upperX}, {w.y, upperY}} {
		w.get(h.l)
		if h.upper {
			w.shift(placeShrU)
		} else {
			w.low()
		}
	}
	w.step(placeMul)
}

// byHalves adds lower halves of partial sums.
func (w *wideGen) byHalves() {
	w.product(false, false)
	w.shift(placeShrU)
	w.product(false, true)
	w.step(placeAdd)
	w.opIndex(wasmfront.OpLocalTee, w.m)
	w.low()
	w.product(true, false)
	w.step(placeAdd)
	w.opIndex(wasmfront.OpLocalSet, w.n)
	w.product(true, true)
	for _, l := range []int{w.m, w.n} {
		w.get(l)
		w.shift(placeShrU)
		w.step(placeAdd)
	}
	if w.chance(2) { // and the low word
		w.get(w.n)
		w.shift(placeShl)
		w.product(false, false)
		w.low()
		w.step(placeOr)
		w.step(placeXor)
	}
}

// byCarries finds carries of the partial sums by comparing.
func (w *wideGen) byCarries() {
	w.product(true, false)
	w.product(false, true)
	w.step(placeAdd)
	w.opIndex(wasmfront.OpLocalTee, w.m)
	w.shift(placeShl)
	w.product(false, false)
	w.step(placeAdd)
	w.opIndex(wasmfront.OpLocalSet, w.n)
	w.get(w.m)
	w.product(true, false)
	w.less()
	w.shift(placeShl)
	w.get(w.m)
	w.shift(placeShrU)
	w.step(placeOr)
	w.product(true, true)
	w.step(placeAdd)
	w.get(w.n)
	w.product(false, false)
	w.less()
	w.step(placeAdd)
	if w.chance(2) {
		w.get(w.n)
		w.step(placeXor)
	}
}

// less pushes the 64-bit number 1 if the lower of two numbers on the stack is less, else 0.
func (w *wideGen) less() {
	w.op(wasmfront.OpI64LtU)
	w.op(wasmfront.OpI64ExtendI32U)
}

// wideSum pushes a word of a sum or difference of 128 bits.
func (f *fgen) wideSum(t byte) {
	x, y, sum := f.wideLocal(), f.wideLocal(), f.newLocal('l')
	w := wideGen{fgen: f, x: x, y: y}
	place := []int{placeAdd, placeSub}[f.r.IntN(2)]
	f.operand('l')
	f.operand('l')
	f.op(f.binary('l', place))
	w.get(x)
	w.get(y)
	f.op(f.binary('l', place))
	f.opIndex(wasmfront.OpLocalSet, sum)
	switch {
	case f.chance(2) && place == placeAdd:
		w.get(sum)
		w.get(x)
		w.less()
	case f.chance(2):
		w.get(x)
		w.get(y)
		w.less()
	default:
		w.carryBit(place, sum)
	}
	f.op(f.binary('l', place))
	if t == 'i' {
		f.op(wasmfront.OpI32WrapI64)
	}
}

// carryBit pushes the carry of x + y or the borrow of x - y, as Go computes it.
func (w *wideGen) carryBit(place, sum int) {
	not := func() {
		w.konst('l', ^uint64(0))
		w.step(placeXor)
	}
	pair := func(place int) {
		w.get(w.x)
		w.get(w.y)
		w.step(place)
	}
	if place == placeAdd {
		pair(placeAnd)
		pair(placeOr)
		w.get(sum)
		not()
	} else {
		w.get(w.x)
		not()
		w.get(w.y)
		w.step(placeAnd)
		pair(placeXor)
		not()
		w.get(sum)
	}
	w.step(placeAnd)
	w.step(placeOr)
	w.konst('l', 63)
	w.step(placeShrU)
}
