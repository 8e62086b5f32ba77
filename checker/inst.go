package checker

import "github.com/waot-project/waot/regalloc"

// touch is how the instruction at time has touched a memory word so far: a set
// of accesses.
type touch struct {
	time     uint32
	accesses uint8
}

const numAccesses = int(regalloc.EarlyDef) + 1

// conflicts[a] is the set of accesses that may not share a location with a.
var conflicts = [numAccesses]uint8{
	regalloc.Use:      1 << regalloc.EarlyDef,
	regalloc.LateUse:  1<<regalloc.Def | 1<<regalloc.EarlyDef,
	regalloc.Def:      1<<regalloc.LateUse | 1<<regalloc.Def | 1<<regalloc.EarlyDef,
	regalloc.EarlyDef: 1<<numAccesses - 1,
}

// effects are the registers of operands: of LateUses, of Defs, and of Fixed Defs alone.
// n is the number of Defs, including Defs in memory.
type effects struct {
	late, written, fixed regalloc.PRegSet
	n                    int
}

// inst checks instruction i, whose operands begin at begin, and updates the state to
// the one after i.
func (c *Checker) inst(i regalloc.Inst, info regalloc.InstInfo, begin uint32) *Error {
	if info.OperandEnd < begin || int(info.OperandEnd) > len(c.in.Operands) || int(info.Clobbers) >= len(c.in.ClobberSets) {
		return c.at(i, fault(RuleInput, "instruction is malformed"))
	}
	c.clock += 2
	c.eraseScratch()
	if info.Flags&leaving != 0 {
		if err := c.leavingCall(i, info); err != nil {
			return err
		}
	}
	e, ok := effects{}, false
	if info.Flags&regalloc.Safepoint != 0 || info.Clobbers != 0 { // else plainRun has tried it
		e, ok = c.plain(begin, info.OperandEnd)
	}
	if !ok && c.leftOut(i, begin, info.OperandEnd) {
		return c.defined(i, begin)
	}
	if !ok {
		var err *Error
		if e, err = c.operands(i); err != nil {
			return err
		}
	}
	if info.Flags&regalloc.Safepoint != 0 {
		if err := c.safepoint(i); err != nil {
			return err
		}
	}
	if info.Clobbers != 0 {
		if err := c.clobber(i, &e, c.in.ClobberSets[info.Clobbers]); err != nil {
			return err
		}
	}
	if e.n == 0 {
		return nil
	}
	c.written |= e.written
	return c.define(i, info.OperandEnd, e.n)
}

// eraseScratch forgets what scratch registers hold, as each instruction does.
func (c *Checker) eraseScratch() {
	if c.tracked&c.scratch != 0 {
		c.eraseRegs(c.scratch)
	}
}

// defined notes that operand k, of instruction i, defines its value, which nothing else may do.
func (c *Checker) defined(i regalloc.Inst, k uint32) *Error {
	v := c.in.Operands[k].VReg
	if def := &c.v[v].def; *def == 0 || *def == k+1 { // by a fixpoint, instructions are visited again
		*def = k + 1
		return nil
	}
	return c.at(i, fault(RuleInput, "%v has a second definition", v))
}

// leftOut reports whether i, a definition that may be repeated, is left out: its value is nowhere then.
func (c *Checker) leftOut(i regalloc.Inst, begin, end uint32) bool {
	if end != begin+1 || !c.out.Allocs[begin].IsNone() || c.repeatMessage(i) != "" {
		return false
	}
	v := &c.v[c.in.Operands[begin].VReg]
	if v.seen == c.start {
		c.forget(v.name)
	}
	v.seen = c.start
	return true
}

// clobber checks the operands of i, whose effects are e, against the clobbers of i, and forgets
// what these lose.
func (c *Checker) clobber(i regalloc.Inst, e *effects, lost regalloc.Clobbers) *Error {
	if hit := e.late | e.written&^e.fixed; hit&lost.Lost(16) != 0 {
		if err := c.findClobbered(i, lost); err != nil {
			return err
		}
	}
	c.eraseRegs(lost.Low)
	for m := lost.High & c.tracked; m != 0; m &= m - 1 {
		if r := m.First(); c.locs[r].name&wideBit != 0 {
			c.locs[r] = fact{}
		}
	}
	c.written |= lost.Low & c.env.CalleeSaved
	return nil
}

