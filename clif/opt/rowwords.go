package opt

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// This file has the words of rows.

type (
	// constWord is a property of a number, or lane, of type t.
	constWord func(w widths, t clif.Type, k uint64) bool
	// valueWord is a property of another value.
	valueWord func(c *folder, m *match, v clif.Value) bool
	// condition is a word behind "when".
	condition func(c *folder, m *match) bool
	// constMaker computes a constant; bits that its type does not have are cut off.
	constMaker func(c *folder, m *match, k uint64) uint64
	// valueMaker makes a value of another.
	valueMaker func(c *folder, m *match, v clif.Value) clif.Value
	// maker does what a rule does whose right is no row. It returns what a rule returns.
	maker func(c *folder, d *clif.InstData, m *match) (clif.Value, bool)
)

func (m *match) x() clif.Value { return m.v[0] }
func (m *match) y() clif.Value { return m.v[1] }
func (m *match) z() clif.Value { return m.v[2] }

var constWords = map[string]constWord{
	"zero": func(_ widths, _ clif.Type, k uint64) bool { return k == 0 },
	"ones": func(w widths, t clif.Type, k uint64) bool { return k == w.allOnes(t) },
	// least and greatest: of numbers with sign.
	"least":    func(w widths, t clif.Type, k uint64) bool { return k == 1<<(w.bits(t)-1) },
	"greatest": func(w widths, t clif.Type, k uint64) bool { return k == 1<<(w.bits(t)-1)-1 },
	"pow2":     func(_ widths, _ clif.Type, k uint64) bool { return isPow2(k) },
	// uneven: neither 0 nor a power of two. Signed, the magnitude counts; beyond-one: that is at least 2.
	"uneven":        func(_ widths, _ clif.Type, k uint64) bool { return k != 0 && !isPow2(k) },
	"beyond-one":    func(w widths, t clif.Type, k uint64) bool { return w.magnitude(t, k) >= 2 },
	"signed-pow2":   func(w widths, t clif.Type, k uint64) bool { n := w.magnitude(t, k); return n >= 2 && isPow2(n) },
	"signed-uneven": func(w widths, t clif.Type, k uint64) bool { n := w.magnitude(t, k); return n >= 2 && !isPow2(n) },
	// low-half: the mask of the low half of an i64. low-ones: that and perhaps more.
	"low-half": func(w widths, _ clif.Type, k uint64) bool { return k == w.allOnes(clif.I32) },
	"low-ones": func(w widths, _ clif.Type, k uint64) bool { return w.trunc(clif.I32, k) == w.allOnes(clif.I32) },
	// Of amounts of shifts: turns shift by nothing, far ones by more than the width, and amount is a mask that keeps all that counts.
	"turns":  func(w widths, t clif.Type, k uint64) bool { return k%uint64(w.bits(t)) == 0 },
	"far":    func(w widths, t clif.Type, k uint64) bool { return k >= uint64(w.bits(t)) },
	"amount": func(w widths, t clif.Type, k uint64) bool { n := uint64(w.bits(t)); return k&(n-1) == n-1 },
	// lane-mask: a mask that keeps all bits of a lane.
	"lane-mask": func(w widths, t clif.Type, k uint64) bool { return k&w.allOnes(t) == w.allOnes(t) },
	// Of amounts that shift all out but a byte, two or four.
	"above-byte": func(w widths, t clif.Type, k uint64) bool { return k+uint64(w.scaled(8)) == uint64(w.bits(t)) },
	"above-two":  func(w widths, t clif.Type, k uint64) bool { return k+uint64(w.scaled(16)) == uint64(w.bits(t)) },
	"above-four": func(w widths, t clif.Type, k uint64) bool { return k+uint64(w.scaled(32)) == uint64(w.bits(t)) },
	// Of amounts that leave something in the low half of an i64.
	"stays-low": func(w widths, t clif.Type, k uint64) bool { return k%uint64(w.bits(t)) < uint64(w.bits(clif.I32)) },
	"below32":   func(w widths, _ clif.Type, k uint64) bool { return k < uint64(w.bits(clif.I32)) },
	// Of an i64 that an i32 extended without sign can be, or not, and that one extended with its sign can be.
	"below-half":  func(w widths, _ clif.Type, k uint64) bool { return w.trunc(clif.I32, k) == k },
	"beyond-half": func(w widths, _ clif.Type, k uint64) bool { return w.trunc(clif.I32, k) != k },
	"signed-half": func(w widths, _ clif.Type, k uint64) bool {
		return w.trunc(clif.I64, uint64(w.signed(clif.I32, k))) == k
	},
}

var valueWords = map[string]valueWord{
	"var":      func(c *folder, _ *match, v clif.Value) bool { return !constOps.Has(c.defOpcode(v)) },
	"extended": func(c *folder, _ *match, v clif.Value) bool { return c.hasLow(v) },
}

