package interpengine_test

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/script"
)

// want is what the groups must give. Of core's 21,229 commands, 658 are text only,
// 566 need features that are not supported, or import from a module that does, and 68
// assert that a module is invalid which is refused for such a feature.
var want = map[string]struct{ passed, text int }{
	"core":        {19937, 658},
	"bulk-memory": {7482, 0},
}

// older is how many modules a group of an earlier version of WebAssembly says
// are wrong that are right today.
var older = map[string]int{"v2": 16}

// left are groups that are left out: commands of multi-memory depend on skipped
// ones without naming them, threads contradicts WebAssembly 2.0, and v1, which v2
// contains, 1.1 in what a failed instantiation leaves behind.
var left = map[string]bool{"multi-memory": true, "threads": true, "v1": true}

// TestSuite runs every script of the suite.
func TestSuite(t *testing.T) { testSuite(t, &interpengine.Engine{}) }

// TestOptimized runs it with functions as the mid-end makes them.
func TestOptimized(t *testing.T) {
	var o opt.Optimizer
	testSuite(t, &interpengine.Engine{Label: "-opt", Rewrite: func(f *clif.Func) error { return o.Run(f, opt.O1) }})
}

func testSuite(t *testing.T, e *interpengine.Engine) {
	s, err := script.Locate()
	if err != nil {
		t.Skip("no test suite found; set "+script.EnvDir, err)
	}
	for _, group := range s.Groups() {
		if left[group] {
			continue
		}
		t.Run(group, func(t *testing.T) {
			total := runGroup(t, s, group, e)
			if w, ok := want[group]; ok && (total.Passed != w.passed || total.Skipped[spectest.SkipText] != w.text) {
				t.Errorf("want %d passed and %d %s", w.passed, w.text, spectest.SkipText)
			}
		})
	}
}

func runGroup(t *testing.T, s *script.Suite, group string, e *interpengine.Engine) *spectest.Result {
	g, err := s.Group(group)
	if err != nil {
		t.Fatal(err)
	}
	total := &spectest.Result{}
	for _, name := range g.Scripts {
		sc, err := g.Script(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := spectest.Run(sc, e)
		if err != nil {
			t.Fatal(name, err)
		}
		total.Add(r)
	}
	shown, allowed := 0, 0
	for _, f := range total.Failures {
		if older[group] > 0 && (strings.HasPrefix(f.Msg, "assert_malformed: module accepted") ||
			strings.HasPrefix(f.Msg, "assert_invalid: module accepted")) {
			allowed++
			continue
		}
		if shown++; shown <= 20 {
			t.Error(f)
		}
	}
	if allowed != older[group] {
		t.Errorf("%d modules accepted that an older version refuses, want %d", allowed, older[group])
	}
	t.Log(total)
	return total
}
