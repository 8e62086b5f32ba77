package gen

import (
	"slices"

	"github.com/waot-project/waot/regalloc"
)

// makeParams gives blocks their parameters.
func (g *gen) makeParams() {
	many := -1
	if g.chance(g.cfg.ManyParamsRate) && len(g.blocks) > 1 {
		many = 1 + g.IntN(len(g.blocks)-1)
	}
	for b := range g.blocks {
		if b == 0 || b != many && !g.chance(g.cfg.ParamRate) {
			continue
		}
		n := 1 + g.IntN(max(g.cfg.Params, 1))
		if b == many {
			n = 100 + g.IntN(300)
		} else if g.chance(0.01) {
			n *= 10
		}
		for range n {
			g.blocks[b].params = append(g.blocks[b].params, g.newVReg(g.kind()))
		}
	}
}

// fill makes the code, in preorder of the dominator tree, so that the values
// available are those on the stack.
func (g *gen) fill() {
	type frame struct {
		block, kid int
		marks      [numKinds]int
	}
	stack := []frame{{}}
	g.fillBlock(0)
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		b := &g.blocks[f.block]
		if f.kid == len(b.kids) {
			for k, n := range f.marks {
				g.avail[k] = g.avail[k][:n]
			}
			stack = stack[:len(stack)-1]
			continue
		}
		next := frame{block: b.kids[f.kid]}
		f.kid++
		for k := range g.avail {
			next.marks[k] = len(g.avail[k])
		}
		stack = append(stack, next)
		g.fillBlock(next.block)
	}
}

func (g *gen) fillBlock(b int) {
	g.at = &g.blocks[b]
	if b == 0 {
		g.arguments()
	}
	for _, p := range g.at.params {
		g.offer(p)
	}
	for _, v := range g.at.results {
		g.offer(v)
	}
	n := g.IntN(g.cfg.Insts + 1)
	if g.cfg.Quick && b == 0 {
		n = 0 // a call here would leave no quick way
	} else if len(g.at.succs) == 1 && len(g.at.preds) == 1 && g.chance(0.5) {
		n = 0 // an edge block
	}
	for range n {
		g.instruction()
	}
	g.terminator()
}

// offer makes v available.
func (g *gen) offer(v regalloc.VReg) {
	k := g.kindOf(v)
	g.avail[k] = append(g.avail[k], v)
}

func (g *gen) kindOf(v regalloc.VReg) int {
	info := &g.vregs[v]
	switch {
	case info.Ref:
		return refKind
	case info.Bytes == 16:
		return wideKind
	case info.Bytes == 4:
		return halfKind
	}
	return int(info.Class)
}

// value returns an available value of the kind; for intKind it may have 4 bytes.
func (g *gen) value(kind int) regalloc.VReg { return g.exact(g.halve(kind)) }

// exact is value with as many bytes as the kind has. If there is none, or rarely, the value
// is made by an instruction put here.
func (g *gen) exact(kind int) regalloc.VReg {
	l := g.avail[kind]
	if g.cfg.Quick && g.chance(0.95) {
		l = l[:g.args[kind]]
	}
	if len(l) == 0 || g.chance(0.01) {
		v := g.constant(kind)
		g.offer(v)
		return v
	}
	if g.chance(g.cfg.FarRate) {
		return l[g.IntN(len(l))]
	}
	return l[len(l)-1-g.IntN(min(len(l), 5))]
}

func (g *gen) classValue(c regalloc.Class) regalloc.VReg {
	if c == regalloc.Int {
		if g.chance(g.cfg.RefRate) {
			return g.value(refKind)
		}
		return g.value(intKind)
	}
	if g.chance(0.3) {
		return g.value(wideKind)
	}
	return g.value(floatKind)
}

// add appends x. Rarely it puts the operands in an order that no back end uses.
func (g *gen) add(x inst) {
	if len(x.ops) > 1 && g.chance(0.1) {
		g.shuffleOperands(&x)
	}
	g.at.insts = append(g.at.insts, x)
}

func (g *gen) shuffleOperands(x *inst) {
	to := g.Perm(len(x.ops))
	ops := make([]regalloc.Operand, len(x.ops))
	for k, o := range x.ops {
		if o.Constraint == regalloc.Reuse {
			o.Arg = uint16(to[o.Arg])
		}
		ops[to[k]] = o
	}
	x.ops = ops
}

