package checker_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/exec"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc"
)

func cloneOut(o *regalloc.Output) *regalloc.Output {
	c := *o
	c.Allocs, c.Edits = slices.Clone(o.Allocs), slices.Clone(o.Edits)
	c.StackMaps, c.StackMapSlots = slices.Clone(o.StackMaps), slices.Clone(o.StackMapSlots)
	c.Claims, c.ClaimEnd = slices.Clone(o.Claims), slices.Clone(o.ClaimEnd)
	return &c
}

func cloneIn(in *regalloc.Input) *regalloc.Input {
	c := *in
	c.VRegs, c.Insts, c.Operands = slices.Clone(in.VRegs), slices.Clone(in.Insts), slices.Clone(in.Operands)
	c.VRegLists = slices.Clone(in.VRegLists)
	return &c
}

type mutator struct {
	choices
	in  *regalloc.Input
	out *regalloc.Output
}

// operand finds a random operand that ok accepts.
func (m *mutator) operand(ok func(k int, op operand) bool) int {
	n := len(m.in.Operands)
	if n == 0 {
		return -1
	}
	s := m.IntN(n)
	for j := range n {
		if k := (s + j) % n; ok(k, m.in.Operands[k]) {
			return k
		}
	}
	return -1
}

func (m *mutator) edit(ok func(e regalloc.Edit) bool) int {
	n := len(m.out.Edits)
	if n == 0 {
		return -1
	}
	s := m.IntN(n)
	for j := range n {
		if k := (s + j) % n; ok(m.out.Edits[k]) {
			return k
		}
	}
	return -1
}

func anyEdit(regalloc.Edit) bool   { return true }
func isMove(e regalloc.Edit) bool  { return e.Kind == regalloc.Move }
func isRemat(e regalloc.Edit) bool { return e.Kind == regalloc.Remat }
func isSwap(e regalloc.Edit) bool  { return e.Kind == regalloc.Swap }
func isStore(e regalloc.Edit) bool { return e.Kind == regalloc.StoreConst }

// other is a location like l, but not l.
func (m *mutator) other(l loc) loc {
	for {
		n := l
		switch {
		case l.IsReg():
			n = regalloc.InReg(testEnv().Order[l.Reg().Class()][m.IntN(12)])
		case l.IsSlot() && m.out.SlotWords > 1:
			n = regalloc.InSlot(m.IntN(m.out.SlotWords))
		default:
			n = regalloc.InSlot(l.Index() + 1)
		}
		if n != l {
			return n
		}
	}
}

func (m *mutator) reads(_ int, op operand) bool   { return op.Access.Reads() }
func (m *mutator) defines(_ int, op operand) bool { return op.Access.Defines() }

func (m *mutator) setAlloc(k int) bool {
	if k < 0 {
		return false
	}
	m.out.Allocs[k] = m.other(m.out.Allocs[k])
	if a := m.out.Allocs[k]; a.IsReg() {
		m.out.Used = m.out.Used.Add(a.Reg())
	}
	return true
}

// withEdit applies f to a random edit.
func (m *mutator) withEdit(ok func(regalloc.Edit) bool, f func(e *regalloc.Edit)) bool {
	k := m.edit(ok)
	if k < 0 {
		return false
	}
	f(&m.out.Edits[k])
	for _, a := range [...]loc{m.out.Edits[k].From, m.out.Edits[k].To} {
		if a.IsReg() {
			m.out.Used = m.out.Used.Add(a.Reg())
		}
	}
	return true
}

// dropEdit removes a random edit.
func (m *mutator) dropEdit(ok func(regalloc.Edit) bool) bool {
	k := m.edit(ok)
	if k >= 0 {
		m.out.Edits = slices.Delete(m.out.Edits, k, k+1)
	}
	return k >= 0
}

// mustFail marks faults that are faults whatever the code then does; claims
// marks those that change claims only.
type fault struct {
	name             string
	mustFail, claims bool
	f                func(m *mutator) bool
}

