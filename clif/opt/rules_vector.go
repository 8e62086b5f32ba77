package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

// vectorRules enters the rules of operations on vectors into r.
func vectorRules(r *[clif.NumOpcodes]rule) {
	for op := range clif.NumOpcodes {
		if arith.IsVector(op) && op != clif.OpVconst {
			r[op] = ruleVector
		}
	}
	r[clif.OpVnot] = ruleVnot
	r[clif.OpVand] = ruleVand
	r[clif.OpVxor] = ruleVxor
	r[clif.OpVandnot] = ruleVandnot
	r[clif.OpVadd] = ruleVadd
	r[clif.OpVsub] = ruleVsub
	r[clif.OpVmul] = ruleVmul
	for _, op := range extended {
		if op != 0 {
			r[op] = ruleVextmul
		}
	}
	r[clif.OpVmaxS] = ruleVmaxS
	r[clif.OpVicmp] = ruleVicmp
	r[clif.OpVbitselect] = ruleChoice
	r[clif.OpVselectTop] = ruleChoice
	r[clif.OpVanyTrue] = ruleTrue
	r[clif.OpVallTrue] = ruleTrue
	r[clif.OpVbitmask] = ruleVbitmask
	for _, op := range [...]clif.Opcode{clif.OpVshl, clif.OpVshrS, clif.OpVshrU} {
		r[op] = ruleVshift
	}
	laneRules(r)
}

// element is a vector of equal lanes.
type element uint8

const (
	noElement element = iota
	zeros
	ones
	laneOne // 1
	laneMax // the largest number with sign
	laneMin // the least one
)

// sameResult is the result of an operation with equal operands.
type sameResult uint8

const (
	sameUnknown sameResult = iota
	sameFirst
	sameZero
)

// identity holds the algebraic identities of an operation of two operands.
type identity struct {
	neutral       element    // x op it => x
	absorbing     element    // x op it => it
	zeroing       element    // x op it => 0
	leftAbsorbing element    // it op x => it, where the operands cannot be swapped
	same          sameResult // x op x
}

// identities are by opcode.
var identities = [clif.NumOpcodes]identity{
	clif.OpVand:         {neutral: ones, absorbing: zeros, same: sameFirst},
	clif.OpVor:          {neutral: zeros, absorbing: ones, same: sameFirst},
	clif.OpVxor:         {neutral: zeros, same: sameZero},
	clif.OpVandnot:      {neutral: zeros, zeroing: ones, leftAbsorbing: zeros, same: sameZero},
	clif.OpVadd:         {neutral: zeros},
	clif.OpVsub:         {neutral: zeros, same: sameZero},
	clif.OpVaddSatS:     {neutral: zeros},
	clif.OpVaddSatU:     {neutral: zeros, absorbing: ones},
	clif.OpVsubSatS:     {neutral: zeros, same: sameZero},
	clif.OpVsubSatU:     {neutral: zeros, zeroing: ones, leftAbsorbing: zeros, same: sameZero},
	clif.OpVmul:         {neutral: laneOne, absorbing: zeros},
	clif.OpVminS:        {neutral: laneMax, absorbing: laneMin, same: sameFirst},
	clif.OpVminU:        {neutral: ones, absorbing: zeros, same: sameFirst},
	clif.OpVmaxS:        {neutral: laneMin, absorbing: laneMax, same: sameFirst},
	clif.OpVmaxU:        {neutral: zeros, absorbing: ones, same: sameFirst},
	clif.OpVavgrU:       {same: sameFirst},
	clif.OpVq15mulr:     {absorbing: zeros},
	clif.OpVq15mulrSat:  {absorbing: zeros},
	clif.OpVdot:         {absorbing: zeros},
	clif.OpVdotUS:       {absorbing: zeros, leftAbsorbing: zeros},
	clif.OpVextmulLowS:  {absorbing: zeros},
	clif.OpVextmulLowU:  {absorbing: zeros},
	clif.OpVextmulHighS: {absorbing: zeros},
	clif.OpVextmulHighU: {absorbing: zeros},
	clif.OpVshl:         {leftAbsorbing: zeros},
	clif.OpVshrS:        {leftAbsorbing: zeros},
	clif.OpVshrU:        {leftAbsorbing: zeros},
	clif.OpVswizzle:     {leftAbsorbing: zeros},
	clif.OpVswizzleMod:  {leftAbsorbing: zeros},
}

