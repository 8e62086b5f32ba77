package opt

import "github.com/waot-project/waot/clif"

// This file recognises products of 128 bits that are built from 64-bit products of 32-bit halves, as compiler-rt's
// __multi3, Go's bits.Mul64 and hash functions build them.
//
// Let h be 2^32, x = x1*h + x0 and y = y1*h + y0. The high word of x*y is
//
//	x1*y1 + (x0*y1 + x1*y0 + x0*y0/h)/h
//
// where the numbers may be as large as they are and / rounds down. The sum in the middle has 65 bits, so programs take it
// apart: a term s/h of the high word leaves the low half of s to another sum. Each program does it in its own order. So
// what is looked for is no fixed tree: the terms of the high word must be x1*y1 and upper halves of sums that together
// account for each of the three parts in the middle once, where a low half accounts for what the upper half has left.
// The upper half of a sum may also be written as the carry of an addition of 64 bits.

// maxAddends is how many addends of a sum are looked at. It bounds all work on a sum.
const maxAddends = 8

// addends are those of a sum modulo 2^64.
type addends struct {
	v [maxAddends]clif.Value
	n int
}

// addendsOf splits v into addends; a disjunction of disjoint bits is a sum, too.
func (c *folder) addendsOf(vs ...clif.Value) (a addends) {
	a.n = copy(a.v[:], vs)
	for i := 0; i < a.n; {
		in := c.def(a.v[i])
		if in == nil || a.n == maxAddends || !c.isSum(in) {
			i++
			continue
		}
		a.v[i], a.v[a.n] = in.ArgA(), in.ArgB()
		a.n++
	}
	return a
}

// isSum reports whether in is a 64-bit sum of its operands.
func (c *folder) isSum(in *clif.InstData) bool {
	if in.Type != clif.I64 {
		return false
	}
	return in.Op == clif.OpIadd || in.Op == clif.OpBor && c.mayBeOne(in.ArgA(), 1)&c.mayBeOne(in.ArgB(), 1) == 0
}

// shifted returns x if v is x shifted by half its width.
func (c *folder) shifted(op clif.Opcode, v clif.Value) (x clif.Value, ok bool) {
	in := c.defOp(v, op)
	if in == nil || in.Type != clif.I64 {
		return none, false
	}
	k, ok := c.constant(in.ArgB())
	return in.ArgA(), ok && k == uint64(c.bits(clif.I32))
}

// lowHalf returns x if v is the zero-extended low half of x.
func (c *folder) lowHalf(v clif.Value) (x clif.Value, ok bool) {
	in := c.defOp(v, clif.OpUextend)
	if in == nil {
		return none, false
	}
	if in = c.defOp(in.ArgA(), clif.OpIreduce); in == nil {
		return none, false
	}
	return in.ArgA(), true
}

// half is the upper or the low half of a value, zero-extended.
type half struct {
	of    clif.Value
	upper bool
}

func (c *folder) halfOf(v clif.Value) (half, bool) {
	if x, ok := c.shifted(clif.OpUshr, v); ok {
		return half{x, true}, true
	}
	x, ok := c.lowHalf(v)
	return half{x, false}, ok
}

// halves returns the factors of v if it is a product of halves.
func (c *folder) halves(v clif.Value) (x, y half, ok bool) {
	if in := c.defOp(v, clif.OpImul); in != nil && in.Type == clif.I64 {
		return c.halvesIn(in)
	}
	return half{}, half{}, false
}

// halvesIn is halves for a product that need not be placed.
func (c *folder) halvesIn(in *clif.InstData) (x, y half, ok bool) {
	if x, ok = c.halfOf(in.ArgA()); ok {
		y, ok = c.halfOf(in.ArgB())
	}
	return x, y, ok
}

// part is one of those that the middle of a product consists of.
type part uint8

const (
	noPart  part = iota
	inner        // x0*y1
	outer        // x1*y0
	carries      // x0*y0/h
	numParts
)

// product is a candidate: the terms of a sum, and how often the terms taken so far account for each part of x*y.
type product struct {
	c     *folder
	x, y  clif.Value
	terms addends
	taken [maxAddends]bool
	count [numParts]uint8
}