var outputFaults = []fault{
	{name: "swap operands", f: func(m *mutator) bool {
		i := regalloc.Inst(m.IntN(len(m.in.Insts)))
		s, e := m.in.OperandRange(i)
		if e-s < 2 {
			return false
		}
		x, y := s+uint32(m.IntN(int(e-s))), s+uint32(m.IntN(int(e-s)))
		m.out.Allocs[x], m.out.Allocs[y] = m.out.Allocs[y], m.out.Allocs[x]
		return x != y && m.out.Allocs[x] != m.out.Allocs[y]
	}},
	{name: "wrong use", f: func(m *mutator) bool { return m.setAlloc(m.operand(m.reads)) }},
	{name: "wrong use slot", f: func(m *mutator) bool {
		return m.setAlloc(m.operand(func(k int, op operand) bool { return op.Access.Reads() && m.out.Allocs[k].IsMem() }))
	}},
	{name: "wrong def", f: func(m *mutator) bool { return m.setAlloc(m.operand(m.defines)) }},
	{name: "wrong branch operand", f: func(m *mutator) bool {
		return m.setAlloc(m.operand(func(k int, op operand) bool {
			i, _ := slices.BinarySearchFunc(m.in.Insts, uint32(k), func(x regalloc.InstInfo, k uint32) int {
				return int(int64(x.OperandEnd) - int64(k) - 1)
			})
			for i < len(m.in.Insts) && m.in.Insts[i].OperandEnd <= uint32(k) {
				i++
			}
			return m.in.Insts[i].Flags&regalloc.IsTerminator != 0
		}))
	}},
	{name: "wrong reuse", mustFail: true, f: func(m *mutator) bool {
		return m.setAlloc(m.operand(func(k int, op operand) bool { return op.Constraint == regalloc.Reuse }))
	}},
	{name: "register to slot", f: func(m *mutator) bool {
		k := m.operand(func(k int, op operand) bool { return m.out.Allocs[k].IsReg() })
		if k < 0 {
			return false
		}
		m.out.Allocs[k] = regalloc.InSlot(m.IntN(m.out.SlotWords + 1))
		return true
	}},
	{name: "share with another operand", f: func(m *mutator) bool {
		i := regalloc.Inst(m.IntN(len(m.in.Insts)))
		s, e := m.in.OperandRange(i)
		if e-s < 2 {
			return false
		}
		x, y := s+uint32(m.IntN(int(e-s))), s+uint32(m.IntN(int(e-s)))
		if m.in.Operands[x].Access <= regalloc.LateUse || m.out.Allocs[x] == m.out.Allocs[y] {
			return false
		}
		was := m.out.Allocs[x]
		m.out.Allocs[x] = m.out.Allocs[y]
		for j := range m.out.Edits {
			if ed := &m.out.Edits[j]; ed.Point == regalloc.After(i) && ed.From == was {
				ed.From = m.out.Allocs[y]
			}
		}
		return true
	}},
	{name: "entry: wrong def", mustFail: true, f: func(m *mutator) bool {
		_, e := m.in.OperandRange(0)
		return e > 0 && m.setAlloc(m.IntN(int(e)))
	}},
	{name: "drop edit", f: func(m *mutator) bool { return m.dropEdit(anyEdit) }},
	{name: "drop spill", f: func(m *mutator) bool {
		return m.dropEdit(func(e regalloc.Edit) bool { return isMove(e) && e.To.IsSlot() })
	}},
	{name: "drop swap", f: func(m *mutator) bool { return m.dropEdit(isSwap) }},
	{name: "drop stored constant", f: func(m *mutator) bool { return m.dropEdit(isStore) }},
	{name: "swap of a wrong register", f: func(m *mutator) bool {
		return m.withEdit(isSwap, func(e *regalloc.Edit) { e.From = m.other(e.From) })
	}},
	{name: "swap as a move", f: func(m *mutator) bool {
		return m.withEdit(isSwap, func(e *regalloc.Edit) { e.Kind = regalloc.Move })
	}},
	{name: "move as a swap", f: func(m *mutator) bool {
		return m.withEdit(isMove, func(e *regalloc.Edit) { e.Kind = regalloc.Swap })
	}},
	{name: "swap of what cannot be swapped", mustFail: true, f: func(m *mutator) bool {
		return m.withEdit(isSwap, func(e *regalloc.Edit) {
			e.From = [...]loc{regalloc.InReg(scratchReg), regalloc.InReg(7), regalloc.InReg(32), regalloc.InSlot(0), regalloc.NoAllocation, e.To}[m.IntN(6)]
		})
	}},
	{name: "swap of another width", mustFail: true, f: func(m *mutator) bool {
		return m.withEdit(isSwap, func(e *regalloc.Edit) { e.Bytes = [...]uint8{0, 4, 16}[m.IntN(3)] })
	}},
	{name: "constant stored in a wrong slot", f: func(m *mutator) bool {
		return m.withEdit(isStore, func(e *regalloc.Edit) { e.To = m.other(e.To) })
	}},
	{name: "another constant stored", f: func(m *mutator) bool {
		return m.withEdit(isStore, func(e *regalloc.Edit) {
			for _, v := range m.in.VRegs {
				if v.Storable && m.IntN(3) == 0 {
					e.Inst, e.Bytes = v.Remat, v.Bytes
				}
			}
		})
	}},
	{name: "constant stored in no slot", mustFail: true, f: func(m *mutator) bool {
		return m.withEdit(isStore, func(e *regalloc.Edit) {
			e.To = [...]loc{regalloc.InReg(0), regalloc.InArg(0), regalloc.InSlot(m.out.SlotWords)}[m.IntN(3)]
		})
	}},
	{name: "constant stored with another width", mustFail: true, f: func(m *mutator) bool {
		return m.withEdit(isStore, func(e *regalloc.Edit) { e.Bytes ^= 12 })
	}},
	{name: "duplicate edit elsewhere", f: func(m *mutator) bool {
		k, j := m.edit(anyEdit), m.edit(anyEdit)
		if k < 0 {
			return false
		}
		e := m.out.Edits[k]
		e.Point = m.out.Edits[j].Point
		m.out.Edits = slices.Insert(m.out.Edits, j+m.IntN(2), e)
		return true
	}},
	{name: "swap edits", f: func(m *mutator) bool {
		k := m.edit(anyEdit)
		if k < 1 || m.out.Edits[k].Point != m.out.Edits[k-1].Point {
			return false
		}
		m.out.Edits[k], m.out.Edits[k-1] = m.out.Edits[k-1], m.out.Edits[k]
		return true
	}},
	{name: "edit at another point", f: func(m *mutator) bool {
		k := m.edit(anyEdit)
		if k < 1 || m.out.Edits[k].Point == m.out.Edits[k-1].Point {
			return false
		}
		m.out.Edits[k].Point = m.out.Edits[k-1].Point
		return true
	}},
	{name: "narrow move", f: func(m *mutator) bool {
		return m.withEdit(func(e regalloc.Edit) bool { return e.Bytes == 16 }, func(e *regalloc.Edit) { e.Bytes = 8 })
	}},
	{name: "halve move", f: func(m *mutator) bool {
		return m.withEdit(func(e regalloc.Edit) bool { return e.Bytes == 8 }, func(e *regalloc.Edit) { e.Bytes = 4 })
	}},
	{name: "widen move", f: func(m *mutator) bool {
		return m.withEdit(func(e regalloc.Edit) bool { return e.Bytes == 8 }, func(e *regalloc.Edit) { e.Bytes = 16 })
	}},
	{name: "odd width", mustFail: true, f: func(m *mutator) bool {
		return m.withEdit(isMove, func(e *regalloc.Edit) { e.Bytes = [...]uint8{0, 1, 2, 3, 5, 6, 7}[m.IntN(7)] })
	}},
	{name: "wrong source", f: func(m *mutator) bool {
		return m.withEdit(isMove, func(e *regalloc.Edit) { e.From = m.other(e.From) })
	}},
	{name: "wrong target", f: func(m *mutator) bool {
		return m.withEdit(anyEdit, func(e *regalloc.Edit) { e.To = m.other(e.To) })
	}},
	{name: "wrong slot of reload", f: func(m *mutator) bool {
		return m.withEdit(func(e regalloc.Edit) bool { return e.From.IsSlot() }, func(e *regalloc.Edit) { e.From = m.other(e.From) })
	}},
	{name: "wrong slot of spill", f: func(m *mutator) bool {
		return m.withEdit(func(e regalloc.Edit) bool { return e.To.IsSlot() }, func(e *regalloc.Edit) { e.To = m.other(e.To) })
	}},
	{name: "extra move", f: func(m *mutator) bool {
		j := m.edit(anyEdit)
		if j < 0 {
			return false
		}
		all := m.out.Allocs
		e := regalloc.Edit{Point: m.out.Edits[j].Point, From: all[m.IntN(len(all))], To: all[m.IntN(len(all))], Bytes: 4 << m.IntN(3)}
		if e.To.IsReg() {
			m.out.Used = m.out.Used.Add(e.To.Reg())
		}
		m.out.Edits = slices.Insert(m.out.Edits, j+m.IntN(2), e)
		return true
	}},
	{name: "edit before arguments", mustFail: true, f: func(m *mutator) bool {
		e := regalloc.Edit{From: regalloc.InReg(0), To: regalloc.InReg(1), Bytes: 8}
		m.out.Used = m.out.Used.Add(1)
		m.out.Edits = slices.Insert(m.out.Edits, 0, e)
		return true
	}},
	{name: "edit after terminator", mustFail: true, f: func(m *mutator) bool {
		k := m.edit(anyEdit)
		if k < 0 {
			return false
		}
		i := m.out.Edits[k].Point.Inst()
		for m.in.Insts[i].Flags&regalloc.IsTerminator == 0 {
			i++
		}
		m.out.Edits[k].Point = regalloc.After(i)
		slices.SortStableFunc(m.out.Edits, func(x, y regalloc.Edit) int { return int(x.Point) - int(y.Point) })
		return true
	}},
	{name: "unsorted edits", mustFail: true, f: func(m *mutator) bool {
		k := m.edit(anyEdit)
		if k < 1 || m.out.Edits[k].Point == m.out.Edits[k-1].Point {
			return false
		}
		m.out.Edits[k], m.out.Edits[k-1] = m.out.Edits[k-1], m.out.Edits[k]
		return true
	}},
	{name: "move to scratch across", f: func(m *mutator) bool {
		k := m.operand(func(k int, op operand) bool { return m.out.Allocs[k].IsReg() && m.in.VRegs[op.VReg].Class == 1 })
		if k < 0 {
			return false
		}
		m.out.Allocs[k] = regalloc.InReg(scratchReg)
		return true
	}},
	{name: "definition left out", f: func(m *mutator) bool {
		k := m.operand(func(k int, op operand) bool { return op.Access.Defines() && m.out.Allocs[k].IsReg() })
		if k < 0 {
			return false
		}
		m.out.Allocs[k] = regalloc.NoAllocation
		return true
	}},
	{name: "remat of the wrong inst", f: func(m *mutator) bool {
		return m.withEdit(isRemat, func(e *regalloc.Edit) {
			e.Inst = regalloc.Inst(m.IntN(len(m.in.Insts)))
			for _, v := range m.in.VRegs {
				if v.Remat != regalloc.NoInst && m.IntN(3) == 0 {
					e.Inst = v.Remat
				}
			}
		})
	}},
	{name: "missing stack-map entry", f: func(m *mutator) bool {
		if len(m.out.StackMapSlots) == 0 {
			return false
		}
		k := m.IntN(len(m.out.StackMapSlots))
		m.out.StackMapSlots = slices.Delete(m.out.StackMapSlots, k, k+1)
		shift := func(x *uint32) {
			if *x > uint32(k) {
				*x--
			}
		}
		for j := range m.out.StackMaps {
			shift(&m.out.StackMaps[j].Slots.Start)
			shift(&m.out.StackMaps[j].Slots.End)
		}
		return true
	}},
	{name: "extra stack-map entry", f: func(m *mutator) bool {
		if len(m.out.StackMaps) == 0 || m.out.SlotWords == 0 {
			return false
		}
		j := m.IntN(len(m.out.StackMaps))
		r := m.out.StackMaps[j].Slots
		s := uint32(m.IntN(m.out.SlotWords))
		slots := slices.Clone(m.out.StackMapSlots[r.Start:r.End])
		if slices.Contains(slots, s) {
			return false
		}
		slots = append(slots, s)
		slices.Sort(slots)
		m.out.StackMaps[j].Slots = regalloc.Range{Start: uint32(len(m.out.StackMapSlots)), End: uint32(len(m.out.StackMapSlots) + len(slots))}
		m.out.StackMapSlots = append(m.out.StackMapSlots, slots...)
		return true
	}},
	{name: "wrong stack-map slot", f: func(m *mutator) bool {
		if len(m.out.StackMapSlots) == 0 {
			return false
		}
		k := m.IntN(len(m.out.StackMapSlots))
		m.out.StackMapSlots[k] = uint32(m.IntN(m.out.SlotWords))
		return true
	}},
	{name: "missing stack map", mustFail: true, f: func(m *mutator) bool {
		if len(m.out.StackMaps) == 0 {
			return false
		}
		k := m.IntN(len(m.out.StackMaps))
		m.out.StackMaps = slices.Delete(m.out.StackMaps, k, k+1)
		return true
	}},
	{name: "two stack maps swapped", mustFail: true, f: func(m *mutator) bool {
		if len(m.out.StackMaps) < 2 {
			return false
		}
		k := 1 + m.IntN(len(m.out.StackMaps)-1)
		s := m.out.StackMaps
		s[k], s[k-1] = s[k-1], s[k]
		return true
	}},
	{name: "missing in Used", mustFail: true, f: func(m *mutator) bool {
		if m.out.Used == 0 {
			return false
		}
		m.out.Used = m.out.Used.Remove(m.out.Used.First())
		return true
	}},
	{name: "allocations cut", mustFail: true, f: func(m *mutator) bool {
		if len(m.out.Allocs) == 0 {
			return false
		}
		m.out.Allocs = m.out.Allocs[:len(m.out.Allocs)-1]
		return true
	}},
	{name: "frame too small", f: func(m *mutator) bool {
		m.out.SlotWords = m.IntN(m.out.SlotWords + 1)
		return true
	}},
	{name: "claim: entry knows", claims: true, mustFail: true, f: func(m *mutator) bool {
		m.out.Claims = slices.Insert(m.out.Claims, 0, regalloc.Claim{Loc: regalloc.InReg(4), VReg: 0})
		for j := range m.out.ClaimEnd {
			m.out.ClaimEnd[j]++
		}
		return true
	}},
	{name: "claim: lie", claims: true, f: func(m *mutator) bool {
		if len(m.out.Claims) == 0 {
			return false
		}
		c := &m.out.Claims[m.IntN(len(m.out.Claims))]
		if m.IntN(2) == 0 {
			c.VReg = vreg(m.IntN(len(m.in.VRegs)))
		} else {
			c.Loc = m.other(c.Loc)
		}
		return true
	}},
	{name: "claim: forgotten", claims: true, f: func(m *mutator) bool {
		if len(m.out.Claims) == 0 {
			return false
		}
		dropClaim(m.out, m.IntN(len(m.out.Claims)))
		return true
	}},
	{name: "claim: twice", claims: true, mustFail: true, f: func(m *mutator) bool {
		if len(m.out.Claims) == 0 {
			return false
		}
		k := m.IntN(len(m.out.Claims))
		m.out.Claims = slices.Insert(m.out.Claims, k, m.out.Claims[k])
		for j := range m.out.ClaimEnd {
			if int(m.out.ClaimEnd[j]) > k {
				m.out.ClaimEnd[j]++
			}
		}
		return true
	}},
	{name: "vacuous claims with a fault", f: func(m *mutator) bool {
		if !m.setAlloc(m.operand(m.reads)) {
			return false
		}
		m.out.Claims = m.out.Claims[:0]
		clear(m.out.ClaimEnd)
		return true
	}},
	{name: "lie that hides a fault", f: func(m *mutator) bool {
		k := m.operand(m.reads)
		if !m.setAlloc(k) {
			return false
		}
		// Claim what the wrong use needs everywhere but in the entry.
		c := regalloc.Claim{Loc: m.out.Allocs[k], VReg: m.in.Operands[k].VReg}
		n := uint32(0)
		for b := range m.out.ClaimEnd {
			if b > 0 {
				m.out.Claims = slices.Insert(m.out.Claims, int(m.out.ClaimEnd[b]+n), c)
				n++
			}
			m.out.ClaimEnd[b] += n
		}
		return true
	}},
}

