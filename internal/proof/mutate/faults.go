package main

import (
	"slices"
	"sort"

	"github.com/waot-project/waot/regalloc"
)

// fault is a kind of fault. Exactly one of the functions is set; it reports false
// if there is no place for the fault.
type fault struct {
	name string
	// plant changes m.out, a correct allocation.
	plant func(m *mutant) bool
	// misread changes m.told, the input that the allocator gets.
	misread func(m *mutant) bool
	// lowered: the checker gets the same input as the allocator, and the list of calls that may collect.
	lowered bool
}

// faults are the kinds of fault. What is behind a number in brackets is the bug of a
// peer that it imitates: 1 CVE-2021-32629, 2 spill slots of the size of another
// value, 54 a checker that passed vacuously, 55 unchecked definitions and branch
// operands, 77 the stack map before, 78 some of several references, 79 maps of cold
// blocks, 80 aliases of references, 81 references lost through parameters, on
// branches, and in shared slots.
var faults = [...]fault{
	{name: "two registers swapped", plant: swapRegisters},
	{name: "two operands swapped", plant: swapOperands},
	{name: "wrong register of a use", plant: misplaced(func(m *mutant, k int, op regalloc.Operand) bool {
		return op.Access.Reads() && m.out.Allocs[k].IsReg()
	})},
	{name: "wrong slot of a use", plant: misplaced(func(m *mutant, k int, op regalloc.Operand) bool {
		return op.Access.Reads() && m.out.Allocs[k].IsMem()
	})},
	{name: "wrong location of a definition [55]", plant: misplaced(func(_ *mutant, _ int, op regalloc.Operand) bool {
		return op.Access.Defines()
	})},
	{name: "definition left out", plant: leaveOut},
	{name: "wrong location of a branch operand [55]", plant: misplaced(func(m *mutant, k int, op regalloc.Operand) bool {
		return m.flags(k)&regalloc.IsTerminator != 0
	})},
	{name: "wrong location of a tied operand", plant: constrainedElsewhere(regalloc.Reuse)},
	{name: "wrong location of a fixed operand", plant: constrainedElsewhere(regalloc.Fixed)},
	{name: "slot for a register operand", plant: slotForRegister},
	{name: "scratch register for an operand", plant: scratchOperand},
	{name: "definition in a register of another class", plant: otherClass},
	{name: "definition shares a location", plant: shareLocation(regalloc.Access.Reads)},
	{name: "definitions share a location", plant: shareLocation(regalloc.Access.Defines)},
	{name: "unused definition shares a location", plant: shareUnused},
	{name: "edit dropped", plant: func(m *mutant) bool { return m.drop(m.edit(anyEdit)) }},
	{name: "spill dropped", plant: func(m *mutant) bool { return m.drop(m.edit(isSpill)) }},
	{name: "reload dropped", plant: func(m *mutant) bool { return m.drop(m.edit(isReload)) }},
	{name: "edit duplicated elsewhere", plant: duplicate},
	{name: "edits of one point swapped", plant: swapEdits},
	{name: "edit at another point", plant: displace},
	{name: "move narrowed [1]", plant: changeEdit(isWide, func(_ *mutant, e *regalloc.Edit) { e.Bytes = 8 })},
	{name: "reload of the wrong width [1]", plant: changeEdit(isReload, func(_ *mutant, e *regalloc.Edit) { e.Bytes ^= 24 })},
	{name: "spill of the wrong width [2]", plant: changeEdit(isSpill, func(_ *mutant, e *regalloc.Edit) { e.Bytes ^= 24 })},
	{name: "move widened [2]", plant: changeEdit(func(e regalloc.Edit) bool { return e.Kind == regalloc.Move && e.Bytes == 8 }, func(_ *mutant, e *regalloc.Edit) { e.Bytes = 16 })},
	{name: "move of 4 bytes [1]", plant: changeEdit(func(e regalloc.Edit) bool { return e.Kind == regalloc.Move && e.Bytes == 8 }, func(_ *mutant, e *regalloc.Edit) { e.Bytes = 4 })},
	{name: "reload of 4 bytes as 8 [1]", plant: changeEdit(func(e regalloc.Edit) bool { return isReload(e) && e.Bytes == 4 }, func(_ *mutant, e *regalloc.Edit) { e.Bytes = 8 })},
	{name: "move of 2 bytes [1]", plant: changeEdit(isMove, func(_ *mutant, e *regalloc.Edit) { e.Bytes = 2 })},
	{name: "wrong slot of a reload", plant: changeEdit(isReload, func(m *mutant, e *regalloc.Edit) { e.From = m.other(e.From) })},
	{name: "wrong slot of a spill", plant: changeEdit(isSpill, func(m *mutant, e *regalloc.Edit) { e.To = m.other(e.To) })},
	{name: "wrong source of a move", plant: changeEdit(isMove, func(m *mutant, e *regalloc.Edit) { e.From = m.other(e.From) })},
	{name: "wrong target of an edit", plant: changeEdit(anyEdit, func(m *mutant, e *regalloc.Edit) { e.To = m.other(e.To); m.use(e.To) })},
	{name: "wrong value made again", plant: wrongRemat(regalloc.Remat)},
	{name: "swap dropped", plant: func(m *mutant) bool { return m.drop(m.edit(isSwap)) }},
	{name: "wrong register of a swap", plant: changeEdit(isSwap, func(m *mutant, e *regalloc.Edit) { e.From = m.other(e.From); m.use(e.From) })},
	{name: "swap in one direction", plant: changeEdit(isSwap, func(_ *mutant, e *regalloc.Edit) { e.Kind = regalloc.Move })},
	{name: "swap for a move", plant: changeEdit(isMove, func(m *mutant, e *regalloc.Edit) { e.Kind = regalloc.Swap; m.use(e.From) })},
	{name: "swap with another place", plant: changeEdit(isSwap, swapElsewhere)},
	{name: "swap of 4 bytes [1]", plant: changeEdit(isSwap, func(_ *mutant, e *regalloc.Edit) { e.Bytes = 4 })},
	{name: "stored constant dropped", plant: func(m *mutant) bool { return m.drop(m.edit(isStoreConst)) }},
	{name: "wrong slot of a stored constant", plant: changeEdit(isStoreConst, func(m *mutant, e *regalloc.Edit) { e.To = m.other(e.To) })},
	{name: "wrong constant stored", plant: wrongRemat(regalloc.StoreConst)},
	{name: "stored constant of the wrong width [2]", plant: changeEdit(isStoreConst, func(_ *mutant, e *regalloc.Edit) { e.Bytes ^= 12 })},
	{name: "constant stored in no slot", plant: changeEdit(isStoreConst, func(m *mutant, e *regalloc.Edit) {
		e.To = regalloc.InReg(m.env.Order[regalloc.Int][0])
		m.use(e.To)
	})},
	{name: "two slots are one [2]", plant: mergeSlots},
	{name: "slots of 16 bytes have 8 [2]", plant: squeezeSlots},
	{name: "slot of 16 bytes at an odd word", plant: misalignSlot},
	{name: "spill area too small [2]", plant: func(m *mutant) bool {
		m.out.SlotWords = m.IntN(m.out.SlotWords + 1)
		return true
	}},
	{name: "stale value over a loop edge", plant: staleLoop},
	{name: "callee-saved register not known as used", plant: forgetUsed},
	{name: "callee-saved registers not saved in a block", plant: unsaveBlock},
	{name: "callee-saved registers saved on some ways", plant: saveJoin},
	{name: "callee-saved registers saved nowhere", plant: saveNothing},
	{name: "callee-saved register written where it is not saved", plant: writeUnsaved},
	{name: "callee-saved register swapped where it is not saved", plant: swapUnsaved},
	{name: "stack-map entry missing [78, 80]", plant: missingEntry},
	{name: "stack-map entry too many [80]", plant: extraEntry},
	{name: "stack-map entry of another slot", plant: wrongEntry},
	{name: "stack map missing [79]", plant: missingMap},
	{name: "stack maps of the safepoint before [77]", plant: mapsBefore},
	{name: "two stack maps exchanged [79]", plant: exchangeMaps},
	{name: "stack maps empty in one block [79]", plant: emptyMaps},
	{name: "two references in one slot [81]", plant: mergeReferences},
	{name: "vacuous: no claims, wrong use [54]", plant: vacuous},
	{name: "vacuous: claims at entry, wrong use [54]", plant: entryClaims},
	{name: "vacuous: false claims, wrong use [54]", plant: falseClaims},
	{name: "vacuous: wrong use in the entry [54]", plant: entryUse},

	{name: "tail call: word not written", plant: passed(toArg, func(m *mutant, e *regalloc.Edit) bool { return m.drop(e) })},
	{name: "tail call: wrong word written", plant: passed(toArg, func(m *mutant, e *regalloc.Edit) bool {
		e.To = m.otherWord(e.To)
		return true
	})},
	{name: "tail call: wrong word read", plant: passed(fromArg, func(m *mutant, e *regalloc.Edit) bool {
		e.From = m.otherWord(e.From)
		return true
	})},
	{name: "tail call: word not read before it is written", plant: passed(fromArg, func(m *mutant, e *regalloc.Edit) bool { return m.drop(e) })},
	{name: "tail call: word written before it is read", plant: passed(toArg, turnAround)},
	{name: "tail call: word written too early", plant: passed(toArg, setEarly)},
	{name: "tail call: half of the words written", plant: passed(func(e regalloc.Edit) bool { return toArg(e) && e.Bytes == 16 }, func(_ *mutant, e *regalloc.Edit) bool {
		e.Bytes = 8
		return true
	})},
	{name: "tail call: wrong source", plant: passed(isMove, func(m *mutant, e *regalloc.Edit) bool {
		e.From = m.other(e.From)
		return true
	})},
	{name: "tail call: wrong place of a register", plant: passed(func(e regalloc.Edit) bool { return e.To.IsReg() }, func(m *mutant, e *regalloc.Edit) bool {
		e.To = m.other(e.To)
		m.use(e.To)
		return true
	})},
	{name: "tail call: operand in another word", plant: constrainedElsewhere(regalloc.FixedArg)},

	{name: "throw: result read in the handler", plant: misplaceInHandler(resultPlace)},
	{name: "throw: lost register read in the handler", plant: misplaceInHandler(lostPlace)},
	{name: "throw: result stored in the handler", plant: storeResult},
	{name: "throw: stack-map entry missing", plant: forgetThrown},
	{name: "throw: wrong location of a result", plant: misplaced(func(m *mutant, k int, op regalloc.Operand) bool {
		return op.Access.Defines() && op.Constraint <= regalloc.Reg && isThrowing(m, k)
	})},
	{name: "throw: wrong location of an argument", plant: misplaced(func(m *mutant, k int, op regalloc.Operand) bool {
		return op.Access.Reads() && op.Constraint <= regalloc.Reg && isThrowing(m, k)
	})},
	{name: "throw: edit at the handler dropped", plant: func(m *mutant) bool {
		_, b, found := m.handler(func(_ regalloc.Inst, b regalloc.Block) bool {
			return slices.ContainsFunc(m.out.Edits, func(e regalloc.Edit) bool {
				return e.Point == regalloc.Before(regalloc.Inst(m.in.Blocks[b].Insts.Start))
			})
		})
		return found && m.drop(m.edit(func(e regalloc.Edit) bool {
			return e.Point == regalloc.Before(regalloc.Inst(m.in.Blocks[b].Insts.Start))
		}))
	}},

	{name: "told: another value passed by a tail call", misread: func(m *mutant) bool { return m.anotherValue(regalloc.IsTailCall) }},
	{name: "told: another word passed by a tail call", misread: exchangeWords((*mutant).isTailCall)},
	{name: "told: arguments come in other words", misread: exchangeWords(func(_ *mutant, i regalloc.Inst) bool { return i == 0 })},
	{name: "told: tail call is a return", misread: func(m *mutant) bool {
		return m.inst(func(i *regalloc.InstInfo) bool { return i.Flags&regalloc.IsTailCall != 0 }, func(i *regalloc.InstInfo) {
			i.Flags = regalloc.IsTerminator | regalloc.IsReturn
		})
	}},
	{name: "told: throwing call clobbers nothing", misread: tellThrowing(func(i *regalloc.InstInfo) bool { return i.Clobbers != 0 }, func(i *regalloc.InstInfo) { i.Clobbers = 0 })},
	{name: "told: throwing call is no safepoint", misread: func(m *mutant) bool { return m.forgetSafepoint(regalloc.MayThrow) }},

	{name: "told: clobbers forgotten", misread: func(m *mutant) bool {
		return m.inst(func(i *regalloc.InstInfo) bool { return i.Clobbers != 0 }, func(i *regalloc.InstInfo) { i.Clobbers = 0 })
	}},
	{name: "told: upper halves are not clobbered", misread: keepHighHalves},
	{name: "told: early definition is ordinary", misread: access(regalloc.EarlyDef, regalloc.Def)},
	{name: "told: late use is ordinary", misread: access(regalloc.LateUse, regalloc.Use)},
	{name: "told: tied operand is free", misread: func(m *mutant) bool {
		return m.change(func(_ int, op regalloc.Operand) bool { return op.Constraint == regalloc.Reuse }, func(op *regalloc.Operand) {
			op.Constraint, op.Arg = regalloc.Reg, 0
		})
	}},
	{name: "told: another fixed register", misread: func(m *mutant) bool {
		return m.change(func(_ int, op regalloc.Operand) bool {
			return op.Constraint == regalloc.Fixed && m.env.Allocatable.Has(op.PReg())
		}, func(op *regalloc.Operand) {
			order := m.env.Order[op.PReg().Class()]
			op.Arg = uint16(order[m.IntN(len(order))])
		})
	}},
	{name: "told: another value used", misread: func(m *mutant) bool { return m.anotherValue(0) }},
	{name: "told: another value at a branch [55]", misread: func(m *mutant) bool { return m.anotherValue(regalloc.IsTerminator) }},
	{name: "told: arguments of an edge exchanged", misread: exchangeArgs},
	{name: "told: wide value is narrow [2]", misread: func(m *mutant) bool {
		return m.value(func(v *regalloc.VRegInfo) bool { return v.Bytes == 16 }, func(v *regalloc.VRegInfo) { v.Bytes = 8 })
	}},
	{name: "told: value has 4 bytes [1]", misread: func(m *mutant) bool {
		return m.value(func(v *regalloc.VRegInfo) bool { return v.Class == regalloc.Int && v.Bytes == 8 && !v.Ref }, func(v *regalloc.VRegInfo) { v.Bytes = 4 })
	}},
	{name: "told: value of 4 bytes has 8 [1]", misread: func(m *mutant) bool {
		return m.value(func(v *regalloc.VRegInfo) bool { return v.Bytes == 4 }, func(v *regalloc.VRegInfo) { v.Bytes = 8 })
	}},
	{name: "told: constants can be stored", misread: storeAll},
	{name: "told: reference is none [80]", misread: unknownReference},
	{name: "told: copied reference is none [80]", misread: copiedReference},
	{name: "told: merged references are none [81]", misread: mergedReferences},
	{name: "told: safepoint is none [79]", misread: func(m *mutant) bool { return m.forgetSafepoint(0) }},
	{name: "told: branch is no safepoint [81]", misread: func(m *mutant) bool { return m.forgetSafepoint(regalloc.IsTerminator) }},

	{name: "lowered: safepoint is none", lowered: true, misread: func(m *mutant) bool { return m.forgetSafepoint(0) }},
}

