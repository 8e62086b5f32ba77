package backend

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/clif/rewrite"
)

// This file selects a lowering rule and applies it. It matches the rule's pattern, without changing anything, asks
// Control, commits the loads that the rule folds, and calls the rule to append its instructions.

// Bound holds the values that a pattern has bound.
type Bound struct {
	// K, J and I are the constants of these names, sign-extended from their types.
	K, J, I int64
	// Op is the opcode of the last inner instruction for which the pattern allows several.
	Op clif.Opcode
	// Load is the load that is folded into the instruction being lowered, or NoInst.
	Load clif.Inst
	v    [firstTemp]clif.Value
}

// X, Y, Z and W are the values of these names.
func (b *Bound) X() clif.Value { return b.v[0] }

// Y returns the value y.
func (b *Bound) Y() clif.Value { return b.v[1] }

// Z returns the value z.
func (b *Bound) Z() clif.Value { return b.v[2] }

// W returns the value w.
func (b *Bound) W() clif.Value { return b.v[3] }

// Match is the question whether rules fit an instruction, and the answer.
type Match struct {
	Bound
	// Inst is the instruction in question, and D describes it. They are NoInst and nil if a value is in question.
	Inst clif.Inst
	D    *clif.InstData
	// T is its type; CC the condition of a comparison.
	T  clif.Type
	CC uint8
	// Bytes is how many bytes the user of an operand reads.
	Bytes int
	// Cmp is what a rule of a comparison gives, Addr what one of an address gives.
	Cmp  Comparison
	Addr Address

	args  [3]clif.Value
	slots [numSlots]clif.Value
}

// Arg returns operand n of the instruction in question; of a rule of TermOperand, Arg(0) is the operand.
func (m *Match) Arg(n int) clif.Value { return m.args[n] }

// match returns a free Match for the next question; done gives it back. Several are in use at once, as lowering functions
// ask questions while a rule is applied.
func (l *Emit) match() *Match {
	if l.asking == len(l.matches) {
		l.matches = append(l.matches, new(Match))
	}
	l.asking++
	return l.matches[l.asking-1]
}

func (l *Emit) done() { l.asking-- }

// Select applies the first rule of a term that fits the instruction i. If none does, nothing has changed.
func (l *Emit) Select(t Term, i clif.Inst, d *clif.InstData) bool {
	c := l.Target.Rules.byOp[t][d.Op]
	if c == nil {
		return false
	}
	x, y, z := d.ArgA(), clif.NoValue, clif.NoValue
	if n := d.NumArgs(); n > 1 {
		if y = d.ArgB(); n > 2 {
			z = d.ArgC()
		}
		if d.Op.Info().Commutative {
			x, y = l.ConstLast(x, y)
		}
	}
	set := l.open(c, x, y)
	if set == 0 {
		return false
	}
	m := l.match()
	m.Inst, m.D, m.T, m.CC = i, d, d.Type, d.Cond
	m.args = [3]clif.Value{x, y, z}
	ok := l.selectRule(c, set, m)
	l.done()
	return ok
}

// SelectCompare is Select for the comparison cc of x and y, of type t, by rules for op. It gives the comparison to push. A y
// that is NoValue stands for the constant 0.
func (l *Emit) SelectCompare(term Term, op clif.Opcode, t clif.Type, cc uint8, x, y clif.Value) (c Comparison, ok bool) {
	cand := l.Target.Rules.byOp[term][op]
	set := l.open(cand, x, y)
	if set == 0 {
		return c, false
	}
	m := l.match()
	m.Inst, m.D, m.T, m.CC = clif.NoInst, nil, t, cc
	m.args = [3]clif.Value{x, y, clif.NoValue}
	if ok = l.selectRule(cand, set, m); ok {
		c = m.Cmp
	}
	l.done()
	return c, ok
}

