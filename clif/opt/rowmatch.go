package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/clif/pattern"
)

// This file finds the row that fits an instruction, and does what it says.

// match is what the left of a row has found.
type match struct {
	d    *clif.InstData // the whole
	typ  clif.Type      // of the last instruction inside
	cond uint8          // and its condition
	lane uint8          // and its lane
	op   clif.Opcode    // of the last instruction inside for which the row allows several
	v    [numSlots]clif.Value
	k    [len(slotNames) - firstConst]uint64 // bits of a number, or of each lane
	// found is what a condition has found out for the function behind it.
	found struct {
		v     clif.Value
		truth uint8
		yes   bool
		lanes [16]uint8
	}
}

// ruleRows applies the first row that fits.
func ruleRows(c *folder, d *clif.InstData) (clif.Value, bool) {
	to := c.byOp[d.Op]
	if to == nil {
		to = c.rows.of(d.Op)
		c.byOp[d.Op] = to
	}
	class := &to.class
	set := to.types[d.Type] & to.conds[d.Cond&(numConds-1)] & to.needs[0][class[c.defOpcode(d.ArgA())]&(maxClasses-1)]
	if to.two {
		set &= to.needs[1][class[c.defOpcode(d.ArgB())]&(maxClasses-1)]
		if d.Args[0] != d.Args[1] {
			set &^= to.same
		}
	}
	if set == 0 {
		return none, false
	}
	return c.tryRows(to, set, d)
}

// defOpcode returns the opcode that defines v, or NumOpcodes.
func (c *folder) defOpcode(v clif.Value) clif.Opcode {
	if vd := &c.f.Values[v]; vd.Kind == clif.ValueResult {
		return c.out[vd.Def].Op
	}
	return clif.NumOpcodes
}

// tryRows applies the first row of a set that fits.
func (c *folder) tryRows(to *candidates, set uint32, d *clif.InstData) (clif.Value, bool) {
	m := &c.matches[c.depth]
	m.d = d
	for ; set != 0; set &= set - 1 {
		r := to.rows[bits.TrailingZeros32(set)]
		if !c.fits(r, m) {
			continue
		}
		if c.holds(r, m) && c.may(r.rule) {
			if r.maker != nil {
				return r.maker(c, d, m)
			}
			return c.give(r, m)
		}
		if r.last {
			break
		}
	}
	return none, false
}

// holds reports whether the conditions of a row hold.
func (c *folder) holds(r *row, m *match) bool {
	for _, w := range r.when {
		if !w(c, m) {
			return false
		}
	}
	return r.inner == 0 || r.inner.Has(m.typ)
}

