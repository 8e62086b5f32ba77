package wasmfront

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
)

// ValType is the type of a value, FuncType that of a function, whose slices must not be written to, TypeDef a type that a module defines, and FieldType that of a field
// of one. They are those of the binary interface.
type (
	ValType   = abi.ValType
	FuncType  = abi.FuncType
	TypeDef   = abi.TypeDef
	FieldType = abi.FieldType
	TypeKind  = abi.TypeKind
)

// The kinds of types.
const (
	KindFunc   = abi.KindFunc
	KindStruct = abi.KindStruct
	KindArray  = abi.KindArray
)

// The value types. TypeUnknown is the type of an operand that unreachable code
// pops from a stack that has none.
const (
	TypeUnknown = abi.ValTypeUnknown
	I32         = abi.I32
	I64         = abi.I64
	F32         = abi.F32
	F64         = abi.F64
	V128        = abi.V128
	FuncRef     = abi.FuncRef
	ExternRef   = abi.ExternRef
	ExnRef      = abi.ExnRef
	NullExnRef  = abi.NullExnRef
	AnyRef      = abi.AnyRef
	EqRef       = abi.EqRef
	I31Ref      = abi.I31Ref
	ArrayRef    = abi.ArrayRef
	NumValTypes = abi.NumValTypes
)

// TypeByCode returns the type that a byte encodes in a module, or TypeUnknown.
func TypeByCode(code byte) ValType { return abi.ValTypeByCode(code) }

// constOpcodes are the operators that push constants, by the class of their type.
var constOpcodes = [NumValTypes]Opcode{I32: OpI32Const, I64: OpI64Const, F32: OpF32Const, F64: OpF64Const, V128: OpV128Const,
	FuncRef: OpRefNull, ExternRef: OpRefNull}

// ConstOpcode returns the operator that pushes a constant of type t: null if it is a reference.
func ConstOpcode(t ValType) Opcode { return constOpcodes[t.Class()] }

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

// typeFeatures has what each encoding of a value type, or the start of it, of
// WebAssembly 3.0 and of proposals needs. The types that are represented are in package abi's table.
var typeFeatures = [256]Features{
	0x7B: FeatureSIMD,
	0x6F: FeatureReferenceTypes,
	0x74: FeatureExceptions,         // noexn
	0x73: FeatureGC,                 // nofunc
	0x72: FeatureGC,                 // noextern
	0x71: FeatureGC,                 // none
	0x6E: FeatureGC,                 // any
	0x6D: FeatureGC,                 // eq
	0x6C: FeatureGC,                 // i31
	0x6B: FeatureGC,                 // struct
	0x6A: FeatureGC,                 // array
	0x69: FeatureExceptions,         // exn
	0x75: FeatureStackSwitching,     // nocont
	0x68: FeatureStackSwitching,     // cont
	0x67: FeatureStringRef,          // string
	0x66: FeatureStringRef,          // view of a string as WTF-8
	0x61: FeatureStringRef,          // iterator of a string
	0x65: FeatureSharedEverything,   // shared
	0x62: FeatureCustomDescriptors,  // exact; in stringref a view as WTF-16
	0x64: FeatureFunctionReferences, // ref
	0x63: FeatureFunctionReferences, // ref null
}
