// Package wasmedit takes WebAssembly modules apart so that they can be changed, and puts them together
// again. Entities can be marked as removed, and encoding renumbers the rest. The caller must find out
// whether the result is valid.
//
// Place in the pipeline: none; for tools that make modules smaller or count what they do.
//
// Input: a valid module.
// Output: a Module to change, and its encoding.
package wasmedit

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Module is a module whose entities keep their indices while they are marked as Dead, or become imported. Those that are decoded as imported
// come first. Custom sections are left out.
type Module struct {
	// Types are those of the module if it has typed function references or garbage collection, which name them, so that they keep their indices. Otherwise they are not listed: each
	// use has its own.
	Types    []wasmfront.TypeDef
	Funcs    []Func
	Tables   []Table
	Memories []Memory
	Tags     []Tag
	Globals  []Global
	Exports  []Export
	Elems    []Elem
	Data     []Data
	Start    int // a function, or -1
	// Counted says that the module declares how many segments of data it has.
	Counted bool
}

// Import is where an entity comes from; nil stands for an entity of the module's own.
type Import struct{ Module, Name string }

// Func is a function.
type Func struct {
	Dead   bool
	Import *Import
	Type   wasmfront.FuncType
	// TypeIndex is that of Type if the module has Types, of which several may be written the same.
	TypeIndex uint32
	Locals    []Local // those that are not parameters
	Code      []Inst  // the last end included
}

// Local is a declared local.
type Local struct {
	Dead bool
	Type wasmfront.ValType
}

// Table is a table.
type Table struct {
	Dead   bool
	Import *Import
	Type   wasmfront.TableType
	Init   []wasmfront.ConstOp // what the elements are at first; nil if they are null
}

// Memory is a memory.
type Memory struct {
	Dead   bool
	Import *Import
	Type   wasmfront.MemoryType
}

// Tag is a tag of exceptions.
type Tag struct {
	Dead      bool
	Import    *Import
	Type      wasmfront.FuncType
	TypeIndex uint32 // as that of Func
}

// Global is a global.
type Global struct {
	Dead   bool
	Import *Import
	Type   wasmfront.GlobalType
	Init   []wasmfront.ConstOp
}

// Export is an export.
type Export struct {
	Dead  bool
	Name  string
	Kind  abi.ExternKind
	Index uint32
}

// Elem is an element segment.
type Elem struct {
	Dead   bool
	Mode   wasmfront.SegmentMode
	Type   wasmfront.ValType
	Table  uint32
	Offset []wasmfront.ConstOp
	Items  [][]wasmfront.ConstOp
}

// Data is a data segment.
type Data struct {
	Dead   bool
	Mode   wasmfront.SegmentMode
	Memory uint32
	Offset []wasmfront.ConstOp
	Bytes  []byte
}

// Inst is an operator.
type Inst struct {
	Op wasmfront.Opcode
	// Raw is its encoding, where that has no indices that may change. Of an access to memory it is the alignment and what follows the index of the
	// memory.
	Raw []byte
	// Type is that of a block or of an indirect call.
	Type wasmfront.FuncType
	// From and To are what a branch on a cast casts.
	From, To wasmfront.ValType
	// Index and Index2 are as in wasmfront.Operator.
	Index, Index2 uint32
	Targets       []uint32
	Catches       []wasmfront.Catch
}

// Imm returns the form of the immediates.
func (in *Inst) Imm() wasmfront.ImmKind { return in.Op.Info().Imm }

