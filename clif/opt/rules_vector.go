package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

// sameNaNs are the operations on float lanes that give the same bits on every machine, also where a lane is a NaN, or bits like one. What another operation
// gives is folded only if it has no NaN.
var sameNaNs = [clif.NumOpcodes]bool{clif.OpVsplat: true, clif.OpVextract: true, clif.OpVinsert: true, clif.OpVfpmin: true, clif.OpVfpmax: true,
	clif.OpVfabs: true, clif.OpVfneg: true, clif.OpVfcmp: true, clif.OpVcvtFromSint: true, clif.OpVcvtFromUint: true,
	clif.OpVcvtToSintSat: true, clif.OpVcvtToUintSat: true, clif.OpVcvtToSintInd: true}

// vector returns the bits of v if it is a constant vector.
func (c *folder) vector(v clif.Value) (arith.V128, bool) {
	if d := c.defOp(v, clif.OpVconst); d != nil {
		low, high := d.V128()
		return arith.V128{low, high}, true
	}
	return arith.V128{}, false
}

// constantBits returns the bits of v if it is a constant of any type.
func (c *folder) constantBits(v clif.Value) (arith.V128, bool) {
	switch d := c.def(v); {
	case d == nil:
	case d.Op == clif.OpVconst:
		return c.vector(v)
	case d.Op == clif.OpIconst || d.Op == clif.OpFconst:
		return arith.V128{d.Imm}, true
	}
	return arith.V128{}, false
}

func (c *folder) vconst(x arith.V128) clif.Value {
	d := clif.InstData{Op: clif.OpVconst, Type: clif.V128}
	d.SetV128(x[0], x[1])
	return c.make1(d, clif.V128)
}

// become makes d the given instruction with the same result.
func become(d *clif.InstData, to clif.InstData) (clif.Value, bool) {
	to.Result, to.NumResults = d.Result, d.NumResults
	*d = to
	return none, true
}

// ruleVector computes operations on constants, whatever the opcode. The other rules for vectors are rows.
func ruleVector(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v := c.foldVector(d); v != none {
		return v, false
	}
	return ruleRows(c, d)
}

// foldVector returns the result of d if all operands are constants.
func (c *folder) foldVector(d *clif.InstData) clif.Value {
	var args [3]arith.V128
	for i, v := range d.Operands() {
		var ok bool
		if args[i], ok = c.constantBits(clif.Value(v)); !ok {
			return none
		}
	}
	r := arith.Vector(d, c.shrink, args[0], args[1], args[2])
	if !sameNaNs[d.Op] && d.Type.IsFloatShape() && arith.HasNaN(d.Type, r) || !c.may(RuleFoldVector) {
		return none
	}
	switch t := d.Op.ResultType(d.Type); {
	case t == clif.V128:
		return c.vconst(r)
	case t.IsFloat():
		return c.fconst(t, r[0])
	default:
		return c.iconst(t, r[0])
	}
}
