package inproc

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot/internal/abi"
)

const (
	// granule is the unit and the alignment of allocation in the code arena.
	granule = 64 << 10
	// The code arena takes up to codeArena bytes of addresses, less where they are short.
	codeArena    = 64 << 30
	minCodeArena = 1 << 30
	// maxStacks bounds the stores that are open at one time; fewer where addresses are
	// short, but never below minStacks.
	maxStacks = 8192
	minStacks = 16
	// keptStack is how many bytes below where code begins on a native stack keep their pages for the next store.
	keptStack = 16 << 10
	// leastPage is the least size that pages have, where pageSize is the largest.
	leastPage = 4096
	// largeFrame is the size from which on a frame, or what a call passes on the stack, may step over untouched without writing what is not zero. Smaller frames
	// have their return addresses nearer to each other.
	largeFrame = 4096
	// stubSize is the size of a binding stub, stubsPerChunk how many are generated
	// at a time, a page; the last place of a chunk holds the address of exitStub.
	stubSize      = 32
	stubsPerChunk = pageSize/stubSize - 1
)

// signalState is what the signal handler reads. The ranges are set before the
// handlers are installed and never change.
type signalState struct {
	codeLow, codeSize   uintptr
	stackLow, stackSize uintptr
	previous            [65]uintptr // by signal number
}

// untouched is what is next to the pages of a native stack that are kept, if no code has gone deeper.
var untouched [2 * largeFrame]byte

// signals is process-wide because signal handlers are.
var signals signalState

// processState is what exists once per process: see the package comment.
type processState struct {
	once sync.Once
	err  error
	cpu  level
	// protText is the protection of code.
	protText int

	mu     sync.Mutex
	free   []extent // of the code arena, by address, never adjacent
	stacks []spareStack
	spares spares
	graves graves
	// canEmpty is discardWorks, canSee that inMemoryBelow has told touched pages of a stack from others: emulators may say that none is.
	canEmpty   bool
	canSee     bool
	clears     uintptr // maxCleared; less in tests of what is not kept
	scanner    scanner
	emptyOnce  sync.Once // for the two, and for the scanner
	stacksUsed int
	stacksMax  int
	// mappings counts the mappings that the package made, at most, and maxMappings
	// bounds them: the kernel's own limit would fail calls of the whole process.
	mappings, maxMappings uint64
	// began is when the process was set up, and hooked how many nanoseconds later hook last succeeded; 0 before.
	began  time.Time
	hooked atomic.Int64
	// viewsMade counts the views that were made since the garbage collector was last asked for their mappings.
	viewsMade atomic.Uint64
	// more says that reservations for memories are larger: there have been graves.
	more atomic.Bool
	// retired counts the mappings that wait until nobody holds their locations.
	retired atomic.Int64
	// noPreempt says why native code is not preempted; nil if it is.
	noPreempt error
	// goStack is how many bytes of its stack a goroutine may have in use when it calls into a store.
	goStack uintptr
	// stubs are the addresses of the chunks of binding stubs. Stub number n loads n
	// and leaves native code; what n means is the store's affair, so all stores share them.
	stubs   []uintptr
	stubsMu sync.Mutex
	helpers [abi.NumHelpers]uintptr // those that are machine code
	rows    typeRows
	// huge is hasHugePages.
	huge     bool
	hugeOnce sync.Once
	// serials is how many serial numbers of references have been taken.
	serials atomic.Uint64
}

var process processState

// extent is a range of addresses.
type extent struct{ low, size uintptr }

// start sets up the process on first use.
func (p *processState) start() error {
	p.once.Do(func() { p.err = p.setUp() })
	return p.err
}

func (p *processState) setUp() error {
	if !supported {
		return ErrUnsupported
	}
	if err := p.measureGoStack(); err != nil {
		return err
	}
	p.cpu, p.clears, p.began = cpuLevel(), maxCleared, time.Now()
	p.maxMappings = mappingLimit()
	p.protText = protRX | landingPads()
	code, stacks := arenas()
	if limit := addressLimit() / 16 &^ (stackSize - 1); limit != 0 {
		// Most of the process's address space is for memories.
		code, stacks = min(code, limit), min(stacks, limit)
	}
	low, size, err := reserveUpTo(code, minCodeArena)
	if err != nil {
		return err
	}
	p.free = []extent{{alignUp(low, granule), size - granule}}
	signals.codeLow, signals.codeSize = low, size
	if low, size, err = reserveUpTo(stacks, minStacks*stackSize); err != nil {
		return err
	}
	signals.stackLow = alignUp(low, stackSize)
	p.stacksMax = int((low + size - signals.stackLow) / stackSize)
	signals.stackSize = uintptr(p.stacksMax) * stackSize
	if err := p.placeHelpers(); err != nil {
		return err
	}
	if err := p.hook(); err != nil {
		return err
	}
	p.noPreempt = whyNoPreemption()
	return nil
}

