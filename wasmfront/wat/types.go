package wat

import (
	"encoding/binary"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// unsupported fails if the token, which is not what is expected, belongs to a
// proposal, and for others says what is expected.
func (a *assembler) unsupported(t Token, expected string) {
	if f := proposalOf(t); f != 0 {
		a.failFeature(t, f)
		return
	}
	a.unexpected(t, expected)
}

// proposalOf returns what is not supported of the features that a keyword belongs to.
func proposalOf(t Token) wasmfront.Features {
	if t.Kind != Keyword {
		return 0
	}
	return words()[string(t.Text)].feature &^ wasmfront.DecodableFeatures
}

// unexpectedList is unsupported for the next token, or the word behind it if it is a parenthesis.
func (a *assembler) unexpectedList(expected string) {
	t := a.Token()
	if t.Kind == Open {
		t = a.Ahead()
	}
	a.unsupported(t, expected)
}

func (a *assembler) failFeature(t Token, f wasmfront.Features) {
	a.FailError(&Error{Offset: t.Offset, Msg: "unsupported", Found: found(t), Feature: f.String()})
}

// valType takes the type of a value.
func (a *assembler) valType() wasmfront.ValType {
	t := a.Token()
	if a.At("ref") {
		return a.longRefType()
	}
	v := abi.ValTypeByName(string(t.Text))
	if v == wasmfront.TypeUnknown {
		a.unsupported(t, "a type")
	}
	a.Next()
	return v
}

// atRefType reports whether the type of a reference comes next.
func (a *assembler) atRefType() bool {
	t := a.Token()
	return a.At("ref") || abi.ValTypeByName(string(t.Text)).IsRef() || proposalOf(t) != 0
}

// refType takes the type of a reference.
func (a *assembler) refType() wasmfront.ValType {
	t := a.Token()
	v := a.valType()
	if a.Err == nil && !v.IsRef() {
		a.unexpected(t, "a reference type")
	}
	return v
}

// longRefType takes (ref ...) or (ref null ...); (ref null func) and (ref null extern) are other ways
// to write funcref and externref.
func (a *assembler) longRefType() wasmfront.ValType {
	a.Open("ref")
	null := a.Accept("null")
	v := a.heapType()
	a.Close()
	if !null {
		v = v.NotNull()
	}
	return v
}

// heapType takes what a reference type refers to, and returns the type of nullable references to it. One to a type of the module has the kind of functions, whatever the
// type is, which may be declared later: so two are equal if they have the same index, and the binary format has nothing but that.
func (a *assembler) heapType() wasmfront.ValType {
	t := a.Token()
	if a.atIndex() {
		i := a.index(wasmfront.SpaceType)
		if i > abi.MaxTypeIndex {
			a.Fail(t.Offset, "unknown type")
			return wasmfront.FuncRef
		}
		return abi.RefTo(i)
	}
	v := abi.RefByHeap(string(t.Text))
	if v == wasmfront.TypeUnknown {
		a.unsupported(t, "func, extern, any and so on, or the index of a type")
	}
	a.Next()
	return v
}

// recField takes a (rec, whose types may refer to each other.
func (a *assembler) recField() {
	at := a.Token().Offset
	a.Open("rec")
	a.beginGroup()
	for a.More() {
		if !a.At("type") {
			a.unexpectedList("(type")
			return
		}
		a.typeDef()
	}
	a.Close()
	a.endGroup(at)
}

// typeField takes a (type that is a recursion group of its own.
func (a *assembler) typeField() {
	at := a.Token().Offset
	a.beginGroup()
	a.typeDef()
	a.endGroup(at)
}

func (a *assembler) beginGroup() {
	a.group = section{stop: a.group.stop, bytes: a.group.bytes[:0], places: a.group.places[:0]}
}

// endGroup appends the types of a recursion group, which begins at an offset in the text. What begins a group is left out of one of a single type, and a group of none
// is left out.
func (a *assembler) endGroup(at int) {
	s, g := &a.sections[secType], &a.group
	if g.count == 0 || a.Err != nil {
		return
	}
	s.entry(at)
	if g.count > 1 {
		s.bytes = encode.Index(append(grown(s.stop, s.bytes, 1+binary.MaxVarintLen32), wasmfront.FormRec), g.count)
	} else if g.bytes[0] == wasmfront.FormFunc { // nobody looks for others
		if _, ok := a.typeOf[string(g.bytes)]; !ok {
			a.typeOf[string(g.bytes)] = uint32(len(a.types) - 1)
		}
	}
	s.append(g)
}

// typeDef takes a (type of a recursion group.
func (a *assembler) typeDef() {
	a.group.entry(a.Token().Offset)
	a.Open("type")
	a.declare(wasmfront.SpaceType)
	if a.Open("sub") {
		a.supertypes()
		a.composite()
		a.Close()
	} else {
		a.composite()
	}
	a.Close()
}

// supertypes takes what is in front of a type in a (sub: whether it is final, and the supertypes, of which validation allows one.
func (a *assembler) supertypes() {
	form := byte(wasmfront.FormSub)
	if a.Accept("final") {
		form = wasmfront.FormSubFinal
	}
	n, list := uint32(0), a.scratch[:0]
	for ; a.atIndex(); n++ {
		list = encode.Index(grown(a.scan.stop, list, binary.MaxVarintLen32), a.index(wasmfront.SpaceType))
	}
	if a.scratch = list; n > 0 || form == wasmfront.FormSub { // a final type without any is written alone
		a.group.counted(n, list, form)
	}
}

// composite takes what a type consists of.
func (a *assembler) composite() {
	a.sig.Params, a.sig.Results = a.sig.Params[:0], a.sig.Results[:0]
	switch {
	case a.Open("func"):
		a.signature(namesIgnored)
		a.scratch = encode.FuncType(a.scratch[:0], &a.sig)
		a.group.add(a.scratch)
	case a.Open("struct"):
		a.structFields()
	case a.Open("array"):
		a.group.add(encode.FieldType([]byte{wasmfront.FormArray}, a.storage()))
	default:
		a.unexpectedList("(func, (struct, (array or (sub")
	}
	a.Close()
	a.addType()
}

// structFields takes (field ...) lists, which have one field with an identifier, or any number without.
func (a *assembler) structFields() {
	fields := &a.spaces[wasmfront.SpaceField]
	*fields = space{}
	list := a.scratch[:0]
	for a.Open("field") {
		if t := a.Token(); t.Kind == ID || t.Kind == Annotation {
			a.declare(wasmfront.SpaceField)
			list = a.appendField(list)
		} else {
			for ; a.More(); fields.n++ {
				list = a.appendField(list)
			}
		}
		a.Close()
	}
	a.scratch = list
	a.group.counted(fields.n, list, wasmfront.FormStruct)
	a.keepFields(uint32(len(a.types)), fields)
}

// appendField takes the type of a field, and appends it.
func (a *assembler) appendField(b []byte) []byte {
	return encode.FieldType(grown(a.scan.stop, b, 2+binary.MaxVarintLen32+1), a.storage())
}

// storage takes the type of a field of a structure, or of the elements of an array.
func (a *assembler) storage() (f wasmfront.FieldType) {
	f.Mutable = a.Open("mut")
	switch {
	case a.Accept("i8"):
		f.Type, f.Packed = wasmfront.I32, 8
	case a.Accept("i16"):
		f.Type, f.Packed = wasmfront.I32, 16
	default:
		f.Type = a.valType()
	}
	if f.Mutable {
		a.Close()
	}
	return f
}

// signature takes (param ...) and (result ...) lists.
func (a *assembler) signature(names naming) {
	a.sig.Params = a.declarations("param", a.sig.Params[:0], names)
	a.sig.Results = a.declarations("result", a.sig.Results[:0], namesRefused)
	if a.At("param") {
		a.unexpectedList("parameters before results")
	}
}

// naming says what becomes of identifiers in declarations.
type naming uint8

const (
	namesRefused naming = iota
	namesIgnored
	namesBound // they name locals
)

// declarations takes lists that begin with a word and have one type with an
// identifier, or any number of types without.
func (a *assembler) declarations(word string, types []wasmfront.ValType, names naming) []wasmfront.ValType {
	for a.Open(word) {
		switch t := a.Token(); {
		case names == namesRefused || t.Kind != ID && t.Kind != Annotation:
			for a.More() {
				types = appendOne(a.scan.stop, types, a.valType())
				if names == namesBound {
					a.spaces[wasmfront.SpaceLocal].n++
				}
			}
			a.Close()
			continue
		case names == namesBound:
			a.declare(wasmfront.SpaceLocal)
		default:
			a.skipID()
		}
		types = appendOne(a.scan.stop, types, a.valType())
		a.Close()
	}
	return types
}

// typeUse is what is written of the type of a function or a block: an index, or
// parameters and results, which are in assembler.sig, or both.
type typeUse struct {
	hasIndex bool
	index    uint32
	text     int // offset
}

// typeUse takes (type ...), (param ...) and (result ...) lists.
func (a *assembler) typeUse(names naming) typeUse {
	u := typeUse{text: a.Token().Offset}
	if a.Open("type") {
		u.hasIndex = true
		u.index = a.index(wasmfront.SpaceType)
		a.Close()
	}
	a.signature(names)
	return u
}

// resolve returns the index of the type that is meant. One that is written
// without an index is a final type of functions without supertype, in a recursion group of its own; if the module does not have it, it
// is added.
func (a *assembler) resolve(u typeUse) uint32 {
	if !u.hasIndex {
		a.scratch = encode.FuncType(a.scratch[:0], &a.sig)
		i, ok := a.typeOf[string(a.scratch)]
		if !ok {
			s := &a.sections[secType]
			s.entry(u.text)
			s.add(a.scratch)
			i = a.addType()
			a.typeOf[string(a.scratch)] = i
		}
		return i
	}
	if len(a.sig.Params)+len(a.sig.Results) > 0 {
		switch {
		case int64(u.index) >= int64(len(a.types)):
			a.Fail(u.text, "unknown type")
		case !a.sig.Equal(&a.types[u.index]): // which is empty for what is no type of functions
			a.Fail(u.text, "inline function type does not match explicit type")
		}
	}
	return u.index
}

// addType adds the type of functions in sig, which is empty for other types, and returns its index.
func (a *assembler) addType() uint32 {
	a.types = appendOne(a.scan.stop, a.types, wasmfront.FuncType{Params: slices.Clone(a.sig.Params), Results: slices.Clone(a.sig.Results)})
	return uint32(len(a.types) - 1)
}
