package linear

import (
	"math/bits"
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// walker is the state of the walk over the positions.
type walker struct {
	pos    uint32
	regs   [64]regQueue
	queue  []uint32 // first part that starts at each position; valid if marked
	marks  []uint64
	setAt  [maxSets]uint32 // where the current part meets each clobber set
	wish   regalloc.PReg   // where most of what is passed for a parameter is
	refAt  uint32          // where it meets a safepoint, if it is a reference
	nSplit int
}

// walk goes through the parts in the order of their starts and gives each a
// register, or leaves it in memory up to where it needs one.
func (a *Allocator) walk() error {
	a.makeParts()
	for w := range a.marks {
		for a.marks[w] != 0 {
			a.in.Stop.Poll()
			pos := uint32(w*64 + bits.TrailingZeros64(a.marks[w]))
			p := a.queue[pos]
			if next := a.parts[p].next; next == none {
				a.marks[w] &= a.marks[w] - 1
			} else {
				a.queue[pos] = next
			}
			if a.pos != pos {
				a.pos = pos
				a.pass(pos)
			}
			if err := a.place(p); err != nil {
				return err
			}
			if a.budget--; a.budget < 0 {
				return fail(Exhausted, pos>>2, a.parts[p].vreg)
			}
		}
	}
	return nil
}

// makeParts makes one part of each value's whole interval and queues it.
func (a *Allocator) makeParts() {
	a.pos, a.nSplit = 0, 0
	for r := range a.regs {
		a.regs[r].list, a.regs[r].head = a.regs[r].list[:0], 0
		a.favourite[r] = none
	}
	size := 4*len(a.in.Insts) + 4
	a.queue = stop.Resize(a.in.Stop, a.queue, size)
	a.marks = stop.Resize(a.in.Stop, a.marks, size/64+1)
	clear(a.marks)
	for _, v := range a.refArgs {
		a.homeOfRefArg(v)
	}
	a.parts = stop.Resize(a.in.Stop, a.parts, len(a.vregs))
	for v := range a.vregs {
		a.in.Stop.PollAt(v)
		vr := &a.vregs[v]
		if vr.flags&isRemat != 0 {
			vr.weight /= 2
		}
		vr.weight /= float32(vr.end - min(vr.end, a.ranges[vr.rng].start) + 4*atUse)
		pt := part{start: inf, end: vr.end, rng: vr.rng, first: vr.use, use: vr.use, vreg: uint32(v), sib: none, next: none}
		if vr.rng != 0 {
			pt.start = a.ranges[vr.rng].start
		}
		a.parts[v] = pt
	}
	// Lists are last in, first out: values of lower numbers come first.
	for v := len(a.parts) - 1; v >= 0; v-- {
		a.in.Stop.PollAt(v)
		if a.parts[v].start != inf {
			a.enqueue(uint32(v))
		}
	}
}

// homeOfRefArg lets the reference v, which comes in an argument word, stay
// there only if it passes no safepoint: no stack map lists argument words.
func (a *Allocator) homeOfRefArg(v uint32) {
	vr := &a.vregs[v]
	l := a.safepoints
	for r := vr.rng; r != 0; r = a.ranges[r].next {
		rr := &a.ranges[r]
		// The lowest safepoint not before the range, of a falling list.
		j := sort.Search(len(l), func(k int) bool { return l[k] < rr.start }) - 1
		if j >= 0 && l[j] < rr.end {
			vr.flags &^= isArg
			return
		}
	}
}

func (a *Allocator) enqueue(p uint32) {
	pt := &a.parts[p]
	w, bit := pt.start>>6, uint64(1)<<(pt.start&63)
	pt.next = none
	if a.marks[w]&bit != 0 {
		pt.next = a.queue[pt.start]
	}
	a.marks[w] |= bit
	a.queue[pt.start] = p
}

// place finds a place for part p, which starts at the walk's position.
func (a *Allocator) place(p uint32) error {
	a.wish = regalloc.NoPReg // of the part before, or even of another function
	pt := &a.parts[p]
	vr := &a.vregs[pt.vreg]
	if vr.flags&isArg != 0 && pt.start == a.ranges[vr.rng].start && a.instBlock[pt.start>>2] == 0 {
		a.toMemory(p, true)
		return nil
	}
	if vr.flags&isRemat != 0 {
		if a.placeRemat(p) {
			return nil
		}
		pt = &a.parts[p]
	}
	if vr.flags&isParam != 0 && pt.start == a.ranges[vr.rng].start && a.vote(pt.vreg) {
		a.toMemory(p, true)
		return nil
	}
	a.meetSets(p)
	if a.placeFree(p) {
		return nil
	}
	return a.placeBlocked(p)
}

// placeRemat places p, of a value that can be rematerialised, or else makes it
// as short as that allows: it is not worth evicting anything, or saving a
// register, only for moves.
func (a *Allocator) placeRemat(p uint32) bool {
	pt := &a.parts[p]
	vr := &a.vregs[pt.vreg]
	if pt.start > vr.lastWish {
		a.toMemory(p, false)
		return true
	}
	end := vr.lastWish&^3 + 4
	if x := &a.uses[a.uses[pt.use].next]; x.op>>kindBits == gapUse && x.pos < pt.start+4*soon {
		end = max(end, x.pos+atUse) // else the first definition would be for nothing
	}
	if end >= pt.end {
		return false
	}
	a.meetSets(p)
	hints, n := a.hints(p)
	for _, list := range [2][]regalloc.PReg{hints[:n], a.env.Order[a.class(pt.vreg)]} {
		for _, r := range list {
			if !a.env.CalleeSaved.Has(r) && a.until(r, p) >= pt.end {
				a.assign(p, r)
				return true
			}
		}
	}
	a.toMemory(a.split(p, end), false)
	return false
}

// meetSets finds where part p meets each of the reservations of sets.
func (a *Allocator) meetSets(p uint32) {
	end := a.parts[p].end
	for k, l := range a.setPos[:a.numSets] {
		a.setAt[k] = inf
		if n := len(l); n > 0 && l[n-1] < end {
			a.setAt[k] = a.firstAt(l, p, 0)
		}
	}
	a.refAt = inf
	if a.vregs[a.parts[p].vreg].flags&isRef != 0 {
		a.refAt = a.firstSafepoint(p)
	}
}

// reservedAt is where part p, for which meetSets was called, first meets a
// reservation of r, or inf.
func (a *Allocator) reservedAt(r regalloc.PReg, p uint32) uint32 {
	at := a.refAt
	wide := a.vregs[a.parts[p].vreg].flags & isWide >> wideShift
	for s := a.regSets[wide][r]; s != 0; s &= s - 1 {
		at = min(at, a.setAt[bits.TrailingZeros32(s)&(maxSets-1)])
	}
	if len(a.spans[r]) > 0 {
		at = min(at, a.firstSpan(r, p))
	}
	return at
}

// until is where part p first meets anything in r: the end of r's freedom.
func (a *Allocator) until(r regalloc.PReg, p uint32) uint32 {
	q := &a.regs[r]
	o := q.pass(a.pos)
	switch {
	case o.start <= a.pos:
		return 0
	case o.start >= a.parts[p].end:
		return a.reservedAt(r, p)
	}
	return min(a.freeUntil(q, p, none), a.reservedAt(r, p))
}

// placeFree gives p a register that is free for all of it, a hinted one if
// possible, else the one that is free longest, if that is long enough for a
// use; the rest of p is then queued. A callee-saved register that does not pay
// is taken only if p must have one now.
func (a *Allocator) placeFree(p uint32) bool {
	pt := &a.parts[p]
	end := pt.end
	need, now := a.needNow(p)
	if !now {
		need = a.firstWish(p)
	}
	best, bestUntil := regalloc.NoPReg, max(pt.start, need)
	dear, dearUntil := regalloc.NoPReg, bestUntil
	hints, n := a.hints(p)
	// second is a register that is free for all of p but had better be another
	// value's, or is no good for others of its class.
	avoid, second := a.unsafe(pt.vreg), regalloc.NoPReg
	for k, list := range [2][]regalloc.PReg{hints[:n], a.env.Order[a.class(pt.vreg)]} {
		for _, r := range list {
			u := a.until(r, p)
			if u <= bestUntil {
				continue
			}
			if !a.worthSaving(r, p) || second != regalloc.NoPReg && !avoid.Has(second) && a.env.CalleeSaved.Has(r) && !a.out.Used.Has(r) {
				if u > dearUntil {
					dear, dearUntil = r, u
				}
				continue
			}
			if u >= end {
				if k == 1 && (avoid.Has(r) || a.coveted(r, p)) {
					if second == regalloc.NoPReg {
						second = r
					}
					continue
				}
				a.assign(p, r)
				return true
			}
			if k == 0 && a.depthAt(u) < a.depthAt(pt.start) {
				// It does for the loop, and saves moves in it.
				a.splitForReg(p, u)
				a.assign(p, r)
				return true
			}
			// Of hinted registers the first that will do is the best.
			if k == 1 || best == regalloc.NoPReg {
				best, bestUntil = r, u
			}
		}
	}
	if second != regalloc.NoPReg {
		a.assign(p, second)
		return true
	}
	if r := a.steal(p); r != regalloc.NoPReg {
		a.evict(r)
		a.assign(p, r)
		return true
	}
	if best == regalloc.NoPReg && now {
		best, bestUntil = dear, dearUntil
	}
	if best == regalloc.NoPReg {
		return false
	}
	if bestUntil < end {
		a.splitForReg(p, bestUntil)
	}
	a.assign(p, best)
	return true
}

// steal returns a register that p could have for all of it if what has it now
// were evicted, and that deserves it much less; or NoPReg.
func (a *Allocator) steal(p uint32) regalloc.PReg {
	pt := &a.parts[p]
	if pt.end-pt.start < 4*soon/2 {
		return regalloc.NoPReg
	}
	best, least := regalloc.NoPReg, a.vregs[pt.vreg].weight/stealFactor
	for _, r := range a.env.Order[a.class(pt.vreg)] {
		o := a.regs[r].pass(a.pos)
		if o.start > a.pos {
			continue
		}
		x := &a.parts[o.part]
		w := a.vregs[x.vreg].weight
		if w >= least || a.reservedAt(r, p) < pt.end {
			continue
		}
		a.advance(o.part)
		if xm := a.uses[a.uses[x.use].nextMust].pos; xm < x.end && xm>>2 == a.pos>>2 {
			continue
		}
		if a.freeUntil(&a.regs[r], p, o.part) >= pt.end {
			best, least = r, w
		}
	}
	return best
}

// stealFactor is how much more often per instruction a value has to be used than
// one that loses its register to it.
const stealFactor = 2

// needNow reports whether p must have a register in the very instruction that
// it starts in, so that it cannot be split before, and up to which position.
func (a *Allocator) needNow(p uint32) (pos uint32, now bool) {
	pt := &a.parts[p]
	n := a.uses[pt.use].nextMust
	pos = a.uses[n].pos
	if pos >= pt.end || pos&^3|atUse > pt.start {
		return pos, false
	}
	return a.lastMust(n), true
}

// lastMust is the position of the last mustUse of the same value and
// instruction as the mustUse n.
func (a *Allocator) lastMust(n uint32) uint32 {
	for {
		next := a.uses[a.uses[n].next].nextMust
		if a.uses[next].pos>>2 != a.uses[n].pos>>2 {
			return a.uses[n].pos
		}
		n = next
	}
}

// firstWish is the position of the first use of p that would like a register;
// the end of p if there is none.
func (a *Allocator) firstWish(p uint32) uint32 {
	pt := &a.parts[p]
	u := &a.uses[pt.use]
	if a.vregs[pt.vreg].flags&isRemat != 0 {
		u = &a.uses[u.nextMust]
	}
	return min(u.pos, pt.end)
}

// worthSaving reports whether part p may be given r: a callee-saved register
// costs a save and a restore on its first use, which has to pay.
func (a *Allocator) worthSaving(r regalloc.PReg, p uint32) bool {
	if !a.env.CalleeSaved.Has(r) || a.out.Used.Has(r) {
		return true
	}
	pt := &a.parts[p]
	weight, price := uint32(0), uint32(2*entryFreq)
	if a.vregs[pt.vreg].flags&(isRemat|isArg) != 0 {
		price *= 2
	}
	for u := pt.use; a.uses[u].pos < pt.end; u = a.uses[u].next {
		if a.uses[u].op>>kindBits == softUse {
			continue
		}
		weight += a.freq[a.instBlock[a.uses[u].pos>>2]]
		if weight >= price {
			return true
		}
	}
	return false
}

// hints are registers that would save moves if p had them, best first.
func (a *Allocator) hints(p uint32) (list [7]regalloc.PReg, n int) {
	pt := &a.parts[p]
	vr := &a.vregs[pt.vreg]
	var seen regalloc.PRegSet
	add := func(r regalloc.PReg) {
		if r != regalloc.NoPReg && a.env.Allocatable.Has(r) && !seen.Has(r) && r.Class() == a.class(pt.vreg) {
			seen = seen.Add(r)
			list[n] = r
			n++
		}
	}
	add(a.wish)
	if c := a.classFor(pt.vreg); c != none {
		add(regalloc.PReg(a.classes[c].pref))
	}
	u := pt.use
	for range 4 {
		x := &a.uses[u]
		if x.pos >= pt.end {
			break
		}
		if x.op>>kindBits == gapUse {
			if l := a.out.Allocs[x.op&opMask]; a.in.Operands[x.op&opMask].Constraint == regalloc.Fixed {
				add(l.Reg())
				break
			}
		}
		u = x.next
	}
	if vr.def.IsReg() {
		add(vr.def.Reg())
	}
	add(regalloc.PReg(vr.pref))
	if vr.link != none {
		add(regalloc.PReg(a.vregs[vr.link].pref))
	}
	return list, n
}

// assign gives all of p the register r.
func (a *Allocator) assign(p uint32, r regalloc.PReg) {
	pt := &a.parts[p]
	pt.loc = regalloc.InReg(r)
	a.out.Used = a.out.Used.Add(r)
	a.occupy(&a.regs[r], p)
	vr := &a.vregs[pt.vreg]
	vr.pref = uint8(r)
	if c := a.classFor(pt.vreg); c != none {
		cl := &a.classes[c]
		if d := int8(min(a.depthAt(pt.start), 127)); d > cl.depth {
			cl.pref, cl.depth = uint8(r), d
			a.favourite[r&63] = c
		}
	}
	if vr.link != none {
		if l := &a.vregs[vr.link]; l.pref == uint8(regalloc.NoPReg) {
			l.pref = uint8(r)
		}
	}
}

// placeBlocked makes a register free for p by evicting a part whose next use is
// far, or leaves p in memory if its own is farther.
func (a *Allocator) placeBlocked(p uint32) error {
	pt := &a.parts[p]
	need, now := a.needNow(p)
	if !now {
		if need = a.firstWish(p); need == pt.end {
			a.toMemory(p, false)
			return nil
		}
	}
	best, bestScore := regalloc.NoPReg, uint64(0)
	bestUntil := uint32(0)
	for _, r := range a.env.Order[a.class(pt.vreg)] {
		o := a.regs[r].pass(a.pos)
		if o.start > a.pos {
			continue // free, but not long enough
		}
		until := min(a.reservedAt(r, p), a.freeUntil(&a.regs[r], p, o.part))
		if until <= need {
			continue
		}
		score := a.farness(o.part)
		x := &a.parts[o.part]
		n := a.uses[x.use].nextMust
		if xm := a.uses[n].pos; xm < x.end && xm>>2 == a.pos>>2 {
			// Its register is needed by this instruction; but if only for reading,
			// and p has to survive the writes too, it may look for another one.
			if !now || need&3 != atDef || a.lastMust(n)&3 != atUse || a.pos&3 != atUse {
				continue
			}
			score = 0
		}
		if score+1 > bestScore {
			best, bestScore, bestUntil = r, score+1, until
		}
	}
	if !now && (best == regalloc.NoPReg || bestScore <= a.farness(p)+1) {
		a.toMemory(p, false)
		return nil
	}
	if best == regalloc.NoPReg {
		return fail(Unallocatable, a.pos>>2, pt.vreg)
	}
	a.evict(best)
	if bestUntil < a.parts[p].end {
		a.splitForReg(p, bestUntil)
	}
	a.assign(p, best)
	return nil
}

// advance moves p's use to the first one not before the walk's position.
func (a *Allocator) advance(p uint32) {
	pt := &a.parts[p]
	for a.uses[pt.use].pos < a.pos && a.uses[pt.use].pos < pt.end {
		if a.uses[pt.use].op>>kindBits != softUse {
			pt.last = a.uses[pt.use].pos
		}
		pt.use = a.uses[pt.use].next
	}
	for a.ranges[pt.rng].end <= a.pos && a.ranges[pt.rng].next != 0 {
		pt.rng = a.ranges[pt.rng].next
	}
}

// farness says how far off the next use of p is, less if it is in a loop, more
// if p costs little to bring back.
func (a *Allocator) farness(p uint32) uint64 {
	a.advance(p)
	pt := &a.parts[p]
	pos := min(a.uses[pt.use].pos, pt.end-1)
	depth := min(a.depthAt(pos), 7)
	score := uint64((pos-min(pos, a.pos))>>2+1) << (3 * (7 - depth))
	f := a.vregs[pt.vreg].flags
	if f&(isRemat|isArg) != 0 {
		score *= 4
	} else if f&needSlot != 0 {
		score *= 2
	}
	return score
}