// associative are the operations that RuleVassociate is for.
var associative = [clif.NumOpcodes]bool{clif.OpVand: true, clif.OpVor: true, clif.OpVxor: true, clif.OpVadd: true, clif.OpVmul: true}

// pair is what an operation does with the result of another of the same shape.
type pair uint8

const (
	pairCancels pair = iota + 1 // it gives what the other one was given
	pairAgain                   // it changes nothing more
	pairHides                   // it gives the same without the other
)

// pairs are those that RuleVpair is for.
var pairs = [...]struct {
	outer, inner clif.Opcode
	pair         pair
}{
	{clif.OpVnot, clif.OpVnot, pairCancels},
	{clif.OpVneg, clif.OpVneg, pairCancels},
	{clif.OpVfneg, clif.OpVfneg, pairCancels},
	{clif.OpVabs, clif.OpVabs, pairAgain},
	{clif.OpVfabs, clif.OpVfabs, pairAgain},
	{clif.OpVabs, clif.OpVneg, pairHides},
	{clif.OpVfabs, clif.OpVfneg, pairHides},
}

// roundsNaNs are the operations on floats whose NaNs depend on the machine, so that they are not folded.
var roundsNaNs = [clif.NumOpcodes]bool{clif.OpVfadd: true, clif.OpVfsub: true, clif.OpVfmul: true, clif.OpVfdiv: true,
	clif.OpVfmin: true, clif.OpVfmax: true, clif.OpVfma: true, clif.OpVfnma: true, clif.OpVfsqrt: true, clif.OpVfceil: true,
	clif.OpVffloor: true, clif.OpVftrunc: true, clif.OpVfnearest: true, clif.OpVpromote: true, clif.OpVdemote: true}

// element returns the vector e for the shape t, or V128 for those that have no lanes.
func (c *folder) element(e element, t clif.Type) arith.V128 {
	if t == clif.V128 {
		t = clif.I64x2
	}
	top := uint64(1) << (uint(t.LaneBits())>>c.shrink - 1)
	return arith.Splat(t, c.shrink, [...]uint64{zeros: 0, ones: ^uint64(0), laneOne: 1, laneMax: top - 1, laneMin: top}[e])
}

// is reports whether v is the constant e of the shape t.
func (c *folder) is(v clif.Value, e element, t clif.Type) bool {
	k, ok := c.vector(v)
	return ok && e != noElement && k == c.element(e, t)
}

// vector returns the bits of v if it is a constant vector.
func (c *folder) vector(v clif.Value) (arith.V128, bool) {
	if d := c.defOp(v, clif.OpVconst); d != nil {
		low, high := d.V128()
		return arith.V128{low, high}, true
	}
	return arith.V128{}, false
}

// constantBits returns the bits of v if it is a constant of any type.
func (c *folder) constantBits(v clif.Value) (arith.V128, bool) {
	switch d := c.def(v); {
	case d == nil:
	case d.Op == clif.OpVconst:
		return c.vector(v)
	case d.Op == clif.OpIconst || d.Op == clif.OpFconst:
		return arith.V128{d.Imm}, true
	}
	return arith.V128{}, false
}

func (c *folder) vconst(x arith.V128) clif.Value {
	d := clif.InstData{Op: clif.OpVconst, Type: clif.V128}
	d.SetV128(x[0], x[1])
	return c.make1(d, clif.V128)
}

