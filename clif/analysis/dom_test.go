package analysis

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// randomFunc has blocks with the given numbers of random successors.
func randomFunc(r *rand.Rand, n int) *clif.Func {
	f := &clif.Func{Mod: &clif.Module{Sigs: []clif.Signature{{}}}}
	b := &clif.Builder{F: f}
	for range n {
		b.NewBlock()
	}
	for i := range n {
		b.SwitchTo(clif.Block(i))
		var targets []clif.Target
		for range r.IntN(4) {
			to := r.IntN(n)
			if r.IntN(2) == 0 {
				to = min(i+1+r.IntN(2), n-1)
			}
			if to > 0 {
				targets = append(targets, b.Target(clif.Block(to), nil))
			}
		}
		if len(targets) == 0 {
			b.Trap(abi.TrapUnreachable)
			continue
		}
		b.BrTable(b.Iconst(clif.I32, 0), targets)
	}
	return f
}

// reach is what can be reached from the entry without passing through cut.
func reach(f *clif.Func, cut clif.Block) []bool {
	seen := make([]bool, len(f.Blocks))
	work := []clif.Block{f.Entry()}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == cut || seen[b] {
			continue
		}
		seen[b] = true
		for _, t := range f.TargetsOf(&f.Insts[f.Terminator(b)]) {
			work = append(work, f.Targets[t].Block)
		}
	}
	return seen
}

// TestDominators compares with the definition: a dominates b if there is no
// way to b around a. Half of the graphs take the general computation in any case.
func TestDominators(t *testing.T) {
	var c CFG
	var d DomTree
	exact := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := randomFunc(r, 1+r.IntN(25))
		c.Compute(f)
		if d.Compute(&c); seed%2 == 0 {
			d.general(&c)
			d.number(len(c.order))
		}
		if d.fast.Exact() {
			exact++
		}
		all := reach(f, clif.NoBlock)
		for a := range clif.Block(len(f.Blocks)) {
			if !all[a] {
				continue
			}
			without := reach(f, a)
			for b := range clif.Block(len(f.Blocks)) {
				if !all[b] {
					continue
				}
				if want := !without[b]; d.Dominates(a, b) != want {
					t.Fatalf("seed %d: %v dominates %v: %v, want %v\n%v", seed, a, b, !want, want, f)
				}
			}
			if i := d.Idom(a); i != clif.NoBlock && (i == a || !d.Dominates(i, a)) {
				t.Fatalf("seed %d: idom of %v is %v", seed, a, i)
			}
		}
	}
	if exact < 100 || exact > 550 {
		t.Errorf("%d of 600 graphs are reducible", exact)
	}
}
