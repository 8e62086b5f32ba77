package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// timeoutFlag bounds a time, which zero does not.
func timeoutFlag(usage string) cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Usage: usage, Action: func(_ *cli.Context, d time.Duration) error {
		if d < 0 {
			return usagef("--timeout=%v: must not be negative", d)
		}
		return nil
	}}
}

// runContext returns the context that --timeout ends, and makes it that of the command: what reads and prints ends with it, too.
func runContext(c *cli.Context) (context.Context, context.CancelFunc) {
	d := c.Duration("timeout")
	if d <= 0 {
		return c.Context, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(c.Context, d, timedOut(d))
	c.Context = ctx
	if o, ok := c.App.Writer.(*output); ok {
		o.ctx = ctx
	}
	return ctx, cancel
}

// timedOut is the cause of a context that --timeout has ended.
type timedOut time.Duration

func (d timedOut) Error() string { return "timed out after " + time.Duration(d).String() }

// lateError says what a context has ended.
type lateError struct {
	what  string // was going on, such as "reading"
	cause error
}

func (e lateError) Error() string { return e.what + " cancelled: " + e.cause.Error() }
func (e lateError) Unwrap() error { return e.cause }

// until does what polls a flag, up to the end of ctx.
func until(ctx context.Context, what string, do func(*stop.Flag) error) error {
	err := stop.Until(ctx, do)
	if errors.Is(err, stop.Stopped{}) {
		return lateError{what, context.Cause(ctx)}
	}
	return err
}

// within does what has no effects but its result, up to the end of ctx, at which it is left to itself: waot ends soon.
func within[T any](ctx context.Context, what string, do func() (T, error)) (T, error) {
	var result, none T
	err := input.Wait(ctx, func() (err error) {
		result, err = do()
		return err
	})
	switch {
	case err == nil:
		return result, nil
	case ctx != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return none, lateError{what, err} // what is left to itself may still set result
	}
	return none, err
}

// validated validates a module, up to the end of ctx. The module is there with an error of package wasmfront, too.
func validated(ctx context.Context, b []byte, features wasmfront.Features) (m *wasmfront.Module, err error) {
	err = until(ctx, "validating", func(end *stop.Flag) (err error) {
		m, err = validate.All(b, validate.Config{Features: features, Stop: end})
		return err
	})
	return m, err
}

// timedWriter writes up to the end of ctx.
type timedWriter struct {
	ctx context.Context
	to  io.Writer
	// waits says that a write may wait for others for any time, as that to a pipe does. Then it is left to itself when ctx ends.
	waits bool
}

func (w *timedWriter) Write(b []byte) (n int, err error) {
	const part = 1 << 20 // bytes between two looks at ctx
	for {
		p := b[n:min(len(b), n+part)]
		switch {
		case w.ctx == nil || w.ctx.Done() == nil:
			return w.to.Write(b)
		case w.ctx.Err() != nil:
			return n, lateError{"writing", context.Cause(w.ctx)}
		case w.waits:
			p = append([]byte(nil), p...) // the caller may use its own again
			_, err = within(w.ctx, "writing", func() (int, error) { return w.to.Write(p) })
		default:
			_, err = w.to.Write(p)
		}
		if n += len(p); err != nil || n == len(b) {
			return n, err
		}
	}
}

// writeOutput writes a file as objfile.WriteAtomic does, up to the end of ctx.
func writeOutput(ctx context.Context, name string, mode fs.FileMode, write func(io.Writer) error) error {
	if st, err := os.Stat(name); err != nil || st.Mode().IsRegular() {
		return objfile.WriteAtomic(name, mode, func(w io.Writer) error { return write(&timedWriter{ctx: ctx, to: w}) })
	}
	_, err := within(ctx, "writing", func() (struct{}, error) {
		return struct{}{}, objfile.WriteAtomic(name, mode, write)
	})
	return err
}
