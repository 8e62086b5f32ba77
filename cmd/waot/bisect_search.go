package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// bisection is a search for the rewrite that breaks a module.
type bisection struct {
	bin   []byte
	opt   compile.Options
	funcs []clif.FuncDecl // of the module, the init function last
	first uint32          // of them that is not imported
	off   [opt.NumRules]bool
	// object is the file for objects. good says whether the one that is there is good.
	object string
	good   func() (bool, error)
	checks int
	// plant, if not nil, spoils rewrites, in tests.
	plant func(r opt.Rule, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value
}

// place is a place in the order of all rewrites of a module: all of the functions before
// fn, the first n of fn, or all if n is negative, and none of the others.
type place struct{ fn, n int }

// finding is what a search found.
type finding struct {
	// Reason says why no rewrite was found; then there is no more but Checks.
	Reason   string   `json:"reason,omitempty"`
	Func     uint32   `json:"func"`
	Name     string   `json:"name,omitempty"` // of the function
	Pass     string   `json:"pass,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	What     string   `json:"what,omitempty"`     // the rule does
	Rewrite  int      `json:"rewrite,omitempty"`  // from 1
	Rewrites int      `json:"rewrites,omitempty"` // of the function
	Offset   uint32   `json:"offset,omitempty"`   // of the instruction in the module, 0 if unknown
	Before   string   `json:"before,omitempty"`
	After    []string `json:"after,omitempty"`
	Without  string   `json:"without_rule,omitempty"` // "good" or "bad": everything but that rule
	Checks   int      `json:"checks"`
	Again    string   `json:"again,omitempty"`
}

// compile compiles the module up to a place. The Control is that of the place's function.
func (b *bisection) compile(at place) ([]byte, *opt.Control, error) {
	o, last := b.opt, &opt.Control{}
	o.Control = func(i clif.FuncIndex) *opt.Control {
		ctl := &opt.Control{Limit: -1, Off: b.off, Plant: b.plant}
		switch {
		case int(i) > at.fn:
			ctl.Limit = 0
		case int(i) == at.fn:
			ctl.Limit, ctl.Trace = at.n, true
			last = ctl // one worker has the function
		}
		return ctl
	}
	r, err := compile.Module(b.bin, o)
	if err != nil {
		return nil, last, err
	}
	var object bytes.Buffer
	err = r.WriteELF(&object)
	return object.Bytes(), last, err
}

// try compiles up to a place and checks. A compiler that fails is bad.
func (b *bisection) try(at place) (good bool, ctl *opt.Control, err error) {
	object, ctl, err := b.compile(at)
	var failed *compile.FuncError
	if errors.As(err, &failed) && !errors.Is(err, backend.ErrUnsupported) {
		b.checks++
		return false, ctl, nil
	}
	if err == nil {
		err = os.WriteFile(b.object, object, 0o666)
	}
	if err != nil {
		return false, ctl, err
	}
	b.checks++
	good, err = b.good()
	return good, ctl, err
}

// firstBad is the smallest number n in (lo, hi] that is bad, where lo is good, hi is bad, and badness
// stays; if it does not, one that is bad after one that is good.
func firstBad(lo, hi int, good func(n int) (bool, error)) (int, error) {
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		ok, err := good(mid)
		switch {
		case err != nil:
			return 0, err
		case ok:
			lo = mid
		default:
			hi = mid
		}
	}
	return hi, nil
}

// find searches: without the mid-end, with all of it, without rewrites; then by functions, then by rewrites.
func (b *bisection) find() (*finding, error) {
	nothing := func(reason string) (*finding, error) { return &finding{Reason: reason, Checks: b.checks}, nil }
	none, last := place{int(b.first) - 1, -1}, len(b.funcs)-1
	level := b.opt.OptLevel
	b.opt.OptLevel = opt.O0
	good, _, err := b.try(none)
	b.opt.OptLevel = level
	if err != nil {
		return nil, err
	}
	if !good {
		return nothing("bad at -O0 too: it is not the mid-end")
	}
	if good, _, err = b.try(place{last, -1}); err != nil {
		return nil, err
	}
	if good {
		return nothing(fmt.Sprintf("good at -O%d: nothing to find", level))
	}
	if good, _, err = b.try(none); err != nil {
		return nil, err
	}
	if !good {
		return nothing("bad without any rewrite, good at -O0: it is the mid-end, but none of its rules")
	}
	at := func(fn, n int) (bool, error) {
		good, _, err := b.try(place{fn, n})
		return good, err
	}
	fn, err := firstBad(none.fn, last, func(fn int) (bool, error) { return at(fn, -1) })
	if err != nil {
		return nil, err
	}
	_, whole, err := b.compile(place{fn, -1})
	if err != nil && len(whole.Log) == 0 {
		return nil, err
	}
	n, err := firstBad(0, len(whole.Log), func(n int) (bool, error) { return at(fn, n) })
	if err != nil {
		return nil, err
	}
	return b.describe(place{fn, n}, whole)
}

// describe says what the rewrite at a place is; whole has all of the function.
func (b *bisection) describe(at place, whole *opt.Control) (*finding, error) {
	if at.n > len(whole.Log) {
		return nil, fmt.Errorf("%w twice with the same result: function %d", errCheck, at.fn)
	}
	r := &whole.Log[at.n-1]
	if _, ctl, _ := b.compile(at); len(ctl.Log) == at.n {
		r = &ctl.Log[at.n-1] // as it looks when nothing comes after
	}
	info := r.Rule.Info()
	f := &finding{
		Func: uint32(at.fn), Name: b.funcs[at.fn].Name, Pass: info.Pass, Rule: info.Name, What: info.What, Rewrite: at.n,
		Rewrites: len(whole.Log), Offset: r.Src, Before: r.Before, After: r.After,
	}
	b.off[r.Rule] = true
	good, _, err := b.try(place{len(b.funcs) - 1, -1})
	b.off[r.Rule] = false
	f.Without, f.Checks = verdictOf(good), b.checks
	return f, err
}

// checker is the check that --check asks for, or nil.
func checker(c *cli.Context, object string) func() (bool, error) {
	command := c.String("check")
	if command == "" {
		return nil
	}
	script := strings.ReplaceAll(command, "{}", quoted(object))
	return func() (bool, error) {
		status, _, err := runProgram(c.Duration("timeout"), "sh", "-c", script)
		return status == 0, err
	}
}

// runProgram runs a program; the status is -1 if it was ended, and output what it printed.
func runProgram(timeout time.Duration, program string, args ...string) (status int, output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // what it has started may keep the pipes
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return -1, "too late", nil
	case err != nil && !errors.As(err, &exit):
		return 0, "", fmt.Errorf("%w: %w", errCheck, err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String() + stdout.String(), nil
}

// cannotRun reports whether waot run did not run the program: it could not load it, say, which has nothing to do with
// what the code does.
func cannotRun(status int, output string) bool {
	return (status == statusBad || status == statusUsage) && strings.HasPrefix(output, "waot: ") && !strings.Contains(output, ": wasm trap: ")
}

// sameAsPlain is the check without --check: the object does what the module does at -O0, run by the waot of that path.
func (b *bisection) sameAsPlain(c *cli.Context, self string) (func() (bool, error), error) {
	args := []string{"run", b.object}
	if b.opt.Target != compile.HostTarget() {
		args = append(args, "--target="+b.opt.Target)
	}
	for _, name := range []string{"dir", "env"} {
		for _, v := range c.StringSlice(name) {
			args = append(args, "--"+name+"="+v)
		}
	}
	if c.IsSet("invoke") {
		args = append(args, "--invoke="+c.String("invoke"))
	}
	args = append(append(args, "--"), c.Args().Tail()...)
	what := func() (string, error) {
		status, output, err := runProgram(c.Duration("timeout"), self, args...)
		if err == nil && cannotRun(status, output) {
			err = fmt.Errorf("%w: waot run says %q; --check names another", errCheck, strings.TrimSpace(output))
		}
		return fmt.Sprintf("status %d\n%s", status, output), err
	}
	plain := *b
	plain.opt.OptLevel = opt.O0
	object, _, err := plain.compile(place{len(b.funcs), -1})
	if err == nil {
		err = os.WriteFile(b.object, object, 0o666)
	}
	if err != nil {
		return nil, err
	}
	want, err := what()
	return func() (bool, error) {
		got, err := what()
		return got == want, err
	}, err
}
