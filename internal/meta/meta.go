// Package meta is the metadata of a compiled module: what a host has to know to
// instantiate and run it. Its encoding is the section .waot.meta of objects,
// beside .waot.traps, .waot.stackmaps and .waot.calls.
//
// Place in the pipeline: the object driver writes it, hosts read it. It imports
// only internal/abi.
//
// Input: a Module, or the bytes of the sections.
// Output: the bytes, or a Module in which every number has been validated, though not proved true.
package meta

import "github.com/waot-project/waot/internal/abi"

// Types of the module are those of its binary interface.
type (
	ValType  = abi.ValType
	FuncType = abi.FuncType
)

// The value types.
const (
	I32       = abi.I32
	I64       = abi.I64
	F32       = abi.F32
	F64       = abi.F64
	V128      = abi.V128
	FuncRef   = abi.FuncRef
	ExternRef = abi.ExternRef
	ExnRef    = abi.ExnRef
)

// ImportName is where an imported entity comes from; nil in its place: defined here.
type ImportName struct{ Module, Name string }

// Memory is a linear memory.
type Memory struct {
	Slot     uint32 // offset in the instance data of the word that gets the base
	Min, Max uint64 // pages; Max is the default limit where HasMax is false
	HasMax   bool
	// Checked: code reads base and size from the descriptor, whose address the word at Slot is then (clif.MemoryDecl).
	Checked bool
	Import  *ImportName
}

// Table is a table.
type Table struct {
	Slot     uint32
	Elem     ValType
	Min, Max uint64
	HasMax   bool
	Import   *ImportName
}

// Global is a global variable.
type Global struct {
	// Offset in the instance data: of the value, or, if imported, of the word that
	// gets the value's address.
	Offset  uint32
	Type    ValType
	Mutable bool
	Import  *ImportName
}

// Elem is an element segment of host references.
type Elem struct {
	// Pair is the offset in the instance data of the pair {address, length}, whose
	// length is 0 once the segment is dropped; Array that of the elements, Len their number.
	Pair, Array, Len uint32
}

// Data is a static data segment: Len bytes at Rodata in .rodata, for Offset in memory
// Memory, which is not imported and has room for it at first.
type Data struct {
	Pair        uint32 // offset in the instance data of {address, length}
	Memory      uint32
	Offset      uint32
	Rodata, Len uint32
}

// Func is a function, in the order of the module's function indices; the last
// is the init function.
type Func struct {
	Type   uint32 // index into Types
	Name   string // from the name section or an export; may be empty
	Import *ImportName
	// Slot, of an imported function, is the offset in the instance data of the pair
	// {code, descriptor}.
	Slot uint32
	// Text and Size are the offset and size of the code in .text; Desc is the offset
	// of the descriptor in the instance data, HasDesc whether there is one.
	Text, Size uint32
	Desc       uint32
	HasDesc    bool
	// Frame is how far the stack pointer drops below the frame pointer, in bytes.
	Frame uint32
}

// Export is an export; Kind is none of a tag.
type Export struct {
	Name  string
	Kind  abi.ExternKind
	Index uint32
}

// Module is the metadata of one module.
type Module struct {
	ABI  uint32 // abi.Version, or abi.FuelVersion if Fuel is not nil, or abi.ExceptionsVersion if Exceptions is not nil, or abi.HeapVersion if Heap is not nil
	Arch string // "x86-64"
	CPU  string // the floor: "x86-64-v2"
	Name string
	// InstanceSize is the size of the instance data, which is all of .data;
	// Helpers the offset of the array of helper slots; TypeSlots the offset of the array
	// of type slots, SlotTypes the index into Types of each.
	InstanceSize uint32
	Helpers      uint32
	TypeSlots    uint32
	SlotTypes    []uint32

	Types    []FuncType
	Memories []Memory
	Tables   []Table
	Globals  []Global
	// Elems are the element segments of type ExternRef that are not empty: references
	// that only they hold are alive. Others are not listed.
	Elems []Elem
	// Datas are the static data segments, in the order of their indices: a host may put their
	// bytes in place before it calls the init function, if it sets their lengths to 0.
	Datas   []Data
	Funcs   []Func
	Exports []Export

	// Sorted by Offset, which is in .text.
	Traps     []abi.TrapSite
	Calls     []abi.CallSite
	StackMaps StackMaps
	Handlers  []abi.Handler // sorted by Return
	Saves     []abi.Saves   // by function
	// Inlined is the table of places in functions that were inlined, which Src of traps and calls refers to.
	Inlined []abi.Inlined

	// Digests are those of the object's sections, in objects only.
	Digests []SectionDigest

	// Fuel is not nil if the code counts fuel.
	Fuel *Fuel
	// Exceptions is not nil if code may throw or catch.
	Exceptions *Exceptions
	// Heap is not nil if the module has to do with the collected heap.
	Heap *Heap
}

