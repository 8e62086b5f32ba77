package asm

import (
	"strconv"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// Names defines how operands are written.
type Names struct {
	// Operand appends the instruction's operand number i, of the given width for appendReg; sp says that register
	// 31 is the stack pointer.
	Operand func(dst []byte, i int, width uint8, sp bool) []byte
	// Target appends what inst refers to, in a branch, or in an address
	// relative to the program counter. If nil, Disp alone is written, as an
	// assembler takes it for a distance.
	Target func(dst []byte, inst *backend.Inst) []byte
}

// PrintAsm appends inst as assemblers read it; words behind the first follow a semicolon.
func PrintAsm(dst []byte, inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) []byte {
	if row := &rows[inst.Op]; row.Flags&Expands == 0 && plainModes>>inst.Mode&1 != 0 {
		dst = printWord(dst, inst, allocs)
	} else {
		var s steps
		s.expand(inst, allocs, fr)
		for i := range s.n {
			if i > 0 {
				dst = append(dst, "; "...)
			}
			dst = printWord(dst, &s.list[i].inst, s.list[i].regs[:])
		}
	}
	return printTail(dst, inst, &Names{Operand: allocated(allocs)})
}

// allocated writes operands by their registers.
func allocated(allocs []regalloc.Allocation) func([]byte, int, uint8, bool) []byte {
	return func(dst []byte, i int, width uint8, sp bool) []byte {
		return appendReg(dst, allocs[i].Reg(), width, sp)
	}
}

// printWord appends one word without a tail.
func printWord(dst []byte, inst *backend.Inst, allocs []regalloc.Allocation) []byte {
	names := Names{Operand: allocated(allocs)}
	if inst.Op == Adrp || inst.Mode == modeLow12 {
		names.Target = printRef
	}
	return printOwn(dst, inst, &names)
}

// printOwn appends inst without its tail.
func printOwn(dst []byte, inst *backend.Inst, names *Names) []byte {
	row := &rows[inst.Op]
	f := &forms[row.Form]
	dst = append(dst, row.Name...)
	if row.Flags&CondLow != 0 {
		dst = append(dst, Cond(inst.Cond).String()...)
	}
	for k := range len(f.Text) {
		c := f.Text[k]
		switch {
		case c == 'i':
			n := len(dst)
			if dst = row.printImm(dst, inst); k == 0 {
				dst = append(dst[:n], trimComma(dst[n:])...)
			}
			continue
		case c == 'l':
			dst = appendLane(dst, inst.Imm&15)
			continue
		case c == 'm':
			dst = appendLane(dst, inst.Imm>>4)
			continue
		case k == 0:
			dst = append(dst, ' ')
		default:
			dst = append(dst, ", "...)
		}
		switch c {
		case 'c':
			dst = append(dst, Cond(inst.Cond).String()...)
		case 't':
			dst = printTarget(dst, inst, names)
		case 'r':
			dst = appendReg(dst, ZR, inst.Size, false)
		case 'z':
			dst = append(dst, "#0"...)
		case 'f':
			dst = append(dst, "#0.0"...)
		default:
			dst = row.printRole(dst, f, int(c-'0'), inst, names)
		}
	}
	return dst
}

// appendLane appends the number of a lane.
func appendLane(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(append(dst, '['), n, 10), ']')
}

// trimComma replaces the comma in front of the only operand, an immediate.
func trimComma(text []byte) []byte {
	if len(text) > 0 && text[0] == ',' {
		return text[1:]
	}
	return append([]byte(" "), text...)
}

// printImm appends the immediate with the comma in front of it.
func (r *Row) printImm(dst []byte, inst *backend.Inst) []byte {
	if inst.Mode == modeLow12 {
		return printRef(append(dst, ", :lo12:"...), inst)
	}
	if text := immKinds[r.Imm].text; text != nil {
		return text(dst, inst)
	}
	return dst
}

// printRole appends the operand of role i.
func (r *Row) printRole(dst []byte, f *FormInfo, i int, inst *backend.Inst, names *Names) []byte {
	if f.Addr && i == 0 {
		return r.printAddress(dst, inst, names)
	}
	return names.Operand(dst, f.place(i, inst.Mode), r.operandWidth(i, inst), r.SP>>i&1 != 0)
}

