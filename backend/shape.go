package backend

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/regalloc"
)

// Role describes one operand of an instruction.
type Role struct {
	Access     regalloc.Access
	Class      regalloc.Class
	Constraint regalloc.Constraint
	// Arg is the register that Fixed, or the number of the role that Reuse names; in a tail it counts from the
	// tail's first one.
	Arg uint8
	// InPlace: the register that is read is overwritten too. The contract of regalloc has no such operand, so
	// these rows are for emission only, not for VCode.
	InPlace bool
}

// Sizes is a set of operand sizes: bit value n for n bytes. If the set is empty, Inst.Size does not matter.
type Sizes uint8

// AnySize, as the value of Shape.Wide, stands for all sizes, and none.
const AnySize Sizes = 1<<8 - 1

// Allow reports whether size is in the set.
func (s Sizes) Allow(size uint8) bool {
	return s == 0 || size != 0 && size&(size-1) == 0 && s&Sizes(size) != 0
}

// Shape is the operands of an instruction of an ISA's table.
type Shape struct {
	Name  string
	Roles []Role
	// Addr is the role that the registers of an address replace, if the Inst has an address; -1 if it never has.
	Addr int8
	// Base is the role of each of these registers.
	Base  Role
	Sizes Sizes
	// Vector: the operand Addr, where its constraint is Any, is a vector of 16 bytes; else it is not.
	Vector bool
	// Wide has the sizes for which 8 bytes are read of the operand Addr where it may be an integer in a slot; AnySize: for all.
	Wide Sizes
	// Variadic: any number of further operands may follow, for the arguments and results of calls.
	Variadic bool
}

// Shapes are an ISA's table of instructions, as far as the back end reads it.
type Shapes struct {
	// Rows has the instructions by Op. Greater Ops are pseudo-instructions; no row describes their operands.
	Rows []Shape
	// Tails are the operands of the tails. The operands of TailSelect have the class of the last one, its result.
	Tails [NumTails][]Role
	// Check reports what is wrong with the fields of the Inst, except for size and the numbers of mode and tail.
	Check func(inst *Inst) error
}

// addrRegs is the number of registers of an address by Mode; 1 for ModeNone, the operand itself.
var addrRegs = [NumModes]int8{
	ModeNone: 1, ModeBase: 1, ModeBaseIndex: 2, ModeSym: 0, ModeConst: 0, ModeOutArg: 0, ModeLocal: 0, ModeIndex: 1,
}

// NumRegs returns the number of registers (base, then index) of an address: 0 to 2. It is 1 for ModeNone: the operand
// that an address may replace.
func (m Mode) NumRegs() int { return int(addrRegs[m]) }

// NumOwn returns the number of inst's operands, not counting those of its tail. For a Variadic row it counts only operands
// that have roles.
func (t *Shapes) NumOwn(inst *Inst) int {
	s := &t.Rows[inst.Op]
	n := len(s.Roles)
	if s.Addr >= 0 {
		n += inst.Mode.NumRegs() - 1
	}
	return n
}

// NumOperands returns the number of inst's operands that NumOwn counts, and of its tail's.
func (t *Shapes) NumOperands(inst *Inst) int { return t.NumOwn(inst) + len(t.Tails[inst.Tail]) }

// Role returns the role of operand number k; Arg of Reuse is a number of an operand.
func (t *Shapes) Role(inst *Inst, k int) Role {
	s := &t.Rows[inst.Op]
	addr, more := int(s.Addr), 0 // operands more than roles
	if addr >= 0 {
		more = inst.Mode.NumRegs() - 1
	}
	own := len(s.Roles) + more
	if k >= own {
		r := t.Tails[inst.Tail][k-own]
		if r.Constraint == regalloc.Reuse {
			r.Arg += uint8(own)
		}
		return r
	}
	if addr >= 0 && k >= addr {
		if k > addr+more {
			k -= more
		} else if inst.Mode != ModeNone {
			return s.Base
		}
	}
	r := s.Roles[k]
	if r.Constraint == regalloc.Reuse && addr >= 0 && int(r.Arg) > addr {
		r.Arg += uint8(more)
	}
	return r
}

// wide returns the number of inst's operand that may be in a slot and of which 8 bytes are read, -1 if there is none.
func (t *Shapes) wide(inst *Inst) int {
	if int(inst.Op) >= len(t.Rows) || inst.Mode != ModeNone {
		return -1
	}
	if s := &t.Rows[inst.Op]; s.Wide&Sizes(inst.Size) != 0 || s.Wide == AnySize {
		return int(s.Addr)
	}
	return -1
}

// Operands appends inst's operands to dst, with constraints: first those of its roles, where the registers of an address
// replace role Addr, then those of the tail. vregs are their virtual registers in this order; there must be
// NumOperands(inst) of them. The caller appends the further operands of Variadic rows. The operands of a
// pseudo-instruction in front of the tail's are uses.
func (t *Shapes) Operands(dst []regalloc.Operand, inst *Inst, vregs ...regalloc.VReg) []regalloc.Operand {
	if int(inst.Op) >= len(t.Rows) {
		return t.pseudoOperands(dst, inst, vregs)
	}
	roles := t.Rows[inst.Op].Roles
	own := 0
	if inst.Mode == ModeNone && len(roles) <= len(vregs) { // the roles as they are
		own = len(roles)
		for k := range roles {
			dst = append(dst, roles[k].operand(vregs[k]))
		}
		if own == len(vregs) && inst.Tail == TailNone {
			return dst
		}
	}
	if n := t.NumOperands(inst); n != len(vregs) {
		panic(fmt.Sprintf("%s takes %d operands, not %d", t.Rows[inst.Op].Name, n, len(vregs)))
	}
	for k := own; k < len(vregs); k++ {
		r := t.Role(inst, k)
		dst = append(dst, r.operand(vregs[k]))
	}
	return dst
}

