package ssa

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// colouring chooses the registers of what is in registers.
type colouring struct {
	flow.Intervals
	classes *flow.Classes
	sp      *spilling
	demand  demand

	// segments are, by block, where values are from a position on, as far as that changes within the block.
	segments      []segment
	segmentRanges []regalloc.Range
	// entryRegs and exitRegs belong to the lists of spilling.
	entryRegs, exitRegs []regalloc.PReg

	favourites regalloc.PRegSet // those of classes

	owner    [64]uint32 // by register: the value that is in it, if it is occupied
	occupied regalloc.PRegSet
	base     regalloc.PRegSet // the registers that values may have in the present block
	reg      []regalloc.PReg  // by value: the register that it is in, or NoPReg
	home     []regalloc.PReg  // by value: the latest register that it was in
	before   []predReg        // by value: where most predecessors of the present block leave it
	exit     []exitReg        // by value
	visit    uint32           // block plus 1
	read     []uint32         // by value: the latest instruction plus 1 that reads it where it is
	kept     []uint32         // the same, at its writing position
	dies     []uint32         // by value: the latest instruction plus 1 that it does not outlive in a register
	waiting  []placing        // what instruction i needs registers for at its reading position
	events   []uint32         // of the present block that are still to come
	depth    int8             // of loops around the present block
}

// predReg is the register that has most votes in the visit of a block, and by how much.
type predReg struct {
	visit  uint32
	reg    regalloc.PReg
	weight uint32
}

// exitReg is the register of a value at the end of a block, of that number less 1.
type exitReg struct {
	p   uint32
	reg regalloc.PReg
}

// segment says where a value is from a position on: in a register, or NoAllocation.
type segment struct {
	pos, value uint32
	loc        regalloc.Allocation
}

// placing is a value that needs a register at a reading position; the lower its rank, the fewer will do.
type placing struct {
	value uint32
	rank  uint8
	wish  regalloc.PReg
}

// The ranks.
const (
	wideOutlives = iota
	outlives
	isReadOnly
	numRanks
)

func (c *colouring) colour(iv *flow.Intervals, classes *flow.Classes, sp *spilling) error {
	c.Intervals, c.classes, c.sp = *iv, classes, sp
	in, n := c.In, len(c.Values)
	f := in.Stop
	c.segments = c.segments[:0]
	c.segmentRanges = stop.Resize(f, c.segmentRanges, len(in.Blocks))
	c.entryRegs = stop.Resize(f, c.entryRegs, len(sp.entries.words))
	c.exitRegs = stop.Resize(f, c.exitRegs, len(sp.exits.words))
	c.reg = stop.Resize(f, c.reg, n)
	c.home = stop.Resize(f, c.home, n)
	c.before, c.exit = stop.Zeroed(f, c.before, n), stop.Zeroed(f, c.exit, n)
	c.read, c.kept, c.dies = stop.Zeroed(f, c.read, n), stop.Zeroed(f, c.kept, n), stop.Zeroed(f, c.dies, n)
	for v := range c.reg {
		f.PollAt(v)
		c.reg[v], c.home[v] = regalloc.NoPReg, regalloc.NoPReg
	}
	c.favourites = 0
	for _, b := range sp.order.blocks {
		f.Poll()
		if err := c.block(b); err != nil {
			return err
		}
	}
	return nil
}

func (c *colouring) block(b uint32) error {
	in := c.In
	info := &in.Blocks[b]
	c.base, c.visit, c.depth = c.sp.baseOf(b), b+1, int8(min(info.LoopDepth, 127))
	c.occupied = 0
	c.segmentRanges[b].Start = uint32(len(c.segments))
	if err := c.enter(b); err != nil {
		return err
	}
	c.events = c.sp.events.of(b)
	for i := info.Insts.Start; i < info.Insts.End; i++ {
		in.Stop.PollAt(int(i))
		if err := c.inst(i); err != nil {
			return err
		}
	}
	c.segmentRanges[b].End = uint32(len(c.segments))
	r := c.sp.exits.ranges[b]
	for k := r.Start; k < r.End; k++ {
		v := c.sp.exits.words[k]
		c.exitRegs[k] = c.reg[v]
		c.reg[v] = regalloc.NoPReg
	}
	return nil
}

