// Package sys has the clocks that modules can be given, the error of modules that have ended, and the status of files.
package sys

import (
	"context"
	"fmt"
)

// ClockResolution is how exact a clock is, in nanoseconds.
type ClockResolution uint32

// Walltime returns the time since 1970.
type Walltime func() (sec int64, nsec int32)

// Nanotime returns nanoseconds since any moment.
type Nanotime func() int64

// Nanosleep waits for a number of nanoseconds.
type Nanosleep func(ns int64)

// Osyield lets other threads run.
type Osyield func()

// The exit codes of instances that the end of a context has closed.
const (
	ExitCodeContextCanceled  uint32 = 0xffffffff
	ExitCodeDeadlineExceeded uint32 = 0xefffffff
)

// ExitError is the error of calls of an instance that has been closed, or has closed itself.
type ExitError struct{ code uint32 }

// exitZero is the error of all that end without a failure.
var exitZero = &ExitError{}

// NewExitError returns an error with this code.
func NewExitError(exitCode uint32) *ExitError {
	if exitCode == 0 {
		return exitZero
	}
	return &ExitError{exitCode}
}

// ExitCode returns the code: 0 if nothing failed.
func (e *ExitError) ExitCode() uint32 { return e.code }

// cause is the error of the context that has closed the instance; nil if none has.
func (e *ExitError) cause() error {
	switch e.code {
	case ExitCodeContextCanceled:
		return context.Canceled
	case ExitCodeDeadlineExceeded:
		return context.DeadlineExceeded
	}
	return nil
}

// Error implements error.
func (e *ExitError) Error() string {
	if cause := e.cause(); cause != nil {
		return "module closed with " + cause.Error()
	}
	return fmt.Sprintf("module closed with exit_code(%d)", e.code)
}

// Is is for errors.Is: an ExitError of the same code, or the error of the context that has closed the instance.
func (e *ExitError) Is(target error) bool {
	if x, ok := target.(*ExitError); ok {
		return x.code == e.code
	}
	cause := e.cause()
	return cause != nil && cause == target
}
