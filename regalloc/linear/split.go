package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// split cuts p at pos, which lies inside it, and returns the later part: it
// starts at pos or, if p has a hole there, after the hole.
func (w *walker) split(p, pos uint32) uint32 {
	c := uint32(len(w.parts))
	pt := &w.parts[p]
	u, last := pt.use, pt.last
	for w.uses[u].pos < pos {
		if w.uses[u].kind() != softUse {
			last = w.uses[u].pos
		}
		u = w.uses[u].next
	}
	r, end := pt.rng, pos
	for w.ranges[r].end <= pos {
		end = w.ranges[r].end
		r = w.ranges[r].next
	}
	start := w.ranges[r].start
	if start < pos {
		w.ranges = stop.Append(w.in.Stop, w.ranges, rng{pos, w.ranges[r].end, w.ranges[r].next})
		r, start, end = uint32(len(w.ranges)-1), pos, pos
	}
	w.parts = stop.Append(w.in.Stop, w.parts, part{
		start: start, end: pt.end, rng: r, first: u, use: u, last: last,
		vreg: pt.vreg, sib: pt.sib, next: none,
	})
	pt = &w.parts[p]
	pt.end, pt.sib = end, c
	w.nSplit++
	w.budget--
	return c
}

// bestSplit returns the best position to split at between low (exclusive) and
// high: high itself, unless there is a block boundary of lesser loop depth.
func (w *walker) bestSplit(low, high uint32) uint32 {
	blocks := w.in.Blocks
	b := w.instBlock[min(instOf(high), uint32(len(w.instBlock)-1))]
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
	if isWrite(lost) {
		read := readOf(lost)
		if pt.start >= read || w.usedAt(p, read) && !w.mustAt(p, lost) {
			w.memoryTail(w.split(p, lost))
			return
		}
		cut = read
	}
	last := pt.start
	for u := pt.use; w.uses[u].pos < cut; u = w.uses[u].next {
		if w.uses[u].kind() != softUse {
			last = w.uses[u].pos
		}
	}
	w.enqueue(w.split(p, w.bestSplit(last, cut)))
}

// usedAt reports whether p has a use of an operand at pos.
func (w *walker) usedAt(p, pos uint32) bool {
	u := w.parts[p].use
	for w.uses[u].pos < pos {
		u = w.uses[u].next
	}
	return w.uses[u].pos == pos
}

// mustAt reports whether p must have a register at pos, where an instruction
// writes.
func (w *walker) mustAt(p, pos uint32) bool {
	u := w.parts[p].use
	for w.uses[u].pos < pos-1 {
		u = w.uses[u].next
	}
	n := w.uses[u].nextMust
	return sameInst(w.uses[n].pos, pos) && w.lastMust(n) == pos
}

// memoryTail leaves the later part of a split in memory,
// or queues it if it begins after a hole.
func (w *walker) memoryTail(c uint32) {
	if isWrite(w.parts[c].start) {
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
	pt.loc = regalloc.NoAllocation
	if f := w.vregs[pt.vreg].flags; f&(isRemat|isArg) == 0 {
		w.vregs[pt.vreg].flags |= needSlot
	}
	w.untilRejoin(p, true)
	pt = &w.parts[p]
	low := max(pt.start, w.pos)
	next := w.uses[w.uses[pt.use].nextMust].pos
	if hot {
		depth := w.depthAt(low)
		for u := pt.use; w.uses[u].pos < min(next, pt.end); u = w.uses[u].next {
			x := &w.uses[u]
			if x.kind() == anyUse && readOf(x.pos) > low && w.depthAt(x.pos) > depth {
				next = x.pos
				break
			}
		}
	}
	if next >= pt.end {
		return
	}
	w.enqueue(w.split(p, w.bestSplit(low, readOf(next))))
}

// evict takes the register r from the part that has it now, from here on.
func (w *walker) evict(r regalloc.PReg) {
	q := &w.regs[r]
	x := q.list[q.head].part
	w.advance(x)
	pt := &w.parts[x]
	q.remove(x, pt.end)
	must := w.uses[w.uses[pt.use].nextMust].pos
	another := must < pt.end && sameInst(must, w.pos) // the part needs another register at once
	if !another && pt.last < pt.start && pt.start < w.pos {
		// It has not been used in the register.
		w.toMemory(x, false)
		return
	}
	cut := w.pos
	if isWrite(cut) && pt.last != readOf(cut) {
		cut = readOf(cut) // the instruction does not read it: it can go before
	}
	switch {
	case pt.start >= cut && another:
		pt.loc = regalloc.NoAllocation
		w.enqueue(x)
	case pt.start >= cut:
		w.toMemory(x, false)
	case another:
		w.enqueue(w.split(x, cut))
	case isWrite(cut):
		w.evictTail(w.split(x, cut))
	default:
		w.evictTail(w.split(x, w.bestSplit(max(pt.last, pt.start), cut)))
	}
}

// evictTail places the rest of an evicted part.
func (w *walker) evictTail(c uint32) {
	if w.parts[c].start > w.pos {
		w.enqueue(c)
		return
	}
	w.toMemory(c, false)
}

// untilRejoin cuts p, which is not the first part of its value and begins in rare code of a loop, where the usual way through the
// loop is reached again, and queues the rest: so whatever becomes of p here does not matter there. A part in memory is only cut if
// the loop begins with its value in a register.
func (w *walker) untilRejoin(p uint32, inMem bool) {
	if !w.hasLoops || p < uint32(len(w.vregs)) || w.effort < 0 {
		return
	}
	pt := &w.parts[p]
	w.effort--
	b := w.rejoins[w.instBlock[instOf(max(pt.start, w.pos))]]
	if b == none || inMem && !w.atHeader(pt.vreg, b).IsReg() {
		return
	}
	if at := 4 * w.in.Blocks[b].Insts.Start; at < pt.end {
		w.enqueue(w.split(p, at))
	}
}
