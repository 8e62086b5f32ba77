package host

import (
	"fmt"

	"github.com/waot-project/waot/host/hosterr"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/abi"
)

// The errors of this package, as package hosterr defines them: it has their fields and methods.
type (
	// Error is an error without details: one of the constants below. Compare with errors.Is, since many errors wrap a
	// constant and add what it was about.
	Error = hosterr.Error
	// ObjectError means that what was given to Load is not an object of this compiler and version, or is damaged.
	ObjectError = hosterr.ObjectError
	// LinkError is an import that could not be satisfied.
	LinkError = hosterr.LinkError
	// SnapshotError means that there is no snapshot of a module or instance: it has, or does, what a snapshot cannot have.
	SnapshotError = hosterr.SnapshotError
	// LimitError is a request above a limit of the store or of the process.
	LimitError = hosterr.LimitError
	// ReferenceError is a word that was given for a reference, to CallRaw or by a RawFunc, and is not a reference of the
	// store. It matches ErrType.
	ReferenceError = hosterr.ReferenceError
	// CPUError means that this processor lacks what the code was compiled for.
	CPUError = hosterr.CPUError
	// SystemError is a failed request to the operating system.
	SystemError = hosterr.SystemError
	// CancelError means that a context ended a call. It matches ErrCancelled and unwraps to the
	// cause of the context, such as context.DeadlineExceeded.
	CancelError = hosterr.CancelError
	// Frame is one activation of a compiled function in a backtrace.
	Frame = hosterr.Frame
	// SignatureError means that an object was not signed by the key, or has been changed since, or that a key is unusable.
	SignatureError = sign.Error
)

// The errors without details.
const (
	// ErrUnsupported means that this machine or operating system cannot run compiled code.
	ErrUnsupported = hosterr.ErrUnsupported
	// ErrBusy means that a goroutine is inside the store: another one or, for Close and Enter, the calling one.
	ErrBusy = hosterr.ErrBusy
	// ErrClosed means that the store, module or instance has been closed.
	ErrClosed = hosterr.ErrClosed
	// ErrNotExported means that the instance has no such export of that kind.
	ErrNotExported = hosterr.ErrNotExported
	// ErrType means that a value does not fit the type of a parameter, result, table, global or field, or that there are too
	// many values or too few.
	ErrType = hosterr.ErrType
	// ErrBounds means that an index is outside of a table, an object or another space of indices.
	ErrBounds = hosterr.ErrBounds
	// ErrNoSpace, inside a *SystemError, means that memory, address space, the room for code or the native stacks are used up.
	ErrNoSpace = hosterr.ErrNoSpace
	// ErrCancelled means that a context ended a call. The error itself is a *CancelError.
	ErrCancelled = hosterr.ErrCancelled
	// ErrRestore means that a Go function has restored a snapshot. Go functions between it and the call of the snapshot get ErrRestore from their calls, and
	// return it in turn. Any other caller that receives it has restored a snapshot whose call had returned.
	ErrRestore = hosterr.ErrRestore
	// ErrGuardPages means that a store with an allocator was to make a memory for code without explicit bounds checks.
	ErrGuardPages = hosterr.ErrGuardPages
	// ErrFuel means that a store was to have code that counts fuel and code that does not.
	ErrFuel = hosterr.ErrFuel
)

// TrapCode says why compiled code trapped.
type TrapCode uint8

// The trap codes.
const (
	TrapUnreachable          = TrapCode(abi.TrapUnreachable)
	TrapMemoryOutOfBounds    = TrapCode(abi.TrapMemoryOutOfBounds)
	TrapTableOutOfBounds     = TrapCode(abi.TrapTableOutOfBounds)
	TrapUndefinedElement     = TrapCode(abi.TrapUndefinedElement)
	TrapUninitializedElement = TrapCode(abi.TrapUninitializedElement)
	TrapBadSignature         = TrapCode(abi.TrapBadSignature)
	TrapIntegerOverflow      = TrapCode(abi.TrapIntegerOverflow)
	TrapIntegerDivideByZero  = TrapCode(abi.TrapIntegerDivideByZero)
	TrapBadConversion        = TrapCode(abi.TrapBadConversion)
	TrapStackOverflow        = TrapCode(abi.TrapStackOverflow)
	// TrapNullReference is a call of a reference that is null, or ref.as_non_null of one.
	TrapNullReference = TrapCode(abi.TrapNullReference)
	// TrapOutOfFuel is raised in front of a basic block that has an effect or begins a loop and cannot be paid, or where a call from Go ends in a
	// debt (CompileOptions.Fuel, StoreOptions.Fuel).
	TrapOutOfFuel = TrapCode(abi.TrapOutOfFuel)
	// The traps of structures, arrays and small integers. TrapHeapExhausted is raised where an object would take more than StoreOptions.MaxHeapMemory.
	TrapNullStructure    = TrapCode(abi.TrapNullStructure)
	TrapNullArray        = TrapCode(abi.TrapNullArray)
	TrapNullI31          = TrapCode(abi.TrapNullI31)
	TrapArrayOutOfBounds = TrapCode(abi.TrapArrayOutOfBounds)
	TrapCastFailure      = TrapCode(abi.TrapCastFailure)
	TrapHeapExhausted    = TrapCode(abi.TrapHeapExhausted)
)

// String returns the specification's wording, such as "out of bounds memory access".
func (c TrapCode) String() string { return abi.TrapCode(c).Message() }

// Trap is a trap: the specified failure of a WebAssembly program. The instance stays
// as the code left it, and can be called again.
type Trap struct {
	Code TrapCode
	// Backtrace is the innermost frames, up to 64, across nested calls through Go functions.
	// For a stack overflow that is found on entry from Go it begins with the calls around it in the store.
	Backtrace []Frame
	// Inner is how many of the first frames are of the innermost call. Calls around it, with Go functions in between, have the others.
	Inner int
}

// Error says what happened and in which function.
func (t *Trap) Error() string {
	trap := inproc.Trap{Code: abi.TrapCode(t.Code), Backtrace: t.Backtrace}
	if len(t.Backtrace) > 0 {
		f := &t.Backtrace[0]
		trap.Func, trap.Name, trap.Offset = f.Func, f.Name, f.Offset
	}
	return trap.Error()
}

// hostError converts an inproc error. Only traps and exceptions differ. Errors of Go functions stay as they are: the calls that those
// functions made have converted their errors already.
func hostError(err error) error {
	switch err := err.(type) {
	case *inproc.Trap:
		return &Trap{Code: TrapCode(err.Code), Backtrace: err.Backtrace, Inner: err.Inner}
	case *inproc.Exception:
		return (*Exception)(err)
	}
	return err
}

// detail adds to a simple error what it was about.
func detail(err Error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...))
}

// Preemption returns nil if compiled code is preempted like Go code, and otherwise an error that says why not:
// GODEBUG=asyncpreemptoff=1, a processor with unusually large state, or a machine that cannot run compiled code. Without preemption, a garbage
// collection waits until compiled code returns or calls a Go function. It may be called from any goroutine.
func Preemption() error { return inproc.Preemption() }
