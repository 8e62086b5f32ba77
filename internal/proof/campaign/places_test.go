package campaign_test

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/campaign"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestMisplaced: a trap that is said to be at another offset than it is, on each target, is a difference, and made small as such.
func TestMisplaced(t *testing.T) {
	targets, command := commands(t)
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			if target != compile.HostTarget() {
				testenv.OnlyFull(t, "takes seconds in an emulator; the other subtest does the same here")
			}
			misplace := func(v *campaign.Variant, o *compile.Options) {
				if v.Target != target || !v.NoSpectre {
					return
				}
				o.Trace = &backend.Trace{Code: func(_ *clif.Func, c *backend.Code) {
					for i := range c.Traps {
						if c.Traps[i].Code == abi.TrapMemoryOutOfBounds {
							c.Traps[i].Src++
						}
					}
				}}
			}
			f, err := campaign.Run(t.Context(), campaign.Config{N: 300, Targets: []string{target}, Command: command, Spoil: misplace, MaxFailures: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Failures) == 0 {
				t.Fatalf("not found in %d modules", f.Modules)
			}
			e := &f.Failures[0]
			t.Logf("found by module %d: %s; from %d bytes to %d: %s", f.Modules, e.Diff, e.Size, len(e.Reduced), e.Small)
			for _, how := range []string{e.Diff, e.Small} {
				if e.Variant != target+" -O1 --spectre=off" || !strings.Contains(how, "trap: out of bounds memory access: in function ") || !strings.Contains(how, ", want function ") {
					t.Errorf("%s: %s", e.Variant, how)
				}
			}
			if len(e.Reduced) == 0 || len(e.Reduced) > 100 || e.FileTest != "" {
				t.Errorf("it is not made small, or a filetest is to show it, which says no places:\n%s%s", e.Listing, e.FileTest)
			}
			if e.File == nil || !strings.Contains(e.NoFileTest, "where a trap arises") {
				t.Errorf("%s; %s", e.NoFile, e.NoFileTest)
			}
		})
	}
}