// plainRun is inst for nearly all instructions, of those from i to end as many as are plain and neither safepoints nor clobber anything. It returns the
// first that is not, or end, and where its operands begin. An instruction is plain if all its operands
// are Uses, except the last, which may be a Def; all are in registers that their constraints
// allow; each register that is read holds one value, not a reference; and what is defined is no copy and was not known before.
// Then nothing is wrong with it. What it asks is in variables rather than in c, since it is most of what the checker does.
func (c *Checker) plainRun(i, end, begin uint32) (next, at uint32) {
	c.eraseScratch() // nothing here writes them
	insts, operands, allocs := c.in.Insts[:end], c.in.Operands, c.out.Allocs
	values, regs, classes, start, clock := c.v, (*[numRegs]fact)(c.locs), &c.regs, c.start, c.clock
	allocs = allocs[:len(operands)]
	var written regalloc.PRegSet
run:
	for ; i < end; i++ {
		info := &insts[i]
		last := info.OperandEnd
		if info.Flags&(regalloc.Safepoint|leaving) != 0 || info.Clobbers != 0 || last < begin || uint64(last) > uint64(len(operands)) {
			break
		}
		clock += 2
		for k := uint64(begin); k < uint64(last); k++ {
			op := &operands[k]
			loc := uint32(allocs[k]) ^ uint32(regalloc.InReg(0))
			if uint(op.VReg) >= uint(len(values)) || loc >= numRegs {
				break run
			}
			v := &values[op.VReg]
			name := v.name
			if classes[name>>floatShift&1]>>(loc%numRegs)&1 == 0 || !admits(op, loc) {
				break run
			}
			if op.Access == regalloc.Use {
				// Registers have no facts of earlier visits.
				if regs[loc].name != name || name&refBit != 0 || op.Constraint == regalloc.Reuse {
					break run
				}
				continue
			}
			if op.Access != regalloc.Def || k+1 != uint64(last) || name&indexMask != uint32(op.VReg) || v.seen == start || v.def != 0 ||
				op.Constraint == regalloc.Reuse && !reuses(operands[begin:last], allocs[begin:last], int(k)-int(begin)) {
				break run
			}
			v.seen, v.def = start, last
			regs[loc] = fact{name, clock}
			written |= 1 << (loc % numRegs)
		}
		begin = last
	}
	c.clock = clock
	c.tracked |= written
	c.written |= written
	return i, begin
}

// admits reports whether the constraint of op is one that admits a register, number loc. What Reuse asks for besides, reuses says.
func admits(op *regalloc.Operand, loc uint32) bool {
	return op.Constraint <= regalloc.Reg || op.Constraint == regalloc.Reuse || op.Constraint == regalloc.Fixed && loc == uint32(op.Arg)
}

// plain is plainRun for the operands from begin to end of one instruction that does more, and changes nothing. It reports whether they are plain.
func (c *Checker) plain(begin, end uint32) (e effects, ok bool) {
	ops, allocs, values, regs := c.in.Operands[begin:end], c.out.Allocs[begin:end], c.v, (*[numRegs]fact)(c.locs)
	allocs = allocs[:len(ops)]
	for k := range ops {
		op := &ops[k]
		loc := uint32(allocs[k]) ^ uint32(regalloc.InReg(0))
		if uint(op.VReg) >= uint(len(values)) || loc >= numRegs {
			return e, false
		}
		name := values[op.VReg].name
		if c.regs[name>>floatShift&1]>>(loc%numRegs)&1 == 0 || !admits(op, loc) {
			return e, false
		}
		if op.Access != regalloc.Use {
			if e.n, e.written = 1, 1<<loc; op.Constraint == regalloc.Fixed {
				e.fixed = e.written
			}
			return e, op.Access == regalloc.Def && k+1 == len(ops) && (op.Constraint != regalloc.Reuse || reuses(ops, allocs, k))
		}
		// Registers have no facts of earlier visits.
		if regs[loc].name != name || name&refBit != 0 || op.Constraint == regalloc.Reuse {
			return e, false
		}
	}
	return e, true
}

