package isatest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// mixedParams are the parameters of the functions of testMixed: an address, and numbers.
var mixedParams = []clif.Type{clif.I32, clif.I32, clif.I64, clif.I64}

// mix makes a random function in which numbers of 32 and of 64 bits are parts of each other, loaded, stored, changed
// in memory, compared and branched on. So an operation that one lowering rule folds is an operand of another rule. The
// mid-end does not run, so it removes no combination.
type mix struct {
	*builder
	r     *rand.Rand
	vals  [clif.NumTypes][]clif.Value
	conds []clif.Value
	p     []clif.Value
	nest  int // of numbers that are made for one use
}

var (
	mixBinary = []clif.Opcode{clif.OpIadd, clif.OpIadd, clif.OpIsub, clif.OpIsub, clif.OpImul, clif.OpBand, clif.OpBand, clif.OpBor, clif.OpBxor,
		clif.OpBxor, clif.OpIshl, clif.OpIshl, clif.OpUshr, clif.OpSshr, clif.OpRotl, clif.OpRotr}
	mixModify = []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpBand, clif.OpBor, clif.OpBxor, clif.OpIshl}
	mixConsts = []uint64{0, 1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 35, 63, 64, 127, 128, 255, 256, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xc0000001, 0xffffffff, 1 << 32, 1<<32 + 3, 1<<63 - 1, 1 << 63, ^uint64(0), ^uint64(0) - 127, ^uint64(0) - 128, ^uint64(0) - 0x7fffffff, ^uint64(0) - 0x80000000}
)

// intType returns i32 or i64.
func (m *mix) intType() clif.Type { return []clif.Type{clif.I32, clif.I64}[m.r.Intn(2)] }

func (m *mix) constOf(t clif.Type) clif.Value {
	return m.Iconst(t, mixConsts[m.r.Intn(len(mixConsts))])
}

// value returns a number that there is, mostly one of the last, a constant, or one that is made for this use only,
// perhaps of the other width.
func (m *mix) value(t clif.Type) clif.Value {
	list := m.vals[t]
	switch n := m.r.Intn(13); {
	case n < 3:
		return m.constOf(t)
	case n < 9 || m.nest > 1:
		return list[max(0, len(list)-1-m.r.Intn(3))]
	case n < 10:
		return list[m.r.Intn(len(list))]
	case n < 11:
		return m.once(t)
	case t == clif.I32:
		return m.Unary(clif.OpIreduce, t, m.once(clif.I64))
	}
	return m.Unary([]clif.Opcode{clif.OpUextend, clif.OpUextend, clif.OpSextend}[m.r.Intn(3)], t, m.once(clif.I32))
}

// once returns an operation of type t; its result has no other use.
func (m *mix) once(t clif.Type) clif.Value {
	m.nest++
	defer func() { m.nest-- }()
	switch m.r.Intn(4) {
	case 0:
		a, off := m.address()
		return m.Load(t, m.access(t, false), 0, a, off)
	case 1:
		k := []uint64{1, 2, 3, 30, 31, 32, 33, 34, 35, 63}[m.r.Intn(10)]
		return m.Binary([]clif.Opcode{clif.OpIshl, clif.OpUshr, clif.OpSshr}[m.r.Intn(3)], t, m.value(t), m.Iconst(t, k))
	}
	return m.Binary(mixBinary[m.r.Intn(len(mixBinary))], t, m.value(t), m.value(t))
}

func (m *mix) add(v clif.Value) clif.Value {
	t := m.F.TypeOf(v)
	m.vals[t] = append(m.vals[t], v)
	return v
}

