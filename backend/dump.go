package backend

import (
	"fmt"

	"github.com/waot-project/waot/regalloc"
)

// dump returns the text of the VCode, with allocations and edits if allocated.
func (c *Compiler) dump(allocated bool) string {
	in, out := &c.vc.In, &c.out
	var b []byte
	edits := out.Edits
	allocs := out.Allocs
	if !allocated {
		edits, allocs = nil, nil
	}
	for bi := range in.Blocks {
		b = c.dumpHead(b, bi)
		if allocated && out.UnsavedIn(regalloc.Block(bi)) {
			b = append(b[:len(b)-1], " unsaved\n"...)
		}
		r := in.Blocks[bi].Insts
		for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
			b, edits = dumpEdits(b, edits, regalloc.Before(i))
			b = fmt.Appendf(b, "  %4d  ", i)
			b = c.target.dumpAt(b, &c.vc, i, allocs, &Frame{})
			b = append(b, '\n')
			b, edits = dumpEdits(b, edits, regalloc.After(i))
		}
		b = c.dumpSuccs(b, bi)
	}
	return string(b)
}

// dumpAt appends the text of instruction i, without its number. allocs are those of all instructions, or empty.
func (t *Target) dumpAt(b []byte, vc *VCode, i regalloc.Inst, allocs []regalloc.Allocation, fr *Frame) []byte {
	in := &vc.In
	s, e := in.OperandRange(i)
	if len(allocs) > 0 {
		allocs = allocs[s:e]
	}
	switch inst := &vc.Insts[i]; inst.Op {
	case OpArgs:
		return dumpOperands(append(b, "args"...), in.Operands[s:e], allocs)
	case OpJump:
		return append(b, "jump"...)
	case OpTrap:
		return fmt.Appendf(b, "trap %d", inst.Trap)
	default:
		return t.dumpInst(b, inst, in.Operands[s:e], allocs, fr)
	}
}

// dumpInst appends the text of an instruction; operands are virtual registers, or, where allocs is not empty,
// allocations.
func (t *Target) dumpInst(b []byte, inst *Inst, ops []regalloc.Operand, allocs []regalloc.Allocation, fr *Frame) []byte {
	switch {
	case int(inst.Op) >= len(t.Shapes.Rows):
		b = fmt.Appendf(b, "%s.%d", t.pseudoName(inst.Op), 8*int(inst.Size))
		for _, o := range ops {
			b = fmt.Appendf(b, " %v:%v", o.Access, o.VReg)
		}
	case leftOut(allocs):
		return append(t.PrintVCode(b, inst, ops), " left out"...)
	case len(allocs) > 0 && !t.Shapes.Rows[inst.Op].Variadic:
		return t.PrintAsm(b, inst, allocs, fr)
	default:
		b = t.PrintVCode(b, inst, ops)
	}
	for _, a := range allocs {
		b = fmt.Appendf(b, " %v", a)
	}
	return b
}

// pseudoName returns the name of a pseudo-instruction.
func (t *Target) pseudoName(op Op) string { return t.Pseudos[int(op)-len(t.Shapes.Rows)] }

func (c *Compiler) dumpHead(b []byte, bi int) []byte {
	in := &c.vc.In
	b = fmt.Appendf(b, "block%d", bi)
	for k, p := range in.ParamsOf(regalloc.Block(bi)) {
		b = fmt.Appendf(b, "%s%v", [2]string{", ", "("}[b2i(k == 0)], p)
	}
	if in.Blocks[bi].Params.Len() > 0 {
		b = append(b, ')')
	}
	b = append(b, ':')
	if o := c.order.Blocks[bi].Orig; int(o) < 1<<31 {
		b = fmt.Appendf(b, "  ; clif %v", o)
	}
	if in.Blocks[bi].LoopDepth > 0 {
		b = fmt.Appendf(b, " loop %d", in.Blocks[bi].LoopDepth)
	}
	if in.Blocks[bi].Cold {
		b = append(b, " cold"...)
	}
	return append(b, '\n')
}

func b2i(x bool) int {
	if x {
		return 1
	}
	return 0
}

func (c *Compiler) dumpSuccs(b []byte, bi int) []byte {
	in := &c.vc.In
	for k, e := range in.SuccsOf(regalloc.Block(bi)) {
		b = fmt.Appendf(b, "        -> %d: block%d%v\n", k, e.To, in.ArgsOf(e))
	}
	return b
}

func dumpEdits(b []byte, edits []regalloc.Edit, p regalloc.ProgPoint) ([]byte, []regalloc.Edit) {
	for len(edits) > 0 && edits[0].Point <= p {
		b = fmt.Appendf(b, "        %v\n", edits[0])
		edits = edits[1:]
	}
	return b, edits
}

func dumpOperands(b []byte, ops []regalloc.Operand, allocs []regalloc.Allocation) []byte {
	for i, o := range ops {
		b = fmt.Appendf(b, " %v:%v", o.Access, o.VReg)
		switch {
		case len(allocs) > 0:
			b = fmt.Appendf(b, "=%v", allocs[i])
		case o.Constraint == regalloc.Fixed:
			b = fmt.Appendf(b, "=%v", o.PReg())
		case o.Constraint == regalloc.FixedArg:
			b = fmt.Appendf(b, "=arg%d", o.Arg)
		}
	}
	return b
}
