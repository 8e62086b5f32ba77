package validate

import "github.com/waot-project/waot/wasmfront"

// tag returns the type of a tag, or nil after a failure.
func (v *Func) tag(at int, i uint32) *wasmfront.FuncType {
	if int64(i) >= int64(len(v.m.Tags)) {
		v.Fail(at, "unknown tag %d", i)
		return nil
	}
	return v.m.TagType(i)
}

func runThrow(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	if t := v.tag(op.Offset, op.Index); t != nil {
		op.Params = t.Params
		v.popOperands(op.Offset, op.Params)
		v.setUnreachable()
	}
}

func runThrowRef(v *Func, op *wasmfront.Operator, _ *rule) {
	v.popExpect(op.Offset, wasmfront.ExnRef)
	v.setUnreachable()
}

// runTryTable: the labels of the clauses are those around the block, not its own.
func runTryTable(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Params, op.Results = v.BlockType(v.features)
	v.catches = v.Catches(v.catches[:0])
	op.Catches = v.catches
	for i := range v.catches {
		if v.Reader.Err != nil {
			return
		}
		v.checkCatch(op.Offset, &v.catches[i])
	}
	v.open(op, wasmfront.BlockTryTable)
}

// checkCatch checks that the label of a clause takes what an exception brings: its values, and a reference that is not null.
func (v *Func) checkCatch(at int, c *wasmfront.Catch) {
	var brings []wasmfront.ValType
	if c.Kind.HasTag() {
		t := v.tag(at, c.Tag)
		if t == nil {
			return
		}
		brings = t.Params
	}
	f := v.label(at, c.Label)
	if f == nil {
		return
	}
	takes := f.LabelTypes()
	v.pass(at, len(takes))
	if c.Kind.HasRef() {
		last := len(takes) - 1
		if last < 0 || !v.m.Matches(wasmfront.ExnRef.NotNull(), takes[last]) {
			v.Fail(at, "type mismatch: %s for a label that does not take a reference to the exception last", c.Kind)
			return
		}
		takes = takes[:last]
	}
	if !v.matchAll(brings, takes) {
		v.Fail(at, "type mismatch: %s of an exception that brings other values than the label takes", c.Kind)
	}
}

func runTry(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Params, op.Results = v.BlockType(v.features)
	v.open(op, wasmfront.BlockTry)
}

// nextCatch ends the part of a try before a catch or catch_all, and begins the next, in which the values of an exception are on the stack.
func (v *Func) nextCatch(op *wasmfront.Operator, kind wasmfront.BlockKind, values []wasmfront.ValType) {
	if k := v.controls[len(v.controls)-1].Kind; k != wasmfront.BlockTry && k != wasmfront.BlockCatch {
		v.Fail(op.Offset, "END opcode expected: %s in a block that is %s", op.Op, k)
		return
	}
	f := v.popControl(op.Offset)
	op.Block, op.Params, op.Results = f.Kind, values, f.Results
	v.pushControl(kind, op.Offset, op.Params, op.Results)
}

func runCatch(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	if t := v.tag(op.Offset, op.Index); t != nil {
		v.nextCatch(op, wasmfront.BlockCatch, t.Params)
	}
}

func runCatchAll(v *Func, op *wasmfront.Operator, _ *rule) {
	v.nextCatch(op, wasmfront.BlockCatchAll, nil)
}

// runDelegate ends a try that catches nothing. The label is one of those around it.
func runDelegate(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	if k := v.controls[len(v.controls)-1].Kind; k != wasmfront.BlockTry {
		v.Fail(op.Offset, "END opcode expected: %s in a block that is %s", op.Op, k)
		return
	}
	f := v.popControl(op.Offset)
	op.Block, op.Params, op.Results = f.Kind, f.Params, f.Results
	v.label(op.Offset, op.Index)
	v.pushOperands(op.Results)
}

// runRethrow: the label must be that of a part of a try that has caught an exception.
func runRethrow(v *Func, op *wasmfront.Operator, _ *rule) {
	op.Index = v.U32()
	f := v.label(op.Offset, op.Index)
	if f == nil {
		return
	}
	if f.Kind != wasmfront.BlockCatch && f.Kind != wasmfront.BlockCatchAll {
		v.Fail(op.Offset, "invalid rethrow label %d: the block is %s", op.Index, f.Kind)
	}
	v.setUnreachable()
}
