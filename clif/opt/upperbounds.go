package opt

import (
	"math"
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// upperBounds are bounds of integers, as numbers without sign, at one point of a function. A bound comes from the instruction
// that computes the value, or from what was decided on the way to the point; the latter is undone when a walk over the
// dominator tree leaves what it dominates.
type upperBounds struct {
	widths
	f *clif.Func
	// room, by value, is the largest number that can be added to it without wrapping; 0 if unknown.
	room []uint64
	log  []oldRoom
}

// oldRoom is an entry of the log that undo reads.
type oldRoom struct {
	v    clif.Value
	room uint64
}

func (b *upperBounds) reset(w widths, f *clif.Func) {
	b.widths, b.f, b.log = w, f, b.log[:0]
	b.room = stop.Zeroed(f.Stop, b.room, len(f.Values))
}

// undo forgets what was assumed since the log had that length.
func (b *upperBounds) undo(mark int) {
	for i := len(b.log) - 1; i >= mark; i-- {
		b.room[b.log[i].v] = b.log[i].room
	}
	b.log = b.log[:mark]
}

// ones is the largest number that v can be.
func (b *upperBounds) ones(v clif.Value) uint64 { return b.allOnes(b.f.TypeOf(v)) }

// positive is the largest number that v can be without being negative.
func (b *upperBounds) positive(v clif.Value) uint64 { return b.ones(v) >> 1 }

// constant returns the number that v is, if it is an integer constant.
func (b *upperBounds) constant(v clif.Value) (uint64, bool) {
	if i := b.f.DefInst(v); i != clif.NoInst && b.f.Insts[i].Op == clif.OpIconst {
		return b.f.Insts[i].Imm, true
	}
	return 0, false
}

// upper returns a bound of v.
func (b *upperBounds) upper(v clif.Value) uint64 { return b.ones(v) - b.room[v] }

// assume notes that v is at most upper here.
func (b *upperBounds) assume(v clif.Value, upper uint64) {
	ones := b.ones(v)
	if upper > ones || ones-upper <= b.room[v] {
		return
	}
	b.log = stop.Append(b.f.Stop, b.log, oldRoom{v, b.room[v]})
	b.room[v] = ones - upper
}

// guard is a comparison that holds: of x with y, or with 0 if y is NoValue. If x is NoValue, it is none.
type guard struct {
	cc   clif.IntCC
	x, y clif.Value
}

// guardOf is what the condition v says if it holds, or if it does not.
func (b *upperBounds) guardOf(v clif.Value, holds bool) guard {
	g := guard{clif.Ne, v, clif.NoValue}
	if i := b.f.DefInst(v); i != clif.NoInst && b.f.Insts[i].Op == clif.OpIcmp {
		d := &b.f.Insts[i]
		g = guard{d.IntCC(), d.ArgA(), d.ArgB()}
	}
	if !holds {
		g.cc = g.cc.Invert()
	}
	return g
}

// swapped is g with its sides exchanged, if it has two.
func (g guard) swapped() guard {
	if g.y == clif.NoValue {
		return g
	}
	return guard{g.cc.Swap(), g.y, g.x}
}

// right returns a bound of the right side of g, and whether the side is just that number.
func (b *upperBounds) right(g guard) (upper uint64, exact bool) {
	if g.y == clif.NoValue {
		return 0, true
	}
	if k, ok := b.constant(g.y); ok {
		return k, true
	}
	return b.upper(g.y), false
}

// assumeGuard notes what g says of both its sides.
func (b *upperBounds) assumeGuard(g guard) {
	for range 2 {
		if g.x != clif.NoValue {
			b.assume(g.x, b.left(g))
		}
		g = g.swapped()
	}
}

// under returns a bound that g gives v, all ones if none.
func (b *upperBounds) under(g guard, v clif.Value) uint64 {
	switch v {
	case g.x:
		return b.left(g)
	case g.y:
		return b.left(g.swapped())
	}
	return b.ones(v)
}

// left returns a bound that g gives its left side. What is less than a number that is not negative, or more than one that is
// at least -1, with signs, says something only if the left side is not negative; the latter implies it.
func (b *upperBounds) left(g guard) uint64 {
	x := b.upper(g.x)
	y, exact := b.right(g)
	positive := b.positive(g.x)
	switch g.cc {
	case clif.Eq:
		return min(x, y)
	case clif.Ne:
		if exact && y == x && y > 0 {
			return y - 1
		}
	case clif.Ult:
		if y > 0 { // else it does not hold
			return min(x, y-1)
		}
	case clif.Ule:
		return min(x, y)
	case clif.Slt:
		if x <= positive && y <= positive && y > 0 {
			return min(x, y-1)
		}
	case clif.Sle:
		if x <= positive && y <= positive {
			return min(x, y)
		}
	case clif.Sgt:
		if y <= positive || exact && y == b.ones(g.x) {
			return min(x, positive)
		}
	case clif.Sge:
		if y <= positive {
			return min(x, positive)
		}
	}
	return x
}

// compute notes a bound of the result of d.
func (b *upperBounds) compute(d *clif.InstData) {
	fn := boundOf[d.Op]
	if fn == nil {
		return
	}
	var x, y uint64
	if n := d.NumArgs(); n > 0 {
		x = b.upper(d.ArgA())
		if n > 1 {
			y = b.upper(d.ArgB())
		}
	}
	ones := b.ones(d.Result)
	b.room[d.Result] = ones - min(ones, fn(b, d, x, y))
}

// boundFunc returns a bound of the result of d from bounds x and y of its operands A and B. A number that is too large for
// the type says nothing.
type boundFunc func(b *upperBounds, d *clif.InstData, x, y uint64) uint64

// unbounded is no bound of any type.
const unbounded = math.MaxUint64

// boundOf is by opcode. Results of opcodes without an entry have no bound.
var boundOf = [clif.NumOpcodes]boundFunc{
	clif.OpIconst:     func(_ *upperBounds, d *clif.InstData, _, _ uint64) uint64 { return d.Imm },
	clif.OpIadd:       func(_ *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return addUp(x, y) },
	clif.OpImul:       func(_ *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return mulUp(x, y) },
	clif.OpUmulhi:     func(b *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return b.mulHigh(x, y) },
	clif.OpUdiv:       boundUdiv,
	clif.OpSdiv:       ofPositive(boundUdiv),
	clif.OpUrem:       func(_ *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return min(x, max(y, 1)-1) },
	clif.OpSrem:       ofPositive(boundFirst),
	clif.OpBand:       func(_ *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return min(x, y) },
	clif.OpBor:        boundBits,
	clif.OpBxor:       boundBits,
	clif.OpIshl:       boundIshl,
	clif.OpUshr:       boundUshr,
	clif.OpSshr:       ofPositive(boundUshr),
	clif.OpClz:        boundCount,
	clif.OpCtz:        boundCount,
	clif.OpPopcnt:     boundCount,
	clif.OpIcmp:       boundTruth,
	clif.OpFcmp:       boundTruth,
	clif.OpVanyTrue:   boundTruth,
	clif.OpVallTrue:   boundTruth,
	clif.OpRefIsNull:  boundTruth,
	clif.OpSext8:      boundSext(8),
	clif.OpSext16:     boundSext(16),
	clif.OpSext32:     boundSext(32),
	clif.OpSextend:    boundSext(32),
	clif.OpUextend:    boundFirst,
	clif.OpIreduce:    boundFirst,
	clif.OpVextract:   boundLane,
	clif.OpSelect:     func(b *upperBounds, d *clif.InstData, _, y uint64) uint64 { return max(y, b.upper(d.ArgC())) },
	clif.OpLoad:       boundLoad,
	clif.OpMemorySize: func(b *upperBounds, d *clif.InstData, _, _ uint64) uint64 { return b.f.Mod.Memories[d.Aux].MaxPages() },
	clif.OpBound:      func(_ *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return min(x, max(y, 1)-1) },
}

// addUp and mulUp are sum and product, unbounded if they do not fit.
func addUp(x, y uint64) uint64 {
	if sum, carry := bits.Add64(x, y, 0); carry == 0 {
		return sum
	}
	return unbounded
}

func mulUp(x, y uint64) uint64 {
	if hi, lo := bits.Mul64(x, y); hi == 0 {
		return lo
	}
	return unbounded
}

// ofPositive is fn for operations on numbers with signs: of operands that are not negative they do the same.
func ofPositive(fn boundFunc) boundFunc {
	return func(b *upperBounds, d *clif.InstData, x, y uint64) uint64 {
		if positive := b.positive(d.ArgA()); x > positive || d.Op == clif.OpSdiv && y > positive {
			return unbounded
		}
		return fn(b, d, x, y)
	}
}

// boundFirst: the result is at most the first operand.
func boundFirst(_ *upperBounds, _ *clif.InstData, x, _ uint64) uint64 { return x }

func boundUdiv(b *upperBounds, d *clif.InstData, x, _ uint64) uint64 {
	if k, ok := b.constant(d.ArgB()); ok && k > 0 {
		return x / k
	}
	return x
}

// boundBits: the result has no higher bits than the operands.
func boundBits(_ *upperBounds, _ *clif.InstData, x, y uint64) uint64 { return 1<<bits.Len64(x|y) - 1 }

func boundIshl(b *upperBounds, d *clif.InstData, x, _ uint64) uint64 {
	if k, ok := b.constant(d.ArgB()); ok {
		return mulUp(x, 1<<(k%uint64(b.bits(d.Type))))
	}
	return unbounded
}

func boundUshr(b *upperBounds, d *clif.InstData, x, _ uint64) uint64 {
	if k, ok := b.constant(d.ArgB()); ok {
		return x >> (k % uint64(b.bits(d.Type)))
	}
	return x
}

func boundCount(b *upperBounds, d *clif.InstData, _, _ uint64) uint64 { return uint64(b.bits(d.Type)) }

func boundTruth(*upperBounds, *clif.InstData, uint64, uint64) uint64 { return 1 }

// boundSext: extending the sign of n bits changes nothing where it is 0.
func boundSext(n uint) boundFunc {
	return func(b *upperBounds, _ *clif.InstData, x, _ uint64) uint64 {
		if x>>(b.scaled(n)-1) == 0 {
			return x
		}
		return unbounded
	}
}

func boundLane(b *upperBounds, d *clif.InstData, _, _ uint64) uint64 {
	if d.Type.IsFloatShape() {
		return unbounded
	}
	return 1<<b.scaled(uint(d.Type.LaneBits())) - 1
}

func boundLoad(b *upperBounds, d *clif.InstData, _, _ uint64) uint64 {
	switch d.Access() {
	case clif.U8, clif.U16, clif.U32:
		return 1<<b.scaled(8*uint(d.Access().Bytes(d.Type))) - 1
	}
	return unbounded
}