func anyEdit(regalloc.Edit) bool        { return true }
func isMove(e regalloc.Edit) bool       { return e.Kind == regalloc.Move }
func isSwap(e regalloc.Edit) bool       { return e.Kind == regalloc.Swap }
func isStoreConst(e regalloc.Edit) bool { return e.Kind == regalloc.StoreConst }
func isWide(e regalloc.Edit) bool       { return e.Bytes == 16 }
func isSpill(e regalloc.Edit) bool      { return e.Kind == regalloc.Move && e.To.IsSlot() }
func isReload(e regalloc.Edit) bool     { return e.Kind == regalloc.Move && e.From.IsSlot() }

// misplaced moves an operand that ok accepts to another location.
func misplaced(ok func(m *mutant, k int, op regalloc.Operand) bool) func(m *mutant) bool {
	return func(m *mutant) bool {
		return m.misplace(m.operand(func(k int, op regalloc.Operand) bool { return ok(m, k, op) }))
	}
}

// constrainedElsewhere moves an operand to a location that its constraint forbids, and
// the edits beside its instruction with it. The instruction does not access that location.
func constrainedElsewhere(c regalloc.Constraint) func(m *mutant) bool {
	return func(m *mutant) bool {
		k := m.operand(func(_ int, op regalloc.Operand) bool { return op.Constraint == c })
		if k < 0 {
			return false
		}
		was := m.out.Allocs[k]
		m.misplace(k)
		for j := range m.out.Edits {
			switch e := &m.out.Edits[j]; {
			case e.Point == regalloc.Before(m.at) && e.To == was && m.in.Operands[k].Access.Reads():
				e.To = m.out.Allocs[k]
			case e.Point == regalloc.After(m.at) && e.From == was && m.in.Operands[k].Access.Defines():
				e.From = m.out.Allocs[k]
			}
		}
		return true
	}
}

