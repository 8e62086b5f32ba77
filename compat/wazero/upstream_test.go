package wazero_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/internal/overlay"
)

// upstream is the version whose tests are run.
const upstream = "v1.12.0"

// upstreamDir is where that version is, which the main module's tests need, too.
func upstreamDir(t *testing.T) string {
	c := exec.Command("go", "mod", "download", "-json", "github.com/tetratelabs/wazero@"+upstream)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := c.Output()
	var m struct{ Dir, Error string }
	if json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("wazero %s is not here: %v %s", upstream, err, m.Error)
		}
		t.Skipf("SKIPPED: wazero %s is not here: %v %s", upstream, err, m.Error)
	}
	return m.Dir
}

// publicPackages are the folders with tests of what is public, and examples.
func publicPackages(t *testing.T, dir string) (list []string) {
	for _, pattern := range []string{".", "api", "sys", "experimental", "experimental/*", "imports/*", "imports/*/example", "examples/*", "examples/*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if tests, _ := filepath.Glob(filepath.Join(f, "*_test.go")); len(tests) > 0 {
				rel, _ := filepath.Rel(dir, f)
				list = append(list, rel)
			}
		}
	}
	return list
}

// knownFailures are the lines of docs/from-wazero.md about wazero's tests, by package and test.
func knownFailures(t *testing.T) map[string]bool {
	doc, err := os.ReadFile("../../docs/from-wazero.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.SplitSeq(string(doc), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[2]), "`Test") || len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[2]), "`Example") {
			for test := range strings.SplitSeq(cells[2], ",") {
				known[strings.Trim(cells[1], " `")+" "+strings.Trim(test, " `")] = true
			}
		}
	}
	return known
}

// TestUpstream runs wazero's tests of its public packages, and its examples, against this module. What fails must be in the table of
// docs/from-wazero.md, and what is there must fail.
func TestUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("builds many test programs")
	}
	dir := upstreamDir(t)
	tree, err := overlay.New(t.TempDir(), ".", dir)
	if err != nil {
		t.Fatal(err)
	}
	known := knownFailures(t)
	var counts [4]int
	for _, pkg := range publicPackages(t, dir) {
		if only := os.Getenv("WAOT_UPSTREAM"); only != "" && pkg != only {
			continue
		}
		results, err := tree.Run(pkg)
		if err != nil {
			t.Error(err)
		}
		for _, r := range results {
			counts[r.Outcome]++
			id := r.Package + " " + r.Test
			if r.Time > time.Second {
				t.Logf("%s takes %v", id, r.Time)
			}
			switch {
			case r.Outcome == overlay.Failed && !known[id]:
				t.Errorf("%s fails, and is not in the table:\n%s", id, r.Output)
			case r.Outcome == overlay.Passed && known[id]:
				t.Errorf("%s passes, and is in the table of failures", id)
			case r.Outcome == overlay.NotCompiled:
				t.Logf("%s does not compile: %s", id, r.Output)
			}
		}
	}
	t.Logf("%d pass, %d fail, %d are skipped, %d do not compile", counts[overlay.Passed], counts[overlay.Failed], counts[overlay.Skipped], counts[overlay.NotCompiled])
}
