package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// File is what a text contains.
type File struct {
	Mod   *clif.Module
	Funcs []Func // in the order of the text
}

// Func is a function with the places of its parts.
type Func struct {
	*clif.Func
	Line, End int   // of the header and the closing brace
	InstLines []int // by instruction
}

// Body returns the body of function i. It is an interp.Provider. An init function
// without text returns at once.
func (f *File) Body(i clif.FuncIndex) (*clif.Func, error) {
	for j := range f.Funcs {
		if f.Funcs[j].Index == i {
			return f.Funcs[j].Func, nil
		}
	}
	if i != f.Mod.InitFunc() {
		return nil, fmt.Errorf("function fn%d has no body", i)
	}
	d := &f.Mod.Funcs[i]
	init := &clif.Func{Name: d.Name, Index: i, Sig: d.Sig, Mod: f.Mod}
	b := clif.Builder{F: init}
	b.SwitchTo(b.NewBlock())
	b.Return(nil)
	return init, nil
}

// String returns the text form of the whole file.
func (f *File) String() string {
	var b strings.Builder
	b.WriteString(f.Mod.String())
	for i := range f.Funcs {
		b.WriteByte('\n')
		b.WriteString(f.Funcs[i].String())
	}
	return b.String()
}

// parser reads tokens; the first error ends everything.
type parser struct {
	toks  []token
	at    int
	limit int // of the numbers of values and blocks
	mod   *clif.Module
	file  *File
	err   *Error
	body  body

	exports []token // the entities of mod.Exports
}

// Parse reads a text. A function may be declared by its header alone. The init
// function, which must be the last and be named init, is declared if it is not
// there. The result need not be valid CLIF. The error is an *Error.
func Parse(src string) (*File, error) {
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	// Numbers decide the sizes of tables, so the size of the input bounds them.
	p := &parser{toks: toks, limit: 1<<16 + len(src), mod: &clif.Module{}}
	p.file = &File{Mod: p.mod}
	p.declarations()
	p.declareInit()
	p.settleTypes()
	for i := range p.file.Funcs {
		p.function(&p.file.Funcs[i])
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.file, nil
}

func (p *parser) peek() token { return p.toks[p.at] }

func (p *parser) next() token {
	t := p.toks[p.at]
	if t.kind != tokEOF && p.err == nil {
		p.at++
	}
	return t
}

// fail notes the first error and makes the parser see the end of the file from
// then on, so that loops end.
func (p *parser) fail(t token, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{t.line, t.col, fmt.Sprintf(format, args...)}
		p.at = len(p.toks) - 1
	}
}

// is reports whether the next token is this punctuation or name.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == tokPunct || t.kind == tokIdent) && t.text == text
}

func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail(p.peek(), "want %q, not %s", text, p.peek().describe())
	}
}

func (p *parser) kind(k kind) token {
	t := p.next()
	if t.kind != k {
		p.fail(t, "want %s, not %s", kindNames[k], t.describe())
	}
	return t
}

// endLine reads the end of a line and returns its comment.
func (p *parser) endLine() string { return p.kind(tokNewline).text }

func (p *parser) str() string {
	t := p.kind(tokString)
	s, err := strconv.Unquote(t.text)
	if err != nil {
		p.fail(t, "bad string %s", t.text)
	}
	return s
}

// isRef reports whether the next token is prefix and a number.
func (p *parser) isRef(prefix string) bool {
	t := p.peek()
	rest, ok := strings.CutPrefix(t.text, prefix)
	return ok && t.kind == tokIdent && rest != "" && isDigit(rest[0])
}

// ref reads prefix and a number, such as v12.
func (p *parser) ref(prefix string) uint32 {
	t := p.next()
	n, err := strconv.ParseUint(strings.TrimPrefix(t.text, prefix), 10, 32)
	if t.kind != tokIdent || !strings.HasPrefix(t.text, prefix) || err != nil {
		p.fail(t, "want %s and a number, not %s", prefix, t.describe())
		return 0
	}
	if n >= uint64(p.limit) {
		p.fail(t, "the number of %s is too large", t.text)
		return 0
	}
	return uint32(n)
}