// reuses reports whether operand k, with the constraint Reuse, is in the place of the Use
// that it names.
func reuses(ops []regalloc.Operand, allocs []regalloc.Allocation, k int) bool {
	j := int(ops[k].Arg)
	if ops[k].Access != regalloc.Def || j >= len(ops) || allocs[j] != allocs[k] {
		return false
	}
	of := &ops[j]
	return of.Access == regalloc.Use && (of.Constraint == regalloc.Reg || of.Constraint == regalloc.Fixed)
}

// operands checks the operands of i.
func (c *Checker) operands(i regalloc.Inst) (e effects, err *Error) {
	begin, end := c.in.OperandRange(i)
	ops, allocs := c.in.Operands[begin:end], c.out.Allocs[begin:end]
	var uses, early regalloc.PRegSet
	for k := range ops {
		op := &ops[k]
		loc, err := c.operand(i, k, ops, allocs)
		if err != nil {
			return e, err
		}
		if op.Access.Defines() {
			e.n++
		}
		if loc >= numRegs {
			continue
		}
		// The registers that this operand may not have, by the table of conflicts.
		bit, against := regalloc.PRegSet(1)<<loc, early
		switch op.Access {
		case regalloc.Use:
			uses |= bit
		case regalloc.LateUse:
			against = e.written
			e.late |= bit
		case regalloc.Def:
			against = e.late | e.written
			e.written |= bit
		default:
			against = uses | e.late | e.written
			e.written |= bit
			early |= bit
		}
		if against&bit != 0 {
			return e, c.sharingFault(i, k)
		}
		if op.Constraint == regalloc.Fixed && op.Access.Defines() {
			e.fixed |= bit
		}
	}
	return e, nil
}

// operand checks operand k of i, except for conflicts with other operands, and
// returns its location.
func (c *Checker) operand(i regalloc.Inst, k int, ops []regalloc.Operand, allocs []regalloc.Allocation) (uint32, *Error) {
	op := ops[k]
	if int(op.Access) >= numAccesses || int64(op.VReg) >= int64(len(c.v)) {
		return 0, c.at(i, fault(RuleInput, "operand %d is malformed", k))
	}
	name := c.v[op.VReg].name
	if op.Constraint == regalloc.FixedArg && !c.mayNameWord(i, op) {
		return 0, c.operandFault(RuleInput, i, k, "names a word of the arguments, or one behind them, where it may not")
	}
	loc, ok := c.place(i, k, name, ops, allocs)
	switch {
	case ok && loc >= numRegs && op.Constraint == regalloc.FixedArg && op.Access.Reads() && c.isTouched(loc, name):
		return 0, c.operandFault(RuleInput, i, k, "a word of the arguments is passed twice")
	case !ok:
		return 0, c.constraintFault(i, k)
	case op.Access.Reads() && !c.holds(loc, name):
		return 0, c.operandFault(RuleUse, i, k, "read from where %s is", c.describe(loc))
	case loc >= numRegs && !c.touch(loc, name, op.Access):
		return 0, c.operandFault(RuleConflict, i, k, "shares its place with another operand that it may not share one with")
	}
	return loc, nil
}

// define writes the Defs of i, whose locations are checked and different: n of the
// operands that end at end.
func (c *Checker) define(i regalloc.Inst, end uint32, n int) *Error {
	for k := end - 1; n > 0; k-- {
		op := &c.in.Operands[k]
		if op.Access.Reads() {
			continue
		}
		n--
		v := &c.v[op.VReg]
		name := v.name
		if name&indexMask != uint32(op.VReg) {
			return c.at(i, fault(RuleInput, "%v has a second definition", op.VReg))
		}
		if err := c.defined(i, k); err != nil {
			return err
		}
		if v.seen == c.start {
			c.forget(name)
		}
		v.seen = c.start
		loc, _ := c.locate(c.out.Allocs[k], words(name))
		c.write(loc, fact{name, c.clock})
	}
	return nil
}

