package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/objfile"
)

// runnerFlags are the flags of commands that execute code, which may be another machine's.
func runnerFlags() []cli.Flag {
	return []cli.Flag{
		targetFlag(),
		&cli.StringFlag{Name: "emulator", Usage: "the `COMMAND` that runs programs of another target (default: qemu's user emulation)"},
		&cli.StringFlag{Name: "runner", Usage: "a waot built for another target, which loads the code there: `PATH` (default: built from source)"},
	}
}

// elsewhere reports whether compiled code is to run in another process.
func elsewhere(c *cli.Context, o *options) bool {
	return o.target != compile.HostTarget() || c.IsSet("emulator") || c.IsSet("runner")
}

// runner is a waot of the target's machine.
type runner struct {
	machine *emulate.Machine
	program string
	dir     *emulate.Folder // nil until something is in it
	// life is a pipe that is never written. Runners have the read end, and end with the
	// other one, which is this process's only: also those that an emulator's wrapper has started,
	// which the death of the child does not reach.
	life [2]*os.File
}

// lifeline is the variable that tells a runner to end when descriptor 3 does.
const lifeline = "WAOT_LIFELINE"

// followLifeline ends this process when that which has started it as a runner ends.
func followLifeline() {
	if os.Getenv(lifeline) == "" {
		return
	}
	os.Unsetenv(lifeline)
	const first = 3 // the first descriptor that a command inherits
	f := os.NewFile(first, "lifeline")
	syscall.CloseOnExec(first)
	go func() {
		f.Read(make([]byte, 1))
		os.Exit(statusBad)
	}()
}

