package inproc

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Error is a simple failure that carries nothing; the values below can be
// compared with errors.Is.
type Error string

func (e Error) Error() string { return string(e) }

// The simple errors.
const (
	// ErrUnsupported: this machine or operating system cannot run compiled code.
	ErrUnsupported = Error("waot: running compiled code is supported on linux/amd64 and linux/arm64 only")
	// ErrBusy: a goroutine is inside the store: another one, or, for Close, this one.
	ErrBusy = Error("waot: a goroutine is inside the store")
	// ErrClosed: the store, module or instance has been closed.
	ErrClosed = Error("waot: closed")
	// ErrNotExported: the instance has no such export of that kind.
	ErrNotExported = Error("waot: no such export")
	// ErrType: arguments or results do not fit the type of the function, or a
	// reference the type of the table or global.
	ErrType = Error("waot: type mismatch")
	// ErrNoSpace, inside a SystemError: memory, the code arena or the native stacks are
	// used up.
	ErrNoSpace = Error("no space left")
	// ErrBounds: an index outside of a table.
	ErrBounds = Error("waot: index out of bounds")
	// ErrCancelled: a context ended a call. errors.Is finds it, and the context's cause, in a
	// *CancelError.
	ErrCancelled = Error("waot: cancelled")
	// ErrPreemptionOff and ErrStateSize are why native code is not preempted: GODEBUG has
	// asyncpreemptoff=1; the processor's state is larger than this package can save.
	ErrPreemptionOff = Error("waot: asyncpreemptoff=1 switches preemption off")
	ErrStateSize     = Error("waot: the processor's extended state is larger than the save area")
	// ErrV128: the type has v128, which cannot cross between host and native code.
	ErrV128 = Error("waot: v128 parameters and results of host calls are not supported")
)

// ImageError is a malformed image: damage, or a bug in what produced it.
type ImageError struct{ Reason string }

func (e *ImageError) Error() string { return "waot: malformed image: " + e.Reason }

// CPUError says that this processor lacks what the code was compiled for.
type CPUError struct {
	Want string // the floor in the metadata, such as "x86-64-v3"
	Have string // the highest level this processor has
}

func (e *CPUError) Error() string {
	return fmt.Sprintf("waot: code compiled for %q, this processor has %s", e.Want, e.Have)
}

// LinkError is an import that could not be satisfied.
type LinkError struct {
	Module, Name string
	// Reason is in the words of the specification's test suite: "unknown import" or
	// "incompatible import type".
	Reason string
	Detail string
}

func (e *LinkError) Error() string {
	s := fmt.Sprintf("%s: %q %q", e.Reason, e.Module, e.Name)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// ReferenceError is a word in place of a reference that is none of this store: it never was, or
// is not any more. It matches ErrType.
type ReferenceError struct {
	// What is where it was, "argument" or "result", and Index which one of them.
	What  string
	Index int
	Type  string // "funcref" or "externref"
	Word  uint64
}

func (e *ReferenceError) Error() string {
	return fmt.Sprintf("waot: %s %d: %#x is no valid %s of this store", e.What, e.Index, e.Word, e.Type)
}

// Is reports whether target is ErrType.
func (e *ReferenceError) Is(target error) bool { return target == ErrType }

// LimitError is a request above a limit of the store or of the process.
type LimitError struct {
	// What is "memory pages" or "table elements" (of one); of a store in all "pages of memories",
	// "bytes of tables", "memories", "tables", "globals" or "instances"; "stack bytes" or "host
	// stack bytes"; "stores" or "memory mappings of the process".
	What        string
	Want, Limit uint64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("waot: %d %s wanted, limit %d", e.Want, e.What, e.Limit)
}

// SystemError is a failed request to the operating system.
type SystemError struct {
	Op  string
	Err error
}

func (e *SystemError) Error() string { return "waot: " + e.Op + ": " + e.Err.Error() }

// Unwrap gives the error number.
func (e *SystemError) Unwrap() error { return e.Err }

// CancelError says that a context ended a call.
type CancelError struct {
	// Cause is that of the context: context.Canceled, context.DeadlineExceeded, or what
	// the program gave.
	Cause error
	// Err is the context's error: context.Canceled or context.DeadlineExceeded.
	Err error
	// Backtrace is the innermost frames of compiled code, up to 64, if any ran.
	Backtrace []Frame
}

func (e *CancelError) Error() string { return "waot: cancelled: " + e.Cause.Error() }

// Is reports whether target is ErrCancelled.
func (e *CancelError) Is(target error) bool { return target == ErrCancelled }

// Unwrap gives the cause and the context's error.
func (e *CancelError) Unwrap() []error { return []error{e.Cause, e.Err} }

// Frame is one activation of a compiled function.
type Frame struct {
	Module string // name of the module; may be empty
	Func   uint32 // index of the function in its module
	Name   string // may be empty
	// Offset is where in the Wasm module the trap or the call is; 0 if unknown (as
	// for the function that overflowed the stack).
	Offset uint32
}

// maxBacktrace bounds the frames a trap records.
const maxBacktrace = 64

// Trap is a trap: the specified failure of a Wasm program. Use errors.As.
type Trap struct {
	Code abi.TrapCode
	// Func, Name and Offset are those of the first frame.
	Func   uint32
	Name   string
	Offset uint32
	// Backtrace is the innermost frames, up to 64, across nested calls through the host.
	// A stack overflow found on entry from the host has those of the calls around it in the store.
	Backtrace []Frame
}

func (t *Trap) Error() string {
	var b strings.Builder
	b.WriteString("wasm trap: ")
	b.WriteString(t.Code.Message())
	if len(t.Backtrace) > 0 {
		name := meta.Printable(t.Name)
		if name == "" {
			name = fmt.Sprintf("function %d", t.Func)
		}
		fmt.Fprintf(&b, " in %s", name)
		if t.Offset != 0 {
			fmt.Fprintf(&b, " at offset %#x", t.Offset)
		}
	}
	return b.String()
}
