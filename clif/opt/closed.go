package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// This file uses facts about the whole module: globals and tables that nothing writes (clif.GlobalDecl.Fixed, clif.TableDecl.Entries).

// ruleGlobal: a global that nothing changes is a constant.
func ruleGlobal(c *folder, d *clif.InstData) (clif.Value, bool) {
	g := &c.f.Mod.Globals[d.Aux]
	if !g.Fixed || g.Type == clif.V128 || !c.may(RuleGlobalFixed) {
		return none, false
	}
	bits := g.Init
	if g.Type.IsInt() {
		bits = c.trunc(g.Type, bits)
	}
	return c.make1(constOf(g.Type, bits), g.Type), false
}

// constOf returns a constant of type t: of references, null.
func constOf(t clif.Type, bits uint64) clif.InstData {
	k := clif.InstData{Op: clif.OpIconst, Type: t, Imm: bits}
	switch t {
	case clif.F32, clif.F64:
		k.Op = clif.OpFconst
	case clif.Ref, clif.FuncRef:
		k.Op = clif.OpRefNull
	}
	return k
}

// maxConstPath is how many structures of a constant expression may be in each other for what the innermost holds to be known.
const maxConstPath = 4

// constObject returns the structure that v refers to, if a constant expression has made it for a global that nothing changes.
func (c *folder) constObject(v clif.Value) *clif.ConstObject { return c.constPath(v, maxConstPath) }

// constPath is constObject through at most so many fields.
func (c *folder) constPath(v clif.Value, fields int) *clif.ConstObject {
	switch in := c.def(v); {
	case in == nil || !c.immutable:
	case in.Op == clif.OpGlobalGet:
		return c.f.Mod.Globals[in.Aux].Made
	case in.Op == clif.OpStructGet && fields > 0:
		if field, _ := c.fieldOf(c.constPath(in.ArgA(), fields-1), in); field.Kind == clif.ConstMade {
			return field.Object
		}
	}
	return nil
}

// fieldOf returns what d, which reads a field, reads of o, if that never changes.
func (c *folder) fieldOf(o *clif.ConstObject, d *clif.InstData) (field clif.ConstField, ok bool) {
	m := c.f.Mod
	switch {
	case o == nil || m.Types[d.Aux].Fields[d.Imm].Mutable || !m.IsSubType(o.Type, d.Aux): // it is of another type only behind a cast that fails
		return field, false
	case o.Fields == nil:
		return clif.ConstField{Kind: clif.ConstNumber}, true
	}
	return o.Fields[d.Imm], true
}

// ruleField: a field that never changes, of a structure that is known. The structure is there, so this does not trap.
func ruleField(c *folder, d *clif.InstData) (clif.Value, bool) {
	field, ok := c.fieldOf(c.constObject(d.ArgA()), d)
	if !ok {
		return none, false
	}
	packed := c.f.Mod.Types[d.Aux].Fields[d.Imm].Packed
	k := clif.InstData{Type: d.Type, Aux: uint32(field.Bits)}
	switch {
	case field.Kind == clif.ConstFunc:
		k.Op = clif.OpFuncAddr
	case field.Kind == clif.ConstGlobal && packed == 0:
		k.Op = clif.OpGlobalGet
	case field.Kind != clif.ConstNumber || d.Type == clif.V128:
		return none, false
	default:
		k = constOf(d.Type, c.extendedField(d.Op, packed, field.Bits))
	}
	if !c.may(RuleFieldFixed) {
		return none, false
	}
	return c.make1(k, d.Type), false
}

// extendedField returns what op reads of a field that was given bits: of one that is packed, the low ones.
func (c *folder) extendedField(op clif.Opcode, packed uint8, bits uint64) uint64 {
	switch unused := 64 - packed; {
	case packed == 0:
		return bits
	case op == clif.OpStructGetS:
		return c.trunc(clif.I32, uint64(int64(bits<<unused)>>unused))
	default:
		return bits << unused >> unused
	}
}

// entries returns the entries of the table that d reads, or nil if they are not known.
func (c *folder) entries(d *clif.InstData) []clif.FuncIndex {
	if !c.immutable {
		return nil
	}
	return c.f.Mod.Tables[d.Aux].Entries
}

