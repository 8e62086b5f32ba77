package main

import (
	"github.com/waot-project/waot/regalloc"
)

// change applies f to an operand in the allocator's input that ok accepts.
func (m *mutant) change(ok func(k int, op regalloc.Operand) bool, f func(op *regalloc.Operand)) bool {
	k := m.operand(ok)
	if k >= 0 {
		f(&m.told.Operands[k])
	}
	return k >= 0
}

func access(from, to regalloc.Access) func(m *mutant) bool {
	return func(m *mutant) bool {
		return m.change(func(_ int, op regalloc.Operand) bool { return op.Access == from }, func(op *regalloc.Operand) { op.Access = to })
	}
}

func (m *mutant) inst(ok func(i *regalloc.InstInfo) bool, f func(i *regalloc.InstInfo)) bool {
	i := m.pick(len(m.told.Insts), func(i int) bool { return ok(&m.told.Insts[i]) })
	if i >= 0 {
		f(&m.told.Insts[i])
		m.at = regalloc.Inst(i)
	}
	return i >= 0
}

// keepHighHalves hides that an instruction clobbers the high halves of registers whose low halves it
// keeps. A value of 16 bytes lives across the instruction in its block.
func keepHighHalves(m *mutant) bool {
	wide := func(i regalloc.Inst) bool {
		block := m.in.Blocks[blockOf(m.in, i)].Insts
		for j := i + 1; j < regalloc.Inst(block.End); j++ {
			for _, op := range m.in.OperandsOf(j) {
				if op.Access.Reads() && m.in.VRegs[op.VReg].Bytes == 16 && !m.definedIn(op.VReg, i, j) {
					return true
				}
			}
		}
		return false
	}
	i := m.pick(len(m.in.Insts), func(k int) bool {
		c := m.in.ClobbersOf(regalloc.Inst(k))
		return c.High&^c.Low != 0 && wide(regalloc.Inst(k))
	})
	if i < 0 {
		return false
	}
	m.at = regalloc.Inst(i)
	low := m.in.ClobbersOf(m.at).Low
	m.told.ClobberSets = append(m.told.ClobberSets, regalloc.WholeRegs(low))
	m.told.Insts[i].Clobbers = uint16(len(m.told.ClobberSets) - 1)
	return true
}

// definedIn reports whether v is defined by an instruction from first on, before end.
func (m *mutant) definedIn(v regalloc.VReg, first, end regalloc.Inst) bool {
	for i := first; i < end; i++ {
		for _, op := range m.in.OperandsOf(i) {
			if op.VReg == v && op.Access.Defines() {
				return true
			}
		}
	}
	return false
}

// value applies f to a virtual register that ok accepts.
func (m *mutant) value(ok func(v *regalloc.VRegInfo) bool, f func(v *regalloc.VRegInfo)) bool {
	n := m.pick(len(m.told.VRegs), func(v int) bool { return ok(&m.told.VRegs[v]) })
	if n < 0 {
		return false
	}
	f(&m.told.VRegs[n])
	m.operand(func(_ int, op regalloc.Operand) bool { return op.VReg == regalloc.VReg(n) && op.Access.Reads() })
	return true
}

// storeAll says of all integers that can be made again that they can be stored. One that cannot is used at m.at.
func storeAll(m *mutant) bool {
	canBe := func(v *regalloc.VRegInfo) bool {
		return v.Remat != regalloc.NoInst && v.Class == regalloc.Int && !v.Storable
	}
	found := m.value(canBe, func(v *regalloc.VRegInfo) { v.Storable = true })
	for k := range m.told.VRegs {
		if v := &m.told.VRegs[k]; canBe(v) {
			v.Storable = true
		}
	}
	return found
}

// anotherValue makes an operand of an instruction with all the flags read another value,
// which is defined before it, in its block or in the entry.
func (m *mutant) anotherValue(flags regalloc.InstFlags) bool {
	k := m.operand(func(k int, op regalloc.Operand) bool {
		return op.Access.Reads() && op.Constraint != regalloc.Fixed && (flags == 0 || m.flags(k)&flags != 0)
	})
	if k < 0 {
		return false
	}
	was := m.in.Operands[k].VReg
	block, _ := m.in.OperandRange(regalloc.Inst(m.in.Blocks[blockOf(m.in, m.at)].Insts.Start))
	first := m.in.Insts[m.in.Blocks[0].Insts.End-1].OperandEnd
	j := m.pick(k, func(j int) bool {
		op := m.in.Operands[j]
		return (j < int(first) || j >= int(block)) && op.Access.Defines() && op.VReg != was && m.sameType(op.VReg, was) && instOf(m.in, j) < m.at
	})
	if j >= 0 {
		m.told.Operands[k].VReg = m.in.Operands[j].VReg
	}
	return j >= 0
}

