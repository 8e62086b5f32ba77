package spectest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/wat"
)

// SkipRefused is how the reason begins to skip a command with a module that the engine refuses for a feature or limit, whose name follows.
const SkipRefused = "refused: "

// The other reasons to skip a command, besides "feature NAME", for its tags.
const (
	SkipDepends    = "needs skipped module" // it acts on an instance that was skipped
	SkipThreads    = "threads"              // thread and wait
	SkipSuspension = "not supported: assert_suspension"
)

// Failure is a command that did not do what it should.
type Failure struct {
	Script string // original file name
	Line   int
	Msg    string
}

func (f Failure) String() string {
	return fmt.Sprintf("%s:%d: %s", quote.Name(f.Script), f.Line, f.Msg)
}

// Result counts commands.
type Result struct {
	Passed, Failed int
	Skipped        map[string]int // by reason
	// Of Messages errors, Exact are the script's words, and Worded begin with them, or are
	// their beginning.
	Exact, Worded, Messages int
	Failures                []Failure
}

// NumSkipped returns the number of commands skipped for any reason.
func (r *Result) NumSkipped() int {
	n := 0
	for _, k := range r.Skipped {
		n += k
	}
	return n
}

// Add adds the counts of o.
func (r *Result) Add(o *Result) {
	r.Passed, r.Failed = r.Passed+o.Passed, r.Failed+o.Failed
	r.Exact, r.Worded, r.Messages = r.Exact+o.Exact, r.Worded+o.Worded, r.Messages+o.Messages
	r.Failures = append(r.Failures, o.Failures...)
	if r.Skipped == nil {
		r.Skipped = map[string]int{}
	}
	for why, n := range o.Skipped {
		r.Skipped[why] += n
	}
}

// String returns a summary in one line.
func (r *Result) String() string {
	s := fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.NumSkipped())
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(r.Skipped)) {
		parts = append(parts, fmt.Sprintf("%s: %d", why, r.Skipped[why]))
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	return s + fmt.Sprintf("; %d of %d messages worded as the script", r.Worded, r.Messages)
}

// skip is the error of a command that is skipped.
type skip struct{ reason string }

func (s *skip) Error() string { return "skipped: " + s.reason }

// named is an instance of the script, or why there is none.
type named struct {
	inst Instance
	gone error
}

// runner runs one script.
type runner struct {
	Options
	script      *script.Script
	engine      Engine
	store       Store
	instances   map[string]named // "" is the current one
	definitions map[string]definition
	registered  map[string]named
	host        map[string]Extern
	result      *Result
}

type definition struct {
	mod  Module
	gone error
}

// Options say how a script is read.
type Options struct {
	// ImportNames lets modules import from an instance under the name that the script gives it, without the dollar, as scripts of wasmtime's expect. The official
	// ones register what others import.
	ImportNames bool
}

// Run runs a script on an engine. The error is one of the script or the store;
// what commands do wrong is in the result.
func Run(s *script.Script, e Engine) (*Result, error) { return Options{}.Run(s, e) }

// Run is the function Run with options.
func (o Options) Run(s *script.Script, e Engine) (*Result, error) {
	store, err := e.NewStore()
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, script: s, engine: e, store: store, instances: map[string]named{}, definitions: map[string]definition{},
		registered: map[string]named{}, host: map[string]Extern{}, result: &Result{Skipped: map[string]int{}}}
	if err := r.makeHost(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	needs := s.Needs()
	for i := range s.Commands {
		r.command(&s.Commands[i], needs[i])
	}
	return r.result, store.Close()
}

// makeHost makes the module spectest.
func (r *runner) makeHost() error {
	var first error
	add := func(name string, e Extern, err error) {
		r.host[name] = e
		if first == nil {
			first = err
		}
	}
	for _, g := range []struct {
		name string
		t    clif.Type
		bits uint64
	}{
		{"global_i32", clif.I32, 666}, {"global_i64", clif.I64, 666},
		{"global_f32", clif.F32, uint64(math.Float32bits(666.6))}, {"global_f64", clif.F64, math.Float64bits(666.6)},
	} {
		e, err := r.store.NewGlobal(g.t, false, g.bits)
		add(g.name, e, err)
	}
	for _, f := range []struct {
		name   string
		params []clif.Type
	}{
		{"print", nil}, {"print_i32", []clif.Type{clif.I32}}, {"print_i64", []clif.Type{clif.I64}},
		{"print_f32", []clif.Type{clif.F32}}, {"print_f64", []clif.Type{clif.F64}},
		{"print_i32_f32", []clif.Type{clif.I32, clif.F32}}, {"print_f64_f64", []clif.Type{clif.F64, clif.F64}},
	} {
		e, err := r.store.NewFunc(clif.Signature{Params: f.params}, func(_, _ []uint64) {})
		add(f.name, e, err)
	}
	mem, err := r.store.NewMemory(1, 2)
	add("memory", mem, err)
	table, err := r.store.NewTable(clif.FuncRef, 10, 20)
	add("table", table, err)
	return first
}

