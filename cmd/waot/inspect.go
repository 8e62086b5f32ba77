package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// stages are what --emit can name, in the order of the pipeline.
var stages = []string{"wasm", "clif", "opt", "vcode", "regalloc", "asm", "obj"}

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "show what each stage of the compiler makes of a module",
		UsageText: "waot inspect MODULE [--func N|NAME] [--emit=STAGE,...]",
		Description: `The stages:
  wasm      operators of the module
  clif      SSA with block parameters, as translated
  opt       the same after the mid-end
  vcode     machine instructions with virtual registers
  regalloc  the same with registers, spill slots and moves
  asm       machine code, disassembled, with relocations, traps and calls
  obj       sections and symbols of the object

Without --emit, a summary of the module.

Examples:
  waot inspect app.wasm
  waot inspect app.wasm --func main --emit=wasm,clif,asm
  waot inspect app.wasm --func 12 --emit=vcode,regalloc -O1`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "func", Usage: "only the function with this index or name: `N|NAME`"},
			&cli.StringFlag{Name: "emit", Usage: "what to show: a list of `STAGE`s"},
			&cli.BoolFlag{Name: "json", Usage: "print errors as JSON"},
			targetFlag(),
		}, compileFlags()...),
		Action: inspectAction,
	}
}

func inspectAction(c *cli.Context) error {
	file, err := oneModule(c)
	if err != nil {
		return err
	}
	emit, err := stageSet(c)
	if err != nil {
		return err
	}
	opt, err := readOptions(c)
	if err != nil {
		return err
	}
	src, err := readSource(c, file)
	if err != nil {
		return err
	}
	m, err := validate.All(src.b, validate.Config{})
	if err != nil {
		return src.fail(err)
	}
	in := &inspector{c: c, m: m, names: m.DecodeNames(), emit: emit, opt: opt}
	in.cm = translate.Module(m, in.names)
	if err := opt.rewrites.within(int(m.NumImportedFuncs), len(in.cm.Funcs)-1); err != nil {
		return err
	}
	if len(emit) == 0 && c.String("func") == "" {
		in.summary(file)
		return nil
	}
	funcs, err := in.selected(c.String("func"))
	if err != nil {
		return inFile(file, err)
	}
	if err := in.functions(funcs); err != nil {
		return src.fail(err)
	}
	if emit["obj"] {
		return src.fail(in.object(file, src.b))
	}
	return nil
}

// stageSet reads --emit.
func stageSet(c *cli.Context) (map[string]bool, error) {
	set := map[string]bool{}
	for _, s := range strings.Split(c.String("emit"), ",") {
		switch s {
		case "":
		case "all":
			for _, s := range stages {
				set[s] = true
			}
		default:
			if err := oneOf("emit", s, stages...); err != nil {
				return nil, err
			}
			set[s] = true
		}
	}
	if len(set) == 0 && c.String("func") != "" {
		set["clif"] = true
	}
	return set, nil
}

// inspector shows one module.
type inspector struct {
	c     *cli.Context
	m     *wasmfront.Module
	cm    *clif.Module
	names *wasmfront.Names
	emit  map[string]bool
	opt   *options
}

func (in *inspector) title(stage string, i uint32) {
	name := in.cm.Funcs[i].Name
	if name != "" {
		name = " " + strconv.Quote(name)
	}
	printf(in.c, ";; %s: function %d%s\n", stage, i, name)
}

// selected returns the functions that --func means.
func (in *inspector) selected(which string) ([]uint32, error) {
	var funcs []uint32
	number, err := strconv.ParseUint(which, 10, 32)
	isNumber := err == nil
	for i := range in.cm.Funcs {
		f := &in.cm.Funcs[i]
		switch {
		case isNumber && uint64(i) == number, !isNumber && which != "" && f.Name == which, which == "" && f.Import == nil:
			if f.Import != nil {
				return nil, fmt.Errorf("function %d is imported from %q %q: it has no code", i, f.Import.Module, f.Import.Name)
			}
			funcs = append(funcs, uint32(i))
		}
	}
	if len(funcs) == 0 && which != "" {
		return nil, fmt.Errorf("no function %s: there are %d, and their names come from the name section and exports",
			which, len(in.cm.Funcs))
	}
	return funcs, nil
}

