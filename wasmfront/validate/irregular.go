package validate

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

func runUnreachable(v *Func, _ *wasmfront.Operator, _ *rule) { v.setUnreachable() }

// open opens a block: the part that block, loop and if share.
func (v *Func) open(op *wasmfront.Operator, kind wasmfront.BlockKind) {
	v.popOperands(op.Offset, op.Params)
	v.pushControl(kind, op.Offset, op.Params, op.Results)
}

func runBlock(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Params, op.Results = v.BlockType(v.features)
	v.open(op, wasmfront.BlockBlock)
}

func runLoop(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Params, op.Results = v.BlockType(v.features)
	v.open(op, wasmfront.BlockLoop)
}

func runIf(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Params, op.Results = v.BlockType(v.features)
	v.popExpect(op.Offset, wasmfront.I32)
	v.open(op, wasmfront.BlockIf)
}

func runElse(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.controls[len(v.controls)-1].Kind != wasmfront.BlockIf {
		v.Fail(op.Offset, "END opcode expected: else without if")
		return
	}
	f := v.popControl(op.Offset)
	op.Block, op.Params, op.Results = f.Kind, f.Params, f.Results
	v.pushControl(wasmfront.BlockElse, op.Offset, op.Params, op.Results)
}

func runEnd(v *Func, op *wasmfront.Operator, _ *rule) {
	f := v.popControl(op.Offset)
	op.Block, op.Params, op.Results = f.Kind, f.Params, f.Results
	if f.Kind == wasmfront.BlockIf && !v.matchAll(f.Params, f.Results) {
		v.Fail(op.Offset, "type mismatch: if without else must have the same parameters and results")
	}
	v.pushOperands(f.Results)
}

// matchAll reports whether values of the types a can be where b are wanted.
func (v *Func) matchAll(a, b []wasmfront.ValType) bool { return v.m.MatchAll(a, b) }

func runBr(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	if f := v.label(op.Offset, op.Index); f != nil {
		op.Params = f.LabelTypes()
		v.popOperands(op.Offset, op.Params)
		v.setUnreachable()
	}
}

func runBrIf(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	v.popExpect(op.Offset, wasmfront.I32)
	if f := v.label(op.Offset, op.Index); f != nil {
		op.Params = f.LabelTypes()
		if len(op.Params) > 0 {
			v.popOperands(op.Offset, op.Params)
			v.pushOperands(op.Params)
		}
	}
}

func runBrTable(v *Func, op *wasmfront.Operator, _ *rule) {
	at := op.Offset
	n := v.U32()
	if n > wasmfront.MaxBrTable {
		v.FailLimit(at, wasmfront.LimitError{What: "br_table targets", Want: uint64(n), Limit: wasmfront.MaxBrTable}, "br_table of %d targets", n)
	}
	v.targets = stop.Grow(nil, v.targets[:0], min(int(n), v.End-v.Pos)) // a target takes a byte, at least
	for ; n > 0 && v.Reader.Err == nil; n-- {
		v.targets = append(v.targets, v.U32())
	}
	op.Index, op.Targets = v.U32(), v.targets
	v.popExpect(at, wasmfront.I32)
	def := v.label(at, op.Index)
	if def == nil {
		return
	}
	op.Params = def.LabelTypes()
	// Each label is checked once, however often it is among the targets.
	v.stamp++
	for _, t := range v.targets {
		f := v.label(at, t)
		if f == nil {
			return
		}
		if f.stamp == v.stamp {
			continue
		}
		f.stamp = v.stamp
		if len(f.LabelTypes()) != len(op.Params) {
			v.Fail(at, "type mismatch: targets take %d and %d operands", len(f.LabelTypes()), len(op.Params))
			return
		}
		v.checkTop(at, f.LabelTypes())
	}
	v.popOperands(at, op.Params)
	v.setUnreachable()
}

func runReturn(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Params = v.typ.Results
	v.popOperands(op.Offset, op.Params)
	v.setUnreachable()
}

// callee decodes the function that a call names.
func (v *Func) callee(op *wasmfront.Operator) bool {
	op.Index = v.U32()
	if int64(op.Index) >= int64(len(v.m.Funcs)) {
		v.Fail(op.Offset, "unknown function %d", op.Index)
		return false
	}
	t := v.m.FuncType(op.Index)
	op.Params, op.Results = t.Params, t.Results
	return true
}

