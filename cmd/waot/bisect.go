package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/wasmfront/translate"
)

func bisectCommand() *cli.Command {
	return &cli.Command{
		Name:      "bisect",
		Usage:     "find the rewrite that breaks a module",
		UsageText: "waot bisect MODULE [--check COMMAND | --invoke NAME] [OPTIONS] [-- ARGS...]",
		Description: `Compiles the module again and again, with more or fewer of the rewrites of the mid-end
and of lowering, until it has the one after which a check fails, and prints its
function, pass and rule, and what the instruction was and became.

The check is that the module, run here as waot run does, with the same --dir, --env,
--invoke and ARGS, prints and ends like the module compiled without any rewrite. Functions
that it imports beside WASI's have stand-ins, whose calls count as output.
With --check, it is a command for sh, in which {} stands for the object: exit
status 0 is good. What takes longer than --timeout is bad.

The rewrites of a module have an order: by function, and in a function as they happen:
first those of the mid-end, then those of lowering, which are the target's.
--rewrites F:N compiles with all of the functions before function F, the first N of F,
and no other, checks that once, and with -o writes the object. Other commands take
the same place.

Code for another target runs in an emulator, unless --check runs it.

Exits with 0 if a rewrite was found, or what --rewrites checked is good; else with 1.

Examples:
  waot bisect app.wasm -- file.txt
  waot bisect app.wasm --check 'cc main.c {} -o main && ./main | cmp - want'
  waot bisect app.wasm --rewrites 12:34 -o bad.o
  waot bisect app.wasm --rules-off mul-pow2,udiv-const
  waot bisect app.wasm --target=aarch64-linux
  waot bisect --rules`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "check", Usage: "the `COMMAND` that says whether the object {} is good"},
			&cli.StringSliceFlag{Name: "dir", Usage: "give the program a directory: `HOST::GUEST`"},
			&cli.StringSliceFlag{Name: "env", Usage: "set a variable of the program: `K=V`"},
			&cli.StringFlag{Name: "invoke", Usage: "call the exported function `NAME`"},
			&cli.DurationFlag{Name: "timeout", Value: time.Minute, Usage: "end each check after `TIME`"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "with --rewrites: the object to write, `OUT.o`"},
			jsonFlag(),
		}, runnerFlags(), compileFlags()),
		Action: bisectAction,
	}
}

func bisectAction(c *cli.Context) error {
	if c.Bool("rules") {
		o, err := readOptions(c)
		if err != nil {
			return err
		}
		for _, r := range compile.Rules(o.target) {
			printf(c, "%-9s %-21s %s\n", r.Pass, r, r.What)
		}
		return nil
	}
	if !c.Args().Present() {
		return usagef("bisect: no module given (see waot bisect --help)")
	}
	file := c.Args().First()
	o, err := readOptions(c)
	if err != nil {
		return err
	}
	once := c.IsSet("rewrites")
	switch {
	case c.IsSet("output") && !once:
		return usagef("bisect: -o wants --rewrites")
	case once && o.rewrites.at == nil:
		return usagef("bisect: --rewrites=%s: must be F:N, a function and a number of its rewrites", c.String("rewrites"))
	case c.IsSet("check") && (c.IsSet("emulator") || c.IsSet("runner")):
		return usagef("bisect: --check runs the object itself, without --emulator and --runner")
	}
	src, err := readSource(c, file)
	if err != nil {
		return err
	}
	b, err := newBisection(c.Context, src, o)
	if err != nil {
		return src.fail(err)
	}
	if err := o.rewrites.within(int(b.first), len(b.funcs)-1); err != nil {
		return err
	}
	dir, err := emulate.NewFolder("waot-bisect-")
	if err != nil {
		return err
	}
	defer dir.Remove()
	b.object = filepath.Join(dir.Path, "object.o")
	if b.good = checker(c, b.object); b.good == nil {
		r, err := newRunner(c, o)
		if err != nil {
			return err
		}
		defer r.close()
		if b.good, err = b.sameAsPlain(c, r, file); err != nil {
			return inFile(file, err)
		}
	}
	if once {
		return b.checkAt(c, file, *o.rewrites.at)
	}
	found, err := b.find()
	if err != nil {
		return inFile(file, err)
	}
	found.Again = again(c, file, found)
	if c.Bool("json") {
		writeJSON(c.App.Writer, found)
	} else {
		found.print(c, file)
	}
	if found.Rule == "" {
		return exitStatus(statusBad)
	}
	return nil
}

