package alloctest

import (
	"fmt"
	"math/rand/v2"

	"github.com/waot-project/waot/regalloc"
)

// content is what a register or a word of memory holds: word part of the value
// id. Ids of references are odd, and those of values of 4 bytes have halfID.
type content struct {
	id   uint64
	part uint8
}

const halfID = 1 << 41

// sim executes a function twice along one random path: as SSA over virtual
// registers, and as allocated, over registers and memory, and compares all that
// is read. It knows nothing of claims or liveness.
type sim struct {
	in   *regalloc.Input
	out  *regalloc.Output
	env  *regalloc.MachineEnv
	rng  *rand.Rand
	vals []uint64 // of the SSA execution
	regs [64][2]content
	slot []content
	args []content
	next uint64
	edit int
}

func (s *sim) fresh(v regalloc.VReg) uint64 {
	s.next += 2
	return s.next | s.kind(v)
}

// kind returns the part of an id that says what kind of value v has.
func (s *sim) kind(v regalloc.VReg) uint64 {
	switch info := &s.in.VRegs[v]; {
	case info.Ref:
		return 1
	case info.Bytes == 4:
		return halfID
	}
	return 0
}

func (s *sim) words(a regalloc.Allocation, n int) ([]content, error) {
	switch {
	case a.IsReg():
		return s.regs[a.Reg()][:n], nil
	case a.IsSlot() && a.Index()+n <= len(s.slot):
		return s.slot[a.Index() : a.Index()+n], nil
	case a.IsArg() && a.Index()+n <= len(s.args):
		return s.args[a.Index() : a.Index()+n], nil
	}
	return nil, fmt.Errorf("no location %v", a)
}

func (s *sim) write(a regalloc.Allocation, v regalloc.VReg, id uint64) error {
	w, err := s.words(a, s.in.VRegs[v].Words())
	for k := range w {
		w[k] = content{id, uint8(k)}
	}
	return err
}

func (s *sim) check(a regalloc.Allocation, v regalloc.VReg) error {
	w, err := s.words(a, s.in.VRegs[v].Words())
	for k := range w {
		if w[k] != (content{s.vals[v], uint8(k)}) {
			return fmt.Errorf("%v is not in %v", v, a)
		}
	}
	return err
}

// edits executes the edits at a point.
func (s *sim) edits(p regalloc.ProgPoint) error {
	// Blocks are entered in any order: find the first edit of the point.
	for s.edit > 0 && s.out.Edits[s.edit-1].Point >= p {
		s.edit--
	}
	for s.edit < len(s.out.Edits) && s.out.Edits[s.edit].Point < p {
		s.edit++
	}
	for ; s.edit < len(s.out.Edits) && s.out.Edits[s.edit].Point == p; s.edit++ {
		e := s.out.Edits[s.edit]
		switch e.Kind {
		case regalloc.Remat, regalloc.StoreConst:
			if p := s.env.Scratch[regalloc.Int]; p != regalloc.NoPReg {
				s.garbage(p)
			}
			v := s.in.OperandsOf(e.Inst)[0].VReg
			if err := s.write(e.To, v, s.rematID(v)); err != nil {
				return err
			}
			continue
		case regalloc.Swap:
			x, y := &s.regs[e.From.Reg()], &s.regs[e.To.Reg()]
			*x, *y = *y, *x
			continue
		}
		if e.From.IsMem() && e.To.IsMem() {
			return fmt.Errorf("move from memory to memory: %v", e)
		}
		if e.To.IsArg() && (p.IsAfter() || s.in.Insts[p.Inst()].Flags&regalloc.IsTailCall == 0) {
			return fmt.Errorf("an argument word is written: %v", e)
		}
		f, err := s.words(e.From, int(e.Bytes+7)/8)
		if err != nil {
			return err
		}
		t, err := s.words(e.To, int(e.Bytes+7)/8)
		if err != nil {
			return err
		}
		copy(t, f)
		if half := f[0].id&halfID != 0; e.Bytes == 4 && !half || e.Bytes == 8 && half && e.From.IsMem() {
			t[0] = content{}
		}
		if e.To.IsReg() && e.Bytes <= 8 {
			s.regs[e.To.Reg()][1] = content{}
		}
	}
	return nil
}

// rematID is the one value that a rematerialisable register always has.
func (s *sim) rematID(v regalloc.VReg) uint64 {
	return 1<<40 + 2*uint64(v) | s.kind(v)
}

func (s *sim) garbage(r regalloc.PReg) { s.regs[r] = [2]content{} }

