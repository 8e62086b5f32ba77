package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/wasirun"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "compile a module in memory and run it, or run an object",
		UsageText: "waot run MODULE|OBJECT.o [OPTIONS] [-- ARGS...]",
		Description: `Runs a WASI preview 1 program: its standard streams are waot's, its exit status
becomes waot's. It reaches only the directories that are given, and in these no
files of the kernel (/proc, /sys) and no devices but /dev/null and the like. A trap
prints one line and a backtrace, and exits with 1.

With --invoke, calls an exported function with ARGS instead of _start, and prints
each result on a line with its type. A vector is its shape and lanes, such as
v128:i32x4:1,2,3,4. Code for another target is compiled here and runs in an emulator.

A module is compiled for this processor, as if with --cpu=native. --cpu, --rewrites, --rules-off
and code that runs in an emulator choose as waot build does.

Examples:
  waot run app.wasm --dir .::/ --env LANG=C -- -v file.txt
  waot run app.o
  waot run app.o --signed-by public.pem
  waot run lib.wasm --invoke add -- 1 -2
  waot run app.wasm --target=aarch64-linux`,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "dir", Usage: "give the program a directory: `HOST::GUEST`, or one name for both"},
			&cli.BoolFlag{Name: "devices", Usage: "let the program open device files in its directories, not only /dev/null and the like"},
			&cli.StringSliceFlag{Name: "env", Usage: "set a variable of the program: `K=V`"},
			timeoutFlag("end compiling and running after `TIME`, such as 1.5s or 2m"),
			&cli.StringFlag{Name: "signed-by", Usage: "run the object only if the Ed25519 key in `KEYFILE` has signed it; the public key will do"},
			&cli.StringFlag{Name: "invoke", Usage: "call the exported function `NAME`"},
			&cli.BoolFlag{Name: "json", Usage: "print errors as JSON"},
			objectFlag(),
		}, runnerFlags(), compileFlags()),
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
	src, err := programFile(c, file)
	if err != nil {
		return err
	}
	if isObject(src.b) && opt.rewrites != nil {
		return usagef("run: %s is compiled already:%s", file, opt.rewrites.flags)
	}
	ctx, cancel := runContext(c)
	defer cancel()
	opt.ctx = ctx
	if elsewhere(c, opt) {
		object, err := objectOf(c, src, opt)
		if err != nil {
			return err
		}
		return onRunner(c, opt, file, object, nil)
	}
	if !c.IsSet("cpu") && opt.rewrites == nil { // the numbers of rewrites are those of build
		opt.cpu = nativeCPU()
	}
	mod, err := moduleOf(c, src, opt)
	if err != nil {
		return err
	}
	if c.IsSet("invoke") {
		return src.fail(invoke(ctx, c, mod, &cfg, c.String("invoke")))
	}
	cfg.Args = append(cfg.Args, c.Args().Tail()...)
	status, err := wasirun.Run(ctx, mod, &cfg)
	if errors.Is(err, wasirun.ErrNoStart) {
		err = errors.New("no exported function _start; call another one with --invoke NAME")
	}
	if err != nil {
		return src.fail(err)
	}
	return programStatus(status)
}

// timeoutFlag bounds a time, which zero does not.
func timeoutFlag(usage string) cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Usage: usage, Action: func(_ *cli.Context, d time.Duration) error {
		if d < 0 {
			return usagef("--timeout=%v: must not be negative", d)
		}
		return nil
	}}
}

