package wat

import (
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

// heapType takes what a reference type refers to, and returns the type of nullable references to it.
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
		a.unsupported(t, "func, extern, exn or the index of a type")
	}
	a.Next()
	return v
}

// recField takes a (rec. One of several types, which may refer to each other, needs garbage collection.
func (a *assembler) recField() {
	t := a.Ahead()
	a.Open("rec")
	start := *a.Cursor
	n := 0
	for ; a.More(); n++ {
		a.Skip()
	}
	if n > 1 {
		a.failFeature(t, wasmfront.FeatureGC)
	}
	if a.Err == nil {
		*a.Cursor = start
	}
	for a.More() {
		if !a.At("type") {
			a.unexpectedList("(type")
			return
		}
		a.typeField()
	}
	a.Close()
}

// typeField takes a (type.
func (a *assembler) typeField() {
	at := a.Token().Offset
	a.Open("type")
	a.declare(wasmfront.SpaceType)
	if !a.Open("func") {
		a.unexpectedList("(func")
		return
	}
	a.signature(namesIgnored)
	a.Close()
	a.Close()
	a.addType(at)
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

// resolve returns the index of the type that is meant. A type that is written
// without an index and that the module does not have is added to it.
func (a *assembler) resolve(u typeUse) uint32 {
	if !u.hasIndex {
		a.scratch = encode.FuncType(a.scratch[:0], &a.sig)
		if i, ok := a.typeOf[string(a.scratch)]; ok {
			return i
		}
		return a.addType(u.text)
	}
	if len(a.sig.Params)+len(a.sig.Results) > 0 {
		switch {
		case int64(u.index) >= int64(len(a.types)):
			a.Fail(u.text, "unknown type")
		case !a.sig.Equal(&a.types[u.index]):
			a.Fail(u.text, "inline function type does not match explicit type")
		}
	}
	return u.index
}

// addType adds the type in sig to the module and returns its index.
func (a *assembler) addType(text int) uint32 {
	s := &a.sections[secType]
	s.entry(text)
	from := len(s.bytes)
	s.bytes = encode.FuncType(s.bytes, &a.sig)
	i := uint32(len(a.types))
	if _, ok := a.typeOf[string(s.bytes[from:])]; !ok {
		a.typeOf[string(s.bytes[from:])] = i
	}
	a.types = appendOne(a.scan.stop, a.types, wasmfront.FuncType{Params: slices.Clone(a.sig.Params), Results: slices.Clone(a.sig.Results)})
	return i
}
