package isatest

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

var corners = map[clif.Type][]uint64{
	clif.I32: {0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7ffffffe, 0x7fffffff,
		0x80000000, 0x80000001, 0xaaaaaaaa, 0xffffff7f, 0xffffff80, 0xfffffffe, 0xffffffff},
	clif.I64: {0, 1, 2, 3, 7, 31, 32, 63, 64, 65, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32,
		0x5555555555555555, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0) - 127, ^uint64(0) - 0x7fffffff, ^uint64(0) - 0x80000000, ^uint64(0) - 1, ^uint64(0)},
	clif.F32: f32s(0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 1e-45, -1e-45, math.MaxFloat32, -math.MaxFloat32,
		math.Inf(1), math.Inf(-1), math.NaN(), 2147483520, 2147483648, -2147483648, -2147483904, 4294967040, 4294967296, 9223371487098961920, 9223372036854775808,
		-9223372036854775808, -9223373136366403584, 18446742974197923840, 18446744073709551616, -0.99, 3.75, 8388609, 1e10),
	clif.F64: f64s(0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(), 2147483647, 2147483648, 2147483647.9, -2147483648, -2147483648.9, -2147483649, 4294967295, 4294967295.9, 4294967296,
		9223372036854774784, 9223372036854775808, -9223372036854775808, -9223372036854777856, 18446744073709549568, 18446744073709551616, -0.99, 3.75, 4503599627370497, 1e300, 1e-310),
}

func f32s(xs ...float64) (r []uint64) {
	for _, x := range xs {
		r = append(r, uint64(math.Float32bits(float32(x))))
	}
	return append(r, 0xffa00000, 0x7fc12345)
}

func f64s(xs ...float64) (r []uint64) {
	for _, x := range xs {
		r = append(r, math.Float64bits(x))
	}
	return append(r, 0xfff4<<48, 0x7ff8<<48|12345)
}

// source is where an operand comes from.
type source int

const (
	param source = iota
	konst
	loaded
	numSources
)

var sourceNames = [numSources]string{"param", "const", "load"}

func (b *builder) konst(t clif.Type, x uint64) clif.Value {
	if t.IsFloat() {
		return b.Fconst(t, x)
	}
	return b.Iconst(t, x)
}

type builder struct{ *clif.Builder }

// operand makes an operand of type t: a parameter, a constant, or a load from address a.
func (b *builder) operand(src source, t clif.Type, p clif.Value, k uint64, a uint64) clif.Value {
	switch src {
	case konst:
		return b.konst(t, k)
	case loaded:
		return b.Load(t, clif.Full, 0, b.Iconst(clif.I32, a), 0)
	}
	return p
}

// pick returns a few values of xs.
func pick(xs []uint64, every int) (r []uint64) {
	for i := 0; i < len(xs); i += every {
		r = append(r, xs[i])
	}
	return r
}

// typesOf returns the types from i32 to f64 that op has.
func typesOf(op clif.Opcode) (ts []clif.Type) {
	for t := clif.I32; t <= clif.F64; t++ {
		if op.Info().Types.Has(t) {
			ts = append(ts, t)
		}
	}
	return ts
}

// binary adds functions op(x, y) with operands of all sources, called with the corner values.
// emit makes the result from the operands.
func (s *suite) binary(name string, t, result clif.Type, every int, emit func(b *builder, x, y clif.Value) clif.Value) {
	cs := corners[t]
	every *= testenv.Cases(3, 2, 1)
	for sx := param; sx < numSources; sx++ {
		for sy := param; sy < numSources; sy++ {
			if sx == konst && sy == konst {
				continue
			}
			ks := []uint64{0}
			if sx == konst || sy == konst {
				ks = pick(cs, max(s.ends, testenv.Cases(6, 4, 1)))
			}
			for _, k := range ks {
				what := fmt.Sprintf("%s.%v(%s, %s; %#x)", name, t, sourceNames[sx], sourceNames[sy], k)
				fn := s.Fn([]clif.Type{t, t}, []clif.Type{result}, func(cb *clif.Builder, p []clif.Value) {
					b := &builder{cb}
					for i, src := range []source{sx, sy} {
						if src == loaded {
							b.Store(t, clif.Full, 0, b.Iconst(clif.I32, uint64(16+16*i)), p[i], 0)
						}
					}
					x := b.operand(sx, t, p[0], k, 16)
					y := b.operand(sy, t, p[1], k, 32)
					b.Return([]clif.Value{emit(b, x, y)})
				})
				for _, x := range pick(cs, every) {
					for _, y := range pick(cs, every) {
						if sx == konst && x != cs[0] || sy == konst && y != cs[0] {
							continue
						}
						s.call(fn, what, x, y)
					}
				}
				for i, x := range cs {
					if s.ends > 0 && i%s.ends != 0 {
						continue
					}
					s.call(fn, what, x, cs[1])
					s.call(fn, what, cs[2], x)
				}
			}
		}
	}
}

