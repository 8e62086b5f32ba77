package difftest

import (
	"cmp"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// exceptionEngines are what is under test with exceptions: beside the usual ones each allocator, and each option that changes what is around calls.
func exceptionEngines() []spectest.Engine {
	list := engines()
	for _, v := range compilations() {
		e := nativeengine.New(v.level)
		v.set((*compile.Options)(&e.Options))
		list = append(list, variant{e, v.name})
	}
	return list
}

// compilation is a way to compile.
type compilation struct {
	name  string
	level opt.Level
	set   func(*compile.Options)
}

// compilations are each allocator, and each option that changes what is around calls.
func compilations() []compilation {
	return []compilation{
		{"ssa", opt.O1, func(o *compile.Options) { o.Regalloc = "ssa" }},
		{"local", opt.O1, func(o *compile.Options) { o.Regalloc = "local" }},
		{"linear", opt.O0, func(o *compile.Options) { o.Regalloc = "linear" }},
		{"bounds", opt.O1, func(o *compile.Options) { o.ExplicitBounds = true }},
		{"inlining", opt.O1, func(o *compile.Options) { o.EagerInlining, o.Verify = true, true }},
		{"no-spectre, deterministic", opt.O1, func(o *compile.Options) { o.NoSpectre, o.Deterministic, o.Regalloc = true, true, "ssa" }},
	}
}

// variant is an engine with a name that says what is special about it.
type variant struct {
	spectest.Engine
	name string
}

func (v variant) Name() string { return v.Engine.Name() + " " + v.name }

// TestRandomExceptions compares our engines on random modules with exceptions: with wazero's interpreter where they are of the new proposal, else with the CLIF interpreter.
func TestRandomExceptions(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](60, 60, 1200))
	list := exceptionEngines()
	var results, traps, uncaught, places, unjudged int
	for seed := *seedFlag; seed < *seedFlag+count && !t.Failed(); seed++ {
		judged := seed%2 == 0
		p := randprog.GenerateExceptions(seed/2, !judged, seed%6 < 3)
		plain := randprog.Run(&interpengine.Engine{}, p)
		want := plain
		var err error
		if judged {
			want, _, err = randprog.Judge(t.Context(), p)
			switch {
			case randprog.JudgePanics(err):
				want = plain
				unjudged++
			case err != nil:
				t.Fatalf("seed %d: wazero: %v", seed, err)
			}
		}
		if d := plain.Diff(want); d != "" {
			t.Errorf("seed %d: interpreter: %s", seed, d)
		}
		for _, e := range list {
			got := randprog.Run(e, p)
			if d := got.Diff(plain); d != "" {
				t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
			}
			places += got.Places(plain)
		}
		for _, c := range plain.Calls {
			switch {
			case c.Text == randprog.TrapPrefix+randprog.Uncaught:
				uncaught++
			case c.Trapped():
				traps++
			default:
				results++
			}
		}
		if t.Failed() {
			save(t, seed, p)
		}
	}
	if unjudged*10 > int(count) {
		t.Errorf("wazero panics in %d of %d modules", unjudged, count)
	}
	t.Logf("%d modules (wazero panics in %d), %d calls with results, %d traps, %d exceptions that nothing caught, %d places of traps compared", count, unjudged, results, traps, uncaught, places)
}