// Fuel says how code counts fuel.
type Fuel struct {
	// Slack: no code compares the count, so hosts have to look at it.
	Slack bool
	// Costs is the text of the costs that are not the default ones.
	Costs string
}

// Exceptions is what code that may throw or catch needs. Its parts of the instance data come last there, in this order.
type Exceptions struct {
	// Helpers is the offset of the array of slots of the helpers for exceptions, Current that of the exception that is under way, whose arguments have room for Words words,
	// and TagSlots that of the array of slots of tags.
	Helpers, Current, Words, TagSlots uint32
	Tags                              []Tag
}

// Heap is what code that has to do with the collected heap needs.
type Heap struct {
	// Part is the offset of the part of the instance data for the heap, the last one there.
	Part uint32
	// Defs are the types that the module defines, those of functions included, of which Types has the signatures. What Types has more are plain types of functions.
	Defs []abi.TypeDef
}

// Records returns the records of the types. It calls poll for each, which may be nil.
func (m *Module) Records(poll func()) *abi.Records {
	defs := abi.Defs(m.Types)
	if m.Heap != nil {
		copy(defs, m.Heap.Defs)
	}
	return abi.RecordsOf(defs, poll)
}

// TypeKind returns the kind of a type.
func (m *Module) TypeKind(i uint32) abi.TypeKind {
	if m.Heap == nil || int(i) >= len(m.Heap.Defs) {
		return abi.KindFunc
	}
	return m.Heap.Defs[i].Kind
}

// HelperSlot returns where in the instance data the slot of a helper is; ok is false if the module has none.
func (m *Module) HelperSlot(h abi.Helper) (at uint32, ok bool) {
	switch {
	case h.OfHeap() && m.Heap != nil:
		return m.Heap.Part + 8*uint32(h-abi.FirstHeapHelper), true
	case h.OfExceptions() && m.Exceptions != nil:
		return m.Exceptions.Helpers + 8*uint32(h-abi.NumCommonHelpers), true
	case h < abi.NumCommonHelpers:
		return m.Helpers + 8*uint32(h), true
	}
	return 0, false
}

// Tag is a tag of exceptions.
type Tag struct {
	Type   uint32 // index into Types; it has no results
	Import *ImportName
}

// HasImports reports whether the module imports anything. Imported entities come first.
func (m *Module) HasImports() bool {
	return len(m.Funcs) > 0 && m.Funcs[0].Import != nil || len(m.Tables) > 0 && m.Tables[0].Import != nil ||
		len(m.Memories) > 0 && m.Memories[0].Import != nil || len(m.Globals) > 0 && m.Globals[0].Import != nil ||
		m.Exceptions != nil && len(m.Exceptions.Tags) > 0 && m.Exceptions.Tags[0].Import != nil
}

// version returns what ABI must be.
func (m *Module) version() uint32 {
	switch {
	case m.Heap != nil:
		return abi.HeapVersion
	case m.Exceptions != nil:
		return abi.ExceptionsVersion
	case m.Fuel != nil:
		return abi.FuelVersion
	}
	return abi.Version
}

// CheckVersion returns a *VersionError unless ABI is what this package knows and what the module needs.
func (m *Module) CheckVersion() error {
	if want := m.version(); m.ABI != want {
		return &VersionError{"binary interface", m.ABI, want}
	}
	return nil
}
