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
	from      int    // the space that objects leave
	fromStart uint64 // the first reference that there can be to it
	fromSize  uint64 // what is from there on to the reference to the next object that it would have had
	scan      uint64
	pending   []int // large objects that are marked and not looked at
	roots     Roots
	err       error
}

// Collect moves all objects that roots reach to the other space, updates the roots, and forgets the rest. If the heap is corrupt, it is not usable any more; after other errors nothing has been moved, or
// what is not reached takes memory until the next collection.
func (h *Heap) Collect(roots Roots) error {
	if other, end := 1-h.space, start(1-h.space)+uint64(h.Next)-start(h.space); end > h.committed[other] {
		if err := h.extend(other, end); err != nil {
			return err
		}
	}
	c := &collector{Heap: h, from: h.space, fromStart: start(h.space) + lead, roots: roots}
	c.fromSize = uint64(h.Next) - c.fromStart
	h.dirty[c.from] = max(h.dirty[c.from], uint64(h.Next))
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
	h.clean = uint64(h.Next)
	h.dirty[h.space] = max(h.dirty[h.space], h.clean)
	if c.err != nil {
		return c.err
	}
	err := c.finish()
	if roots.Done != nil {
		roots.Done()
	}
	return err
}

// finish gives back what nothing reaches, and decides when the next collection is.
func (c *collector) finish() (err error) {
	h := c.Heap
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
	h.target = h.Used() + max(h.Used(), leastFree)
	h.shrink(c.from)
	h.open()
	return err
}

// shrink gives back what an empty space has beyond what it will need, which is at most the target: clearing pages takes less time than touching new ones.
func (h *Heap) shrink(space int) {
	keep := start(space) + (h.target+lead+step-1)&^(step-1)
	if have := h.committed[space]; have > keep+keep/4 {
		if h.mem.Release(keep, have) != nil {
			return // it stays as it is, and is cleared before it is used
		}
		h.committed[space], h.dirty[space] = keep, min(h.dirty[space], keep)
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
	if at-c.fromStart >= c.fromSize || r%Align != 0 {
		c.elsewhere(r)
		return r
	}
	typ := c.u32(at + typeAt)
	if typ == forwarded {
		return c.u32(at)
	}
	return c.move(at, typ)
}

// elsewhere sees to a reference that is not to the space that objects leave: to a large object, a small integer or nothing.
func (c *collector) elsewhere(r uint32) {
	switch {
	case r == 0 || r&1 != 0 || c.err != nil:
	case r%Align != 0:
		c.err = corrupt("a reference 0x%x", r)
	case uint64(r) >= largeStart:
		c.mark(uint64(r))
	default:
		c.err = corrupt("a reference 0x%x that is not to the space of objects", r)
	}
}

// move copies an object of the type with a number, and returns where it is.
func (c *collector) move(at uint64, typ uint32) uint32 {
	size := uint64(0)
	t := c.types.of(typ)
	if t != nil {
		size = t.sizeOf(c.length(t, at))
	}
	to := uint64(c.Next)
	switch end := to + size; {
	case c.err != nil:
		return 0
	case t == nil:
		c.err = corrupt("type %d of the object at 0x%x", typ, at)
		return 0
	case at-c.fromStart+size > c.fromSize:
		c.err = corrupt("an object at 0x%x of %d bytes", at, size)
		return 0
	case end > c.committed[c.space]:
		c.err = corrupt("more is reached than there was")
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

// length returns the length of an array of type t, and 0 for a structure.
func (h *Heap) length(t *Type, at uint64) uint32 {
	if t.Elem == 0 {
		return 0
	}
	return h.u32(at)
}

// size returns how many bytes the object at a place takes.
func (h *Heap) size(at uint64) (uint64, error) {
	typ := h.u32(at + typeAt)
	t := h.types.of(typ)
	if t == nil {
		return 0, corrupt("type %d of the object at 0x%x", typ, at)
	}
	return t.sizeOf(h.length(t, at)), nil
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
	typ := c.u32(at + typeAt)
	t := c.types.of(typ)
	if t == nil {
		c.err = corrupt("type %d of the object at 0x%x", typ, at)
		return 0
	}
	n := c.length(t, at)
	if t.Elem == 0 {
		c.references(t, at, 1)
	} else if len(t.Refs)+len(t.Words) != 0 {
		c.references(t, at, uint64(n))
	}
	return t.sizeOf(n)
}

// references updates those of a structure, or of the elements of an array.
func (c *collector) references(t *Type, at, n uint64) {
	for ; n > 0 && c.err == nil; n-- {
		for _, off := range t.Refs {
			p := at + uint64(off)
			if r := c.u32(p); r != 0 {
				c.put32(p, c.ref(r))
			}
		}
		for _, off := range t.Words {
			p := at + uint64(off)
			w := c.u64(p)
			c.word(&w)
			c.put64(p, w)
		}
		at += uint64(t.Elem)
	}
}

// Verify reports whether the heap is whole: all objects of the space, one behind the other, have types, and their references are to objects. It is for tests.
func (h *Heap) Verify() error {
	begins := map[uint64]bool{}
	var all []uint64
	for at := start(h.space) + lead; at < uint64(h.Next); {
		begins[at] = true
		all = append(all, at)
		size, err := h.size(at)
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
