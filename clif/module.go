package clif

import (
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// Signature is the type of a function.
type Signature struct {
	Params, Results []Type
	// Typed is the type as WebAssembly has it, if that has references that say more than their class; else nil.
	Typed *TypedSig
}

// TypedSig is a type of functions whose references say more than their class.
type TypedSig struct {
	abi.FuncType
	Record string // which equal types of all modules have
}

// Equal reports whether s and t are the same type.
func (s *Signature) Equal(t *Signature) bool {
	if s.Typed != t.Typed && (s.Typed == nil || t.Typed == nil || s.Typed.Record != t.Typed.Record) {
		return false
	}
	return equalTypes(s.Params, t.Params) && equalTypes(s.Results, t.Results)
}

// Record returns the content of the type's record.
func (s *Signature) Record() []byte {
	if s.Typed != nil {
		return []byte(s.Typed.Record)
	}
	t := s.FuncType()
	return t.Record(0, nil)
}

func equalTypes(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TypedRef is a type of references that says more than its class: as its module has it, and by itself.
type TypedRef struct {
	Type abi.ValType
	Own  abi.OwnType
}

// valTypeOf returns the type, as the module has it, of what has a class and perhaps a type that says more.
func valTypeOf(class Type, typed *TypedRef) abi.ValType {
	if typed != nil {
		return typed.Type
	}
	return class.ValType()
}

// ownTypeOf is valTypeOf for the type by itself.
func ownTypeOf(class Type, typed *TypedRef) abi.OwnType {
	if typed != nil {
		return typed.Own
	}
	return abi.OwnType{Type: class.ValType()}
}

// HasObjects reports whether the module defines structures or arrays.
func (m *Module) HasObjects() bool {
	return slices.ContainsFunc(m.Types, func(t abi.TypeDef) bool { return t.Kind != abi.KindFunc })
}

// ValType returns the type of the value as the module has it.
func (d *GlobalDecl) ValType() abi.ValType { return valTypeOf(d.Type, d.Typed) }

// OwnType returns the type of the value by itself.
func (d *GlobalDecl) OwnType() abi.OwnType { return ownTypeOf(d.Type, d.Typed) }

// ValType returns the type of the elements as the module has it.
func (d *TableDecl) ValType() abi.ValType { return valTypeOf(d.Elem, d.Typed) }

// OwnType returns the type of the elements by itself.
func (d *TableDecl) OwnType() abi.OwnType { return ownTypeOf(d.Elem, d.Typed) }

// ImportName is where an imported entity comes from.
type ImportName struct{ Module, Name string }

// FuncDecl declares a function. Imported ones come first, in order.
type FuncDecl struct {
	Sig    SigIndex
	Import *ImportName // nil if defined here
	Name   string      // for people; may be empty, need not be unique
	// Addressed functions have a descriptor (func_addr, exports, elements).
	Addressed bool
	// Keeps is what a call of the function leaves as it is.
	Keeps StateSet
	// Nonzero says that the result of a call that returns, an i32, is not 0.
	Nonzero bool
}

// GlobalDecl declares a global variable.
type GlobalDecl struct {
	Type     Type
	Typed    *TypedRef // if the type says more than the class
	Mutable  bool
	Import   *ImportName
	Exported bool
	// Init is the bits of a constant initial value; other initial values are
	// stored by the init function.
	Init uint64
	// Fixed globals hold Init, which nothing changes.
	Fixed bool
	// Made, if it is not nil, is the structure that the init function has made for a global that nothing changes.
	Made *ConstObject
}

// MemoryDecl declares a linear memory with 32-bit addresses and 64 KiB pages.
type MemoryDecl struct {
	Min, Max uint64 // pages; Max counts if HasMax
	HasMax   bool
	Import   *ImportName
	Exported bool
	// Checked: code compares addresses with the current size, and the memory may move wherever it may grow. Otherwise
	// accesses out of bounds fault.
	Checked bool
}

// MaxPages returns how large the memory can become.
func (m *MemoryDecl) MaxPages() uint64 {
	if m.HasMax {
		return min(m.Max, abi.MaxMemoryPages)
	}
	return abi.MemoryLimit(m.Min)
}

// TableDecl declares a table of references.
type TableDecl struct {
	Elem     Type      // Ref or FuncRef
	Typed    *TypedRef // if the type of the elements says more
	Min, Max uint64    // elements; Max counts if HasMax
	HasMax   bool
	Import   *ImportName
	Exported bool
	// Entries, if it is not nil, is what the table holds whenever a function of the module runs but the init function: ElemComputed for what is not
	// known. With HasOnly, all of it that is not null has the type Only.
	Entries []FuncIndex
	Only    SigIndex
	HasOnly bool
	// Own says that Entries has nothing but null and functions that the module defines.
	Own bool
}

// TagDecl declares a tag of exceptions. Its signature has no results.
type TagDecl struct {
	Sig    SigIndex
	Import *ImportName
}

// DataDecl is a data segment. Active ones are dropped by the init function.
type DataDecl struct {
	Bytes []byte
	// Static says that the init function does nothing with the segment but copy it to Offset in
	// Memory, where it fits, before anything else writes there: hosts may put the bytes there
	// first, and give the segment the length 0.
	Static bool
	Memory MemoryIndex
	Offset uint64
}

// DataDropped stands for a data segment that has no DataDecl of its own: an active one, dropped by the init function.
const DataDropped = ^uint32(0)

// ElemNull and ElemComputed are special entries of ElemDecl.Funcs.
const (
	ElemNull     = ^FuncIndex(0)     // a null reference
	ElemComputed = ^FuncIndex(0) - 1 // stored by the init function (elem_set)
)

// ElemDecl is an element segment: each entry a function, ElemNull or
// ElemComputed.
type ElemDecl struct {
	Type  Type // Ref or FuncRef
	Funcs []FuncIndex
}

// Export is one export.
type Export struct {
	Name  string
	Kind  abi.ExternKind
	Index uint32
}

// Module is what the functions of one Wasm module have in common. It does not
// hold function bodies: these come and go one at a time.
//
// The last entry of Funcs is the init function, type () -> (), without a Wasm
// function index of its own: it stores the globals whose initial values are not constants,
// fills computed elements, copies active segments into tables and memories in
// the specification's order, trapping where one does not fit, drops them, and calls
// the start function.
type Module struct {
	// Stop is polled by every pass over the module and can end it; a nil flag never does.
	Stop *stop.Flag
	Name string
	Sigs []Signature
	// Types are the types that the module defines, of which those of functions have signatures of the same index, and Records what stands for them; both are nil in a module
	// that was not made of WebAssembly.
	Types    []abi.TypeDef
	Records  *abi.Records
	Funcs    []FuncDecl
	Globals  []GlobalDecl
	Memories []MemoryDecl
	Tables   []TableDecl
	Tags     []TagDecl
	Datas    []DataDecl
	// WasmDatas are the indices into Datas of the Wasm module's data segments, DataDropped for those that are no more when
	// the functions of the module run.
	WasmDatas []uint32
	Elems     []ElemDecl
	Exports   []Export
	// Start is the start function, if HasStart (the init function calls it).
	Start    FuncIndex
	HasStart bool

	NumImportedFuncs int
	// HasNonzero says that FuncDecl.Nonzero of a function may be set.
	HasNonzero bool
	// Held is what is in fields that never change, by type and field, as HeldBy has it. It is nil where objects may come from outside, and for types of which nothing is known.
	Held [][]Held
}

// HasHeap reports whether the module defines a type of structures or arrays, or one of functions that is more than its signature, or has references of such types.
func (m *Module) HasHeap() bool {
	for i := range m.Types {
		m.Stop.PollAt(i)
		if t := &m.Types[i]; t.Kind != abi.KindFunc || t.Open || t.HasSuper || t.Place != 0 {
			return true
		}
	}
	of := func(t abi.ValType) bool { return t.IsRef() && t.IsOfGC() }
	for i := range m.Sigs {
		m.Stop.PollAt(i)
		if t := m.Sigs[i].Typed; t != nil && (slices.ContainsFunc(t.Params, of) || slices.ContainsFunc(t.Results, of)) {
			return true
		}
	}
	return slices.ContainsFunc(m.Globals, func(d GlobalDecl) bool { return of(d.ValType()) }) || slices.ContainsFunc(m.Tables, func(d TableDecl) bool { return of(d.ValType()) })
}

// InitFunc returns the index of the init function.
func (m *Module) InitFunc() FuncIndex { return FuncIndex(len(m.Funcs) - 1) }

// IsSubSig reports whether a function of type i is of type j, too: both are the same, or j is among the supertypes of i.
func (m *Module) IsSubSig(i, j SigIndex) bool {
	for !m.Sigs[i].Equal(&m.Sigs[j]) {
		if int(i) >= len(m.Types) || !m.Types[i].HasSuper {
			return false
		}
		i = SigIndex(m.Types[i].Super)
	}
	return true
}

// IsFuncType reports whether type i is one of functions, which its signature describes.
func (m *Module) IsFuncType(i uint32) bool {
	return int(i) >= len(m.Types) || m.Types[i].Kind == abi.KindFunc
}

// IsSubType reports whether type i is type j or a subtype of it.
func (m *Module) IsSubType(i, j uint32) bool {
	same := func(i, j uint32) bool { return i == j || m.Records.Digest(i) == m.Records.Digest(j) }
	return abi.IsSubType(m.Types, same, i, j)
}

// TagSig returns the signature of tag i, whose parameters are the arguments of its exceptions.
func (m *Module) TagSig(i uint32) *Signature { return &m.Sigs[m.Tags[i].Sig] }

// FuncSig returns the signature of function i.
func (m *Module) FuncSig(i FuncIndex) *Signature { return &m.Sigs[m.Funcs[i].Sig] }

// CalleeSig returns the signature of the function that d, a call, calls.
func (m *Module) CalleeSig(d *InstData) *Signature {
	if d.Op.Info().Entity == EntFunc {
		return m.FuncSig(FuncIndex(d.Aux))
	}
	return &m.Sigs[d.Aux]
}
