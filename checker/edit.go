package checker

import "github.com/waot-project/waot/regalloc"

// apply changes the state as a checked edit does.
func (c *Checker) apply(e *regalloc.Edit) {
	if e.Kind == regalloc.Remat {
		s, _ := c.in.OperandRange(e.Inst)
		c.write(uint32(e.To.Index()), fact{c.v[c.in.Operands[s].VReg].name, c.clock})
		return
	}
	n := uint32(e.Bytes >> 3)
	from, _ := c.locate(e.From, n)
	to, _ := c.locate(e.To, n)
	f := c.locs[from]
	if f.name&(wideBit|tailBit) != 0 {
		switch {
		case n == 1, f.name&tailBit != 0:
			f = fact{}
		case from >= numRegs && c.locs[from+1] != fact{f.name | tailBit, f.time}:
			f = fact{}
		}
	}
	if to >= numRegs && n == 2 {
		c.set(to+1, fact{})
	}
	c.write(to, f)
}

// checkEdits checks all that does not depend on the state, and finds where the
// edits of each block begin.
func (c *Checker) checkEdits() *Error {
	edits := c.out.Edits
	if len(edits) >= 1<<31 {
		return fault(RuleShape, "too many edits")
	}
	last := regalloc.Before(0)
	for k := range edits {
		e := &edits[k]
		i := e.Point.Inst()
		switch {
		case int64(i) >= int64(len(c.in.Insts)):
			return c.editFault(e, "there is no such instruction")
		case e.Point < last:
			return c.editFault(e, "out of order")
		case e.Point == regalloc.Before(0):
			return c.editFault(e, "before the arguments are defined")
		case e.Point.IsAfter() && c.in.Insts[i].Flags&regalloc.IsTerminator != 0:
			return c.editFault(e, "after a terminator")
		}
		last = e.Point
		var msg string
		switch e.Kind {
		case regalloc.Move:
			msg = c.moveMessage(e)
		case regalloc.Remat:
			msg = c.rematMessage(e)
		default:
			msg = "of unknown kind"
		}
		if msg != "" {
			return c.editFault(e, msg)
		}
		if e.To.IsReg() {
			c.written |= 1 << e.To.Index()
		}
	}
	k := 0
	for b := range c.blocks {
		start := regalloc.Before(regalloc.Inst(c.in.Blocks[b].Insts.Start))
		for k < len(edits) && edits[k].Point < start {
			k++
		}
		c.blocks[b].edit = uint32(k)
	}
	return nil
}

// moveMessage says what is wrong with a move, or nothing.
func (c *Checker) moveMessage(e *regalloc.Edit) string {
	if e.Bytes != 8 && e.Bytes != 16 {
		return "a move of neither 8 nor 16 bytes"
	}
	if e.From.IsMem() && e.To.IsMem() {
		return "a move from memory to memory"
	}
	if e.To.IsArg() {
		return "a move to an incoming argument"
	}
	for _, a := range [...]regalloc.Allocation{e.From, e.To} {
		loc, ok := c.locate(a, uint32(e.Bytes>>3))
		switch {
		case !ok:
			return "no such location: " + locString(a)
		case loc >= numRegs:
		case c.writeable>>loc&1 == 0:
			return "not a register of the allocator: " + locString(a)
		case e.Bytes == 16 && a.Reg().Class() == regalloc.Int:
			return "a move of 16 bytes with an int register"
		}
	}
	return ""
}

// rematMessage says what is wrong with a rematerialisation, or nothing.
func (c *Checker) rematMessage(e *regalloc.Edit) string {
	if int64(e.Inst) >= int64(len(c.in.Insts)) {
		return "no such instruction to repeat"
	}
	s, end := c.in.OperandRange(e.Inst)
	info := c.in.Insts[e.Inst]
	if end != s+1 || info.Flags != 0 || c.in.ClobberSets[info.Clobbers] != 0 {
		return "repeats an instruction that does more than define a value"
	}
	op := c.in.Operands[s]
	if !op.Access.Defines() || op.Constraint != regalloc.Reg || int64(op.VReg) >= int64(len(c.v)) ||
		c.in.VRegs[op.VReg].Remat != e.Inst || c.v[op.VReg].name&indexMask != uint32(op.VReg) {
		return "repeats an instruction that may not be repeated"
	}
	loc := uint32(e.To.Index())
	if !e.To.IsReg() || c.writeable>>loc&1 == 0 || loc>>5 != c.v[op.VReg].name>>floatShift&1 {
		return "repeats an instruction into what is no register of its class"
	}
	return ""
}

func (c *Checker) editFault(e *regalloc.Edit, msg string) *Error {
	after := ""
	if e.Point.IsAfter() {
		after = " after"
	}
	f := fault(RuleEdit, "edit%s to %s from %s: %s", after, locString(e.To), locString(e.From), msg)
	f.Inst, f.Loc = e.Point.Inst(), e.To
	return f
}
