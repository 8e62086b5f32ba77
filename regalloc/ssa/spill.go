package ssa

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// spilling decides which values are in registers. Its results are, by block, the values in registers at the start and at the
// end, and events between.
type spilling struct {
	flow.Intervals
	live     *flow.Liveness
	reserved *flow.Reservations
	classes  *flow.Classes
	order    *order
	dist     *distances
	demand   demand
	entering entering

	entries, exits, events blockLists
	// avoid are, by value, registers that instructions take away from it, cold code excepted.
	avoid []regalloc.PRegSet
	// allowed are the registers that values may have: not the callee-saved ones that no value has paid for.
	allowed regalloc.PRegSet
	// base are those of the present block.
	base    regalloc.PRegSet
	unsaved bool // the callee-saved registers are the caller's in the present block

	spills bool // some value is in memory somewhere

	set   [regalloc.NumClasses][]uint32 // values in registers
	index []uint32                      // by value: its index in set plus 1, or 0
	next  []uint32                      // by value, if it is live: what distances.next says of its next use
	left  []float32                     // by value: how often uses run that are still to come
	// read and late are, by value, the latest instruction plus 1 that reads it where it is, and that does so at its writing position; must and mustLate that of the
	// latest that needs a register for that.
	read, late, must, mustLate []uint32
	// unused is, by value, where entries has it, plus 1, if it has been in a register since the start of the block and has not been used there.
	unused []uint32
}

// blockLists are lists of words, one for each block.
type blockLists struct {
	words  []uint32
	ranges []regalloc.Range
}

func (l *blockLists) reset(f *stop.Flag, blocks int) {
	l.words = l.words[:0]
	l.ranges = stop.Resize(f, l.ranges, blocks)
}

// of returns the list of block b.
func (l *blockLists) of(b uint32) []uint32 {
	r := l.ranges[b]
	return l.words[r.Start:r.End]
}

// begin begins the list of block b, end ends it.
func (l *blockLists) begin(b uint32) { l.ranges[b].Start = uint32(len(l.words)) }
func (l *blockLists) end(b uint32)   { l.ranges[b].End = uint32(len(l.words)) }

// An event is two words: a position, and a value shifted by one with a bit that says whether it comes into a register, or leaves one.
const isIn = 1

func (s *spilling) spill(iv *flow.Intervals, live *flow.Liveness, reserved *flow.Reservations, classes *flow.Classes, o *order, d *distances) error {
	s.Intervals, s.live, s.reserved, s.classes, s.order, s.dist = *iv, live, reserved, classes, o, d
	in, n := s.In, len(s.Values)
	f := in.Stop
	s.entries.reset(f, len(in.Blocks))
	s.exits.reset(f, len(in.Blocks))
	s.events.reset(f, len(in.Blocks))
	s.avoid = stop.Zeroed(f, s.avoid, n)
	s.index = stop.Zeroed(f, s.index, n)
	s.next = stop.Resize(f, s.next, n)
	s.left = stop.Resize(f, s.left, n)
	for _, l := range [...]*[]uint32{&s.read, &s.late, &s.must, &s.mustLate} {
		*l = stop.Zeroed(f, *l, n)
	}
	s.unused = stop.Zeroed(f, s.unused, n)
	s.entering.reset(f, n, len(classes.All))
	for v := range s.left {
		f.PollAt(v)
		s.left[v] = s.Values[v].Weight
	}
	s.spills = false
	s.allowed = s.Env.Allocatable &^ (s.Env.CalleeSaved &^ s.Out.Used)
	for _, b := range o.blocks {
		f.Poll()
		if err := s.block(b); err != nil {
			return err
		}
	}
	return nil
}

func (s *spilling) block(b uint32) error {
	in := s.In
	s.base, s.unsaved = s.baseOf(b), s.Out.UnsavedIn(regalloc.Block(b))
	s.enter(b)
	s.events.begin(b)
	info := &in.Blocks[b]
	for i := info.Insts.Start; i < info.Insts.End; i++ {
		in.Stop.PollAt(int(i))
		if err := s.inst(b, i); err != nil {
			return err
		}
	}
	s.events.end(b)
	s.exits.begin(b)
	for c := range s.set {
		s.exits.words = append(s.exits.words, s.set[c]...)
		for _, v := range s.set[c] {
			s.index[v], s.unused[v] = 0, 0
		}
		s.set[c] = s.set[c][:0]
	}
	s.exits.end(b)
	return nil
}

// baseOf returns the registers that values may have in block b.
func (s *spilling) baseOf(b uint32) regalloc.PRegSet {
	if s.Out.UnsavedIn(regalloc.Block(b)) {
		return s.allowed &^ s.Env.CalleeSaved
	}
	return s.allowed
}

func (s *spilling) event(pos, v, in uint32) {
	s.events.words = append(s.events.words, pos, v<<1|in)
}

// add puts v into a register.
func (s *spilling) add(v uint32) {
	c := s.ClassOf(v)
	s.set[c] = append(s.set[c], v)
	s.index[v] = uint32(len(s.set[c]))
}

