package inproc

import (
	"fmt"

	"github.com/waot-project/waot/host/hosterr"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/quote"
)

// The errors that users of package host see are defined in package hosterr.
type (
	Error          = hosterr.Error
	CPUError       = hosterr.CPUError
	LinkError      = hosterr.LinkError
	ReferenceError = hosterr.ReferenceError
	LimitError     = hosterr.LimitError
	SystemError    = hosterr.SystemError
	CancelError    = hosterr.CancelError
	Frame          = hosterr.Frame
)

// Those without details.
const (
	ErrUnsupported = hosterr.ErrUnsupported
	ErrBusy        = hosterr.ErrBusy
	ErrClosed      = hosterr.ErrClosed
	ErrNotExported = hosterr.ErrNotExported
	ErrType        = hosterr.ErrType
	ErrNoSpace     = hosterr.ErrNoSpace
	ErrBounds      = hosterr.ErrBounds
	ErrCancelled   = hosterr.ErrCancelled
	ErrRestore     = hosterr.ErrRestore
	ErrGuardPages  = hosterr.ErrGuardPages
	ErrFuel        = hosterr.ErrFuel
	// ErrPreemptionOff and ErrStateSize say why native code is not preempted: GODEBUG has
	// asyncpreemptoff=1, or the processor's state is larger than this package can save.
	ErrPreemptionOff = Error("waot: asyncpreemptoff=1 switches preemption off")
	ErrStateSize     = Error("waot: the processor's extended state is larger than the save area")
)

// ImageError is a malformed image: damage, or a bug in what produced it.
type ImageError = image.Error

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
	// Inner is how many of the first frames are of the innermost call.
	Inner int
}

func (t *Trap) Error() string {
	text := "wasm trap: " + t.Code.Message()
	if len(t.Backtrace) > 0 {
		text += within(&Frame{Func: t.Func, Name: t.Name, Offset: t.Offset})
	}
	return text
}

// within says where in a module something happened, behind what it was.
func within(f *Frame) string {
	name := quote.Name(f.Name)
	if name == "" {
		name = fmt.Sprintf("function %d", f.Func)
	}
	if f.Offset == 0 {
		return " in " + name
	}
	return fmt.Sprintf(" in %s at offset %#x", name, f.Offset)
}
