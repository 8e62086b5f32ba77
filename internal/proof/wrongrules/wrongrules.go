// Package wrongrules gives tests a mid-end whose rewrites are wrong where they say so: tests of what looks for wrong rewrites. The mid-end
// itself has no place for that. Such a test runs in another binary of its package, built for it with an overlay that puts the place in.
//
// Input: the rewrites to spoil, from a test.
// Output: that test, run where they are wrong.
package wrongrules

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
)

// Spoil may make a rewrite of the passes fold, dispatch and selects wrong: the rule has changed d, of f, in place, or says that it equals v. The
// result takes the place of v. ctl is the function's.
type Spoil = func(ctl *rewrite.Control, rule *rewrite.Info, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value

// set sets what spoils rewrites. Only the other binary has it.
var set func(s Spoil)

// Set makes rewrites wrong to the end of a test, or until the next call. The test has called Elsewhere.
func Set(t testing.TB, s Spoil) {
	t.Helper()
	if set == nil {
		t.Fatal("this binary has no wrong rewrites")
	}
	set(s)
	t.Cleanup(func() { set(nil) })
}

// Elsewhere runs a test, which has to begin with it, in the binary whose rewrites can be wrong, and reports whether it did: then the test is
// over. It does not in that binary. The binary is in dir, for all tests of the package.
func Elsewhere(t *testing.T, dir string) bool {
	t.Helper()
	if set != nil {
		return false
	}
	binary := filepath.Join(dir, "wrongrules.test")
	if err := build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v", "-test.run=^" + regexp.QuoteMeta(t.Name()) + "$"}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") || f.Name == "test.short" {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	if end, ok := t.Deadline(); ok {
		args = append(args, fmt.Sprint("-test.timeout=", time.Until(end)))
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = source
	out, err := cmd.CombinedOutput()
	ended := func(how string) bool { return strings.Contains(string(out), "--- "+how+": "+t.Name()+" (") }
	switch {
	case err == nil && ended("SKIP"):
		t.Skipf("with wrong rewrites:\n%s", out)
	case err != nil || !ended("PASS"):
		t.Fatalf("with wrong rewrites: %v\n%s", err, out)
	}
	t.Logf("with wrong rewrites:\n%s", out)
	return true
}

// source is the folder of the package under test; tests may change to others.
var source, _ = os.Getwd()

var building sync.Mutex

// build builds the tests with wrong rewrites, if they are not there.
func build(ctx context.Context, binary string) error {
	building.Lock()
	defer building.Unlock()
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	overlay, err := overlay(filepath.Dir(binary))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay="+overlay, "-o", binary, ".")
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return nil
}

// edit puts text before the only occurrence of a text in a file, or in its place.
type edit struct {
	file, at, text string
	instead        bool
}

// edits are what gives the mid-end the place.
var edits = []edit{
	{file: "clif/opt/pipeline.go", at: "\to.cfgValid, o.threaded = false, false\n",
		text: "\tif o.Control == nil && Wrong != nil {\n\t\to.Control = &Control{Limit: -1}\n\t\tdefer func() { o.Control = nil }()\n\t}\n"},
	{file: "clif/opt/control.go", at: "\tif ctl.Trace {\n\t\tafter := c.textsFrom(start)\n\t\tswitch ",
		text: "\tif v != clif.NoValue || again {\n\t\tv = c.o.wrong(ctl.Log[n].Rule, c.f, d, v)\n\t}\n"},
	{file: "clif/opt/decided.go", at: "\t*slot = uint32(k)\n", text: "\tk = c.o.wrong(RuleConditionKnown.Info(), c.f, d, k)\n"},
	{file: "clif/opt/selects.go", at: "\t\t\t\tx[i] = uint32(v)\n", text: "\t\t\t\tv = o.wrong(RuleBranchSelect.Info(), f, d, v)\n"},
	{file: "clif/opt/dispatch.go", at: "args[k] = old[d.Num]\n", instead: true,
		text: "args[k] = uint32(o.wrong(ruleOf(f, e.block).Info(), f, &f.Insts[f.Terminator(e.block)], clif.Value(old[d.Num])))\n"},
	{file: "clif/opt/wrong.go", text: `package opt

import "github.com/waot-project/waot/clif"

// Wrong, if not nil, makes rewrites wrong.
var Wrong func(ctl *Control, rule *RuleInfo, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value

func (o *Optimizer) wrong(rule *RuleInfo, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
	if Wrong == nil || o.Control == nil {
		return v
	}
	return Wrong(o.Control, rule, f, d, v)
}
`},
	{file: "internal/proof/wrongrules/wrong.go", text: `package wrongrules

import "github.com/waot-project/waot/clif/opt"

func init() { set = func(s Spoil) { opt.Wrong = s } }
`},
}

// apply gives the text with the edit.
func (e *edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.at); n != 1 {
		return "", fmt.Errorf("%s: %q occurs %d times, not once", e.file, e.at, n)
	}
	if e.instead {
		return strings.Replace(text, e.at, e.text, 1), nil
	}
	return strings.Replace(text, e.at, e.text+e.at, 1), nil
}

// overlay writes the files of the overlay into dir. What another overlay replaces, for faults that the tests should notice, remains.
func overlay(dir string) (string, error) {
	root := source
	for !exists(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			return "", errors.New("there is no go.mod")
		}
		root = filepath.Dir(root)
	}
	replace, err := others()
	if err != nil {
		return "", err
	}
	for i := range edits {
		e := &edits[i]
		path := filepath.Join(root, filepath.FromSlash(e.file))
		text := e.text
		if e.at != "" {
			now := path
			if replace[path] != "" {
				now = replace[path]
			}
			b, err := os.ReadFile(now)
			if err == nil {
				text, err = e.apply(string(b))
			}
			if err != nil {
				return "", err
			}
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("wrongrules%d.go", i))
		if err := os.WriteFile(replace[path], []byte(text), 0o666); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "wrongrules.json")
	return file, os.WriteFile(file, text, 0o666)
}

// others is what the overlay in GOFLAGS, if there is one, replaces.
func others() (map[string]string, error) {
	flags := strings.Fields(os.Getenv("GOFLAGS"))
	i := slices.IndexFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-overlay=") })
	if i < 0 {
		return map[string]string{}, nil
	}
	var list struct{ Replace map[string]string }
	b, err := os.ReadFile(strings.TrimPrefix(flags[i], "-overlay="))
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	return list.Replace, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
