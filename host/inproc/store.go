package inproc

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/waot-project/waot/internal/meta"
)

// Config bounds what a store gives its instances. Zero fields mean the defaults.
type Config struct {
	// MaxMemoryPages bounds each memory, in pages of 64 KiB; default and ceiling 65536.
	MaxMemoryPages uint64
	// MaxTotalMemoryPages bounds all memories together; default 262,144 pages, 16 GiB.
	MaxTotalMemoryPages uint64
	// MaxTableElements bounds each table; default 10,000,000, ceiling 2^32 - 1.
	MaxTableElements uint64
	// MaxTableMemory bounds all tables together, in bytes, 8 per element; default
	// 128 MiB, and at least what a table of MaxTableElements takes.
	MaxTableMemory uint64
	// MaxTables, MaxMemories and MaxGlobals bound their numbers, with those of instances whose
	// instantiation failed later; defaults 4096, 4096 and 1,000,000. Negative ones allow none, as does
	// a negative MaxInstances.
	MaxTables, MaxMemories, MaxGlobals int
	// MaxStack bounds the native stack of all nested calls of a goroutine together, in bytes; default
	// 8 MiB, from 64 KiB to just below 64 MiB. A call that needs more traps.
	MaxStack uint64
	// MaxHostStack bounds what host functions may use of the goroutine's stack before one of them
	// calls into the store again: bytes, counted from the outermost call, with 8 for each of their
	// arguments and results; default 8 MiB, at most 128 MiB. A call that finds more in use
	// traps (stack overflow), as does one that finds 256 MiB of the stack in use in all.
	MaxHostStack uint64
	// MaxHostDepth bounds the calls into the store that are active at one time: nested in each other by host functions,
	// the outermost one included, and those of all goroutines that host functions let in; default 10,000. One more traps (stack overflow).
	MaxHostDepth int
	// MaxExceptionMemory bounds the exceptions that handles are of, in bytes, about 256 for each and what its arguments take; default 128 MiB. Half of it is for those that
	// nobody holds any more and that are not collected yet.
	MaxExceptionMemory uint64
	// MaxHeapMemory bounds the structures and arrays of WebAssembly together, in bytes; default 1 GiB, which is also about the most that there is. Code that needs more
	// traps (heap exhausted).
	MaxHeapMemory uint64
	// MaxInstances bounds the instances; by default only the memory mappings that the system
	// grants a process do.
	MaxInstances int
	// HugePages asks the system for huge pages when a memory grows by 4 MiB or more at once, and the first one was quick to be had. Such
	// a memory takes 2 MiB where a guest touches one byte.
	HugePages bool
	// KeepViews makes slices from Memory.Kept valid as long as Go code has them, also after the store has been closed. Each memory is a
	// file without a name then.
	KeepViews bool
	// Allocator, if not nil, makes the bytes of all memories, unless an instance has one of its own. Modules whose code has no explicit bounds checks
	// cannot have memories of their own then.
	Allocator MemoryAllocator
	// Fuel is what the store has at first, for code that counts it. OutOfFuel, if it is not nil, is called where such code runs out: with AddFuel the code goes on,
	// otherwise it traps; an error ends the call. Nothing but Fuel and AddFuel of the store may be used in it: all else fails with ErrBusy.
	Fuel      uint64
	OutOfFuel FuelHandler
	// CollectAlways collects references whenever compiled code calls the host, when the host
	// returns, and whenever one is made: for tests of hosts that handle references. The heap is collected with them, and for each object that is made.
	CollectAlways bool
}

