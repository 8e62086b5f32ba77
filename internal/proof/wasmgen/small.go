package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes small functions that call each other, which compilers inline: an expression each. They need no fuel, since they call only
// those before them, and that not often.

// declareSmall declares small functions behind the others.
func (g *gen) declareSmall() {
	g.firstSmall = len(g.funcs)
	if !g.cfg.Small {
		return
	}
	for range g.r.IntN(3) {
		g.funcs = append(g.funcs, sig{resumableParams, "l"})
	}
	for range g.r.IntN(2) {
		g.funcs = append(g.funcs, sig{recursiveParams, "l"})
	}
	for range g.r.IntN(5) {
		results := g.tailResults(g.typeList(1+g.r.IntN(5)/4, "iillfd"))
		g.funcs = append(g.funcs, sig{g.typeList(g.r.IntN(4), "iillfd"), results})
	}
}

// smallFunction returns the body of small function i.
func (g *gen) smallFunction(i int) []byte {
	s := g.funcs[i]
	switch {
	case s.isResumable():
		return g.resumableFunction(i)
	case s.isRecursive():
		return g.recursiveFunction(i)
	}
	f := &fgen{gen: g, sig: s, smallAt: i, budget: 1 + g.r.IntN(6), locals: []byte(s.params)}
	f.busy = make([]bool, len(f.locals))
	f.labels = []label{{types: s.results}}
	for n := range f.busy {
		f.busy[n] = f.chance(2)
	}
	f.smallThrow()
	if !f.tailCall() {
		f.produceAll(s.results)
	}
	f.op(wasmfront.OpEnd)
	return append(f.localTypes(), f.b...)
}

// callable returns the functions that have a result of type t and that the function may call, the small ones often without the others.
func (f *fgen) callable(t byte) (with []int) {
	first, end := 0, len(f.funcs)
	if f.smallAt > 0 {
		first, end = f.firstSmall, f.smallAt
	} else if f.cfg.Small && f.chance(2) {
		first = f.firstSmall
	}
	for i := range f.funcs[:end] {
		if (i >= first || i < f.imported) && f.funcs[i].returns(t) {
			with = append(with, i)
		}
	}
	return with
}
