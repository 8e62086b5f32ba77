// Package analysis computes facts about the control flow of a clif.Func:
// edges, dominators and loops. The results are plain tables, valid until the function changes.
//
// Place in the pipeline: used by the verifier, the inliner, the mid-end and the back end.
//
// Input: a clif.Func whose blocks end in terminators.
// Output: CFG, DomTree, Idoms and Loops, reusable from function to function.
package analysis

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// Edge is one branch target of a block.
type Edge struct {
	From   clif.Block
	Target clif.Target
}

// CFG lists the edges of a function in both directions and its blocks in
// reverse postorder. A target that a br_table names more than once is one edge.
type CFG struct {
	stop    *stop.Flag        // of the function
	targets []clif.TargetData // of the function
	succEnd []uint32          // by block: end of its part of succs
	succs   []clif.Target
	predEnd []uint32
	preds   []Edge
	order   []clif.Block // reachable blocks, reverse postorder
	number  []uint32     // by block: position in order, or none
	// The spanning tree of the depth-first search, for DomTree.
	preorder  []clif.Block
	preNumber []uint32 // by block: position in preorder, if it is reachable
	preParent []uint32 // by position in preorder: that of the parent
	stack     []visit
	seen      []bool // by target, scratch
}

// visit is a block whose successors succs[start:end] have not been followed yet.
type visit struct {
	block      clif.Block
	start, end uint32
}

// Unreached is the number of a block that is not reachable.
const Unreached = ^uint32(0)

// Compute fills c for f.
func (c *CFG) Compute(f *clif.Func) {
	n := len(f.Blocks)
	c.stop, c.targets = f.Stop, f.Targets
	c.succEnd, c.predEnd, c.number = stop.Zeroed(f.Stop, c.succEnd, n), stop.Zeroed(f.Stop, c.predEnd, n), stop.Zeroed(f.Stop, c.number, n)
	c.succs, c.order = stop.Grow(f.Stop, c.succs[:0], len(f.Targets)), stop.Grow(f.Stop, c.order[:0], n)
	c.seen = stop.Zeroed(f.Stop, c.seen, len(f.Targets))
	for i := range c.number {
		c.number[i] = Unreached
	}
	for blk := range f.Blocks {
		f.Stop.Poll()
		if t := f.Terminator(clif.Block(blk)); t != clif.NoInst {
			start := len(c.succs)
			for _, t := range f.TargetsOf(&f.Insts[t]) {
				c.succs = append(c.succs, clif.Target(t))
			}
			if f.Insts[t].Op == clif.OpBrTable {
				c.dedup(start)
			}
		}
		c.succEnd[blk] = uint32(len(c.succs))
	}
	c.postorder(f)
	c.fillPreds(f)
}

// dedup removes repeated targets from succs[start:], keeping the first.
func (c *CFG) dedup(start int) {
	out := c.succs[:start]
	for _, t := range c.succs[start:] {
		if !c.seen[t] {
			c.seen[t] = true
			out = append(out, t)
		}
	}
	for _, t := range out[start:] {
		c.seen[t] = false
	}
	c.succs = out
}

func (c *CFG) postorder(f *clif.Func) {
	const open = Unreached - 1
	c.preNumber = stop.Zeroed(f.Stop, c.preNumber, len(f.Blocks))
	c.preorder, c.preParent = stop.Grow(f.Stop, c.preorder[:0], len(f.Blocks)), stop.Grow(f.Stop, c.preParent[:0], len(f.Blocks))
	c.preorder, c.preParent = append(c.preorder, f.Entry()), append(c.preParent, 0)
	c.stack = append(c.stack[:0], c.visit(f.Entry()))
	c.number[f.Entry()] = open
	for len(c.stack) > 0 {
		f.Stop.Poll()
		top := &c.stack[len(c.stack)-1]
		to := c.follow(f, top)
		if to == clif.NoBlock {
			c.order = append(c.order, top.block)
			c.stack = c.stack[:len(c.stack)-1]
			continue
		}
		c.number[to] = open
		c.preNumber[to] = uint32(len(c.preorder))
		c.preorder, c.preParent = append(c.preorder, to), append(c.preParent, c.preNumber[top.block])
		c.stack = append(stop.Room(f.Stop, c.stack), c.visit(to))
	}
	for i, j := 0, len(c.order)-1; i < j; i, j = i+1, j-1 {
		c.order[i], c.order[j] = c.order[j], c.order[i]
	}
	for i, b := range c.order {
		c.number[b] = uint32(i)
	}
}

func (c *CFG) visit(b clif.Block) visit { return visit{b, start(c.succEnd, b), c.succEnd[b]} }

// follow takes the next successor that the search has not reached: the last first, so that the first comes first in reverse postorder. It
// returns NoBlock if there is none.
func (c *CFG) follow(f *clif.Func, v *visit) clif.Block {
	for v.end > v.start {
		v.end--
		if to := f.Targets[c.succs[v.end]].Block; c.number[to] == Unreached {
			return to
		}
	}
	return clif.NoBlock
}

func (c *CFG) fillPreds(f *clif.Func) {
	for _, b := range c.order {
		f.Stop.Poll()
		for _, t := range c.Succs(b) {
			c.predEnd[f.Targets[t].Block]++
		}
	}
	sum := uint32(0)
	for i := range c.predEnd {
		sum, c.predEnd[i] = sum+c.predEnd[i], sum
	}
	c.preds = stop.Zeroed(f.Stop, c.preds, int(sum))
	for _, b := range c.order {
		f.Stop.Poll()
		for _, t := range c.Succs(b) {
			to := f.Targets[t].Block
			c.preds[c.predEnd[to]] = Edge{b, t}
			c.predEnd[to]++
		}
	}
}

func start(end []uint32, b clif.Block) uint32 {
	if b == 0 {
		return 0
	}
	return end[b-1]
}

// Succs are the distinct targets of b, in order.
func (c *CFG) Succs(b clif.Block) []clif.Target { return c.succs[start(c.succEnd, b):c.succEnd[b]] }

// Preds are the edges into b from reachable blocks, in reverse postorder of their sources.
func (c *CFG) Preds(b clif.Block) []Edge { return c.preds[start(c.predEnd, b):c.predEnd[b]] }

// Order returns the reachable blocks in reverse postorder.
func (c *CFG) Order() []clif.Block { return c.order }

// Number returns the position of b in Order, or Unreached.
func (c *CFG) Number(b clif.Block) uint32 { return c.number[b] }

// Reachable reports whether b can be reached from the entry.
func (c *CFG) Reachable(b clif.Block) bool { return c.number[b] != Unreached }