func changeEdit(ok func(e regalloc.Edit) bool, f func(m *mutant, e *regalloc.Edit)) func(m *mutant) bool {
	return func(m *mutant) bool {
		e := m.edit(ok)
		if e != nil {
			f(m, e)
		}
		return e != nil
	}
}

// swapRegisters exchanges two registers in all operands of an instruction.
func swapRegisters(m *mutant) bool {
	x, _, ok := m.pair(func(x, y int) bool {
		return m.out.Allocs[x].IsReg() && m.out.Allocs[y].IsReg() && m.out.Allocs[x] != m.out.Allocs[y]
	})
	if !ok {
		return false
	}
	a := m.out.Allocs[x]
	b := m.other(a)
	s, e := m.in.OperandRange(m.at)
	for k := s; k < e; k++ {
		switch m.out.Allocs[k] {
		case a:
			m.out.Allocs[k] = b
		case b:
			m.out.Allocs[k] = a
		}
	}
	m.use(b)
	return true
}

func swapOperands(m *mutant) bool {
	x, y, ok := m.pair(func(x, y int) bool { return m.out.Allocs[x] != m.out.Allocs[y] })
	if ok {
		m.out.Allocs[x], m.out.Allocs[y] = m.out.Allocs[y], m.out.Allocs[x]
	}
	return ok
}