// address returns an address, mostly below 256, with an offset.
func (m *mix) address() (clif.Value, uint64) {
	off := uint64(m.r.Intn(24))
	switch m.r.Intn(9) {
	case 8: // the lower half of a number that has an upper one
		x := m.Binary(clif.OpIshl, clif.I64, m.value(clif.I64), m.Iconst(clif.I64, 32))
		return m.Unary(clif.OpIreduce, clif.I32, m.Binary(clif.OpBor, clif.I64, x, m.Unary(clif.OpUextend, clif.I64, m.p[0]))), off
	case 0:
		return m.Iconst(clif.I32, uint64(m.r.Intn(200))), off
	case 1:
		return m.Binary(clif.OpBand, clif.I32, m.value(clif.I32), m.Iconst(clif.I32, 0x7f)), off
	case 2:
		return m.Unary(clif.OpIreduce, clif.I32, m.Binary(clif.OpBand, clif.I64, m.value(clif.I64), m.Iconst(clif.I64, 0x7f))), off
	case 3: // wraps around
		return m.Binary(clif.OpIadd, clif.I32, m.Binary(clif.OpIadd, clif.I32, m.p[0], m.Iconst(clif.I32, 0xfffffff8)), m.Iconst(clif.I32, 8)), off
	case 4:
		return m.Unary(clif.OpIreduce, clif.I32, m.Binary(clif.OpUshr, clif.I64, m.value(clif.I64), m.Iconst(clif.I64, 57))), off
	}
	return m.p[0], off
}

func (m *mix) access(t clif.Type, store bool) clif.Access {
	all := accesses(t, store)
	return all[m.r.Intn(len(all))]
}

// condition returns an i32, mostly a comparison.
func (m *mix) condition() clif.Value {
	t := m.intType()
	cc := clif.IntCC(m.r.Intn(int(clif.NumIntCCs)))
	var c clif.Value
	switch m.r.Intn(9) {
	case 8:
		if len(m.conds) > 0 {
			return m.conds[len(m.conds)-1]
		}
		fallthrough
	case 0:
		return m.value(clif.I32)
	case 1:
		c = m.Icmp(cc, t, m.Binary(clif.OpBand, t, m.value(t), m.value(t)), m.Iconst(t, 0))
	case 2:
		c = m.Icmp(cc, t, m.value(t), m.Iconst(t, 0))
	case 3:
		a, off := m.address()
		c = m.Icmp(cc, t, m.Load(t, m.access(t, false), 0, a, off), m.value(t))
	case 4:
		a, off := m.address()
		c = m.Icmp(cc, t, m.Binary(clif.OpBand, t, m.Load(t, m.access(t, false), 0, a, off), m.value(t)), m.Iconst(t, 0))
	case 5:
		x := m.Unary(clif.OpFcvtFromSint, clif.F64, m.value(t))
		y := m.Unary(clif.OpFcvtFromUint, clif.F64, m.value(m.intType()))
		c = m.Fcmp(clif.FloatCC(m.r.Intn(int(clif.NumFloatCCs))), clif.F64, x, y)
	case 6: // perhaps NaNs
		c = m.Fcmp(clif.FloatCC(m.r.Intn(int(clif.NumFloatCCs))), clif.F32, m.Unary(clif.OpBitcast, clif.F32, m.value(clif.I32)), m.Unary(clif.OpBitcast, clif.F32, m.value(clif.I32)))
	default:
		c = m.Icmp(cc, t, m.value(t), m.value(t))
	}
	for m.r.Intn(3) == 0 {
		m.conds = append(m.conds, c)
		c = m.Icmp([]clif.IntCC{clif.Eq, clif.Ne}[m.r.Intn(2)], clif.I32, c, m.Iconst(clif.I32, 0))
	}
	m.conds = append(m.conds, c)
	return c
}

