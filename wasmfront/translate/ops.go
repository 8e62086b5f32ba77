package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

func (t *Translator) nop(*wasmfront.Operator, *handler) {}

func (t *Translator) drop(*wasmfront.Operator, *handler) { t.pop() }

func (t *Translator) selectOp(*wasmfront.Operator, *handler) {
	c, y, x := t.pop(), t.pop(), t.pop()
	t.push(t.b.Select(t.f.TypeOf(x), c, x, y))
}

func (t *Translator) localGet(op *wasmfront.Operator, _ *handler) {
	t.push(t.ssa.read(op.Index, clif.TypeOf(t.locals[op.Index])))
}

func (t *Translator) localSet(op *wasmfront.Operator, _ *handler) {
	t.ssa.write(op.Index, t.pop())
}

func (t *Translator) localTee(op *wasmfront.Operator, _ *handler) {
	t.ssa.write(op.Index, t.stack[len(t.stack)-1])
}

func (t *Translator) globalGet(op *wasmfront.Operator, _ *handler) {
	t.push(t.b.Entity(clif.OpGlobalGet, clif.TypeOf(op.Type), op.Index))
}

func (t *Translator) globalSet(op *wasmfront.Operator, _ *handler) {
	t.b.EntityEffect(clif.OpGlobalSet, clif.TypeOf(op.Type), op.Index, 0, t.pop())
}

func (t *Translator) iconst(op *wasmfront.Operator, h *handler) { t.push(t.b.Iconst(h.typ, op.I64)) }

func (t *Translator) fconst(op *wasmfront.Operator, h *handler) { t.push(t.b.Fconst(h.typ, op.I64)) }

func (t *Translator) unary(_ *wasmfront.Operator, h *handler) {
	t.pushComputed(h, t.b.Unary(h.code, h.typ, t.pop()))
}

func (t *Translator) binary(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.pushComputed(h, t.b.Binary(h.code, h.typ, x, y))
}

// popWide pops a number of 128 bits.
func (t *Translator) popWide() (low, high clif.Value) {
	high, low = t.pop(), t.pop()
	return low, high
}

// less is 1 if x is below y, else 0.
func (t *Translator) less(x, y clif.Value) clif.Value {
	return t.b.Unary(clif.OpUextend, clif.I64, t.b.Icmp(clif.Ult, clif.I64, x, y))
}

// pushHalves pushes a number of 128 bits; its high half is op of what is given.
func (t *Translator) pushHalves(op clif.Opcode, low, high, carry clif.Value) {
	t.push(low)
	t.push(t.b.Binary(op, clif.I64, high, carry))
}

// add128 carries where the low half of the sum is below that of an operand.
func (t *Translator) add128(*wasmfront.Operator, *handler) {
	low2, high2 := t.popWide()
	low1, high1 := t.popWide()
	low := t.b.Binary(clif.OpIadd, clif.I64, low1, low2)
	t.pushHalves(clif.OpIadd, low, t.b.Binary(clif.OpIadd, clif.I64, high1, high2), t.less(low, low1))
}

func (t *Translator) sub128(*wasmfront.Operator, *handler) {
	low2, high2 := t.popWide()
	low1, high1 := t.popWide()
	low := t.b.Binary(clif.OpIsub, clif.I64, low1, low2)
	t.pushHalves(clif.OpIsub, low, t.b.Binary(clif.OpIsub, clif.I64, high1, high2), t.less(low1, low2))
}

func (t *Translator) mulWide(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Binary(clif.OpImul, clif.I64, x, y))
	t.push(t.b.Binary(h.code, clif.I64, x, y))
}

func (t *Translator) icmp(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Icmp(clif.IntCC(h.cond), h.typ, x, y))
}

func (t *Translator) eqz(_ *wasmfront.Operator, h *handler) {
	x := t.pop()
	t.push(t.b.Icmp(clif.Eq, h.typ, x, t.b.Iconst(h.typ, 0)))
}

func (t *Translator) fcmp(_ *wasmfront.Operator, h *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Fcmp(clif.FloatCC(h.cond), h.typ, x, y))
}