// become makes d the given instruction with the same result.
func become(d *clif.InstData, to clif.InstData) (clif.Value, bool) {
	to.Result, to.NumResults = d.Result, d.NumResults
	*d = to
	return none, true
}

// ruleVector folds constants and applies the identities of the opcode.
func ruleVector(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v := c.foldVector(d); v != none {
		return v, false
	}
	if d.Op.Info().Format == clif.FormatUnary {
		return vectorPair(c, d)
	}
	_, left := c.vector(d.ArgA())
	k, right := c.vector(d.ArgB())
	if left && !right && d.Op.Info().Commutative && !d.Type.IsFloatShape() && c.may(RuleVconstRight) {
		d.Args[0], d.Args[1] = d.Args[1], d.Args[0]
		return none, true
	}
	switch id := &identities[d.Op]; {
	case right && c.is(d.ArgB(), id.neutral, d.Type) && c.may(RuleVneutral):
		return d.ArgA(), false
	case right && c.is(d.ArgB(), id.absorbing, d.Type) && c.may(RuleVabsorbing):
		return d.ArgB(), false
	case left && c.is(d.ArgA(), id.leftAbsorbing, d.Type) && c.may(RuleVabsorbing):
		return d.ArgA(), false
	case right && c.is(d.ArgB(), id.zeroing, d.Type) && c.may(RuleVzeroing):
		return c.vconst(arith.V128{}), false
	case d.Args[0] == d.Args[1] && id.same == sameFirst && c.may(RuleVsameFirst):
		return d.ArgA(), false
	case d.Args[0] == d.Args[1] && id.same == sameZero && c.may(RuleVsameZero):
		return c.vconst(arith.V128{}), false
	case right && associative[d.Op]:
		return vectorAssociate(c, d, k)
	}
	return none, false
}

// foldVector returns the result of d if all operands are constants.
func (c *folder) foldVector(d *clif.InstData) clif.Value {
	var args [3]arith.V128
	for i, v := range d.Operands() {
		var ok bool
		if args[i], ok = c.constantBits(clif.Value(v)); !ok {
			return none
		}
	}
	r := arith.Vector(d, c.shrink, args[0], args[1], args[2])
	if roundsNaNs[d.Op] && arith.HasNaN(d.Type, r) || !c.may(RuleFoldVector) {
		return none
	}
	switch t := d.Op.ResultType(d.Type); {
	case t == clif.V128:
		return c.vconst(r)
	case t.IsFloat():
		return c.fconst(t, r[0])
	default:
		return c.iconst(t, r[0])
	}
}

// vectorPair: an operation of the result of another one.
func vectorPair(c *folder, d *clif.InstData) (clif.Value, bool) {
	in := c.def(d.ArgA())
	if in == nil || in.Type != d.Type {
		return none, false
	}
	for i := range pairs {
		p := &pairs[i]
		if p.outer != d.Op || p.inner != in.Op || !c.may(RuleVpair) {
			continue
		}
		switch p.pair {
		case pairCancels:
			return in.ArgA(), false
		case pairAgain:
			return d.ArgA(), false
		}
		d.Args[0] = in.Args[0]
		return none, true
	}
	return none, false
}

// vectorAssociate: (x op k) op m => x op (k op m).
func vectorAssociate(c *folder, d *clif.InstData, m arith.V128) (clif.Value, bool) {
	in := c.defOp(d.ArgA(), d.Op)
	if in == nil || in.Type != d.Type {
		return none, false
	}
	k, ok := c.vector(in.ArgB())
	if !ok || !c.may(RuleVassociate) {
		return none, false
	}
	a := in.Args[0]
	d.Args[1] = uint32(c.vconst(arith.Vector(d, c.shrink, k, m, arith.V128{})))
	d.Args[0] = a
	return none, true
}

