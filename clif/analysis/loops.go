package analysis

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// Loop is an index into the loops of a function.
type Loop uint32

// NoLoop is no loop.
const NoLoop = ^Loop(0)

// Loops are the natural loops of a function. An edge whose target does not
// dominate its source makes no loop (irreducible control flow).
type Loops struct {
	loops []loopInfo
	of    []Loop // by block: the innermost loop
	work  []clif.Block
}

type loopInfo struct {
	header clif.Block
	parent Loop
	depth  uint32
}

// Compute fills l.
func (l *Loops) Compute(f *clif.Func, c *CFG, d *DomTree) {
	l.loops = l.loops[:0]
	l.of = stop.Zeroed(f.Stop, l.of, len(f.Blocks))
	for i := range l.of {
		l.of[i] = NoLoop
	}
	// Inner headers come after outer ones in reverse postorder, so walk backwards.
	for i := len(c.order) - 1; i >= 0; i-- {
		h := c.order[i]
		l.work = l.work[:0]
		for _, e := range c.Preds(h) {
			if d.Dominates(h, e.From) {
				l.work = append(l.work, e.From)
			}
		}
		if len(l.work) > 0 {
			l.collect(c, h)
		}
	}
	// Parents were found after their children: number depths from the outside.
	for i := len(l.loops) - 1; i >= 0; i-- {
		lp := &l.loops[i]
		lp.depth = 1
		if lp.parent != NoLoop {
			lp.depth = l.loops[lp.parent].depth + 1
		}
	}
}

// collect makes a loop of header h and everything that reaches the sources of
// its back edges, in l.work.
func (l *Loops) collect(c *CFG, h clif.Block) {
	n := Loop(len(l.loops))
	l.loops = append(l.loops, loopInfo{header: h, parent: NoLoop})
	for len(l.work) > 0 {
		b := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		in := l.of[b]
		if in == NoLoop {
			l.of[b] = n
			if b != h {
				l.addPreds(c, b)
			}
			continue
		}
		for l.loops[in].parent != NoLoop {
			in = l.loops[in].parent
		}
		if in != n {
			l.loops[in].parent = n
			l.addPreds(c, l.loops[in].header)
		}
	}
	if l.of[h] == NoLoop {
		l.of[h] = n
	}
}

func (l *Loops) addPreds(c *CFG, b clif.Block) {
	for _, e := range c.Preds(b) {
		l.work = append(l.work, e.From)
	}
}

// Len is the number of loops.
func (l *Loops) Len() int { return len(l.loops) }

// Of is the innermost loop of b, or NoLoop.
func (l *Loops) Of(b clif.Block) Loop { return l.of[b] }

// Header is the header of loop n.
func (l *Loops) Header(n Loop) clif.Block { return l.loops[n].header }

// Parent is the loop around n, or NoLoop.
func (l *Loops) Parent(n Loop) Loop { return l.loops[n].parent }

// Depth is how many loops b is in.
func (l *Loops) Depth(b clif.Block) int {
	if l.of[b] == NoLoop {
		return 0
	}
	return int(l.loops[l.of[b]].depth)
}
