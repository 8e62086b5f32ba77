package validate

import "github.com/waot-project/waot/wasmfront"

// typeOf decodes the index of a type of a kind. It returns nil after a failure.
func (v *Func) typeOf(op *wasmfront.Operator, kind wasmfront.TypeKind) *wasmfront.TypeDef {
	op.Index = v.U32()
	return v.definition(op.Offset, op.Index, kind)
}

// definition returns type i of a kind, or nil after a failure.
func (v *Func) definition(at int, i uint32, kind wasmfront.TypeKind) *wasmfront.TypeDef {
	if v.Reader.Err != nil {
		return nil
	}
	if int64(i) >= int64(len(v.m.Types)) {
		v.Fail(at, "unknown type %d", i)
		return nil
	}
	t := &v.m.Types[i]
	if t.Kind != kind {
		v.Fail(at, "type mismatch: type %d is of kind %s, not %s", i, t.Kind, kind)
		return nil
	}
	return t
}

// checkDefaults fails unless all fields have values to begin with.
func (v *Func) checkDefaults(op *wasmfront.Operator, t *wasmfront.TypeDef) {
	if t.NoDefault != 0 {
		v.Fail(op.Offset, noDefault, op.Op, t.NoDefault-1)
	}
}

// noDefault says which operator needs a default value of which field.
const noDefault = "type mismatch: %s of a type whose field %d has no default value"

// pushNew pushes a reference to an object of the type of op that has just been made.
func (v *Func) pushNew(op *wasmfront.Operator) { v.pushOperand(v.m.RefTo(op.Index).NotNull()) }

func runStructNew(v *Func, op *wasmfront.Operator, _ *rule) {
	t := v.typeOf(op, wasmfront.KindStruct)
	if t == nil {
		return
	}
	v.pass(op.Offset, len(t.Fields))
	for i := len(t.Fields) - 1; i >= 0 && v.Reader.Err == nil; i-- {
		v.popExpect(op.Offset, t.Fields[i].Type)
	}
	v.pushNew(op)
}

func runStructNewDefault(v *Func, op *wasmfront.Operator, _ *rule) {
	if t := v.typeOf(op, wasmfront.KindStruct); t != nil {
		v.checkDefaults(op, t)
		v.pushNew(op)
	}
}

// field decodes a type and the index of a field. It returns nil after a failure.
func (v *Func) field(op *wasmfront.Operator) *wasmfront.FieldType {
	t := v.typeOf(op, wasmfront.KindStruct)
	op.Index2 = v.U32()
	switch {
	case t == nil || v.Reader.Err != nil:
		return nil
	case int64(op.Index2) >= int64(len(t.Fields)):
		v.Fail(op.Offset, "unknown field %d", op.Index2)
		return nil
	}
	return &t.Fields[op.Index2]
}

// checkPacked fails unless an operator that gets a value says what becomes of the bits that are not kept, if there are such.
func (v *Func) checkPacked(op *wasmfront.Operator, f *wasmfront.FieldType) {
	plain := op.Op == wasmfront.OpStructGet || op.Op == wasmfront.OpArrayGet
	if plain != (f.Packed == 0) {
		v.Fail(op.Offset, "type mismatch: %s of %s", op.Op, f)
	}
}

// checkMutable fails unless what an operator sets can be set.
func (v *Func) checkMutable(op *wasmfront.Operator, f *wasmfront.FieldType) {
	switch {
	case f.Mutable:
	case op.Op == wasmfront.OpStructSet:
		v.Fail(op.Offset, "immutable field %d", op.Index2)
	default:
		v.Fail(op.Offset, "immutable array")
	}
}

func runStructGet(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.field(op); f != nil {
		v.checkPacked(op, f)
		v.popExpect(op.Offset, v.m.RefTo(op.Index))
		v.pushOperand(f.Type)
	}
}

func runStructSet(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.field(op); f != nil {
		v.checkMutable(op, f)
		v.popExpect(op.Offset, f.Type)
		v.popExpect(op.Offset, v.m.RefTo(op.Index))
	}
}