// otherClass defines a value in a register of the other class, where the edits
// behind the instruction then find it.
func otherClass(m *mutant) bool {
	k := m.operand(func(k int, op regalloc.Operand) bool {
		return op.Access.Defines() && op.Constraint <= regalloc.Reg && m.out.Allocs[k].IsReg()
	})
	if k < 0 {
		return false
	}
	was := m.out.Allocs[k]
	order := m.env.Order[1-was.Reg().Class()]
	m.out.Allocs[k] = regalloc.InReg(order[m.IntN(len(order))])
	m.use(m.out.Allocs[k])
	for j := range m.out.Edits {
		if e := &m.out.Edits[j]; e.Point == regalloc.After(m.at) && e.From == was {
			e.From = m.out.Allocs[k]
		}
	}
	return true
}

// leaveOut leaves out an instruction that only defines a value; what may be made again has no other place then.
func leaveOut(m *mutant) bool {
	k := m.operand(func(k int, op regalloc.Operand) bool { return op.Access.Defines() && m.out.Allocs[k].IsReg() })
	if k < 0 {
		return false
	}
	m.out.Allocs[k] = regalloc.NoAllocation
	return true
}

func slotForRegister(m *mutant) bool {
	k := m.operand(func(k int, _ regalloc.Operand) bool { return m.out.Allocs[k].IsReg() })
	if k < 0 || m.out.SlotWords == 0 {
		return false
	}
	m.out.Allocs[k] = regalloc.InSlot(m.IntN(m.out.SlotWords))
	return true
}

