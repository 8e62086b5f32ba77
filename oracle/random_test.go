package oracle

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront"
)

var (
	seedFlag  = flag.Uint64("seed", 1_000_000, "first seed of the random modules")
	countFlag = flag.Uint64("modules", 600, "number of random modules")
)

// TestRandom runs random programs under wasmtime, the CLIF interpreter and compiled at each level, and compares all of them with
// wazero's interpreter: results, traps, memory, globals, calls of the host and by it; and the places of traps with those of the CLIF
// interpreter. Where another instruction does a load, wasmtime gives the other's place to the load's trap, or none.
func TestRandom(t *testing.T) {
	count := *countFlag
	if testing.Short() {
		count = min(count, 100)
	}
	engines := append([]spectest.Engine{judge(), compare.Interpreters()[1]}, compare.Natives()...)
	var next atomic.Uint64
	var failed, skipped, folded, traps, places, results, host, again atomic.Int64
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || failed.Load() >= 10 {
					return
				}
				p := randprog.Generate(seed)
				if seed%8 == 5 {
					p = randprog.GenerateTyped(seed, false)
				}
				if seed%8 == 3 {
					p = randprog.GenerateTails(seed)
				}
				if seed%8 == 3 {
					p = randprog.GenerateOwnExceptions(seed, false, false) // its Go package panics for tags of imports and exports
				}
				want, _, err := randprog.Judge(context.Background(), p)
				if randprog.JudgePanics(err) {
					want, err = randprog.Run(judge(), p), nil
				}
				if err != nil {
					failed.Add(1)
					t.Errorf("seed %d: wazero: %v", seed, err)
					continue
				}
				plain := randprog.Run(&interpengine.Engine{}, p)
				if d := plain.Diff(want); d != "" {
					failed.Add(1)
					t.Errorf("seed %d: interpreter: %s", seed, d)
				}
				want = randprog.Reference(want, plain)
				for _, e := range engines {
					got := randprog.Run(e, p)
					if got.Failed == ErrWideLoad.Error() {
						skipped.Add(1)
					} else if e == judge() && got.OnlyPlaces(want) && loadsElsewhere(p.Wasm, got, want) {
						folded.Add(1)
					} else if d := got.Diff(want); d != "" {
						failed.Add(1)
						t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
						if *dumpFlag != "" {
							os.WriteFile(filepath.Join(*dumpFlag, fmt.Sprintf("seed%d.wasm", seed)), p.Wasm, 0o666)
						}
					} else {
						places.Add(int64(got.Places(want)))
					}
				}
				for _, c := range want.Calls {
					if c.Trapped() {
						traps.Add(1)
					} else {
						results.Add(1)
					}
				}
				host.Add(int64(len(want.Host)))
				again.Add(int64(len(want.Again)))
			}
		})
	}
	wg.Wait()
	t.Logf("%d modules (wasmtime's mistake in %d of them, loads that trap as another instruction in %d), %d calls with results, %d traps, %d places of traps compared, %d calls of the host, %d by it", count, skipped.Load(), folded.Load(),
		results.Load(), traps.Load(), places.Load(), host.Load(), again.Load())
}

// loadsElsewhere reports whether all traps that are at other places than wanted are those of loads, and later ones.
func loadsElsewhere(wasm []byte, got, want *randprog.Outcome) bool {
	for _, l := range [][2][]randprog.Result{{got.Calls, want.Calls}, {got.Again, want.Again}} {
		for i, w := range l[1] {
			g := l[0][i].Place
			if !g.Differs(w.Place) {
				continue
			}
			if op := wasm[w.Place.Offset]; op < byte(wasmfront.OpI32Load) || op > byte(wasmfront.OpI64Load32U) || g.Func != w.Place.Func || g.Offset < w.Place.Offset {
				return false
			}
		}
	}
	return true
}