// summary shows the module as a whole.
func (in *inspector) summary(file string) {
	m, info := in.m, describe(file, in.m)
	printf(in.c, "%s: %d bytes", file, info.Bytes)
	if info.Name != "" {
		printf(in.c, ", name %q", info.Name)
	}
	printf(in.c, "\n%d types, %d functions (%d bytes), %d tables, %d memories, %d globals, %d data segments (%d bytes)\n",
		info.Types, info.Functions, info.Code, info.Tables, info.Memories, info.Globals, len(m.Data), info.Data)
	for i := range m.Sections {
		s := &m.Sections[i]
		printf(in.c, "section %-10s offset 0x%06x  %d bytes\n", s.Name(), s.Offset, s.Size)
	}
	for i := range m.Imports {
		x := &m.Imports[i]
		printf(in.c, "import %s %d %q %q%s\n", x.Kind, x.Index, x.Module, x.Name, in.typeOf(x.Kind, x.Index))
	}
	for i := range m.Exports {
		x := &m.Exports[i]
		printf(in.c, "export %s %d %q%s\n", x.Kind, x.Index, x.Name, in.typeOf(x.Kind, x.Index))
	}
}

func (in *inspector) typeOf(kind abi.ExternKind, i uint32) string {
	if kind != abi.ExternFunc {
		return ""
	}
	return " " + in.m.FuncType(i).String()
}

// functions shows the stages of functions.
func (in *inspector) functions(funcs []uint32) error {
	pipe, err := in.newPipeline()
	if err != nil {
		return err
	}
	for _, i := range funcs {
		if in.emit["wasm"] && i < uint32(len(in.m.Funcs)) {
			in.wasm(i)
		}
		if err := pipe.run(i); err != nil {
			return err
		}
	}
	return nil
}

// wasm shows the operators of function i, indented by nesting.
func (in *inspector) wasm(i uint32) {
	in.title("wasm", i)
	var v validate.Func
	var op wasmfront.Operator
	v.Begin(in.m, i)
	printf(in.c, "func %d %s", i, v.Type())
	if locals := v.Locals()[v.NumParams():]; len(locals) > 0 {
		printf(in.c, " locals %d", len(locals))
	}
	printf(in.c, "\n")
	depth := v.Depth()
	for v.Next(&op) {
		// Depth is the one after the operator: what opens or closes stands outside.
		at := min(depth, v.Depth())
		if op.Op == wasmfront.OpElse {
			at--
		}
		printf(in.c, "%06x %s%s\n", op.Offset, strings.Repeat("  ", max(at, 0)), op.String())
		depth = v.Depth()
	}
}

// pipeline compiles functions one by one and shows what comes by.
type pipeline struct {
	*inspector
	tr       *translate.Translator
	f        clif.Func
	opt      opt.Optimizer
	compiler *backend.Compiler
}

func (in *inspector) newPipeline() (*pipeline, error) {
	p := &pipeline{inspector: in, tr: translate.New(in.m, in.cm)}
	p.tr.Options = in.opt.translation()
	if in.opt.verify {
		p.opt.After = func(pass *opt.Pass, f *clif.Func) error {
			if err := verify.Func(f); err != nil {
				return fmt.Errorf("after pass %s: %w", pass.Name, err)
			}
			return nil
		}
	}
	target, err := compile.CodeTarget(in.opt.target, in.opt.codeLevel())
	if err != nil {
		return nil, err
	}
	show := func(stage string) func(f *clif.Func, text string) {
		if !in.emit[stage] {
			return nil
		}
		return func(f *clif.Func, text string) {
			in.title(stage, uint32(f.Index))
			printf(in.c, "%s", text)
		}
	}
	trace := &backend.Trace{VCode: show("vcode"), Allocated: show("regalloc")}
	if in.emit["asm"] {
		trace.Code = func(f *clif.Func, code *backend.Code) {
			in.title("asm", uint32(f.Index))
			disassemblers[in.opt.target].listing(in.c.App.Writer, code)
		}
	}
	p.compiler = backend.New(target, instance.New(in.cm), in.cm, backend.Options{
		Allocator: compile.NewAllocator(), SkipChecker: !in.opt.check, NoSpectre: in.opt.noSpectre, Verify: in.opt.verify, Trace: trace,
	})
	return p, nil
}

// run shows function i.
func (p *pipeline) run(i uint32) error {
	if i < uint32(len(p.m.Funcs)) {
		if err := p.tr.Func(&p.f, i); err != nil {
			return err
		}
	} else {
		p.tr.Init(&p.f)
	}
	if p.emit["clif"] {
		p.title("clif", i)
		printf(p.c, "%s", p.f.String())
	}
	if !p.emit["opt"] && !p.emit["vcode"] && !p.emit["regalloc"] && !p.emit["asm"] {
		return nil
	}
	p.opt.Control = p.inspector.opt.rewrites.control(clif.FuncIndex(i))
	if err := p.opt.Run(&p.f, opt.Level(p.inspector.opt.level)); err != nil {
		return err
	}
	if p.emit["opt"] {
		p.title("opt", i)
		printf(p.c, "%s", p.f.String())
	}
	if !p.emit["vcode"] && !p.emit["regalloc"] && !p.emit["asm"] {
		return nil
	}
	p.compiler.Control = p.opt.Control
	_, err := p.compiler.Compile(&p.f)
	return err
}
