package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// This file translates garbage collection: structures, arrays, small integers and casts. Values of the hierarchies of any and extern are words of one kind, so conversions between the two
// translate to nothing.

// fieldOf returns the type of the field that op names.
func (t *Translator) fieldOf(op *wasmfront.Operator) *wasmfront.FieldType {
	return &t.m.Types[op.Index].Fields[op.Index2]
}

// elementOf returns the type of the elements of an array type.
func (t *Translator) elementOf(typ uint32) *wasmfront.FieldType { return &t.m.Types[typ].Fields[0] }

func (t *Translator) structNew(op *wasmfront.Operator, _ *handler) {
	fields := t.m.Types[op.Index].Fields
	args := t.popN(len(fields))
	object := t.b.Entity(clif.OpStructNew, clif.Ref, op.Index)
	for i, x := range args {
		t.b.EntityEffect(clif.OpStructSet, clif.TypeOf(fields[i].Type), op.Index, uint32(i), object, x)
	}
	t.push(object)
}

func (t *Translator) structNewDefault(op *wasmfront.Operator, _ *handler) {
	t.push(t.b.Entity(clif.OpStructNew, clif.Ref, op.Index))
}

func (t *Translator) structGet(op *wasmfront.Operator, h *handler) {
	t.push(t.b.Field(h.code, clif.TypeOf(t.fieldOf(op).Type), op.Index, op.Index2, t.pop()))
}

func (t *Translator) structSet(op *wasmfront.Operator, _ *handler) {
	x, object := t.pop(), t.pop()
	t.b.EntityEffect(clif.OpStructSet, clif.TypeOf(t.fieldOf(op).Type), op.Index, op.Index2, object, x)
}

// newArray makes an array of n elements, an i32.
func (t *Translator) newArray(typ uint32, n clif.Value) (array, elements clif.Value) {
	elements = t.wide(n)
	t.chargeElements(elements)
	return t.b.Entity(clif.OpArrayNew, clif.Ref, typ, n), elements
}

func (t *Translator) arrayNew(op *wasmfront.Operator, _ *handler) {
	n, x := t.pop(), t.pop()
	array, elements := t.newArray(op.Index, n)
	t.b.Bulk(clif.OpArrayFill, op.Index, 0, array, t.b.Iconst(clif.I64, 0), x, elements)
	t.push(array)
}

func (t *Translator) arrayNewDefault(op *wasmfront.Operator, _ *handler) {
	array, _ := t.newArray(op.Index, t.pop())
	t.push(array)
}

func (t *Translator) arrayNewFixed(op *wasmfront.Operator, _ *handler) {
	args := t.popN(int(op.Index2))
	typ := clif.TypeOf(t.elementOf(op.Index).Type)
	array, _ := t.newArray(op.Index, t.b.Iconst(clif.I32, uint64(op.Index2)))
	for i, x := range args {
		t.b.EntityEffect(clif.OpArraySet, typ, op.Index, 0, array, t.b.Iconst(clif.I64, uint64(i)), x)
	}
	t.push(array)
}

// checkSegment traps unless n elements from a place on are in the segment that op names. It reports whether there is such a segment when the function runs.
func (t *Translator) checkSegment(op *wasmfront.Operator, from, n clif.Value) (segment uint32, ok bool) {
	if op.Op.Info().Imm == wasmfront.ImmTypeElem {
		t.checkEnd(from, n, t.b.Entity(clif.OpElemLen, clif.Invalid, op.Index2), abi.TrapTableOutOfBounds)
		return op.Index2, true
	}
	size := t.b.Iconst(clif.I64, 0)
	segment = t.cm.WasmDatas[op.Index2]
	if ok = segment != clif.DataDropped; ok {
		size = t.b.Entity(clif.OpDataLen, clif.Invalid, segment)
	}
	width := t.b.Iconst(clif.I64, uint64(t.elementOf(op.Index).Bytes()))
	t.checkEnd(from, t.b.Binary(clif.OpImul, clif.I64, n, width), size, abi.TrapMemoryOutOfBounds)
	return segment, ok
}

// initFrom copies elements of a segment.
func (t *Translator) initFrom(op *wasmfront.Operator, segment uint32, array, to, from, n clif.Value) {
	code := clif.OpArrayInitData
	if op.Op.Info().Imm == wasmfront.ImmTypeElem {
		code = clif.OpArrayInitElem
	}
	t.b.Bulk(code, op.Index, segment, array, to, from, n)
}

func (t *Translator) arrayNewSegment(op *wasmfront.Operator, _ *handler) {
	n, from := t.pop(), t.wide(t.pop())
	segment, ok := t.checkSegment(op, from, t.wide(n))
	array, elements := t.newArray(op.Index, n)
	if ok {
		t.initFrom(op, segment, array, t.b.Iconst(clif.I64, 0), from, elements)
	}
	t.push(array)
}

