package campaign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
)

// File is a program with its expected outcome, as a file of testdata/programs.
type File struct {
	Note    []string // for people: what it has shown
	Program randprog.Program
	Want    randprog.Outcome
}

// fileText is the form of a file: JSON of these fields, numbers as hexadecimal digits. Files in testdata have this form, so a
// change of it must rewrite them.
type fileText struct {
	Note    []string     `json:"note"`
	Wasm    []byte       `json:"wasm"`
	Env     []byte       `json:"env,omitempty"` // the module "env"; an empty one if there is none
	Reset   bool         `json:"reset,omitempty"`
	AnyNaN  bool         `json:"anyNaN,omitempty"`
	Start   fileResult   `json:"start,omitzero"` // if instantiation traps, there are no other outcomes
	Calls   []fileCall   `json:"calls,omitempty"`
	Host    []hexNumber  `json:"host,omitempty"`
	Again   []fileResult `json:"again,omitempty"`
	Globals []fileGlobal `json:"globals,omitempty"`
	Bytes   int          `json:"bytes,omitempty"`  // of memory
	Memory  []string     `json:"memory,omitempty"` // lines of it that are not zero: address and bytes
	Text    []string     `json:"text"`             // listing of the module, for people
}

type fileCall struct {
	Export  string      `json:"export"`
	Params  string      `json:"params,omitempty"`
	Results string      `json:"results,omitempty"`
	Args    []hexNumber `json:"args,omitempty"`
	fileResult
}

// fileResult is randprog.Result.
type fileResult struct {
	Text  string          `json:"gives,omitempty"`
	Place *spectest.Place `json:"place,omitempty"`
}

type fileGlobal struct {
	Name string    `json:"name"`
	Bits hexNumber `json:"bits,omitempty"`
}

type hexNumber uint64

// MarshalText writes the number.
func (n hexNumber) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(n)), nil }

// UnmarshalText reads what MarshalText has written, or decimal digits.
func (n *hexNumber) UnmarshalText(b []byte) error {
	x, err := strconv.ParseUint(string(b), 0, 64)
	*n = hexNumber(x)
	return err
}

// memoryLine is how many bytes a line of fileText.Memory has.
const memoryLine = 16

// maxFileMemory bounds fileText.Bytes.
const maxFileMemory = 64 << 20

// NewFile makes a file. An environment that the program does not import from is left out.
func NewFile(note []string, p *randprog.Program, want *randprog.Outcome) (*File, error) {
	m, err := wasmfront.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, err
	}
	f := &File{Note: note, Program: *p, Want: *want}
	if len(m.Imports) == 0 {
		f.Program.Env = emptyModule
	}
	return f, nil
}

// emptyModule is a module with nothing in it.
var emptyModule = []byte("\x00asm\x01\x00\x00\x00")

