package isatest

import (
	"flag"
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
)

// tangle makes random trees of operations that lowering rules combine: fields and funnel shifts, joined comparisons
// and selects, products and sums, extensions. The leaves are 64-bit numbers, their lower halves, and floats. So a rule that
// reads or writes more of a register than the type has makes a visible difference.
type tangle struct {
	*builder
	rng  *rand.Rand
	vals [2][]clif.Value // of i32, of i64
	left int             // operations
}

var (
	intTypes   = [2]clif.Type{clif.I32, clif.I64}
	floatTypes = [2]clif.Type{clif.F32, clif.F64}
)

// number returns a constant that rules test for.
func (m *tangle) number(ty clif.Type) clif.Value {
	n := uint64(ty.Bits())
	k := uint64(m.rng.Intn(int(n)))
	x := uint64(0)
	switch m.rng.Intn(9) {
	case 0:
		x = uint64(m.rng.Intn(40)) - 8
	case 1, 2:
		x = 1 << k
	case 3:
		x = 1<<k - 1
	case 4:
		x = ^(1<<k - 1)
	case 5:
		x = (1<<(1+m.rng.Intn(16)) - 1) << k
	case 6:
		x = ^((1<<(1+m.rng.Intn(16)) - 1) << k)
	case 7:
		x = []uint64{0xff, 0xffff, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000, 1<<63 - 1, 1 << 63, 0xfff, 0x1000, 0xfff000, 0xfffff, 0xffffff_000}[m.rng.Intn(12)]
	case 8:
		x = m.rng.Uint64() >> m.rng.Intn(64)
	}
	return m.Iconst(ty, x&(1<<(n-1)<<1-1))
}

// old returns an earlier value.
func (m *tangle) old(w int) clif.Value { return m.vals[w][m.rng.Intn(len(m.vals[w]))] }

// value returns a value of width w.
func (m *tangle) value(w int) clif.Value {
	if m.left--; m.left <= 0 || m.rng.Intn(8) == 0 {
		if w == 0 && m.rng.Intn(2) == 0 {
			return m.Unary(clif.OpIreduce, clif.I32, m.old(1))
		}
		return m.old(w)
	}
	v := m.make(w)
	if m.rng.Intn(3) == 0 {
		m.vals[w] = append(m.vals[w], v)
	}
	return v
}

// amount returns an amount of a shift.
func (m *tangle) amount(ty clif.Type, w int) clif.Value {
	switch m.rng.Intn(8) {
	case 0:
		return m.value(w)
	case 1:
		return m.Binary(clif.OpBand, ty, m.value(w), m.Iconst(ty, []uint64{uint64(ty.Bits() - 1), uint64(ty.Bits()/2 - 1), 0xff}[m.rng.Intn(3)]))
	case 2:
		return m.Iconst(ty, uint64(m.rng.Intn(5)))
	case 3:
		return m.Iconst(ty, []uint64{8, 16, 24, 31, 32, 33, 48, 63}[m.rng.Intn(8)])
	}
	return m.Iconst(ty, uint64(m.rng.Intn(ty.Bits())))
}

// cond returns an i32 that is 0 or 1.
func (m *tangle) cond() clif.Value {
	switch m.rng.Intn(11) {
	case 0:
		return m.value(0)
	case 10:
		f := floatTypes[m.rng.Intn(2)]
		return m.Fcmp(clif.FloatCC(m.rng.Intn(int(clif.NumFloatCCs))), f, m.float(f, 2), m.float(f, 2))
	case 1, 2:
		return m.Binary([]clif.Opcode{clif.OpBand, clif.OpBor}[m.rng.Intn(2)], clif.I32, m.cond(), m.cond())
	case 3:
		return m.Icmp(clif.IntCC(m.rng.Intn(2)), clif.I32, m.cond(), m.Iconst(clif.I32, 0))
	case 4:
		w := m.rng.Intn(2)
		return m.Icmp(clif.IntCC(m.rng.Intn(int(clif.NumIntCCs))), intTypes[w], m.value(w), m.Iconst(intTypes[w], 0))
	case 5:
		w := m.rng.Intn(2)
		x := m.Binary(clif.OpBand, intTypes[w], m.value(w), m.operand2(w))
		if w == 0 && m.rng.Intn(3) == 0 {
			x = m.Binary([]clif.Opcode{clif.OpBand, clif.OpBor}[m.rng.Intn(2)], clif.I32, m.cond(), m.cond())
		}
		return m.Icmp(clif.IntCC(m.rng.Intn(int(clif.NumIntCCs))), intTypes[w], x, m.Iconst(intTypes[w], 0))
	}
	w := m.rng.Intn(2)
	return m.Icmp(clif.IntCC(m.rng.Intn(int(clif.NumIntCCs))), intTypes[w], m.value(w), m.operand2(w))
}

