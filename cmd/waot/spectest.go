package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/remote"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront/wat"
)

// specResult is what spectest --json prints for each script, and for all.
type specResult struct {
	Script   string         `json:"script,omitempty"`
	Passed   int            `json:"passed"`
	Failed   int            `json:"failed"`
	Skipped  map[string]int `json:"skipped,omitempty"` // by reason
	Failures []specFailure  `json:"failures,omitempty"`
}

type specFailure struct {
	Script string `json:"script"`
	Line   int    `json:"line"`
	Msg    string `json:"msg"`
}

func spectestCommand() *cli.Command {
	return &cli.Command{
		Name:      "spectest",
		Usage:     "run the official test scripts",
		UsageText: "waot spectest PATH... [--engine=native|interp] [OPTIONS]",
		Description: `PATH is a script: an official .wast file as it is, or wabt's JSON form of one (its
modules beside it). Or it is a folder of scripts, a zip file of them, or a folder of
those; a script that is there in both forms is read as JSON, unless there is --text.
Exits with 1 if a command fails, or a script cannot be read or has what waot does not
know.
Native code for another target is compiled here and runs in an emulator.

Examples:
  waot spectest i32.wast
  waot spectest core.zip --engine=interp
  waot spectest suite/ --json -O0
  waot spectest core.zip --text
  waot spectest misc.wast --import-names
  waot spectest core.zip --target=aarch64-linux`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "engine", Value: "native", Usage: "native code, or the interpreter of the intermediate form: native, interp"},
			&cli.BoolFlag{Name: "serve", Hidden: true, Usage: "execute what another waot compiles, which talks on standard input and output"},
			&cli.BoolFlag{Name: "import-names", Usage: "let modules import from (module $x) as x, without (register \"x\"), as scripts of wasmtime's do"},
			&cli.BoolFlag{Name: "text", Usage: "read the scripts of folders and zip files from their .wast files"},
			jsonFlag(),
		}, runnerFlags(), compileFlags()),
		Action: spectestAction,
	}
}

// serveSpectest executes objects for specEngine in another process.
func serveSpectest(c *cli.Context) error {
	return remote.Serve(&nativeengine.Engine{Image: loadCompiled, Config: plentyOfFuel()}, compile.HostTarget(), c.App.Reader, c.App.Writer)
}

// specEngine returns the engine that the flags ask for, with what ends it.
func specEngine(c *cli.Context, o *options) (e spectest.Engine, end func() error, err error) {
	none := func() error { return nil }
	switch c.String("engine") {
	case "native":
		if elsewhere(c, o) {
			return remoteEngine(c, o)
		}
		return &nativeengine.Engine{Options: o.compileOptions(), Config: plentyOfFuel()}, none, nil
	case "interp":
		for _, name := range [...]string{"regalloc", "regalloc-check", "spectre"} {
			if c.IsSet(name) {
				return nil, nil, usagef("spectest: the interpreter does without machine code: --%s=%v", name, c.Value(name))
			}
		}
		return interpreter(o), none, nil
	}
	return nil, nil, oneOf("engine", c.String("engine"), "native", "interp")
}

// remoteEngine compiles here and executes in a process of the target.
func remoteEngine(c *cli.Context, o *options) (spectest.Engine, func() error, error) {
	r, err := newRunner(c, o)
	if err != nil {
		return nil, nil, err
	}
	native := &nativeengine.Engine{Options: o.compileOptions(), Config: plentyOfFuel()}
	cmd := r.command(context.Background(), "spectest", "--serve")
	cmd.Stderr = c.App.ErrWriter
	e, err := remote.Start(cmd, remote.Config{
		Name: native.Name() + " on " + o.target, Features: native.Features(), About: o.target, Start: emulate.Start,
		Compile: func(wasm []byte) ([]byte, error) {
			res, err := compile.Module(wasm, native.Options)
			if err != nil {
				return nil, err
			}
			return (&artifact{result: res}).portable()
		},
	})
	if err != nil {
		return nil, nil, errors.Join(err, r.close())
	}
	return e, func() error { return errors.Join(e.Close(), r.close()) }, nil
}

// plentyOfFuel is for scripts, whose code may count it.
func plentyOfFuel() inproc.Config { return inproc.Config{Fuel: math.MaxInt64} }

