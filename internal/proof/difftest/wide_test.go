package difftest

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// TestRandomWide: random modules with numbers of 128 bits do the same as compiled code and on the CLIF interpreter. wazero does not know such numbers.
func TestRandomWide(t *testing.T) {
	engines := []spectest.Engine{nativeengine.New(opt.O0), nativeengine.New(opt.O1)}
	compared := 0
	for seed := range testenv.Cases[uint64](10, 40, 500) {
		p := randprog.FromGenerator(wasmgen.Generate(seed, wasmgen.Config{Wide: true, NoTraps: seed%3 != 0, Size: []int{60, 200, 400}[seed%3], Small: seed%2 > 0, Vectors: seed%5 == 1}), seed%2 == 1)
		want := randprog.Run(&interpengine.Engine{Options: gcLimits}, p)
		if want.TooLong() {
			continue
		}
		for _, e := range engines {
			got := randprog.Run(e, p)
			if d := got.Diff(want); d != "" {
				t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
				save(t, seed, p)
			}
		}
		compared++
	}
	t.Logf("%d modules compared", compared)
	if compared < 5 {
		t.Error("too few")
	}
}
