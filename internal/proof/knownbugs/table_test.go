package knownbugs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront"
)

const (
	numRows       = 129
	maxImpossible = 15
	root          = "../../.."
)

// row is a row of docs/known-bugs.md.
type row struct {
	number   int
	id, what string
	state    string // tested, waiting or impossible
	detail   string // the feature, or the invariant
	tests    []string
}

// readTable gives the rows of the page in their order, and what it says of their states.
func readTable(t *testing.T) (rows []row, states string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docs", "known-bugs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if s, ok := strings.CutPrefix(line, "State: "); ok {
			states = s
		}
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "row" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		n, err := strconv.Atoi(cells[0])
		if err != nil || len(cells) != 5 {
			t.Fatalf("not a row: %s", line)
		}
		r := row{number: n, id: cells[1], what: cells[2]}
		r.state, r.detail, _ = strings.Cut(cells[3], ": ")
		for _, name := range strings.Split(cells[4], ",") {
			if name = strings.TrimSpace(name); name != "" {
				r.tests = append(r.tests, name)
			}
		}
		rows = append(rows, r)
	}
	return rows, states
}

// testPackage holds the functions and the strings in the tests of a package. The strings include those of the
// packages of tests and cases that they import, whose names end in "test" or "cases".
type testPackage struct {
	funcs   map[string]bool
	strings map[string]bool
}

const modulePath = "github.com/waot-project/waot/"

func parseTests(dir string) (*testPackage, error) {
	p := &testPackage{map[string]bool{}, map[string]bool{}}
	return p, p.parse(dir, "*_test.go")
}

func (p *testPackage) parse(dir, pattern string) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), pattern))
	if err != nil {
		return err
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if ours, ok := strings.CutPrefix(path, modulePath); err == nil && ok && (strings.HasSuffix(ours, "test") || strings.HasSuffix(ours, "cases")) && ours != dir {
				if err := p.parse(ours, "*.go"); err != nil {
					return err
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasSuffix(name, "_test.go") {
					p.funcs[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					p.strings[s] = true
				}
			}
			return true
		})
	}
	return nil
}

// exists reports whether there is a test of that name, and a string for its case.
func exists(packages map[string]*testPackage, name string) (bool, error) {
	dir, test := "internal/proof/knownbugs", name
	if i := strings.Index(name, ".Test"); i >= 0 {
		dir, test = name[:i], name[i+1:]
	}
	test, example, _ := strings.Cut(test, "/")
	p := packages[dir]
	if p == nil {
		var err error
		if p, err = parseTests(dir); err != nil {
			return false, err
		}
		packages[dir] = p
	}
	return p.funcs[test] && (example == "" || p.strings[example]), nil
}

// TestTable demands that the page has each row once and in order, in a state that names what
// holds it, and that the tests which it names exist.
func TestTable(t *testing.T) {
	rows, states := readTable(t)
	count := map[string]int{}
	packages := map[string]*testPackage{}
	for i, r := range rows {
		if r.number != i+1 {
			t.Errorf("row %d stands where row %d should", r.number, i+1)
		}
		if r.id == "" || r.what == "" {
			t.Errorf("row %d says too little", r.number)
		}
		for _, name := range r.tests {
			if ok, err := exists(packages, name); err != nil || !ok {
				t.Errorf("row %d: there is no test %s (%v)", r.number, name, err)
			}
		}
		count[r.state]++
		switch r.state {
		case "tested":
			if len(r.tests) == 0 || r.detail != "" {
				t.Errorf("row %d is tested by no test", r.number)
			}
		case "waiting":
			if featureModule(r.detail) == nil {
				t.Errorf("row %d waits for %q, which is not in the table of features", r.number, r.detail)
			}
		case "impossible":
			if len(r.tests) == 0 || r.detail == "" {
				t.Errorf("row %d is impossible by no invariant, or no test holds that", r.number)
			}
		default:
			t.Errorf("row %d: %q is not a state", r.number, r.state)
		}
	}
	if len(rows) != numRows {
		t.Errorf("%d rows, want %d", len(rows), numRows)
	}
	if count["impossible"] > maxImpossible {
		t.Errorf("%d rows are said to be impossible, at most %d may be", count["impossible"], maxImpossible)
	}
	want := fmt.Sprintf("%d tested, %d waiting, %d impossible.", count["tested"], count["waiting"], count["impossible"])
	if states != want {
		t.Errorf("the page says %q, its rows %q", states, want)
	}
	t.Log(want)
}