// runContext returns the context that --timeout ends.
func runContext(c *cli.Context) (context.Context, context.CancelFunc) {
	if d := c.Duration("timeout"); d > 0 {
		return context.WithTimeoutCause(context.Background(), d, fmt.Errorf("timed out after %v", d))
	}
	return context.Background(), func() {}
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
		Args: []string{name}, Env: c.StringSlice("env"),
		Stdin: c.App.Reader, Stdout: c.App.Writer, Stderr: c.App.ErrWriter,
	}
	for _, e := range cfg.Env {
		if strings.Index(e, "=") <= 0 {
			return cfg, usagef("--env=%s: must be K=V", e)
		}
	}
	for _, d := range c.StringSlice("dir") {
		host, guest, ok := strings.Cut(d, "::")
		if !ok {
			guest = host
		}
		if host == "" || guest == "" {
			return cfg, usagef("--dir=%s: must be HOST::GUEST", d)
		}
		cfg.Dirs = append(cfg.Dirs, wasirun.Dir{Host: host, Guest: guest, Devices: c.Bool("devices")})
	}
	return cfg, nil
}

// isObject reports whether a file is an object, not a module.
func isObject(b []byte) bool { return bytes.HasPrefix(b, []byte("\x7fELF")) }

// programFile reads the file to run, or what --object has for it, and verifies its signature.
func programFile(c *cli.Context, file string) (*source, error) {
	if !c.IsSet("object") {
		src, err := readSource(file)
		if err == nil {
			src.b, err = verified(c, file, src.b)
		}
		return src, err
	}
	b, err := os.ReadFile(c.String("object"))
	if err == nil {
		b, err = verified(c, file, b)
	}
	return &source{file: file, b: b, made: true}, err
}

// compileFile compiles the module that a file holds, and shows how far it is.
func compileFile(c *cli.Context, src *source, opt *options) (*artifact, error) {
	p := startProgress(c.App.ErrWriter, "compiling "+filepath.Base(src.file))
	defer p.finish()
	opt.progress = p.set
	art, err := compileModule(src.file, src.b, opt)
	return art, src.fail(err)
}

// moduleOf loads a file for this process: an object as it is, or a WebAssembly module after compiling it. With --object, the file's
// bytes are what another waot has compiled.
func moduleOf(c *cli.Context, src *source, opt *options) (*host.Module, error) {
	if c.IsSet("object") || isObject(src.b) {
		img, err := loadPortable(src.b)
		if err != nil {
			return nil, src.fail(err)
		}
		mod, err := loadImage(img)
		return mod, src.fail(err)
	}
	art, err := compileFile(c, src, opt)
	if err != nil {
		return nil, err
	}
	mod, err := art.load()
	return mod, src.fail(err)
}

// objectOf returns the object to run on another machine: the file's own, or that of the WebAssembly module in it.
func objectOf(c *cli.Context, src *source, opt *options) ([]byte, error) {
	if isObject(src.b) {
		return src.b, nil
	}
	art, err := compileFile(c, src, opt)
	if err != nil {
		return nil, err
	}
	object, err := art.portable()
	return object, src.fail(err)
}

// invoke calls an exported function and prints its results.
func invoke(ctx context.Context, c *cli.Context, mod *host.Module, o *wasirun.Options, name string) error {
	p, err := wasirun.New(ctx, mod, o)
	if err == nil {
		defer p.Close()
		err = invokeIn(ctx, c, p, name)
	}
	var exit *wasirun.ExitError
	if errors.As(err, &exit) {
		return programStatus(exit.Code)
	}
	return err
}

func invokeIn(ctx context.Context, c *cli.Context, p *wasirun.Program, name string) error {
	f, err := p.Instance().Func(name)
	if err != nil {
		return fmt.Errorf("no exported function %q", name)
	}
	t := (*inproc.Func)(f).Type()
	words := c.Args().Tail()
	if len(words) != len(t.Params) {
		return usagef("run: %s takes %d arguments %s, got %d", name, len(t.Params), typeList(t.Params), len(words))
	}
	args, err := parseValues(t.Params, words)
	if err != nil {
		return err
	}
	results, err := callWords(ctx, f, args)
	if err != nil {
		return err
	}
	for _, r := range formatValues(t.Results, results) {
		printf(c, "%s\n", r)
	}
	return nil
}