// newBisection prepares the bisection of a module.
func newBisection(ctx context.Context, src *source, o *options) (*bisection, error) {
	m, err := validated(ctx, src.b, o.compileOptions().Features)
	if err != nil {
		return nil, err
	}
	b := &bisection{rewriting: rewriting{off: map[string]bool{}}, bin: src.b, opt: o.compileOptions(), funcs: translate.Module(m, m.DecodeNames()).Funcs, first: m.NumImportedFuncs}
	if o.rewrites != nil {
		b.rewriting = *o.rewrites
	}
	b.opt.Name = nameOf(src.file)
	return b, nil
}

// checkAt checks one place.
func (b *bisection) checkAt(c *cli.Context, file string, at place) error {
	good, ctl, err := b.try(at)
	if err != nil {
		return inFile(file, err)
	}
	if out := c.String("output"); out != "" {
		object, err := readFile(c, b.object, input.Object)
		if err == nil {
			err = os.WriteFile(out, object, 0o666)
		}
		if err != nil {
			return inFile(out, err)
		}
	}
	verdict := verdictOf(good)
	if c.Bool("json") {
		writeJSON(c.App.Writer, struct {
			Verdict  string `json:"verdict"`
			Rewrites int    `json:"rewrites"` // of the function
		}{verdict, len(ctl.Log)})
	} else {
		printf(c, "%s: %s with %d rewrites of function %d\n", quote.Name(file), verdict, len(ctl.Log), at.fn)
	}
	if !good {
		return exitStatus(statusBad)
	}
	return nil
}

// again returns the command line that checks the place that was found.
func again(c *cli.Context, file string, f *finding) string {
	if f.Rule == "" {
		return ""
	}
	words := []string{"waot", "bisect", quoted(file), fmt.Sprintf("--rewrites=%d:%d", f.Func, f.Rewrite)}
	for _, name := range c.LocalFlagNames() {
		switch name {
		case "rewrites", "output", "o", "json", "rules", "O":
			continue
		}
		values := c.StringSlice(name)
		if values == nil {
			values = []string{fmt.Sprint(c.Value(name))}
		}
		for _, v := range values {
			words = append(words, quoted("--"+name+"="+v))
		}
	}
	if args := c.Args().Tail(); len(args) > 0 {
		words = append(words, "--")
		for _, a := range args {
			words = append(words, quoted(a))
		}
	}
	return strings.Join(words, " ")
}

// quoted returns a word as a shell takes it.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+./:,@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	if quote.Name(s) != s { // as bash and zsh take it
		q := strconv.QuoteToASCII(s)
		return "$'" + strings.ReplaceAll(q[1:len(q)-1], "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func verdictOf(good bool) string {
	if good {
		return "good"
	}
	return "bad"
}

// print writes what was found.
func (f *finding) print(c *cli.Context, file string) {
	if f.Rule == "" {
		printf(c, "%s: %s\n%d checks\n", quote.Name(file), quote.Name(f.Reason), f.Checks)
		return
	}
	name := ""
	if f.Name != "" {
		name = " (" + quote.Name(f.Name) + ")"
	}
	printf(c, "%s: function %d%s: pass %s, rule %s, rewrite %d of %d\n", quote.Name(file), f.Func, name, f.Pass, f.Rule, f.Rewrite, f.Rewrites)
	if f.Offset != 0 {
		printf(c, "  offset 0x%x in the module\n", f.Offset)
	}
	printf(c, "  rule:   %s\n  before: %s\n", f.What, f.Before)
	for i, line := range f.After {
		printf(c, "  %-7s %s\n", [...]string{"after:", ""}[min(i, 1)], line)
	}
	if len(f.After) == 0 {
		printf(c, "  after:  nothing\n")
	}
	printf(c, "without that rule: %s; %d checks\nagain: %s\n", f.Without, f.Checks, f.Again)
}

// errCheck is a check that could not be made.
var errCheck = errors.New("the check could not be made")
