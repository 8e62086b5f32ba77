package asm

import (
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// tailRoles are the operands of the tails. The class of TailSelect is that of its result.
var tailRoles = [...][]Role{
	backend.TailNone:   nil,
	backend.TailJump:   nil,
	backend.TailSet:    {def},
	backend.TailSelect: {use, use, def},
	backend.TailTrap:   nil,
}

// Operands appends inst's operands to dst, with constraints: of the row's
// roles, with the address's operands in place of role 0 where that is one, and of
// the tail. vregs are their virtual registers in this order; there must be
// NumOperands(inst) of them. The further operands of Variadic rows are the
// caller's to append.
func Operands(dst []regalloc.Operand, inst *backend.Inst, vregs ...regalloc.VReg) []regalloc.Operand {
	if n := NumOperands(inst); n != len(vregs) {
		panic(fmt.Sprintf("asm: %s takes %d operands, not %d", rows[inst.Op].Name, n, len(vregs)))
	}
	for k, v := range vregs {
		role := roleOf(inst, k)
		dst = append(dst, regalloc.Operand{VReg: v, Constraint: role.Constraint, Access: role.Access, Arg: uint16(role.Arg)})
	}
	return dst
}

// roleOf is the role of operand number k. Roles that reuse are of rows without address.
func roleOf(inst *backend.Inst, k int) *Role {
	f := &forms[rows[inst.Op].Form]
	own := numOwn(f, inst.Mode)
	switch {
	case k >= own:
		return &tailRoles[inst.Tail][k-own]
	case !f.Addr:
		return &f.Roles[k]
	case k < NumAddr(inst.Mode):
		return &f.Roles[0]
	}
	return &f.Roles[k+1-NumAddr(inst.Mode)]
}

// Verify checks an instruction of VCode against its row: size, mode, scale,
// condition, immediate, displacement and tail; number, access, constraint and class of the
// operands. An operand may be constrained more tightly than the row asks:
// Fixed for Reg, LateUse for Use, EarlyDef for Def.
func Verify(inst *backend.Inst, operands []regalloc.Operand, vregs []regalloc.VRegInfo) error {
	if inst.Op == Invalid || inst.Op >= NumOps {
		return fmt.Errorf("asm: no row %d", inst.Op)
	}
	row := &rows[inst.Op]
	if err := row.verifyInst(inst); err != nil {
		return fmt.Errorf("asm: %s: %w", row.Name, err)
	}
	n := NumOperands(inst)
	if len(operands) < n || len(operands) > n && row.Flags&Variadic == 0 {
		return fmt.Errorf("asm: %s: has %d operands, not %d", row.Name, len(operands), n)
	}
	own := n - len(tailRoles[inst.Tail])
	for k, op := range operands {
		if int(op.VReg) >= len(vregs) {
			return fmt.Errorf("asm: %s: operand %d: %v does not exist", row.Name, k, op.VReg)
		}
		if k >= n {
			continue
		}
		role := *roleOf(inst, k)
		if inst.Tail == backend.TailSelect && k >= own {
			if last := operands[n-1].VReg; int(last) < len(vregs) {
				role.Class = vregs[last].Class
			}
		}
		if err := role.verify(op, vregs[op.VReg].Class); err != nil {
			return fmt.Errorf("asm: %s: operand %d, %v, %w", row.Name, k, op.VReg, err)
		}
	}
	return nil
}

// verifyInst checks what is in the Inst itself.
func (r *Row) verifyInst(inst *backend.Inst) error {
	switch {
	case !r.Allows(inst.Size):
		return fmt.Errorf("has no size %d", inst.Size)
	case int(inst.Mode) >= len(addrOperands):
		return fmt.Errorf("unknown mode %d", inst.Mode)
	case int(inst.Tail) >= len(tailRoles):
		return fmt.Errorf("unknown tail %d", inst.Tail)
	case inst.Tail != backend.TailNone && !r.allowsTail(inst.Tail):
		return fmt.Errorf("has a tail but sets no flags")
	case inst.Tail != backend.TailNone && r.Flags&SetsFlags != 0 && inst.Cond >= uint8(NumConds),
		r.Flags&HasCond != 0 && inst.Cond >= uint8(NumConds):
		return fmt.Errorf("condition %d", inst.Cond)
	case r.Addr == AddrNone && inst.Mode != backend.ModeNone:
		return fmt.Errorf("takes no address")
	case r.Addr != AddrNone && inst.Mode == backend.ModeNone:
		return fmt.Errorf("needs an address")
	case r.Addr != AddrNone && !r.fitsAddress(inst):
		return fmt.Errorf("address of mode %d, scale %d, index extension %d, displacement %d does not fit", inst.Mode, inst.Scale, inst.Imm, inst.Disp)
	}
	if _, ok := immKinds[r.Imm].field(immediateOf(inst)); !ok {
		return fmt.Errorf("immediate %d does not fit", inst.Imm)
	}
	return nil
}

// FitsImm reports whether the row can encode imm.
func (r *Row) FitsImm(size uint8, imm int64) bool {
	_, ok := immKinds[r.Imm].field(immediate{imm: imm, size: size})
	return ok
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

// verify compares an operand, of the given class, with what its role wants.
func (role *Role) verify(op regalloc.Operand, class regalloc.Class) error {
	switch {
	case op.Access != role.Access && (op.Access != regalloc.LateUse || role.Access != regalloc.Use) &&
		(op.Access != regalloc.EarlyDef || role.Access != regalloc.Def):
		return fmt.Errorf("is of access %v, not %v", op.Access, role.Access)
	case op.Constraint != role.Constraint && (role.Constraint != regalloc.Reg ||
		op.Constraint != regalloc.Fixed && op.Constraint != regalloc.Reuse),
		role.Constraint == regalloc.Reuse && op.Arg != uint16(role.Arg):
		return fmt.Errorf("has constraint %d(%d), not %d(%d)", op.Constraint, op.Arg, role.Constraint, role.Arg)
	case class != role.Class:
		return fmt.Errorf("is of class %v", class)
	case op.Constraint == regalloc.Fixed && op.PReg().Class() != role.Class:
		return fmt.Errorf("is fixed to %v", op.PReg())
	}
	return nil
}
