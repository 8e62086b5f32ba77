package gen

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/regalloc"
)

// Distribution counts properties of functions.
type Distribution struct {
	sizes                               []int
	loops, calls, spills, safes, params int
	blocks, splits, remats              int
}

// Add counts one function and its allocation.
func (d *Distribution) Add(in *regalloc.Input, out *regalloc.Output) {
	d.sizes = append(d.sizes, len(in.Insts))
	d.blocks += len(in.Blocks)
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	loops, calls, safes, params := false, false, false, false
	for b := range in.Blocks {
		loops = loops || in.Blocks[b].LoopDepth > 0
		params = params || in.Blocks[b].Params.Len() > 0
	}
	for i := range in.Insts {
		calls = calls || in.ClobbersOf(regalloc.Inst(i)).Len() > 4
		safes = safes || in.Insts[i].Flags&regalloc.Safepoint != 0
	}
	count(&d.loops, loops)
	count(&d.calls, calls)
	count(&d.safes, safes)
	count(&d.params, params)
	count(&d.spills, out.Stats.Spills > 0)
	count(&d.splits, out.Stats.Splits > 0)
	count(&d.remats, out.Stats.Remats > 0)
}

// Median is the median number of instructions.
func (d *Distribution) Median() int {
	if len(d.sizes) == 0 {
		return 0
	}
	slices.Sort(d.sizes)
	return d.sizes[len(d.sizes)/2]
}

// Least is the smallest of the shares, in per cent, of functions with loops,
// calls, spills and safepoints.
func (d *Distribution) Least() int {
	return 100 * min(d.loops, d.calls, d.spills, d.safes) / max(len(d.sizes), 1)
}

// String is a line for the log.
func (d *Distribution) String() string {
	n := max(len(d.sizes), 1)
	pc := func(x int) int { return 100 * x / n }
	return fmt.Sprintf("%d functions, median %d instructions, mean %d blocks; with loops %d%%, calls %d%%, spills %d%%, "+
		"safepoints %d%%, block parameters %d%%, splits %d%%, remats %d%%",
		len(d.sizes), d.Median(), d.blocks/n, pc(d.loops), pc(d.calls), pc(d.spills), pc(d.safes), pc(d.params), pc(d.splits), pc(d.remats))
}