func scratchOperand(m *mutant) bool {
	k := m.operand(func(k int, _ regalloc.Operand) bool {
		a := m.out.Allocs[k]
		return a.IsReg() && m.env.Scratch[a.Reg().Class()] != regalloc.NoPReg
	})
	if k < 0 {
		return false
	}
	m.out.Allocs[k] = regalloc.InReg(m.env.Scratch[m.out.Allocs[k].Reg().Class()])
	m.use(m.out.Allocs[k])
	return true
}

// shareLocation gives a definition the location of another operand whose access ok
// accepts, consistently as far as the edits behind the instruction go.
func shareLocation(ok func(a regalloc.Access) bool) func(m *mutant) bool {
	return func(m *mutant) bool {
		x, y, found := m.pair(func(x, y int) bool {
			op, with := m.in.Operands[x], m.in.Operands[y]
			return op.Access.Defines() && op.Constraint <= regalloc.Reg && ok(with.Access) &&
				m.out.Allocs[x] != m.out.Allocs[y] && m.in.VRegs[op.VReg].Class == m.in.VRegs[with.VReg].Class
		})
		if !found {
			return false
		}
		was, is := m.out.Allocs[x], m.out.Allocs[y]
		m.out.Allocs[x] = is
		m.use(is)
		for k := range m.out.Edits {
			if e := &m.out.Edits[k]; e.Point == regalloc.After(m.at) && e.From == was {
				e.From = is
			}
		}
		return true
	}
}

// shareUnused gives a definition that nothing uses, a temporary, the register of
// another definition of its instruction.
func shareUnused(m *mutant) bool {
	used := make([]bool, len(m.in.VRegs))
	for _, op := range m.in.Operands {
		used[op.VReg] = used[op.VReg] || op.Access.Reads()
	}
	for _, e := range m.in.Edges {
		for _, a := range m.in.ArgsOf(e) {
			used[a] = true
		}
	}
	with := func(k int) int { // another definition, or -1
		op := m.in.Operands[k]
		s, e := m.in.OperandRange(instOf(m.in, k))
		for j := int(s); j < int(e); j++ {
			of := m.in.Operands[j]
			if j != k && of.Access == op.Access && of.Constraint != regalloc.Fixed && used[of.VReg] && m.in.VRegs[of.VReg].Class == m.in.VRegs[op.VReg].Class {
				return j
			}
		}
		return -1
	}
	k := m.operand(func(k int, op regalloc.Operand) bool {
		return op.Access.Defines() && op.Constraint <= regalloc.Reg && !used[op.VReg] && m.out.Allocs[k].IsReg() && with(k) >= 0
	})
	if k < 0 {
		return false
	}
	m.out.Allocs[k] = m.out.Allocs[with(k)]
	return true
}

