// Package overlay runs the tests of another version of this module's packages against this one. Only tests use it.
//
// Input: the folder of that version, and a folder that it may fill.
// Output: what each test gave; tests that need what is not public here do not compile, and are taken out one by one.
package overlay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Outcome is what became of a test.
type Outcome int

// The outcomes.
const (
	Passed Outcome = iota
	Failed
	Skipped
	NotCompiled // it uses what is not public, or left out
)

// Result is the outcome of a test of a package, a folder below the module.
type Result struct {
	Package, Test string
	Outcome       Outcome
	Output        string // of a test that ran; why one does not compile
}

// Tree is a copy of this module with the tests of the other version.
type Tree struct {
	Dir   string // the copy
	Other string // the other version
	Waot  string // the main module
}

// New fills dir, which is empty: ours is the folder of this module.
func New(dir, ours, other string) (*Tree, error) {
	waot, err := filepath.Abs(filepath.Join(ours, "..", ".."))
	if err != nil {
		return nil, err
	}
	t := &Tree{dir, other, waot}
	if err := t.copy(ours, "", func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	}); err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(ours, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod = bytes.Replace(mod, []byte("=> ../.."), []byte("=> "+waot), 1)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o666); err != nil {
		return nil, err
	}
	// With the sums of the main module, which requires the other version, no server of sums is asked.
	if err := copyFile(filepath.Join(waot, "go.sum"), filepath.Join(dir, "go.sum")); err != nil {
		return nil, err
	}
	// Examples and tests embed what other packages have.
	data, err := filepath.Glob(filepath.Join(other, "testdata"))
	for _, deeper := range []string{"*", "*/*", "*/*/*"} {
		more, err := filepath.Glob(filepath.Join(other, deeper, "testdata"))
		if err != nil {
			return nil, err
		}
		data = append(data, more...)
	}
	for _, from := range data {
		to, err := filepath.Rel(other, from)
		if err != nil {
			return nil, err
		}
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			return nil, err
		}
	}
	// What tests use to write modules and to compare. Ours wins where both have a package.
	return t, t.copy(filepath.Join(other, "internal"), "internal", func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".wasm") || strings.HasSuffix(name, ".s")
	})
}

// copy copies files below from whose names are wanted to a folder of the tree, where they do not exist in a package of ours.
func (t *Tree) copy(from, to string, wanted func(name string) bool) error {
	taken := map[string]bool{}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(t.Dir, to, rel)
		if d.IsDir() && d.Name() == "spectest" {
			return fs.SkipDir // thousands of modules, which no public package uses
		}
		if d.IsDir() {
			old, _ := filepath.Glob(filepath.Join(target, "*.go"))
			taken[path] = len(old) > 0
			return nil
		}
		if !d.Type().IsRegular() || taken[filepath.Dir(path)] && strings.HasSuffix(path, ".go") || !wanted(d.Name()) {
			return nil
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o666)
}

// Run runs the tests of a package. A process that takes longer than patience hangs, and ends.
func (t *Tree) Run(pkg string, patience time.Duration) ([]Result, error) {
	from, dir := filepath.Join(t.Other, pkg), filepath.Join(t.Dir, pkg)
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var tests []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".go") && strings.HasPrefix(pkg, "examples/"):
			err = copyFile(filepath.Join(from, name), filepath.Join(dir, name))
			if strings.HasSuffix(name, "_test.go") {
				tests = append(tests, filepath.Join(dir, name))
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if len(tests) == 0 {
		return nil, nil
	}
	binary := filepath.Join(t.Dir, "test.bin")
	results, err := t.build(pkg, tests, binary)
	if err != nil {
		return results, fmt.Errorf("%s: %w", pkg, err)
	}
	defer os.Remove(binary)
	if _, err := os.Stat(binary); err != nil {
		return results, nil // nothing is left
	}
	list := exec.Command(binary, "-test.list", "^(Test|Example)")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return results, fmt.Errorf("%s: %w", pkg, err)
	}
	// One process runs all tests. If a test ends it, another process runs those that have not begun.
	for left := strings.Fields(string(out)); len(left) > 0; {
		some, err := process(binary, dir, left, patience)
		if err != nil {
			return results, fmt.Errorf("%s: %w", pkg, err)
		}
		for i := range some {
			some[i].Package = pkg
			left = slices.DeleteFunc(left, func(test string) bool { return test == some[i].Test })
		}
		results = append(results, some...)
	}
	return results, nil
}

