package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
)

// fileTest returns a filetest of the calls of a program, each in a new instance, that the CLIF interpreter passes and v does
// not. The error says why there is none; then only the program's own file shows the difference.
func (w *worker) fileTest(ctx context.Context, p *randprog.Program, v *Variant, sort string) (string, error) {
	switch {
	case v == nil:
		return "", errors.New("the CLIF interpreter is what differs")
	case sort == onlyPlace:
		return "", errors.New("filetests do not say where a trap arises")
	}
	t, err := newCLIFTest(ctx, p, v)
	if err != nil {
		return "", err
	}
	src := t.String()
	r := &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{Options: randprog.Bounded().Options}}}
	if o := r.Run([]byte(src)); len(o.Failures) > 0 {
		return "", fmt.Errorf("the CLIF interpreter does not pass it: %s", o.Failures[0].Msg)
	}
	fails, err := w.fails(t, v, sort)
	if err == nil && !fails {
		err = errors.New("no call differs in a new instance")
	}
	if err != nil {
		return "", err
	}
	return src, nil
}

// fails reports whether a filetest does not pass under a variant.
func (w *worker) fails(t *clifTest, v *Variant, sort string) (bool, error) {
	o := w.options(v, nil)
	if v.Target == "" {
		e := filetest.Interp{Options: wholeLimits, Rewrite: midEnd(&o)}
		r := &filetest.Runner{Engines: []filetest.Engine{e}}
		return len(r.Run([]byte(t.String())).Failures) > 0, nil
	}
	file, err := text.Parse(t.module())
	if err != nil {
		return false, err
	}
	got := &randprog.Outcome{}
	code, err := compile.CLIF(file.Mod, file.Body, o)
	if err != nil {
		got.Failed = "it is not compiled: " + randprog.FirstLine(err)
		return kind(got, &randprog.Outcome{}) == sort, nil
	}
	var b bytes.Buffer
	if err := code.WriteELF(&b); err != nil {
		return false, err
	}
	env, err := object(emptyModule, compile.Options{Target: v.Target, Jobs: 1})
	if err != nil {
		return false, err
	}
	w.machine(v).stop() // as for programFile
	for i := range t.calls {
		c := &t.calls[i]
		if len(c.program.Calls) == 0 {
			continue
		}
		list, err := w.machine(v).run(&c.program, &environment{env, env}, [][]byte{b.Bytes()})
		if err != nil {
			return false, err
		}
		got := &randprog.Outcome{Failed: list[0].Failed, Calls: list[0].Calls}
		if kind(got, &randprog.Outcome{Calls: []randprog.Result{{Text: c.want}}}) == sort {
			return true, nil
		}
	}
	return false, nil
}

// clifTest is a module as CLIF with calls and what they give.
type clifTest struct {
	decl  *clif.Module
	funcs []*clif.Func // defined ones
	calls []clifCall
}

// clifCall is a call, each in a new instance.
type clifCall struct {
	fn        clif.FuncIndex
	program   randprog.Program // makes this call alone; it has no module, and no call if the function is not exported
	want      string           // text of its result
	directive string
}

// newCLIFTest returns what becomes of a program's calls in new instances, where the judge and the CLIF interpreter agree.
func newCLIFTest(ctx context.Context, p *randprog.Program, v *Variant) (*clifTest, error) {
	o := v.options()
	tr, err := o.Translation()
	if err != nil {
		return nil, err
	}
	m, err := (&interpengine.Engine{Translation: tr}).Translate(p.Wasm)
	switch {
	case err != nil:
		return nil, err
	case slices.ContainsFunc(m.Funcs, func(f *clif.Func) bool { return f == nil }) || imports(m.Decl):
		return nil, errors.New("it imports, and filetests have no host and no environment")
	case len(p.Calls) == 0:
		return nil, errors.New("there are no calls")
	}
	for _, f := range m.Funcs {
		if f.Name == "" {
			f.Name = fmt.Sprintf("function %d", f.Index)
			m.Decl.Funcs[f.Index].Name = f.Name
		}
	}
	t := &clifTest{decl: m.Decl, funcs: m.Funcs}
	file, err := text.Parse(t.module())
	if err != nil {
		return nil, err
	}
	e := filetest.Interp{Options: randprog.Bounded().Options}
	loaded, err := e.Load(file)
	if err != nil {
		return nil, err
	}
	defer loaded.Close()
	for i := range p.Calls {
		c, err := newCLIFCall(ctx, p, &p.Calls[i], file, loaded)
		if err != nil {
			return nil, fmt.Errorf("call %d in a new instance: %w", i, err)
		}
		t.calls = append(t.calls, *c)
	}
	return t, t.callOthers(file, loaded)
}

