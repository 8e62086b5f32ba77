package ssa

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// order is the blocks in reverse postorder: each comes behind its dominators, and an edge leads backward only if it closes a
// cycle. Of two successors, the one that comes first in the layout comes first here.
type order struct {
	blocks []uint32
	number []uint32 // by block: its index in blocks
	stack  []visit
}

// visit is a block on the way of the search, and how many of its successors are still to be visited.
type visit struct{ block, left uint32 }

// unvisited is the number of a block that the search has not reached.
const unvisited = ^uint32(0)

func (o *order) find(in *regalloc.Input) {
	n := len(in.Blocks)
	o.blocks = stop.Resize(in.Stop, o.blocks, n)
	o.number = stop.Resize(in.Stop, o.number, n)
	for b := range o.number {
		in.Stop.PollAt(b)
		o.number[b] = unvisited
	}
	o.stack = append(o.stack[:0], visit{0, uint32(in.Blocks[0].Succs.Len())})
	o.number[0] = 0
	for at := n; len(o.stack) > 0; {
		in.Stop.Poll()
		top := &o.stack[len(o.stack)-1]
		if top.left == 0 {
			at--
			o.blocks[at] = top.block
			o.number[top.block] = uint32(at)
			o.stack = o.stack[:len(o.stack)-1]
			continue
		}
		// The last in the layout is visited first, and so comes last.
		top.left--
		succs := in.SuccsOf(regalloc.Block(top.block))
		if to := succs[top.left].To; o.number[to] == unvisited {
			o.number[to] = 0
			o.stack = append(o.stack, visit{uint32(to), uint32(in.Blocks[to].Succs.Len())})
		}
	}
}