func (t *Translator) load(op *wasmfront.Operator, h *handler) {
	t.push(t.b.Load(h.typ, clif.Access(h.cond), clif.MemoryIndex(op.Index), t.pop(), op.I64))
}

func (t *Translator) store(op *wasmfront.Operator, h *handler) {
	x, addr := t.pop(), t.pop()
	t.b.Store(h.typ, clif.Access(h.cond), clif.MemoryIndex(op.Index), addr, x, op.I64)
}

// memorySize counts pages.
func (t *Translator) memorySize(op *wasmfront.Operator, _ *handler) {
	bytes := t.b.Entity(clif.OpMemorySize, clif.Invalid, op.Index)
	pages := t.b.Binary(clif.OpUshr, clif.I64, bytes, t.b.Iconst(clif.I64, 16))
	t.push(t.b.Unary(clif.OpIreduce, clif.I32, pages))
}

func (t *Translator) memoryGrow(op *wasmfront.Operator, _ *handler) {
	t.push(t.b.Entity(clif.OpMemoryGrow, clif.Invalid, op.Index, t.pop()))
}

func (t *Translator) memoryBytes(m uint32) clif.Value {
	return t.b.Entity(clif.OpMemorySize, clif.Invalid, m)
}

func (t *Translator) memoryCopy(op *wasmfront.Operator, _ *handler) {
	n, from, to := t.wide(t.pop()), t.wide(t.pop()), t.wide(t.pop())
	t.chargeBytes(n)
	t.checkEnd(from, n, t.memoryBytes(op.Index2), abi.TrapMemoryOutOfBounds)
	t.checkEnd(to, n, t.memoryBytes(op.Index), abi.TrapMemoryOutOfBounds)
	t.b.EntityEffect(clif.OpMemoryCopy, clif.Invalid, op.Index, op.Index2, to, from, n)
}

func (t *Translator) memoryFill(op *wasmfront.Operator, _ *handler) {
	n, x, to := t.wide(t.pop()), t.pop(), t.wide(t.pop())
	t.chargeBytes(n)
	t.checkEnd(to, n, t.memoryBytes(op.Index), abi.TrapMemoryOutOfBounds)
	t.b.EntityEffect(clif.OpMemoryFill, clif.Invalid, op.Index, 0, to, x, n)
}

func (t *Translator) memoryInit(op *wasmfront.Operator, _ *handler) {
	n, from, to := t.wide(t.pop()), t.wide(t.pop()), t.wide(t.pop())
	t.chargeBytes(n)
	data := t.cm.WasmDatas[op.Index]
	if data == clif.DataDropped {
		t.checkEnd(from, n, t.b.Iconst(clif.I64, 0), abi.TrapMemoryOutOfBounds)
		t.checkEnd(to, n, t.memoryBytes(op.Index2), abi.TrapMemoryOutOfBounds)
		return
	}
	t.checkEnd(from, n, t.b.Entity(clif.OpDataLen, clif.Invalid, data), abi.TrapMemoryOutOfBounds)
	t.checkEnd(to, n, t.memoryBytes(op.Index2), abi.TrapMemoryOutOfBounds)
	t.b.EntityEffect(clif.OpMemoryInit, clif.Invalid, op.Index2, data, to, from, n)
}

func (t *Translator) dataDrop(op *wasmfront.Operator, _ *handler) {
	if data := t.cm.WasmDatas[op.Index]; data != clif.DataDropped {
		t.b.EntityEffect(clif.OpDataDrop, clif.Invalid, data, 0)
	}
}

func (t *Translator) tableLen(table uint32) clif.Value {
	return t.b.Entity(clif.OpTableSize, clif.Invalid, table)
}

// tableIndex pops an index and checks it; code is the trap of one that is not in the table.
func (t *Translator) tableIndex(table uint32, code abi.TrapCode) clif.Value {
	index := t.wide(t.pop())
	if !t.NoSpectre {
		return t.b.Bound(index, t.tableLen(table), code)
	}
	t.b.TrapIf(t.b.Icmp(clif.Uge, clif.I64, index, t.tableLen(table)), code)
	return index
}