// remove takes v out of its register.
func (s *spilling) remove(v uint32) {
	l := s.set[s.ClassOf(v)]
	at, last := s.index[v]-1, l[len(l)-1]
	l[at], s.index[last] = last, at+1
	s.set[s.ClassOf(v)] = l[:len(l)-1]
	s.index[v], s.unused[v] = 0, 0
}

// inst decides what comes into registers for instruction i, and what leaves them.
func (s *spilling) inst(b, i uint32) error {
	d := &s.demand
	d.find(&s.Intervals, i)
	s.reads(b, i)
	for c := range s.set {
		class := regalloc.Class(c)
		if err := s.shrink(class, i, flow.AtUse, s.regs(class, d.named)-d.early[c], d.named, s.must); err != nil {
			return err
		}
	}
	s.drop(i, s.late)
	if err := s.outlive(i); err != nil {
		return err
	}
	if !d.plain {
		s.noteLost(b)
		s.drop(i, nil)
	}
	s.defs(i)
	return nil
}

// regs returns how many registers of a class values may have, but for those taken.
func (s *spilling) regs(c regalloc.Class, taken regalloc.PRegSet) int {
	return (s.base &^ taken).OfClass(c).Len()
}

// reads brings in what instruction i needs, and lets go what it only copies elsewhere for the last time.
func (s *spilling) reads(b, i uint32) {
	in := s.In
	first, end := in.OperandRange(regalloc.Inst(i))
	d := &s.demand
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if !o.Access.Reads() {
			continue
		}
		v := uint32(o.VReg)
		s.next[v] = s.dist.next[j]
		s.unused[v] = 0
		s.left[v] -= float32(s.Freq[b])
		if !d.plain && d.isCopied(j, o) {
			continue
		}
		s.read[v] = i + 1
		if o.Access == regalloc.LateUse {
			s.late[v] = i + 1
		}
		if o.Constraint == regalloc.Any && s.Values[v].Flags&flow.IsRemat == 0 {
			continue
		}
		s.must[v] = i + 1
		if o.Access == regalloc.LateUse {
			s.mustLate[v] = i + 1
		}
		if s.index[v] == 0 {
			s.add(v)
			s.event(4*i+flow.AtUse, v, isIn)
		}
	}
	if d.plain {
		return
	}
	for j := first; j < end; j++ {
		if o := &in.Operands[j]; o.Access.Reads() && s.index[o.VReg] != 0 && s.dist.next[j] == never && s.read[o.VReg] != i+1 {
			s.remove(uint32(o.VReg))
		}
	}
}

// drop lets go what instruction i reads for the last time, except what it still needs according to kept.
func (s *spilling) drop(i uint32, kept []uint32) {
	in := s.In
	first, end := in.OperandRange(regalloc.Inst(i))
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if o.Access.Reads() && s.dist.next[j] == never && s.index[o.VReg] != 0 && (kept == nil || kept[o.VReg] != i+1) {
			s.remove(uint32(o.VReg))
		}
	}
}

// outlive makes room for the definitions of instruction i, and leaves no more in registers than may outlive it.
func (s *spilling) outlive(i uint32) error {
	d := &s.demand
	if s.In.Insts[i].Flags&regalloc.Safepoint != 0 {
		s.evictRefs(i)
	}
	for c := range s.set {
		class := regalloc.Class(c)
		room := s.regs(class, d.lost[0]) - d.late[c] - d.early[c]
		if !d.plain {
			room = min(room, s.regs(class, d.named|d.lost[0])-d.early[c])
		}
		if err := s.shrink(class, i, flow.AtDef, room, d.named|d.lost[0], s.mustLate); err != nil {
			return err
		}
	}
	if d.lost[0] != d.lost[1] || d.wideLate+d.wideEarly > 0 {
		return s.shrinkWide(i)
	}
	return nil
}

// evictRefs moves all references to memory.
func (s *spilling) evictRefs(i uint32) {
	for c := range s.set {
		for k := len(s.set[c]) - 1; k >= 0; k-- {
			if v := s.set[c][k]; s.Values[v].Flags&flow.IsRef != 0 {
				s.evict(v, i, flow.AtDef)
			}
		}
	}
}

// shrink evicts values of class c until no more than room are left at the position at of instruction i. It spares those that instruction i needs according to
// kept. taken is why there is no room for more.
func (s *spilling) shrink(c regalloc.Class, i, at uint32, room int, taken regalloc.PRegSet, kept []uint32) error {
	for len(s.set[c]) > room {
		v := s.farthest(s.set[c], i, kept, 0)
		if v == flow.None && !s.allow(c, taken) {
			return flow.Fail(flow.Unallocatable, i, flow.None)
		}
		if v == flow.None || s.pays(v) && s.allow(c, taken) {
			room++
			continue
		}
		s.evict(v, i, at)
	}
	return nil
}

