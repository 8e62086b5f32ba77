package wat

import (
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// Module is a module that has been translated.
type Module struct {
	ID   string // of the module, without the dollar; empty if it has none
	Wasm []byte // the binary format

	text   []byte
	places []place // by increasing offset in Wasm
}

// place says that what begins at an offset in the module is written at an offset in the text.
type place struct{ wasm, text uint32 }

// Place returns the place in the text of what is at an offset in Wasm, as the
// errors of wasmfront have it. It is false where there is none: in a module
// that is written in its binary form.
func (m *Module) Place(offset int) (Place, bool) {
	i := sort.Search(len(m.places), func(i int) bool { return int(m.places[i].wasm) > offset })
	if i == 0 {
		return Place{}, false
	}
	l := lines{text: m.text}
	return l.place(int(m.places[i-1].text)), true
}

// Assemble translates a text: a module, with or without (module ...) around
// it. The error is an *Error.
func Assemble(text []byte) (*Module, error) { return AssembleUntil(text, nil) }

// AssembleUntil is Assemble that polls a flag, which may be nil, and ends by the panic that package stop describes if it is set.
func AssembleUntil(text []byte, f *stop.Flag) (*Module, error) {
	c := newCursor(text, f)
	if c.At("module") {
		head := *c
		if f := head.formHead(); !f.Definition && (f.Kind == FormBinary || f.Kind == FormQuote) {
			return assembleStrings(c)
		}
	}
	inside := c.Open("module")
	return assemble(c, inside)
}

// assembleStrings translates a text that is one form of strings.
func assembleStrings(c *Cursor) (*Module, error) {
	f := c.Form()
	c.finish()
	if c.Err != nil {
		return nil, c.Err
	}
	return f.Assemble()
}

// Assemble translates the module of a form. The error is an *Error; its place
// is one in the text of the form's cursor or, for FormQuote, in Bytes.
func (f *Form) Assemble() (*Module, error) {
	switch f.Kind {
	case FormText:
		c := &Cursor{scan: scanner{text: f.text, pos: f.head, stop: f.lines.stop}, lines: f.lines}
		c.tok = c.read()
		return assemble(c, true)
	case FormBinary:
		return &Module{ID: f.ID, Wasm: f.Bytes}, nil
	case FormQuote:
		return AssembleUntil(f.Bytes, f.lines.stop)
	}
	return nil, &Error{Place: f.place, Offset: f.Offset, Msg: "an instance is no module"}
}

// assembler translates one module.
//
// It walks over the fields twice: first it reads types and gives identifiers
// to what is declared, since fields and function bodies may use what comes
// later; then it translates.
type assembler struct {
	*Cursor
	id       string
	name     string // of the module, for the name section, if hasName is set
	hasName  bool
	spaces   [wasmfront.NumSpaces]space   // that of locals belongs to the function being translated, that of fields to a structure, that of labels is not used
	types    []wasmfront.FuncType         // empty for types that are not of functions
	typeOf   map[string]uint32            // the first type that is encoded so, of those of functions that begin with nothing else
	group    section                      // the types of the recursion group being declared
	fields   map[uint32]map[string]uint32 // the identifiers of the fields of each structure that has some
	sections [numSections]section
	customs  [numRanks][]custom          // by rank, from rankFirst
	next     [wasmfront.NumSpaces]uint32 // how many entries of a space have been translated
	defined  string                      // what has been defined, after which no import may come; empty if nothing has
	// While fields are declared: the one that is, the index of the next type before it, and the names of types behind it, which nil says nobody has looked for.
	declaring bool
	field     Cursor
	fieldType uint32
	later     map[string]uint32

	usesData bool // whether a body uses data segments, which demands a data count section

	localNames []wasmfront.InnerNames // of the functions so far
	labelNames []wasmfront.InnerNames
	fieldNames []wasmfront.InnerNames // of the structures so far

	// Of the function or expression being translated:
	sig           wasmfront.FuncType // the type written last
	unknownParams bool               // whether the function has a type that is not known (yet)
	groups        []byte             // the types of locals, encoded
	labels        labels
	frames        []frame
	code          section // operators so far
	op            []byte  // the operator being translated
	pending       []byte  // operators whose operands are being translated

	scratch []byte
}

// assemble translates the fields that the cursor is at, up to the end of the list or of the text.
func assemble(c *Cursor, inside bool) (*Module, error) {
	a := &assembler{Cursor: c, typeOf: map[string]uint32{}, fields: map[uint32]map[string]uint32{}}
	for i := range a.sections {
		a.sections[i].stop = c.scan.stop
	}
	a.code.stop, a.group.stop = c.scan.stop, c.scan.stop
	a.moduleName()
	start := *c
	a.declaring = true
	for c.More() {
		a.field, a.fieldType = *c, a.spaces[wasmfront.SpaceType].n
		a.declareField()
	}
	a.declaring = false
	if c.Err == nil {
		*c = start
	}
	for c.More() {
		a.defineField()
	}
	if inside {
		c.Close()
	}
	c.finish()
	if c.Err != nil {
		return nil, c.Err
	}
	return a.module(), nil
}

// moduleName takes what names the module.
func (a *assembler) moduleName() {
	a.id, a.hasName = a.ID()
	a.name = a.id
	if name, ok := a.nameAnnotation(); ok {
		a.name, a.hasName = name, true
		if t := a.Token(); t.Kind == Annotation && t.Name() == "name" {
			a.Fail(t.Offset, "@name annotation: multiple module names")
		}
	}
}

// nameAnnotation takes an (@name "name") if one comes next.
func (a *assembler) nameAnnotation() (name string, ok bool) {
	if t := a.Token(); t.Kind != Annotation || t.Name() != "name" {
		return "", false
	}
	a.Next()
	name = a.Name("a name")
	a.Close()
	return name, true
}
