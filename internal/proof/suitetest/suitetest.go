// Package suitetest runs the official test scripts on an engine from a Go test,
// with the counts that they must give, and visits their modules.
//
// Place in the pipeline: none; used by the tests of the engines.
//
// Input: an engine, and the suites that script.Locate and script.OpenWazero find.
// Output: test failures.
package suitetest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
)

// older is how many modules a group of an earlier version of WebAssembly says
// are wrong that are right today.
var older = map[string]int{"v2": 21, "typed-function-references": 1} // there, a type may not refer to itself

// left are groups that are left out: threads contradicts WebAssembly 2.0, and v1, which v2
// contains, 1.1 in what a failed instantiation leaves behind.
var left = map[string]bool{"threads": true, "v1": true}

// Scripts are those of the suites. Each is read once, for all the engines that run it.
type Scripts struct {
	suites []*script.Suite
	groups map[string][]*script.Script // by the suite's folder and the group
}

// Open finds the suites, or skips the test.
func Open(t testing.TB) *Scripts {
	t.Helper()
	return &Scripts{suites: opened(t), groups: map[string][]*script.Script{}}
}

// Run runs every script of the suites on e.
func Run(t *testing.T, e spectest.Engine) {
	t.Helper()
	Open(t).Run(t, e)
}

// Run runs every script on e.
func (all *Scripts) Run(t *testing.T, e spectest.Engine) {
	t.Helper()
	all.run(t, e, func(group string) bool { return !left[group] })
}

// RunGroup runs the scripts of one group on e.
func (all *Scripts) RunGroup(t *testing.T, e spectest.Engine, group string) {
	t.Helper()
	all.run(t, e, func(g string) bool { return g == group })
}

// group reads the scripts of a group.
func (all *Scripts) group(t *testing.T, suite *script.Suite, name string) []*script.Script {
	t.Helper()
	key := suite.Dir + "/" + name
	if all.groups[key] == nil {
		all.groups[key] = read(t, suite, name, (*script.Group).Script)
	}
	return all.groups[key]
}

// read reads the scripts of a group as open does.
func read(t *testing.T, s *script.Suite, group string, open func(*script.Group, string) (*script.Script, error)) (list []*script.Script) {
	t.Helper()
	g, err := s.Group(group)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range g.Scripts {
		sc, err := open(g, name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sc)
	}
	return list
}

func (all *Scripts) run(t *testing.T, e spectest.Engine, wanted func(group string) bool) {
	t.Helper()
	for _, s := range all.suites {
		for _, group := range s.Groups() {
			if !wanted(group) {
				continue
			}
			t.Run(group, func(t *testing.T) {
				total := runScripts(t, e, group, all.group(t, s, group))
				counts := countsOf(e)
				if want, ok := counts.passes[group]; ok && total.Passed != want {
					t.Errorf("%d commands pass, want %d", total.Passed, want)
				}
				if group == "core" {
					counts.checkSkipped(t, total)
				}
				if want, ok := counts.messages[group]; ok {
					checkMessages(t, total, want)
				}
			})
		}
	}
}

// opened are the suites: the official one and the copy inside wazero's module. The copy has little that the official one lacks, so only the full
// level runs both.
func opened(t testing.TB) (suites []*script.Suite) {
	official := testenv.OptionalMaterial(t, script.EnvDir) != "" // Locate uses it
	if s, err := script.Locate(); err == nil {
		suites = append(suites, s)
	}
	if s, err := script.OpenWazero(); err == nil && official && (testenv.Full() || len(suites) == 0) {
		suites = append(suites, s)
	}
	if len(suites) == 0 {
		t.Skip("no test suite found; set " + script.EnvDir)
	}
	return suites
}

// RunText runs the scripts of the official suite as they are written.
func RunText(t *testing.T, e spectest.Engine) {
	t.Helper()
	counts := countsOf(e)
	texts(t, e, func(t *testing.T, group string, scripts []*script.Script) {
		total := runScripts(t, e, group, scripts)
		want := counts.passes[group]
		if group == "core" {
			want += counts.onlyText
		}
		if total.Passed != want {
			t.Errorf("%d commands pass, want %d", total.Passed, want)
		}
	})
}

