package linear

import (
	"math/bits"
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// walker is the state of the walk over the positions.
type walker struct {
	flow.Intervals
	reserved  *flow.Reservations
	coalescer *flow.Classes

	parts  []flow.Part
	budget int // steps left
	pos    uint32
	regs   [64]regQueue
	queue  []uint32 // first part that starts at each position; valid if marked
	marks  []uint64
	met    uint32               // the clobber sets that the current part meets
	setAt  [flow.MaxSets]uint32 // where it meets each of them
	losing *[64]uint32          // by register: the clobber sets that lose the current part there
	hit    regalloc.PRegSet     // the registers in which the current part may meet reservations, but for those by operands
	wish   regalloc.PReg        // register that holds most arguments of a parameter; see vote
	refAt  uint32               // where the current part meets a safepoint, if it is a reference
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

// Place implements flow.Placer.
func (w *walker) Place(iv *flow.Intervals, _ *flow.Liveness, reserved *flow.Reservations, classes *flow.Classes) ([]flow.Part, error) {
	w.Intervals, w.reserved, w.coalescer = *iv, reserved, classes
	err := w.walk()
	iv.Ranges = w.Ranges
	return w.parts, err
}

// walk goes through the parts in the order of their starts and gives each a
// register, or leaves it in memory up to where it needs one.
func (w *walker) walk() error {
	w.budget = 1024 + 32*(len(w.In.Insts)+len(w.In.Operands)+len(w.In.VRegs)+len(w.In.VRegLists))
	w.effort = 1024 + 16*(len(w.In.Insts)+len(w.In.VRegLists))
	w.kept = 0
	if len(w.reserved.Unsaved) > 0 {
		w.kept = w.Env.CalleeSaved
	}
	w.makeParts()
	for word := range w.marks {
		for w.marks[word] != 0 {
			w.In.Stop.Poll()
			pos := uint32(word*64 + bits.TrailingZeros64(w.marks[word]))
			p := w.queue[pos]
			if next := w.parts[p].Next; next == flow.None {
				w.marks[word] &= w.marks[word] - 1
			} else {
				w.queue[pos] = next
			}
			if w.pos != pos {
				w.pos = pos
				w.reserved.Pass(pos)
			}
			if err := w.place(p); err != nil {
				return err
			}
			if w.budget--; w.budget < 0 {
				return flow.Fail(flow.Exhausted, flow.InstOf(pos), w.parts[p].Value)
			}
		}
	}
	w.Out.Stats.Splits = w.nSplit
	return nil
}

// makeParts makes one part of each value's whole interval and queues it.
func (w *walker) makeParts() {
	w.pos, w.nSplit = 0, 0
	for r := range w.regs {
		q := &w.regs[r]
		q.list, q.head, q.busy, q.reserved = q.list[:0], 0, 0, flow.Inf
		if l := w.reserved.Spans[r]; len(l) > 0 {
			q.reserved = l[len(l)-1].Start
		}
	}
	size := 4*len(w.In.Insts) + 4
	w.queue = stop.Resize(w.In.Stop, w.queue, size)
	w.marks = stop.Resize(w.In.Stop, w.marks, size/64+1)
	clear(w.marks)
	w.parts = stop.Grow(w.In.Stop, w.parts[:0], 2*len(w.Values))[:len(w.Values)]
	for v := range w.Values {
		w.In.Stop.PollAt(v)
		vr := &w.Values[v]
		if vr.Flags&flow.IsRemat != 0 {
			vr.Weight /= 2
		}
		vr.Weight /= float32(vr.End - min(vr.End, w.Ranges[vr.Range].Start) + 4*flow.AtUse)
		pt := flow.Part{Start: flow.Inf, End: vr.End, Range: vr.Range, First: vr.Use, Use: vr.Use, Value: uint32(v), Sib: flow.None, Next: flow.None}
		if vr.Range != 0 {
			pt.Start = w.Ranges[vr.Range].Start
		}
		w.parts[v] = pt
	}
	// Lists are last in, first out: values of lower numbers come first.
	for v := len(w.parts) - 1; v >= 0; v-- {
		w.In.Stop.PollAt(v)
		if w.parts[v].Start != flow.Inf {
			w.enqueue(uint32(v))
		}
	}
}

func (w *walker) enqueue(p uint32) {
	pt := &w.parts[p]
	word, bit := pt.Start>>6, uint64(1)<<(pt.Start&63)
	pt.Next = flow.None
	if w.marks[word]&bit != 0 {
		pt.Next = w.queue[pt.Start]
	}
	w.marks[word] |= bit
	w.queue[pt.Start] = p
}

// place finds a place for part p, which starts at the walk's position.
func (w *walker) place(p uint32) error {
	w.wish = regalloc.NoPReg // of the part before, or even of another function
	pt := &w.parts[p]
	vr := &w.Values[pt.Value]
	if vr.Flags&flow.IsArg != 0 && pt.Start == w.Ranges[vr.Range].Start && w.InstBlock[flow.InstOf(pt.Start)] == 0 {
		w.toMemory(p, true)
		return nil
	}
	if vr.Flags&flow.IsRemat != 0 {
		if w.placeRemat(p) {
			return nil
		}
		pt = &w.parts[p]
	}
	w.untilRejoin(p, false)
	pt = &w.parts[p]
	if w.HasLoops && p >= uint32(len(w.Values)) && w.stays(p) {
		w.toMemory(p, true)
		return nil
	}
	if w.kept != 0 && p >= uint32(len(w.Values)) && w.wish == regalloc.NoPReg {
		w.hintUnsaved(p)
	}
	if vr.Flags&flow.IsParam != 0 && pt.Start == w.Ranges[vr.Range].Start && w.vote(pt.Value) {
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
	if b := w.InstBlock[flow.InstOf(pt.Start)]; w.Out.Unsaved[b] && w.parts[pt.Value].Loc.IsReg() {
		w.wish = w.parts[pt.Value].Loc.Reg()
	}
}

// placeRemat places p, a part of a value that can be rematerialised. If no register is free, it shortens p as
// far as possible: such a value is not worth evicting another or saving a
// register only for moves.
func (w *walker) placeRemat(p uint32) bool {
	pt := &w.parts[p]
	vr := &w.Values[pt.Value]
	if pt.Start > vr.LastWish {
		w.toMemory(p, false)
		return true
	}
	end := flow.GapOf(vr.LastWish) + 4
	if x := &w.Uses[w.Uses[pt.Use].Next]; x.Kind() == flow.GapUse && x.Pos < pt.Start+4*flow.Soon {
		end = max(end, x.Pos+flow.AtUse) // else the first definition would be useless
	}
	if end >= pt.End {
		return false
	}
	w.meetSets(p)
	hints, n := w.hints(p)
	for _, list := range [2][]regalloc.PReg{hints[:n], w.Env.Order[w.ClassOf(pt.Value)]} {
		for _, r := range list {
			if !w.Env.CalleeSaved.Has(r) && w.until(r, pt) >= pt.End {
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
	pt := &w.parts[p]
	w.met, w.hit = 0, 0
	f := w.Values[pt.Value].Flags
	if w.reserved.NextSet < pt.End {
		for k, l := range w.reserved.SetPos[:w.reserved.NumSets] {
			if at := w.firstAt(l, pt, 0); at != flow.Inf {
				w.setAt[k] = at
				w.met |= 1 << k
				w.hit |= w.reserved.Lost(k, f)
			}
		}
	}
	if len(w.reserved.Unsaved) > 0 {
		w.unsavedAt = w.firstOf(&w.reserved.Unsaved, pt)
		w.hit |= w.kept
	}
	w.refAt = flow.Inf
	w.losing = &w.reserved.RegSets[f&flow.IsWide>>flow.WideShift]
	if f&flow.IsRef != 0 {
		w.refAt = w.firstSafepoint(pt)
		w.hit = ^regalloc.PRegSet(0)
	}
}

// reservedAt returns where part pt, for which meetSets was called, first meets a
// reservation of r, or inf.
func (w *walker) reservedAt(r regalloc.PReg, pt *flow.Part) uint32 {
	at := w.refAt
	for s := w.losing[r&63] & w.met; s != 0; s &= s - 1 {
		at = min(at, w.setAt[bits.TrailingZeros32(s)&(flow.MaxSets-1)])
	}
	if w.kept.Has(r) {
		at = min(at, w.unsavedAt)
	}
	if w.regs[r&63].reserved < min(at, pt.End) {
		at = min(at, w.firstSpan(r, pt))
	}
	return at
}

// until returns where part pt first meets anything in r: r is free for pt up to there.
func (w *walker) until(r regalloc.PReg, pt *flow.Part) uint32 {
	if w.regs[r&63].busy > w.pos {
		return 0
	}
	return w.untilTaken(r, pt)
}

// untilTaken is until if the register is not known to be given away now.
func (w *walker) untilTaken(r regalloc.PReg, pt *flow.Part) uint32 {
	q := &w.regs[r&63]
	o := q.pass(w.pos)
	if o.start <= w.pos {
		q.busy = o.end
		return 0
	}
	at := flow.Inf
	if w.hit.Has(r) || q.reserved < pt.End {
		at = w.reservedAt(r, pt)
	}
	if o.start < pt.End {
		at = min(at, w.freeUntil(q, pt, flow.None))
	}
	return at
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
	longest := candidate{regalloc.NoPReg, max(pt.Start, need)}
	unpaid := longest // the same among registers that are not worth saving
	// spare is free for all of p, but another value should better have it, or it is bad
	// for other members of p's class.
	class := w.coalescer.ClassFor(pt.Value)
	spare, unsafe := regalloc.NoPReg, w.coalescer.Unsafe(class, pt.Value)
	toSave := w.Env.CalleeSaved &^ w.Out.Used // giving one of these to a part makes the function save and restore it
	hints, n := w.hints(p)
	order := w.Env.Order[w.ClassOf(pt.Value)]
	for k := -n; k < len(order); k++ {
		hinted, r := k < 0, regalloc.NoPReg
		if hinted {
			r = hints[n+k]
		} else {
			r = order[k]
		}
		until := w.until(r, pt)
		switch {
		case until <= longest.until:
		case toSave.Has(r) && (!w.paysSaving(p) || spare != regalloc.NoPReg && !unsafe.Has(spare)):
			if until > unpaid.until {
				unpaid = candidate{r, until}
			}
		case until >= pt.End && !hinted && (unsafe.Has(r) || w.coalescer.Coveted(r, class, w.pos, pt.End)):
			if spare == regalloc.NoPReg {
				spare = r
			}
		case until >= pt.End:
			w.assign(p, r)
			return true
		case hinted && w.Rarer(until, pt.Start):
			// It is free throughout the loop, and saves moves there.
			w.keepUntil(p, until)
			w.assign(p, r)
			return true
		case !hinted || longest.reg == regalloc.NoPReg: // the first hint that is good enough is the best
			longest = candidate{r, until}
		}
	}
	lasts := longest.reg != regalloc.NoPReg && w.Rarer(longest.until, pt.Start) // only rare code has to move p elsewhere
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
	if longest.until < w.parts[p].End {
		w.keepUntil(p, longest.until)
	}
	w.assign(p, longest.reg)
	return true
}

// opens returns the last position before part p, if it begins where callee-saved registers are not saved, comes to where they are: it may have one
// from there on. Else it returns inf.
func (w *walker) opens(p uint32) uint32 {
	l := w.reserved.Unsaved
	if n := len(l); n > 0 && w.unsavedAt <= w.parts[p].Start && l[n-1].End < w.parts[p].End {
		return l[n-1].End - 1
	}
	return flow.Inf
}

// mayOutweigh reports whether to look for a register to evict, where spare is free but another class covets it, or members of
// p's class could not keep it, or there is none. A short-lived value gives a register back soon: it needs another than spare
// only in a deep loop.
func (w *walker) mayOutweigh(p uint32, spare regalloc.PReg, unsafe regalloc.PRegSet) bool {
	if spare == regalloc.NoPReg {
		return !w.isShort(p)
	}
	return !unsafe.Has(spare) && w.DepthAt(w.parts[p].Start) > 1
}

// isShort reports whether p spans so few instructions that evicting another value for it costs more than it brings,
// unless it is used very much more often.
func (w *walker) isShort(p uint32) bool { return w.parts[p].End-w.parts[p].Start < 4*flow.Soon/2 }

// outweighed returns a register that could hold all of p if its present owner, a part of a
// value used much less often, were evicted; or NoPReg.
func (w *walker) outweighed(p uint32) regalloc.PReg {
	pt := &w.parts[p]
	lightest, least := regalloc.NoPReg, w.Values[pt.Value].Weight/outweighFactor
	if w.isShort(p) {
		least /= shortFactor
	}
	for _, r := range w.Env.Order[w.ClassOf(pt.Value)] {
		o := w.regs[r].pass(w.pos)
		if o.start > w.pos {
			continue
		}
		x := &w.parts[o.part]
		weight := w.Values[x.Value].Weight
		if weight >= least || w.reservedAt(r, pt) < pt.End {
			continue
		}
		w.advance(o.part)
		if must := w.Uses[w.Uses[x.Use].NextMust].Pos; must < x.End && flow.SameInst(must, w.pos) {
			continue
		}
		if w.freeUntil(&w.regs[r], pt, o.part) >= pt.End {
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
	n := w.Uses[pt.Use].NextMust
	pos = w.Uses[n].Pos
	if pos >= pt.End || flow.ReadOf(pos) > pt.Start {
		return pos, false
	}
	return w.lastMust(n), true
}

// lastMust returns the position of the last mustUse of the same value and
// instruction as the mustUse n.
func (w *walker) lastMust(n uint32) uint32 {
	for {
		next := w.Uses[w.Uses[n].Next].NextMust
		if !flow.SameInst(w.Uses[next].Pos, w.Uses[n].Pos) {
			return w.Uses[n].Pos
		}
		n = next
	}
}

// firstWish returns the position of the first use of p that would like a register;
// the end of p if there is none.
func (w *walker) firstWish(p uint32) uint32 {
	pt := &w.parts[p]
	u := &w.Uses[pt.Use]
	if w.Values[pt.Value].Flags&flow.IsRemat != 0 {
		u = &w.Uses[u.NextMust]
	}
	return min(u.Pos, pt.End)
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

// maxUses is how many uses countsUp looks at; four times as many of a value that is cheap to make or load again.
const maxUses = 32

// countsUp reports whether the first uses of part p run as often as a save and a restore. Of a value that is cheap to make or load again, only those
// count before which it is lost in other registers.
func (w *walker) countsUp(p uint32) bool {
	pt := &w.parts[p]
	cheap := w.Values[pt.Value].Flags&(flow.IsRemat|flow.IsArg) != 0
	weight, lost, most := uint32(0), pt.Start, maxUses
	if cheap {
		most *= 4
	}
	for n, u := 0, pt.Use; n < most && w.Uses[u].Pos < pt.End; n, u = n+1, w.Uses[u].Next {
		pos := w.Uses[u].Pos
		if w.Uses[u].Kind() == flow.SoftUse || cheap && pos < lost {
			continue
		}
		if cheap {
			lost = w.lostBehind(pos)
		}
		weight += w.FreqAt(pos)
		if weight >= w.reserved.SavePrice {
			return true
		}
	}
	return false
}

// lostBehind returns the first position behind pos at which an instruction clobbers registers, or inf.
func (w *walker) lostBehind(pos uint32) uint32 {
	at := uint32(flow.Inf)
	for _, l := range w.reserved.SetPos[:w.reserved.NumSets] {
		if j := sort.Search(len(l), func(k int) bool { return l[k] <= pos }) - 1; j >= 0 {
			at = min(at, l[j])
		}
	}
	return at
}

// hints are registers that would save moves if p had them, best first.
func (w *walker) hints(p uint32) (list [7]regalloc.PReg, n int) {
	pt := &w.parts[p]
	vr := &w.Values[pt.Value]
	class := w.coalescer.ClassFor(pt.Value)
	left := w.Env.Allocatable.OfClass(w.ClassOf(pt.Value)) // what is not in list
	add := func(r regalloc.PReg) {
		if left.Has(r) {
			left = left.Remove(r)
			list[n] = r
			n++
		}
	}
	add(w.wish)
	if class != flow.None {
		if cl := &w.coalescer.All[class]; cl.Depth >= 0 {
			add(regalloc.PReg(cl.Pref))
		} else {
			add(w.mereHint(cl.Pref, class, pt.End))
		}
	}
	u := pt.Use
	for range 4 {
		x := &w.Uses[u]
		if x.Pos >= pt.End {
			break
		}
		if x.Kind() == flow.GapUse {
			if l := w.Out.Allocs[x.Operand()]; w.In.Operands[x.Operand()].Constraint == regalloc.Fixed {
				add(l.Reg())
				break
			}
		}
		u = x.Next
	}
	if vr.Def.IsReg() {
		add(vr.Def.Reg())
	}
	if left.Has(regalloc.PReg(vr.Pref)) {
		add(w.mereHint(vr.Pref, class, pt.End))
	}
	if vr.Link != flow.None {
		link := w.Values[vr.Link].Pref
		if left.Has(regalloc.PReg(link)) {
			add(w.mereHint(link, class, pt.End))
		}
	}
	return list, n
}

// mereHint returns the register pref, or NoPReg if a class other than the part's covets it before end: the hint would save one
// move, and might cost that class one in each iteration.
func (w *walker) mereHint(pref uint8, class, end uint32) regalloc.PReg {
	r := regalloc.PReg(pref)
	if r != regalloc.NoPReg && w.coalescer.Coveted(r, class, w.pos, end) {
		return regalloc.NoPReg
	}
	return r
}

// assign gives all of p the register r.
func (w *walker) assign(p uint32, r regalloc.PReg) {
	pt := &w.parts[p]
	pt.Loc = regalloc.InReg(r)
	w.Out.Used = w.Out.Used.Add(r)
	w.occupy(&w.regs[r], p)
	vr := &w.Values[pt.Value]
	vr.Pref = uint8(r)
	if c := w.coalescer.ClassFor(pt.Value); c != flow.None {
		cl := &w.coalescer.All[c]
		if d := int8(min(w.DepthAt(pt.Start), 127)); d > cl.Depth {
			cl.Pref, cl.Depth = uint8(r), d
			w.coalescer.Favourite[r&63] = c
		}
	}
	if vr.Link != flow.None {
		if l := &w.Values[vr.Link]; l.Pref == uint8(regalloc.NoPReg) {
			l.Pref = uint8(r)
		}
	}
}

// placeBlocked makes a register free for p by evicting a part whose next use is
// far, or leaves p in memory if its own is farther.
func (w *walker) placeBlocked(p uint32) error {
	pt := &w.parts[p]
	need, now := w.needNow(p)
	if !now {
		if need = w.firstWish(p); need == pt.End {
			w.toMemory(p, false)
			return nil
		}
	}
	// A register scores as its owner does. It has to score least: more than the best one so far and, if p may be in memory, than p.
	best, bestUntil, least := regalloc.NoPReg, uint32(0), uint64(0)
	if !now {
		least = w.farness(p) + 1
	}
	for _, r := range w.Env.Order[w.ClassOf(pt.Value)] {
		o := w.regs[r].pass(w.pos)
		if o.start > w.pos {
			continue // free, but not long enough
		}
		score, may := w.dispensable(o.part, need, now)
		if !may || score < least {
			continue
		}
		if until := min(w.reservedAt(r, pt), w.freeUntil(&w.regs[r], pt, o.part)); until > need {
			best, bestUntil, least = r, until, score+1
		}
	}
	if best == regalloc.NoPReg && !now {
		w.toMemory(p, false)
		return nil
	}
	if best == regalloc.NoPReg {
		return flow.Fail(flow.Unallocatable, flow.InstOf(w.pos), pt.Value)
	}
	w.evict(best)
	if bestUntil < w.parts[p].End {
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
	n := w.Uses[pt.Use].NextMust
	if must := w.Uses[n].Pos; must >= pt.End || !flow.SameInst(must, w.pos) {
		return score, true
	}
	// This instruction needs its register. But if it only reads it, and the other part has
	// to survive the writes too, x may look for another register.
	return 0, now && flow.IsWrite(need) && flow.IsRead(w.lastMust(n)) && flow.IsRead(w.pos)
}

// advance moves p's use to the first one not before the walk's position.
func (w *walker) advance(p uint32) {
	pt := &w.parts[p]
	for w.Uses[pt.Use].Pos < w.pos && w.Uses[pt.Use].Pos < pt.End {
		if w.Uses[pt.Use].Kind() != flow.SoftUse {
			pt.Last = w.Uses[pt.Use].Pos
		}
		pt.Use = w.Uses[pt.Use].Next
	}
	for w.Ranges[pt.Range].End <= w.pos && w.Ranges[pt.Range].Next != 0 {
		pt.Range = w.Ranges[pt.Range].Next
	}
}

// farness measures how far away the next use of p is. A use in a loop counts as nearer, and a part
// that is cheap to reload as farther.
func (w *walker) farness(p uint32) uint64 {
	w.advance(p)
	pt := &w.parts[p]
	pos := min(w.Uses[pt.Use].Pos, pt.End-1)
	depth := min(w.DepthAt(pos), 7)
	score := uint64((pos-min(pos, w.pos))>>2+1) << (3 * (7 - depth))
	f := w.Values[pt.Value].Flags
	if f&(flow.IsRemat|flow.IsArg) != 0 {
		score *= 4
	} else if f&flow.NeedSlot != 0 {
		score *= 2
	}
	return score
}