// command runs one command and counts it.
func (r *runner) command(c *script.Command, needs []string) {
	err := r.unsupported(needs)
	if err == nil {
		err = handlers[c.Type](r, c)
	} else {
		r.lose(c, err)
	}
	var s *skip
	switch {
	case err == nil:
		r.result.Passed++
	case errors.As(err, &s):
		r.result.Skipped[s.reason]++
	default:
		r.result.Failed++
		r.result.Failures = append(r.result.Failures, Failure{r.script.Source, c.Line, fmt.Sprintf("%s: %v", c.Type, err)})
	}
}

// unsupported returns a skip if one of the features is not the engine's.
func (r *runner) unsupported(needs []string) error {
	for _, name := range needs {
		f := wasmfront.FeatureByName(name)
		if f == 0 || !r.engine.Features().Has(f) {
			return &skip{"feature " + name}
		}
	}
	return nil
}

// lose notes that c did not make the module or instance that it should.
func (r *runner) lose(c *script.Command, why error) {
	var s *skip
	if errors.As(why, &s) {
		why = &skip{SkipDepends}
	}
	switch c.Type {
	case script.Module:
		r.define(c.Name, nil, why)
		r.name(c.Name, nil, why)
	case script.ModuleDefinition:
		r.define(c.Name, nil, why)
	case script.ModuleInstance:
		r.name(c.Instance, nil, why)
	case script.Register:
		r.registered[c.As] = named{gone: why}
	}
}

func (r *runner) name(name string, inst Instance, gone error) {
	n := named{inst, gone}
	r.instances[name], r.instances[""] = n, n
	if r.ImportNames && name != "" {
		r.registered[strings.TrimPrefix(name, "$")] = n
	}
}

func (r *runner) define(name string, m Module, gone error) {
	d := definition{m, gone}
	r.definitions[name], r.definitions[""] = d, d
}

func (r *runner) instance(name string) (Instance, error) {
	n, ok := r.instances[name]
	if !ok {
		return nil, fmt.Errorf("no instance %q", name)
	}
	return n.inst, n.gone
}

// handlers runs each type of command.
var handlers = map[script.CommandType]func(*runner, *script.Command) error{
	script.Module:                (*runner).module,
	script.ModuleDefinition:      (*runner).moduleDefinition,
	script.ModuleInstance:        (*runner).moduleInstance,
	script.Register:              (*runner).register,
	script.ActionCommand:         (*runner).action,
	script.AssertReturn:          (*runner).assertReturn,
	script.AssertTrap:            (*runner).assertTrap,
	script.AssertExhaustion:      (*runner).assertTrap,
	script.AssertException:       (*runner).assertException,
	script.AssertSuspension:      func(*runner, *script.Command) error { return &skip{SkipSuspension} },
	script.AssertInvalid:         (*runner).assertRejected,
	script.AssertMalformed:       (*runner).assertRejected,
	script.AssertUnlinkable:      (*runner).assertUnlinkable,
	script.AssertUninstantiable:  (*runner).assertUninstantiable,
	script.AssertInvalidCustom:   (*runner).assertCustom,
	script.AssertMalformedCustom: (*runner).assertCustom,
	script.Thread:                func(*runner, *script.Command) error { return &skip{SkipThreads} },
	script.Wait:                  func(*runner, *script.Command) error { return &skip{SkipThreads} },
}

// refused returns a skip if err says that a feature or a limit is the reason; else it is err.
func refused(err error) error {
	var e *wasmfront.Error
	var text *wat.Error
	switch {
	case errors.As(err, &text) && text.Feature != "":
		return &skip{SkipRefused + text.Feature}
	case !errors.As(err, &e):
	case e.Feature != "":
		return &skip{SkipRefused + e.Feature}
	case e.Limit != "":
		return &skip{SkipRefused + "limit of " + e.Limit}
	}
	return err
}

