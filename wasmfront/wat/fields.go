package wat

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// field is what is known of a field of a module.
type field struct {
	word  string
	space wasmfront.IndexSpace // that it adds an entry to; 0 for none
	// segment is the space of the segments that the field can also declare, by
	// a list inside of it that begins with segmentWord; 0 for none.
	segment     wasmfront.IndexSpace
	segmentWord string
	// define takes the field behind the word; at is where the field begins.
	define func(a *assembler, at int)
}

// fieldTable has the fields of a module.
var fieldTable = [...]field{
	{"func", wasmfront.SpaceFunc, 0, "", (*assembler).funcField},
	{"table", wasmfront.SpaceTable, wasmfront.SpaceElem, "elem", (*assembler).tableField},
	{"memory", wasmfront.SpaceMemory, wasmfront.SpaceData, "data", (*assembler).memoryField},
	{"global", wasmfront.SpaceGlobal, 0, "", (*assembler).globalField},
	{"tag", wasmfront.SpaceTag, 0, "", (*assembler).tagField},
	{"elem", wasmfront.SpaceElem, 0, "", (*assembler).elemField},
	{"data", wasmfront.SpaceData, 0, "", (*assembler).dataField},
	{"import", 0, 0, "", (*assembler).importField},
	{"export", 0, 0, "", (*assembler).exportField},
	{"start", 0, 0, "", (*assembler).startField},
	{"type", 0, 0, "", func(a *assembler, _ int) { a.skipRest() }}, // declareField has taken it
	{"rec", 0, 0, "", func(a *assembler, _ int) { a.skipRest() }},  // and this
}

// skipRest skips what is left of a list, but for the parenthesis.
func (a *assembler) skipRest() {
	for a.More() {
		a.Skip()
	}
}

// declareField takes a field and gives what it declares an index, an identifier and a name.
func (a *assembler) declareField() {
	switch {
	case a.At("type"):
		a.typeField()
		return
	case a.At("rec"):
		a.recField()
		return
	case a.Open("import"):
		a.declareImport()
		a.skipRest()
		a.Close()
		return
	}
	for i := range fieldTable {
		if f := &fieldTable[i]; f.space != 0 && a.Open(f.word) {
			a.declare(f.space)
			for a.More() {
				if f.segment != 0 && a.At(f.segmentWord) {
					a.spaces[f.segment].n++
				}
				a.Skip()
			}
			a.Close()
			return
		}
	}
	a.Skip()
}

// declareImport declares what an (import has.
func (a *assembler) declareImport() {
	for a.Token().Kind == String {
		a.Next()
	}
	for i := range importKinds {
		if k := &importKinds[i]; a.Open(k.word) {
			a.declare(k.space)
			a.skipRest()
			a.Close()
		}
	}
}

// defineField takes a field and translates it.
func (a *assembler) defineField() {
	t := a.Token()
	if t.Kind == Annotation && t.Name() == "custom" {
		a.customField()
		return
	}
	for i := range fieldTable {
		if f := &fieldTable[i]; a.Open(f.word) {
			f.define(a, t.Offset)
			a.Close()
			return
		}
	}
	a.unexpectedList("a field of a module")
}

// importKinds are the kinds of imports and exports by their numbers, with what
// appends the description of an import.
var importKinds = [...]struct {
	word     string
	space    wasmfront.IndexSpace
	describe func(a *assembler, b []byte) []byte
}{
	abi.ExternFunc:   {"func", wasmfront.SpaceFunc, (*assembler).funcType},
	abi.ExternTable:  {"table", wasmfront.SpaceTable, (*assembler).tableType},
	abi.ExternMemory: {"memory", wasmfront.SpaceMemory, (*assembler).memoryType},
	abi.ExternGlobal: {"global", wasmfront.SpaceGlobal, (*assembler).globalType},
	abi.ExternTag:    {"tag", wasmfront.SpaceTag, (*assembler).tagType},
}