func spectestAction(c *cli.Context) (err error) {
	if c.Bool("serve") {
		return serveSpectest(c)
	}
	if !c.Args().Present() {
		return usagef("spectest: no path given (see waot spectest --help)")
	}
	o, err := readOptions(c)
	if err != nil {
		return err
	}
	engine, end, err := specEngine(c, o)
	if err != nil {
		return err
	}
	defer func() {
		if e := end(); err == nil {
			err = e
		}
	}()
	var each []specResult
	total := &spectest.Result{Skipped: map[string]int{}}
	open := (*script.Group).Script
	if c.Bool("text") {
		open = (*script.Group).Text
	}
	for _, path := range c.Args().Slice() {
		scripts(path, open, func(name string, s *script.Script, err error) {
			r := runScript(engine, spectest.Options{ImportNames: c.Bool("import-names")}, name, s, err)
			total.Add(r)
			each = append(each, specJSON(name, r))
			if !c.Bool("json") {
				printScript(c, name, r)
			}
		})
	}
	if c.Bool("json") {
		sum := specJSON("", total)
		sum.Failures = nil
		writeJSON(c.App.Writer, struct {
			Engine  string       `json:"engine"`
			Scripts []specResult `json:"scripts"`
			Total   specResult   `json:"total"`
		}{engine.Name(), each, sum})
	} else {
		printf(c, "%s: %d scripts: %v\n", engine.Name(), len(each), total)
	}
	if total.Failed > 0 {
		return exitStatus(statusBad)
	}
	return nil
}

// interpreter returns the engine for the intermediate form, after the mid-end if the
// level asks for it.
func interpreter(o *options) spectest.Engine {
	e := &interpengine.Engine{Label: fmt.Sprintf("-O%d", o.level), Translation: o.translation(), Options: interp.Options{Fuel: math.MaxInt64}}
	if o.level > 0 {
		var mid opt.Optimizer
		e.Rewrite = func(f *clif.Func) error {
			mid.Control = o.rewrites.control(f.Index)
			return mid.Run(f, opt.Level(o.level))
		}
	}
	return e
}

func specJSON(name string, r *spectest.Result) specResult {
	j := specResult{Script: name, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped}
	for _, f := range r.Failures {
		j.Failures = append(j.Failures, specFailure(f))
	}
	return j
}

func printScript(c *cli.Context, name string, r *spectest.Result) {
	verdict := "ok  "
	if r.Failed > 0 {
		verdict = "FAIL"
	}
	printf(c, "%s %-28s %v\n", verdict, quote.Name(name), r)
	for _, f := range r.Failures {
		printf(c, "     %s\n", quote.Name(f.String()))
	}
}

// runScript runs a script. One that could not be read, which err says, or run, is a failure.
func runScript(e spectest.Engine, o spectest.Options, name string, s *script.Script, err error) *spectest.Result {
	if err == nil {
		var r *spectest.Result
		if r, err = o.Run(s, e); err == nil {
			return r
		}
	}
	failure := spectest.Failure{Script: name, Msg: firstLine(err)}
	var text *wat.Error
	if errors.As(err, &text) {
		failure = spectest.Failure{Script: text.File, Line: text.Line, Msg: strings.TrimPrefix(failure.Msg, text.File+":")}
	}
	return &spectest.Result{Failed: 1, Failures: []spectest.Failure{failure}}
}

// opener opens the script of that name in a group.
type opener func(g *script.Group, name string) (*script.Script, error)

// scripts visits the scripts at a path by name; err is why one, or all there may be, could not
// be read.
func scripts(path string, open opener, visit func(name string, s *script.Script, err error)) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		visit(path, nil, err)
	case script.IsScript(path):
		s, err := script.Open(path)
		visit(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), s, err)
	case strings.HasSuffix(path, ".zip"), st.IsDir() && hasScripts(path):
		g, err := script.OpenGroup(path)
		groupScripts(path, g, err, open, visit)
	case !st.IsDir():
		visit(path, nil, errors.New("neither a .wast or .json script nor a .zip file nor a folder"))
	default:
		suite, err := script.OpenSuite(path)
		if err != nil {
			visit(path, nil, err)
			return
		}
		for _, name := range suite.Groups() {
			g, err := suite.Group(name)
			groupScripts(name, g, err, open, visit)
		}
	}
}

// hasScripts reports whether a folder is a group. Beside zip files, which are groups, JSON is something else.
func hasScripts(dir string) bool {
	groups, _ := filepath.Glob(filepath.Join(dir, "*.zip"))
	return script.HasScripts(dir) && len(groups) == 0
}

// groupScripts visits the scripts of a group.
func groupScripts(group string, g *script.Group, err error, open opener, visit func(string, *script.Script, error)) {
	if err == nil && len(g.Scripts) == 0 {
		err = errors.New("no test scripts")
	}
	if err != nil {
		visit(group, nil, err)
		return
	}
	for _, name := range g.Scripts {
		s, err := open(g, name)
		visit(name, s, err)
	}
}
