//go:build linux

package main

import (
	"go/build"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// described returns the faults of a file, as the program prints them.
func described(t *testing.T, src string) (list []string) {
	t.Helper()
	faults, err := find("f.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	for i := range faults {
		f := &faults[i]
		if text := string(f.apply([]byte(src))); text == src || strings.Count(text, "\n") != strings.Count(src, "\n") {
			t.Errorf("%v: the text is\n%s", f, text)
		}
		list = append(list, f.String())
	}
	return list
}

// TestFind: all faults of a file, and none in what only a panic says, nor in capacities.
func TestFind(t *testing.T) {
	const src = `package p

import "fmt" // 1 < 2

func f(a, b int, ok bool) (n int) {
	if a < b && !ok {
		return 1
	}
	for a == 0x0f {
		n -= b - 1
		fmt.Println(true)
		continue
	}
	if ok {
		panic(fmt.Sprint(a + 1))
	}
	list := make([]int, b, 2*b+1)
	defer g()
	switch {
	case ok:
		list[0]++
	}
	return a +
		b
}
`
	want := []string{
		"f.go:6: a < b && !ok: negated",
		"f.go:6: a < b && !ok: || for &&",
		"f.go:6: a < b: <= for <",
		"f.go:7: return 1: removed",
		"f.go:7: 2 for 1",
		"f.go:9: a == 0x0f: != for ==",
		"f.go:9: 0x10 for 0x0f",
		"f.go:10: n -= b - 1: removed",
		"f.go:11: fmt.Println(true): removed",
		"f.go:12: continue: removed",
		"f.go:10: b - 1: + for -",
		"f.go:10: 2 for 1",
		"f.go:11: false for true",
		"f.go:14: ok: negated",
		"f.go:18: defer g(): removed",
		"f.go:21: list[0]++: removed",
		"f.go:21: 1 for 0",
		"f.go:23: a +\n\t\tb: - for +",
	}
	got := described(t, src)
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestChoose: the choice depends on the seed alone, takes no fault twice and all in the end, and is half of the machines' packages.
func TestChoose(t *testing.T) {
	all := map[string][]fault{}
	for pkg, n := range map[string]int{"backend/isa/x64": 50, "backend/isa/a64/asm": 60, "wasi": 5, "host": 40, "clif": 40, "empty": 0} {
		for i := range n {
			all[pkg] = append(all[pkg], fault{kind: kind(i) % numKinds, file: pkg + "/f.go", line: i})
		}
	}
	sequenceOf := func(seed uint64) (list []fault) {
		next := choose(all, rand.New(rand.NewPCG(seed, 0)))
		for f := next(); f != nil; f = next() {
			list = append(list, *f)
		}
		return list
	}
	one := sequenceOf(1)
	if !slices.Equal(one, sequenceOf(1)) || slices.Equal(one, sequenceOf(2)) {
		t.Error("it is not the seed that decides")
	}
	count, seen := map[string]int{}, map[fault]bool{}
	for i, f := range one {
		if count[f.file]++; seen[f] {
			t.Errorf("%v is there twice", &f)
		}
		seen[f] = true
		if i != 39 {
			continue
		}
		if count["backend/isa/x64/f.go"] != 10 || count["backend/isa/a64/asm/f.go"] != 10 || count["wasi/f.go"] < 5 {
			t.Errorf("of the first 40: %v", count)
		}
	}
	if len(one) != 195 {
		t.Errorf("%d faults of 195", len(one))
	}
}

// proof is folders without product: tests, measurements, tools and examples.
var proof = regexp.MustCompile(`^(oracle|bench|examples|spectest|internal/(proof|emulate|reduce|wasmedit|cruntime/mkblob))(/|$)`)

// TestTable: what the tables name exists, and all of the product is there.
func TestTable(t *testing.T) {
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || err == nil) {
			return filepath.SkipDir
		}
		pkg, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if _, err := build.ImportDir(path, 0); err == nil && covers[filepath.ToSlash(pkg)] == nil && !proof.MatchString(filepath.ToSlash(pkg)) {
			t.Errorf("package %s has no row", pkg)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for pkg := range covers {
		if faults, err := packageFaults(root, pkg); err != nil || len(faults) == 0 {
			t.Errorf("%s: %d faults, %v", pkg, len(faults), err)
		}
		files := []string{pkg + "/f.go"}
		for file := range foremost {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil || covers[filepath.ToSlash(filepath.Dir(file))] == nil {
				t.Errorf("%s has no row (%v)", file, err)
			}
			if filepath.ToSlash(filepath.Dir(file)) == pkg {
				files = append(files, file)
			}
		}
		for _, r := range runsOfAll(files) {
			files, _ := filepath.Glob(filepath.Join(root, r.pkg, "*_test.go"))
			found := false
			pattern, _, _ := strings.Cut(r.pattern, "/")
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				found = found || regexp.MustCompile("(?m)^func (Test|Fuzz)?("+pattern+")").Match(text)
			}
			if !found {
				t.Errorf("%s: there is no %v", pkg, r)
			}
		}
	}
	for file := range excluded {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Error(err)
		}
	}
}

