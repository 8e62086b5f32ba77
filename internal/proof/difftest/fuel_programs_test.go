//go:build linux

package difftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/fuel"
)

// TestFuelPrograms: the benchmark modules consume as much at each level, with each allocator, with explicit bounds checks and slack.
func TestFuelPrograms(t *testing.T) {
	for _, file := range benchmarks(t) {
		t.Run(benchmarkName(file), func(t *testing.T) {
			if name := filepath.Base(filepath.Dir(file)); name != "quicksort" && name != "rust-json" {
				testenv.OnlyFull(t, "takes seconds")
			}
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first := uint64(0)
			for k, o := range []compile.Options{{OptLevel: opt.O0}, {OptLevel: opt.O1}, {OptLevel: opt.O1, FuelSlack: true}, {OptLevel: opt.O1, Regalloc: "ssa", ExplicitBounds: true}} {
				o.Fuel = fuel.Default()
				mod, err := nativeFor(wasm, o)
				skipUnsupported(t, err)
				used := consumed(t, mod, filepath.Dir(file))
				if k == 0 {
					first = used
				}
				if used != first || used < 100_000 {
					t.Errorf("way %d consumes %d, the first one %d", k, used, first)
				}
				mod.Close()
			}
			t.Logf("%d units", first)
		})
	}
}

// consumed runs a program, and returns how much fuel it takes.
func consumed(t *testing.T, mod *host.Module, dir string) uint64 {
	t.Helper()
	const budget = 1 << 60
	nothing := func() {}
	time := func() int64 { return 0 } // whatever a program does by the clock, it does the same each time
	p, err := wasirun.New(nil, mod, &wasirun.Options{Args: []string{"benchmark"}, Dirs: []wasirun.Dir{{Host: dir, Guest: "."}}, Walltime: time, Monotonic: time,
		Rand: zeros{}, Store: &host.StoreOptions{Fuel: budget}}, host.Imports{"bench": {"start": nothing, "end": nothing}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if status, err := p.Run(nil); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	return budget - p.Instance().Store().Fuel()
}

// zeros are as random as the tests need.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
