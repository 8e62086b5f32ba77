package nativeengine_test

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/spectest/nativeengine"
)

func TestSuiteUnoptimised(t *testing.T) { suitetest.Run(t, nativeengine.New(opt.O0)) }

// TestSuiteNoLoweringRules: without any rule, each opcode alone.
func TestSuiteNoLoweringRules(t *testing.T) {
	e := nativeengine.New(opt.O0)
	e.Options.Control = func(clif.FuncIndex) *opt.Control {
		return &opt.Control{Limit: -1, Off: map[string]bool{rewrite.LowerPass: true}}
	}
	suitetest.Run(t, e)
}

func TestSuite(t *testing.T) { suitetest.Run(t, nativeengine.New(opt.O1)) }
