package wasmfront

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// Module is a decoded module. Index spaces have imports first. Nothing in it
// may be changed after decoding, so that workers can share it.
type Module struct {
	Bytes    []byte // the module itself: offsets are positions in it
	Features Features
	Cost     int64 // what was charged: see Price

	Types []TypeDef
	// TypeOffsets are the offsets of the types.
	TypeOffsets []int
	Imports     []Import
	Funcs       []Func
	Tables      []Table
	Memories    []Memory
	Tags        []Tag
	Globals     []Global
	Exports     []Export
	Elems       []ElemSegment
	Data        []DataSegment
	Code        []FuncBody // of the functions that are not imported, in order
	Customs     []CustomSection
	Sections    []Section // in the order of the module

	NumImportedFuncs    uint32
	NumImportedTables   uint32
	NumImportedMemories uint32
	NumImportedTags     uint32
	NumImportedGlobals  uint32

	Start        uint32 // function to call at the end of instantiation
	StartOffset  int
	HasStart     bool
	DataCount    uint32 // as declared; valid with HasDataCount
	HasDataCount bool

	declared []uint64 // set of functions, see IsDeclared
	// sameAs returns the first type that each type is equal to.
	sameAs func() []uint32
}

// Section is the place of a section.
type Section struct {
	ID     uint8
	Offset int // of the contents
	Size   int // of the contents, in bytes
}

// Name returns the specification's name of the section.
func (s Section) Name() string { return sectionKinds[s.ID].name }

// Import is an import. Index is its place in the index space of its kind.
type Import struct {
	Module, Name string
	Kind         abi.ExternKind
	Index        uint32
	Offset       int
}

// Func is a function of the index space. Type may be out of range, or no type of functions, until the
// module has been validated.
type Func struct {
	Type   uint32
	Offset int // of the type index
}

// Table is a table of the index space. Init is what its elements are at first, null without HasInit.
type Table struct {
	TableType
	Init    ConstExpr
	HasInit bool
	Offset  int // of the type
}

// Memory is a memory of the index space.
type Memory struct {
	MemoryType
	Offset int // of the type
}

// Tag is a tag of the index space, of exceptions. Its type says which values an exception has, as parameters. Type may be out of range, no type of functions, or have results, until
// the module has been validated.
type Tag struct {
	Type   uint32
	Offset int // of the type index
}

// Global is a global of the index space. Init is empty if it is imported.
type Global struct {
	GlobalType
	Init   ConstExpr
	Offset int // of the type
}

// Export is an export.
type Export struct {
	Name   string
	Kind   abi.ExternKind
	Index  uint32
	Offset int // of the name
}

// ConstExpr is a constant expression, without its end: the operators are
// iNN.const, fNN.const, v128.const, iNN.add, iNN.sub, iNN.mul, global.get,
// ref.null, ref.func, ref.i31, those that make structures and arrays of operands, and
// the conversions between anyref and externref, in postfix order.
type ConstExpr struct {
	Ops []ConstOp
	End int // offset of the end operator; 0 in a module with an error before it
}

// ConstOp is an operator of a constant expression.
type ConstOp struct {
	Op     Opcode
	Type   ValType // of ref.null
	Index  uint32  // of the global or function, or of the type that is made
	Offset int
	Bits   uint64 // of the constant; the low half for v128.const; how many elements for array.new_fixed
	High   uint64 // the high half for v128.const
}

// SegmentMode says when a segment is used.
type SegmentMode uint8

// The modes of segments.
const (
	SegmentActive      SegmentMode = iota // copied by instantiation
	SegmentPassive                        // for table.init and memory.init
	SegmentDeclarative                    // only declares functions for ref.func
)

// ElemSegment is an element segment. Its elements are Funcs, or Exprs if the
// segment was written with expressions; the other is nil.
type ElemSegment struct {
	Mode    SegmentMode
	Type    ValType
	Table   uint32    // if active
	OffExpr ConstExpr // where in the table, if active
	Funcs   []uint32
	Exprs   []ConstExpr
	Offset  int
	items   int // offset of the first element; 0 as for ConstExpr.End
}

// Len returns the number of elements.
func (e *ElemSegment) Len() int { return len(e.Funcs) + len(e.Exprs) }

// ItemType returns the type of the elements: Type, of which functions are never null.
func (e *ElemSegment) ItemType() ValType {
	if e.Exprs == nil {
		return e.Type.NotNull()
	}
	return e.Type
}

