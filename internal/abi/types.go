package abi

import (
	"fmt"
	"strconv"
)

// ValType is the type of a WebAssembly value: the one enumeration of value types, which package wasmfront has under the same name, package
// host as its own type with the same numbers, and clif.Type as the class alone.
//
// The low classBits bits are the class: how compiled code keeps the value. Classes are dense, so that they index tables. The types
// below are the nullable references to anything of their class, and have nothing above the class. A reference type that says
// more has that above: a bit for "not null", and the heap type, abstract or the index of a type. Its class is still what the low bits say.
type ValType uint32

// The value types. ValTypeUnknown is the type of an operand that unreachable code pops from a stack that has none, and no type elsewhere.
const (
	ValTypeUnknown ValType = iota
	I32
	I64
	F32
	F64
	V128
	ExternRef // class of references to host and collected objects, which stack maps list
	FuncRef   // class of references to functions, which are not collected
	NumValTypes
)

// classBits is the width of the class.
const classBits = 3

// notNull is the bit of a reference type whose values are never null. Above it is the heap type: 0 for anything of the class, then what is abstract, then what the
// indices of types name, which say of what kind those are: so a type can be understood without the module, but for which type the index means.
const (
	notNull  ValType = 1 << classBits
	heapBits         = classBits + 1
)

// The types of nullable references to what the abstract heap types name. Compiled code keeps those to objects as it keeps an externref, but hierarchies of types do not
// mix: anyref and exnref are no subtypes of externref. A bottom type has null only.
const (
	ExnRef        = ExternRef | heapExn<<heapBits
	NullExnRef    = ExternRef | heapNoExn<<heapBits
	NullExternRef = ExternRef | heapNoExtern<<heapBits
	AnyRef        = ExternRef | heapAny<<heapBits
	EqRef         = ExternRef | heapEq<<heapBits
	I31Ref        = ExternRef | heapI31<<heapBits
	StructRef     = ExternRef | heapStruct<<heapBits
	ArrayRef      = ExternRef | heapArray<<heapBits
	NullRef       = ExternRef | heapNone<<heapBits
	NullFuncRef   = FuncRef | heapNoFunc<<heapBits
)

// The abstract heap types, of class ExternRef but for func, which is 0 of class FuncRef, and nofunc.
const (
	heapExtern = iota
	heapExn
	heapNoExn
	heapNoExtern
	heapAny
	heapEq
	heapI31
	heapStruct
	heapArray
	heapNone
	heapFunc
	numHeaps

	heapNoFunc = 1<<(32-heapBits) - 1 // above all indices
	// Indices of class ExternRef begin here, two numbers for each: for a structure and for an array. In class FuncRef they begin at 1.
	heapIndices = 16
)

// heapType is what is known of an abstract heap type.
type heapType struct {
	name   string  // in the text format
	ref    string  // what the text format calls nullable references to it
	code   byte    // of nullable references to it
	within uint8   // the heap type next above it, or itself
	class  ValType // of references to it
	bottom bool    // nothing is within it but null
}

var heapTypes = [numHeaps]heapType{
	heapExtern:   {"extern", "externref", 0x6f, heapExtern, ExternRef, false},
	heapExn:      {"exn", "exnref", 0x69, heapExn, ExternRef, false},
	heapNoExn:    {"noexn", "nullexnref", 0x74, heapExn, ExternRef, true},
	heapNoExtern: {"noextern", "nullexternref", 0x72, heapExtern, ExternRef, true},
	heapAny:      {"any", "anyref", 0x6e, heapAny, ExternRef, false},
	heapEq:       {"eq", "eqref", 0x6d, heapAny, ExternRef, false},
	heapI31:      {"i31", "i31ref", 0x6c, heapEq, ExternRef, false},
	heapStruct:   {"struct", "structref", 0x6b, heapEq, ExternRef, false},
	heapArray:    {"array", "arrayref", 0x6a, heapEq, ExternRef, false},
	heapNone:     {"none", "nullref", 0x71, heapAny, ExternRef, true},
	heapFunc:     {"func", "funcref", 0x70, heapFunc, FuncRef, false},
}

