package nativeengine_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/script"
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

// TestHeap: the interpreter, before and after the mid-end, and compiled code do what the script says, also with a collection for each object.
func TestHeap(t *testing.T) {
	s, err := script.Open("testdata/heap.wast")
	if err != nil {
		t.Fatal(err)
	}
	optimised := &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error {
		var o opt.Optimizer
		return errors.Join(o.Run(f, opt.O1), o.Finish(f, opt.O1))
	}}
	collecting := nativeengine.New(opt.O1)
	collecting.Config.CollectAlways = true
	for _, e := range []spectest.Engine{&interpengine.Engine{}, optimised, nativeengine.New(opt.O0), nativeengine.New(opt.O1), collecting} {
		if r, err := spectest.Run(s, e); err != nil || r.Passed != len(s.Commands) {
			t.Errorf("%s: %v, of %d commands (error: %v)%v", e.Name(), r, len(s.Commands), err, r.Failures)
		}
	}
}
