package analysis

import "github.com/waot-project/waot/clif"

// DomTree is the dominator tree of the reachable blocks, computed after Cooper,
// Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
type DomTree struct {
	cfg  *CFG
	idom []uint32 // by number in reverse postorder: number of the immediate dominator
	// Preorder interval of each subtree, for constant-time queries.
	pre, last []uint32
	child     []uint32 // first child, by number
	sibling   []uint32 // next sibling, by number
	stack     []uint32
}

// Compute fills d from c.
func (d *DomTree) Compute(c *CFG) {
	n := len(c.order)
	d.cfg = c
	d.idom = resize(d.idom, n)
	for i := range d.idom {
		d.idom[i] = Unreached
	}
	if n == 0 {
		return
	}
	d.idom[0] = 0
	for changed := true; changed; {
		changed = false
		for i := 1; i < n; i++ {
			best := Unreached
			for _, e := range c.Preds(c.order[i]) {
				p := c.number[e.From]
				if d.idom[p] == Unreached {
					continue
				}
				if best == Unreached {
					best = p
				} else {
					best = d.meet(best, p)
				}
			}
			if d.idom[i] != best {
				d.idom[i], changed = best, true
			}
		}
	}
	d.number(n)
}

func (d *DomTree) meet(a, b uint32) uint32 {
	for a != b {
		for a > b {
			a = d.idom[a]
		}
		for b > a {
			b = d.idom[b]
		}
	}
	return a
}

// number numbers the tree in preorder.
func (d *DomTree) number(n int) {
	d.pre, d.last = resize(d.pre, n), resize(d.last, n)
	d.child, d.sibling = resize(d.child, n), resize(d.sibling, n)
	for i := range d.child {
		d.child[i], d.sibling[i] = Unreached, Unreached
	}
	for i := n - 1; i > 0; i-- {
		p := d.idom[i]
		d.sibling[i], d.child[p] = d.child[p], uint32(i)
	}
	next := uint32(0)
	d.stack = append(d.stack[:0], 0)
	for len(d.stack) > 0 {
		i := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		d.pre[i] = next
		next++
		for c := d.child[i]; c != Unreached; c = d.sibling[c] {
			d.stack = append(d.stack, c)
		}
	}
	for i := range d.last {
		d.last[i] = d.pre[i]
	}
	for i := n - 1; i > 0; i-- {
		p := d.idom[i]
		d.last[p] = max(d.last[p], d.last[i])
	}
}

// Dominates reports whether a dominates b; both must be reachable. A block
// dominates itself.
func (d *DomTree) Dominates(a, b clif.Block) bool {
	x, y := d.cfg.number[a], d.cfg.number[b]
	return d.pre[x] <= d.pre[y] && d.pre[y] <= d.last[x]
}

// Idom is the immediate dominator of b, or NoBlock for the entry.
func (d *DomTree) Idom(b clif.Block) clif.Block {
	n := d.cfg.number[b]
	if n == 0 {
		return clif.NoBlock
	}
	return d.cfg.order[d.idom[n]]
}

// FirstChild and NextSibling walk the tree; NoBlock ends a list.
func (d *DomTree) FirstChild(b clif.Block) clif.Block { return d.block(d.child[d.cfg.number[b]]) }

// NextSibling is the next block with the same immediate dominator.
func (d *DomTree) NextSibling(b clif.Block) clif.Block { return d.block(d.sibling[d.cfg.number[b]]) }

func (d *DomTree) block(n uint32) clif.Block {
	if n == Unreached {
		return clif.NoBlock
	}
	return d.cfg.order[n]
}
