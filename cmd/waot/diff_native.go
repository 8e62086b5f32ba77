package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/meta"
)

// ourSide is diff in the process that executes the code for another one: it prints the outcome.
func ourSide(c *cli.Context, file string, cfg wasirun.Options) error {
	b, err := readFile(c, c.String("object"), input.Object)
	if err != nil {
		return err
	}
	img, err := loadCompiled(b)
	if err != nil {
		return inFile(file, err)
	}
	calls, err := planCalls(c, img.Meta)
	if err != nil {
		return err
	}
	cfg.Args = append(cfg.Args, startArgs(c, calls)...)
	mod, err := loadImage(img)
	if err != nil {
		return inFile(file, err)
	}
	o, err := runNative(mod, cfg, calls, observe(img.Meta))
	if err != nil {
		return inFile(file, err)
	}
	writeJSON(c.App.Writer, o)
	return nil
}

// runElsewhere is runNative in a process of the target.
func runElsewhere(c *cli.Context, opt *options, file string, art *artifact) (*execution, error) {
	object, err := art.portable()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := onRunner(c, opt, file, object, func(cmd *exec.Cmd) { cmd.Stdin, cmd.Stdout = nil, &out }); err != nil {
		c.App.Writer.Write(out.Bytes()) // an error as JSON, if any
		return nil, err
	}
	o := &execution{}
	if err := json.Unmarshal(out.Bytes(), o); err != nil {
		return nil, fmt.Errorf("what the runner says: %w", err)
	}
	return o, nil
}

// observed are the exports that are read at the end: a memory, empty if there is none, and globals other than references.
type observed struct {
	memory  string
	globals []string
}

func observe(m *meta.Module) observed {
	var x observed
	for i := range m.Exports {
		e := &m.Exports[i]
		switch {
		case e.Kind == abi.ExternMemory && x.memory == "":
			x.memory = e.Name
		case e.Kind == abi.ExternGlobal && !m.Globals[e.Index].Type.IsRef():
			x.globals = append(x.globals, e.Name)
		}
	}
	return x
}

// fixed makes a run repeatable and collects its output.
func fixed(cfg wasirun.Options, stdout, stderr io.Writer) *wasirun.Options {
	var wall, mono int64 = 1_700_000_000_000_000_000, 0
	cfg.Walltime = func() int64 { wall += 1000; return wall }
	cfg.Monotonic = func() int64 { mono += 1000; return mono }
	cfg.Rand = new(counter)
	cfg.Stdout, cfg.Stderr = stdout, stderr
	return &cfg
}

// counter is random numbers that are none.
type counter struct{ n uint64 }

func (r *counter) Read(b []byte) (int, error) {
	for i := range b {
		r.n = r.n*6364136223846793005 + 1442695040888963407
		b[i] = byte(r.n >> 56)
	}
	return len(b), nil
}

// runNative runs the calls as compiled code.
func runNative(mod *host.Module, cfg wasirun.Options, calls []call, at observed) (*execution, error) {
	var stdout, stderr bytes.Buffer
	o := &execution{Engine: "waot"}
	imported := &answers{}
	defer func() {
		o.Stdout, o.Stderr = hashOf(stdout.Bytes()), hashOf(stderr.Bytes())
		imported.note(o)
	}()
	p, err := newGuest(nil, mod, fixed(cfg, &stdout, &stderr), guestOptions{answers: imported, fuel: math.MaxInt64})
	var trap *host.Trap
	var exit *wasirun.ExitError
	var thrown *host.Exception
	switch {
	case errors.As(err, &trap):
		o.Start, o.StartPlace = "trap: "+trapClass(abi.TrapCode(trap.Code)), placeOf(trap)
		return o, nil
	case errors.As(err, &thrown):
		o.Start = uncaught
		return o, nil
	case errors.As(err, &exit):
		o.Start = fmt.Sprintf("exit %d", exit.Code)
		return o, nil
	case err != nil:
		return nil, err
	}
	defer p.close()
	for i := range calls {
		f, err := p.inst.Func(calls[i].name)
		if err != nil {
			return nil, err
		}
		t := (*inproc.Func)(f).Type()
		one := callOutcome{Call: calls[i].describe(t)}
		results, err := callWords(nil, f, calls[i].args)
		switch {
		case errors.As(err, &trap):
			one.Trap, one.Place = trapClass(abi.TrapCode(trap.Code)), placeOf(trap)
		case errors.As(err, &thrown):
			x := (*inproc.Exception)(thrown)
			tag := slices.Index((*inproc.Instance)(p.inst).Tags(), x.Tag())
			one.Exception = exceptionText(tag, x.Tag().Type().Params, x.Words())
		case errors.As(err, &exit):
			one.Exit = &exit.Code
		case err != nil:
			return nil, err
		default:
			one.Results = formatValues(t.Results, results)
		}
		o.Calls = append(o.Calls, one)
	}
	if m, err := p.inst.Memory(at.memory); err == nil {
		o.Memory = hashOf(m.Bytes())
	}
	for _, name := range at.globals {
		exported, err := p.inst.Global(name)
		if err != nil {
			return nil, err
		}
		g := (*inproc.Global)(exported)
		words := g.GetWords()
		o.Globals = append(o.Globals, globalOutcome{name, formatValue(g.Type(), words[:])})
	}
	imported.lent.note(o)
	return o, nil
}
