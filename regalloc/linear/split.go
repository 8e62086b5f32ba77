package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// split cuts p at pos, which lies inside it, and returns the later part: it
// starts at pos or, if p has a hole there, after the hole.
func (w *walker) split(p, pos uint32) uint32 {
	c := uint32(len(w.parts))
	pt := &w.parts[p]
	u, last := pt.Use, pt.Last
	for w.Uses[u].Pos < pos {
		if w.Uses[u].Kind() != flow.SoftUse {
			last = w.Uses[u].Pos
		}
		u = w.Uses[u].Next
	}
	r, end := pt.Range, pos
	for w.Ranges[r].End <= pos {
		end = w.Ranges[r].End
		r = w.Ranges[r].Next
	}
	start := w.Ranges[r].Start
	if start < pos {
		w.Ranges = stop.Append(w.In.Stop, w.Ranges, flow.Range{Start: pos, End: w.Ranges[r].End, Next: w.Ranges[r].Next})
		r, start, end = uint32(len(w.Ranges)-1), pos, pos
	}
	w.parts = stop.Append(w.In.Stop, w.parts, flow.Part{
		Start: start, End: pt.End, Range: r, First: u, Use: u, Last: last,
		Value: pt.Value, Sib: pt.Sib, Before: p, Next: flow.None,
	})
	pt = &w.parts[p]
	if pt.Sib != flow.None {
		w.parts[pt.Sib].Before = c
	}
	pt.End, pt.Sib = end, c
	w.nSplit++
	w.budget--
	return c
}

// bestSplit returns the best position to split at between low (exclusive) and
// high: high itself, unless there is a block boundary of lesser loop depth.
func (w *walker) bestSplit(low, high uint32) uint32 {
	blocks := w.In.Blocks
	b := w.InstBlock[min(flow.InstOf(high), uint32(len(w.InstBlock)-1))]
	best, depth := high, blocks[b].LoopDepth
	for range 32 {
		at := 4 * blocks[b].Insts.Start
		if b == 0 || at <= low || depth == 0 {
			break
		}
		if d := min(blocks[b].LoopDepth, blocks[b-1].LoopDepth); d < depth && at <= high {
			best, depth = at, d
		}
		b--
	}
	return best
}

// keepUntil splits p where its register is taken away, at lost, and queues the later
// part. If the instruction there reads the value and then overwrites the register, the
// later part goes to memory.
func (w *walker) keepUntil(p, lost uint32) {
	pt := &w.parts[p]
	cut := lost
	if flow.IsWrite(lost) {
		read := flow.ReadOf(lost)
		if pt.Start >= read || w.usedAt(p, read) && !w.mustAt(p, lost) {
			w.memoryTail(w.split(p, lost))
			return
		}
		cut = read
	}
	last := pt.Start
	for u := pt.Use; w.Uses[u].Pos < cut; u = w.Uses[u].Next {
		if w.Uses[u].Kind() != flow.SoftUse {
			last = w.Uses[u].Pos
		}
	}
	w.enqueue(w.split(p, w.bestSplit(last, cut)))
}

// usedAt reports whether p has a use of an operand at pos.
func (w *walker) usedAt(p, pos uint32) bool {
	u := w.parts[p].Use
	for w.Uses[u].Pos < pos {
		u = w.Uses[u].Next
	}
	return w.Uses[u].Pos == pos
}

// mustAt reports whether p must have a register at pos, where an instruction
// writes.
func (w *walker) mustAt(p, pos uint32) bool {
	u := w.parts[p].Use
	for w.Uses[u].Pos < pos-1 {
		u = w.Uses[u].Next
	}
	n := w.Uses[u].NextMust
	return flow.SameInst(w.Uses[n].Pos, pos) && w.lastMust(n) == pos
}

// memoryTail leaves the later part of a split in memory,
// or queues it if it begins after a hole.
func (w *walker) memoryTail(c uint32) {
	if flow.IsWrite(w.parts[c].Start) {
		w.toMemory(c, true)
		return
	}
	w.enqueue(c)
}

// toMemory leaves p in memory, up to before its next use that must have a
// register, where the rest is queued; if hot is set, also before one in a
// deeper loop that would like one.
func (w *walker) toMemory(p uint32, hot bool) {
	pt := &w.parts[p]
	pt.Loc = regalloc.NoAllocation
	if f := w.Values[pt.Value].Flags; f&(flow.IsRemat|flow.IsArg) == 0 {
		w.Values[pt.Value].Flags |= flow.NeedSlot
	}
	w.untilRejoin(p, true)
	pt = &w.parts[p]
	low := max(pt.Start, w.pos)
	next := w.Uses[w.Uses[pt.Use].NextMust].Pos
	if hot {
		depth := w.DepthAt(low)
		for u := pt.Use; w.Uses[u].Pos < min(next, pt.End); u = w.Uses[u].Next {
			x := &w.Uses[u]
			if x.Kind() == flow.AnyUse && flow.ReadOf(x.Pos) > low && w.DepthAt(x.Pos) > depth {
				next = x.Pos
				break
			}
		}
	}
	if next >= pt.End {
		return
	}
	w.enqueue(w.split(p, w.bestSplit(low, flow.ReadOf(next))))
}

// evict takes the register r from the part that has it now, from here on.
func (w *walker) evict(r regalloc.PReg) {
	q := &w.regs[r]
	x := q.list[q.head].part
	w.advance(x)
	pt := &w.parts[x]
	q.remove(x, pt.End)
	must := w.Uses[w.Uses[pt.Use].NextMust].Pos
	another := must < pt.End && flow.SameInst(must, w.pos) // the part needs another register at once
	if !another && pt.Last < pt.Start && pt.Start < w.pos {
		// It has not been used in the register.
		w.toMemory(x, false)
		return
	}
	cut := w.pos
	if flow.IsWrite(cut) && pt.Last != flow.ReadOf(cut) {
		cut = flow.ReadOf(cut) // the instruction does not read it: it can go before
	}
	switch {
	case pt.Start >= cut && another:
		pt.Loc = regalloc.NoAllocation
		w.enqueue(x)
	case pt.Start >= cut:
		w.toMemory(x, false)
	case another:
		w.enqueue(w.split(x, cut))
	case flow.IsWrite(cut):
		w.evictTail(w.split(x, cut))
	default:
		w.evictTail(w.split(x, w.bestSplit(max(pt.Last, pt.Start), cut)))
	}
}

// evictTail places the rest of an evicted part.
func (w *walker) evictTail(c uint32) {
	if w.parts[c].Start > w.pos {
		w.enqueue(c)
		return
	}
	w.toMemory(c, false)
}

// untilRejoin cuts p, which is not the first part of its value and begins in rare code of a loop, where the usual way through the
// loop is reached again, and queues the rest: so whatever becomes of p here does not matter there. A part in memory is only cut if
// the loop begins with its value in a register.
func (w *walker) untilRejoin(p uint32, inMem bool) {
	if !w.HasLoops || p < uint32(len(w.Values)) || w.effort < 0 {
		return
	}
	pt := &w.parts[p]
	w.effort--
	b := w.Rejoins[w.InstBlock[flow.InstOf(max(pt.Start, w.pos))]]
	if b == flow.None || inMem && !w.atHeader(pt.Value, b).IsReg() {
		return
	}
	if at := 4 * w.In.Blocks[b].Insts.Start; at < pt.End {
		w.enqueue(w.split(p, at))
	}
}