// enter chooses registers at the start of block b: most values stay where the predecessors leave them.
func (c *colouring) enter(b uint32) error {
	in := c.In
	c.vote(b)
	r := c.sp.entries.ranges[b]
	entries := c.sp.entries.words
	inherits := in.Blocks[b].Preds.Len() == 1
	for k := r.Start; k < r.End; k++ {
		v := entries[k]
		if v == flow.None || c.isParamOf(v, b) {
			continue
		}
		if p := c.before[v]; p.visit == c.visit && c.base.Has(p.reg) && !c.occupied.Has(p.reg) && (inherits || !c.sp.avoid[v].Has(p.reg)) {
			c.take(v, p.reg)
		}
	}
	for _, params := range [2]bool{true, false} {
		for k := r.Start; k < r.End; k++ {
			v := entries[k]
			if v == flow.None || c.reg[v] != regalloc.NoPReg || c.isParamOf(v, b) != params {
				continue
			}
			wish := regalloc.NoPReg
			if p := c.before[v]; p.visit == c.visit {
				wish = p.reg
			}
			if !c.choose(v, 4*in.Blocks[b].Insts.Start, c.base, wish) {
				return flow.Fail(flow.Unallocatable, in.Blocks[b].Insts.Start, v)
			}
		}
	}
	for k := r.Start; k < r.End; k++ {
		if v := entries[k]; v != flow.None {
			c.entryRegs[k] = c.reg[v]
		}
	}
	return nil
}

// vote fills before with the registers that most ways to b leave values in, weighted by how often they run (the majority vote of Boyer and Moore). Where ways meet in a loop, the
// register at the header has a say: the next iteration wants the value there.
func (c *colouring) vote(b uint32) {
	in := c.In
	preds := in.PredsOf(regalloc.Block(b))
	o := c.sp.order
	if h := flow.None; c.HasLoops && len(preds) > 1 {
		if h = c.Headers[b]; h != flow.None && o.number[h] < o.number[b] {
			r := c.sp.entries.ranges[h]
			for k := r.Start; k < r.End; k++ {
				if v := c.sp.entries.words[k]; v != flow.None && !c.isParamOf(v, b) {
					c.before[v] = predReg{c.visit, c.entryRegs[k], c.Freq[b] / 2}
				}
			}
		}
	}
	params := in.ParamsOf(regalloc.Block(b))
	for k, v := range params {
		in.Stop.PollAt(k)
		if cl := c.classes.ClassFor(uint32(v)); cl != flow.None && c.classes.All[cl].Depth >= 0 {
			c.before[v] = predReg{c.visit, regalloc.PReg(c.classes.All[cl].Pref), c.Freq[b]} // where other members are
		}
	}
	for _, p := range preds {
		in.Stop.Poll()
		if o.number[p] >= o.number[b] {
			continue
		}
		f := c.Freq[p]
		r := c.sp.exits.ranges[p]
		for k := r.Start; k < r.End; k++ {
			v := c.sp.exits.words[k]
			c.exit[v] = exitReg{p: uint32(p) + 1, reg: c.exitRegs[k]}
			c.cast(v, c.exitRegs[k], f)
		}
		if len(params) == 0 {
			continue
		}
		for k, a := range in.ArgsOf(c.edgeTo(uint32(p), b)) {
			in.Stop.PollAt(k)
			x := c.exit[a]
			if x.p != uint32(p)+1 {
				continue
			}
			v := uint32(params[k])
			if cl := c.classes.ClassFor(uint32(a)); cl != flow.None && cl != c.classes.ClassFor(v) {
				continue // another value of the argument's class will want the register again
			}
			c.cast(v, x.reg, f)
		}
	}
}

// cast casts a vote of the given weight for v in r.
func (c *colouring) cast(v uint32, r regalloc.PReg, weight uint32) {
	switch x := &c.before[v]; {
	case x.visit != c.visit:
		*x = predReg{c.visit, r, weight}
	case x.reg == r:
		x.weight += weight
	case x.weight < weight:
		*x = predReg{c.visit, r, weight - x.weight}
	default:
		x.weight -= weight
	}
}

func (c *colouring) isParamOf(v, b uint32) bool {
	return c.Values[v].Flags&flow.IsParam != 0 && c.Values[v].DefBlock == b
}

// edgeTo returns the edge from pred to b.
func (c *colouring) edgeTo(pred, b uint32) regalloc.Edge {
	succs := c.In.SuccsOf(regalloc.Block(pred))
	for _, e := range succs {
		if uint32(e.To) == b {
			return e
		}
	}
	return regalloc.Edge{}
}

