package oracle

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/internal/randprog"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
)

var (
	seedFlag  = flag.Uint64("seed", 1_000_000, "first seed of the random modules")
	countFlag = flag.Uint64("modules", 600, "number of random modules")
)

// TestRandom runs random programs under wasmtime, the CLIF interpreter and compiled at each level, and compares all of them with
// wazero's interpreter: results, traps, memory, globals, calls of the host and by it.
func TestRandom(t *testing.T) {
	count := *countFlag
	if testing.Short() {
		count = min(count, 100)
	}
	engines := append([]spectest.Engine{judge(), &interpengine.Engine{}}, levels()...)
	var next atomic.Uint64
	var failed, skipped, traps, results, host, again atomic.Int64
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
				want, _, err := randprog.Judge(context.Background(), p)
				if err != nil {
					failed.Add(1)
					t.Errorf("seed %d: wazero: %v", seed, err)
					continue
				}
				for _, e := range engines {
					got := randprog.Run(e, p)
					if got.Failed == ErrWideLoad.Error() {
						skipped.Add(1)
					} else if d := got.Diff(want); d != "" {
						failed.Add(1)
						t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
						if *dumpFlag != "" {
							os.WriteFile(filepath.Join(*dumpFlag, fmt.Sprintf("seed%d.wasm", seed)), p.Wasm, 0o666)
						}
					}
				}
				for _, c := range want.Calls {
					if strings.HasPrefix(c, randprog.TrapPrefix) {
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
	t.Logf("%d modules (wasmtime's mistake in %d of them), %d calls with results, %d traps, %d calls of the host, %d by it", count, skipped.Load(),
		results.Load(), traps.Load(), host.Load(), again.Load())
}
