package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// lowerSigCheck compares the callee's type with the slot of the signature. The read of a
// null reference's type faults on page zero.
func lowerSigCheck(l *lower, _ clif.Inst, d *clif.InstData) {
	typ := l.ReadWord(l.Layout.Type(clif.SigIndex(d.Aux)))
	l.Emit(backend.Inst{Op: asm.CmpMem, Size: 8, Mode: backend.ModeBase, Disp: abi.DescType,
		Tail: backend.TailTrap, Cond: uint8(asm.NE), Trap: uint8(abi.TrapBadSignature)}.Faulting(backend.NullFaults), l.Use(d.ArgA()), typ)
}
