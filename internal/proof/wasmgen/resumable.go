package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes small functions that can begin in the middle, as Go's compiler makes all: a loop around a table, whose first parameter says where.
// They go from state to state by constants, and count, so that they need no fuel; they call those before them. Callers put them into loops, where
// compilers inline them.

// resumableParams are the state, and two numbers.
const resumableParams = "ill"

// isResumable reports whether s is the type of such a function.
func (s sig) isResumable() bool { return s.params == resumableParams && s.results == "l" }

// resumableFunction returns the body of one.
func (g *gen) resumableFunction(i int) []byte {
	f := &fgen{gen: g, sig: g.funcs[i], smallAt: i, locals: []byte(g.funcs[i].params)}
	f.busy = make([]bool, len(f.locals))
	f.labels = []label{{types: f.sig.results}}
	s := states{fgen: f, state: 0, left: f.newLocal('i'), n: 2 + g.r.IntN(4)}
	f.konst('i', uint64(1+g.r.IntN(9)))
	f.opIndex(wasmfront.OpLocalSet, s.left)
	f.open(wasmfront.OpLoop, "", "", "")
	for range s.n {
		f.open(wasmfront.OpBlock, "", "", "")
	}
	f.opIndex(wasmfront.OpLocalGet, s.state)
	f.opIndex(wasmfront.OpBrTable, s.n-1)
	for k := range s.n {
		f.b = append(f.b, leb(uint64(k))...)
	}
	for k := range s.n {
		f.close()
		s.work()
		s.leave(s.n - 1 - k)
	}
	f.close()
	f.op(wasmfront.OpUnreachable)
	f.op(wasmfront.OpEnd)
	return append(f.localTypes(), f.b...)
}

// states generates such a function. The locals are its parameters and what is left to do.
type states struct {
	*fgen
	state, left, n int
}

const (
	localX = 1 + iota
	localY
)

// work changes a number.
func (s *states) work() {
	if with := s.resumable(s.smallAt); len(with) > 0 && s.chance(3) {
		s.opIndex(wasmfront.OpLocalGet, s.left)
		s.opIndex(wasmfront.OpLocalGet, localX)
		s.opIndex(wasmfront.OpLocalGet, localY)
		s.opIndex(wasmfront.OpCall, with[s.r.IntN(len(with))])
		s.opIndex(wasmfront.OpLocalSet, localX)
	}
	for range s.r.IntN(3) {
		s.opIndex(wasmfront.OpLocalGet, localX+s.r.IntN(2))
		if s.chance(3) {
			s.konst('l', s.bits('l'))
		} else {
			s.opIndex(wasmfront.OpLocalGet, localX+s.r.IntN(2))
		}
		s.op(s.binary('l', placeAdd, placeSub, placeMul, placeXor, placeShrU))
		s.opIndex(wasmfront.OpLocalSet, localX+s.r.IntN(2))
	}
	if s.chance(4) {
		s.konst('i', uint64(s.r.IntN(300)))
		s.opIndex(wasmfront.OpLocalGet, localX)
		s.memory(wasmfront.OpI64Store)
		s.konst('i', uint64(s.r.IntN(300)))
		s.memory(wasmfront.OpI64Load)
		s.opIndex(wasmfront.OpLocalSet, localY)
	}
}

// leave ends a state: it returns, or goes on, mostly in another state, under depth blocks and the loop.
func (s *states) leave(depth int) {
	s.opIndex(wasmfront.OpLocalGet, s.left)
	s.konst('i', 1)
	s.op(wasmfront.OpI32Sub)
	s.opIndex(wasmfront.OpLocalTee, s.left)
	s.op(wasmfront.OpI32Eqz)
	s.open(wasmfront.OpIf, "", "", "")
	s.opIndex(wasmfront.OpLocalGet, localX+s.r.IntN(2))
	s.op(wasmfront.OpReturn)
	s.close()
	switch s.r.IntN(4) {
	case 0: // falls through to the next state, or out of the loop
		if depth > 0 {
			return
		}
	case 1:
		s.opIndex(wasmfront.OpLocalGet, localX)
		s.opIndex(wasmfront.OpLocalGet, localY)
		s.op([]wasmfront.Opcode{wasmfront.OpI64LtU, wasmfront.OpI64Ne, wasmfront.OpI64GtS}[s.r.IntN(3)])
		s.open(wasmfront.OpIf, "", "", "")
		s.enterState(s.state, s.n-1, 12)
		s.opIndex(wasmfront.OpBr, depth+1)
		s.close()
	}
	s.enterState(s.state, s.n-1, 12)
	s.opIndex(wasmfront.OpBr, depth)
}

// resumable returns such functions below end.
func (f *fgen) resumable(end int) (with []int) {
	for i := f.firstSmall; i < end; i++ {
		if f.funcs[i].isResumable() {
			with = append(with, i)
		}
	}
	return with
}

// resumedLoop calls such a function, if there is one, in a loop in a loop.
func (f *fgen) resumedLoop() {
	with := f.resumable(len(f.funcs))
	if len(with) == 0 || f.loops+2 > maxLoops {
		return
	}
	f.loops += 2
	var counters [2]int
	for n := range counters {
		counters[n] = f.newLocal('i')
		f.busy[counters[n]] = true
		f.konst('i', uint64(1+f.r.IntN(3)))
		f.opIndex(wasmfront.OpLocalSet, counters[n])
		f.open(wasmfront.OpLoop, "", "", "")
		f.labels[len(f.labels)-1].reserved = true
	}
	x := f.local('l')
	f.busy[x] = true
	f.statements(f.r.IntN(2))
	if f.chance(2) {
		f.konst('i', uint64(f.r.IntN(3)))
	} else {
		f.opIndex(wasmfront.OpLocalGet, counters[f.r.IntN(2)])
	}
	f.opIndex(wasmfront.OpLocalGet, x)
	f.produce('l')
	f.opIndex(wasmfront.OpCall, with[f.r.IntN(len(with))])
	f.busy[x] = f.chance(2)
	f.opIndex(wasmfront.OpLocalSet, x)
	for n := range counters {
		f.opIndex(wasmfront.OpLocalGet, counters[1-n])
		f.konst('i', 1)
		f.op(wasmfront.OpI32Sub)
		f.opIndex(wasmfront.OpLocalTee, counters[1-n])
		f.opIndex(wasmfront.OpBrIf, 0)
		f.close()
	}
	f.loops -= 2
}