// operand2 returns a value or a constant.
func (m *tangle) operand2(w int) clif.Value {
	if m.rng.Intn(2) == 0 {
		return m.number(intTypes[w])
	}
	return m.value(w)
}

// selectOperand returns an operand of a select: a value, the result of one operation on it, or a number that needs no register.
func (m *tangle) selectOperand(w int) clif.Value {
	ty := intTypes[w]
	ones := uint64(1)<<(ty.Bits()-1)<<1 - 1
	switch m.rng.Intn(8) {
	case 0, 1, 2:
		return m.Iconst(ty, []uint64{0, 1, ones, 77}[m.rng.Intn(4)])
	case 3:
		return m.Binary(clif.OpIadd, ty, m.value(w), m.Iconst(ty, 1))
	case 4:
		return m.Binary(clif.OpIsub, ty, m.Iconst(ty, 0), m.value(w))
	case 5:
		return m.Binary(clif.OpBxor, ty, m.value(w), m.Iconst(ty, ones))
	case 6:
		if w == 0 {
			return m.low()
		}
	}
	return m.value(w)
}

// address returns an i32 below 0x8000.
func (m *tangle) address() (clif.Value, uint64) {
	off := []uint64{0, 0, 1, 8, 255, 256, 4095, 4096, 0x4008, 0x7000}[m.rng.Intn(10)]
	switch m.rng.Intn(4) {
	case 0:
		return m.Iconst(clif.I32, uint64(m.rng.Intn(0x1000))), off
	case 1:
		x := m.Binary(clif.OpBand, clif.I32, m.value(0), m.Iconst(clif.I32, 0xff))
		return m.Binary(clif.OpIshl, clif.I32, x, m.Iconst(clif.I32, uint64(m.rng.Intn(5)))), off
	case 2:
		return m.Binary(clif.OpUshr, clif.I32, m.value(0), m.Iconst(clif.I32, uint64(20+m.rng.Intn(12)))), off
	}
	return m.Binary(clif.OpBand, clif.I32, m.value(0), m.Iconst(clif.I32, 0xfff)), off
}

