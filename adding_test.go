package waot_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// The examples of docs/adding.md are diffs. They are applied to a copy of what is no Go code; the Go files that they change are
// an overlay, so that the rest of the tree is not compiled again.

// addition is an example of the page: the diffs below a heading.
type addition struct {
	heading string
	// runs are tests, by package; all must pass.
	runs []testRun
	// rule is what `waot bisect --rules` must list then, for target.
	rule, target string
	// body is a function of two numbers of type param. What `waot inspect` says of it with emit matches shows, but not with --rules-off=rule.
	param, body, emit, shows string
	// usual is the package whose tests are run at the usual level too; empty if the example is then only applied.
	usual string
}

type testRun struct {
	pkg, run string
	// mayskip: the test may lack an emulator.
	mayskip bool
}

var additions = []addition{
	{heading: "An operator", runs: []testRun{
		{pkg: ".", run: "TestNegation"},
		{pkg: "clif/opt", run: "TestSmall"},
		{pkg: "wasmfront/translate", run: "TestHandlers"},
		{pkg: "backend/isa/x64", run: "TestCLIFFiles/int_neg"},
		{pkg: "backend/isa/a64", run: "TestCLIFFiles/int_neg", mayskip: true},
	}},
	{heading: "An operator that changes control flow", runs: []testRun{
		{pkg: "spectest/nativeengine", run: "TestBranchUnless"},
		{pkg: "wasmfront", run: "TestOperatorEffects"},
		{pkg: "wasmfront/translate", run: "TestHandlers"},
		{pkg: "wasmfront/translate", run: "TestUnknownOperators"},
		{pkg: "wasmfront/wat", run: "TestOperators"},
	}},
	{heading: "A lowering rule", rule: "band-andn-mem", target: "x86-64-linux", usual: "backend/isa/x64", param: i64, emit: "vcode",
		// x & ^y; x is in memory.
		body: "\x41\x00\x29\x03\x00" + "\x20\x01\x42\x7f\x85" + "\x83", shows: `andn\.64 %\d+, qword ptr`, runs: []testRun{
			{pkg: "backend/isa/x64", run: "TestFiles/andn_mem"},
			{pkg: "backend/isa/x64", run: "TestMachine/Rules"},
			{pkg: "backend/isa/x64", run: "TestMachine/NearMisses"},
			{pkg: "cmd/waot", run: "TestGolden/bisect-rules"},
		}},
	{heading: "A mid-end rule", rule: "add-sub", target: "aarch64-linux", param: i32, emit: "opt",
		// (x - y) + y
		body: "\x20\x00\x20\x01\x6b" + "\x20\x01\x6a", shows: "return v0", runs: []testRun{
			{pkg: "clif/opt", run: "TestRows"},
			{pkg: "clif/opt", run: "TestExhaustive"},
			{pkg: "cmd/waot", run: "TestGolden/bisect-rules"},
		}},
}

