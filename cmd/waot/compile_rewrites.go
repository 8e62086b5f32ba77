package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/compile"
)

// rewriteFlags are the flags that say which rewrites of the mid-end and of lowering happen.
func rewriteFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "rules-off", Usage: "never apply these rules, or those of these passes: a list of `NAME`s (waot bisect --rules has them)"},
		&cli.StringFlag{Name: "rewrites", Usage: "apply only the first N rewrites of each function, or those of the module up to the Nth of function F: `N|F:N`"},
	}
}

// rewriting says which rewrites of the mid-end and of lowering happen. They have an order, by function, and in a function
// as they happen: first those of the mid-end, which are the same for every target, then those of lowering. It is the
// same for any number of workers.
type rewriting struct {
	// off is opt.Control's Off.
	off map[string]bool
	// each is how many rewrites of a function happen; with a negative number, all. at, if not nil, takes its place.
	each  int
	at    *place
	flags string // as given, for reports
}

// place is a place in the order of all rewrites of a module: all of the functions before
// fn, the first n of fn, or all if n is negative, and none of the others.
type place struct{ fn, n int }

// readRewriting reads rewriteFlags; the result is nil if there are none.
func readRewriting(c *cli.Context) (*rewriting, error) {
	if !c.IsSet("rules-off") && !c.IsSet("rewrites") {
		return nil, nil
	}
	w := &rewriting{each: -1, off: map[string]bool{}}
	for _, name := range []string{"rules-off", "rewrites"} {
		if c.IsSet(name) {
			w.flags += " --" + name + "=" + c.String(name)
		}
	}
	if err := w.readRules(c.String("rules-off")); err != nil || !c.IsSet("rewrites") {
		return w, err
	}
	return w, w.readCount(c.String("rewrites"))
}

// readRules reads --rules-off.
func (w *rewriting) readRules(list string) error {
	var all []*rewrite.Info
	for _, target := range compile.Targets() {
		all = append(all, compile.Rules(target)...)
	}
	for name := range strings.SplitSeq(list, ",") {
		named := func(rule *rewrite.Info) bool { return rule.Name == name || rule.Pass == name }
		if name != "" && !slices.ContainsFunc(all, named) {
			return usagef("--rules-off=%s: no such rule or pass; waot bisect --rules lists them", name)
		}
		w.off[name] = true
	}
	return nil
}

// readCount reads --rewrites.
func (w *rewriting) readCount(count string) error {
	fn, n, placed := strings.Cut(count, ":")
	if !placed {
		fn, n = "0", fn
	}
	f, err1 := strconv.ParseUint(fn, 10, 31)
	rewrites, err2 := strconv.ParseUint(n, 10, 31)
	switch {
	case cmp.Or(err1, err2) != nil:
		return usagef("--rewrites=%s: must be N, a number of rewrites of each function, or F:N, a function and a number of its rewrites", count)
	case placed:
		w.at = &place{int(f), int(rewrites)}
	default:
		w.each = int(rewrites)
	}
	return nil
}

// within returns an error unless the function of --rewrites=F:N, if any, has code: it is from first to last.
func (w *rewriting) within(first, last int) error {
	if w == nil || w.at == nil || w.at.fn >= first && w.at.fn <= last {
		return nil
	}
	return usagef("--rewrites=%d:%d: the functions with code are %d to %d", w.at.fn, w.at.n, first, last)
}

// withinModule is within for a compiled module.
func (w *rewriting) withinModule(r *compile.Result) error {
	first, last := 0, len(r.Meta.Funcs)-1 // the init function
	for first < last && r.Meta.Funcs[first].Import != nil {
		first++
	}
	return w.within(first, last)
}

// control is compile.Options.Control; all rewrites happen if w is nil.
func (w *rewriting) control(i clif.FuncIndex) *opt.Control {
	if w == nil {
		return nil
	}
	ctl := &opt.Control{Limit: w.each, Off: w.off}
	if w.at != nil {
		ctl.Limit = w.at.limit(i)
	}
	return ctl
}

// limit returns how many rewrites of function i happen; with a negative number, all.
func (p place) limit(i clif.FuncIndex) int {
	switch {
	case int(i) < p.fn:
		return -1
	case int(i) == p.fn:
		return p.n
	}
	return 0
}
