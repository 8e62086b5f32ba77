package a64

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// amount is the constant y as the amount of a shift of type t.
func amount(l *lower, t clif.Type, y clif.Value) (int, bool) {
	k, ok := l.Iconst(y)
	return int(k) & (t.Bits() - 1), ok
}

// shiftedBy is the operand and the amount of v, if it is op by a constant other than 0 and
// has no other user.
func shiftedBy(l *lower, v clif.Value, op clif.Opcode, t clif.Type) (x clif.Value, k int, ok bool) {
	d := l.OnlyDef(v, op, t)
	if d == nil {
		return 0, 0, false
	}
	k, ok = amount(l, t, d.ArgB())
	return d.ArgA(), k, ok && k != 0
}

// maskedBy is the operand and the constant of v, if it is x & constant and has no other user.
func maskedBy(l *lower, v clif.Value, t clif.Type) (x clif.Value, m uint64, ok bool) {
	d := l.OnlyDef(v, clif.OpBand, t)
	if d == nil {
		return 0, 0, false
	}
	x, y := l.ConstLast(d.ArgA(), d.ArgB())
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