// make returns an operation of width w.
func (m *tangle) make(w int) clif.Value {
	ty, r := intTypes[w], m.rng
	arith := []clif.Opcode{clif.OpIadd, clif.OpIadd, clif.OpIsub, clif.OpImul, clif.OpBand, clif.OpBor, clif.OpBxor}
	shifts := []clif.Opcode{clif.OpIshl, clif.OpUshr, clif.OpSshr, clif.OpRotl, clif.OpRotr, clif.OpIshl, clif.OpUshr}
	switch r.Intn(17) {
	case 0, 1, 2:
		x, y := m.value(w), m.operand2(w)
		if r.Intn(4) == 0 {
			x, y = y, x
		}
		return m.Binary(arith[r.Intn(len(arith))], ty, x, y)
	case 3:
		return m.joined(w)
	case 4, 5, 6:
		return m.Binary(shifts[r.Intn(len(shifts))], ty, m.value(w), m.amount(ty, w))
	case 7:
		return m.Binary(clif.OpBand, ty, m.value(w), m.number(ty))
	case 8:
		ops := []clif.Opcode{clif.OpSext8, clif.OpSext16, clif.OpClz, clif.OpCtz, clif.OpPopcnt, clif.OpSext32}
		return m.Unary(ops[r.Intn(len(ops)-1+w)], ty, m.value(w))
	case 9, 10:
		if w == 1 {
			return m.Unary([]clif.Opcode{clif.OpUextend, clif.OpSextend}[r.Intn(2)], ty, m.value(0))
		}
		return m.low()
	case 11:
		return m.Select(ty, m.cond(), m.selectOperand(w), m.selectOperand(w))
	case 12:
		c := m.cond()
		if w == 1 {
			c = m.Unary(clif.OpUextend, ty, c)
		}
		if r.Intn(2) == 0 {
			return c
		}
		return m.Binary([]clif.Opcode{clif.OpIadd, clif.OpIsub}[r.Intn(2)], ty, m.operand2(w), c)
	case 13:
		acc := accesses(ty, false)
		a, off := m.address()
		return m.Load(ty, acc[r.Intn(len(acc))], 0, a, off)
	case 14:
		if r.Intn(2) == 0 {
			acc := accesses(ty, true)
			a, off := m.address()
			m.Store(ty, acc[r.Intn(len(acc))], 0, a, m.operand2(w), off)
		}
		x := m.Binary(clif.OpIsub, ty, m.Iconst(ty, 0), m.value(w))
		if r.Intn(2) == 0 {
			x = m.Binary(clif.OpBxor, ty, m.value(w), m.Iconst(ty, 1<<(ty.Bits()-1)<<1-1))
		}
		return x
	}
	if k := r.Intn(3); k == 0 {
		op := []clif.Opcode{clif.OpUdiv, clif.OpSdiv, clif.OpUrem, clif.OpSrem}[r.Intn(4)]
		return m.Binary(op, ty, m.value(w), m.operand2(w))
	} else if k == 1 && w == 1 {
		wide := func() clif.Value {
			return m.Unary([]clif.Opcode{clif.OpUextend, clif.OpSextend}[r.Intn(2)], ty, m.value(0))
		}
		return m.Binary(clif.OpImul, ty, wide(), wide())
	}
	return m.fromFloat(w)
}

// fromFloat converts a float to an i32 or i64. It takes the bits of a float only if that is no computed NaN.
func (m *tangle) fromFloat(w int) clif.Value {
	r, ty, f := m.rng, intTypes[w], floatTypes[m.rng.Intn(2)]
	switch r.Intn(8) {
	case 0:
		return m.Unary(clif.OpBitcast, ty, m.converted(floatTypes[w]))
	case 1:
		a, off := m.address()
		return m.Unary(clif.OpBitcast, ty, m.Load(floatTypes[w], clif.Full, 0, a, off))
	case 2:
		return m.Unary([]clif.Opcode{clif.OpFcvtToSint, clif.OpFcvtToUint}[r.Intn(2)], ty, m.converted(f))
	case 3:
		a, off := m.address()
		m.Store(f, clif.Full, 0, a, m.converted(f), off)
	}
	return m.Unary([]clif.Opcode{clif.OpFcvtToSintSat, clif.OpFcvtToUintSat}[r.Intn(2)], ty, m.float(f, 3))
}

// converted returns a float that is no NaN: a converted integer, or a constant.
func (m *tangle) converted(f clif.Type) clif.Value {
	if m.rng.Intn(4) == 0 {
		return m.Fconst(f, backend.FloatBits(f, []float64{0, math.Copysign(0, -1), 1, -1.5, 31, 0.1, 1e9, -3e19}[m.rng.Intn(8)]))
	}
	return m.Unary([]clif.Opcode{clif.OpFcvtFromSint, clif.OpFcvtFromUint}[m.rng.Intn(2)], f, m.value(m.rng.Intn(2)))
}

