package cputime

import (
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
