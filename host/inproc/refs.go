package inproc

import (
	"math"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// minRefRoom is the least number of handles made between two collections.
const minRefRoom = 1024

// minRefSlots is the least number of slots, a power of two, as it is doubled.
const minRefSlots = 64

// refSlot is a place for a host value. A slot is free if value is nil.
type refSlot struct {
	value any
	word  uint64 // of the last handle
	epoch uint32 // of the last collection that found it reachable
	pins  uint32 // claims of Go code; math.MaxUint32 is for ever
	// link is where the slot is among the locals of a fiber if that place names it, and has no
	// meaning else.
	link uint32
}

// references is the handles of a store, and where to look for the words that keep
// them alive.
//
// A handle's slot is its serial number modulo the number of slots, a power of two. The serial
// numbers next to end are to be used: one round through the slots, which passes over those that
// are in use. When they have been used, the store takes as many others, after it has doubled
// the slots if more than half are in use: so a handle takes two steps on average at most, no serial
// number is used twice in the process, and to check a handle is to compare it with
// its slot's word.
type references struct {
	slots     []refSlot
	inUse     []uint32 // the slots that are not free, each once
	next, end uint64
	epoch     uint32
	room      int // handles to make until the next collection
	// returned are the references that the last call from outside gave.
	returned []uint64
	// frameSlots is memory of eachFrame.
	frameSlots []int32
	// scanned is how much the collection has looked at so far.
	scanned int

	// The places of a store that can hold references to host values.
	instances []*Instance
	tables    []*Table
	globals   []uintptr

	// weight is what the exceptions among the values and in their arguments took at the last collection, and what those take that got a handle since.
	weight, weighings uint64
	// hostWeight is the same of values that are Weighed, and nextWeighing how much they may take before the next collection.
	hostWeight, nextWeighing uint64

	skip rootKind // roots to leave out: for tests that want to see it noticed
}

// rootKind is a set of kinds of roots.
type rootKind uint16

// The kinds of roots.
const (
	rootFrames rootKind = 1 << iota
	rootTables
	rootGlobals
	rootElems
	rootHostWords // arguments and results of host functions
	rootLocals
	rootPins
	rootReturned
	rootObjects  // objects that Go code holds
	numRootKinds = iota
)

// refRoots are the places in instance data that can hold references to host values.
type refRoots struct {
	globals []uint32 // offsets
	elems   []meta.Elem
}

// findRefRoots fills m.refs.
func (m *Module) findRefRoots() {
	for i := range m.meta.Globals {
		if g := &m.meta.Globals[i]; g.Type.Base() == meta.ExternRef && g.Import == nil {
			m.refs.globals = append(m.refs.globals, g.Offset)
		}
	}
	m.refs.elems = m.meta.Elems
}

// addRefRoots makes the references in the instance data roots. They stay roots if
// instantiation fails, because other instances may have functions of this one.
func (i *Instance) addRefRoots() {
	if r := &i.module.refs; len(r.globals) != 0 || len(r.elems) != 0 {
		i.store.refs.instances = append(i.store.refs.instances, i)
	}
}

// findRefs fills what a function type says of references. always is Config.CollectAlways.
func (f *funcType) findRefs(always bool) {
	f.refParams, f.funcParams = refWords(f.Params)
	f.refResults, f.funcResults = refWords(f.Results)
	f.refsIn = len(f.refParams)+len(f.funcParams) != 0
	f.refsOut = len(f.refResults)+len(f.funcResults) != 0
	f.refs = always || f.refsIn || f.refsOut
}

// refWords returns which words of values of the given types are of type externref and funcref.
func refWords(types []meta.ValType) (refs, funcs []uint16) {
	word := uint16(0)
	for _, t := range types {
		switch t.Base() {
		case meta.ExternRef:
			refs = append(refs, word)
		case meta.FuncRef:
			funcs = append(funcs, word)
		}
		word += uint16(t.Words())
	}
	return refs, funcs
}

// hostWords is the arguments and results of the host function that an activation runs,
// if its type has references.
type hostWords struct {
	typ           *funcType
	args, results []uint64 // args is nil once it has returned
}

// ExternRef returns a reference to a host value, a handle; 0 for nil. Each call makes a
// new one, also for equal values. An *Object is one in the store's heap, and an I31 a small integer, for which there is no handle.
//
// A handle is valid, and keeps its value alive, as long as it is reachable or kept. It is
// reachable from live variables of compiled code that is active, and from tables, globals
// and element segments that have not been dropped, of all instances of the store, also
// of those whose instantiation failed. It is kept
//
//   - by a host function that made it, got it as an argument, or got it as a result of
//     Func.Call, until that host function returns (and its results have arrived in
//     compiled code), or ends by an error or panic. Arguments and results are what the
//     slices hold at the moment;
//   - by claims, which Release gives up. Outside of host functions ExternRef makes the
//     first one, also between Enter and Leave and in a Resolver. Retain adds one;
//   - as a result of Func.Call outside of host functions, until the next such call or
//     instantiation begins;
//   - as an argument of Func.Call, as long as compiled code needs it.
//
// A reference that Go code has read from a table or global is not kept by that: use
// Retain if it must outlive its place there. One to an object of the heap is a new handle each time, and kept as what a host function made, or as a result. A host function that runs for very long gives
// up by Release what it no longer needs.
//
// Everything else is collected: now and then when a handle is made, and by CollectRefs.
// From then on the word is stale: it refers to nothing, and never to another value, in
// this store or another one.
func (s *Store) ExternRef(v any) uint64 {
	if v == nil {
		return 0
	}
	if i, ok := v.(I31); ok && s.heap != nil {
		return i.word()
	}
	s.makeRoom()
	r, i := &s.refs, s.takeSlot(v)
	if s.depth == 0 {
		r.slots[i].pins = 1
	} else {
		s.activations[s.depth-1].keep(i)
	}
	return r.slots[i].word
}

// makeRoom collects if it is time to, before a handle is made.
func (s *Store) makeRoom() {
	if s.refs.room <= 0 || s.config.CollectAlways {
		s.collectRefs()
	}
}

// Extern returns the host value of a reference: an *Object if it is to one of the store's heap, and an I31 for a small integer; nil for null, for stale handles, for those of
// other stores and for what is no handle.
func (s *Store) Extern(ref uint64) any {
	if i, ok := s.refs.lookUp(ref); ok {
		v := s.refs.slots[i].value
		if o, ok := v.(*Object); ok {
			o.escape()
		}
		return v
	}
	if s.heap != nil && isSmall(ref) {
		return small(ref)
	}
	return nil
}

// Retain adds a claim to a handle, which keeps it until Release gives the claim up.
// It reports whether ref is a valid handle; nothing happens if not.
func (s *Store) Retain(ref uint64) bool {
	i, ok := s.refs.lookUp(ref)
	if ok {
		if x := &s.refs.slots[i]; x.pins != math.MaxUint32 {
			x.pins++
		}
	}
	return ok
}

// Release gives up a claim to a handle. If there is none, the calling host function, or
// what is outside of all, no longer keeps it: as something it made or as a result,
// not as its argument. Null, stale handles and other words are ignored. The
// value goes with the next collection that finds the handle unreachable.
func (s *Store) Release(ref uint64) {
	r := &s.refs
	i, ok := r.lookUp(ref)
	if !ok {
		return
	}
	x := &r.slots[i]
	switch {
	case x.pins == math.MaxUint32:
	case x.pins != 0:
		x.pins--
	case s.depth == 0:
		for k := len(r.returned) - 1; k >= 0; k-- { // mostly one of the last
			if last := len(r.returned) - 1; r.returned[k] == ref {
				r.returned[k] = r.returned[last]
				r.returned = r.returned[:last]
			}
		}
	default:
		s.dropLocal(i)
	}
}

// Unmake takes back what ExternRef has done for a handle at the same depth of calls: Go code does not need it
// any more. Claims that Retain has added since stay, which Release could not tell from it in a host function.
func (s *Store) Unmake(ref uint64) {
	i, ok := s.refs.lookUp(ref)
	switch {
	case !ok:
	case s.depth == 0:
		s.Release(ref)
	default:
		s.dropLocal(i)
	}
}

// dropLocal takes slot i away from those that the innermost host function keeps, if it is one.
func (s *Store) dropLocal(i uint32) {
	r := &s.refs
	at := r.slots[i].link
	if !s.isLocal(i) || !s.activations[s.depth-1].owns(at) {
		return
	}
	last := len(s.locals) - 1
	moved := s.locals[last]
	s.locals[at] = moved
	r.slots[moved].link = at
	s.locals = s.locals[:last]
}

// CollectRefs frees the handles that are not reachable or kept. The error is ErrBusy
// or ErrClosed.
func (s *Store) CollectRefs() error {
	done, err := s.hold()
	if err != nil {
		return err
	}
	defer done()
	s.collectRefs()
	return nil
}

// NumRefs returns the number of handles, with those that a collection would free.
func (s *Store) NumRefs() int { return len(s.refs.inUse) }

// lookUp returns the slot of a valid handle.
func (r *references) lookUp(ref uint64) (uint32, bool) {
	i := r.slotOf(ref)
	if i >= uint64(len(r.slots)) { // there are none
		return 0, false
	}
	x := &r.slots[i]
	return uint32(i), x.word == ref && x.value != nil
}

// slotOf returns the slot of a handle, if it is one of this store.
func (r *references) slotOf(ref uint64) uint64 { return ref >> refShift & uint64(len(r.slots)-1) }

// takeSlot puts a value into a free slot.
func (s *Store) takeSlot(v any) uint32 {
	r := &s.refs
	r.room--
	for {
		if r.next == r.end {
			s.newRound()
		}
		word := r.next<<refShift | refExtern
		r.next++
		i := r.slotOf(word)
		if x := &r.slots[i]; x.value == nil {
			x.value, x.word, x.pins = v, word, 0
			if e, ok := v.(*Exception); ok {
				r.weight += e.weight
			}
			r.inUse = append(r.inUse, uint32(i))
			return uint32(i)
		}
	}
}

// newRound takes serial numbers for one round through the slots, at least half of which are free
// then.
func (s *Store) newRound() {
	r := &s.refs
	size := max(len(r.slots), minRefSlots)
	if 2*len(r.inUse) > size {
		size *= 2
	}
	if size != len(r.slots) {
		s.resizeRefs(size)
	}
	r.next = process.takeSerials(uint64(size))
	r.end = r.next + uint64(size)
}

// resizeRefs increases the number of slots. Handles in different slots stay in different slots, because more
// bits of their serial numbers count.
func (s *Store) resizeRefs(size int) {
	r := &s.refs
	if uint64(size) > 1<<32 {
		panic("inproc: out of handles")
	}
	old := r.slots
	r.slots = make([]refSlot, size)
	for k, i := range r.inUse {
		to := r.slotOf(old[i].word)
		r.slots[to] = old[i]
		r.inUse[k] = uint32(to)
	}
	s.eachFiber(func() {
		for k, i := range s.locals {
			s.locals[k] = uint32(r.slotOf(old[i].word))
		}
	})
}

// isLocal reports whether slot i, which is in use, is among the locals of the store's fiber. A slot that another fiber keeps, too, may not be found.
func (s *Store) isLocal(i uint32) bool {
	at := s.refs.slots[i].link
	return uint64(at) < uint64(len(s.locals)) && s.locals[at] == i
}

// careForRefs sets c.refs. Without it the host function has no locals, and those
// of activations further in have gone: what comes next is its first.
func (c *Caller) careForRefs() {
	if !c.refs {
		c.refs, c.locals = true, len(c.store.locals)
	}
}

// owns reports whether place at among the locals is of the host function that the innermost
// activation, c, runs.
func (c *Caller) owns(at uint32) bool { return c.refs && int(at) >= c.locals }

// keep makes slot i a local of the host function that the innermost activation, c, runs,
// if it is not one of that or of one further out.
func (c *Caller) keep(i uint32) {
	s := c.store
	if s.isLocal(i) {
		return
	}
	c.careForRefs()
	s.refs.slots[i].link = uint32(len(s.locals))
	s.locals = append(s.locals, i)
}

// enterHost notes what a host function is called with. c is the innermost activation.
func (s *Store) enterHost(c *Caller, t *funcType, args, results []uint64) {
	c.careForRefs()
	c.words = hostWords{t, args, results}
	s.collectIfDue()
}

// leaveHost ends what a host function keeps, except its results, which will be put
// where compiled code has them before the next collection.
func (s *Store) leaveHost(c *Caller) {
	s.locals = s.locals[:c.locals]
	if s.config.CollectAlways {
		c.words.args = nil
		s.collectRefs()
	}
	c.words = hostWords{}
	c.refs = s.config.CollectAlways || c.snapshots != nil // then endRefs collects, or drops them
}

// keepResults keeps the results of the innermost activation, c, for its caller: a
// host function further out, or Go code outside of all.
func (s *Store) keepResults(c *Caller, t *funcType, results []uint64) {
	r := &s.refs
	if c.refs {
		s.locals = s.locals[:c.locals]
	}
	for _, n := range t.refResults {
		i, ok := r.lookUp(results[n])
		switch {
		case !ok:
		case s.depth == 1:
			r.returned = append(r.returned, results[n])
		default:
			s.activations[s.depth-2].keep(i)
		}
	}
	c.locals = len(s.locals)
	c.refs = c.refs || s.isCollectionDue()
}

// endRefs ends what an activation kept, after it has been removed.
func (s *Store) endRefs(c *Caller) {
	c.refs, c.words = false, hostWords{}
	if c.snapshots != nil {
		c.dropSnapshots()
	}
	s.locals = s.locals[:c.locals]
	s.collectIfDue()
}

// isCollectionDue reports whether so many handles have been made that it is time to collect, and collectIfDue does it then.
func (s *Store) isCollectionDue() bool {
	return s.refs.room <= 0 && len(s.refs.inUse) > 0 || s.config.CollectAlways
}

func (s *Store) collectIfDue() {
	if s.isCollectionDue() {
		s.collectRefs()
	}
}

// collectRefs frees the slots that are neither reachable nor kept, and, if the store has a heap, the objects. Its cost is
// proportional to the roots, the slots in use, and what lives in the heap. Native code must be at a
// call in all activations.
func (s *Store) collectRefs() {
	if s.heap != nil {
		s.collectHeap()
		return
	}
	r := &s.refs
	r.begin()
	r.scanned = s.eachRoot(func(w *uint64) { r.mark(*w) })
	s.sweepRefs()
}

// begin begins a collection: nothing is marked.
func (r *references) begin() {
	r.epoch++
	if r.epoch == 0 {
		for i := range r.slots {
			r.slots[i].epoch = 0
		}
		r.epoch = 1
	}
}

// eachRoot visits the places of references, which may be changed, and marks what Go code keeps. It gives the number of things it looked at, as do the next. Each place is visited once.
func (s *Store) eachRoot(visit func(*uint64)) (scanned int) {
	scanned = s.eachPlace(visit) + s.refs.markReturned()
	s.eachFiber(func() { scanned += s.eachFrame(visit) + s.markKept() })
	return scanned
}

// isLive reports whether slot i, which is in use, stays so, when all that is reachable has been marked.
func (r *references) isLive(i uint32) bool {
	x := &r.slots[i]
	return x.epoch == r.epoch || x.pins != 0 && r.skip&rootPins == 0
}

// sweepRefs ends a collection.
func (s *Store) sweepRefs() {
	r := &s.refs
	for k := 0; k < len(r.inUse); {
		i := r.inUse[k]
		if r.isLive(i) {
			k++
			continue
		}
		r.slots[i].value = nil
		last := len(r.inUse) - 1
		r.inUse[k] = r.inUse[last]
		r.inUse = r.inUse[:last]
	}
	r.scanned += r.weighExceptions()
	r.weighHost()
	if s.heap != nil {
		r.scanned += int(s.heap.Used() / heapShare)
	}
	// The number of new handles before the next collection grows with what it has to scan, so that the
	// cost per handle is bounded.
	r.room = max(minRefRoom, len(r.inUse), r.scanned/8)
}

// heapShare is about how many bytes of the heap cost as much as a root.
const heapShare = 64

// mark notes that a word is reachable; most are not even handles.
func (r *references) mark(ref uint64) {
	if ref&refKindMask != refExtern {
		return
	}
	if i := r.slotOf(ref); i < uint64(len(r.slots)) {
		if x := &r.slots[i]; x.word == ref {
			x.epoch = r.epoch
		}
	}
}

// eachWord visits words that are not null.
func eachWord(words []uint64, visit func(*uint64)) int {
	for i := range words {
		if words[i] != 0 {
			visit(&words[i])
		}
	}
	return len(words)
}

// eachFrame visits what frames of compiled code of the store's fiber hold, by the stack maps of the
// calls they are in.
func (s *Store) eachFrame(visit func(*uint64)) (scanned int) {
	r := &s.refs
	if r.skip&rootFrames != 0 {
		return 0
	}
	s.walkOuter(s.depth-1, func(f nativeFrame) bool {
		r.frameSlots = f.stackMap(r.frameSlots)
		for _, d := range r.frameSlots {
			visit(f.place(d))
		}
		scanned += 8 + len(r.frameSlots) // finding the map costs some
		return true
	})
	return scanned
}

// eachPlace visits what tables, globals and element segments hold.
func (s *Store) eachPlace(visit func(*uint64)) (scanned int) {
	r := &s.refs
	if r.skip&rootTables == 0 {
		for _, t := range r.tables {
			scanned += 1 + eachWord(wordsAt(t.base, uintptr(t.Len())), visit)
		}
	}
	if r.skip&rootGlobals == 0 {
		for _, a := range r.globals {
			visit(&wordsAt(a, 1)[0])
		}
		scanned += len(r.globals)
		for _, i := range r.instances {
			for _, d := range i.module.refs.globals {
				visit(&wordsAt(i.data+uintptr(d), 1)[0])
			}
			scanned += len(i.module.refs.globals)
		}
	}
	if r.skip&rootElems == 0 {
		for _, i := range r.instances {
			for _, e := range i.module.refs.elems {
				n := min(load64(i.data+uintptr(e.Pair)+abi.SegmentLength), uint64(e.Len))
				scanned += 1 + eachWord(wordsAt(i.data+uintptr(e.Array), uintptr(n)), visit)
			}
		}
	}
	return scanned
}

// markReturned marks what Go code outside of all calls keeps, claims apart.
func (r *references) markReturned() int {
	if r.skip&rootReturned != 0 {
		return 0
	}
	for _, w := range r.returned {
		r.mark(w)
	}
	return len(r.returned)
}

// markKept marks what host functions of the store's fiber keep, claims apart.
func (s *Store) markKept() (scanned int) {
	r := &s.refs
	if r.skip&rootHostWords == 0 {
		for _, c := range s.activations[:s.depth] {
			w := &c.words
			if w.typ == nil {
				continue
			}
			if w.args != nil {
				for _, n := range w.typ.refParams {
					r.mark(w.args[n])
				}
			}
			for _, n := range w.typ.refResults {
				r.mark(w.results[n])
			}
			scanned += len(w.typ.refParams) + len(w.typ.refResults)
		}
	}
	if r.skip&rootLocals == 0 {
		for _, i := range s.locals {
			r.slots[i].epoch = r.epoch
		}
		scanned += len(s.locals)
	}
	return scanned
}

// wordsAt is n words of native memory.
func wordsAt(a, n uintptr) []uint64 { return unsafe.Slice((*uint64)(ptr(a)), n) }
