package difftest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/fuelcount"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront/fuel"
	"github.com/waot-project/waot/wasmfront/translate"
)

// fuelOptions are the ways to compile that must count alike.
var fuelOptions = []compile.Options{
	{OptLevel: opt.O0}, {OptLevel: opt.O1}, {OptLevel: opt.O1, EagerInlining: true}, {OptLevel: opt.O1, Regalloc: "ssa", ExplicitBounds: true},
	{OptLevel: opt.O1, Regalloc: "local", NoSpectre: true}, {OptLevel: opt.O0, Regalloc: "linear"},
}

// fuelEngines returns engines whose stores have n units of fuel. slack leaves out the exact ones, but the interpreter.
func fuelEngines(n int64, slack bool) (list []spectest.Engine) {
	costs := fuel.Default()
	trap := abi.TrapOutOfFuel
	if slack {
		trap = abi.TrapNone
	}
	t := translate.Options{Fuel: costs, OutOfFuel: trap}
	limits := interp.Options{Fuel: n, MaxSteps: 3_000_000}
	list = append(list, &interpengine.Engine{Translation: t, Options: limits},
		&interpengine.Engine{Label: "-O1", Translation: t, Options: limits, Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) }})
	for _, o := range fuelOptions {
		o.Fuel, o.FuelSlack, o.Verify, o.Jobs = costs, slack, true, 1
		list = append(list, &nativeengine.Engine{Options: o, Config: inproc.Config{Fuel: uint64(n)}})
	}
	return list
}

// TestFuelRandom compares what random modules have left with what they count themselves, under wazero: with enough fuel, and with less, where they must stop at
// the same place with the same effects.
func TestFuelRandom(t *testing.T) {
	const plenty = 100_000 // there are endless loops
	count := cmp.Or(*countFlag, testenv.Cases[uint64](15, 30, 150))
	stopped, whole, skipped := 0, 0, 0
	for seed := *seedFlag; seed < *seedFlag+2*count; seed += 2 {
		p := randprog.Generate(seed + 1) // those whose environment has no code
		if seed%3 == 0 {
			p = randprog.GenerateVectors(seed+1, false, true)
		}
		p.Reset = false // between calls: it would trap, too
		used, ok := compareFuel(t, seed, p, plenty, false)
		if !ok {
			skipped++
			continue
		}
		if used < plenty {
			whole++
			compareFuel(t, seed, p, plenty, true)
		} else {
			stopped++
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, n := range []int64{0, used - 1, rnd.Int64N(used + 1), rnd.Int64N(min(used, 100) + 1)} {
			if n >= 0 && n < used {
				if _, ok := compareFuel(t, seed, p, n, false); ok {
					stopped++
				}
			}
		}
	}
	t.Logf("%d modules ran to their end, %d runs stopped for want of fuel; %d were not compared, as they run out of stack or steps", whole, stopped, skipped)
	if whole < int(count)/2 || stopped < whole {
		t.Error("too few")
	}
}

// compareFuel runs a program with n units, and returns how many it used by its own count; ok is false if it cannot be compared.
func compareFuel(t *testing.T, seed uint64, p *randprog.Program, n int64, slack bool) (used int64, ok bool) {
	t.Helper()
	q := *p
	var err error
	if q.Wasm, err = fuelcount.Exact(p.Wasm, n); err != nil {
		t.Fatal(err)
	}
	want, left, err := randprog.Judge(context.Background(), &q, fuelcount.Global)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if want.Overflow != nil {
		return 0, false
	}
	want.Fuel = max(0, int64(left[0])) // below 0 behind another trap in a block that does not compare
	if want.Start.Trapped() {
		want.Fuel = 0 // nobody can ask a module that could not be instantiated
	}
	for k, e := range fuelEngines(n, slack) {
		got := randprog.Run(e, p)
		if k == 0 && (got.TooLong() || got.Overflow != nil) {
			return 0, false
		}
		if got.Start.Trapped() {
			got.Fuel = 0
		}
		name := fmt.Sprintf("seed %d, %d units, slack %t, engine %d (%s)", seed, n, slack, k, e.Name())
		if d := asUnreachable(got).Diff(want); d != "" {
			t.Errorf("%s: %s", name, d)
		} else if got.Fuel != want.Fuel {
			t.Errorf("%s: %d left, want %d", name, got.Fuel, want.Fuel)
		}
	}
	return n - want.Fuel, true
}

// asUnreachable makes traps for want of fuel what the judge's are.
func asUnreachable(o *randprog.Outcome) *randprog.Outcome {
	c := *o
	change := func(r *randprog.Result) {
		if r.Text == randprog.TrapPrefix+abi.TrapOutOfFuel.Message() {
			r.Text = randprog.TrapPrefix + abi.TrapUnreachable.Message()
		}
		r.Place = nil
	}
	c.Calls, c.Again = append([]randprog.Result(nil), o.Calls...), append([]randprog.Result(nil), o.Again...)
	change(&c.Start)
	for i := range c.Calls {
		change(&c.Calls[i])
	}
	for i := range c.Again {
		change(&c.Again[i])
	}
	c.Failed = strings.TrimSpace(c.Failed)
	return &c
}