// SelectAddress is Select for the address of the load or store i, its first operand, an i32.
func (l *Emit) SelectAddress(t Term, i clif.Inst, d *clif.InstData) (a Address, ok bool) {
	c := l.Target.Rules.byOp[t][d.Op]
	set := l.open(c, d.ArgA(), clif.NoValue)
	if set == 0 {
		return a, false
	}
	m := l.match()
	m.Inst, m.D, m.T, m.CC = i, d, clif.I32, 0
	m.args = [3]clif.Value{d.ArgA(), clif.NoValue, clif.NoValue}
	if ok = l.selectRule(c, set, m); ok {
		a = m.Addr
	}
	l.done()
	return a, ok
}

// open returns the set of candidates that remain possible, given the opcodes that define x and y.
func (l *Query) open(c *candidates, x, y clif.Value) uint32 {
	class := &l.Target.Rules.class
	set := c.needs[0][class[l.defOpcode(x)]&(maxClasses-1)]
	if set != 0 {
		set &= c.needs[1][class[l.defOpcode(y)]&(maxClasses-1)]
	}
	return set
}

// selectRule applies the first rule of a set of candidates that fits m.
func (l *Emit) selectRule(c *candidates, set uint32, m *Match) bool {
	table := l.Target.Rules
	for ; set != 0; set &= set - 1 {
		r := c.rules[bits.TrailingZeros32(set)&31]
		p := &table.programs[r]
		if p.typ != clif.Invalid && p.typ != m.T || p.conds != pattern.AnyCond && p.conds>>m.CC&1 == 0 {
			continue
		}
		if l.fits(p, m) && l.fire(r) {
			if m.Load != clif.NoInst {
				l.sink(m.Load)
			}
			if l.control == nil && l.trace == nil {
				table.Rows[r].Lower(l, m)
				return true
			}
			n, entry := len(l.insts), l.logged()
			table.Rows[r].Lower(l, m)
			l.fired(r, n, entry)
			return true
		}
	}
	return false
}

// Fold reports whether rule r, of TermOperand, applies to v, an operand of type t. The user reads the given number of its
// low bytes, and must then do as the rule says.
func (l *Emit) Fold(r Rule, t clif.Type, v clif.Value, bytes int) (b Bound, ok bool) {
	p := &l.Target.Rules.programs[r]
	if !p.needs[0].Has(l.defOpcode(v)) {
		return b, false
	}
	m := l.match()
	m.Inst, m.D, m.T, m.Bytes = clif.NoInst, nil, t, bytes
	m.args = [3]clif.Value{v, clif.NoValue, clif.NoValue}
	if ok = l.fits(p, m) && l.fire(r); ok {
		b = m.Bound
		if m.Load != clif.NoInst {
			l.sink(m.Load)
		}
		l.fired(r, len(l.insts), l.logged())
	}
	l.done()
	return b, ok
}

// FoldComparison is Fold for the comparison c, which is not yet appended.
func (l *Emit) FoldComparison(r Rule, c *Comparison) bool {
	m := l.match()
	m.Inst, m.D, m.T, m.Cmp = clif.NoInst, nil, clif.I32, *c
	m.args = [3]clif.Value{clif.NoValue, clif.NoValue, clif.NoValue}
	ok := l.fits(&l.Target.Rules.programs[r], m) && l.fire(r)
	if ok {
		l.fired(r, len(l.insts), l.logged())
	}
	l.done()
	return ok
}

// fits reports whether the pattern fits m. It changes nothing but m.
func (l *Query) fits(p *program, m *Match) bool {
	m.Load, m.K, m.J, m.I = clif.NoInst, 0, 0, 0
	m.slots[p.roots[0]], m.slots[p.roots[1]], m.slots[p.roots[2]] = m.args[0], m.args[1], m.args[2]
	for i := range p.steps {
		s := &p.steps[i]
		v := m.slots[s.slot]
		ok := false
		switch s.do {
		case stepInst:
			ok = l.fitsInst(s, m, v)
		case stepConst:
			var k int64
			if k, ok = l.constant(s, m, v); ok && (s.onK == nil || s.onK(m.T, k)) {
				switch s.konst {
				case 0:
					m.K = k
				case 1:
					m.J = k
				default:
					m.I = k
				}
			} else {
				return false
			}
		case stepLiteral:
			var k int64
			k, ok = l.constant(s, m, v)
			ok = ok && k == s.lit
		case stepValue:
			ok = s.onV(l, v)
		case stepLoad:
			m.Load, ok = l.foldable(s, v)
		case stepGuard:
			m.v = [firstTemp]clif.Value(m.slots[:firstTemp])
			ok = s.guard(l, m)
		}
		if !ok {
			return false
		}
	}
	m.v = [firstTemp]clif.Value(m.slots[:firstTemp])
	return true
}