// compile compiles the module of c.
func (r *runner) compile(c *script.Command) (Module, error) {
	wasm, err := r.script.Module(c.Filename)
	if err != nil {
		return nil, err
	}
	return r.store.Compile(wasm)
}

// accepted is compile for a module that is right.
func (r *runner) accepted(c *script.Command) (Module, error) {
	m, err := r.compile(c)
	return m, refused(err)
}

// link instantiates m; lost is why a module that it imports from is not there.
func (r *runner) link(m Module) (inst Instance, err, lost error) {
	inst, err = r.store.Instantiate(m, func(module, name string) (Extern, bool) {
		if module == "spectest" {
			e, ok := r.host[name]
			return e, ok
		}
		n, ok := r.registered[module]
		if n.gone != nil {
			lost = n.gone
		}
		if !ok || n.gone != nil {
			return nil, false
		}
		return n.inst.Export(name)
	})
	return inst, err, lost
}

// instantiate is link for a module that should link.
func (r *runner) instantiate(m Module) (Instance, error) {
	inst, err, lost := r.link(m)
	if lost != nil {
		return nil, lost
	}
	if err != nil {
		return nil, refused(err)
	}
	return inst, nil
}

func (r *runner) module(c *script.Command) error {
	m, err := r.accepted(c)
	if err == nil {
		r.define(c.Name, m, nil)
		var inst Instance
		if inst, err = r.instantiate(m); err == nil {
			r.name(c.Name, inst, nil)
			return nil
		}
	}
	r.lose(c, err)
	return err
}

func (r *runner) moduleDefinition(c *script.Command) error {
	m, err := r.accepted(c)
	if err != nil {
		r.lose(c, err)
		return err
	}
	r.define(c.Name, m, nil)
	return nil
}

func (r *runner) moduleInstance(c *script.Command) error {
	d, ok := r.definitions[c.Of]
	if !ok {
		return fmt.Errorf("no definition %q", c.Of)
	}
	err := d.gone
	if err == nil {
		var inst Instance
		if inst, err = r.instantiate(d.mod); err == nil {
			r.name(c.Instance, inst, nil)
			return nil
		}
	}
	r.lose(c, err)
	return err
}

func (r *runner) register(c *script.Command) error {
	inst, err := r.instance(c.Name)
	var s *skip
	if errors.As(err, &s) {
		// The name stands for an instance that was left out: what imports from it is
		// skipped, this command has nothing to check.
		r.lose(c, err)
		return nil
	}
	if err != nil {
		r.lose(c, err)
		return err
	}
	r.registered[c.As] = named{inst: inst}
	return nil
}

// perform performs an action.
func (r *runner) perform(a *script.Action) ([]Value, error) {
	inst, err := r.instance(a.Module)
	if err != nil {
		return nil, err
	}
	if a.Type == script.Get {
		v, err := inst.Get(a.Field)
		return []Value{v}, err
	}
	sig, ok := inst.FuncType(a.Field)
	if !ok {
		return nil, fmt.Errorf("no function %q", a.Field)
	}
	if len(sig.Params) != len(a.Args) {
		return nil, fmt.Errorf("%d arguments for a function of type %v", len(a.Args), sig)
	}
	args := make([]uint64, 0, clif.Words(sig.Params))
	for i := range a.Args {
		var unsupported string
		args, unsupported = argument(r.store, args, &a.Args[i])
		if unsupported != "" {
			return nil, &skip{SkipRefused + "argument of type " + unsupported}
		}
		if t := typeByName(a.Args[i].Type); t != sig.Params[i] {
			return nil, fmt.Errorf("argument %d of type %v for a function of type %v", i, t, sig)
		}
	}
	return inst.Invoke(a.Field, args)
}

func (r *runner) action(c *script.Command) error {
	_, err := r.perform(c.Action)
	return err
}

func (r *runner) assertReturn(c *script.Command) error {
	got, err := r.perform(c.Action)
	if err != nil {
		return err
	}
	if len(got) != len(c.Expected) {
		return fmt.Errorf("%s: %d results, want %d", quote.Name(c.Action.Field), len(got), len(c.Expected))
	}
	for i, v := range got {
		if !matches(r.store, &c.Expected[i], v) {
			return fmt.Errorf("%s: result %d is %v, want %s", quote.Name(c.Action.Field), i, v, describe(&c.Expected[i]))
		}
	}
	return nil
}

