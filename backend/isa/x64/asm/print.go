package asm

import (
	"strconv"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// Names defines how operands are written.
type Names struct {
	// Operand appends the instruction's operand number i, of the given width in
	// bytes (16 for vector registers).
	Operand func(dst []byte, i int, bytes uint8) []byte
	// Target appends what inst refers to, in a branch, or in an address
	// relative to the program counter. If nil, Disp alone is written, as an
	// assembler takes it for a distance.
	Target func(dst []byte, inst *backend.Inst) []byte
	// InMemory reports whether operand i is in memory; nil if none is.
	InMemory func(i int) bool
	// Frame resolves the local area; if nil it is written symbolically.
	Frame *backend.Frame
}

// PrintAsm appends inst in Intel syntax as assemblers read it.
func PrintAsm(dst []byte, inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) []byte {
	return Print(dst, inst, &Names{
		Frame:    fr,
		InMemory: func(i int) bool { return allocs[i].IsMem() },
		Operand: func(dst []byte, i int, bytes uint8) []byte {
			if allocs[i].IsReg() {
				return append(dst, RegName(allocs[i].Reg(), bytes)...)
			}
			base, disp := inFrame(fr, fr.Offset(allocs[i]))
			dst = append(append(dst, pointer(bytes)...), '[')
			return append(appendDisp(append(dst, frameBase(base)...), disp, true), ']')
		},
	})
}

// Print appends inst in Intel syntax, in the assembler's order and without
// implicit operands; the tail, if any, follows a semicolon.
func Print(dst []byte, inst *backend.Inst, names *Names) []byte {
	row := rowFor(inst, names)
	if row.Imm == INop {
		return printNop(dst, inst.Imm)
	}
	f := &forms[row.Form]
	dst = append(dst, row.mnemonic(inst)...)
	for k := range len(f.Text) {
		if dst = append(dst, ' '); k > 0 {
			dst = append(dst[:len(dst)-1], ", "...)
		}
		switch c := f.Text[k]; c {
		case 'c':
			dst = append(dst, "cl"...)
		case 'i':
			dst = strconv.AppendInt(dst, row.immOf(inst), 10)
		case 't':
			dst = row.printTarget(dst, inst, names)
		default:
			dst = row.printRole(dst, f, int(c-'0'), inst, names)
		}
	}
	return printTail(dst, inst, names)
}

// rowFor is inst's row, or the one for its operand in memory.
func rowFor(inst *backend.Inst, names *Names) *Row {
	row := &rows[inst.Op]
	if row.MemOp == Invalid {
		return row
	}
	if inst.Mode != backend.ModeNone || names.InMemory != nil && names.InMemory(int(forms[row.Form].RM)) {
		return &rows[row.MemOp]
	}
	return row
}

// mnemonic returns the row's name for inst's size and condition.
func (r *Row) mnemonic(inst *backend.Inst) string {
	name := r.Name
	if strings.Contains(name, "|") {
		rest := name
		for n := uint8(1); n <= 16; n *= 2 {
			if r.Sizes&Sizes(n) == 0 {
				continue
			}
			name, rest, _ = strings.Cut(rest, "|")
			if n >= inst.Size {
				break
			}
		}
	}
	switch {
	case r.Imm == IMov && movImmSize(inst.Size, inst.Imm) == 8:
		return "movabs"
	case r.Flags&HasCond != 0:
		return name + Cond(inst.Cond).String()
	}
	return name
}

// immOf is inst's immediate as it is encoded.
func (r *Row) immOf(inst *backend.Inst) int64 {
	switch {
	case r.Imm == IFull, r.Imm == IShort, r.Imm == IMov && inst.Size == 4:
		return normImm(inst.Imm, r.intWidth(inst.Size))
	}
	return inst.Imm
}

// printRole appends the operand of role i.
func (r *Row) printRole(dst []byte, f *FormInfo, i int, inst *backend.Inst, names *Names) []byte {
	width := r.intWidth(inst.Size)
	if r.Imm == IMov && movImmSize(inst.Size, inst.Imm) == 4 {
		width = 4
	}
	k := i
	if f.RM >= 0 && i > int(f.RM) {
		k += inst.Mode.NumRegs() - 1
	}
	if i != int(f.RM) {
		return names.Operand(dst, k, width)
	}
	width = r.rmWidth(inst.Size)
	if inst.Mode == backend.ModeNone {
		return names.Operand(dst, k, width)
	}
	if r.Flags&NoFault == 0 {
		dst = append(dst, pointer(width)...)
	}
	return printAddress(dst, inst, k, names)
}

// pointer returns the keyword of a memory operand's width.
func pointer(bytes uint8) string {
	switch bytes {
	case 1:
		return "byte ptr "
	case 2:
		return "word ptr "
	case 4:
		return "dword ptr "
	case 8:
		return "qword ptr "
	}
	return "xmmword ptr "
}

// printAddress appends the address whose operands begin at number k.
func printAddress(dst []byte, inst *backend.Inst, k int, names *Names) []byte {
	dst = append(dst, '[')
	disp := inst.Disp
	switch inst.Mode {
	case backend.ModeBase:
		dst = names.Operand(dst, k, 8)
	case backend.ModeBaseIndex:
		dst = names.Operand(dst, k, 8)
		dst = append(dst, " + "...)
		dst = names.Operand(appendScale(dst, inst.Scale), k+1, 8)
	case backend.ModeIndex:
		dst = names.Operand(appendScale(dst, inst.Scale), k, 8)
	case backend.ModeOutArg:
		dst = append(dst, "rsp"...)
	case backend.ModeLocal:
		if names.Frame == nil {
			dst = append(dst, "local"...)
			break
		}
		base, d := inFrame(names.Frame, names.Frame.Locals+disp)
		dst, disp = append(dst, frameBase(base)...), d
	case backend.ModeSym, backend.ModeConst:
		dst = append(dst, "rip"...)
		if names.Target != nil {
			dst = append(names.Target(append(dst, " + "...), inst), ']')
			return dst
		}
	}
	return append(appendDisp(dst, disp, true), ']')
}

// frameBase names the base of an address in the frame.
func frameBase(enc uint8) string {
	if enc == RSP.Enc() {
		return "rsp"
	}
	return "rbp"
}

// appendScale appends the factor of an index.
func appendScale(dst []byte, scale uint8) []byte {
	if scale == 0 {
		return dst
	}
	return append(dst, '0'+1<<(scale&3), '*')
}

// appendDisp appends a displacement with its sign, with spaces in addresses,
// nothing for 0.
func appendDisp(dst []byte, disp int32, spaces bool) []byte {
	if disp == 0 {
		return dst
	}
	sign, abs := byte('+'), int64(disp)
	if disp < 0 {
		sign, abs = '-', -abs
	}
	if spaces {
		return strconv.AppendInt(append(dst, ' ', sign, ' '), abs, 10)
	}
	return strconv.AppendInt(append(dst, sign), abs, 10)
}

// printTarget appends the target of a branch: by default Disp from its end.
func (r *Row) printTarget(dst []byte, inst *backend.Inst, names *Names) []byte {
	if names.Target != nil {
		return names.Target(dst, inst)
	}
	// MaxBytes counts a REX prefix, which branches by distance never have.
	return appendDisp(append(dst, '.'), inst.Disp+int32(r.MaxBytes()-1), false)
}

// printNop appends a no-operation of n bytes: those with operands have no text
// that keeps their length.
func printNop(dst []byte, n int64) []byte {
	if n == 1 {
		return append(dst, "nop"...)
	}
	dst = append(dst, ".byte "...)
	for i := range int(n) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendUint(append(dst, "0x"...), uint64(nops[n][i]), 16)
	}
	return dst
}

