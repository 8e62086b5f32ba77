package printer

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// printer is the state of Module.
type printer struct {
	w   io.Writer
	err error  // of w
	buf []byte // not yet written
	m   *wasmfront.Module

	spaces         [wasmfront.NumSpaces][]symbol // those of locals and fields belong to what is being written
	locals, labels innerNames
	fields         map[uint32][]symbol // of structures that have names for some
	index          wasmfront.AppendIndex
	body           body
}

// String returns the text of a module. It is for small ones.
func String(b []byte) (string, error) {
	var text strings.Builder
	err := Module(&text, b)
	return text.String(), err
}

// Module writes the text of the module in b. The error is an *wasmfront.Error if b
// cannot be decoded, with what comes before written if that is in a body, or else the
// error of w.
func Module(w io.Writer, b []byte) error {
	m, err := wasmfront.Decode(b, wasmfront.DecodableFeatures)
	if err != nil {
		return err
	}
	p := &printer{w: w, m: m}
	p.index = p.appendIndex
	names, known := printableNames(m)
	p.text("(module")
	if known {
		p.useNames(names)
	}
	p.definitions()
	if err := p.functions(); err != nil {
		p.flush()
		return err
	}
	p.exports()
	for i := range m.Elems {
		p.elem(uint32(i))
	}
	for i := range m.Data {
		p.data(uint32(i))
	}
	p.customs(known)
	p.text(")\n")
	p.flush()
	return p.err
}

// printableNames returns the names in the first name section. It is false if the text cannot have them, and also if it may turn out to have none of them
// while there is another name section, which would become the first.
func printableNames(m *wasmfront.Module) (*wasmfront.AllNames, bool) {
	names, known := m.DecodeAllNames()
	sections := 0
	for i := range m.Customs {
		if m.Customs[i].Name == "name" {
			sections++
		}
	}
	// Names of locals and labels that do not exist are not printed; other entities exist.
	named := func(n wasmfront.InnerNames) bool { return len(n.Names) > 0 }
	sure := known && (names.HasModule || slices.ContainsFunc(names.Fields, named) || slices.ContainsFunc(names.Spaces[:], func(list []wasmfront.NameAssoc) bool { return len(list) > 0 }))
	return names, sure || known && sections == 1
}

// definitions writes what functions refer to.
func (p *printer) definitions() {
	m := p.m
	p.types()
	for i := range m.Imports {
		p.importField(&m.Imports[i])
	}
	for i := m.NumImportedTables; int64(i) < int64(len(m.Tables)); i++ {
		p.newline(1)
		p.table(i)
		p.text(")")
	}
	for i := m.NumImportedMemories; int64(i) < int64(len(m.Memories)); i++ {
		p.newline(1)
		p.memory(i)
		p.text(")")
	}
	for i := m.NumImportedTags; int64(i) < int64(len(m.Tags)); i++ {
		p.newline(1)
		p.tag(i)
		p.text(")")
	}
	for i := m.NumImportedGlobals; int64(i) < int64(len(m.Globals)); i++ {
		p.newline(1)
		p.global(i)
		p.constants(&m.Globals[i].Init)
		p.text(")")
	}
}

// useNames makes symbols of the names, and writes that of the module.
func (p *printer) useNames(names *wasmfront.AllNames) {
	for space := range names.Spaces {
		p.spaces[space] = symbols(names.Spaces[space], math.MaxInt)
	}
	p.locals, p.labels = names.Locals, names.Labels
	p.fields = make(map[uint32][]symbol, len(names.Fields))
	for _, f := range names.Fields {
		p.fields[f.Of] = symbols(f.Names, math.MaxInt)
	}
	if names.HasModule {
		s := symbol{names.Module, true, isIdentifier(names.Module)}
		p.identifier(s)
		p.annotation(s)
	}
}

// flushAt is how many bytes are collected before they are written.
const flushAt = 1 << 16

func (p *printer) text(s string) { p.buf = append(p.buf, s...) }

func (p *printer) flush() {
	if p.err == nil {
		_, p.err = p.w.Write(p.buf)
	}
	p.buf = p.buf[:0]
}

// newline starts a line. Very deep ones are not indented more, as the text would
// grow with the square of the depth.
func (p *printer) newline(depth int) {
	if len(p.buf) >= flushAt {
		p.flush()
	}
	p.text("\n")
	for range min(depth, 40) {
		p.text("  ")
	}
}