// Decode takes a module apart. The error is that of validation, or says what is not supported.
func Decode(b []byte, features wasmfront.Features) (*Module, error) {
	const naming = wasmfront.FeatureFunctionReferences | wasmfront.FeatureGC // the features that name types
	wm, err := validate.All(b, validate.Config{Features: features &^ naming})
	typed := err != nil && features&naming != 0
	if typed {
		wm, err = validate.All(b, validate.Config{Features: features})
	}
	if err != nil {
		return nil, err
	}
	m := &Module{Start: -1, Counted: wm.HasDataCount}
	if typed {
		m.Types = wm.Types
	}
	if wm.HasStart {
		m.Start = int(wm.Start)
	}
	imports := map[abi.ExternKind][]*Import{}
	for i := range wm.Imports {
		imp := &wm.Imports[i]
		imports[imp.Kind] = append(imports[imp.Kind], &Import{imp.Module, imp.Name})
	}
	from := func(k abi.ExternKind, i int) *Import {
		if i < len(imports[k]) {
			return imports[k][i]
		}
		return nil
	}
	for i := range wm.Funcs {
		f := Func{Import: from(abi.ExternFunc, i), Type: *wm.FuncType(uint32(i))}
		if typed {
			f.TypeIndex = wm.Funcs[i].Type
		}
		if f.Import == nil {
			if err := f.decode(wm, uint32(i), typed); err != nil {
				return nil, err
			}
		}
		m.Funcs = append(m.Funcs, f)
	}
	for i := range wm.Tables {
		m.Tables = append(m.Tables, Table{Import: from(abi.ExternTable, i), Type: wm.TableType(uint32(i)), Init: constant(&wm.Tables[i].Init)})
	}
	for i := range wm.Memories {
		m.Memories = append(m.Memories, Memory{Import: from(abi.ExternMemory, i), Type: wm.MemoryType(uint32(i))})
	}
	for i := range wm.Tags {
		t := Tag{Import: from(abi.ExternTag, i), Type: *wm.TagType(uint32(i))}
		if typed {
			t.TypeIndex = wm.Tags[i].Type
		}
		m.Tags = append(m.Tags, t)
	}
	for i := range wm.Globals {
		m.Globals = append(m.Globals, Global{Import: from(abi.ExternGlobal, i), Type: wm.GlobalType(uint32(i)), Init: constant(&wm.Globals[i].Init)})
	}
	for i := range wm.Exports {
		e := &wm.Exports[i]
		m.Exports = append(m.Exports, Export{Name: e.Name, Kind: e.Kind, Index: e.Index})
	}
	for i := range wm.Elems {
		m.Elems = append(m.Elems, decodeElem(&wm.Elems[i]))
	}
	for i := range wm.Data {
		d := &wm.Data[i]
		m.Data = append(m.Data, Data{Mode: d.Mode, Memory: d.Memory, Offset: constant(&d.OffExpr), Bytes: d.Bytes})
	}
	return m, nil
}

// constant returns a constant expression without places in the module.
func constant(e *wasmfront.ConstExpr) []wasmfront.ConstOp {
	ops := slices.Clone(e.Ops)
	for i := range ops {
		ops[i].Offset = 0
	}
	return ops
}

func decodeElem(e *wasmfront.ElemSegment) Elem {
	out := Elem{Mode: e.Mode, Type: e.Type, Table: e.Table, Offset: constant(&e.OffExpr)}
	for _, f := range e.Funcs {
		out.Items = append(out.Items, []wasmfront.ConstOp{{Op: wasmfront.OpRefFunc, Index: f}})
	}
	for i := range e.Exprs {
		out.Items = append(out.Items, constant(&e.Exprs[i]))
	}
	return out
}

// decode takes the body of function i apart. typed is whether types keep their indices.
func (f *Func) decode(wm *wasmfront.Module, i uint32, typed bool) error {
	var v validate.Func
	var op wasmfront.Operator
	v.Begin(wm, i)
	for _, t := range v.Locals()[v.NumParams():] {
		f.Locals = append(f.Locals, Local{Type: t})
	}
	for v.Next(&op) {
		in := Inst{Op: op.Op}
		switch imm := in.Imm(); imm {
		case wasmfront.ImmBlock:
			in.Type = wasmfront.FuncType{Params: op.Params, Results: op.Results}
		case wasmfront.ImmTryTable:
			in.Type, in.Catches = wasmfront.FuncType{Params: op.Params, Results: op.Results}, slices.Clone(op.Catches)
		case wasmfront.ImmCallIndirect:
			in.Type = wasmfront.FuncType{Params: op.Params, Results: op.Results}
			if in.Index2 = op.Index2; typed {
				in.Index = op.Index
			}
		case wasmfront.ImmBrTable:
			in.Index, in.Targets = op.Index, slices.Clone(op.Targets)
		case wasmfront.ImmLabel, wasmfront.ImmType, wasmfront.ImmFunc, wasmfront.ImmLocal, wasmfront.ImmGlobal, wasmfront.ImmTable, wasmfront.ImmElem,
			wasmfront.ImmData, wasmfront.ImmMem, wasmfront.ImmTag:
			in.Index = op.Index
		case wasmfront.ImmTable2, wasmfront.ImmMem2, wasmfront.ImmElemTable, wasmfront.ImmDataMem, wasmfront.ImmTypeData, wasmfront.ImmTypeElem:
			in.Index, in.Index2 = op.Index, op.Index2
		case wasmfront.ImmBrOnCast:
			in.Index, in.From, in.To = op.Index, op.From, op.Type
		case wasmfront.ImmMemArg, wasmfront.ImmMemArgLane:
			in.Index, in.Raw = op.Index, access(&op)
		case wasmfront.ImmOther:
			return fmt.Errorf("function %d: %v is not supported", i, op.Op)
		default:
			in.Raw = wm.Bytes[op.Offset:v.Pos]
		}
		f.Code = append(f.Code, in)
	}
	return v.Err()
}