// isProduct reports whether v is the product of these halves of x and y.
func (p *product) isProduct(v clif.Value, upperX, upperY bool) bool {
	a, b, ok := p.c.halves(v)
	x, y := half{p.x, upperX}, half{p.y, upperY}
	return ok && (a == x && b == y || a == y && b == x)
}

// partOf returns what part v is.
func (p *product) partOf(v clif.Value) part {
	switch {
	case p.isProduct(v, false, true):
		return inner
	case p.isProduct(v, true, false):
		return outer
	}
	if low, ok := p.c.shifted(clif.OpUshr, v); ok && p.isProduct(low, false, false) {
		return carries
	}
	return noPart
}

// all reports whether each part was counted once. In a square two parts are one value.
func (p *product) all() bool {
	if p.x == p.y {
		return p.count[inner] == 2 && p.count[carries] == 1
	}
	return p.count == [numParts]uint8{inner: 1, outer: 1, carries: 1}
}

// take takes the first term that fits.
func (p *product) take(fits func(term clif.Value) bool) bool {
	for i := range p.terms.n {
		if !p.taken[i] && fits(p.terms.v[i]) {
			p.taken[i] = true
			return true
		}
	}
	return false
}

// upperWhere takes the term that is the upper half of a sum that fits, and accounts for it.
func (p *product) upperWhere(fits func(s clif.Value) bool) bool {
	var sum clif.Value
	return p.take(func(term clif.Value) (ok bool) {
		sum, ok = p.c.shifted(clif.OpUshr, term)
		return ok && fits(sum)
	}) && p.sum(sum)
}

// upperTerm is upperWhere for the sum s.
func (p *product) upperTerm(s clif.Value) bool {
	return p.upperWhere(func(sum clif.Value) bool { return sum == s })
}

// spend reports whether one more sum may be looked at.
func (p *product) spend() bool {
	if p.c.wide--; p.c.wide <= 0 {
		p.c.wide = -1
	}
	return p.c.wide > 0
}

// sum accounts for the addends of s, whose upper half is a term. No addition among them may overflow, or there must be
// a term for it: one product and two numbers below h fit, as (h-1)*(h-1) + 2*(h-1) = h*h - 1, and so do
// maxAddends numbers below h.
func (p *product) sum(s clif.Value) bool {
	if !p.spend() {
		return false
	}
	products, small := 0, 0
	a := p.c.addendsOf(s)
	for _, v := range a.v[:a.n] {
		switch part := p.partOf(v); part {
		case inner, outer:
			products++
			p.count[part]++
			continue
		case carries:
			p.count[part]++
		default:
			if low, ok := p.c.lowHalf(v); !ok || !p.upperTerm(low) {
				return false
			}
		}
		small++
	}
	if products == 2 && small == 0 {
		return p.take(func(term clif.Value) bool {
			bit, ok := p.c.shifted(clif.OpIshl, term)
			w, z, isCarry := p.c.carry(bit)
			return ok && isCarry && w == s && (z == a.v[0] || z == a.v[1])
		})
	}
	return products == 0 || products == 1 && small <= 2
}

// carry returns w and z if v is the carry of an addition to z that gives w: that is, w < z.
func (c *folder) carry(v clif.Value) (w, z clif.Value, ok bool) {
	in := c.defOp(v, clif.OpUextend)
	if in == nil {
		return none, none, false
	}
	if in = c.defOp(in.ArgA(), clif.OpIcmp); in == nil || in.Type != clif.I64 {
		return none, none, false
	}
	switch in.IntCC() {
	case clif.Ult:
		return in.ArgA(), in.ArgB(), true
	case clif.Ugt:
		return in.ArgB(), in.ArgA(), true
	}
	return none, none, false
}

// term accounts for a term that is an upper half or a carry.
func (p *product) term(v clif.Value) bool {
	if s, ok := p.c.shifted(clif.OpUshr, v); ok {
		return p.sum(s)
	}
	w, z, ok := p.c.carry(v)
	return ok && p.carried(w, z)
}

