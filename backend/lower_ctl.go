package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file is the machine-independent part of lowering constants, conditions, jumps, traps, calls and returns.

func lowerIconst(l *Emit, _ clif.Inst, d *clif.InstData) {
	x := int64(d.Imm)
	if d.Type == clif.I32 {
		x = int64(uint32(d.Imm))
	}
	l.IntConst(x, l.Def(d, 0))
}

func lowerRefNull(l *Emit, _ clif.Inst, d *clif.InstData) { l.IntConst(0, l.Def(d, 0)) }

// lowerFuncBits: a reference is the address of a descriptor.
func lowerFuncBits(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.Emit(Inst{Op: l.Target.Common.Copy, Size: 8}, l.Use(d.ArgA()), l.Def(d, 0))
}

// IntConst appends dst = x, rematerialisable.
func (l *Emit) IntConst(x int64, dst regalloc.VReg) {
	in := Inst{Op: l.Target.Common.IntConst, Size: 8, Imm: x}
	if zero := l.Target.Common.Zero; x == 0 && zero != 0 {
		in.Op, in.Size = zero, 4
	}
	l.EmitRemat(in, dst)
}

// Temp appends a fresh register with the constant x.
func (l *Emit) Temp(x int64) regalloc.VReg {
	v := l.NewVReg(clif.I64)
	l.IntConst(x, v)
	return v
}

// lowerFuncAddr appends the reference to a function. The reference to an import is the one that its exporter made.
func lowerFuncAddr(l *Emit, _ clif.Inst, d *clif.InstData) {
	fn := clif.FuncIndex(d.Aux)
	in := Inst{Op: l.Target.Common.Lea, Size: 8}
	off, ok := uint32(0), true
	if l.Layout.IsImport(fn) {
		in.Op, off = l.Full(clif.I64).Op, l.Layout.Import(fn)+abi.ImportDesc
	} else if off, ok = l.Layout.Desc(fn); !ok {
		panic("reference to a function without a descriptor")
	}
	a := InstanceAt(off)
	a.Set(&in)
	l.EmitRemat(in, l.Def(d, 0))
}

// Comparison is an instruction that sets flags or tests a register. It is not yet appended: the consumer adds the tail
// and the tail's registers. In.Cond is the condition under which it holds.
type Comparison struct {
	In   Inst
	n    int
	regs [8]regalloc.VReg
}

// Comparing returns the comparison in, which holds if cond does, without operands yet.
func Comparing[C ~uint8](in Inst, cond C) Comparison {
	in.Cond = uint8(cond)
	return Comparison{In: in}
}

// Add adds operands.
func (c *Comparison) Add(regs ...regalloc.VReg) { c.n += copy(c.regs[c.n:], regs) }

// Address adds a memory operand.
func (c *Comparison) Address(a Address) {
	a.Set(&c.In)
	c.Add(a.Regs[:a.N]...)
}

// Regs returns the operands.
func (c *Comparison) Regs() []regalloc.VReg { return c.regs[:c.n] }

// First returns the first operand.
func (c *Comparison) First() regalloc.VReg { return c.regs[0] }

// Push appends the comparison with the given tail and the tail's registers.
func (c *Comparison) Push(l *Emit, tail Tail, flags regalloc.InstFlags, regs ...regalloc.VReg) {
	c.In.Tail = tail
	c.Add(regs...)
	l.operands(&c.In, c.regs[:c.n]...)
	if tail == TailSelect {
		if from, to := l.BytesOfVReg(regs[0]), l.BytesOfVReg(regs[2]); from == 16 || from < to {
			l.Ops[len(l.Ops)-len(regs)].Constraint = regalloc.Reg // from a slot, another number of bytes would be read
		}
	}
	l.Push(c.In, flags)
}

// Truth returns a comparison that holds if the i32 v is not zero. Comparisons that
// define v are folded; if they have other users too, loads are not folded into them.
func (l *Emit) Truth(v clif.Value) (c Comparison) {
	var invert uint8 // bit 0 of the condition
	held := 0
	for l.isComparison(v) {
		if !l.SingleUse(v) {
			held++
			l.HoldLoads(1)
		}
		if b, ok := l.Fold(RuleCondEqz, clif.I32, v, 4); ok {
			if _, d := l.DefInst(v); d.IntCC() == clif.Eq {
				invert ^= 1
			}
			v = b.X()
			continue
		}
		rule := RuleCondCompare
		if l.defOpcode(v) == clif.OpHeapFull {
			rule = RuleCondFull
		}
		if _, ok := l.Fold(rule, clif.I32, v, 4); !ok {
			break
		}
		_, d := l.DefInst(v)
		c = l.Target.Compare(l, d, v)
		l.HoldLoads(-held)
		c.In.Cond ^= invert
		return c
	}
	c = l.Target.Compare(l, nil, v)
	l.HoldLoads(-held)
	c.In.Cond ^= invert
	return c
}

// isComparison reports whether v is the result of an instruction that compares: icmp, fcmp, ref_is_null, ref_eq, heap_full, or ref_test of anything but functions.
func (l *Query) isComparison(v clif.Value) bool {
	switch l.defOpcode(v) {
	case clif.OpIcmp, clif.OpFcmp, clif.OpRefIsNull, clif.OpRefEq, clif.OpHeapFull:
		return true
	case clif.OpRefTest:
		_, d := l.DefInst(l.Resolve(v))
		return d.Type == clif.Ref
	}
	return false
}

