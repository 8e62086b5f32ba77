package overlay

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ends has a test for each way in which a test ends. Each passing one knows which tests its process has run before it.
const ends = `package ends_test

import (
	"fmt"
	"os"
	"testing"
)

var ran string

func begin(t *testing.T, before string) {
	if ran != before {
		t.Errorf("after %q, want %q", ran, before)
	}
	ran += t.Name()
}

func Test1(t *testing.T)         { begin(t, ""); fmt.Print("a line that does not end") }
func Test2(t *testing.T)         { begin(t, "Test1"); t.Run("sub", func(t *testing.T) {}) }
func TestSkipped(t *testing.T)   { t.Skip() }
func TestFailed(t *testing.T)    { t.Run("sub", func(t *testing.T) { t.Error("the reason") }) }
func Test3(t *testing.T)         { begin(t, "Test1Test2") }
func TestPanics(t *testing.T)    { panic("the panic") }
func Test4(t *testing.T)         { begin(t, "") }
func TestSubPanics(t *testing.T) { t.Run("sub", func(t *testing.T) { panic("the panic") }) }
func Test5(t *testing.T)         { begin(t, "") }
func TestExits0(t *testing.T)    { os.Exit(0) }
func Test6(t *testing.T)         { begin(t, "") }
func TestExits1(t *testing.T)    { os.Exit(1) }
func Test7(t *testing.T)         { begin(t, "") }
func TestMissing(t *testing.T)   { missing() }

func Example_panics() {
	panic("the panic")
	// Output: nothing
}

func Example_passed() {
	fmt.Println("text")
	// Output: text
}

func Example_failed() {
	fmt.Println("text")
	// Output: another text
}
`

// hangs has tests that go on for ever: the first can end its process, the second cannot.
const hangs = `package hangs_test

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func Test1(t *testing.T) {}

func TestHangs(t *testing.T) {
	for {
		time.Sleep(time.Second)
	}
}

func Test2(t *testing.T) {}

func TestStops(t *testing.T) { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

func Test3(t *testing.T) {}
`

// lies has no test that fails, but its process does.
const lies = `package lies_test

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	status := m.Run()
	if os.Args[1] != "-test.list" {
		status = 1
	}
	os.Exit(status)
}

func Test1(t *testing.T) {}
`

// silent runs no test.
const silent = `package silent_test

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Args[1] == "-test.list" {
		os.Exit(m.Run())
	}
}

func Test1(t *testing.T) {}
`

// newTree is a tree whose other version has packages with only these tests.
func newTree(t *testing.T, packages map[string]string) *Tree {
	other := t.TempDir()
	if err := os.Mkdir(filepath.Join(other, "internal"), 0o777); err != nil {
		t.Fatal(err)
	}
	for pkg, text := range packages {
		if err := os.Mkdir(filepath.Join(other, pkg), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, pkg, pkg+"_test.go"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := New(t.TempDir(), "../..", other)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// run returns outcomes by test.
func run(t *testing.T, tree *Tree, pkg string, patience time.Duration) (map[string]Outcome, map[string]string) {
	results, err := tree.Run(pkg, patience)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, outputs := map[string]Outcome{}, map[string]string{}
	for _, r := range results {
		if _, ok := outcomes[r.Test]; ok || r.Package != pkg {
			t.Errorf("%s %s: in package %s, or twice", pkg, r.Test, r.Package)
		}
		outcomes[r.Test], outputs[r.Test] = r.Outcome, r.Output
	}
	return outcomes, outputs
}

// TestEnds: each test has its outcome however those before it ended, and one process runs tests until one ends it.
func TestEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program")
	}
	tree := newTree(t, map[string]string{"ends": ends})
	outcomes, outputs := run(t, tree, "ends", 5*time.Minute)
	want := map[string]Outcome{"TestSkipped": Skipped, "TestFailed": Failed, "TestPanics": Failed, "TestSubPanics": Failed, "TestExits0": Failed, "TestExits1": Failed,
		"TestMissing": NotCompiled, "Example_panics": Failed, "Example_passed": Passed, "Example_failed": Failed}
	for _, test := range []string{"Test1", "Test2", "Test3", "Test4", "Test5", "Test6", "Test7"} {
		want[test] = Passed
	}
	if !maps.Equal(outcomes, want) {
		t.Errorf("outcomes %v, want %v\n%v", outcomes, want, outputs)
	}
	for test, text := range map[string]string{"TestFailed": "the reason", "TestPanics": "the panic", "TestSubPanics": "the panic", "Example_panics": "the panic",
		"Example_failed": "another text", "TestMissing": "undefined: missing"} {
		if !strings.Contains(outputs[test], text) {
			t.Errorf("%s does not say %q: %s", test, text, outputs[test])
		}
	}
}

// TestHangs: a test that hangs fails, and those after it run.
func TestHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program")
	}
	tree := newTree(t, map[string]string{"hangs": hangs})
	outcomes, outputs := run(t, tree, "hangs", 6*time.Second)
	if want := (map[string]Outcome{"Test1": Passed, "Test2": Passed, "Test3": Passed, "TestHangs": Failed, "TestStops": Failed}); !maps.Equal(outcomes, want) {
		t.Errorf("outcomes %v, want %v\n%v", outcomes, want, outputs)
	}
}

// TestNoResult: a process that fails without a test that fails, and one that runs no test, are errors.
func TestNoResult(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test programs")
	}
	tree := newTree(t, map[string]string{"lies": lies, "silent": silent})
	for pkg, text := range map[string]string{"lies": "no test fails, but their process", "silent": "no test begins"} {
		if _, err := tree.Run(pkg, 5*time.Minute); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", pkg, err)
		}
	}
}
