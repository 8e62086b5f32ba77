package inproc

import (
	"errors"
	"runtime"
	"unsafe"
	"weak"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/gcheap"
	"github.com/waot-project/waot/internal/meta"
)

// heap is the collected heap of a store, which has one once it has an instance with a part for it.
type heap struct {
	*gcheap.Heap
	base     uintptr
	reserved extent
	// objects are what Go code holds apart from handles: see Store.Extern.
	objects []weak.Pointer[Object]
}

const (
	// heapLead is what is in front of the base of a heap: a page with its state.
	heapLead = pageSize
	// heapTail is what is behind its end, never accessible: no access is as far from its object.
	heapTail = abi.HeapFirst + pageSize
	// heapMappings is how many mappings a heap takes: its state, the parts that are accessible, and what is between.
	heapMappings = 10
)

var _ = [1]struct{}{}[gcheap.LargeSize-256<<10] // as codeHeapNew has it

// makeHeap makes the heap of the store if there is none, and makes it know all types.
func (s *Store) makeHeap() error {
	if s.heap != nil {
		s.heap.SetTypes(process.rows.known())
		return nil
	}
	if err := process.takeMappings(heapMappings); err != nil {
		return err
	}
	x := extent{size: heapLead + gcheap.Size + heapTail}
	err := process.withoutSpares(func() (err error) {
		if x.low, err = reserve(x.size, protNone); err != nil {
			return err
		}
		if err = mprotect(x.low, heapLead, protRW); err != nil {
			munmap(x.low, x.size)
		}
		return err
	})
	if err != nil {
		process.giveMappings(heapMappings)
		return err
	}
	base := x.low + heapLead
	mem := gcheap.Memory{
		Bytes:   unsafe.Slice((*byte)(ptr(base)), gcheap.Size),
		Commit:  func(from, to uint64) error { return mprotect(base+uintptr(from), uintptr(to-from), protRW) },
		Release: func(from, to uint64) error { return place(base+uintptr(from), uintptr(to-from), protNone) },
		Clear:   func(from, to uint64) error { return place(base+uintptr(from), uintptr(to-from), protRW) },
	}
	state := (*gcheap.State)(ptr(base - uintptr(-abi.HeapNext)))
	s.heap = &heap{Heap: gcheap.New(mem, state, s.config.MaxHeapMemory), base: base, reserved: x}
	s.heap.Torture = s.config.CollectAlways
	s.heap.SetTypes(process.rows.known())
	return nil
}

// freeHeap unmaps the heap.
func (s *Store) freeHeap() {
	if s.heap != nil {
		munmap(s.heap.reserved.low, s.heap.reserved.size)
		process.giveMappings(heapMappings)
		s.heap = nil
	}
}

// hasNull reports whether an access through null to an object may fault at an address.
func (h *heap) hasNull(addr uintptr) bool { return h != nil && addr-h.base < abi.HeapFirst }

// useTypes gives the types of a module numbers, which they have until the store is closed, at least.
func (s *Store) useTypes(m *Module) error {
	if m.meta.Heap == nil || s.typesOf[m] {
		return nil
	}
	if err := m.takeNumbers(); err != nil {
		return err
	}
	if s.typesOf == nil {
		s.typesOf = map[*Module]bool{}
	}
	s.typesOf[m] = true
	return nil
}

// leaveTypes ends what useTypes began.
func (s *Store) leaveTypes() {
	for m := range s.typesOf {
		m.giveNumbers()
	}
	s.typesOf, s.typeUses = nil, nil
}

// useType makes a type stay in use until the store is closed.
func (s *Store) useType(t *ObjectType) {
	if s.typeUses == nil {
		s.typeUses = map[*ObjectType]bool{}
	}
	s.typeUses[t] = true
}

// takeNumbers counts a store that uses the types of the module, of which the first makes them have numbers.
func (m *Module) takeNumbers() (err error) {
	m.numbersMu.Lock()
	defer m.numbersMu.Unlock()
	if m.numbersUsers == 0 {
		if m.numbers, err = process.rows.take(m.objectTypes); err != nil {
			return err
		}
	}
	m.numbersUsers++
	return nil
}

// giveNumbers ends what takeNumbers began. With the last store the numbers go, and the types of functions that have them.
func (m *Module) giveNumbers() {
	m.numbersMu.Lock()
	defer m.numbersMu.Unlock()
	if m.numbersUsers--; m.numbersUsers > 0 {
		return
	}
	for i, n := range m.numbers {
		if n.number != 0 {
			m.types[i].Store(nil)
		}
	}
	process.rows.give(m.objectTypes, m.numbers)
	m.numbers = nil
}