// noFunc is the row of heapNoFunc, which is no place in the table.
var noFunc = heapType{"nofunc", "nullfuncref", 0x73, heapFunc, FuncRef, true}

// abstract returns the row of t, a reference type, or nil if the index of a type says what t refers to, or t is not valid.
func (t ValType) abstract() *heapType {
	switch heap := t >> heapBits; {
	case t.Base() == FuncRef && heap == 0:
		return &heapTypes[heapFunc]
	case t.Base() == FuncRef && heap == heapNoFunc:
		return &noFunc
	case t.Base() == ExternRef && heap < heapFunc:
		return &heapTypes[heap]
	}
	return nil
}

// top returns the heap type that t, a reference type, is within at last.
func (t ValType) top() uint8 {
	heap := uint8(heapAny) // of the index of a structure or array
	if row := t.abstract(); row != nil {
		heap = row.within
	} else if t.Base() == FuncRef {
		heap = heapFunc
	}
	for heapTypes[heap].within != heap {
		heap = heapTypes[heap].within
	}
	return heap
}

// UnknownRef is the type of an operand that unreachable code gives, of which only that it is a reference is known; no type elsewhere.
const UnknownRef = ValTypeUnknown | notNull

// Class returns the class of t as a number below NumValTypes.
func (t ValType) Class() uint8 { return uint8(t & (1<<classBits - 1)) }

// Base returns the nullable type of references to anything of the class of t, and other types unchanged.
func (t ValType) Base() ValType { return ValType(t.Class()) }

// IsNotNull reports whether t is the type of references that are never null.
func (t ValType) IsNotNull() bool { return t&notNull != 0 }

// NotNull returns t without null, and OrNull with it; t is a reference type.
func (t ValType) NotNull() ValType { return t | notNull }

// OrNull is the reverse of NotNull.
func (t ValType) OrNull() ValType { return t &^ notNull }

// TypeKind is the kind of what a module defines as a type.
type TypeKind uint8

// The kinds of types.
const (
	KindFunc TypeKind = iota
	KindStruct
	KindArray
	numKinds = iota
)

// String returns the keyword of the text format.
func (k TypeKind) String() string { return [numKinds]string{"func", "struct", "array"}[k] }

// MaxTypeIndex is the largest index of a type that a ValType has room for.
const MaxTypeIndex = (1<<(32-heapBits)-heapIndices)/2 - 1

// RefTo returns the type of nullable references to functions of the type with an index.
func RefTo(index uint32) ValType { return FuncRef | ValType(index+1)<<heapBits }

// RefToKind returns the type of nullable references to what the type with an index is, which is of a kind.
func RefToKind(kind TypeKind, index uint32) ValType {
	if kind == KindFunc {
		return RefTo(index)
	}
	return ExternRef | ValType(heapIndices+2*index+uint32(kind-KindStruct))<<heapBits
}

// TypeIndex returns the index of the type of what t refers to; ok is false if t says nothing of it.
func (t ValType) TypeIndex() (index uint32, ok bool) {
	heap := uint32(t >> heapBits)
	switch t.Base() {
	case FuncRef:
		return heap - 1, heap != 0 && heap != heapNoFunc
	case ExternRef:
		return (heap - heapIndices) / 2, heap >= heapIndices
	}
	return 0, false
}

// Kind returns the kind of the type that t has the index of.
func (t ValType) Kind() TypeKind {
	if t.Base() == FuncRef {
		return KindFunc
	}
	return KindStruct + TypeKind(t>>heapBits&1)
}

