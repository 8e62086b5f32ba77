package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes tail calls. What bounds recursion bounds chains of them, too: all functions but the small ones burn fuel at their entry, and the small ones call
// only those before them.

// tailResults returns the results of a function to be declared, in place of those given, so that many functions have the results of another.
func (g *gen) tailResults(results string) string {
	if !g.cfg.Tails || g.r.IntN(3) == 0 {
		return results
	}
	return g.funcs[g.r.IntN(len(g.funcs))].results
}

// tailCallee chooses a function that the function can end in; ok is false if there is none.
func (f *fgen) tailCallee() (i int, ok bool) {
	first, end := 0, len(f.funcs)
	if f.smallAt > 0 {
		first, end = f.firstSmall, f.smallAt
	}
	var with []int
	for k := first; k < end; k++ {
		if f.funcs[k].results == f.sig.results {
			with = append(with, k)
		}
	}
	if len(with) == 0 {
		return 0, false
	}
	return with[f.r.IntN(len(with))], true
}

// tailCall ends the function with a tail call, directly, through a table or by reference, and reports whether it has. What follows cannot be reached.
func (f *fgen) tailCall() bool {
	if !f.cfg.Tails {
		return false
	}
	i, ok := f.tailCallee()
	if !ok || f.chance(4) {
		return false
	}
	s := f.funcs[i]
	f.produceAll(s.params)
	switch n := f.r.IntN(6); {
	case f.smallAt > 0 || n < 3:
		f.opIndex(wasmfront.OpReturnCall, i)
	case n == 3 && f.typed >= 0:
		f.typedRef(i, f.nullable())
		f.opIndex(wasmfront.OpReturnCallRef, f.funcType(i))
	default:
		f.opIndex(wasmfront.OpReturnCallIndirect, f.funcType(i), f.tableWith(i))
	}
	return true
}
