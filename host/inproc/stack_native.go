package inproc

import "unsafe"

// Geometry of native stacks, from the low end: the save area, the guard, the stack
// proper, whose size is the store's limit, space not used, and the context of the call.
const (
	// stackSize is size and alignment of a native stack, in bytes.
	stackSize = 64 << 20
	stackMask = stackSize - 1
	// stackGuard is the inaccessible part below the stack. Frames of a page or more
	// probe each page, so they cannot step over it.
	stackGuard = 64 << 10
	guardEnd   = saveArea + stackGuard
	// maxStack bounds the size of the stack proper.
	maxStack = stackSize - guardEnd - pageSize
	// headroom is what must be free below the stack pointer when Go enters native
	// code: what the entry pushes comes from Go text and must never reach the guard.
	headroom = 16 << 10
)

// Why native code was left; nativeContext.reason, and the result of enter.
const (
	exitReturn = 0 // the function returned
	exitHost   = 1 // a stub was called; enter handles it and does not return it
	exitTrap   = 2 // a fault in native code
	exitError  = 3 // dispatch or preempted gave up the activation
	// exitPreempt: a signal arrived; enter lets Go see it and resumes the code exactly where
	// it was.
	exitPreempt = 4
	// exitUndefined: a fault of an undefined instruction, with the code's state in the save area; enter lets undefined decide whether the code goes on.
	exitUndefined = 5
)

// Flags of nativeContext.flags.
const (
	flagFloatArgs    = 1  // entry loads all of floats
	flagFloatResults = 2  // resumption loads the first four of floats
	flagManyArgs     = 4  // entry loads ints beyond the fourth
	flagManyResults  = 8  // return stores ints beyond the first
	flagFloatReturn  = 16 // return stores floats
)

// nativeContext is what Go, the assembly and the signal handler share about
// the call that runs on a native stack. It is the last thing on the stack: its end is
// the stack's end. Assembly reads offsets from go_asm.h. It holds no pointers to Go
// memory that outlive the activation: goSP and goBP are set anew at each entry
// and resumption, and the goroutine's stack cannot move in between.
type nativeContext struct {
	// goSP, goPC, goBP are where an exit continues. goSP is 0 before the first entry.
	goSP, goPC, goBP uintptr
	reason           uint64
	code             uintptr // entry point
	// sp is the stack pointer to enter with, then the one at an exit by a stub; fp is the frame
	// pointer at that exit, saved the other registers that calls keep.
	sp, fp uintptr
	saved  [numSaved]uint64
	pop    uint64 // bytes of stack arguments that resumption pops
	// ints and floats are argument registers in the order of the convention; the
	// first four of each are the results, in theirs. floats are whole vector registers, the low half
	// first. On AArch64 their offset must be a multiple of 16; their address is one on both machines, so that none
	// crosses a cache line: the padding behind them is for that.
	ints   [8]uint64
	floats [8][2]uint64
	flags  uint64 // for the next entry or resumption
	_      uint64
	// The last fault. faultLR is the link register of machines that have one.
	faultPC, faultAddr, faultSP, faultFP, faultLR uintptr
	faultSignal, faultSICode                      uint64
	// index is the binding whose stub was called. Stubs store it by an 8-bit
	// displacement from the end of the stack: it must be the last field.
	index uint64
}

// nativeExit is what a nested activation must preserve of the one below it.
type nativeExit struct {
	sp, fp uintptr
	saved  [numSaved]uint64
}

// ptr is address a as a pointer to memory outside of Go's heap.
func ptr(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// load64 and store64 access a native word.
func load64(a uintptr) uint64     { return *(*uint64)(ptr(a)) }
func store64(a uintptr, v uint64) { *(*uint64)(ptr(a)) = v }

// bytesAt is n bytes of native memory.
func bytesAt(a, n uintptr) []byte { return unsafe.Slice((*byte)(ptr(a)), n) }

// bytes64 returns a size that needs 64-bit addresses; where they are narrower nothing
// runs, but constants must still fit.
func bytes64(n uint64) uintptr { return uintptr(n) }

// alignUp rounds n up to a multiple of a, a power of two.
func alignUp(n, a uintptr) uintptr { return (n + a - 1) &^ (a - 1) }

// Offsets of the register arrays in nativeContext.
const (
	contextInts   = uint16(unsafe.Offsetof(nativeContext{}.ints))
	contextFloats = uint16(unsafe.Offsetof(nativeContext{}.floats))
)