// operand returns the operand with this role that is v.
func (r *Role) operand(v regalloc.VReg) regalloc.Operand {
	return regalloc.Operand{VReg: v, Constraint: r.Constraint, Access: r.Access, Arg: uint16(r.Arg)}
}

// pseudoOperands is Operands of a pseudo-instruction.
func (t *Shapes) pseudoOperands(dst []regalloc.Operand, inst *Inst, vregs []regalloc.VReg) []regalloc.Operand {
	tail := t.Tails[inst.Tail]
	own := len(vregs) - len(tail)
	for k, v := range vregs {
		r := Role{Access: regalloc.Use, Constraint: regalloc.Reg}
		if k >= own {
			r = tail[k-own]
		}
		if r.Constraint == regalloc.Reuse {
			r.Arg += uint8(own)
		}
		dst = append(dst, r.operand(v))
	}
	return dst
}

// Verify checks an instruction of VCode against its row: size, mode, tail, what Check looks at; number, access,
// constraint and class of the operands. An operand may be constrained more tightly than the row asks: Fixed for
// Reg, any for Any, LateUse for Use, EarlyDef for Def.
func (t *Shapes) Verify(inst *Inst, operands []regalloc.Operand, vregs []regalloc.VRegInfo) error {
	if int(inst.Op) >= len(t.Rows) || t.Rows[inst.Op].Name == "" {
		return fmt.Errorf("no row %d", inst.Op)
	}
	s := &t.Rows[inst.Op]
	if err := t.verify(s, inst, operands, vregs); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

func (t *Shapes) verify(s *Shape, inst *Inst, operands []regalloc.Operand, vregs []regalloc.VRegInfo) error {
	switch {
	case !s.Sizes.Allow(inst.Size):
		return fmt.Errorf("has no size %d", inst.Size)
	case inst.Mode >= NumModes:
		return fmt.Errorf("unknown mode %d", inst.Mode)
	case inst.Tail >= NumTails:
		return fmt.Errorf("unknown tail %d", inst.Tail)
	}
	if err := t.Check(inst); err != nil {
		return err
	}
	n := t.NumOperands(inst)
	if len(operands) < n || len(operands) > n && !s.Variadic {
		return fmt.Errorf("has %d operands, not %d", len(operands), n)
	}
	for k, op := range operands {
		if int(op.VReg) >= len(vregs) {
			return fmt.Errorf("operand %d: %v does not exist", k, op.VReg)
		}
	}
	own := t.NumOwn(inst)
	for k, op := range operands[:n] {
		r := t.Role(inst, k)
		if inst.Tail == TailSelect && k >= own {
			r.Class = vregs[operands[n-1].VReg].Class
		}
		if err := r.verify(op, vregs[op.VReg].Class); err != nil {
			return fmt.Errorf("operand %d, %v, %w", k, op.VReg, err)
		}
		if op.Constraint != regalloc.Any {
			continue
		}
		bytes := vregs[op.VReg].Bytes
		narrow := bytes == 4 && (k == t.wide(inst) || k >= own && vregs[operands[n-1].VReg].Bytes != 4)
		if narrow || (bytes == 16) != (s.Vector && k == int(s.Addr) && inst.Mode == ModeNone) {
			return fmt.Errorf("operand %d, %v, may be in a slot of another width than is read", k, op.VReg)
		}
	}
	return nil
}

// verify compares an operand, of the given class, with its role.
func (r *Role) verify(op regalloc.Operand, class regalloc.Class) error {
	access := op.Access == r.Access ||
		op.Access == regalloc.LateUse && r.Access == regalloc.Use ||
		op.Access == regalloc.EarlyDef && r.Access == regalloc.Def
	constraint := op.Constraint == r.Constraint ||
		r.Constraint == regalloc.Any && op.Constraint != regalloc.Reuse ||
		r.Constraint == regalloc.Reg && (op.Constraint == regalloc.Fixed || op.Constraint == regalloc.Reuse)
	if r.Constraint == regalloc.Fixed || r.Constraint == regalloc.Reuse {
		constraint = constraint && op.Arg == uint16(r.Arg)
	}
	switch {
	case r.InPlace:
		return errors.New("is written in place: the row is for emission only")
	case !access:
		return fmt.Errorf("is of access %v, not %v", op.Access, r.Access)
	case !constraint:
		return fmt.Errorf("has constraint %d(%d), not %d(%d)", op.Constraint, op.Arg, r.Constraint, r.Arg)
	case class != r.Class:
		return fmt.Errorf("is of class %v", class)
	case op.Constraint == regalloc.Fixed && op.PReg().Class() != r.Class:
		return fmt.Errorf("is fixed to %v", op.PReg())
	}
	return nil
}
