package backend

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
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
