package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// lowerSigCheck compares the callee's type with the slot of the signature. The read of a
// null reference's type faults on page zero.
func lowerSigCheck(l *lower, _ clif.Inst, d *clif.InstData) {
	want, typ := l.ReadWord(l.Layout.Type(clif.SigIndex(d.Aux))), l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Ldr, Size: 8, Mode: backend.ModeBase, Disp: abi.DescType}.Faulting(backend.NullFaults), l.Use(d.ArgA()), typ)
	l.Emit(backend.Inst{Op: asm.Cmp, Size: 8, Tail: backend.TailTrap, Cond: uint8(asm.NE), Trap: uint8(abi.TrapBadSignature)}, typ, want)
}