// printTail appends what consumes the flags.
func printTail(dst []byte, inst *backend.Inst, names *Names) []byte {
	if inst.Tail == backend.TailNone {
		return dst
	}
	k := Shapes().NumOwn(inst)
	c := Cond(inst.Cond).String()
	switch inst.Tail {
	case backend.TailJump:
		return append(append(dst, "; j"...), c...)
	case backend.TailSet:
		return names.Operand(append(append(append(dst, "; set"...), c...), ' '), k, 1)
	case backend.TailSelect:
		dst = append(append(append(dst, "; sel"...), c...), ' ')
		for i := range 3 { // d, a, b
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = names.Operand(dst, k+(i+2)%3, 8)
		}
		return dst
	}
	switch inst.Tail {
	case backend.TailAdd, backend.TailSub: // d, a
		word := "; plus"
		if inst.Tail == backend.TailSub {
			word = "; minus"
		}
		dst = names.Operand(append(append(append(dst, word...), c...), ' '), k+1, 8)
		return names.Operand(append(dst, ", "...), k, 8)
	}
	dst = append(append(append(append(dst, "; trap"...), c...), ' '), abi.TrapCode(inst.Trap).String()...)
	if inst.Tail == backend.TailBound { // d, a
		dst = names.Operand(append(dst, "; mask "...), k+1, 8)
		dst = names.Operand(append(dst, ", "...), k, 8)
	}
	return dst
}

