package cputime

import (
	"context"
	"testing"
	"time"
)

// TestLeast counts calls: as many as asked for, and more only while the least time is too much.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		times  int
		enough time.Duration
		calls  int
	}{{1, time.Hour, 1}, {3, time.Hour, 3}, {0, time.Hour, 1}, {1, -1, Tries}, {20, -1, 20}} {
		calls := 0
		if took := Least(c.times, c.enough, func() { calls++ }); calls != c.calls || took < 0 {
			t.Errorf("at least %d times, enough %v: %d calls, %v", c.times, c.enough, calls, took)
		}
	}
}

// TestLeastShort: what is shorter than a tick of the clock is not found to take nothing, and what takes too much is measured again.
func TestLeastShort(t *testing.T) {
	x, calls := uint64(1), 0
	work := func() {
		for range 100000 {
			x = x*x + 1
		}
		calls++
	}
	if took := LeastShort(time.Hour, work); took <= 0 || took > long || x == 0 {
		t.Errorf("%v", took)
	}
	once := calls
	if LeastShort(-1, work); calls < 3*once {
		t.Errorf("%d calls in one measurement, %d in %d", once, calls-once, Tries)
	}
}

// TestUsed works until the time used has grown.
func TestUsed(t *testing.T) {
	before, x := Used(), uint64(1)
	for n := 0; n < 1e9 && Used() == before; n++ {
		x *= 3
	}
	if Used() <= before || x == 0 {
		t.Error("no time is used")
	}
}

// TestWithTimeout: a context ends of processor time, not of the clock, or when it is cancelled.
func TestWithTimeout(t *testing.T) {
	const most = 20 * time.Millisecond
	ctx, cancel := WithTimeout(context.Background(), most)
	defer cancel()
	start, x := Used(), uint64(1)
	for ctx.Err() == nil {
		x *= 3
	}
	if used := Used() - start; used < most || x == 0 || context.Cause(ctx) != context.DeadlineExceeded {
		t.Errorf("ended after %v: %v", used, context.Cause(ctx))
	}
	ctx, cancel = WithTimeout(context.Background(), time.Hour)
	cancel()
	if <-ctx.Done(); context.Cause(ctx) != context.Canceled {
		t.Error(context.Cause(ctx))
	}
}
