package wazero_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/internal/overlay"
)

// upstream is the version whose tests are run.
const upstream = "v1.12.0"

// upstreamDir is where that version is. The main module's tests need it, too, so its go.sum has it; `go mod download` would ask a proxy
// about the version even if all that a build needs is in the module cache.
func upstreamDir(t *testing.T) string {
	c := exec.Command("go", "list", "-json=Module", "github.com/tetratelabs/wazero")
	c.Dir = "../.."
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	out, err := c.CombinedOutput()
	var p struct{ Module struct{ Dir, Version string } }
	if err == nil {
		err = json.Unmarshal(out[max(0, bytes.IndexByte(out, '{')):], &p) // behind lines about downloads
	}
	if err != nil || p.Module.Dir == "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("wazero %s is not here: %v %s", upstream, err, out)
		}
		t.Skipf("SKIPPED: wazero %s is not here: %v %s", upstream, err, out)
	}
	if p.Module.Version != upstream {
		t.Fatalf("the main module requires wazero %s, and this test %s", p.Module.Version, upstream)
	}
	return p.Module.Dir
}

// full reports whether the level is full, as internal/proof/testenv of the main module says, which is not visible here.
func full() bool { return os.Getenv("WAOT_FULL") != "" && !testing.Short() }

// publicPackages are the folders with tests of what is public, and examples. The usual level has those of the packages that programs use most, and one example.
func publicPackages(t *testing.T, dir string) (list []string) {
	patterns := []string{".", "api", "sys", "experimental", "imports/*", "examples/basic"}
	if full() {
		patterns = []string{".", "api", "sys", "experimental", "experimental/*", "imports/*", "imports/*/example", "examples/*", "examples/*/*"}
	}
	for _, pattern := range patterns {
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

// knownFailures are the lines of doc, which is docs/from-wazero.md, about wazero's tests, by package and test.
func knownFailures(doc string) map[string]bool {
	known := map[string]bool{}
	for line := range strings.SplitSeq(doc, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[2]), "`Test") || len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[2]), "`Example") {
			for test := range strings.SplitSeq(cells[2], ",") {
				known[strings.Trim(cells[1], " `")+" "+strings.Trim(test, " `")] = true
			}
		}
	}
	return known
}

// childrenTime is the processor time of the processes that this one has started and that have ended.
func childrenTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Round(10 * time.Millisecond)
}

// patience is after how long the tests of a package hang.
const patience = 5 * time.Minute

// TestUpstream runs wazero's tests of its public packages, and its examples, against this module. What fails must be in the table of
// docs/from-wazero.md, and what is there must fail. WAOT_UPSTREAM names a package that is run alone.
func TestUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("builds many test programs")
	}
	doc, err := os.ReadFile("../../docs/from-wazero.md")
	if err != nil {
		t.Fatal(err)
	}
	known := knownFailures(string(doc))
	dir := upstreamDir(t)
	tree, err := overlay.New(t.TempDir(), ".", dir)
	if err != nil {
		t.Fatal(err)
	}
	packages, all := publicPackages(t, dir), full()
	if only := os.Getenv("WAOT_UPSTREAM"); only != "" {
		packages, all = []string{only}, false
	}
	var counts [4]int
	ran := map[string]bool{}
	for _, pkg := range packages {
		before := childrenTime(t)
		results, err := tree.Run(pkg, patience)
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s takes %v of processor time", pkg, childrenTime(t)-before)
		for _, r := range results {
			counts[r.Outcome]++
			id := r.Package + " " + r.Test
			ran[id] = true
			switch {
			case r.Outcome == overlay.Failed && !known[id]:
				t.Errorf("%s fails, and is not in the table:\n%s", id, r.Output)
			case r.Outcome != overlay.Failed && known[id]:
				t.Errorf("%s does not fail, and is in the table of failures:\n%s", id, r.Output)
			case r.Outcome == overlay.Failed:
				t.Logf("%s fails, as the table says:\n%s", id, r.Output)
			case r.Outcome == overlay.NotCompiled:
				t.Logf("%s does not compile: %s", id, r.Output)
			}
		}
	}
	t.Logf("%d pass, %d fail, %d are skipped, %d do not compile", counts[overlay.Passed], counts[overlay.Failed], counts[overlay.Skipped], counts[overlay.NotCompiled])
	if !all {
		return
	}
	for id := range known {
		if !ran[id] {
			t.Errorf("%s is in the table of failures, and is not run", id)
		}
	}
	if want := fmt.Sprintf("%d tests and examples pass, %d fail, and %d do not compile", counts[overlay.Passed], counts[overlay.Failed], counts[overlay.NotCompiled]); counts[overlay.Skipped] > 0 || !strings.Contains(string(doc), want) {
		t.Errorf("docs/from-wazero.md does not say: %s; or some of %d are skipped", want, counts[overlay.Skipped])
	}
}
