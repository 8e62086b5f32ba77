package backend

import "github.com/waot-project/waot/clif"

// This file lowers the integer arithmetic that works alike on all machines. Each machine supplies its rows.

// signExtend appends a sign extension of the low bits of d's operand, by the row op.
func signExtend(l *Emit, d *clif.InstData, op Op) {
	l.Emit(Inst{Op: op, Size: SizeOf(d.Type)}, l.Low(d.ArgA()), l.Def(d, 0))
}

func lowerSext8(l *Emit, _ clif.Inst, d *clif.InstData)  { signExtend(l, d, l.Target.Common.Sext8) }
func lowerSext16(l *Emit, _ clif.Inst, d *clif.InstData) { signExtend(l, d, l.Target.Common.Sext16) }
func lowerSext32(l *Emit, _ clif.Inst, d *clif.InstData) { signExtend(l, d, l.Target.Common.Sext32) }

// lowerIreduce clears the upper half. The 64 bits of a load are not read as 32:
// the access must keep its width.
func lowerIreduce(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.Emit(Inst{Op: l.Target.Common.Copy, Size: 4}, l.Use(d.ArgA()), l.Def(d, 0))
}