// place returns the location index of operand k, whose value's name is name, and
// whether its allocation meets its constraint.
func (c *Checker) place(i regalloc.Inst, k int, name uint32,
	ops []regalloc.Operand, allocs []regalloc.Allocation) (loc uint32, ok bool) {
	op, a, class := ops[k], allocs[k], name>>floatShift&1
	switch op.Constraint {
	case regalloc.Reg:
		loc = uint32(a.Index())
		return loc, a.IsReg() && c.regs[class]>>loc&1 != 0
	case regalloc.Any:
		if a.IsReg() {
			loc = uint32(a.Index())
			return loc, c.regs[class]>>loc&1 != 0
		}
		loc, ok = c.locate(a, words(name))
		return loc, ok && (a.IsSlot() || op.Access.Reads())
	case regalloc.Fixed:
		loc = uint32(op.Arg)
		return loc, c.regs[class]>>loc&1 != 0 && a == regalloc.InReg(op.PReg())
	case regalloc.Reuse:
		loc = uint32(a.Index())
		return loc, a.IsReg() && c.regs[class]>>loc&1 != 0 && reuses(ops, allocs, k)
	case regalloc.FixedArg:
		loc, ok = c.locate(a, words(name))
		return loc, ok && a == regalloc.InArg(int(op.Arg))
	}
	return 0, false
}

// leavingCall checks what i, a call that may not come back to where it is, has besides successors, which endMessage looks at. A tail call only reads, in places that its operands name
// and that the callee finds as they are in front of it, which callee-saved registers are not, since they are restored there.
func (c *Checker) leavingCall(i regalloc.Inst, info regalloc.InstInfo) *Error {
	switch {
	case info.Flags&regalloc.IsTerminator == 0:
		return c.at(i, fault(RuleInput, "a tail call, or a call that may throw, ends no block"))
	case info.Flags&regalloc.MayThrow != 0:
		return nil
	case info.Clobbers != 0:
		return c.at(i, fault(RuleInput, "a tail call clobbers something"))
	}
	for k, op := range c.in.OperandsOf(i) {
		switch {
		case op.Access != regalloc.Use:
		case op.Constraint == regalloc.FixedArg:
			continue
		case op.Constraint == regalloc.Fixed && op.Arg < numRegs && !c.env.CalleeSaved.Has(op.PReg()):
			continue
		}
		return c.at(i, fault(RuleInput, "operand %d is none of a tail call", k))
	}
	return nil
}

// mayNameWord reports whether op, of instruction i, may have the constraint FixedArg: as a definition of the first instruction or, with whole words, a use of a tail
// call, of words that exist.
func (c *Checker) mayNameWord(i regalloc.Inst, op regalloc.Operand) bool {
	switch {
	case uint32(op.Arg) >= c.argWords:
		return false
	case op.Access.Defines():
		return i == 0
	}
	return c.v[op.VReg].name&halfBit == 0 && c.in.Insts[i].Flags&regalloc.IsTailCall != 0
}

// isTouched reports whether the instruction has accessed a word of memory location loc already.
func (c *Checker) isTouched(loc, name uint32) bool {
	for w := loc; w < loc+words(name); w++ {
		if c.touched[w-firstSlot].time == c.clock {
			return true
		}
	}
	return false
}

// touch notes an access to the words of memory location loc and reports whether
// it is compatible with the earlier accesses of the instruction.
func (c *Checker) touch(loc, name uint32, a regalloc.Access) bool {
	for w := loc; w < loc+words(name); w++ {
		t := &c.touched[w-firstSlot]
		if t.time != c.clock {
			*t = touch{time: c.clock}
		}
		if t.accesses&conflicts[a] != 0 {
			return false
		}
		t.accesses |= 1 << a
	}
	return true
}

