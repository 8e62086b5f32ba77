// Package gcheap is the heap of the structures and arrays of a store: their layout, allocation, and a collector that copies (docs/gc.md).
//
// Place in the pipeline: behind it. A host in a Go process gives it the memory that compiled code accesses, and calls it where that code finds no room.
//
// Input: memory, types, and roots that a function visits.
// Output: objects in the memory, and roots that are updated.
//
// References are the offsets of objects in the memory, 32 bits, multiples of Align; 0 is null, and what has the low bit set is a small integer. Words of 64 bits, as roots and wide
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
	// HeaderSize is how many bytes an object begins with: the number of its type, and the length of an array or 0, 32 bits each.
	HeaderSize = abi.ObjectHeader
	// First is the lowest offset that an object may have. What is below is never accessible, so that accesses of fields of null fault.
	First = abi.HeapFirst
	// Size is the size of the memory.
	Size = 1 << 32

	spaceSize  = 1 << 30 // of each of the two spaces, of which the first begins at First and is that much shorter
	largeStart = 2 * spaceSize
	// step is by how much spaces are made accessible, and what large objects are multiples of.
	step = 64 << 10
	// forwarded is the number of the type of an object that has been moved; the new offset is in place of the length.
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
	// Fixed is the size of a structure with its header, a multiple of Align, or where the elements of an array begin.
	Fixed uint32
	// Elem is the size of an element, 0 for a structure.
	Elem uint32
	// Refs and Words are the offsets of the fields that are references and words, rising; of the elements of an array, they are Fixed or none.
	Refs, Words []uint32
}

// TypeOf returns what the collector needs to know of a type that is laid out so.
func TypeOf(def *abi.TypeDef, l *abi.ObjectLayout) Type {
	t := Type{Fixed: l.Fixed, Elem: l.Elem}
	for i, f := range def.Fields {
		switch {
		case f.Packed != 0 || f.Type.Base() != abi.ExternRef:
		case f.Type.IsNarrow():
			t.Refs = append(t.Refs, l.Offsets[i])
		default:
			t.Words = append(t.Words, l.Offsets[i])
		}
	}
	return t
}

// sizeOf returns how many bytes an object takes.
func (t *Type) sizeOf(length uint32) uint64 {
	return (uint64(t.Fixed) + uint64(t.Elem)*uint64(length) + Align - 1) &^ (Align - 1)
}

// State is what compiled code reads and writes to make an object: where free space begins and where it ends. What is between is zero.
type State struct{ Next, End uint32 }

// Memory is what the host has for a heap.
type Memory struct {
	// Bytes is the whole memory, of Size bytes, of which only what has been committed is accessible.
	Bytes []byte
	// Commit makes [from, to) accessible and zero; Release gives it back. Both are multiples of the step of 64 KiB.
	Commit  func(from, to uint64) error
	Release func(from, to uint64)
}

// Heap is a heap. It belongs to one goroutine at a time.
type Heap struct {
	*State
	mem   Memory
	base  unsafe.Pointer
	types []Type // by number
	limit uint64 // of the bytes of objects

	space     int       // the one that objects are made in
	committed [2]uint64 // the end of what is accessible of each
	large     []largeObject
	largeEnd  uint64
	largeUsed uint64
	target    uint64 // how far the space may grow before there is a collection
	Torture   bool   // collect for each object that is not made by compiled code
}

// largeObject is an array that is not moved.
type largeObject struct {
	at, size uint64
	marked   bool
}

// New returns a heap in a memory of which nothing is accessible, with a limit of the bytes that objects take.
func New(mem Memory, state *State, limit uint64) *Heap {
	h := &Heap{State: state, mem: mem, base: unsafe.Pointer(unsafe.SliceData(mem.Bytes)), limit: min(limit, spaceSize-First), largeEnd: largeStart, target: 4 * step}
	for s := range h.committed {
		h.committed[s] = start(s)
	}
	h.Next = First
	h.End = First
	return h
}

// start returns where a space begins.
func start(space int) uint64 {
	if space == 0 {
		return First
	}
	return spaceSize
}

// AddTypes makes room for the types up to a number, which are those of the process: numbers never mean another type.
func (h *Heap) AddTypes(types []Type) { h.types = types }

// The accesses of the memory check nothing: places are below Size, and what is not accessible faults.
func (h *Heap) at(at uint64) unsafe.Pointer { return unsafe.Add(h.base, at) }
func (h *Heap) u32(at uint64) uint32        { return *(*uint32)(h.at(at)) }
func (h *Heap) put32(at uint64, x uint32)   { *(*uint32)(h.at(at)) = x }
func (h *Heap) u64(at uint64) uint64        { return *(*uint64)(h.at(at)) }
func (h *Heap) put64(at uint64, x uint64)   { *(*uint64)(h.at(at)) = x }

// used returns how many bytes the objects take, those that nothing reaches included.
func (h *Heap) used() uint64 { return uint64(h.Next) - start(h.space) + h.largeUsed }

// Alloc makes an object of a type, of zeros and nulls, and returns a reference to it. It may collect: visit must then visit all roots.
func (h *Heap) Alloc(typ, length uint32, roots Roots) (uint32, error) {
	size := h.types[typ].sizeOf(length)
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
			if at, ok, err = h.grown(size); err != nil || !ok {
				return 0, errors.Join(err, ErrFull)
			}
		}
	}
	h.put32(at, typ)
	h.put32(at+4, length)
	return uint32(at), nil
}

// isLarge reports whether an object is not to be copied.
func (h *Heap) isLarge(size uint64) bool { return size >= 4*step }

// place finds room for an object below the target.
func (h *Heap) place(size uint64) (at uint64, ok bool, err error) {
	if h.used()+size > min(h.target, h.limit) {
		return 0, false, nil
	}
	return h.grown(size)
}

// grown finds room for an object below the limit.
func (h *Heap) grown(size uint64) (at uint64, ok bool, err error) {
	switch {
	case h.used()+size > h.limit:
		return 0, false, nil
	case h.isLarge(size):
		return h.placeLarge(size)
	}
	if end := uint64(h.Next) + size; end > uint64(h.End) {
		if err := h.extend(end); err != nil {
			return 0, false, err
		}
	}
	at = uint64(h.Next)
	h.Next += uint32(size)
	return at, true, nil
}

// extend makes the current space accessible up to an end, at least.
func (h *Heap) extend(end uint64) error {
	end = (end + step - 1) &^ (step - 1)
	if have := h.committed[h.space]; end > have {
		end = min(max(end, have+(have-start(h.space))/2&^(step-1)), start(h.space)+spaceSize-First)
		if err := h.mem.Commit(have, end); err != nil {
			return err
		}
		h.committed[h.space] = end
	}
	h.End = uint32(end)
	return nil
}

// placeLarge finds room for a large object: a gap between others, or behind them.
func (h *Heap) placeLarge(size uint64) (uint64, bool, error) {
	size = (size + step - 1) &^ (step - 1)
	at, i := uint64(largeStart), 0
	for ; i < len(h.large) && h.large[i].at-at < size; i++ {
		at = h.large[i].at + h.large[i].size
	}
	if at+size > Size {
		return 0, false, nil
	}
	if err := h.mem.Commit(at, at+size); err != nil {
		return 0, false, err
	}
	h.large = append(h.large, largeObject{})
	copy(h.large[i+1:], h.large[i:])
	h.large[i] = largeObject{at: at, size: size}
	h.largeUsed += size
	return at, true, nil
}
