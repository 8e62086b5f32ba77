package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/waot-project/waot/regalloc"
)

// mutant is a function with an allocation, with or without a planted fault.
type mutant struct {
	alloc int // which allocator
	*rand.Rand
	function
	fault *fault
	out   *regalloc.Output
	told  *regalloc.Input // what the allocator is told, for faults that misread
	at    regalloc.Inst   // roughly where the fault shows first
	real  int             // 1 of real functions
}

// instOf returns the instruction that operand k of all is of.
func instOf(in *regalloc.Input, k int) regalloc.Inst {
	return regalloc.Inst(sort.Search(len(in.Insts), func(i int) bool { return int(in.Insts[i].OperandEnd) > k }))
}

// blockOf returns the block of instruction i.
func blockOf(in *regalloc.Input, i regalloc.Inst) regalloc.Block {
	return regalloc.Block(sort.Search(len(in.Blocks), func(b int) bool { return in.Blocks[b].Insts.End > uint32(i) }))
}

// pick returns a random index below n that ok accepts, or -1.
func (m *mutant) pick(n int, ok func(k int) bool) int {
	if n == 0 {
		return -1
	}
	start := m.IntN(n)
	for j := range n {
		if k := (start + j) % n; ok(k) {
			return k
		}
	}
	return -1
}

// operand returns a random operand that ok accepts, or -1.
func (m *mutant) operand(ok func(k int, op regalloc.Operand) bool) int {
	k := m.pick(len(m.in.Operands), func(k int) bool { return ok(k, m.in.Operands[k]) })
	if k >= 0 {
		m.at = instOf(m.in, k)
	}
	return k
}

// edit returns a random edit that ok accepts, or nil.
func (m *mutant) edit(ok func(e regalloc.Edit) bool) *regalloc.Edit {
	k := m.pick(len(m.out.Edits), func(k int) bool { return ok(m.out.Edits[k]) })
	if k < 0 {
		return nil
	}
	m.at = m.out.Edits[k].Point.Inst()
	return &m.out.Edits[k]
}

// drop removes an edit of m.out.
func (m *mutant) drop(e *regalloc.Edit) bool {
	if e == nil {
		return false
	}
	for k := range m.out.Edits {
		if e == &m.out.Edits[k] {
			m.out.Edits = slices.Delete(m.out.Edits, k, k+1)
			return true
		}
	}
	return false
}

// insert adds an edit somewhere among those at its point.
func (m *mutant) insert(e regalloc.Edit) {
	edits := m.out.Edits
	lo := sort.Search(len(edits), func(k int) bool { return edits[k].Point >= e.Point })
	hi := sort.Search(len(edits), func(k int) bool { return edits[k].Point > e.Point })
	m.out.Edits = slices.Insert(edits, lo+m.IntN(hi-lo+1), e)
	m.use(e.To)
	m.at = e.Point.Inst()
}

// use adds a to the used registers, so that the planted fault is the only one.
func (m *mutant) use(a regalloc.Allocation) {
	if a.IsReg() && a.Index() < 64 {
		m.out.Used = m.out.Used.Add(a.Reg())
	}
}

// other returns a random location of the same kind as a, but not a.
func (m *mutant) other(a regalloc.Allocation) regalloc.Allocation {
	for range 50 {
		n := a
		switch {
		case a.IsReg():
			order := m.env.Order[a.Reg().Class()]
			n = regalloc.InReg(order[m.IntN(len(order))])
		case a.IsArg() && m.in != nil && m.in.ArgWords > 1:
			n = m.otherWord(a)
		case m.out.SlotWords > 0:
			n = regalloc.InSlot(m.IntN(m.out.SlotWords))
		}
		if n != a {
			return n
		}
	}
	return regalloc.InSlot(a.Index() + 1)
}

// misplace moves operand k to another location, if there is one.
func (m *mutant) misplace(k int) bool {
	if k < 0 {
		return false
	}
	m.out.Allocs[k] = m.other(m.out.Allocs[k])
	m.use(m.out.Allocs[k])
	return true
}

// pair is two operands of one instruction that ok accepts.
func (m *mutant) pair(ok func(x, y int) bool) (x, y int, found bool) {
	for range 20 {
		i := regalloc.Inst(m.IntN(len(m.in.Insts)))
		s, e := m.in.OperandRange(i)
		if e-s < 2 {
			continue
		}
		x, y = int(s)+m.IntN(int(e-s)), int(s)+m.IntN(int(e-s))
		if x != y && ok(x, y) {
			m.at = i
			return x, y, true
		}
	}
	return 0, 0, false
}