// constant makes an instruction that only defines a value, mostly one that may
// be repeated. Every other integer among these can be stored without a register.
func (g *gen) constant(kind int) regalloc.VReg {
	v := g.exactVReg(kind)
	x := inst{ops: []regalloc.Operand{regalloc.DefOf(v, regalloc.Reg)}, remat: regalloc.NoVReg}
	if g.chance(0.7) || g.cfg.Quick {
		x.remat = v
		g.vregs[v].Storable = g.vregs[v].Class == regalloc.Int && v&1 == 0
	}
	g.add(x)
	return v
}

// arguments makes the first instruction.
func (g *gen) arguments() {
	x := inst{remat: regalloc.NoVReg}
	for c, order := range g.env.Order {
		if g.cfg.Quick {
			order = slices.DeleteFunc(slices.Clone(order), g.env.CalleeSaved.Has)
		}
		for k := range g.IntN(len(order)) {
			kind := c
			if c == int(regalloc.Float) && g.chance(0.3) {
				kind = wideKind
			} else if c == int(regalloc.Int) && g.chance(g.cfg.RefRate) {
				kind = refKind
			}
			v := g.newVReg(kind)
			x.ops = append(x.ops, regalloc.FixedDef(v, order[k]))
			g.offer(v)
		}
	}
	n := g.IntN(4)
	if g.chance(g.cfg.TailCallRate) {
		n = g.IntN(13)
	}
	for range n {
		v := g.newVReg(g.kind())
		x.ops = append(x.ops, regalloc.StackArgDef(v, x.nextWord(g.vregs[v].Words())))
		g.offer(v)
		g.stack = append(g.stack, v)
	}
	g.padWords(&x)
	for k := range g.avail {
		g.args[k] = len(g.avail[k])
	}
	g.add(x)
}

// nextWord returns the first of n argument words behind those that x has so far.
func (x *inst) nextWord(n int) int {
	word := (x.words + n - 1) &^ (n - 1)
	x.words = word + n
	return word
}

// padWords makes the arguments of x, which are all there, end at 16 bytes, as the area of arguments does.
func (g *gen) padWords(x *inst) {
	x.words += x.words & 1
	g.argWords = max(g.argWords, x.words)
}

// pick returns a random element.
func pick[T any](g *gen, l ...T) T { return l[g.IntN(len(l))] }

func (g *gen) instruction() {
	if g.chance(g.cfg.CallRate) {
		x := g.call()
		g.finish(&x)
		return
	}
	var x inst
	switch n := g.IntN(100); {
	case n < 8:
		g.offer(g.constant(g.kind()))
		return
	case n < 42:
		x = g.twoAddress()
	case n < 48:
		x = g.divide()
	case n < 54:
		x = g.odd()
	default:
		x = g.plain()
	}
	g.finish(&x)
}

// finish adds x and offers what it defines.
func (g *gen) finish(x *inst) {
	x.remat = regalloc.NoVReg
	g.add(*x)
	for _, o := range x.ops {
		if o.Access.Defines() && !g.chance(0.05) {
			g.offer(o.VReg)
		}
	}
}

func (x *inst) op(o ...regalloc.Operand) { x.ops = append(x.ops, o...) }

// plain has up to three uses and up to one definition.
func (g *gen) plain() (x inst) {
	for range g.IntN(4) {
		o := regalloc.UseOf(g.classValue(pick(g, regalloc.Int, regalloc.Int, regalloc.Float)), pick(g, regalloc.Reg, regalloc.Reg, regalloc.Any))
		if g.chance(0.05) {
			o.Access = regalloc.LateUse
		}
		x.op(o)
	}
	if g.chance(0.8) {
		o := regalloc.DefOf(g.newVReg(g.kind()), pick(g, regalloc.Reg, regalloc.Reg, regalloc.Reg, regalloc.Any))
		if g.chance(0.05) {
			o.Access = regalloc.EarlyDef
		}
		x.op(o)
	}
	if g.chance(0.03) {
		x.clobbers = uint16(intSet + g.IntN(numSets-intSet))
	}
	return x
}