// float returns a float made by a bounded number of operations.
func (m *tangle) float(f clif.Type, n int) clif.Value {
	r := m.rng
	if n == 0 {
		return m.converted(f)
	}
	switch r.Intn(9) {
	case 0:
		ops := []clif.Opcode{clif.OpFneg, clif.OpFabs, clif.OpFsqrt, clif.OpFceil, clif.OpFfloor, clif.OpFtrunc, clif.OpFnearest}
		return m.Unary(ops[r.Intn(len(ops))], f, m.float(f, n-1))
	case 1:
		return m.Unary(clif.OpFneg, f, m.Binary(clif.OpFmul, f, m.float(f, n-1), m.float(f, n-1)))
	case 2:
		return m.Binary(clif.OpFcopysign, f, m.float(f, n-1), m.converted(f))
	case 3:
		if f == clif.F32 {
			return m.Unary(clif.OpFdemote, f, m.float(clif.F64, n-1))
		}
		return m.Unary(clif.OpFpromote, f, m.float(clif.F32, n-1))
	case 4:
		return m.Select(f, m.cond(), m.float(f, n-1), m.float(f, n-1))
	case 5:
		return m.Unary(clif.OpBitcast, f, m.value(int(f-clif.F32)))
	case 6:
		return m.converted(f)
	}
	ops := []clif.Opcode{clif.OpFadd, clif.OpFsub, clif.OpFmul, clif.OpFdiv, clif.OpFmin, clif.OpFmax}
	return m.Binary(ops[r.Intn(len(ops))], f, m.float(f, n-1), m.float(f, n-1))
}

// joined combines two values: a field of one in the other, or a funnel shift.
func (m *tangle) joined(w int) clif.Value {
	ty, r := intTypes[w], m.rng
	n := ty.Bits()
	all := uint64(1)<<(n-1)<<1 - 1
	k, wide := r.Intn(n), 1+r.Intn(n)
	at := func(op clif.Opcode, x clif.Value, k int) clif.Value {
		return m.Binary(op, ty, x, m.Iconst(ty, uint64(k)))
	}
	mask := func(x clif.Value, k uint64) clif.Value { return m.Binary(clif.OpBand, ty, x, m.Iconst(ty, k&all)) }
	x, y, ones := m.value(w), m.value(w), uint64(1)<<wide-1
	switch r.Intn(7) {
	case 0:
		x, y = at(clif.OpIshl, x, k), at(clif.OpUshr, y, n-k)
	case 1:
		x, y = mask(x, ^(ones<<k)), at(clif.OpIshl, mask(y, ones), k)
	case 2:
		x, y = mask(x, ^(ones<<k)), mask(at(clif.OpIshl, y, k), ones<<k)
	case 3:
		x, y = mask(x, ^ones), mask(at(clif.OpUshr, y, k), ones)
	case 4:
		x, y = mask(x, ^ones), at(clif.OpUshr, y, n-wide)
	case 5:
		x, y = mask(x, all>>k), at(clif.OpIshl, y, n-k)
	case 6: // bits above the field
		wide = max(1, min(wide, n-k-1))
		x, y = mask(x, ^((1<<wide-1)<<k)), at(clif.OpIshl, y, k)
	}
	if r.Intn(2) == 0 {
		x, y = y, x
	}
	return m.Binary(clif.OpBor, ty, x, y)
}

// low returns the lower half of an i64; the upper half may be clear.
func (m *tangle) low() clif.Value {
	x := m.value(1)
	switch m.rng.Intn(4) {
	case 0:
		x = m.Binary(clif.OpUshr, clif.I64, x, m.Iconst(clif.I64, uint64(30+m.rng.Intn(34))))
	case 1:
		x = m.Binary(clif.OpBand, clif.I64, x, m.Iconst(clif.I64, []uint64{0xff, 0xffff, 0xffff_ffff, 0x1_0000_0000, 0x7fff_ffff}[m.rng.Intn(5)]))
	case 2:
		a, off := m.address()
		x = m.Load(clif.I64, []clif.Access{clif.U8, clif.U16, clif.U32, clif.S8, clif.S16, clif.S32}[m.rng.Intn(6)], 0, a, off)
	}
	return m.Unary(clif.OpIreduce, clif.I32, x)
}

// results returns three values: an i32 with what is in the rest of its register, an i64, an i32.
func (m *tangle) results() (r []clif.Value) {
	for k := range 3 {
		m.left = 2 + m.rng.Intn(7)
		x := m.make(k % 2)
		if k == 0 {
			x = m.Unary(clif.OpUextend, clif.I64, x)
		}
		r = append(r, x)
	}
	return r
}

