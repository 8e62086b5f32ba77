package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// split cuts p at pos, which lies inside it, and returns the later part: it
// starts at pos or, if p has a hole there, after the hole.
func (a *Allocator) split(p, pos uint32) uint32 {
	c := uint32(len(a.parts))
	pt := &a.parts[p]
	u, last := pt.use, pt.last
	for a.uses[u].pos < pos {
		if a.uses[u].op>>kindBits != softUse {
			last = a.uses[u].pos
		}
		u = a.uses[u].next
	}
	r, end := pt.rng, pos
	for a.ranges[r].end <= pos {
		end = a.ranges[r].end
		r = a.ranges[r].next
	}
	start := a.ranges[r].start
	if start < pos {
		a.ranges = stop.Append(a.in.Stop, a.ranges, rng{pos, a.ranges[r].end, a.ranges[r].next})
		r, start, end = uint32(len(a.ranges)-1), pos, pos
	}
	a.parts = stop.Append(a.in.Stop, a.parts, part{
		start: start, end: pt.end, rng: r, first: u, use: u, last: last,
		vreg: pt.vreg, sib: pt.sib, next: none,
	})
	pt = &a.parts[p]
	pt.end, pt.sib = end, c
	a.nSplit++
	a.budget--
	return c
}

// bestSplit returns the best position to split at between low (exclusive) and
// high: high itself, unless there is a block boundary of lesser loop depth.
func (a *Allocator) bestSplit(low, high uint32) uint32 {
	blocks := a.in.Blocks
	b := a.instBlock[min(high>>2, uint32(len(a.instBlock)-1))]
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

// splitForReg splits off what p cannot keep a register for that is taken away
// at until, and queues it. What has just been read and is overwritten by the
// same instruction goes to memory.
func (a *Allocator) splitForReg(p, until uint32) {
	pt := &a.parts[p]
	at := until
	if at&3 == atDef {
		if pt.start >= at-1 || a.usedAt(p, at-1) && !a.mustAt(p, at) {
			a.memoryTail(a.split(p, at))
			return
		}
		at--
	}
	last := pt.start
	for u := pt.use; a.uses[u].pos < at; u = a.uses[u].next {
		if a.uses[u].op>>kindBits != softUse {
			last = a.uses[u].pos
		}
	}
	a.enqueue(a.split(p, a.bestSplit(last, at)))
}

// usedAt reports whether p has a use of an operand at pos.
func (a *Allocator) usedAt(p, pos uint32) bool {
	u := a.parts[p].use
	for a.uses[u].pos < pos {
		u = a.uses[u].next
	}
	return a.uses[u].pos == pos
}

// mustAt reports whether p must have a register at pos, where an instruction
// writes.
func (a *Allocator) mustAt(p, pos uint32) bool {
	u := a.parts[p].use
	for a.uses[u].pos < pos-1 {
		u = a.uses[u].next
	}
	n := a.uses[u].nextMust
	return a.uses[n].pos>>2 == pos>>2 && a.lastMust(n) == pos
}

// memoryTail leaves a part that another one has been split off for in memory,
// or queues it if it begins after a hole.
func (a *Allocator) memoryTail(c uint32) {
	if a.parts[c].start&3 == atDef {
		a.toMemory(c, true)
		return
	}
	a.enqueue(c)
}

// toMemory leaves p in memory, up to before its next use that must have a
// register, where the rest is queued; if hot is set, also before one in a
// deeper loop that would like one.
func (a *Allocator) toMemory(p uint32, hot bool) {
	pt := &a.parts[p]
	pt.loc = regalloc.NoAllocation
	if f := a.vregs[pt.vreg].flags; f&(isRemat|isArg) == 0 {
		a.vregs[pt.vreg].flags |= needSlot
	}
	low := max(pt.start, a.pos)
	next := a.uses[a.uses[pt.use].nextMust].pos
	if hot {
		depth := a.depthAt(low)
		for u := pt.use; a.uses[u].pos < min(next, pt.end); u = a.uses[u].next {
			x := &a.uses[u]
			if x.op>>kindBits == anyUse && x.pos&^3|atUse > low && a.depthAt(x.pos) > depth {
				next = x.pos
				break
			}
		}
	}
	if next >= pt.end {
		return
	}
	a.enqueue(a.split(p, a.bestSplit(low, next&^3|atUse)))
}

// evict takes the register r from the part that has it now, from here on.
func (a *Allocator) evict(r regalloc.PReg) {
	q := &a.regs[r]
	x := q.list[q.head].part
	a.advance(x)
	pt := &a.parts[x]
	q.remove(x, pt.end)
	m := a.uses[a.uses[pt.use].nextMust].pos
	again := m < pt.end && m>>2 == a.pos>>2 // it only has to change its register
	if !again && pt.last < pt.start && pt.start < a.pos {
		// It has not been used in the register.
		a.toMemory(x, false)
		return
	}
	at := a.pos
	if at&3 == atDef && pt.last != at-1 && pt.start <= at&^3 {
		at--
	}
	if pt.start >= at || at&3 == atDef && pt.last != at-1 && pt.start == at-1 {
		if again {
			pt.loc = regalloc.NoAllocation
			a.enqueue(x)
			return
		}
		a.toMemory(x, false)
		return
	}
	if again {
		a.enqueue(a.split(x, at))
		return
	}
	if at&3 != atDef {
		at = a.bestSplit(max(pt.last, pt.start), at)
	}
	a.evictTail(a.split(x, at))
}

// evictTail places what has lost its register.
func (a *Allocator) evictTail(c uint32) {
	if a.parts[c].start > a.pos {
		a.enqueue(c)
		return
	}
	a.toMemory(c, false)
}
