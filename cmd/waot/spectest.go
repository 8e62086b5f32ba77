package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
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

Examples:
  waot spectest i32.json
  waot spectest core.zip --engine=interp
  waot spectest suite/ --json -O0`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "engine", Value: "native", Usage: "native code, or the interpreter of the intermediate form: native, interp"},
			jsonFlag(),
			targetFlag(),
		}, compileFlags()...),
		Action: spectestAction,
	}
}

func spectestAction(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("spectest: no path given (see waot spectest --help)")
	}
	o, err := readOptions(c)
	if err != nil {
		return err
	}
	var engine spectest.Engine
	switch c.String("engine") {
	case "native":
		if host := compile.HostTarget(); o.target != host {
			return usagef("spectest: --target=%s: native code is run here, on %s", o.target, host)
		}
		engine = &nativeengine.Engine{Options: o.compileOptions()}
	case "interp":
		engine = interpreter(o.level)
	default:
		return oneOf("engine", c.String("engine"), "native", "interp")
	}
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
func interpreter(level int) spectest.Engine {
	e := &interpengine.Engine{Label: fmt.Sprintf("-O%d", level)}
	if level > 0 {
		var o opt.Optimizer
		e.Rewrite = func(f *clif.Func) error { return o.Run(f, opt.Level(level)) }
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

func hasScripts(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	return len(found) > 0
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
