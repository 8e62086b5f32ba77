package main

import (
	"cmp"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// wazeroLimit bounds a run under wazero without --timeout. It goes first: compiled code cannot be
// interrupted yet, so what does not end there is not started here.
const wazeroLimit = 30 * time.Second

// comparison is what diff compares: the calls of a module, under engines.
type comparison struct {
	bin   []byte
	meta  *meta.Module
	calls []call
	at    observed
	cfg   wasirun.Options
	limit time.Duration // of a run under an interpreter or wazero
	// native runs compiled code. wasmtime is the command of a judge, or empty.
	native   func() (*execution, error)
	wasmtime string
	// interpreted is set where wazero's compiler cannot run the module: see maxMemory.
	interpreted bool
	// collected is set where wazero does not know the module: it has garbage collection or wide arithmetic. Then the CLIF interpreter is in wazero's place.
	collected bool
}

// isUnknown reports whether a valid module needs features that wazero does not have.
func isUnknown(bin []byte) bool {
	_, err := validate.All(bin, validate.Config{Features: wasmfront.DefaultFeatures &^ (wasmfront.FeatureGC | wasmfront.FeatureWideArithmetic)})
	return err != nil
}

// runPeer runs the calls under wazero, or on the CLIF interpreter if wazero does not know the module.
func runPeer(limit time.Duration, bin []byte, cfg wasirun.Options, calls []call, at observed, interpreted bool) (*execution, error) {
	if isUnknown(bin) {
		return runInterpreter(limit, bin, cfg, calls, at)
	}
	return runWazero(limit, bin, cfg, calls, at, interpreted)
}

// diffReport is what diff says.
type diffReport struct {
	Same        bool         `json:"same"`
	Waot        *execution   `json:"waot"`
	Wazero      *execution   `json:"wazero,omitempty"`
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
}

// differs reports whether there is a difference that is no known defect of wazero.
func (r *diffReport) differs() bool { return !r.Same && r.Known == "" }

// wazero runs a module under wazero, by its compiler or its interpreter, or on what is in its place.
func (x *comparison) wazero(bin []byte, interpreted bool) (*execution, error) {
	return runPeer(x.limit, bin, x.cfg, x.calls, x.at, interpreted)
}

// clif runs the module on the CLIF interpreter.
func (x *comparison) clif() (*execution, error) {
	return runInterpreter(x.limit, x.bin, x.cfg, x.calls, x.at)
}

// report runs the calls under both engines, and under the judges if they differ.
func (x *comparison) report() (*diffReport, error) {
	r := &diffReport{}
	if err := x.run(r); err != nil {
		return nil, err
	}
	if x.collected {
		defer func() { r.Wazero, r.CLIF = nil, r.Wazero }()
	}
	diffs := compare(r.Waot, r.Wazero)
	if len(diffs) > 0 {
		// The first run may have changed what programs see of files, such as access
		// times: only differences that occur twice count.
		var err error
		if r.Wazero, err = x.wazero(x.bin, x.interpreted); err != nil {
			return nil, err
		}
		diffs = compare(r.Waot, r.Wazero)
	}
	if len(diffs) > 0 {
		r.Differences = diffs
		return r, x.judge(r)
	}
	var err error
	if r.Places, err = placesOf(r.Waot, x.native, x.clif); err != nil {
		return nil, err
	}
	r.Differences = append(diffs, r.Places.differences()...)
	r.Same = len(r.Differences) == 0
	return r, nil
}

// run runs the calls under both engines.
func (x *comparison) run(r *diffReport) (err error) {
	if r.Wazero, err = x.wazero(x.bin, x.interpreted); err == nil {
		r.Waot, err = x.native()
	}
	return err
}

// judge asks other engines which of two outcomes that differ is right, and whether the difference is known.
func (x *comparison) judge(r *diffReport) (err error) {
	if x.collected {
		r.Wasmtime, err = askWasmtime(x.wasmtime, x.bin, x.meta, x.calls, r.Waot, r.Wazero)
		if r.Wasmtime == "wazero" {
			r.Wasmtime = "the CLIF interpreter"
		}
		return err
	}
	if r.Interpreter, err = x.wazero(x.bin, true); err != nil {
		return err
	}
	r.Agrees = agreesWith(r.Waot, r.Wazero, r.Interpreter)
	// A judge that cannot run the module, or takes too long, has no say.
	if r.CLIF, err = x.clif(); err == nil {
		r.CLIFAgrees = agreesWith(r.Waot, r.Wazero, r.CLIF)
	}
	if r.Wasmtime, err = askWasmtime(x.wasmtime, x.bin, x.meta, x.calls, r.Waot, r.Wazero); err != nil {
		return err
	}
	for _, other := range withoutDefects(x.bin) {
		if o, err := x.wazero(other.bin, x.interpreted); err == nil && len(compare(r.Waot, o)) == 0 {
			r.Known = other.known
			break
		}
	}
	return nil
}

// print writes the report as text.
func (r *diffReport) print(c *cli.Context) {
	for _, d := range r.Differences {
		printf(c, "%s differs\n  %-7s %s\n  %-7s %s\n", quote.Name(d.What), "waot:", quote.Name(d.Waot), d.Engine+":", quote.Name(d.Other))
	}
	switch {
	case r.Same:
		printf(c, "same: %d calls, standard output %s, memory %s%v\n", len(r.Waot.Calls), r.Waot.Stdout, cmp.Or(r.Waot.Memory, "not exported"), r.Places)
	case r.Agrees == "" && r.Wasmtime != "":
		printf(c, "different; wasmtime agrees with %s\n", r.Wasmtime)
	case r.Agrees == "":
		printf(c, "different%v\n", r.Places)
	default:
		printf(c, "different; wazero's interpreter agrees with %s", r.Agrees)
		if r.CLIFAgrees != "" {
			printf(c, ", the CLIF interpreter with %s", r.CLIFAgrees)
		}
		if r.Wasmtime != "" {
			printf(c, ", wasmtime with %s", r.Wasmtime)
		}
		printf(c, "\n")
	}
	if r.Known != "" {
		printf(c, "that is known: %s, and there is no difference if the module's start function does by operators what instantiation does\n", r.Known)
	}
	if r := r.Reduced; r != nil {
		printf(c, "%s: made small from %d bytes to %d, %d tries\n", quote.Name(r.File), r.From, r.Bytes, r.Tries)
	}
}
