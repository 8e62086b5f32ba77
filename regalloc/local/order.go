package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// orderBlocks puts blocks in an order in which each comes behind its only predecessor, if it has only one: that of the code if that will do.
func (fn *function) orderBlocks() {
	in := fn.in
	n := len(in.Blocks)
	fn.order, fn.tree = stop.Resize(in.Stop, fn.order, n), stop.Resize(in.Stop, fn.tree, n)
	for b := range uint32(n) {
		in.Stop.PollAt(int(b))
		fn.order[b], fn.tree[b] = b, b
		if p := fn.parent(b); p != none {
			fn.tree[b] = fn.tree[p]
			fn.unordered = fn.unordered || p > b
		}
	}
	if fn.unordered {
		fn.growTrees()
	}
}

// parent returns the only predecessor of b, or none: b is a root then.
func (fn *function) parent(b uint32) uint32 {
	if r := fn.in.Blocks[b].Preds; r.Len() == 1 {
		return uint32(fn.in.BlockLists[r.Start])
	}
	return none
}

// growTrees orders blocks tree by tree, each from its root on.
func (fn *function) growTrees() {
	in := fn.in
	order := fn.order[:0]
	for root := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		if fn.parent(root) != none {
			continue
		}
		order = append(order, root)
		for k := len(order) - 1; k < len(order); k++ {
			in.Stop.Poll()
			fn.tree[order[k]] = root
			for _, e := range in.SuccsOf(regalloc.Block(order[k])) {
				if fn.parent(uint32(e.To)) != none {
					order = append(order, uint32(e.To))
				}
			}
		}
	}
	fn.order = order
}
