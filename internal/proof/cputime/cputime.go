// Package cputime measures processor time, for tests that bound it.
//
// Place in the pipeline: none; for tests.
//
// Input: functions, contexts.
// Output: durations, contexts that end. On a busy machine they are a better measure than the clock, though not an exact one: caches are shared,
// garbage collections happen at any time, and Linux learns what a running thread has used when its clock ticks, so that a measurement may miss
// some milliseconds, or have them too many. What is taken for the measure of something else must be long beside that.
package cputime

import (
	"context"
	"time"
)

// Tries is how often Least and LeastShort measure a function that seems too slow.
const Tries = 8

// long is how much time a measurement of LeastShort takes at least, some ticks of Linux's clock.
const long = 40 * time.Millisecond

// Least returns the least processor time that a call of f takes in the process's own code: the kernel's part is first touches of pages above all, which have taken 16
// microseconds on a virtual machine, so that it would hide how the rest grows. It calls f that many times, and again, up to Tries times, while the least is
// above enough, so that a test fails only of what is always slow.
func Least(times int, enough time.Duration, f func()) time.Duration {
	return least(times, enough, func() time.Duration {
		start := usedOwn()
		f()
		return usedOwn() - start
	})
}

// LeastShort is Least for a function that takes less than long, or may: Linux divides a process's time into its own and the kernel's by what it finds when its clock
// ticks, every 4 or 10 ms, so that all that one call has done may count as the kernel's. Each measurement is of as many calls as fill long, so f must work and not wait.
func LeastShort(enough time.Duration, f func()) time.Duration {
	return least(1, enough, func() time.Duration {
		calls, start, startOwn := 0, Used(), usedOwn()
		for calls == 0 || Used()-start < long {
			f()
			calls++
		}
		return (usedOwn() - startOwn) / time.Duration(calls)
	})
}

func least(times int, enough time.Duration, measure func() time.Duration) (least time.Duration) {
	for n := range max(times, Tries) {
		if n >= max(times, 1) && least <= enough {
			break
		}
		if took := measure(); n == 0 || took < least {
			least = took
		}
	}
	return least
}

// WithTimeout returns a context that ends when the process has used d more processor time, or by the returned function, which must be called.
// It is for code that works all the time: what waits uses none.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	end := Used() + d
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for Used() < end {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(context.Canceled) }
}
