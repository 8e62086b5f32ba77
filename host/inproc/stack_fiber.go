package inproc

import (
	"slices"
	"unsafe"
)

// fiber is a native stack and the calls on it. Calls of one goroutine nest, and so share a fiber; another goroutine, which gets into the store while a host
// function lets it, has one of its own: so calls of different goroutines may end in any order, as those of coroutines do.
//
// One fiber is the store's, and the goroutine inside uses that. The others are parked: the innermost call of each is in a host function that lets others in.
type fiber struct {
	// depth is the number of nested calls.
	depth int
	// goBase is the bytes of the goroutine's stack in use at the outermost call.
	goBase uintptr
	// scratchTop is where the part of scratch in use ends.
	scratchTop int
	// stack is the lowest address of the native stack, ctx the context at its top:
	// stacks stay mapped as long as the process lives, so it can be a pointer.
	stack uintptr
	ctx   *nativeContext
	// outermost is the activation of the outermost call.
	outermost *Caller

	// activations are the nested calls, the outermost first, innermost at depth-1; the rest are spares.
	activations []*Caller
	// scratch holds arguments and results of host functions, used as a stack.
	scratch []uint64
	// The stack proper is from top downwards. No call begins below floor.
	top, floor uintptr
	// locals are the slots of references that host functions on the stack keep, innermost last.
	// Caller.locals is where those of an activation's host function begin.
	locals []uint32
	// ended are the calls of the fiber that their contexts have ended.
	ended *endedCalls
}

// endedCalls counts calls of a fiber. Store.cancelMu guards it.
type endedCalls struct {
	n      int32
	parked bool
}

// fiberParts is what a fiber points to at first, in one piece.
type fiberParts struct {
	outermost   Caller
	activations [1]*Caller
	ended       endedCalls
}

// fiberShare is the part of the native stacks of the process that goroutines in one store may have.
const fiberShare = 2

// newFiber is an unused fiber, or takes a native stack for one.
func (s *Store) newFiber() (f fiber, err error) {
	if s.spare != nil {
		f, s.spare = *s.spare, nil
		return f, nil
	}
	if n, most := len(s.parked), process.stacksMax/fiberShare; n > most {
		return f, &LimitError{What: "goroutines with calls in a store", Want: uint64(n) + 1, Limit: uint64(most) + 1}
	}
	return s.fiberOf(new(fiberParts))
}

// fiberOf takes a native stack.
func (s *Store) fiberOf(p *fiberParts) (f fiber, err error) {
	top := guardEnd + uintptr(s.config.MaxStack)&^15
	if f.stack, err = process.takeStack(top); err != nil {
		return f, err
	}
	f.floor, f.top = f.stack+guardEnd+headroom, f.stack+top
	p.outermost = Caller{store: s, native: true, plain: true, start: f.top, counts: s.fuel > fuelNone}
	f.outermost, f.ended = &p.outermost, &p.ended
	f.activations = append(p.activations[:0], f.outermost)
	f.ctx = (*nativeContext)(ptr(f.stack + stackSize - unsafe.Sizeof(nativeContext{})))
	*f.ctx = nativeContext{}
	return f, nil
}

// dropFiber gives up a fiber without calls. One is kept for the next goroutine.
func (s *Store) dropFiber(f fiber) {
	if s.spare == nil {
		s.spare = &f
		return
	}
	process.giveStack(f.stack, f.top, s.largeFrames)
}

// selectFiber makes the fiber of goroutine g the store's: the one with its calls, or one without. g has come in where no fiber of its own was the store's.
func (s *Store) selectFiber(g uintptr) error {
	n := slices.IndexFunc(s.parked, func(f fiber) bool { return f.activations[f.depth-1].away == g|ownerAway })
	if n >= 0 {
		s.unpark(n)
		return nil
	}
	if s.depth == 0 {
		return nil
	}
	f, err := s.newFiber()
	if err == nil {
		s.changeFiber(f)
	}
	return err
}

// unpark makes parked fiber n the store's.
func (s *Store) unpark(n int) {
	f, last := s.parked[n], len(s.parked)-1
	s.parked[n] = s.parked[last]
	s.parked[last] = fiber{}
	s.parked = s.parked[:last]
	s.parkedDepth -= f.depth
	s.changeFiber(f)
}

// changeFiber makes f the store's fiber, and parks the one before if it has calls. Code can be executed while it has none that is ended.
func (s *Store) changeFiber(f fiber) {
	before := s.fiber
	s.cancelMu.Lock()
	before.ended.parked, f.ended.parked = true, false
	if s.fuel != fuelNone { // else it is a register of the code
		*f.count() = *before.count()
	}
	s.fiber = f
	s.cancelled.Store(f.ended.n)
	if ended := f.ended.n != 0; ended != (before.ended.n != 0) {
		s.protectText(textProtection(ended))
	}
	s.cancelMu.Unlock()
	if before.depth > 0 {
		s.parked = append(s.parked, before)
		s.parkedDepth += before.depth
	} else {
		s.dropFiber(before)
	}
	s.vacant = ownerNone
	if len(s.parked) > 0 {
		s.vacant = ownerAway
	}
}

// eachFiber calls visit with each fiber as the store's, for a goroutine that is inside. Only what ends calls can tell.
func (s *Store) eachFiber(visit func()) {
	visit()
	for n := range s.parked {
		s.fiber, s.parked[n] = s.parked[n], s.fiber
		visit()
		s.fiber, s.parked[n] = s.parked[n], s.fiber
	}
}
