package main

import (
	"slices"

	"github.com/waot-project/waot/regalloc"
)

// This file has the faults of tail calls, and of calls that may throw.

func (m *mutant) isTailCall(i regalloc.Inst) bool {
	return m.in.Insts[i].Flags&regalloc.IsTailCall != 0
}

// passed makes a fault of one of the edits in front of tail calls that ok accepts.
func passed(ok func(e regalloc.Edit) bool, f func(m *mutant, e *regalloc.Edit) bool) func(m *mutant) bool {
	return func(m *mutant) bool {
		e := m.edit(func(e regalloc.Edit) bool { return m.isTailCall(e.Point.Inst()) && ok(e) })
		return e != nil && f(m, e)
	}
}

func toArg(e regalloc.Edit) bool   { return e.To.IsArg() }
func fromArg(e regalloc.Edit) bool { return e.Kind == regalloc.Move && e.From.IsArg() }

// otherWord returns another argument word than a; an odd one as well.
func (m *mutant) otherWord(a regalloc.Allocation) regalloc.Allocation {
	return regalloc.InArg((a.Index() + 1 + m.IntN(m.in.ArgWords-1)) % m.in.ArgWords)
}

// setEarly moves an edit to an earlier point of the block, behind an instruction, or in front of one.
func setEarly(m *mutant, e *regalloc.Edit) bool {
	first := regalloc.Before(regalloc.Inst(m.in.Blocks[blockOf(m.in, e.Point.Inst())].Insts.Start))
	if first == 0 {
		first++
	}
	if first >= e.Point {
		return false
	}
	early := *e
	m.drop(e)
	early.Point = first + regalloc.ProgPoint(m.IntN(int(early.Point-first)))
	m.insert(early)
	return true
}

// turnAround exchanges e with another edit of its point.
func turnAround(m *mutant, e *regalloc.Edit) bool {
	k := m.pick(len(m.out.Edits), func(k int) bool { return m.out.Edits[k].Point == e.Point && m.out.Edits[k] != *e })
	if k < 0 {
		return false
	}
	*e, m.out.Edits[k] = m.out.Edits[k], *e
	return true
}

// exchangeWords makes two operands of an instruction that ok accepts name each other's words, in the allocator's input.
func exchangeWords(ok func(m *mutant, i regalloc.Inst) bool) func(m *mutant) bool {
	return func(m *mutant) bool {
		x, y, found := m.pair(func(x, y int) bool {
			a, b := m.in.Operands[x], m.in.Operands[y]
			return a.Constraint == regalloc.FixedArg && b.Constraint == regalloc.FixedArg && ok(m, instOf(m.in, x)) &&
				m.in.VRegs[a.VReg].Words() == m.in.VRegs[b.VReg].Words()
		})
		if found {
			a, b := &m.told.Operands[x], &m.told.Operands[y]
			a.Arg, b.Arg = b.Arg, a.Arg
		}
		return found
	}
}

// handler returns a random call that may throw that ok accepts, with its handler, or false.
func (m *mutant) handler(ok func(call regalloc.Inst, b regalloc.Block) bool) (call regalloc.Inst, b regalloc.Block, found bool) {
	k := m.pick(len(m.in.Blocks), func(k int) bool {
		end := regalloc.Inst(m.in.Blocks[k].Insts.End - 1)
		return m.in.Insts[end].Flags&regalloc.MayThrow != 0 && ok(end, m.in.SuccsOf(regalloc.Block(k))[1].To)
	})
	if k < 0 {
		return 0, 0, false
	}
	call, b = regalloc.Inst(m.in.Blocks[k].Insts.End-1), m.in.SuccsOf(regalloc.Block(k))[1].To
	m.at = regalloc.Inst(m.in.Blocks[b].Insts.Start)
	return call, b, true
}

// operandOf returns a random operand of the instructions from first to end that ok accepts, or -1.
func (m *mutant) operandOf(first, end regalloc.Inst, ok func(k int, op regalloc.Operand) bool) int {
	start, _ := m.in.OperandRange(first)
	_, last := m.in.OperandRange(end - 1)
	k := m.pick(int(last-start), func(k int) bool { return ok(int(start)+k, m.in.Operands[int(start)+k]) })
	if k < 0 {
		return -1
	}
	return int(start) + k
}

// misplaceInHandler makes an operand that the handler of a call reads be where to says, a place for values of the class, and of as many words; none if there is none. The
// place is claimed to hold the operand's value where the handler begins, if claims are what it begins with.
func misplaceInHandler(to func(m *mutant, call regalloc.Inst, v *regalloc.VRegInfo) regalloc.Allocation) func(m *mutant) bool {
	return func(m *mutant) bool {
		use, place := -1, regalloc.NoAllocation
		_, b, found := m.handler(func(call regalloc.Inst, b regalloc.Block) bool {
			r := m.in.Blocks[b].Insts
			use = m.operandOf(regalloc.Inst(r.Start), regalloc.Inst(r.End), func(k int, op regalloc.Operand) bool {
				if !op.Access.Reads() || op.Constraint > regalloc.Reg || m.definedIn(op.VReg, regalloc.Inst(r.Start), instOf(m.in, k)) {
					return false
				}
				place = to(m, call, &m.in.VRegs[op.VReg])
				return !place.IsNone() && place != m.out.Allocs[k] && (place.IsReg() || op.Constraint == regalloc.Any)
			})
			return use >= 0
		})
		if !found {
			return false
		}
		m.out.Allocs[use] = place
		if m.IntN(2) == 0 {
			m.claim(int(b), regalloc.Claim{Loc: place, VReg: m.in.Operands[use].VReg})
		}
		return true
	}
}

