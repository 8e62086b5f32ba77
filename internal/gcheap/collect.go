package gcheap

import (
	"slices"
	"sort"
)

// Roots visits each root, a word that it may change, and each word of the host in an object that lives.
type Roots struct {
	// Each calls visit with the address of each root.
	Each func(visit func(word *uint64))
	// Host is told the handles that roots and live objects hold. Done is called when all that lives is known, and has been moved. Both may be nil.
	Host func(word uint64)
	Done func()
}

// collector copies what lives (C. J. Cheney, "A nonrecursive list compacting algorithm", CACM 13(11), 1970): the objects that have been copied and not looked at are a queue in the
// new space, beside which there is one of large objects.
type collector struct {
	*Heap
	from    int    // the space that objects leave
	fromEnd uint64 // the reference to the next object that it would have had
	scan    uint64
	pending []int // large objects that are marked and not looked at
	roots   Roots
	err     error
}

// Collect moves all objects that roots reach to the other space, updates the roots, and forgets the rest. If the heap is corrupt, it is not usable any more.
func (h *Heap) Collect(roots Roots) error {
	c := &collector{Heap: h, from: h.space, fromEnd: uint64(h.Next), roots: roots}
	h.space = 1 - c.from
	c.scan = start(h.space) + lead
	h.Next = uint32(c.scan)
	roots.Each(c.word)
	for c.err == nil && (c.scan < uint64(h.Next) || len(c.pending) > 0) {
		if n := len(c.pending) - 1; n >= 0 {
			o := &h.large[c.pending[n]]
			c.pending = c.pending[:n]
			c.look(o.at + lead)
			continue
		}
		c.scan += c.look(c.scan)
	}
	if c.err != nil {
		return c.err
	}
	if err := c.finish(); err != nil {
		return err
	}
	if roots.Done != nil {
		roots.Done()
	}
	return nil
}

// finish gives back what nothing reaches, and decides when the next collection is.
func (c *collector) finish() (err error) {
	h := c.Heap
	h.empty(c.from, c.fromEnd)
	h.large = slices.DeleteFunc(h.large, func(o largeObject) bool {
		if o.marked {
			return false
		}
		if failed := h.mem.Clear(o.at, o.at+o.size); failed != nil {
			err = failed
			return false
		}
		h.largeUsed -= o.size
		return true
	})
	for i := range h.large {
		h.large[i].marked = false
	}
	h.target = max(2*h.Used(), 4*step)
	h.open()
	return err
}

// kept is how many bytes of an empty space stay accessible, since clearing them takes less time than touching new pages.
const kept = 1 << 20

// empty makes a space zero that has objects up to an end, and gives most of it back.
func (h *Heap) empty(space int, end uint64) {
	begin := start(space)
	keep := min(begin+kept, h.committed[space])
	clear(h.mem.Bytes[begin:max(begin, min(end, keep))])
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
	case at < start(c.from)+lead || at >= c.fromEnd:
		c.err = corrupt("a reference 0x%x that is not to the space of objects", r)
	case c.u32(at+typeAt) == forwarded:
		return c.u32(at)
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
	if end := to + size; err == nil && end > c.committed[c.space] {
		err = c.extend(end)
	}
	if err != nil {
		c.err = err
		return 0
	}
	for i := uint64(0); i < size; i += Align {
		c.put64(to+typeAt+i, c.u64(at+typeAt+i))
	}
	c.Next += uint32(size)
	c.put32(at+typeAt, forwarded)
	c.put32(at, uint32(to))
	return uint32(to)
}

// size returns how many bytes the object at a place takes.
func (c *collector) size(at uint64) (uint64, error) {
	typ := c.u32(at + typeAt)
	t := c.types.of(typ)
	switch {
	case t == nil:
		return 0, corrupt("type %d of the object at 0x%x", typ, at)
	case t.Elem == 0:
		return uint64(t.Fixed), nil
	}
	return t.sizeOf(c.u32(at)), nil
}

// mark notes a large object.
func (c *collector) mark(at uint64) {
	i := sort.Search(len(c.large), func(i int) bool { return c.large[i].at+lead >= at })
	if i == len(c.large) || c.large[i].at+lead != at {
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
	t, length := c.types.of(c.u32(at+typeAt)), uint64(1)
	if t.Elem != 0 {
		length = uint64(c.u32(at))
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
	for at := start(h.space) + lead; at < uint64(h.Next); {
		begins[at] = true
		all = append(all, at)
		size, err := c.size(at)
		if err != nil {
			return err
		}
		at += size
	}
	for i := range h.large {
		begins[h.large[i].at+lead] = true
		all = append(all, h.large[i].at+lead)
	}
	check := func(x, at uint64) error {
		if x != 0 && x&1 == 0 && x < Size && !begins[x] {
			return corrupt("the object at 0x%x refers to 0x%x", at, x)
		}
		return nil
	}
	for _, at := range all {
		t, length := h.types.of(h.u32(at+typeAt)), uint64(1)
		if t.Elem != 0 {
			length = uint64(h.u32(at))
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
