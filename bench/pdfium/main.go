// Command pdfium runs the benchmarks that go-pdfium has of its engines, experimental/benchmark of its repository, with waot as one more: the drop-in takes
// the place of wazero by lines in go.mod. go-pdfium comes from the Go module proxy, and is copied into a folder for wazero and wazy and
// into one for waot; nothing that this module depends on changes. Its third engine, wago, is left out, since the proxy does not have the version that it needs.
//
//	go run ./bench/pdfium [-rounds N] [-bench REGEXP] [-benchtime D] -data FOLDER
//
// FOLDER is shared_tests/testdata of a clone of github.com/klippa-app/go-pdfium: modules leave it out. Engines take turns within a round, each in a process of its
// own, waot twice, which shows the noise. Figures are of processor time, medians of rounds with the lowest and the highest; the table so far is printed after each round.
// What is measured is as it was; but an engine is not tried before each benchmark, and all that render pages or read text have one pool, so that the module
// is compiled less often.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/bench/nested"
)

const (
	pdfium = "github.com/klippa-app/go-pdfium"
	// wazy is a version that the proxy has; go-pdfium requires a commit of it.
	pdfiumVersion, wazyVersion = "v1.21.4", "v0.7.0"
)

func main() {
	rounds := flag.Int("rounds", 3, "rounds; each measures everything once with each engine")
	bench := flag.String("bench", ".", "only benchmarks that match")
	time := flag.String("benchtime", "300ms", "as go test takes it")
	data := flag.String("data", "", "the folder of test data")
	flag.Parse()
	if err := start(max(1, *rounds), *bench, *time, *data); err != nil {
		fmt.Fprintln(os.Stderr, "pdfium:", err)
		os.Exit(1)
	}
}

// engine is one of those that a test binary has, by its name there.
type engine struct {
	name, own string
	program   *program
}

func start(rounds int, bench, time, data string) error {
	dir, err := os.MkdirTemp("", "waot-pdfium")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := nested.Dir("")
	if err != nil {
		return err
	}
	plain, err := build(filepath.Join(dir, "plain"), data)
	if err != nil {
		return err
	}
	waot, err := build(filepath.Join(dir, "waot"), data, "-replace=github.com/tetratelabs/wazero="+filepath.Join(root, "compat", "wazero"),
		"-replace=github.com/waot-project/waot="+root)
	if err != nil {
		return err
	}
	engines := []engine{{"waot", "wazero", waot}, {"waot again", "wazero", waot}, {"wazero", "wazero", plain}, {"wazy", "wazy", plain}}
	var t table
	for r := range rounds {
		for k := range engines {
			e := (k + r) % len(engines)
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", r+1, rounds, engines[e].name)
			out, err := engines[e].program.run(engines[e].own, bench, time)
			if err != nil {
				return fmt.Errorf("%s: %w", engines[e].name, err)
			}
			if err := t.add(e, len(engines), engines[e].own, out); err != nil {
				return err
			}
		}
		t.write(engines)
	}
	return nil
}

// program is a test binary.
type program struct{ file string }

