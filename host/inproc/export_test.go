package inproc

import (
	"slices"

	"github.com/waot-project/waot/internal/image"
)

// The kinds of roots that a test can have left out, by name. RootObjects is the kind of objects that Go code holds.
var RootKinds = []string{"frames", "tables", "globals", "elements", "host words", "locals", "claims", "returned"}

const RootObjects = 8

// SkipRoot makes collections ignore roots of kind n; -1 ends that.
func (s *Store) SkipRoot(n int) {
	s.refs.skip = 0
	if n >= 0 {
		s.refs.skip = 1 << n
	}
}

// NumLocals is the number of references that host functions on the stack keep.
func (s *Store) NumLocals() int { return len(s.locals) }

// Forget empties a global of references, also an immutable one.
func (g *Global) Forget() { store64(g.addr, 0) }

var _ = [1]int{}[numRootKinds-RootObjects-1] // RootKinds lists all others

// Functions are all functions of the store.
func (s *Store) Functions() (all []*Func) {
	for _, run := range s.funcs {
		all = append(all, run.funcs...)
	}
	return all
}

// Descriptor is the address of the function's descriptor, as compiled code has it.
func (f *Func) Descriptor() uint64 { return uint64(f.desc) }

// ReadFile copies a module out of its file, as where files may not be executed.
func (m *Module) ReadFile() error { return m.readFile() }

// AppendImage is image.Append, for tests with an image function of their own.
var AppendImage = image.Append

// KeepNothing makes stores that are closed leave nothing for others until the function that it returns is called, as where the system refuses to
// empty mappings.
func KeepNothing() (end func()) {
	process.dropSpares()
	could := process.empty(0, 0)
	process.canEmpty, process.clears = false, 0
	return func() { process.canEmpty, process.clears = could, maxCleared }
}

// LoseImages makes the files of memories' images unusable until the function that it returns is called.
func (m *Module) LoseImages() (back func()) {
	were := make([]int, len(m.images))
	for i := range m.images {
		if were[i] = m.images[i].fd; were[i] >= 0 {
			m.images[i].fd = 1 << 20
		}
	}
	return func() {
		for i := range m.images {
			m.images[i].fd = were[i]
		}
	}
}

// NeedSight is needSight.
var NeedSight = needSight

// StackUsed tells, also when the store has been closed, whether its native stack takes memory so many bytes below where code begins.
func (s *Store) StackUsed() func(below uintptr) bool {
	top := s.top &^ (leastPage - 1)
	return func(below uintptr) bool { return writtenBelow(top - below) }
}

// NumObjects is how many objects of the heap Go code holds apart from handles, as the last collection found.
func (s *Store) NumObjects() int { return len(s.heap.objects) }

// Mappings is how many mappings the process counts.
func Mappings() uint64 {
	process.mu.Lock()
	defer process.mu.Unlock()
	return process.mappings
}

// LimitTypes leaves the table of types room for so many words beside the rows that there are, until the function that it returns is called. TypeWords returns where rows end.
func LimitTypes(more uint32) (back func()) {
	rows := &process.rows
	rows.mu.Lock()
	defer rows.mu.Unlock()
	rows.places.join(slices.Collect(rows.numbers()))
	rows.places = typePlaces{next: rows.places.next, limit: rows.places.next + more} // without what is free between rows
	return func() {
		rows.mu.Lock()
		defer rows.mu.Unlock()
		rows.places.limit = maxTypeWords
		rows.places.join(slices.Collect(rows.numbers()))
	}
}

func TypeWords() uint32 {
	process.rows.mu.RLock()
	defer process.rows.mu.RUnlock()
	return process.rows.places.next
}

// VerifyHeap reports whether the heap of the store is whole.
func (s *Store) VerifyHeap() error { return s.heap.Verify() }

// HasType reports whether a type has a row in the table of types.
func HasType(m *Module, index uint32) bool {
	return process.rows.numberOf(m.records.Digest(index)).number != 0
}