func (p *printer) number(i uint32) { p.buf = wasmfront.AppendNumber(p.buf, 0, i) }

// valType writes a value type.
func (p *printer) valType(t wasmfront.ValType) { p.buf = wasmfront.AppendType(p.buf, t, p.index) }

// ref writes a reference to an entity.
func (p *printer) ref(space wasmfront.IndexSpace, i uint32) { p.buf = p.index(p.buf, space, i) }

func (p *printer) appendIndex(b []byte, space wasmfront.IndexSpace, i uint32) []byte {
	if space == wasmfront.SpaceLabel {
		return p.body.appendLabel(b, i)
	}
	if s := symbolAt(p.spaces[space], i); s.id {
		return append(append(b, '$'), s.name...)
	}
	return wasmfront.AppendNumber(b, space, i)
}

// identifier writes a name that is one, where an entity is defined.
func (p *printer) identifier(s symbol) {
	if s.id {
		p.text(" $")
		p.text(s.name)
	}
}

// annotation writes a name that is no identifier, where an entity is defined.
func (p *printer) annotation(s symbol) {
	if s.named && !s.id {
		p.text(" (@name ")
		p.quoteName(s.name)
		p.text(")")
	}
}

// open starts what defines an entity: the keyword, the name, and as a comment the
// index.
func (p *printer) open(keyword string, space wasmfront.IndexSpace, i uint32) {
	p.text("(" + keyword)
	s := symbolAt(p.spaces[space], i)
	p.identifier(s)
	p.text(" (;")
	p.number(i)
	p.text(";)")
	p.annotation(s)
}

// signature writes a type, with what names of parameters there are.
func (p *printer) signature(t *wasmfront.FuncType, params []symbol) {
	p.variables("param", t.Params, 0, params)
	p.buf = wasmfront.AppendTypes(p.buf, "result", t.Results, p.index)
}

// variables writes parameters or locals, of which the first has an index, those
// without names together.
func (p *printer) variables(keyword string, ts []wasmfront.ValType, first uint32, syms []symbol) {
	for len(ts) > 0 {
		n := 0
		for n < len(ts) && !symbolAt(syms, first+uint32(n)).named {
			n++
		}
		p.buf = wasmfront.AppendTypes(p.buf, keyword, ts[:n], p.index)
		if n < len(ts) {
			p.text(" (" + keyword)
			s := symbolAt(syms, first+uint32(n))
			p.identifier(s)
			p.annotation(s)
			p.text(" ")
			p.valType(ts[n])
			p.text(")")
			n++
		}
		ts, first = ts[n:], first+uint32(n)
	}
}

// function starts a function that has these locals: all of its head.
func (p *printer) function(i uint32, locals []wasmfront.ValType) {
	p.open("func", wasmfront.SpaceFunc, i)
	params := p.params(i)
	syms := symbols(p.locals.next(i), len(params)+len(locals))
	p.spaces[wasmfront.SpaceLocal] = syms
	p.typeUse(p.m.Funcs[i].Type, syms)
	if len(locals) > 0 {
		p.newline(1)
		p.text(" ")
		p.variables("local", locals, uint32(len(params)), syms)
	}
}

// params returns the types of the parameters of a function, none if it has no valid type.
func (p *printer) params(i uint32) []wasmfront.ValType {
	if t := p.m.Funcs[i].Type; int64(t) < int64(len(p.m.Types)) {
		return p.m.Types[t].Params
	}
	return nil
}

// typeUse writes a reference to a type, and the type itself if there is one.
func (p *printer) typeUse(t uint32, params []symbol) {
	p.text(" (type ")
	p.ref(wasmfront.SpaceType, t)
	p.text(")")
	if int64(t) < int64(len(p.m.Types)) {
		p.signature(&p.m.Types[t].FuncType, params)
	}
}

func (p *printer) importField(imp *wasmfront.Import) {
	p.newline(1)
	p.text("(import ")
	p.quoteName(imp.Module)
	p.text(" ")
	p.quoteName(imp.Name)
	p.text(" ")
	switch imp.Kind {
	case abi.ExternFunc:
		p.function(imp.Index, nil)
	case abi.ExternTable:
		p.table(imp.Index)
	case abi.ExternMemory:
		p.memory(imp.Index)
	case abi.ExternGlobal:
		p.global(imp.Index)
	case abi.ExternTag:
		p.tag(imp.Index)
	}
	p.text("))")
}
