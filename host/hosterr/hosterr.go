// Package hosterr defines the errors of package host, and the frames of their backtraces. Packages host and waot
// have all of it under the same names. It is a separate package so that the packages below host can return
// the same errors.
//
// Place in the pipeline: below package host and the packages that it is made of. It imports nothing of this module.
//
// Input: none; types and constants only.
// Output: errors for errors.Is and errors.As.
//
// # Stability
//
// This package is part of the stable API, which package waot describes.
package hosterr

import "fmt"

// Error is an error without details: one of the constants below. Compare with errors.Is, since many errors wrap a
// constant and add what it was about.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// The errors without details.
const (
	// ErrUnsupported means that this machine or operating system cannot run compiled code.
	ErrUnsupported = Error("waot: running compiled code is supported on linux/amd64 and linux/arm64 only")
	// ErrBusy means that a goroutine is inside the store: another one or, for Close and Enter, the calling one.
	ErrBusy = Error("waot: a goroutine is inside the store")
	// ErrClosed means that the store, module or instance has been closed.
	ErrClosed = Error("waot: closed")
	// ErrNotExported means that the instance has no such export of that kind.
	ErrNotExported = Error("waot: no such export")
	// ErrType means that a value does not fit the type of a parameter, result, table, global or field, or that there are too
	// many values or too few.
	ErrType = Error("waot: type mismatch")
	// ErrNoSpace, inside a *SystemError, means that memory, address space, the room for code or the native stacks are used up.
	ErrNoSpace = Error("no space left")
	// ErrBounds means that an index is outside of a table, an object or another space of indices.
	ErrBounds = Error("waot: index out of bounds")
	// ErrCancelled means that a context ended a call. The error itself is a *CancelError, which errors.Is matches with
	// ErrCancelled and with the cause of the context.
	ErrCancelled = Error("waot: cancelled")
	// ErrRestore means that a Go function has restored a snapshot. Go functions between it and the call of the snapshot get ErrRestore from their calls, and
	// return it in turn. Any other caller that receives it has restored a snapshot whose call had returned.
	ErrRestore = Error("waot: the call of the snapshot has ended")
	// ErrGuardPages means that a store with an allocator was to make a memory for code without explicit bounds checks.
	ErrGuardPages = Error("waot: code without explicit bounds checks cannot use an allocator's memories")
	// ErrFuel means that a store was to have code that counts fuel and code that does not.
	ErrFuel = Error("waot: code that counts fuel and code that does not cannot be in one store")
)

// ObjectError means that what was given to Load is not an object of this compiler and version, or is damaged.
type ObjectError struct {
	// Err is the reason. Its type may change in any release.
	Err error
}

// Error implements error.
func (e *ObjectError) Error() string { return fmt.Sprintf("waot: cannot load object: %v", e.Err) }

// Unwrap returns the reason.
func (e *ObjectError) Unwrap() error { return e.Err }

// CPUError means that this processor lacks what the code was compiled for.
type CPUError struct {
	Want string // the level that the code needs, such as "x86-64-v3"
	Have string // the highest level that this processor has
}

// Error implements error.
func (e *CPUError) Error() string {
	return fmt.Sprintf("waot: code compiled for %q, this processor has %s", e.Want, e.Have)
}

// LinkError is an import that could not be satisfied.
type LinkError struct {
	Module, Name string // of the import
	// Reason is in the words of the specification's test suite: "unknown import" or
	// "incompatible import type".
	Reason string
	// Detail says what was wanted and what was given. It may be empty.
	Detail string
}

// Error implements error.
func (e *LinkError) Error() string {
	s := fmt.Sprintf("%s: %q %q", e.Reason, e.Module, e.Name)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// SnapshotError means that there is no snapshot of a module or instance: it has, or does, what a snapshot cannot have.
type SnapshotError struct{ Reason string }

// Error implements error.
func (e *SnapshotError) Error() string { return "no snapshot: " + e.Reason }

// ReferenceError is a word that was given for a reference, to CallRaw or by a RawFunc, and is not a reference of the
// store: it belongs to another store, is not valid any more, or is just a number. It matches ErrType.
type ReferenceError struct {
	What  string // where the word was: "argument" or "result"
	Index int    // which argument or result, from 0
	Type  string // "funcref" or "externref"
	Word  uint64
}

// Error implements error.
func (e *ReferenceError) Error() string {
	return fmt.Sprintf("waot: %s %d: %#x is no valid %s of this store", e.What, e.Index, e.Word, e.Type)
}

// Is reports whether target is ErrType.
func (e *ReferenceError) Is(target error) bool { return target == ErrType }

// LimitError is a request above a limit of the store or of the process.
type LimitError struct {
	// What is "memory pages" or "table elements" (of one memory or table); "pages of memories",
	// "bytes of tables", "memories", "tables", "globals", "instances" or "bytes of objects" (of a store in all); "stack bytes" or "host
	// stack bytes"; "bytes of strings" or "code units of a string" (package jsstring); "stores" or "memory mappings of the process".
	What string
	// Want is what would have been reached, Limit is what is allowed. Both are in the unit that What names.
	Want, Limit uint64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("waot: %d %s wanted, limit %d", e.Want, e.What, e.Limit)
}

// SystemError is a failed request to the operating system.
type SystemError struct {
	Op  string // the request, such as "mmap"
	Err error  // a syscall.Errno, another error of the system, or ErrNoSpace
}

// Error implements error.
func (e *SystemError) Error() string { return fmt.Sprintf("waot: %s: %v", e.Op, e.Err) }

// Unwrap returns Err.
func (e *SystemError) Unwrap() error { return e.Err }

// CancelError means that a context ended a call or a compilation. It matches ErrCancelled.
type CancelError struct {
	// Cause is that of the context: context.Canceled, context.DeadlineExceeded, or what
	// the program gave.
	Cause error
	// Err is the context's error: context.Canceled or context.DeadlineExceeded.
	Err error
	// Backtrace is the innermost frames of compiled code, up to 64; empty if none ran.
	Backtrace []Frame
}

// Error implements error.
func (e *CancelError) Error() string { return fmt.Sprintf("waot: cancelled: %v", e.Cause) }

// Is reports whether target is ErrCancelled.
func (e *CancelError) Is(target error) bool { return target == ErrCancelled }

// Unwrap returns the cause and the context's error.
func (e *CancelError) Unwrap() []error { return []error{e.Cause, e.Err} }

// Frame is one activation of a compiled function in a backtrace.
type Frame struct {
	Module string // name of the module; may be empty
	Func   uint32 // index of the function in its module
	Name   string // name of the function; may be empty
	// Offset is the place of the trap or call, in bytes from the start of the WebAssembly module; 0 if unknown (as
	// for the function that overflowed the stack).
	Offset uint32
}