// Holds returns a comparison that holds if the result of d, of isComparison, is 1. If d complements another
// comparison, that one may be used.
func (l *Emit) Holds(d *clif.InstData) Comparison {
	b, ok := l.Fold(RuleCondEqz, clif.I32, d.Result, 4)
	if !ok {
		return l.Target.Compare(l, d, d.Result)
	}
	c := l.Truth(b.X())
	if d.IntCC() == clif.Eq {
		c.In.Cond ^= 1
	}
	return c
}

func lowerTrap(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.Push(Inst{Op: OpTrap, Trap: d.Cond}, regalloc.IsTerminator)
}

func lowerCharge(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.charge(Inst{Op: l.Target.Common.Charge, Size: 8, Imm: int64(d.Imm), Trap: d.Cond})
}

func lowerChargeBy(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg))
	l.charge(Inst{Op: l.Target.Common.ChargeBy, Size: 8, Trap: d.Cond})
}

func (l *Emit) charge(in Inst) {
	if !l.Target.CountsFuel {
		panic("a charge for a target without a register for the count of fuel")
	}
	l.Push(in, 0)
}

func lowerJump(l *Emit, _ clif.Inst, _ *clif.InstData) { l.JumpIfOne() }

// JumpIfOne appends the end of the block being lowered if the block has one successor, and reports that.
func (l *Emit) JumpIfOne() bool {
	if l.NumSuccs() != 1 {
		return false
	}
	l.Push(Inst{Op: OpJump}, regalloc.IsTerminator)
	return true
}

// MaxChain is the largest number of entries of a br_table that becomes a chain of comparisons.
const MaxChain = 4

func lowerBrTable(l *Emit, _ clif.Inst, d *clif.InstData) {
	if !l.JumpIfOne() {
		lowerTable(l, d, 0)
	}
}

// lowerTableFirst applies RuleTableFirst.
func lowerTableFirst(l *Emit, m *Match) {
	entries := l.TableEdges(int(m.D.Args[2]))
	first := 1
	for first < len(entries)-1 && entries[first] == entries[0] {
		l.F.Stop.PollAt(first)
		first++
	}
	lowerTable(l, m.D, first)
}

// lowerTable appends the jump table of the br_table d; a comparison in front of it decides its first entries.
func lowerTable(l *Emit, d *clif.InstData, first int) {
	in := jumpTable(l, l.Target.Common.JumpTable, d)
	in.SetFirst(first)
	index := l.Use(d.ArgA())
	if l.noSpectre {
		in.Op = l.Target.Common.JumpTableBare
	}
	if len(l.Target.Landing) > 0 {
		l.vc.Indirect = append(l.vc.Indirect, in.Table())
	}
	l.Ops = append(l.Ops, regalloc.UseOf(index, regalloc.Reg),
		regalloc.Operand{VReg: l.NewVReg(clif.I64), Constraint: regalloc.Reg, Access: regalloc.EarlyDef},
		regalloc.DefOf(l.NewVReg(clif.I64), regalloc.Reg))
	l.Push(in, regalloc.IsTerminator)
}

// jumpTable returns op with the entries of the br_table d.
func jumpTable(l *Emit, op Op, d *clif.InstData) Inst {
	entries := l.TableEdges(int(d.Args[2]))
	return Inst{Op: op, Size: 4}.OfTable(l.JumpTable(entries, op == l.Target.Common.JumpChain), len(entries)-1)
}

// lowerChain applies RuleTableChain.
func lowerChain(l *Emit, m *Match) {
	in := jumpTable(l, l.Target.Common.JumpChain, m.D)
	l.Ops = append(l.Ops, regalloc.UseOf(l.Use(m.X()), regalloc.Reg))
	l.Push(in, regalloc.IsTerminator)
}

func lowerCall(l *Emit, _ clif.Inst, d *clif.InstData) {
	fn := clif.FuncIndex(d.Aux)
	in := Inst{Op: l.Target.Common.Call}.OfSymbol(SymFunc(d.Aux))
	if l.Layout.IsImport(fn) {
		in = l.callSlot(l.Layout.Import(fn))
	}
	l.Call(d, l.Mod.FuncSig(fn), in)
}

func lowerCallRef(l *Emit, _ clif.Inst, d *clif.InstData) {
	in := Inst{Op: l.Target.Common.CallInd, Size: 8, Mode: ModeBase, Disp: abi.DescCode}
	l.Call(d, &l.Mod.Sigs[d.Aux], in, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg))
}

func lowerReturnCall(l *Emit, _ clif.Inst, d *clif.InstData) {
	fn := clif.FuncIndex(d.Aux)
	in := Inst{Op: l.Target.Common.TailCall}.OfSymbol(SymFunc(d.Aux))
	if l.Layout.IsImport(fn) {
		in = Inst{Op: l.Target.Common.TailCallInd, Size: 8}
		a := InstanceAt(l.Layout.Import(fn))
		a.Set(&in)
	}
	l.TailCall(d, l.Mod.FuncSig(fn), in)
}

func lowerReturnCallRef(l *Emit, _ clif.Inst, d *clif.InstData) {
	code := l.NewVReg(clif.I64)
	l.loadWord(Based(l.Use(d.ArgA()), abi.DescCode), code)
	l.TailCall(d, &l.Mod.Sigs[d.Aux], Inst{Op: l.Target.Common.TailCallReg, Size: 8}, regalloc.FixedUse(code, l.Target.TailCallee))
}

func lowerReturn(l *Emit, _ clif.Inst, d *clif.InstData) {
	for n, v := range l.F.ListOperands(d) {
		if base, word, ok := l.Hidden(n); ok {
			l.storeReg(Based(base, int32(8*word)), l.Use(clif.Value(v)))
		}
	}
	l.ReturnOps(d)
	l.Push(Inst{Op: l.Target.Common.Ret}, regalloc.IsTerminator|regalloc.IsReturn)
}