// resultPlace is where a call puts a result of v's class and width.
func resultPlace(m *mutant, call regalloc.Inst, v *regalloc.VRegInfo) regalloc.Allocation {
	k := m.operandOf(call, call+1, func(_ int, op regalloc.Operand) bool {
		of := &m.in.VRegs[op.VReg]
		return op.Access.Defines() && of.Class == v.Class && of.Bytes == v.Bytes
	})
	if k < 0 {
		return regalloc.NoAllocation
	}
	return m.out.Allocs[k]
}

// lostPlace is a register that a call loses.
func lostPlace(m *mutant, call regalloc.Inst, v *regalloc.VRegInfo) regalloc.Allocation {
	lost := (m.in.ClobbersOf(call).Lost(v.Bytes) & m.env.Allocatable).OfClass(v.Class)
	for n := m.IntN(max(lost.Len(), 1)); n > 0; n-- {
		lost = lost.Remove(lost.First())
	}
	if lost == 0 {
		return regalloc.NoAllocation
	}
	return regalloc.InReg(lost.First())
}

// storeResult stores a result of a call in its handler, in a slot that the handler reads.
func storeResult(m *mutant) bool {
	var slot, result regalloc.Allocation
	var bytes uint8
	_, b, found := m.handler(func(call regalloc.Inst, b regalloc.Block) bool {
		r := m.in.Blocks[b].Insts
		k := m.pick(len(m.out.Edits), func(k int) bool {
			e := m.out.Edits[k]
			return isReload(e) && blockOf(m.in, e.Point.Inst()) == b
		})
		if k >= 0 {
			slot, bytes = m.out.Edits[k].From, m.out.Edits[k].Bytes
		} else if k = m.operandOf(regalloc.Inst(r.Start), regalloc.Inst(r.End), func(k int, op regalloc.Operand) bool {
			return op.Access.Reads() && m.out.Allocs[k].IsSlot()
		}); k >= 0 {
			slot, bytes = m.out.Allocs[k], m.in.VRegs[m.in.Operands[k].VReg].Bytes
		} else {
			return false
		}
		j := m.operandOf(call, call+1, func(k int, op regalloc.Operand) bool {
			return op.Access.Defines() && m.out.Allocs[k].IsReg() && m.in.VRegs[op.VReg].Bytes == bytes
		})
		if j >= 0 {
			result = m.out.Allocs[j]
		}
		return j >= 0
	})
	if !found {
		return false
	}
	at := regalloc.Before(regalloc.Inst(m.in.Blocks[b].Insts.Start))
	first, _ := slices.BinarySearchFunc(m.out.Edits, at, func(e regalloc.Edit, at regalloc.ProgPoint) int { return int(int64(e.Point) - int64(at)) })
	m.out.Edits = slices.Insert(m.out.Edits, first, regalloc.Edit{Point: at, From: result, To: slot, Bytes: bytes})
	return true
}

// forgetThrown leaves a reference out of the stack map of a call that may throw, one that the handler reads if there is one.
func forgetThrown(m *mutant) bool {
	k := m.stackMap(func(k int, slots []uint32) bool {
		return len(slots) > 0 && m.in.Insts[m.out.StackMaps[k].Inst].Flags&regalloc.MayThrow != 0
	})
	if k < 0 {
		return false
	}
	b := m.in.SuccsOf(blockOf(m.in, m.at))[1].To
	slots := slices.Clone(m.slotsOf(k))
	j := m.pick(len(slots), func(j int) bool { return m.readsSlot(b, regalloc.InSlot(int(slots[j]))) })
	if j < 0 {
		j = m.IntN(len(slots))
	} else {
		m.at = regalloc.Inst(m.in.Blocks[b].Insts.Start)
	}
	m.setSlots(k, slices.Delete(slots, j, j+1))
	return true
}

// readsSlot reports whether an operand or an edit of block b reads the slot.
func (m *mutant) readsSlot(b regalloc.Block, slot regalloc.Allocation) bool {
	r := m.in.Blocks[b].Insts
	return m.operandOf(regalloc.Inst(r.Start), regalloc.Inst(r.End), func(k int, op regalloc.Operand) bool {
		return op.Access.Reads() && m.out.Allocs[k] == slot
	}) >= 0 || slices.ContainsFunc(m.out.Edits, func(e regalloc.Edit) bool { return e.From == slot && blockOf(m.in, e.Point.Inst()) == b })
}

// tellThrowing changes what the allocator is told of a call that may throw.
func tellThrowing(ok func(i *regalloc.InstInfo) bool, f func(i *regalloc.InstInfo)) func(m *mutant) bool {
	return func(m *mutant) bool {
		return m.inst(func(i *regalloc.InstInfo) bool { return i.Flags&regalloc.MayThrow != 0 && ok(i) }, f)
	}
}

func isThrowing(m *mutant, k int) bool { return m.flags(k)&regalloc.MayThrow != 0 }