// Format returns the file's text.
func (f *File) Format() ([]byte, error) {
	p, want := &f.Program, &f.Want
	listing, err := printer.String(p.Wasm)
	if err != nil {
		return nil, err
	}
	x := &fileText{Note: f.Note, Wasm: p.Wasm, Reset: p.Reset, AnyNaN: p.AnyNaN, Start: fileResult(want.Start), Host: converted[hexNumber](want.Host),
		Bytes: len(want.Memory), Text: strings.Split(strings.TrimSpace(listing), "\n")}
	if !bytes.Equal(p.Env, emptyModule) {
		x.Env = p.Env
	}
	trapped := want.Start.Text != ""
	if want.Failed != "" || !trapped && (len(want.Calls) != len(p.Calls) || len(want.Globals) != len(p.Globals)) {
		return nil, errors.New("not the outcome of the program")
	}
	for i := range p.Calls {
		c := fileCall{Export: p.Calls[i].Export, Params: p.Calls[i].Params, Results: p.Calls[i].Results, Args: converted[hexNumber](p.Calls[i].Args)}
		if !trapped {
			c.fileResult = fileResult(want.Calls[i])
		}
		x.Calls = append(x.Calls, c)
	}
	for _, r := range want.Again {
		x.Again = append(x.Again, fileResult(r))
	}
	for i, name := range p.Globals {
		g := fileGlobal{Name: name}
		if !trapped {
			g.Bits = hexNumber(want.Globals[i])
		}
		x.Globals = append(x.Globals, g)
	}
	for at := 0; at < len(want.Memory); at += memoryLine {
		if line := want.Memory[at:min(at+memoryLine, len(want.Memory))]; len(bytes.Trim(line, "\x00")) > 0 {
			x.Memory = append(x.Memory, fmt.Sprintf("%#x %x", at, line))
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	err = e.Encode(x)
	return b.Bytes(), err
}

// ParseFile reads what Format has written. Unknown fields are errors, so that everything in a file is checked.
func ParseFile(b []byte) (*File, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	x := &fileText{Env: emptyModule}
	if err := d.Decode(x); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	f := &File{x.Note, randprog.Program{Wasm: x.Wasm, Env: x.Env, Reset: x.Reset, AnyNaN: x.AnyNaN},
		randprog.Outcome{Start: randprog.Result(x.Start), Host: converted[uint64](x.Host)}}
	p, want := &f.Program, &f.Want
	for _, c := range x.Calls {
		p.Calls = append(p.Calls, wasmgen.Call{Export: c.Export, Params: c.Params, Results: c.Results, Args: converted[uint64](c.Args)})
		want.Calls = append(want.Calls, randprog.Result(c.fileResult))
	}
	for _, r := range x.Again {
		want.Again = append(want.Again, randprog.Result(r))
	}
	for _, g := range x.Globals {
		p.Globals, want.Globals = append(p.Globals, g.Name), append(want.Globals, uint64(g.Bits))
	}
	if want.Start.Text != "" {
		want.Calls, want.Globals = nil, nil
	}
	var err error
	want.Memory, err = parseMemory(x.Bytes, x.Memory)
	return f, err
}

// parseMemory returns memory of n bytes with the content that the lines give.
func parseMemory(n int, lines []string) ([]byte, error) {
	if n < 0 || n > maxFileMemory {
		return nil, fmt.Errorf("memory of %d bytes", n)
	}
	memory := make([]byte, n)
	for _, s := range lines {
		var at uint32
		var line []byte
		if _, err := fmt.Sscanf(s, "%v %x", &at, &line); err != nil {
			return nil, fmt.Errorf("memory %q: %w", s, err)
		}
		if int(at) > n-len(line) {
			return nil, fmt.Errorf("memory %q: it has %d bytes", s, n)
		}
		copy(memory[at:], line)
	}
	return memory, nil
}

// converted returns a list of numbers as those of another type.
func converted[T, F ~uint64](list []F) (out []T) {
	for _, x := range list {
		out = append(out, T(x))
	}
	return out
}

// Difference is how the outcome of a program differs under a variant.
type Difference struct{ Variant, Diff string }

// JudgeName is the name of the judge, where it is listed beside variants.
const JudgeName = "wazero's interpreter"

// Check runs the programs of files under the judge, the CLIF interpreter without and with the mid-end, and each variant of the
// targets. It returns the names of these, and the differences by file. An error means that it could not continue.
func Check(ctx context.Context, cfg Config, files ...*File) (names []string, differences [][]Difference, err error) {
	c := NewChecker(cfg)
	defer c.Close()
	return c.Check(ctx, files...)
}

// Checker checks files one after the other, in processes that go on.
type Checker struct {
	cfg Config
	w   *worker
}

// NewChecker returns a Checker for the targets of cfg.
func NewChecker(cfg Config) *Checker {
	c := &Checker{cfg: cfg}
	c.cfg.setDefaults()
	c.w = newWorker(&c.cfg)
	return c
}

// Close ends the processes.
func (c *Checker) Close() { c.w.close() }

// Check is the function Check.
func (c *Checker) Check(ctx context.Context, files ...*File) (names []string, differences [][]Difference, err error) {
	differences = make([][]Difference, len(files))
	for i, f := range files {
		if names, differences[i], err = c.w.check(ctx, f); err != nil {
			return nil, nil, fmt.Errorf("file %d: %w", i, err)
		}
	}
	return names, differences, nil
}

// Planted is Check of a file for one of the targets, with a fault planted as Config.Spoil does.
func (c *Checker) Planted(ctx context.Context, target string, spoil func(v *Variant, o *compile.Options), f *File) ([]Difference, error) {
	one := c.cfg
	one.Spoil = spoil
	_, differences, err := (&worker{cfg: &one, machines: []*machine{c.w.machine(&Variant{Target: target})}}).check(ctx, f)
	return differences, err
}

// check is Check of one file.
func (w *worker) check(ctx context.Context, f *File) (names []string, differences []Difference, err error) {
	p := &f.Program
	compare := func(name string, got *randprog.Outcome) {
		names = append(names, name)
		d := "it is not supported"
		if got != nil {
			d = got.Diff(&f.Want)
		}
		if d != "" {
			differences = append(differences, Difference{name, d})
		}
	}
	judge, _, err := randprog.Judge(ctx, p)
	if err != nil {
		return nil, nil, fmt.Errorf("the judge: %w", err)
	}
	compare(JudgeName, judge)
	compare(Interpreter, randprog.Run(&interpengine.Engine{Options: wholeLimits}, p))
	compare(optimised().Name, w.interpret(p, optimised(), nil, wholeLimits))
	for _, m := range w.machines {
		list, err := w.onMachine(m, p, m.variants, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.target, err)
		}
		for i, got := range list {
			compare(m.variants[i].Name, got)
		}
	}
	return names, differences, nil
}

// wholeLimits bound what interpreters do with a whole program, which a fault may make endless.
var wholeLimits = interp.Options{MaxSteps: 50_000_000}

// runVariant returns the outcome of a program under a variant, nil for the interpreter. The outcome is nil if the program is not
// supported. set, if not nil, changes the options.
func (w *worker) runVariant(p *randprog.Program, v *Variant, set func(*compile.Options), limits interp.Options) (*randprog.Outcome, error) {
	switch {
	case v == nil:
		return randprog.Run(&interpengine.Engine{Options: limits}, p), nil
	case v.Target == "":
		return w.interpret(p, v, set, limits), nil
	}
	list, err := w.onMachine(w.machine(v), p, []Variant{*v}, set)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// programFile returns the text of a file of a program that differs under v. The kind of difference must be sort, unless that is
// empty. The text is read back and run in a new process to make sure. The error says why there is no file.
func (w *worker) programFile(ctx context.Context, note []string, p *randprog.Program, v *Variant, sort string) ([]byte, error) {
	plain := randprog.Run(&interpengine.Engine{Options: wholeLimits}, p)
	judge, _, err := randprog.Judge(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("the judge: %w", err)
	}
	f, err := NewFile(note, p, randprog.Reference(judge, plain))
	if err != nil {
		return nil, err
	}
	text, err := f.Format()
	if err != nil {
		return nil, err
	}
	if f, err = ParseFile(text); err != nil {
		return nil, err
	}
	want := &f.Want
	if again, _, err := randprog.Judge(ctx, &f.Program); err != nil || again.Diff(want) != "" {
		return nil, fmt.Errorf("the judge does not do the same again (%v)", err)
	}
	if v != nil {
		if d := randprog.Run(&interpengine.Engine{Options: wholeLimits}, &f.Program).Diff(want); d != "" {
			return nil, fmt.Errorf("the CLIF interpreter differs, too: %s", d)
		}
	}
	if v != nil && v.Target != "" {
		w.machine(v).stop() // earlier runs must not matter; how the process ends does not matter
	}
	got, err := w.runVariant(&f.Program, v, nil, wholeLimits)
	if err != nil {
		return nil, err
	}
	if k := kind(got, want); k == "" || sort != "" && k != sort {
		how := "it is not supported"
		if got != nil {
			how = cmp.Or(got.Diff(want), "nothing differs")
		}
		return nil, fmt.Errorf("it does not differ as a file in the way that was found: %s", how)
	}
	return text, nil
}