// PrintVCode appends inst before allocation: "defs = mnemonic uses", each
// operand a virtual register with its fixed register or constraint where it
// has one, and the address in brackets.
func PrintVCode(dst []byte, inst *backend.Inst, operands []regalloc.Operand) []byte {
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
	names := &Names{Target: printRef}
	names.Operand = func(dst []byte, i int, _ uint8) []byte { return appendOperand(dst, operands[i]) }
	row := rowFor(inst, names)
	if row.Imm == INop {
		return printNop(dst, inst.Imm)
	}
	dst = append(dst, row.mnemonic(inst)...)
	if inst.Size != 0 && row.Sizes&(row.Sizes-1) != 0 && !strings.Contains(row.Name, "|") {
		dst = strconv.AppendUint(append(dst, '.'), uint64(inst.Size)*8, 10)
	}
	dst = row.printUses(dst, inst, operands, own, names)
	return printTail(dst, inst, names)
}

// printUses appends the uses in operand order, the address and the immediate.
func (r *Row) printUses(dst []byte, inst *backend.Inst, operands []regalloc.Operand, own int, names *Names) []byte {
	f := &forms[r.Form]
	sep := " "
	for i := range f.Roles {
		if f.Roles[i].Access.Reads() {
			dst = append(dst, sep...)
			sep = ", "
			k := i
			if f.RM >= 0 && i > int(f.RM) {
				k += inst.Mode.NumRegs() - 1
			}
			if i == int(f.RM) {
				dst = r.printRole(dst, f, i, inst, names)
			} else {
				dst = names.Operand(dst, k, 8)
			}
		}
	}
	for k := own + len(Shapes().Tails[inst.Tail]); k < len(operands); k++ {
		if operands[k].Access.Reads() {
			dst = appendOperand(append(dst, sep...), operands[k])
			sep = ", "
		}
	}
	switch {
	case r.Imm == INone:
	case r.Imm == IRel8, r.Imm == IRel32:
		dst = printRef(append(dst, sep...), inst)
	default:
		dst = strconv.AppendInt(append(dst, sep...), r.immOf(inst), 10)
	}
	return dst
}

// printRef appends a reference symbolically.
func printRef(dst []byte, inst *backend.Inst) []byte {
	switch {
	case inst.Mode == backend.ModeConst:
		dst = append(dst, "const"...)
		dst = strconv.AppendUint(dst, uint64(inst.Const()), 10)
	case inst.Symbol() == backend.SymInstance:
		dst = append(dst, "instance"...)
	default:
		dst = append(dst, "func"...)
		dst = strconv.AppendUint(dst, uint64(inst.Symbol().Func()), 10)
	}
	return appendDisp(dst, inst.Disp, true)
}

// appendOperand appends a virtual register and what is special of its constraint
// and access.
func appendOperand(dst []byte, o regalloc.Operand) []byte {
	dst = strconv.AppendUint(append(dst, '%'), uint64(o.VReg), 10)
	switch o.Constraint {
	case regalloc.Fixed:
		dst = append(append(dst, ':'), RegName(o.PReg(), 8)...)
	case regalloc.FixedArg:
		dst = strconv.AppendUint(append(dst, ":arg"...), uint64(o.Arg), 10)
	case regalloc.Any:
		dst = append(dst, '?')
	}
	switch o.Access {
	case regalloc.LateUse:
		dst = append(dst, "(late)"...)
	case regalloc.EarlyDef:
		dst = append(dst, "(early)"...)
	}
	return dst
}
