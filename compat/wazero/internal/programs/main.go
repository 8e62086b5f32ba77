// Command programs runs the tests of public programs that use wazero, as they are and with this module in its place, and writes a table of results
// and processor times. It needs the Go module proxy, or what it has given before.
//
//	go run ./internal/programs [path...]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

// program is a module of a program and what to run of it.
type program struct {
	path, version string
	packages      []string
	// skip are tests that need the network, or what is built by hand; they are not run in either way.
	skip string
	// plugins are packages that are built for WASI first: as a library, at this name in their folder.
	plugins []string
}

// programs are the programs, by what they are used for.
var programs = []program{
	{path: "github.com/extism/go-sdk", version: "v1.7.1", packages: []string{"."},
		skip: "TestWasmUrl|TestHTTP_allowed|TestHTTP_denied|TestHTTPHeaders"},
	{path: "github.com/knqyf263/go-plugin", version: "v0.9.0",
		packages: []string{"./tests/fields", "./tests/host-functions", "./tests/import", "./tests/well-known", "./examples/known-types", "./examples/host-function-library", "./examples/wasi"},
		skip:     "TestStd",
		plugins: []string{"tests/fields/plugin", "tests/host-functions/plugin", "tests/host-functions/plugin-empty", "tests/import/plugin", "tests/well-known/plugin",
			"examples/known-types/plugin", "examples/host-function-library/plugin", "examples/wasi/plugin"}},
	{path: "github.com/ncruces/go-sqlite3", version: "v0.32.0", packages: []string{".", "./driver", "./tests", "./tests/bradfitz", "./ext/fileio", "./ext/regexp", "./ext/bloom", "./ext/csv"}},
	{path: "github.com/gohugoio/hugo", version: "v0.140.0", packages: []string{"./internal/warpc"}},
	{path: "github.com/gen2brain/webp", version: "v0.5.5", packages: []string{"."}},
	{path: "github.com/gen2brain/avif", version: "v0.4.4", packages: []string{"."}},
	{path: "github.com/gen2brain/heic", version: "v0.4.5", packages: []string{"."}},
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	ours, err := filepath.Abs(".")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stat("internal/run"); err != nil {
		log.Fatal("run this in the folder compat/wazero")
	}
	fmt.Println("| program | package | wazero: pass/fail | waot: pass/fail | wazero, s | waot, s |\n|---|---|---|---|---|---|")
	for _, p := range programs {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), p.path) {
			continue
		}
		if err := p.run(ours); err != nil {
			log.Printf("%s: %v", p.path, err)
		}
	}
}

// run runs the tests in both ways, and writes lines of the table.
func (p *program) run(ours string) error {
	dir, err := p.download()
	if err != nil {
		return err
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
	if out, err := command(copies[1], nil, "go", "mod", "edit", "-replace", "github.com/tetratelabs/wazero="+ours,
		"-replace", "github.com/waot-project/waot="+filepath.Join(ours, "..", "..")); err != nil {
		return fmt.Errorf("%v\n%s", err, out)
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
	c := exec.Command(binary, args...)
	c.Dir = filepath.Join(dir, pkg)
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
		if d.IsDir() {
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