// entity reads a reference to one of n entities.
func (p *parser) entity(prefix string, n int) uint32 {
	t := p.peek()
	i := p.ref(prefix)
	if p.err == nil && int64(i) >= int64(n) {
		p.fail(t, "%s is not declared", t.text)
		return 0
	}
	return i
}

// number reads an unsigned number.
func (p *parser) number() uint64 {
	t := p.kind(tokNumber)
	n, err := strconv.ParseUint(t.text, 0, 64)
	if err != nil {
		p.fail(t, "bad number %q", t.text)
	}
	return n
}

func (p *parser) typ() clif.Type {
	t := p.kind(tokIdent)
	ty := clif.TypeByName(t.text)
	if ty == clif.Invalid {
		p.fail(t, "%s is not a type", t.describe())
	}
	return ty
}

// list reads items between brackets, separated by commas.
func (p *parser) list(open, close string, item func()) {
	p.expect(open)
	for p.err == nil && !p.is(close) {
		item()
		if !p.is(close) {
			p.expect(",")
		}
	}
	p.expect(close)
}

func (p *parser) types() []clif.Type {
	var ts []clif.Type
	p.list("(", ")", func() { ts = append(ts, p.typ()) })
	return ts
}

func (p *parser) signature() clif.Signature {
	s := clif.Signature{Params: p.types()}
	p.expect("->")
	s.Results = p.types()
	return s
}

// declarations reads everything but the bodies of functions, whose ranges of
// tokens it notes.
func (p *parser) declarations() {
	for p.peek().kind != tokEOF {
		t := p.peek()
		switch {
		case t.kind == tokNewline:
			p.next()
		case p.accept("function"):
			p.header(t)
		default:
			p.declaration()
			p.endLine()
		}
	}
}

func (p *parser) declaration() {
	t := p.peek()
	imported := p.accept("import")
	switch {
	case p.isRef("fn"):
		p.declareFunc(imported)
	case p.isRef("mem"):
		d := clif.MemoryDecl{Import: p.declare("mem", len(p.mod.Memories), imported)}
		d.Min, d.Max, d.HasMax = p.limits()
		d.Checked = p.accept("checked")
		p.mod.Memories = append(p.mod.Memories, d)
	case p.isRef("global"):
		p.declareGlobal(imported)
	case p.isRef("table"):
		d := clif.TableDecl{Import: p.declare("table", len(p.mod.Tables), imported), Elem: p.refType()}
		d.Min, d.Max, d.HasMax = p.limits()
		p.mod.Tables = append(p.mod.Tables, d)
	case p.isRef("tag"):
		d := clif.TagDecl{Import: p.declare("tag", len(p.mod.Tags), imported)}
		d.Sig = clif.SigIndex(p.entity("sig", len(p.mod.Sigs)))
		p.mod.Tags = append(p.mod.Tags, d)
	case imported:
		p.fail(p.peek(), "%s cannot be imported", p.peek().describe())
	case p.isRef("sig"):
		p.declare("sig", len(p.mod.Sigs), false)
		p.expect("=")
		p.mod.Sigs = append(p.mod.Sigs, p.signature())
	case p.isRef("type"):
		p.declareType()
	case p.isRef("data"):
		p.declare("data", len(p.mod.Datas), false)
		p.mod.Datas = append(p.mod.Datas, clif.DataDecl{Bytes: []byte(p.str())})
	case p.isRef("elem"):
		p.declareElem()
	case p.accept("export"):
		p.export()
	case p.accept("start"):
		p.mod.Start, p.mod.HasStart = clif.FuncIndex(p.ref("fn")), true
	case p.accept("module"):
		p.mod.Name = p.str()
	default:
		p.fail(t, "want a declaration or function, not %s", t.describe())
	}
}