// fits reports whether the left of a row fits.
func (c *folder) fits(r *row, m *match) bool {
	m.v[r.roots[0]], m.v[r.roots[1]], m.v[r.roots[2]] = m.d.ArgA(), m.d.ArgB(), m.d.ArgC()
	for i := range r.steps {
		s := &r.steps[i]
		v := m.v[s.slot]
		ok := false
		switch s.do {
		case askInst:
			ok = c.fitsInst(s, m, v)
		case askSame:
			ok = v == m.v[s.other]
		case askValue:
			ok = s.isV(c, m, v)
		default:
			if in := c.def(v); in != nil && constOps.Has(in.Op) {
				ok = c.fitsConst(s, m, in)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (c *folder) fitsConst(s *rowStep, m *match, in *clif.InstData) bool {
	if in.Op == clif.OpVconst {
		return c.fitsVector(s, m, in)
	}
	switch s.do {
	case askLiteral:
		return in.Op == clif.OpIconst && in.Imm == c.trunc(in.Type, uint64(s.lit))
	case askEqual:
		return in.Imm == m.k[s.other-firstConst]
	}
	m.k[s.slot-firstConst] = in.Imm
	return s.isK == nil || s.isK(c.widths, m.counted(s), in.Imm)
}

// fitsVector is fitsConst for a vector: the lanes are equal if their value counts.
func (c *folder) fitsVector(s *rowStep, m *match, in *clif.InstData) bool {
	if s.do == askConst && s.isK == nil {
		return true
	}
	t := lanesOf(m.counted(s))
	low, high := in.V128()
	x := arith.Lane(t, c.shrink, arith.V128{low, high}, 0)
	if arith.Splat(t, c.shrink, x) != (arith.V128{low, high}) {
		return false
	}
	switch s.do {
	case askLiteral:
		return x == c.trunc(t, uint64(s.lit))
	case askEqual:
		return x == m.k[s.other-firstConst]
	}
	m.k[s.slot-firstConst] = x
	return s.isK(c.widths, t, x)
}

// counted returns the type of what the instruction around a constant counts with: the lanes of the whole if it has any.
func (m *match) counted(s *rowStep) clif.Type {
	switch {
	case s.any:
		return m.typ
	case m.d.Type.IsShape() || s.typ == clif.Invalid:
		return m.d.Type
	}
	return s.typ
}

// lanesOf returns a shape for a vector whose lanes do not count.
func lanesOf(t clif.Type) clif.Type {
	if t == clif.V128 {
		return clif.I64x2
	}
	return t
}

// fitsInst is fits for the instruction inside that defines v.
func (c *folder) fitsInst(s *rowStep, m *match, v clif.Value) bool {
	in := c.def(v)
	switch {
	case in == nil:
		return false
	case s.op && in.Op != m.d.Op || !s.op && !s.ops.Has(in.Op):
		return false
	case s.conds != pattern.AnyCond && s.conds>>in.Cond&1 == 0:
		return false
	case s.same && in.Type != m.typ:
		return false
	case !s.any && !s.same && in.Type != s.typ && (s.typ != clif.Invalid || in.Type != m.d.Type):
		return false
	}
	m.typ, m.cond, m.lane = in.Type, in.Cond, in.Lane()
	if s.inner {
		m.op = in.Op
	}
	m.v[s.args[0]], m.v[s.args[1]], m.v[s.args[2]] = in.ArgA(), in.ArgB(), in.ArgC()
	return true
}

// give makes what the right of a row says: in the place of the whole, if that is an instruction.
func (c *folder) give(r *row, m *match) (clif.Value, bool) {
	var vs [maxParts]clif.Value
	d := m.d
	last := len(r.gives) - 1
	for i := range r.gives {
		p := &r.gives[i]
		t := p.typ
		if t == clif.Invalid {
			t = d.Type
		}
		switch p.do {
		case giveValue:
			vs[i] = m.v[p.slot]
		case giveMade:
			vs[i] = p.v(c, m, m.v[p.slot])
		case giveConst:
			x := uint64(p.lit)
			if p.k != nil {
				x = p.k(c, m, m.k[p.slot-firstConst])
			}
			if result := d.Op.ResultType(d.Type); p.root && result != clif.V128 {
				t = result
			}
			vs[i] = c.number(t, x)
		case giveInst:
			made := clif.InstData{Op: p.op, Type: t, Cond: m.condition(p.cond)}
			made.Args = [3]uint32{uint32(vs[p.args[0]])}
			if p.any {
				made.Type = m.typ
			}
			switch p.op {
			case opWhole:
				made.Op, made.Imm = d.Op, d.Imm
			case opInner:
				made.Op = m.op
			}
			for k := 1; k < made.NumArgs(); k++ {
				made.Args[k] = uint32(vs[p.args[k]])
			}
			if i == last {
				return become(d, made)
			}
			vs[i] = c.make1(made, made.Op.ResultType(made.Type))
		}
	}
	return vs[last], false
}

// number returns the constant x of type t, or with lanes of it.
func (c *folder) number(t clif.Type, x uint64) clif.Value {
	switch {
	case t.IsFloat():
		return c.fconst(t, x)
	case t.IsInt():
		return c.iconst(t, x)
	case t.IsRef():
		panic("a reference is no number")
	}
	return c.vconst(arith.Splat(lanesOf(t), c.shrink, x))
}

// condition returns the condition of an instruction that a row makes.
func (m *match) condition(cond uint8) uint8 {
	switch cond {
	case condSame:
		return m.d.Cond
	case condSwapped:
		return uint8(m.d.IntCC().Swap())
	case condUnsigned:
		return uint8(unsignedCC[m.d.IntCC()])
	case condInverse:
		return uint8(clif.IntCC(m.cond).Invert())
	}
	return cond
}
