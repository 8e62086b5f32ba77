package host

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/abi"
)

// Error is a simple failure that carries nothing: one of the constants below. Compare
// with errors.Is; many errors add to them what it was about.
type Error = inproc.Error

// The simple errors.
const (
	// ErrUnsupported: this machine or operating system cannot run compiled code.
	ErrUnsupported = inproc.ErrUnsupported
	// ErrBusy: another goroutine is inside the store.
	ErrBusy = inproc.ErrBusy
	// ErrClosed: the store, module or instance has been closed.
	ErrClosed = inproc.ErrClosed
	// ErrNotExported: the instance has no such export of that kind.
	ErrNotExported = inproc.ErrNotExported
	// ErrType: a value does not fit the type of a parameter, result, table or global, or
	// there are too many or too few.
	ErrType = inproc.ErrType
	// ErrBounds: an index outside of a table.
	ErrBounds = inproc.ErrBounds
	// ErrV128: vectors cannot cross between Go and compiled code.
	ErrV128 = inproc.ErrV128
	// ErrNoSpace, inside a *SystemError: memory or address space is used up.
	ErrNoSpace = inproc.ErrNoSpace
	// ErrCancelled: a context ended a call. The error is a *CancelError.
	ErrCancelled = inproc.ErrCancelled
)

// LinkError is an import that could not be satisfied.
type LinkError = inproc.LinkError

// LimitError is a request above a limit of the store or of the process.
type LimitError = inproc.LimitError

// ReferenceError is a word that was given for a reference, to CallRaw or by a RawFunc, and is none of the
// store: it is of another store, not valid any more, or just a number. It matches ErrType.
type ReferenceError = inproc.ReferenceError

// CPUError says that this processor lacks what the code was compiled for.
type CPUError = inproc.CPUError

// SystemError is a failed request to the operating system.
type SystemError = inproc.SystemError

// CancelError says that a context ended a call. It matches ErrCancelled and unwraps to the
// cause of the context, such as context.DeadlineExceeded.
type CancelError = inproc.CancelError

// Frame is one activation of a compiled function in a backtrace.
type Frame = inproc.Frame

// ObjectError says that what was given to Load is no object of this compiler and version,
// or is damaged.
type ObjectError struct{ Err error }

func (e *ObjectError) Error() string { return "waot: cannot load object: " + e.Err.Error() }

// Unwrap gives the reason.
func (e *ObjectError) Unwrap() error { return e.Err }

// SignatureError says why an object is not taken for one that a key has signed, or what is wrong with a key.
type SignatureError = sign.Error

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
	TrapNullReference        = TrapCode(abi.TrapNullReference)
)

// String is the specification's wording, such as "out of bounds memory access".
func (c TrapCode) String() string { return abi.TrapCode(c).Message() }

// Trap is a trap: the specified failure of a WebAssembly program. The instance stays
// as the code left it, and can be called again.
type Trap struct {
	Code TrapCode
	// Backtrace is the innermost frames, up to 64, across nested calls through Go functions.
	// A stack overflow found on entry from Go has those of the calls around it in the store.
	Backtrace []Frame

	trap *inproc.Trap
}

func (t *Trap) Error() string { return t.trap.Error() }

// Unwrap gives the *inproc.Trap.
func (t *Trap) Unwrap() error { return t.trap }

// failure makes of an error of package inproc one of this package. It leaves errors of
// host functions as they are: those of calls they made have been here already.
func failure(err error) error {
	if t, ok := err.(*inproc.Trap); ok {
		return &Trap{Code: TrapCode(t.Code), Backtrace: t.Backtrace, trap: t}
	}
	return err
}

// detail adds to a simple error what it was about.
func detail(err Error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...))
}

// loadError makes of an error of reading an object an *ObjectError.
func loadError(err error) error {
	var cpu *CPUError
	var system *SystemError
	if errors.Is(err, ErrUnsupported) || errors.As(err, &cpu) || errors.As(err, &system) {
		return err
	}
	return &ObjectError{err}
}

// Preemption reports whether compiled code is preempted like Go code, at no cost; nil if so.
// If not (GODEBUG=asyncpreemptoff=1, or a processor with unusually large state), a garbage
// collection waits until it returns or calls a host function.
func Preemption() error { return inproc.Preemption() }