// twoAddress has a tied definition, and sometimes a use in a fixed register, as shifts do.
func (g *gen) twoAddress() (x inst) {
	c := pick(g, regalloc.Int, regalloc.Int, regalloc.Float)
	v := g.classValue(c)
	u := regalloc.UseOf(v, regalloc.Reg)
	if g.chance(0.03) {
		u = regalloc.FixedUse(v, g.env.Order[c][0])
	}
	x.op(u)
	switch g.IntN(4) {
	case 0:
		x.op(regalloc.FixedUse(g.value(intKind), g.env.Order[0][1]))
	case 1:
		x.op(regalloc.UseOf(v, regalloc.Any))
	case 2:
		x.op(regalloc.UseOf(g.classValue(c), pick(g, regalloc.Reg, regalloc.Any)))
	}
	x.op(regalloc.ReuseDef(g.newVReg(g.kindOf(v)), 0))
	if g.chance(0.1) {
		x.op(g.temp(c))
	}
	return x
}

// temp returns a definition that nothing uses.
func (g *gen) temp(c regalloc.Class) regalloc.Operand {
	return regalloc.Operand{VReg: g.newVReg(int(c)), Constraint: regalloc.Reg, Access: pick(g, regalloc.Def, regalloc.EarlyDef)}
}

// divide has fixed uses and definitions in the same registers.
func (g *gen) divide() (x inst) {
	a, d := g.env.Order[0][0], g.env.Order[0][2]
	x.op(regalloc.FixedUse(g.value(intKind), a))
	if g.chance(0.5) {
		x.op(regalloc.FixedUse(g.value(intKind), d))
	}
	o := regalloc.UseOf(g.value(intKind), pick(g, regalloc.Reg, regalloc.Any))
	if g.chance(0.3) {
		o.Access = regalloc.LateUse
	}
	x.op(o)
	x.op(regalloc.FixedDef(g.newVReg(intKind), a))
	if g.chance(0.5) {
		x.op(regalloc.FixedDef(g.newVReg(intKind), d))
	} else {
		x.clobbers = intSet
	}
	return x
}

// odd has the rare accesses.
func (g *gen) odd() (x inst) {
	c := pick(g, regalloc.Int, regalloc.Float)
	if g.chance(0.5) {
		o := regalloc.Operand{VReg: g.classValue(c), Constraint: pick(g, regalloc.Reg, regalloc.Any), Access: regalloc.LateUse}
		if g.chance(0.2) {
			o.Constraint, o.Arg = regalloc.Fixed, uint16(g.env.Order[c][3])
		}
		x.op(o)
	}
	if g.chance(0.5) {
		x.op(regalloc.Operand{VReg: g.newVReg(int(c)), Constraint: regalloc.Reg, Access: regalloc.EarlyDef})
	}
	if g.chance(0.5) {
		x.op(g.temp(c))
	}
	return x
}

// call has arguments in fixed registers and anywhere, results likewise, and
// clobbers.
func (g *gen) call() (x inst) {
	for c, order := range g.env.Order {
		n := g.IntN(min(len(order)-1, 5))
		for k := range n {
			x.op(regalloc.FixedUse(g.classValue(regalloc.Class(c)), order[n-1-k]))
		}
	}
	if g.chance(0.3) {
		x.op(regalloc.UseOf(g.value(intKind), pick(g, regalloc.Reg, regalloc.Any)))
	}
	n := 0
	switch {
	case g.chance(0.01):
		n = 100 + g.IntN(60)
	case g.chance(0.2):
		n = 1 + g.IntN(4)
	}
	for range n {
		o := regalloc.UseOf(g.value(g.kind()), regalloc.Any)
		if g.chance(0.2) {
			o.Access = regalloc.LateUse
		}
		x.op(o)
	}
	x.clobbers = callSet
	if g.chance(0.1) {
		x.clobbers = allSet
	}
	if g.chance(0.8) {
		g.results(&x)
	}
	if g.chance(g.cfg.SafepointRate) {
		x.flags = regalloc.Safepoint
	}
	return x
}

// results are in fixed registers; further ones are anywhere.
func (g *gen) results(x *inst) {
	for k := range g.IntN(3) {
		c := pick(g, regalloc.Int, regalloc.Float)
		kind := int(c)
		if c == regalloc.Int && g.chance(g.cfg.RefRate) {
			kind = refKind
		}
		x.op(regalloc.FixedDef(g.newVReg(kind), g.env.Order[c][k]))
	}
	n := 0
	switch {
	case g.chance(0.01):
		n = 100 + g.IntN(60)
	case g.chance(0.1):
		n = 1 + g.IntN(4)
	}
	for range n {
		x.op(regalloc.DefOf(g.newVReg(g.kind()), regalloc.Any))
	}
}