// carried accounts for the carry of the addition w = u + q*h, to which z is an operand: the upper half of u/h + q's low half.
func (p *product) carried(w, z clif.Value) bool {
	in := p.c.def(w)
	switch {
	case in == nil || in.Type != clif.I64:
		return false
	case in.Op == clif.OpImul:
		return p.carriedLow(in, z)
	case in.Op != clif.OpIadd || z != in.ArgA() && z != in.ArgB():
		return false
	}
	if q, ok := p.c.shifted(clif.OpIshl, in.ArgB()); ok {
		return p.upperOf(in.ArgA()) && p.upperTerm(q)
	}
	q, ok := p.c.shifted(clif.OpIshl, in.ArgA())
	return ok && p.upperOf(in.ArgB()) && p.upperTerm(q)
}

// carriedLow is carried where w is already known as the low word of the product.
func (p *product) carriedLow(w *clif.InstData, z clif.Value) bool {
	if a, b := w.ArgA(), w.ArgB(); (a != p.x || b != p.y) && (a != p.y || b != p.x) {
		return false
	}
	q, raised := p.c.shifted(clif.OpIshl, z)
	in := p.c.defOp(q, clif.OpIadd)
	switch {
	case p.isProduct(z, false, false), raised && in != nil && p.crosses(in.ArgA(), in.ArgB()):
		// w = x0*y0 + (x0*y1 + x1*y0)*h
		p.count[carries]++
		return p.upperWhere(func(s clif.Value) bool {
			in := p.c.defOp(s, clif.OpIadd)
			return in != nil && p.crosses(in.ArgA(), in.ArgB())
		})
	case raised: // w = u + q*h, u = x0*y0 + s*h, where q and s are the two other products
		for _, term := range p.terms.v[:p.terms.n] {
			u, _, _ := p.c.carry(term)
			if s, ok := p.lowSum(u); ok && p.crosses(q, s) {
				return p.upperOf(u) && p.upperTerm(q)
			}
		}
		return false
	}
	s, ok := p.lowSum(z) // the same, z is u
	return ok && p.upperOf(z) && p.upperWhere(func(q clif.Value) bool { return p.crosses(q, s) })
}

// lowSum returns s if u is x0*y0 + s*h.
func (p *product) lowSum(u clif.Value) (s clif.Value, ok bool) {
	in := p.c.defOp(u, clif.OpIadd)
	if in == nil {
		return none, false
	}
	if s, ok = p.c.shifted(clif.OpIshl, in.ArgB()); ok && p.isProduct(in.ArgA(), false, false) {
		return s, true
	}
	s, ok = p.c.shifted(clif.OpIshl, in.ArgA())
	return s, ok && p.isProduct(in.ArgB(), false, false)
}

// crosses reports whether a and b are x0*y1 and x1*y0 in some order.
func (p *product) crosses(a, b clif.Value) bool {
	return p.isProduct(a, false, true) && p.isProduct(b, true, false) || p.isProduct(a, true, false) && p.isProduct(b, false, true)
}

// upperOf accounts for u/h, an addend: u is x0*y0, or itself an addition of which a term is the carry.
func (p *product) upperOf(u clif.Value) bool {
	if p.isProduct(u, false, false) {
		p.count[carries]++
		return true
	}
	var z clif.Value
	return p.take(func(term clif.Value) bool {
		w, operand, ok := p.c.carry(term)
		z = operand
		return ok && w == u
	}) && p.carried(u, z)
}

// highWord finds the high word of a product among the addends of d, an addition.
func (c *folder) highWord(d *clif.InstData) (p product, ok bool) {
	p.c, p.terms = c, c.addendsOf(d.ArgA(), d.ArgB())
	for i := range p.terms.n {
		x, y, ok := c.halves(p.terms.v[i])
		if !ok || !x.upper || !y.upper {
			continue
		}
		p.x, p.y = x.of, y.of
		for k := range p.terms.n {
			p.taken, p.count = [maxAddends]bool{}, [numParts]uint8{}
			if k == i {
				continue
			}
			p.taken[i], p.taken[k] = true, true
			if p.term(p.terms.v[k]) && p.all() {
				return p, true
			}
		}
	}
	return p, false
}

