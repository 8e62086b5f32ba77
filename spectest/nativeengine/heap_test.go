package nativeengine_test

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// TestSuiteCollecting runs the group of garbage collection with a collection for each object, in which everything moves, and at each call of the host.
func TestSuiteCollecting(t *testing.T) {
	scripts := suitetest.Open(t)
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		e := nativeengine.New(level)
		e.Config.CollectAlways = true
		t.Run(e.Name(), func(t *testing.T) { scripts.RunGroup(t, e, "gc") })
	}
}
