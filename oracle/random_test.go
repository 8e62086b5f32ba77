package oracle

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/internal/wasmgen"
)

var (
	seedFlag  = flag.Uint64("seed", 1_000_000, "first seed of the random modules")
	countFlag = flag.Uint64("modules", 600, "number of random modules")
	sizeFlag  = flag.Int("size", 0, "operators in a function; 0 means different ones")
)

// TestRandom compares with wasmtime on random modules.
func TestRandom(t *testing.T) {
	count := *countFlag
	if testing.Short() {
		count = min(count, 100)
	}
	var next atomic.Uint64
	var failed, skipped, traps, results atomic.Int32
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || failed.Load() >= 10 {
					return
				}
				p := generate(seed)
				d, h, err := compare(p)
				if errors.Is(err, ErrWideLoad) {
					skipped.Add(1)
					continue
				}
				if err != nil {
					d = err.Error()
				}
				if d != "" {
					failed.Add(1)
					t.Errorf("seed %d: %s", seed, d)
					if *dumpFlag != "" {
						os.WriteFile(filepath.Join(*dumpFlag, fmt.Sprintf("seed%d.wasm", seed)), p.mods[1].wasm, 0o666)
					}
				}
				if h == nil {
					continue
				}
				for i := range h.events {
					if h.events[i].trap != "" {
						traps.Add(1)
					} else {
						results.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d modules (%d of them skipped), %d calls with results, %d traps", count, skipped.Load(), results.Load(), traps.Load())
}

// generate makes the program of a seed; configurations take turns.
func generate(seed uint64) *testCase {
	cfg := wasmgen.Config{Size: *sizeFlag, NoTraps: seed%3 != 0}
	if cfg.Size == 0 {
		cfg.Size = []int{20, 60, 120, 250}[seed/3%4]
	}
	p := wasmgen.Generate(seed, cfg)
	c := &testCase{mods: []module{{name: "env", wasm: p.Env}, {wasm: p.Wasm}}, exactNaN: true}
	for i := range p.Calls {
		c.calls = append(c.calls, call{mod: 1, fn: "reset"}, call{mod: 1, fn: p.Calls[i].Export, args: p.Calls[i].Args})
	}
	return c
}

// compare gives the first difference and what the judge did.
func compare(c *testCase) (string, *history, error) {
	want, err := play(judge(), c)
	if err != nil {
		return "", nil, fmt.Errorf("wasmtime: %w", err)
	}
	for _, e := range levels() {
		got, err := play(e, c)
		if err != nil {
			return "", want, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if d := c.diff(got, want); d != "" {
			return e.Name() + ": " + d, want, nil
		}
	}
	return "", want, nil
}
