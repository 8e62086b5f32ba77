package host

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// ValType is a WebAssembly value type: one of the constants, or the type of references that says more than TypeFuncRef or TypeExternRef, such as (ref 3), those to functions of
// type 3 of the module that are never null. The numbers of the constants are not those of the binary format.
type ValType uint32

// The value types.
const (
	TypeI32       = ValType(abi.I32)
	TypeI64       = ValType(abi.I64)
	TypeF32       = ValType(abi.F32)
	TypeF64       = ValType(abi.F64)
	TypeV128      = ValType(abi.V128)
	TypeFuncRef   = ValType(abi.FuncRef)
	TypeExternRef = ValType(abi.ExternRef)
	TypeExnRef    = ValType(abi.ExnRef) // references to exceptions
	TypeAnyRef    = ValType(abi.AnyRef) // references to structures, arrays and small integers, and to Go values that have been converted
	// Types of references that are parts of TypeAnyRef: to structures, arrays and small integers, and to one kind of these.
	TypeEqRef     = ValType(abi.EqRef)
	TypeI31Ref    = ValType(abi.I31Ref)
	TypeStructRef = ValType(abi.StructRef)
	TypeArrayRef  = ValType(abi.ArrayRef)
)

// TypeIndex returns the index of the type of the functions that t refers to; ok is false if t says nothing of it. The index is one of the module that t was asked of, and of the type of
// a Func one of a module of the store that has that type.
func (t ValType) TypeIndex() (index uint32, ok bool) { return abi.ValType(t).TypeIndex() }

// IsNotNull reports whether t is a type of references that are never null.
func (t ValType) IsNotNull() bool { return abi.ValType(t).IsNotNull() }

// Base returns what t is a part of: TypeFuncRef for all references to functions, TypeExternRef for those to Go values, TypeExnRef for those to exceptions, TypeAnyRef for those
// to structures, arrays and small integers, and other types unchanged.
func (t ValType) Base() ValType {
	switch {
	case abi.ValType(t).IsExn():
		return TypeExnRef
	case abi.ValType(t).IsInternal():
		return TypeAnyRef
	}
	return ValType(abi.ValType(t).Base())
}

// String returns the type as the text format has it, with a number for the index of a type.
func (t ValType) String() string { return abi.ValType(t).String() }

// isRef reports whether values of the type are references.
func (t ValType) isRef() bool { return abi.ValType(t).IsRef() }

// FuncType is the type of a function.
type FuncType struct{ Params, Results []ValType }

// String returns the type in a form such as "(i32, i64) -> (f64)".
func (t FuncType) String() string {
	return abi.TypeList(t.Params, ", ") + " -> " + abi.TypeList(t.Results, ", ")
}

// sameClasses reports whether t is the type of these parameters and results, but for what the types of references say beyond their class.
func sameClasses[T ~uint32](t *FuncType, params, results []T) bool {
	same := func(a ValType, b T) bool { return a.Base() == ValType(b).Base() }
	return slices.EqualFunc(t.Params, params, same) && slices.EqualFunc(t.Results, results, same)
}

// accepts reports whether a Go function with the type g can be one of type t: it is the same but for what the types of references say beyond their class, and what is any Go value can be an anyref.
func (t *FuncType) accepts(g *FuncType) bool {
	same := func(a, b ValType) bool {
		return a.Base() == b.Base() || a.Base() == TypeAnyRef && b == TypeExternRef
	}
	return slices.EqualFunc(t.Params, g.Params, same) && slices.EqualFunc(t.Results, g.Results, same)
}

// sameType reports whether both imports of a module are functions of one type. Go functions have classes only, so they can be of several.
func sameType(a, b *ExternType) bool {
	return a.Kind == KindFunc && b.Kind == KindFunc && slices.Equal(a.Func.Params, b.Func.Params) && slices.Equal(a.Func.Results, b.Func.Results)
}

// Limits bound the size of a memory, in pages of 64 KiB, or of a table, in elements.
type Limits struct {
	Min, Max uint64 // Max counts if HasMax
	HasMax   bool
}

// String returns the limits in a form such as "1..10" or "1..".
func (l Limits) String() string {
	if l.HasMax {
		return fmt.Sprintf("%d..%d", l.Min, l.Max)
	}
	return fmt.Sprintf("%d..", l.Min)
}

// Kind is the kind of an import or export.
type Kind uint8

// The kinds, numbered as in the binary format.
const (
	KindFunc   = Kind(abi.ExternFunc)
	KindTable  = Kind(abi.ExternTable)
	KindMemory = Kind(abi.ExternMemory)
	KindGlobal = Kind(abi.ExternGlobal)
	KindTag    = Kind(abi.ExternTag)
)

// String returns the name of the kind.
func (k Kind) String() string {
	if k > KindTag {
		return "unknown"
	}
	return [...]string{"function", "table", "memory", "global", "tag"}[k]
}