// constant returns the constant v, sign-extended from the type that the pattern gives it.
func (l *Query) constant(s *step, m *Match, v clif.Value) (int64, bool) {
	if v == clif.NoValue {
		return 0, true
	}
	if s.typ != clif.Invalid {
		return l.Sconst(s.typ, v)
	}
	return l.Sconst(m.T, v)
}

// fitsInst is fits for an instruction inside: the definition of v.
func (l *Query) fitsInst(s *step, m *Match, v clif.Value) bool {
	_, d := l.DefInst(v)
	switch {
	case d == nil || !s.ops.Has(d.Op) || s.conds != pattern.AnyCond && s.conds>>d.Cond&1 == 0:
		return false
	case !s.any && d.Type != s.typ && (s.typ != clif.Invalid || d.Type != m.T):
		return false
	case s.only && !l.OnlyUse(v):
		return false
	}
	if s.choice {
		m.Op = d.Op
	}
	a, b := d.ArgA(), d.ArgB()
	if s.swap && d.Op.Info().Commutative {
		a, b = l.ConstLast(a, b)
	}
	m.slots[s.args[0]], m.slots[s.args[1]], m.slots[s.args[2]] = a, b, d.ArgC()
	return true
}

// foldable returns the load that defines v, if it may be folded into the instruction being lowered.
func (l *Query) foldable(s *step, v clif.Value) (clif.Inst, bool) {
	i, d := l.SinkableLoad(v)
	if d == nil || !s.ops.Has(d.Op) {
		return clif.NoInst, false
	}
	t, bytes := l.F.TypeOf(d.Result), 0
	if bytes = t.Bits() / 8; d.Op == clif.OpLoad {
		bytes = d.Access().Bytes(t)
	}
	switch s.width {
	case wholeType:
		return i, l.F.TypeOf(v) == t && bytes == t.Bits()/8
	case narrow:
		a := d.Access()
		return i, a == clif.U8 || a == clif.U16
	}
	return i, bytes == int(s.width)
}

// fire reports whether rule r may be applied. If so, the caller applies it.
func (l *Emit) fire(r Rule) bool {
	return l.control == nil || l.control.Spend(l.Target.Rules.Info(r))
}

// logged returns the last entry of the log, or -1.
func (l *Emit) logged() int {
	if l.control == nil {
		return -1
	}
	return len(l.control.Log) - 1
}

// fired records in the rule's entry of the log that rule r was applied and has appended the instructions from n on.
func (l *Emit) fired(r Rule, n, entry int) {
	if l.trace != nil && l.trace.Rule != nil {
		l.trace.Rule(l.F, r, l.insts[n:])
	}
	if l.control != nil {
		l.describe(&l.control.Log[entry], n)
	}
}

// describe completes an entry of the log: the instruction being lowered, and those from n on, which it has become.
func (l *Emit) describe(e *rewrite.Rewrite, n int) {
	d := &l.F.Insts[l.cur]
	e.Type, e.Src = d.Type, l.F.Offset(l.src)
	if !l.control.Trace {
		return
	}
	e.Before = rewrite.Text(l.F, d)
	op := l.groups[len(l.groups)-1].op
	if n > int(l.groups[len(l.groups)-1].inst) {
		op = l.meta[n-1].opEnd
	}
	for i := n; i < len(l.insts); i++ {
		end := l.meta[i].opEnd
		e.After = append(e.After, string(l.Target.dumpInst(nil, &l.insts[i], l.Ops[op:end], nil, &Frame{})))
		op = end
	}
}