// settleTypes gives references in types the kind of what their indices mean, and makes records.
func (p *parser) settleTypes() {
	types := p.mod.Types
	for i := range types {
		for k := range types[i].Fields {
			f := &types[i].Fields[k]
			n, ok := f.Type.TypeIndex()
			switch {
			case !ok:
			case int64(n) >= int64(len(types)):
				p.fail(p.peek(), "type%d is not declared", n)
				return
			case f.Type.IsNotNull():
				f.Type = abi.RefToKind(types[n].Kind, n).NotNull()
			default:
				f.Type = abi.RefToKind(types[n].Kind, n)
			}
		}
	}
	for i := range types {
		if types[i].Kind == abi.KindArray && len(types[i].Fields) != 1 {
			p.fail(p.peek(), "type%d is an array with %d types of elements", i, len(types[i].Fields))
		}
	}
	if len(types) == 0 {
		for i := range p.mod.Sigs {
			p.mod.Types = append(p.mod.Types, abi.TypeDef{FuncType: p.mod.Sigs[i].FuncType()})
		}
	}
	if p.err == nil {
		p.mod.Records = abi.RecordsOf(p.mod.Types, nil)
	}
}

// declareType reads a type. What it refers to by an index need not be there yet.
func (p *parser) declareType() {
	n := len(p.mod.Types)
	p.declare("type", n, false)
	word := p.kind(tokIdent)
	var t abi.TypeDef
	for t.Kind = abi.KindFunc; t.Kind < abi.KindArray && t.Kind.String() != word.text; t.Kind++ {
	}
	if t.Kind.String() != word.text {
		p.fail(word, "%s is not a kind of types", word.describe())
	}
	t.Open = p.accept("open")
	if t.HasSuper = p.accept("super"); t.HasSuper {
		if t.Super = p.entity("type", n); p.err == nil {
			t.Depth = min(p.mod.Types[t.Super].Depth+1, abi.MaxDepth)
		}
	}
	if p.accept("place") {
		at := p.peek()
		if t.Place = uint32(p.number()); n == 0 || t.Place != p.mod.Types[n-1].Place+1 {
			p.fail(at, "a place that does not follow the one before")
		}
	}
	if t.Kind == abi.KindFunc {
		if n < len(p.mod.Sigs) {
			t.FuncType = p.mod.Sigs[n].FuncType()
		}
	} else {
		p.list("[", "]", func() { t.Fields = append(t.Fields, p.field()) })
	}
	p.mod.Types = append(p.mod.Types, t)
}

// field reads the type of a field.
func (p *parser) field() abi.FieldType {
	f := abi.FieldType{Mutable: p.accept("mut"), Type: abi.I32}
	switch {
	case p.accept("i8"):
		f.Packed = 8
	case p.accept("i16"):
		f.Packed = 16
	default:
		f.Type = p.valType()
	}
	return f
}

// valType reads a type of values as WebAssembly has it. The index of a type need not exist, and is that of a function unless a structure or array is declared with it.
func (p *parser) valType() abi.ValType {
	t := p.peek()
	if !p.accept("(") {
		v := abi.ValTypeByName(p.kind(tokIdent).text)
		if v == abi.ValTypeUnknown {
			p.fail(t, "%s is not a type", t.describe())
		}
		return v
	}
	p.expect("ref")
	null := p.accept("null")
	var v abi.ValType
	if at := p.peek(); at.kind == tokNumber {
		i := p.number()
		kind := abi.KindFunc
		switch {
		case i > abi.MaxTypeIndex:
			p.fail(at, "the index of a type is too large")
		case i < uint64(len(p.mod.Types)):
			kind = p.mod.Types[i].Kind
		}
		v = abi.RefToKind(kind, uint32(i))
	} else if v = abi.RefByHeap(p.kind(tokIdent).text); v == abi.ValTypeUnknown {
		p.fail(at, "%s is not a heap type", at.describe())
	}
	p.expect(")")
	if !null {
		v = v.NotNull()
	}
	return v
}

