package backend

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// Mark says whose code begins at an offset: that of an instruction, or of an edit.
type Mark struct {
	Offset uint32
	// Inst is the instruction, or NoInst if what follows belongs to none: a restore, padding, an island, traps, constants.
	Inst regalloc.Inst
	// Edit is the index in Output.Edits of the first edit, -1 if the code is an instruction's.
	Edit int
}

// Stages are the tables that the stages of the back end have made of a function, for tools that show them. They are
// memory of the Compiler, and valid during the call that gets them.
type Stages struct {
	Func  *clif.Func
	VCode *VCode
	Out   *regalloc.Output
	Code  *Code
	// Marks have rising offsets. Code in front of the first one is the prologue.
	Marks []Mark

	target *Target
	order  *BlockOrder
	frame  *Frame
	lower  *lowering
}

// stages returns the tables of f.
func (c *Compiler) stages(f *clif.Func, code *Code) *Stages {
	m, l := c.emit.marks, &c.lower
	settle(m, uint32(len(code.Bytes)))
	return &Stages{
		Func: f, VCode: &c.vc, Out: &c.out, Code: code, Marks: m, target: c.target, order: &c.order, frame: &c.emit.Frame,
		lower: l,
	}
}

// settle corrects marks of code that the buffer has cut since: branches at its end, when a label was bound there.
func settle(marks []Mark, end uint32) {
	for i := len(marks) - 1; i >= 0; i-- {
		end = min(end, marks[i].Offset)
		marks[i].Offset = end
	}
}

// mark notes that the code of instruction i, or of none, begins here.
func (e *Emitter) mark(i regalloc.Inst) {
	if e.marking {
		e.addMark(Mark{Inst: i, Edit: -1})
	}
}

// markEdit notes that the code of the first of edits, which are the rest of all, begins here.
func (e *Emitter) markEdit(edits []regalloc.Edit) {
	if e.marking {
		e.addMark(Mark{Inst: regalloc.NoInst, Edit: len(e.Out.Edits) - len(edits)})
	}
}

// addMark notes that what m says begins here.
func (e *Emitter) addMark(m Mark) {
	m.Offset = e.Buf.Offset()
	e.marks = append(e.marks, m)
}

// InstText returns the text of instruction i on virtual registers, AllocatedText on what they were given.
func (s *Stages) InstText(i regalloc.Inst) string {
	if s.VCode.Insts[i].Op == OpArgs {
		return s.argsText(i)
	}
	return string(s.target.dumpAt(nil, s.VCode, i, nil, s.frame))
}

// argsText says which registers and words hold the arguments.
func (s *Stages) argsText(i regalloc.Inst) string {
	text := "args"
	for k, o := range s.VCode.In.OperandsOf(i) {
		at := fmt.Sprintf("arg%d", o.Arg)
		if o.Constraint == regalloc.Fixed {
			at = s.target.Regs[o.PReg()]
		}
		text += fmt.Sprintf("%s%v=%s", [2]string{", ", " "}[b2i(k == 0)], o.VReg, at)
	}
	return text
}

// AllocatedText is described at InstText. Operands that are in no order which the text tells are left out: those of what has no row in the machine's
// table, and the arguments and results of calls.
func (s *Stages) AllocatedText(i regalloc.Inst) string {
	inst := &s.VCode.Insts[i]
	start, end := s.VCode.In.OperandRange(i)
	switch rows := s.target.Shapes.Rows; {
	case inst.Op == OpArgs:
		return "args"
	case inst.Op == OpJump || inst.Op == OpTrap:
		return s.InstText(i)
	case int(inst.Op) >= len(rows):
		return s.target.pseudoName(inst.Op)
	case rows[inst.Op].Variadic:
		own := uint32(s.target.Shapes.NumOperands(inst))
		return string(s.target.PrintVCode(nil, inst, s.VCode.In.Operands[start:start+own]))
	case leftOut(s.Out.Allocs[start:end]):
		return s.InstText(i)
	}
	return string(s.target.dumpAt(nil, s.VCode, i, s.Out.Allocs, s.frame))
}

// BlockOf returns the CLIF block that block b comes from, and whether there is one: edge blocks and the tops of loops are new.
func (s *Stages) BlockOf(b regalloc.Block) (clif.Block, bool) {
	orig := s.order.Blocks[b].Orig
	return orig, orig != clif.NoBlock
}

// Held calls f with each value that has a virtual register, and with that: a constant may have one in each block. Values that nothing uses, or that
// their users compute, have none.
func (s *Stages) Held(f func(clif.Value, regalloc.VReg)) {
	for v := range clif.Value(len(s.Func.Values)) {
		if r := s.lower.vregs[s.lower.Resolve(v)]; r != regalloc.NoVReg {
			f(v, r)
		}
	}
	for _, c := range s.lower.made {
		f(c.value, c.reg)
	}
}

// Place returns what a is called in the text of the machine's instructions.
func (s *Stages) Place(a regalloc.Allocation) string {
	if a.IsReg() {
		return s.target.Regs[a.Reg()]
	}
	return a.String()
}