// ExternType is the type of an import or export.
type ExternType struct {
	Kind    Kind
	Func    FuncType // of a function; of a tag, whose parameters are the arguments of exceptions
	Limits  Limits   // of a memory or table
	Value   ValType  // of a global, or of a table's elements
	Mutable bool     // of a global
}

// String returns the type in a form such as "function (i32) -> ()", "memory 1..10", "table funcref 1..",
// "global mut i64" or "tag (i32)".
func (t ExternType) String() string {
	s := t.Kind.String() + " "
	switch t.Kind {
	case KindFunc:
		return s + t.Func.String()
	case KindMemory:
		return s + t.Limits.String()
	case KindTag:
		return s + abi.TypeList(t.Func.Params, ", ")
	case KindTable:
		return s + t.Value.String() + " " + t.Limits.String()
	}
	if t.Mutable {
		s += "mut "
	}
	return s + t.Value.String()
}

// ImportType describes an import of a module.
type ImportType struct {
	Module, Name string
	Type         ExternType
}

// ExportType describes an export of a module.
type ExportType struct {
	Name string
	Type ExternType
}

func valTypes(types []meta.ValType) []ValType {
	out := make([]ValType, len(types))
	for i, t := range types {
		out[i] = ValType(t)
	}
	return out
}

func metaTypes(types []ValType) []meta.ValType {
	out := make([]meta.ValType, len(types))
	for i, t := range types {
		out[i] = meta.ValType(t)
	}
	return out
}

func funcTypeOf(t *meta.FuncType) FuncType {
	return FuncType{Params: valTypes(t.Params), Results: valTypes(t.Results)}
}

// Descriptions of what a module defines or imports.

// funcTypes are the function types of a module, made on demand. Functions of one type share its slices, so that the size
// of a description is proportional to the size of the module.
type funcTypes struct {
	m     *meta.Module
	types []FuncType
	made  []bool
}

func funcTypesOf(m *meta.Module) *funcTypes {
	return &funcTypes{m, make([]FuncType, len(m.Types)), make([]bool, len(m.Types))}
}

func (s *funcTypes) typeOf(d *meta.Func) ExternType {
	if !s.made[d.Type] {
		s.types[d.Type], s.made[d.Type] = funcTypeOf(&s.m.Types[d.Type]), true
	}
	return ExternType{Kind: KindFunc, Func: s.types[d.Type]}
}

func typeOfTable(d *meta.Table) ExternType {
	return ExternType{Kind: KindTable, Value: ValType(d.Elem), Limits: Limits{d.Min, d.Max, d.HasMax}}
}

func typeOfMemory(d *meta.Memory) ExternType {
	return ExternType{Kind: KindMemory, Limits: Limits{d.Min, d.Max, d.HasMax}}
}

func typeOfGlobal(d *meta.Global) ExternType {
	return ExternType{Kind: KindGlobal, Value: ValType(d.Type), Mutable: d.Mutable}
}

// importsOf describes the imports: functions, tables, memories, globals, tags, each kind in the
// order of the module.
func importsOf(m *meta.Module) (out []ImportType) {
	if !m.HasImports() {
		return nil
	}
	types := funcTypesOf(m)
	add := func(name *meta.ImportName, t ExternType) {
		out = append(out, ImportType{name.Module, name.Name, t})
	}
	for i := range m.Funcs {
		if d := &m.Funcs[i]; d.Import != nil {
			add(d.Import, types.typeOf(d))
		}
	}
	for i := range m.Tables {
		if d := &m.Tables[i]; d.Import != nil {
			add(d.Import, typeOfTable(d))
		}
	}
	for i := range m.Memories {
		if d := &m.Memories[i]; d.Import != nil {
			add(d.Import, typeOfMemory(d))
		}
	}
	for i := range m.Globals {
		if d := &m.Globals[i]; d.Import != nil {
			add(d.Import, typeOfGlobal(d))
		}
	}
	if x := m.Exceptions; x != nil {
		for i := range x.Tags {
			if d := &x.Tags[i]; d.Import != nil {
				add(d.Import, typeOfTag(m, d))
			}
		}
	}
	return out
}

// exportsOf describes the exports, in the order of the module.
func exportsOf(m *meta.Module) []ExportType {
	types := funcTypesOf(m)
	out := make([]ExportType, len(m.Exports))
	for i, e := range m.Exports {
		out[i].Name = e.Name
		switch Kind(e.Kind) {
		case KindFunc:
			out[i].Type = types.typeOf(&m.Funcs[e.Index])
		case KindTable:
			out[i].Type = typeOfTable(&m.Tables[e.Index])
		case KindMemory:
			out[i].Type = typeOfMemory(&m.Memories[e.Index])
		case KindTag:
			out[i].Type = typeOfTag(m, &m.Exceptions.Tags[e.Index])
		default:
			out[i].Type = typeOfGlobal(&m.Globals[e.Index])
		}
	}
	return out
}