// array decodes the type of an array and returns that of its elements, or nil after a failure.
func (v *Func) array(op *wasmfront.Operator) *wasmfront.FieldType {
	if t := v.typeOf(op, wasmfront.KindArray); t != nil {
		return &t.Fields[0]
	}
	return nil
}

func runArrayNew(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.array(op); f != nil {
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, f.Type)
		v.pushNew(op)
	}
}

func runArrayNewDefault(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.array(op); f != nil {
		v.checkDefaults(op, &v.m.Types[op.Index])
		v.popExpect(op.Offset, wasmfront.I32)
		v.pushNew(op)
	}
}

func runArrayNewFixed(v *Func, op *wasmfront.Operator, _ *rule) {
	f := v.array(op)
	op.Index2 = v.U32()
	if f == nil {
		return
	}
	if op.Index2 > wasmfront.MaxFixedElements {
		v.FailLimit(op.Offset, wasmfront.LimitError{What: "elements of array.new_fixed", Want: uint64(op.Index2), Limit: wasmfront.MaxFixedElements}, "array.new_fixed of %d elements", op.Index2)
	}
	v.pass(op.Offset, int(op.Index2))
	for n := op.Index2; n > 0 && v.Reader.Err == nil; n-- {
		v.popExpect(op.Offset, f.Type)
	}
	v.pushNew(op)
}

// segment decodes the data or element segment of an array operator, which must have what the elements of the array are.
func (v *Func) segment(op *wasmfront.Operator, f *wasmfront.FieldType) {
	op.Index2 = v.U32()
	if v.Reader.Err != nil {
		return
	}
	if op.Op.Info().Imm == wasmfront.ImmTypeData {
		if v.checkData(op.Offset, op.Index2); f != nil && f.Type.IsRef() {
			v.Fail(op.Offset, "array type is not numeric or vector: %s", f.Type)
		}
		return
	}
	if t := v.elemType(op.Offset, op.Index2); f != nil && v.Reader.Err == nil && !v.m.Matches(t, f.Type) {
		v.Fail(op.Offset, "type mismatch: segment of %s for an array of %s", t, f)
	}
}

func runArrayNewSegment(v *Func, op *wasmfront.Operator, _ *rule) {
	f := v.array(op)
	if v.segment(op, f); f != nil {
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, wasmfront.I32)
		v.pushNew(op)
	}
}

func runArrayInitSegment(v *Func, op *wasmfront.Operator, _ *rule) {
	f := v.array(op)
	if f != nil {
		v.checkMutable(op, f)
	}
	if v.segment(op, f); f != nil {
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, v.m.RefTo(op.Index))
	}
}

func runArrayGet(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.array(op); f != nil {
		v.checkPacked(op, f)
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, v.m.RefTo(op.Index))
		v.pushOperand(f.Type)
	}
}

func runArraySet(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.array(op); f != nil {
		v.checkMutable(op, f)
		v.popExpect(op.Offset, f.Type)
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, v.m.RefTo(op.Index))
	}
}

func runArrayLen(v *Func, op *wasmfront.Operator, _ *rule) {
	v.popExpect(op.Offset, wasmfront.ArrayRef)
	v.pushOperand(wasmfront.I32)
}

func runArrayFill(v *Func, op *wasmfront.Operator, _ *rule) {
	if f := v.array(op); f != nil {
		v.checkMutable(op, f)
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, f.Type)
		v.popExpect(op.Offset, wasmfront.I32)
		v.popExpect(op.Offset, v.m.RefTo(op.Index))
	}
}

