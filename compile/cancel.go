package compile

import (
	"context"
	"errors"

	"github.com/waot-project/waot/internal/stop"
)

// CancelError says that Options.Context ended a compilation.
type CancelError struct {
	// Cause is that of the context; Err is the context's error, context.Canceled or context.DeadlineExceeded.
	Cause, Err error
}

func (e *CancelError) Error() string { return "compilation cancelled: " + e.Cause.Error() }

// Unwrap returns the cause and the context's error.
func (e *CancelError) Unwrap() []error { return []error{e.Cause, e.Err} }

// cancellable runs work with a flag for it to poll, which is set when ctx ends: see stop.Until. If that ends work, the error is a *CancelError.
func cancellable(ctx context.Context, work func(*stop.Flag) error) error {
	err := stop.Until(ctx, work)
	if errors.Is(err, stop.Stopped{}) && ctx != nil && ctx.Err() != nil { // or a flag of the options has ended it
		return &CancelError{Cause: context.Cause(ctx), Err: ctx.Err()}
	}
	return err
}