// envFaults names the variable that says which of the kept faults are planted, as bugcases.ParseChoice reads it: without it, all.
const envFaults = "WAOT_FAULTS"

// TestKept: each kept fault is one of a file, and at the full level a test notices it.
func TestKept(t *testing.T) {
	const root = "../../.."
	for i := range kept {
		if _, err := kept[i].fault(root); err != nil || excluded[kept[i].file] != "" {
			t.Errorf("%s: %v", kept[i].file, err)
		}
	}
	testenv.OnlyFull(t, "builds and runs tests of other packages")
	chosen, err := bugcases.ParseChoice(os.Getenv(envFaults))
	if err != nil {
		t.Fatalf("%s=%v", envFaults, err)
	}
	if chosen.Sample() {
		chosen = bugcases.All()
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := plantKept(t.Context(), &laboratory{root: dir, dir: t.TempDir(), without: map[run]usage{}, spare: usage{time.Minute, 10 * time.Minute}}, chosen, ""); err != nil {
		t.Error(err)
	}
}

// runsOfAll returns the tests that cover any of the files.
func runsOfAll(files []string) (runs []run) {
	for _, file := range files {
		runs = append(runs, runsFor(file)...)
	}
	return runs
}

// TestIn: a sequence of the faults of some files has all of these and no others.
func TestIn(t *testing.T) {
	const file = "backend/tops.go"
	all, err := packageFaults("../../..", "backend")
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for i := range all {
		if all[i].file == file {
			want++
		}
	}
	next, err := sequence("../../..", 1, file)
	if err != nil {
		t.Fatal(err)
	}
	for f := next(); f != nil; f = next() {
		if want--; f.file != file {
			t.Errorf("%v", f)
		}
	}
	if want != 0 {
		t.Errorf("%d faults are missing", want)
	}
	if runs := runsFor(file); len(runs) != len(covers["backend"]) || runs[0] != filesX64 {
		t.Errorf("%v", runs)
	}
}

// TestWatch: a run waits if it takes almost no processor time for a minute.
func TestWatch(t *testing.T) {
	start := time.Now()
	w := newWatch(start)
	for _, c := range []struct {
		at, cpu time.Duration
		want    bool
	}{
		{30 * time.Second, 0, false}, {time.Minute, 0, false}, {61 * time.Second, 0, true}, {62 * time.Second, 2 * idle, false},
		{120 * time.Second, 3 * idle, false}, {122 * time.Second, 3 * idle, false}, {123 * time.Second, 3 * idle, true},
	} {
		if got := w.tooLong(start.Add(c.at), c.cpu); got != c.want {
			t.Errorf("after %v and %v of processor time: %v", c.at, c.cpu, got)
		}
	}
}

// What p and q have besides.
const (
	moreOfP = "package p\n\nfunc half(n int) int { return n / 2 }\n"
	allOfQ  = "package q\n\nfunc Twice(n int) int { return 2 * n }\n"
)

// module writes a module with a package whose tests notice what Sum does.
func module(t *testing.T, src string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.25\n", "p/p.go": src, "p/more.go": moreOfP, "q/q.go": allOfQ,
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(4) != 6 {\n\t\tt.Error(4)\n\t}\n}\n\nfunc TestWrong(t *testing.T) {\n\tt.Error()\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestTry plants faults into a small module: each status there is.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	const src = `package p

func Sum(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i
	}
	return sum
}

func Unseen(n int) string {
	if n > 3 {
		return "large"
	}
	return "a" + "b"
}
`
	root := module(t, src)
	faults, err := find("p/p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	lab := &laboratory{root: root, dir: t.TempDir(), without: map[run]usage{}, spare: usage{time.Second, 10 * time.Minute}}
	sum := run{pkg: "p", pattern: "TestSum"}
	want := map[string]verdict{
		"p/p.go:4: i < n: <= for <":         {killed, "TestSum"},
		"p/p.go:4: i < n: negated":          {killed, "TestSum"},
		"p/p.go:11: n > 3: negated":         {undecided, ""},
		"p/p.go:14: \"a\" + \"b\": - for +": {noCode, ""},
	}
	for i := range faults {
		f := &faults[i]
		w, ok := want[f.String()]
		if !ok {
			continue
		}
		delete(want, f.String())
		if v, err := lab.try(t.Context(), f, sum); v != w || err != nil {
			t.Errorf("%v: %v, %v, want %v", f, v, err, w)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("%s is no fault", f)
	}
	endless := &fault{file: "p/p.go", start: strings.Index(src, "i++"), end: strings.Index(src, "i++") + 3}
	if v, err := lab.try(t.Context(), endless, sum); v.status != ranAway || err != nil {
		t.Errorf("without end: %v, %v", v, err)
	}
	// Tests that fail without a fault decide nothing, nor does a package without tests.
	for _, r := range []run{{pkg: "p"}, {pkg: "q"}} {
		if v, err := lab.try(t.Context(), endless, r); err == nil || v.status != undecided {
			t.Errorf("%v: %v, %v", r, v, err)
		}
	}
}

// TestSleep: faults in one tree do nothing before one is awake, and that is noticed as if it were planted alone. Which need a tree of their own is said.
func TestSleep(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	const src = `package p

import "m/q"

type adder struct{ sum int }

var zero = 0

func (a *adder) add(n ...int) {
	for _, n := range n {
		a.sum += n
	}
}

func first[T any, U any](x T, y U) T { return x }

func (adder) three(int) int { return 3 }

//go:noinline
func one() int { return 1 }

func Sum(n int) (sum int) {
	var a adder
	for i := range n {
		a.add(i, zero)
	}
	return half(q.Twice(first(a.sum, 7) * one() * a.three(1) / 3))
}

func init() { zero *= 2 }
`
	root := module(t, src)
	lab := &laboratory{root: root, dir: t.TempDir(), without: map[run]usage{}, spare: usage{time.Second, 10 * time.Minute}}
	var faults []*fault
	for _, c := range []struct{ old, text string }{
		{"a.sum += n", "a.sum += n + 1"}, {"return x", "var other T; return other"}, {"range n {\n\t\ta.add", "range n + 1 {\n\t\ta.add"}, {"a.add(i, zero)", "a.add(zero, i)"},
		{"zero = 0", "zero = 1"}, {"return 1", "return 2"}, {"return 3", "return 4"}, {"zero *= 2", "zero++"},
	} {
		at := strings.Index(src, c.old)
		faults = append(faults, &fault{file: "p/p.go", start: at, end: at + len(c.old), text: c.text})
	}
	for _, c := range []struct{ file, src, old, text string }{{"p/more.go", moreOfP, "n / 2", "n / 3"}, {"q/q.go", allOfQ, "2 *", "3 *"}} {
		at := strings.Index(c.src, c.old)
		faults = append(faults, &fault{file: c.file, start: at, end: at + len(c.old), text: c.text})
	}
	if err := lab.sleep(faults); err != nil {
		t.Fatal(err)
	}
	for i, f := range faults {
		if asleep := lab.asleep.numbers[f] != ""; asleep != (i < 4 || f.file != "p/p.go") {
			t.Errorf("%s: %q at %d: asleep is %v", f.file, f.text, f.start, asleep)
		}
		want := verdict{killed, "TestSum"}
		if i == 3 {
			want = verdict{undecided, ""}
		}
		if v, err := lab.try(t.Context(), f, run{pkg: "p", pattern: "TestSum"}); v != want || err != nil {
			t.Errorf("%s: %q at %d: %v, %v, want %v", f.file, f.text, f.start, v, err, want)
		}
	}
	if len(lab.asleep.built) != 1 {
		t.Errorf("%d programs", len(lab.asleep.built))
	}
}
