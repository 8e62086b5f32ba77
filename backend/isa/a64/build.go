package a64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
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

// load appends dst = op [a].
func load(l *lower, op backend.Op, size uint8, a amode, dst vreg) {
	in := backend.Inst{Op: op, Size: size}
	a.reach(l, op, size)
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

// sizeOf is the operand size of type t.
func sizeOf(t clif.Type) uint8 { return uint8(t.Bits() / 8) }

// defOf is the definition of v if it is by op on operands of exactly type t: a
// 32-bit operation must not be taken for a 64-bit one through a zero-extension.
func defOf(l *lower, v clif.Value, op clif.Opcode, t clif.Type) *clif.InstData {
	if d := l.DefOp(v, op); d != nil && d.Type == t {
		return d
	}
	return nil
}

// onlyDef is defOf for a definition that has no other user.
func onlyDef(l *lower, v clif.Value, op clif.Opcode, t clif.Type) *clif.InstData {
	if d := defOf(l, v, op, t); d != nil && l.OnlyUse(v) {
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

// constLast is x and y, exchanged if x is a constant.
func constLast(l *lower, x, y clif.Value) (clif.Value, clif.Value) {
	if _, ok := l.Iconst(x); ok {
		return y, x
	}
	return x, y
}

// amount is the constant y as the amount of a shift of type t.
func amount(l *lower, t clif.Type, y clif.Value) (int, bool) {
	k, ok := l.Iconst(y)
	return int(k) & (t.Bits() - 1), ok
}

// shiftedBy is the operand and the amount of v, if it is op by a constant other than 0 and
// has no other user.
func shiftedBy(l *lower, v clif.Value, op clif.Opcode, t clif.Type) (x clif.Value, k int, ok bool) {
	d := onlyDef(l, v, op, t)
	if d == nil {
		return 0, 0, false
	}
	k, ok = amount(l, t, d.ArgB())
	return d.ArgA(), k, ok && k != 0
}

// maskedBy is the operand and the constant of v, if it is x & constant and has no other user.
func maskedBy(l *lower, v clif.Value, t clif.Type) (x clif.Value, m uint64, ok bool) {
	d := onlyDef(l, v, clif.OpBand, t)
	if d == nil {
		return 0, 0, false
	}
	x, y := constLast(l, d.ArgA(), d.ArgB())
	m, ok = l.Iconst(y)
	return x, m, ok
}

// ones is the width of m if it is a row of ones from bit 0, else 0.
func ones(m uint64) int {
	if m&(m+1) != 0 {
		return 0
	}
	return bits.Len64(m)
}
