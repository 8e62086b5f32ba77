package asm

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// Shapes returns the operands of the rows: the roles of their forms, with an address's operands instead of the rm operand.
func Shapes() *backend.Shapes { return shapes() }

// shapes makes the table when it is first needed, which is not at the start of each process.
var shapes = sync.OnceValue(makeShapes)

func makeShapes() *backend.Shapes {
	t := &backend.Shapes{Rows: make([]backend.Shape, NumOps), Check: check}
	t.Tails[backend.TailSet] = []Role{def}
	t.Tails[backend.TailSelect] = []Role{useAny, use, again1}
	t.Tails[backend.TailBound] = []Role{use, early}
	t.Tails[backend.TailAdd] = []Role{use, again}
	t.Tails[backend.TailSub] = []Role{use, again}
	for op := range rows {
		r := &rows[op]
		f := &forms[r.Form]
		roles := f.Roles
		if f.RM >= 0 && r.RM == 16 && r.Flags&Whole == 0 && roles[f.RM].Constraint == regalloc.Any {
			// A slot is 8 bytes wide if the value is, and aligned to 8.
			roles = slices.Clone(roles)
			roles[f.RM].Constraint = regalloc.Reg
		}
		t.Rows[op] = backend.Shape{Name: r.Name, Roles: roles, Addr: f.RM, Base: use, Sizes: r.Sizes, Vector: r.Flags&Whole != 0, Wide: wide(r), Variadic: r.Flags&Variadic != 0}
	}
	return t
}

// wide returns backend.Shape.Wide of the row.
func wide(r *Row) (s Sizes) {
	switch rm := forms[r.Form].RM; {
	case rm < 0 || forms[r.Form].Roles[rm].Class != regalloc.Int || forms[r.Form].Roles[rm].Constraint != regalloc.Any:
		return 0
	case r.Sizes == noSize:
		if r.rmWidth(0) == 8 {
			return backend.AnySize
		}
		return 0
	}
	for size := uint8(1); size <= 8; size *= 2 {
		if r.Sizes.Allow(size) && r.rmWidth(size) == 8 {
			s |= Sizes(size)
		}
	}
	return s
}

// NumUses returns how many operands a row reads.
func NumUses(op backend.Op) (n int) {
	for _, r := range forms[rows[op].Form].Roles {
		if r.Access.Reads() {
			n++
		}
	}
	return n
}

// ReadsVector reports whether the operand of op that may be in memory is a whole vector.
func ReadsVector(op backend.Op) bool { return rows[op].RM == 16 }

// check implements backend.Shapes.Check.
func check(inst *backend.Inst) error {
	r := &rows[inst.Op]
	f := &forms[r.Form]
	mem := inst.Mode != backend.ModeNone
	switch {
	case mem && f.Mem == NoMem:
		return fmt.Errorf("takes no address")
	case !mem && f.Mem == MustMem:
		return fmt.Errorf("needs an address")
	case inst.Scale > 3:
		return fmt.Errorf("scale %d", inst.Scale)
	case inst.Tail != backend.TailNone && r.Flags&SetsFlags == 0:
		return fmt.Errorf("has a tail but sets no flags")
	case inst.Tail != backend.TailNone && inst.Cond >= uint8(NumConds),
		r.Flags&HasCond != 0 && !Cond(inst.Cond).IsHardware():
		return fmt.Errorf("condition %d", inst.Cond)
	case inst.Tail == backend.TailBound && inst.Cond != uint8(AE):
		return fmt.Errorf("a bound by condition %d", inst.Cond)
	case (inst.Tail == backend.TailAdd || inst.Tail == backend.TailSub) && Cond(inst.Cond)&^1 != B:
		return fmt.Errorf("condition %d is no carry", inst.Cond)
	case !r.FitsImm(inst.Size, inst.Imm):
		return fmt.Errorf("immediate %d does not fit", inst.Imm)
	}
	return nil
}

// FitsImm reports whether the row can encode imm. The immediates of rows of
// sizes 1, 2 and 4 are taken modulo the size. Immediates of Size 8 are sign-extended
// from 32 bits. Counts and masks are 0 to 255.
func (r *Row) FitsImm(size uint8, imm int64) bool {
	switch r.Imm {
	case IFull, IShort:
		return size != 8 || imm == int64(int32(imm))
	case IByte, IShift:
		return imm >= 0 && imm <= math.MaxUint8
	case IWord:
		return imm >= 0 && imm <= math.MaxUint16
	case INop:
		return imm >= 1 && imm <= maxNop
	}
	return true
}
