package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes small functions that call themselves, which compilers inline in themselves, some levels deep. The first parameter says how
// deep, modulo 8.

// recursiveParams are that and a number.
const recursiveParams = "il"

// isRecursive reports whether s is the type of such a function.
func (s sig) isRecursive() bool { return s.params == recursiveParams && s.results == "l" }

// recursiveFunction returns the body of one: with one or two calls of itself, or one in a loop.
func (g *gen) recursiveFunction(i int) []byte {
	f := &fgen{gen: g, sig: g.funcs[i], smallAt: i, locals: []byte(g.funcs[i].params)}
	f.labels = []label{{types: f.sig.results}}
	f.busy = []bool{true, false}
	const depth, number = 0, 1
	f.opIndex(wasmfront.OpLocalGet, depth)
	f.konst('i', 7)
	f.op(wasmfront.OpI32And)
	f.opIndex(wasmfront.OpLocalTee, depth)
	f.op(wasmfront.OpI32Eqz)
	f.open(wasmfront.OpIf, "", "", "")
	f.budget = f.r.IntN(5)
	f.produce('l') // which may trap
	f.op(wasmfront.OpReturn)
	f.close()
	call := func() {
		f.opIndex(wasmfront.OpLocalGet, depth)
		f.konst('i', 1)
		f.op(wasmfront.OpI32Sub)
		f.budget = f.r.IntN(3)
		f.produce('l')
		f.opIndex(wasmfront.OpCall, i)
	}
	switch f.r.IntN(3) {
	case 0:
		call()
	case 1:
		call()
		f.opIndex(wasmfront.OpLocalSet, number)
		call()
	case 2:
		f.open(wasmfront.OpLoop, "", "", "")
		call()
		f.opIndex(wasmfront.OpLocalGet, number)
		f.op(f.binary('l', placeAdd, placeXor, placeMul))
		f.opIndex(wasmfront.OpLocalSet, number)
		f.opIndex(wasmfront.OpLocalGet, depth)
		f.konst('i', 1)
		f.op(wasmfront.OpI32Sub)
		f.opIndex(wasmfront.OpLocalTee, depth)
		f.opIndex(wasmfront.OpBrIf, 0)
		f.close()
		f.opIndex(wasmfront.OpLocalGet, number)
	}
	f.opIndex(wasmfront.OpLocalGet, number)
	f.op(f.binary('l', placeAdd, placeSub, placeXor))
	f.op(wasmfront.OpEnd)
	return append(f.localTypes(), f.b...)
}