// Says returns what t, a reference type, says beyond its class, as a number: bit 0 that it is not null, and above it the heap type. It is 0 if it says nothing.
func (t ValType) Says() uint64 {
	says := uint64(t>>heapBits) << 1
	if t.IsNotNull() {
		says |= 1
	}
	return says
}

// Saying returns the type of a class that says what a number stands for; it may not be valid.
func (t ValType) Saying(says uint64) ValType {
	t = t.Base() | ValType(says>>1)<<heapBits
	if says&1 != 0 {
		t |= notNull
	}
	return t
}

// MaxSays is the largest number of Says of a valid type.
const MaxSays = 2*heapNoFunc + 1

// IsExn reports whether t is a type of references to exceptions.
func (t ValType) IsExn() bool { return t.Base() == ExternRef && t.top() == heapExn }

// IsInternal reports whether t is a type of references within the hierarchy of any: to objects of the collected heap, and to small integers.
func (t ValType) IsInternal() bool { return t.Base() == ExternRef && t.top() == heapAny }

// IsObject reports whether t is a type of references to structures or arrays, or null: not to small integers.
func (t ValType) IsObject() bool {
	heap := t.OrNull()
	return t.IsInternal() && heap != AnyRef && heap != EqRef && heap != I31Ref
}

// IsOfGC reports whether t is a type that garbage collection has brought: within the hierarchy of any, or a bottom type of those that were there before.
func (t ValType) IsOfGC() bool {
	return t.IsInternal() || t.OrNull() == NullExternRef || t.OrNull() == NullFuncRef
}

// Top returns the type of nullable references to anything in the hierarchy of t, a reference type.
func (t ValType) Top() ValType {
	if t.Base() == FuncRef {
		return FuncRef
	}
	return ExternRef | ValType(t.top())<<heapBits
}

// IsBottom reports whether t, a reference type, has null only.
func (t ValType) IsBottom() bool { row := t.abstract(); return row != nil && row.bottom }

// NeedsNoModule reports whether t is a type of values that has no index of a type.
func (t ValType) NeedsNoModule() bool {
	_, indexed := t.TypeIndex()
	return t.IsValid() && !indexed
}

// IsTyped reports whether t says more than its class: that it is not null, or what it refers to.
func (t ValType) IsTyped() bool { return t >= NumValTypes }

// valType is what is known about a value type.
type valType struct {
	name   string  // in the text format
	code   byte    // in the binary format
	letter byte    // in signatures of operators and of functions of WASI
	bits   uint8   // width of a value
	kind   ArgKind // how it is passed
	c      string  // type in C
}

// valTypes is the table of value types, by class.
var valTypes = [NumValTypes]valType{
	ValTypeUnknown: {name: "unknown", letter: '?'},
	I32:            {"i32", 0x7f, 'i', 32, ArgInt, "int32_t"},
	I64:            {"i64", 0x7e, 'l', 64, ArgInt, "int64_t"},
	F32:            {"f32", 0x7d, 'f', 32, ArgFloat, "float"},
	F64:            {"f64", 0x7c, 'd', 64, ArgFloat, "double"},
	V128:           {"v128", 0x7b, 'v', 128, ArgVector, "waot_v128"},
	ExternRef:      {"externref", 0x6f, 'x', 64, ArgInt, "waot_ref"},
	FuncRef:        {"funcref", 0x70, 'r', 64, ArgInt, "waot_ref"},
}

// String returns the type as the text format has it, with a number for the index of a type.
func (t ValType) String() string {
	switch {
	case t < NumValTypes:
		return valTypes[t].name
	case t == UnknownRef:
		return "reference"
	case !t.IsValid():
		return fmt.Sprintf("type 0x%02x", uint32(t))
	case t.IsNotNull():
		return "(ref " + t.Heap() + ")"
	case t.abstract() != nil:
		return t.abstract().ref
	}
	return "(ref null " + t.Heap() + ")"
}