// declare reads the number of a new entity, which must be n, and where it is
// imported from.
func (p *parser) declare(prefix string, n int, imported bool) *clif.ImportName {
	t := p.peek()
	if i := p.ref(prefix); p.err == nil && int64(i) != int64(n) {
		p.fail(t, "want %s%d, not %s", prefix, n, t.text)
	}
	if !imported {
		return nil
	}
	module := p.str()
	return &clif.ImportName{Module: module, Name: p.str()}
}

func (p *parser) limits() (min, max uint64, hasMax bool) {
	min = p.number()
	if hasMax = p.peek().kind == tokNumber; hasMax {
		max = p.number()
	}
	return min, max, hasMax
}

func (p *parser) refType() clif.Type {
	t := p.peek()
	ty := p.typ()
	if p.err == nil && !ty.IsRef() {
		p.fail(t, "%v is not a reference type", ty)
	}
	return ty
}

func (p *parser) declareFunc(imported bool) {
	t := p.peek()
	d := clif.FuncDecl{Import: p.declare("fn", len(p.mod.Funcs), imported)}
	if p.peek().kind == tokString {
		d.Name = p.str()
	}
	d.Sig = clif.SigIndex(p.entity("sig", len(p.mod.Sigs)))
	d.Addressed = p.accept("addressed")
	if imported && p.mod.NumImportedFuncs != len(p.mod.Funcs) {
		p.fail(t, "imported functions come first")
	}
	if imported {
		p.mod.NumImportedFuncs++
	}
	p.mod.Funcs = append(p.mod.Funcs, d)
}

func (p *parser) declareGlobal(imported bool) {
	d := clif.GlobalDecl{Import: p.declare("global", len(p.mod.Globals), imported), Type: p.typ()}
	d.Mutable = p.accept("mut")
	if !imported && p.accept("=") {
		d.Init = p.constant(d.Type)
	}
	p.mod.Globals = append(p.mod.Globals, d)
}

// constant reads a number of type t.
func (p *parser) constant(t clif.Type) uint64 {
	tok := p.next()
	text := tok.text
	if (text == "nan" || text == "-nan") && p.accept(":") {
		text += ":" + p.next().text
	}
	bits, err := ParseNumber(t, text)
	if err != nil || tok.kind != tokNumber && tok.kind != tokIdent {
		p.fail(tok, "%s is not a constant of type %v", tok.describe(), t)
	}
	return bits
}

func (p *parser) declareElem() {
	p.declare("elem", len(p.mod.Elems), false)
	d := clif.ElemDecl{Type: p.refType()}
	p.list("[", "]", func() {
		switch {
		case p.accept("null"):
			d.Funcs = append(d.Funcs, clif.ElemNull)
		case p.accept("computed"):
			d.Funcs = append(d.Funcs, clif.ElemComputed)
		default:
			d.Funcs = append(d.Funcs, clif.FuncIndex(p.ref("fn")))
		}
	})
	p.mod.Elems = append(p.mod.Elems, d)
}

// exportKinds are the entities that can be exported; whether they exist is
// checked when all declarations are read.
var exportKinds = [...]struct {
	prefix string
	kind   abi.ExternKind
}{{"fn", abi.ExternFunc}, {"table", abi.ExternTable}, {"mem", abi.ExternMemory}, {"global", abi.ExternGlobal}, {"tag", abi.ExternTag}}

func (p *parser) export() {
	e := clif.Export{Name: p.str()}
	t := p.peek()
	for _, k := range exportKinds {
		if p.isRef(k.prefix) {
			e.Kind, e.Index = k.kind, p.ref(k.prefix)
			p.mod.Exports = append(p.mod.Exports, e)
			p.exports = append(p.exports, t)
			return
		}
	}
	p.fail(t, "%s cannot be exported", t.describe())
}

