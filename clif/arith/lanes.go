package arith

import "github.com/waot-project/waot/clif"

// V128 is a vector, or a scalar in its low half: the low half first.
type V128 [2]uint64

// ones returns n ones, up to 64.
func ones(n uint) uint64 { return ^uint64(0) >> (64 - n) }

// lane returns lane i of n bits.
func (v *V128) lane(n, i uint) uint64 { return v[i*n/64] >> (i * n % 64) & ones(n) }

// signed returns lane i of n bits as a number with sign.
func (v *V128) signed(n, i uint) int64 { return int64(v.lane(n, i)<<(64-n)) >> (64 - n) }

// number returns lane i of n bits as a number, with or without sign. A lane of 64 bits always has one.
func (v *V128) number(n, i uint, hasSign bool) int64 {
	if hasSign {
		return v.signed(n, i)
	}
	return int64(v.lane(n, i))
}

// put sets lane i of n bits to the low bits of x.
func (v *V128) put(n, i uint, x uint64) {
	at := i * n % 64
	w := &v[i*n/64]
	*w = *w&^(ones(n)<<at) | x&ones(n)<<at
}

// operation is an instruction and its operands.
type operation struct {
	d       *clif.InstData
	a, b, c V128
	n       uint // width of a lane
	lanes   uint // how many there are
	bits    uint // width of the vector
}

// Vector returns the result of d, an instruction on vectors without effects (OpVconst to OpVdemote), whose
// operands are a, b and c as far as it has any.
//
// Vectors, integers and their lanes are 2^shrink times as narrow as they are called, for shrink up to 3, so that tests can
// try all vectors there are. Floats have no such lanes.
func Vector(d *clif.InstData, shrink uint8, a, b, c V128) V128 {
	o := operation{d: d, a: a, b: b, c: c, bits: 128 >> shrink, n: 128 >> shrink, lanes: 1}
	if d.Type.IsShape() {
		o.n, o.lanes = uint(d.Type.LaneBits())>>shrink, uint(d.Type.Lanes())
	}
	return vectorOps[d.Op](&o)
}

// IsVector reports whether Vector computes op.
func IsVector(op clif.Opcode) bool { return op >= clif.OpVconst && op <= clif.OpVdemote }

// each makes an operation of one on lanes.
func each(f func(x int64, n uint) int64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, uint64(f(o.a.signed(o.n, i), o.n)))
		}
		return r
	}
}

// pairs makes an operation of one on two lanes; hasSign says what numbers they are.
func pairs(hasSign bool, f func(x, y int64, n uint) int64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, uint64(f(o.a.number(o.n, i, hasSign), o.b.number(o.n, i, hasSign), o.n)))
		}
		return r
	}
}

// shift makes a shift of all lanes of one of a lane by less than its width.
func shift(hasSign bool, f func(x int64, by uint) int64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			x := o.a.lane(o.n, i)
			if hasSign {
				x = uint64(o.a.signed(o.n, i))
			}
			r.put(o.n, i, uint64(f(int64(x), uint(o.b[0])%o.n)))
		}
		return r
	}
}

// bitwise makes an operation of one on the halves.
func bitwise(f func(x, y, z uint64) uint64) func(*operation) V128 {
	return func(o *operation) V128 {
		m := ones(min(o.bits, 64))
		r := V128{f(o.a[0], o.b[0], o.c[0]) & m}
		if o.bits > 64 {
			r[1] = f(o.a[1], o.b[1], o.c[1])
		}
		return r
	}
}

// extend makes lanes of lanes of half the width, from the low or the high half.
func extend(high, hasSign bool) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, uint64(o.a.number(o.n/2, half(o, high, i), hasSign)))
		}
		return r
	}
}

// product multiplies lanes of half the width, from the low or the high half.
func product(high, hasSign bool) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			k := half(o, high, i)
			r.put(o.n, i, uint64(o.a.number(o.n/2, k, hasSign)*o.b.number(o.n/2, k, hasSign)))
		}
		return r
	}
}

