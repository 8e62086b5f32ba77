package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/input"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/spectest"
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
of its intermediate code, which has as long as wazero. Exits with 1 if there is a
difference. Code for another target runs in an emulator.

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

// call is a function to call, with arguments.
type call struct {
	name string
	args []uint64
}

// callOutcome is what a call did.
type callOutcome struct {
	Call    string   `json:"call"`
	Results []string `json:"results,omitempty"`
	Trap    string   `json:"trap,omitempty"`
	// Place is that of the trap, if the engine says it.
	Place *spectest.Place `json:"place,omitempty"`
	Exit  *uint32         `json:"exit,omitempty"`
}

func (o *callOutcome) String() string {
	switch {
	case o.Trap != "":
		return "trap: " + o.Trap
	case o.Exit != nil:
		return fmt.Sprintf("exit %d", *o.Exit)
	}
	return fmt.Sprint(o.Results)
}

// execution is what a run of one engine did.
type execution struct {
	Engine string `json:"engine"`
	Start  string `json:"start,omitempty"` // why instantiation failed
	// StartPlace is that of the trap in Start, if it is one and the engine says it.
	StartPlace *spectest.Place `json:"start_place,omitempty"`

	Calls  []callOutcome `json:"calls"`
	Stdout string        `json:"stdout"` // hash and size
	Stderr string        `json:"stderr"`
	Memory string        `json:"memory,omitempty"`
	// Imports is how many calls of stand-ins there were, and a hash of them; ImportCalls are the first.
	Imports     string   `json:"imports,omitempty"`
	ImportCalls []string `json:"import_calls,omitempty"`
	// Globals are those exported, of numeric type.
	Globals []globalOutcome `json:"globals,omitempty"`
}

// globalOutcome is an exported global at the end.
type globalOutcome struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// difference is something in which two outcomes differ.
type difference struct {
	What   string `json:"what"`
	Waot   string `json:"waot"`
	Engine string `json:"other_engine"`
	Other  string `json:"other"`
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
	var native func() (*execution, error)
	var red *reduction
	if c.IsSet("reduce") {
		r, err := newRunner(c, opt)
		if err != nil {
			return err
		}
		defer r.close()
		x := &isolated{c: c, opt: opt, file: file, runner: r}
		red = x.reduction(cfg)
		native = func() (*execution, error) { return x.run(src.b) }
	} else if elsewhere(c, opt) {
		native = func() (*execution, error) { return runElsewhere(c, opt, file, art) }
	} else {
		mod, err := art.load()
		if err != nil {
			return inFile(file, err)
		}
		native = func() (*execution, error) { return runNative(mod, cfg, calls, observe(m)) }
	}
	return src.fail(compareAll(c, wasmtime, src.b, m, native, red, cfg, calls))
}

// startArgs are the arguments of the program, if one runs.
func startArgs(c *cli.Context, calls []call) []string {
	if len(calls) == 1 && calls[0].name == "_start" {
		return c.Args().Tail()
	}
	return nil
}

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

// wazeroLimit bounds a run under wazero without --timeout. It goes first: compiled code cannot be
// interrupted yet, so what does not end there is not started here.
const wazeroLimit = 30 * time.Second

