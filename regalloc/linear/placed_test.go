package linear

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// TestPlacedAt: of a value that is split at random, the place at any position is that of the last part that begins there or before, whatever was
// asked before; unless there is no effort left.
func TestPlacedAt(t *testing.T) {
	const size, v = 2000, 1
	rnd := rand.New(rand.NewPCG(1, 1))
	w := &walker{effort: 1 << 30}
	w.In, w.Values = new(regalloc.Input), make([]flow.Value, v+1)
	w.Uses = slices.Grow(w.Uses, 1)[:1]
	w.Uses[0].Pos = flow.Inf
	w.Ranges = []flow.Range{{Start: flow.Inf, End: flow.Inf}, {Start: 0, End: size}}
	w.parts = make([]flow.Part, v+1)
	w.parts[v] = flow.Part{End: size, Range: 1, Value: v, Sib: flow.None}
	var want [size]regalloc.Allocation
	for range 500 {
		pos := 1 + rnd.Uint32N(size-1)
		p := slices.IndexFunc(w.parts[v:], func(x flow.Part) bool { return x.Start < pos && pos < x.End })
		if p < 0 {
			continue // a part begins there
		}
		c := w.split(uint32(v+p), pos)
		w.parts[c].Loc = regalloc.InReg(regalloc.IntReg(rnd.IntN(32)))
		for at := w.parts[c].Start; at < w.parts[c].End; at++ {
			want[at] = w.parts[c].Loc
		}
		for range 8 {
			if at := rnd.Uint32N(size); w.placedAt(v, at) != want[at] {
				t.Fatalf("at %d: in %v, want %v", at, w.placedAt(v, at), want[at])
			}
		}
	}
	for at := range uint32(size) {
		if w.effort = rnd.IntN(300); w.effort < 200 {
			if got := w.placedAt(v, rnd.Uint32N(size)); w.effort < 0 && got != regalloc.NoAllocation {
				t.Fatalf("at %d, without effort: in %v", at, got)
			}
		}
	}
}
