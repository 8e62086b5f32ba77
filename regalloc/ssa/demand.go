package ssa

import (
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// demand is what one instruction asks of registers. At its reading position, values in registers are those that it reads where they
// are, those that outlive it, and early definitions; at its writing position, what outlives it and all definitions.
type demand struct {
	// named are the registers that copies of values for fixed operands take at the reading position, and fixed definitions that are early.
	named regalloc.PRegSet
	// lost are the registers in which no value outlives the reads, nor is defined by an operand that does not name it, by width in words less 1.
	lost  [2]regalloc.PRegSet
	ties  []tie
	fixed []fixed
	// early and late count definitions without a register of their own that begin at the reading or at the writing position, by class; wide those of 16 bytes.
	early, late         [regalloc.NumClasses]int
	wideEarly, wideLate int
	wide                bool // it defines a value of 16 bytes
	places              bool // it defines a value in a place of its own
	plain               bool // no operand or clobber asks for more than any register
}

// fixed says that the instruction reads value in reg.
type fixed struct {
	value uint32
	reg   regalloc.PReg
}

// tie says that value def is defined in the register that the operand is read in, which reads the value use.
type tie struct{ operand, def, use uint32 }

// find fills d for instruction i.
func (d *demand) find(iv *flow.Intervals, i uint32) {
	in := iv.In
	info := &in.Insts[i]
	first, end := in.OperandRange(regalloc.Inst(i))
	d.named, d.ties, d.fixed, d.plain = 0, d.ties[:0], d.fixed[:0], info.Clobbers == 0 && info.Flags&regalloc.Safepoint == 0
	clobbers := in.ClobbersOf(regalloc.Inst(i))
	d.lost = [2]regalloc.PRegSet{clobbers.Lost(8), clobbers.Lost(16)}
	d.early, d.late = [regalloc.NumClasses]int{}, [regalloc.NumClasses]int{}
	d.wideEarly, d.wideLate, d.wide, d.places = 0, 0, false, false
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if o.Access.Reads() {
			if o.Constraint == regalloc.Fixed {
				d.name(o.PReg(), o.Access == regalloc.LateUse)
				d.fixed = append(d.fixed, fixed{uint32(o.VReg), o.PReg()})
			}
			d.plain = d.plain && o.Constraint < regalloc.Fixed && o.Access != regalloc.LateUse
			continue
		}
		d.definition(iv, first, o)
	}
	if d.wideLate > 0 && d.lost[0] != d.lost[1] {
		d.lost[0] = d.lost[1] // narrow values leave the registers that may be left for wide ones
	}
}

// name notes that the register r is the instruction's from its reading position on, and if it is kept, at its writing position too.
func (d *demand) name(r regalloc.PReg, kept bool) {
	d.named = d.named.Add(r)
	if kept {
		d.lost[0], d.lost[1] = d.lost[0].Add(r), d.lost[1].Add(r)
	}
}

// definition notes the definition o of the instruction whose operands begin at first.
func (d *demand) definition(iv *flow.Intervals, first uint32, o *regalloc.Operand) {
	v := uint32(o.VReg)
	wide := 0
	if iv.Values[v].Flags&flow.IsWide != 0 {
		wide, d.wide = 1, true
	}
	if iv.Values[v].Flags&flow.IsRemat != 0 {
		return // it is left out
	}
	d.plain = d.plain && o.Access == regalloc.Def && (o.Constraint == regalloc.Reg || o.Constraint == regalloc.Any)
	early := o.Access == regalloc.EarlyDef
	switch o.Constraint {
	case regalloc.FixedArg:
		d.places = true
		return
	case regalloc.Fixed:
		d.places = true
		d.lost[0], d.lost[1] = d.lost[0].Add(o.PReg()), d.lost[1].Add(o.PReg())
		if early {
			d.named = d.named.Add(o.PReg())
		}
		return
	case regalloc.Reuse:
		k := first + uint32(o.Arg)
		of := &iv.In.Operands[k]
		if of.Constraint == regalloc.Fixed {
			d.places = true
			d.name(of.PReg(), true)
			return
		}
		d.ties = append(d.ties, tie{k, v, uint32(of.VReg)})
		early = true
	}
	if early {
		d.early[iv.ClassOf(v)]++
		d.wideEarly += wide
	} else if o.Constraint != regalloc.Any {
		d.late[iv.ClassOf(v)]++
		d.wideLate += wide
	}
}

// isCopied reports whether operand j, which reads, is read from a copy in a place that is not that of its value: its own, or that of a tied definition.
func (d *demand) isCopied(j uint32, o *regalloc.Operand) bool {
	if o.Constraint >= regalloc.Fixed {
		return true
	}
	for _, t := range d.ties {
		if t.operand == j || t.use == uint32(o.VReg) && o.Access == regalloc.Use && (o.Constraint == regalloc.Reg || o.Constraint == regalloc.Any) {
			return true
		}
	}
	return false
}

// refused are the registers in which the value v, which outlives the instruction, cannot stay.
func (d *demand) refused(v uint32, flags uint16) regalloc.PRegSet {
	lost := d.lost[flags&flow.IsWide>>flow.WideShift]
	return d.taken(v) | lost
}

// taken are the registers in which the value v cannot be at the reading position. A register that is named for v itself is not among them.
func (d *demand) taken(v uint32) regalloc.PRegSet {
	t := d.named
	for _, f := range d.fixed {
		if f.value == v {
			t = t.Remove(f.reg)
		}
	}
	return t
}