// RunRejected is RunText of the commands alone whose module must be rejected: those are where the text itself matters, since only there modules
// are quoted or written in bytes so that they are wrong.
func RunRejected(t *testing.T, e spectest.Engine) {
	t.Helper()
	passed := 0
	texts(t, e, func(t *testing.T, group string, scripts []*script.Script) {
		for i, sc := range scripts {
			some := *sc
			some.Commands = slices.DeleteFunc(slices.Clone(sc.Commands), func(c script.Command) bool {
				return c.Type != script.AssertMalformed && c.Type != script.AssertInvalid
			})
			scripts[i] = &some
		}
		passed += runScripts(t, e, group, scripts).Passed
	})
	if passed < 4000 {
		t.Errorf("only %d modules are rejected", passed)
	}
}

// texts visits the groups of what an engine supports with their scripts in text.
func texts(t *testing.T, e spectest.Engine, visit func(t *testing.T, group string, scripts []*script.Script)) {
	t.Helper()
	if testenv.OptionalMaterial(t, script.EnvDir) == "" {
		t.Skip("set " + script.EnvDir)
	}
	s, err := script.Locate()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range slices.Sorted(maps.Keys(countsOf(e).passes)) {
		t.Run(group, func(t *testing.T) { visit(t, group, read(t, s, group, (*script.Group).Text)) })
	}
}

// counts are how many commands an engine passes and skips. If passes fall without a failure, commands are skipped.
type counts struct {
	passes               map[string]int // by group of a supported feature
	onlyText             int            // of core, those that pass in the texts alone
	refused, unsupported int            // of core, those that are skipped as waot refuses the module, and as it does not support what they need
	messages             map[string]messages
}

// messages are the numbers of messages of rejected modules, of those that are exactly the script's, and of those that have its words.
type messages struct{ all, exact, worded int }

// compiled are the counts of engines without garbage collection. The texts of core have 6 commands that the JSON form does not have, and 14 that it counts to garbage
// collection, since their types stand in groups, of one.
var compiled = counts{
	passes:   map[string]int{"core": 21149, "exceptions": 102, "legacy-exceptions": 96, "bulk-memory": 7483, "simd": 25990, "relaxed-simd": 77, "multi-memory": 912, "wide-arithmetic": 109},
	onlyText: 20, refused: 1, unsupported: 79,
	messages: map[string]messages{"core": {3398, 1921, 3377}, "bulk-memory": {2124, 1858, 2124}},
}

// collected are those of engines with garbage collection.
var collected = counts{
	passes:   map[string]int{"core": 21228, "exceptions": 105, "legacy-exceptions": 96, "bulk-memory": 7485, "simd": 25990, "relaxed-simd": 77, "multi-memory": 912, "gc": 784, "wide-arithmetic": 109},
	onlyText: 0, refused: 1, unsupported: 0,
	messages: map[string]messages{"core": {3402, 1925, 3381}, "bulk-memory": {2124, 1858, 2124}, "gc": {214, 142, 214}},
}

func countsOf(e spectest.Engine) *counts {
	if e.Features().Has(wasmfront.FeatureGC) {
		return &collected
	}
	return &compiled
}

// checkSkipped compares the commands of core that are skipped.
func (c *counts) checkSkipped(t *testing.T, r *spectest.Result) {
	t.Helper()
	refused := 0
	for why, n := range r.Skipped {
		if strings.HasPrefix(why, spectest.SkipRefused) {
			refused += n
		}
	}
	if unsupported := r.NumSkipped() - refused; refused != c.refused || unsupported != c.unsupported {
		t.Errorf("%d commands are skipped because waot refuses the module, %d because it does not support what they need", refused, unsupported)
	}
}

func checkMessages(t *testing.T, r *spectest.Result, want messages) {
	t.Helper()
	if got := (messages{r.Messages, r.Exact, r.Worded}); got != want {
		t.Errorf("of %d messages %d are exact and %d have the words; want %v", got.all, got.exact, got.worded, want)
	}
}

// runScripts runs the scripts of one group, and reports what failed.
func runScripts(t *testing.T, e spectest.Engine, group string, scripts []*script.Script) *spectest.Result {
	total := &spectest.Result{}
	for _, sc := range scripts {
		r, err := spectest.Run(sc, e)
		if err != nil {
			t.Fatal(sc.Name, err)
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