// step appends an instruction or a few.
func (m *mix) step(depth int) {
	t := m.intType()
	switch n := m.r.Intn(32); {
	case n < 9:
		m.add(m.Binary(mixBinary[m.r.Intn(len(mixBinary))], t, m.value(t), m.value(t)))
	case n < 11:
		m.add(m.Unary(clif.OpIreduce, clif.I32, m.value(clif.I64)))
	case n < 12:
		m.add(m.Unary(clif.OpUextend, clif.I64, m.value(clif.I32)))
	case n < 13:
		m.add(m.Unary(clif.OpSextend, clif.I64, m.value(clif.I32)))
	case n < 15:
		ops := []clif.Opcode{clif.OpSext8, clif.OpSext16, clif.OpClz, clif.OpCtz, clif.OpPopcnt, clif.OpSext32}
		if t == clif.I32 {
			ops = ops[:5]
		}
		m.add(m.Unary(ops[m.r.Intn(len(ops))], t, m.value(t)))
	case n < 16:
		m.add(m.condition())
	case n < 18:
		m.add(m.Select(t, m.condition(), m.value(t), m.value(t)))
	case n < 21:
		a, off := m.address()
		m.add(m.Load(t, m.access(t, false), 0, a, off))
	case n < 23:
		a, off := m.address()
		m.Store(t, m.access(t, true), 0, a, m.value(t), off)
	case n < 26: // a change in place
		a, off := m.address()
		acc := m.access(t, true)
		x, y := m.Load(t, acc, 0, a, off), m.value(t)
		if m.r.Intn(3) == 0 {
			m.step(0)
		}
		if m.r.Intn(4) == 0 {
			x, y = y, x
		}
		v := m.Binary(mixModify[m.r.Intn(len(mixModify))], t, x, y)
		if m.r.Intn(4) == 0 {
			m.add(v)
		}
		switch m.r.Intn(8) {
		case 0: // in another place
			off++
		case 1:
			a, off = m.address()
		}
		m.Store(t, acc, 0, a, v, off)
	case n < 27:
		op := []clif.Opcode{clif.OpUdiv, clif.OpSdiv, clif.OpUrem, clif.OpSrem}[m.r.Intn(4)]
		y := m.Binary(clif.OpBor, t, m.Binary(clif.OpUshr, t, m.value(t), m.Iconst(t, 1)), m.Iconst(t, 1))
		if m.r.Intn(2) == 0 {
			y = m.Iconst(t, []uint64{1, 2, 7, 10, 1 << 31, ^uint64(0) - 2}[m.r.Intn(6)])
		}
		m.add(m.Binary(op, t, m.value(t), y))
	case n < 28:
		op := []clif.Opcode{clif.OpUmulhi, clif.OpSmulhi}[m.r.Intn(2)]
		m.add(m.Binary(op, clif.I64, m.value(clif.I64), m.value(clif.I64)))
	case n < 29:
		f := []clif.Type{clif.F32, clif.F64}[m.r.Intn(2)]
		x := m.Unary([]clif.Opcode{clif.OpFcvtFromSint, clif.OpFcvtFromUint}[m.r.Intn(2)], f, m.value(t))
		m.add(m.Unary([]clif.Opcode{clif.OpFcvtToSintSat, clif.OpFcvtToUintSat}[m.r.Intn(2)], m.intType(), x))
	case n < 30:
		m.TrapIf(m.Icmp(clif.Eq, t, m.value(t), m.Iconst(t, 0x12345)), abi.TrapUnreachable)
	default:
		if depth > 0 {
			m.branch(depth - 1)
		}
	}
}

