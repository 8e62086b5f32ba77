package difftest

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
)

// gcFigures are what random modules with garbage collection do.
type gcFigures struct {
	modules, calls, traps int
	trapping              int // modules
	counts                []uint64
	names                 []string
}

func (f *gcFigures) add(p *randprog.Program, o *randprog.Outcome) {
	f.modules++
	f.calls += len(o.Calls)
	traps := 0
	for i := range o.Calls {
		if o.Calls[i].Trapped() {
			traps++
		}
	}
	f.traps += traps
	if traps > 0 {
		f.trapping++
	}
	if f.names == nil {
		f.names, f.counts = p.Counters, make([]uint64, len(p.Counters))
	}
	for i, n := range o.Counts {
		f.counts[i] += n
	}
}

func (f *gcFigures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d modules, %d calls, of which %d trap, in %d modules", f.modules, f.calls, f.traps, f.trapping)
	if len(f.counts) > 1 {
		fmt.Fprintf(&b, "; %.1f %% of the functions entered come to their end", 100*float64(f.counts[1])/float64(f.counts[0]))
	}
	for i, n := range f.counts {
		fmt.Fprintf(&b, "\n%12d %s", n, f.names[i])
	}
	return b.String()
}

// TestRandomGC compares the CLIF interpreter before and after the mid-end on random modules with garbage collection.
func TestRandomGC(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](20, 40, 400))
	list := []spectest.Engine{&interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) }}}
	start := time.Now()
	var next atomic.Uint64
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	var mu sync.Mutex
	figures := &gcFigures{}
	var places int
	var slow time.Duration
	for range 2 {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || t.Failed() {
					return
				}
				p := randprog.GenerateGC(seed, seed%2 == 1, false)
				began := time.Now()
				plain := randprog.Run(&interpengine.Engine{Options: interp.Options{MaxSteps: 20_000_000}}, p)
				took := time.Since(began)
				if plain.TooLong() {
					t.Logf("seed %d: too long after %v", seed, took)
					continue
				}
				if plain.Failed != "" {
					t.Errorf("seed %d: %s", seed, plain.Failed)
					save(t, seed, p)
				}
				for _, e := range list {
					got := randprog.Run(e, p)
					if d := got.Diff(plain); d != "" {
						t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
						save(t, seed, p)
					}
					mu.Lock()
					places += got.Places(plain)
					mu.Unlock()
				}
				q := randprog.GenerateGC(seed, seed%2 == 1, true)
				counted := randprog.Run(&interpengine.Engine{}, q)
				if d := counted.WithoutPlaces().Diff(plain); d != "" {
					t.Errorf("seed %d, counting: %s", seed, d)
				}
				mu.Lock()
				figures.add(q, counted)
				if took > slow {
					slow = took
					t.Logf("seed %d: %v", seed, took)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%v; %d places of traps, %v", figures, places, time.Since(start))
}
