package validate

import "github.com/waot-project/waot/wasmfront"

// runSig applies the signature: the whole of most operators.
func runSig(v *Func, op *wasmfront.Operator, r *rule) {
	n := len(v.operands)
	switch r.sig.npop {
	case 1:
		if n--; n < v.height || v.operands[n] != r.sig.pop[0] {
			applySlow(v, op, r)
			return
		}
	case 2:
		if n -= 2; n < v.height || v.operands[n+1] != r.sig.pop[1] || v.operands[n] != r.sig.pop[0] {
			applySlow(v, op, r)
			return
		}
	case 0:
	default:
		applySlow(v, op, r)
		return
	}
	if r.sig.npush == 1 {
		v.operands = append(v.operands[:n], r.sig.push[0])
		return
	}
	v.operands = append(v.operands[:n], r.sig.push[:r.sig.npush]...)
}

// applySlow does the same where operands are many, unknown or wrong.
func applySlow(v *Func, op *wasmfront.Operator, r *rule) {
	v.popOperands(op.Offset, r.sig.pop[:r.sig.npop])
	v.pushOperands(r.sig.push[:r.sig.npush])
}

func runI32Const(v *Func, op *wasmfront.Operator, _ *rule) {
	if p := v.Pos; p < v.End && v.Buf[p] < 0x80 {
		v.Pos++
		op.I64 = uint64(uint32(int32(int8(v.Buf[p]<<1)) >> 1))
	} else {
		op.I64 = uint64(uint32(v.S32()))
	}
	v.pushOperand(wasmfront.I32)
}

func runI64Const(v *Func, op *wasmfront.Operator, _ *rule) {
	op.I64 = uint64(v.S64())
	v.pushOperand(wasmfront.I64)
}

func runF32Const(v *Func, op *wasmfront.Operator, _ *rule) {
	op.I64 = uint64(v.Fixed32())
	v.pushOperand(wasmfront.F32)
}

func runF64Const(v *Func, op *wasmfront.Operator, _ *rule) {
	op.I64 = v.Fixed64()
	v.pushOperand(wasmfront.F64)
}

func runV128Const(v *Func, op *wasmfront.Operator, _ *rule) {
	op.I64, op.High = v.Fixed64(), v.Fixed64()
	v.pushOperand(wasmfront.V128)
}

func runShuffle(v *Func, op *wasmfront.Operator, r *rule) {
	lanes := v.Bytes(16)
	for _, l := range lanes {
		if l >= 32 {
			v.Fail(op.Offset, "invalid lane index %d", l)
		}
	}
	v.Pos -= len(lanes)
	op.I64, op.High = v.Fixed64(), v.Fixed64()
	runSig(v, op, r)
}

// laneCount returns the number of lanes of an operator's vectors, for ImmLane.
func laneCount(op wasmfront.Opcode) uint8 {
	switch {
	case op <= wasmfront.OpI8x16ReplaceLane:
		return 16
	case op <= wasmfront.OpI16x8ReplaceLane:
		return 8
	case op <= wasmfront.OpI32x4ReplaceLane:
		return 4
	case op <= wasmfront.OpI64x2ReplaceLane:
		return 2
	case op <= wasmfront.OpF32x4ReplaceLane:
		return 4
	}
	return 2
}

func runLane(v *Func, op *wasmfront.Operator, r *rule) {
	op.Lane = v.Byte()
	if op.Lane >= laneCount(op.Op) {
		v.Fail(op.Offset, "invalid lane index %d", op.Lane)
	}
	runSig(v, op, r)
}

// memArg decodes the alignment, the memory and the offset of an access.
func (v *Func) memArg(op *wasmfront.Operator, r *rule) {
	if p := v.Pos; p+1 < v.End && v.Buf[p] < wasmfront.WithMemory && v.Buf[p+1] < 0x80 { // nearly all: memory 0, and a byte each
		op.Align, op.Index, op.I64 = v.Buf[p], 0, uint64(v.Buf[p+1])
		v.Pos += 2
	} else {
		var align uint32
		align, op.Index = v.MemFlags(v.features)
		op.Align, op.I64 = uint8(align), v.U64()
	}
	if op.Align > r.align || op.I64 > 1<<32-1 || int64(op.Index) >= int64(len(v.m.Memories)) {
		v.badMemArg(op, r)
	}
}

