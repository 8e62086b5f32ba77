package isatest

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/clif"
)

// mixedFloatParams are the parameters of the functions of testMixedFloats: an address, and numbers.
var mixedFloatParams = []clif.Type{clif.I32, clif.F32, clif.F32, clif.F64, clif.F64, clif.I64}

// mixFloat makes a random function of floats, which are computed, converted, loaded, and compared for values, selects and
// branches. The bits of a computed NaN never show: computed numbers are only returned, compared, and converted to integers
// with saturation.
type mixFloat struct {
	*builder
	r     *rand.Rand
	vals  [clif.NumTypes][]clif.Value
	conds []clif.Value
	p     []clif.Value
}

var (
	mixFloatBinary = []clif.Opcode{clif.OpFadd, clif.OpFsub, clif.OpFmul, clif.OpFdiv, clif.OpFmin, clif.OpFmax}
	mixFloatUnary  = []clif.Opcode{clif.OpFabs, clif.OpFneg, clif.OpFsqrt, clif.OpFceil, clif.OpFfloor, clif.OpFtrunc, clif.OpFnearest}
)

func (m *mixFloat) floatType() clif.Type { return []clif.Type{clif.F32, clif.F64}[m.r.Intn(2)] }
func (m *mixFloat) intType() clif.Type   { return []clif.Type{clif.I32, clif.I64}[m.r.Intn(2)] }

// load returns a number from memory.
func (m *mixFloat) load(t clif.Type) clif.Value {
	return m.Load(t, clif.Full, 0, m.p[0], uint64(m.r.Intn(64)))
}

// value returns a number that there is, a constant, or one from memory.
func (m *mixFloat) value(t clif.Type) clif.Value {
	list := m.vals[t]
	switch n := m.r.Intn(10); {
	case n < 2:
		return m.konst(t, corners[t][m.r.Intn(len(corners[t]))])
	case n < 4:
		return m.load(t)
	case n < 8:
		return list[max(0, len(list)-1-m.r.Intn(3))]
	}
	return list[m.r.Intn(len(list))]
}

func (m *mixFloat) add(v clif.Value) {
	t := m.F.TypeOf(v)
	m.vals[t] = append(m.vals[t], v)
}

// condition returns mostly a comparison of floats, perhaps complemented.
func (m *mixFloat) condition() clif.Value {
	n := m.r.Intn(6)
	if n == 0 && len(m.conds) > 0 {
		return m.conds[m.r.Intn(len(m.conds))]
	}
	if n == 1 {
		t := m.intType()
		return m.Icmp(clif.IntCC(m.r.Intn(int(clif.NumIntCCs))), t, m.value(t), m.value(t))
	}
	t := m.floatType()
	x, y := m.value(t), m.value(t)
	if n == 2 {
		y = x
	}
	c := m.Fcmp(clif.FloatCC(m.r.Intn(int(clif.NumFloatCCs))), t, x, y)
	m.conds = append(m.conds, c)
	for m.r.Intn(3) == 0 {
		c = m.Icmp([]clif.IntCC{clif.Eq, clif.Ne}[m.r.Intn(2)], clif.I32, c, m.Iconst(clif.I32, 0))
	}
	return c
}

// step appends an instruction or a few.
func (m *mixFloat) step(depth int) {
	t, i := m.floatType(), m.intType()
	switch n := m.r.Intn(24); {
	case n < 6:
		m.add(m.Binary(mixFloatBinary[m.r.Intn(len(mixFloatBinary))], t, m.value(t), m.value(t)))
	case n < 8:
		m.add(m.Unary(mixFloatUnary[m.r.Intn(len(mixFloatUnary))], t, m.value(t)))
	case n < 10:
		m.add(m.Unary([]clif.Opcode{clif.OpFcvtFromSint, clif.OpFcvtFromUint}[m.r.Intn(2)], t, m.value(i)))
	case n < 12:
		m.add(m.Unary([]clif.Opcode{clif.OpFcvtToSintSat, clif.OpFcvtToUintSat}[m.r.Intn(2)], i, m.value(t)))
	case n < 13: // of a number that fits
		x := m.Unary(clif.OpFcvtFromSint, clif.F64, m.Unary(clif.OpSext16, clif.I32, m.value(clif.I32)))
		m.add(m.Unary(clif.OpFcvtToSint, i, x))
	case n < 14:
		m.add(m.Unary(clif.OpFpromote, clif.F64, m.value(clif.F32)))
	case n < 15:
		m.add(m.Unary(clif.OpFdemote, clif.F32, m.value(clif.F64)))
	case n < 16: // the sign of a NaN is any
		sign := m.Unary(clif.OpFcvtFromSint, t, m.value(i))
		m.add(m.Binary(clif.OpFcopysign, t, m.value(t), sign))
	case n < 17:
		m.add(m.Unary(clif.OpBitcast, clif.F32, m.value(clif.I32)))
		m.add(m.Unary(clif.OpBitcast, clif.F64, m.value(clif.I64)))
	case n < 18:
		m.add(m.Unary(clif.OpBitcast, clif.I32, m.load(clif.F32)))
		m.add(m.Unary(clif.OpBitcast, clif.I64, m.load(clif.F64)))
	case n < 19:
		off := uint64(m.r.Intn(64))
		if m.r.Intn(2) == 0 {
			m.Store(t, clif.Full, 0, m.p[0], m.load(t), off)
		} else {
			m.Store(t, clif.Full, 0, m.p[0], m.konst(t, corners[t][m.r.Intn(len(corners[t]))]), off)
		}
	case n < 21:
		m.add(m.Select(t, m.condition(), m.value(t), m.value(t)))
	case n < 22:
		m.add(m.Select(i, m.condition(), m.value(i), m.value(i)))
	case n < 23:
		m.add(m.condition())
	default:
		if depth > 0 {
			m.branch(depth - 1)
		}
	}
}