// half returns which lane of half the width is the i-th of the low or high half.
func half(o *operation, high bool, i uint) uint {
	if high {
		return o.lanes + i
	}
	return i
}

// addPairs adds two adjacent lanes of half the width.
func addPairs(hasSign bool) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, uint64(o.a.number(o.n/2, 2*i, hasSign)+o.a.number(o.n/2, 2*i+1, hasSign)))
		}
		return r
	}
}

// dot adds the products of parts adjacent lanes, each of width 1/parts of the result; then end makes the lane of
// the sum.
func dot(parts uint, leftSigned bool, end func(o *operation, i uint, sum int64) int64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			sum := int64(0)
			for k := i * parts; k < (i+1)*parts; k++ {
				sum += o.a.number(o.n/parts, k, leftSigned) * o.b.signed(o.n/parts, k)
			}
			r.put(o.n, i, uint64(end(o, i, sum)))
		}
		return r
	}
}

// narrow makes lanes of signed ones of twice the width, those of a first.
func narrow(saturate func(x int64, n uint) int64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes / 2 {
			r.put(o.n, i, uint64(saturate(o.a.signed(2*o.n, i), o.n)))
			r.put(o.n, i+o.lanes/2, uint64(saturate(o.b.signed(2*o.n, i), o.n)))
		}
		return r
	}
}

// signedSat returns the number of n bits with sign that is next to x.
func signedSat(x int64, n uint) int64 { return min(max(x, -1<<(n-1)), 1<<(n-1)-1) }

// unsignedSat returns the number of n bits without sign that is next to x.
func unsignedSat(x int64, n uint) int64 { return min(max(x, 0), 1<<n-1) }

// compare sets lanes to ones where the condition holds.
func compare(holds func(o *operation, i uint) bool) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			if holds(o, i) {
				r.put(o.n, i, ^uint64(0))
			}
		}
		return r
	}
}

// floats1 makes an operation of one on floats.
func floats1(f func(t clif.Type, x uint64) uint64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, f(o.d.Type.LaneType(), o.a.lane(o.n, i)))
		}
		return r
	}
}

// floats2 makes an operation of one on two floats.
func floats2(f func(t clif.Type, x, y uint64) uint64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, f(o.d.Type.LaneType(), o.a.lane(o.n, i), o.b.lane(o.n, i)))
		}
		return r
	}
}

// floats3 makes an operation of one on three floats.
func floats3(f func(t clif.Type, x, y, z uint64) uint64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, f(o.d.Type.LaneType(), o.a.lane(o.n, i), o.b.lane(o.n, i), o.c.lane(o.n, i)))
		}
		return r
	}
}

// fromInts makes floats of lanes of 32 bits.
func fromInts(f func(t clif.Type, v *V128, i uint) uint64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(o.n, i, f(o.d.Type.LaneType(), &o.a, i))
		}
		return r
	}
}

// toInts makes lanes of 32 bits of floats.
func toInts(f func(x float64) uint64) func(*operation) V128 {
	return func(o *operation) (r V128) {
		for i := range o.lanes {
			r.put(32, i, f(Float(o.d.Type.LaneType(), o.a.lane(o.n, i))))
		}
		return r
	}
}

// Splat returns the vector whose lanes all are the low bits of x. As in Vector, its lanes may be narrower than the shape says.
func Splat(shape clif.Type, shrink uint8, x uint64) (r V128) {
	n := uint(shape.LaneBits()) >> shrink
	for i := range uint(shape.Lanes()) {
		r.put(n, i, x)
	}
	return r
}

// Lane returns lane i of v, zero-extended. As in Vector, the lanes may be narrower than the shape says.
func Lane(shape clif.Type, shrink uint8, v V128, i uint) uint64 {
	return v.lane(uint(shape.LaneBits())>>shrink, i)
}

// HasNaN reports whether a lane of v is a NaN; the shape is one of floats.
func HasNaN(shape clif.Type, v V128) bool {
	for i := range uint(shape.Lanes()) {
		if IsNaN(shape.LaneType(), Lane(shape, 0, v, i)) {
			return true
		}
	}
	return false
}