// badMemArg says what is wrong with a memory access.
func (v *Func) badMemArg(op *wasmfront.Operator, r *rule) {
	switch {
	case v.Reader.Err != nil:
	case int64(op.Index) >= int64(len(v.m.Memories)):
		v.Fail(op.Offset, "unknown memory %d", op.Index)
	case op.Align > r.align:
		v.Fail(op.Offset, "alignment must not be larger than natural: 2^%d > 2^%d", op.Align, r.align)
	default:
		v.Fail(op.Offset, "offset out of range: %d", op.I64)
	}
}

func runMemArg(v *Func, op *wasmfront.Operator, r *rule) {
	v.memArg(op, r)
	runSig(v, op, r)
}

func runMemArgLane(v *Func, op *wasmfront.Operator, r *rule) {
	v.memArg(op, r)
	op.Lane = v.Byte()
	if op.Lane >= 16>>r.align {
		v.Fail(op.Offset, "invalid lane index %d", op.Lane)
	}
	runSig(v, op, r)
}

// memoryIndex decodes the index of a memory.
func (v *Func) memoryIndex(at int) uint32 {
	i := v.U32()
	if int64(i) >= int64(len(v.m.Memories)) {
		v.Fail(at, "unknown memory %d", i)
	}
	return i
}

func runMem(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index = v.memoryIndex(op.Offset)
	runSig(v, op, r)
}

func runMem2(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index = v.memoryIndex(op.Offset)
	op.Index2 = v.memoryIndex(op.Offset)
	runSig(v, op, r)
}

// checkData checks the index of a data segment. Their number must have been
// declared, since they come after the code.
func (v *Func) checkData(at int, i uint32) {
	switch {
	case !v.m.HasDataCount:
		v.Fail(at, "data count section required")
	case i >= v.m.DataCount:
		v.Fail(at, "unknown data segment %d", i)
	}
}

func runData(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index = v.U32()
	v.checkData(op.Offset, op.Index)
	runSig(v, op, r)
}

func runDataMem(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index = v.U32()
	op.Index2 = v.memoryIndex(op.Offset)
	v.checkData(op.Offset, op.Index)
	runSig(v, op, r)
}

// tableIndex decodes the index of a table. The type is that of its elements.
func (v *Func) tableIndex(at int) (uint32, wasmfront.ValType) {
	i := v.U32()
	if int64(i) >= int64(len(v.m.Tables)) {
		v.Fail(at, "unknown table %d", i)
		return i, wasmfront.TypeUnknown
	}
	return i, v.m.Tables[i].Elem
}

// elemType returns the type of element segment i.
func (v *Func) elemType(at int, i uint32) wasmfront.ValType {
	if int64(i) >= int64(len(v.m.Elems)) {
		v.Fail(at, "unknown elem segment %d", i)
		return wasmfront.TypeUnknown
	}
	return v.m.Elems[i].ItemType()
}

func runElem(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index = v.U32()
	v.elemType(op.Offset, op.Index)
	runSig(v, op, r)
}

func runElemTable(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index = v.U32()
	op.Index2, op.Type = v.tableIndex(op.Offset)
	if t := v.elemType(op.Offset, op.Index); !v.m.Matches(t, op.Type) {
		v.Fail(op.Offset, "type mismatch: segment of %s for a table of %s", t, op.Type)
	}
	runSig(v, op, r)
}

func runTable(v *Func, op *wasmfront.Operator, r *rule) {
	op.Index, op.Type = v.tableIndex(op.Offset)
	runSig(v, op, r)
}

func runTable2(v *Func, op *wasmfront.Operator, r *rule) {
	var src wasmfront.ValType
	op.Index, op.Type = v.tableIndex(op.Offset)
	op.Index2, src = v.tableIndex(op.Offset)
	if !v.m.Matches(src, op.Type) {
		v.Fail(op.Offset, "type mismatch: table of %s for a table of %s", src, op.Type)
	}
	runSig(v, op, r)
}