// indirectCallee decodes the type and the table of an indirect call and pops
// the index.
func (v *Func) indirectCallee(op *wasmfront.Operator) bool {
	op.Index = v.U32()
	var elem wasmfront.ValType
	op.Index2, elem = v.tableIndex(op.Offset)
	switch {
	case v.Reader.Err != nil:
		return false
	case elem.Base() != wasmfront.FuncRef:
		v.Fail(op.Offset, "type mismatch: indirect call through a table of %s", elem)
		return false
	}
	t := v.definition(op.Offset, op.Index, wasmfront.KindFunc)
	if t == nil {
		return false
	}
	v.popExpect(op.Offset, wasmfront.I32)
	op.Params, op.Results = t.Params, t.Results
	return true
}

// call finishes a call whose callee is known.
func (v *Func) call(op *wasmfront.Operator) {
	v.popOperands(op.Offset, op.Params)
	v.pushOperands(op.Results)
}

func runCall(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.callee(op) {
		v.call(op)
	}
}

func runCallIndirect(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.indirectCallee(op) {
		v.call(op)
	}
}

// tail finishes a tail call.
func (v *Func) tail(op *wasmfront.Operator) {
	v.popOperands(op.Offset, op.Params)
	if !v.matchAll(op.Results, v.typ.Results) {
		v.Fail(op.Offset, "type mismatch: tail call of a function with other results")
	}
	v.setUnreachable()
}

func runReturnCall(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.callee(op) {
		v.tail(op)
	}
}

func runReturnCallIndirect(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.indirectCallee(op) {
		v.tail(op)
	}
}

func runDrop(v *Func, op *wasmfront.Operator, _ *rule) { op.Type = v.popOperand(op.Offset) }

func runSelect(v *Func, op *wasmfront.Operator, _ *rule) {
	v.popExpect(op.Offset, wasmfront.I32)
	b := v.popOperand(op.Offset)
	a := v.popOperand(op.Offset)
	if a == wasmfront.TypeUnknown {
		a, b = b, a
	}
	if a.IsRef() || a == unknownRef || b != wasmfront.TypeUnknown && a != b {
		v.Fail(op.Offset, "type mismatch: select of %s and %s", a, b)
	}
	op.Type = a
	v.pushOperand(a)
}

func runSelectT(v *Func, op *wasmfront.Operator, _ *rule) {
	if n := v.U32(); n != 1 {
		v.Fail(op.Offset, "invalid result arity: select of %d types", n)
	}
	op.Type = v.ValType(v.features)
	v.popExpect(op.Offset, wasmfront.I32)
	v.popExpect(op.Offset, op.Type)
	v.popExpect(op.Offset, op.Type)
	v.pushOperand(op.Type)
}

// local decodes the index of a local.
func (v *Func) local(op *wasmfront.Operator) {
	op.Index = v.U32()
	if int64(op.Index) >= int64(len(v.locals)) {
		v.Fail(op.Offset, "unknown local %d", op.Index)
		op.Type = wasmfront.TypeUnknown
		return
	}
	op.Type = v.locals[op.Index]
}

func runLocalGet(v *Func, op *wasmfront.Operator, _ *rule) {
	v.local(op)
	if op.Type.IsNotNull() && v.isUnset(op.Index) {
		v.Fail(op.Offset, "uninitialized local %d", op.Index)
	}
	v.pushOperand(op.Type)
}

func runLocalSet(v *Func, op *wasmfront.Operator, _ *rule) {
	v.local(op)
	v.popExpect(op.Offset, op.Type)
	v.set(op)
}

func runLocalTee(v *Func, op *wasmfront.Operator, _ *rule) {
	v.local(op)
	v.popExpect(op.Offset, op.Type)
	v.set(op)
	v.pushOperand(op.Type)
}

// isUnset reports whether a local of a type that is never null has no value yet.
func (v *Func) isUnset(local uint32) bool {
	return int(local) >= v.numParams && int(local) < len(v.given) && v.given[local] != v.number
}

// set notes that the local of op has a value up to the end of the innermost block.
func (v *Func) set(op *wasmfront.Operator) {
	if op.Type.IsNotNull() && v.isUnset(op.Index) {
		v.given[op.Index] = v.number
		v.sets = append(v.sets, op.Index)
	}
}

// global decodes the index of a global.
func (v *Func) global(op *wasmfront.Operator) wasmfront.GlobalType {
	op.Index = v.U32()
	if int64(op.Index) >= int64(len(v.m.Globals)) {
		v.Fail(op.Offset, "unknown global %d", op.Index)
		return wasmfront.GlobalType{}
	}
	t := v.m.GlobalType(op.Index)
	op.Type = t.Type
	return t
}