func (t *Translator) arrayInitSegment(op *wasmfront.Operator, _ *handler) {
	n, from, to, array := t.wide(t.pop()), t.wide(t.pop()), t.wide(t.pop()), t.pop()
	t.chargeElements(n)
	t.checkEnd(to, n, t.length(array), abi.TrapArrayOutOfBounds)
	if segment, ok := t.checkSegment(op, from, n); ok {
		t.initFrom(op, segment, array, to, from, n)
	}
}

// length returns how many elements an array has, an i64. It traps if the array is null.
func (t *Translator) length(array clif.Value) clif.Value {
	return t.wide(t.b.Unary(clif.OpArrayLen, clif.I32, array))
}

// element pops an index and an array. The index, an i64, is in bounds.
func (t *Translator) element() (array, index clif.Value) {
	at := t.pop()
	array = t.pop()
	n := t.b.Unary(clif.OpArrayLen, clif.I32, array)
	t.b.TrapIf(t.b.Icmp(clif.Uge, clif.I32, at, n), abi.TrapArrayOutOfBounds)
	return array, t.wide(at)
}

func (t *Translator) arrayGet(op *wasmfront.Operator, h *handler) {
	array, index := t.element()
	t.push(t.b.Entity(h.code, clif.TypeOf(t.elementOf(op.Index).Type), op.Index, array, index))
}

func (t *Translator) arraySet(op *wasmfront.Operator, _ *handler) {
	x := t.pop()
	array, index := t.element()
	t.b.EntityEffect(clif.OpArraySet, clif.TypeOf(t.elementOf(op.Index).Type), op.Index, 0, array, index, x)
}

func (t *Translator) arrayLen(*wasmfront.Operator, *handler) {
	t.push(t.b.Unary(clif.OpArrayLen, clif.I32, t.pop()))
}

func (t *Translator) arrayFill(op *wasmfront.Operator, _ *handler) {
	n, x, to, array := t.wide(t.pop()), t.pop(), t.wide(t.pop()), t.pop()
	t.chargeElements(n)
	t.checkEnd(to, n, t.length(array), abi.TrapArrayOutOfBounds)
	t.b.Bulk(clif.OpArrayFill, op.Index, 0, array, to, x, n)
}

func (t *Translator) arrayCopy(op *wasmfront.Operator, _ *handler) {
	n, from, source, to, array := t.wide(t.pop()), t.wide(t.pop()), t.pop(), t.wide(t.pop()), t.pop()
	t.chargeElements(n)
	have, haveSource := t.length(array), t.length(source)
	t.checkEnd(to, n, have, abi.TrapArrayOutOfBounds)
	t.checkEnd(from, n, haveSource, abi.TrapArrayOutOfBounds)
	t.b.Bulk(clif.OpArrayCopy, op.Index, op.Index2, array, to, source, from, n)
}

func (t *Translator) refEq(*wasmfront.Operator, *handler) {
	y, x := t.pop(), t.pop()
	t.push(t.b.Binary(clif.OpRefEq, clif.Ref, x, y))
}

func (t *Translator) refI31(*wasmfront.Operator, *handler) {
	t.push(t.b.Unary(clif.OpRefI31, clif.Ref, t.pop()))
}

func (t *Translator) i31Get(op *wasmfront.Operator, h *handler) {
	x := t.pop()
	t.trapIfNull(x, op.Type, abi.TrapNullI31)
	t.push(t.b.Unary(h.code, clif.I32, x))
}

// is returns whether x, which is of the type that op has before the cast, is of the type that it asks for, an i32.
func (t *Translator) is(op *wasmfront.Operator, x clif.Value) clif.Value {
	from, want := op.From, op.Type
	// Types are a tree: if neither type is within the other, only null can be of both.
	nullOnly := want.IsBottom() || !t.m.Matches(want.NotNull(), from.OrNull())
	switch isNull := func() clif.Value { return t.isNull(x) }; {
	case t.m.Matches(from, want):
		return t.b.Iconst(clif.I32, 1)
	case t.m.Matches(from.NotNull(), want): // from may be null
		return t.b.Icmp(clif.Eq, clif.I32, isNull(), t.b.Iconst(clif.I32, 0))
	case nullOnly && (want.IsNotNull() || from.IsNotNull()):
		return t.b.Iconst(clif.I32, 0)
	case nullOnly:
		return isNull()
	case want.IsNotNull() || from.IsNotNull():
		return t.b.RefTest(t.f.TypeOf(x), x, from, want.NotNull())
	case from.IsObject():
		return t.b.RefTest(t.f.TypeOf(x), x, from, want)
	default:
		return t.b.Binary(clif.OpBor, clif.I32, isNull(), t.b.RefTest(t.f.TypeOf(x), x, from, want.NotNull()))
	}
}

func (t *Translator) refTest(op *wasmfront.Operator, _ *handler) { t.push(t.is(op, t.pop())) }

