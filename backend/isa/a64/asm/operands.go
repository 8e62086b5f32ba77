package asm

import (
	"fmt"
	"sync"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// Shapes returns the operands of the rows: the roles of their forms. Where there is an address, it replaces role 0. Rows
// with an address have no roles that reuse.
func Shapes() *backend.Shapes { return shapes() }

// shapes makes the table when it is first needed, which is not at the start of each process.
var shapes = sync.OnceValue(makeShapes)

func makeShapes() *backend.Shapes {
	t := &backend.Shapes{Rows: make([]backend.Shape, NumOps), Check: check}
	t.Tails[backend.TailSet] = []Role{def}
	t.Tails[backend.TailSelect] = []Role{use, use, def}
	t.Tails[backend.TailSelectZero] = []Role{use, def}
	t.Tails[backend.TailBound] = []Role{use, def}
	for op := range rows {
		r := &rows[op]
		f := &forms[r.Form]
		s := &t.Rows[op]
		*s = backend.Shape{Name: r.Name, Roles: f.Roles, Addr: -1, Sizes: r.Sizes, Variadic: r.Flags&Variadic != 0}
		if f.Addr {
			s.Addr, s.Base = 0, f.Roles[0]
		}
	}
	return t
}

// check implements backend.Shapes.Check.
func check(inst *backend.Inst) error {
	r := &rows[inst.Op]
	switch {
	case inst.Tail != backend.TailNone && !r.allowsTail(inst.Tail):
		return fmt.Errorf("has a tail but sets no flags")
	case inst.Tail != backend.TailNone && r.Flags&SetsFlags != 0 && inst.Cond >= uint8(NumConds),
		r.Flags&HasCond != 0 && inst.Cond >= uint8(NumConds):
		return fmt.Errorf("condition %d", inst.Cond)
	case r.Addr == AddrNone && inst.Mode != backend.ModeNone:
		return fmt.Errorf("takes no address")
	case r.Addr != AddrNone && inst.Mode == backend.ModeNone:
		return fmt.Errorf("needs an address")
	case !r.fitsLanes(inst.Size, inst.Scale):
		return fmt.Errorf("has no lanes of %d bytes", 1<<inst.Scale)
	case r.Addr != AddrNone && !r.fitsAddress(inst):
		return fmt.Errorf("address of mode %d, scale %d, index extension %d, displacement %d does not fit", inst.Mode, inst.Scale, inst.Imm, inst.Disp)
	}
	if _, ok := immKinds[r.Imm].field(immediateOf(inst)); !ok {
		return fmt.Errorf("immediate %d does not fit", inst.Imm)
	}
	return nil
}

// Chooses returns the row and the size that make the result of the tail of inst, a TailSet, TailSelect or TailSelectZero; c is the
// class of the result. Inst.Choice, if set, is Cset or Csetm; Csel, Csinc, Csinv or Csneg.
func Chooses(inst *backend.Inst, c regalloc.Class) (op backend.Op, size uint8) {
	choice := inst.Choice()
	switch {
	case choice != backend.Form{}:
		return choice.Op, choice.Size
	case inst.Tail == backend.TailSet:
		return Cset, 4
	case c == regalloc.Float:
		return Fcsel, 8
	}
	return Csel, 8
}

// allowsTail reports whether the row may be followed by a tail other than TailNone.
func (r *Row) allowsTail(t backend.Tail) bool {
	return r.Flags&SetsFlags != 0 || r.Flags&SelfTail != 0 && (t == backend.TailJump || t == backend.TailTrap)
}

// fitsAddress reports whether inst's address can be encoded, perhaps in several words.
func (r *Row) fitsAddress(inst *backend.Inst) bool {
	switch inst.Mode {
	case backend.ModeBase, backend.ModeBaseIndex:
		_, ok := r.address(inst)
		return ok
	case backend.ModeConst:
		_, ok := r.address(inst)
		return ok && (r.Lit != 0 || r.Addr == AddrLea)
	case backend.ModeSym:
		return r.Addr == AddrLea || r.Addr == AddrMem && inst.Disp&(int32(r.width(inst.Size))-1) == 0
	case backend.ModeOutArg, backend.ModeLocal:
		return r.Addr == AddrMem || r.Addr == AddrPair || r.Addr == AddrLea
	}
	return false
}