// branch appends a branch with steps on either side.
func (m *mixFloat) branch(depth int) {
	sides, join := [2]clif.Block{m.NewBlock(), m.NewBlock()}, m.NewBlock()
	m.Branch(m.condition(), m.Target(sides[0], nil), m.Target(sides[1], nil))
	saved, conds := m.vals, len(m.conds)
	for _, side := range sides {
		m.SwitchTo(side)
		for k := range m.vals {
			m.vals[k] = append([]clif.Value(nil), saved[k]...)
		}
		for range m.r.Intn(4) {
			m.step(depth)
		}
		m.conds = m.conds[:conds]
		m.Jump(m.Target(join, []clif.Value{m.value(clif.F32), m.value(clif.F64), m.value(clif.I64)}))
	}
	m.vals = saved
	m.SwitchTo(join)
	m.add(m.AddParam(join, clif.F32))
	m.add(m.AddParam(join, clif.F64))
	m.add(m.AddParam(join, clif.I64))
}

// testMixedFloats runs random functions of floats, of one block or a few.
func testMixedFloats(t *testing.T, on *Machine) {
	for seed := range mixedModules() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { mixedFloats(t, on, seed) })
	}
}

func mixedFloats(t *testing.T, on *Machine, seed int64) {
	r := rand.New(rand.NewSource(seed))
	s := newSuite(on)
	fill := s.Fn([]clif.Type{clif.I32, clif.I64}, nil, func(b *clif.Builder, p []clif.Value) {
		b.Store(clif.I64, clif.Full, 0, p[0], p[1], 0)
		b.Return(nil)
	})
	for n := range mixedFuncs {
		results := []clif.Type{clif.F32, clif.F64, clif.F64, clif.I32, clif.I64}
		fn := s.Fn(mixedFloatParams, results, func(b *clif.Builder, p []clif.Value) {
			m := &mixFloat{builder: &builder{b}, r: r, p: p}
			m.vals[clif.I32] = append(m.vals[clif.I32], p[0])
			m.vals[clif.F32] = append(m.vals[clif.F32], p[1], p[2])
			m.vals[clif.F64] = append(m.vals[clif.F64], p[3], p[4])
			m.vals[clif.I64] = append(m.vals[clif.I64], p[5])
			for range []int{4, 8, 15, 40}[n%4] {
				m.step(2)
			}
			last := func(t clif.Type, k int) clif.Value { return m.vals[t][max(0, len(m.vals[t])-k)] }
			m.Return([]clif.Value{last(clif.F32, 1), last(clif.F64, 1), last(clif.F64, 2), last(clif.I32, 1), last(clif.I64, 1)})
		})
		corner := func(t clif.Type) uint64 { return corners[t][r.Intn(len(corners[t]))] }
		for k := range uint64(18) {
			x := corner(clif.F64)
			if k%2 == 0 {
				x = corner(clif.F32)<<32 | corner(clif.F32)
			}
			s.call(fill, "fill", 8*k, x)
		}
		for range 6 {
			s.call(fn, fmt.Sprintf("seed %d, function %d", seed, n), uint64(4*r.Intn(16)), corner(clif.F32), corner(clif.F32), corner(clif.F64), corner(clif.F64), corner(clif.I64))
		}
	}
	s.run(t)
}
