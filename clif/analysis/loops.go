package analysis

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// Loops is the loop nest of a function, found during a depth-first search (Wei, Mao, Zou, Chen: "A New
// Algorithm for Identifying Loops in Decompilation", 2007). The caller either does the search and reports it by Enter, Edge
// and Leave, or calls Compute. If a loop has several entries (irreducible control flow), its header is the entry that the
// search enters first.
type Loops struct {
	nodes []loopNode // by block
	depth uint32     // of the search: blocks on its path
	stack []visit    // of Compute
	seen  []bool     // of Compute, by block
}

type loopNode struct {
	header clif.Block // of the innermost loop around the block, other than its own; or NoBlock
	path   uint32     // position on the path of the search plus 1, or 0
	loop   bool       // the block is a header
}

// Begin makes l ready for a search of f.
func (l *Loops) Begin(f *clif.Func) {
	l.nodes, l.depth = stop.Resize(f.Stop, l.nodes, len(f.Blocks)), 0
	for i := range l.nodes {
		f.Stop.PollAt(i)
		l.nodes[i] = loopNode{header: clif.NoBlock}
	}
}

// Enter reports that the search enters b.
func (l *Loops) Enter(b clif.Block) {
	l.depth++
	l.nodes[b].path = l.depth
}

// Leave reports that the search is done with b, the last block of its path, and goes back to the block before.
func (l *Loops) Leave(b, back clif.Block) {
	l.depth--
	l.nodes[b].path = 0
	l.tag(back, l.nodes[b].header)
}

// Edge reports an edge from the last block of the path to a block that was entered before.
func (l *Loops) Edge(from, to clif.Block) {
	if l.nodes[to].path > 0 {
		l.nodes[to].loop = true
		l.tag(from, to)
		return
	}
	// Into a finished part: the innermost loop around it that is still open.
	h := l.nodes[to].header
	for h != clif.NoBlock && l.nodes[h].path == 0 {
		h = l.nodes[h].header
	}
	l.tag(from, h)
}

// tag makes h a loop header around b, keeping headers in order of nesting.
func (l *Loops) tag(b, h clif.Block) {
	if b == h || h == clif.NoBlock {
		return
	}
	for l.nodes[b].header != clif.NoBlock {
		in := l.nodes[b].header
		if in == h {
			return
		}
		if l.nodes[in].path < l.nodes[h].path {
			l.nodes[b].header = h
			b, h = h, in
		} else {
			b = in
		}
	}
	l.nodes[b].header = h
}

// Compute searches c, which is of f.
func (l *Loops) Compute(f *clif.Func, c *CFG) {
	l.Begin(f)
	l.seen = stop.Zeroed(f.Stop, l.seen, len(f.Blocks))
	enter := func(b clif.Block) {
		l.seen[b] = true
		l.Enter(b)
		l.stack = append(l.stack, c.visit(b))
	}
	l.stack = l.stack[:0]
	enter(f.Entry())
	for len(l.stack) > 0 {
		f.Stop.Poll()
		top := &l.stack[len(l.stack)-1]
		b := top.block
		if top.start < top.end {
			to := f.Targets[c.succs[top.start]].Block
			top.start++
			if l.seen[to] {
				l.Edge(b, to)
			} else {
				enter(to)
			}
			continue
		}
		if l.stack = l.stack[:len(l.stack)-1]; len(l.stack) > 0 {
			l.Leave(b, l.stack[len(l.stack)-1].block)
		}
	}
}

// Innermost returns the header of the innermost loop that b is in, b itself if it is a header, or NoBlock.
func (l *Loops) Innermost(b clif.Block) clif.Block {
	if l.nodes[b].loop {
		return b
	}
	return l.nodes[b].header
}

// IsHeader reports whether b is the header of a loop.
func (l *Loops) IsHeader(b clif.Block) bool { return l.nodes[b].loop }

// Around returns the header of the innermost loop around b, or NoBlock. A header is not around itself.
func (l *Loops) Around(b clif.Block) clif.Block { return l.nodes[b].header }
