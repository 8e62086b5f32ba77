package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// This file is what the pass fold knows of objects of the collected heap.

// madeBy returns the instruction that has made what v refers to, an object or a small integer, or that reads a global whose structure is known; or nil.
func (c *folder) madeBy(v clif.Value) *clif.InstData {
	in := c.def(v)
	if in != nil && (in.Op == clif.OpStructNew || in.Op == clif.OpArrayNew || in.Op == clif.OpRefI31 || c.constObject(v) != nil) {
		return in
	}
	return nil
}

// ruleArrayLen: the length of an array that was made here.
func ruleArrayLen(c *folder, d *clif.InstData) (clif.Value, bool) {
	if in := c.madeBy(d.ArgA()); in != nil && in.Op == clif.OpArrayNew && c.may(RuleLenMade) {
		return in.ArgA(), false
	}
	return none, false
}

// ruleRefTest: the type of what was made here, or null.
func ruleRefTest(c *folder, d *clif.InstData) (clif.Value, bool) {
	c.tests = true
	if v := c.testHeld(d); v != none {
		return v, false
	}
	_, want := d.RefTestTypes()
	is := false
	if in := c.def(d.ArgA()); in != nil && in.Op == clif.OpRefNull {
		is = !want.IsNotNull()
	} else if in := c.madeBy(d.ArgA()); in != nil {
		is = abi.Matches(c.typeMade(in, d.ArgA()), want, c.f.Mod.IsSubType)
	} else {
		return none, false
	}
	switch {
	case !c.may(RuleTestMade):
		return none, false
	case is:
		return constResult(c, clif.I32, 1)
	}
	return constResult(c, clif.I32, 0)
}

// typeMade returns the type of v, which in, of madeBy, makes.
func (c *folder) typeMade(in *clif.InstData, v clif.Value) abi.ValType {
	t := in.Aux
	if in.Op == clif.OpRefI31 {
		return abi.I31Ref.NotNull()
	}
	if o := c.constObject(v); o != nil {
		t = o.Type
	}
	return abi.RefToKind(c.f.Mod.Types[t].Kind, t).NotNull()
}

// held returns what is in the field that in reads; in may be nil.
func held(m *clif.Module, in *clif.InstData) clif.Held {
	if in == nil || in.Op != clif.OpStructGet {
		return clif.Held{Kind: clif.HeldAny}
	}
	return m.HeldBy(in.Aux, in.Imm)
}

// testHeld returns the result of the ref_test d if it tests a field in which only structures of one type are, and perhaps null, or NoValue.
func (c *folder) testHeld(d *clif.InstData) clif.Value {
	h, m := held(c.f.Mod, c.def(d.ArgA())), c.f.Mod
	if h.Kind != clif.HeldObject || !c.immutable {
		return none
	}
	_, want := d.RefTestTypes()
	is := abi.Matches(abi.RefToKind(abi.KindStruct, h.Index).NotNull(), want, m.IsSubType)
	null := h.Null && !want.IsNotNull()
	switch {
	case !c.may(RuleTestHeld):
		return none
	case !h.Null || is == null:
		return c.iconst(clif.I32, boolBits(is))
	}
	isNull := c.make1(clif.InstData{Op: clif.OpRefIsNull, Type: clif.Ref, Args: [3]uint32{d.Args[0]}}, clif.I32)
	if null {
		return isNull
	}
	return c.make1(clif.InstData{Op: clif.OpIcmp, Type: clif.I32, Cond: uint8(clif.Eq), Args: [3]uint32{uint32(isNull), uint32(c.iconst(clif.I32, 0))}}, clif.I32)
}

// fieldWritten notes what a struct_set changes: a field of the same number, of an object that may be the same one, whose type may be a subtype of both.
func (c *folder) fieldWritten(d *clif.InstData) {
	m := c.f.Mod
	c.mem.keep(func(f *fact) bool {
		switch f.op {
		case clif.OpStructGet, clif.OpStructGetS, clif.OpStructGetU:
			return f.imm != d.Imm || !m.IsSubType(f.aux, d.Aux) && !m.IsSubType(d.Aux, f.aux)
		}
		return true
	})
	if m.Types[d.Aux].Fields[d.Imm].Packed == 0 {
		c.noteField(clif.OpStructGet, d, d.ArgB())
	}
}

// maxBorn bounds the search for what has made the structure that a struct_set writes to.
const maxBorn = 32

// isBornSo reports whether the struct_set d writes what the field has from its making on: 0 or null, and only sets of other fields, and what has no effects, are between.
func (c *folder) isBornSo(d *clif.InstData) bool {
	if !c.isZeroBits(d.ArgB()) {
		return false
	}
	for i := len(c.out) - 1; i >= max(0, len(c.out)-maxBorn); i-- {
		switch e := &c.out[i]; {
		case e.Op == clif.OpStructNew && e.Result == d.ArgA():
			return c.may(RuleStoreBorn)
		case e.Op == clif.OpStructSet && (e.ArgA() != d.ArgA() || e.Imm == d.Imm), e.Op != clif.OpStructSet && e.Op != clif.OpNop && !e.Op.IsPure():
			return false
		}
	}
	return false
}

// isZeroBits reports whether v is a constant all of whose bits are 0.
func (c *folder) isZeroBits(v clif.Value) bool {
	in := c.def(v)
	if in == nil {
		return false
	}
	switch in.Op {
	case clif.OpIconst, clif.OpFconst:
		return in.Imm == 0
	case clif.OpVconst:
		low, high := in.V128()
		return low|high == 0
	}
	return in.Op == clif.OpRefNull
}

// noteField notes that op would give v for the field that d names. One that never changes has no state.
func (c *folder) noteField(op clif.Opcode, d *clif.InstData, v clif.Value) {
	f := c.mem.put(op, d, v)
	if !c.f.Mod.Types[d.Aux].Fields[d.Imm].Mutable {
		f.state = 0
	}
}

// elementsWritten forgets what an instruction that writes elements of an array may change: structures have none.
func (c *folder) elementsWritten() {
	c.mem.keep(func(f *fact) bool { return f.op < clif.OpArrayGet || f.op > clif.OpArrayGetU })
}
