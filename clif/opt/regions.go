package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// This file keeps facts where paths meet: contents of memory that are known at the end of a block's immediate dominator are also known at the start of the
// block, if nothing on the paths between them writes there. These paths are the region of the block; the region of a loop's header is the
// whole loop.

// regions is the state of the walks through regions.
type regions struct {
	writes []clif.StateSet // by block: what it may write, as it was before the pass
	seen   []uint32        // by block: the number of the walk that has been there
	walk   uint32
	work   []clif.Block
	steps  int // how many edges the walks may still follow
}

// regionSteps is how many edges per block the walks may follow, regionWalk how many one of them may.
const regionSteps, regionWalk = 8, 512

func (r *regions) reset(f *clif.Func) {
	r.writes, r.seen = stop.Zeroed(f.Stop, r.writes, len(f.Blocks)), stop.Zeroed(f.Stop, r.seen, len(f.Blocks))
	r.walk, r.steps = 0, regionSteps*len(f.Blocks)+regionWalk
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			if d := &f.Insts[i]; d.Op.Has(effect.Writes) {
				r.writes[b] |= f.Mod.WrittenBy(d)
			}
		}
	}
}

// between returns what the ways from the end of the immediate dominator of b to b may write: all if they are too many, and it ends as soon as
// it has all of need.
func (c *folder) between(b clif.Block, need clif.StateSet) (writes clif.StateSet) {
	r := &c.regions
	from := c.o.dom.Idom(b)
	r.walk++
	r.work = append(r.work[:0], b)
	for left := regionWalk; len(r.work) > 0; {
		at := r.work[len(r.work)-1]
		r.work = r.work[:len(r.work)-1]
		for _, e := range c.o.cfg.Preds(at) {
			if left, r.steps = left-1, r.steps-1; left < 0 || r.steps < 0 {
				return ^clif.StateSet(0)
			}
			c.f.Stop.Poll()
			if e.From == from || r.seen[e.From] == r.walk {
				continue
			}
			r.seen[e.From] = r.walk
			if writes |= r.writes[e.From]; writes&need == need {
				return writes
			}
			r.work = append(r.work, e.From)
		}
	}
	return writes
}

// meet keeps of the facts at the end of the immediate dominator of b, where paths meet, those that hold at the start of b.
func (c *folder) meet(b clif.Block) {
	var need clif.StateSet
	for i := range c.mem.facts {
		need |= c.mem.facts[i].state
	}
	if need == 0 {
		return
	}
	if writes := c.between(b, need); writes != 0 {
		c.mem.keep(func(f *fact) bool { return f.state&writes == 0 })
	}
}