// newCLIFCall returns a call of a program that was loaded from a file.
func newCLIFCall(ctx context.Context, p *randprog.Program, c *wasmgen.Call, file *text.File, loaded filetest.Program) (*clifCall, error) {
	at := slices.IndexFunc(file.Mod.Exports, func(e clif.Export) bool { return e.Kind == abi.ExternFunc && e.Name == c.Export })
	if at < 0 {
		return nil, fmt.Errorf("%q is not exported", c.Export)
	}
	one := *p
	one.Calls, one.Reset, one.Globals = []wasmgen.Call{*c}, false, nil
	want, _, err := randprog.Judge(ctx, &one)
	if err != nil {
		return nil, fmt.Errorf("the judge: %w", err)
	}
	if want.Start.Text != "" {
		return nil, errors.New("there is no instance: " + want.Start.Text)
	}
	if d := randprog.Run(randprog.Bounded(), &one).Diff(want); d != "" {
		return nil, errors.New("the CLIF interpreter: " + d)
	}
	one.Wasm, one.Env = nil, nil
	fn := clif.FuncIndex(file.Mod.Exports[at].Index)
	line, err := directive(file, loaded, fn, c.Args, p.AnyNaN)
	return &clifCall{fn, one, want.Calls[0].Text, line}, err
}

// callOthers adds a call of each other function, with zeros, since a filetest must call all its functions.
func (t *clifTest) callOthers(file *text.File, loaded filetest.Program) error {
	for _, f := range t.funcs {
		if f.Index == t.decl.InitFunc() || slices.ContainsFunc(t.calls, func(c clifCall) bool { return c.fn == f.Index }) {
			continue
		}
		line, err := directive(file, loaded, f.Index, make([]uint64, clif.Words(t.decl.FuncSig(f.Index).Params)), true)
		if err != nil {
			return fmt.Errorf("function %d: %w", f.Index, err)
		}
		t.calls = append(t.calls, clifCall{fn: f.Index, directive: line})
	}
	return nil
}

func imports(m *clif.Module) bool {
	return slices.ContainsFunc(m.Memories, func(d clif.MemoryDecl) bool { return d.Import != nil }) ||
		slices.ContainsFunc(m.Tables, func(d clif.TableDecl) bool { return d.Import != nil }) ||
		slices.ContainsFunc(m.Globals, func(d clif.GlobalDecl) bool { return d.Import != nil })
}

// directive returns the line for a call with the CLIF interpreter's result.
func directive(file *text.File, p filetest.Program, fn clif.FuncIndex, args []uint64, anyNaN bool) (string, error) {
	inst, err := p.Start()
	if err != nil {
		return "", err
	}
	defer inst.Close()
	sig := file.Mod.FuncSig(fn)
	call := fmt.Sprintf("%%%q(%s)", file.Mod.Funcs[fn].Name, operands(sig.Params, args, false))
	results, err := inst.Call(fn, args)
	var trap filetest.Trapper
	switch {
	case errors.As(err, &trap):
		return fmt.Sprintf("; trap: %s == %v", call, trap.TrapCode()), nil
	case err != nil:
		return "", err
	case len(results) == 0:
		return "; run: " + call, nil
	}
	return "; run: " + call + " == " + operands(sig.Results, results, anyNaN), nil
}

// operands returns values of the types as directives write them. If anyNaN is set, each quiet NaN stands for any NaN.
func operands(types []clif.Type, words []uint64, anyNaN bool) string {
	var list []string
	for _, v := range spectest.Values(types, words) {
		list = append(list, operand(v, anyNaN))
	}
	return strings.Join(list, ", ")
}

// operand returns one of them.
func operand(v spectest.Value, anyNaN bool) string {
	t, bits := v.Type, v.Bits
	quiet := map[clif.Type]uint64{clif.F32: 0x7FC00000, clif.F64: 0x7FF8 << 48}[t]
	switch {
	case t == clif.V128:
		return fmt.Sprintf("0x%016x%016x", v.High, bits)
	case t.IsRef() && bits == 0:
		return "null"
	case t.IsRef():
		return "nonnull"
	case anyNaN && quiet != 0 && bits&quiet == quiet:
		return "nan:arithmetic"
	}
	return fmt.Sprintf("%#x", bits)
}

// midEnd applies the mid-end to a function with these options.
func midEnd(o *compile.Options) func(*clif.Func) error {
	return func(f *clif.Func) error {
		x := &opt.Optimizer{}
		if o.Control != nil {
			x.Control = o.Control(f.Index)
		}
		return x.Run(f, o.OptLevel)
	}
}

// module returns the text without the header and the calls.
func (t *clifTest) module() string { return t.text(nil) }

// String returns the whole file.
func (t *clifTest) String() string {
	return "test cat\ntest verify\ntest run\n\n" + t.text(t.calls)
}

func (t *clifTest) text(calls []clifCall) string {
	var b strings.Builder
	b.WriteString(t.decl.String() + "\n")
	for _, f := range t.funcs {
		b.WriteString(f.String())
		for i := range calls {
			if c := &calls[i]; c.fn == f.Index {
				b.WriteString(c.directive + "\n")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
