package gcheap

import (
	"slices"
	"sort"
)

// Roots visits each root, a word that it may change, and each word of the host in an object that lives.
type Roots struct {
	// Each calls visit with the address of each root.
	Each func(visit func(word *uint64))
	// Host is told the handles that live objects hold; it may be nil.
	Host func(word uint64)
}

// collector copies what lives (C. J. Cheney, "A nonrecursive list compacting algorithm", CACM 13(11), 1970): the objects that have been copied and not looked at are a queue in the
// new space, beside which there is one of large objects.
type collector struct {
	*Heap
	from    int    // the space that objects leave
	fromEnd uint64 // of what it holds
	scan    uint64
	pending []int // large objects that are marked and not looked at
	roots   Roots
	err     error
}

// Collect moves all objects that roots reach to the other space, updates the roots, and forgets the rest. If the heap is corrupt, it is not usable any more.
func (h *Heap) Collect(roots Roots) error {
	c := &collector{Heap: h, from: h.space, fromEnd: uint64(h.Next), roots: roots}
	h.space = 1 - c.from
	c.scan = start(h.space)
	h.Next, h.End = uint32(c.scan), uint32(h.committed[h.space])
	roots.Each(c.word)
	for c.err == nil && (c.scan < uint64(h.Next) || len(c.pending) > 0) {
		if n := len(c.pending) - 1; n >= 0 {
			o := &h.large[c.pending[n]]
			c.pending = c.pending[:n]
			c.look(o.at)
			continue
		}
		c.scan += c.look(c.scan)
	}
	if c.err != nil {
		return c.err
	}
	c.finish()
	return nil
}

// finish gives back what nothing reaches, and decides when the next collection is.
func (c *collector) finish() {
	h := c.Heap
	h.empty(c.from, c.fromEnd)
	h.large = slices.DeleteFunc(h.large, func(o largeObject) bool {
		if !o.marked {
			h.mem.Release(o.at, o.at+o.size)
			h.largeUsed -= o.size
		}
		return !o.marked
	})
	for i := range h.large {
		h.large[i].marked = false
	}
	h.target = max(2*h.used(), 4*step)
}

// kept is how many bytes of an empty space stay accessible, since clearing them takes less time than touching new pages.
const kept = 1 << 20

// empty makes a space zero that has objects up to an end, and gives most of it back.
func (h *Heap) empty(space int, end uint64) {
	begin := start(space)
	keep := min(begin+kept, h.committed[space])
	clear(h.mem.Bytes[begin:min(end, keep)])
	if have := h.committed[space]; have > keep {
		h.mem.Release(keep, have)
		h.committed[space] = keep
	}
}

// word updates a root or a wide field.
func (c *collector) word(w *uint64) {
	switch x := *w; {
	case x == 0 || x&1 != 0 && x < Size:
	case x < Size:
		*w = uint64(c.ref(uint32(x)))
	case c.roots.Host != nil:
		c.roots.Host(x)
	}
}

// ref returns where the object that a reference is to will be.
func (c *collector) ref(r uint32) uint32 {
	at := uint64(r)
	switch {
	case c.err != nil:
	case r == 0 || r&1 != 0:
	case r%Align != 0:
		c.err = corrupt("a reference 0x%x", r)
	case at >= largeStart:
		c.mark(at)
	case at < start(c.from) || at+HeaderSize > c.fromEnd:
		c.err = corrupt("a reference 0x%x that is not to the space of objects", r)
	case c.u32(at) == forwarded:
		return c.u32(at + 4)
	default:
		return c.move(at)
	}
	return r
}

// move copies an object and returns where it is.
func (c *collector) move(at uint64) uint32 {
	size, err := c.size(at)
	if err == nil && at+size > c.fromEnd {
		err = corrupt("an object at 0x%x of %d bytes", at, size)
	}
	to := uint64(c.Next)
	if end := to + size; err == nil && end > uint64(c.End) {
		err = c.extend(end)
	}
	if err != nil {
		c.err = err
		return 0
	}
	for i := uint64(0); i < size; i += Align {
		c.put64(to+i, c.u64(at+i))
	}
	c.Next += uint32(size)
	c.put32(at, forwarded)
	c.put32(at+4, uint32(to))
	return uint32(to)
}

// size returns how many bytes the object at a place takes.
func (c *collector) size(at uint64) (uint64, error) {
	typ, length := c.u32(at), c.u32(at+4)
	if uint64(typ) >= uint64(len(c.types)) {
		return 0, corrupt("type %d of the object at 0x%x", typ, at)
	}
	t := &c.types[typ]
	if t.Elem == 0 && length != 0 {
		return 0, corrupt("a structure at 0x%x with a length", at)
	}
	return t.sizeOf(length), nil
}

// mark notes a large object.
func (c *collector) mark(at uint64) {
	i := sort.Search(len(c.large), func(i int) bool { return c.large[i].at >= at })
	if i == len(c.large) || c.large[i].at != at {
		c.err = corrupt("a reference 0x%x to no large object", at)
		return
	}
	if o := &c.large[i]; !o.marked {
		o.marked = true
		c.pending = append(c.pending, i)
	}
}

// look updates the references in an object and returns its size.
func (c *collector) look(at uint64) uint64 {
	size, err := c.size(at)
	if err != nil {
		c.err = err
		return 0
	}
	t, length := &c.types[c.u32(at)], uint64(1)
	if t.Elem != 0 {
		length = uint64(c.u32(at + 4))
	}
	if len(t.Refs)+len(t.Words) == 0 {
		return size
	}
	for i := uint64(0); i < length && c.err == nil; i++ {
		base := at + i*uint64(t.Elem)
		for _, off := range t.Refs {
			p := base + uint64(off)
			c.put32(p, c.ref(c.u32(p)))
		}
		for _, off := range t.Words {
			p := base + uint64(off)
			w := c.u64(p)
			c.word(&w)
			c.put64(p, w)
		}
	}
	return size
}

// Verify reports whether the heap is whole: all objects of the space, one behind the other, have types, and their references are to objects. It is for tests.
func (h *Heap) Verify() error {
	begins := map[uint64]bool{}
	c := &collector{Heap: h}
	var all []uint64
	for at := start(h.space); at < uint64(h.Next); {
		begins[at] = true
		all = append(all, at)
		size, err := c.size(at)
		if err != nil {
			return err
		}
		at += size
	}
	for i := range h.large {
		begins[h.large[i].at] = true
		all = append(all, h.large[i].at)
	}
	check := func(x, at uint64) error {
		if x != 0 && x&1 == 0 && x < Size && !begins[x] {
			return corrupt("the object at 0x%x refers to 0x%x", at, x)
		}
		return nil
	}
	for _, at := range all {
		t, length := &h.types[h.u32(at)], uint64(1)
		if t.Elem != 0 {
			length = uint64(h.u32(at + 4))
		}
		for i := range length {
			base := at + i*uint64(t.Elem)
			for _, off := range t.Refs {
				if err := check(uint64(h.u32(base+uint64(off))), at); err != nil {
					return err
				}
			}
			for _, off := range t.Words {
				if err := check(h.u64(base+uint64(off)), at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