// build copies go-pdfium into a folder, edits its go.mod, and builds its benchmarks.
func build(dir, data string, edits ...string) (*program, error) {
	c := exec.Command("go", "mod", "download", "-json", pdfium+"@"+pdfiumVersion)
	c.Dir = os.TempDir() // outside of modules
	out, err := c.Output()
	var m struct{ Dir, Error string }
	if json.Unmarshal(out, &m); err != nil || m.Dir == "" {
		return nil, fmt.Errorf("go-pdfium: %v %s", err, m.Error)
	}
	if err := copyTree(dir, m.Dir); err != nil {
		return nil, err
	}
	if err := change(filepath.Join(dir, "experimental", "benchmark")); err != nil {
		return nil, err
	}
	if err := copyTree(filepath.Join(dir, "shared_tests", "testdata"), data); err != nil {
		return nil, err
	}
	p := &program{filepath.Join(dir, "experimental", "benchmark", "bench.test")}
	edits = append([]string{"mod", "edit", "-droprequire=github.com/wago-org/wago", "-droprequire=github.com/wago-org/wasi",
		"-require=github.com/samyfodil/wazy@" + wazyVersion}, edits...)
	for _, args := range [][]string{edits, {"test", "-c", "-vet=off", "-o", p.file, "./experimental/benchmark"}} {
		c := exec.Command("go", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	return p, nil
}

// changes are what becomes of the benchmarks' source, with how often it occurs.
var changes = []struct {
	what  *regexp.Regexp
	count int
	by    string
}{
	{regexp.MustCompile(`(?m)^\t"github.com/klippa-app/go-pdfium/experimental/wago"\n`), 1, ""},
	{regexp.MustCompile(`(?m)^\t\{"wago", func[^\n]*\n[^\n]*\n\t\}\},\n`), 1, ""},
	{regexp.MustCompile(`(?m)^\t+if !usable\(b, spec\) \{\n\t+return\n\t+\}\n`), 3, ""},
	{regexp.MustCompile(`pool, err := spec.init\(true\)(\n\t+if err != nil \{\n[^\n]*\n\t+\}\n)\t+defer pool.Close\(\)\n(\t+instance, err := [^\n]*\n\t+if err != nil \{\n\t+b.Fatal)`), 1, "pool, err := opened(spec)$1$2"},
	{regexp.MustCompile(`b\.ResetTimer\(\)`), 6, "b.ResetTimer()\n\tdefer processorTime(b)()"},
}

//go:embed more.go.txt
var more []byte

// change makes a copy of the benchmarks do without wago, and measure processor time.
func change(dir string) error {
	file := filepath.Join(dir, "benchmark_test.go")
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if n := len(c.what.FindAllIndex(source, -1)); n != c.count {
			return fmt.Errorf("%s has %s %d times, which %s has %d times", file, c.what, n, pdfiumVersion, c.count)
		}
		source = c.what.ReplaceAll(source, []byte(c.by))
	}
	return errors.Join(os.WriteFile(file, source, 0o666), os.WriteFile(filepath.Join(dir, "more_test.go"), more, 0o666))
}

// copyTree copies a folder so that the files can be changed.
func copyTree(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o777)
	})
}

// run runs the benchmarks of an engine.
func (p *program) run(engine, bench, time string) ([]byte, error) {
	c := exec.Command(p.file, "-test.run=^$", "-test.bench="+bench, "-test.benchtime="+time, "-test.timeout=1h")
	c.Dir, c.Env = filepath.Dir(p.file), append(os.Environ(), "PDFIUM_BENCHMARK_RUNTIMES="+engine)
	out, err := c.CombinedOutput()
	if err != nil || strings.Contains(string(out), "SKIP") {
		return nil, fmt.Errorf("%v\n%s", err, out)
	}
	return out, nil
}

// row is a benchmark with the nanoseconds of each engine's runs.
type row struct {
	name string
	ns   [][]float64
}

type table []row

// measured is a line of a benchmark.
var measured = regexp.MustCompile(`(?m)^Benchmark(\S+)/(\w+?)(?:-\d+)?\s+\d+\s+[0-9.]+ ns/op\s+([0-9.]+) cpu-ns/op`)

// add takes the figures of engine number e of n, which calls itself own.
func (t *table) add(e, n int, own string, out []byte) error {
	found := measured.FindAllStringSubmatch(string(out), -1)
	if len(found) == 0 {
		return fmt.Errorf("no benchmark in\n%s", out)
	}
	for _, m := range found {
		ns, err := strconv.ParseFloat(m[3], 64)
		if err != nil || m[2] != own {
			return fmt.Errorf("%q: not of %s (%v)", m[0], own, err)
		}
		i := slices.IndexFunc(*t, func(r row) bool { return r.name == m[1] })
		if i < 0 {
			i = len(*t)
			*t = append(*t, row{m[1], make([][]float64, n)})
		}
		(*t)[i].ns[e] = append((*t)[i].ns[e], ns)
	}
	return nil
}

// write prints the table, and ratios of waot to the others.
func (t table) write(engines []engine) {
	head := "| | unit |"
	for _, e := range engines {
		head += " " + e.name + " |"
	}
	for _, e := range engines[1:] {
		head += " " + engines[0].name + " / " + e.name + " |"
	}
	fmt.Println(head)
	fmt.Println("|" + strings.Repeat("---|", 1+2*len(engines)))
	for _, r := range t {
		for _, ns := range r.ns {
			slices.Sort(ns)
		}
		unit, div := "us", 1e3
		if r.median(0) >= 1e6 {
			unit, div = "ms", 1e6
		}
		fmt.Printf("| %s | %s |", r.name, unit)
		for e, ns := range r.ns {
			fmt.Printf(" %.3g (%.3g-%.3g) |", r.median(e)/div, ns[0]/div, ns[len(ns)-1]/div)
		}
		for e := range r.ns[1:] {
			fmt.Printf(" %.3g |", r.median(0)/r.median(e+1))
		}
		fmt.Println()
	}
}

func (r row) median(e int) float64 { return r.ns[e][len(r.ns[e])/2] }
