package checker_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/waot-project/waot/regalloc"
)

type val [2]uint64

func mix(xs ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, x := range xs {
		h ^= x
		h *= 0xff51afd7ed558ccd
		h ^= h >> 29
	}
	return h
}

// machine executes an allocation beside the meaning of the code, on random
// paths with opaque values, under a collector that moves all objects at each
// safepoint. It shares nothing with the checker: what is wrong must show.
type machine struct {
	*rand.Rand
	in      *regalloc.Input
	env     *regalloc.MachineEnv
	out     *regalloc.Output
	edits   map[regalloc.ProgPoint][]regalloc.Edit
	maps    map[regalloc.Inst][]uint32
	ref     []val // by virtual register; of references, the object's number
	regs    [64]val
	slots   []uint64
	args    []uint64
	objects []uint64
	epoch   uint64
	step    uint64
}

// run executes some paths and returns how the allocation differs, if it does.
func run(seed uint64, paths int, in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) (err error) {
	m := &machine{Rand: rand.New(rand.NewPCG(seed, 3)), in: in, env: env, out: out}
	if len(out.Allocs) != len(in.Operands) {
		return fmt.Errorf("allocations missing")
	}
	m.edits, m.maps = map[regalloc.ProgPoint][]regalloc.Edit{}, map[regalloc.Inst][]uint32{}
	for _, e := range out.Edits {
		m.edits[e.Point] = append(m.edits[e.Point], e)
	}
	for _, s := range out.StackMaps {
		m.maps[s.Inst] = out.StackMapSlots[s.Slots.Start:s.Slots.End]
	}
	for range paths {
		if err := m.path(); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) path() error {
	m.ref = make([]val, len(m.in.VRegs))
	m.objects, m.epoch = m.objects[:0], m.Uint64()
	m.slots, m.args = make([]uint64, m.out.SlotWords), make([]uint64, 64)
	for r := range m.regs {
		m.regs[r] = val{m.Uint64(), m.Uint64()}
	}
	for i := range m.slots {
		m.slots[i] = m.Uint64()
	}
	// Arguments are there before the code runs, not written by the first
	// instruction.
	m.define(0, nil)
	for _, op := range m.in.OperandsOf(0) {
		m.put(hardware(m.in, m.out, 0, op, 0), op.VReg)
	}
	b := regalloc.Block(0)
	for n := 0; n < 40; n++ {
		r := m.in.Blocks[b].Insts
		for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
			if err := m.doEdits(regalloc.Before(i)); err != nil {
				return err
			}
			if i > 0 {
				if err := m.inst(i); err != nil {
					return fmt.Errorf("inst%d: %w", i, err)
				}
			}
			if err := m.doEdits(regalloc.After(i)); err != nil {
				return err
			}
		}
		succs := m.in.SuccsOf(b)
		if len(succs) == 0 {
			return nil
		}
		e := succs[m.IntN(len(succs))]
		var vals []val
		for _, a := range m.in.ArgsOf(e) {
			vals = append(vals, m.ref[a])
		}
		for k, p := range m.in.ParamsOf(e.To) {
			m.ref[p] = vals[k]
		}
		b = e.To
	}
	return nil
}

// define computes what i defines, from what it means to read.
func (m *machine) define(i regalloc.Inst, uses []uint64) {
	m.step++
	for k, op := range m.in.OperandsOf(i) {
		if !op.Access.Defines() {
			continue
		}
		if m.in.Insts[i].Flags&regalloc.IsMove != 0 {
			m.ref[op.VReg] = m.ref[m.in.OperandsOf(i)[0].VReg]
			continue
		}
		h := mix(append(uses, uint64(i), uint64(k), m.step)...)
		if m.in.VRegs[op.VReg].Remat == i {
			m.ref[op.VReg] = m.constant(i)
			continue
		}
		m.ref[op.VReg] = val{h, mix(h)}
		if m.in.VRegs[op.VReg].Ref {
			m.ref[op.VReg][0] &^= 1
			m.objects = append(m.objects, m.ref[op.VReg][0])
		}
	}
}

// constant is the value of an instruction without uses. As a reference it is an
// object that does not move: an odd number.
func (m *machine) constant(i regalloc.Inst) val {
	h := mix(uint64(i), 77) | 1
	return val{h, mix(h)}
}