// ItemsOffset returns the offset of the first element, or 0 if there was an error
// before it.
func (e *ElemSegment) ItemsOffset() int { return e.items }

// DataSegment is a data segment.
type DataSegment struct {
	Mode    SegmentMode
	Memory  uint32    // if active
	OffExpr ConstExpr // where in the memory, if active
	Bytes   []byte    // a slice of the module
	Offset  int
}

// FuncBody is a function body, its locals included.
type FuncBody struct {
	Offset int
	Bytes  []byte // a slice of the module
}

// CustomSection is a custom section. Bytes excludes the name.
type CustomSection struct {
	Name   string
	Offset int // of Bytes
	Bytes  []byte
}

// FuncType returns the type of function i of the index space.
func (m *Module) FuncType(i uint32) *FuncType { return &m.Types[m.Funcs[i].Type].FuncType }

// SameType reports whether types i and j are equal, which must exist.
func (m *Module) SameType(i, j uint32) bool {
	return i == j || m.sameAs()[i] == m.sameAs()[j]
}

// RefToFunc returns the type of the reference that ref.func of function i gives.
func (m *Module) RefToFunc(i uint32) ValType { return abi.RefTo(m.Funcs[i].Type).NotNull() }

// IsSubType reports whether type i is type j or a subtype of it, which must exist.
func (m *Module) IsSubType(i, j uint32) bool {
	return abi.IsSubType(m.Types, m.SameType, i, j)
}

// Matches reports whether t is u or a subtype of it.
func (m *Module) Matches(t, u ValType) bool { return t == u || abi.Matches(t, u, m.IsSubType) }

// MatchAll reports whether values of the types a can be where b are wanted.
func (m *Module) MatchAll(a, b []ValType) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !m.Matches(a[i], b[i]) {
			return false
		}
	}
	return true
}

// RefTo returns the type of nullable references to what type i is, which must exist.
func (m *Module) RefTo(i uint32) ValType { return abi.RefToKind(m.Types[i].Kind, i) }

// firstEqual finds the first type that each of types is equal to.
func firstEqual(types []TypeDef, end *stop.Flag) []uint32 {
	records := abi.RecordsOf(types, end.Poll)
	seen, first := make(map[string]uint32, len(types)), make([]uint32, len(types))
	for i := range types {
		end.Poll()
		key := string(records.Of(uint32(i)))
		n, ok := seen[key]
		if !ok {
			n = uint32(i)
			seen[key] = n
		}
		first[i] = n
	}
	return first
}

// TagType returns the type of tag i of the index space.
func (m *Module) TagType(i uint32) *FuncType { return &m.Types[m.Tags[i].Type].FuncType }

// GlobalType returns the type of global i of the index space.
func (m *Module) GlobalType(i uint32) GlobalType { return m.Globals[i].GlobalType }

// TableType returns the type of table i of the index space.
func (m *Module) TableType(i uint32) TableType { return m.Tables[i].TableType }

// MemoryType returns the type of memory i of the index space.
func (m *Module) MemoryType(i uint32) MemoryType { return m.Memories[i].MemoryType }

// Body returns the body of function i of the index space, which must not be
// imported, or nil if the module is incomplete.
func (m *Module) Body(i uint32) *FuncBody {
	if k := int(i - m.NumImportedFuncs); k < len(m.Code) {
		return &m.Code[k]
	}
	return nil
}

// IsDeclared reports whether function i occurs outside of function bodies and
// the start section: only then may a body use ref.func for it, and only those
// functions, besides the exported ones among them, can be called indirectly.
func (m *Module) IsDeclared(i uint32) bool {
	w := int(i / 64)
	return w < len(m.declared) && m.declared[w]>>(i%64)&1 != 0
}

// declare makes IsDeclared true for i.
func (m *Module) declare(i uint32) {
	if int64(i) >= int64(len(m.Funcs)) {
		return // validation refuses the module
	}
	for int(i/64) >= len(m.declared) {
		m.declared = append(m.declared, 0)
	}
	m.declared[i/64] |= 1 << (i % 64)
}

// Custom returns the contents of the first custom section of that name.
func (m *Module) Custom(name string) ([]byte, bool) {
	for i := range m.Customs {
		if m.Customs[i].Name == name {
			return m.Customs[i].Bytes, true
		}
	}
	return nil, false
}