// compareAll runs the calls under both engines, and a third if they differ. red, if not nil, then makes the module small.
// wasmtime is the command of a judge, or empty.
func compareAll(c *cli.Context, wasmtime string, bin []byte, m *meta.Module, native func() (*execution, error), red *reduction, cfg wasirun.Options, calls []call) error {
	at, limit := observe(m), c.Duration("timeout")
	// wazero's compiler cannot run some modules: see maxMemory.
	interpreted := maxMemory(bin)
	theirs, err := runWazero(limit, bin, cfg, calls, at, interpreted)
	if err != nil {
		return err
	}
	ours, err := native()
	if err != nil {
		return err
	}
	diffs := compare(ours, theirs)
	if len(diffs) > 0 {
		// The first run may have changed what programs see of files, such as access
		// times: only differences that occur twice count.
		if theirs, err = runWazero(limit, bin, cfg, calls, at, interpreted); err != nil {
			return err
		}
		diffs = compare(ours, theirs)
	}
	var where *places
	if len(diffs) == 0 {
		if where, err = placesOf(ours, native, func() (*execution, error) { return runInterpreter(limit, bin, cfg, calls, at) }); err != nil {
			return err
		}
	}
	report := struct {
		Same        bool         `json:"same"`
		Waot        *execution   `json:"waot"`
		Wazero      *execution   `json:"wazero"`
		Interpreter *execution   `json:"wazero_interpreter,omitempty"`
		Differences []difference `json:"differences"`
		Places      *places      `json:"places,omitempty"`
		Agrees      string       `json:"interpreter_agrees_with,omitempty"`
		CLIF        *execution   `json:"clif_interpreter,omitempty"`
		CLIFAgrees  string       `json:"clif_interpreter_agrees_with,omitempty"`
		Wasmtime    string       `json:"wasmtime_agrees_with,omitempty"`
		// Known is the defect of wazero that the differences come from.
		Known   string   `json:"known,omitempty"`
		Reduced *reduced `json:"reduced,omitempty"`
	}{Waot: ours, Wazero: theirs, Differences: append(diffs, where.differences()...), Places: where}
	report.Same = len(report.Differences) == 0
	if len(diffs) > 0 {
		if report.Interpreter, err = runWazero(limit, bin, cfg, calls, at, true); err != nil {
			return err
		}
		report.Agrees = agreesWith(ours, theirs, report.Interpreter)
		// A judge that cannot run the module, or takes too long, has no say.
		if report.CLIF, err = runInterpreter(limit, bin, cfg, calls, at); err == nil {
			report.CLIFAgrees = agreesWith(ours, theirs, report.CLIF)
		}
		if report.Wasmtime, err = askWasmtime(wasmtime, bin, m, calls, ours, theirs); err != nil {
			return err
		}
		for _, other := range withoutDefects(bin) {
			if o, err := runWazero(limit, other.bin, cfg, calls, at, interpreted); err == nil && len(compare(ours, o)) == 0 {
				report.Known = other.known
				break
			}
		}
	}
	if !report.Same && report.Known == "" && red != nil {
		if report.Reduced, err = reduceTo(c.String("reduce"), bin, red); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		writeJSON(c.App.Writer, report)
	} else {
		for _, d := range report.Differences {
			printf(c, "%s differs\n  %-7s %s\n  %-7s %s\n", quote.Name(d.What), "waot:", quote.Name(d.Waot), d.Engine+":", quote.Name(d.Other))
		}
		switch {
		case report.Same:
			printf(c, "same: %d calls, standard output %s, memory %s%v\n", len(ours.Calls), ours.Stdout, cmp.Or(ours.Memory, "not exported"), where)
		case report.Agrees == "":
			printf(c, "different%v\n", where)
		default:
			printf(c, "different; wazero's interpreter agrees with %s", report.Agrees)
			if report.CLIFAgrees != "" {
				printf(c, ", the CLIF interpreter with %s", report.CLIFAgrees)
			}
			if report.Wasmtime != "" {
				printf(c, ", wasmtime with %s", report.Wasmtime)
			}
			printf(c, "\n")
		}
		if report.Known != "" {
			printf(c, "that is known: %s, and there is no difference if the module's start function does by operators what instantiation does\n", report.Known)
		}
		if r := report.Reduced; r != nil {
			printf(c, "%s: made small from %d bytes to %d, %d tries\n", quote.Name(r.File), r.From, r.Bytes, r.Tries)
		}
	}
	if !report.Same && report.Known == "" {
		return exitStatus(statusBad)
	}
	return nil
}

// agreesWith says with which of two outcomes a judge agrees.
func agreesWith(ours, theirs, judge *execution) string {
	switch {
	case len(compare(ours, judge)) == 0:
		return "waot"
	case len(compare(theirs, judge)) == 0:
		return "wazero"
	}
	return "neither"
}

