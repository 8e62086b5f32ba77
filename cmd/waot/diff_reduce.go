package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/reduce"
)

// Bounds of one try of a reduction: a module that was changed may not end. What ends under wazero in its time is run
// as compiled code.
const (
	reduceWazero = 5 * time.Second
	reduceNative = 30 * time.Second
)

// reduction makes a module small while the same difference remains.
type reduction struct {
	// Each runs a module; the outcome of compiled code that ended its process is one like others.
	ours, theirs, interpreter func(bin []byte) (*execution, error)
	// clif is the CLIF interpreter, which knows the places of traps.
	clif func(bin []byte) (*execution, error)
}

// reduced is what a reduction did.
type reduced struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	From  int    `json:"from"`
	Tries int    `json:"tries"`
}

// symptom returns what kind of difference there is, as far as it must remain: what differs, traps and exits as they are, but no
// numbers, and who is right.
func (r *reduction) symptom(bin []byte) string {
	theirs, err := r.theirs(bin)
	if err != nil {
		return ""
	}
	ours, err := r.ours(bin)
	if err != nil {
		return ""
	}
	diffs := compare(ours, theirs)
	if len(diffs) == 0 {
		clif := func() (*execution, error) { return r.clif(bin) }
		p, err := placesOf(ours, func() (*execution, error) { return ours, nil }, clif)
		if err != nil || len(p.differences()) == 0 {
			return ""
		}
		trap, _, isPlace := strings.Cut(p.Differences[0].Waot, inside)
		if !isPlace {
			return "an exception"
		}
		return "place of a " + trap
	}
	judge, err := r.interpreter(bin)
	if err != nil {
		return ""
	}
	agrees := agreesWith(ours, theirs, judge)
	d := &diffs[0]
	what, _, call := strings.Cut(d.What, "(")
	if call {
		what = "a call"
	}
	return strings.Join([]string{what, withoutNumbers(d.Waot), withoutNumbers(d.Other), agrees}, "; ")
}

// withoutNumbers returns what a difference says of one side, without results and hashes. Numbers that are none are told from others:
// engines may choose their bits.
func withoutNumbers(s string) string {
	switch {
	case strings.HasPrefix(s, "trap: "), strings.HasPrefix(s, "exit "), s == "", s == uncaught:
		return s
	case strings.Contains(s, "nan"):
		return "nan"
	}
	return "value"
}

// reduce makes a module small.
func (r *reduction) reduce(bin []byte) ([]byte, reduce.Stats, error) {
	want := r.symptom(bin)
	if want == "" {
		return nil, reduce.Stats{}, errors.New("the difference does not show again")
	}
	return reduce.Module(bin, reduce.Options{}, func(b []byte) bool { return r.symptom(b) == want })
}

// reduceTo makes the module small, whose difference was seen, and writes it to a file.
func reduceTo(file string, bin []byte, r *reduction) (*reduced, error) {
	small, stats, err := r.reduce(bin)
	if err != nil {
		return nil, fmt.Errorf("it cannot be made small: %w", err)
	}
	return &reduced{file, len(small), len(bin), stats.Tries}, inFile(file, os.WriteFile(file, small, 0o666))
}

// isolated runs compiled code in processes of the target, one for each run.
type isolated struct {
	c      *cli.Context
	opt    *options
	file   string // of the module that the user has named
	runner *runner
	// last is the module compiled last, result what came of it.
	last   []byte
	result *compile.Result
}

// compile compiles a module, which may be the last one again. A compiler that fails leaves nothing behind: it would do so at each
// try.
func (x *isolated) compile(bin []byte) (*compile.Result, error) {
	if x.result != nil && bytes.Equal(x.last, bin) {
		return x.result, nil
	}
	r, err := compile.Module(bin, x.opt.named(x.file))
	if err == nil {
		x.last, x.result = bytes.Clone(bin), r
	}
	return r, err
}

// run compiles and runs a module. That a process ended for anything but what the module asks for is an outcome, too.
func (x *isolated) run(bin []byte) (*execution, error) {
	res, err := x.compile(bin)
	if err != nil {
		return nil, err
	}
	object, err := (&artifact{result: res}).portable()
	if err != nil {
		return nil, err
	}
	path, err := x.runner.keep(object)
	if err != nil {
		return nil, err
	}
	e, err := attempt(reduceNative, func(ctx context.Context) *exec.Cmd {
		return x.runner.pass(ctx, x.c, x.file, ownCommand(x.c, path)...)
	})
	if err != nil {
		return nil, err
	}
	o := &execution{Engine: "waot"}
	switch {
	case e.late:
		o.Start = "it does not end"
	case e.state.Success():
		return o, json.Unmarshal([]byte(e.stdout), o)
	case cannotRun(e.state.ExitCode(), e.stderr) || strings.HasPrefix(e.stdout, "{"): // words, or JSON
		return nil, fmt.Errorf("what the runner says: %s", strings.TrimSpace(e.stderr+e.stdout))
	default:
		o.Start = "the process has ended: " + e.state.String()
	}
	return o, nil
}

// peer runs a module by run, with the calls that diff plans for it.
func (x *isolated) peer(cfg wasirun.Options, run func(bin []byte, cfg wasirun.Options, calls []call, at observed) (*execution, error)) func(bin []byte) (*execution, error) {
	return func(bin []byte) (*execution, error) {
		r, err := x.compile(bin)
		if err != nil {
			return nil, err
		}
		calls, err := planCalls(x.c, r.Meta)
		if err != nil {
			return nil, err
		}
		cfg := cfg
		cfg.Args = append([]string{filepath.Base(x.file)}, startArgs(x.c, calls)...)
		return run(bin, cfg, calls, observe(r.Meta))
	}
}

// reduction returns that of the modules that x runs.
func (x *isolated) reduction(cfg wasirun.Options) *reduction {
	wazero := func(interpreter bool) func(bin []byte) (*execution, error) {
		return x.peer(cfg, func(bin []byte, cfg wasirun.Options, calls []call, at observed) (*execution, error) {
			return runPeer(reduceWazero, bin, cfg, calls, at, interpreter || maxMemory(bin))
		})
	}
	return &reduction{ours: x.run, theirs: wazero(false), interpreter: wazero(true),
		clif: x.peer(cfg, func(bin []byte, cfg wasirun.Options, calls []call, at observed) (*execution, error) {
			return runInterpreter(reduceWazero, bin, cfg, calls, at)
		})}
}