func duplicate(m *mutant) bool {
	e := m.edit(anyEdit)
	if e == nil {
		return false
	}
	twin := *e
	twin.Point = m.edit(anyEdit).Point
	m.insert(twin)
	return true
}

func swapEdits(m *mutant) bool {
	k := m.pick(len(m.out.Edits), func(k int) bool { return k > 0 && m.out.Edits[k].Point == m.out.Edits[k-1].Point })
	if k < 0 {
		return false
	}
	m.at = m.out.Edits[k].Point.Inst()
	m.out.Edits[k], m.out.Edits[k-1] = m.out.Edits[k-1], m.out.Edits[k]
	return true
}

// displace moves an edit by at most three points.
func displace(m *mutant) bool {
	e := m.edit(anyEdit)
	if e == nil {
		return false
	}
	moved := *e
	m.drop(e)
	moved.Point += regalloc.ProgPoint(m.IntN(7)) - 3
	if moved.Point == 0 || moved.Point.Inst() >= regalloc.Inst(len(m.in.Insts)) {
		return false
	}
	m.insert(moved)
	return true
}

// wrongRemat makes edits of the kind make another value.
func wrongRemat(kind regalloc.EditKind) func(m *mutant) bool {
	return func(m *mutant) bool {
		e := m.edit(func(e regalloc.Edit) bool { return e.Kind == kind })
		if e == nil {
			return false
		}
		v := m.pick(len(m.in.VRegs), func(v int) bool {
			info := &m.in.VRegs[v]
			return info.Remat != regalloc.NoInst && info.Remat != e.Inst && (kind == regalloc.Remat || info.Storable)
		})
		if v < 0 {
			return false
		}
		e.Inst, e.Bytes = m.in.VRegs[v].Remat, m.in.VRegs[v].Bytes
		return true
	}
}

// swapElsewhere makes e a swap with what cannot be swapped.
func swapElsewhere(m *mutant, e *regalloc.Edit) {
	e.From = [...]regalloc.Allocation{
		regalloc.InReg(m.env.Scratch[regalloc.Float]), regalloc.InReg(m.env.Order[regalloc.Float][0]), regalloc.InSlot(0), regalloc.NoAllocation, e.To,
	}[m.IntN(5)]
	m.use(e.From)
}

// renumberSlots moves the content of each slot word n to word f(n), everywhere.
func (m *mutant) renumberSlots(f func(n int) int) {
	slot := func(a *regalloc.Allocation) {
		if a.IsSlot() {
			*a = regalloc.InSlot(f(a.Index()))
		}
	}
	for k := range m.out.Allocs {
		slot(&m.out.Allocs[k])
	}
	for k := range m.out.Edits {
		slot(&m.out.Edits[k].From)
		slot(&m.out.Edits[k].To)
	}
	for k := range m.out.Claims {
		slot(&m.out.Claims[k].Loc)
	}
	var slots []uint32
	for k := range m.out.StackMaps {
		r := &m.out.StackMaps[k].Slots
		start := len(slots)
		for _, s := range m.out.StackMapSlots[r.Start:r.End] {
			slots = append(slots, uint32(f(int(s))))
		}
		slices.Sort(slots[start:])
		slots = slots[:start+len(slices.Compact(slots[start:]))]
		*r = regalloc.Range{Start: uint32(start), End: uint32(len(slots))}
	}
	m.out.StackMapSlots = slots
}

// mergeSlots moves the content of one slot word to another slot word.
func mergeSlots(m *mutant) bool {
	e := m.edit(func(e regalloc.Edit) bool { return isSpill(e) || isReload(e) })
	if e == nil || m.out.SlotWords < 2 {
		return false
	}
	from := e.To
	if !from.IsSlot() {
		from = e.From
	}
	to := m.other(from).Index()
	m.renumberSlots(func(n int) int {
		if n == from.Index() {
			return to
		}
		return n
	})
	return true
}