// ruleVnot: the inverse of a comparison is one.
func ruleVnot(c *folder, d *clif.InstData) (clif.Value, bool) {
	if in := c.def(d.ArgA()); in != nil {
		inverse := *in
		switch {
		case in.Op == clif.OpVicmp && c.may(RuleVnotCompare):
			inverse.Cond = uint8(in.IntCC().Invert())
			return become(d, inverse)
		case in.Op == clif.OpVfcmp && (in.FloatCC() == clif.FEq || in.FloatCC() == clif.FNe) && c.may(RuleVnotCompare):
			inverse.Cond = uint8(clif.FEq + clif.FNe - in.FloatCC())
			return become(d, inverse)
		}
	}
	return ruleVector(c, d)
}

// ruleVand: x & ^y and ^y & x => x &^ y.
func ruleVand(c *folder, d *clif.InstData) (clif.Value, bool) {
	for _, v := range [...][2]uint32{{d.Args[0], d.Args[1]}, {d.Args[1], d.Args[0]}} {
		if in := c.defOp(clif.Value(v[1]), clif.OpVnot); in != nil && c.may(RuleVandNot) {
			return become(d, clif.InstData{Op: clif.OpVandnot, Type: clif.V128, Args: [3]uint32{v[0], in.Args[0]}})
		}
	}
	return ruleVector(c, d)
}

func ruleVxor(c *folder, d *clif.InstData) (clif.Value, bool) {
	if c.is(d.ArgB(), ones, clif.V128) && c.may(RuleVxorOnes) {
		return become(d, clif.InstData{Op: clif.OpVnot, Type: clif.V128, Args: [3]uint32{d.Args[0]}})
	}
	return ruleVector(c, d)
}

// ruleVandnot: what is an operation without a second operand inverted.
func ruleVandnot(c *folder, d *clif.InstData) (clif.Value, bool) {
	if c.is(d.ArgA(), ones, clif.V128) && c.may(RuleVandnotOnes) {
		return become(d, clif.InstData{Op: clif.OpVnot, Type: clif.V128, Args: [3]uint32{d.Args[1]}})
	}
	if in := c.defOp(d.ArgB(), clif.OpVnot); in != nil && c.may(RuleVandnotNot) {
		return become(d, clif.InstData{Op: clif.OpVand, Type: clif.V128, Args: [3]uint32{d.Args[0], in.Args[0]}})
	}
	if v, again := ruleVector(c, d); v != none || again {
		return v, again
	}
	if k, ok := c.vector(d.ArgB()); ok && c.may(RuleVandnotConst) {
		not := c.element(ones, clif.V128)
		return become(d, clif.InstData{Op: clif.OpVand, Type: clif.V128, Args: [3]uint32{d.Args[0], uint32(c.vconst(arith.V128{not[0] &^ k[0], not[1] &^ k[1]}))}})
	}
	return none, false
}

// negated returns x if v is -x, lanes of the shape t.
func (c *folder) negated(v clif.Value, t clif.Type) (x clif.Value, ok bool) {
	if in := c.defOp(v, clif.OpVneg); in != nil && in.Type == t {
		return in.ArgA(), true
	}
	return none, false
}

// ruleVadd: x + -y, -y + x => x - y.
func ruleVadd(c *folder, d *clif.InstData) (clif.Value, bool) {
	for _, v := range [...][2]uint32{{d.Args[0], d.Args[1]}, {d.Args[1], d.Args[0]}} {
		if y, ok := c.negated(clif.Value(v[1]), d.Type); ok && c.may(RuleVaddNeg) {
			return become(d, clif.InstData{Op: clif.OpVsub, Type: d.Type, Args: [3]uint32{v[0], uint32(y)}})
		}
	}
	return ruleVector(c, d)
}

