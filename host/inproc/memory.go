package inproc

import (
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Limits are those of a memory, in pages of 64 KiB, or of a table, in elements.
type Limits struct {
	Min, Max uint64 // Max counts if HasMax
	HasMax   bool
}

// Shorthands of the binary interface as addresses.
const (
	descCode   = uintptr(abi.DescCode)
	descType   = uintptr(abi.DescType)
	descSize   = uintptr(abi.DescSize)
	refTagHost = uint64(abi.RefTagHost)
	wasmPage   = uintptr(abi.PageSize)
	// Words below the base of a memory or table: size, limit, and for this host the
	// number in the store.
	sizeBelow  = uintptr(-abi.MemorySizeOffset)
	limitBelow = uintptr(-abi.MemoryMaxPagesOffset)
	idBelow    = uintptr(24)
	// memoryHeader precedes the base of a memory; its last page is accessible.
	memoryHeader = 64 << 10
	memorySize   = memoryHeader + abi.MemoryReservation
	tableHeader  = pageSize
	hugePage     = 2 << 20    // the only size that is asked for
	growFailed   = ^uint64(0) // result of growth that fails
)

// Memory is a linear memory.
type Memory struct {
	store *Store
	// base is the address of the bytes, desc that of the descriptor, whose words are in front of it. They differ only if the memory is movable.
	base, desc uintptr
	limits     Limits // as declared
	// Of a movable memory: where its bytes come from, an allocator of the program or a mapping of its own.
	// still counts those who keep it where it is.
	foreign LinearMemory
	own     *mapping
	still   int
	// open bytes have been accessible from the start; end is that of the reservation.
	open, end uintptr
	// at is where the bytes are for those who are not inside the store; nil once it has been freed.
	at atomic.Pointer[Location]
	// advised says that the system has been advised about a part of the reservation, filed that a file is mapped in the memory, beside those of views.
	advised, filed bool
	views          *views
}

// NewMemory makes a memory, which is movable if the store has an allocator. The error is a *LimitError or *SystemError.
func (s *Store) NewMemory(l Limits) (*Memory, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.newMemory(l, s.config.Allocator != nil, s.config.Allocator)
}

// newMemory makes a memory; only if it is movable, an allocator makes its bytes.
func (s *Store) newMemory(l Limits, movable bool, a MemoryAllocator) (*Memory, error) {
	limit := abi.MemoryLimit(l.Min)
	if l.HasMax {
		limit = l.Max
	}
	limit = min(limit, s.config.MaxMemoryPages)
	if err := atMost("memory pages", l.Min, limit); err != nil {
		return nil, err
	}
	if err := s.grant(usage{memories: 1, memoryPages: l.Min}); err != nil {
		return nil, err
	}
	var m *Memory
	var err error
	if movable {
		m, err = s.newMovable(l, limit, a)
	} else {
		m, err = s.newReserved(l, limit)
	}
	if err != nil {
		return nil, err
	}
	store64(m.desc-limitBelow, limit)
	store64(m.desc-idBelow, uint64(len(s.memories)))
	if m.Grow(l.Min) == growFailed {
		m.free()
		return nil, &SystemError{Op: "committing a memory", Err: ErrNoSpace}
	}
	s.memories = append(s.memories, m)
	s.used.memories++
	return m, nil
}

// newReserved makes a memory that never moves, in a reservation that every index falls into.
func (s *Store) newReserved(l Limits, limit uint64) (*Memory, error) {
	v, err := s.newViews(limit)
	if err != nil {
		return nil, err
	}
	open := uintptr(l.Min) * wasmPage
	if v.file >= 0 {
		open = 0 // the bytes will be those of a file
	}
	x, err := process.takeMemory(pageSize + open)
	if err != nil {
		v.end()
		return nil, err
	}
	base := x.low + memoryHeader
	m := &Memory{store: s, base: base, desc: base, limits: l, open: open, end: x.end, views: v}
	if err = process.withoutSpares(func() error { return x.openTo(pageSize + open) }); err != nil {
		x.unmap()
		process.giveMappings(memoryMappings)
		v.end()
		return nil, err
	}
	store64(m.desc-baseBelow, uint64(base))
	m.at.Store(newLocation(base, 0))
	return m, nil
}

// free releases the memory, which nobody comes to any more. Who is in the middle of an access finds zeros from now on.
func (m *Memory) free() {
	l := m.at.Swap(nil)
	unused := l.end()
	if m.Movable() {
		m.freeMovable(l, unused)
		return
	}
	used := max(m.open, min(uintptr(m.Size()), bytes64(abi.MemoryReservation)))
	if m.advised {
		used = bytes64(abi.MemoryReservation) // whoever gets the reservation next does so without the advice
		process.giveMappings(hugeMappings)
	}
	x := spareMemory{low: m.base - memoryHeader, end: m.end, open: pageSize + used}
	anonymous := m.views.file < 0 && !m.filed && !m.advised
	kept := m.views.end()
	kept.low += m.base
	m.base = 0
	switch {
	case kept.size != 0 && unused:
		process.unmapAround(x, kept)
	case kept.size != 0:
		process.retire(l, func() { process.unmapAround(x, kept) })
	case unused:
		process.giveMemory(x, anonymous)
	default:
		process.buryMemory(x, l)
	}
}

// Size returns the current size in bytes.
func (m *Memory) Size() uint64 { return load64(m.desc - sizeBelow) }

// Limits are the declared ones.
func (m *Memory) Limits() Limits { return m.limits }

// Bytes returns a view of the whole memory as it is now, nil if it has been freed. It does not follow growth,
// and must not be used after the store is closed. Kept has one that may.
func (m *Memory) Bytes() []byte {
	if m.at.Load() == nil {
		return nil
	}
	return bytesAt(m.base, uintptr(m.Size()))
}

// Grow adds pages of 64 KiB and gives the old size in pages, or all ones if the
// limit or the system does not allow it. Views of before stay valid, unless the memory is movable.
func (m *Memory) Grow(pages uint64) uint64 {
	size := uintptr(m.Size())
	old := uint64(size / wasmPage)
	s := m.store
	if pages > load64(m.desc-limitBelow)-old || pages > s.config.MaxTotalMemoryPages-s.used.memoryPages {
		return growFailed
	}
	if pages == 0 {
		return old
	}
	by := uintptr(pages) * wasmPage
	if m.Movable() {
		if !m.move(size + by) {
			return growFailed
		}
		s.used.memoryPages += pages
		return old
	}
	if m.commit(size, size+by) != nil {
		return growFailed
	}
	if by >= hugeGrowth && size > 0 && s.config.HugePages {
		m.useHugePages(size, quickHugePage)
	}
	s.used.memoryPages += pages
	store64(m.desc-sizeBelow, uint64(size+by))
	m.at.Load().size.Store(uint64(size + by))
	return old
}

// limitTo keeps the memory from growing beyond pages of 64 KiB, which an instance that has it relies on.
func (m *Memory) limitTo(pages uint64) {
	store64(m.desc-limitBelow, min(pages, load64(m.desc-limitBelow)))
}

// memoryGrow is the helper waot_memory_grow.
func (s *Store) memoryGrow(c *nativeContext) uint64 {
	desc := uintptr(c.ints[0])
	returned := false
	defer s.activations[s.depth-1].unwind(&returned) // an allocator of the program may panic
	old := s.memories[load64(desc-idBelow)].Grow(c.ints[1])
	returned = true
	if s.config.CollectAlways {
		s.collectRefs()
	}
	return old
}

// Table is a table of references.
type Table struct {
	store  *Store
	base   uintptr
	mapped extent
	elem   meta.ValType
	limits Limits
	hidden bool // see Instance.hide
}

// NewTable makes a table of null references; elem is FuncRef or ExternRef. The error
// is a *LimitError or *SystemError.
func (s *Store) NewTable(elem meta.ValType, l Limits) (*Table, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.newTable(elem, l)
}

func (s *Store) newTable(elem meta.ValType, l Limits) (*Table, error) {
	limit := s.config.MaxTableElements
	if l.HasMax {
		limit = min(limit, l.Max)
	}
	if err := atMost("table elements", l.Min, limit); err != nil {
		return nil, err
	}
	if err := s.grant(usage{tables: 1, tableBytes: tableBytes(l.Min)}); err != nil {
		return nil, err
	}
	// All of it is accessible and zero from the start: the system commits pages when they are written.
	size := alignUp(tableHeader+uintptr(min(tableBytes(limit), s.config.MaxTableMemory)), pageSize)
	mapped, err := process.takeRegion(size)
	if err != nil {
		return nil, err
	}
	t := &Table{store: s, base: mapped.low + tableHeader, mapped: mapped, elem: elem, limits: l}
	store64(t.base-sizeBelow, l.Min)
	store64(t.base-limitBelow, limit)
	store64(t.base-idBelow, uint64(len(s.tables)))
	s.tables = append(s.tables, t)
	s.used.tables++
	s.used.tableBytes += tableBytes(l.Min)
	if elem == meta.ExternRef {
		s.refs.tables = append(s.refs.tables, t)
	}
	return t, nil
}

// Len returns the current length in elements.
func (t *Table) Len() uint64 { return load64(t.base - sizeBelow) }

// Elem returns the type of the elements.
func (t *Table) Elem() meta.ValType { return t.elem }

// Limits are the declared ones.
func (t *Table) Limits() Limits { return t.limits }

// Get is element i, a reference, or ErrBounds.
func (t *Table) Get(i uint64) (uint64, error) {
	if i >= t.Len() {
		return 0, ErrBounds
	}
	return t.store.fromNative(t.elem, load64(t.base+8*uintptr(i))), nil
}

// Set stores a reference; the error is ErrBounds, or ErrType if ref is none of the
// element type in this store, or the table is its module's own business.
func (t *Table) Set(i, ref uint64) error {
	if t.hidden {
		return ErrType
	}
	if i >= t.Len() {
		return ErrBounds
	}
	w, ok := t.store.toNative(t.elem, ref)
	if !ok {
		return ErrType
	}
	store64(t.base+8*uintptr(i), w)
	return nil
}

// Grow adds n elements with value ref and gives the old length, or all ones if
// a limit does not allow it (CheckGrow says which) or ref does not fit, or if a context ends the call before
// many elements are filled.
func (t *Table) Grow(n, ref uint64) uint64 {
	w, ok := t.store.toNative(t.elem, ref)
	if !ok || t.hidden {
		return growFailed
	}
	return t.grow(n, w)
}

// CheckGrow returns what keeps the table from having n elements more, a *LimitError, or ErrType if the table is its module's own business; or nil.
func (t *Table) CheckGrow(n uint64) error {
	if t.hidden {
		return ErrType
	}
	old, limit := t.Len(), load64(t.base-limitBelow)
	if n > limit-old {
		return &LimitError{What: "table elements", Want: old + n, Limit: limit}
	}
	return t.store.grant(usage{tableBytes: tableBytes(n)})
}

// grow is Grow with a reference as compiled code has it.
func (t *Table) grow(n, ref uint64) uint64 {
	s, old := t.store, t.Len()
	if n > load64(t.base-limitBelow)-old || tableBytes(n) > s.config.MaxTableMemory-s.used.tableBytes {
		return growFailed
	}
	// Elements beyond the length are null.
	if ref != 0 && !t.fill(uintptr(old), uintptr(n), ref) {
		return growFailed
	}
	s.used.tableBytes += tableBytes(n)
	store64(t.base-sizeBelow, old+n)
	return old
}

// fill makes ref of the n elements from the first on, which are null and nobody sees yet. It gives up, and
// leaves them null, when the end of a context ends the call.
func (t *Table) fill(first, n uintptr, ref uint64) bool {
	const piece = 64 << 10 // elements, half a millisecond
	elements := wordsAt(t.base+8*first, n)
	for done := 0; done < len(elements); {
		next := elements[done:min(done+piece, len(elements))]
		for i := range next {
			next[i] = ref
		}
		done += len(next)
		if done < len(elements) && t.store.cancelled.Load() != 0 {
			clear(elements[:done])
			return false
		}
	}
	return true
}

// tableGrow is the helper waot_table_grow.
func (s *Store) tableGrow(c *nativeContext) uint64 {
	base := uintptr(c.ints[0])
	old := s.tables[load64(base-idBelow)].grow(c.ints[1], c.ints[2])
	if s.config.CollectAlways {
		s.collectRefs()
	}
	return old
}

// Global is a global variable.
type Global struct {
	store   *Store
	addr    uintptr
	typ     meta.ValType
	mutable bool
	hidden  bool // see Instance.hide
}

// NewGlobal makes a global variable with the bits v; high is the upper half of a v128. The error is ErrType if v is no reference of
// type t, a *LimitError or *SystemError.
func (s *Store) NewGlobal(t meta.ValType, mutable bool, v, high uint64) (*Global, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	v, ok := s.toNative(t, v)
	if !ok {
		return nil, ErrType
	}
	if err := s.grant(usage{globals: 1}); err != nil {
		return nil, err
	}
	at, err := s.alloc(16)
	if err != nil {
		return nil, err
	}
	g := &Global{store: s, addr: at, typ: t, mutable: mutable}
	g.put(v, high)
	s.used.globals++
	if t == meta.ExternRef {
		s.refs.globals = append(s.refs.globals, at)
	}
	return g, nil
}

// Type returns the type of the value, Mutable whether it may change.
func (g *Global) Type() meta.ValType { return g.typ }

// Mutable reports whether the value may change.
func (g *Global) Mutable() bool { return g.mutable }

// clean zero-extends what is narrower than a word.
func (g *Global) clean(v uint64) uint64 {
	if g.typ.Bits() == 32 {
		return uint64(uint32(v))
	}
	return v
}

// Get returns the bits of the value; of a v128 the low half.
func (g *Global) Get() uint64 { return g.clean(g.store.fromNative(g.typ, load64(g.addr))) }

// GetWords returns the bits of the value; the second word is the upper half of a v128, and 0 for other types.
func (g *Global) GetWords() (words [2]uint64) {
	if words[0] = g.Get(); g.typ == meta.V128 {
		words[1] = load64(g.addr + 8)
	}
	return words
}

// Set stores the bits of a value; ErrType if the global is immutable, its module's own business, or a v128, or v no
// reference of its type.
func (g *Global) Set(v uint64) error {
	if g.typ == meta.V128 {
		return ErrType
	}
	return g.SetWords([2]uint64{v})
}

// SetWords is Set for all types; only of a v128 the second word counts.
func (g *Global) SetWords(v [2]uint64) error {
	if !g.mutable || g.hidden {
		return ErrType
	}
	w, ok := g.store.toNative(g.typ, v[0])
	if !ok {
		return ErrType
	}
	g.put(w, v[1])
	return nil
}

// put stores the words that compiled code has of a value.
func (g *Global) put(v, high uint64) {
	store64(g.addr, g.clean(v))
	if g.typ == meta.V128 {
		store64(g.addr+8, high)
	}
}