// prepareHeap makes the heap of the store for an instance of a module that has to do with it. Types get their numbers, which come before their records.
func (s *Store) prepareHeap(m *Module) error {
	if m.meta.Heap == nil {
		return nil
	}
	if err := s.useTypes(m); err != nil {
		return err
	}
	return s.makeHeap()
}

// fillHeap fills the part of the instance data that is for the heap.
func (i *Instance) fillHeap() error {
	h := i.module.meta.Heap
	if h == nil {
		return nil
	}
	part := i.data + uintptr(h.Part)
	if err := i.fillHelpers(abi.FirstHeapHelper, abi.NumHelpers, part); err != nil {
		return err
	}
	store64(part+uintptr(abi.HeapBase), uint64(i.store.heap.base))
	store64(part+uintptr(abi.HeapRows), uint64(process.rows.base))
	numbers := unsafe.Slice((*uint32)(ptr(part+uintptr(abi.HeapTypes))), len(h.Defs))
	for n := range h.Defs {
		if h.Defs[n].Kind != abi.KindFunc {
			numbers[n] = i.module.numbers[n].number
		}
	}
	return nil
}

// heapNew is the helper waot_heap_new where machine code finds no room.
func heapNew(c *Caller) uint64 {
	s := c.store
	number, length := uint32(s.ctx.ints[0]), uint32(s.ctx.ints[1])
	ref, err := s.allocObject(number, length)
	switch {
	case errors.Is(err, gcheap.ErrFull):
		return c.giveUp(c.trapInCall(abi.TrapHeapExhausted))
	case err != nil:
		return c.giveUp(err)
	}
	return c.helped(uint64(ref))
}

// allocObject makes an object of zeros and nulls, after a collection if need be. The error is gcheap.ErrFull or a *SystemError.
func (s *Store) allocObject(number, length uint32) (uint32, error) {
	ref, err := s.heap.Alloc(number, length, s.heapRoots())
	if errors.Is(err, gcheap.ErrFull) && len(s.heap.objects) > 0 {
		runtime.GC() // Go code may have forgotten some
		ref, err = s.heap.Alloc(number, length, s.heapRoots())
	}
	s.mustBeWhole(err)
	return ref, err
}

// mustBeWhole ends the process if an error of the heap says that it is corrupt: compiled code did what it never may.
func (s *Store) mustBeWhole(err error) {
	var corrupt *gcheap.CorruptError
	if errors.As(err, &corrupt) {
		fatal(err.Error() + "\n")
	}
}

// trapInCall returns a trap at the call by which native code has left.
func (c *Caller) trapInCall(code abi.TrapCode) *Trap {
	s := c.store
	var frames []Frame
	visit := framesInto(&frames)
	more := c.walkOwn(visit)
	inner := len(frames)
	if more {
		s.walkOuter(s.depth-2, visit)
	}
	return newTrap(code, frames, inner)
}

// heapRoots is what a collection of the heap visits: all places of references, which say what handles live, too.
func (s *Store) heapRoots() gcheap.Roots {
	return gcheap.Roots{
		Each: func(visit func(*uint64)) int {
			s.refs.begin()
			s.refs.scanned = s.eachRoot(visit) + s.eachObject(visit)
			return s.refs.scanned
		},
		Host: s.refs.mark,
		Done: s.sweepRefs,
	}
}

// eachObject visits the objects that Go code holds: by handles that live, and what is left of others. It gives the number of things it looked at.
func (s *Store) eachObject(visit func(*uint64)) (scanned int) {
	r := &s.refs
	if r.skip&rootObjects != 0 {
		return 0
	}
	scanned = len(r.inUse) + len(s.heap.objects)
	for _, i := range r.inUse {
		if o, ok := r.slots[i].value.(*Object); ok && !o.escaped && r.isLive(i) { // those that have escaped come below
			visit(&o.word)
		}
	}
	left := s.heap.objects[:0]
	for _, w := range s.heap.objects {
		if o := w.Value(); o != nil {
			visit(&o.word)
			left = append(left, w)
		}
	}
	s.heap.objects = left
	return scanned
}

// collectHeap collects the heap, and with it handles.
func (s *Store) collectHeap() {
	s.mustBeWhole(s.heap.Collect(s.heapRoots()))
	s.refs.room = max(s.refs.room, minRefRoom) // also if the system has no memory for it
}

// funcTest is the helper waot_func_test.
func funcTest(c *Caller) uint64 {
	desc, record := uintptr(c.store.ctx.ints[0]), uintptr(c.store.ctx.ints[1])
	return c.helped(uint64(isOfRecord(desc, record)))
}

// isOfRecord returns 1 if the function with a descriptor, or null, is of the type with a record, or of a subtype, and else 0.
func isOfRecord(desc, record uintptr) int {
	if desc == 0 {
		return 0
	}
	have := uintptr(load64(desc + descType))
	if have == record || process.rows.isWithin(numberOfRecord(have).number, numberOfRecord(record)) {
		return 1
	}
	return 0
}

