package isatest

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/clif"
)

// amounts returns shifts of type t: all of an i32, the ends and a few others of an i64.
func amounts(t clif.Type) (ks []uint64) {
	for k := range uint64(t.Bits()) {
		if t == clif.I32 || k < 3 || k > 61 || k%9 == 0 || k >= 31 && k <= 33 {
			ks = append(ks, k)
		}
	}
	return ks
}

// unaryOf adds a function of one i32 or i64, called with a few values.
func (s *suite) unaryOf(what string, ty, result clif.Type, build func(b *builder, x clif.Value) clif.Value) {
	fn := s.Fn([]clif.Type{ty}, []clif.Type{result}, func(cb *clif.Builder, p []clif.Value) {
		b := &builder{cb}
		b.Return([]clif.Value{build(b, p[0])})
	})
	m := uint64(1)<<(ty.Bits()-1)<<1 - 1
	for _, x := range []uint64{0, 1, m, 0x8192a3b4c5d6e7f8 & m, 0x7fffffff, 0x80000000, 0x5a5a5a5a00ff00ff & m} {
		s.call(fn, what, x)
	}
}

// testFields covers pairs of shifts, masks and extensions, which become bit fields.
func testFields(t *testing.T, on *Machine) {
	type V = clif.Value
	s := &suite{module: module{on: on}}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		n := uint64(ty.Bits())
		all := uint64(1)<<(n-1)<<1 - 1
		op := func(b *builder, op clif.Opcode, x V, k uint64) V { return b.Binary(op, ty, x, b.Iconst(ty, k&all)) }
		shifts := []clif.Opcode{clif.OpIshl, clif.OpUshr, clif.OpSshr, clif.OpRotl, clif.OpRotr}
		for i1, k1 := range amounts(ty) {
			for i2, k2 := range amounts(ty) {
				if !sampled(i1 + i2) {
					continue
				}
				for i, o1 := range shifts[:3] {
					o2 := shifts[(int(k1+k2)+i)%len(shifts)]
					s.unaryOf(fmt.Sprintf("%v.%v %d %v %d", o1, ty, k1, o2, k2), ty, ty, func(b *builder, x V) V {
						return op(b, o2, op(b, o1, x, k1), k2)
					})
				}
				// A mask of k2+1 bits, at bit 0 or where the shift puts it.
				m := uint64(1)<<k2<<1 - 1
				o := shifts[(k1+k2)%3]
				s.unaryOf(fmt.Sprintf("%v %v %d mask %#x", ty, o, k1, m), ty, ty, func(b *builder, x V) V {
					return op(b, clif.OpBand, op(b, o, x, k1), m)
				})
				s.unaryOf(fmt.Sprintf("%v %v %d mask %#x placed", ty, o, k1, m), ty, ty, func(b *builder, x V) V {
					return op(b, clif.OpBand, op(b, o, x, k1), m<<k1)
				})
				s.unaryOf(fmt.Sprintf("%v mask %#x %v %d", ty, m, o, k1), ty, ty, func(b *builder, x V) V {
					return op(b, o, op(b, clif.OpBand, x, m), k1)
				})
				s.unaryOf(fmt.Sprintf("%v mask %#x placed %v %d", ty, m<<k1, o, k1), ty, ty, func(b *builder, x V) V {
					return op(b, o, op(b, clif.OpBand, x, m<<k1|m>>1), k1)
				})
			}
			for _, ext := range []clif.Opcode{clif.OpSext8, clif.OpSext16, clif.OpSext32} {
				if ext == clif.OpSext32 && ty == clif.I32 {
					continue
				}
				for _, o := range shifts {
					s.unaryOf(fmt.Sprintf("%v %v %v %d", ty, ext, o, k1), ty, ty, func(b *builder, x V) V {
						return b.Unary(ext, ty, op(b, o, x, k1))
					})
					s.unaryOf(fmt.Sprintf("%v %v %d of %v", ty, o, k1, ext), ty, ty, func(b *builder, x V) V {
						return op(b, o, b.Unary(ext, ty, x), k1)
					})
				}
			}
			if ty == clif.I64 {
				for _, o := range shifts {
					s.unaryOf(fmt.Sprintf("ireduce of %v %d", o, k1), ty, clif.I32, func(b *builder, x V) V {
						return b.Unary(clif.OpIreduce, clif.I32, op(b, o, x, k1))
					})
				}
			}
		}
	}
	s.run(t)
}

