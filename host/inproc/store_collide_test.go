//go:build linux && (amd64 || arm64)

package inproc

import (
	"runtime"
	"sync"
	"testing"
)

// Goroutines that enter a store as fast as they can, and others that close it, which is undone
// here: each of both keeps out all the rest.
func TestCollide(t *testing.T) {
	const each = 200_000
	s := Store{ownership: newOwnership()}
	var busy, closed, inside int // changed by those inside only
	ways := [...]struct {
		in  func() error
		out func()
	}{
		{s.Enter, s.Leave},
		{s.close, func() { storeRelease(&s.owner, ownerNone) }},
		{s.Enter, s.Leave},
	}
	var wg sync.WaitGroup
	for g, way := range ways {
		wg.Go(func() {
			for range each {
				b, c := 0, 0
				err := way.in()
				for ; err != nil; err = way.in() {
					switch err {
					case ErrBusy:
						b++
					case ErrClosed:
						c++
					default:
						t.Error(err)
						return
					}
					if (b+c)%64 == 0 {
						runtime.Gosched()
					}
				}
				inside++
				busy, closed = busy+b, closed+c
				if s.Closed() != (g == 1) {
					t.Error("closed inside, or not closed")
				}
				way.out()
			}
		})
	}
	wg.Wait()
	if inside != len(ways)*each {
		t.Errorf("%d times inside, %d seen", len(ways)*each, inside)
	}
	t.Log("refused as busy", busy, "as closed", closed)
}
