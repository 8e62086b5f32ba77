// Command programs runs the tests of public programs that use wazero, as they are and with this module in its place, and writes a table of results
// and processor times. It needs the Go module proxy, or what it has given before. Programs that need more are run if -source names their folders.
//
//	go run ./internal/programs [-bench] [-source path=folder]... [path...]
//
// With -bench it runs their benchmarks in the place of their tests.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// program is a module of a program and what to run of it.
type program struct {
	path, version string
	packages      []string
	// module is the folder of the module with the tests, if that is not the one of the path.
	module string
	// needs says what the folder of a program has to have that is not run without one.
	needs string
	// skip are tests that need the network, or what is built by hand; they are not run in either way.
	skip string
	// plugins are packages that are built for WASI first: as a library, at this name in their folder.
	plugins []string
	// benches are benchmarks, as package and regular expression.
	benches [][2]string
}

// programs are the programs, by what they are used for.
var programs = []program{
	{path: "github.com/extism/go-sdk", version: "v1.7.1", packages: []string{"."},
		skip: "TestWasmUrl|TestHTTP_allowed|TestHTTP_denied|TestHTTPHeaders", benches: [][2]string{{".", "Noop|Replace|Initialize"}}},
	{path: "github.com/knqyf263/go-plugin", version: "v0.9.0",
		packages: []string{"./tests/fields", "./tests/host-functions", "./tests/import", "./tests/well-known", "./examples/known-types", "./examples/host-function-library", "./examples/wasi"},
		skip:     "TestStd",
		plugins: []string{"tests/fields/plugin", "tests/host-functions/plugin", "tests/host-functions/plugin-empty", "tests/import/plugin", "tests/well-known/plugin",
			"examples/known-types/plugin", "examples/host-function-library/plugin", "examples/wasi/plugin"},
		benches: [][2]string{{"./tests/fields", "."}, {"./tests/host-functions", "."}}},
	{path: "github.com/ncruces/go-sqlite3", version: "v0.32.0", packages: []string{".", "./driver", "./tests", "./tests/bradfitz", "./ext/fileio", "./ext/regexp", "./ext/bloom", "./ext/csv"},
		benches: [][2]string{{"./driver", "."}}},
	{path: "github.com/gohugoio/hugo", version: "v0.140.0", packages: []string{"./internal/warpc"}, benches: [][2]string{{"./internal/warpc", "Katex$|StartStop|Greet$"}}},
	{path: "github.com/klippa-app/go-pdfium", version: "v1.21.4", packages: []string{"./webassembly"}, needs: "a clone, as the module leaves out shared_tests/testdata"},
	{path: "github.com/gen2brain/webp", version: "v0.5.5", packages: []string{"."}, benches: [][2]string{{".", "Wasm"}}},
	{path: "github.com/gen2brain/avif", version: "v0.4.4", packages: []string{"."}, benches: [][2]string{{".", "Decode$|Encode$"}}},
	{path: "github.com/gen2brain/heic", version: "v0.4.5", packages: []string{"."}, benches: [][2]string{{".", "Decode$"}}},
	{path: "github.com/wasilibs/go-re2", version: "v1.3.0", packages: []string{".", "./experimental"}, benches: [][2]string{{".", "Find$|FindSubmatch$|ReplaceAll$|MatchParallelShared$|Compile|OnePassLong"}}},
	{path: "github.com/goccy/go-graphviz", version: "v0.2.10", packages: []string{"."}, skip: "TestGraphviz_Compatible"},
	{path: "github.com/wapc/wapc-go", version: "a72aedbbe70d", module: "engines/wazero", packages: []string{"."},
		needs: "a clone, with testdata/as/hello.wasm built by its Makefile, and copied to testdata/go and testdata/rust"},
}

// sources are the folders of programs, by path: a flag.
type sources map[string]string

func (s sources) String() string { return "" }

func (s sources) Set(v string) error {
	path, folder, ok := strings.Cut(v, "=")
	if !ok {
		return errors.New("want path=folder")
	}
	s[path] = folder
	return nil
}

func main() {
	log.SetFlags(0)
	from := sources{}
	flag.Var(from, "source", "path=folder: take a program from a folder")
	bench := flag.Bool("bench", false, "run benchmarks, and not tests")
	flag.Parse()
	ours, err := filepath.Abs(".")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stat("internal/run"); err != nil {
		log.Fatal("run this in the folder compat/wazero")
	}
	if *bench {
		fmt.Println("| program | benchmark | wazero, ms | waot, ms | waot / wazero |\n|---|---|---|---|---|")
	} else {
		fmt.Println("| program | package | wazero: pass/fail | waot: pass/fail | wazero, s | waot, s |\n|---|---|---|---|---|---|")
	}
	for _, p := range programs {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), p.path) {
			continue
		}
		if p.needs != "" && from[p.path] == "" {
			log.Printf("%s is not run: it needs -source and %s", p.path, p.needs)
			continue
		}
		if err := p.run(ours, from[p.path], *bench); err != nil {
			log.Printf("%s: %v", p.path, err)
		}
	}
}

