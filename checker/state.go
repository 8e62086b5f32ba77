package checker

import "github.com/waot-project/waot/regalloc"

const (
	numRegs = 64
	// firstSlot is the location index of word 0 of the spill area; argument
	// words follow the spill area.
	firstSlot = numRegs
	// maxSlotWords bounds the spill area (32 MiB), so that a damaged Output
	// cannot ask for any amount of memory.
	maxSlotWords = 1 << 22
	// maxArgWords is how many argument words operands can name.
	maxArgWords = 1 << 16
)

// A name is a value's index together with the facts that are needed everywhere, so that
// one word answers most questions. Names of the same value are equal.
const (
	tailBit    = 1 << 31 // the upper 8 bytes of a 16-byte value in memory
	wideBit    = 1 << 30 // 16 bytes
	refShift   = 29
	refBit     = 1 << refShift // a reference
	setBit     = 1 << 28       // an index into Checker.sets, not a value
	floatShift = 27
	floatBit   = 1 << floatShift
	nameBit    = 1 << 26 // set in each name, so that none is 0
	halfBit    = 1 << 25 // 4 bytes; of a set: all of its values
	indexMask  = halfBit - 1
	typeBits   = wideBit | refBit | floatBit
)

// paramBit, in an entry that is a claim of a block, marks the block's parameters.
const paramBit = tailBit

// A fact is that a location holds the value or set of values name, established
// at time. The package comment says when a fact is void; a fact of time 0 always is. Facts
// about registers are no older than the visit, or of time 0.
type fact struct{ name, time uint32 }

// value is the checker's record of one virtual register.
type value struct {
	name uint32
	// sub is what the name becomes along the edge being looked at, read only of
	// values that are their own name. Before names are final it links copies to
	// their source.
	sub uint32
	// def is the operand that defines the value, plus 1, 0 if none was visited yet, isParam for parameters.
	def uint32
	// seen is the start of the last visit whose state has had the value: the visit
	// defined it, or began with it.
	seen uint32
}

// isParam is value.def of a parameter; plus the block, it is value.seen before the first visit.
const isParam = 1 << 31

// entry is one element of a block's entry state: location loc holds name.
type entry struct{ loc, name uint32 }

// words returns the number of memory words that a value of this name needs.
func words(name uint32) uint32 { return 1 + name>>30&1 }

// begin sets the state at the start of block b to the entries and nothing else.
func (c *Checker) begin(b regalloc.Block, entries []entry) *Error {
	if c.clock > 1<<31 {
		// Times are compared, so when they run out everything is forgotten.
		clear(c.locs)
		clear(c.touched)
		for i := range c.v {
			c.v[i].seen = 0
		}
		c.clock = 0
	}
	c.clock++
	clear(c.locs[:end(c.tracked)])
	c.block, c.start, c.tracked, c.branches = b, c.clock, 0, c.branches[:0]
	c.oldest = [2]uint32{c.clock, c.clock}
	c.sets, c.elems = c.sets[:0], c.elems[:0]
	return c.enter(entries)
}

// holds reports whether location loc holds the value name, all of it. name is of
// one value; loc has room for it.
func (c *Checker) holds(loc, name uint32) bool {
	f := c.locs[loc]
	if f.time < c.oldest[name>>refShift&1] {
		return false
	}
	if f.name != name && !c.inSet(f.name, name) {
		return false
	}
	return name&wideBit == 0 || loc < numRegs || c.locs[loc+1] == fact{f.name | tailBit, f.time}
}

// inSet reports whether set names a set that has name in it.
func (c *Checker) inSet(set, name uint32) bool {
	if set&(setBit|tailBit) != setBit {
		return false
	}
	for _, n := range c.namesOf(set) {
		if n == name {
			return true
		}
	}
	return false
}

// namesOf returns the members of a set, or the one name, of a fact that is not
// older than the visit of the block.
func (c *Checker) namesOf(name uint32) []uint32 {
	if name&setBit == 0 {
		c.single[0] = name
		return c.single[:]
	}
	r := c.sets[name&indexMask]
	return c.elems[r.Start:r.End]
}

// newSet makes a name for c.elems[start:], which are of the same type.
func (c *Checker) newSet(start int) uint32 {
	name := c.elems[start]
	if len(c.elems) == start+1 {
		c.elems = c.elems[:start]
		return name
	}
	half := uint32(halfBit)
	for _, n := range c.elems[start:] {
		half &= n
	}
	c.sets = append(c.sets, regalloc.Range{Start: uint32(start), End: uint32(len(c.elems))})
	return name&typeBits | half | setBit | nameBit | uint32(len(c.sets)-1)
}

