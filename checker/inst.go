package checker

import "github.com/waot-project/waot/regalloc"

// touch is how the instruction at time has touched a memory word so far: a set
// of accesses.
type touch struct {
	time     uint32
	accesses uint8
}

const numAccesses = int(regalloc.Mod) + 1

// conflicts[a] is the set of accesses that may not share a location with a.
var conflicts = [numAccesses]uint8{
	regalloc.Use:      1<<regalloc.EarlyDef | 1<<regalloc.Mod,
	regalloc.LateUse:  1<<regalloc.Def | 1<<regalloc.EarlyDef | 1<<regalloc.Mod,
	regalloc.Def:      1<<regalloc.LateUse | 1<<regalloc.Def | 1<<regalloc.EarlyDef | 1<<regalloc.Mod,
	regalloc.EarlyDef: 1<<numAccesses - 1,
	regalloc.Mod:      1<<numAccesses - 1,
}

// inst checks instruction i, whose operands begin at begin, and makes the state
// that after it.
func (c *Checker) inst(i regalloc.Inst, info regalloc.InstInfo, begin uint32) *Error {
	ops := c.in.Operands[begin:info.OperandEnd]
	allocs := c.out.Allocs[begin:info.OperandEnd]
	allocs = allocs[:len(ops)]
	values, regs := c.v, (*[numRegs]fact)(c.locs)
	c.clock += 2
	if c.scratch&c.known != 0 {
		c.eraseRegs(c.scratch)
	}
	// Registers of operands by access: all written ones, those of EarlyDefs and
	// Mods, those written by Fixed operands. They say what the table of conflicts does.
	var uses, lateUses, writes, strict, fixed regalloc.PRegSet
	first := len(ops) // the first operand that is not only read
	for k := range ops {
		op := &ops[k]
		if uint(op.VReg) >= uint(len(values)) {
			return c.at(i, fault(RuleInput, "operand %d is malformed", k))
		}
		v := &values[op.VReg]
		name := v.name
		// The common cases: a register of the class, read or written.
		loc := uint32(allocs[k]) ^ uint32(regalloc.InReg(0))
		if loc < numRegs && op.Constraint <= regalloc.Reg && c.regs[name>>floatShift&1]>>loc&1 != 0 {
			bit := regalloc.PRegSet(1) << loc
			if op.Access == regalloc.Use && strict&bit == 0 {
				f := &regs[loc]
				if f.name == name && f.time >= c.oldest[name>>refShift&1] && f.time >= v.def || c.holds(loc, name) {
					uses |= bit
					continue
				}
			}
			if op.Access == regalloc.Def && (lateUses|writes)&bit == 0 {
				writes |= bit
				first = min(first, k)
				continue
			}
		}
		loc, err := c.operand(i, k, ops, allocs)
		if err != nil {
			return err
		}
		if op.Access > regalloc.LateUse {
			first = min(first, k)
		}
		if loc >= numRegs {
			continue
		}
		bit, against := regalloc.PRegSet(1)<<loc, strict
		switch op.Access {
		case regalloc.Use:
			uses |= bit
		case regalloc.LateUse:
			against = writes
			lateUses |= bit
		case regalloc.Def:
			against = lateUses | writes
			writes |= bit
		default:
			against = uses | lateUses | writes
			writes |= bit
			strict |= bit
		}
		if against&bit != 0 {
			return c.sharingFault(i, k)
		}
		if op.Constraint == regalloc.Fixed && op.Access > regalloc.LateUse {
			fixed |= bit
		}
	}

	if info.Flags&regalloc.Safepoint != 0 {
		if err := c.safepoint(i); err != nil {
			return err
		}
	}
	if info.Clobbers != 0 {
		clobbers := c.in.ClobberSets[info.Clobbers]
		if hit := clobbers & (lateUses | writes&^fixed); hit != 0 {
			return c.clobberFault(i, hit)
		}
		c.eraseRegs(clobbers)
		c.written |= clobbers & c.env.CalleeSaved
	}
	if first == len(ops) {
		return nil
	}
	c.written |= writes
	return c.define(i, ops, allocs, first)
}

// operand checks all of operand k of i but what it shares a register with, and
// returns its location.
func (c *Checker) operand(i regalloc.Inst, k int, ops []regalloc.Operand, allocs []regalloc.Allocation) (uint32, *Error) {
	op := ops[k]
	if int(op.Access) >= numAccesses {
		return 0, c.at(i, fault(RuleInput, "operand %d is malformed", k))
	}
	name := c.v[op.VReg].name
	loc, ok := c.place(i, op, allocs[k], name, ops, allocs)
	switch {
	case !ok:
		return 0, c.constraintFault(i, k)
	case op.Access.Reads() && !c.holds(loc, name):
		return 0, c.operandFault(RuleUse, i, k, "read from where %s is", c.describe(loc))
	case loc >= numRegs && !c.touch(loc, name, op.Access):
		return 0, c.operandFault(RuleConflict, i, k, "shares its place with another operand that it may not share one with")
	}
	return loc, nil
}

