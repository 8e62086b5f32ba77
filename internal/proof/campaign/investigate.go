package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/reduce"
	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/validate"
)

// onlyPlace is the kind of difference that is one of places of traps and nothing else.
const onlyPlace = "place of a trap"

// outOfSteps is the kind of what cannot be compared, because the CLIF interpreter has used up the steps that a reduced program may take.
const outOfSteps = "out of steps"

// kind returns the kind of a difference. All differences of results are of one kind.
func kind(got, want *randprog.Outcome) string {
	switch {
	case got == nil || got.Diff(want) == "":
		return ""
	case got.OnlyPlaces(want):
		return onlyPlace
	}
	what, _, _ := strings.Cut(got.Failed, ":")
	return "different " + what
}

// differs says how a variant, nil for the interpreter, differs from the judge, and the kind of the difference. Both are empty if
// it does not differ, or if the program cannot be compared: it uses up the stack, or the reference engines disagree. If it does not end
// soon, the kind is outOfSteps.
func (w *worker) differs(ctx context.Context, p *randprog.Program, v *Variant, set func(*compile.Options)) (how, sort string) {
	slow := randprog.Run(randprog.Bounded(), p)
	switch {
	case slow.TooLong():
		return "", outOfSteps
	case v != nil && slow.Failed != "":
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	want, _, err := randprog.Judge(ctx, p)
	if err != nil || slices.ContainsFunc(slices.Concat(want.Calls, want.Again), func(r randprog.Result) bool { return r.Overflowed() }) {
		return "", ""
	}
	if v == nil {
		return slow.Diff(want), kind(slow, want)
	}
	if slow.Diff(want) != "" {
		return "", ""
	}
	want = slow // which knows the places of traps, too
	limits := randprog.Bounded().Options
	limits.MaxSteps *= 8 // the plain program took at most MaxSteps, and a rewrite may turn one step into several
	got, err := w.runVariant(p, v, set, limits)
	if err != nil || got == nil {
		return "", ""
	}
	return got.Diff(want), kind(got, want)
}

// shortTimeout is for programs that are being reduced: the rest of a wrong one may never end, which is not the difference
// in question.
const shortTimeout = 2 * time.Second

// investigate reduces a program that differs, looks for the rewrite that causes it, and records everything.
func (w *worker) investigate(ctx context.Context, p *randprog.Program, v *Variant, x *Failure) {
	deadline := time.Now().Add(w.cfg.ReduceFor)
	_, sort := w.differs(ctx, p, v, nil)
	small := p
	how := x.Diff
	var err error
	switch sort {
	case outOfSteps:
		x.Small = "the CLIF interpreter runs out of steps, so that nothing smaller can be compared"
		x.NoFileTest = "it is not made small"
		sort = "" // of the whole program it is not known
	case "":
		x.Small = "another time it does not differ, or cannot be compared"
		x.NoFileTest = "it is not made small"
	default:
		patient := w.hurry(v, sort)
		small = w.shrink(p, x, func(p *randprog.Program) bool {
			if time.Now().After(deadline) || ctx.Err() != nil {
				return false
			}
			_, s := w.differs(ctx, p, v, nil)
			if s == outOfSteps {
				x.OutOfSteps++
			}
			return s == sort
		})
		x.Rewrite = "no rewrite: it is not compiled"
		if v != nil {
			x.Rewrite = w.bisect(ctx, small, v)
		}
		patient()
		how, _ = w.differs(ctx, small, v, nil)
		x.Small = how
		if x.FileTest, err = w.fileTest(ctx, small, v, sort); err != nil {
			x.NoFileTest = err.Error()
		}
		x.Reduced, x.Calls = small.Wasm, len(small.Calls)
		x.Listing, _ = printer.String(small.Wasm)
	}
	found := fmt.Sprintf("seed %d, %s", x.Seed, x.Variant)
	x.File, err = w.programFile(ctx, []string{found, how}, small, v, sort)
	if err != nil && small != p { // perhaps it depends on other content of memory
		x.File, err = w.programFile(ctx, []string{found, x.Diff}, p, v, sort)
	}
	if err != nil {
		x.NoFile = err.Error()
	}
	if w.cfg.Dir != "" {
		x.Dir = w.write(p, small, v, x)
	}
}

// hurry bounds the time of each run until its result is called, unless the difference in question is that a program does not
// end.
func (w *worker) hurry(v *Variant, sort string) func() {
	if v == nil || v.Target == "" || sort == kind(&randprog.Outcome{Failed: endless}, &randprog.Outcome{}) {
		return func() {}
	}
	m := w.machine(v)
	before := m.timeout
	m.timeout = min(m.timeout, shortTimeout)
	return func() { m.timeout = before }
}

// shrink leaves out calls, then makes the module small, then leaves out calls again.
func (w *worker) shrink(p *randprog.Program, x *Failure, shows func(*randprog.Program) bool) *randprog.Program {
	small := w.fewerCalls(p, x, shows)
	b, stats, err := reduce.Module(small.Wasm, reduce.Options{MaxTries: 3000}, func(b []byte) bool { return shows(small.With(b)) })
	x.Tries += stats.Tries
	if err != nil {
		return small
	}
	return w.fewerCalls(small.With(b), x, shows)
}

// fewerCalls leaves out as many calls as it can.
func (w *worker) fewerCalls(p *randprog.Program, x *Failure, shows func(*randprog.Program) bool) *randprog.Program {
	for size := len(p.Calls); size > 0; size /= 2 {
		for to := len(p.Calls); to > 0; to -= size {
			q := *p
			q.Calls = slices.Delete(slices.Clone(p.Calls), max(to-size, 0), to)
			if x.Tries++; shows(&q) {
				p = &q
			}
		}
	}
	return p
}

// bisect says which rewrite, of the mid-end or of lowering, causes the difference, or why none does.
func (w *worker) bisect(ctx context.Context, p *randprog.Program, v *Variant) string {
	wm, err := validate.Module(p.Wasm, validate.Config{})
	if err != nil {
		return err.Error()
	}
	last := len(wm.Funcs) // the init function
	var log []opt.Rewrite
	// bad compiles with all rewrites of functions before fn, and with the first n of fn, or all if n is negative.
	bad := func(fn, n int) bool {
		ctl := &opt.Control{}
		how, _ := w.differs(ctx, p, v, func(o *compile.Options) {
			spoiled := o.Control
			o.Control = func(i clif.FuncIndex) *opt.Control {
				c := &opt.Control{Limit: -1}
				if spoiled != nil {
					c = spoiled(i)
				}
				switch {
				case int(i) > fn:
					c.Limit = 0
				case int(i) == fn:
					c.Limit, c.Trace = n, true
					ctl = c
				}
				return c
			}
		})
		log = slices.Clone(ctl.Log)
		return how != ""
	}
	plain := *v
	plain.Level, plain.NoLowering = opt.O0, true
	if how, _ := w.differs(ctx, p, &plain, nil); how != "" {
		return "without any rewrite at -O0 too: no rule is to blame"
	}
	switch {
	case bad(-1, -1):
		return "without any rewrite too, but not so at -O0: it is the mid-end, but none of its rules"
	case !bad(last, -1):
		return "it does not differ when the rewrites are observed"
	}
	fn := firstBad(-1, last, func(fn int) bool { return bad(fn, -1) })
	bad(fn, -1)
	n := firstBad(0, len(log), func(n int) bool { return bad(fn, n) })
	bad(fn, n)
	if len(log) < n || n == 0 {
		return fmt.Sprintf("function %d", fn)
	}
	r := &log[n-1]
	return fmt.Sprintf("function %d, pass %s, rule %v, rewrite %d: %s => %s", fn, r.Rule.Pass, r.Rule, n, r.Before, strings.Join(r.After, "; "))
}

// firstBad returns the smallest bad number in (lo, hi], if hi is bad and every number above a bad one is bad.
func firstBad(lo, hi int, bad func(int) bool) int {
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; bad(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// write writes everything that reproduces the difference to a new folder, and returns the folder; "" if it fails.
func (w *worker) write(p, small *randprog.Program, v *Variant, x *Failure) string {
	dir := filepath.Join(w.cfg.Dir, strings.NewReplacer(" ", "_", "/", "_").Replace(fmt.Sprintf("seed%d-%s", x.Seed, x.Variant)))
	if os.MkdirAll(dir, 0o777) != nil {
		return ""
	}
	target := "host"
	if v != nil && v.Target != "" {
		target = v.Target
	}
	files := map[string]string{}
	holds := "for testdata/programs: none, " + x.NoFile
	if x.File != nil {
		files["program.json"] = string(x.File)
		holds = "for testdata/programs: program.json"
	}
	holds += "\nfor testdata/clif: "
	if x.FileTest != "" {
		files["small.clif"] = x.FileTest
		holds += "small.clif"
	} else {
		holds += "none, " + x.NoFileTest
	}
	files["report.txt"] = fmt.Sprintf("seed %d, %s\n%s\n\nmade small (%d bytes to %d, %d tries): %s\n%s\n\ncalls:\n%s\n%s\nagain: %s -seed %d -n 1 -targets %s\n", x.Seed, x.Variant, x.Diff,
		len(p.Wasm), len(small.Wasm), x.Tries, x.Small, x.Rewrite, callList(small.Calls), holds, w.cfg.Again, x.Seed, target)
	files["module.wasm"], files["env.wasm"] = string(p.Wasm), string(p.Env)
	files["small.wasm"], files["small.wat"] = string(small.Wasm), x.Listing
	for name, text := range files {
		if os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) != nil {
			return ""
		}
	}
	return dir
}

func callList(calls []wasmgen.Call) string {
	var b strings.Builder
	for i := range calls {
		c := &calls[i]
		fmt.Fprintf(&b, "  %s", c.Export)
		words := c.Args
		for _, t := range []byte(c.Params) {
			if t == 'v' {
				fmt.Fprintf(&b, " v:0x%016x%016x", words[1], words[0])
				words = words[2:]
				continue
			}
			fmt.Fprintf(&b, " %c:%#x", t, words[0])
			words = words[1:]
		}
		b.WriteString("\n")
	}
	return b.String()
}