// safepoint checks the stack map of i, the next one, and forgets references in other
// places.
func (c *Checker) safepoint(i regalloc.Inst) *Error {
	var m regalloc.StackMap
	if len(c.maps) > 0 {
		m = c.maps[0]
		c.maps = c.maps[1:]
	}
	if m.Inst != i || !fits(m.Slots, len(c.out.StackMapSlots)) || !c.rising(c.out.StackMapSlots[m.Slots.Start:m.Slots.End]) {
		return c.at(i, fault(RuleStackMap, "the next stack map is malformed or of another instruction"))
	}
	slots := c.out.StackMapSlots[m.Slots.Start:m.Slots.End]
	// Definitions of i come at c.clock, after this.
	now := c.clock - 1
	for _, s := range slots {
		loc := firstSlot + s
		f := c.locs[loc]
		if t := c.touched[s]; t.time == c.clock && t.accesses&(1<<regalloc.EarlyDef) != 0 {
			return c.stackMapFault(i, loc, "listed though the instruction overwrites it early")
		}
		start := len(c.elems)
		if f.time >= c.start && f.name&(refBit|tailBit) == refBit {
			for _, n := range c.namesOf(f.name) {
				if c.holds(loc, n) {
					c.elems = append(c.elems, n)
				}
			}
		}
		if len(c.elems) == start {
			return c.stackMapFault(i, loc, "listed but no reference: "+c.describe(loc))
		}
		// A new time would revive members that are no longer known. Hence the new
		// set.
		c.setWord(loc, fact{c.newSet(start), now})
	}
	c.oldest[1] = now
	return nil
}

func (c *Checker) stackMapFault(i regalloc.Inst, loc uint32, msg string) *Error {
	e := c.at(i, fault(RuleStackMap, "%s", msg))
	e.Loc = c.allocation(loc)
	return e
}

// constraintFault returns the fault of operand k of i being where it may not be.
func (c *Checker) constraintFault(i regalloc.Inst, k int) *Error {
	ops := c.in.OperandsOf(i)
	op := ops[k]
	want := "a known constraint"
	switch op.Constraint {
	case regalloc.Reg:
		want = "an allocatable register of class " + c.in.VRegs[op.VReg].Class.String()
	case regalloc.Any:
		want = "an allocatable register of its class or an aligned slot inside the frame"
	case regalloc.Fixed:
		want = "the register " + locString(regalloc.InReg(0)+regalloc.Allocation(op.Arg))
	case regalloc.Reuse:
		want = "the register of the use it names"
	case regalloc.FixedArg:
		want = "the argument word it names"
	}
	return c.operandFault(RuleConstraint, i, k, "must be in %s", want)
}

// sharingFault returns the fault of operand k of i being in the register of another
// operand that it may not share one with.
func (c *Checker) sharingFault(i regalloc.Inst, k int) *Error {
	s, _ := c.in.OperandRange(i)
	for j := range k {
		of, op := c.in.Operands[int(s)+j], c.in.Operands[int(s)+k]
		if c.out.Allocs[int(s)+j] == c.out.Allocs[int(s)+k] && conflicts[op.Access]>>of.Access&1 != 0 {
			return c.operandFault(RuleConflict, i, k, "shares its register with a %v operand", of.Access)
		}
	}
	return c.operandFault(RuleConflict, i, k, "shares its register with another operand")
}

// findClobbered finds the operand of i, if any, whose value a clobber of i loses although it must
// survive i.
func (c *Checker) findClobbered(i regalloc.Inst, lost regalloc.Clobbers) *Error {
	s, _ := c.in.OperandRange(i)
	for k, op := range c.in.OperandsOf(i) {
		a := c.out.Allocs[int(s)+k]
		stays := op.Access == regalloc.LateUse || op.Access.Defines() && op.Constraint != regalloc.Fixed
		if stays && a.IsReg() && lost.Lost(c.in.VRegs[op.VReg].Bytes).Has(a.Reg()) {
			return c.operandFault(RuleConflict, i, k, "in a register that the instruction clobbers")
		}
	}
	return nil
}
