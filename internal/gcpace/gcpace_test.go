package gcpace

import (
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
	if p, want := percent(), first+perProcessor*(runtime.GOMAXPROCS(0)-1); p != want {
		t.Errorf("%d %% at first, want %d", p, want)
	}
	for end := time.Now().Add(time.Minute); percent() != later; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("%d %% behind a collection, want %d", percent(), later)
		}
	}
}