// testInsertion covers what joins two values: inserted fields and funnel shifts, with all amounts, those that do
// not fit included.
func testInsertion(t *testing.T, on *Machine) {
	type V = clif.Value
	s := &suite{module: module{on: on}}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		n := uint64(ty.Bits())
		all := uint64(1)<<(n-1)<<1 - 1
		op := func(b *builder, op clif.Opcode, x V, k uint64) V { return b.Binary(op, ty, x, b.Iconst(ty, k&all)) }
		two := func(what string, build func(b *builder, x, y V) V) {
			fn := s.Fn([]clif.Type{ty, ty}, []clif.Type{ty}, func(cb *clif.Builder, p []V) {
				b := &builder{cb}
				b.Return([]V{build(b, p[0], p[1])})
			})
			s.call(fn, what, 0x8192a3b4c5d6e7f8&all, 0x5a3c96e1f00f1248&all)
			s.call(fn, what, all, 0)
			s.call(fn, what, 0, all)
		}
		for _, k1 := range amounts(ty) {
			for _, k2 := range amounts(ty) {
				join := []clif.Opcode{clif.OpBor, clif.OpIadd, clif.OpBxor}[(k1+k2)%3]
				two(fmt.Sprintf("%v %v of ishl %d and ushr %d", join, ty, k1, k2), func(b *builder, x, y V) V {
					x, y = op(b, clif.OpIshl, x, k1), op(b, clif.OpUshr, y, k2)
					if k1&1 == 0 {
						x, y = y, x
					}
					return b.Binary(join, ty, x, y)
				})
				m := uint64(1)<<k2<<1 - 1 // a field of k2+1 bits at bit k1, perhaps over the end
				for kind := range 7 {
					two(fmt.Sprintf("%v insert %d bits at %d, kind %d", ty, k2+1, k1, kind), func(b *builder, x, y V) V {
						x = op(b, clif.OpBand, x, ^(m << k1))
						switch kind {
						case 0:
							y = op(b, clif.OpIshl, op(b, clif.OpBand, y, m), k1)
						case 1:
							y = op(b, clif.OpBand, op(b, clif.OpIshl, y, k1), m<<k1)
						case 2:
							y = op(b, clif.OpIshl, y, k1)
						case 3: // the low bits, from another place
							x = op(b, clif.OpBand, x, ^m)
							y = op(b, clif.OpBand, op(b, clif.OpUshr, y, k1), m)
						case 4: // the low bits
							x = op(b, clif.OpBand, x, ^m)
							y = op(b, clif.OpBand, y, m)
						case 5: // the top bits, to the bottom
							x = op(b, clif.OpBand, x, ^m)
							y = op(b, clif.OpUshr, y, n-1-k2)
						case 6: // more or fewer bits than there is room for
							x = op(b, clif.OpBand, x, ^m)
							y = op(b, clif.OpUshr, y, k1)
						}
						if k2&1 == 0 {
							x, y = y, x
						}
						return b.Binary(clif.OpBor, ty, x, y)
					})
				}
			}
		}
	}
	s.run(t)
}

// testShiftedOperands covers operands that are shifted or extended.
func testShiftedOperands(t *testing.T, on *Machine) {
	type V = clif.Value
	s := &suite{module: module{on: on}}
	s.ends = 9
	ops := []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpBand, clif.OpBor, clif.OpBxor, clif.OpImul}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		var forms []func(b *builder, y V) V
		for _, k := range []uint64{0, 1, 2, 3, 4, 5, 31, 32, 33, 63} {
			for _, o := range []clif.Opcode{clif.OpIshl, clif.OpUshr, clif.OpSshr} {
				forms = append(forms, func(b *builder, y V) V { return b.Binary(o, ty, y, b.Iconst(ty, k)) })
			}
			for ext := range 7 {
				forms = append(forms, func(b *builder, y V) V {
					switch ext {
					case 0:
						y = b.Unary(clif.OpSext8, ty, y)
					case 1:
						y = b.Unary(clif.OpSext16, ty, y)
					case 2:
						y = b.Binary(clif.OpBand, ty, y, b.Iconst(ty, 0xff))
					case 3:
						y = b.Binary(clif.OpBand, ty, y, b.Iconst(ty, 0xffff))
					case 4:
						y = b.Binary(clif.OpBand, ty, y, b.Iconst(ty, 0xffff_ffff))
					case 5:
						if ty == clif.I64 {
							y = b.Unary(clif.OpSextend, ty, b.Unary(clif.OpIreduce, clif.I32, y))
						}
					case 6:
						if ty == clif.I64 {
							y = b.Unary(clif.OpUextend, ty, b.Unary(clif.OpIreduce, clif.I32, y))
						}
					}
					if k == 0 {
						return y
					}
					return b.Binary(clif.OpIshl, ty, y, b.Iconst(ty, k))
				})
			}
		}
		forms = append(forms,
			func(b *builder, y V) V { return b.Binary(clif.OpBxor, ty, y, b.Iconst(ty, ^uint64(0))) },
			func(b *builder, y V) V {
				y = b.Binary(clif.OpIshl, ty, y, b.Iconst(ty, 5))
				return b.Binary(clif.OpBxor, ty, y, b.Iconst(ty, ^uint64(0)))
			},
			func(b *builder, y V) V { return b.Binary(clif.OpIsub, ty, b.Iconst(ty, 0), y) },
			func(b *builder, y V) V { return b.Binary(clif.OpImul, ty, y, b.Iconst(ty, 0x12345)) })
		for _, op := range ops {
			for k, form := range forms {
				name := fmt.Sprintf("%v.%v form %d", op, ty, k)
				for _, swap := range []bool{false, true} {
					fn := s.Fn([]clif.Type{ty, ty}, []clif.Type{ty}, func(cb *clif.Builder, p []V) {
						b := &builder{cb}
						x, y := p[0], form(b, p[1])
						if swap {
							x, y = y, x
						}
						b.Return([]V{b.Binary(op, ty, x, y)})
					})
					for _, y := range pick(corners[ty], 3) {
						s.call(fn, name, 0x8192a3b4c5d6e7f8&(1<<(ty.Bits()-1)<<1-1), y)
					}
				}
			}
		}
	}
	s.run(t)
}