// TestAdding applies the diffs of docs/adding.md, compiles the tree with each example, and runs the tests.
func TestAdding(t *testing.T) {
	page, err := os.ReadFile("docs/adding.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := diffsOf(string(page))
	if got := slices.Sorted(maps.Keys(sections)); len(got) != len(additions) {
		t.Errorf("sections with diffs: %q", got)
	}
	for _, a := range additions {
		t.Run(a.heading, func(t *testing.T) {
			changed, err := applyDiff(sections[a.heading], os.ReadFile)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range changed {
				if code, err := format.Source(text); strings.HasSuffix(name, ".go") && (err != nil || !bytes.Equal(code, text)) {
					t.Errorf("%s is not gofmt's: %v", name, err)
				}
			}
			canRunDocs(t)
			if runtime.GOARCH != "amd64" {
				t.Skip("SKIPPED: the tests of the examples run code of x86-64")
			}
			if a.usual == "" {
				testenv.OnlyFull(t, "compiles most of the tree; another example is compiled at the usual level")
			}
			tr := newTree(t, changed)
			tr.try(t, &a)
			if a.rule != "" && testenv.Full() {
				tr.inspect(t, &a)
			}
		})
	}
}

// TestSketch: the allocator of docs/regalloc.md, whose code is all the Go code of the page, allocates random functions and modules. It is not vetted: go vet
// asks for a folder of the package.
func TestSketch(t *testing.T) {
	code := ""
	for _, b := range readBlocks(t, "docs/regalloc.md") {
		code += b.code + "\n"
	}
	text, err := format.Source([]byte(code))
	if code = strings.TrimSuffix(code, "\n"); err != nil || string(text) != code {
		t.Errorf("not gofmt's: %v", err)
	}
	canRunDocs(t)
	tr := newTree(t, map[string][]byte{"regalloc/spill/spill.go": text, "regalloc/spill/spill_test.go": []byte(sketchTest)})
	tr.test(t, &addition{usual: "regalloc/spill", runs: []testRun{{pkg: "regalloc/spill", run: "TestRandom"}, {pkg: "regalloc/spill", run: "TestModules"}}})
}

const sketchTest = `package spill_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc/spill"
)

func TestRandom(t *testing.T) {
	alloctest.Random(t, func() alloctest.Allocator { return new(spill.Allocator) }, testenv.Cases(100, 200, 900), 1)
}

func TestModules(t *testing.T) {
	files, err := filepath.Glob("../../testdata/wasm/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		wasm, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range compile.Targets() {
			o := compile.Options{Target: target, OptLevel: opt.O1, Verify: true, NewAllocator: func() backend.Allocator { return new(spill.Allocator) }}
			if _, err := compile.Module(wasm, o); err != nil {
				t.Errorf("%s for %s: %v", name, target, err)
			}
		}
	}
}
`

// diffsOf are the lines of the blocks marked as diff, by the heading of second order above them.
func diffsOf(page string) map[string][]string {
	out := map[string][]string{}
	heading, inside := "", false
	for _, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```diff"
		case inside:
			out[heading] = append(out[heading], line)
		default:
			if h, ok := strings.CutPrefix(line, "## "); ok {
				heading = h
			}
		}
	}
	return out
}

// applyDiff applies a unified diff, and gives the files that it changes, by name. It is strict but for line numbers, which drift: the old
// lines of a hunk must occur exactly once, and as many as its head says.
func applyDiff(diff []string, read func(name string) ([]byte, error)) (map[string][]byte, error) {
	files := map[string][]byte{}
	name, from := "", ""
	for n := 0; n < len(diff); {
		line := diff[n]
		n++
		switch {
		case strings.HasPrefix(line, "--- "):
			from = strings.TrimPrefix(line, "--- ")
		case strings.HasPrefix(line, "+++ b/"):
			name = strings.TrimPrefix(line, "+++ b/")
			text, err := read(name)
			switch {
			case files[name] != nil:
				return nil, fmt.Errorf("%s stands there twice", name)
			case from == "/dev/null" && !errors.Is(err, fs.ErrNotExist):
				return nil, fmt.Errorf("%s: to be created, but exists: %v", name, err)
			case from != "/dev/null" && (from != "a/"+name || err != nil):
				return nil, fmt.Errorf("%s: from %s, %v", name, from, err)
			}
			files[name] = text
		case strings.HasPrefix(line, "@@ ") && name != "":
			hunk := diff[n:]
			if end := slices.IndexFunc(hunk, endsHunk); end >= 0 {
				hunk = hunk[:end]
			}
			n += len(hunk)
			text, err := applyHunk(string(files[name]), line, hunk)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, line, err)
			}
			files[name] = []byte(text)
		default:
			return nil, fmt.Errorf("what is %q?", line)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("there is no diff")
	}
	return files, nil
}

// endsHunk reports whether a line is not one of a hunk.
func endsHunk(line string) bool {
	return line == "" || !strings.Contains(" +-", line[:1]) || strings.HasPrefix(line, "--- ")
}

// applyHunk applies the lines of a hunk to a text.
func applyHunk(text, head string, lines []string) (string, error) {
	var before, after strings.Builder
	removed, added := 0, 0
	for _, line := range lines {
		if line[0] != '+' {
			before.WriteString(line[1:] + "\n")
			removed++
		}
		if line[0] != '-' {
			after.WriteString(line[1:] + "\n")
			added++
		}
	}
	var at, to, olds, news int
	if _, err := fmt.Sscanf(head, "@@ -%d,%d +%d,%d @@", &at, &olds, &to, &news); err != nil || olds != removed || news != added {
		return "", fmt.Errorf("the head does not fit %d old and %d new lines: %v", removed, added, err)
	}
	if removed == 0 {
		if text != "" {
			return "", errors.New("nothing says where it belongs")
		}
		return after.String(), nil
	}
	// Whole lines: each begins behind the end of another.
	if n := strings.Count("\n"+text, "\n"+before.String()); n != 1 {
		return "", fmt.Errorf("the old lines occur %d times, not once:\n%s", n, before.String())
	}
	return strings.Replace("\n"+text, "\n"+before.String(), "\n"+after.String(), 1)[1:], nil
}

// tree is the tree with an example.
type tree struct {
	dir     string // has the documents and testdata, changed ones too
	overlay string // for the go command
	pkgs    []string
}

func newTree(t *testing.T, changed map[string][]byte) *tree {
	t.Helper()
	tr := &tree{dir: t.TempDir()}
	for _, dir := range []string{"docs", "testdata", "cmd/waot/testdata"} {
		if err := os.CopyFS(filepath.Join(tr.dir, dir), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	changed = maps.Clone(changed)
	if changed["go.mod"], err = os.ReadFile("go.mod"); err != nil { // it marks the root
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, text := range changed {
		file := filepath.Join(tr.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, text, 0o666)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".go") {
			replace[filepath.Join(root, name)] = file
			tr.pkgs = append(tr.pkgs, "./"+filepath.Dir(name))
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	tr.overlay = filepath.Join(tr.dir, "overlay.json")
	if err = errors.Join(err, os.WriteFile(tr.overlay, overlay, 0o666)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(tr.pkgs)
	tr.pkgs = slices.Compact(tr.pkgs)
	return tr
}

// run runs a command in dir, which must succeed, and gives what it prints.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// try vets what is changed, and runs the tests.
func (tr *tree) try(t *testing.T, a *addition) {
	run(t, ".", nil, "go", append([]string{"vet", "-overlay", tr.overlay}, tr.pkgs...)...)
	tr.test(t, a)
}

// test runs the tests.
func (tr *tree) test(t *testing.T, a *addition) {
	binaries := map[string]string{}
	for _, r := range a.runs {
		if r.pkg != a.usual && !testenv.Full() {
			continue
		}
		binary := binaries[r.pkg]
		if binary == "" {
			binary = filepath.Join(tr.dir, fmt.Sprintf("test%d", len(binaries)))
			run(t, ".", nil, "go", "test", "-c", "-vet=off", "-overlay", tr.overlay, "-o", binary, "./"+r.pkg)
			binaries[r.pkg] = binary
		}
		dir := filepath.Join(tr.dir, r.pkg)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		// All cases of the tests run without the example, too.
		out := run(t, dir, []string{testenv.EnvFull + "="}, binary, "-test.v", "-test.run", "^"+strings.ReplaceAll(r.run, "/", "$/^")+"$")
		if !strings.Contains(out, "--- PASS: "+r.run+" ") && !(r.mayskip && !testenv.CI() && strings.Contains(out, "--- SKIP: ")) {
			t.Errorf("%s of %s did not pass:\n%s", r.run, r.pkg, out)
		}
	}
}

// inspect asks the command for the rule, and what the rule does to a function.
func (tr *tree) inspect(t *testing.T, a *addition) {
	command := filepath.Join(tr.dir, "waot")
	run(t, ".", nil, "go", "build", "-overlay", tr.overlay, "-o", command, "./cmd/waot")
	rules := strings.Fields(run(t, tr.dir, nil, command, "bisect", "--rules", "--target="+a.target))
	if !slices.Contains(rules, a.rule) {
		t.Errorf("waot bisect --rules lacks %s", a.rule)
	}
	wasm := "\x00asm\x01\x00\x00\x00" + section(1, types(a.param+a.param, a.param)) + section(3, leb(0)) + section(5, "\x00\x01") + section(10, code(a.body))
	if err := os.WriteFile(filepath.Join(tr.dir, "app.wasm"), []byte(wasm), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"inspect", "app.wasm", "--func=0", "--emit=" + a.emit, "--target=" + a.target}
	if a.target == "x86-64-linux" {
		args = append(args, "--cpu=x86-64-v3")
	}
	shows := regexp.MustCompile(a.shows)
	if out := run(t, tr.dir, nil, command, args...); !shows.MatchString(out) {
		t.Errorf("the rule %s does not fire:\n%s", a.rule, out)
	}
	if out := run(t, tr.dir, nil, command, append(args, "--rules-off="+a.rule)...); shows.MatchString(out) {
		t.Errorf("the rule %s fires although it is off:\n%s", a.rule, out)
	}
}

// TestApplyDiff: a diff that does not fit is refused.
func TestApplyDiff(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name == "f" {
			return []byte("a\nb\nab\na\nc\n"), nil
		}
		return nil, fs.ErrNotExist
	}
	for _, c := range []struct{ diff, name, want string }{
		{"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ x\n b\n-ab\n+x", "f", "a\nb\nx\na\nc\n"},
		{"--- a/f\n+++ b/f\n@@ -7,1 +1,2 @@\n b\n+x\n@@ -1,2 +1,1 @@\n-a\n c", "f", "a\nb\nx\nab\nc\n"},
		{"--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+x\n+y", "new", "x\ny\n"},
		{diff: ""},
		{diff: "@@ -1,2 +1,2 @@\n b\n-ab\n+x"},
		{diff: "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n b\n-x\n+y"},                                             // other text
		{diff: "--- a/f\n+++ b/f\n@@ -1,1 +1,2 @@\n a\n+x"},                                                 // stands there twice
		{diff: "--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n b\n-a"},                                                 // not the whole line
		{diff: "--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n b\n-ab\n+x"},                                            // other counts
		{diff: "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+x"},                                                     // anywhere
		{diff: "--- a/new\n+++ b/new\n@@ -1,1 +1,1 @@\n-x\n+y"},                                             // no such file
		{diff: "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+x"},                                               // exists
		{diff: "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n b\n-ab\n+x\n--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-c\n+y"}, // twice
	} {
		files, err := applyDiff(strings.Split(c.diff, "\n"), read)
		if c.name == "" {
			if err == nil {
				t.Errorf("accepted:\n%s", c.diff)
			}
		} else if err != nil || string(files[c.name]) != c.want {
			t.Errorf("%q, %v; want %q of\n%s", files[c.name], err, c.want, c.diff)
		}
	}
}
