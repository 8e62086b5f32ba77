package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"

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
	// rewriting has the rules that never apply; its place is that of a try.
	rewriting rewriting
	// object is the file for objects. good says whether the one that is there is good.
	object string
	good   func() (bool, error)
	checks int
}

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
	o, last, w := b.opt, &opt.Control{}, b.rewriting
	w.at = &at
	o.Control = func(i clif.FuncIndex) *opt.Control {
		ctl := w.control(i)
		if int(i) == at.fn {
			ctl.Trace = true
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

// firstBad returns the smallest number n in (lo, hi] that is bad, where lo is good, hi is bad, and badness
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

// find searches: without the mid-end and rules of lowering, with all of them, without rewrites; then by functions, then by
// rewrites.
func (b *bisection) find() (*finding, error) {
	nothing := func(reason string) (*finding, error) { return &finding{Reason: reason, Checks: b.checks}, nil }
	none, last := b.nothing(), len(b.funcs)-1
	level := b.opt.OptLevel
	b.opt.OptLevel = opt.O0
	good, _, err := b.try(none)
	b.opt.OptLevel = level
	if err != nil {
		return nil, err
	}
	if !good {
		return nothing("bad without any rewrite at -O0 too: no rule is to blame")
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
		return nothing("bad without any rewrite, good so at -O0: it is the mid-end, but none of its rules")
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

// nothing returns the place before all rewrites.
func (b *bisection) nothing() place { return place{int(b.first) - 1, -1} }

// describe says what the rewrite at a place is; whole has all of the function.
func (b *bisection) describe(at place, whole *opt.Control) (*finding, error) {
	if at.n > len(whole.Log) {
		return nil, fmt.Errorf("%w twice with the same result: function %d", errCheck, at.fn)
	}
	r := &whole.Log[at.n-1]
	if _, ctl, _ := b.compile(at); len(ctl.Log) == at.n {
		r = &ctl.Log[at.n-1] // as it looks without later rewrites
	}
	info := r.Rule
	f := &finding{
		Func: uint32(at.fn), Name: b.funcs[at.fn].Name, Pass: info.Pass, Rule: info.Name, What: info.What, Rewrite: at.n,
		Rewrites: len(whole.Log), Offset: r.Src, Before: r.Before, After: r.After,
	}
	off := b.rewriting.off
	b.rewriting.off = maps.Clone(off)
	b.rewriting.off[info.Name] = true
	good, _, err := b.try(place{len(b.funcs) - 1, -1})
	b.rewriting.off = off
	f.Without, f.Checks = verdictOf(good), b.checks
	return f, err
}

// checker returns the check that --check asks for, or nil.
func checker(c *cli.Context, object string) func() (bool, error) {
	command := c.String("check")
	if command == "" {
		return nil
	}
	script := strings.ReplaceAll(command, "{}", quoted(object))
	return func() (bool, error) {
		e, err := attemptCheck(c, func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "sh", "-c", script) })
		return err == nil && !e.late && e.state.Success(), err
	}
}

// attemptCheck is attempt with the time of a check.
func attemptCheck(c *cli.Context, command func(ctx context.Context) *exec.Cmd) (*ending, error) {
	e, err := attempt(c.Duration("timeout"), command)
	if err != nil {
		err = fmt.Errorf("%w: %w", errCheck, err)
	}
	return e, err
}

// cannotRun reports whether waot run did not run the program: it could not load it, say, which has nothing to do with
// what the code does.
func cannotRun(status int, output string) bool {
	return (status == statusBad || status == statusUsage) && strings.HasPrefix(output, "waot: ") && !strings.Contains(output, ": wasm trap: ")
}

// sameAsPlain is the check without --check: the object does what the module file does at -O0 without rules of lowering, run by a waot of the target.
func (b *bisection) sameAsPlain(c *cli.Context, r *runner, file string) (func() (bool, error), error) {
	what := func() (string, error) {
		e, err := attemptCheck(c, func(ctx context.Context) *exec.Cmd {
			return r.pass(ctx, c, file, "run", "--object", b.object, "--stand-ins")
		})
		switch {
		case err != nil:
			return "", err
		case e.late:
			return "too late", nil
		}
		status, output := e.state.ExitCode(), e.stderr+e.stdout
		if cannotRun(status, output) {
			err = fmt.Errorf("%w: waot run says %q; --check names another", errCheck, strings.TrimSpace(output))
		}
		return fmt.Sprintf("status %d\n%s", status, output), err
	}
	plain := *b
	plain.opt.OptLevel = opt.O0
	object, _, err := plain.compile(b.nothing())
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
