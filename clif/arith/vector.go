package arith

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// vectorOps computes each opcode that Vector takes, in the order of the opcode table.
var vectorOps = [clif.NumOpcodes]func(*operation) V128{
	clif.OpVconst:    func(o *operation) V128 { low, high := o.d.V128(); return V128{low, high} },
	clif.OpVsplat:    splat,
	clif.OpVextract:  func(o *operation) V128 { return V128{o.a.lane(o.n, uint(o.d.Lane()))} },
	clif.OpVextractS: extractSigned,
	clif.OpVinsert:   insert,
	clif.OpVshuffle:  shuffle,
	clif.OpVswizzle:  func(o *operation) V128 { return swizzle(o, func(at uint64, _ uint) bool { return at >= 16 }) },
	clif.OpVswizzleMod: func(o *operation) V128 {
		return swizzle(o, func(at uint64, n uint) bool { return at>>(n-1) != 0 })
	},
	clif.OpVnot:       bitwise(func(x, _, _ uint64) uint64 { return ^x }),
	clif.OpVand:       bitwise(func(x, y, _ uint64) uint64 { return x & y }),
	clif.OpVor:        bitwise(func(x, y, _ uint64) uint64 { return x | y }),
	clif.OpVxor:       bitwise(func(x, y, _ uint64) uint64 { return x ^ y }),
	clif.OpVandnot:    bitwise(func(x, y, _ uint64) uint64 { return x &^ y }),
	clif.OpVbitselect: bitwise(func(x, y, z uint64) uint64 { return x&z | y&^z }),
	clif.OpVselectTop: selectTop,
	clif.OpVanyTrue:   func(o *operation) V128 { return truth(o.a != V128{}) },
	clif.OpVallTrue:   allTrue,
	clif.OpVbitmask:   bitmask,

	clif.OpVadd:    pairs(true, func(x, y int64, _ uint) int64 { return x + y }),
	clif.OpVsub:    pairs(true, func(x, y int64, _ uint) int64 { return x - y }),
	clif.OpVmul:    pairs(true, func(x, y int64, _ uint) int64 { return x * y }),
	clif.OpVneg:    each(func(x int64, _ uint) int64 { return -x }),
	clif.OpVabs:    each(func(x int64, _ uint) int64 { return max(x, -x) }),
	clif.OpVpopcnt: each(func(x int64, n uint) int64 { return int64(bits.OnesCount64(uint64(x) & ones(n))) }),

	clif.OpVaddSatS:    pairs(true, func(x, y int64, n uint) int64 { return signedSat(x+y, n) }),
	clif.OpVaddSatU:    pairs(false, func(x, y int64, n uint) int64 { return unsignedSat(x+y, n) }),
	clif.OpVsubSatS:    pairs(true, func(x, y int64, n uint) int64 { return signedSat(x-y, n) }),
	clif.OpVsubSatU:    pairs(false, func(x, y int64, n uint) int64 { return unsignedSat(x-y, n) }),
	clif.OpVminS:       pairs(true, func(x, y int64, _ uint) int64 { return min(x, y) }),
	clif.OpVminU:       pairs(false, func(x, y int64, _ uint) int64 { return min(x, y) }),
	clif.OpVmaxS:       pairs(true, func(x, y int64, _ uint) int64 { return max(x, y) }),
	clif.OpVmaxU:       pairs(false, func(x, y int64, _ uint) int64 { return max(x, y) }),
	clif.OpVavgrU:      pairs(false, func(x, y int64, _ uint) int64 { return (x + y + 1) >> 1 }),
	clif.OpVshl:        shift(false, func(x int64, by uint) int64 { return x << by }),
	clif.OpVshrS:       shift(true, func(x int64, by uint) int64 { return x >> by }),
	clif.OpVshrU:       shift(false, func(x int64, by uint) int64 { return int64(uint64(x) >> by) }),
	clif.OpVq15mulr:    pairs(true, q15),
	clif.OpVq15mulrSat: pairs(true, func(x, y int64, n uint) int64 { return signedSat(q15(x, y, n), n) }),
	clif.OpVdot:        dot(2, true, func(_ *operation, _ uint, sum int64) int64 { return sum }),
	clif.OpVdotUS:      dot(2, false, func(o *operation, _ uint, sum int64) int64 { return signedSat(sum, o.n) }),
	clif.OpVdotAdd:     dot(4, true, func(o *operation, i uint, sum int64) int64 { return sum + o.c.signed(o.n, i) }),
	clif.OpVicmp: compare(func(o *operation, i uint) bool {
		return Icmp(o.d.IntCC(), o.a.signed(o.n, i), o.b.signed(o.n, i))
	}),

	clif.OpVextendLowS:  extend(false, true),
	clif.OpVextendLowU:  extend(false, false),
	clif.OpVextendHighS: extend(true, true),
	clif.OpVextendHighU: extend(true, false),
	clif.OpVnarrowS:     narrow(signedSat),
	clif.OpVnarrowU:     narrow(unsignedSat),
	clif.OpVextaddPairS: addPairs(true),
	clif.OpVextaddPairU: addPairs(false),
	clif.OpVextmulLowS:  product(false, true),
	clif.OpVextmulLowU:  product(false, false),
	clif.OpVextmulHighS: product(true, true),
	clif.OpVextmulHighU: product(true, false),

	clif.OpVfadd:     floats2(Fadd),
	clif.OpVfsub:     floats2(Fsub),
	clif.OpVfmul:     floats2(Fmul),
	clif.OpVfdiv:     floats2(Fdiv),
	clif.OpVfmin:     floats2(Fmin),
	clif.OpVfmax:     floats2(Fmax),
	clif.OpVfpmin:    floats2(pmin),
	clif.OpVfpmax:    floats2(pmax),
	clif.OpVfma:      floats3(Fma),
	clif.OpVfnma:     floats3(func(t clif.Type, x, y, z uint64) uint64 { return Fma(t, Fneg(t, x), y, z) }),
	clif.OpVfabs:     floats1(Fabs),
	clif.OpVfneg:     floats1(Fneg),
	clif.OpVfsqrt:    floats1(Fsqrt),
	clif.OpVfceil:    floats1(Fceil),
	clif.OpVffloor:   floats1(Ffloor),
	clif.OpVftrunc:   floats1(Ftrunc),
	clif.OpVfnearest: floats1(Fnearest),
	clif.OpVfcmp: compare(func(o *operation, i uint) bool {
		t := o.d.Type.LaneType()
		return Fcmp(o.d.FloatCC(), Float(t, o.a.lane(o.n, i)), Float(t, o.b.lane(o.n, i)))
	}),

	clif.OpVcvtFromSint:  fromInts(func(t clif.Type, v *V128, i uint) uint64 { return FromSint(t, v.signed(32, i)) }),
	clif.OpVcvtFromUint:  fromInts(func(t clif.Type, v *V128, i uint) uint64 { return FromUint(t, v.lane(32, i)) }),
	clif.OpVcvtToSintSat: toInts(func(x float64) uint64 { r, _ := ToSint(clif.I32, x); return r }),
	clif.OpVcvtToUintSat: toInts(func(x float64) uint64 { r, _ := ToUint(clif.I32, x); return r }),
	clif.OpVcvtToSintInd: toInts(indefinite),
	clif.OpVpromote:      func(o *operation) V128 { return V128{promote(o.a.lane(32, 0)), promote(o.a.lane(32, 1))} },
	clif.OpVdemote:       func(o *operation) V128 { return V128{demote(o.a[0]) | demote(o.a[1])<<32} },
}

