package translate

import (
	"fmt"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// Module declares everything that m has, and the init function. It must be
// valid outside of function bodies.
func Module(m *wasmfront.Module, names *wasmfront.Names) *clif.Module {
	return ModuleUntil(m, names, nil)
}

// ModuleUntil is Module that polls a flag, which may be nil, and leaves it in the result.
func ModuleUntil(m *wasmfront.Module, names *wasmfront.Names, end *stop.Flag) *clif.Module {
	cm := &clif.Module{Name: names.Module, NumImportedFuncs: int(m.NumImportedFuncs), Stop: end, Types: m.Types}
	records := abi.RecordsOf(m.Types, end.Poll)
	cm.Records = records
	for i := range m.Types {
		end.Poll()
		sig := clif.Signature{Params: clif.TypesOf(m.Types[i].Params), Results: clif.TypesOf(m.Types[i].Results)}
		if m.Types[i].IsTyped() || !records.IsPlain(uint32(i)) {
			sig.Typed = &clif.TypedSig{FuncType: m.Types[i].FuncType, Record: string(records.Of(uint32(i)))}
		}
		cm.Sigs = append(cm.Sigs, sig)
	}
	for i := range m.Funcs {
		end.Poll()
		cm.Funcs = append(cm.Funcs, clif.FuncDecl{
			Sig: clif.SigIndex(m.Funcs[i].Type), Name: names.Func(uint32(i)), Addressed: m.IsDeclared(uint32(i)),
		})
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		cm.Tables = append(cm.Tables, clif.TableDecl{Elem: clif.TypeOf(t.Elem), Typed: typedRef(records, t.Elem), Min: t.Min, Max: t.Max, HasMax: t.HasMax})
	}
	for i := range m.Tags {
		end.PollAt(i)
		cm.Tags = append(cm.Tags, clif.TagDecl{Sig: clif.SigIndex(m.Tags[i].Type)})
	}
	for i := range m.Memories {
		t := &m.Memories[i]
		cm.Memories = append(cm.Memories, clif.MemoryDecl{Min: t.Min, Max: t.Max, HasMax: t.HasMax})
	}
	for i := range m.Globals {
		end.Poll()
		g := &m.Globals[i]
		d := clif.GlobalDecl{Type: clif.TypeOf(g.Type), Typed: typedRef(records, g.Type), Mutable: g.Mutable}
		d.Init, _ = constBits(&g.Init)
		cm.Globals = append(cm.Globals, d)
	}
	declareImports(cm, m)
	declareSegments(cm, m)
	declareExports(cm, m)
	limitTables(cm, m)
	cm.Start, cm.HasStart = clif.FuncIndex(m.Start), m.HasStart
	cm.Sigs = append(cm.Sigs, clif.Signature{})
	cm.Funcs = append(cm.Funcs, clif.FuncDecl{Sig: clif.SigIndex(len(cm.Sigs) - 1), Name: "init"})
	return cm
}

// typedRef returns what t says beyond its class, or nil.
func typedRef(records *abi.Records, t wasmfront.ValType) *clif.TypedRef {
	if !t.IsTyped() {
		return nil
	}
	return &clif.TypedRef{Type: t, Own: records.Own(t)}
}

func declareImports(cm *clif.Module, m *wasmfront.Module) {
	for i := range m.Imports {
		cm.Stop.Poll()
		imp := &m.Imports[i]
		name := &clif.ImportName{Module: imp.Module, Name: imp.Name}
		switch imp.Kind {
		case abi.ExternFunc:
			cm.Funcs[imp.Index].Import = name
		case abi.ExternTable:
			cm.Tables[imp.Index].Import = name
		case abi.ExternMemory:
			cm.Memories[imp.Index].Import = name
		case abi.ExternGlobal:
			cm.Globals[imp.Index].Import = name
		case abi.ExternTag:
			cm.Tags[imp.Index].Import = name
		}
	}
}

func declareExports(cm *clif.Module, m *wasmfront.Module) {
	for i := range m.Exports {
		cm.Stop.Poll()
		e := &m.Exports[i]
		cm.Exports = append(cm.Exports, clif.Export{Name: e.Name, Kind: e.Kind, Index: e.Index})
		switch e.Kind {
		case abi.ExternFunc:
			f := &cm.Funcs[e.Index]
			f.Addressed = true
			if f.Name == "" {
				f.Name = e.Name
			}
		case abi.ExternTable:
			cm.Tables[e.Index].Exported = true
		case abi.ExternMemory:
			cm.Memories[e.Index].Exported = true
		case abi.ExternGlobal:
			cm.Globals[e.Index].Exported = true
		}
	}
}

func declareSegments(cm *clif.Module, m *wasmfront.Module) {
	declareDatas(cm, m)
	for i := range m.Elems {
		e := &m.Elems[i]
		d := clif.ElemDecl{Type: clif.TypeOf(e.Type)}
		for _, f := range e.Funcs {
			cm.Stop.Poll()
			d.Funcs = append(d.Funcs, clif.FuncIndex(f))
		}
		for j := range e.Exprs {
			cm.Stop.Poll()
			d.Funcs = append(d.Funcs, elemEntry(&e.Exprs[j]))
		}
		cm.Elems = append(cm.Elems, d)
	}
}

// elemEntry returns an element as the object can hold it, or ElemComputed.
func elemEntry(e *wasmfront.ConstExpr) clif.FuncIndex {
	if len(e.Ops) == 1 {
		switch e.Ops[0].Op {
		case wasmfront.OpRefNull:
			return clif.ElemNull
		case wasmfront.OpRefFunc:
			return clif.FuncIndex(e.Ops[0].Index)
		}
	}
	return clif.ElemComputed
}

// constBits returns the value of an expression that is one constant or null.
func constBits(e *wasmfront.ConstExpr) (bits uint64, ok bool) {
	if len(e.Ops) != 1 {
		return 0, false
	}
	switch op := &e.Ops[0]; op.Op {
	case wasmfront.OpI32Const:
		return uint64(uint32(op.Bits)), true
	case wasmfront.OpI64Const, wasmfront.OpF32Const, wasmfront.OpF64Const:
		return op.Bits, true
	case wasmfront.OpRefNull:
		return 0, true
	}
	return 0, false
}

// Init translates the init function into f (see clif.Module). If it takes more than Options.MaxBytes, as Bytes tells, it is not complete.
func (t *Translator) Init(f *clif.Func) {
	t.start(f, t.cm.InitFunc())
	m := t.m
	for i := int(m.NumImportedGlobals); i < len(m.Globals) && !t.full(); i++ {
		f.Stop.Poll()
		g := &m.Globals[i]
		if _, ok := constBits(&g.Init); !ok {
			t.b.Src = uint32(g.Offset)
			t.b.EntityEffect(clif.OpGlobalSet, clif.TypeOf(g.Type), uint32(i), 0, t.constExpr(&g.Init))
		}
	}
	t.initTables()
	t.initElems()
	t.initDatas()
	if m.HasStart {
		t.b.Src = uint32(m.StartOffset)
		t.b.Call(clif.FuncIndex(m.Start), nil)
	}
	t.b.Return(nil)
	t.ssa.removeTrivial()
	t.ssa.finish()
}

// initTables fills the tables that have an initial value other than null.
func (t *Translator) initTables() {
	for i := range t.m.Tables {
		x := &t.m.Tables[i]
		if t.f.Stop.Poll(); !x.HasInit || t.full() {
			continue
		}
		if bits, ok := constBits(&x.Init); ok && bits == 0 {
			continue // tables are made of nulls
		}
		t.b.Src = uint32(x.Offset)
		value := t.constExpr(&x.Init)
		t.b.EntityEffect(clif.OpTableFill, clif.TypeOf(x.Elem), uint32(i), 0, t.b.Iconst(clif.I64, 0), value, t.b.Iconst(clif.I64, x.Min))
	}
}

func (t *Translator) initElems() {
	for i := range t.m.Elems {
		e := &t.m.Elems[i]
		t.b.Src = uint32(e.Offset)
		for j := range e.Exprs {
			if t.f.Stop.Poll(); t.full() {
				return
			}
			if elemEntry(&e.Exprs[j]) == clif.ElemComputed {
				at := t.b.Iconst(clif.I64, uint64(j))
				t.b.EntityEffect(clif.OpElemSet, clif.TypeOf(e.Type), uint32(i), 0, at, t.constExpr(&e.Exprs[j]))
			}
		}
	}
	for i := range t.m.Elems {
		e := &t.m.Elems[i]
		if t.f.Stop.Poll(); t.full() {
			return
		}
		t.b.Src = uint32(e.Offset)
		switch e.Mode {
		case wasmfront.SegmentActive:
			to := t.wide(t.constExpr(&e.OffExpr))
			n := t.b.Iconst(clif.I64, uint64(e.Len()))
			t.checkEnd(to, n, t.b.Entity(clif.OpTableSize, clif.Invalid, e.Table), abi.TrapTableOutOfBounds)
			t.b.EntityEffect(clif.OpTableInit, clif.Invalid, e.Table, uint32(i), to, t.b.Iconst(clif.I64, 0), n)
			t.b.EntityEffect(clif.OpElemDrop, clif.Invalid, uint32(i), 0)
		case wasmfront.SegmentDeclarative:
			t.b.EntityEffect(clif.OpElemDrop, clif.Invalid, uint32(i), 0)
		}
	}
}

// constOps are the arithmetic operators of constant expressions.
var constOps = map[wasmfront.Opcode]struct {
	op clif.Opcode
	t  clif.Type
}{
	wasmfront.OpI32Add: {clif.OpIadd, clif.I32}, wasmfront.OpI32Sub: {clif.OpIsub, clif.I32},
	wasmfront.OpI32Mul: {clif.OpImul, clif.I32}, wasmfront.OpI64Add: {clif.OpIadd, clif.I64},
	wasmfront.OpI64Sub: {clif.OpIsub, clif.I64}, wasmfront.OpI64Mul: {clif.OpImul, clif.I64},
}

// constExpr emits the code of a constant expression.
func (t *Translator) constExpr(e *wasmfront.ConstExpr) clif.Value {
	t.stack = t.stack[:0]
	for i := range e.Ops {
		t.f.Stop.Poll()
		op := &e.Ops[i]
		switch op.Op {
		case wasmfront.OpI32Const:
			t.push(t.b.Iconst(clif.I32, op.Bits))
		case wasmfront.OpI64Const:
			t.push(t.b.Iconst(clif.I64, op.Bits))
		case wasmfront.OpF32Const:
			t.push(t.b.Fconst(clif.F32, op.Bits))
		case wasmfront.OpF64Const:
			t.push(t.b.Fconst(clif.F64, op.Bits))
		case wasmfront.OpV128Const:
			t.push(t.b.Vconst(op.Bits, op.High))
		case wasmfront.OpRefNull:
			t.push(t.b.RefNull(clif.TypeOf(op.Type)))
		case wasmfront.OpRefFunc:
			t.push(t.b.FuncAddr(clif.FuncIndex(op.Index)))
		case wasmfront.OpGlobalGet:
			t.push(t.b.Entity(clif.OpGlobalGet, t.cm.Globals[op.Index].Type, op.Index))
		default:
			if isOfGC(op.Op) {
				t.constNew(op)
				break
			}
			c, ok := constOps[op.Op]
			if !ok {
				panic(fmt.Sprintf("%v in a constant expression is not translated", op.Op))
			}
			y, x := t.pop(), t.pop()
			t.push(t.b.Binary(c.op, c.t, x, y))
		}
	}
	return t.pop()
}