// testProducts covers multiplications with sums, and those of widened factors.
func testProducts(t *testing.T, on *Machine) {
	type V = clif.Value
	s := &suite{module: module{on: on}}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		for kind := range 12 {
			fn := s.Fn([]clif.Type{ty, ty, ty}, []clif.Type{ty}, func(cb *clif.Builder, p []V) {
				b := &builder{cb}
				x, y := p[1], p[2]
				if ty == clif.I64 && kind >= 4 {
					ops := [...]clif.Opcode{clif.OpSextend, clif.OpUextend}
					x = b.Unary(ops[kind&1], ty, b.Unary(clif.OpIreduce, clif.I32, x))
					y = b.Unary(ops[kind>>1&1], ty, b.Unary(clif.OpIreduce, clif.I32, y))
				}
				v := b.Binary(clif.OpImul, ty, x, y)
				switch kind & 3 {
				case 0:
					v = b.Binary(clif.OpIadd, ty, v, p[0])
				case 1:
					v = b.Binary(clif.OpIsub, ty, p[0], v)
				case 2:
					v = b.Binary(clif.OpIsub, ty, v, p[0])
				}
				if kind >= 8 { // another user
					v = b.Binary(clif.OpBxor, ty, v, b.Binary(clif.OpIadd, ty, x, y))
				}
				b.Return([]V{v})
			})
			for _, x := range pick(corners[ty], 4) {
				for _, y := range pick(corners[ty], 3) {
					s.call(fn, fmt.Sprintf("product %v kind %d", ty, kind), 0x1234567^x, x, y)
				}
			}
		}
	}
	s.run(t)
}

// constants returns numbers that immediates and sequences of moves differ on.
func constants(ty clif.Type) (cs []uint64) {
	m := uint64(1)<<(ty.Bits()-1)<<1 - 1
	rng := rand.New(rand.NewSource(5))
	add := func(x uint64) {
		cs = append(cs, x&m, ^x&m, -x&m)
	}
	for _, x := range []uint64{0, 1, 3, 5, 9, 17, 0xff, 0xfff, 0x1000, 0x1001, 0xfff000, 0xffffff, 0x1000000, 0xffff, 0x10000, 0xffff0000, 0x12345678,
		0xffff1234, 0x1234ffff, 0x55555555, 0xff00ff00ff00ff, 0x123456789abcdef0, 0xffff00001234, 0x1234000056780000, 0xffffffff12345678, 0x80000000, 1 << 63} {
		add(x)
	}
	for range 60 {
		add(rng.Uint64() >> rng.Intn(60))
		half := uint64(rng.Intn(1 << 16))
		add(half << (16 * rng.Intn(4)))
		ones := uint64(1)<<rng.Intn(64) - 1
		k := rng.Intn(64)
		add(ones<<k | ones>>(64-k))
	}
	return cs
}

// testConstants covers constants by themselves and as operands.
func testConstants(t *testing.T, on *Machine) {
	type V = clif.Value
	s := &suite{module: module{on: on}}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		for ci, c := range constants(ty) {
			fn := s.Fn(nil, []clif.Type{ty}, func(b *clif.Builder, p []V) { b.Return([]V{b.Iconst(ty, c)}) })
			s.call(fn, fmt.Sprintf("%v constant %#x", ty, c))
			for oi, op := range []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpImul, clif.OpBand, clif.OpBor, clif.OpBxor} {
				if !sampled(ci + oi) {
					continue
				}
				s.unaryOf(fmt.Sprintf("%v %v %#x", ty, op, c), ty, ty, func(b *builder, x V) V { return b.Binary(op, ty, x, b.Iconst(ty, c)) })
				s.unaryOf(fmt.Sprintf("%v %#x %v", ty, c, op), ty, ty, func(b *builder, x V) V { return b.Binary(op, ty, b.Iconst(ty, c), x) })
			}
		}
		if ty == clif.I64 {
			for _, c := range constants(ty) {
				for _, ft := range []clif.Type{clif.F32, clif.F64} {
					bits := c >> (64 - ft.Bits())
					if isNaN(ft, bits) {
						continue
					}
					fn := s.Fn(nil, []clif.Type{ft, ft}, func(b *clif.Builder, p []V) {
						one := b.Fconst(ft, map[clif.Type]uint64{clif.F32: 0x40e00000, clif.F64: 0x401c << 48}[ft]) // 7
						b.Return([]V{b.Fconst(ft, bits), b.Binary(clif.OpFsub, ft, b.Fconst(ft, bits), one)})
					})
					s.call(fn, fmt.Sprintf("%v constant %#x", ft, bits))
				}
			}
		}
	}
	s.run(t)
}
