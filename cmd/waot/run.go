package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/quote"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "compile a module in memory and run it, or run an object or image",
		UsageText: "waot run MODULE|OBJECT.o|IMAGE.img [OPTIONS] [-- ARGS...]",
		Description: `Runs a WASI preview 1 program: its standard streams are waot's, its exit status
becomes waot's. It reaches only the directories that are given, and in these no
files of the kernel (/proc, /sys) and no devices but /dev/null and the like. A trap
prints one line and a backtrace, and exits with 1.

A module that imports wasm:js-string, as compilers for JavaScript make it, gets these
functions, and its constant strings from the module "'"; --string-constants names
another one. What else it imports of JavaScript is not there.

With --invoke, calls an exported function with ARGS instead of _start, and prints
each result on a line with its type. A vector is its shape and lanes, such as
v128:i32x4:1,2,3,4, and a string of JavaScript its text in quotes. Code for another target is compiled here and runs in an emulator.

A module is compiled the first time only: see waot cache --help. It is compiled for this processor, as if with --cpu=native. --cpu, --rewrites, --rules-off
and code that runs in an emulator choose as waot build does.

Examples:
  waot run app.wasm --dir .::/ --env LANG=C -- -v file.txt
  waot run app.o
  waot run app.img
  waot run app.o --signed-by public.pem
  waot run lib.wasm --invoke add -- 1 -2
  waot run app.wasm --target=aarch64-linux`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "dir", Usage: "give the program a directory: `HOST::GUEST`, or one name for both; HOST::GUEST:ro is read-only"},
			&cli.BoolFlag{Name: "devices", Usage: "let the program open device files in its directories, not only /dev/null and the like"},
			&cli.StringSliceFlag{Name: "env", Usage: "set a variable of the program: `K=V`, or K for that of waot"},
			&cli.BoolFlag{Name: "env-inherit", Aliases: []string{"inherit-env"}, Usage: "give the program all variables of waot"},
			timeoutFlag("end compiling and running after `TIME`, such as 1.5s or 2m"),
			stackFlag("end the program when its calls need more than `N` bytes of stack"),
			fuelLimitFlag(),
			&cli.StringFlag{Name: "signed-by", Usage: "run the object or image only if the Ed25519 key in `KEYFILE` has signed it; the public key will do"},
			&cli.StringFlag{Name: "invoke", Usage: "call the exported function `NAME`"},
			&cli.BoolFlag{Name: "stub-missing", Usage: "run without imported functions that waot does not have; a call of one traps"},
			&cli.StringFlag{Name: constantsFlag, Usage: "take globals that are imported from the module `NAME` for constant strings of JavaScript (default \"'\" if it imports wasm:js-string)"},
			&cli.BoolFlag{Name: "trace-hostcalls", Usage: "tell on standard error of each call of an imported function"},
			&cli.BoolFlag{Name: "json", Usage: "print errors, and results of --invoke, as JSON"},
			&cli.BoolFlag{Name: "time", Usage: "tell how long compiling and running take"},
			&cli.BoolFlag{Name: "stand-ins", Hidden: true, Usage: "give imported functions that waot does not have stand-ins, which tell of their calls"},
			objectFlag(),
		}, cacheFlags(), runnerFlags(), compileFlags()),
		Action: runAction,
	}
}

func runAction(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("run: no module given (see waot run --help)")
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
	if file == standardInput {
		cfg.Stdin = bytes.NewReader(nil) // nothing is left of it
	}
	if _, err := readStack(c); err != nil {
		return err
	}
	ctx, cancel := runContext(c)
	defer cancel()
	opt.ctx = ctx
	if elsewhere(c, opt) {
		return runElsewhereAction(c, file, opt)
	}
	if !c.IsSet("cpu") && opt.rewrites == nil { // the numbers of rewrites are those of build
		opt.cpu = nativeCPU()
	}
	mod, src, err := moduleOf(c, file, opt)
	if err != nil {
		return err
	}
	if c.IsSet("fuel-limit") && !mod.CountsFuel() {
		return usagef("run: %s is compiled already, without --fuel: --fuel-limit=%d", file, c.Uint64("fuel-limit"))
	}
	if c.Bool("time") {
		defer tellTime(c, "ran", time.Now())
	}
	if c.IsSet("invoke") {
		return src.fail(invoke(ctx, c, mod, &cfg, c.String("invoke")))
	}
	// A program's end keeps its status if nobody reads what is said of it: Go ends a process that writes to a standard stream without a reader unless it
	// is told of the signal. The program's own writes never raise it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	cfg.Args = append(cfg.Args, c.Args().Tail()...)
	status, err := runProgram(ctx, c, mod, &cfg)
	if errors.Is(err, wasirun.ErrNoStart) {
		err = errors.New("no exported function _start; call another one with --invoke NAME")
	}
	if err != nil {
		return src.fail(err)
	}
	return programStatus(status)
}

// runElsewhereAction is run in another process.
func runElsewhereAction(c *cli.Context, file string, opt *options) error {
	src, err := programFile(c, file, opt)
	if err != nil {
		return err
	}
	object, err := objectOf(c, src, opt)
	if err != nil {
		return err
	}
	return onRunner(c, opt, file, object, nil)
}

// runProgram runs a program to its end, and returns its exit status.
func runProgram(ctx context.Context, c *cli.Context, mod *host.Module, cfg *wasirun.Options) (uint32, error) {
	g, err := newGuest(ctx, mod, cfg, guestOptionsOf(c))
	if err == nil {
		defer g.close()
		defer tellFuel(c, g)
		var status uint32
		if status, err = g.start(ctx); err == nil {
			return status, nil
		}
	}
	var exit *wasirun.ExitError
	if errors.As(err, &exit) { // before _start
		return exit.Code, nil
	}
	return 0, err
}

