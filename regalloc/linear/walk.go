package linear

import (
	"math/bits"
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// walker is the state of the walk over the positions.
type walker struct {
	intervals
	reserved  *reservations
	coalescer *coalescer

	parts  []part
	budget int // steps left
	pos    uint32
	regs   [64]regQueue
	queue  []uint32 // first part that starts at each position; valid if marked
	marks  []uint64
	setAt  [maxSets]uint32 // where the current part meets each clobber set
	losing *[64]uint32     // by register: the clobber sets that lose the current part there
	wish   regalloc.PReg   // register that holds most arguments of a parameter; see vote
	refAt  uint32          // where the current part meets a safepoint, if it is a reference
	// unsavedAt is where the current part meets code in which the registers of kept are the caller's.
	unsavedAt uint32
	kept      regalloc.PRegSet
	nSplit    int
	effort    int // steps left for looking at where values are elsewhere
	pays      tri // whether saving a register pays for the current part
}

// tri is a fact that may not be known yet.
type tri uint8

const (
	unknown tri = iota
	no
	yes
)

// walk goes through the parts in the order of their starts and gives each a
// register, or leaves it in memory up to where it needs one.
func (w *walker) walk(iv intervals, reserved *reservations, classes *coalescer) ([]part, error) {
	w.intervals, w.reserved, w.coalescer = iv, reserved, classes
	w.budget = 1024 + 32*(len(w.in.Insts)+len(w.in.Operands)+len(w.in.VRegs)+len(w.in.VRegLists))
	w.effort = 1024 + 16*(len(w.in.Insts)+len(w.in.VRegLists))
	w.kept = 0
	if len(reserved.unsaved) > 0 {
		w.kept = w.env.CalleeSaved
	}
	w.makeParts()
	for word := range w.marks {
		for w.marks[word] != 0 {
			w.in.Stop.Poll()
			pos := uint32(word*64 + bits.TrailingZeros64(w.marks[word]))
			p := w.queue[pos]
			if next := w.parts[p].next; next == none {
				w.marks[word] &= w.marks[word] - 1
			} else {
				w.queue[pos] = next
			}
			if w.pos != pos {
				w.pos = pos
				w.reserved.pass(pos)
			}
			if err := w.place(p); err != nil {
				return nil, err
			}
			if w.budget--; w.budget < 0 {
				return nil, fail(Exhausted, instOf(pos), w.parts[p].vreg)
			}
		}
	}
	w.out.Stats.Splits = w.nSplit
	return w.parts, nil
}

// makeParts makes one part of each value's whole interval and queues it.
func (w *walker) makeParts() {
	w.pos, w.nSplit = 0, 0
	for r := range w.regs {
		w.regs[r] = regQueue{list: w.regs[r].list[:0]}
	}
	size := 4*len(w.in.Insts) + 4
	w.queue = stop.Resize(w.in.Stop, w.queue, size)
	w.marks = stop.Resize(w.in.Stop, w.marks, size/64+1)
	clear(w.marks)
	for _, v := range w.refArgs {
		w.homeOfRefArg(v)
	}
	w.parts = stop.Resize(w.in.Stop, w.parts, len(w.vregs))
	for v := range w.vregs {
		w.in.Stop.PollAt(v)
		vr := &w.vregs[v]
		if vr.flags&isRemat != 0 {
			vr.weight /= 2
		}
		vr.weight /= float32(vr.end - min(vr.end, w.ranges[vr.rng].start) + 4*atUse)
		pt := part{start: inf, end: vr.end, rng: vr.rng, first: vr.use, use: vr.use, vreg: uint32(v), sib: none, next: none}
		if vr.rng != 0 {
			pt.start = w.ranges[vr.rng].start
		}
		w.parts[v] = pt
	}
	// Lists are last in, first out: values of lower numbers come first.
	for v := len(w.parts) - 1; v >= 0; v-- {
		w.in.Stop.PollAt(v)
		if w.parts[v].start != inf {
			w.enqueue(uint32(v))
		}
	}
}

// homeOfRefArg lets the reference v, which comes in an argument word, stay
// there only if it passes no safepoint: no stack map lists argument words.
func (w *walker) homeOfRefArg(v uint32) {
	vr := &w.vregs[v]
	l := w.reserved.safepoints
	for r := vr.rng; r != 0; r = w.ranges[r].next {
		rr := &w.ranges[r]
		// The lowest safepoint not before the range, of a falling list.
		j := sort.Search(len(l), func(k int) bool { return l[k] < rr.start }) - 1
		if j >= 0 && l[j] < rr.end {
			vr.flags &^= isArg
			return
		}
	}
}

func (w *walker) enqueue(p uint32) {
	pt := &w.parts[p]
	word, bit := pt.start>>6, uint64(1)<<(pt.start&63)
	pt.next = none
	if w.marks[word]&bit != 0 {
		pt.next = w.queue[pt.start]
	}
	w.marks[word] |= bit
	w.queue[pt.start] = p
}

// place finds a place for part p, which starts at the walk's position.
func (w *walker) place(p uint32) error {
	w.wish = regalloc.NoPReg // of the part before, or even of another function
	pt := &w.parts[p]
	vr := &w.vregs[pt.vreg]
	if vr.flags&isArg != 0 && pt.start == w.ranges[vr.rng].start && w.instBlock[instOf(pt.start)] == 0 {
		w.toMemory(p, true)
		return nil
	}
	if vr.flags&isRemat != 0 {
		if w.placeRemat(p) {
			return nil
		}
		pt = &w.parts[p]
	}
	w.untilRejoin(p, false)
	pt = &w.parts[p]
	if w.hasLoops && p >= uint32(len(w.vregs)) && w.stays(p) {
		w.toMemory(p, true)
		return nil
	}
	if w.kept != 0 && p >= uint32(len(w.vregs)) && w.wish == regalloc.NoPReg {
		w.hintUnsaved(p)
	}
	if vr.flags&isParam != 0 && pt.start == w.ranges[vr.rng].start && w.vote(pt.vreg) {
		w.toMemory(p, true)
		return nil
	}
	w.meetSets(p)
	if w.placeFree(p) {
		return nil
	}
	return w.placeBlocked(p)
}

// hintUnsaved sets w.wish for a part that begins where callee-saved registers are not saved any more, or not yet, and is not the first of its value:
// the first may have been in a register on the way there.
func (w *walker) hintUnsaved(p uint32) {
	pt := &w.parts[p]
	if b := w.instBlock[instOf(pt.start)]; w.out.Unsaved[b] && w.parts[pt.vreg].loc.IsReg() {
		w.wish = w.parts[pt.vreg].loc.Reg()
	}
}

// placeRemat places p, a part of a value that can be rematerialised. If no register is free, it shortens p as
// far as possible: such a value is not worth evicting another or saving a
// register only for moves.
func (w *walker) placeRemat(p uint32) bool {
	pt := &w.parts[p]
	vr := &w.vregs[pt.vreg]
	if pt.start > vr.lastWish {
		w.toMemory(p, false)
		return true
	}
	end := gapOf(vr.lastWish) + 4
	if x := &w.uses[w.uses[pt.use].next]; x.kind() == gapUse && x.pos < pt.start+4*soon {
		end = max(end, x.pos+atUse) // else the first definition would be useless
	}
	if end >= pt.end {
		return false
	}
	w.meetSets(p)
	hints, n := w.hints(p)
	for _, list := range [2][]regalloc.PReg{hints[:n], w.env.Order[w.class(pt.vreg)]} {
		for _, r := range list {
			if !w.env.CalleeSaved.Has(r) && w.until(r, p) >= pt.end {
				w.assign(p, r)
				return true
			}
		}
	}
	w.toMemory(w.split(p, end), false)
	return false
}

// meetSets finds where part p meets each of the reservations of sets.
func (w *walker) meetSets(p uint32) {
	end := w.parts[p].end
	for k, l := range w.reserved.setPos[:w.reserved.numSets] {
		w.setAt[k] = inf
		if n := len(l); n > 0 && l[n-1] < end {
			w.setAt[k] = w.firstAt(l, p, 0)
		}
	}
	if len(w.reserved.unsaved) > 0 {
		w.unsavedAt = w.firstOf(&w.reserved.unsaved, p)
	}
	w.refAt = inf
	f := w.vregs[w.parts[p].vreg].flags
	w.losing = &w.reserved.regSets[f&isWide>>wideShift]
	if f&isRef != 0 {
		w.refAt = w.firstSafepoint(p)
	}
}

// reservedAt returns where part p, for which meetSets was called, first meets a
// reservation of r, or inf.
func (w *walker) reservedAt(r regalloc.PReg, p uint32) uint32 {
	at := w.refAt
	for s := w.losing[r&63]; s != 0; s &= s - 1 {
		at = min(at, w.setAt[bits.TrailingZeros32(s)&(maxSets-1)])
	}
	if w.kept.Has(r) {
		at = min(at, w.unsavedAt)
	}
	if l := w.reserved.spans[r&63]; len(l) > 0 && l[len(l)-1].start < min(at, w.parts[p].end) {
		at = min(at, w.firstSpan(r, p))
	}
	return at
}

// until returns where part p first meets anything in r: r is free for p up to there.
func (w *walker) until(r regalloc.PReg, p uint32) uint32 {
	if w.regs[r&63].busy > w.pos {
		return 0
	}
	return w.untilTaken(r, p)
}

// untilTaken is until if the register is not known to be given away now.
func (w *walker) untilTaken(r regalloc.PReg, p uint32) uint32 {
	q := &w.regs[r&63]
	o := q.pass(w.pos)
	switch {
	case o.start <= w.pos:
		q.busy = o.end
		return 0
	case o.start >= w.parts[p].end:
		return w.reservedAt(r, p)
	}
	return min(w.freeUntil(q, p, none), w.reservedAt(r, p))
}

// candidate is a register that a part may have up to until.
type candidate struct {
	reg   regalloc.PReg
	until uint32
}

// placeFree gives p a register that is free for all of it, a hinted one if
// possible, else the one that is free longest, if that is long enough for a
// use; the rest of p is then queued. A callee-saved register that does not pay
// is taken only if p must have one now.
func (w *walker) placeFree(p uint32) bool {
	pt := &w.parts[p]
	w.pays = unknown
	need, now := w.needNow(p)
	if !now {
		need = w.firstWish(p)
		if w.kept != 0 {
			need = min(need, w.opens(p))
		}
	}
	longest := candidate{regalloc.NoPReg, max(pt.start, need)}
	unpaid := longest // the same among registers that are not worth saving
	// spare is free for all of p, but another value should better have it, or it is bad
	// for other members of p's class.
	class := w.coalescer.classFor(pt.vreg)
	spare, unsafe := regalloc.NoPReg, w.coalescer.unsafe(class, pt.vreg)
	hints, n := w.hints(p)
	for k, list := range [2][]regalloc.PReg{hints[:n], w.env.Order[w.class(pt.vreg)]} {
		hinted := k == 0
		for _, r := range list {
			until := w.until(r, p)
			switch {
			case until <= longest.until:
			case w.hasToSave(r) && (!w.paysSaving(p) || spare != regalloc.NoPReg && !unsafe.Has(spare)):
				if until > unpaid.until {
					unpaid = candidate{r, until}
				}
			case until >= pt.end && !hinted && (unsafe.Has(r) || w.coalescer.coveted(r, class, w.pos, pt.end)):
				if spare == regalloc.NoPReg {
					spare = r
				}
			case until >= pt.end:
				w.assign(p, r)
				return true
			case hinted && w.rarer(until, pt.start):
				// It is free throughout the loop, and saves moves there.
				w.keepUntil(p, until)
				w.assign(p, r)
				return true
			case !hinted || longest.reg == regalloc.NoPReg: // the first hint that is good enough is the best
				longest = candidate{r, until}
			}
		}
	}
	lasts := longest.reg != regalloc.NoPReg && w.rarer(longest.until, pt.start) // only rare code has to move p elsewhere
	if !lasts && w.mayOutweigh(p, spare, unsafe) {
		if r := w.outweighed(p); r != regalloc.NoPReg {
			w.evict(r)
			w.assign(p, r)
			return true
		}
	}
	if spare != regalloc.NoPReg {
		w.assign(p, spare)
		return true
	}
	if longest.reg == regalloc.NoPReg && now {
		longest = unpaid
	}
	if longest.reg == regalloc.NoPReg {
		return false
	}
	if longest.until < w.parts[p].end {
		w.keepUntil(p, longest.until)
	}
	w.assign(p, longest.reg)
	return true
}

// opens returns the last position before part p, if it begins where callee-saved registers are not saved, comes to where they are: it may have one
// from there on. Else it returns inf.
func (w *walker) opens(p uint32) uint32 {
	l := w.reserved.unsaved
	if n := len(l); n > 0 && w.unsavedAt <= w.parts[p].start && l[n-1].end < w.parts[p].end {
		return l[n-1].end - 1
	}
	return inf
}

// mayOutweigh reports whether to look for a register to evict, where spare is free but another class covets it, or members of
// p's class could not keep it, or there is none. A short-lived value gives a register back soon: it needs another than spare
// only in a deep loop.
func (w *walker) mayOutweigh(p uint32, spare regalloc.PReg, unsafe regalloc.PRegSet) bool {
	if spare == regalloc.NoPReg {
		return !w.isShort(p)
	}
	return !unsafe.Has(spare) && w.depthAt(w.parts[p].start) > 1
}

// isShort reports whether p spans so few instructions that evicting another value for it costs more than it brings,
// unless it is used very much more often.
func (w *walker) isShort(p uint32) bool { return w.parts[p].end-w.parts[p].start < 4*soon/2 }

// outweighed returns a register that could hold all of p if its present owner, a part of a
// value used much less often, were evicted; or NoPReg.
func (w *walker) outweighed(p uint32) regalloc.PReg {
	pt := &w.parts[p]
	lightest, least := regalloc.NoPReg, w.vregs[pt.vreg].weight/outweighFactor
	if w.isShort(p) {
		least /= shortFactor
	}
	for _, r := range w.env.Order[w.class(pt.vreg)] {
		o := w.regs[r].pass(w.pos)
		if o.start > w.pos {
			continue
		}
		x := &w.parts[o.part]
		weight := w.vregs[x.vreg].weight
		if weight >= least || w.reservedAt(r, p) < pt.end {
			continue
		}
		w.advance(o.part)
		if must := w.uses[w.uses[x.use].nextMust].pos; must < x.end && sameInst(must, w.pos) {
			continue
		}
		if w.freeUntil(&w.regs[r], p, o.part) >= pt.end {
			lightest, least = r, weight
		}
	}
	return lightest
}

// outweighFactor is how much more often per instruction a value has to be used than
// one that loses its register to it.
const outweighFactor = 2

// shortFactor is how many times as often again a short-lived value has to be used.
const shortFactor = 32

// needNow reports whether p must have a register in the very instruction that
// it starts in, so that it cannot be split before, and up to which position.
func (w *walker) needNow(p uint32) (pos uint32, now bool) {
	pt := &w.parts[p]
	n := w.uses[pt.use].nextMust
	pos = w.uses[n].pos
	if pos >= pt.end || readOf(pos) > pt.start {
		return pos, false
	}
	return w.lastMust(n), true
}

// lastMust returns the position of the last mustUse of the same value and
// instruction as the mustUse n.
func (w *walker) lastMust(n uint32) uint32 {
	for {
		next := w.uses[w.uses[n].next].nextMust
		if !sameInst(w.uses[next].pos, w.uses[n].pos) {
			return w.uses[n].pos
		}
		n = next
	}
}

// firstWish returns the position of the first use of p that would like a register;
// the end of p if there is none.
func (w *walker) firstWish(p uint32) uint32 {
	pt := &w.parts[p]
	u := &w.uses[pt.use]
	if w.vregs[pt.vreg].flags&isRemat != 0 {
		u = &w.uses[u.nextMust]
	}
	return min(u.pos, pt.end)
}

// hasToSave reports whether giving r to a part makes the function save and restore it.
func (w *walker) hasToSave(r regalloc.PReg) bool {
	return w.env.CalleeSaved.Has(r) && !w.out.Used.Has(r)
}

// paysSaving reports whether part p, which is being placed, is used often enough to pay for a save and a restore
// of its register.
func (w *walker) paysSaving(p uint32) bool {
	if w.pays == unknown {
		w.pays = no
		if w.countsUp(p) {
			w.pays = yes
		}
	}
	return w.pays == yes
}

// maxUses is how many uses countsUp looks at.
const maxUses = 32

// countsUp reports whether the first uses of part p run as often as a save and a restore.
func (w *walker) countsUp(p uint32) bool {
	pt := &w.parts[p]
	weight, price := uint32(0), w.reserved.savePrice
	if w.vregs[pt.vreg].flags&(isRemat|isArg) != 0 {
		price *= 2
	}
	for n, u := 0, pt.use; n < maxUses && w.uses[u].pos < pt.end; n, u = n+1, w.uses[u].next {
		if w.uses[u].kind() == softUse {
			continue
		}
		weight += w.freqAt(w.uses[u].pos)
		if weight >= price {
			return true
		}
	}
	return false
}

// hints are registers that would save moves if p had them, best first.
func (w *walker) hints(p uint32) (list [7]regalloc.PReg, n int) {
	pt := &w.parts[p]
	vr := &w.vregs[pt.vreg]
	class := w.coalescer.classFor(pt.vreg)
	var seen regalloc.PRegSet
	add := func(r regalloc.PReg) {
		if r != regalloc.NoPReg && w.env.Allocatable.Has(r) && !seen.Has(r) && r.Class() == w.class(pt.vreg) {
			seen = seen.Add(r)
			list[n] = r
			n++
		}
	}
	add(w.wish)
	if class != none {
		if cl := &w.coalescer.classes[class]; cl.depth >= 0 {
			add(regalloc.PReg(cl.pref))
		} else {
			add(w.mereHint(cl.pref, class, pt.end))
		}
	}
	u := pt.use
	for range 4 {
		x := &w.uses[u]
		if x.pos >= pt.end {
			break
		}
		if x.kind() == gapUse {
			if l := w.out.Allocs[x.operand()]; w.in.Operands[x.operand()].Constraint == regalloc.Fixed {
				add(l.Reg())
				break
			}
		}
		u = x.next
	}
	if vr.def.IsReg() {
		add(vr.def.Reg())
	}
	if r := regalloc.PReg(vr.pref); r != regalloc.NoPReg && !seen.Has(r) {
		add(w.mereHint(vr.pref, class, pt.end))
	}
	if vr.link != none {
		link := w.vregs[vr.link].pref
		if r := regalloc.PReg(link); r != regalloc.NoPReg && !seen.Has(r) {
			add(w.mereHint(link, class, pt.end))
		}
	}
	return list, n
}

// mereHint returns the register pref, or NoPReg if a class other than the part's covets it before end: the hint would save one
// move, and might cost that class one in each iteration.
func (w *walker) mereHint(pref uint8, class, end uint32) regalloc.PReg {
	r := regalloc.PReg(pref)
	if r != regalloc.NoPReg && w.coalescer.coveted(r, class, w.pos, end) {
		return regalloc.NoPReg
	}
	return r
}

// assign gives all of p the register r.
func (w *walker) assign(p uint32, r regalloc.PReg) {
	pt := &w.parts[p]
	pt.loc = regalloc.InReg(r)
	w.out.Used = w.out.Used.Add(r)
	w.occupy(&w.regs[r], p)
	vr := &w.vregs[pt.vreg]
	vr.pref = uint8(r)
	if c := w.coalescer.classFor(pt.vreg); c != none {
		cl := &w.coalescer.classes[c]
		if d := int8(min(w.depthAt(pt.start), 127)); d > cl.depth {
			cl.pref, cl.depth = uint8(r), d
			w.coalescer.favourite[r&63] = c
		}
	}
	if vr.link != none {
		if l := &w.vregs[vr.link]; l.pref == uint8(regalloc.NoPReg) {
			l.pref = uint8(r)
		}
	}
}

// placeBlocked makes a register free for p by evicting a part whose next use is
// far, or leaves p in memory if its own is farther.
func (w *walker) placeBlocked(p uint32) error {
	pt := &w.parts[p]
	need, now := w.needNow(p)
	if !now {
		if need = w.firstWish(p); need == pt.end {
			w.toMemory(p, false)
			return nil
		}
	}
	// A register scores as its owner does. It has to score least: more than the best one so far and, if p may be in memory, than p.
	best, bestUntil, least := regalloc.NoPReg, uint32(0), uint64(0)
	if !now {
		least = w.farness(p) + 1
	}
	for _, r := range w.env.Order[w.class(pt.vreg)] {
		o := w.regs[r].pass(w.pos)
		if o.start > w.pos {
			continue // free, but not long enough
		}
		score, may := w.dispensable(o.part, need, now)
		if !may || score < least {
			continue
		}
		if until := min(w.reservedAt(r, p), w.freeUntil(&w.regs[r], p, o.part)); until > need {
			best, bestUntil, least = r, until, score+1
		}
	}
	if best == regalloc.NoPReg && !now {
		w.toMemory(p, false)
		return nil
	}
	if best == regalloc.NoPReg {
		return fail(Unallocatable, instOf(w.pos), pt.vreg)
	}
	w.evict(best)
	if bestUntil < w.parts[p].end {
		w.keepUntil(p, bestUntil)
	}
	w.assign(p, best)
	return nil
}

// dispensable returns how far away the next use of x is, which has a register now, and whether it may lose it to a part that needs
// one up to need, and now or later.
func (w *walker) dispensable(x, need uint32, now bool) (score uint64, may bool) {
	score = w.farness(x)
	pt := &w.parts[x]
	n := w.uses[pt.use].nextMust
	if must := w.uses[n].pos; must >= pt.end || !sameInst(must, w.pos) {
		return score, true
	}
	// This instruction needs its register. But if it only reads it, and the other part has
	// to survive the writes too, x may look for another register.
	return 0, now && isWrite(need) && isRead(w.lastMust(n)) && isRead(w.pos)
}

// advance moves p's use to the first one not before the walk's position.
func (w *walker) advance(p uint32) {
	pt := &w.parts[p]
	for w.uses[pt.use].pos < w.pos && w.uses[pt.use].pos < pt.end {
		if w.uses[pt.use].kind() != softUse {
			pt.last = w.uses[pt.use].pos
		}
		pt.use = w.uses[pt.use].next
	}
	for w.ranges[pt.rng].end <= w.pos && w.ranges[pt.rng].next != 0 {
		pt.rng = w.ranges[pt.rng].next
	}
}

// farness measures how far away the next use of p is. A use in a loop counts as nearer, and a part
// that is cheap to reload as farther.
func (w *walker) farness(p uint32) uint64 {
	w.advance(p)
	pt := &w.parts[p]
	pos := min(w.uses[pt.use].pos, pt.end-1)
	depth := min(w.depthAt(pos), 7)
	score := uint64((pos-min(pos, w.pos))>>2+1) << (3 * (7 - depth))
	f := w.vregs[pt.vreg].flags
	if f&(isRemat|isArg) != 0 {
		score *= 4
	} else if f&needSlot != 0 {
		score *= 2
	}
	return score
}
