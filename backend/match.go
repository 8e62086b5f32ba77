package backend

import (
	"math"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// This file answers questions of lowering functions about values at the current place of the function: which registers they have, and whether their
// definitions may be folded. DefUse answers those that do not depend on the place.

// ClassOf returns the bank for values of type t.
func ClassOf(t clif.Type) regalloc.Class {
	if t.IsFloat() || t == clif.V128 {
		return regalloc.Float
	}
	return regalloc.Int
}

// NewVReg returns a fresh virtual register for values of type t. In that of an i32 the upper half is zero.
func (l *Place) NewVReg(t clif.Type) regalloc.VReg {
	in := &l.code.In
	info := regalloc.VRegInfo{Class: ClassOf(t), Bytes: 8, Ref: t == clif.Ref, Remat: regalloc.NoInst}
	switch t {
	case clif.I32:
		info.Bytes = 4
	case clif.V128:
		info.Bytes = 16
		l.code.HasVectors = true
	}
	in.VRegs = append(in.VRegs, info)
	return regalloc.VReg(len(in.VRegs) - 1)
}

// ClassOfVReg returns the bank of r.
func (l *Query) ClassOfVReg(r regalloc.VReg) regalloc.Class { return l.code.In.VRegs[r].Class }

// BytesOfVReg returns how many bytes the values of r have.
func (l *Query) BytesOfVReg(r regalloc.VReg) uint8 { return l.code.In.VRegs[r].Bytes }

// Use returns the register of v, which the instruction being lowered needs.
func (l *Place) Use(v clif.Value) regalloc.VReg {
	v = l.Resolve(v)
	r := l.vregs[v]
	if r == regalloc.NoVReg {
		r = l.newVRegOf(v)
		l.vregs[v] = r
		l.noteConst(v)
	}
	return r
}

// Def returns the register of result n of d, a fresh one if nothing uses it.
func (l *Place) Def(d *clif.InstData, n int) regalloc.VReg {
	v := d.Result + clif.Value(n)
	r := l.vregs[v]
	if r == regalloc.NoVReg {
		r = l.newVRegOf(v)
		l.vregs[v] = r
	}
	return r
}

// newVRegOf returns a fresh virtual register for the value v. An i64 for which an i32 stands is one of 4 bytes, too, and a mask one of 8.
func (l *Place) newVRegOf(v clif.Value) regalloc.VReg {
	t := l.F.Values[v].Type
	switch {
	case l.halves[v]:
		t = clif.I32
	case l.wholes[v]:
		t = clif.I64
	}
	return l.NewVReg(t)
}

// OnlyDef is DefOf for a definition that has no other user.
func (l *Query) OnlyDef(v clif.Value, op clif.Opcode, t clif.Type) *clif.InstData {
	if d := l.DefOf(v, op, t); d != nil && l.OnlyUse(v) {
		return d
	}
	return nil
}

// Low returns the register of v for an instruction that reads only the low 32
// bits.
func (l *Emit) Low(v clif.Value) regalloc.VReg {
	if l.defOpcode(v) == clif.OpIreduce {
		if b, ok := l.Fold(RuleLowReduce, clif.I32, v, 4); ok {
			v = b.X()
		}
	}
	return l.Use(v)
}

// LowBut is Low of x if rule r, of TermOperand, replaces v, an operand of type t, by x; else it is Low of v.
func (l *Emit) LowBut(r Rule, t clif.Type, v clif.Value) regalloc.VReg {
	if b, ok := l.Fold(r, t, v, 1); ok {
		v = b.X()
	}
	return l.Low(v)
}

// UseAs returns the register of v for an operation of type t.
func (l *Emit) UseAs(t clif.Type, v clif.Value) regalloc.VReg {
	if t == clif.I32 {
		return l.Low(v)
	}
	return l.Use(v)
}

// Narrow returns a value with the same low bytes as v. It skips operations that change only the
// other bytes.
func (l *Emit) Narrow(v clif.Value, bytes int) clif.Value {
	for {
		rule := RuleNarrowExtend
		switch l.defOpcode(v) {
		case clif.OpIreduce, clif.OpSextend:
		case clif.OpSext8:
			rule = RuleNarrowSext8
		case clif.OpSext16:
			rule = RuleNarrowSext16
		case clif.OpBand:
			rule = RuleNarrowMask
		default:
			return v
		}
		b, ok := l.Fold(rule, l.F.TypeOf(v), v, bytes)
		if !ok {
			return v
		}
		v = b.X()
	}
}

// FloatBits returns the constant x of type t.
func FloatBits(t clif.Type, x float64) uint64 {
	if t == clif.F32 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// SignBit returns the sign bit of the float type t.
func SignBit(t clif.Type) uint64 { return 1 << (t.Bits() - 1) }

// SizeOf returns the operand size in bytes of type t.
func SizeOf(t clif.Type) uint8 { return uint8(t.Bits() / 8) }

// OnlyUse reports whether the instruction being lowered is the only user of v, so
// that folding v's definition saves it.
func (l *Query) OnlyUse(v clif.Value) bool {
	v = l.Resolve(v)
	return l.uses[v] == 1 && l.vregs[v] == regalloc.NoVReg && l.noSink == 0
}

// Release takes back a use of v by the instruction being lowered, which repeats v's definition instead. An earlier user may then become v's
// only one.
func (l *Place) Release(v clif.Value) {
	if v = l.Resolve(v); l.uses[v] < maxUses {
		l.uses[v]--
	}
}

// SinkableLoad returns the instruction that loads v from a linear memory, or reads a
// global or a size, if the instruction being lowered may do that instead: it is
// v's only user, and no write, call or other trap lies between. Loads do not pass each
// other, either: the first one must trap first. Nor can a trapif do a load: an instruction
// has one source, and the two traps have different ones.
func (l *Query) SinkableLoad(v clif.Value) (clif.Inst, *clif.InstData) {
	v = l.Resolve(v)
	vd := &l.F.Values[v]
	if vd.Kind != clif.ValueResult || l.uses[v] != 1 || l.noSink > 0 || l.vregs[v] != regalloc.NoVReg {
		return clif.NoInst, nil
	}
	i := clif.Inst(vd.Def)
	d := &l.F.Insts[i]
	if l.color[i] != l.color[l.cur] {
		return clif.NoInst, nil
	}
	switch d.Op {
	case clif.OpLoad:
		if l.loads[i]+1 == l.loads[l.cur] && l.F.Insts[l.cur].Op != clif.OpTrapIf {
			return i, d
		}
	case clif.OpGlobalGet, clif.OpMemorySize, clif.OpTableSize:
		return i, d
	}
	return clif.NoInst, nil
}

// sink marks a load, or another instruction with a result, as folded into the instruction being lowered.
func (l *Emit) sink(i clif.Inst) {
	l.sunk[i] = true
	if l.F.Insts[i].Op == clif.OpLoad && !l.inBounds[i] { // else only the user may fault
		l.foldLoad(l.F.Srcs[i])
	}
}

// HoldLoads keeps loads from being sunk: n of 1 begins this, n of -1 ends it, and it nests. It is for the operands of a
// definition that is folded although it has other users.
func (l *Place) HoldLoads(n int) { l.noSink += n }

// maxDelay is the largest number of instructions that a definition is moved past.
const maxDelay = 16

// Delayed returns the instruction that defines v, which has no effects, if the terminator being lowered may do its
// work: it is in the same block, and nothing between the two uses v. The instruction with the only result except
// may use v, since it is folded into the terminator too.
func (l *Query) Delayed(v, except clif.Value) (clif.Inst, *clif.InstData) {
	v = l.Resolve(v)
	i, d := l.DefInst(v)
	if d == nil || !d.Op.IsPure() || l.sunk[i] || l.Order.Blocks[l.block].Orig == clif.NoBlock {
		return clif.NoInst, nil
	}
	bd := &l.F.Blocks[l.Order.Blocks[l.block].Orig]
	if i < bd.Start || i >= bd.End {
		return clif.NoInst, nil
	}
	end := l.F.Terminator(l.Order.Blocks[l.block].Orig)
	if end > i+maxDelay {
		return clif.NoInst, nil
	}
	for k := i + 1; k < end; k++ {
		if u := &l.F.Insts[k]; l.reads(u, v) && !(u.NumResults == 1 && u.Result == except) {
			return clif.NoInst, nil
		}
	}
	return i, d
}

// JumpTable returns the number of a jump table with the given edges of the block. If chained is set, a chain of comparisons
// takes the place of the table.
func (l *Emit) JumpTable(edges []uint32, chained bool) uint32 {
	succs := l.Order.SuccsOf(l.block)
	s := uint32(len(l.vc.TableBlocks))
	l.vc.TableBlocks = stop.Grow(l.F.Stop, l.vc.TableBlocks, len(edges))
	for _, e := range edges {
		l.vc.TableBlocks = append(l.vc.TableBlocks, regalloc.Block(succs[e].To))
	}
	l.vc.Tables = append(l.vc.Tables, regalloc.Range{Start: s, End: uint32(len(l.vc.TableBlocks))})
	l.vc.Chained = append(l.vc.Chained, chained)
	return uint32(len(l.vc.Tables) - 1)
}

// NumSuccs returns the number of edges out of the block being lowered.
func (l *Query) NumSuccs() int { return len(l.Order.SuccsOf(l.block)) }

// TableEdges returns the edges of the n entries of the br_table being lowered.
func (l *Query) TableEdges(n int) []uint32 {
	return l.Order.TableEdges(l.Order.Blocks[l.block].Orig, n)
}

// LoopDepth returns the loop depth of the block being lowered.
func (l *Query) LoopDepth() int { return int(l.Order.Blocks[l.block].LoopDepth) }