// take gives v the register r.
func (c *colouring) take(v uint32, r regalloc.PReg) {
	c.owner[r&63] = v
	c.occupied = c.occupied.Add(r)
	c.reg[v], c.home[v] = r, r
	c.Out.Used = c.Out.Used.Add(r)
	if cl := c.classes.ClassFor(v); cl != flow.None {
		if x := &c.classes.All[cl]; c.depth > x.Depth {
			x.Pref, x.Depth = uint8(r), c.depth
			c.classes.Favourite[r&63] = cl
			c.favourites = c.favourites.Add(r)
		}
	}
}

// release takes the register of v away.
func (c *colouring) release(v uint32) {
	if r := c.reg[v]; r != regalloc.NoPReg {
		c.occupied = c.occupied.Remove(r)
		c.reg[v] = regalloc.NoPReg
	}
}

// choose gives v, which comes into a register at pos, a free one of those allowed, and reports whether there is any. It takes one that v can keep, if there is one; of these, the
// one wished for, or else one that no other class of parameters and arguments would like.
func (c *colouring) choose(v, pos uint32, allowed regalloc.PRegSet, wish regalloc.PReg) bool {
	free := allowed.OfClass(c.ClassOf(v)) &^ c.occupied
	if free == 0 {
		return false
	}
	if safe := free &^ c.sp.avoid[v]; safe != 0 {
		free = safe
	}
	vr := &c.Values[v]
	class := c.classes.ClassFor(v)
	strong := [...]regalloc.PReg{wish, regalloc.NoPReg, c.ahead(v, pos)}
	weak := [...]regalloc.PReg{regalloc.NoPReg, regalloc.PReg(vr.Pref), c.home[v], regalloc.NoPReg}
	if class != flow.None {
		if x := &c.classes.All[class]; x.Depth >= 0 {
			strong[1] = regalloc.PReg(x.Pref)
		} else {
			weak[0] = regalloc.PReg(x.Pref)
		}
	}
	if vr.Link != flow.None {
		weak[3] = c.home[vr.Link]
	}
	if c.takeFirst(v, free, strong[:]) {
		return true
	}
	own := free &^ c.coveted(free, class, pos, v)
	if c.takeFirst(v, own, weak[:]) || c.takeFirst(v, own, c.Env.Order[c.ClassOf(v)]) {
		return true
	}
	return c.takeFirst(v, free, c.Env.Order[c.ClassOf(v)])
}

// takeFirst gives v the first register of the list that is free, and reports whether there is one.
func (c *colouring) takeFirst(v uint32, free regalloc.PRegSet, list []regalloc.PReg) bool {
	for _, r := range list {
		if r != regalloc.NoPReg && free.Has(r) {
			c.take(v, r)
			return true
		}
	}
	return false
}

// usesAhead is how many uses ahead looks at.
const usesAhead = 5

// ahead returns the register that one of the first uses of v, which begins at pos, names, or NoPReg.
func (c *colouring) ahead(v, pos uint32) regalloc.PReg {
	u := c.Values[v].Use
	if first := &c.Uses[u]; first.Pos < flow.GapOf(pos) {
		return regalloc.NoPReg
	}
	for range usesAhead {
		x := &c.Uses[u]
		if x.Pos == flow.Inf {
			break
		}
		if x.Kind() == flow.GapUse {
			if o := &c.In.Operands[x.Operand()]; o.Constraint == regalloc.Fixed {
				return o.PReg()
			}
		}
		u = x.Next
	}
	return regalloc.NoPReg
}

// coveted returns those of the registers that values of other classes would like while v is live.
func (c *colouring) coveted(regs regalloc.PRegSet, class, pos, v uint32) (s regalloc.PRegSet) {
	for regs &= c.favourites; regs != 0; regs &= regs - 1 {
		if r := regs.First(); c.classes.Coveted(r, class, pos, c.Values[v].End) {
			s = s.Add(r)
		}
	}
	return s
}

// place notes that v is in its register from pos on, or, if it has none, in memory.
func (c *colouring) place(v, pos uint32) {
	loc := regalloc.NoAllocation
	if r := c.reg[v]; r != regalloc.NoPReg {
		loc = regalloc.InReg(r)
	}
	c.segments = stop.Append(c.In.Stop, c.segments, segment{pos, v, loc})
}