// features are what rows may wait for, each with a small valid module that needs it.
var features = []struct {
	name   string
	module []byte
}{
	{"memory64", []byte{0, 'a', 's', 'm', 1, 0, 0, 0, 5, 3, 1, 4, 1}}, // a memory of a page with 64-bit addresses
}

func featureModule(name string) []byte {
	for _, f := range features {
		if f.name == name {
			return f.module
		}
	}
	return nil
}

// TestWaiting demands that the features for which rows wait are refused by name, whether they
// are asked for or not. When one compiles, its rows must be tested.
func TestWaiting(t *testing.T) {
	rows, _ := readTable(t)
	for _, f := range features {
		var waiting []int
		for _, r := range rows {
			if r.state == "waiting" && r.detail == f.name {
				waiting = append(waiting, r.number)
			}
		}
		if len(waiting) == 0 {
			t.Errorf("no row waits for %s: take it out of the table here", f.name)
		}
		feature := wasmfront.FeatureByName(f.name)
		if feature == 0 {
			t.Fatalf("there is no feature %q", f.name)
		}
		for _, accept := range []wasmfront.Features{0, wasmfront.DefaultFeatures | feature} {
			_, err := compile.Module(f.module, compile.Options{Features: accept, Verify: true})
			var e *wasmfront.Error
			switch {
			case err == nil:
				t.Errorf("a module with %s compiles (features %v): rows %v of docs/known-bugs.md must be tested now", f.name, accept, waiting)
			case !errors.As(err, &e) || e.Feature != f.name:
				t.Errorf("a module with %s is refused by an error that does not name it: %v", f.name, err)
			}
		}
	}
}

// TestLevels says which levels of processors the tests run on: all that this machine has. That it has fewer than there are
// is a reason to skip only where the kernel's list of the processor's features says so, too.
func TestLevels(t *testing.T) {
	for _, e := range compare.Natives() {
		t.Log(e.Name())
	}
	if runtime.GOARCH != "amd64" || len(compare.Natives()) == 3 {
		return
	}
	info, _ := os.ReadFile("/proc/cpuinfo")
	why, err := withoutV3(string(info), testenv.CI())
	if err != nil {
		t.Fatal(err)
	}
	t.Skip("SKIPPED: 1 of 3 ways to compile, x86-64-v3, in all tests here: ", why)
}

// v3Flags are the features of x86-64-v3 that x86-64-v2 has not, as Linux names them. It lists those of registers only where
// it saves them.
const v3Flags = "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"

// withoutV3 is why code for x86-64-v3 may be refused, by the text of /proc/cpuinfo: the processor lacks something, or,
// outside of CI, nothing is known. Else that it is refused is an error.
func withoutV3(cpuinfo string, ci bool) (why string, err error) {
	for line := range strings.Lines(cpuinfo) {
		key, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "flags" {
			continue
		}
		have := strings.Fields(flags)
		missing := slices.DeleteFunc(strings.Fields(v3Flags), func(f string) bool { return slices.Contains(have, f) })
		if len(missing) == 0 {
			return "", errors.New("/proc/cpuinfo has all features of x86-64-v3, and code for it is refused")
		}
		return "the processor has no " + strings.Join(missing, ", "), nil
	}
	const unknown = "code for x86-64-v3 is refused, and /proc/cpuinfo has no features of the processor"
	if ci {
		return "", errors.New(unknown)
	}
	return unknown, nil
}

// TestWithoutV3 has the processors of TestLevels that this machine is not.
func TestWithoutV3(t *testing.T) {
	for _, c := range []struct {
		cpuinfo, why string
		ci, fails    bool
	}{
		{cpuinfo: "flags\t\t: fpu " + v3Flags + " hypervisor\n", fails: true},
		{cpuinfo: "flags\t\t: " + v3Flags + "\n", ci: true, fails: true},
		{cpuinfo: "processor\t: 0\nflags\t\t: fpu sse4_2 popcnt avx f16c xsave\nvmx flags\t: avx2\n", ci: true, why: "the processor has no avx2, bmi1, bmi2, fma, abm, movbe"},
		{cpuinfo: "flags\t\t: " + strings.Replace(v3Flags, "fma ", "", 1) + "\n", why: "the processor has no fma"},
		{cpuinfo: "Features\t: fp asimd\n", ci: true, fails: true},
		{cpuinfo: "", ci: true, fails: true},
		{cpuinfo: "", why: "code for x86-64-v3 is refused, and /proc/cpuinfo has no features of the processor"},
	} {
		if why, err := withoutV3(c.cpuinfo, c.ci); why != c.why || (err != nil) != c.fails {
			t.Errorf("%q, CI %t: %q, %v", c.cpuinfo, c.ci, why, err)
		}
	}
}