// Store owns instances and everything they can reach: memories, tables, globals,
// host functions, function types, and handles of host values. One goroutine at a time
// may be inside a store, by a call, an instantiation or a New method; others
// get ErrBusy. From inside a host function the same goroutine may use it freely.
// The remaining methods, and those of memories, tables and globals, are for the goroutine
// that is inside, or for one at a time while none is.
//
// The zero Store is a closed one.
//
// Nothing is unmapped before Close, but what has grown when an instance is reset: functions and references stay valid
// whatever becomes of the instance they are from.
type Store struct {
	// What every call uses comes first, in one cache line: an empty call takes a tenth longer otherwise.

	ownership
	fiber

	// parked are the fibers of goroutines whose host functions let others in, spare is one without calls, or nil.
	parked []fiber
	spare  *fiber
	// parkedDepth is the number of calls on the parked fibers.
	parkedDepth int
	config      Config

	// cancelled counts the active calls of the store's fiber that their contexts have ended. cancelMu guards it and
	// the text of instances against changes by those who end calls, who run beside the
	// goroutine inside: instances changes with it held, and which fiber is parked.
	cancelled atomic.Int32
	cancelMu  sync.Mutex

	// bindings are what stubs stand for: those of the helpers, then host functions.
	bindings      []binding
	firstBindings [numHelperBindings]binding

	types typeTable
	fuel  fuelKind

	instances []*Instance // by address
	// instantiating counts the instances that are being made, before their code runs; restoring says that instances are made what they were.
	instantiating int
	restoring     bool
	// largeFrames says that there may be frames on the stacks that are not smaller than largeFrame.
	largeFrames bool
	memories    []*Memory
	tables      []*Table
	modules     []*Module
	refs        references
	heap        *heap                // nil before there is an instance that has to do with it
	typesOf     map[*Module]bool     // the modules whose types have numbers because of the store; nil if there are none
	typeUses    map[*ObjectType]bool // the types of objects that Go code has made; nil if there are none
	funcs       []funcRun            // all functions, by their words
	hostRoom    []Func               // for the next functions of the host
	described   map[uintptr]*Func    // by descriptor, those that compiled code has shown
	tags        map[uintptr]*Tag     // by what stands for them
	used        usage

	// slabs hold type records, descriptors and globals of the host.
	slabs             []extent
	slabNext, slabEnd uintptr

	first firstOf
}

// firstOf is room for the first of what a store has, in one piece with the store.
type firstOf struct {
	instances [1]*Instance
	memories  [1]*Memory
	slabs     [1]extent
	types     [4]storeType
	runs      [1]funcRun
	funcs     [minFuncRun]*Func
	fiber     fiberParts
}

// binding is the meaning of a stub: a host function, or a helper that Go supplies.
type binding struct {
	fn   *Func
	help func(c *Caller) uint64 // see dispatch
}

// Numbers of the bindings of helpers.
const (
	bindMemoryGrow = iota
	bindTableGrow
	bindRaise
	bindExceptionOpen
	bindExceptionRef
	bindHeapNew
	bindFuncTest
	numHelperBindings
)

const slabSize = 64 << 10

// minHostRoom and maxHostRoom bound how many functions of the host a store makes room for at once.
const (
	minHostRoom = 4
	maxHostRoom = 16
)