// reserveUpTo reserves size bytes, or half as many as often as it takes.
func reserveUpTo(size, least uintptr) (low, got uintptr, err error) {
	for {
		if low, err = reserve(size, protNone); err == nil {
			return low, size, nil
		}
		if size /= 2; size < least {
			return 0, 0, err
		}
	}
}

// mappings that objects of the process take at most, neighbours and gaps included.
const (
	imageMappings  = 6
	memoryMappings = 4
	otherMappings  = 2 // a stack, a table, a slab
)

// takeMappings counts n mappings more. giveMappings must follow when they are unmapped.
func (p *processState) takeMappings(n uint64) error { return p.takeWith(n, func() {}) }

// takeWith is takeMappings that calls take, with p.mu held.
func (p *processState) takeWith(n uint64, take func()) error {
	err := p.countMappings(n, take)
	if err != nil && p.reclaim() {
		err = p.countMappings(n, take)
	}
	return err
}

// countMappings is takeWith without looking for what nobody needs.
func (p *processState) countMappings(n uint64, take func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mappings+n > p.maxMappings {
		return &LimitError{What: "memory mappings of the process", Want: p.mappings + n, Limit: p.maxMappings}
	}
	p.mappings += n
	take()
	return nil
}

func (p *processState) giveMappings(n uint64) {
	if n == 0 {
		return
	}
	p.mu.Lock()
	p.mappings -= n
	p.mu.Unlock()
}

// placeHelpers puts the helpers that are machine code into the arena.
func (p *processState) placeHelpers() error {
	at, err := p.allocCode(granule)
	if err != nil {
		return err
	}
	if err := place(at, pageSize, protRW); err != nil {
		return err
	}
	code := bytesAt(at, pageSize)
	slow, err := p.stub(bindHeapNew)
	if err != nil {
		return err
	}
	n := uintptr(0)
	for _, h := range [...]struct {
		helper abi.Helper
		code   []byte
	}{{abi.HelperMemmove, codeMemmove}, {abi.HelperMemset, codeMemset}, {abi.HelperTableFill, codeTableFill},
		{abi.HelperHeapNew, binary.LittleEndian.AppendUint64(slices.Clip(codeHeapNew), uint64(slow))},
		{abi.HelperHeapFill, codeHeapFill}, {abi.HelperHeapWiden, codeHeapWiden}, {abi.HelperHeapNarrow, codeHeapNarrow}} {
		p.helpers[h.helper] = at + n
		n = alignUp(n+uintptr(copy(code[n:], h.code)), 64)
	}
	return protectCode(at, pageSize)
}

// allocCode takes size bytes of the arena's addresses, first fit.
func (p *processState) allocCode(size uintptr) (uintptr, error) {
	at, ok := p.findCode(size)
	if !ok && p.dropSpares() {
		at, ok = p.findCode(size)
	}
	if !ok {
		return 0, &SystemError{Op: "code arena", Err: ErrNoSpace}
	}
	return at, nil
}

// findCode is allocCode of addresses that are free.
func (p *processState) findCode(size uintptr) (uintptr, bool) {
	size = alignUp(size, granule)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.free {
		e := &p.free[i]
		if e.size < size {
			continue
		}
		at := e.low
		e.low += size
		e.size -= size
		if e.size == 0 {
			p.free = append(p.free[:i], p.free[i+1:]...)
		}
		return at, true
	}
	return 0, false
}

