// Command wazero runs and compiles modules, with the flags of wazero's command. Since waot compiles, --interpreter has no effect.
//
//	wazero run [flags] app.wasm [--] [arguments]
//	wazero compile [flags] app.wasm
//	wazero version
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/logging"
	"github.com/tetratelabs/wazero/experimental/sock"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

func main() { os.Exit(run(os.Args[1:])) }

const usage = `wazero CLI, on waot

Usage:
  wazero <command>

Commands:
  compile	Pre-compiles a WebAssembly binary
  run		Runs a WebAssembly binary
  version	Displays the version of wazero CLI
`

// run is the command; it returns the exit status.
func run(args []string) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	var err error
	switch command {
	case "run":
		err = runModule(args[1:])
	case "compile":
		err = compileModule(args[1:])
	case "version":
		fmt.Println(version())
	case "", "-h", "-help", "--help":
		fmt.Fprint(os.Stderr, usage)
	default:
		err = fmt.Errorf("invalid command\n%s", usage)
	}
	var exit *sys.ExitError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &exit):
		if exit.ExitCode() == sys.ExitCodeDeadlineExceeded {
			fmt.Fprintf(os.Stderr, "error: %v\n", exit)
		}
		return int(exit.ExitCode())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// version is that of this module, if it has one.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// list is a flag that can be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// common are the flags and settings that both commands have.
type common struct {
	*flag.FlagSet
	cacheDir *string
	workers  *int
}

func newCommon(name string) *common {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	return &common{f, f.String("cachedir", "", "directory for compiled code, which is used again"), f.Int("workers", 1, "number of functions to compile at a time")}
}

// read parses the flags, and returns the name and contents of the module.
func (c *common) read(args []string) (name string, wasm []byte, err error) {
	if err := c.Parse(args); err != nil {
		return "", nil, err
	}
	if c.NArg() == 0 {
		return "", nil, errors.New("missing path to wasm file")
	}
	if wasm, err = os.ReadFile(c.Arg(0)); err != nil {
		return "", nil, fmt.Errorf("error reading wasm binary: %w", err)
	}
	return c.Arg(0), wasm, nil
}

// compile compiles a module in a new runtime, which the caller closes.
func (c *common) compile(ctx context.Context, config wazero.RuntimeConfig, wasm []byte) (wazero.Runtime, wazero.CompiledModule, error) {
	if *c.cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(*c.cacheDir)
		if err != nil {
			return nil, nil, fmt.Errorf("invalid cachedir: %w", err)
		}
		config = config.WithCompilationCache(cache)
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	m, err := r.CompileModule(experimental.WithCompilationWorkers(ctx, *c.workers), wasm)
	if err != nil {
		r.Close(ctx)
		return nil, nil, fmt.Errorf("error compiling wasm binary: %w", err)
	}
	return r, m, nil
}

func compileModule(args []string) error {
	c := newCommon("compile")
	_, wasm, err := c.read(args)
	if err != nil {
		return err
	}
	ctx := context.Background()
	r, _, err := c.compile(ctx, wazero.NewRuntimeConfig(), wasm)
	if err != nil {
		return err
	}
	return r.Close(ctx)
}

func runModule(args []string) error {
	c := newCommon("run")
	var env, mounts, listens, scopes list
	c.Var(&env, "env", "variable of the environment, as key=value; can be given several times")
	c.Var(&mounts, "mount", "directory for the program, as path[:guest path][:ro]; can be given several times")
	c.Var(&listens, "listen", "address of a TCP socket to listen at, as host:port; can be given several times")
	c.Var(&scopes, "hostlogging", "calls of host functions to write to stderr: all,clock,filesystem,memory,proc,poll,random,sock")
	inherit := c.Bool("env-inherit", false, "give the program the environment of this process")
	timeout := c.Duration("timeout", 0, "how long the program may run")
	c.Bool("interpreter", false, "no effect: waot compiles")
	name, wasm, err := c.read(args)
	if err != nil {
		return err
	}
	program := c.Args()[1:]
	if len(program) > 0 && program[0] == "--" {
		program = program[1:]
	}
	if *inherit {
		env = slices.Concat(os.Environ(), env)
	}
	settings, err := moduleConfig(filepath.Base(name), program, env, mounts)
	if err != nil {
		return err
	}
	ctx, err := logged(context.Background(), scopes, os.Stderr)
	if err != nil {
		return err
	}
	config := wazero.NewRuntimeConfig()
	if *timeout < 0 {
		return fmt.Errorf("timeout duration may not be negative, %v given", *timeout)
	}
	r, m, err := c.compile(ctx, config.WithCloseOnContextDone(*timeout > 0), wasm)
	if err != nil {
		return err
	}
	defer r.Close(context.Background())
	if ctx, err = listening(ctx, listens); err != nil {
		return err
	}
	return instantiate(ctx, *timeout, r, m, settings)
}

