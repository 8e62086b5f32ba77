package wasmfront

import (
	"fmt"
	"slices"
	"strings"
)

// ValType is the type of a value. The codes are dense so that they can index
// tables; the encoding in a module is Code's.
type ValType uint8

// The value types. TypeUnknown is the type of an operand that unreachable code
// pops from a stack that has none.
const (
	TypeUnknown ValType = iota
	I32
	I64
	F32
	F64
	V128
	FuncRef
	ExternRef
	NumValTypes = iota
)

var valTypeNames = [NumValTypes]string{"unknown", "i32", "i64", "f32", "f64", "v128", "funcref", "externref"}

// singleTypes lets one type be a slice of types without an allocation.
var singleTypes = [NumValTypes]ValType{TypeUnknown, I32, I64, F32, F64, V128, FuncRef, ExternRef}

// String returns the name in the text format.
func (t ValType) String() string {
	if int(t) < len(valTypeNames) {
		return valTypeNames[t]
	}
	return fmt.Sprintf("valtype(%d)", uint8(t))
}

// Code returns the byte that encodes t in a module.
func (t ValType) Code() byte { return valTypeBytes[t] }

// IsRef reports whether t is a reference type.
func (t ValType) IsRef() bool { return t == FuncRef || t == ExternRef }

// Slice returns the list of types that has only t. It must not be written to.
func (t ValType) Slice() []ValType { return singleTypes[t : t+1 : t+1] }

// FuncType is the type of a function. Its slices must not be written to.
type FuncType struct {
	Params, Results []ValType
}

// Equal reports whether both types are the same.
func (t *FuncType) Equal(u *FuncType) bool {
	return slices.Equal(t.Params, u.Params) && slices.Equal(t.Results, u.Results)
}

// String writes the type as (i32 i64) -> (f32).
func (t *FuncType) String() string {
	return typeList(t.Params) + " -> " + typeList(t.Results)
}

func typeList(ts []ValType) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.String()
	}
	return "(" + strings.Join(names, " ") + ")"
}

// Limits are the sizes of a table (in elements) or a memory (in pages of
// 64 KiB). They are 64 bits wide because the encoding is; validation restricts
// tables to abi.MaxTableElements and memories to abi.MaxMemoryPages.
type Limits struct {
	Min, Max uint64 // Max is 0 without HasMax
	HasMax   bool
}

// String writes the limits as the text format does.
func (l Limits) String() string {
	if l.HasMax {
		return fmt.Sprintf("%d %d", l.Min, l.Max)
	}
	return fmt.Sprint(l.Min)
}

// TableType is the type of a table.
type TableType struct {
	Limits
	Elem ValType // a reference type
}

// MemoryType is the type of a memory.
type MemoryType struct {
	Limits
}

// GlobalType is the type of a global.
type GlobalType struct {
	Type    ValType
	Mutable bool
}

// typeCode is what the byte that starts an encoded type means.
type typeCode struct {
	typ     ValType  // TypeUnknown if the type is not one we represent
	feature Features // needed for it
}

// valTypeBytes is typeCodes the other way round.
var valTypeBytes = func() (bytes [NumValTypes]byte) {
	for b, c := range typeCodes {
		if c.typ != TypeUnknown {
			bytes[c.typ] = byte(b)
		}
	}
	return bytes
}()

// typeCodes knows every encoding of a value type, or the start of it, of
// WebAssembly 3.0 and of proposals. Entries that are zero are malformed.
var typeCodes = [256]typeCode{
	0x7F: {I32, 0},
	0x7E: {I64, 0},
	0x7D: {F32, 0},
	0x7C: {F64, 0},
	0x7B: {V128, FeatureSIMD},
	0x70: {FuncRef, 0}, // 1.0 has it, as the type of tables
	0x6F: {ExternRef, FeatureReferenceTypes},
	0x74: {0, FeatureExceptions},         // noexn
	0x73: {0, FeatureGC},                 // nofunc
	0x72: {0, FeatureGC},                 // noextern
	0x71: {0, FeatureGC},                 // none
	0x6E: {0, FeatureGC},                 // any
	0x6D: {0, FeatureGC},                 // eq
	0x6C: {0, FeatureGC},                 // i31
	0x6B: {0, FeatureGC},                 // struct
	0x6A: {0, FeatureGC},                 // array
	0x69: {0, FeatureExceptions},         // exn
	0x75: {0, FeatureStackSwitching},     // nocont
	0x68: {0, FeatureStackSwitching},     // cont
	0x67: {0, FeatureStringRef},          // string
	0x66: {0, FeatureStringRef},          // view of a string as WTF-8
	0x61: {0, FeatureStringRef},          // iterator of a string
	0x65: {0, FeatureSharedEverything},   // shared
	0x62: {0, FeatureCustomDescriptors},  // exact; in stringref a view as WTF-16
	0x64: {0, FeatureFunctionReferences}, // ref
	0x63: {0, FeatureFunctionReferences}, // ref null
}