func dropClaim(out *regalloc.Output, k int) {
	out.Claims = slices.Delete(out.Claims, k, k+1)
	for j := range out.ClaimEnd {
		if int(out.ClaimEnd[j]) > k {
			out.ClaimEnd[j]--
		}
	}
}

// acrossSafepoints are the references that have an operand before a safepoint and one behind it, in the order of the code: most of them live there.
// Of other references nobody need know.
func acrossSafepoints(in *regalloc.Input) (list []vreg) {
	before := map[vreg]bool{} // an operand has been met, and a safepoint since
	for i, inst := range in.Insts {
		for _, op := range in.OperandsOf(regalloc.Inst(i)) {
			if before[op.VReg] && !slices.Contains(list, op.VReg) {
				list = append(list, op.VReg)
			}
			if _, met := before[op.VReg]; in.VRegs[op.VReg].Ref && !met {
				before[op.VReg] = false
			}
		}
		if inst.Flags&regalloc.Safepoint != 0 {
			for v := range before {
				before[v] = true
			}
		}
	}
	return list
}

// allocatorFaults are misunderstandings of an allocator: it allocates for a
// changed input, consistently.
var allocatorFaults = []fault{
	{name: "forgotten clobber", f: func(m *mutator) bool {
		i := m.IntN(len(m.in.Insts))
		was := m.in.Insts[i].Clobbers
		m.in.Insts[i].Clobbers = 0
		return was != 0
	}},
	{name: "upper half not clobbered", f: func(m *mutator) bool {
		m.in.ClobberSets = slices.Clone(m.in.ClobberSets)
		for k, set := range m.in.ClobberSets {
			m.in.ClobberSets[k] = regalloc.WholeRegs(set.Low)
		}
		return true
	}},
	{name: "early def as def", f: func(m *mutator) bool { return m.access(regalloc.EarlyDef, regalloc.Def) }},
	{name: "late use as use", f: func(m *mutator) bool { return m.access(regalloc.LateUse, regalloc.Use) }},
	{name: "reuse as reg", f: func(m *mutator) bool {
		k := m.operand(func(_ int, op operand) bool { return op.Constraint == regalloc.Reuse })
		if k >= 0 {
			m.in.Operands[k].Constraint, m.in.Operands[k].Arg = regalloc.Reg, 0
		}
		return k >= 0
	}},
	{name: "another fixed register", f: func(m *mutator) bool {
		k := m.operand(func(_ int, op operand) bool { return op.Constraint == regalloc.Fixed })
		if k < 0 {
			return false
		}
		m.in.Operands[k].Arg = m.in.Operands[k].Arg&32 | 5
		return true
	}},
	{name: "wrong edge argument", f: func(m *mutator) bool {
		if len(m.in.Edges) == 0 {
			return false
		}
		start := m.IntN(len(m.in.Edges))
		for n := range m.in.Edges {
			args := m.in.ArgsOf(m.in.Edges[(start+n)%len(m.in.Edges)])
			for j := range args {
				for k := range args[:j] {
					x, y := m.in.VRegs[args[j]], m.in.VRegs[args[k]]
					if x.Class == y.Class && x.Bytes == y.Bytes && x.Ref == y.Ref && args[j] != args[k] {
						args[j], args[k] = args[k], args[j]
						return true
					}
				}
			}
		}
		return false
	}},
	{name: "reference not known as one", f: func(m *mutator) bool {
		list := acrossSafepoints(m.in)
		if len(list) == 0 {
			return false
		}
		m.in.VRegs[list[m.IntN(len(list))]].Ref = false
		return true
	}},
	{name: "wide value thought narrow", f: func(m *mutator) bool {
		v := m.IntN(len(m.in.VRegs))
		was := m.in.VRegs[v].Bytes
		m.in.VRegs[v].Bytes = 8
		return was == 16
	}},
	{name: "value of 4 bytes thought to have 8", f: func(m *mutator) bool {
		v := &m.in.VRegs[m.IntN(len(m.in.VRegs))]
		was := v.Bytes
		v.Bytes = 8
		return was == 4
	}},
	{name: "value thought to have 4 bytes", f: func(m *mutator) bool {
		v := &m.in.VRegs[m.IntN(len(m.in.VRegs))]
		if v.Class == regalloc.Float || v.Ref || v.Bytes == 4 {
			return false
		}
		v.Bytes = 4
		return true
	}},
	{name: "constant thought to be storable", f: func(m *mutator) bool {
		changed := false
		for k := range m.in.VRegs {
			if v := &m.in.VRegs[k]; v.Remat != regalloc.NoInst && v.Class == regalloc.Int && !v.Storable {
				v.Storable, changed = true, true
			}
		}
		return changed
	}},
	{name: "another value used", f: func(m *mutator) bool {
		k := m.operand(m.reads)
		if k < 1 {
			return false
		}
		x := m.in.Operands[k].VReg
		for j := k - 1; j >= 0; j-- {
			y := m.in.Operands[j].VReg
			if y != x && m.in.VRegs[x].Class == m.in.VRegs[y].Class && m.in.VRegs[x].Bytes == m.in.VRegs[y].Bytes && m.in.VRegs[x].Ref == m.in.VRegs[y].Ref {
				m.in.Operands[k].VReg = y
				return m.in.Operands[k].Constraint != regalloc.Fixed
			}
		}
		return false
	}},
}