// worded reports whether one of a message and the script's begins with the other.
func worded(c *script.Command, msg string) bool {
	return strings.HasPrefix(msg, c.Text) || strings.HasPrefix(c.Text, msg)
}

// wording counts whether a message is the script's.
func (r *runner) wording(c *script.Command, msg string) {
	r.result.Messages++
	if worded(c, msg) {
		r.result.Worded++
	}
	if msg == c.Text {
		r.result.Exact++
	}
}

// trapped checks that err is a trap, of the code that the text says, as far as
// it says one.
func (r *runner) trapped(c *script.Command, err error) error {
	var s *skip
	if err == nil {
		return errors.New("no trap")
	}
	if errors.As(err, &s) {
		return err
	}
	var t Trapper
	if !errors.As(err, &t) {
		return fmt.Errorf("%w, want a trap", err)
	}
	code := t.TrapCode()
	if want, ok := trapTexts[c.Text]; ok && want != code {
		return fmt.Errorf("trap %q, want %q", code.Message(), c.Text)
	}
	r.wording(c, code.Message())
	return nil
}

// trapTexts are the texts that name a code exactly.
var trapTexts = makeTrapTexts()

func makeTrapTexts() map[string]abi.TrapCode {
	m := map[string]abi.TrapCode{}
	for c := abi.TrapUnreachable; c < abi.NumTrapCodes; c++ {
		m[c.Message()] = c
	}
	return m
}

func (r *runner) assertTrap(c *script.Command) error {
	_, err := r.perform(c.Action)
	return r.trapped(c, err)
}

// assertException: the action ends with an exception that nothing has caught.
func (r *runner) assertException(c *script.Command) error {
	_, err := r.perform(c.Action)
	var x Thrower
	var s *skip
	switch {
	case err == nil:
		return errors.New("it returned, want an exception")
	case errors.As(err, &s) || !errors.As(err, &x):
		return err
	}
	return nil
}

// assertRejected: a refusal for a feature or a limit is another reason than the script's,
// unless the limit is what the script is about.
func (r *runner) assertRejected(c *script.Command) error {
	_, err := r.compile(c)
	var e *wasmfront.Error
	var text *wat.Error
	switch {
	case err == nil:
		return fmt.Errorf("module accepted, want %q", c.Text)
	case errors.As(err, &text):
		return r.assertMalformedText(c, text)
	case !errors.As(err, &e):
		return notRefusal(err)
	case e.Feature != "" || e.Limit != "" && !worded(c, e.Msg):
		return refused(err)
	}
	r.wording(c, e.Msg)
	return nil
}

// assertMalformedText: a text that is no module is malformed, not invalid.
func (r *runner) assertMalformedText(c *script.Command, e *wat.Error) error {
	switch {
	case e.Feature != "":
		return refused(e)
	case c.Type != script.AssertMalformed:
		return e
	}
	r.wording(c, e.Msg)
	return nil
}

// notRefusal returns the error of a module for which there is no verdict.
func notRefusal(err error) error {
	var s *skip
	if errors.As(err, &s) {
		return err
	}
	return fmt.Errorf("not a refusal: %w", err)
}

// assertCustom: an engine may ignore custom sections that are wrong.
func (r *runner) assertCustom(c *script.Command) error {
	_, err := r.accepted(c)
	var e *wasmfront.Error
	var text *wat.Error
	switch {
	case errors.As(err, &text):
		r.wording(c, text.Msg)
	case !errors.As(err, &e):
		return err
	}
	return nil
}

func (r *runner) assertUnlinkable(c *script.Command) error {
	m, err := r.accepted(c)
	if err != nil {
		return err
	}
	// What a skipped module would have exported is unknown: to fail for that is what
	// the script asks for, too, though perhaps in other words.
	_, err, _ = r.link(m)
	var u Unlinkable
	switch {
	case err == nil:
		return fmt.Errorf("linked, want %q", c.Text)
	case !errors.As(err, &u):
		return fmt.Errorf("%w, want %q", err, c.Text)
	}
	r.wording(c, u.Unlinkable())
	return nil
}

func (r *runner) assertUninstantiable(c *script.Command) error {
	m, err := r.accepted(c)
	if err != nil {
		return err
	}
	_, err = r.instantiate(m)
	return r.trapped(c, err)
}