// importNames takes the two names of an import and begins its entry.
func (a *assembler) importNames(at int) {
	if a.defined != "" {
		a.Fail(at, "import after "+a.defined)
	}
	s := &a.sections[secImport]
	s.entry(at)
	s.bytes = encode.Sized(s.bytes, a.Name("the name of a module"))
	s.bytes = encode.Sized(s.bytes, a.Name("the name of an import"))
}

// describeImport takes the description of an import and ends its entry.
func (a *assembler) describeImport(kind abi.ExternKind) {
	s := &a.sections[secImport]
	s.bytes = importKinds[kind].describe(a, append(s.bytes, byte(kind)))
	a.next[importKinds[kind].space]++
}

func (a *assembler) importField(at int) {
	a.importNames(at)
	for kind := range importKinds {
		if a.Open(importKinds[kind].word) {
			a.skipID()
			a.describeImport(abi.ExternKind(kind))
			a.Close()
			return
		}
	}
	a.unexpectedList("the kind of an import")
}

// entity takes the start of a field that declares an entity: what declare has
// seen, exports, and an import. It is true if the entity is imported; then the
// field has been taken. Else the section gets an entry.
func (a *assembler) entity(kind abi.ExternKind, section, at int) (imported bool) {
	space := importKinds[kind].space
	a.skipID()
	for a.At("export") {
		export := a.Token().Offset
		a.Open("export")
		a.export(a.Name("the name of an export"), kind, a.next[space], export)
		a.Close()
	}
	if a.Open("import") {
		a.importNames(at)
		a.Close()
		a.describeImport(kind)
		return true
	}
	a.defined = spaceNames[space]
	a.next[space]++
	a.sections[section].entry(at)
	return false
}

func (a *assembler) export(name string, kind abi.ExternKind, index uint32, at int) {
	s := &a.sections[secExport]
	s.entry(at)
	s.bytes = encode.Index(append(encode.Sized(s.bytes, name), byte(kind)), index)
}

func (a *assembler) exportField(at int) {
	name := a.Name("the name of an export")
	for kind := range importKinds {
		if a.Open(importKinds[kind].word) {
			a.export(name, abi.ExternKind(kind), a.index(importKinds[kind].space), at)
			a.Close()
			return
		}
	}
	a.unexpectedList("the kind of an export")
}

func (a *assembler) startField(at int) {
	s := &a.sections[secStart]
	if s.count > 0 {
		a.Fail(at, "multiple start sections")
	}
	s.entry(at)
	s.bytes = encode.Index(nil, a.index(wasmfront.SpaceFunc))
}

// funcType takes the type of a function.
func (a *assembler) funcType(b []byte) []byte {
	return encode.Index(b, a.resolve(a.typeUse(namesIgnored)))
}

// tagType takes the type of a tag.
func (a *assembler) tagType(b []byte) []byte {
	const exception = 0
	return a.funcType(append(b, exception))
}

func (a *assembler) tagField(at int) {
	if a.entity(abi.ExternTag, secTag, at) {
		return
	}
	s := &a.sections[secTag]
	s.bytes = a.tagType(s.bytes)
}

// limits takes a minimum, and a maximum if there is one.
func (a *assembler) limits(b []byte) []byte {
	if t := a.Token(); a.Accept("i64") {
		a.failFeature(t, wasmfront.FeatureMemory64)
	}
	a.Accept("i32")
	least := a.nat(64, "a minimum")
	if a.Token().Kind != Nat {
		return encode.Unsigned(append(b, 0), least)
	}
	most := a.nat(64, "a maximum")
	return encode.Unsigned(encode.Unsigned(append(b, 1), least), most)
}

func (a *assembler) memoryType(b []byte) []byte {
	if !a.At("pagesize") {
		b = a.limits(b)
	}
	if k := a.Token().Kind; k == Keyword || k == Open { // shared, (pagesize
		a.unexpectedList(")")
	}
	return b
}

func (a *assembler) tableType(b []byte) []byte {
	limits := a.limits(nil)
	return append(encode.ValType(b, a.refType()), limits...)
}

