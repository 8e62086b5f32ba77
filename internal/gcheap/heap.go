// Package gcheap is the heap of the structures and arrays of a store: their layout, allocation, and a collector that copies (docs/gc.md).
//
// Place in the pipeline: behind it. A host in a Go process gives it the memory that compiled code accesses, and calls it where that code finds no room.
//
// Input: memory, types, and roots that a function visits.
// Output: objects in the memory, and roots that are updated.
//
// References are offsets in the memory, 32 bits, multiples of Align; an object has the number of its type in front of where they are to, an array its length there, and fields and elements follow
// (abi.ObjectType). 0 is null, and what has the low bit set is a small integer. Words of 64 bits, as roots and wide
// fields are, may also be handles of the host, from 2^32 on, which are passed to the host.
package gcheap

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
)

const (
	// Align is what offsets and sizes of objects are multiples of.
	Align = abi.ObjectAlign
	// First is where what may be accessible begins. What is below never is, so that accesses of fields of null fault.
	First = abi.HeapFirst
	// Size is the size of the memory.
	Size = 1 << 32
	// LargeSize is from which size on objects are not moved. Code that makes objects by itself must leave them to Alloc.
	LargeSize = 4 * step

	spaceSize  = 1 << 30 // of each of the two spaces, of which the first begins at First and is that much shorter
	largeStart = 2 * spaceSize
	// step is by how much spaces are made accessible, and what large objects are multiples of.
	step = 64 << 10
	// leastFree is the least room for objects that there is behind a collection: about what caches hold.
	leastFree = 1 << 20
	// mostExtra is the most room that there is beyond as much as lives.
	mostExtra = 32 << 20
	// rootShare is how many bytes of new objects there may be for each thing that was looked at to find roots, so that large tables and deep stacks are not looked at all the time.
	rootShare = 16
	// lead is how far the first reference of a space, or that to a large object, is from what is accessible: there is room for the number of the type in front of it.
	lead = Align
	// forwarded is the number of the type of an object that has been moved; the new reference is where the old one is to.
	forwarded = 1<<32 - 1
)

// ErrFull says that there is no room for an object, also after a collection.
var ErrFull = errors.New("gcheap: no room")

// CorruptError says that something in the heap is no object, or no reference to one. The heap must not be used any more.
type CorruptError struct{ Reason string }

func (e *CorruptError) Error() string { return "gcheap: the heap is corrupt: " + e.Reason }

func corrupt(format string, args ...any) error { return &CorruptError{fmt.Sprintf(format, args...)} }

// Type is what the collector knows of a type of objects.
type Type struct {
	// Fixed is the size of a structure with the number of its type, a multiple of Align, or how many bytes from that on the elements of an array begin.
	Fixed uint32
	// Elem is the size of an element, 0 for a structure.
	Elem uint32
	// Refs and Words are where, relative to the reference, the fields are that are references and words; of the elements of an array, the first one or none.
	Refs, Words []uint32
	// small says that the type is of structures that have no words, and references in the first 256 bytes only: those that slots has, a bit for each 4 bytes.
	small bool
	slots uint64
}

// TypeOf returns what the collector needs to know of a type that is laid out so.
func TypeOf(def *abi.TypeDef, l *abi.ObjectLayout) Type {
	refs, words := def.References(l)
	t := Type{Fixed: l.Fixed, Elem: l.Elem, Refs: refs, Words: words}
	t.small = t.Elem == 0 && len(t.Words) == 0
	for _, off := range t.Refs {
		t.small = t.small && off < 4*64
		t.slots |= 1 << (off / 4)
	}
	return t
}

// sizeOf returns how many bytes an object takes.
func (t *Type) sizeOf(length uint32) uint64 {
	return (uint64(t.Fixed) + uint64(t.Elem)*uint64(length) + Align - 1) &^ (Align - 1)
}

// Types are all types that objects may have, by their numbers: Index has the place in List for each number, 0 for what is none.
type Types struct {
	Index []uint32
	List  []Type
}

// of returns the type with a number, or nil.
func (t *Types) of(number uint32) *Type {
	if uint64(number) >= uint64(len(t.Index)) || t.Index[number] == 0 {
		return nil
	}
	return &t.List[t.Index[number]]
}

// State is what compiled code reads and writes to make an object: the reference to the next one, and the one that it must not be above when that object has been made. What is between is zero.
type State struct{ Next, End uint32 }

// Memory is what the host has for a heap.
type Memory struct {
	// Bytes is the whole memory, of Size bytes, of which only what has been committed is accessible.
	Bytes []byte
	// Commit makes [from, to) accessible and zero; Release gives it back, and Clear makes it zero. Each can fail, and then has done nothing. All are multiples of the step of 64 KiB.
	Commit  func(from, to uint64) error
	Release func(from, to uint64) error
	Clear   func(from, to uint64) error
}

// Heap is a heap. It belongs to one goroutine at a time.
type Heap struct {
	*State
	mem   Memory
	base  unsafe.Pointer
	types Types
	limit uint64 // of the bytes of objects

	space     int       // the one that objects are made in
	committed [2]uint64 // the end of what is accessible of each
	dirty     [2]uint64 // the end of what objects have been in since the memory was committed: what is behind is zero
	clean     uint64    // the end of what is zero behind the last object
	large     []largeObject
	largeEnd  uint64 // of what is accessible for large objects
	largeUsed uint64
	target    uint64 // how far the space may grow before there is a collection
	// Torture collects for each object, of which compiled code makes none by itself.
	Torture bool
}

// largeObject is an array that is not moved.
type largeObject struct {
	at, size uint64 // of the memory; the reference is behind lead
	marked   bool
}