// Heap returns what a reference type refers to, as the text format has it: func, any and so on, or the index of a type.
func (t ValType) Heap() string {
	if row := t.abstract(); row != nil {
		return row.name
	}
	i, _ := t.TypeIndex()
	return strconv.FormatUint(uint64(i), 10)
}

// RefByHeap returns the type of nullable references to what a word of the text format names, or ValTypeUnknown.
func RefByHeap(word string) ValType {
	for _, t := range shortTypes {
		if row := t.abstract(); row != nil && row.name == word {
			return t
		}
	}
	return ValTypeUnknown
}

// IsValid reports whether t is a type of values: one of the constants, or a reference type that says more. The index of a type may be any.
func (t ValType) IsValid() bool {
	if t < NumValTypes {
		return t > ValTypeUnknown
	}
	_, indexed := t.TypeIndex()
	return indexed || t.abstract() != nil
}

// Code returns the byte that encodes t in a module, or 0 if it takes more than one byte or is not valid.
func (t ValType) Code() byte {
	if t < NumValTypes {
		return valTypes[t].code
	}
	if row := t.abstract(); row != nil && !t.IsNotNull() {
		return row.code
	}
	return 0
}

// The bytes that begin the encoding of a reference type that is written in full, in front of the heap type: its index as a signed number, or the code of
// the nullable type.
const (
	CodeRef     = 0x64
	CodeRefNull = 0x63
)

// Bits returns the width of a value: 32, 64 or 128.
func (t ValType) Bits() int { return int(valTypes[t.Class()].bits) }

// Words returns how many 8-byte words a value takes among raw words: two for a v128, the low half first.
func (t ValType) Words() int { return (t.Bits() + 63) / 64 }

// ArgKind returns the kind of a parameter or result of the type.
func (t ValType) ArgKind() ArgKind { return valTypes[t.Class()].kind }

// CType returns the type of values in C.
func (t ValType) CType() string { return valTypes[t.Class()].c }

// IsRef reports whether values of the type are references.
func (t ValType) IsRef() bool { return t.Class() >= uint8(ExternRef) }

// singleTypes lets one type be a slice of types without an allocation.
var singleTypes = [NumValTypes]ValType{ValTypeUnknown, I32, I64, F32, F64, V128, ExternRef, FuncRef}

// Slice returns the list of types that has only t. It must not be written to.
func (t ValType) Slice() []ValType {
	if t >= NumValTypes {
		return []ValType{t}
	}
	return singleTypes[t : t+1 : t+1]
}

// shortTypes are the types that are encoded in one byte and have a name of their own.
var shortTypes = [...]ValType{I32, I64, F32, F64, V128, ExternRef, FuncRef, ExnRef, NullExnRef,
	NullExternRef, AnyRef, EqRef, I31Ref, StructRef, ArrayRef, NullRef, NullFuncRef}

// typesByCode is the column of codes the other way round.
var typesByCode = func() (types [256]ValType) {
	for _, t := range shortTypes {
		types[t.Code()] = t
	}
	return types
}()

// ValTypeByCode returns the type that a byte encodes in a module, or ValTypeUnknown.
func ValTypeByCode(code byte) ValType { return typesByCode[code] }

// ValTypeByName returns the type that has the name in the text format, or ValTypeUnknown.
func ValTypeByName(name string) ValType {
	for _, t := range shortTypes {
		if t.String() == name {
			return t
		}
	}
	return ValTypeUnknown
}

// ValTypeByLetter returns the type that a letter of a signature stands for, or ValTypeUnknown.
func ValTypeByLetter(letter byte) ValType {
	for t := I32; t < NumValTypes; t++ {
		if valTypes[t].letter == letter {
			return t
		}
	}
	return ValTypeUnknown
}

// letters returns the letters of types.
func letters(types []ValType) string {
	b := make([]byte, len(types))
	for i, t := range types {
		b[i] = valTypes[t.Class()].letter
	}
	return string(b)
}
