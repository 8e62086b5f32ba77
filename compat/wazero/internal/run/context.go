package run

import (
	"context"
	"sync"
	"time"
)

// A call in a store ends with its context. That is not so for calls of a runtime without CloseOnContextDone, and in one with it they also end with their
// instance: so contexts are wrapped for the store, and Go functions get them as the program gave them.

// endless is a context that does not end.
type endless struct{ context.Context }

func (*endless) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*endless) Done() <-chan struct{}       { return nil }
func (*endless) Err() error                  { return nil }

// ending is a context that ends with that of the program, or with an instance.
type ending struct {
	context.Context
	done chan struct{}
	mu   sync.Mutex
	err  error
	stop func() bool
}

// newEnding returns a context that ends with ctx, after which ended is called, or by end; release must follow.
func newEnding(ctx context.Context, ended func()) *ending {
	e := &ending{Context: ctx, done: make(chan struct{})}
	if ctx.Done() != nil {
		e.stop = context.AfterFunc(ctx, func() {
			e.end(ctx.Err())
			ended()
		})
	}
	return e
}

// end ends the context.
func (e *ending) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(e.done)
	}
}

func (e *ending) release() {
	if e.stop != nil {
		e.stop()
	}
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// listened is the context of a call in a group with listeners, which says what they have been told of it.
type listened struct {
	context.Context
	told *told
}

// given is the context that the program gave.
func given(ctx context.Context) context.Context {
	switch c := ctx.(type) {
	case *listened:
		return given(c.Context)
	case *endless:
		return c.Context
	case *ending:
		return c.Context
	}
	return ctx
}
