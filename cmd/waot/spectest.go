package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/remote"
	"github.com/waot-project/waot/spectest/script"
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
		Description: `PATH is a script in wabt's JSON form (its modules beside it), a folder of such
scripts, a zip file of them, or a folder of those. Exits with 1 if a command fails.
Native code for another target is compiled here and runs in an emulator.

Examples:
  waot spectest i32.json
  waot spectest core.zip --engine=interp
  waot spectest suite/ --json -O0
  waot spectest core.zip --target=aarch64-linux`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "engine", Value: "native", Usage: "native code, or the interpreter of the intermediate form: native, interp"},
			&cli.BoolFlag{Name: "serve", Hidden: true, Usage: "execute what another waot compiles, which talks on standard input and output"},
			jsonFlag(),
		}, runnerFlags(), compileFlags()),
		Action: spectestAction,
	}
}

// serveSpectest executes objects for specEngine in another process.
func serveSpectest(c *cli.Context) error {
	return remote.Serve(&nativeengine.Engine{Image: loadPortable}, compile.HostTarget(), c.App.Reader, c.App.Writer)
}

// specEngine is the engine that the flags ask for, with what ends it.
func specEngine(c *cli.Context, o *options) (e spectest.Engine, end func() error, err error) {
	none := func() error { return nil }
	switch c.String("engine") {
	case "native":
		if elsewhere(c, o) {
			return remoteEngine(c, o)
		}
		return &nativeengine.Engine{Options: o.compileOptions()}, none, nil
	case "interp":
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
	native := &nativeengine.Engine{Options: o.compileOptions()}
	cmd := r.command(context.Background(), "spectest", "--serve")
	cmd.Stderr = c.App.ErrWriter
	e, err := remote.Start(cmd, remote.Config{
		Name: native.Name() + " on " + o.target, Features: native.Features(), About: o.target,
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
	for _, path := range c.Args().Slice() {
		err := scripts(path, func(s *script.Script) error {
			r, err := spectest.Run(s, engine)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			total.Add(r)
			each = append(each, specJSON(s.Name, r))
			if !c.Bool("json") {
				printScript(c, s.Name, r)
			}
			return nil
		})
		if err != nil {
			return inFile(path, err)
		}
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

// interpreter is the engine for the intermediate form, after the mid-end if the
// level asks for it.
func interpreter(o *options) spectest.Engine {
	e := &interpengine.Engine{Label: fmt.Sprintf("-O%d", o.level)}
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
	printf(c, "%s %-28s %v\n", verdict, name, r)
	for _, f := range r.Failures {
		printf(c, "     %v\n", f)
	}
}

// scripts visits the scripts at a path.
func scripts(path string, visit func(*script.Script) error) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(path, ".json"):
		s, err := script.Open(path)
		if err != nil {
			return err
		}
		return visit(s)
	case strings.HasSuffix(path, ".zip"), st.IsDir() && hasScripts(path):
		g, err := script.OpenGroup(path)
		if err != nil {
			return err
		}
		return groupScripts(g, visit)
	case !st.IsDir():
		return fmt.Errorf("neither a .json script nor a .zip file nor a folder")
	}
	suite, err := script.OpenSuite(path)
	if err != nil {
		return err
	}
	for _, name := range suite.Groups() {
		g, err := suite.Group(name)
		if err != nil {
			return err
		}
		if err := groupScripts(g, visit); err != nil {
			return err
		}
	}
	return nil
}

// hasScripts reports whether a folder is a group. Beside zip files, which are groups, JSON is something else.
func hasScripts(dir string) bool {
	scripts, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	groups, _ := filepath.Glob(filepath.Join(dir, "*.zip"))
	return len(scripts) > 0 && len(groups) == 0
}

func groupScripts(g *script.Group, visit func(*script.Script) error) error {
	for _, name := range g.Scripts {
		s, err := g.Script(name)
		if err != nil {
			return err
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}
