package interp

import (
	"context"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// Limits that Options replaces where they are not zero.
const (
	DefaultMaxDepth = 1 << 15 // frames
	DefaultMaxWords = 1 << 23 // values of all frames together
	DefaultMaxSlots = 1 << 26
)

// Options are the limits of a Store.
type Options struct {
	// MaxDepth and MaxWords bound the stack; beyond them a call traps with
	// stack_overflow. 0 means the default.
	MaxDepth, MaxWords int
	// MaxSlots bounds the fields and elements of all structures and arrays, of which none is ever freed; beyond it, making one traps with
	// heap_exhausted. 0 means the default.
	MaxSlots int64
	// MaxSteps bounds the instructions of one Call from outside; beyond it the
	// call fails with ErrSteps. 0 means no bound.
	MaxSteps int64
	// Fuel is Store.Fuel at first.
	Fuel int64
	// Context, if not nil, interrupts calls; they then fail with its error.
	Context context.Context
}

// Store holds what instances share: functions and host objects have a number
// in it, which is what references to them are made of. Extern entities of
// different stores must not be mixed. A Store and all that is in it belongs to one
// goroutine at a time.
type Store struct {
	opt     Options
	funcs   []*Function
	objects []any
	numbers map[any]uint64
	// exception is the one that is under way.
	exception *Exception
	tags      uint64 // how many there are
	types     map[abi.Digest]*defined
	heap      []*object
	slots     int64 // of all objects
	// Fuel is what is left. It is below 0 while code runs that has not noticed yet that it has run out.
	Fuel int64
}

// NewStore returns an empty store.
func NewStore(opt Options) *Store {
	if opt.MaxDepth == 0 {
		opt.MaxDepth = DefaultMaxDepth
	}
	if opt.MaxWords == 0 {
		opt.MaxWords = DefaultMaxWords
	}
	if opt.MaxSlots == 0 {
		opt.MaxSlots = DefaultMaxSlots
	}
	return &Store{opt: opt, numbers: map[any]uint64{}, types: map[abi.Digest]*defined{}, Fuel: opt.Fuel}
}

// Extern is what can be imported and exported: a *Function, *Memory, *Table, *Global
// or *Tag.
type Extern interface{ kind() abi.ExternKind }

// Function is a function of an instance or of the host.
type Function struct {
	store *Store
	sig   clif.Signature
	typ   *defined
	name  string
	ref   uint64

	inst  *Instance // nil if it is the host's
	index clif.FuncIndex
	body  *clif.Func // loaded by the first call
	// vectors says that body has values of type v128; wordsIn and wordsOut are how many raw words the arguments and
	// results take.
	vectors           bool
	wordsIn, wordsOut int
	live              *liveness // computed by the first LiveRefs

	host HostFunc
}

// HostFunc is a function of the host. args and results are raw bits as the
// signature says: i32 and f32 zero-extended, a v128 in two words, the low half first. It may keep
// neither slice. An error ends the call; a *Trap counts as a trap.
type HostFunc func(c *HostCall, args, results []uint64) error

// Memory is a linear memory. Data has the current size; growing replaces it.
type Memory struct {
	Data   []byte
	Max    uint64 // pages; counts if HasMax
	HasMax bool
	limit  uint64 // pages; what all modules that have the memory rely on
}

// Table is a table of references.
type Table struct {
	Elem   clif.Type
	own    abi.OwnType // of the elements
	Max    uint64      // elements; counts if HasMax
	HasMax bool
	size   uint64
	elems  []uint64 // those from len(elems) up to size are null
}

// Global is a global variable; Bits is its value, without the high half of a v128.
type Global struct {
	Type    clif.Type
	typed   *clif.TypedRef // if the type says more
	Mutable bool
	Bits    uint64
	High    uint64 // half of a v128
}

func (*Function) kind() abi.ExternKind { return abi.ExternFunc }
func (*Memory) kind() abi.ExternKind   { return abi.ExternMemory }
func (*Table) kind() abi.ExternKind    { return abi.ExternTable }
func (*Global) kind() abi.ExternKind   { return abi.ExternGlobal }
func (*Tag) kind() abi.ExternKind      { return abi.ExternTag }

func (s *Store) addFunc(f *Function) *Function {
	f.store = s
	f.wordsIn, f.wordsOut = clif.Words(f.sig.Params), clif.Words(f.sig.Results)
	s.funcs = append(s.funcs, f)
	f.ref = uint64(len(s.funcs)) << 4 // like the address of a descriptor
	return f
}

// funcOf returns the function that the reference ref, not null, denotes, or nil.
func (s *Store) funcOf(ref uint64) *Function {
	if n := ref >> 4; ref&15 == 0 && n-1 < uint64(len(s.funcs)) {
		return s.funcs[n-1]
	}
	return nil
}

// NewHostFunc returns a function of the host.
func (s *Store) NewHostFunc(name string, sig clif.Signature, fn HostFunc) *Function {
	return s.addFunc(&Function{sig: sig, typ: s.plainType(&sig), name: name, host: fn})
}

// Signature returns the function's type.
func (f *Function) Signature() *clif.Signature { return &f.sig }

// Ref returns the reference to f: a value of type funcref.
func (f *Function) Ref() uint64 { return f.ref }

// Func returns the function that a funcref denotes, or nil for null.
func (s *Store) Func(ref uint64) *Function {
	if ref == 0 {
		return nil
	}
	return s.funcOf(ref)
}

// ExternRef returns a reference to x, which must be comparable: the same one each
// time, and never null.
func (s *Store) ExternRef(x any) uint64 {
	if ref, ok := s.numbers[x]; ok {
		return ref
	}
	s.objects = append(s.objects, x)
	ref := firstHost + uint64(len(s.objects))<<abi.RefTagBits | abi.RefTagHost
	s.numbers[x] = ref
	return ref
}

// ExternValue returns what ExternRef made the reference of, or nil.
func (s *Store) ExternValue(ref uint64) any {
	if n := (ref - firstHost) >> abi.RefTagBits; ref >= firstHost && ref&abi.RefTagMask == abi.RefTagHost && n-1 < uint64(len(s.objects)) {
		return s.objects[n-1]
	}
	return nil
}

// NewMemory returns a memory of min pages; max counts if hasMax.
func NewMemory(min, max uint64, hasMax bool) *Memory {
	d := clif.MemoryDecl{Min: min, Max: max, HasMax: hasMax}
	return &Memory{Data: make([]byte, min*abi.PageSize), Max: max, HasMax: hasMax, limit: d.MaxPages()}
}

// Pages returns the current size.
func (m *Memory) Pages() uint64 { return uint64(len(m.Data)) / abi.PageSize }

// Grow adds pages and returns the old size in pages; or it returns false and
// changes nothing.
func (m *Memory) Grow(pages uint64) (old uint64, ok bool) {
	old = m.Pages()
	if pages > m.limit || old+pages > m.limit {
		return old, false
	}
	n := int((old + pages) * abi.PageSize)
	if n <= cap(m.Data) {
		m.Data = m.Data[:n] // a memory never shrinks, so the new part is still zero
		return old, true
	}
	room := min(max(n, 2*len(m.Data)), int(m.limit*abi.PageSize))
	data := make([]byte, n, room)
	copy(data, m.Data)
	m.Data = data
	return old, true
}

// NewTable returns a table of min nulls; max counts if hasMax.
func NewTable(elem clif.Type, min, max uint64, hasMax bool) *Table {
	return &Table{Elem: elem, own: abi.OwnType{Type: elem.ValType()}, size: min, Max: max, HasMax: hasMax}
}

// Len returns the current length.
func (t *Table) Len() uint64 { return t.size }

// Get is element i, which must be in bounds.
func (t *Table) Get(i uint64) uint64 {
	if i < uint64(len(t.elems)) {
		return t.elems[i]
	}
	return 0
}

// Set writes element i, which must be in bounds.
func (t *Table) Set(i, ref uint64) {
	if i >= uint64(len(t.elems)) {
		if ref == 0 {
			return
		}
		t.elems = append(t.elems, make([]uint64, i+1-uint64(len(t.elems)))...)
	}
	t.elems[i] = ref
}

// maxAllocated is the most elements that a table grows to with an initial
// value that is not null, which costs memory.
const maxAllocated = 1 << 24

// Grow adds n elements and returns the old length; or it returns false and
// changes nothing.
func (t *Table) Grow(n, ref uint64) (old uint64, ok bool) {
	limit := uint64(1<<32 - 1)
	if t.HasMax {
		limit = min(limit, t.Max)
	}
	old = t.size
	if n > limit || old+n > limit || ref != 0 && old+n > maxAllocated {
		return old, false
	}
	t.size += n
	for i := old; ref != 0 && i < t.size; i++ {
		t.Set(i, ref)
	}
	return old, true
}