// inst chooses registers at instruction i.
func (c *colouring) inst(i uint32) error {
	d := &c.demand
	d.find(&c.Intervals, i)
	events := c.events
	n := 0
	for n < len(events) && events[n] <= 4*i+4 {
		n += 2
	}
	c.events = events[n:]
	events = events[:n]
	c.waiting = c.waiting[:0]
	c.noteReads(i)
	c.leave(i, events, 4*i+flow.AtUse)
	c.arrive(i, events)
	if !d.plain {
		c.displace(i)
		c.begin(i)
	}
	if err := c.settle(i); err != nil {
		return err
	}
	c.leave(i, events, 4*i+flow.AtDef)
	c.end(i, false)
	if err := c.define(i, events); err != nil {
		return err
	}
	if !d.plain {
		c.end(i, true)
	}
	if d.places {
		return c.defineNamed(i, events)
	}
	return nil
}

// noteReads notes how instruction i reads values, and frees the registers of those that it only copies elsewhere for the last time.
func (c *colouring) noteReads(i uint32) {
	in, d := c.In, &c.demand
	first, end := in.OperandRange(regalloc.Inst(i))
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if !o.Access.Reads() || !d.plain && d.isCopied(j, o) {
			continue
		}
		c.read[o.VReg] = i + 1
		if o.Access == regalloc.LateUse {
			c.kept[o.VReg] = i + 1
		}
	}
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if !o.Access.Reads() || c.sp.dist.next[j] != never {
			continue
		}
		v := uint32(o.VReg)
		switch {
		case c.read[v] != i+1:
			c.release(v)
		case c.kept[v] != i+1:
			c.dies[v] = i + 1
		}
	}
}

// leave moves to memory what events say for pos.
func (c *colouring) leave(i uint32, events []uint32, pos uint32) {
	for k := 0; k < len(events); k += 2 {
		v := events[k+1] >> 1
		switch {
		case events[k+1]&isIn != 0:
		case events[k] == pos:
			c.release(v)
			c.place(v, pos)
		case events[k] == 4*i+flow.AtDef:
			c.dies[v] = i + 1
		}
	}
}

// arrive lets the values wait that are reloaded for instruction i.
func (c *colouring) arrive(i uint32, events []uint32) {
	for k := 0; k < len(events); k += 2 {
		if v := events[k+1] >> 1; events[k] == 4*i+flow.AtUse && events[k+1]&isIn != 0 {
			c.wait(i, v, regalloc.NoPReg)
		}
	}
}

func (c *colouring) wait(i, v uint32, wish regalloc.PReg) {
	c.waiting = append(c.waiting, placing{v, c.rank(i, v), wish})
}

// rank returns the rank of v at instruction i.
func (c *colouring) rank(i, v uint32) uint8 {
	switch {
	case c.dies[v] == i+1:
		return isReadOnly
	case c.Values[v].Flags&flow.IsWide != 0:
		return wideOutlives
	}
	return outlives
}

// allowed returns the registers that v may be in at instruction i.
func (c *colouring) allowed(v uint32, rank uint8) regalloc.PRegSet {
	if rank == isReadOnly {
		return c.base &^ c.demand.taken(v)
	}
	return c.base &^ c.demand.refused(v, c.Values[v].Flags)
}

// displace lets the values wait that cannot stay where they are at instruction i.
func (c *colouring) displace(i uint32) {
	d := &c.demand
	for s := c.occupied & (d.named | d.lost[0] | d.lost[1]); s != 0; s &= s - 1 {
		r := s.First()
		v := c.owner[r]
		if !c.allowed(v, c.rank(i, v)).Has(r) {
			c.release(v)
			c.wait(i, v, regalloc.NoPReg)
		}
	}
}

// begin lets the definitions of instruction i wait that begin at the reading position.
func (c *colouring) begin(i uint32) {
	in, d := c.In, &c.demand
	for _, t := range d.ties {
		c.wait(i, t.def, c.home[t.use])
	}
	first, end := in.OperandRange(regalloc.Inst(i))
	for j := first; j < end; j++ {
		if o := &in.Operands[j]; o.Access == regalloc.EarlyDef && (o.Constraint == regalloc.Reg || o.Constraint == regalloc.Any) {
			c.wait(i, uint32(o.VReg), regalloc.NoPReg)
		}
	}
}

