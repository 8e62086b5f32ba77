package validate_test

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// suites returns the suites found: that of the environment and wazero's.
func suites(t testing.TB) []*script.Suite {
	t.Helper()
	var found []*script.Suite
	if s, err := script.Locate(); err == nil {
		found = append(found, s)
	}
	if s, err := script.OpenWazero(); err == nil && (len(found) == 0 || found[0].Dir != s.Dir) {
		found = append(found, s)
	}
	if len(found) == 0 {
		noSuite(t, "no test suite found; set "+script.EnvDir)
	}
	return found
}

// noSuite skips a test for want of a suite. In CI that is a failure: the one in wazero's module is always there.
func noSuite(t testing.TB, why any) {
	t.Helper()
	testenv.Missing(t, fmt.Sprint(why))
}

// tally counts how the modules of a group fare.
type tally struct {
	modules, valid, refused    int // commands whose module must be accepted
	rejects, worded, byFeature int // commands whose module must be rejected
	untagged                   int // of the refused, without a tag that says so
	mismatches                 map[string]int
	features                   map[string]int
}

// TestSuite decodes and validates every module of the suites.
func TestSuite(t *testing.T) {
	for _, s := range suites(t) {
		for _, group := range s.Groups() {
			t.Run(group, func(t *testing.T) { testGroup(t, s, group) })
		}
	}
}

// configs are the features with which the suites are tested.
var configs = []struct {
	name string
	validate.Config
}{
	{"default", validate.Config{Features: wasmfront.DefaultFeatures}},
	{"all", validate.Config{Features: wasmfront.DecodableFeatures}},
}

func testGroup(t *testing.T, s *script.Suite, group string) {
	tallies := make([]tally, len(configs))
	for i := range tallies {
		tallies[i] = tally{mismatches: map[string]int{}, features: map[string]int{}}
	}
	suitetest.Modules(t, s, group, func(sc *script.Script, c *script.Command, b []byte) {
		for i := range configs {
			testModule(t, &tallies[i], group, sc, c, b, configs[i].Config)
		}
	})
	for i := range configs {
		t.Run(configs[i].name, func(t *testing.T) {
			tallies[i].report(t, group)
			n := &tallies[i]
			if want, ok := exceptionModules[group]; ok && configs[i].name == "all" && [4]int{n.valid, n.refused, n.rejects, n.byFeature} != want {
				t.Errorf("%d modules accepted, %d refused for a feature, %d rejected, %d of them for a feature; want %v", n.valid, n.refused, n.rejects, n.byFeature, want)
			}
		})
	}
}

// exceptionModules are, for the groups of exceptions, how many modules are accepted, refused for a feature, rejected, and rejected for a feature.
var exceptionModules = map[string][4]int{"exceptions": {14, 0, 16, 0}, "legacy-exceptions": {6, 0, 12, 0}}

// report logs the counts of a group, and fails if they are too far from what the scripts say.
func (n *tally) report(t *testing.T, group string) {
	t.Logf("%d modules accepted, %d refused for a feature (%d not so tagged); %d modules rejected, %d with the script's wording, %d for a feature",
		n.valid, n.refused, n.untagged, n.rejects, n.worded, n.byFeature)
	for _, m := range []map[string]int{n.features, n.mismatches} {
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			t.Logf("%4d %s", m[k], k)
		}
	}
	if n.untagged > 0 && (group == "core" || group == "bulk-memory") {
		t.Error("modules without an unsupported feature were refused for one")
	}
	switch group {
	case "v1", "threads": // older wordings
		return
	}
	if plain := n.rejects - n.byFeature; n.worded*100 < plain*95 && plain-n.worded > 5 {
		t.Errorf("only %d of %d messages begin as the scripts say", n.worded, plain)
	}
}

func testModule(t *testing.T, n *tally, group string, sc *script.Script, c *script.Command, b []byte, cfg validate.Config) {
	switch group {
	case "v1", "v2", "threads": // of times when a module had one memory
		cfg.Features &^= wasmfront.FeatureMultiMemory
	}
	where := fmt.Sprintf("%s:%d %s", sc.Source, c.Line, c.Type)
	m, err := validate.All(b, cfg)
	var e *wasmfront.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%s: error of another type: %v", where, err)
	}
	switch c.Type {
	case script.AssertInvalid, script.AssertMalformed:
		n.rejects++
		switch {
		case e == nil:
			if !tolerated(group, sc.Name, c) {
				t.Errorf("%s (%s): accepted", where, c.Text)
			}
		case strings.HasPrefix(e.Msg, wording(c.Text)):
			n.worded++
		case e.Feature != "":
			n.byFeature++
			n.features[where+": rejected for "+e.Feature+", not for: "+c.Text]++
		default:
			n.mismatches[fmt.Sprintf("%s: want %q, got %v", where, c.Text, e)]++
		}
	case script.AssertMalformedCustom, script.AssertInvalidCustom:
	default:
		n.modules++
		switch {
		case e == nil:
			n.valid++
			if _, err := validate.All(b, cfg); err != nil {
				t.Errorf("%s: second time: %v", where, err)
			}
			m.DecodeNames()
		case e.Feature != "":
			n.refused++
			unsupported := func(f string) bool { return !cfg.Features.Has(wasmfront.FeatureByName(f)) }
			if !slices.ContainsFunc(c.Features, unsupported) && !strings.HasPrefix(where, "return_call_ref.wast:") { // which is tagged by the types alone, and needs tail calls
				n.untagged++
				n.features[where+": refused for "+e.Feature+" without that tag: "+e.Msg]++
			}
		default:
			t.Errorf("%s %v: %v", where, c.Features, e)
		}
	}
}

// wording returns the start of a message as it must be: what a script says, but for what an older interpreter says of the stack.
func wording(text string) string {
	for _, stack := range [...]string{": instruction requires ", ": block requires "} {
		text, _, _ = strings.Cut(text, stack)
	}
	return text
}

// relaxations are what earlier versions of the suite reject and version 3.0,
// or a feature that is accepted by default, made valid.
var relaxations = []struct{ group, script, text, why string }{
	{"v1", "binary", "zero flag expected", "the byte is the index of a memory or table"},
	{"v2", "binary", "zero byte expected", "the byte is the index of a memory"},
	{"v1", "binary-leb128", "integer representation too long", "limits and offsets have 64 bits"},
	{"v2", "binary-leb128", "integer representation too long", "limits and offsets have 64 bits"},
	{"v1", "func", "invalid result arity", "multi-value"},
	{"v1", "type", "invalid result arity", "multi-value"},
	{"v1", "unreached-invalid", "type mismatch", "operands of unreachable code have no type"},
	{"v2", "data", "unknown global", "constant expressions may use a module's own globals"},
	{"v2", "elem", "unknown global", "constant expressions may use a module's own globals"},
	{"v2", "global", "unknown global", "constant expressions may use a module's own globals"},
	{"threads", "imports", "multiple tables", "reference-types"},
	{"typed-function-references", "type-equivalence", "unknown type", "a type may refer to itself"},
	{"v1", "imports", "multiple tables", "reference-types"},
}

// tolerated reports whether a module may be accepted although the script says
// otherwise.
func tolerated(group, name string, c *script.Command) bool {
	for _, r := range relaxations {
		if r.group == group && r.script == name && r.text == c.Text {
			return true
		}
	}
	return false
}
