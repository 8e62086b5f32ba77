package gcpace

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// percent returns the present setting.
func percent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// TestSet: the pace is the later one from the first collection on.
func TestSet(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // none comes by itself
	Set()
	if p, want := percent(), beginning(runtime.GOMAXPROCS(0)); p != want {
		t.Errorf("%d %% at first, want %d", p, want)
	}
	if beginning(1) != 1000 || beginning(2) != 1200 || beginning(64) != 1600 {
		t.Error("the first collection comes when the heap has 40 MiB, and at most 24 more")
	}
	for end := time.Now().Add(time.Minute); percent() != later; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("%d %% behind a collection, want %d", percent(), later)
		}
	}
}

// TestWithin: the limit is the collector's.
func TestWithin(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for bytes, want := range map[uint64]int64{1 << 30: 1 << 30, math.MaxUint64: math.MaxInt64} {
		if Within(bytes); debug.SetMemoryLimit(-1) != want {
			t.Errorf("%d bytes, want %d", debug.SetMemoryLimit(-1), want)
		}
	}
}