// access returns the alignment, the offset and the lane, if any, of an access to memory.
func access(op *wasmfront.Operator) []byte {
	raw := encode.Unsigned([]byte{op.Align}, op.I64)
	if op.Op.Info().Imm == wasmfront.ImmMemArgLane {
		raw = append(raw, op.Lane)
	}
	return raw
}

// Clone returns a copy whose lists can be changed; what the entities have inside is shared, so it must be replaced, not written to.
func (m *Module) Clone() *Module {
	c := *m
	c.Funcs, c.Tables, c.Memories = slices.Clone(m.Funcs), slices.Clone(m.Tables), slices.Clone(m.Memories)
	c.Tags = slices.Clone(m.Tags)
	c.Globals, c.Exports = slices.Clone(m.Globals), slices.Clone(m.Exports)
	c.Elems, c.Data, c.Types = slices.Clone(m.Elems), slices.Clone(m.Data), slices.Clone(m.Types)
	return &c
}

// Zero is code that pushes the zero or null of a type. Of references that are never null there is none, so the null is refused there.
func Zero(t wasmfront.ValType) Inst {
	switch t {
	case wasmfront.I32:
		return Inst{Op: wasmfront.OpI32Const, Raw: []byte{byte(wasmfront.OpI32Const), 0}}
	case wasmfront.I64:
		return Inst{Op: wasmfront.OpI64Const, Raw: []byte{byte(wasmfront.OpI64Const), 0}}
	case wasmfront.F32:
		return Inst{Op: wasmfront.OpF32Const, Raw: append([]byte{byte(wasmfront.OpF32Const)}, make([]byte, 4)...)}
	case wasmfront.F64:
		return Inst{Op: wasmfront.OpF64Const, Raw: append([]byte{byte(wasmfront.OpF64Const)}, make([]byte, 8)...)}
	case wasmfront.V128:
		return Inst{Op: wasmfront.OpV128Const, Raw: append([]byte{0xFD, 0x0C}, make([]byte, 16)...)}
	}
	return Inst{Op: wasmfront.OpRefNull, Raw: encode.HeapType([]byte{byte(wasmfront.OpRefNull)}, t)}
}

// Constant is code that pushes the value of a constant expression.
func Constant(ops []wasmfront.ConstOp) (code []Inst) {
	for i := range ops {
		in := Inst{Op: ops[i].Op, Index: ops[i].Index}
		if imm := in.Imm(); imm != wasmfront.ImmGlobal && imm != wasmfront.ImmFunc {
			in.Raw = encode.Const(nil, &ops[i])
		}
		code = append(code, in)
	}
	return code
}

// I32 is code that pushes a number.
func I32(x uint32) Inst {
	op := wasmfront.ConstOp{Op: wasmfront.OpI32Const, Bits: uint64(x)}
	return Inst{Op: op.Op, Raw: encode.Const(nil, &op)}
}

// I64 is code that pushes a number.
func I64(x uint64) Inst {
	op := wasmfront.ConstOp{Op: wasmfront.OpI64Const, Bits: x}
	return Inst{Op: op.Op, Raw: encode.Const(nil, &op)}
}

// Plain returns an operator without immediates.
func Plain(op wasmfront.Opcode) Inst { return Inst{Op: op, Raw: encode.Opcode(nil, op)} }
