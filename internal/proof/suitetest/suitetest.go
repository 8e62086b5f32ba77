// Package suitetest runs the official test scripts on an engine from a Go test,
// with the counts that they must give, and visits their modules.
//
// Place in the pipeline: none; used by the tests of the engines.
//
// Input: an engine, and the suites that script.Locate and script.OpenWazero find.
// Output: test failures.
//
// This package is not part of the stable API and may change in any release.
package suitetest

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/figures"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/script"
)

// older is how many modules a group of an earlier version of WebAssembly says
// are wrong that are right today.
var older = map[string]int{"v2": 16}

// left are groups that are left out: commands of multi-memory depend on skipped
// ones without naming them, threads contradicts WebAssembly 2.0, and v1, which v2
// contains, 1.1 in what a failed instantiation leaves behind.
var left = map[string]bool{"multi-memory": true, "threads": true, "v1": true}

// Run runs every script of the suites on e.
func Run(t *testing.T, e spectest.Engine) {
	t.Helper()
	run(t, e, func(group string) bool { return !left[group] })
}

// RunGroup runs the scripts of one group on e.
func RunGroup(t *testing.T, e spectest.Engine, group string) {
	t.Helper()
	run(t, e, func(g string) bool { return g == group })
}

func run(t *testing.T, e spectest.Engine, wanted func(group string) bool) {
	t.Helper()
	suites := map[string]*script.Suite{}
	testenv.OptionalMaterial(t, script.EnvDir) // which Locate uses
	if s, err := script.Locate(); err == nil {
		suites[s.Dir] = s
	}
	if s, err := script.OpenWazero(); err == nil {
		suites[s.Dir] = s
	}
	if len(suites) == 0 {
		t.Skip("no test suite found; set " + script.EnvDir)
	}
	for _, s := range suites {
		for _, group := range s.Groups() {
			if !wanted(group) {
				continue
			}
			t.Run(group, func(t *testing.T) {
				total := runGroup(t, e, s, group, (*script.Group).Script)
				switch group {
				case "core":
					checkCore(t, total)
				case "bulk-memory":
					checkBulkMemory(t, total)
				case "simd":
					figures.Check(t, "suite.simd", total.Passed)
				case "relaxed-simd":
					figures.Check(t, "suite.relaxed-simd", total.Passed)
				}
			})
		}
	}
}

// RunText runs the scripts of the official suite as they are written: groups of WebAssembly 2.0.
func RunText(t *testing.T, e spectest.Engine) {
	t.Helper()
	if testenv.OptionalMaterial(t, script.EnvDir) == "" {
		t.Skip("set " + script.EnvDir)
	}
	s, err := script.Locate()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range [...]string{"core", "bulk-memory", "simd", "relaxed-simd"} {
		t.Run(group, func(t *testing.T) {
			total := runGroup(t, e, s, group, (*script.Group).Text)
			switch group {
			case "core":
				figures.Check(t, "suite.text.core", total.Passed)
			case "bulk-memory":
				figures.Check(t, "suite.bulk-memory", total.Passed)
			case "simd":
				figures.Check(t, "suite.simd", total.Passed)
			case "relaxed-simd":
				figures.Check(t, "suite.relaxed-simd", total.Passed)
			}
		})
	}
}

// checkCore compares what the documents say of the group core.
func checkCore(t *testing.T, r *spectest.Result) {
	refused := 0
	for why, n := range r.Skipped {
		if strings.HasPrefix(why, spectest.SkipRefused) {
			refused += n
		}
	}
	figures.Check(t, "suite.core", r.Passed)
	figures.Check(t, "suite.core.skipped", r.NumSkipped())
	figures.Check(t, "suite.core.refused", refused)
	figures.Check(t, "suite.core.unsupported", r.NumSkipped()-refused)
	figures.Check(t, "suite.core.messages", r.Messages)
	figures.Check(t, "suite.core.exact", r.Exact)
	figures.Check(t, "suite.core.worded", r.Worded)
}

// checkBulkMemory compares what the documents say of the group bulk-memory.
func checkBulkMemory(t *testing.T, r *spectest.Result) {
	figures.Check(t, "suite.bulk-memory", r.Passed)
	figures.Check(t, "suite.bulk-memory.messages", r.Messages)
	figures.Check(t, "suite.bulk-memory.exact", r.Exact)
	figures.Check(t, "suite.bulk-memory.worded", r.Worded)
}

// runGroup runs one group, whose scripts open opens, and reports what failed.
func runGroup(t *testing.T, e spectest.Engine, s *script.Suite, group string, open func(*script.Group, string) (*script.Script, error)) *spectest.Result {
	g, err := s.Group(group)
	if err != nil {
		t.Fatal(err)
	}
	total := &spectest.Result{}
	for _, name := range g.Scripts {
		sc, err := open(g, name)
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
