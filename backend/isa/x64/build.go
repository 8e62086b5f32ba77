package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// emit appends an instruction with the given registers in the order of its row.
func emit(l *lower, in backend.Inst, regs ...vreg) {
	l.Ops = asm.Operands(l.Ops, &in, regs...)
	l.Push(in, 0)
}

// emitRemat appends an instruction without effects that defines dst.
func emitRemat(l *lower, in backend.Inst, dst vreg) {
	l.Ops = asm.Operands(l.Ops, &in, dst)
	l.PushRemat(in)
}

// emitMem appends an instruction with an address; pre are the registers before the
// address in the row's order, up to one, post those behind.
func emitMem(l *lower, in backend.Inst, a amode, pre, post []vreg) {
	var buf [6]vreg
	regs := append(buf[:0], pre...)
	regs = append(regs, a.regs[:a.n]...)
	regs = append(regs, post...)
	a.set(&in)
	l.Ops = asm.Operands(l.Ops, &in, regs...)
	l.Push(in, 0)
}

// load appends dst = op [a].
func load(l *lower, op backend.Op, size uint8, a amode, dst vreg) {
	in := backend.Inst{Op: op, Size: size}
	a.set(&in)
	switch a.n {
	case 0:
		emit(l, in, dst)
	case 1:
		emit(l, in, a.regs[0], dst)
	default:
		emit(l, in, a.regs[0], a.regs[1], dst)
	}
}

// store appends op [a], v.
func store(l *lower, op backend.Op, size uint8, a amode, v vreg) { load(l, op, size, a, v) }

// storeImm appends op [a], imm.
func storeImm(l *lower, op backend.Op, size uint8, a amode, imm int64) {
	in := backend.Inst{Op: op, Size: size, Imm: imm}
	a.set(&in)
	emit(l, in, a.regs[:a.n]...)
}

// sizeOf is the operand size of type t.
func sizeOf(t clif.Type) uint8 { return uint8(t.Bits() / 8) }

// fits reports whether x is a sign-extended 32-bit immediate.
func fits(x int64) bool { return x == int64(int32(x)) }

// defOf is the definition of v if it is by op on operands of exactly type t: a
// 32-bit operation must not be taken for a 64-bit one through a zero-extension.
func defOf(l *lower, v clif.Value, op clif.Opcode, t clif.Type) *clif.InstData {
	if d := l.DefOp(v, op); d != nil && d.Type == t {
		return d
	}
	return nil
}

// low is the register of v, of which the instruction being lowered reads the low 32
// bits only.
func low(l *lower, v clif.Value) vreg {
	if d := l.DefOp(v, clif.OpIreduce); d != nil && l.Rule("low_ireduce") {
		return l.Use(d.ArgA())
	}
	return l.Use(v)
}

// use is the register of v for an operation of type t.
func use(l *lower, t clif.Type, v clif.Value) vreg {
	if t == clif.I32 {
		return low(l, v)
	}
	return l.Use(v)
}