var conditions = map[string]condition{
	// computable: the whole gives a number for k and j, neither a trap nor a NaN, whose bits the machine chooses.
	"computable": func(c *folder, m *match) bool {
		_, ok := c.eval(m.d.Op, m.d.Type, m.k[0], m.k[1])
		return ok
	},
	// below: k <u j.
	"below": func(_ *folder, m *match) bool { return m.k[0] < m.k[1] },
	// same-lane, other-lane: the instruction inside is about the lane that the whole is about, or not.
	"same-lane":  func(_ *folder, m *match) bool { return m.lane == m.d.Lane() },
	"other-lane": func(_ *folder, m *match) bool { return m.lane != m.d.Lane() },
	// same-lanes: the comparison inside has lanes where the whole has them, if it has any.
	"same-lanes": func(_ *folder, m *match) bool { return m.d.Type == clif.V128 || m.d.Type == m.typ },
	// Of shuffles; see shuffles.go.
	"of-one":        func(_ *folder, m *match) bool { return ofOne(m) },
	"of-one-inside": func(c *folder, m *match) bool { return ofOneInside(c, m) },
	"in-place":      func(c *folder, m *match) bool { return inPlace(c, m) },
	"one-lane":      func(c *folder, m *match) bool { return oneLane(c, m) },
	"all-lanes":     func(c *folder, m *match) bool { return allLanes(c, m) },
	// zero-outside: x has no bits outside the mask k.
	"zero-outside": func(c *folder, m *match) bool { return c.mayBeOne(m.x(), 0)&^m.k[0] == 0 },
	"upper-zero":   func(c *folder, m *match) bool { return c.mayBeOne(m.x(), 0)&^c.allOnes(clif.I32) == 0 },
	// positive: the sign bit that is extended and all bits above it are 0.
	"positive": func(c *folder, m *match) bool { return c.mayBeOne(m.x(), 0)>>(c.extended(m.d.Op)-1) == 0 },
	// only-low: nothing needs the upper half of what is reduced. An ireduce of an operand costs nothing: an instruction of 32 bits reads the
	// low half of a register.
	"only-low": func(c *folder, m *match) bool { return c.demand.onlyLow(m.d.ArgA()) },
	// decided-before: a branch or trap has decided whether x is 0. decided: the same for x, a condition, or x is a constant.
	"decided-before": func(c *folder, m *match) bool {
		m.found.truth = c.truth.get(m.x())
		return m.found.truth != unknown
	},
	"decided": func(c *folder, m *match) bool {
		m.found.truth = c.decided(m.x())
		return m.found.truth != unknown
	},
	// stripped: x is a comparison of something with 0.
	"stripped": func(c *folder, m *match) (changed bool) {
		m.found.v, m.found.yes, changed = c.strip(m.x())
		return changed
	},
	// booleans: one of k and j is 0, the other 1.
	"booleans": func(_ *folder, m *match) bool { return m.k[0]^m.k[1] == 1 && m.k[0]|m.k[1] == 1 },
}

var constMakers = map[string]constMaker{
	"neg":       func(_ *folder, _ *match, k uint64) uint64 { return -k },
	"not":       func(_ *folder, _ *match, k uint64) uint64 { return ^k },
	"dec":       func(_ *folder, _ *match, k uint64) uint64 { return k - 1 },
	"low":       func(_ *folder, _ *match, k uint64) uint64 { return k },
	"log2":      func(_ *folder, _ *match, k uint64) uint64 { return uint64(bits.TrailingZeros64(k)) },
	"mod-width": func(c *folder, m *match, k uint64) uint64 { return k % uint64(c.bits(m.d.Type)) },
	"mod64":     func(c *folder, _ *match, k uint64) uint64 { return k % uint64(c.bits(clif.I64)) },
	// computed: what the whole gives for k and j.
	"computed": func(c *folder, m *match, k uint64) uint64 {
		r, _ := c.eval(m.d.Op, m.d.Type, k, m.k[1])
		return r
	},
	"bits":    func(_ *folder, _ *match, k uint64) uint64 { return k },
	"counted": func(c *folder, m *match, k uint64) uint64 { return c.countBits(m.d, k) },
	"extended": func(c *folder, m *match, k uint64) uint64 {
		if n := 64 - c.extended(m.d.Op); m.d.Op != clif.OpUextend {
			return uint64(int64(k<<n) >> n)
		}
		return k
	},
	"compared": func(c *folder, m *match, k uint64) uint64 {
		return boolBits(c.compare(m.d.IntCC(), m.d.Type, k, m.k[1]))
	},
	// compared-far: no number of 32 bits is near k, so comparing any of them with k decides for all.
	"compared-far": func(c *folder, m *match, k uint64) uint64 {
		return boolBits(c.compare(m.d.IntCC(), clif.I64, 0, k))
	},
}

var valueMakers = map[string]valueMaker{
	"low": func(c *folder, _ *match, v clif.Value) clif.Value { return c.low(v) },
	// lane: what the whole extracts of a lane that holds the low bits of x.
	"lane": func(c *folder, m *match, v clif.Value) clif.Value { return c.laneOf(m.d, v) },
}

var makers = map[string]maker{
	"udiv-multiply": func(c *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		return c.udiv(d.Type, m.x(), m.k[0]), false
	},
	"sdiv-multiply": func(c *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		return c.sdiv(d.Type, m.x(), m.k[0]), false
	},
	"urem-multiply": func(c *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		return c.remainder(d, c.udiv(d.Type, m.x(), m.k[0]), m.k[0]), false
	},
	"srem-multiply": func(c *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		return c.remainder(d, c.sdiv(d.Type, m.x(), m.k[0]), m.k[0]), false
	},
	"decided-equal": func(c *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		return constResult(c, clif.I32, boolBits((m.found.truth == isZero) == (d.IntCC() == clif.Eq)))
	},
	"chosen": func(_ *folder, _ *clif.InstData, m *match) (clif.Value, bool) {
		if m.found.truth == isZero {
			return m.z(), false
		}
		return m.y(), false
	},
	"strip": func(_ *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		d.Args[0] = uint32(m.found.v)
		if m.found.yes {
			d.Args[1], d.Args[2] = d.Args[2], d.Args[1]
		}
		return none, true
	},
	"shuffled": func(_ *folder, d *clif.InstData, m *match) (clif.Value, bool) {
		return shuffled(d, m.found.v, &m.found.lanes)
	},
	"lane-of":      laneOfShuffled,
	"one-for-all":  shuffleOfLane,
	"as-condition": func(c *folder, d *clif.InstData, m *match) (clif.Value, bool) { return c.selectBool(d, m.k[0]) },
}
