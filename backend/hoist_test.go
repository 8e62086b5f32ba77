package backend

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
)

// TestDominators compares dominators with what is not reachable without a block, on random graphs.
func TestDominators(t *testing.T) {
	rng := rand.New(rand.NewSource(11))
	var o BlockOrder
	var h hoister
	found := 0
	for range 3000 {
		n := 1 + rng.Intn(12)
		var rows []string
		for i := range n {
			var s []string
			for range rng.Intn(3) {
				s = append(s, fmt.Sprint(min(n-1, max(0, i+rng.Intn(5)-1))))
			}
			rows = append(rows, strings.Join(s, " "))
		}
		desc := strings.Join(rows, ";")
		o.Compute(graph(desc, false))
		if h.begin(nil, &o, 1); h.flat() {
			continue
		}
		found++
		nearest := make([]int, len(o.Blocks)) // that dominates; those do so in the order of their numbers
		for d := 1; d < len(o.Blocks); d++ {
			for b, ok := range without(&o, d) {
				if !ok && b != d {
					nearest[b] = d
				}
			}
		}
		for b, d := range nearest {
			if int(h.dom.Of(uint32(b))) != d {
				t.Fatalf("%s: block %d: dominated by %d, want %d", desc, b, h.dom.Of(uint32(b)), d)
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d graphs", found)
	}
}

// TestHoisterLoops compares the innermost loop of each block with natural loops, on random graphs: the blocks that reach a
// branch back to a header without passing the header.
func TestHoisterLoops(t *testing.T) {
	rng := rand.New(rand.NewSource(12))
	var o BlockOrder
	var h hoister
	nested := 0
	for range 3000 {
		n := 2 + rng.Intn(12)
		rows := []string{"1"}
		for i := 1; i < n; i++ {
			rows = append(rows, fmt.Sprint(min(n-1, i+1), " ", 1+rng.Intn(n-1)))
		}
		desc := strings.Join(append(rows[:n-1], ""), ";")
		f := graph(desc, len(desc)%2 == 0)
		o.Compute(f)
		if h.begin(nil, &o, 1); h.flat() {
			continue
		}
		want, reducible := naturalLoops(&o, &h)
		if !reducible {
			continue
		}
		h.findLoops(f, &o)
		for b, header := range want {
			got := -1
			if k := h.inLoop[b]; k >= 0 {
				got = int(h.loops[k].header)
				nested = max(nested, int(h.loops[k].depth))
			}
			if got != header && o.Blocks[b].Orig != clif.NoBlock {
				t.Fatalf("%s: block %d is in the loop of %d, want %d", desc, b, got, header)
			}
		}
	}
	if nested < 3 {
		t.Errorf("loops are nested only %d deep", nested)
	}
}

// naturalLoops returns the header of the innermost loop of each block, or -1. It gives up if a branch back leads to a block that
// does not dominate.
func naturalLoops(o *BlockOrder, h *hoister) (header []int, reducible bool) {
	header = make([]int, len(o.Blocks))
	for b := range header {
		header[b] = -1
	}
	for head := range o.Blocks { // from outer to inner
		for b := head; b < len(o.Blocks); b++ {
			for _, s := range o.SuccsOf(b) {
				switch {
				case int(s.To) != head:
				case int(h.dom.Common(uint32(b), uint32(head))) != head:
					return nil, false
				default:
					for k, reaches := range reaching(o, b, head) {
						if reaches {
							header[k] = head
						}
					}
				}
			}
		}
	}
	return header, true
}

// reaching reports which blocks reach block b without passing block end; b and end count as such.
func reaching(o *BlockOrder, b, end int) []bool {
	seen := make([]bool, len(o.Blocks))
	seen[b], seen[end] = true, true
	for again := true; again; {
		again = false
		for k := range seen {
			for _, s := range o.SuccsOf(k) {
				if seen[s.To] && int(s.To) != end && !seen[k] {
					seen[k], again = true, true
				}
			}
		}
	}
	return seen
}

// without reports which blocks can be reached without block d.
func without(o *BlockOrder, d int) []bool {
	seen := make([]bool, len(o.Blocks))
	seen[0] = true
	work := []int{0}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range o.SuccsOf(b) {
			if int(s.To) != d && !seen[s.To] {
				seen[s.To] = true
				work = append(work, int(s.To))
			}
		}
	}
	return seen
}

// TestDominatorsLinear: many ways from deep in a function to its end are given up, not followed.
func TestDominatorsLinear(t *testing.T) {
	const n = 20000
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf("%d %d", i+1, n))
	}
	rows = append(rows, "")
	var o BlockOrder
	o.Compute(graph(strings.Join(rows, ";"), false))
	var h hoister
	if h.begin(nil, &o, 1); !h.flat() {
		t.Error("not given up")
	}
}

// TestDeepLoops: in loops nested deeper than they are told apart nothing is hoisted.
func TestDeepLoops(t *testing.T) {
	for _, c := range []struct {
		depth int
		flat  bool
	}{{100, false}, {maxDepth, true}, {maxDepth + 5, true}} {
		var rows []string
		for i := range c.depth + 1 {
			rows = append(rows, fmt.Sprint(i+1)) // the entry, then headers
		}
		for i := range c.depth {
			rows = append(rows, fmt.Sprintf("%d %d", c.depth-i, c.depth+i+2))
		}
		rows = append(rows, "")
		var o BlockOrder
		o.Compute(graph(strings.Join(rows, ";"), false))
		var h hoister
		if h.begin(nil, &o, 1); h.flat() != c.flat || h.dom.Steps < 0 {
			t.Errorf("%d loops: flat is %v, budget %d", c.depth, h.flat(), h.dom.Steps)
		}
	}
}

// TestHomes: the home of a base is the nearest block that dominates all of its uses, on random graphs; finding it takes few steps, also in a
// long function.
func TestHomes(t *testing.T) {
	rng := rand.New(rand.NewSource(13))
	var o BlockOrder
	var h hoister
	moved := 0
	for range 3000 {
		n := 2 + rng.Intn(12)
		var rows []string
		for i := range n - 1 {
			rows = append(rows, fmt.Sprint(i+1, " ", min(n-1, max(0, i+rng.Intn(6)-1))))
		}
		desc := strings.Join(append(rows, ""), ";")
		o.Compute(graph(desc, false))
		if h.begin(nil, &o, 0); h.flat() {
			continue
		}
		want := -1
		for b := range o.Blocks {
			if rng.Intn(3) > 0 {
				continue
			}
			h.expect(0, b)
			if want < 0 {
				want = b
			} else if common := int(h.dom.Common(uint32(want), uint32(b))); common != want {
				want = common
				moved++
			}
			if got := int(h.bases[0].home); got != want {
				t.Fatalf("%s: block %d: home %d, want %d", desc, b, got, want)
			}
		}
	}
	if moved < 500 {
		t.Errorf("homes moved %d times", moved)
	}

	const long = 3000 // of diamonds, each behind the one before
	var rows []string
	for i := range long {
		rows = append(rows, fmt.Sprint(3*i+1, " ", 3*i+2), fmt.Sprint(3*i+3), fmt.Sprint(3*i+3))
	}
	o.Compute(graph(strings.Join(append(rows, ""), ";"), false))
	h.begin(nil, &o, 0)
	before := h.dom.Steps
	for b := range o.Blocks {
		h.expect(0, b)
	}
	if took := before - h.dom.Steps; took > 4*len(o.Blocks) || h.flat() {
		t.Errorf("%d steps for %d blocks, flat %v", took, len(o.Blocks), h.flat())
	}
}