func runGlobalGet(v *Func, op *wasmfront.Operator, _ *rule) {
	v.pushOperand(v.global(op).Type)
}

func runGlobalSet(v *Func, op *wasmfront.Operator, _ *rule) {
	t := v.global(op)
	if !t.Mutable {
		v.Fail(op.Offset, "immutable global %d", op.Index)
	}
	v.popExpect(op.Offset, t.Type)
}

func runTableGet(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index, op.Type = v.tableIndex(op.Offset)
	v.popExpect(op.Offset, wasmfront.I32)
	v.pushOperand(op.Type)
}

func runTableSet(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index, op.Type = v.tableIndex(op.Offset)
	v.popExpect(op.Offset, op.Type)
	v.popExpect(op.Offset, wasmfront.I32)
}

func runTableGrow(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index, op.Type = v.tableIndex(op.Offset)
	v.popExpect(op.Offset, wasmfront.I32)
	v.popExpect(op.Offset, op.Type)
	v.pushOperand(wasmfront.I32)
}

func runTableFill(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index, op.Type = v.tableIndex(op.Offset)
	v.popExpect(op.Offset, wasmfront.I32)
	v.popExpect(op.Offset, op.Type)
	v.popExpect(op.Offset, wasmfront.I32)
}

func runRefNull(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Type = v.HeapType(v.features)
	v.pushOperand(op.Type)
}

// popRef pops a reference of any type.
func (v *Func) popRef(op *wasmfront.Operator) wasmfront.ValType {
	switch t := v.popOperand(op.Offset); {
	case t == wasmfront.TypeUnknown:
		return unknownRef
	case t != unknownRef && !t.IsRef():
		v.Fail(op.Offset, "type mismatch: %s of %s", op.Op, t)
		return unknownRef
	default:
		return t
	}
}

func runRefIsNull(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Type = v.popRef(op)
	v.pushOperand(wasmfront.I32)
}

func runRefFunc(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	switch {
	case int64(op.Index) >= int64(len(v.m.Funcs)):
		v.Fail(op.Offset, "unknown function %d", op.Index)
	case !v.m.IsDeclared(op.Index):
		v.Fail(op.Offset, "undeclared function reference %d", op.Index)
	default:
		v.pushOperand(v.m.RefToFunc(op.Index))
	}
}

func runRefAsNonNull(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Type = v.popRef(op)
	v.pushOperand(op.Type.NotNull())
}

// runBrOnNull: a branch takes what lies below the reference; else the reference stays, and is not null.
func runBrOnNull(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	op.Type = v.popRef(op)
	if f := v.label(op.Offset, op.Index); f != nil {
		op.Params = f.LabelTypes()
		v.popOperands(op.Offset, op.Params)
		v.pushOperands(op.Params)
	}
	v.pushOperand(op.Type.NotNull())
}

// runBrOnNonNull: a branch takes the reference, which is not null, as the last operand; else it is dropped.
func runBrOnNonNull(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	op.Type = v.popRef(op)
	f := v.label(op.Offset, op.Index)
	if f == nil {
		return
	}
	op.Params = f.LabelTypes()
	last := len(op.Params) - 1
	if last < 0 || !v.fits(op.Type.NotNull(), op.Params[last]) {
		v.Fail(op.Offset, "type mismatch: br_on_non_null of %s for a label that takes other operands", op.Type)
		return
	}
	v.popOperands(op.Offset, op.Params[:last])
	v.pushOperands(op.Params[:last])
}

// refCallee decodes the type of a call of a reference and pops the reference.
func (v *Func) refCallee(op *wasmfront.Operator) bool {
	t := v.typeOf(op, wasmfront.KindFunc)
	if t == nil {
		return false
	}
	op.Type = v.popRef(op)
	if want := abi.RefTo(op.Index); !v.fits(op.Type, want) {
		v.Fail(op.Offset, "type mismatch: expected %s but %s on the stack", want, op.Type)
	}
	op.Params, op.Results = t.Params, t.Results
	return true
}

func runCallRef(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.refCallee(op) {
		v.call(op)
	}
}

func runReturnCallRef(v *Func, op *wasmfront.Operator, _ *rule) {
	if v.refCallee(op) {
		v.tail(op)
	}
}