// ruleVsub: x - -y => x + y, 0 - x => -x, and differences that are saturated.
func ruleVsub(c *folder, d *clif.InstData) (clif.Value, bool) {
	if y, ok := c.negated(d.ArgB(), d.Type); ok && c.may(RuleVsubNeg) {
		return become(d, clif.InstData{Op: clif.OpVadd, Type: d.Type, Args: [3]uint32{d.Args[0], uint32(y)}})
	}
	if c.is(d.ArgA(), zeros, d.Type) && d.Args[0] != d.Args[1] && c.may(RuleVsubFromZero) {
		return become(d, clif.InstData{Op: clif.OpVneg, Type: d.Type, Args: [3]uint32{d.Args[1]}})
	}
	if x, y := subSaturated(c, d); x != none && c.may(RuleVsubExtreme) {
		return become(d, clif.InstData{Op: clif.OpVsubSatU, Type: d.Type, Args: [3]uint32{uint32(x), uint32(y)}})
	}
	return ruleVector(c, d)
}

// subSaturated returns x and y if the difference d is max(x, y) - y or x - min(x, y) of lanes without signs, which is 0 where x is the
// smaller one. Else it returns none.
func subSaturated(c *folder, d *clif.InstData) (x, y clif.Value) {
	if !clif.OpVsubSatU.Info().Types.Has(d.Type) {
		return none, none
	}
	if in := c.defOp(d.ArgA(), clif.OpVmaxU); in != nil && in.Type == d.Type {
		if x := other(in, d.ArgB()); x != none {
			return x, d.ArgB()
		}
	}
	if in := c.defOp(d.ArgB(), clif.OpVminU); in != nil && in.Type == d.Type {
		if y := other(in, d.ArgA()); y != none {
			return d.ArgA(), y
		}
	}
	return none, none
}

// other returns the operand of d beside v, or none if v is no operand of d.
func other(d *clif.InstData, v clif.Value) clif.Value {
	switch v {
	case d.ArgA():
		return d.ArgB()
	case d.ArgB():
		return d.ArgA()
	}
	return none
}

// extended are the multiplications of what the extensions give.
var extended = [clif.NumOpcodes]clif.Opcode{
	clif.OpVextendLowS: clif.OpVextmulLowS, clif.OpVextendLowU: clif.OpVextmulLowU,
	clif.OpVextendHighS: clif.OpVextmulHighS, clif.OpVextendHighU: clif.OpVextmulHighU,
}

// ruleVextmul: products of bytes are those of what is extended, which other instructions may use, too. Machines that multiply and extend at
// once find it together.
func ruleVextmul(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v, again := ruleVector(c, d); v != none || again || d.Type != clif.I16x8 {
		return v, again
	}
	for _, v := range [...]clif.Value{d.ArgA(), d.ArgB()} {
		if _, constant := c.vector(v); constant {
			return none, false
		}
	}
	if !c.may(RuleVextmulBytes) {
		return none, false
	}
	extension := func(x uint32) uint32 {
		op := clif.OpVextendLowS + d.Op - clif.OpVextmulLowS
		return uint32(c.make1(clif.InstData{Op: op, Type: d.Type, Args: [3]uint32{x}}, clif.V128))
	}
	return become(d, clif.InstData{Op: clif.OpVmul, Type: d.Type, Args: [3]uint32{extension(d.Args[0]), extension(d.Args[1])}})
}

// ruleVmul: negation, shifts, and widening multiplication.
func ruleVmul(c *folder, d *clif.InstData) (clif.Value, bool) {
	x, y := c.def(d.ArgA()), c.def(d.ArgB())
	if x != nil && y != nil && x.Op == y.Op && x.Type == d.Type && y.Type == d.Type && extended[x.Op] != 0 && d.Type != clif.I16x8 && c.may(RuleVmulExtends) {
		return become(d, clif.InstData{Op: extended[x.Op], Type: d.Type, Args: [3]uint32{x.Args[0], y.Args[0]}})
	}
	if v, again := ruleVector(c, d); v != none || again {
		return v, again
	}
	k, ok := c.vector(d.ArgB())
	if !ok {
		return none, false
	}
	lane := arith.Lane(d.Type, c.shrink, k, 0)
	switch {
	case k != arith.Splat(d.Type, c.shrink, lane):
	case k == c.element(ones, d.Type) && c.may(RuleVmulMinusOne):
		return become(d, clif.InstData{Op: clif.OpVneg, Type: d.Type, Args: [3]uint32{d.Args[0]}})
	case isPow2(lane) && c.may(RuleVmulPow2):
		return become(d, clif.InstData{Op: clif.OpVshl, Type: d.Type, Args: [3]uint32{d.Args[0], uint32(c.iconst(clif.I32, uint64(bits.TrailingZeros64(lane))))}})
	}
	return none, false
}

