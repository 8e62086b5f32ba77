package wasmfront

// The bits of the flags that start an element segment.
const (
	elemNotActive = 1 << iota
	elemExplicit  // has a table index if active, else is declarative
	elemExprs     // elements are expressions
	elemFlagsEnd
)

func (d *decoder) elementSection() {
	n := d.U32()
	d.m.Elems = makeVec(d, d.m.Elems, n, 4)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		d.elemSegment()
	}
}

// elemSegment decodes a segment. If it fails from the offset expression on,
// what was read is left to the validator, which may find an earlier error in
// it.
func (d *decoder) elemSegment() {
	e := ElemSegment{Offset: d.Pos, Type: FuncRef}
	d.charge(d.Pos, ItemElemSegment, 1)
	flags := d.U32()
	switch {
	case flags&^sharedSegment >= elemFlagsEnd:
		d.Fail(e.Offset, "malformed elements segment kind %d", flags)
	case flags&sharedSegment != 0:
		d.FailFeature(e.Offset, FeatureSharedEverything, "unsupported elements segment kind %d", flags)
	}
	if flags&elemNotActive != 0 {
		e.Mode = SegmentPassive
		if flags&elemExplicit != 0 {
			e.Mode = SegmentDeclarative
		}
	} else {
		if flags&elemExplicit != 0 {
			e.Table = d.U32()
		}
		if d.Err != nil {
			return
		}
		e.OffExpr = d.constExpr()
	}
	if flags&(elemNotActive|elemExplicit) != 0 {
		at := d.Pos
		if flags&elemExprs != 0 {
			e.Type = d.RefType(d.accept)
		} else if kind := d.Byte(); kind != 0 {
			d.Fail(at, "malformed element kind 0x%02x", kind)
		}
	}
	at := d.Pos
	n := d.U32()
	if item := ItemElem; d.Err == nil {
		if flags&elemExprs != 0 {
			item = ItemElemExpr
		}
		e.items = d.Pos
		d.charge(at, item, int(min(int64(n), int64(d.End-d.Pos))))
	}
	if d.Err == nil {
		d.elemItems(&e, n, flags&elemExprs != 0)
	}
	d.m.Elems = append(d.m.Elems, e)
}

func (d *decoder) elemItems(e *ElemSegment, n uint32, exprs bool) {
	if exprs {
		e.Exprs = makeVec(d, []ConstExpr{}, n, 2)
		for ; n > 0 && d.Err == nil; n-- {
			d.stop.Poll()
			e.Exprs = append(e.Exprs, d.constExpr())
		}
		return
	}
	e.Funcs = makeVec(d, []uint32{}, n, 1)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		f := d.U32()
		if d.Err == nil {
			d.m.declare(f)
			e.Funcs = append(e.Funcs, f)
		}
	}
}

// constExpr decodes a constant expression. If it fails, it returns the
// operators before the failure and no end.
func (d *decoder) constExpr() ConstExpr {
	d.scratch = d.scratch[:0]
	start, end := d.Pos, 0
	for d.Err == nil {
		d.stop.Poll()
		op := ConstOp{Offset: d.Pos}
		op.Op = d.opcode()
		if d.Err != nil {
			break
		}
		if op.Op == OpEnd {
			end = op.Offset
			break
		}
		d.constOp(&op)
		d.charge(start, ItemConstOp, 1)
		if d.Err == nil {
			d.scratch = append(d.scratch, op)
		}
	}
	return ConstExpr{Ops: d.store(d.scratch), End: end}
}

// opcode reads the code of an operator that exists and is accepted.
func (d *decoder) opcode() Opcode {
	at := d.Pos
	b := d.Byte()
	op := Opcode(b)
	if IsPrefix(b) && d.Err == nil {
		n := d.U32()
		var ok bool
		if op, ok = PrefixedOpcode(b, n); !ok {
			d.Fail(at, "illegal opcode %02x %02x", b, n)
			return 0
		}
	}
	info := op.Info()
	switch {
	case d.Err != nil:
	case info.Name == "":
		d.Fail(at, "illegal opcode %s", op.hex())
	case !d.accept.Has(info.Feature):
		d.FailFeature(at, info.Feature, "unsupported operator %s", info.Name)
	}
	return op
}

// constOp decodes the immediates of op, if it may occur in a constant
// expression.
func (d *decoder) constOp(op *ConstOp) {
	switch op.Op {
	case OpI32Const:
		op.Bits = uint64(uint32(d.S32()))
	case OpI64Const:
		op.Bits = uint64(d.S64())
	case OpF32Const:
		op.Bits = uint64(d.Fixed32())
	case OpF64Const:
		op.Bits = d.Fixed64()
	case OpV128Const:
		op.Bits, op.High = d.Fixed64(), d.Fixed64()
	case OpGlobalGet, OpStructNew, OpStructNewDefault, OpArrayNew, OpArrayNewDefault:
		op.Index = d.U32()
	case OpArrayNewFixed:
		op.Index, op.Bits = d.U32(), uint64(d.U32())
		if op.Bits > MaxFixedElements {
			d.FailLimit(op.Offset, LimitError{"elements of array.new_fixed", op.Bits, MaxFixedElements}, "array.new_fixed of %d elements", op.Bits)
		}
	case OpRefI31, OpAnyConvertExtern, OpExternConvertAny:
	case OpRefNull:
		op.Type = d.HeapType(d.accept)
	case OpRefFunc:
		op.Index = d.U32()
		if d.Err == nil {
			d.m.declare(op.Index)
		}
	case OpI32Add, OpI32Sub, OpI32Mul, OpI64Add, OpI64Sub, OpI64Mul:
		if !d.accept.Has(FeatureExtendedConst) {
			d.FailFeature(op.Offset, FeatureExtendedConst, "constant expression required: operator %s", op.Op)
		}
	default:
		d.Fail(op.Offset, "constant expression required: operator %s", op.Op)
	}
}

// store copies ops to where many expressions share an allocation.
func (d *decoder) store(ops []ConstOp) []ConstOp {
	if len(ops) == 0 {
		return nil
	}
	const chunk = 64
	if cap(d.pool)-len(d.pool) < len(ops) {
		d.pool = make([]ConstOp, 0, max(chunk, len(ops)))
	}
	start := len(d.pool)
	d.pool = append(d.pool, ops...)
	return d.pool[start:len(d.pool):len(d.pool)]
}