// args returns arguments of a block that takes an i32 and an i64.
func (m *tangle) args() (vs []clif.Value) {
	for w := range 2 {
		m.left = 1 + m.rng.Intn(5)
		vs = append(vs, m.value(w))
	}
	return vs
}

// enter continues in a block that takes an i32 and an i64.
func (m *tangle) enter(blk clif.Block) {
	for w, ty := range intTypes {
		m.vals[w] = append(m.vals[w], m.AddParam(blk, ty))
	}
	m.SwitchTo(blk)
}

// within calls f. The values that f makes are not used after it.
func (m *tangle) within(f func()) {
	old := m.vals
	f()
	m.vals = [2][]clif.Value{old[0][:len(old[0]):len(old[0])], old[1][:len(old[1]):len(old[1])]}
}

// fork branches two ways and joins them.
func (m *tangle) fork() {
	m.left = 3 + m.rng.Intn(4)
	sides, join := [2]clif.Block{m.NewBlock(), m.NewBlock()}, m.NewBlock()
	m.Branch(m.cond(), m.Target(sides[0], nil), m.Target(sides[1], nil))
	for _, side := range sides {
		m.within(func() {
			m.SwitchTo(side)
			m.Jump(m.Target(join, m.args()))
		})
	}
	m.enter(join)
}

// loop makes a loop of three iterations.
func (m *tangle) loop() {
	head, exit := m.NewBlock(), m.NewBlock()
	n := m.Iconst(clif.I32, 0)
	m.Jump(m.Target(head, append(m.args(), n)))
	m.enter(head)
	k := m.AddParam(head, clif.I32)
	vs := m.args()
	k2 := m.Binary(clif.OpIadd, clif.I32, k, m.Iconst(clif.I32, 1))
	m.Branch(m.Icmp(clif.Ult, clif.I32, k2, m.Iconst(clif.I32, 3)), m.Target(head, append(vs, k2)), m.Target(exit, nil))
	m.SwitchTo(exit)
}

// widthsModules is how many modules testWidths makes, of widthsFuncs functions each.
var widthsModules = flag.Int64("widths", 2, "number of random modules of TestMachine/Widths")

const widthsFuncs = 800

// testWidths runs random expressions of both widths.
func testWidths(t *testing.T, on *Machine) {
	for seed := range *widthsModules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { widths(t, on, rand.New(rand.NewSource(seed))) })
	}
}

func widths(t *testing.T, on *Machine, rng *rand.Rand) {
	s := newSuite(on)
	params := []clif.Type{clif.I64, clif.I64, clif.I64, clif.I32}
	fill := s.Fn([]clif.Type{clif.I32, clif.I64}, nil, func(b *clif.Builder, p []clif.Value) {
		b.Store(clif.I64, clif.Full, 0, p[0], p[1], 0)
		b.Return(nil)
	})
	for a := uint64(0); a < 0x2000; a += 8 {
		s.call(fill, "fill", a, a*0x9e3779b97f4a7c15|0x80)
	}
	near := []uint64{0, 1, 2, 7, 31, 32, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x8000_0001, 0xffff_ff80}
	for n := range widthsFuncs {
		fn := s.Fn(params, []clif.Type{clif.I64, clif.I64, clif.I32}, func(cb *clif.Builder, p []clif.Value) {
			m := &tangle{builder: &builder{cb}, rng: rng, vals: [2][]clif.Value{{p[3]}, {p[0], p[1], p[2]}}}
			switch rng.Intn(4) {
			case 0:
				m.fork()
			case 1:
				m.loop()
			}
			m.Return(m.results())
		})
		for range 7 {
			var a []uint64
			for k := range params {
				x := near[rng.Intn(len(near))]
				switch rng.Intn(4) {
				case 0:
					x |= rng.Uint64() << 32
				case 1:
					x |= 0xffffffff_00000000
				case 2:
					x = rng.Uint64()
				}
				if k == 3 {
					x = uint64(uint32(x))
				}
				a = append(a, x)
			}
			s.call(fn, fmt.Sprint("function ", n), a...)
		}
	}
	s.wholeMemory = true
	s.run(t)
}
