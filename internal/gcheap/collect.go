package gcheap

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
)

// Roots visits each root, a word that it may change, and each word of the host in an object that lives.
type Roots struct {
	// Each calls visit with the address of each root, and returns how many things it has looked at to find them.
	Each func(visit func(word *uint64)) (looked int)
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
	looked := roots.Each(c.word)
	for c.err == nil && (c.scan < uint64(h.Next) || len(c.pending) > 0) {
		if n := len(c.pending) - 1; n >= 0 {
			o := &h.large[c.pending[n]]
			c.pending = c.pending[:n]
			c.look(o.at + lead)
			continue
		}
		c.drain()
	}
	h.clean = uint64(h.Next)
	h.dirty[h.space] = max(h.dirty[h.space], h.clean)
	if c.err != nil {
		return c.err
	}
	err := c.finish(looked)
	if roots.Done != nil {
		roots.Done()
	}
	return err
}

// finish gives back what nothing reaches, and decides when the next collection is.
func (c *collector) finish(looked int) (err error) {
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
	h.target = h.Used() + max(roomFor(h.Used()), rootShare*uint64(looked))
	h.shrink(c.from)
	h.open()
	return err
}

// roomFor returns how many bytes there may be of new objects before the next collection, if so many live. A collection takes time for what lives, and how often there is one is the inverse of this room:
// so small heaps have much room in proportion, up to what is little beside the rest of a program.
func roomFor(live uint64) uint64 { return max(live, min(8*live, mostExtra), leastFree) }

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
	return c.moved(at, c.u64(at+typeAt))
}

// moved returns where an object in the space that objects leave will be. It begins with its type and the word behind, which are given. The loops that look at objects inline this.
func (c *collector) moved(at, begin uint64) uint32 {
	if uint32(begin) == forwarded {
		return uint32(begin >> 32)
	}
	return c.move(at, begin)
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

// move copies an object, and returns where it is.
func (c *collector) move(at, begin uint64) uint32 {
	t := c.types.of(uint32(begin))
	if t == nil {
		c.err = corrupt("type %d of the object at 0x%x", uint32(begin), at)
		return 0
	}
	size := uint64(t.Fixed)
	if t.Elem != 0 {
		size = t.sizeOf(uint32(begin >> 32))
	}
	to := uint64(c.Next)
	switch end := to + size; {
	case at-c.fromStart+size > c.fromSize:
		c.err = corrupt("an object at 0x%x of %d bytes", at, size)
		return 0
	case end > c.committed[c.space]:
		c.err = corrupt("more is reached than there was")
		return 0
	}
	c.Next = uint32(to + size)
	from, into := c.at(at+typeAt), c.at(to+typeAt)
	*(*uint64)(into) = begin
	for i := uint64(Align); i < size; i += Align {
		*(*uint64)(unsafe.Add(into, i)) = *(*uint64)(unsafe.Add(from, i))
	}
	*(*uint64)(from) = forwarded | to<<32
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
	o := &c.large[i]
	if o.marked {
		return
	}
	if size, err := c.size(at); err != nil || size+lead > o.size {
		c.err = cmp.Or(err, corrupt("a large object at 0x%x of %d bytes", at, size))
		return
	}
	o.marked = true
	c.pending = append(c.pending, i)
}

// drain looks at the objects of the new space that have not been looked at, until it meets an error. What it does itself for small structures is what look and move do: most objects are
// such ones, in runs of one type.
func (c *collector) drain() {
	base, types, scan, next, fromStart, fromSize, end := c.base, c.types, c.scan, uint64(c.Next), c.fromStart, c.fromSize, c.committed[c.space]
	t, number := &Type{}, uint32(0)
	for scan < next && c.err == nil {
		at := unsafe.Add(base, scan)
		if n := *(*uint32)(unsafe.Add(at, abi.ObjectType)); n != number {
			of := types.of(n)
			if of == nil || !of.small {
				c.Next = uint32(next)
				scan += c.look(scan)
				next = uint64(c.Next)
				continue
			}
			t, number = of, n
		}
		for refs := t.slots; refs != 0; refs &= refs - 1 {
			slot := (*uint32)(unsafe.Add(at, 4*bits.TrailingZeros64(refs)))
			from := uint64(*slot)
			if from-fromStart >= fromSize || from%Align != 0 {
				c.elsewhere(uint32(from))
				continue
			}
			begin := *(*uint64)(unsafe.Add(base, from+typeAt))
			if uint32(begin) == forwarded {
				*slot = uint32(begin >> 32)
				continue
			}
			size := uint64(t.Fixed)
			if uint32(begin) != number || from-fromStart+size > fromSize || next+size > end {
				c.Next = uint32(next)
				*slot = c.move(from, begin)
				next = uint64(c.Next)
				continue
			}
			old, new := unsafe.Add(base, from+typeAt), unsafe.Add(base, next+typeAt)
			*(*uint64)(new) = begin
			for i := uint64(Align); i < size; i += Align {
				*(*uint64)(unsafe.Add(new, i)) = *(*uint64)(unsafe.Add(old, i))
			}
			*(*uint64)(old) = forwarded | next<<32
			*slot = uint32(next)
			next += size
		}
		scan += uint64(t.Fixed)
	}
	c.scan, c.Next = scan, uint32(next)
}

// look updates the references in an object and returns its size.
func (c *collector) look(at uint64) uint64 {
	typ := c.u32(at + typeAt)
	t := c.types.of(typ)
	if t == nil {
		c.err = corrupt("type %d of the object at 0x%x", typ, at)
		return 0
	}
	if t.Elem == 0 {
		c.fields(t, c.at(at))
		return uint64(t.Fixed)
	}
	n := c.u32(at)
	size := t.sizeOf(n)
	switch {
	case len(t.Refs) != 0 && t.Elem == 4:
		c.narrow(at+uint64(t.Refs[0]), n)
	case len(t.Refs)+len(t.Words) != 0:
		for i := uint64(0); i < uint64(n) && c.err == nil; i++ {
			c.fields(t, c.at(at+i*uint64(t.Elem)))
		}
	}
	return size
}

// narrow updates references that lie side by side.
func (c *collector) narrow(at uint64, n uint32) {
	base, fromStart, fromSize := c.base, c.fromStart, c.fromSize
	for end := at + 4*uint64(n); at < end && c.err == nil; at += 4 {
		slot := (*uint32)(unsafe.Add(base, at))
		from := uint64(*slot)
		if from-fromStart >= fromSize || from%Align != 0 {
			c.elsewhere(uint32(from))
			continue
		}
		*slot = c.moved(from, *(*uint64)(unsafe.Add(base, from+typeAt)))
	}
}

// fields updates the references of a structure at a place, or those of an element of an array whose first one would be there.
func (c *collector) fields(t *Type, at unsafe.Pointer) {
	for _, off := range t.Refs {
		if ref := (*uint32)(unsafe.Add(at, off)); *ref != 0 {
			*ref = c.ref(*ref)
		}
	}
	for _, off := range t.Words {
		c.word((*uint64)(unsafe.Add(at, off)))
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
