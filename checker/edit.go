package checker

import "github.com/waot-project/waot/regalloc"

// apply checks an edit, at a point where edits are allowed, and changes the state as the edit does.
func (c *Checker) apply(e *regalloc.Edit) *Error {
	if e.Kind != regalloc.Move {
		return c.applyOther(e)
	}
	n := words8(e.Bytes)
	from, isFrom := c.locate(e.From, n)
	to, isTo := c.locate(e.To, n)
	regs := regalloc.PRegSet(1)<<from | regalloc.PRegSet(1)<<to // memory adds no register
	if !isFrom || !isTo || regs == 0 || regs&^c.writeable != 0 || e.To.IsArg() && e.Point != c.outgoing ||
		e.Bytes != 8 && e.Bytes != 4 && (e.Bytes != 16 || regs.OfClass(regalloc.Int) != 0) {
		return c.editFault(e, c.moveMessage(e))
	}
	c.written |= 1 << to // no effect for memory
	f := c.locs[from]
	if f.time < c.start {
		f = fact{}
	}
	if f.name&(wideBit|tailBit) != 0 {
		switch {
		case n == 1, f.name&tailBit != 0:
			f = fact{}
		case from >= numRegs && c.locs[from+1] != fact{f.name | tailBit, f.time}:
			f = fact{}
		}
	}
	// All values of a set have as many bytes, since they are copies of one.
	if half := f.name&halfBit != 0; e.Bytes == 4 && !half || e.Bytes == 8 && half && from >= numRegs {
		f = fact{}
	}
	if to >= numRegs && n == 2 {
		c.setWord(to+1, fact{})
	}
	c.write(to, f)
	return nil
}

// words8 returns how many words a move of the given bytes copies.
func words8(bytes uint8) uint32 { return (uint32(bytes) + 7) >> 3 }

// applyOther is apply for edits that are not moves.
func (c *Checker) applyOther(e *regalloc.Edit) *Error {
	switch e.Kind {
	case regalloc.Remat, regalloc.StoreConst:
		return c.repeat(e)
	case regalloc.Swap:
		return c.exchange(e)
	}
	return c.editFault(e, "of unknown kind")
}

// repeat is apply for a rematerialisation, into a register or a slot. The instruction may use the int scratch register.
func (c *Checker) repeat(e *regalloc.Edit) *Error {
	if msg := c.repeatMessage(e.Inst); msg != "" {
		return c.editFault(e, msg)
	}
	s, _ := c.in.OperandRange(e.Inst)
	v := c.in.Operands[s].VReg
	to, msg := c.repeatsTo(e, v)
	if msg != "" {
		return c.editFault(e, msg)
	}
	c.eraseRegs(c.scratch.OfClass(regalloc.Int))
	c.v[v].seen = c.start
	c.write(to, fact{c.v[v].name, c.clock})
	c.written |= 1 << to // no effect for memory
	return nil
}

// repeatsTo returns the location into which e makes v again, or says why it may not.
func (c *Checker) repeatsTo(e *regalloc.Edit, v regalloc.VReg) (loc uint32, msg string) {
	info := &c.in.VRegs[v]
	loc, ok := c.locate(e.To, words8(info.Bytes))
	switch {
	case e.Kind == regalloc.Remat:
		if !ok || !e.To.IsReg() || c.writeable>>loc&1 == 0 || loc>>5 != c.v[v].name>>floatShift&1 {
			return loc, "repeats an instruction into what is no register of its class"
		}
	case !info.Storable || e.Bytes != info.Bytes:
		return loc, "stores a value that cannot be stored so"
	case !ok || !e.To.IsSlot() && (!e.To.IsArg() || e.Point != c.outgoing):
		return loc, "stores a constant in what is no slot"
	}
	return loc, ""
}

// exchange is apply for a swap.
func (c *Checker) exchange(e *regalloc.Edit) *Error {
	from, isFrom := c.locate(e.From, 1)
	to, isTo := c.locate(e.To, 1)
	regs := regalloc.PRegSet(1)<<from | regalloc.PRegSet(1)<<to // memory adds no register
	if !isFrom || !isTo || regs.Len() != 2 || regs&^c.swaps != 0 || e.Bytes != 8 {
		return c.editFault(e, "a swap of what are not two whole registers that can be exchanged")
	}
	c.locs[from], c.locs[to] = c.locs[to], c.locs[from]
	c.tracked |= regs
	c.written |= regs
	return nil
}

// skipEdits returns the number of the first edit behind the block of instructions r,
// whose own edits begin at k. It checks that the block's edits are in order and at
// allowed points.
func (c *Checker) skipEdits(r regalloc.Range, k int) (int, *Error) {
	edits, end := c.out.Edits, regalloc.After(regalloc.Inst(r.End-1))
	last := regalloc.Before(regalloc.Inst(r.Start))
	if r.Start == 0 && k < len(edits) && edits[k].Point == last {
		return k, c.editFault(&edits[k], "before the arguments are defined")
	}
	for ; k < len(edits); k++ {
		e := &edits[k]
		if e.Point-last < end-last { // in order, or it is below last and the difference wraps
			last = e.Point
			continue
		}
		switch {
		case e.Point > end:
			return k, nil
		case e.Point < last:
			return k, c.editFault(e, "out of order")
		default:
			return k, c.editFault(e, "after a terminator")
		}
	}
	return k, nil
}

// moveMessage says what is wrong with a bad move.
func (c *Checker) moveMessage(e *regalloc.Edit) string {
	if e.Bytes != 4 && e.Bytes != 8 && e.Bytes != 16 {
		return "a move of neither 4, 8, nor 16 bytes"
	}
	if e.From.IsMem() && e.To.IsMem() {
		return "a move from memory to memory"
	}
	if e.To.IsArg() && e.Point != c.outgoing {
		return "a move to an argument word that is not in front of a tail call"
	}
	for _, a := range [...]regalloc.Allocation{e.From, e.To} {
		loc, ok := c.locate(a, words8(e.Bytes))
		switch {
		case !ok:
			return "no location of this width: " + locString(a)
		case loc < numRegs && c.writeable>>loc&1 == 0:
			return "not a register of the allocator: " + locString(a)
		}
	}
	return "a move of 16 bytes with an int register"
}

// repeatMessage says why instruction i may not be repeated, nor left out; "" if it may.
func (c *Checker) repeatMessage(i regalloc.Inst) string {
	if int64(i) >= int64(len(c.in.Insts)) {
		return "no such instruction to repeat"
	}
	s, end := c.in.OperandRange(i)
	info := c.in.Insts[i]
	if int64(end) != int64(s)+1 || int64(end) > int64(len(c.in.Operands)) || info.Flags != 0 ||
		int(info.Clobbers) >= len(c.in.ClobberSets) || !c.in.ClobberSets[info.Clobbers].IsEmpty() {
		return "repeats an instruction that does more than define a value"
	}
	op := c.in.Operands[s]
	if !op.Access.Defines() || op.Constraint != regalloc.Reg || int64(op.VReg) >= int64(len(c.v)) ||
		c.in.VRegs[op.VReg].Remat != i || c.v[op.VReg].name&indexMask != uint32(op.VReg) {
		return "repeats an instruction that may not be repeated"
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