// slotOf returns the slot that a spill or reload of the given width accesses, none if there is no such edit.
func (m *mutant) slotOf(bytes uint8) regalloc.Allocation {
	e := m.edit(func(e regalloc.Edit) bool { return e.Bytes == bytes && (isSpill(e) || isReload(e)) })
	switch {
	case e == nil:
		return regalloc.NoAllocation
	case e.To.IsSlot():
		return e.To
	}
	return e.From
}

// squeezeSlots moves a slot of one word to the second word of a slot of 16 bytes.
func squeezeSlots(m *mutant) bool {
	narrow, wide := m.slotOf(8), m.slotOf(16)
	if narrow.IsNone() || wide.IsNone() {
		return false
	}
	m.renumberSlots(func(n int) int {
		if n == narrow.Index() {
			return wide.Index() + 1
		}
		return n
	})
	return true
}

// misalignSlot moves a slot of 16 bytes, with all that is said of it, to an odd word behind the others.
func misalignSlot(m *mutant) bool {
	w := m.slotOf(16)
	if w.IsNone() {
		return false
	}
	to := m.out.SlotWords | 1
	m.out.SlotWords = to + 2
	m.renumberSlots(func(n int) int {
		if n == w.Index() {
			return to
		}
		return n
	})
	return true
}

// staleLoop drops an edit at the end of a block whose only successor is the block itself
// or comes before it in order.
func staleLoop(m *mutant) bool {
	return m.drop(m.edit(func(e regalloc.Edit) bool {
		i := e.Point.Inst()
		if e.Point.IsAfter() || m.in.Insts[i].Flags&regalloc.IsTerminator == 0 {
			return false
		}
		b := blockOf(m.in, i)
		succs := m.in.SuccsOf(b)
		return len(succs) == 1 && succs[0].To <= b
	}))
}

func forgetUsed(m *mutant) bool {
	saved := m.out.Used & m.env.CalleeSaved
	for ; saved.Len() > 1 && m.IntN(2) == 0; saved = saved.Remove(saved.First()) {
	}
	if saved == 0 {
		return false
	}
	m.out.Used = m.out.Used.Remove(saved.First())
	k := m.operand(func(k int, op regalloc.Operand) bool {
		return op.Access.Defines() && m.out.Allocs[k] == regalloc.InReg(saved.First())
	})
	if k < 0 {
		m.edit(func(e regalloc.Edit) bool {
			r := regalloc.InReg(saved.First())
			return e.To == r || e.Kind == regalloc.Swap && e.From == r
		})
	}
	return true
}

// unsaveBlock makes a saved block an unsaved one.
func unsaveBlock(m *mutant) bool {
	if len(m.out.Unsaved) == 0 {
		m.out.Unsaved = make([]bool, len(m.in.Blocks))
	}
	return m.flipSaved(func(b regalloc.Block) bool { return !m.out.Unsaved[b] })
}

// saveJoin makes an unsaved block a saved one, to which a saved block leads, and a way on which nothing has been saved.
func saveJoin(m *mutant) bool {
	return m.flipSaved(func(b regalloc.Block) bool {
		saved, never := false, false
		for _, p := range m.in.PredsOf(b) {
			saved = saved || !m.out.UnsavedIn(p)
			never = never || m.neverSaved(p)
		}
		return m.out.UnsavedIn(b) && saved && never
	})
}

// neverSaved reports whether b and those in front of it up to the entry are unsaved, on one way at least.
func (m *mutant) neverSaved(b regalloc.Block) bool {
	for range m.in.Blocks {
		preds := m.in.PredsOf(b)
		if !m.out.UnsavedIn(b) || len(preds) == 0 {
			return m.out.UnsavedIn(b)
		}
		b = preds[0]
	}
	return false
}

// flipSaved changes whether a block that ok accepts is saved.
func (m *mutant) flipSaved(ok func(b regalloc.Block) bool) bool {
	b := m.pick(len(m.in.Blocks), func(b int) bool { return ok(regalloc.Block(b)) })
	if b < 0 {
		return false
	}
	m.out.Unsaved[b] = !m.out.Unsaved[b]
	m.at = regalloc.Inst(m.in.Blocks[b].Insts.Start)
	return true
}

// saveNothing makes all blocks unsaved ones.
func saveNothing(m *mutant) bool {
	m.out.Unsaved = slices.Repeat([]bool{true}, len(m.in.Blocks))
	saved := m.out.Used & m.env.CalleeSaved
	m.operand(func(k int, op regalloc.Operand) bool {
		return op.Access.Defines() && m.out.Allocs[k].IsReg() && saved.Has(m.out.Allocs[k].Reg())
	})
	return saved != 0
}