// setWord sets the fact about the memory word loc. All changes of memory go
// through it, except at the entry of a block.
func (c *Checker) setWord(loc uint32, f fact) {
	if len(c.branches) > 0 {
		c.log = append(c.log, undo{loc, c.locs[loc]})
	}
	c.locs[loc] = f
}

// write makes f the only fact about loc, over the width of the value.
func (c *Checker) write(loc uint32, f fact) {
	if loc < numRegs {
		c.locs[loc] = f
		c.tracked |= 1 << loc
		return
	}
	c.setWord(loc, f)
	if f.name&wideBit != 0 {
		c.setWord(loc+1, fact{f.name | tailBit, f.time})
	}
}

// eraseRegs forgets what the given registers hold.
func (c *Checker) eraseRegs(set regalloc.PRegSet) {
	for m := set & c.tracked; m != 0; m &= m - 1 {
		c.locs[m.First()] = fact{}
	}
	c.tracked &^= set
}

// forget clears every location that holds name. It is for a value that is known before
// its definition, which contradicts I3 or is a false claim.
func (c *Checker) forget(name uint32) {
	for loc := range firstSlot + c.slotWords + c.argWords {
		f := c.locs[loc]
		if of := f.name &^ tailBit; f.time < c.start || of != name && !c.inSet(of, name) {
			continue
		}
		if loc < numRegs {
			c.locs[loc] = fact{}
		} else {
			c.setWord(loc, fact{})
		}
	}
}

// enter adds the entries to an empty state. Entries are valid
// locations for their names.
func (c *Checker) enter(entries []entry) *Error {
	locs, start := c.locs, c.start
	for j, e := range entries {
		e.name &^= paramBit
		c.v[e.name&indexMask].seen = start
		f := &locs[e.loc]
		if f.time < start {
			if e.name&wideBit != 0 && e.loc >= numRegs {
				if locs[e.loc+1].time >= start {
					return c.claimFault(j, "overlaps another claim")
				}
				locs[e.loc+1] = fact{e.name | tailBit, start}
			}
			*f = fact{e.name, start}
			c.tracked |= 1 << e.loc // no effect for memory
			continue
		}
		if f.name&(tailBit|typeBits) != e.name&typeBits {
			return c.claimFault(j, "overlaps another claim")
		}
		if f.name == e.name || c.inSet(f.name, e.name) {
			if c.isDuplicate(j) {
				return c.claimFault(j, "claimed twice")
			}
			continue
		}
		start := len(c.elems)
		if f.name&setBit != 0 && int(c.sets[f.name&indexMask].End) == start {
			start = int(c.sets[f.name&indexMask].Start)
		} else {
			c.elems = append(c.elems, c.namesOf(f.name)...)
		}
		c.elems = append(c.elems, e.name)
		c.write(e.loc, fact{c.newSet(start), c.start})
	}
	return nil
}

// area is where the allocations of one kind are: the one with index x, if below size and without
// the bits of odd, is location base+x.
type area struct{ base, size, odd uint32 }

// locate returns the location index of a memory or register allocation for a value of
// n words. It knows nothing of constraints.
func (c *Checker) locate(a regalloc.Allocation, n uint32) (loc uint32, ok bool) {
	area, x := &c.areas[n>>1&1][a.Kind()], uint32(a.Index())
	return area.base + x, x < area.size && x&area.odd == 0
}

// layOut sets the areas: of values of one word, and of two, which in memory begin at even words before the
// last one.
func (c *Checker) layOut() {
	slot, arg := regalloc.InSlot(0).Kind(), regalloc.InArg(0).Kind()
	for k := range uint32(len(c.areas)) {
		a := &c.areas[k]
		a[regalloc.InReg(0).Kind()] = area{0, numRegs, 0}
		a[slot] = area{firstSlot, c.slotWords - min(k, c.slotWords), k}
		a[arg] = area{firstSlot + c.slotWords, c.argWords - min(k, c.argWords), k}
	}
}

// allocation returns the inverse of locate.
func (c *Checker) allocation(loc uint32) regalloc.Allocation {
	switch {
	case loc < numRegs:
		return regalloc.InReg(regalloc.PReg(loc))
	case loc < firstSlot+c.slotWords:
		return regalloc.InSlot(int(loc - firstSlot))
	}
	return regalloc.InArg(int(loc - firstSlot - c.slotWords))
}