// sameType reports whether two virtual registers can stand for each other.
func (m *mutant) sameType(v, w regalloc.VReg) bool {
	x, y := m.in.VRegs[v], m.in.VRegs[w]
	return x.Class == y.Class && x.Bytes == y.Bytes && x.Ref == y.Ref
}

func (m *mutant) flags(k int) regalloc.InstFlags { return m.in.Insts[instOf(m.in, k)].Flags }

// safepoints are the instructions that may collect.
func safepoints(in *regalloc.Input) (list []regalloc.Inst) {
	for i, info := range in.Insts {
		if info.Flags&regalloc.Safepoint != 0 {
			list = append(list, regalloc.Inst(i))
		}
	}
	return list
}

// completeMaps gives safepoints that the allocator was not told of empty maps, so
// that there is one for each.
func (m *mutant) completeMaps() {
	var maps []regalloc.StackMap
	old := m.out.StackMaps
	for i, info := range m.in.Insts {
		if info.Flags&regalloc.Safepoint == 0 {
			continue
		}
		sm := regalloc.StackMap{Inst: regalloc.Inst(i)}
		if len(old) > 0 && old[0].Inst == sm.Inst {
			sm, old = old[0], old[1:]
		}
		maps = append(maps, sm)
	}
	m.out.StackMaps = maps
}

// show plants one mutant, and prints its block and the verdict.
func (c *campaign) show(number uint64) error {
	w := c.newWorker()
	m, err := w.make(number)
	if err != nil {
		return err
	}
	if m == nil {
		fmt.Println("there is no place for this fault")
		return nil
	}
	v := w.judge(m)
	fmt.Printf("%s in %s, allocator %s, at instruction %d\n%s", m.fault.name, m.name, allocators[m.alloc].name, m.at, dump(m.in, m.out))
	fmt.Printf("executed: %v\nclaims:   %v\nfixpoint: %v\nfixpoint's claims: %v\n", v.difference, v.claims, v.fixpoint, v.again)
	return v.fault()
}

// dump returns the text of a function with its allocation.
func dump(in *regalloc.Input, out *regalloc.Output) string {
	var b strings.Builder
	edits, maps := out.Edits, out.StackMaps
	claim := uint32(0)
	for n := range in.Blocks {
		info := &in.Blocks[n]
		fmt.Fprintf(&b, "block%d%v from %v, claims", n, in.ParamsOf(regalloc.Block(n)), in.PredsOf(regalloc.Block(n)))
		for ; n < len(out.ClaimEnd) && claim < out.ClaimEnd[n]; claim++ {
			fmt.Fprintf(&b, " %v=%v", out.Claims[claim].Loc, out.Claims[claim].VReg)
		}
		if out.UnsavedIn(regalloc.Block(n)) {
			b.WriteString(", unsaved")
		}
		b.WriteByte('\n')
		for i := regalloc.Inst(info.Insts.Start); i < regalloc.Inst(info.Insts.End); i++ {
			for ; len(edits) > 0 && edits[0].Point <= regalloc.Before(i); edits = edits[1:] {
				fmt.Fprintf(&b, "        %v\n", edits[0])
			}
			fmt.Fprintf(&b, "    inst%d", i)
			s, _ := in.OperandRange(i)
			for k, o := range in.OperandsOf(i) {
				fmt.Fprintf(&b, "  %v %v/%d=%v", o.Access, o.VReg, o.Constraint, out.Allocs[int(s)+k])
			}
			c := in.ClobbersOf(i)
			fmt.Fprintf(&b, "  clobbers %x/%x flags %d", uint64(c.Low), uint64(c.High), in.Insts[i].Flags)
			if len(maps) > 0 && maps[0].Inst == i {
				fmt.Fprintf(&b, "  map %v", out.StackMapSlots[maps[0].Slots.Start:maps[0].Slots.End])
				maps = maps[1:]
			}
			b.WriteByte('\n')
		}
		for _, e := range in.SuccsOf(regalloc.Block(n)) {
			fmt.Fprintf(&b, "    to block%d%v\n", e.To, in.ArgsOf(e))
		}
	}
	return b.String()
}