// sampled reports whether combination n of a grid is tried at the level of the tests.
func sampled(n int) bool { return n%testenv.Cases(3, 2, 1) == 0 }

func newSuite(on *Machine) *suite {
	s := &suite{module: module{on: on}}
	s.Memories = []clif.MemoryDecl{{Min: 1, Max: 4, HasMax: true}}
	return s
}

func testBinary(t *testing.T, on *Machine) {
	for op := clif.OpIadd; op <= clif.OpFcopysign; op++ {
		if op.Info().Format != clif.FormatBinary {
			continue
		}
		t.Run(op.String(), func(t *testing.T) {
			s := newSuite(on)
			for _, ty := range typesOf(op) {
				s.binary(op.String(), ty, ty, 2, func(b *builder, x, y clif.Value) clif.Value { return b.Binary(op, ty, x, y) })
			}
			s.run(t)
		})
	}
}

// consumers are the ways to use a condition: each makes an i32 of it.
var consumers = []struct {
	name string
	make func(b *builder, c clif.Value) clif.Value
}{
	{"value", func(b *builder, c clif.Value) clif.Value { return c }},
	{"branch", func(b *builder, c clif.Value) clif.Value {
		join := b.NewBlock()
		x := b.AddParam(join, clif.I32)
		b.Branch(c, b.Target(join, []clif.Value{b.Iconst(clif.I32, 5)}), b.Target(join, []clif.Value{b.Iconst(clif.I32, 6)}))
		b.SwitchTo(join)
		return x
	}},
	{"select", func(b *builder, c clif.Value) clif.Value {
		return b.Select(clif.I32, c, b.Iconst(clif.I32, 7), b.Iconst(clif.I32, 8))
	}},
	{"fselect", func(b *builder, c clif.Value) clif.Value {
		x := b.Select(clif.F64, c, b.Fconst(clif.F64, math.Float64bits(7)), b.Fconst(clif.F64, math.Float64bits(8)))
		return b.Unary(clif.OpFcvtToSint, clif.I32, x)
	}},
	{"trapif", func(b *builder, c clif.Value) clif.Value {
		b.TrapIf(c, 1)
		return b.Iconst(clif.I32, 9)
	}},
	{"eqz", func(b *builder, c clif.Value) clif.Value { return b.Icmp(clif.Eq, clif.I32, c, b.Iconst(clif.I32, 0)) }},
	{"eqz branch", func(b *builder, c clif.Value) clif.Value {
		c = b.Icmp(clif.Eq, clif.I32, c, b.Iconst(clif.I32, 0))
		yes, no := b.NewBlock(), b.NewBlock()
		b.Branch(c, b.Target(yes, nil), b.Target(no, nil))
		b.SwitchTo(yes)
		b.Return([]clif.Value{b.Iconst(clif.I32, 10)})
		b.SwitchTo(no)
		return b.Iconst(clif.I32, 11)
	}},
	{"twice", func(b *builder, c clif.Value) clif.Value {
		x := b.Select(clif.I32, c, b.Iconst(clif.I32, 7), b.Iconst(clif.I32, 8))
		return b.Binary(clif.OpIadd, clif.I32, x, b.Binary(clif.OpIshl, clif.I32, c, b.Iconst(clif.I32, 4)))
	}},
	{"nez select eqz", func(b *builder, c clif.Value) clif.Value {
		n := b.Icmp(clif.Ne, clif.I32, c, b.Iconst(clif.I32, 0))
		e := b.Icmp(clif.Eq, clif.I32, n, b.Iconst(clif.I32, 0))
		x := b.Select(clif.I32, e, n, b.Iconst(clif.I32, 8))
		return x
	}},
}