// In front of the record of a type are its number and its depth among those of the process.
const recordLead = 16

func numberOfRecord(record uintptr) typeNumber {
	w := load64(record - 8)
	return typeNumber{uint32(w), uint32(w >> 32)}
}

// isSmall reports whether a word is a small integer, and isObject whether compiled code has it for an object.
func isSmall(w uint64) bool  { return w&1 != 0 && w < gcheap.Size }
func isObject(w uint64) bool { return w != 0 && w&1 == 0 && w < gcheap.Size }

// small returns the integer of a word that is one.
func small(w uint64) I31 { return I31(int32(uint32(w)) >> 1) }

// word returns the word of a small integer, whose upper bit does not count.
func (i I31) word() uint64 { return uint64(uint32(i)<<1 | 1) }

// handleSlot makes a handle of an object; nothing is collected.
func (s *Store) handleSlot(word uint64) uint32 { return s.takeSlot(&Object{store: s, word: word}) }

// valueOf returns what Go code has for a word of compiled code that is no function: nil for null and for stale handles.
func (s *Store) valueOf(w uint64) any {
	if s.heap != nil && isObject(w) {
		o := &Object{store: s, word: w}
		o.escape()
		return o
	}
	return s.Extern(w)
}

// objectsToNative replaces handles of objects, which have been checked, by words of compiled code.
func (s *Store) objectsToNative(words []uint64, refs []uint16) {
	if s.heap == nil {
		return
	}
	for _, n := range refs {
		words[n] = s.objectToNative(words[n])
	}
}

func (s *Store) objectToNative(w uint64) uint64 {
	if i, ok := s.refs.lookUp(w); ok {
		if o, ok := s.refs.slots[i].value.(*Object); ok && o.store == s {
			return o.word
		}
	}
	return w
}

// objectsFromNative is the reverse, which makes handles. Nothing keeps them but what the caller does with them; nothing is collected.
func (s *Store) objectsFromNative(words []uint64, refs []uint16) {
	if s.heap == nil {
		return
	}
	for _, n := range refs {
		if isObject(words[n]) {
			words[n] = s.refs.slots[s.handleSlot(words[n])].word
		}
	}
}

// readObject is objectsFromNative of one word that Go code reads. The innermost host function keeps the handle, or, outside of all, it is kept until the next call begins.
func (s *Store) readObject(w uint64) uint64 {
	if s.heap == nil || !isObject(w) {
		return w
	}
	i := s.handleSlot(w)
	word := s.refs.slots[i].word
	if s.depth == 0 {
		s.refs.returned = append(s.refs.returned, word)
	} else {
		s.activations[s.depth-1].keep(i)
	}
	s.collectIfDue()
	return word
}

// Take is Extern of a reference that was read from a table or global, or is a result, and is not used any more: the handle of an object, which is a new one each time, is given up.
func (s *Store) Take(ref uint64) any {
	v := s.Extern(ref)
	if _, ok := v.(*Object); ok {
		s.Unmake(ref)
	}
	return v
}

// isRefTo reports whether v, a word of Go code that is not null, is a reference of a type, of class externref.
func (s *Store) isRefTo(t *abi.OwnType, v uint64) bool {
	if s.heap != nil && isSmall(v) {
		return inHierarchy(abi.I31Ref, t)
	}
	i, ok := s.refs.lookUp(v)
	if !ok {
		return false
	}
	switch x := s.refs.slots[i].value.(type) {
	case *Exception:
		return t.Type.OrNull() == meta.ExnRef
	case *Object:
		if x.store != s {
			return false
		}
		if _, exact := t.Type.TypeIndex(); exact {
			return process.rows.isWithin(x.number(), process.rows.numberOf(t.To))
		}
		return inHierarchy(abi.RefToKind(x.Kind(), 0), t)
	}
	top := t.Type.OrNull()
	return top == meta.ExternRef || top == abi.AnyRef
}

// IsRefTo reports whether a word, which is not null, is a reference of a type that has no index.
func (s *Store) IsRefTo(ref uint64, t meta.ValType) bool {
	if t.Base() == meta.FuncRef {
		return s.FuncOf(ref) != nil
	}
	return s.isRefTo(&abi.OwnType{Type: t}, ref)
}

// inHierarchy reports whether references of type t, which is within any, are of type u, or as externrefs.
func inHierarchy(t meta.ValType, u *abi.OwnType) bool {
	return u.Type.OrNull() == meta.ExternRef || abi.Matches(t.NotNull(), u.Type, func(uint32, uint32) bool { return false })
}