// shrinkWide is shrink for values of 16 bytes, which instruction i may lose where it does not lose others.
func (s *spilling) shrinkWide(i uint32) error {
	d := &s.demand
	list := &s.set[regalloc.Float]
	wide := 0
	for _, v := range *list {
		if s.Values[v].Flags&flow.IsWide != 0 {
			wide++
		}
	}
	room := min(s.regs(regalloc.Float, d.lost[1])-d.wideLate, s.regs(regalloc.Float, d.named|d.lost[1])) - d.wideEarly
	for ; wide > room; wide-- {
		v := s.farthest(*list, i, s.mustLate, flow.IsWide)
		if v == flow.None && !s.allow(regalloc.Float, d.named|d.lost[1]) {
			return flow.Fail(flow.Unallocatable, i, flow.None)
		}
		if v != flow.None {
			s.evict(v, i, flow.AtDef)
		}
	}
	return nil
}

// farthest returns the value of the list that has all the given flags and whose next use is farthest, except those that instruction i needs
// according to kept. What costs no store counts as farther.
func (s *spilling) farthest(list []uint32, i uint32, kept []uint32, flags uint16) uint32 {
	best, most := flow.None, uint64(0)
	for _, v := range list {
		f := s.Values[v].Flags
		if kept[v] == i+1 || f&flags != flags {
			continue
		}
		far := uint64(s.next[v]-min(s.next[v], i)) + 1
		if f&(flow.IsRemat|flow.IsArg) != 0 {
			far *= 4
		}
		if far > most {
			best, most = v, far
		}
	}
	return best
}

// evict moves v to memory before instruction i needs room at the position at: behind its reads only if it reads v, else before. If v has not been used in its register since
// the block began, it has not been there.
func (s *spilling) evict(v, i, at uint32) {
	s.spills = true
	switch since := s.unused[v]; {
	case since != 0:
		s.entries.words[since-1] = flow.None
	case s.read[v] == i+1:
		s.event(4*i+at, v, 0)
	default:
		s.event(4*i+flow.AtUse, v, 0)
	}
	s.remove(v)
}

// pays reports whether the uses of v that are still to come run as often as saving and restoring a callee-saved register.
func (s *spilling) pays(v uint32) bool {
	price := float32(s.reserved.SavePrice)
	if s.Values[v].Flags&(flow.IsRemat|flow.IsArg) != 0 {
		price *= 2
	}
	return s.left[v] >= price
}

// allow allows one more callee-saved register of class c, which is not among those taken. It reports whether there is one.
func (s *spilling) allow(c regalloc.Class, taken regalloc.PRegSet) bool {
	unpaid := s.Env.CalleeSaved & s.Env.Allocatable &^ s.allowed &^ taken
	if s.unsaved {
		return false
	}
	for _, r := range s.Env.Order[c] {
		if unpaid.Has(r) {
			s.allowed = s.allowed.Add(r)
			s.base = s.allowed
			return true
		}
	}
	return false
}

// often is how many times as often as an instruction a value may be defined for the instruction to decide where it is.
const often = 2

// noteLost notes for all values in registers which of these the instruction takes away.
func (s *spilling) noteLost(b uint32) {
	d := &s.demand
	if d.named|d.lost[1] == 0 || s.In.Blocks[b].Cold {
		return
	}
	for c := range s.set {
		for _, v := range s.set[c] {
			if s.Freq[s.Values[v].DefBlock] <= often*s.Freq[b] {
				s.avoid[v] |= d.refused(v, s.Values[v].Flags)
			}
		}
	}
}

// defs lets definitions of instruction i into registers.
func (s *spilling) defs(i uint32) {
	in := s.In
	first, end := in.OperandRange(regalloc.Inst(i))
	d := &s.demand
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if !o.Access.Defines() {
			continue
		}
		v := uint32(o.VReg)
		s.next[v] = s.dist.next[j]
		dead := s.next[v] == never
		switch {
		case s.Values[v].Flags&(flow.IsRemat|flow.IsArg) != 0:
		case s.Values[v].Def != regalloc.NoAllocation: // below
		case o.Constraint == regalloc.Any && o.Access == regalloc.Def:
			c := s.ClassOf(v)
			free := s.regs(c, d.lost[s.width(v)]) - len(s.set[c]) - d.early[c] - d.late[c]
			if d.plain && free > 0 && !dead {
				s.add(v)
				s.event(4*i+flow.AtDef, v, isIn)
			}
		case !dead:
			s.add(v)
		}
	}
	for j := first; d.places && j < end; j++ {
		o := &in.Operands[j]
		if v := uint32(o.VReg); o.Access.Defines() && s.Values[v].Def != regalloc.NoAllocation && s.next[v] != never && s.Values[v].Flags&flow.IsArg == 0 {
			if c := s.ClassOf(v); len(s.set[c]) < s.regs(c, 0) {
				s.add(v)
				s.event(4*i+4, v, isIn)
			}
		}
	}
}

// width returns the width of v in words less 1.
func (s *spilling) width(v uint32) int { return int(s.Values[v].Flags & flow.IsWide >> flow.WideShift) }