func testCompare(t *testing.T, on *Machine) {
	for ci, cons := range consumers {
		t.Run(cons.name, func(t *testing.T) {
			s := newSuite(on)
			s.ends = 5
			if ci == 0 {
				s.ends = 3
			}
			for ty := clif.I32; ty <= clif.F64; ty++ {
				n := clif.IntCC(clif.NumIntCCs)
				if ty.IsFloat() {
					n = clif.IntCC(clif.NumFloatCCs)
				}
				for cc := clif.IntCC(0); cc < n; cc++ {
					if !sampled(ci + int(cc)) {
						continue
					}
					name := fmt.Sprintf("%s cmp %d", cons.name, cc)
					s.binary(name, ty, clif.I32, 3, func(b *builder, x, y clif.Value) clif.Value {
						if ty.IsFloat() {
							return cons.make(b, b.Fcmp(clif.FloatCC(cc), ty, x, y))
						}
						return cons.make(b, b.Icmp(cc, ty, x, y))
					})
				}
			}
			s.run(t)
		})
	}
}

// testCompareZero covers test, with masks, and truth values.
func testCompareZero(t *testing.T, on *Machine) {
	for ci, cons := range consumers {
		s := newSuite(on)
		s.ends = 5
		for ty := clif.I32; ty <= clif.I64; ty++ {
			for cc := clif.Eq; cc < clif.NumIntCCs; cc++ {
				if !sampled(ci + int(cc)) {
					continue
				}
				s.binary(fmt.Sprintf("%s band cmp %v 0", cons.name, cc), ty, clif.I32, 3, func(b *builder, x, y clif.Value) clif.Value {
					return cons.make(b, b.Icmp(cc, ty, b.Binary(clif.OpBand, ty, x, y), b.Iconst(ty, 0)))
				})
			}
		}
		s.binary(cons.name+" band", clif.I32, clif.I32, 3, func(b *builder, x, y clif.Value) clif.Value {
			return cons.make(b, b.Binary(clif.OpBand, clif.I32, x, y))
		})
		s.binary(cons.name+" isub", clif.I32, clif.I32, 3, func(b *builder, x, y clif.Value) clif.Value {
			return cons.make(b, b.Binary(clif.OpIsub, clif.I32, x, y))
		})
		s.run(t)
	}
}

// testNarrowCompare compares narrow loads with constants.
func testNarrowCompare(t *testing.T, on *Machine) {
	for ci, cons := range consumers {
		s := newSuite(on)
		for _, ty := range []clif.Type{clif.I32, clif.I64} {
			for acc := clif.U8; acc <= clif.S16; acc++ {
				for ki, k := range []uint64{0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x10000, 0xffffffff} {
					for cc := clif.Eq; cc < clif.NumIntCCs; cc++ {
						if !sampled(ci + int(acc) + ki + int(cc)) {
							continue
						}
						for _, masked := range []bool{false, true} {
							fn := s.Fn([]clif.Type{clif.I32, clif.I32}, i32, func(cb *clif.Builder, p []clif.Value) {
								b := &builder{cb}
								b.Store(clif.I32, clif.Full, 0, p[0], p[1], 4)
								x := b.Load(ty, acc, 0, p[0], 4)
								y := b.Iconst(ty, k)
								if masked {
									x, y = b.Binary(clif.OpBand, ty, x, y), b.Iconst(ty, 0)
								}
								b.Return([]clif.Value{cons.make(b, b.Icmp(cc, ty, x, y))})
							})
							for _, x := range []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x180} {
								s.call(fn, fmt.Sprintf("%v.%v %v %#x masked %v", ty, acc, cc, k, masked), 8, x)
							}
						}
					}
				}
			}
		}
		s.run(t)
	}
}