// ruleVmaxS: max(x, -x) => |x|.
func ruleVmaxS(c *folder, d *clif.InstData) (clif.Value, bool) {
	for _, v := range [...][2]uint32{{d.Args[0], d.Args[1]}, {d.Args[1], d.Args[0]}} {
		if y, ok := c.negated(clif.Value(v[1]), d.Type); ok && uint32(y) == v[0] && c.may(RuleVmaxNeg) {
			return become(d, clif.InstData{Op: clif.OpVabs, Type: d.Type, Args: [3]uint32{v[0]}})
		}
	}
	return ruleVector(c, d)
}

// ruleVshift reduces the amount, and drops masks of it that the shift implies.
func ruleVshift(c *folder, d *clif.InstData) (clif.Value, bool) {
	n := uint64(d.Type.LaneBits()) >> c.shrink
	if y, ok := c.constant(d.ArgB()); ok {
		switch {
		case y%n == 0 && c.may(RuleVshiftZero):
			return d.ArgA(), false
		case y >= n && c.may(RuleVshiftFar):
			d.Args[1] = uint32(c.iconst(clif.I32, y%n))
			return none, true
		}
	}
	if m := c.defOp(d.ArgB(), clif.OpBand); m != nil {
		if k, ok := c.constant(m.ArgB()); ok && k&(n-1) == n-1 && c.may(RuleVshiftMask) {
			d.Args[1] = m.Args[0]
			return none, true
		}
	}
	return ruleVector(c, d)
}

// ruleVicmp: comparisons of equals and with zero.
func ruleVicmp(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v := c.foldVector(d); v != none {
		return v, false
	}
	_, left := c.vector(d.ArgA())
	zero := c.is(d.ArgB(), zeros, d.Type)
	switch cc := d.IntCC(); {
	case d.Args[0] == d.Args[1] && c.may(RuleVicmpSame):
		return c.allLanes(arith.Icmp(cc, 0, 0)), false
	case left && c.may(RuleVicmpConstRight):
		d.Args[0], d.Args[1], d.Cond = d.Args[1], d.Args[0], uint8(cc.Swap())
		return none, true
	case zero && (cc == clif.Ult || cc == clif.Uge) && c.may(RuleVicmpNever):
		return c.allLanes(cc == clif.Uge), false
	case zero && (cc == clif.Ugt || cc == clif.Ule) && c.may(RuleVicmpZero):
		d.Cond = uint8(clif.Ne)
		if cc == clif.Ule {
			d.Cond = uint8(clif.Eq)
		}
		return none, true
	}
	return none, false
}

// allLanes returns what a comparison gives that holds for all lanes, or for none.
func (c *folder) allLanes(holds bool) clif.Value {
	if holds {
		return c.vconst(c.element(ones, clif.V128))
	}
	return c.vconst(arith.V128{})
}

