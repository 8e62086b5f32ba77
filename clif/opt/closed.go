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
	k := clif.InstData{Op: clif.OpIconst, Type: g.Type, Imm: g.Init}
	switch g.Type {
	case clif.F32, clif.F64:
		k.Op = clif.OpFconst
	case clif.Ref, clif.FuncRef:
		k.Op = clif.OpRefNull
	default:
		k.Imm = c.trunc(g.Type, k.Imm)
	}
	return c.make1(k, g.Type), false
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