// unary adds functions op(x), x from a parameter or loaded.
func (s *suite) unary(op clif.Opcode, from, t clif.Type) {
	for _, src := range []source{param, loaded} {
		fn := s.Fn([]clif.Type{from}, []clif.Type{t}, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb}
			if src == loaded {
				b.Store(from, clif.Full, 0, b.Iconst(clif.I32, 32), p[0], 0)
			}
			b.Return([]clif.Value{b.Unary(op, t, b.operand(src, from, p[0], 0, 32))})
		})
		both := s.Fn([]clif.Type{from}, []clif.Type{t, from}, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb} // the source is used again
			b.Return([]clif.Value{b.Unary(op, t, p[0]), p[0]})
		})
		for _, x := range corners[from] {
			what := fmt.Sprintf("%v.%v(%v %s)", op, t, from, sourceNames[src])
			s.call(fn, what, x)
			s.call(both, what, x)
		}
	}
}

func testUnary(t *testing.T, on *Machine) {
	s := newSuite(on)
	all := []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}
	for _, ty := range all {
		for op := clif.OpIconst; op < clif.NumOpcodes; op++ {
			info := op.Info()
			if info.Format != clif.FormatUnary || !info.Types.Has(ty) || op == clif.OpRefIsNull {
				continue
			}
			for _, from := range all {
				ok := false
				switch info.Sig[0] {
				case 'C':
					ok = from == ty
				case 'i':
					ok = from == clif.I32
				case 'l':
					ok = from == clif.I64
				case 'f':
					ok = from.IsFloat()
				case 'n':
					ok = from.IsInt()
				case 's':
					ok = from.IsFloat() && from != ty
				case 'b':
					ok = from.Bits() == ty.Bits() && from.IsFloat() != ty.IsFloat()
				}
				if op == clif.OpFdemote {
					ok = from == clif.F64
				}
				if ok {
					s.unary(op, from, ty)
				}
			}
		}
	}
	s.run(t)
}