// ruleChoice: vbitselect and vselect_top by known bits, by an inverted mask, and those that are minima and maxima.
func ruleChoice(c *folder, d *clif.InstData) (clif.Value, bool) {
	if v := c.foldVector(d); v != none {
		return v, false
	}
	if d.Args[0] == d.Args[1] && c.may(RuleVchoiceSame) {
		return d.ArgA(), false
	}
	if k, ok := c.vector(d.ArgC()); ok && d.Op == clif.OpVselectTop && c.may(RuleVchoiceTop) {
		// The top bit of each lane becomes all its bits.
		compare := clif.InstData{Op: clif.OpVicmp, Type: d.Type, Cond: uint8(clif.Slt)}
		d.Args[2] = uint32(c.vconst(arith.Vector(&compare, c.shrink, k, arith.V128{}, arith.V128{})))
		d.Op, d.Type = clif.OpVbitselect, clif.V128
		return none, true
	}
	if in := c.def(d.ArgC()); in != nil {
		switch {
		case in.Op == clif.OpVnot && c.may(RuleVchoiceNot):
			d.Args[0], d.Args[1], d.Args[2] = d.Args[1], d.Args[0], in.Args[0]
			return none, true
		case in.Op == clif.OpVicmp || in.Op == clif.OpVfcmp:
			if chooseExtreme(c, d, in) || chooseDistance(c, d, in) {
				return none, true
			}
		}
	}
	if d.Op == clif.OpVbitselect {
		return ruleVbitselect(c, d)
	}
	return none, false
}

func ruleVbitselect(c *folder, d *clif.InstData) (clif.Value, bool) {
	switch {
	case c.is(d.ArgC(), ones, clif.V128) && c.may(RuleVchoiceConst):
		return d.ArgA(), false
	case c.is(d.ArgC(), zeros, clif.V128) && c.may(RuleVchoiceConst):
		return d.ArgB(), false
	case c.is(d.ArgB(), zeros, clif.V128) && c.may(RuleVchoiceZero):
		return become(d, clif.InstData{Op: clif.OpVand, Type: clif.V128, Args: [3]uint32{d.Args[0], d.Args[2]}})
	case c.is(d.ArgA(), zeros, clif.V128) && c.may(RuleVchoiceZero):
		return become(d, clif.InstData{Op: clif.OpVandnot, Type: clif.V128, Args: [3]uint32{d.Args[1], d.Args[2]}})
	case c.is(d.ArgA(), ones, clif.V128) && c.may(RuleVchoiceOnes):
		return become(d, clif.InstData{Op: clif.OpVor, Type: clif.V128, Args: [3]uint32{d.Args[1], d.Args[2]}})
	}
	return none, false
}

// extremes are minima and maxima by the condition that chooses the first operand: the opcode for operands in the order of the
// comparison.
var extremes = [clif.NumIntCCs]clif.Opcode{
	clif.Slt: clif.OpVminS, clif.Sle: clif.OpVminS, clif.Sgt: clif.OpVmaxS, clif.Sge: clif.OpVmaxS,
	clif.Ult: clif.OpVminU, clif.Ule: clif.OpVminU, clif.Ugt: clif.OpVmaxU, clif.Uge: clif.OpVmaxU,
}

// chooseExtreme makes d, which chooses between what cmp compares, a minimum or maximum. It reports whether there is one.
func chooseExtreme(c *folder, d, cmp *clif.InstData) bool {
	straight := d.Args[0] == cmp.Args[0] && d.Args[1] == cmp.Args[1]
	if !straight && (d.Args[0] != cmp.Args[1] || d.Args[1] != cmp.Args[0]) || d.Op == clif.OpVselectTop && d.Type != cmp.Type {
		return false
	}
	to := clif.InstData{Type: cmp.Type, Args: [3]uint32{cmp.Args[0], cmp.Args[1]}}
	switch {
	case cmp.Op == clif.OpVicmp:
		cc := cmp.IntCC()
		if !straight {
			cc = cc.Invert()
		}
		to.Op = extremes[cc]
	case cmp.FloatCC() == clif.FLt && straight: // x < y ? x : y
		to.Op, to.Args[0], to.Args[1] = clif.OpVfpmin, cmp.Args[1], cmp.Args[0]
	case cmp.FloatCC() == clif.FLt: // x < y ? y : x
		to.Op = clif.OpVfpmax
	case cmp.FloatCC() == clif.FGt && straight: // x > y ? x : y
		to.Op, to.Args[0], to.Args[1] = clif.OpVfpmax, cmp.Args[1], cmp.Args[0]
	case cmp.FloatCC() == clif.FGt: // x > y ? y : x
		to.Op = clif.OpVfpmin
	}
	if to.Op == clif.OpNop || !to.Op.Info().Types.Has(to.Type) || !c.may(RuleVchoiceExtreme) {
		return false
	}
	become(d, to)
	return true
}