func (t *Translator) refCast(op *wasmfront.Operator, _ *handler) {
	if t.m.Matches(op.From, op.Type) {
		return
	}
	is := t.is(op, t.stack[len(t.stack)-1])
	t.b.TrapIf(t.b.Icmp(clif.Eq, clif.I32, is, t.b.Iconst(clif.I32, 0)), abi.TrapCastFailure)
}

// brOnCast: whichever way it goes, the reference stays.
func (t *Translator) brOnCast(op *wasmfront.Operator, _ *handler) {
	is := t.is(op, t.stack[len(t.stack)-1])
	yes := t.branchTo(t.frameAt(op.Index))
	next := t.ssa.newSingle()
	no := t.ssa.edgeTo(next, nil)
	if op.Op == wasmfront.OpBrOnCastFail {
		yes, no = no, yes
	}
	t.branch(is, yes, no)
	t.enter(next, true)
}

// convert: see the comment at the top of the file.
func (t *Translator) convert(*wasmfront.Operator, *handler) {}

// gcHandlers translates the operators with the prefix 0xFB, by the number after it.
var gcHandlers = [gcCount]handler{
	wasmfront.OpStructNew & 0xFF:        {run: (*Translator).structNew},
	wasmfront.OpStructNewDefault & 0xFF: {run: (*Translator).structNewDefault},
	wasmfront.OpStructGet & 0xFF:        {run: (*Translator).structGet, code: clif.OpStructGet},
	wasmfront.OpStructGetS & 0xFF:       {run: (*Translator).structGet, code: clif.OpStructGetS},
	wasmfront.OpStructGetU & 0xFF:       {run: (*Translator).structGet, code: clif.OpStructGetU},
	wasmfront.OpStructSet & 0xFF:        {run: (*Translator).structSet},
	wasmfront.OpArrayNew & 0xFF:         {run: (*Translator).arrayNew},
	wasmfront.OpArrayNewDefault & 0xFF:  {run: (*Translator).arrayNewDefault},
	wasmfront.OpArrayNewFixed & 0xFF:    {run: (*Translator).arrayNewFixed},
	wasmfront.OpArrayNewData & 0xFF:     {run: (*Translator).arrayNewSegment},
	wasmfront.OpArrayNewElem & 0xFF:     {run: (*Translator).arrayNewSegment},
	wasmfront.OpArrayGet & 0xFF:         {run: (*Translator).arrayGet, code: clif.OpArrayGet},
	wasmfront.OpArrayGetS & 0xFF:        {run: (*Translator).arrayGet, code: clif.OpArrayGetS},
	wasmfront.OpArrayGetU & 0xFF:        {run: (*Translator).arrayGet, code: clif.OpArrayGetU},
	wasmfront.OpArraySet & 0xFF:         {run: (*Translator).arraySet},
	wasmfront.OpArrayLen & 0xFF:         {run: (*Translator).arrayLen},
	wasmfront.OpArrayFill & 0xFF:        {run: (*Translator).arrayFill},
	wasmfront.OpArrayCopy & 0xFF:        {run: (*Translator).arrayCopy},
	wasmfront.OpArrayInitData & 0xFF:    {run: (*Translator).arrayInitSegment},
	wasmfront.OpArrayInitElem & 0xFF:    {run: (*Translator).arrayInitSegment},
	wasmfront.OpRefTest & 0xFF:          {run: (*Translator).refTest},
	wasmfront.OpRefTestNull & 0xFF:      {run: (*Translator).refTest},
	wasmfront.OpRefCast & 0xFF:          {run: (*Translator).refCast},
	wasmfront.OpRefCastNull & 0xFF:      {run: (*Translator).refCast},
	wasmfront.OpBrOnCast & 0xFF:         {run: (*Translator).brOnCast},
	wasmfront.OpBrOnCastFail & 0xFF:     {run: (*Translator).brOnCast},
	wasmfront.OpAnyConvertExtern & 0xFF: {run: (*Translator).convert},
	wasmfront.OpExternConvertAny & 0xFF: {run: (*Translator).convert},
	wasmfront.OpRefI31 & 0xFF:           {run: (*Translator).refI31},
	wasmfront.OpI31GetS & 0xFF:          {run: (*Translator).i31Get, code: clif.OpI31GetS},
	wasmfront.OpI31GetU & 0xFF:          {run: (*Translator).i31Get, code: clif.OpI31GetU},
}

// isOfGC reports whether gcHandlers has an operator. Those that are decoded in constant expressions need nothing but their operands and immediates.
func isOfGC(op wasmfront.Opcode) bool { return op>>8 == 0xFB && op&0xFF < gcCount }

// gcCount is how many numbers there are with the prefix 0xFB.
const gcCount = 31

// constNew emits such an operator of a constant expression.
func (t *Translator) constNew(c *wasmfront.ConstOp) {
	op := wasmfront.Operator{Op: c.Op, Index: c.Index, Index2: uint32(c.Bits)}
	h := &gcHandlers[c.Op&0xFF]
	h.run(t, &op, h)
}
