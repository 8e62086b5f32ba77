package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/inspect"
	"github.com/waot-project/waot/internal/quote"
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
		UsageText: "waot inspect MODULE [--func N|NAME] [--emit=STAGE,...|--html FILE.html]",
		Description: `The stages:
  wasm      operators of the module
  clif      SSA with block parameters, as translated
  opt       the same after the mid-end
  vcode     machine instructions with virtual registers
  regalloc  the same with registers, spill slots and moves
  asm       machine code, disassembled, with relocations, traps and calls
  obj       sections and symbols of the object

From opt on, a function is as it is in the object: with the functions that are inlined in
it. --rules-off=inline shows it with all its calls.

Without --emit, a summary of the module.

With --html, a page that shows all stages side by side, and in each of them what the
reader points at in another. It is one file, which needs no network. If the functions
are too many for a page, --func chooses.

Examples:
  waot inspect app.wasm
  waot inspect app.wasm --func main --emit=wasm,clif,asm
  waot inspect app.wasm --func 12 --emit=vcode,regalloc -O1
  waot inspect app.wasm --func main --html main.html`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "func", Usage: "only the function with this index or name: `N|NAME`"},
			&cli.StringFlag{Name: "emit", Usage: "what to show: a list of `STAGE`s"},
			&cli.StringFlag{Name: "html", Usage: "write a page that shows all stages side by side, linked, to `FILE.html`"},
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
	page, err := htmlOutput(c, file)
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
	m, err := validated(c.Context, src.b, 0)
	if err != nil {
		return src.fail(err)
	}
	in := &inspector{c: c, m: m, names: m.DecodeNames(), emit: emit, opt: opt}
	in.cm = translate.Module(m, in.names)
	if err := opt.rewrites.within(int(m.NumImportedFuncs), len(in.cm.Funcs)-1); err != nil {
		return err
	}
	if page == "" && len(emit) == 0 && c.String("func") == "" {
		in.summary(file)
		return nil
	}
	funcs, err := in.selected(c.String("func"))
	if err != nil {
		return inFile(file, err)
	}
	if page != "" {
		return src.fail(in.page(file, page, src.b, funcs))
	}
	if err := in.functions(file, src.b, funcs); err != nil {
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

// called is what function i is called in titles.
func (in *inspector) called(i uint32) string {
	name := in.cm.Funcs[i].Name
	if name != "" {
		name = " " + strconv.Quote(name)
	}
	return fmt.Sprintf("function %d%s", i, name)
}

func (in *inspector) title(w io.Writer, stage string, i uint32) {
	fmt.Fprintf(w, ";; %s: %s\n", stage, in.called(i))
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
			quote.Name(which), len(in.cm.Funcs))
	}
	return funcs, nil
}

// summary shows the module as a whole.
func (in *inspector) summary(file string) {
	m, info := in.m, describe(file, in.m)
	printf(in.c, "%s: %d bytes", quote.Name(file), info.Bytes)
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

// functions shows the stages of functions. What is behind the mid-end depends on what is inlined, and so on the whole module, which is compiled for it.
func (in *inspector) functions(file string, bin []byte, funcs []uint32) (err error) {
	texts := make(map[uint32]*strings.Builder, len(funcs))
	tr, f := translate.New(in.m, in.cm), new(clif.Func)
	tr.Options = in.opt.translation()
	for _, i := range funcs {
		w := new(strings.Builder)
		texts[i] = w
		if in.emit["wasm"] && i < uint32(len(in.m.Funcs)) {
			in.wasm(w, i)
		}
		if !in.emit["clif"] {
			continue
		}
		if err := in.translate(tr, f, i); err != nil {
			return err
		}
		in.title(w, "clif", i)
		w.WriteString(f.String())
	}
	if in.emit["opt"] || in.emit["vcode"] || in.emit["regalloc"] || in.emit["asm"] {
		err = in.compile(file, bin, texts)
	}
	for _, i := range funcs {
		printf(in.c, "%s", texts[i].String())
	}
	return err
}

// compile compiles the module, and appends what its stages make of functions to their texts. Workers append to those of the functions
// that they have.
func (in *inspector) compile(file string, bin []byte, texts map[uint32]*strings.Builder) error {
	show := func(stage string, f *clif.Func, text func(w io.Writer)) {
		if w := texts[uint32(f.Index)]; w != nil && in.emit[stage] {
			in.title(w, stage, uint32(f.Index))
			text(w)
		}
	}
	co := in.opt.named(file)
	co.Trace = &backend.Trace{
		Code: func(f *clif.Func, code *backend.Code) {
			show("asm", f, func(w io.Writer) { disassemblers[in.opt.target].listing(w, code) })
		},
	}
	if in.emit["opt"] || in.emit["vcode"] {
		co.Trace.VCode = func(f *clif.Func, vcode string) {
			show("opt", f, func(w io.Writer) { io.WriteString(w, f.String()) })
			show("vcode", f, func(w io.Writer) { io.WriteString(w, vcode) })
		}
	}
	if in.emit["regalloc"] {
		co.Trace.Allocated = func(f *clif.Func, allocated string) {
			show("regalloc", f, func(w io.Writer) { io.WriteString(w, allocated) })
		}
	}
	r, err := compile.Module(bin, co)
	if err != nil {
		return err
	}
	for i, w := range texts {
		if r.Meta.Funcs[i].Size == 0 {
			fmt.Fprintf(w, ";; %s has no code in the object, as nothing refers to it\n", in.called(i))
		}
	}
	return nil
}

// translate builds function i in f, as it is before the mid-end.
func (in *inspector) translate(tr *translate.Translator, f *clif.Func, i uint32) error {
	if i < uint32(len(in.m.Funcs)) {
		return tr.Func(f, i)
	}
	tr.Init(f)
	return nil
}

// wasm shows the operators of function i, indented by nesting.
func (in *inspector) wasm(w io.Writer, i uint32) {
	in.title(w, "wasm", i)
	var v validate.Func
	v.Begin(in.m, i)
	fmt.Fprintf(w, "func %d %s", i, v.Type())
	if locals := v.Locals()[v.NumParams():]; len(locals) > 0 {
		fmt.Fprintf(w, " locals %d", len(locals))
	}
	fmt.Fprintf(w, "\n")
	inspect.Operators(in.m, i, func(offset, depth int, text string) {
		fmt.Fprintf(w, "%06x %s%s\n", offset, strings.Repeat("  ", depth), text)
	})
}