// mulHigh: a sum with the parts of a high word => umulhi, plus the other addends.
func mulHigh(c *folder, d *clif.InstData) (clif.Value, bool) {
	p, ok := c.highWord(d)
	if !ok || !c.may(RuleMulHigh) {
		return none, false
	}
	v := c.binary(clif.OpUmulhi, clif.I64, p.x, p.y)
	for i := range p.terms.n {
		if !p.taken[i] {
			v = c.binary(clif.OpIadd, clif.I64, p.terms.v[i], v)
		}
	}
	return v, false
}

// mulLow: x0*y0 + (x0*y1 + x1*y0)*h => x*y. The parts of x0*y0 may stand apart.
func mulLow(c *folder, d *clif.InstData) (clif.Value, bool) {
	p, ok := c.lowWord(d)
	if !ok || !c.may(RuleMulLow) {
		return none, false
	}
	*d = clif.InstData{Op: clif.OpImul, Type: clif.I64, Args: [3]uint32{uint32(p.x), uint32(p.y)}, Result: d.Result, NumResults: d.NumResults}
	return none, true
}

func (c *folder) lowWord(d *clif.InstData) (p product, ok bool) {
	p.c, p.terms = c, c.addendsOf(d.ArgA(), d.ArgB())
	for i := range p.terms.n {
		whole, ok := p.lowest(p.terms.v[i])
		if !ok {
			continue
		}
		p.count = [numParts]uint8{}
		if whole {
			p.count[carries] = 1
		}
		if p.multiples(i) && p.all() {
			return p, true
		}
	}
	return p, false
}

// lowest makes x and y the numbers of whose low halves v is the product; whole reports that v is not only the low half of it.
func (p *product) lowest(v clif.Value) (whole, ok bool) {
	x, y, ok := p.c.halves(v)
	if ok {
		p.x, p.y = x.of, y.of
		return true, !x.upper && !y.upper
	}
	if low, ok := p.c.lowHalf(v); ok {
		x, y, ok = p.c.halves(low)
		p.x, p.y = x.of, y.of
		return false, ok && !x.upper && !y.upper
	}
	in := p.c.defOp(v, clif.OpUextend)
	if in == nil {
		return false, false
	}
	if in = p.c.defOp(in.ArgA(), clif.OpImul); in == nil {
		return false, false
	}
	a, b := p.c.defOp(in.ArgA(), clif.OpIreduce), p.c.defOp(in.ArgB(), clif.OpIreduce)
	if a == nil || b == nil {
		return false, false
	}
	p.x, p.y = a.ArgA(), b.ArgA()
	return false, true
}

// multiples accounts for all terms but one, which must be multiples of h.
func (p *product) multiples(except int) bool {
	for i := range p.terms.n {
		if i == except {
			continue
		}
		s, ok := p.c.shifted(clif.OpIshl, p.terms.v[i])
		if !ok || !p.modulo(s) {
			return false
		}
	}
	return true
}

// modulo accounts for the addends of s, of which only the low half matters.
func (p *product) modulo(s clif.Value) bool {
	if !p.spend() {
		return false
	}
	a := p.c.addendsOf(s)
	for i := 0; i < a.n; i++ {
		part := p.partOf(a.v[i])
		if part != noPart {
			p.count[part]++
			continue
		}
		low, ok := p.c.lowHalf(a.v[i])
		if !ok {
			return false
		}
		more := p.c.addendsOf(low)
		if a.n+more.n > maxAddends {
			return false
		}
		a.n += copy(a.v[a.n:], more.v[:more.n])
	}
	return true
}

// wideBudget is how many sums the rules of wide products may look at in a function: each word of a product has five.
func wideBudget(f *clif.Func) int { return 1000 + len(f.Insts) }