// terminator ends the block and chooses the arguments of its edges.
func (g *gen) terminator() {
	var x inst
	succs := g.at.succs
	switch {
	case len(succs) == 0 && g.chance(g.cfg.TailCallRate):
		x = g.tailCall()
	case len(succs) == 0:
		for k := range g.IntN(3) {
			x.op(regalloc.FixedUse(g.value(intKind), g.env.Order[0][k]))
		}
		x.flags = regalloc.IsReturn
	case len(succs) == 1: // a jump
	case len(succs) == 2 && g.chance(g.cfg.ThrowRate):
		x = g.call()
		x.flags |= regalloc.MayThrow
		if g.chance(0.3) {
			x.op(regalloc.DefOf(g.newVReg(g.kind()), regalloc.Any))
		}
		if g.chance(0.5) {
			succs[0], succs[1] = succs[1], succs[0]
		}
	case g.chance(g.cfg.TerminatorDefRate):
		x = g.call()
		if g.chance(0.3) {
			x.op(regalloc.DefOf(g.newVReg(g.kind()), regalloc.Any))
		}
	default:
		x.op(regalloc.UseOf(g.value(intKind), pick(g, regalloc.Reg, regalloc.Any)))
		if g.chance(0.3) {
			x.op(regalloc.UseOf(g.value(intKind), pick(g, regalloc.Reg, regalloc.Any)))
		}
		if g.chance(0.2) {
			x.op(g.temp(regalloc.Int))
		}
		if g.chance(g.cfg.TerminatorDefRate) {
			x.op(regalloc.DefOf(g.newVReg(g.kind()), pick(g, regalloc.Reg, regalloc.Any)))
		}
	}
	x.flags |= regalloc.IsTerminator
	x.remat = regalloc.NoVReg
	var defs []regalloc.VReg
	for _, o := range x.ops {
		if o.Access.Defines() {
			defs = append(defs, o.VReg)
		}
	}
	throws := x.flags&regalloc.MayThrow != 0
	for k := range succs {
		e := &succs[k]
		defs := defs
		if throws && k == 1 {
			defs = nil
		}
		for _, p := range g.blocks[e.to].params {
			e.args = append(e.args, g.argument(g.kindOf(p), defs))
		}
	}
	g.add(x)
	if throws {
		g.blocks[succs[0].to].results = defs
		return
	}
	for _, v := range defs {
		g.offer(v)
	}
}

// tailCall passes values in registers that calls clobber and in words: arguments of the function itself among them, in other words than they have come in. The
// callee may be in a register, too.
func (g *gen) tailCall() (x inst) {
	for c, order := range g.env.Order {
		order = slices.DeleteFunc(slices.Clone(order), g.env.CalleeSaved.Has)
		for k := range g.IntN(len(order) + 1) {
			v := g.classValue(regalloc.Class(c))
			x.op(regalloc.FixedUse(v, order[len(order)-1-k]))
		}
	}
	own := g.chance(0.5)
	shift := g.IntN(len(g.stack) + 1)
	for k := range g.IntN(13) {
		v := g.exact(pick(g, intKind, intKind, floatKind, wideKind, refKind))
		switch {
		case own && k < len(g.stack): // its own arguments, turned
			v = g.stack[(k+shift)%len(g.stack)]
		case len(g.stack) > 0 && g.chance(0.4):
			v = g.stack[g.IntN(len(g.stack))]
		}
		if g.vregs[v].Bytes >= 8 {
			x.op(regalloc.StackArgUse(v, x.nextWord(g.vregs[v].Words())))
		}
	}
	g.padWords(&x)
	x.flags = regalloc.IsTailCall
	return x
}

// argument returns a value, perhaps one that the terminator defines.
func (g *gen) argument(kind int, defs []regalloc.VReg) regalloc.VReg {
	if len(defs) > 0 && g.chance(0.3) {
		if v := defs[g.IntN(len(defs))]; g.kindOf(v) == kind {
			return v
		}
	}
	return g.exact(kind)
}
