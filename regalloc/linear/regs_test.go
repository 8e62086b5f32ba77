package linear

import (
	"math/rand"
	"testing"

	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// TestRegQueue gives one register to random parts, takes it away again, and compares what is known of it with a table that has the part at
// each position.
func TestRegQueue(t *testing.T) {
	const size = 4000
	rnd := rand.New(rand.NewSource(1))
	for range 20 {
		var owner [size]uint32 // part plus 1, or 0
		w := &walker{reserved: new(flow.Reservations)}
		w.Values, w.Ranges, w.refAt = make([]flow.Value, 1), make([]flow.Range, 1), flow.Inf
		w.losing = &w.reserved.RegSets[0]
		const r = regalloc.PReg(3)
		q := &w.regs[r]
		for w.pos < size {
			p := randomPart(w, rnd, size)
			want := flow.Inf
			eachPosition(w, p, func(pos uint32) {
				if owner[pos] != 0 {
					want = min(want, pos)
				}
			})
			if owner[w.pos] != 0 {
				want = 0
			}
			if got := w.until(r, &w.parts[p]); got != want {
				t.Fatalf("at %d: free until %d, want %d", w.pos, got, want)
			}
			switch {
			case want == flow.Inf:
				w.occupy(q, p)
				eachPosition(w, p, func(pos uint32) { owner[pos] = p + 1 })
			case want == 0 && rnd.Intn(8) == 0:
				x := owner[w.pos] - 1
				q.remove(x, w.parts[x].End)
				for pos := range owner {
					if owner[pos] == x+1 {
						owner[pos] = 0
					}
				}
			}
			w.pos += uint32(rnd.Intn(3))
		}
	}
}

// randomPart adds a part that begins at the walk's position and has some ranges, with holes between them. It may end within the last one.
func randomPart(w *walker, rnd *rand.Rand, size uint32) uint32 {
	pt := flow.Part{Start: w.pos, Sib: flow.None, Next: flow.None}
	last := uint32(0)
	for start, n := w.pos, 1+rnd.Intn(5); n > 0 && start < size; n-- {
		end := min(start+1+uint32(rnd.Intn(6)), size)
		w.Ranges = append(w.Ranges, flow.Range{Start: start, End: end})
		at := uint32(len(w.Ranges) - 1)
		if last == 0 {
			pt.Range = at
		} else {
			w.Ranges[last].Next = at
		}
		last, pt.End = at, end
		start = end + 1 + uint32(rnd.Intn(40))
	}
	if x := &w.Ranges[last]; x.End-x.Start > 1 {
		pt.End--
	}
	w.parts = append(w.parts, pt)
	return uint32(len(w.parts) - 1)
}

// eachPosition calls f for the positions at which p is live.
func eachPosition(w *walker, p uint32, f func(pos uint32)) {
	for r := w.parts[p].Range; r != 0; r = w.Ranges[r].Next {
		for pos := w.Ranges[r].Start; pos < min(w.Ranges[r].End, w.parts[p].End); pos++ {
			f(pos)
		}
	}
}