// New returns a heap in a memory of which nothing is accessible, with a limit of the bytes that objects take.
func New(mem Memory, state *State, limit uint64) *Heap {
	h := &Heap{State: state, mem: mem, base: unsafe.Pointer(unsafe.SliceData(mem.Bytes)), limit: min(limit, spaceSize-First-lead), largeEnd: largeStart, target: leastFree}
	for s := range h.committed {
		h.committed[s], h.dirty[s] = start(s), start(s)
	}
	h.Next, h.clean = uint32(start(0)+lead), start(0)+lead
	return h
}

// start returns where a space begins.
func start(space int) uint64 {
	if space == 0 {
		return First
	}
	return spaceSize
}

// SetTypes says what types there are: numbers of objects never mean another type than before.
func (h *Heap) SetTypes(types Types) { h.types = types }

// TypeOf returns the number of the type of an object.
func (h *Heap) TypeOf(ref uint32) uint32 { return h.u32(uint64(ref) + typeAt) }

// typeAt is where an object has the number of its type, relative to the reference: adding it wraps around.
const typeAt = 1<<64 + abi.ObjectType

// The accesses of the memory check nothing: places are below Size, and what is not accessible faults.
func (h *Heap) at(at uint64) unsafe.Pointer { return unsafe.Add(h.base, at) }
func (h *Heap) u32(at uint64) uint32        { return *(*uint32)(h.at(at)) }
func (h *Heap) put32(at uint64, x uint32)   { *(*uint32)(h.at(at)) = x }
func (h *Heap) u64(at uint64) uint64        { return *(*uint64)(h.at(at)) }

// Used returns how many bytes the objects take, those that nothing reaches included.
func (h *Heap) Used() uint64 { return uint64(h.Next) - start(h.space) - lead + h.largeUsed }

// open sets how far code may make objects by itself: as far as there are zeros.
func (h *Heap) open() {
	limit := min(h.target, h.limit)
	h.End = uint32(min(h.clean, start(h.space)+lead+limit-min(limit, h.largeUsed)))
	if h.Torture {
		h.End = 0
	}
}

// Alloc makes an object of a type, of zeros and nulls, and returns a reference to it. It may collect: visit must then visit all roots.
func (h *Heap) Alloc(typ, length uint32, roots Roots) (uint32, error) {
	defer h.open()
	t := h.types.of(typ)
	if t == nil {
		return 0, corrupt("an object of type %d", typ)
	}
	size := t.sizeOf(length)
	if size > h.limit {
		return 0, ErrFull
	}
	if h.Torture {
		if err := h.Collect(roots); err != nil {
			return 0, err
		}
	}
	at, ok, err := h.place(size)
	if err != nil {
		return 0, err
	}
	if !ok {
		if err := h.Collect(roots); err != nil {
			return 0, err
		}
		if at, ok, err = h.place(size); err != nil {
			return 0, err
		}
		if !ok {
			h.target = 2 * h.target
			if at, ok, err = h.grown(size); err != nil {
				return 0, err
			} else if !ok {
				return 0, ErrFull
			}
		}
	}
	h.put32(at+typeAt, typ)
	h.put32(at, length) // of a structure 0, as its fields are
	return uint32(at), nil
}

// isLarge reports whether an object is not to be copied.
func (h *Heap) isLarge(size uint64) bool { return size >= LargeSize }

// place finds room for an object below the target.
func (h *Heap) place(size uint64) (at uint64, ok bool, err error) {
	if h.Used()+size > min(h.target, h.limit) {
		return 0, false, nil
	}
	return h.grown(size)
}

// grown finds room for an object below the limit.
func (h *Heap) grown(size uint64) (at uint64, ok bool, err error) {
	switch {
	case h.Used()+size > h.limit:
		return 0, false, nil
	case h.isLarge(size):
		return h.placeLarge(size)
	}
	if end := uint64(h.Next) + size; end > h.clean {
		if err := h.ready(end); err != nil {
			return 0, false, err
		}
	}
	at = uint64(h.Next)
	h.Next += uint32(size)
	return at, true, nil
}

// ready makes the current space zero up to an end, at least. It goes on in pieces, so that what code is about to write to is in the cache.
func (h *Heap) ready(end uint64) error {
	if end > h.committed[h.space] {
		if err := h.extend(h.space, end); err != nil {
			return err
		}
	}
	end = min((end+step-1)&^(step-1), h.committed[h.space])
	if from, to := h.clean+typeAt, min(end, h.dirty[h.space]); from < to {
		clear(h.mem.Bytes[from:to])
	}
	h.clean = end
	return nil
}

// extend makes a space accessible up to an end, at least.
func (h *Heap) extend(space int, end uint64) error {
	end = (end + step - 1) &^ (step - 1)
	have := h.committed[space]
	end = min(max(end, have+(have-start(space))/2&^(step-1)), start(space)+spaceSize-First)
	if err := h.mem.Commit(have, end); err != nil {
		return err
	}
	h.committed[space] = end
	return nil
}

// placeLarge finds room for a large object: a gap between others, or behind them.
func (h *Heap) placeLarge(size uint64) (uint64, bool, error) {
	size = (size + lead + step - 1) &^ (step - 1)
	at, i := uint64(largeStart), 0
	for ; i < len(h.large) && h.large[i].at-at < size; i++ {
		at = h.large[i].at + h.large[i].size
	}
	if at+size > Size {
		return 0, false, nil
	}
	if end := at + size; end > h.largeEnd {
		if err := h.mem.Commit(h.largeEnd, end); err != nil {
			return 0, false, err
		}
		h.largeEnd = end
	}
	h.large = append(h.large, largeObject{})
	copy(h.large[i+1:], h.large[i:])
	h.large[i] = largeObject{at: at, size: size}
	h.largeUsed += size
	return at + lead, true, nil
}