// branch appends a branch on a condition, or on what was computed last, with steps on either side.
func (m *mix) branch(depth int) {
	t := m.intType()
	c := m.vals[clif.I32][len(m.vals[clif.I32])-1]
	switch m.r.Intn(3) {
	case 0:
		c = m.condition()
	case 1:
		last := m.vals[t][len(m.vals[t])-1]
		c = m.Icmp(clif.IntCC(m.r.Intn(int(clif.NumIntCCs))), t, last, m.Iconst(t, 0))
	}
	sides, join := [2]clif.Block{m.NewBlock(), m.NewBlock()}, m.NewBlock()
	m.Branch(c, m.Target(sides[0], nil), m.Target(sides[1], nil))
	saved, conds := m.vals, len(m.conds)
	for _, side := range sides {
		m.SwitchTo(side)
		for k := range m.vals {
			m.vals[k] = append([]clif.Value(nil), saved[k]...)
		}
		m.conds = m.conds[:conds]
		for range m.r.Intn(4) {
			m.step(depth)
		}
		m.Jump(m.Target(join, []clif.Value{m.value(clif.I32), m.value(clif.I64)}))
	}
	m.vals, m.conds = saved, m.conds[:conds]
	m.SwitchTo(join)
	m.add(m.AddParam(join, clif.I32))
	m.add(m.AddParam(join, clif.I64))
}

// body appends everything.
func (m *mix) body(steps int) {
	m.vals[clif.I32] = append(m.vals[clif.I32], m.p[0], m.p[1])
	m.vals[clif.I64] = append(m.vals[clif.I64], m.p[2], m.p[3])
	for range steps {
		m.step(2)
	}
	x := m.value(clif.I64)
	for _, v := range m.vals[clif.I32][max(0, len(m.vals[clif.I32])-3):] {
		x = m.Binary(clif.OpIadd, clif.I64, m.Binary(clif.OpRotl, clif.I64, x, m.Iconst(clif.I64, 7)), m.Unary(clif.OpUextend, clif.I64, v))
	}
	for _, v := range m.vals[clif.I64][max(0, len(m.vals[clif.I64])-3):] {
		x = m.Binary(clif.OpBxor, clif.I64, m.Binary(clif.OpRotl, clif.I64, x, m.Iconst(clif.I64, 9)), v)
	}
	m.Return([]clif.Value{x})
}

var mixedFlag = flag.Int64("mixed", 0, "number of random modules of each of TestMachine/Mixed and MixedFloats, if not as many as the level of the tests says")

// mixedModules returns how many modules testMixed and testMixedFloats make each, of mixedFuncs functions.
func mixedModules() int64 { return cmp.Or(*mixedFlag, testenv.Cases[int64](6, 8, 16)) }

const mixedFuncs = 150

// testMixed runs random functions of one block or a few.
func testMixed(t *testing.T, on *Machine) {
	for seed := range mixedModules() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { mixed(t, on, seed) })
	}
}

func mixed(t *testing.T, on *Machine, seed int64) {
	r := rand.New(rand.NewSource(seed))
	s := newSuite(on)
	fill := s.Fn([]clif.Type{clif.I32, clif.I64}, nil, func(b *clif.Builder, p []clif.Value) {
		for k := range uint64(8) {
			x := b.Binary(clif.OpImul, clif.I64, p[1], b.Iconst(clif.I64, 2*k+1))
			b.Store(clif.I64, clif.Full, 0, p[0], x, 8*k)
		}
		b.Return(nil)
	})
	for n := range mixedFuncs {
		fn := s.Fn(mixedParams, i64, func(b *clif.Builder, p []clif.Value) {
			m := &mix{builder: &builder{b}, r: r, p: p}
			m.body([]int{4, 8, 15, 40}[n%4])
		})
		s.call(fill, "fill", 0, r.Uint64())
		s.call(fill, "fill", 64, r.Uint64())
		s.call(fill, "fill", 128, mixConsts[r.Intn(len(mixConsts))])
		for range 8 {
			arg := func(t clif.Type) uint64 {
				if x := mixConsts[r.Intn(len(mixConsts))]; r.Intn(3) > 0 {
					return x & (1<<(t.Bits()-1)<<1 - 1)
				}
				return r.Uint64() >> (64 - t.Bits())
			}
			s.call(fn, fmt.Sprintf("seed %d, function %d", seed, n), uint64(r.Intn(100)), arg(clif.I32), arg(clif.I64), arg(clif.I64))
		}
	}
	s.run(t)
}