func runArrayCopy(v *Func, op *wasmfront.Operator, _ *rule) {
	to := v.array(op)
	op.Index2 = v.U32()
	from := v.definition(op.Offset, op.Index2, wasmfront.KindArray)
	if to == nil || from == nil {
		return
	}
	v.checkMutable(op, to)
	if f := &from.Fields[0]; f.Packed != to.Packed || !v.m.Matches(f.Type, to.Type) {
		v.Fail(op.Offset, "array types do not match: %s for %s", f, to)
	}
	v.popExpect(op.Offset, wasmfront.I32)
	v.popExpect(op.Offset, wasmfront.I32)
	v.popExpect(op.Offset, v.m.RefTo(op.Index2))
	v.popExpect(op.Offset, wasmfront.I32)
	v.popExpect(op.Offset, v.m.RefTo(op.Index))
}

func runRefEq(v *Func, op *wasmfront.Operator, _ *rule) {
	v.popExpect(op.Offset, wasmfront.EqRef)
	v.popExpect(op.Offset, wasmfront.EqRef)
	v.pushOperand(wasmfront.I32)
}

func runRefI31(v *Func, op *wasmfront.Operator, _ *rule) {
	v.popExpect(op.Offset, wasmfront.I32)
	v.pushOperand(wasmfront.I31Ref.NotNull())
}

func runI31Get(v *Func, op *wasmfront.Operator, _ *rule) {
	if op.Type = v.popRef(op); !v.fits(op.Type, wasmfront.I31Ref) {
		v.Fail(op.Offset, "type mismatch: expected %s but %s on the stack", wasmfront.I31Ref, op.Type)
	}
	v.pushOperand(wasmfront.I32)
}

// runConvert is for the conversions between the hierarchies of any and extern. Null becomes null, and nothing else does.
func runConvert(v *Func, op *wasmfront.Operator, _ *rule) {
	from, to := wasmfront.ExternRef, wasmfront.AnyRef
	if op.Op == wasmfront.OpExternConvertAny {
		from, to = to, from
	}
	op.Type = v.popRef(op)
	if !v.fits(op.Type, from) {
		v.Fail(op.Offset, "type mismatch: expected %s but %s on the stack", from, op.Type)
	}
	if op.Type.IsNotNull() {
		to = to.NotNull()
	}
	v.pushOperand(to)
}

// castType decodes what a cast asks for, which must be in the hierarchy of the operand.
func (v *Func) castType(op *wasmfront.Operator) {
	op.ReadCast(&v.Reader, v.features)
	if v.Reader.Err != nil {
		return
	}
	top := op.Type.Top()
	if op.From = v.popRef(op); !v.fits(op.From, top) {
		v.Fail(op.Offset, "type mismatch: expected %s but %s on the stack", top, op.From)
	}
}

func runRefTest(v *Func, op *wasmfront.Operator, _ *rule) {
	v.castType(op)
	v.pushOperand(wasmfront.I32)
}

func runRefCast(v *Func, op *wasmfront.Operator, _ *rule) {
	v.castType(op)
	v.pushOperand(op.Type)
}

// runBrOnCast: where the cast goes well, there is a reference of the type asked for; else there is one of the type before, which is not null if null would have gone well.
// One of the two is the last operand of the branch, and the other stays.
func runBrOnCast(v *Func, op *wasmfront.Operator, _ *rule) {
	op.ReadBrOnCast(&v.Reader, v.features)
	f := v.label(op.Offset, op.Index)
	if f == nil || v.Reader.Err != nil {
		return
	}
	if !v.m.Matches(op.Type, op.From) {
		v.Fail(op.Offset, "type mismatch: %s from %s to %s", op.Op, op.From, op.Type)
		return
	}
	v.popExpect(op.Offset, op.From)
	taken, stays := op.Type, op.From
	if !op.Type.IsNotNull() {
		stays = stays.NotNull()
	}
	if op.Op == wasmfront.OpBrOnCastFail {
		taken, stays = stays, taken
	}
	op.Params = f.LabelTypes()
	last := len(op.Params) - 1
	if last < 0 || !v.m.Matches(taken, op.Params[last]) {
		v.Fail(op.Offset, "type mismatch: %s with %s for a label that takes other operands", op.Op, taken)
		return
	}
	v.popOperands(op.Offset, op.Params[:last])
	v.pushOperands(op.Params[:last])
	v.pushOperand(stays)
}

