package oracle

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/spectest/interpengine"
)

// TestRandomGC runs random programs with structures and arrays under wasmtime, and compares it with the CLIF interpreter. Programs with exceptions import tags, for which its Go package panics.
func TestRandomGC(t *testing.T) {
	count := *countFlag / 4
	calls, unjudged := 0, 0
	for seed := *seedFlag; seed < *seedFlag+count; seed++ {
		if seed%5 > 2 {
			continue
		}
		p := randprog.GenerateGC(seed, seed%2 == 1, false)
		plain := randprog.Run(&interpengine.Engine{}, p)
		got := randprog.Run(judge(), p)
		if got.Failed == ErrWideLoad.Error() {
			unjudged++
			continue
		}
		if d := got.WithoutPlaces().Diff(oneNull(plain)); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
		calls += len(plain.Calls)
	}
	t.Logf("%d calls; wasmtime's mistake in %d modules", calls, unjudged)
}

// oneNull returns an outcome that says of all null references the same, as wasmtime does.
func oneNull(o *randprog.Outcome) *randprog.Outcome {
	o = o.WithoutPlaces()
	words := strings.NewReplacer(abi.TrapNullStructure.Message(), abi.TrapNullReference.Message(), abi.TrapNullArray.Message(), abi.TrapNullReference.Message(),
		abi.TrapNullI31.Message(), abi.TrapNullReference.Message())
	o.Start.Text = words.Replace(o.Start.Text)
	for _, l := range [][]randprog.Result{o.Calls, o.Again} {
		for i := range l {
			l[i].Text = words.Replace(l[i].Text)
		}
	}
	return o
}