// markExports marks what is exported.
func (p *parser) markExports() {
	m := p.mod
	for n, e := range m.Exports {
		i, ok := int64(e.Index), false
		switch e.Kind {
		case abi.ExternFunc:
			if ok = i < int64(len(m.Funcs)); ok {
				m.Funcs[i].Addressed = true
			}
		case abi.ExternTable:
			if ok = i < int64(len(m.Tables)); ok {
				m.Tables[i].Exported = true
			}
		case abi.ExternMemory:
			if ok = i < int64(len(m.Memories)); ok {
				m.Memories[i].Exported = true
			}
		case abi.ExternGlobal:
			if ok = i < int64(len(m.Globals)); ok {
				m.Globals[i].Exported = true
			}
		case abi.ExternTag:
			ok = i < int64(len(m.Tags))
		}
		if !ok {
			p.fail(p.exports[n], "%s is not declared", p.exports[n].text)
			return
		}
	}
}

// header reads the header of a function and skips the body.
func (p *parser) header(at token) {
	m := p.mod
	i := len(m.Funcs)
	t := p.peek()
	numbered := p.isRef("fn")
	if numbered {
		i = int(p.ref("fn"))
	}
	name := ""
	if p.peek().kind == tokString {
		name = p.str()
	}
	sig := p.signature()
	switch {
	case p.err != nil:
		return
	case i > len(m.Funcs):
		p.fail(t, "want fn%d, not fn%d", len(m.Funcs), i)
		return
	case i == len(m.Funcs):
		m.Funcs = append(m.Funcs, clif.FuncDecl{Sig: p.sigIndex(sig), Name: name})
	case m.Funcs[i].Import != nil || slices.ContainsFunc(p.file.Funcs, func(f Func) bool { return int(f.Index) == i }):
		p.fail(t, "fn%d is imported, or has a body already", i)
		return
	case !m.Sigs[m.Funcs[i].Sig].Equal(&sig):
		p.fail(t, "fn%d is declared with the type %v", i, &m.Sigs[m.Funcs[i].Sig])
		return
	}
	if name == "" {
		name = m.Funcs[i].Name
	}
	f := &clif.Func{Name: name, Index: clif.FuncIndex(i), Sig: m.Funcs[i].Sig, Mod: m}
	p.file.Funcs = append(p.file.Funcs, Func{Func: f, Line: at.line, End: p.at})
	p.expect("{")
	for p.peek().kind != tokEOF && !p.is("}") {
		p.next()
	}
	p.expect("}")
	p.endLine()
}

func (p *parser) sigIndex(s clif.Signature) clif.SigIndex {
	for i := range p.mod.Sigs {
		if p.mod.Sigs[i].Equal(&s) {
			return clif.SigIndex(i)
		}
	}
	p.mod.Sigs = append(p.mod.Sigs, s)
	return clif.SigIndex(len(p.mod.Sigs) - 1)
}

// declareInit makes sure that the last function is the init function, and
// checks and marks the functions that declarations refer to.
func (p *parser) declareInit() {
	m := p.mod
	if p.err != nil {
		return
	}
	last := len(m.Funcs) - 1
	none := clif.Signature{}
	if last < m.NumImportedFuncs || m.Funcs[last].Name != "init" || !m.Sigs[m.Funcs[last].Sig].Equal(&none) {
		m.Funcs = append(m.Funcs, clif.FuncDecl{Sig: p.sigIndex(none), Name: "init"})
	}
	end := p.peek()
	p.markExports()
	for i := range m.Elems {
		for _, f := range m.Elems[i].Funcs {
			switch {
			case f == clif.ElemNull || f == clif.ElemComputed:
			case int64(f) >= int64(len(m.Funcs)):
				p.fail(end, "fn%d is not declared", f)
				return
			default:
				m.Funcs[f].Addressed = true
			}
		}
	}
	if m.HasStart && int(m.Start) >= len(m.Funcs) {
		p.fail(end, "fn%d is not declared", m.Start)
	}
}
