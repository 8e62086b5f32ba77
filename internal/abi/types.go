package abi

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
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

// Class returns the class of t as a number below NumValTypes.
func (t ValType) Class() uint8 { return uint8(t & (1<<classBits - 1)) }

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

// String returns the name in the text format.
func (t ValType) String() string {
	if t < NumValTypes {
		return valTypes[t].name
	}
	return fmt.Sprintf("type 0x%02x", uint32(t))
}

// IsValid reports whether t is a type of values.
func (t ValType) IsValid() bool { return t > ValTypeUnknown && t < NumValTypes }

// Code returns the byte that encodes t in a module, or 0 if it is not valid.
func (t ValType) Code() byte {
	if !t.IsValid() {
		return 0
	}
	return valTypes[t].code
}

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
func (t ValType) Slice() []ValType { return singleTypes[t : t+1 : t+1] }

// typesByCode is the column of codes the other way round.
var typesByCode = func() (types [256]ValType) {
	for t := I32; t < NumValTypes; t++ {
		types[valTypes[t].code] = t
	}
	return types
}()

// ValTypeByCode returns the type that a byte encodes in a module, or ValTypeUnknown.
func ValTypeByCode(code byte) ValType { return typesByCode[code] }

// ValTypeByName returns the type that has the name in the text format, or ValTypeUnknown.
func ValTypeByName(name string) ValType {
	for t := I32; t < NumValTypes; t++ {
		if valTypes[t].name == name {
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

// FuncType is a function type.
type FuncType struct{ Params, Results []ValType }

// Equal reports whether both types are the same.
func (t *FuncType) Equal(u *FuncType) bool {
	return slices.Equal(t.Params, u.Params) && slices.Equal(t.Results, u.Results)
}

// String writes the type as (i32 i64) -> (f32).
func (t *FuncType) String() string {
	return TypeList(t.Params, " ") + " -> " + TypeList(t.Results, " ")
}

// TypeList writes types in parentheses.
func TypeList[T fmt.Stringer](types []T, between string) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return "(" + strings.Join(names, between) + ")"
}

// Record returns the canonical encoding of a function type, the content of its type record: a version byte, a kind byte
// (function), the numbers of parameters and results in 16 bits each, little-endian, their types, a byte each, and a zero
// supertype depth. Two types are equal if their records are.
func (t *FuncType) Record() []byte {
	b := make([]byte, 0, 7+len(t.Params)+len(t.Results))
	b = append(b, 1, 0x60)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Params)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Results)))
	for _, types := range [2][]ValType{t.Params, t.Results} {
		for _, v := range types {
			code := v.Code()
			if code == 0 {
				panic("a type that has no code in records") // two of them would be equal
			}
			b = append(b, code)
		}
	}
	return append(b, 0)
}
