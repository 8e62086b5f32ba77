package exec

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/regalloc"
)

// locate returns where the instruction will really access operand k: what is encoded
// in it says so, not what the allocator says.
func (x *Executor) locate(i regalloc.Inst, ops []regalloc.Operand, k int) (regalloc.Allocation, error) {
	s, _ := x.in.OperandRange(i)
	op := ops[k]
	a := x.out.Allocs[int(s)+k]
	switch op.Constraint {
	case regalloc.Fixed:
		a = regalloc.InReg(op.PReg())
	case regalloc.FixedArg:
		a = regalloc.InArg(int(op.Arg))
	case regalloc.Reuse:
		return x.locate(i, ops, int(op.Arg))
	}
	if !x.encodable(op, a) {
		return a, fmt.Errorf("operand %d cannot be in %v", k, a)
	}
	return a, nil
}

// encodable reports whether the instruction can have the operand at a.
func (x *Executor) encodable(op regalloc.Operand, a regalloc.Allocation) bool {
	info := x.in.VRegs[op.VReg]
	if x.words(a, info.Words()) == nil {
		return false
	}
	switch {
	case a.IsReg():
		return a.Reg().Class() == info.Class && (op.Constraint == regalloc.Fixed || x.env.Allocatable.Has(a.Reg()))
	case a.IsSlot():
		return op.Constraint == regalloc.Any
	}
	return op.Constraint == regalloc.FixedArg || op.Constraint == regalloc.Any && op.Access.Reads()
}

// inst executes i.
func (x *Executor) inst(i regalloc.Inst) error {
	ops := x.in.OperandsOf(i)
	if x.leftOut(i, ops) {
		x.vals[ops[0].VReg] = x.result(i, ops, 0)
		x.clobber(regalloc.WholeRegs(x.scratch()))
		return nil
	}
	x.where, x.made = x.where[:0], x.made[:0]
	for k := range ops {
		a, err := x.locate(i, ops, k)
		if err != nil {
			return err
		}
		x.where = append(x.where, a)
		x.made = append(x.made, x.result(i, ops, k))
	}
	scratch := regalloc.WholeRegs(x.scratch())
	x.clobber(scratch)
	if err := x.early(ops); err != nil {
		return err
	}
	safepoint := x.in.Insts[i].Flags&regalloc.Safepoint != 0
	if safepoint {
		if err := x.collect(i); err != nil {
			return err
		}
	}
	if err := x.late(i, ops, safepoint); err != nil {
		return err
	}
	for k, op := range ops {
		if op.Access.Defines() {
			x.vals[op.VReg] = x.made[k]
		}
	}
	x.clobber(scratch)
	return nil
}

// leftOut reports whether i defines a value that can be made again, which the allocator has left out.
func (x *Executor) leftOut(i regalloc.Inst, ops []regalloc.Operand) bool {
	s, _ := x.in.OperandRange(i)
	return len(ops) == 1 && x.out.Allocs[s].IsNone() && x.in.VRegs[ops[0].VReg].Remat == i
}

// result returns the value that operand k will define, if it does.
func (x *Executor) result(i regalloc.Inst, ops []regalloc.Operand, k int) uint64 {
	v := ops[k].VReg
	switch {
	case !ops[k].Access.Defines():
		return 0
	case x.in.VRegs[v].Remat == i:
		return x.constant(v)
	}
	x.last++
	return x.last | x.half(v)
}

// constant returns the value of v, which can be made again.
func (x *Executor) constant(v regalloc.VReg) uint64 { return constantID + uint64(v) | x.half(v) }

// half returns halfID if values of v have 4 bytes.
func (x *Executor) half(v regalloc.VReg) uint64 {
	if x.in.VRegs[v].Bytes == 4 {
		return halfID
	}
	return 0
}

// early does what may happen before the last use is read: it writes the early
// definitions.
func (x *Executor) early(ops []regalloc.Operand) error {
	x.define(ops, func(op regalloc.Operand) bool { return op.Access == regalloc.EarlyDef })
	for k, op := range ops {
		if op.Access.Reads() {
			if err := x.read(x.where[k], op.VReg); err != nil {
				return err
			}
		}
	}
	return nil
}

// late writes the definitions, all but the fixed ones under the clobbers, and
// reads late uses again. A reference is not read after a collection.
func (x *Executor) late(i regalloc.Inst, ops []regalloc.Operand, safepoint bool) error {
	fixed := func(op regalloc.Operand) bool { return op.Constraint == regalloc.Fixed }
	x.define(ops, func(op regalloc.Operand) bool { return op.Access == regalloc.Def && !fixed(op) })
	x.clobber(x.in.ClobbersOf(i))
	x.define(ops, func(op regalloc.Operand) bool { return op.Access.Defines() && fixed(op) })
	for k, op := range ops {
		if op.Access == regalloc.LateUse && !(safepoint && x.in.VRegs[op.VReg].Ref) {
			if err := x.read(x.where[k], op.VReg); err != nil {
				return err
			}
		}
	}
	return nil
}

// define writes the definitions that which accepts, in order or in reverse order.
func (x *Executor) define(ops []regalloc.Operand, which func(op regalloc.Operand) bool) {
	flip := 0
	if len(ops) > 1 && x.rand.IntN(2) == 0 {
		flip = len(ops) - 1
	}
	for k := range ops {
		if flip > 0 {
			k = flip - k
		}
		if which(ops[k]) {
			x.put(x.where[k], ops[k].VReg, x.made[k])
		}
	}
}

// unwind undoes what i, the instruction executed last, has defined, as it has thrown.
func (x *Executor) unwind(i regalloc.Inst) {
	for k, op := range x.in.OperandsOf(i) {
		if op.Access.Defines() {
			x.vals[op.VReg] = 0
			clear(x.words(x.where[k], x.size(op.VReg)))
		}
	}
}

// clobber fills the halves of registers that c loses with garbage.
func (x *Executor) clobber(c regalloc.Clobbers) {
	for half, set := range [...]regalloc.PRegSet{c.Low, c.High} {
		for ; set != 0; set = set.Remove(set.First()) {
			x.regs[set.First()][half] = content{}
		}
	}
}

// collect moves all objects and follows the stack map of i.
func (x *Executor) collect(i regalloc.Inst) error {
	lo, hi := 0, len(x.out.StackMaps)
	for lo < hi {
		if m := (lo + hi) / 2; x.out.StackMaps[m].Inst < i {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == len(x.out.StackMaps) || x.out.StackMaps[lo].Inst != i {
		return errors.New("the collector finds no stack map")
	}
	r := x.out.StackMaps[lo].Slots
	for _, s := range x.out.StackMapSlots[r.Start:r.End] {
		if int64(s) >= int64(len(x.slots)) || !x.isObject(x.slots[s]) {
			return fmt.Errorf("the collector finds no object in slot %d", s)
		}
		if x.slots[s].epoch != 0 {
			x.slots[s].epoch++
		}
	}
	x.epoch++
	return nil
}

// isObject reports whether c is a reference as it is now.
func (x *Executor) isObject(c content) bool {
	if c.id >= constantID {
		return x.in.VRegs[c.id&^halfID-constantID].Ref
	}
	return c.epoch == x.epoch
}
