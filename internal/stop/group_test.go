package stop

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestGroup: what a part panics with comes out of Wait, when all parts have ended.
func TestGroup(t *testing.T) {
	for _, value := range []any{Stopped{}, errors.New("a bug")} {
		var ended atomic.Int32
		func() {
			defer func() {
				if r := recover(); r != value || ended.Load() != 2 {
					t.Errorf("panic %v with %d parts at their ends, want %v", r, ended.Load(), value)
				}
			}()
			var g Group
			defer g.Wait()
			for k := range 3 {
				g.Go(func() {
					if k == 1 {
						panic(value)
					}
					ended.Add(1)
				})
			}
			g.Wait()
			t.Error("no panic")
		}()
	}
	var g Group
	g.Go(func() {})
	g.Wait()
}