// define erases what Mods leave behind and writes the Defs of i, whose
// locations are checked. The first of both is operand k.
func (c *Checker) define(i regalloc.Inst, ops []regalloc.Operand, allocs []regalloc.Allocation, k int) *Error {
	for ; k < len(ops); k++ {
		op := ops[k]
		if op.Access <= regalloc.LateUse {
			continue
		}
		v := &c.v[op.VReg]
		a, name := allocs[k], v.name
		loc := uint32(a.Index())
		if !a.IsReg() {
			loc, _ = c.locate(a, words(name))
		}
		if op.Access == regalloc.Mod {
			c.erase(loc, name)
			continue
		}
		if name&indexMask == uint32(op.VReg) {
			// From now on facts about the value that are older are void.
			v.def = c.clock
		} else if c.in.Insts[i].Flags&regalloc.IsMove == 0 {
			return c.at(i, fault(RuleInput, "%v has a second definition", op.VReg))
		}
		c.write(loc, fact{name, c.clock})
	}
	return nil
}

// place returns the location index of an operand, whose value's name is name,
// and whether its allocation a meets its constraint.
func (c *Checker) place(i regalloc.Inst, op regalloc.Operand, a regalloc.Allocation, name uint32,
	ops []regalloc.Operand, allocs []regalloc.Allocation) (loc uint32, ok bool) {
	class := name >> floatShift & 1
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
		return loc, ok && (a.IsSlot() || op.Access <= regalloc.LateUse)
	case regalloc.Stack:
		loc, ok = c.locate(a, words(name))
		return loc, ok && a.IsSlot()
	case regalloc.Fixed:
		loc = uint32(op.Arg)
		return loc, c.fixed>>loc&1 != 0 && a == regalloc.InReg(op.PReg()) && loc>>5 == class
	case regalloc.Reuse:
		if op.Access != regalloc.Def || int(op.Arg) >= len(ops) {
			return 0, false
		}
		of := ops[op.Arg]
		loc = uint32(a.Index())
		return loc, of.Access == regalloc.Use && (of.Constraint == regalloc.Reg || of.Constraint == regalloc.Fixed) &&
			a.IsReg() && a == allocs[op.Arg] && c.fixed>>loc&1 != 0 && loc>>5 == class
	case regalloc.FixedArg:
		loc, ok = c.locate(a, words(name))
		return loc, ok && op.Access.Defines() && i == 0 && a == regalloc.InArg(int(op.Arg))
	}
	return 0, false
}

// touch notes an access to the words of memory location loc and reports whether
// it gets along with those before it in the instruction.
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

// safepoint checks the stack map of i, the next one, and lets references in other
// places go.
func (c *Checker) safepoint(i regalloc.Inst) *Error {
	r := c.maps[0].Slots
	c.maps = c.maps[1:]
	slots := c.out.StackMapSlots[r.Start:r.End]
	// Definitions of i come at c.clock, after this.
	now := c.clock - 1
	for _, s := range slots {
		loc := firstSlot + s
		f := c.locs[loc]
		if t := c.touched[s]; t.time == c.clock && t.accesses&(1<<regalloc.EarlyDef|1<<regalloc.Mod) != 0 {
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
		// A new time would revive members whose value has been redefined, hence
		// the new set.
		c.set(loc, fact{c.newSet(start), now})
	}
	c.oldest[1] = now
	return nil
}

func (c *Checker) stackMapFault(i regalloc.Inst, loc uint32, msg string) *Error {
	e := c.at(i, fault(RuleStackMap, "%s", msg))
	e.Loc = c.allocation(loc)
	return e
}

// constraintFault is the fault of operand k of i being where it may not be.
func (c *Checker) constraintFault(i regalloc.Inst, k int) *Error {
	ops := c.in.OperandsOf(i)
	op := ops[k]
	want := "a known constraint"
	switch op.Constraint {
	case regalloc.Reg:
		want = "an allocatable register of class " + c.in.VRegs[op.VReg].Class.String()
	case regalloc.Any:
		want = "an allocatable register of its class or a slot inside the frame"
	case regalloc.Stack:
		want = "a slot inside the frame"
	case regalloc.Fixed:
		want = "the register " + locString(regalloc.InReg(0)+regalloc.Allocation(op.Arg))
	case regalloc.Reuse:
		want = "the register of the use it names"
	case regalloc.FixedArg:
		want = "the incoming argument word it names, in the first instruction"
	}
	return c.operandFault(RuleConstraint, i, k, "must be in %s", want)
}

// sharingFault is the fault of operand k of i being in the register of another
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

// clobberFault finds the operand of i that is in one of the registers given.
func (c *Checker) clobberFault(i regalloc.Inst, set regalloc.PRegSet) *Error {
	s, e := c.in.OperandRange(i)
	k := 0
	for ; k < int(e-s)-1; k++ {
		op, a := c.in.Operands[int(s)+k], c.out.Allocs[int(s)+k]
		if op.Access != regalloc.Use && a.IsReg() && set.Has(a.Reg()) &&
			(op.Access == regalloc.LateUse || op.Constraint != regalloc.Fixed) {
			break
		}
	}
	return c.operandFault(RuleConflict, i, k, "in a register that the instruction clobbers")
}
