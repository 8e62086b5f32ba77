package analysis_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/abi"
)

// random makes a function of n blocks with random branches.
func random(r *rand.Rand, n int) *clif.Func {
	m := &clif.Module{Sigs: []clif.Signature{{Params: []clif.Type{clif.I32}}}, Funcs: make([]clif.FuncDecl, 1)}
	f := &clif.Func{Mod: m}
	b := clif.Builder{F: f}
	for range n {
		b.NewBlock()
	}
	v := b.AddParam(0, clif.I32)
	target := func() clif.Target { return b.Target(clif.Block(1+r.IntN(n-1)), nil) }
	for i := range n {
		b.SwitchTo(clif.Block(i))
		switch k := r.IntN(10); {
		case k < 1:
			b.Return(nil)
		case k < 2:
			b.Trap(abi.TrapUnreachable)
		case k < 5:
			b.Jump(target())
		case k < 9:
			b.Branch(v, target(), target())
		default:
			t := target()
			b.BrTable(v, []clif.Target{t, target(), t, target()})
		}
	}
	return f
}

// reach is the blocks that are reachable from the entry without passing skip.
func reach(f *clif.Func, skip clif.Block) []bool {
	seen := make([]bool, len(f.Blocks))
	work := []clif.Block{f.Entry()}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == skip || seen[b] {
			continue
		}
		seen[b] = true
		for _, t := range f.TargetsOf(&f.Insts[f.Terminator(b)]) {
			work = append(work, f.Targets[t].Block)
		}
	}
	return seen
}

// TestRandom compares dominators and loops with their definitions.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var cfg analysis.CFG
	var dom analysis.DomTree
	var loops analysis.Loops
	found := 0
	for range 2000 {
		f := random(r, 2+r.IntN(14))
		cfg.Compute(f)
		dom.Compute(&cfg)
		checkCFG(t, f, &cfg)
		reached := reach(f, clif.NoBlock)
		// dominates[a][b]: without a, b is not reached.
		dominates := make([][]bool, len(f.Blocks))
		for a := range f.Blocks {
			without := reach(f, clif.Block(a))
			dominates[a] = make([]bool, len(f.Blocks))
			for b := range f.Blocks {
				dominates[a][b] = reached[a] && reached[b] && !without[b]
				if reached[a] && reached[b] && dom.Dominates(clif.Block(a), clif.Block(b)) != dominates[a][b] {
					t.Fatalf("%v dominates %v: want %v\n%v", clif.Block(a), clif.Block(b), dominates[a][b], f)
				}
			}
		}
		for b := range f.Blocks {
			if reached[b] {
				checkIdom(t, f, &dom, dominates, clif.Block(b))
			}
		}
		if loops.Compute(f, &cfg); reducible(f, &cfg, dominates) {
			found++
			checkLoops(t, f, &cfg, &loops, dominates)
		}
		if t.Failed() {
			t.Fatal(f)
		}
	}
	if found < 500 {
		t.Errorf("%d reducible graphs", found)
	}
}

// reducible reports whether each cycle has a block that dominates the others: without edges to blocks that dominate
// their source there is none.
func reducible(f *clif.Func, c *analysis.CFG, dominates [][]bool) bool {
	state := make([]int, len(f.Blocks)) // 1: on the path, 2: done
	var visit func(b clif.Block) bool
	visit = func(b clif.Block) bool {
		state[b] = 1
		for _, t := range c.Succs(b) {
			to := f.Targets[t].Block
			if dominates[to][b] {
				continue
			}
			if state[to] == 1 || state[to] == 0 && !visit(to) {
				return false
			}
		}
		state[b] = 2
		return true
	}
	return visit(f.Entry())
}

func checkCFG(t *testing.T, f *clif.Func, c *analysis.CFG) {
	reached := reach(f, clif.NoBlock)
	count := 0
	for b := range f.Blocks {
		if reached[b] {
			count++
		}
		if (c.Number(clif.Block(b)) != analysis.Unreached) != reached[b] {
			t.Errorf("block%d: reached %v", b, reached[b])
		}
	}
	if len(c.Order()) != count || c.Order()[0] != f.Entry() {
		t.Errorf("order %v", c.Order())
	}
	edges := 0
	for _, b := range c.Order() {
		for _, tg := range c.Succs(b) {
			edges++
			to := f.Targets[tg].Block
			if !slices.Contains(c.Preds(to), analysis.Edge{From: b, Target: tg}) {
				t.Errorf("edge %v to %v is missing in the predecessors", b, to)
			}
		}
	}
	for _, b := range c.Order() {
		edges -= len(c.Preds(b))
	}
	if edges != 0 {
		t.Error("numbers of edges differ")
	}
}

// checkIdom: the immediate dominator is the strict dominator that all others
// dominate, and the tree lists each child once.
func checkIdom(t *testing.T, f *clif.Func, dom *analysis.DomTree, dominates [][]bool, b clif.Block) {
	idom := dom.Idom(b)
	if b == f.Entry() {
		if idom != clif.NoBlock {
			t.Error("the entry has a dominator")
		}
		return
	}
	for a := range f.Blocks {
		if clif.Block(a) != b && dominates[a][b] && !dominates[a][idom] {
			t.Errorf("idom of %v is %v, but block%d dominates it too", b, idom, a)
		}
	}
	n := 0
	for c := dom.FirstChild(idom); c != clif.NoBlock; c = dom.NextSibling(c) {
		if c == b {
			n++
		}
	}
	if n != 1 || !dominates[idom][b] || idom == b {
		t.Errorf("%v is %d times a child of %v", b, n, idom)
	}
}

// checkLoops: a block is in the loops of the headers that it reaches the back
// edges of without passing the header.
func checkLoops(t *testing.T, f *clif.Func, c *analysis.CFG, loops *analysis.Loops, dominates [][]bool) {
	depth := make([]int, len(f.Blocks))
	headers := make([][]clif.Block, len(f.Blocks))
	n := 0
	for _, h := range c.Order() {
		in := make([]bool, len(f.Blocks))
		var work []clif.Block
		for _, e := range c.Preds(h) {
			if dominates[h][e.From] {
				work = append(work, e.From)
			}
		}
		if len(work) == 0 {
			continue
		}
		n++
		in[h] = true
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if in[b] {
				continue
			}
			in[b] = true
			for _, e := range c.Preds(b) {
				work = append(work, e.From)
			}
		}
		for b := range in {
			if in[b] {
				depth[b]++
				headers[b] = append(headers[b], h)
			}
		}
	}
	for _, b := range c.Order() {
		if loops.IsHeader(b) {
			n--
		}
		for in := loops.Innermost(b); in != clif.NoBlock; in = loops.Around(in) {
			if depth[b]--; !slices.Contains(headers[b], in) || !loops.IsHeader(in) {
				t.Errorf("%v is not in the loop of %v", b, in)
			}
		}
		if depth[b] != 0 {
			t.Errorf("%v is in %d loops more", b, depth[b])
		}
	}
	if n != 0 {
		t.Errorf("%d headers are missing", n)
	}
}

func BenchmarkAnalysis(b *testing.B) {
	f := random(rand.New(rand.NewPCG(1, 2)), 1000)
	var cfg analysis.CFG
	var dom analysis.DomTree
	var loops analysis.Loops
	for b.Loop() {
		cfg.Compute(f)
		dom.Compute(&cfg)
		loops.Compute(f, &cfg)
	}
}