// settle gives registers to what waits. Those for which the fewest registers will do come first, and may take one from another value that is less particular: spilling has seen to it that all have room.
func (c *colouring) settle(i uint32) error {
	for rank := uint8(0); rank < numRanks; rank++ {
		for k := 0; k < len(c.waiting); k++ {
			w := c.waiting[k]
			if w.rank != rank {
				continue
			}
			allowed := c.allowed(w.value, rank)
			if !c.choose(w.value, 4*i+flow.AtUse, allowed, w.wish) && !c.steal(i, w.value, allowed, rank) {
				return flow.Fail(flow.Unallocatable, i, w.value)
			}
			c.place(w.value, 4*i+flow.AtUse)
		}
	}
	return nil
}

// steal gives v a register of those allowed that a value of a higher rank is in, which waits for another.
func (c *colouring) steal(i, v uint32, allowed regalloc.PRegSet, rank uint8) bool {
	for s := allowed.OfClass(c.ClassOf(v)) & c.occupied; s != 0; s &= s - 1 {
		r := s.First()
		x := c.owner[r]
		if c.rank(i, x) > rank {
			c.release(x)
			c.wait(i, x, regalloc.NoPReg)
			c.take(v, r)
			return true
		}
	}
	return false
}

// end frees the registers of what instruction i reads for the last time: at its writing position, or else before that, except what it reads there.
func (c *colouring) end(i uint32, late bool) {
	in := c.In
	first, end := in.OperandRange(regalloc.Inst(i))
	for j := first; j < end; j++ {
		if o := &in.Operands[j]; o.Access.Reads() && c.sp.dist.next[j] == never && (late || c.kept[o.VReg] != i+1) {
			c.release(uint32(o.VReg))
		}
	}
}

// define gives registers to the definitions of instruction i that begin at the writing position, those of 16 bytes first.
func (c *colouring) define(i uint32, events []uint32) error {
	in, d := c.In, &c.demand
	first, end := in.OperandRange(regalloc.Inst(i))
	for wide := 1; wide >= 0; wide-- {
		if wide == 1 && !d.wide {
			continue
		}
		for j := first; j < end; j++ {
			o := &in.Operands[j]
			v := uint32(o.VReg)
			if o.Access != regalloc.Def || c.sp.width(v) != wide {
				continue
			}
			switch {
			case c.Values[v].Flags&flow.IsRemat != 0, o.Constraint == regalloc.Any && !has(events, 4*i+flow.AtDef, v):
				c.place(v, 4*i+flow.AtDef)
			case o.Constraint == regalloc.Reg, o.Constraint == regalloc.Any:
				if !c.choose(v, 4*i+flow.AtDef, c.base&^d.lost[wide], regalloc.NoPReg) {
					return flow.Fail(flow.Unallocatable, i, v)
				}
				c.place(v, 4*i+flow.AtDef)
			}
		}
	}
	for j := first; j < end; j++ {
		if o := &in.Operands[j]; o.Access.Defines() && c.sp.dist.next[j] == never {
			c.release(uint32(o.VReg))
		}
	}
	return nil
}

// has reports whether v comes into a register at pos.
func has(events []uint32, pos, v uint32) bool {
	for k := 0; k < len(events); k += 2 {
		if events[k] == pos && events[k+1] == v<<1|isIn {
			return true
		}
	}
	return false
}

// defineNamed places what instruction i defines in places of their own: it stays there if it can, in registers.
func (c *colouring) defineNamed(i uint32, events []uint32) error {
	in := c.In
	first, end := in.OperandRange(regalloc.Inst(i))
	terminates := in.Insts[i].Flags&regalloc.IsTerminator != 0
	for _, stays := range [2]bool{true, false} {
		for j := first; j < end; j++ {
			o := &in.Operands[j]
			v := uint32(o.VReg)
			def := c.Values[v].Def
			if !o.Access.Defines() || def == regalloc.NoAllocation || c.sp.dist.next[j] == never {
				continue
			}
			switch own := def.IsReg() && c.base.Has(def.Reg()) && !c.occupied.Has(def.Reg()); {
			case c.reg[v] != regalloc.NoPReg:
			case !has(events, 4*i+4, v):
				if stays && !terminates {
					c.place(v, 4*i+4)
				}
			case terminates:
				if stays && own {
					c.take(v, def.Reg())
				}
			case stays:
				if own && !c.sp.avoid[v].Has(def.Reg()) {
					c.take(v, def.Reg())
					c.place(v, 4*i+4)
				}
			default:
				wish := regalloc.NoPReg
				if own {
					wish = def.Reg()
				}
				if !c.choose(v, 4*i+4, c.base, wish) {
					return flow.Fail(flow.Unallocatable, i, v)
				}
				c.place(v, 4*i+4)
			}
		}
	}
	return nil
}