func exchangeArgs(m *mutant) bool {
	for range 20 {
		if len(m.in.Edges) == 0 {
			return false
		}
		k := m.IntN(len(m.in.Edges))
		args := m.told.ArgsOf(m.told.Edges[k])
		if len(args) < 2 {
			continue
		}
		x, y := m.IntN(len(args)), m.IntN(len(args))
		if args[x] != args[y] && m.sameType(args[x], args[y]) {
			args[x], args[y] = args[y], args[x]
			m.at = regalloc.Inst(m.in.Blocks[m.in.Edges[k].To].Insts.Start)
			return true
		}
	}
	return false
}

// reference returns an operand that reads a reference that ok accepts, behind a
// safepoint in its block over which the reference lives; or -1.
func (m *mutant) reference(ok func(v regalloc.VReg) bool) int {
	return m.operand(func(k int, op regalloc.Operand) bool {
		if !op.Access.Reads() || !m.in.VRegs[op.VReg].Ref || !ok(op.VReg) {
			return false
		}
		at := instOf(m.in, k)
		start := regalloc.Inst(m.in.Blocks[blockOf(m.in, at)].Insts.Start)
		for i := at; i > start; i-- {
			for _, d := range m.in.OperandsOf(i - 1) {
				if d.Access.Defines() && d.VReg == op.VReg {
					return false
				}
			}
			if m.in.Insts[i-1].Flags&regalloc.Safepoint != 0 {
				return true
			}
		}
		return false
	})
}

func unknownReference(m *mutant) bool {
	k := m.reference(func(regalloc.VReg) bool { return true })
	if k >= 0 {
		m.told.VRegs[m.in.Operands[k].VReg].Ref = false
	}
	return k >= 0
}

// copiedReference forgets that the copy of a reference is a reference. The copy is a parameter of
// a block with one incoming edge.
func copiedReference(m *mutant) bool {
	copies := map[regalloc.VReg]bool{}
	for b := range m.in.Blocks {
		if m.in.Blocks[b].Preds.Len() == 1 {
			for _, p := range m.in.ParamsOf(regalloc.Block(b)) {
				copies[p] = true
			}
		}
	}
	k := m.reference(func(v regalloc.VReg) bool { return copies[v] })
	if k >= 0 {
		m.told.VRegs[m.in.Operands[k].VReg].Ref = false
	}
	return k >= 0
}

// mergedReferences forgets that a parameter is a reference, and all parameters that it is passed to,
// directly or through others.
func mergedReferences(m *mutant) bool {
	params := map[regalloc.VReg]bool{}
	for b := range m.in.Blocks {
		for _, p := range m.in.ParamsOf(regalloc.Block(b)) {
			params[p] = true
		}
	}
	k := m.reference(func(v regalloc.VReg) bool { return params[v] })
	if k < 0 {
		return false
	}
	m.told.VRegs[m.in.Operands[k].VReg].Ref = false
	for again := true; again; {
		again = false
		for _, e := range m.in.Edges {
			to := m.in.ParamsOf(e.To)
			for j, a := range m.in.ArgsOf(e) {
				if lost := m.in.VRegs[a].Ref && !m.told.VRegs[a].Ref; lost && m.told.VRegs[to[j]].Ref {
					m.told.VRegs[to[j]].Ref, again = false, true
				}
			}
		}
	}
	return true
}

// forgetSafepoint hides that an instruction with all the flags is a safepoint.
func (m *mutant) forgetSafepoint(flags regalloc.InstFlags) bool {
	k := m.stackMap(func(k int, slots []uint32) bool {
		return len(slots) > 0 && (flags == 0 || m.in.Insts[m.out.StackMaps[k].Inst].Flags&flags != 0)
	})
	if k >= 0 {
		m.told.Insts[m.at].Flags &^= regalloc.Safepoint
	}
	return k >= 0
}