// run runs the tests in both ways, and writes lines of the table. dir is the folder of the program; it is downloaded if that is empty.
func (p *program) run(ours, dir string, bench bool) (err error) {
	if dir == "" {
		if dir, err = p.download(); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "programs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var copies [2]string
	for i, name := range []string{"wazero", "waot"} {
		copies[i] = filepath.Join(work, name)
		if err := copyTree(copies[i], dir); err != nil {
			return err
		}
	}
	for _, plugin := range p.plugins {
		at := filepath.Join(copies[0], plugin, "plugin.wasm")
		if out, err := command(copies[0], []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-o", at, "./"+plugin); err != nil {
			return fmt.Errorf("%s: %v\n%s", plugin, err, out)
		}
		if err := copyFile(filepath.Join(copies[1], plugin, "plugin.wasm"), at); err != nil {
			return err
		}
	}
	for i := range copies {
		copies[i] = filepath.Join(copies[i], p.module)
	}
	if out, err := command(copies[1], nil, "go", "mod", "edit", "-replace", "github.com/tetratelabs/wazero="+ours,
		"-replace", "github.com/waot-project/waot="+filepath.Join(ours, "..", "..")); err != nil {
		return fmt.Errorf("%v\n%s", err, out)
	}
	if bench {
		return p.bench(copies)
	}
	for _, pkg := range p.packages {
		var r [2]result
		for i, dir := range copies {
			if r[i], err = p.test(dir, pkg); err != nil {
				log.Printf("%s %s in %s: %v", p.path, pkg, filepath.Base(dir), err)
			}
		}
		fmt.Printf("| %s@%s | `%s` | %d/%d | %d/%d | %.2f | %.2f |\n", p.path, p.version, pkg, r[0].passed, len(r[0].failed), r[1].passed, len(r[1].failed), r[0].time.Seconds(), r[1].time.Seconds())
		for i, name := range []string{"wazero", "waot"} {
			if len(r[i].failed) > 0 {
				log.Printf("%s %s fails with %s: %s\n%s", p.path, pkg, name, strings.Join(r[i].failed, ", "), r[i].output)
			}
		}
	}
	return nil
}

// rounds is how often each benchmark runs, in turns; the least time counts.
const rounds = 5

// measured is a line of a benchmark.
var measured = regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// bench runs the benchmarks in both ways, and writes lines of the table.
func (p *program) bench(copies [2]string) error {
	for _, b := range p.benches {
		var names []string
		best := map[string]*[2]float64{}
		for round := range rounds {
			for i, dir := range copies {
				binary := filepath.Join(dir, "bench.bin")
				if round == 0 {
					if out, err := command(dir, nil, "go", "test", "-c", "-vet=off", "-o", binary, b[0]); err != nil {
						return fmt.Errorf("%v\n%s", err, out)
					}
				}
				out, err := command(filepath.Join(dir, b[0]), nil, binary, "-test.run=^$", "-test.bench="+b[1], "-test.benchtime=300ms")
				if err != nil {
					return fmt.Errorf("%v\n%s", err, out)
				}
				for _, m := range measured.FindAllSubmatch(out, -1) {
					name := string(m[1])
					ns, err := strconv.ParseFloat(string(m[2]), 64)
					if err != nil {
						return err
					}
					if best[name] == nil {
						best[name] = &[2]float64{}
						names = append(names, name)
					}
					if x := &best[name][i]; *x == 0 || ns < *x {
						*x = ns
					}
				}
			}
		}
		for _, name := range names {
			x := best[name]
			fmt.Printf("| %s@%s | `%s` | %.4g | %.4g | %.2f |\n", strings.TrimPrefix(p.path, "github.com/"), p.version, name, x[0]/1e6, x[1]/1e6, x[1]/x[0])
		}
	}
	return nil
}

// download returns the folder of the module in the cache.
func (p *program) download() (string, error) {
	c := exec.Command("go", "mod", "download", "-json", p.path+"@"+p.version)
	c.Dir = os.TempDir()
	out, err := c.Output()
	var m struct{ Dir, Error string }
	if json.Unmarshal(out, &m); m.Dir == "" {
		return "", fmt.Errorf("%v %s", err, m.Error)
	}
	return m.Dir, nil
}

// result is what the tests of a package gave, and the processor time of their process.
type result struct {
	passed int
	failed []string
	time   time.Duration
	output string
}

// verdict is a line about a test, or a part of one.
var verdict = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): (\S+)`)

// test builds and runs the tests of a package.
func (p *program) test(dir, pkg string) (r result, err error) {
	binary := filepath.Join(dir, "tests.bin")
	if out, err := command(dir, nil, "go", "test", "-mod=mod", "-c", "-vet=off", "-o", binary, pkg); err != nil {
		return r, fmt.Errorf("%v\n%s", err, out)
	}
	args := []string{"-test.v", "-test.timeout", "9m"}
	if p.skip != "" {
		args = append(args, "-test.skip", "^("+p.skip+")")
	}
	temporary, err := os.MkdirTemp("", "programs") // some keep compiled code there
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(temporary)
	c := exec.Command(binary, args...)
	c.Dir = filepath.Join(dir, pkg)
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		return r, err
	}
	r.time = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	for _, m := range verdict.FindAllSubmatch(out, -1) {
		if string(m[1]) == "PASS" {
			r.passed++
		} else {
			r.failed = append(r.failed, string(m[2]))
		}
	}
	if err != nil {
		if len(r.failed) == 0 {
			r.failed = []string{"the process: " + err.Error()}
		}
		r.output = string(out)
		if len(r.output) > 4000 {
			r.output = r.output[len(r.output)-4000:]
		}
	}
	sort.Strings(r.failed)
	return r, nil
}

func command(dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0"), env...)
	return c.CombinedOutput()
}

// copyTree copies a folder of the module cache so that it can be changed.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		}
		return copyFile(target, path)
	})
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o666)
}
