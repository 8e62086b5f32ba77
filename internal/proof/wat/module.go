package wat

import (
	"encoding/binary"
	"strconv"

	"github.com/waot-project/waot/internal/abi"
)

// valueTypes are the types of values, and the types of references as ref.null has them.
var valueTypes = map[string]byte{"i32": 0x7F, "i64": 0x7E, "f32": 0x7D, "f64": 0x7C, "v128": 0x7B, "funcref": 0x70, "externref": 0x6F,
	"func": 0x70, "extern": 0x6F}

func valueType(atom string) byte {
	b, ok := valueTypes[atom]
	if !ok {
		fail("type %q", atom)
	}
	return b
}

// assembler translates one module. Lists hold what the sections of their names have, encoded.
type assembler struct {
	types     []string
	typeNames space
	entities  [4]space // by abi.ExternKind
	elems     space
	datas     space

	imports, funcs, tables, memories, globals, exports, elements, codes, segments [][]byte
	start                                                                         []byte

	locals space
	labels []string // of the blocks around, the innermost one last
}

// Assemble translates the text of a module.
func Assemble(text string) (wasm []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, ok := p.(syntaxError)
			if !ok {
				panic(p)
			}
			err = s
		}
	}()
	top := (&reader{text: text}).nodes()
	if len(top) != 1 || top[0].head() != "module" {
		fail("not one module")
	}
	fields := top[0].list[1:]
	a := &assembler{}
	for _, f := range fields {
		if f.head() == "type" {
			rest := f.list[1:]
			a.typeNames.add(&rest)
			if len(rest) != 1 || rest[0].head() != "func" {
				fail("a type that is none of functions")
			}
			a.types = append(a.types, functionType(rest[0].list[1:]))
		}
	}
	var bodies []func()
	for _, f := range fields {
		if f.head() == "" {
			fail("a field that is none")
		}
		if body := a.field(f.head(), f.list[1:]); body != nil {
			bodies = append(bodies, body)
		}
	}
	for _, body := range bodies {
		body()
	}
	return a.module(), nil
}

// module returns the sections in their order; empty ones are left out.
func (a *assembler) module() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, content []byte) {
		if len(content) > 1 || id == 8 && a.start != nil || id == 12 && len(a.segments) > 0 {
			out = append(append(out, id), sized(content)...)
		}
	}
	types := make([][]byte, len(a.types))
	for i, t := range a.types {
		types[i] = []byte(t)
	}
	section(1, vector(types))
	section(2, vector(a.imports))
	section(3, vector(a.funcs))
	section(4, vector(a.tables))
	section(5, vector(a.memories))
	section(6, vector(a.globals))
	section(7, vector(a.exports))
	section(8, a.start)
	section(9, vector(a.elements))
	section(12, unsigned(uint64(len(a.segments))))
	section(10, vector(a.codes))
	section(11, vector(a.segments))
	return out
}

// functionType translates (param ...) and (result ...) fields.
func functionType(fields []node) string {
	params, results := signature(fields)
	return string(append(append([]byte{0x60}, sized(params)...), sized(results)...))
}

// signature returns the types that (param) and (result) fields have.
func signature(fields []node) (params, results []byte) {
	for _, f := range fields {
		rest := f.list[1:]
		takeName(&rest)
		for _, t := range rest {
			if f.head() == "param" {
				params = append(params, valueType(t.atom))
			} else {
				results = append(results, valueType(t.atom))
			}
		}
	}
	return params, results
}

// takeTypeUse takes (type), (param) and (result) fields from the front of fields.
func takeTypeUse(fields *[]node) (used []node) {
	n := 0
	for n < len(*fields) && (*fields)[n].headIs("type", "param", "result") {
		n++
	}
	used, *fields = (*fields)[:n], (*fields)[n:]
	return used
}

// typeUse returns the index of the type that (type), (param) and (result) fields mean, and the fields of parameters.
func (a *assembler) typeUse(used []node) (index uint32, params []node) {
	named := len(used) > 0 && used[0].head() == "type"
	if named {
		if len(used[0].list) != 2 {
			fail("use of no type")
		}
		index, used = a.typeNames.index(used[0].list[1].atom), used[1:]
	}
	for _, f := range used {
		if f.head() == "param" {
			params = append(params, f)
		}
	}
	if named {
		return index, params
	}
	t := functionType(used)
	for i := range a.types {
		if a.types[i] == t {
			return uint32(i), params
		}
	}
	a.types = append(a.types, t)
	a.typeNames.n++
	return uint32(len(a.types) - 1), params
}