// ruleEntry: the entry of a table that nobody writes, at a constant index.
func ruleEntry(c *folder, d *clif.InstData) (clif.Value, bool) {
	entries := c.entries(d)
	x, ok := c.constant(d.ArgA())
	if !ok || x >= uint64(len(entries)) || entries[x] == clif.ElemComputed || !c.may(RuleEntryFixed) {
		return none, false
	}
	if entries[x] == clif.ElemNull {
		return c.make1(clif.InstData{Op: clif.OpRefNull, Type: d.Type}, d.Type), false
	}
	return c.make1(clif.InstData{Op: clif.OpFuncAddr, Type: d.Type, Aux: uint32(entries[x])}, d.Type), false
}

// ruleIsNull: constants are null or not.
func ruleIsNull(c *folder, d *clif.InstData) (clif.Value, bool) {
	if in := c.def(d.ArgA()); in != nil && (in.Op == clif.OpRefNull || in.Op == clif.OpFuncAddr) && c.may(RuleNullConst) {
		if in.Op == clif.OpRefNull {
			return constResult(c, clif.I32, 1)
		}
		return constResult(c, clif.I32, 0)
	}
	if c.madeBy(d.ArgA()) != nil && c.may(RuleNullMade) {
		return constResult(c, clif.I32, 0)
	}
	return none, false
}

// sigCheck drops checks of what is known, or leaves only that of null; it reports whether d is to be dropped.
func (c *folder) sigCheck(d *clif.InstData) bool {
	in, m := c.def(d.ArgA()), c.f.Mod
	switch {
	case in == nil:
	case in.Op == clif.OpRefNull && c.may(RuleSigConst):
		*d = clif.InstData{Op: clif.OpTrap, Cond: uint8(abi.TrapUninitializedElement), Result: none}
		return false
	case in.Op == clif.OpFuncAddr && c.may(RuleSigConst):
		if c.hasSig(in, d.Aux) {
			return true
		}
		if of := &m.Funcs[in.Aux]; of.Import != nil && m.IsSubSig(clif.SigIndex(d.Aux), of.Sig) {
			break // what is imported may be of a subtype of the type that it is imported with
		}
		*d = clif.InstData{Op: clif.OpTrap, Cond: uint8(abi.TrapBadSignature), Result: none}
		return false
	case in.Op == clif.OpTableGet && c.entries(in) != nil && m.Tables[in.Aux].HasOnly && m.IsSubSig(m.Tables[in.Aux].Only, clif.SigIndex(d.Aux)) && c.may(RuleSigOne):
		null := c.make1(clif.InstData{Op: clif.OpRefIsNull, Type: clif.FuncRef, Args: [3]uint32{d.Args[0]}}, clif.I32)
		*d = clif.InstData{Op: clif.OpTrapIf, Cond: uint8(abi.TrapUninitializedElement), Args: [3]uint32{uint32(null)}, Result: none}
		return c.trapIf(d)
	}
	return c.table.find(c, d) != none && c.may(RuleEqualCheck)
}

// hasSig reports whether the function whose address in is is of the type sig, as far as the module knows.
func (c *folder) hasSig(in *clif.InstData, sig uint32) bool {
	return c.f.Mod.IsSubSig(c.f.Mod.Funcs[in.Aux].Sig, clif.SigIndex(sig))
}

// call makes the call d of a function that is known a direct one, and forgets what the callee may write.
func (c *folder) call(d *clif.InstData) {
	if d.Op == clif.OpCallRef {
		c.callKnown(d, clif.OpCall)
	}
	c.changed(d)
}

// callKnown makes d, a call by reference, a direct one with the opcode op, if the function is known.
func (c *folder) callKnown(d *clif.InstData, op clif.Opcode) {
	if in := c.defOp(d.ArgA(), clif.OpFuncAddr); in != nil && c.hasSig(in, d.Aux) && c.may(RuleCallKnown) {
		d.Op, d.Aux, d.Args[0] = op, in.Aux, 0
	}
}
