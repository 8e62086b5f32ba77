package inproc

import "slices"

// What Go code has used of a memory without being inside the store is not used again as soon as the store is closed: an access may be in the middle, and a program may
// hold slices, which it must not touch then, but must not reach the memory of another store by either. So such a memory is buried: zero pages take the
// place of what was accessible. The next memory gets the addresses behind, of a reservation that is larger than a memory needs for that purpose.
//
// What was buried is unmapped when nobody is in an access any more. If slices were taken, nobody can know when the last is gone: then it is a grave until graves take more
// than a part of the addresses that a process has, or until addresses or mappings run out. So is what was cut off from a reservation that goes on behind it, since a hole
// would keep those apart that are in front of it and behind. Graves that touch are one mapping, and their pages exist once they are touched: they take addresses, and
// little else.
const (
	maxGraves = 16 << 40
	// graveRoom is by how much reservations are larger when there are graves: as much again as a memory of 32 bits, since user emulators keep tables of reserved pages.
	graveRoom = 8 << 30
	// graveUnit is the unit of graves.
	graveUnit = memoryHeader
)

// graves are ranges of addresses that stores do not get any more, the oldest first.
type graves struct {
	list []extent
	size uintptr
}

// bury makes a grave of a mapping that has zero pages.
func (p *processState) bury(x extent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &p.graves
	g.size += x.size
	p.mappings++
	for _, touching := range []func(extent) bool{
		func(e extent) bool { return e.low+e.size == x.low },
		func(e extent) bool { return x.low+x.size == e.low },
	} {
		if i := slices.IndexFunc(g.list, touching); i >= 0 {
			x = extent{min(x.low, g.list[i].low), x.size + g.list[i].size}
			g.list = slices.Delete(g.list, i, i+1)
			p.mappings--
		}
	}
	g.list = append(g.list, x)
	limit := bytes64(maxGraves)
	if addresses := addressLimit(); addresses != 0 {
		limit = min(limit, addresses/16)
	}
	for len(g.list) > 1 && (g.size > limit || p.mappings > p.maxMappings) {
		p.dropGrave()
	}
}

// dropGrave unmaps the oldest grave; p.mu is held.
func (p *processState) dropGrave() {
	g := &p.graves
	x := g.list[0]
	g.list = slices.Delete(g.list, 0, 1)
	g.size -= x.size
	p.mappings--
	munmap(x.low, x.size)
}

// buryMemory takes back what takeMemory gave, of which somebody may be using the open bytes at location l.
func (p *processState) buryMemory(x spareMemory, l *Location) {
	// A reservation begins and ends at any page, and what was accessible may reach up to its end.
	rest := spareMemory{low: min(alignUp(x.low+memoryHeader-pageSize+x.warm, graveUnit), x.end), end: x.end}
	grave := extent{x.low, rest.low - x.low}
	if place(grave.low, grave.size, protRW) != nil || p.takeMappings(otherMappings) != nil {
		p.retire(l, func() { p.giveMemory(x, 0, false) }) // all together, later
		return
	}
	p.more.Store(true)
	goesOn := rest.end-rest.low >= bytes64(memorySize)
	p.retireGrave(l, grave, goesOn, nil)
	if goesOn {
		p.keepMemory(rest, true)
		return
	}
	if rest.low < rest.end {
		rest.unmap()
	}
	p.giveMappings(memoryMappings)
}

// retireGrave unmaps a mapping when nobody uses location l any more, which was there, or makes a grave of it then, in any case if it is to stay. It stays as it is if it is
// pinned then. Its mappings are given back.
func (p *processState) retireGrave(l *Location, x extent, stays bool, pinned func() bool) {
	viewed := l.viewed.Load()
	p.retire(l, func() {
		switch {
		case pinned != nil && pinned():
			return
		case (stays || viewed.Load()) && place(x.low, x.size, protRW) == nil:
			p.bury(x)
		default:
			munmap(x.low, x.size)
		}
		p.giveMappings(otherMappings)
	})
}

// reserveMemory reserves addresses for a memory, and for graves if there have been any.
func (p *processState) reserveMemory() (x spareMemory, err error) {
	size := bytes64(memorySize)
	if p.more.Load() && addressLimit() == 0 {
		if x.low, err = reserve(size+bytes64(graveRoom), protNone); err == nil {
			x.end = x.low + size + bytes64(graveRoom)
			return x, nil
		}
	}
	x.low, err = reserve(size, protNone)
	x.end = x.low + size
	return x, err
}