// kinds are the words for what is imported and exported.
var kinds = map[string]abi.ExternKind{"func": abi.ExternFunc, "table": abi.ExternTable, "memory": abi.ExternMemory, "global": abi.ExternGlobal}

// field declares a field of the module; what needs all names is done by the function that it returns.
func (a *assembler) field(kind string, f []node) func() {
	switch kind {
	case "type": // Assemble has declared them all
	case "import":
		a.importField(f)
	case "export":
		return func() { a.exportField(f) }
	case "func":
		return a.function(f)
	case "table":
		return a.table(f)
	case "memory":
		a.declare(abi.ExternMemory, &f)
		a.memories = append(a.memories, limits(f))
	case "global":
		a.declare(abi.ExternGlobal, &f)
		i := len(a.globals)
		a.globals = append(a.globals, nil)
		return func() { a.globals[i] = append(globalType(f), a.constant(f[1:])...) }
	case "start":
		return func() { a.start = unsigned(uint64(a.entities[abi.ExternFunc].index(f[0].atom))) }
	case "elem":
		a.elems.add(&f)
		return func() { a.elements = append(a.elements, a.element(f)) }
	case "data":
		a.datas.add(&f)
		return func() { a.segments = append(a.segments, a.data(f)) }
	default:
		fail("field %q", kind)
	}
	return nil
}

// declare gives the next entity of its kind its name and exports, which it takes from the front of fields, and returns its index.
func (a *assembler) declare(kind abi.ExternKind, fields *[]node) uint32 {
	i := a.entities[kind].add(fields)
	for len(*fields) > 0 && (*fields)[0].head() == "export" {
		a.export((*fields)[0].list[1].str, kind, i)
		*fields = (*fields)[1:]
	}
	return i
}

func (a *assembler) export(name []byte, kind abi.ExternKind, index uint32) {
	a.exports = append(a.exports, append(append(sized(name), byte(kind)), unsigned(uint64(index))...))
}

func (a *assembler) exportField(f []node) {
	kind, ok := kinds[f[1].head()]
	if !ok {
		fail("export of %q", f[1].head())
	}
	a.export(f[0].str, kind, a.entities[kind].index(f[1].list[1].atom))
}

func (a *assembler) importField(f []node) {
	kind, ok := kinds[f[2].head()]
	if !ok {
		fail("import of %q", f[2].head())
	}
	d := f[2].list[1:]
	a.entities[kind].add(&d)
	var what []byte
	switch kind {
	case abi.ExternFunc:
		i, _ := a.typeUse(d)
		what = unsigned(uint64(i))
	case abi.ExternTable:
		what = tableType(d)
	case abi.ExternMemory:
		what = limits(d)
	case abi.ExternGlobal:
		what = globalType(d)
	}
	a.imports = append(a.imports, append(append(append(sized(f[0].str), sized(f[1].str)...), byte(kind)), what...))
}

// limits translates a minimum, and a maximum if there is one.
func limits(f []node) []byte {
	switch len(f) {
	case 1:
		return append([]byte{0}, unsigned(natural(f[0].atom))...)
	case 2:
		return append(append([]byte{1}, unsigned(natural(f[0].atom))...), unsigned(natural(f[1].atom))...)
	}
	fail("%d limits", len(f))
	return nil
}

// tableType translates limits and the type of elements.
func tableType(f []node) []byte {
	if len(f) == 0 {
		fail("a table without a type")
	}
	return append([]byte{valueType(f[len(f)-1].atom)}, limits(f[:len(f)-1])...)
}

// table declares a table: with limits, or with functions that are its elements.
func (a *assembler) table(f []node) func() {
	index := a.declare(abi.ExternTable, &f)
	if len(f) != 2 || f[1].head() != "elem" {
		a.tables = append(a.tables, tableType(f))
		return nil
	}
	functions := f[1].list[1:]
	n := node{kind: 'a', atom: strconv.Itoa(len(functions))}
	a.tables = append(a.tables, tableType([]node{n, n, f[0]}))
	a.elems.add(&[]node{})
	return func() {
		zero := []byte{0x41, 0, 0x0B}
		a.elements = append(a.elements, append(append([]byte{2}, unsigned(uint64(index))...), append(zero, a.functions(functions)...)...))
	}
}

