package analysis

import "github.com/waot-project/waot/internal/stop"

// Idoms are the immediate dominators of the nodes 0 to n-1 of a flow graph whose entry is 0, found in one pass over its
// edges (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001). The result is exact if control flow is
// reducible and the nodes are numbered so that a forward edge leads to a greater number: then the target of each back
// edge dominates its source.
//
// The caller calls Node for the nodes in rising order, each followed by Edge for the edges from it. Then it asks.
type Idoms struct {
	// Steps is how many more steps up the tree Common may take. When none are left, nothing is exact.
	Steps int

	idom    []uint32 // the entry's is itself
	inexact bool
}

// NoNode is no node.
const NoNode = ^uint32(0)

// maxDomSteps is the most steps per node that a search for dominators takes, a few nanoseconds each, so that it is linear.
const maxDomSteps = 1024

// Begin makes d ready for the edges of a graph of n nodes, at least one.
func (d *Idoms) Begin(end *stop.Flag, n int) {
	d.idom = stop.Zeroed(end, d.idom, n)
	for i := range d.idom[1:] {
		end.PollAt(i)
		d.idom[i+1] = NoNode
	}
	d.Steps, d.inexact = maxDomSteps*n, false
}

// Node announces the edges from b. An earlier edge must lead to b, unless b is the entry.
func (d *Idoms) Node(b uint32) { d.inexact = d.inexact || d.idom[b] == NoNode }

// Edge adds an edge.
func (d *Idoms) Edge(from, to uint32) {
	switch {
	case d.inexact:
	case to <= from:
		d.inexact = d.idom[to] == NoNode || d.Common(to, from) != to
	case d.idom[to] == NoNode:
		d.idom[to] = from
	default:
		d.idom[to] = d.Common(d.idom[to], from)
	}
}

// Exact reports whether Of is right for the edges so far, and Steps was enough.
func (d *Idoms) Exact() bool { return !d.inexact }

// Of returns the immediate dominator of node b, which is below b; the entry for the entry, NoNode for nodes that no edge leads to.
func (d *Idoms) Of(b uint32) uint32 { return d.idom[b] }

// Common returns the nearest node that dominates a and b.
func (d *Idoms) Common(a, b uint32) uint32 {
	for a != b {
		if d.Steps--; d.Steps < 0 {
			d.inexact = true
			return 0
		}
		if a > b {
			a = d.idom[a]
		} else {
			b = d.idom[b]
		}
	}
	return a
}