func guestOptionsOf(c *cli.Context) guestOptions {
	o := guestOptions{stub: c.Bool("stub-missing"), strings: c.String(constantsFlag), stack: c.Uint64("max-stack"), fuel: fuelLimit(c)}
	if c.Bool("trace-hostcalls") {
		o.trace = c.App.ErrWriter
	}
	if c.Bool("stand-ins") {
		o.answers, o.standIns = &answers{}, c.App.ErrWriter
	}
	return o
}

// programStatus returns the exit status of a program as an error, nil for zero. The
// system keeps the low eight bits only; what is not zero must not become it.
func programStatus(status uint32) error {
	switch {
	case status == 0:
		return nil
	case status&0xff == 0:
		return exitStatus(statusBad)
	}
	return exitStatus(status & 0xff)
}

// programOptions say what the program can reach.
func programOptions(c *cli.Context, name string) (wasirun.Options, error) {
	cfg := wasirun.Options{
		Args:  []string{name},
		Stdin: c.App.Reader, Stdout: standardOutput(c), Stderr: c.App.ErrWriter,
	}
	var err error
	if cfg.Env, err = programEnv(c); err != nil {
		return cfg, err
	}
	cfg.Dirs, err = programDirs(c)
	return cfg, err
}

// programDirs reads --dir.
func programDirs(c *cli.Context) (dirs []wasirun.Dir, err error) {
	for _, text := range c.StringSlice("dir") {
		d, err := parseDir(text)
		if err != nil {
			return nil, err
		}
		d.Devices = c.Bool("devices")
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// parseDir reads a value of --dir: HOST::GUEST, HOST::GUEST:ro, or one name for both.
func parseDir(text string) (d wasirun.Dir, err error) {
	host, guest, two := strings.Cut(text, "::")
	if two {
		guest, d.ReadOnly = strings.CutSuffix(guest, ":ro")
	} else {
		guest = host
	}
	if host == "" || guest == "" {
		return d, usagef("--dir=%s: must be HOST::GUEST", text)
	}
	if a, b, ok := strings.Cut(host, ":"); ok && !two {
		if _, err := os.Stat(host); errors.Is(err, os.ErrNotExist) {
			return d, usagef("--dir=%s: no such directory; two colons stand between the host's name and the program's: --dir=%s::%s", text, a, b)
		}
	}
	d.Host, d.Guest = host, guest
	return d, nil
}

// programEnv returns the variables of the program, as K=V: those of waot with --env-inherit, then those of --env, which come
// first where the names are the same.
func programEnv(c *cli.Context) (env []string, err error) {
	given, err := givenEnv(c)
	if err != nil || !c.Bool("env-inherit") {
		return given, err
	}
	names := map[string]bool{}
	for _, e := range given {
		name, _, _ := strings.Cut(e, "=")
		names[name] = true
	}
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); name != "" && !names[name] {
			env = append(env, e)
		}
	}
	return append(env, given...), nil
}

// givenEnv reads --env: variables as K=V. Of some with one name, the last counts.
func givenEnv(c *cli.Context) (env []string, err error) {
	for _, e := range c.StringSlice("env") {
		name, _, ok := strings.Cut(e, "=")
		if !ok {
			value, set := os.LookupEnv(e)
			if !set {
				return nil, usagef("--env=%s: there is no such variable to pass on; K=V sets one", e)
			}
			e = name + "=" + value
		}
		if name == "" {
			return nil, usagef("--env=%s: must be K=V, or the name of a variable to pass on", e)
		}
		env = append(slices.DeleteFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") }), e)
	}
	return env, nil
}

// invoke calls an exported function and prints its results.
func invoke(ctx context.Context, c *cli.Context, mod *host.Module, o *wasirun.Options, name string) error {
	p, err := newGuest(ctx, mod, o, guestOptionsOf(c))
	if err == nil {
		defer p.close()
		defer tellFuel(c, p)
		err = invokeIn(ctx, c, p, name)
	}
	var exit *wasirun.ExitError
	if errors.As(err, &exit) {
		return programStatus(exit.Code)
	}
	return err
}

func invokeIn(ctx context.Context, c *cli.Context, p *guest, name string) error {
	f, err := p.inst.Func(name)
	if err != nil {
		return fmt.Errorf("no exported function %q", name)
	}
	t := (*inproc.Func)(f).Type()
	words := c.Args().Tail()
	if len(words) != len(t.Params) {
		return usagef("run: %s takes %d arguments %s, got %d", quote.Name(name), len(t.Params), abi.TypeList(t.Params, ", "), len(words))
	}
	args, err := parseValuesFor(p.store, t.Params, words)
	if err != nil {
		return err
	}
	results, err := callWords(ctx, f, args)
	if err != nil {
		return err
	}
	texts := formatValuesOf(p.store, t.Results, results)
	if c.Bool("json") {
		writeJSON(c.App.Writer, struct {
			Results []resultValue `json:"results"`
		}{resultValues(texts)})
		return nil
	}
	for _, r := range texts {
		printf(c, "%s\n", r)
	}
	return nil
}

// resultValue is a result as JSON. Numbers are text, as they would be without JSON: a program may not read all of them as
// numbers.
type resultValue struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

func resultValues(texts []string) []resultValue {
	list := []resultValue{}
	for _, text := range texts {
		t, v, _ := strings.Cut(text, ":")
		list = append(list, resultValue{t, v})
	}
	return list
}
