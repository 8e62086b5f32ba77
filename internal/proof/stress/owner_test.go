//go:build linux && (amd64 || arm64)

package stress

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/stress/guest"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestOwnership has goroutines contend for stores by the shortest calls there are. No two may be inside
// at one time, and when all have left, the store must be free.
func TestOwnership(t *testing.T) {
	newTestWorld(t, 1) // or skip
	end := time.Now().Add(testenv.Cases(500*time.Millisecond, 500*time.Millisecond, 2*time.Second))
	stores, busy, calls := 0, int64(0), int64(0)
	for ; time.Now().Before(end); stores++ {
		b, c, err := contend(2+stores%2, stores%3 == 0)
		busy, calls = busy+b, calls+c
		if err != nil {
			t.Fatalf("store %d: %v", stores, err)
		}
	}
	t.Logf("%d stores, %d calls, %d refused", stores, calls, busy)
	if calls == 0 {
		t.Error("no calls")
	}
}

// contend runs goroutines that call functions of a new store, through the host or not.
func contend(goroutines int, host bool) (busy, calls int64, err error) {
	w, err := newWorld(inproc.Config{}, 1)
	if err != nil {
		return 0, 0, err
	}
	f, err := w.insts[0].Func("count")
	if err != nil {
		return 0, 0, err
	}
	g, err := w.insts[0].Func("callhook")
	if err != nil {
		return 0, 0, err
	}
	var inside, refused, done atomic.Int64
	w.hook = func(c *inproc.Caller, arg uint64) (uint64, error) {
		if inside.Add(1) != 1 {
			return 0, errors.New("two goroutines are inside")
		}
		defer inside.Add(-1)
		if arg%8 == 0 {
			runtime.Gosched()
		}
		return arg, nil
	}
	var wg sync.WaitGroup
	failed := make(chan error, goroutines)
	counted := uint64(0) // by calls of count, each of which returns the next number
	for n := range goroutines {
		wg.Go(func() {
			for i := range uint64(300) {
				var r [1]uint64
				var err error
				if host && i%4 == 0 {
					err = g.CallContext(nil, []uint64{i}, r[:])
				} else if err = f.CallContext(nil, nil, r[:]); err == nil {
					atomic.AddUint64(&counted, 1)
				}
				switch {
				case err == nil:
					done.Add(1)
				case errors.Is(err, inproc.ErrBusy):
					refused.Add(1)
					if n%2 == 0 {
						runtime.Gosched()
					}
				default:
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return 0, 0, err
	default:
	}
	var r [1]uint64
	if err := f.CallContext(nil, nil, r[:]); err != nil {
		return 0, 0, fmt.Errorf("after all have left: %w", err)
	}
	if r[0] != counted+1 {
		return 0, 0, fmt.Errorf("%d calls have counted to %d", counted, r[0]-1)
	}
	if err := w.expect(nil, 0, "fib", guest.Fib(10), 10); err != nil {
		return 0, 0, err
	}
	return refused.Load(), done.Load(), w.store.Close()
}