// NewStore creates a store. It must be closed to release its address space.
func NewStore(c Config) (*Store, error) {
	if err := process.start(); err != nil {
		return nil, err
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Store{ownership: newOwnership(), config: c}
	s.refs.room = minRefRoom
	s.instances, s.memories, s.slabs, s.types.all, s.funcs = s.first.instances[:0], s.first.memories[:0], s.first.slabs[:0], s.first.types[:0], s.first.runs[:0]
	var err error
	if s.fiber, err = s.fiberOf(&s.first.fiber); err != nil {
		return nil, err
	}
	s.refuel()
	s.bindings = s.firstBindings[:]
	s.bindings[bindMemoryGrow].help, s.bindings[bindTableGrow].help = growMemory, growTable
	s.bindings[bindRaise].help, s.bindings[bindExceptionOpen].help, s.bindings[bindExceptionRef].help = raise, exceptionOpen, exceptionRef
	s.bindings[bindHeapNew].help, s.bindings[bindFuncTest].help = heapNew, funcTest
	return s, nil
}

// Close unmaps everything the store owns. Slices from Memory.Bytes, and methods of memories, tables
// and globals, must not be used afterwards. It fails with ErrBusy while a goroutine is inside, the
// calling one included, and with ErrClosed if it has been closed.
func (s *Store) Close() error {
	if err := s.close(); err != nil {
		return err
	}
	for _, i := range s.instances {
		process.giveImage(i.module, i.base)
	}
	for _, m := range s.memories {
		m.free()
	}
	for _, t := range s.tables {
		process.giveRegion(t.mapped, t.mapped.size)
	}
	for n, e := range s.slabs {
		used := e.size
		if n == len(s.slabs)-1 {
			used = s.slabNext - e.low
		}
		process.giveRegion(e, used)
	}
	for _, m := range s.modules {
		m.Close()
	}
	s.refs, s.funcs, s.described = references{}, nil, nil
	s.freeHeap()
	s.leaveTypes()
	process.giveStack(s.stack, s.top, s.largeFrames)
	if s.spare != nil {
		process.giveStack(s.spare.stack, s.spare.top, s.largeFrames)
	}
	s.ctx = nil
	return nil
}

// KeepsViews is Config.KeepViews.
func (s *Store) KeepsViews() bool { return s.config.KeepViews }

// Load is Load for a module that lives as long as the store.
func (s *Store) Load(img *Image) (*Module, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	m, err := Load(img)
	if err == nil {
		s.modules = append(s.modules, m)
	}
	return m, err
}

// alloc takes size bytes, aligned to 16, of native memory that lives as long as the store.
func (s *Store) alloc(size uintptr) (uintptr, error) {
	size = alignUp(size, 16)
	if size > s.slabEnd-s.slabNext {
		slab, err := process.takeRegion(alignUp(max(size, slabSize), pageSize))
		if err != nil {
			return 0, err
		}
		s.slabs = append(s.slabs, slab)
		s.slabNext, s.slabEnd = slab.low, slab.low+slab.size
	}
	at := s.slabNext
	s.slabNext += size
	return at, nil
}

// NewHostFunc makes a function of the given type that runs fn. It can be imported,
// put into tables, and called. It fails with ErrType if the type has more than maxValues parameters or results.
func (s *Store) NewHostFunc(t meta.FuncType, fn HostFunc) (*Func, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	typ, err := s.hostType(&t)
	if err != nil {
		return nil, err
	}
	return s.newHostFunc(typ, fn)
}

// hostType returns the type of a function or tag that the host makes, for whose values the store is ready then. The error is ErrType if it has the index of a type, *LimitError or *SystemError.
func (s *Store) hostType(t *meta.FuncType) (storeType, error) {
	internal := false
	for _, types := range [2][]meta.ValType{t.Params, t.Results} {
		for _, v := range types {
			if !v.NeedsNoModule() {
				return storeType{}, ErrType
			}
			internal = internal || v.IsInternal()
		}
	}
	if err := s.makeHeapFor(internal); err != nil {
		return storeType{}, err
	}
	return s.internType(t)
}

// NewHostFuncOf is NewHostFunc for type n of a module.
func (s *Store) NewHostFuncOf(m *Module, n uint32, fn HostFunc) (*Func, error) {
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	typ, err := s.internModuleType(m, n)
	if err != nil {
		return nil, err
	}
	return s.newHostFunc(typ, fn)
}

// newHostFunc makes a function of the host; the store is held.
func (s *Store) newHostFunc(typ storeType, fn HostFunc) (*Func, error) {
	if typ.unsupported {
		return nil, ErrType
	}
	n := len(s.bindings)
	code, err := process.stub(n)
	if err != nil {
		return nil, err
	}
	if len(s.hostRoom) == 0 {
		s.hostRoom = make([]Func, max(minHostRoom, min(n, maxHostRoom)))
		s.bindings = slices.Grow(s.bindings, len(s.hostRoom))
	}
	f := &s.hostRoom[0]
	s.hostRoom = s.hostRoom[1:]
	*f = Func{store: s, typ: typ.funcType, code: code, index: uint32(n), host: fn}
	if f.desc, err = s.newHostDescriptor(code, typ); err != nil {
		return nil, err
	}
	s.bindings = append(s.bindings, binding{fn: f})
	s.addFunc(f)
	return f, nil
}

func (s *Store) newDescriptor(code uintptr, t storeType) (uintptr, error) {
	d, err := s.alloc(descSize)
	if err == nil {
		writeDescriptor(d, code, t)
	}
	return d, err
}

// newHostDescriptor is newDescriptor for a function of the host: its address says that it is one.
func (s *Store) newHostDescriptor(code uintptr, t storeType) (uintptr, error) {
	d, err := s.alloc(descHost + descSize)
	if err != nil {
		return 0, err
	}
	writeDescriptor(d+descHost, code, t)
	return d + descHost, nil
}

// instanceIn returns the instance whose mapping contains address a.
func (s *Store) instanceIn(a uintptr) *Instance {
	lo, hi := 0, len(s.instances)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.instances[mid].base <= a {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil
	}
	i := s.instances[lo-1]
	if a-i.base >= i.module.size {
		return nil
	}
	return i
}

// instanceAt returns the instance whose code contains pc.
func (s *Store) instanceAt(pc uintptr) *Instance {
	i := s.instanceIn(pc)
	if i == nil || pc-i.base >= i.module.length[Text] {
		return nil
	}
	return i
}