// newRunner finds the waot that the flags name, or makes one.
func newRunner(c *cli.Context, o *options) (*runner, error) {
	m, err := emulate.For(compile.GOARCH(o.target), c.String("emulator"))
	if err != nil {
		return nil, fmt.Errorf("--target=%s: %w; --emulator names another", o.target, err)
	}
	r := &runner{machine: m, program: c.String("runner")}
	if r.life[0], r.life[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	if err := r.find(o); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// find finds the program, or makes it.
func (r *runner) find(o *options) (err error) {
	if r.program != "" {
		if _, err := os.Stat(r.program); err != nil {
			return fmt.Errorf("--runner=%s: %w", r.program, errors.Unwrap(err))
		}
		return nil
	}
	if r.machine.GOARCH == runtime.GOARCH {
		r.program, err = os.Executable()
		return err
	}
	if err := r.folder(); err != nil {
		return err
	}
	if r.program, err = r.machine.Build(o.context(), r.dir.Path, "github.com/waot-project/waot/cmd/waot", "build"); err != nil {
		return fmt.Errorf("--target=%s: no waot to load the code there: name one with --runner, or start in waot's source (%w)", o.target, err)
	}
	return nil
}

// folder makes the temporary folder, if there is none yet.
func (r *runner) folder() (err error) {
	if r.dir == nil {
		r.dir, err = emulate.NewFolder("waot-runner-")
	}
	return err
}

// close ends what is left of the runners, and removes what newRunner and keep have made.
func (r *runner) close() error {
	err := errors.Join(r.life[0].Close(), r.life[1].Close())
	if r.dir != nil {
		err = errors.Join(err, r.dir.Remove())
	}
	return err
}

// keep writes an object to a temporary file and gives its path.
func (r *runner) keep(object []byte) (file string, err error) {
	if err := r.folder(); err != nil {
		return "", err
	}
	file = filepath.Join(r.dir.Path, "module.o")
	return file, os.WriteFile(file, object, 0o666)
}

// command is waot with arguments. To be started by emulate.Start.
func (r *runner) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := r.machine.Command(ctx, r.program, args...)
	cmd.Env = append(cmd.Env, lifeline+"=3")
	cmd.ExtraFiles = []*os.File{r.life[0]}
	return cmd
}

// portable returns what a runner loads: the object, or an image where its symbols have names that occur twice, which
// keeps linkers from it, but not hosts, which go by the metadata.
func (a *artifact) portable() ([]byte, error) {
	b, err := a.object()
	var names *objfile.Error
	if !errors.As(err, &names) {
		return b, err
	}
	return a.imageFile()
}

// objectFlag returns how a runner gets the object of the module that its arguments name.
func objectFlag() cli.Flag {
	return &cli.StringFlag{Name: "object", Hidden: true, Usage: "take this object for the module"}
}

// ownCommand returns the command of c for the runner, with the object, and those flags of c that pass leaves out.
func ownCommand(c *cli.Context, object string) []string {
	words := []string{c.Command.Name, "--object", object}
	if c.IsSet("timeout") {
		words = append(words, "--timeout", c.Duration("timeout").String())
	}
	if c.IsSet("max-stack") {
		words = append(words, "--max-stack", fmt.Sprint(c.Uint64("max-stack")))
	}
	if c.IsSet("fuel-limit") {
		words = append(words, "--fuel-limit", fmt.Sprint(c.Uint64("fuel-limit")))
	}
	if c.Bool("json") {
		words = append(words, "--json")
	}
	return words
}

// pass returns a command for the runner, with its flags, on the module file, with the arguments of the program and those
// flags of c that say what it can reach.
func (r *runner) pass(ctx context.Context, c *cli.Context, file string, command ...string) *exec.Cmd {
	args := slices.Clone(command)
	for _, v := range c.StringSlice("dir") {
		args = append(args, "--dir", v)
	}
	env, _ := programEnv(c) // an error has been told
	for _, e := range env {
		args = append(args, "--env", e)
	}
	for _, name := range []string{"devices", "stub-missing", "trace-hostcalls"} {
		if c.Bool(name) {
			args = append(args, "--"+name)
		}
	}
	if c.IsSet(constantsFlag) {
		args = append(args, "--"+constantsFlag, c.String(constantsFlag))
	}
	if c.IsSet("invoke") {
		args = append(args, "--invoke", c.String("invoke"))
	}
	args = append(append(args, "--", file), c.Args().Tail()...)
	cmd := r.command(ctx, args...)
	// A signal that would end waot ends the runner; waot stays to tidy up.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.App.Reader, standardOutput(c), c.App.ErrWriter
	return cmd
}

// onRunner executes the command of c on a module file whose code is in the object. set, if not nil, may change what is
// started. The runner has told of its errors: what is left of them here is the status.
func onRunner(c *cli.Context, o *options, file string, object []byte, set func(*exec.Cmd)) (err error) {
	r, err := newRunner(c, o)
	if err != nil {
		return err
	}
	defer func() {
		if e := r.close(); err == nil {
			err = e
		}
	}()
	path, err := r.keep(object)
	if err != nil {
		return err
	}
	// The process that runs the code has --timeout, too, and says where the code was.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(o.context()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := r.pass(ctx, c, file, ownCommand(c, path)...)
	if set != nil {
		set(cmd)
	}
	err = emulate.Run(cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exitStatus(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("the process that runs the code has ended: %w", err)
	}
	return nil
}

// ending is how a process has ended.
type ending struct {
	late           bool // it was killed
	state          *os.ProcessState
	stdout, stderr string
}

// attempt runs a command without input, and kills it and what it has started after timeout, or when waot is interrupted. It is an error if the
// command cannot be started, or is interrupted.
func attempt(timeout time.Duration, command func(ctx context.Context) *exec.Cmd) (*ending, error) {
	// The terminal interrupts waot's group only, which the command is not in.
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(interrupted, timeout)
	defer cancel()
	cmd := command(ctx)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, &stdout, &stderr
	cmd.WaitDelay = time.Second // processes that have left its group may keep the pipes open
	emulate.Together(cmd)
	err := emulate.Run(cmd)
	if interrupted.Err() != nil {
		return nil, errors.New("interrupted")
	}
	var exit *exec.ExitError
	late := ctx.Err() != nil
	if err != nil && !late && !errors.As(err, &exit) {
		return nil, err
	}
	return &ending{late, cmd.ProcessState, stdout.String(), stderr.String()}, nil
}