// printAddress appends the address.
func (r *Row) printAddress(dst []byte, inst *backend.Inst, names *Names) []byte {
	if inst.Mode == backend.ModeConst {
		return printTarget(dst, inst, names)
	}
	dst = append(dst, '[')
	switch inst.Mode {
	case backend.ModeBaseIndex:
		dst = append(names.Operand(dst, 0, 8, true), ", "...)
		e := indexExtend(inst)
		width := uint8(4)
		if e&1 != 0 {
			width = 8
		}
		dst = names.Operand(dst, 1, width, false)
		switch {
		case e != UXTX:
			dst = appendExtend(append(dst, ", "...), e, inst.Scale)
		case inst.Scale != 0:
			dst = appendImm(append(dst, ", lsl "...), int64(inst.Scale))
		}
		return append(dst, ']')
	case backend.ModeSym:
		return append(printTarget(dst, inst, names), ']')
	case backend.ModeOutArg:
		dst = append(dst, "sp"...)
	case backend.ModeLocal:
		dst = append(dst, "local"...)
	case modeLow12:
		dst = append(names.Operand(dst, 0, 8, true), ", :lo12:"...)
		return append(printTarget(dst, inst, names), ']')
	default:
		dst = names.Operand(dst, 0, 8, true)
	}
	switch r.Addr {
	case AddrPairPost:
		return appendImm(append(dst, "], "...), int64(inst.Disp))
	case AddrPairPre:
		return append(appendImm(append(dst, ", "...), int64(inst.Disp)), "]!"...)
	}
	if inst.Disp != 0 {
		dst = appendImm(append(dst, ", "...), int64(inst.Disp))
	}
	return append(dst, ']')
}

// printTarget appends the target of a branch or the symbol of an address: by default the distance.
func printTarget(dst []byte, inst *backend.Inst, names *Names) []byte {
	if names.Target != nil {
		return names.Target(dst, inst)
	}
	return appendImm(dst, int64(inst.Disp))
}

// printTail appends what consumes the flags.
func printTail(dst []byte, inst *backend.Inst, names *Names) []byte {
	if inst.Tail == backend.TailNone {
		return dst
	}
	k := Shapes().NumOwn(inst)
	c := Cond(inst.Cond).String()
	if rows[inst.Op].Flags&SelfTail != 0 { // the branch itself
		c = "taken"
	}
	switch inst.Tail {
	case backend.TailJump:
		return append(append(dst, "; b."...), c...)
	case backend.TailSet, backend.TailSelect, backend.TailSelectZero:
		return append(append(printChoice(dst, inst, k, names), ", "...), c...)
	}
	dst = append(append(append(append(dst, "; trap."...), c...), ' '), abi.TrapCode(inst.Trap).String()...)
	if inst.Tail == backend.TailBound { // d, a
		dst = names.Operand(append(dst, "; mask "...), k+1, 8, false)
		dst = names.Operand(append(dst, ", "...), k, 8, false)
	}
	return dst
}

// printChoice appends the row that makes the result of a tail, of which k is the first operand: d, a, b. The names of the registers
// show whether it chooses floats.
func printChoice(dst []byte, inst *backend.Inst, k int, names *Names) []byte {
	op, size := Chooses(inst, regalloc.Int)
	name, n := rows[op].Name, len(Shapes().Tails[inst.Tail])
	if op == Csel {
		name = "sel"
	}
	dst = names.Operand(append(append(append(dst, "; "...), name...), ' '), k+n-1, size, false)
	for i := range n - 1 {
		dst = names.Operand(append(dst, ", "...), k+i, size, false)
	}
	if inst.Tail == backend.TailSelectZero {
		dst = appendReg(append(dst, ", "...), ZR, size, false)
	}
	return dst
}

