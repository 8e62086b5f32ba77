package asm

import (
	"fmt"
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// tailRoles are the operands of the tails; Arg of Reuse counts from the tail's
// first operand. The class of TailSelect is that of its result.
var tailRoles = [...][]Role{
	backend.TailNone: nil,
	backend.TailJump: nil,
	backend.TailSet:  {{regalloc.Def, regalloc.Int, regalloc.Reg, 0}},
	backend.TailSelect: {{regalloc.Use, regalloc.Int, regalloc.Any, 0}, {regalloc.Use, regalloc.Int, regalloc.Reg, 0},
		{regalloc.Def, regalloc.Int, regalloc.Reuse, 1}},
	backend.TailTrap: nil,
}

// addrRole is an operand of an address.
var addrRole = Role{regalloc.Use, regalloc.Int, regalloc.Reg, 0}

// Operands appends inst's operands to dst, with constraints: of the row's
// roles, with the address's operands in place of the rm operand, and of
// the tail. vregs are their virtual registers in this order; there must be
// NumOperands(inst) of them. The further operands of Variadic rows are the
// caller's to append.
func Operands(dst []regalloc.Operand, inst *backend.Inst, vregs ...regalloc.VReg) []regalloc.Operand {
	row := &rows[inst.Op]
	f := &forms[row.Form]
	k := 0
	for i := range f.Roles {
		if int8(i) == f.RM && inst.Mode != backend.ModeNone {
			for range addrOperands[inst.Mode] {
				dst = append(dst, regalloc.UseOf(vregs[k], regalloc.Reg))
				k++
			}
			continue
		}
		dst = append(dst, row.operand(f, i, inst.Mode, vregs[k]))
		k++
	}
	own := k
	for i := range tailRoles[inst.Tail] {
		role := &tailRoles[inst.Tail][i]
		op := regalloc.Operand{VReg: vregs[k], Constraint: role.Constraint, Access: role.Access}
		if role.Constraint == regalloc.Reuse {
			op.Arg = uint16(own + int(role.Arg))
		}
		dst = append(dst, op)
		k++
	}
	if k != len(vregs) {
		panic(fmt.Sprintf("asm: %s takes %d operands, not %d", row.Name, k, len(vregs)))
	}
	return dst
}

// operand is the operand of role i.
func (r *Row) operand(f *FormInfo, i int, m backend.Mode, v regalloc.VReg) regalloc.Operand {
	role := &f.Roles[i]
	op := regalloc.Operand{VReg: v, Constraint: role.Constraint, Access: role.Access, Arg: uint16(role.Arg)}
	switch {
	case role.Constraint == regalloc.Reuse && f.RM >= 0 && int8(role.Arg) > f.RM:
		op.Arg = uint16(int(role.Arg) + NumAddr(m) - 1)
	case role.Constraint == regalloc.Any && r.RM == 16 && r.Flags&Unaligned == 0:
		// A slot is 8 bytes wide if the value is, and aligned to 8.
		op.Constraint = regalloc.Reg
	}
	return op
}

// Verify checks an instruction of VCode against its row: size, mode, scale,
// condition, immediate and tail; number, access, constraint and class of the
// operands. An operand may be constrained more tightly than the row asks:
// Fixed for Reg, any for Any, LateUse for Use, EarlyDef for Def.
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
	for i, op := range operands {
		if int(op.VReg) >= len(vregs) {
			return fmt.Errorf("asm: %s: operand %d: %v does not exist", row.Name, i, op.VReg)
		}
	}
	if err := row.verifyOperands(inst, operands[:n], vregs); err != nil {
		return fmt.Errorf("asm: %s: %w", row.Name, err)
	}
	return nil
}

// verifyInst checks what is in the Inst itself.
func (r *Row) verifyInst(inst *backend.Inst) error {
	f := &forms[r.Form]
	mem := inst.Mode != backend.ModeNone
	switch {
	case !r.Allows(inst.Size):
		return fmt.Errorf("has no size %d", inst.Size)
	case int(inst.Mode) >= len(addrOperands):
		return fmt.Errorf("unknown mode %d", inst.Mode)
	case int(inst.Tail) >= len(tailRoles):
		return fmt.Errorf("unknown tail %d", inst.Tail)
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
	case !r.FitsImm(inst.Size, inst.Imm):
		return fmt.Errorf("immediate %d does not fit", inst.Imm)
	}
	return nil
}

// FitsImm reports whether the row can encode imm. The immediates of rows of
// sizes 1, 2 and 4 are taken modulo the size, that of Size 8 is sign-extended
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

// verifyOperands checks the operands against the row's roles and the tail's.
func (r *Row) verifyOperands(inst *backend.Inst, operands []regalloc.Operand, vregs []regalloc.VRegInfo) error {
	f := &forms[r.Form]
	k := 0
	for i, role := range f.Roles {
		if int8(i) == f.RM && inst.Mode != backend.ModeNone {
			for range addrOperands[inst.Mode] {
				if err := verifyOperand(k, operands[k], &addrRole, regalloc.UseOf(0, regalloc.Reg), vregs); err != nil {
					return err
				}
				k++
			}
			continue
		}
		if err := verifyOperand(k, operands[k], &role, r.operand(f, i, inst.Mode, 0), vregs); err != nil {
			return err
		}
		k++
	}
	own := k
	for _, role := range tailRoles[inst.Tail] {
		want := regalloc.Operand{Constraint: role.Constraint, Access: role.Access}
		if role.Constraint == regalloc.Reuse {
			want.Arg = uint16(own + int(role.Arg))
		}
		if inst.Tail == backend.TailSelect {
			role.Class = vregs[operands[own+2].VReg].Class
		}
		if err := verifyOperand(k, operands[k], &role, want, vregs); err != nil {
			return err
		}
		k++
	}
	return nil
}

// verifyOperand compares operand number k with what its role wants.
func verifyOperand(k int, op regalloc.Operand, role *Role, want regalloc.Operand, vregs []regalloc.VRegInfo) error {
	access := op.Access == want.Access ||
		op.Access == regalloc.LateUse && want.Access == regalloc.Use ||
		op.Access == regalloc.EarlyDef && want.Access == regalloc.Def
	constraint := op.Constraint == want.Constraint ||
		want.Constraint == regalloc.Any && op.Constraint != regalloc.Reuse ||
		want.Constraint == regalloc.Reg && (op.Constraint == regalloc.Fixed || op.Constraint == regalloc.Reuse)
	if want.Constraint == regalloc.Fixed || want.Constraint == regalloc.Reuse {
		constraint = constraint && op.Arg == want.Arg
	}
	switch {
	case !access:
		return fmt.Errorf("operand %d is of access %v, not %v", k, op.Access, want.Access)
	case !constraint:
		return fmt.Errorf("operand %d has constraint %d(%d), not %d(%d)", k, op.Constraint, op.Arg, want.Constraint, want.Arg)
	case vregs[op.VReg].Class != role.Class:
		return fmt.Errorf("operand %d, %v, is of class %v", k, op.VReg, vregs[op.VReg].Class)
	case op.Constraint == regalloc.Fixed && op.PReg().Class() != role.Class:
		return fmt.Errorf("operand %d is fixed to %v", k, op.PReg())
	}
	return nil
}