// word is what a machine holds for v now.
func (m *machine) word(v vreg) val {
	x := m.ref[v]
	if m.in.VRegs[v].Ref {
		x[0] = m.address(x[0])
	}
	return x
}

func (m *machine) address(object uint64) uint64 {
	if object&1 != 0 {
		return object
	}
	return mix(object, m.epoch)
}

// hardware is where the instruction will really access the operand.
func hardware(in *regalloc.Input, out *regalloc.Output, i regalloc.Inst, op operand, k int) loc {
	s, _ := in.OperandRange(i)
	switch op.Constraint {
	case regalloc.Fixed:
		return regalloc.InReg(op.PReg())
	case regalloc.FixedArg:
		return regalloc.InArg(int(op.Arg))
	case regalloc.Reuse:
		return hardware(in, out, i, in.Operands[s+uint32(op.Arg)], int(op.Arg))
	}
	return out.Allocs[int(s)+k]
}

// encodable reports whether the instruction can have the operand at l.
func (m *machine) encodable(op operand, l loc) bool {
	info := m.in.VRegs[op.VReg]
	switch {
	case l.IsReg():
		if l.Index() > 63 || l.Reg().Class() != info.Class || op.Constraint == regalloc.Stack {
			return false
		}
		return op.Constraint == regalloc.Fixed || op.Constraint == regalloc.Reuse || m.env.Allocatable.Has(l.Reg())
	case l.IsSlot():
		return l.Index()+int(info.Bytes/8) <= len(m.slots) && (op.Constraint == regalloc.Any || op.Constraint == regalloc.Stack)
	case l.IsArg():
		return l.Index()+2 <= len(m.args) && (op.Constraint == regalloc.FixedArg ||
			op.Constraint == regalloc.Any && op.Access <= regalloc.LateUse)
	}
	return false
}

func (m *machine) get(l loc, bytes uint8) (x val) {
	if l.IsReg() {
		return m.regs[l.Reg()]
	}
	mem := m.slots
	if l.IsArg() {
		mem = m.args
	}
	x[0] = mem[l.Index()]
	if bytes == 16 {
		x[1] = mem[l.Index()+1]
	}
	return x
}

func (m *machine) set(l loc, bytes uint8, x val) {
	if l.IsReg() {
		if bytes == 8 {
			x[1] = m.Uint64()
		}
		m.regs[l.Reg()] = x
		return
	}
	mem := m.slots
	if l.IsArg() {
		mem = m.args
	}
	mem[l.Index()] = x[0]
	if bytes == 16 {
		mem[l.Index()+1] = x[1]
	}
}

func (m *machine) put(l loc, v vreg) { m.set(l, m.in.VRegs[v].Bytes, m.word(v)) }

func (m *machine) read(l loc, v vreg) error {
	bytes := m.in.VRegs[v].Bytes
	got, want := m.get(l, bytes), m.word(v)
	if got[0] != want[0] || bytes == 16 && got[1] != want[1] {
		return fmt.Errorf("reads something else than %v in %v", v, l)
	}
	return nil
}

func (m *machine) garbage(l loc, v vreg) {
	m.set(l, m.in.VRegs[v].Bytes, val{m.Uint64(), m.Uint64()})
}

