package analysis

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// DomTree is the dominator tree of the reachable blocks. It is taken from Idoms if they are exact, which is almost always.
// Otherwise it is computed after Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979),
// with path compression only: O(edges * log blocks) for any graph.
type DomTree struct {
	cfg  *CFG
	fast Idoms
	idom []uint32 // by number in reverse postorder: number of the immediate dominator
	// Of the general computation, by position in preorder; see general.
	semi, ancestor, label, dom, bucket, bucketNext []uint32
	// Preorder interval of each subtree, for constant-time queries.
	pre, last []uint32
	child     []uint32 // first child, by number
	sibling   []uint32 // next sibling, by number
	stack     []uint32
}

// fastSteps is how many steps per block Idoms may take here. Beyond that, the general computation is cheaper.
const fastSteps = 32

// Compute fills d from c.
func (d *DomTree) Compute(c *CFG) {
	d.cfg = c
	d.fast.Begin(c.stop, len(c.order))
	d.fast.Steps = fastSteps * len(c.order)
	for i, b := range c.order {
		c.stop.PollAt(i)
		d.fast.Node(uint32(i))
		for _, t := range c.Succs(b) {
			d.fast.Edge(uint32(i), c.number[c.targets[t].Block])
		}
	}
	if d.idom = d.fast.idom; !d.fast.Exact() {
		d.general(c)
	}
	d.number(len(c.order))
}

// general fills idom for any graph. Vertices are positions in preorder. semi is the
// semidominator; ancestor and label are the forest of vertices done, where label has the
// least semidominator on the compressed part of the path up; bucket
// lists the vertices by semidominator.
func (d *DomTree) general(c *CFG) {
	n := len(c.order)
	d.idom = stop.Zeroed(c.stop, d.idom, n)
	for _, s := range [...]*[]uint32{&d.semi, &d.ancestor, &d.label, &d.dom, &d.bucket, &d.bucketNext} {
		*s = stop.Zeroed(c.stop, *s, n)
	}
	for i := range uint32(n) {
		c.stop.PollAt(int(i))
		d.semi[i], d.label[i], d.ancestor[i], d.bucket[i] = i, i, Unreached, Unreached
	}
	for w := uint32(n) - 1; n > 0 && w > 0; w-- {
		c.stop.Poll()
		p := c.preParent[w]
		for _, e := range c.Preds(c.preorder[w]) {
			d.semi[w] = min(d.semi[w], d.semi[d.eval(c.preNumber[e.From])])
		}
		s := d.semi[w]
		d.bucketNext[w], d.bucket[s] = d.bucket[s], w
		d.ancestor[w] = p
		for v := d.bucket[p]; v != Unreached; v = d.bucketNext[v] {
			// The dominator of v, or a vertex with the same dominator.
			if u := d.eval(v); d.semi[u] < d.semi[v] {
				d.dom[v] = u
			} else {
				d.dom[v] = p
			}
		}
		d.bucket[p] = Unreached
	}
	for w := 1; w < n; w++ {
		c.stop.Poll()
		if d.dom[w] != d.semi[w] {
			d.dom[w] = d.dom[d.dom[w]]
		}
		d.idom[c.number[c.preorder[w]]] = c.number[c.preorder[d.dom[w]]]
	}
}

// eval returns the vertex with the least semidominator on the path from v up to,
// not including, the root of its tree in the forest; v itself if it is the root.
func (d *DomTree) eval(v uint32) uint32 {
	if d.ancestor[v] == Unreached {
		return v
	}
	d.stack = d.stack[:0]
	for d.ancestor[d.ancestor[v]] != Unreached {
		d.stack = append(d.stack, v)
		v = d.ancestor[v]
	}
	// Compress from the top: each vertex on the path hangs below the root.
	for len(d.stack) > 0 {
		u := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.semi[d.label[v]] < d.semi[d.label[u]] {
			d.label[u] = d.label[v]
		}
		d.ancestor[u] = d.ancestor[v]
		v = u
	}
	return d.label[v]
}

// number numbers the tree in preorder. The immediate dominator of a block has a lower number in reverse postorder than the block.
func (d *DomTree) number(n int) {
	end := d.cfg.stop
	d.pre, d.last = stop.Resize(end, d.pre, n), stop.Resize(end, d.last, n)
	d.child, d.sibling = stop.Resize(end, d.child, n), stop.Resize(end, d.sibling, n)
	for i := range d.child {
		end.PollAt(i)
		d.child[i], d.sibling[i], d.last[i] = Unreached, Unreached, 0
	}
	// At first, last is how many others each one dominates.
	for i := n - 1; i > 0; i-- {
		end.PollAt(i)
		p := d.idom[i]
		d.sibling[i], d.child[p] = d.child[p], uint32(i)
		d.last[p] += d.last[i] + 1
	}
	next := stop.Resize(end, d.stack, n) // the number of the next child
	d.stack = next[:0]
	d.pre[0], next[0] = 0, 1
	for i := 1; i < n; i++ {
		end.PollAt(i)
		p := d.idom[i]
		first := next[p]
		d.last[i] += first
		d.pre[i], next[i], next[p] = first, first+1, d.last[i]+1
	}
}

// Dominates reports whether a dominates b; both must be reachable. A block
// dominates itself.
func (d *DomTree) Dominates(a, b clif.Block) bool {
	x, y := d.cfg.number[a], d.cfg.number[b]
	return d.pre[x] <= d.pre[y] && d.pre[y] <= d.last[x]
}

// Idom returns the immediate dominator of b, or NoBlock for the entry.
func (d *DomTree) Idom(b clif.Block) clif.Block {
	n := d.cfg.number[b]
	if n == 0 {
		return clif.NoBlock
	}
	return d.cfg.order[d.idom[n]]
}

// FirstChild and NextSibling walk the tree; NoBlock ends a list.
func (d *DomTree) FirstChild(b clif.Block) clif.Block { return d.block(d.child[d.cfg.number[b]]) }

// NextSibling returns the next block with the same immediate dominator.
func (d *DomTree) NextSibling(b clif.Block) clif.Block { return d.block(d.sibling[d.cfg.number[b]]) }

func (d *DomTree) block(n uint32) clif.Block {
	if n == Unreached {
		return clif.NoBlock
	}
	return d.cfg.order[n]
}
