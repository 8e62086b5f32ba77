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

// cancellable runs work with a flag for it to poll, which is set when ctx ends; nil stands for a context that
// never does. If that ends work, the error is a *CancelError. Nothing of it runs any more when cancellable
// returns, if work has seen to that for its own part.
func cancellable(ctx context.Context, work func(*stop.Flag) error) error {
	if ctx == nil || ctx.Done() == nil {
		return work(nil)
	}
	flag := new(stop.Flag)
	set := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		flag.Set()
		close(set)
	})
	if ctx.Err() != nil {
		flag.Set() // the function may not run before work does
	}
	err := recovering(flag, work)
	if !release() {
		<-set
	}
	if errors.Is(err, stop.Stopped{}) {
		return &CancelError{Cause: context.Cause(ctx), Err: ctx.Err()}
	}
	return err
}

func recovering(flag *stop.Flag, work func(*stop.Flag) error) (err error) {
	defer stop.Recover(&err)
	return work(flag)
}