// types checks the types that the module defines: what each is a subtype of.
func (c *checker) types() {
	m := c.m
	for i := range m.Types {
		c.stop.Poll()
		t := &m.Types[i]
		if !t.HasSuper {
			continue
		}
		if super := &m.Types[t.Super]; !super.Open || !c.isSubtype(t, super) {
			c.fail(m.TypeOffsets[i], "sub type %d does not match super type %d", i, t.Super)
			return
		}
	}
}

// isSubtype reports whether what t consists of can be where what super consists of is wanted (specification, "Composite Types" of "Matching").
func (c *checker) isSubtype(t, super *wasmfront.TypeDef) bool {
	switch {
	case t.Kind != super.Kind:
		return false
	case t.Kind == wasmfront.KindFunc:
		return c.m.MatchAll(super.Params, t.Params) && c.m.MatchAll(t.Results, super.Results)
	case len(t.Fields) < len(super.Fields):
		return false
	}
	for i := range super.Fields {
		if !c.fieldMatches(&t.Fields[i], &super.Fields[i]) {
			return false
		}
	}
	return true
}

// fieldMatches: what can only be read may say more, what can be written must be the same.
func (c *checker) fieldMatches(f, super *wasmfront.FieldType) bool {
	if f.Mutable != super.Mutable || f.Packed != super.Packed || !c.m.Matches(f.Type, super.Type) {
		return false
	}
	return !f.Mutable || c.m.Matches(super.Type, f.Type)
}

// popConst pops an operand of a constant expression, or fails.
func (c *checker) popConst(op *wasmfront.ConstOp, want wasmfront.ValType) bool {
	n := len(c.stack) - 1
	if n < 0 || !c.m.Matches(c.stack[n], want) {
		c.fail(op.Offset, "type mismatch: %s needs %s", op.Op, want)
		return false
	}
	c.stack = c.stack[:n]
	return true
}

// constConvert is runConvert for constant expressions.
func (c *checker) constConvert(op *wasmfront.ConstOp, from, to wasmfront.ValType) {
	if n := len(c.stack); n > 0 && c.stack[n-1].IsNotNull() {
		to = to.NotNull()
	}
	if c.popConst(op, from) {
		c.stack = append(c.stack, to)
	}
}

// constNew checks an operator that makes a structure or an array.
func (c *checker) constNew(op *wasmfront.ConstOp) {
	kind := wasmfront.KindArray
	if op.Op == wasmfront.OpStructNew || op.Op == wasmfront.OpStructNewDefault {
		kind = wasmfront.KindStruct
	}
	if int64(op.Index) >= int64(len(c.m.Types)) {
		c.fail(op.Offset, "unknown type %d", op.Index)
		return
	}
	t := &c.m.Types[op.Index]
	if t.Kind != kind {
		c.fail(op.Offset, "type mismatch: type %d is of kind %s, not %s", op.Index, t.Kind, kind)
		return
	}
	if op.Op == wasmfront.OpArrayNew || op.Op == wasmfront.OpArrayNewDefault {
		c.popConst(op, wasmfront.I32)
	}
	switch op.Op {
	case wasmfront.OpStructNewDefault, wasmfront.OpArrayNewDefault:
		if t.NoDefault != 0 {
			c.fail(op.Offset, noDefault, op.Op, t.NoDefault-1)
		}
	case wasmfront.OpArrayNewFixed:
		for n := op.Bits; n > 0 && c.popConst(op, t.Fields[0].Type); n-- {
			c.stop.Poll()
		}
	default:
		for i := len(t.Fields) - 1; i >= 0 && c.popConst(op, t.Fields[i].Type); i-- {
			c.stop.Poll()
		}
	}
	c.stack = append(c.stack, c.m.RefTo(op.Index).NotNull())
}
