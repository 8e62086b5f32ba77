package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

func lowerRefNull(l *lower, _ clif.Inst, d *clif.InstData) { intConst(l, 0, l.Def(d, 0)) }

// lowerFuncAddr: the reference of an import is the exporter's.
func lowerFuncAddr(l *lower, _ clif.Inst, d *clif.InstData) {
	fn := clif.FuncIndex(d.Aux)
	in := backend.Inst{Op: asm.Lea, Size: 8}
	off, ok := uint32(0), true
	if l.Layout.IsImport(fn) {
		in.Op, off = asm.Ldr, l.Layout.Import(fn)+8
	} else if off, ok = l.Layout.Desc(fn); !ok {
		panic("reference to a function without a descriptor")
	}
	a := sym(off)
	a.set(&in)
	emitRemat(l, in, l.Def(d, 0))
}

// lowerSigCheck compares the callee's type with the slot of the signature. The read of a
// null reference's type faults on page zero.
func lowerSigCheck(l *lower, _ clif.Inst, d *clif.InstData) {
	want, typ := readSym(l, l.Layout.Type(clif.SigIndex(d.Aux))), l.NewVReg(clif.I64)
	emit(l, backend.Inst{Op: asm.Ldr, Size: 8, Mode: backend.ModeBase, Disp: abi.DescType, Ref: backend.NullFaults}, l.Use(d.ArgA()), typ)
	emit(l, backend.Inst{Op: asm.Cmp, Size: 8, Tail: backend.TailTrap, Cond: uint8(asm.NE), Trap: uint8(abi.TrapBadSignature)}, typ, want)
}

// callSlot is a call of the function whose address is in the slot at offset off of the instance data.
func callSlot(off uint32) backend.Inst {
	in := backend.Inst{Op: opCallInd, Size: 8}
	a := sym(off)
	a.set(&in)
	return in
}

func lowerCall(l *lower, _ clif.Inst, d *clif.InstData) {
	fn := clif.FuncIndex(d.Aux)
	in := backend.Inst{Op: asm.Bl, Ref: uint32(backend.SymFunc(d.Aux))}
	if l.Layout.IsImport(fn) {
		in = callSlot(l.Layout.Import(fn))
	}
	l.Call(d, l.Mod.FuncSig(fn), in)
}

func lowerCallRef(l *lower, _ clif.Inst, d *clif.InstData) {
	in := backend.Inst{Op: opCallInd, Size: 8, Mode: backend.ModeBase, Disp: abi.DescCode, Ref: backend.NoFault}
	l.Call(d, &l.Mod.Sigs[d.Aux], in, regalloc.UseOf(l.Use(d.ArgA()), regalloc.Reg))
}

// storeOutArg is backend.Target.StoreOutArg.
func storeOutArg(l *lower, v vreg, word int) {
	op := asm.Str
	if l.ClassOfVReg(v) == regalloc.Float {
		op = asm.Fstr
	}
	emit(l, backend.Inst{Op: op, Size: 8, Mode: backend.ModeOutArg, Disp: int32(8 * word)}, v)
}

// localAddr is backend.Target.LocalAddr.
func localAddr(l *lower, dst vreg) {
	emit(l, backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeLocal}, dst)
}

// loadResult is backend.Target.LoadResult.
func loadResult(l *lower, dst vreg, word int) {
	op := asm.Ldr
	if l.ClassOfVReg(dst) == regalloc.Float {
		op = asm.Fldr
	}
	emit(l, backend.Inst{Op: op, Size: 8, Mode: backend.ModeLocal, Disp: int32(8 * word)}, dst)
}

func lowerReturn(l *lower, _ clif.Inst, d *clif.InstData) {
	for n, v := range l.F.VarArgs(d) {
		if base, word, ok := l.Hidden(n); ok {
			r := l.Use(clif.Value(v))
			op := asm.Str
			if l.ClassOfVReg(r) == regalloc.Float {
				op = asm.Fstr
			}
			store(l, op, 8, based(base, int32(8*word)), r)
		}
	}
	l.ReturnOps(d)
	l.Push(backend.Inst{Op: asm.Ret}, regalloc.IsTerminator|regalloc.IsReturn)
}