// carryBits: ((x & y) | ((x | y) & ^(x + y))) >> 63 => x + y <u x, and ((^x & y) | (^(x ^ y) & (x - y))) >> 63 => x <u y.
func carryBits(c *folder, d *clif.InstData) (clif.Value, bool) {
	s := c.defOp(d.ArgA(), clif.OpBor)
	if s == nil || d.Type != clif.I64 {
		return none, false
	}
	for _, o := range [...][2]clif.Value{{s.ArgA(), s.ArgB()}, {s.ArgB(), s.ArgA()}} {
		a, b := c.defOp(o[0], clif.OpBand), c.defOp(o[1], clif.OpBand)
		if a == nil || b == nil {
			continue
		}
		x, y, ok := c.carryOf(a, b)
		if !ok {
			x, y, ok = c.borrowOf(a, b)
		}
		if ok && c.may(RuleCarryBits) {
			bit := c.make1(clif.InstData{Op: clif.OpIcmp, Type: clif.I64, Cond: uint8(clif.Ult), Args: [3]uint32{uint32(x), uint32(y)}}, clif.I32)
			return c.unary(clif.OpUextend, clif.I64, bit), false
		}
	}
	return none, false
}

// carryOf returns x + y and x for a = x & y and b = (x | y) & ^(x + y).
func (c *folder) carryOf(a, b *clif.InstData) (sum, x clif.Value, ok bool) {
	for _, o := range [...][2]clif.Value{{b.ArgA(), b.ArgB()}, {b.ArgB(), b.ArgA()}} {
		if sum, ok = c.complement(o[1]); ok && c.are(o[0], clif.OpBor, a.ArgA(), a.ArgB()) && c.are(sum, clif.OpIadd, a.ArgA(), a.ArgB()) {
			return sum, a.ArgA(), true
		}
	}
	return none, none, false
}

// borrowOf returns x and y for a = ^x & y and b = ^(x ^ y) & (x - y).
func (c *folder) borrowOf(a, b *clif.InstData) (x, y clif.Value, ok bool) {
	for _, o := range [...][2]clif.Value{{b.ArgA(), b.ArgB()}, {b.ArgB(), b.ArgA()}} {
		unlike, isNot := c.complement(o[0])
		diff := c.defOp(o[1], clif.OpIsub)
		if !isNot || diff == nil {
			continue
		}
		x, y = diff.ArgA(), diff.ArgB()
		notX, ok := c.complement(a.ArgA())
		other := a.ArgB()
		if !ok || notX != x {
			notX, ok = c.complement(a.ArgB())
			other = a.ArgA()
		}
		if ok && notX == x && other == y && c.are(unlike, clif.OpBxor, x, y) {
			return x, y, true
		}
	}
	return none, none, false
}

// complement returns x if v is ^x.
func (c *folder) complement(v clif.Value) (x clif.Value, ok bool) {
	in := c.defOp(v, clif.OpBxor)
	if in == nil {
		return none, false
	}
	k, ok := c.constant(in.ArgB())
	return in.ArgA(), ok && k == c.allOnes(in.Type)
}

// are reports whether v is op, commutative, of x and y.
func (c *folder) are(v clif.Value, op clif.Opcode, x, y clif.Value) bool {
	in := c.defOp(v, op)
	return in != nil && (in.ArgA() == x && in.ArgB() == y || in.ArgA() == y && in.ArgB() == x)
}

// ruleAdd is for sums, which may be words of a product if the function has products of halves.
func ruleAdd(c *folder, d *clif.InstData) (clif.Value, bool) {
	if c.wide > 0 && c.isSum(d) {
		if v, again := mulLow(c, d); v != none || again {
			return v, again
		}
		if d.Op == clif.OpIadd {
			if v, again := mulHigh(c, d); v != none || again {
				return v, again
			}
		}
	}
	return ruleRows(c, d)
}

// ruleMul notes products of halves.
func ruleMul(c *folder, d *clif.InstData) (clif.Value, bool) {
	if d.Type == clif.I64 && c.wide == 0 {
		if _, _, ok := c.halvesIn(d); ok {
			c.wide = wideBudget(c.f)
		}
	}
	return ruleRows(c, d)
}