// writeUnsaved makes an unsaved block define a value in a callee-saved register, or move one there.
func writeUnsaved(m *mutant) bool {
	if len(m.out.Unsaved) == 0 || m.env.CalleeSaved == 0 {
		return false
	}
	isIn := func(i regalloc.Inst) bool { return m.out.Unsaved[blockOf(m.in, i)] }
	k := m.operand(func(k int, op regalloc.Operand) bool {
		return op.Access.Defines() && m.out.Allocs[k].IsReg() && isIn(instOf(m.in, k))
	})
	if k < 0 {
		return false
	}
	saved := m.env.CalleeSaved
	for n := m.IntN(saved.Len()); n > 0; n-- {
		saved = saved.Remove(saved.First())
	}
	to := regalloc.InReg(saved.First())
	m.use(to)
	if m.IntN(2) == 0 {
		m.out.Allocs[k] = to
		return true
	}
	i := instOf(m.in, k)
	if m.in.Insts[i].Flags&regalloc.IsTerminator != 0 || saved.First().Class() != m.out.Allocs[k].Reg().Class() {
		return false
	}
	m.insert(regalloc.Edit{Point: regalloc.After(i), From: m.out.Allocs[k], To: to, Bytes: 8})
	return true
}

// swapUnsaved makes an unsaved block exchange a callee-saved register with another one, which gets its value back.
func swapUnsaved(m *mutant) bool {
	saved := m.env.CalleeSaved & m.env.Swaps
	if len(m.out.Unsaved) == 0 || saved == 0 {
		return false
	}
	k := m.operand(func(k int, op regalloc.Operand) bool {
		i := instOf(m.in, k)
		return op.Access.Defines() && m.out.Allocs[k].IsReg() && m.env.Swaps.Has(m.out.Allocs[k].Reg()) &&
			m.in.Insts[i].Flags&regalloc.IsTerminator == 0 && m.out.Unsaved[blockOf(m.in, i)]
	})
	if k < 0 {
		return false
	}
	at, from, to := regalloc.After(m.at), m.out.Allocs[k], regalloc.InReg(saved.First())
	m.use(to)
	first := sort.Search(len(m.out.Edits), func(k int) bool { return m.out.Edits[k].Point >= at })
	m.out.Edits = slices.Insert(m.out.Edits, first,
		regalloc.Edit{Point: at, Kind: regalloc.Swap, From: to, To: from, Bytes: 8}, regalloc.Edit{Point: at, From: to, To: from, Bytes: 8})
	return true
}

// vacuous removes all claims, and makes one use wrong.
func vacuous(m *mutant) bool {
	m.out.Claims = nil
	clear(m.out.ClaimEnd)
	return m.misplace(m.operand(func(_ int, op regalloc.Operand) bool { return op.Access.Reads() }))
}

// entryClaims makes a use wrong, and claims at the entry the value that it then needs.
func entryClaims(m *mutant) bool {
	k := m.operand(func(_ int, op regalloc.Operand) bool { return op.Access.Reads() })
	if !m.misplace(k) {
		return false
	}
	m.claim(0, regalloc.Claim{Loc: m.out.Allocs[k], VReg: m.in.Operands[k].VReg})
	return true
}

// falseClaims makes a use wrong, and claims the value that it then needs at each block except
// the entry.
func falseClaims(m *mutant) bool {
	k := m.operand(func(_ int, op regalloc.Operand) bool { return op.Access.Reads() })
	if !m.misplace(k) {
		return false
	}
	for b := 1; b < len(m.out.ClaimEnd); b++ {
		m.claim(b, regalloc.Claim{Loc: m.out.Allocs[k], VReg: m.in.Operands[k].VReg})
	}
	return true
}

// claim adds a claim at block b.
func (m *mutant) claim(b int, c regalloc.Claim) {
	m.out.Claims = slices.Insert(m.out.Claims, int(m.out.ClaimEnd[b]), c)
	for ; b < len(m.out.ClaimEnd); b++ {
		m.out.ClaimEnd[b]++
	}
}

// entryUse makes the first block read something that nothing has defined.
func entryUse(m *mutant) bool {
	_, first := m.in.OperandRange(0)
	last := m.in.Insts[m.in.Blocks[0].Insts.End-1].OperandEnd
	return m.misplace(m.operand(func(k int, op regalloc.Operand) bool {
		return k >= int(first) && k < int(last) && op.Access.Reads()
	}))
}