func (t *Translator) tableGet(op *wasmfront.Operator, _ *handler) {
	index := t.tableIndex(op.Index, abi.TrapTableOutOfBounds)
	t.push(t.b.Entity(clif.OpTableGet, clif.TypeOf(op.Type), op.Index, index))
}

func (t *Translator) tableSet(op *wasmfront.Operator, _ *handler) {
	x := t.pop()
	index := t.tableIndex(op.Index, abi.TrapTableOutOfBounds)
	t.b.EntityEffect(clif.OpTableSet, clif.TypeOf(op.Type), op.Index, 0, index, x)
}

func (t *Translator) tableSize(op *wasmfront.Operator, _ *handler) {
	t.push(t.b.Unary(clif.OpIreduce, clif.I32, t.tableLen(op.Index)))
}

func (t *Translator) tableGrow(op *wasmfront.Operator, _ *handler) {
	n, x := t.pop(), t.pop()
	t.push(t.b.Entity(clif.OpTableGrow, clif.TypeOf(op.Type), op.Index, n, x))
}

func (t *Translator) tableFill(op *wasmfront.Operator, _ *handler) {
	n, x, to := t.wide(t.pop()), t.pop(), t.wide(t.pop())
	t.chargeElements(n)
	t.checkEnd(to, n, t.tableLen(op.Index), abi.TrapTableOutOfBounds)
	t.b.EntityEffect(clif.OpTableFill, clif.TypeOf(op.Type), op.Index, 0, to, x, n)
}

func (t *Translator) tableCopy(op *wasmfront.Operator, _ *handler) {
	n, from, to := t.wide(t.pop()), t.wide(t.pop()), t.wide(t.pop())
	t.chargeElements(n)
	t.checkEnd(from, n, t.tableLen(op.Index2), abi.TrapTableOutOfBounds)
	t.checkEnd(to, n, t.tableLen(op.Index), abi.TrapTableOutOfBounds)
	t.b.EntityEffect(clif.OpTableCopy, clif.Invalid, op.Index, op.Index2, to, from, n)
}

func (t *Translator) tableInit(op *wasmfront.Operator, _ *handler) {
	n, from, to := t.wide(t.pop()), t.wide(t.pop()), t.wide(t.pop())
	t.chargeElements(n)
	t.checkEnd(from, n, t.b.Entity(clif.OpElemLen, clif.Invalid, op.Index), abi.TrapTableOutOfBounds)
	t.checkEnd(to, n, t.tableLen(op.Index2), abi.TrapTableOutOfBounds)
	t.b.EntityEffect(clif.OpTableInit, clif.Invalid, op.Index2, op.Index, to, from, n)
}

func (t *Translator) elemDrop(op *wasmfront.Operator, _ *handler) {
	t.b.EntityEffect(clif.OpElemDrop, clif.Invalid, op.Index, 0)
}

func (t *Translator) refNull(op *wasmfront.Operator, _ *handler) {
	t.push(t.b.RefNull(clif.TypeOf(op.Type)))
}

func (t *Translator) refIsNull(*wasmfront.Operator, *handler) {
	t.push(t.isNull(t.pop()))
}

// isNull returns whether x is null, an i32.
func (t *Translator) isNull(x clif.Value) clif.Value {
	return t.b.Unary(clif.OpRefIsNull, t.f.TypeOf(x), x)
}

// trapIfNull traps if x, a reference of type from, is null, unless the type says that it never is.
func (t *Translator) trapIfNull(x clif.Value, from wasmfront.ValType, code abi.TrapCode) {
	if !from.IsNotNull() {
		t.b.TrapIf(t.isNull(x), code)
	}
}

func (t *Translator) refAsNonNull(op *wasmfront.Operator, _ *handler) {
	t.trapIfNull(t.stack[len(t.stack)-1], op.Type, abi.TrapNullReference)
}

func (t *Translator) refFunc(op *wasmfront.Operator, _ *handler) {
	t.push(t.b.FuncAddr(clif.FuncIndex(op.Index)))
}
