//go:build linux

package nativeengine_test

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/script"
)

// TestExceptions: the interpreter and compiled code do what the script says, with each allocator and with much inlining.
func TestExceptions(t *testing.T) {
	s, err := script.Open("testdata/exceptions.wast")
	if err != nil {
		t.Fatal(err)
	}
	ssa, local, eager := nativeengine.New(opt.O1), nativeengine.New(opt.O1), nativeengine.New(opt.O1)
	ssa.Options.Regalloc, local.Options.Regalloc, eager.Options.EagerInlining = "ssa", "local", true
	for _, e := range []spectest.Engine{&interpengine.Engine{}, nativeengine.New(opt.O0), nativeengine.New(opt.O1), ssa, local, eager} {
		if r, err := spectest.Run(s, e); err != nil || r.Passed != len(s.Commands) {
			t.Errorf("%s: %v, of %d commands (error: %v)%v", e.Name(), r, len(s.Commands), err, r.Failures)
		}
	}
}
