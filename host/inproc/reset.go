package inproc

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Resetting an instance makes its own memories, tables and globals what they were before its code ran, and runs the init function again, which applies segments and
// calls the start function. The mappings stay, and so do all handles: what is written again is what was written. Large memories are emptied by taking
// away the pages that were written, so that the system's copy-on-write finds the image again.
//
// Compiled code relies on memories that never shrink. So nothing is reset while code of the store runs.

// ModuleOwner keeps a module open from Use to Release.
type ModuleOwner interface {
	Use() error
	Release()
}

// SetOwner says whose the module is: Reset needs the module open.
func (i *Instance) SetOwner(o ModuleOwner) { i.owner = o }

// Reset makes the instance what it was when it was new: memories, tables and globals of its own, and dropped segments. Then the
// init function runs, ended by ctx as CallContext has it. What the instance imports stays as it is, but for its
// active segments, which are written again. The errors are ErrBusy, also while code of the store runs, ErrClosed, *LinkError, and nothing has happened then; and those of Instantiate: after
// these the instance may be reset again, but must not be used.
func (i *Instance) Reset(ctx context.Context) error {
	done, err := i.store.hold()
	if err != nil {
		return err
	}
	defer done()
	if i.closed {
		return ErrClosed
	}
	one := [1]*Instance{i}
	return i.store.reset(ctx, one[:], false)
}

// Running reports whether code of the store runs, or an instance is being made or reset: then nothing can be reset. It is for the goroutine inside.
func (s *Store) Running() bool {
	return s.depth > 0 || len(s.parked) > 0 || s.instantiating > 0 || s.restoring
}

// Holdings is how much a store has. It is the same after a reset of all instances, unless something was made that stays.
type Holdings struct {
	used                usage
	instances, bindings int
	refs                int
}

// Holdings collects references and returns what the store has. The errors are ErrBusy and ErrClosed.
func (s *Store) Holdings() (Holdings, error) {
	done, err := s.hold()
	if err != nil {
		return Holdings{}, err
	}
	defer done()
	if len(s.refs.inUse) > 0 {
		s.collectRefs()
	}
	return Holdings{s.used, len(s.instances), len(s.bindings), len(s.refs.inUse)}, nil
}

// Reset resets all instances, in the order in which they were made, but for those whose init function has never returned. What Go code has made, a memory for example,
// stays as it is. The errors are those of Instance.Reset; an instance that Instance.Close has closed is reset, too.
func (s *Store) Reset(ctx context.Context) error {
	done, err := s.hold()
	if err != nil {
		return err
	}
	defer done()
	var few [4]*Instance
	all := few[:0]
	for _, i := range s.instances {
		if i.made {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *Instance) int { return cmp.Compare(a.number, b.number) })
	return s.reset(ctx, all, true)
}