// PrintVCode appends inst before allocation: "defs = mnemonic uses", each
// operand a virtual register with its fixed register or constraint where it
// has one, and the address in brackets.
func PrintVCode(dst []byte, inst *backend.Inst, operands []regalloc.Operand) []byte {
	row := &rows[inst.Op]
	own := Shapes().NumOwn(inst)
	n := 0
	for k, o := range operands {
		if o.Access.Defines() && (k < own || k >= own+len(Shapes().Tails[inst.Tail])) {
			if n++; n > 1 {
				dst = append(dst, ", "...)
			}
			dst = appendOperand(dst, o)
		}
	}
	if n > 0 {
		dst = append(dst, " = "...)
	}
	dst = append(dst, row.Name...)
	if row.Flags&CondLow != 0 {
		dst = append(dst, Cond(inst.Cond).String()...)
	}
	switch {
	case row.Lanes.Set&(row.Lanes.Set-1) != 0:
		dst = appendArrangement(dst, vectorShape(wVector, inst.Size, inst.Scale))
	case inst.Size != 0 && row.Sizes&(row.Sizes-1) != 0:
		dst = strconv.AppendUint(append(dst, '.'), uint64(inst.Size)*8, 10)
	}
	names := &Names{Target: printRef}
	names.Operand = func(dst []byte, i int, _ uint8, _ bool) []byte { return appendOperand(dst, operands[i]) }
	return printTail(row.printUses(dst, inst, operands, own, names), inst, names)
}

// printUses appends the uses in operand order with the address, then immediate, condition and target.
func (r *Row) printUses(dst []byte, inst *backend.Inst, operands []regalloc.Operand, own int, names *Names) []byte {
	f := &forms[r.Form]
	comma := func() {
		dst = append(dst, ", "...)
	}
	start := len(dst)
	for i := range f.Roles {
		if f.Addr && i == 0 {
			comma()
			dst = r.printAddress(dst, inst, names)
		} else if f.Roles[i].Access.Reads() {
			comma()
			dst = names.Operand(dst, f.place(i, inst.Mode), 8, false)
		}
	}
	if r.Form == FStoreZero {
		comma()
		dst = appendReg(dst, ZR, inst.Size, false)
	}
	for k := own + len(Shapes().Tails[inst.Tail]); k < len(operands); k++ {
		if operands[k].Access.Reads() {
			comma()
			dst = appendOperand(dst, operands[k])
		}
	}
	if r.Imm == IBti {
		comma()
	}
	if r.Imm != INone {
		dst = r.printImm(dst, inst)
	}
	if r.Flags&HasCond != 0 && r.Flags&CondLow == 0 {
		comma()
		dst = append(dst, Cond(inst.Cond).String()...)
	}
	if immKinds[r.Imm].patch != PatchNone && inst.Tail == backend.TailNone {
		comma()
		dst = printRef(dst, inst)
	}
	if len(dst) > start { // the first comma
		dst = append(dst[:start], dst[start+1:]...)
	}
	return dst
}

// printRef appends a reference symbolically.
func printRef(dst []byte, inst *backend.Inst) []byte {
	switch {
	case inst.Mode == backend.ModeConst:
		dst = strconv.AppendUint(append(dst, "const"...), uint64(inst.Const()), 10)
	case inst.Symbol() == backend.SymInstance:
		dst = append(dst, "instance"...)
	default:
		dst = strconv.AppendUint(append(dst, "func"...), uint64(inst.Symbol().Func()), 10)
	}
	if inst.Disp > 0 {
		dst = append(dst, '+')
	}
	if inst.Disp != 0 {
		dst = strconv.AppendInt(dst, int64(inst.Disp), 10)
	}
	return dst
}

// appendOperand appends a virtual register and what is special of its constraint
// and access.
func appendOperand(dst []byte, o regalloc.Operand) []byte {
	dst = strconv.AppendUint(append(dst, '%'), uint64(o.VReg), 10)
	switch o.Constraint {
	case regalloc.Fixed:
		width := uint8(8)
		dst = appendReg(append(dst, ':'), o.PReg(), width, false)
	case regalloc.FixedArg:
		dst = strconv.AppendUint(append(dst, ":arg"...), uint64(o.Arg), 10)
	case regalloc.Any:
		dst = append(dst, '?')
	}
	return append(dst, accessNotes[o.Access]...)
}

var accessNotes = [...]string{regalloc.Use: "", regalloc.Def: "", regalloc.LateUse: "(late)", regalloc.EarlyDef: "(early)"}
