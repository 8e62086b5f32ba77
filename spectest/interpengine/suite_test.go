package interpengine_test

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront/translate"
)

func TestSuite(t *testing.T) { suitetest.Run(t, &interpengine.Engine{}) }

// TestSuiteText runs the scripts as they are written.
func TestSuiteText(t *testing.T) { suitetest.RunText(t, &interpengine.Engine{}) }

// TestSuiteOptimised interprets what the mid-end makes of the functions, verified after
// each pass.
func TestSuiteOptimised(t *testing.T) {
	testenv.OnlyFull(t, "the suite again; TestSuitePlaces of internal/proof/difftest has some scripts")
	o := &opt.Optimizer{After: func(_ *opt.Pass, f *clif.Func) error { return verify.Func(f) }}
	suitetest.Run(t, &interpengine.Engine{
		Label:   "-O1",
		Rewrite: func(f *clif.Func) error { return o.Run(f, opt.O1) },
	})
}

// TestRelaxed: each choice of results is one that the suite allows, plain and optimised.
func TestRelaxed(t *testing.T) {
	o := &opt.Optimizer{After: func(_ *opt.Pass, f *clif.Func) error { return verify.Func(f) }}
	scripts := suitetest.Open(t)
	for r := range translate.NumRelaxed {
		scripts.RunGroup(t, &interpengine.Engine{Translation: translate.Options{Relaxed: r}}, "relaxed-simd")
		scripts.RunGroup(t, &interpengine.Engine{Translation: translate.Options{Relaxed: r}, Rewrite: func(f *clif.Func) error { return o.Run(f, opt.O1) }}, "relaxed-simd")
	}
}
