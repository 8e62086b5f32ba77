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
)

// A name is a value's index, with what must be known of it everywhere, so that
// one word answers most questions. Names of the same value are equal.
const (
	tailBit    = 1 << 31 // the upper 8 bytes of a 16-byte value in memory
	wideBit    = 1 << 30 // 16 bytes
	refShift   = 29
	refBit     = 1 << refShift // a reference
	setBit     = 1 << 28       // not a value but an index into Checker.sets
	floatShift = 27
	floatBit   = 1 << floatShift
	indexMask  = floatBit - 1
	typeBits   = wideBit | refBit | floatBit
)

// A fact is that a location holds the value or set of values name, established
// at time. See the package comment for when it is void; time 0 always is.
type fact struct{ name, time uint32 }

// value is the checker's record of one virtual register.
type value struct {
	name uint32
	// sub is what the name becomes along the edge being looked at, read only of
	// values that are their own name. Before names are final it links copies to
	// their source.
	sub uint32
	// def is the time of the last definition in the visits so far.
	def uint32
}

// entry is one element of a block's entry state: location loc holds name.
type entry struct{ loc, name uint32 }

// words is the number of memory words that a value of this name needs.
func words(name uint32) uint32 { return 1 + name>>30&1 }

// begin makes the entries, and nothing else, the state at the start of block b.
func (c *Checker) begin(b regalloc.Block, entries []entry) *Error {
	if c.clock > 1<<31 {
		// Times are compared, so when they run out everything is forgotten.
		clear(c.locs)
		clear(c.touched)
		for i := range c.v {
			c.v[i].def = 0
		}
		c.clock = 0
	}
	c.clock++
	c.block, c.start, c.known, c.branches = b, c.clock, 0, c.branches[:0]
	c.oldest = [2]uint32{c.clock, c.clock}
	c.sets, c.elems = c.sets[:0], c.elems[:0]
	return c.enter(entries)
}

// holds reports whether location loc holds the value name, all of it. That the
// fact is no older than the definition follows from I3 (before its definition
// no path can have brought the value here) and is asked all the same.
// name is of one value; loc has room for it.
func (c *Checker) holds(loc, name uint32) bool {
	f := c.locs[loc]
	if f.time < c.oldest[name>>refShift&1] || f.time < c.v[name&indexMask].def {
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

// namesOf returns the members of a set, or the one name; of a fact that is not
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
	c.sets = append(c.sets, regalloc.Range{Start: uint32(start), End: uint32(len(c.elems))})
	return name&typeBits | setBit | uint32(len(c.sets)-1)
}

// set makes f what is known of the one register or word loc. All changes of the
// state go through it, but those at the entry of a block.
func (c *Checker) set(loc uint32, f fact) {
	if len(c.branches) > 0 {
		c.log = append(c.log, undo{loc, c.locs[loc]})
	}
	c.locs[loc] = f
}

// write makes f all that is known of loc: a value's own width there.
func (c *Checker) write(loc uint32, f fact) {
	c.set(loc, f)
	if loc < numRegs {
		c.known |= 1 << loc
	} else if f.name&wideBit != 0 {
		c.set(loc+1, fact{f.name | tailBit, f.time})
	}
}

// erase forgets what a location of as many words as name needs holds.
func (c *Checker) erase(loc, name uint32) {
	c.set(loc, fact{})
	if loc >= numRegs && name&wideBit != 0 {
		c.set(loc+1, fact{})
	}
}

// eraseRegs forgets what the given registers hold.
func (c *Checker) eraseRegs(set regalloc.PRegSet) {
	// Registers not in known have only facts older than the visit.
	for m := set & c.known; m != 0; m &= m - 1 {
		c.set(uint32(m.First()), fact{})
	}
	c.known &^= set
}

// enter adds the entries to an empty state. Entries are valid
// locations for their names.
func (c *Checker) enter(entries []entry) *Error {
	locs, start := c.locs, c.start
	for j, e := range entries {
		f := locs[e.loc]
		if f.time < start {
			switch {
			case e.loc < numRegs:
				c.known |= 1 << e.loc
			case e.name&wideBit != 0:
				if locs[e.loc+1].time >= start {
					return c.claimFault(j, "overlaps another claim")
				}
				locs[e.loc+1] = fact{e.name | tailBit, start}
			}
			locs[e.loc] = fact{e.name, start}
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

// locate turns a memory or register allocation that a value of n words is to
// lie in into a location index. It knows nothing of constraints.
func (c *Checker) locate(a regalloc.Allocation, n uint32) (loc uint32, ok bool) {
	x := uint32(a.Index())
	switch {
	case a.IsReg():
		return x, x < numRegs
	case a.IsSlot():
		return firstSlot + x, x+n <= c.slotWords
	case a.IsArg():
		return firstSlot + c.slotWords + x, x+n <= c.argWords
	}
	return 0, false
}

// allocation is the inverse of locate.
func (c *Checker) allocation(loc uint32) regalloc.Allocation {
	switch {
	case loc < numRegs:
		return regalloc.InReg(regalloc.PReg(loc))
	case loc < firstSlot+c.slotWords:
		return regalloc.InSlot(int(loc - firstSlot))
	}
	return regalloc.InArg(int(loc - firstSlot - c.slotWords))
}