func splat(o *operation) (r V128) {
	for i := range o.lanes {
		r.put(o.n, i, o.a[0])
	}
	return r
}

// extractSigned returns a lane as an I32, which has 32 bits, or as many as there are after shrinking.
func extractSigned(o *operation) V128 {
	return V128{uint64(o.a.signed(o.n, uint(o.d.Lane()))) & ones(o.bits/4)}
}

func insert(o *operation) V128 {
	r := o.a
	r.put(o.n, uint(o.d.Lane()), o.b[0])
	return r
}

func shuffle(o *operation) (r V128) {
	for i, from := range o.d.Lanes() {
		src := &o.a
		if from >= 16 {
			src = &o.b
		}
		r.put(o.n, uint(i), src.lane(o.n, uint(from)%16))
	}
	return r
}

// swizzle returns the lanes of A that B names, 0 where there is none.
func swizzle(o *operation, absent func(at uint64, n uint) bool) (r V128) {
	for i := range o.lanes {
		if at := o.b.lane(o.n, i); !absent(at, o.n) {
			r.put(o.n, i, o.a.lane(o.n, uint(at)%o.lanes))
		}
	}
	return r
}

func selectTop(o *operation) (r V128) {
	for i := range o.lanes {
		x := o.b.lane(o.n, i)
		if o.c.signed(o.n, i) < 0 {
			x = o.a.lane(o.n, i)
		}
		r.put(o.n, i, x)
	}
	return r
}

func truth(b bool) V128 {
	if b {
		return V128{1}
	}
	return V128{}
}

func allTrue(o *operation) V128 {
	for i := range o.lanes {
		if o.a.lane(o.n, i) == 0 {
			return truth(false)
		}
	}
	return truth(true)
}

func bitmask(o *operation) (r V128) {
	for i := range o.lanes {
		r[0] |= o.a.lane(o.n, i) >> (o.n - 1) << i
	}
	return V128{r[0] & ones(o.bits/4)} // of an I32, as extractSigned says
}

// q15 returns the rounded product of fractions with one digit before the point.
func q15(x, y int64, n uint) int64 { return (x*y + 1<<(n-2)) >> (n - 1) }

// pmin returns y if it is less than x, else x, whatever these are.
func pmin(t clif.Type, x, y uint64) uint64 {
	if Float(t, y) < Float(t, x) {
		return y
	}
	return x
}

// pmax returns y if x is less than it, else x, whatever these are.
func pmax(t clif.Type, x, y uint64) uint64 {
	if Float(t, x) < Float(t, y) {
		return y
	}
	return x
}

// indefinite is the conversion to an i32 of x86-64.
func indefinite(x float64) uint64 {
	r, where := ToSint(clif.I32, x)
	if where != Inside {
		return 1 << 31
	}
	return r
}

func promote(x uint64) uint64 { return FloatBits(clif.F64, Float(clif.F32, x)) }
func demote(x uint64) uint64  { return FloatBits(clif.F32, Float(clif.F64, x)) }
