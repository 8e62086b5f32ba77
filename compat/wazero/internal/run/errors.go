package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/host"
)

// RuntimeError is a trap, in the words that programs of this API look for.
type RuntimeError struct{ text string }

// Error implements error.
func (e *RuntimeError) Error() string { return e.text }

// The traps.
var (
	errTableAccess  = &RuntimeError{"invalid table access"}
	errTypeMismatch = &RuntimeError{"indirect call type mismatch"}
	errStack        = &RuntimeError{"stack overflow"}
	errUncaught     = &RuntimeError{"uncaught exception"}
	traps           = map[host.TrapCode]*RuntimeError{
		host.TrapUnreachable:          {"unreachable"},
		host.TrapMemoryOutOfBounds:    {"out of bounds memory access"},
		host.TrapTableOutOfBounds:     errTableAccess,
		host.TrapUndefinedElement:     errTableAccess,
		host.TrapUninitializedElement: errTableAccess,
		host.TrapBadSignature:         errTypeMismatch,
		host.TrapIntegerOverflow:      {"integer overflow"},
		host.TrapIntegerDivideByZero:  {"integer divide by zero"},
		host.TrapBadConversion:        {"invalid conversion to integer"},
		host.TrapStackOverflow:        errStack,
		host.TrapNullReference:        {"null reference"},
		// These are not in wazero.
		host.TrapNullStructure:    {host.TrapNullStructure.String()},
		host.TrapNullArray:        {host.TrapNullArray.String()},
		host.TrapNullI31:          {host.TrapNullI31.String()},
		host.TrapArrayOutOfBounds: {host.TrapArrayOutOfBounds.String()},
		host.TrapCastFailure:      {host.TrapCastFailure.String()},
		host.TrapHeapExhausted:    {host.TrapHeapExhausted.String()},
	}
)

// maxFrames is the number of frames in a text.
const maxFrames = 30

// stackText is the part of an error's text with the frames; first, if not nil, is in front of those of compiled code.
func (g *group) stackText(first *FuncDef, list []host.Frame) string {
	var lines []string
	if first != nil {
		lines = append(lines, first.signature())
	}
	list = g.visible(list)
	for i := range list {
		if len(lines) == maxFrames {
			break
		}
		lines = append(lines, g.definitionOf(&list[i]).signature())
	}
	if len(lines) == maxFrames {
		lines = append(lines, "... maybe followed by omitted frames")
	}
	return "wasm stack trace:\n\t" + strings.Join(lines, "\n\t")
}

// hostError is the error that a panic of a Go function became. It passes through compiled code as it is.
type hostError struct {
	text  string
	cause error // nil if the panic's value was no error
}

func (e *hostError) Error() string { return e.text }
func (e *hostError) Unwrap() error { return e.cause }

// toldError is an error of a Go function that its listener has been told of.
type toldError struct{ err error }

// recovered is the error that a panic of the function becomes; c is nil if Go code called it. Without a panic, its goroutine ends, and nobody sees an error.
func (h *HostFunc) recovered(m *Instance, c *host.Caller, r any) error {
	switch e := r.(type) {
	case nil:
		if c != nil {
			go m.grp.afterwards()
		}
		return nil
	case *sys.ExitError:
		return e
	case *restoring:
		return e.err
	case *toldError:
		return e.err
	}
	var list []host.Frame
	if c != nil {
		list = c.Frames()
	}
	stack := m.grp.stackText(h.def, list)
	err, _ := r.(error)
	switch e := r.(type) {
	case *RuntimeError:
		return &hostError{fmt.Sprintf("wasm error: %v\n%s", e, stack), err}
	case runtime.Error:
		return &hostError{fmt.Sprintf("%v (recovered by wazero)\n%s\n\nGo runtime stack trace:\n%s", r, stack, debug.Stack()), err}
	}
	return &hostError{fmt.Sprintf("%v (recovered by wazero)\n%s", r, stack), err}
}

// callError converts an error of a call in the store.
func (m *Instance) callError(err error) error {
	var cancel *host.CancelError
	switch e := err.(type) {
	case *host.Trap:
		t := traps[e.Code]
		if t == errStack {
			return t // without the stack
		}
		return &hostError{fmt.Sprintf("wasm error: %v\n%s", t, m.grp.stackText(nil, e.Backtrace[:e.Inner])), t}
	case *host.Exception:
		// What left it is over: Go functions that get the error cannot throw it again.
		return &hostError{fmt.Sprintf("wasm error: %v\n%s", errUncaught, m.grp.stackText(nil, e.Backtrace()[:e.InnerFrames()])), errUncaught}
	case *sys.ExitError:
		return e
	}
	if errors.As(err, &cancel) {
		if exit := m.exitError(); exit != nil {
			return exit
		}
		return sys.NewExitError(exitCode(cancel.Err))
	}
	if errors.Is(err, host.ErrClosed) {
		if exit := m.exitError(); exit != nil {
			return exit
		}
	}
	return err
}

// exitCode is the code of an instance that the end of a context closes.
func exitCode(err error) uint32 {
	if errors.Is(err, context.DeadlineExceeded) {
		return sys.ExitCodeDeadlineExceeded
	}
	return sys.ExitCodeContextCanceled
}

// asExit is an error that is a *sys.ExitError.
func asExit(err error) (*sys.ExitError, bool) {
	exit, ok := err.(*sys.ExitError)
	return exit, ok
}