// globalType translates a type, or (mut type), at the front.
func globalType(f []node) []byte {
	if len(f) > 0 && f[0].head() == "mut" {
		return []byte{valueType(f[0].list[1].atom), 1}
	}
	if len(f) == 0 {
		fail("a global without a type")
	}
	return []byte{valueType(f[0].atom), 0}
}

// takeOffset takes (offset expression) or an expression from the front, if there is one.
func (a *assembler) takeOffset(f *[]node) (offset []byte, active bool) {
	if len(*f) == 0 || (*f)[0].kind != 'l' || (*f)[0].headIs("ref.func", "ref.null", "item") {
		return nil, false
	}
	e := (*f)[:1]
	if e[0].head() == "offset" {
		e = e[0].list[1:]
	}
	*f = (*f)[1:]
	return a.constant(e), true
}

// element translates an element segment: of functions, or of expressions where a type of references is given.
func (a *assembler) element(f []node) []byte {
	table := uint32(0)
	if len(f) > 0 && f[0].head() == "table" {
		table = a.entities[abi.ExternTable].index(f[0].list[1].atom)
		f = f[1:]
	}
	const passive, withTable, declared, expressions = 1, 2, 3, 4
	b := []byte{passive}
	if at, active := a.takeOffset(&f); active {
		b = append(append([]byte{withTable}, unsigned(uint64(table))...), at...)
	} else if _, ok := takeAtom(&f, "declare"); ok {
		b[0] = declared
	}
	t, ok := takeAtom(&f, "func", "funcref", "externref")
	if !ok || t == "func" {
		return append(b, a.functions(f)...)
	}
	b[0] |= expressions
	b = append(append(b, valueType(t)), unsigned(uint64(len(f)))...)
	for i := range f {
		b = append(b, a.constant(f[i:i+1])...)
	}
	return b
}

// functions returns the elements of a segment: their kind, and functions by index.
func (a *assembler) functions(list []node) []byte {
	b := append([]byte{0}, unsigned(uint64(len(list)))...)
	for i := range list {
		b = append(b, unsigned(uint64(a.entities[abi.ExternFunc].index(list[i].atom)))...)
	}
	return b
}

// data translates a data segment.
func (a *assembler) data(f []node) []byte {
	b := []byte{1}
	if at, active := a.takeOffset(&f); active {
		b = append([]byte{0}, at...)
	}
	var content []byte
	for _, s := range f {
		if s.kind != 's' {
			fail("data that is no string")
		}
		content = append(content, s.str...)
	}
	return append(b, sized(content)...)
}

// function declares a function; its body needs all names.
func (a *assembler) function(f []node) func() {
	a.declare(abi.ExternFunc, &f)
	t, params := a.typeUse(takeTypeUse(&f))
	a.funcs = append(a.funcs, unsigned(uint64(t)))
	return func() {
		a.locals, a.labels = space{}, nil
		for _, p := range params {
			a.declareLocals(p)
		}
		if len(params) == 0 { // of a named type
			n, _ := binary.Uvarint([]byte(a.types[t][1:]))
			a.locals.n = uint32(n)
		}
		var locals []byte
		for len(f) > 0 && f[0].head() == "local" {
			locals = append(locals, a.declareLocals(f[0])...)
			f = f[1:]
		}
		code := localGroups(locals)
		a.instrs(&code, f)
		a.codes = append(a.codes, sized(append(code, opEnd)))
	}
}

// declareLocals gives the locals of a (param) or (local) field their indices, and returns their types.
func (a *assembler) declareLocals(d node) (types []byte) {
	for rest := d.list[1:]; len(rest) > 0; rest = rest[1:] {
		a.locals.add(&rest)
		if len(rest) == 0 {
			fail("a local without a type")
		}
		types = append(types, valueType(rest[0].atom))
	}
	return types
}

// localGroups encodes types of locals, equal neighbours together.
func localGroups(types []byte) []byte {
	var groups [][]byte
	for i := 0; i < len(types); {
		k := i
		for k < len(types) && types[k] == types[i] {
			k++
		}
		groups = append(groups, append(unsigned(uint64(k-i)), types[i]))
		i = k
	}
	return vector(groups)
}