// freeCode makes a range of the arena inaccessible and releases it.
func (p *processState) freeCode(at, size uintptr) {
	size = alignUp(size, granule)
	if place(at, size, protNone) != nil {
		return // still mapped: keep the addresses out of use
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := 0
	for i < len(p.free) && p.free[i].low < at {
		i++
	}
	p.free = append(p.free, extent{})
	copy(p.free[i+1:], p.free[i:])
	p.free[i] = extent{at, size}
	if i+1 < len(p.free) && at+size == p.free[i+1].low {
		p.free[i].size += p.free[i+1].size
		p.free = append(p.free[:i+1], p.free[i+2:]...)
	}
	if i > 0 && p.free[i-1].low+p.free[i-1].size == at {
		p.free[i-1].size += p.free[i].size
		p.free = append(p.free[:i], p.free[i+1:]...)
	}
}

// stub returns the address of stub number n.
func (p *processState) stub(n int) (uintptr, error) {
	p.stubsMu.Lock()
	defer p.stubsMu.Unlock()
	for n/stubsPerChunk >= len(p.stubs) {
		at, err := p.newStubs(len(p.stubs))
		if err != nil {
			return 0, err
		}
		p.stubs = append(p.stubs, at)
	}
	return p.stubs[n/stubsPerChunk] + uintptr(n%stubsPerChunk)*stubSize, nil
}

// newStubs generates the next chunk of stubs, in the granule of the one before if there is room.
func (p *processState) newStubs(chunk int) (at uintptr, err error) {
	if chunk%(granule/pageSize) != 0 {
		at = p.stubs[chunk-1] + pageSize
	} else if at, err = p.allocCode(granule); err != nil {
		return 0, err
	}
	if err = place(at, pageSize, protRW); err == nil {
		code := bytesAt(at, pageSize)
		for i := range stubsPerChunk {
			writeStub(code, i*stubSize, uint32(chunk*stubsPerChunk+i))
		}
		binary.LittleEndian.PutUint64(code[stubsPerChunk*stubSize:], uint64(exitStubAddress()))
		err = protectCode(at, pageSize)
	}
	if err != nil && chunk%(granule/pageSize) == 0 {
		p.freeCode(at, granule)
	}
	return at, err
}

// protectCode makes memory that holds newly written code executable.
func protectCode(at, size uintptr) error {
	flushCode(at, size)
	defer syncCores()
	return mprotect(at, size, process.protText)
}

// stubNumber returns the number of the stub whose address is code.
func (p *processState) stubNumber(code uintptr) (int, bool) {
	p.stubsMu.Lock()
	defer p.stubsMu.Unlock()
	for i, at := range p.stubs {
		if code-at < stubsPerChunk*stubSize && (code-at)%stubSize == 0 {
			return i*stubsPerChunk + int((code-at)/stubSize), true
		}
	}
	return 0, false
}

// spareStack is a native stack without a store: its lowest address, and how many bytes above code began on it, whose pages next to there are kept.
type spareStack struct{ at, top uintptr }

// takeStack returns the lowest address of a native stack on which code begins top bytes above.
func (p *processState) takeStack(top uintptr) (at uintptr, err error) {
	var x spareStack
	err = p.withoutSpares(func() error {
		x, err = p.findStack(top)
		return err
	})
	if err == nil && x.top != top {
		madvise(x.at+guardEnd, stackSize-guardEnd, madvDontNeed) // they were kept in vain
	}
	return x.at, err
}

// findStack is takeStack that fails also if the spares take what it needs.
func (p *processState) findStack(top uintptr) (x spareStack, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.stacks); n > 0 {
		x, p.stacks = p.stacks[n-1], p.stacks[:n-1]
		return x, nil
	}
	if p.stacksUsed == p.stacksMax {
		return x, &LimitError{What: "stores", Want: uint64(p.stacksUsed) + 1, Limit: uint64(p.stacksMax)}
	}
	if p.mappings+otherMappings > p.maxMappings {
		return x, &LimitError{What: "memory mappings of the process", Want: p.mappings + otherMappings, Limit: p.maxMappings}
	}
	at := signals.stackLow + uintptr(p.stacksUsed)*stackSize
	if err := mprotect(at, saveArea, protRW); err != nil {
		return x, err
	}
	if err := mprotect(at+guardEnd, stackSize-guardEnd, protRW); err != nil {
		return x, err
	}
	// Huge pages would cost more than most programs ever use.
	madvise(at, stackSize, madvNoHuge)
	if p.stacksUsed == 0 {
		store64(at+stackSize-8, 0)
		p.canSee = inMemoryBelow(at+stackSize) && !inMemoryBelow(at+stackSize-keptStack)
	}
	p.mappings += otherMappings
	p.stacksUsed++
	return spareStack{at, top}, nil
}

// usedBelow reports whether code has used a stack below an address. Without large frames it has left return addresses there, which are not zero. The kernel tells of
// others, since none steps over a page (stackGuard): that takes longer.
func (p *processState) usedBelow(kept uintptr, large bool) bool {
	if large {
		return !p.canSee || p.touchedBelow(kept)
	}
	return !bytes.Equal(bytesAt(kept-uintptr(len(untouched)), uintptr(len(untouched))), untouched[:])
}

// giveStack returns a stack on which code began at top, and its pages, but for those there, to the system. large says that there may have been large frames on it.
func (p *processState) giveStack(at, top uintptr, large bool) {
	low, kept := at+guardEnd, (top-keptStack)&^(leastPage-1) // of larger pages the kernel takes the one with kept, too
	if kept > low+uintptr(len(untouched)) && p.usedBelow(kept, large) {
		madvise(low, kept-low, madvDontNeed)
	}
	p.mu.Lock()
	p.stacks = append(p.stacks, spareStack{at, top - at})
	p.mu.Unlock()
}