// reset resets instances, in this order, and the fuel of the store if it is to. If it may not, it changes nothing.
func (s *Store) reset(ctx context.Context, all []*Instance, refuel bool) error {
	if s.Running() {
		return ErrBusy
	}
	for n, i := range all {
		if err := i.keepModule(); err != nil {
			for _, i := range all[:n] {
				i.letModule()
			}
			return err
		}
	}
	defer func() {
		for _, i := range all {
			i.letModule()
		}
	}()
	for _, i := range all {
		if err := i.mayReset(); err != nil {
			return err
		}
	}
	if err := s.restore(all); err != nil {
		return err
	}
	if refuel {
		s.refuel()
	}
	if len(s.refs.inUse) > 0 || s.heap != nil {
		s.collectRefs()
	}
	for _, i := range all {
		if err := i.init(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restore makes what instances own new. Allocators of the program run meanwhile, which must not make instances.
func (s *Store) restore(all []*Instance) error {
	s.restoring = true
	defer func() { s.restoring = false }()
	for _, i := range all {
		if err := i.restore(); err != nil {
			return err
		}
		if err := i.mapImages(); err != nil {
			return err
		}
	}
	return nil
}

// keepModule keeps the module open until letModule.
func (i *Instance) keepModule() error {
	if i.owner != nil {
		return i.owner.Use()
	}
	if i.module.closed.Load() {
		return ErrClosed
	}
	return nil
}

func (i *Instance) letModule() {
	if i.owner != nil {
		i.owner.Release()
	}
}

// restore makes what the instance owns new, without what the init function does.
func (i *Instance) restore() error {
	m := i.module.meta
	for n := range m.Memories {
		if m.Memories[n].Import != nil {
			continue
		}
		if err := i.memories[n].reset(i.allocator, i.imageOf(n)); err != nil {
			return err
		}
	}
	for n := range m.Tables {
		if m.Tables[n].Import == nil {
			i.tables[n].reset()
		}
	}
	full := i.neverNull()
	if err := i.refill(); err != nil {
		return err
	}
	for at, old := range full {
		if load64(at) == 0 {
			store64(at, old)
		}
	}
	return nil
}

// neverNull returns what the globals have that are references and never null, by their addresses. They keep it until the init function sets them: code of other instances
// may call functions of this one before that, also if that never comes, and calls of such references do not look for null.
func (i *Instance) neverNull() (words map[uintptr]uint64) {
	m := i.module.meta
	for n := range m.Globals {
		d := &m.Globals[n]
		if d.Import != nil || !isFull(d.Type) {
			continue
		}
		if words == nil {
			words = map[uintptr]uint64{}
		}
		at := i.data + uintptr(d.Offset)
		words[at] = load64(at)
	}
	return words
}

// isFull reports whether values of type t are references that are never null.
func isFull(t meta.ValType) bool { return t.IsRef() && t.IsNotNull() }

// refill makes the instance data what they were before the init function.
func (i *Instance) refill() error {
	data := bytesAt(i.data, i.module.length[Data])
	if i.filled != nil {
		copy(data, i.filled)
		return nil
	}
	if err := i.restoreData(); err != nil {
		return err
	}
	if err := i.fill(); err != nil {
		return err
	}
	if len(data) <= maxCleared {
		i.filled = bytes.Clone(data)
	}
	return nil
}

// restoreData makes the instance data what they are in the file.
func (i *Instance) restoreData() error {
	m := i.module
	size := alignUp(m.length[Data], pageSize)
	switch {
	case size == 0:
	case m.fd < 0:
		copy(bytesAt(i.data, m.length[Data]), m.linked[Data])
	case !process.restore(m, i.data):
		return placeFile(i.data, size, protRW, false, m.fd, m.inFile[Data])
	}
	return nil
}

// reset makes the table what it was when it was new. The functions of one that has no null stay, of those elements that stay, until the init function sets them: see neverNull.
func (t *Table) reset() {
	n := t.Len()
	if isFull(t.elem) {
		clear(wordsAt(t.base, uintptr(n))[t.limits.Min:])
	} else if used := uintptr(tableBytes(n)); !process.zero(t.base, used) {
		clear(bytesAt(t.base, used))
	}
	t.store.used.tableBytes -= tableBytes(n - t.limits.Min)
	store64(t.base-sizeBelow, t.limits.Min)
}

// imageOf returns the image of memory n, or nil.
func (i *Instance) imageOf(n int) *memoryImage {
	if n < len(i.module.images) {
		return &i.module.images[n]
	}
	return nil
}

// reset makes the memory what it was when it was new; a is what made the bytes of a foreign one, and x the image if there is one.
func (m *Memory) reset(a MemoryAllocator, x *memoryImage) error {
	size, least := uintptr(m.Size()), uintptr(m.limits.Min)*wasmPage
	switch {
	case m.foreign != nil:
		return m.resetForeign(a)
	case m.own != nil:
		if m.views.file < 0 || !emptyFile(m.views.file, size) {
			m.clean(size, m.views.file < 0)
		}
		m.shrink(size, least)
		return nil
	case m.store.config.KeepViews || size > least && !m.leave(least):
		return m.renew()
	}
	switch {
	case !m.filed:
		m.clean(least, true)
	case m.imaged && (x.restore(m.base, least) || process.empty(m.base, least)):
	default:
		if err := place(m.base, least, protRW); err != nil {
			return err
		}
		m.filed, m.imaged = false, false // the image is mapped again
	}
	if size > least {
		// One call removes both the pages and the access to them.
		if err := place(m.base+least, size-least, protNone); err != nil {
			return err
		}
	}
	m.shrink(size, least)
	return nil
}

// clean makes the first size bytes zero; anonymous says that the pages are the process's own.
func (m *Memory) clean(size uintptr, anonymous bool) {
	if !anonymous || !process.zero(m.base, size) {
		clear(bytesAt(m.base, size))
	}
}

// shrink notes that the memory has a smaller size.
func (m *Memory) shrink(size, least uintptr) {
	m.store.used.memoryPages -= uint64((size - least) / wasmPage)
	store64(m.desc-sizeBelow, uint64(least))
	m.at.Load().size.Store(uint64(least))
}

// leave makes Go code that is not inside the store find so many bytes. It reports false if such code may be in the middle of an access beyond, and changes nothing then.
func (m *Memory) leave(least uintptr) bool {
	l := m.at.Load()
	size := l.size.Swap(uint64(least))
	// Who comes from now on notes that first, and then looks at the size.
	if l.state.Load() == locationNew {
		return true
	}
	l.size.Store(size)
	return false
}

// renew gives the memory another place, new, and buries the old one if somebody may be there.
func (m *Memory) renew() error {
	s, pages := m.store, m.Size()/abi.PageSize
	fresh, err := s.newReserved(m.limits, load64(m.desc-limitBelow))
	if err != nil {
		return err
	}
	for _, below := range []uintptr{limitBelow, idBelow} {
		store64(fresh.desc-below, load64(m.desc-below))
	}
	s.used.memoryPages -= pages
	if fresh.Grow(m.limits.Min) == growFailed {
		s.used.memoryPages += pages
		fresh.free()
		return &SystemError{Op: "committing a memory", Err: ErrNoSpace}
	}
	old := &Memory{store: s, base: m.base, desc: m.desc, limits: m.limits, open: m.open, end: m.end, lent: m.lent, advised: m.advised, filed: m.filed, fileEnd: m.fileEnd, runMappings: m.runMappings, views: m.views}
	old.at.Store(m.at.Load())
	m.base, m.desc, m.open, m.end, m.lent, m.advised, m.filed, m.imaged, m.fileEnd, m.runMappings, m.views = fresh.base, fresh.desc, fresh.open, fresh.end, fresh.lent, false, false, false, 0, 0, fresh.views
	m.at.Store(fresh.at.Load())
	old.free()
	for _, x := range s.instances {
		for n, has := range x.memories {
			if has == m {
				store64(x.data+uintptr(x.module.meta.Memories[n].Slot), uint64(m.desc))
				x.filled = nil
			}
		}
	}
	return nil
}

// resetForeign has the allocator make bytes anew.
func (m *Memory) resetForeign(a MemoryAllocator) error {
	fresh, err := m.store.allocate(a, m.limits)
	if err != nil {
		return err
	}
	size, least, old := uintptr(m.Size()), uintptr(m.limits.Min)*wasmPage, m.foreign
	m.foreign = fresh
	done := false
	defer func() { // the allocator may panic
		if done {
			old.Free()
			return
		}
		m.foreign = old
		fresh.Free()
	}()
	b := m.reallocate(least)
	if uintptr(len(b)) < least {
		return &SystemError{Op: "allocating a memory", Err: ErrNoSpace}
	}
	m.at.Load().end()
	m.hold(b[:least:least])
	m.shrink(size, least)
	done = true
	return nil
}

// mayReset returns what keeps the instance from being reset: a memory is held, or other instances rely on memories or tables that have grown.
func (i *Instance) mayReset() error {
	for _, m := range i.memories[i.importedMemories():] {
		if m.still > 0 {
			return ErrBusy
		}
	}
	if len(i.store.instances) == 1 {
		return nil
	}
	for _, x := range i.store.instances {
		for n := range x.module.meta.Memories {
			d, m := &x.module.meta.Memories[n], x.memories[n]
			if d.Import != nil && d.Min > m.limits.Min && slices.Contains(i.memories[i.importedMemories():], m) {
				return incompatible(d.Import, "size %d, at least %d wanted", m.limits.Min, d.Min)
			}
		}
		for n := range x.module.meta.Tables {
			d, t := &x.module.meta.Tables[n], x.tables[n]
			if d.Import != nil && d.Min > t.limits.Min && slices.Contains(i.tables[i.importedTables():], t) {
				return incompatible(d.Import, "size %d, at least %d wanted", t.limits.Min, d.Min)
			}
		}
	}
	return nil
}

// importedMemories is how many memories are imported; they come first.
func (i *Instance) importedMemories() int {
	return imported(i.module.meta.Memories, func(m *meta.Memory) bool { return m.Import != nil })
}

// importedTables is importedMemories for tables.
func (i *Instance) importedTables() int {
	return imported(i.module.meta.Tables, func(t *meta.Table) bool { return t.Import != nil })
}

func imported[T any](space []T, is func(*T) bool) (n int) {
	for n < len(space) && is(&space[n]) {
		n++
	}
	return n
}