// chooseDistance makes d, which chooses between the two differences of what cmp compares, the difference of the maximum and the minimum,
// or of the minimum and the maximum. It reports whether d chooses so.
func chooseDistance(c *folder, d, cmp *clif.InstData) bool {
	x, y := c.defOp(d.ArgA(), clif.OpVsub), c.defOp(d.ArgB(), clif.OpVsub)
	if x == nil || y == nil || x.Type != cmp.Type || y.Type != cmp.Type || x.Args[0] != y.Args[1] || x.Args[1] != y.Args[0] || d.Op == clif.OpVselectTop && d.Type != cmp.Type {
		return false
	}
	// Where the comparison holds, first chooses cmp.A and second cmp.B; elsewhere they choose the other one.
	first, second := extremes[cmp.IntCC()], extremes[cmp.IntCC().Invert()]
	switch {
	case x.Args[0] == cmp.Args[0] && x.Args[1] == cmp.Args[1]:
	case x.Args[0] == cmp.Args[1] && x.Args[1] == cmp.Args[0]:
		first, second = second, first
	default:
		return false
	}
	if first == clif.OpNop || !first.Info().Types.Has(cmp.Type) || !c.may(RuleVchoiceDistance) {
		return false
	}
	t, a, b := cmp.Type, cmp.Args[0], cmp.Args[1]
	choose := func(op clif.Opcode) uint32 {
		return uint32(c.make1(clif.InstData{Op: op, Type: t, Args: [3]uint32{a, b}}, clif.V128))
	}
	become(d, clif.InstData{Op: clif.OpVsub, Type: t, Args: [3]uint32{choose(first), choose(second)}})
	return true
}

// ruleTrue: vany_true and vall_true of comparisons with zero.
func ruleTrue(c *folder, d *clif.InstData) (clif.Value, bool) {
	in := c.defOp(d.ArgA(), clif.OpVicmp)
	if in == nil || !c.is(in.ArgB(), zeros, in.Type) || d.Op == clif.OpVallTrue && d.Type != in.Type {
		return ruleVector(c, d)
	}
	switch in.IntCC() {
	case clif.Ne:
		if c.may(RuleVtrueNonzero) {
			d.Args[0] = in.Args[0]
			return none, true
		}
	case clif.Eq:
		// No lane is zero if all are true, and all are if none is.
		other := clif.InstData{Op: clif.OpVallTrue, Type: in.Type, Args: [3]uint32{in.Args[0]}}
		if d.Op == clif.OpVallTrue {
			other = clif.InstData{Op: clif.OpVanyTrue, Type: clif.V128, Args: [3]uint32{in.Args[0]}}
		}
		if c.may(RuleVtrueZero) {
			x := c.make1(other, clif.I32)
			return become(d, clif.InstData{Op: clif.OpIcmp, Type: clif.I32, Cond: uint8(clif.Eq), Args: [3]uint32{uint32(x), uint32(c.iconst(clif.I32, 0))}})
		}
	}
	return none, false
}

// ruleVbitmask: the top bits of x < 0 are those of x.
func ruleVbitmask(c *folder, d *clif.InstData) (clif.Value, bool) {
	in := c.defOp(d.ArgA(), clif.OpVicmp)
	if in != nil && in.Type == d.Type && in.IntCC() == clif.Slt && c.is(in.ArgB(), zeros, in.Type) && c.may(RuleVbitmaskTop) {
		d.Args[0] = in.Args[0]
		return none, true
	}
	return ruleVector(c, d)
}