// process runs tests in one process and returns the results of those that began, at least one.
func process(binary, dir string, tests []string, patience time.Duration) ([]Result, error) {
	// A hanging process ends itself and says where it is, if it still can.
	ctx, cancel := context.WithTimeout(context.Background(), patience+patience/2)
	defer cancel()
	c := exec.CommandContext(ctx, "go", "tool", "test2json", binary,
		"-test.v=test2json", "-test.paniconexit0", "-test.run", "^("+strings.Join(tests, "|")+")$", "-test.timeout", patience.String())
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	out, failure := c.Output()
	results, err := read(out)
	switch {
	case err != nil && ctx.Err() == nil: // a process that is killed can end in the middle of a line
		return nil, err
	case len(results) == 0:
		return nil, fmt.Errorf("no test begins: %v: %s", failure, out)
	case failure != nil && !slices.ContainsFunc(results, func(r Result) bool { return r.Outcome == Failed }):
		return nil, fmt.Errorf("no test fails, but their process: %v: %s", failure, out)
	}
	return results, nil
}

// read returns the results of the tests that begin in what test2json writes. A test that does not end has failed.
func read(out []byte) (results []Result, err error) {
	at := map[string]int{} // indices of results
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); err == io.EOF {
			return results, nil
		} else if err != nil {
			return results, err
		}
		test, _, sub := strings.Cut(e.Test, "/")
		if e.Action == "run" && !sub {
			at[test] = len(results)
			results = append(results, Result{Test: test, Outcome: Failed})
		}
		i, ok := at[test]
		switch {
		case e.Action == "output" && ok:
			results[i].Output += e.Output
		case e.Action == "output" && len(results) > 0: // of no test, for example a panic after an example has failed
			results[len(results)-1].Output += e.Output
		case e.Action == "pass" && ok && !sub:
			results[i].Outcome = Passed
		case e.Action == "skip" && ok && !sub:
			results[i].Outcome = Skipped
		}
	}
}

// place is where the compiler finds an error.
var place = regexp.MustCompile(`(?m)^(?:vet: )?(\S+\.go):(\d+):(\d+): (.*)$`)

// build compiles the tests, without the declarations that do not compile.
func (t *Tree) build(pkg string, tests []string, binary string) (results []Result, err error) {
	var out []byte
	for _, file := range tests {
		lines, err := private(file)
		if err != nil {
			return results, err
		}
		gone, err := takeOut(file, lines)
		if err != nil {
			return results, err
		}
		for test, why := range gone {
			results = append(results, Result{Package: pkg, Test: test, Outcome: NotCompiled, Output: why})
		}
	}
	for range 30 {
		c := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-ldflags=-s -w", "-o", binary, "./"+pkg)
		c.Dir = t.Dir
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err = c.CombinedOutput()
		if err == nil {
			return results, nil
		}
		errs := map[string]map[int]string{}
		for _, m := range place.FindAllStringSubmatch(string(out), -1) {
			file := filepath.Join(t.Dir, m[1])
			if !slices.Contains(tests, file) {
				continue
			}
			if errs[file] == nil {
				errs[file] = map[int]string{}
			}
			line, _ := strconv.Atoi(m[2])
			errs[file][line] = m[4]
		}
		if len(errs) == 0 {
			return results, fmt.Errorf("%v: %s", err, out)
		}
		for file, lines := range errs {
			gone, err := takeOut(file, lines)
			if err != nil {
				return results, err
			}
			for test, why := range gone {
				results = append(results, Result{Package: pkg, Test: test, Outcome: NotCompiled, Output: why})
			}
		}
	}
	return results, fmt.Errorf("the tests still do not compile: %s", out)
}

// private are the lines of a file that look into an instance of the other version, which compiles here, but cannot work.
func private(file string) (map[int]string, error) {
	src, err := os.ReadFile(file)
	lines := map[int]string{}
	for i, line := range strings.Split(string(src), "\n") {
		for _, name := range []string{"wasm.ModuleInstance", "sock.ConfigKey"} {
			if strings.Contains(line, name) {
				lines[i+1] = "uses " + name + ", which is internal"
			}
		}
	}
	return lines, err
}

// takeOut removes the declarations in a file that have errors, and returns the tests among them.
func takeOut(file string, lines map[int]string) (gone map[string]string, err error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	gone = map[string]string{}
	blank := func(from, to token.Pos) {
		for i := fset.Position(from).Offset; i < fset.Position(to).Offset; i++ {
			if src[i] != '\n' {
				src[i] = ' '
			}
		}
	}
	hit := func(n ast.Node) (string, bool) {
		for line := fset.Position(n.Pos()).Line; line <= fset.Position(n.End()).Line; line++ {
			if why, ok := lines[line]; ok {
				return why, true
			}
		}
		return "", false
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if why, ok := hit(d); ok {
				if name := d.Name.Name; d.Recv == nil && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example")) && name != "TestMain" {
					gone[name] = why
				}
				blank(d.Pos(), d.End())
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if _, ok := hit(s); !ok {
					continue
				}
				if len(d.Specs) == 1 || !d.Lparen.IsValid() {
					blank(d.Pos(), d.End())
				} else {
					blank(s.Pos(), s.End())
				}
			}
		}
	}
	return gone, os.WriteFile(file, src, 0o666)
}