func (a *assembler) globalType(b []byte) []byte {
	if a.Open("mut") {
		b = append(encode.ValType(b, a.valType()), 1)
		a.Close()
		return b
	}
	return append(encode.ValType(b, a.valType()), 0)
}

// appendFixed appends limits that are the same.
func appendFixed(b []byte, n uint64) []byte {
	return encode.Unsigned(encode.Unsigned(append(b, 1), n), n)
}

func (a *assembler) memoryField(at int) {
	if a.entity(abi.ExternMemory, secMemory, at) {
		return
	}
	s := &a.sections[secMemory]
	if !a.Open("data") {
		s.bytes = a.memoryType(s.bytes)
		return
	}
	const page = 1 << 16
	bytes := a.AppendStrings(nil)
	a.Close()
	s.bytes = appendFixed(s.bytes, (uint64(len(bytes))+page-1)/page)
	a.dataSegment(at, inlineHead(a.next[wasmfront.SpaceMemory]-1), bytes)
}

func (a *assembler) tableField(at int) {
	if a.entity(abi.ExternTable, secTable, at) {
		return
	}
	s := &a.sections[secTable]
	if !a.atRefType() {
		t := a.tableType(nil)
		if !a.More() {
			s.bytes = append(s.bytes, t...)
			return
		}
		const withInit, zero = 0x40, 0
		s.bytes = append(append(s.bytes, withInit, zero), t...)
		s.append(a.body())
		return
	}
	t := a.refType()
	if !a.Open("elem") {
		a.Unexpected("(elem")
	}
	form := elemFuncs
	switch {
	case a.Token().Kind == Open:
		form = elemExprs
	case t != wasmfront.FuncRef:
		form = elemFuncExprs
	}
	list := a.elemList(t, form)
	a.Close()
	s.bytes = appendFixed(encode.ValType(s.bytes, t), uint64(list.items.count))
	a.segment(at, &list, inlineHead(a.next[wasmfront.SpaceTable]-1))
}

func (a *assembler) globalField(at int) {
	if a.entity(abi.ExternGlobal, secGlobal, at) {
		return
	}
	s := &a.sections[secGlobal]
	s.bytes = a.globalType(s.bytes)
	s.append(a.body())
}

func (a *assembler) funcField(at int) {
	if a.entity(abi.ExternFunc, secFunc, at) {
		return
	}
	locals := &a.spaces[wasmfront.SpaceLocal]
	clear(locals.ids)
	*locals = space{ids: locals.ids}
	u := a.typeUse(namesBound)
	index := a.resolve(u)
	s := &a.sections[secFunc]
	s.bytes = encode.Index(s.bytes, index)
	a.unknownParams = false
	if len(a.sig.Params)+len(a.sig.Results) == 0 { // they are those of the type
		if a.unknownParams = int64(index) >= int64(len(a.types)); !a.unknownParams {
			locals.n = uint32(len(a.types[index].Params))
		}
	}
	a.sig.Params = a.declarations("local", a.sig.Params[:0], namesBound)
	a.groups = appendLocals(a.scan.stop, a.groups[:0], a.sig.Params)
	body := a.body()
	c := &a.sections[secCode]
	c.entry(at)
	c.bytes = encode.Index(c.bytes, uint32(len(a.groups)+len(body.bytes)))
	c.bytes = appendAll(c.stop, c.bytes, a.groups)
	c.append(body)
	a.nameBody(a.next[wasmfront.SpaceFunc] - 1)
}

// appendLocals appends types of locals, equal neighbours together.
func appendLocals(f *stop.Flag, b []byte, types []wasmfront.ValType) []byte {
	groups := uint32(0)
	for i := range types {
		f.PollAt(i)
		if i == 0 || types[i] != types[i-1] {
			groups++
		}
	}
	b = encode.Index(b, groups)
	for i := 0; i < len(types); {
		k := i
		for k < len(types) && types[k] == types[i] {
			f.PollAt(k)
			k++
		}
		f.Poll()
		b = grown(f, b, 1+2*binary.MaxVarintLen32)
		b = encode.ValType(encode.Index(b, uint32(k-i)), types[i])
		i = k
	}
	return b
}
