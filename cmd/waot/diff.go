package main

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "run a module here and under wazero, and compare",
		UsageText: "waot diff MODULE [--invoke NAME] [OPTIONS] [-- ARGS...]",
		Description: `Compares results, trap, exit status, what is written to standard output and error,
exported globals and a hash of the memory, with the same WASI, fixed clocks and
fixed random numbers on both sides. Runs the function named, or _start, or else
every exported function with a few sets of arguments; these must end. Where the two
differ, wazero's interpreter and waot's interpreter of its intermediate code run too,
and wasmtime if its command is there, for modules without imports (it does not see memories);
what is known to be wazero's fault is said to be. Functions that the module imports
beside WASI's have stand-ins, whose calls are compared; so have memories, tables and
globals, of which the contents at the end are compared but for tables. If the two do not differ, the function and offset of
each trap, which wazero does not say, are compared with those on waot's interpreter
of its intermediate code, which has as long as wazero. Modules with garbage collection,
which wazero does not know, are compared with that interpreter alone. Exits with 1 if
there is a difference. Code for another target runs in an emulator.

With --reduce, a module that differs is made small while it differs in the same way,
function by function, block by block, operator by operator. Compiled code then runs
in a process of its own, so it may also crash or not end.

Examples:
  waot diff app.wasm --dir .::/ -- file.txt
  waot diff lib.wasm --invoke add -- 1 2
  waot diff lib.wasm --reduce small.wasm`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "dir", Usage: "give the program a directory: `HOST::GUEST`"},
			&cli.StringSliceFlag{Name: "env", Usage: "set a variable of the program: `K=V`"},
			&cli.StringFlag{Name: "invoke", Usage: "call the exported function `NAME`"},
			&cli.StringFlag{Name: "reduce", Usage: "write the module made small, if it differs, to `OUT.wasm`"},
			&cli.DurationFlag{Name: "timeout", Value: wazeroLimit, Usage: "end a run on another engine after `TIME`"},
			wasmtimeFlag(),
			jsonFlag(),
			objectFlag(),
		}, runnerFlags(), compileFlags()),
		Action: diffAction,
	}
}

func diffAction(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("diff: no module given (see waot diff --help)")
	}
	file := c.Args().First()
	opt, err := readOptions(c)
	if err != nil {
		return err
	}
	cfg, err := programOptions(c, filepath.Base(file))
	if err != nil {
		return err
	}
	cfg.Stdin = bytes.NewReader(nil)
	wasmtime, err := wasmtimeCommand(c)
	if err != nil {
		return err
	}
	if c.IsSet("object") {
		return ourSide(c, file, cfg)
	}
	src, err := readSource(c, file)
	if err != nil {
		return err
	}
	art, err := compileModule(file, src.b, opt)
	if err != nil {
		return src.fail(err)
	}
	m := art.result.Meta
	calls, err := planCalls(c, m)
	if err != nil {
		return err
	}
	cfg.Args = append(cfg.Args, startArgs(c, calls)...)
	x := &comparison{bin: src.b, meta: m, calls: calls, at: observe(m), cfg: cfg, limit: c.Duration("timeout"), wasmtime: wasmtime, interpreted: maxMemory(src.b), collected: isUnknown(src.b)}
	var red *reduction
	if c.IsSet("reduce") {
		r, err := newRunner(c, opt)
		if err != nil {
			return err
		}
		defer r.close()
		i := &isolated{c: c, opt: opt, file: file, runner: r}
		red = i.reduction(cfg)
		x.native = func() (*execution, error) { return i.run(src.b) }
	} else if elsewhere(c, opt) {
		x.native = func() (*execution, error) { return runElsewhere(c, opt, file, art) }
	} else {
		mod, err := art.load()
		if err != nil {
			return inFile(file, err)
		}
		x.native = func() (*execution, error) { return runNative(mod, cfg, calls, x.at) }
	}
	r, err := x.report()
	if err == nil && r.differs() && red != nil {
		r.Reduced, err = reduceTo(c.String("reduce"), src.b, red)
	}
	if err != nil {
		return src.fail(err)
	}
	if c.Bool("json") {
		writeJSON(c.App.Writer, r)
	} else {
		r.print(c)
	}
	if r.differs() {
		return exitStatus(statusBad)
	}
	return nil
}
