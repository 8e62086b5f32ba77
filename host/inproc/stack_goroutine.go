package inproc

import (
	"math"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
)

// Host functions run on the goroutine's own stack, and so do the calls that they make into
// stores. When a stack would have to grow beyond the limit of Go's runtime, that ends the process:
// it is no panic. Compiled code that makes a host function call it again must therefore meet a
// limit long before: calls into stores measure the stack and trap.

// maxGoStack is how many bytes of its stack a goroutine may have in use when it calls into a store, at
// most. Go doubles stacks, and 512 MiB is the last size within its limit.
const maxGoStack = 256 << 20

// Offsets in the runtime's g, which begins with the bounds of the goroutine's stack. Compilers rely on
// the word that follows them, the bound that the prologues of functions compare with.
const (
	gStackLow  = 0
	gStackHigh = unsafe.Sizeof(uintptr(0))
)

// goStackInUse returns how many bytes of its stack the calling goroutine has in use, whose g is at address g. The
// number stays the same when the runtime moves the stack.
func goStackInUse(g uintptr) uintptr {
	high := uintptr(load64(g + gStackHigh))
	var here byte
	return high - uintptr(unsafe.Pointer(&here)) // no call in between could move the stack
}

// measureGoStack finds how much stack goroutines may use, and whether it can be measured.
func (p *processState) measureGoStack() error {
	g := currentG()
	if used, size := goStackInUse(g), load64(g+gStackHigh)-load64(g+gStackLow); used == 0 || uint64(used) > size {
		return &SystemError{Op: "measuring a goroutine's stack", Err: ErrUnsupported}
	}
	// There is no other way to ask for the limit. Meanwhile the runtime's ceiling holds, which
	// is twice its first limit.
	limit := debug.SetMaxStack(math.MaxInt)
	debug.SetMaxStack(limit)
	p.goStack = goStackWithin(limit)
	return nil
}

// goStackWithin returns how many bytes of its stack a goroutine may have in use when it calls into a store, if no stack
// can be larger than limit: half of the last power of two, so that one call at least finds as much
// again.
func goStackWithin(limit int) uintptr {
	last := uint64(1) << (bits.Len64(uint64(max(limit, 1))) - 1)
	return uintptr(min(last/2, maxGoStack))
}

// fits measures the stack at the beginning of an outermost call, of the goroutine inside. It reports
// whether the call can be made.
func (s *Store) fits() bool {
	s.goBase = goStackInUse(atomic.LoadUintptr(&s.owner))
	return s.goBase <= process.goStack && (s.parkedDepth == 0 || s.parkedDepth < s.config.MaxHostDepth)
}

// fitsNested is fits for a call that a host function of the store makes.
func (s *Store) fitsNested() bool {
	used := goStackInUse(atomic.LoadUintptr(&s.owner))
	since := max(used, s.goBase) - s.goBase
	return used <= process.goStack && s.parkedDepth+s.depth < s.config.MaxHostDepth &&
		uint64(since)+8*uint64(s.scratchTop) <= s.config.MaxHostStack
}

// mayNest returns why a call that a host function of the store makes cannot begin, or nil.
func (s *Store) mayNest() error {
	switch {
	case s.callEnded():
		return s.cancelError(false)
	case !s.fitsNested():
		return s.overflow(s.depth - 1)
	}
	return nil
}

// overflow returns the trap of a call that cannot begin, from the activation with number caller.
func (s *Store) overflow(caller int) *Trap {
	var frames []Frame
	s.walkOuter(caller, framesInto(&frames))
	return newTrap(abi.TrapStackOverflow, frames, 0)
}

// refuse returns the result of an outermost call that does not fit; took says that it took the store.
func (s *Store) refuse(took bool) error {
	if took {
		s.Leave()
	}
	return s.overflow(-1)
}

// What a store keeps for the next calls.
const (
	keptDepth   = 32   // activations
	keptScratch = 4096 // words
)

// tidy gives back what deeply nested calls needed. Slices of scratch that are in use
// stay valid.
func (s *Store) tidy() {
	if len(s.activations) > 2*keptDepth {
		s.activations = slices.Clone(s.activations[:keptDepth])
	}
	if n := max(2*s.scratchTop, keptScratch); len(s.scratch) > n {
		s.scratch = make([]uint64, n)
	}
	if cap(s.locals) > max(2*len(s.locals), keptScratch) {
		s.locals = slices.Clone(s.locals)
	}
}