// planCalls returns what to call: --invoke, or _start, or everything exported.
func planCalls(c *cli.Context, m *meta.Module) ([]call, error) {
	want, named := c.String("invoke"), c.IsSet("invoke")
	var plan []call
	for i := range m.Exports {
		e := &m.Exports[i]
		if e.Kind != abi.ExternFunc {
			continue
		}
		t := &m.Types[m.Funcs[e.Index].Type]
		switch {
		case named && want == e.Name:
			one := call{name: e.Name}
			words := c.Args().Tail()
			if len(words) != len(t.Params) {
				return nil, usagef("diff: %s takes %d arguments %s, got %d", quote.Name(want), len(t.Params), abi.TypeList(t.Params, ", "), len(words))
			}
			var err error
			if one.args, err = parseValues(t.Params, words); err != nil {
				return nil, err
			}
			return []call{one}, nil
		case !named && e.Name == "_start":
			return []call{{name: e.Name}}, nil
		case !named && e.Name != "_initialize":
			plan = append(plan, samples(e.Name, t)...)
		}
	}
	if named {
		return nil, inFile(c.Args().First(), fmt.Errorf("no exported function %q", want))
	}
	return plan, nil
}

// sampleBits are argument values; references are always null.
var sampleBits = [...][3]uint64{
	{0, 0, 0},
	{1, 2, 3},
	{7, 0x40400000, 0x4008000000000000},
	{1<<64 - 1, 0xfffffff8, 1 << 63},
	{0x123456789abcdef0, 0x3fc00000, 0xbff8000000000000},
}

// samples is calls of a function with several sets of arguments.
func samples(name string, t *meta.FuncType) []call {
	if len(t.Params) == 0 {
		return []call{{name: name}}
	}
	var out []call
	for k := range sampleBits {
		one := call{name: name}
		for n, p := range t.Params {
			v := sampleBits[k][n%3]
			switch p {
			case meta.I32, meta.F32:
				v = uint64(uint32(v))
			case meta.FuncRef, meta.ExternRef:
				v = 0
			}
			if one.args = append(one.args, v); p == meta.V128 {
				one.args = append(one.args, sampleBits[k][(n+1)%3])
			}
		}
		out = append(out, one)
	}
	return out
}

func (c *call) describe(t *meta.FuncType) string {
	return c.name + "(" + strings.Join(formatValues(t.Params, c.args), ", ") + ")"
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

func hashOf(b []byte) string {
	h := sha256.Sum256(b)
	return fmt.Sprintf("%s (%d bytes)", hex.EncodeToString(h[:8]), len(b))
}

// trapClass returns a trap's words as far as both engines tell them apart: wazero has one
// for all accesses to tables.
func trapClass(code abi.TrapCode) string {
	switch code {
	case abi.TrapTableOutOfBounds, abi.TrapUndefinedElement, abi.TrapUninitializedElement:
		return "invalid table access"
	case abi.TrapStackOverflow:
		return "stack overflow"
	}
	return code.Message()
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
	p, err := newGuest(nil, mod, fixed(cfg, &stdout, &stderr), guestOptions{answers: imported})
	var trap *host.Trap
	var exit *wasirun.ExitError
	switch {
	case errors.As(err, &trap):
		o.Start, o.StartPlace = "trap: "+trapClass(abi.TrapCode(trap.Code)), placeOf(trap)
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

// compare lists the differences of two outcomes.
func compare(a, b *execution) []difference {
	diffs := []difference{}
	add := func(what, x, y string) {
		if x != y {
			diffs = append(diffs, difference{what, x, b.Engine, y})
		}
	}
	add("instantiation", a.Start, b.Start)
	for i := range min(len(a.Calls), len(b.Calls)) {
		add(a.Calls[i].Call, a.Calls[i].String(), b.Calls[i].String())
	}
	compareImports(a, b, add)
	add("number of calls", fmt.Sprint(len(a.Calls)), fmt.Sprint(len(b.Calls)))
	add("standard output", a.Stdout, b.Stdout)
	add("standard error", a.Stderr, b.Stderr)
	add("memory", a.Memory, b.Memory)
	for i := range min(len(a.Globals), len(b.Globals)) {
		add("global "+a.Globals[i].Name, a.Globals[i].Value, b.Globals[i].Value)
	}
	return diffs
}