// instantiate runs the program, which imports WASI under its name or an older one.
func instantiate(ctx context.Context, timeout time.Duration, r wazero.Runtime, m wazero.CompiledModule, settings wazero.ModuleConfig) error {
	const older = "wasi_unstable"
	for _, f := range m.ImportedFunctions() {
		module, _, _ := f.Import()
		if (module != older && module != wasi_snapshot_preview1.ModuleName) || r.Module(module) != nil {
			continue
		}
		b := r.NewHostModuleBuilder(module)
		wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	if timeout > 0 {
		short, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = short
	}
	if _, err := r.InstantiateModule(ctx, m, settings); err != nil {
		return fmt.Errorf("error instantiating wasm binary: %w", err)
	}
	return nil
}

// moduleConfig is what the program can reach.
func moduleConfig(name string, program, env, mounts []string) (wazero.ModuleConfig, error) {
	files := wazero.NewFSConfig()
	for _, m := range mounts {
		dir, readOnly := strings.CutSuffix(m, ":ro")
		guest := dir
		if i := strings.LastIndexByte(dir, ':'); i >= 0 {
			dir, guest = dir[:i], dir[i+1:]
		}
		info, err := os.Stat(dir)
		if err != nil {
			return nil, fmt.Errorf("invalid mount: path %q error: %w", dir, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("invalid mount: path %q is not a directory", dir)
		}
		if readOnly {
			files = files.WithReadOnlyDirMount(dir, guest)
		} else {
			files = files.WithDirMount(dir, guest)
		}
	}
	c := wazero.NewModuleConfig().WithArgs(append([]string{name}, program...)...).WithFSConfig(files).
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime().WithSysNanosleep()
	for _, e := range env {
		key, value, ok := strings.Cut(e, "=")
		if !ok {
			return nil, fmt.Errorf("invalid environment variable: %s", e)
		}
		c = c.WithEnv(key, value)
	}
	return c, nil
}

// listening is a context for programs with sockets.
func listening(ctx context.Context, addresses []string) (context.Context, error) {
	config := sock.NewConfig()
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			return nil, fmt.Errorf("invalid listen: %w", err)
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("invalid listen port: %w", err)
		}
		config = config.WithTCPListener(host, n)
	}
	return sock.WithConfig(ctx, config), nil
}

// logged is a context in which calls of host functions are written.
func logged(ctx context.Context, names []string, w interface {
	io.Writer
	io.StringWriter
}) (context.Context, error) {
	var scopes logging.LogScopes
	known := []logging.LogScopes{logging.LogScopeAll, logging.LogScopeClock, logging.LogScopeFilesystem, logging.LogScopeMemory, logging.LogScopeProc,
		logging.LogScopePoll, logging.LogScopeRandom, logging.LogScopeSock}
	for name := range strings.SplitSeq(strings.Join(names, ","), ",") {
		i := slices.IndexFunc(known, func(s logging.LogScopes) bool { return s.String() == name })
		switch {
		case name == "":
		case i < 0:
			return nil, fmt.Errorf("%q is not a log scope", name)
		default:
			scopes |= known[i]
		}
	}
	if scopes == 0 {
		return ctx, nil
	}
	return experimental.WithFunctionListenerFactory(ctx, logging.NewHostLoggingListenerFactory(w, scopes)), nil
}