func (s *sim) inst(i regalloc.Inst) error {
	in, out := s.in, s.out
	st, _ := in.OperandRange(i)
	ops := in.OperandsOf(i)
	if len(ops) == 1 && out.Allocs[st].IsNone() && in.VRegs[ops[0].VReg].Remat == i {
		s.vals[ops[0].VReg] = s.rematID(ops[0].VReg)
		return nil
	}
	for k, o := range ops {
		if o.Access.Reads() {
			if err := s.check(out.Allocs[int(st)+k], o.VReg); err != nil {
				return fmt.Errorf("inst%d operand %d: %w", i, k, err)
			}
		}
	}
	if in.Insts[i].Flags&regalloc.Safepoint != 0 {
		s.collect(i)
	}
	lost := in.ClobbersOf(i)
	for half, set := range [...]regalloc.PRegSet{lost.Low, lost.High} {
		for ; set != 0; set &= set - 1 {
			s.regs[set.First()][half] = content{}
		}
	}
	for k, o := range ops {
		if !o.Access.Defines() {
			continue
		}
		id := s.fresh(o.VReg)
		if in.VRegs[o.VReg].Remat != regalloc.NoInst {
			id = s.rematID(o.VReg)
		}
		s.vals[o.VReg] = id
		if err := s.write(out.Allocs[int(st)+k], o.VReg, id); err != nil {
			return err
		}
	}
	// LateUses must have survived.
	for k, o := range ops {
		if o.Access == regalloc.LateUse && !in.VRegs[o.VReg].Ref {
			if err := s.check(out.Allocs[int(st)+k], o.VReg); err != nil {
				return fmt.Errorf("inst%d late operand %d: %w", i, k, err)
			}
		}
	}
	return nil
}

// unwind undoes what i has defined, as it has thrown: the values are new ones, which are nowhere.
func (s *sim) unwind(i regalloc.Inst) error {
	start, _ := s.in.OperandRange(i)
	for k, o := range s.in.OperandsOf(i) {
		if o.Access.Defines() {
			s.vals[o.VReg] = s.fresh(o.VReg)
			if err := s.write(s.out.Allocs[int(start)+k], o.VReg, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect moves all objects: copies of references outside the stack map are no
// longer of use. Constants are no objects.
func (s *sim) collect(i regalloc.Inst) {
	listed := map[uint32]bool{}
	for _, m := range s.out.StackMaps {
		if m.Inst == i {
			for _, w := range s.out.StackMapSlots[m.Slots.Start:m.Slots.End] {
				listed[w] = true
			}
		}
	}
	for r := range s.regs {
		if s.regs[r][0].id&1 != 0 {
			s.garbage(regalloc.PReg(r))
		}
	}
	for w := range s.slot {
		if s.slot[w].id&1 != 0 && !listed[uint32(w)] {
			s.slot[w] = content{}
		}
	}
	for w := range s.args {
		if s.args[w].id&1 != 0 {
			s.args[w] = content{}
		}
	}
}

// run follows a random path for at most the given number of instructions.
func (s *sim) run(steps int) error {
	in := s.in
	s.vals = make([]uint64, len(in.VRegs))
	s.slot = make([]content, s.out.SlotWords)
	s.args = make([]content, in.ArgWords)
	b := regalloc.Block(0)
	for {
		info := in.Blocks[b]
		for i := info.Insts.Start; i < info.Insts.End; i++ {
			if err := s.edits(regalloc.Before(regalloc.Inst(i))); err != nil {
				return err
			}
			if err := s.inst(regalloc.Inst(i)); err != nil {
				return fmt.Errorf("block%d: %w", b, err)
			}
			if err := s.edits(regalloc.After(regalloc.Inst(i))); err != nil {
				return err
			}
			steps--
		}
		succs := in.SuccsOf(b)
		if len(succs) == 0 || steps < 0 {
			return nil
		}
		k := s.rng.IntN(len(succs))
		if end := regalloc.Inst(info.Insts.End - 1); k == 1 && in.Insts[end].Flags&regalloc.MayThrow != 0 {
			if err := s.unwind(end); err != nil {
				return err
			}
		}
		e := succs[k]
		args := make([]uint64, e.Args.Len())
		for k, v := range in.ArgsOf(e) {
			args[k] = s.vals[v]
		}
		for k, p := range in.ParamsOf(e.To) {
			s.vals[p] = args[k]
		}
		b = e.To
		start := uint32(0)
		if b > 0 {
			start = s.out.ClaimEnd[b-1]
		}
		for _, c := range s.out.Claims[start:s.out.ClaimEnd[b]] {
			if err := s.check(c.Loc, c.VReg); err != nil {
				return fmt.Errorf("claim at block%d: %w", b, err)
			}
		}
	}
}