func (m *machine) inst(i regalloc.Inst) error {
	ops := m.in.OperandsOf(i)
	m.regs[scratchReg] = val{m.Uint64(), m.Uint64()}
	where := make([]loc, len(ops))
	var uses []uint64
	for k, op := range ops {
		where[k] = hardware(m.in, m.out, i, op, k)
		if !m.encodable(op, where[k]) {
			return fmt.Errorf("operand %d cannot be in %v", k, where[k])
		}
		if op.Access.Reads() {
			uses = append(uses, m.ref[op.VReg][0], m.ref[op.VReg][1])
		}
	}
	if _, ok := m.maps[i]; m.in.Insts[i].Flags&regalloc.Safepoint != 0 && !ok {
		return fmt.Errorf("no stack map")
	}
	// Each pass goes over the operands of some accesses.
	pass := func(mask int, f func(k int, op operand) error) error {
		for k, op := range ops {
			if mask>>op.Access&1 != 0 {
				if err := f(k, op); err != nil {
					return err
				}
			}
		}
		return nil
	}
	const use, late, def, early, mod = 1 << regalloc.Use, 1 << regalloc.LateUse, 1 << regalloc.Def, 1 << regalloc.EarlyDef, 1 << regalloc.Mod
	if err := pass(mod, func(k int, op operand) error {
		err := m.read(where[k], op.VReg)
		m.garbage(where[k], op.VReg)
		return err
	}); err != nil {
		return err
	}
	// Early definitions come while the uses are still to be read.
	old := make([]val, len(m.ref))
	copy(old, m.ref)
	m.define(i, uses)
	newRef := m.ref
	swap := func(r []val) { m.ref = r }
	_ = pass(early, func(k int, op operand) error { m.put(where[k], op.VReg); return nil })
	swap(old)
	if err := pass(use|late, func(k int, op operand) error { return m.read(where[k], op.VReg) }); err != nil {
		return err
	}
	if m.in.Insts[i].Flags&regalloc.Safepoint != 0 {
		if err := m.collect(m.maps[i]); err != nil {
			return err
		}
	}
	swap(newRef)
	fixed := func(op operand) bool { return op.Constraint == regalloc.Fixed }
	_ = pass(def, func(k int, op operand) error {
		if !fixed(op) {
			m.put(where[k], op.VReg)
		}
		return nil
	})
	for r := range m.regs {
		if m.in.ClobbersOf(i).Has(preg(r)) {
			m.regs[r] = val{m.Uint64(), m.Uint64()}
		}
	}
	_ = pass(def|early, func(k int, op operand) error {
		if fixed(op) {
			m.put(where[k], op.VReg)
		}
		return nil
	})
	swap(old)
	if err := pass(late, func(k int, op operand) error { return m.read(where[k], op.VReg) }); err != nil {
		return err
	}
	swap(newRef)
	_ = pass(mod, func(k int, op operand) error { m.garbage(where[k], op.VReg); return nil })
	m.regs[scratchReg] = val{m.Uint64(), m.Uint64()}
	return nil
}

// collect moves all objects and follows the stack map.
func (m *machine) collect(slots []uint32) error {
	objects := map[uint64]uint64{}
	for _, o := range m.objects {
		objects[m.address(o)] = o
	}
	for _, op := range m.in.Operands {
		if op.Access.Defines() && m.in.VRegs[op.VReg].Remat != regalloc.NoInst && m.in.VRegs[op.VReg].Ref {
			o := m.constant(m.in.VRegs[op.VReg].Remat)[0]
			objects[o] = o
		}
	}
	m.epoch++
	for _, s := range slots {
		o, ok := objects[m.slots[s]]
		if !ok {
			return fmt.Errorf("the collector finds no object in slot %d", s)
		}
		m.slots[s] = m.address(o)
	}
	return nil
}

func (m *machine) doEdits(p regalloc.ProgPoint) error {
	for _, e := range m.edits[p] {
		may := m.env.Allocatable | m.env.FixedOnly | regalloc.SetOf(scratchReg)
		if e.To.IsReg() && (e.To.Index() > 63 || !may.Has(e.To.Reg()) || !m.out.Used.Has(e.To.Reg())) {
			return fmt.Errorf("%v: writes a register it may not", e)
		}
		if e.Kind == regalloc.Remat {
			ops := m.in.OperandsOf(e.Inst)
			if len(ops) != 1 || m.in.VRegs[ops[0].VReg].Remat != e.Inst || !e.To.IsReg() ||
				e.To.Reg().Class() != m.in.VRegs[ops[0].VReg].Class {
				return fmt.Errorf("%v: not possible", e)
			}
			m.set(e.To, m.in.VRegs[ops[0].VReg].Bytes, m.constant(e.Inst))
			continue
		}
		bad := e.From.IsMem() && e.To.IsMem() || e.To.IsArg() || e.From.IsNone() || e.To.IsNone() || e.Bytes != 8 && e.Bytes != 16
		for _, l := range []loc{e.From, e.To} {
			if l.IsSlot() && l.Index()+int(e.Bytes/8) > len(m.slots) || l.IsReg() && e.Bytes == 16 && l.Reg().Class() == regalloc.Int {
				bad = true
			}
		}
		if bad {
			return fmt.Errorf("%v: not possible", e)
		}
		m.set(e.To, e.Bytes, m.get(e.From, e.Bytes))
	}
	return nil
}
