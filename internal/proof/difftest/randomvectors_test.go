package difftest

import (
	"cmp"
	"errors"
	"runtime"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// TestRandomVectors is TestRandom on modules with vectors.
func TestRandomVectors(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](60, 100, 1500))
	list := engines()
	for seed := *seedFlag; seed < *seedFlag+count && !t.Failed(); seed++ {
		p := randprog.GenerateVectors(seed, false, runtime.GOARCH == "amd64")
		if _, _, err := compareProgram(p, list); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			save(t, seed, p)
		}
	}
}

// TestRandomRelaxed compares modules with relaxed operators: each engine does what the CLIF interpreter does of the same choices, whether it
// optimises or not, and what nobody judges.
func TestRandomRelaxed(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](40, 80, 800))
	for seed := *seedFlag; seed < *seedFlag+count && !t.Failed(); seed++ {
		p := randprog.GenerateVectors(seed, true, runtime.GOARCH == "amd64")
		if err := compareUnjudged(p, engines()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			save(t, seed, p)
		}
	}
}

// TestRandomTyped is TestRandom on modules with typed function references, and TestRandomRelaxed on those with what the judge refuses.
func TestRandomTyped(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](40, 80, 800))
	list := engines()
	for seed := *seedFlag; seed < *seedFlag+count && !t.Failed(); seed++ {
		judged := seed%2 == 0
		p := randprog.GenerateTyped(seed, !judged)
		compare := func() (err error) { _, _, err = compareProgram(p, list); return err }
		if !judged {
			compare = func() error { return compareUnjudged(p, list) }
		}
		if err := compare(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			save(t, seed, p)
		}
	}
}

// TestRandomTails is TestRandom on modules with tail calls.
func TestRandomTails(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](60, 60, 1200))
	list := engines()
	for seed := *seedFlag; seed < *seedFlag+count && !t.Failed(); seed++ {
		p := randprog.GenerateTails(seed)
		if _, _, err := compareProgram(p, list); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			save(t, seed, p)
		}
	}
}

// compareUnjudged is compareRelaxed for each engine of compiled code.
func compareUnjudged(p *randprog.Program, list []spectest.Engine) error {
	for _, e := range list {
		if native, ok := e.(*nativeengine.Engine); ok {
			if err := compareRelaxed(p, native); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareRelaxed compares an engine with the interpreter, plain and optimised, whose operators become the same.
func compareRelaxed(p *randprog.Program, native *nativeengine.Engine) error {
	o := compile.Options(native.Options)
	tr, err := o.Translation()
	if err != nil {
		return err
	}
	plain := randprog.Run(&interpengine.Engine{Translation: tr}, p)
	optimised := &interpengine.Engine{Label: "-O1", Translation: tr, Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) }}
	for _, e := range []spectest.Engine{optimised, native} {
		if d := randprog.Run(e, p).Diff(plain); d != "" {
			return errors.New(e.Name() + ": " + d)
		}
	}
	return nil
}