func (m *mutator) access(from, to regalloc.Access) bool {
	k := m.operand(func(_ int, op operand) bool { return op.Access == from })
	if k >= 0 {
		m.in.Operands[k].Access = to
	}
	return k >= 0
}

// TestPlantedFaults makes mutants of correct allocations. Where the machine
// shows that a mutant means something else, the checker must have said so.
func TestPlantedFaults(t *testing.T) {
	env := testEnv()
	c := checker.New()
	type count struct{ made, changed, rejected, harmlessRejected, unneeded int }
	counts := map[string]*count{}
	per := testenv.Cases[uint64](100, 150, 250)
	try := func(seed uint64, f fault, in *regalloc.Input, out *regalloc.Output, n *count) {
		n.made++
		errClaims := c.Check(in, env, out, checker.Options{})
		errFix := c.Check(in, env, out, checker.Options{Fixpoint: true})
		paths := 10
		if errClaims == nil || errFix == nil {
			paths = 40
		}
		wrong := error(nil)
		if !f.mustFail && !f.claims {
			wrong = run(seed, paths, in, env, out)
		}
		if wrong != nil {
			n.changed++
		}
		if errClaims != nil {
			n.rejected++
			if wrong == nil {
				n.harmlessRejected++
			}
		}
		switch {
		case wrong != nil && (errClaims == nil || errFix == nil):
			t.Errorf("seed %d %s: missed (claims: %v, fixpoint: %v): %v\n%s", seed, f.name, errClaims, errFix, wrong, dump(in, out))
		case f.mustFail && (errClaims == nil || errFix == nil && !f.claims):
			t.Errorf("seed %d %s: passed (claims: %v, fixpoint: %v)\n%s", seed, f.name, errClaims, errFix, dump(in, out))
		case errFix != nil && errClaims == nil, f.claims && errFix != nil:
			t.Errorf("seed %d %s: modes differ (claims: %v, fixpoint: %v)\n%s", seed, f.name, errClaims, errFix, dump(in, out))
		case errFix == nil && errClaims != nil && !f.claims:
			// Equivalent code (wrong is nil here) that the claims, made for other
			// code, do not prove: they say too little, or more than is needed.
			n.unneeded++
		}
	}
	for seed := uint64(0); seed < per; seed++ {
		in := generate(seed, 24)
		good := allocate(seed, in, env)
		for k, f := range outputFaults {
			n := counts[f.name]
			if n == nil {
				n = &count{}
				counts[f.name] = n
			}
			m := &mutator{choices: rand.New(rand.NewPCG(seed, uint64(k))), in: in, out: cloneOut(good)}
			if f.f(m) {
				try(seed, f, in, m.out, n)
			}
		}
		for k, f := range allocatorFaults {
			n := counts[f.name]
			if n == nil {
				n = &count{}
				counts[f.name] = n
			}
			m := &mutator{choices: rand.New(rand.NewPCG(seed, 100+uint64(k))), in: cloneIn(in), out: good}
			if f.f(m) {
				if bad := tryAllocate(seed, m.in, env); bad != nil {
					try(seed, f, in, bad, n)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	var total count
	for _, f := range slices.Concat(outputFaults, allocatorFaults) {
		n := counts[f.name]
		t.Logf("%-28s made %4d, meaning changed %4d (all caught), rejected %4d", f.name, n.made, n.changed, n.rejected)
		total.made += n.made
		total.changed += n.changed
		total.rejected += n.rejected
		total.unneeded += n.unneeded
		if f.mustFail || f.claims {
			total.harmlessRejected += n.rejected
		}
		if n.rejected == 0 {
			t.Errorf("%s: never rejected", f.name)
		}
		if f.name == "reference not known as one" && testenv.Full() && n.changed < 100 {
			t.Errorf("%s: changes the meaning only %d times", f.name, n.changed)
		}
	}
	t.Logf("total: %d mutants, %d with changed meaning, %d rejected by rule; %d (%.0f %%) discarded; %d equivalent ones rejected by claims alone",
		total.made, total.changed, total.harmlessRejected, total.made-total.changed-total.harmlessRejected,
		100*float64(total.made-total.changed-total.harmlessRejected)/float64(total.made), total.unneeded)
}

// run executes some paths and returns how the allocation differs, if it does.
func run(seed uint64, paths int, in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var x exec.Executor
	for range paths {
		path := exec.Path{Through: regalloc.Block(rnd.IntN(len(in.Blocks))), Steps: 400}
		if err := x.Run(rnd, in, env, out, path); err != nil {
			return err
		}
	}
	return nil
}

// tryAllocate is nil where the changed input cannot be allocated.
func tryAllocate(seed uint64, in *regalloc.Input, env *regalloc.MachineEnv) (out *regalloc.Output) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	return allocate(seed, in, env)
}