// testIdioms covers rules that look at more than one instruction.
func testIdioms(t *testing.T, on *Machine) {
	type V = clif.Value
	idioms := []struct {
		name string
		make func(b *builder, ty clif.Type, x, y V) V
	}{
		{"and not", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpBand, ty, x, b.Binary(clif.OpBxor, ty, y, b.Iconst(ty, ^uint64(0))))
		}},
		{"not and", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpBand, ty, b.Binary(clif.OpBxor, ty, y, b.Iconst(ty, ^uint64(0))), x)
		}},
		{"double, kept", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpBxor, ty, b.Binary(clif.OpIshl, ty, x, b.Iconst(ty, 1)), x)
		}},
		{"rotl, kept", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpBxor, ty, b.Binary(clif.OpRotl, ty, x, b.Iconst(ty, 7)), b.Binary(clif.OpRotr, ty, x, b.Iconst(ty, 9)))
		}},
		{"masked amount", func(b *builder, ty clif.Type, x, y V) V {
			n := b.Binary(clif.OpBand, ty, y, b.Iconst(ty, uint64(ty.Bits()-1)))
			return b.Binary(clif.OpIshl, ty, x, n)
		}},
		{"amount masked too far", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpUshr, ty, x, b.Binary(clif.OpBand, ty, y, b.Iconst(ty, 15)))
		}},
		{"sum of three", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpIadd, ty, b.Binary(clif.OpIadd, ty, x, y), b.Iconst(ty, 0xfffffff0))
		}},
		{"scaled", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpIadd, ty, b.Binary(clif.OpIshl, ty, x, b.Iconst(ty, 3)), y)
		}},
		{"scaled by 32 more", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpIadd, ty, y, b.Binary(clif.OpIshl, ty, x, b.Iconst(ty, 34)))
		}},
		{"scaled sum of three", func(b *builder, ty clif.Type, x, y V) V {
			z := b.Binary(clif.OpIadd, ty, b.Binary(clif.OpIshl, ty, x, b.Iconst(ty, 2)), y)
			return b.Binary(clif.OpIadd, ty, z, b.Iconst(ty, 100))
		}},
		{"both scaled", func(b *builder, ty clif.Type, x, y V) V {
			return b.Binary(clif.OpIadd, ty, b.Binary(clif.OpIshl, ty, x, b.Iconst(ty, 1)), b.Binary(clif.OpIshl, ty, y, b.Iconst(ty, 2)))
		}},
		{"sums kept", func(b *builder, ty clif.Type, x, y V) V {
			z := b.Binary(clif.OpIadd, ty, x, y)
			w := b.Binary(clif.OpIsub, ty, x, b.Iconst(ty, 7))
			return b.Binary(clif.OpBxor, ty, z, b.Binary(clif.OpBxor, ty, w, b.Binary(clif.OpIadd, ty, y, b.Iconst(ty, 9))))
		}},
		{"sum of a zero-extended sum", func(b *builder, ty clif.Type, x, y V) V {
			if ty == clif.I32 {
				return x
			}
			r := func(v V) V { return b.Unary(clif.OpIreduce, clif.I32, v) }
			z := b.Unary(clif.OpUextend, ty, b.Binary(clif.OpIadd, clif.I32, r(x), r(y)))
			z = b.Binary(clif.OpIadd, ty, z, b.Iconst(ty, 5))
			w := b.Unary(clif.OpUextend, ty, b.Binary(clif.OpIshl, clif.I32, r(x), b.Iconst(clif.I32, 2)))
			m := b.Unary(clif.OpUextend, ty, b.Binary(clif.OpBand, clif.I32, r(x), r(y)))
			c := b.Unary(clif.OpUextend, ty, b.Icmp(clif.Slt, ty, m, b.Iconst(ty, 0)))
			return b.Binary(clif.OpIadd, ty, b.Binary(clif.OpIadd, ty, w, y), b.Binary(clif.OpIadd, ty, z, c))
		}},
		{"conversion of a zero-extended value", func(b *builder, ty clif.Type, x, y V) V {
			if ty == clif.I32 {
				return x
			}
			z := b.Unary(clif.OpUextend, ty, b.Unary(clif.OpIreduce, clif.I32, x))
			f := b.Unary(clif.OpFcvtFromSint, clif.F64, z)
			g := b.Unary(clif.OpFcvtFromUint, clif.F64, z)
			h := b.Unary(clif.OpBitcast, clif.F64, z)
			e := b.Unary(clif.OpSext32, ty, z)
			s := b.Binary(clif.OpFadd, clif.F64, b.Binary(clif.OpFadd, clif.F64, f, g), h)
			return b.Binary(clif.OpBxor, ty, b.Unary(clif.OpBitcast, ty, s), e)
		}},
	}
	s := newSuite(on)
	for _, id := range idioms {
		for ty := clif.I32; ty <= clif.I64; ty++ {
			s.ends = 6
			s.binary(id.name, ty, ty, 2, func(b *builder, x, y V) V { return id.make(b, ty, x, y) })
		}
	}
	s.run(t)
}

// testDivisors divides by many constants.
func testDivisors(t *testing.T, on *Machine) {
	rng := rand.New(rand.NewSource(3))
	s := &suite{module: module{on: on}}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		m := uint64(1)<<(ty.Bits()-1)<<1 - 1
		var ds []uint64
		for k := uint64(0); k <= 20; k++ {
			ds = append(ds, k, -k&m)
		}
		for k := 5; k < ty.Bits(); k++ {
			p := uint64(1) << k
			ds = append(ds, p-1, p, p+1, -p&m, (1-p)&m)
		}
		for range 40 {
			ds = append(ds, rng.Uint64()&m, rng.Uint64()&m>>rng.Intn(ty.Bits()-1))
		}
		for _, op := range []clif.Opcode{clif.OpUdiv, clif.OpSdiv, clif.OpUrem, clif.OpSrem} {
			for _, d := range ds {
				fn := s.Fn([]clif.Type{ty}, []clif.Type{ty}, func(b *clif.Builder, p []clif.Value) {
					b.Return([]clif.Value{b.Binary(op, ty, p[0], b.Iconst(ty, d))})
				})
				what := fmt.Sprintf("%v.%v by %#x", op, ty, d)
				for _, x := range pick(corners[ty], 3) {
					s.call(fn, what, x)
				}
				q := rng.Uint64() & m >> rng.Intn(ty.Bits())
				for _, x := range []uint64{m, m >> 1, m>>1 + 1, rng.Uint64(), q * d, q*d - 1, q*d + 1, q*d + d - 1} {
					s.call(fn, what, x&m)
				}
			}
		}
	}
	s.run(t)
}
