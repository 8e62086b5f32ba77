package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file lowers exceptions. The one that is under way is a part of the instance data; what unwinds and makes references are helpers.

// lowerCatch lowers the call that the catch belongs to: it ends the block. What is between in CLIF has no effects and does not use the results, so it comes to stand in front.
func lowerCatch(l *Emit, i clif.Inst, _ *clif.InstData) {
	l.code.HasExceptions = true
	call := l.F.CaughtCall(l.Order.Blocks[l.block].Orig)
	l.sunk[call] = true
	l.cur, l.src = call, l.F.Srcs[call]
	l.flags = regalloc.IsTerminator | regalloc.MayThrow
	d := &l.F.Insts[call]
	l.Target.Lower[d.Op](l, call, d)
	l.cur, l.flags = i, 0
}

// lowerResults appends the loads of those results of a call that are in memory, at the start of the block behind it.
func (l *lowering) lowerResults(call clif.Inst) {
	d := &l.F.Insts[call]
	l.assign(&l.sig, l.Mod.CalleeSig(d))
	l.group(l.F.Srcs[call])
	for n, loc := range l.sig.Results {
		if !loc.InReg && l.vregs[int(d.Result)+n] != regalloc.NoVReg {
			l.loadReg(Address{Mode: ModeLocal, Disp: 8 * int32(loc.Word)}, l.Def(d, n))
		}
	}
}

// exception returns the place of the exception under way, at offset off.
func (l *Emit) exception(off int) Address {
	l.code.HasExceptions = true
	return InstanceAt(l.Layout.Exception() + uint32(off))
}

// exceptionAddress appends the address of the exception under way.
func (l *Emit) exceptionAddress() regalloc.VReg {
	v := l.NewVReg(clif.I64)
	l.Access(l.Target.Common.Lea, 8, l.exception(0), v)
	return v
}

func lowerExnSet(l *Emit, _ clif.Inst, d *clif.InstData) {
	types := l.Mod.TagSig(d.Aux).Params
	l.storeReg(l.exception(abi.ExceptionTag), l.ReadWord(l.Layout.Tag(d.Aux)))
	putZero(l, l.exception(abi.ExceptionRef))
	for n, v := range l.F.ListOperands(d) {
		l.storeReg(l.exception(abi.ExceptionArgs+8*abi.ExceptionWord(types, n)), l.Use(clif.Value(v)))
	}
}

func lowerExnArgs(l *Emit, _ clif.Inst, d *clif.InstData) {
	types := l.Mod.TagSig(d.Aux).Params
	for n := range types {
		if l.vregs[int(d.Result)+n] != regalloc.NoVReg {
			l.loadReg(l.exception(abi.ExceptionArgs+8*abi.ExceptionWord(types, n)), l.Def(d, n))
		}
	}
}

func lowerExnTag(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.loadWord(l.exception(abi.ExceptionTag), l.Def(d, 0))
}

// lowerTagAddr appends a rematerialisable load: the slot does not change.
func lowerTagAddr(l *Emit, _ clif.Inst, d *clif.InstData) {
	f := l.Full(clif.I64)
	in := Inst{Op: f.Op, Size: f.Size}
	a := InstanceAt(l.Layout.Tag(d.Aux))
	a.Set(&in)
	l.EmitRemat(in, l.Def(d, 0))
}

func lowerExnRef(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.HelperCall(abi.HelperExceptionRef, l.Def(d, 0), l.exceptionAddress())
}

func lowerExnOpen(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.HelperCall(abi.HelperExceptionOpen, regalloc.NoVReg, l.exceptionAddress(), l.Use(d.ArgA()))
}

// lowerRaise appends the call of what unwinds, behind which nothing runs: that the return address is in the function, the trap sees to.
func lowerRaise(l *Emit, _ clif.Inst, _ *clif.InstData) {
	l.HelperCall(abi.HelperRaise, regalloc.NoVReg, l.exceptionAddress())
	l.Push(Inst{Op: OpTrap, Trap: uint8(abi.TrapUnreachable)}, regalloc.IsTerminator)
}
