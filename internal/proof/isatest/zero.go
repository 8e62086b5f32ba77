package isatest

import (
	"fmt"
	"math"
	"testing"

	"github.com/waot-project/waot/clif"
)

// testStoreConst stores constants, of which all bytes, some or none are zero, over ones.
func testStoreConst(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.wholeMemory = true
	fill := s.Fn([]clif.Type{clif.I32}, nil, func(b *clif.Builder, p []clif.Value) {
		for k := range uint64(4) {
			b.Store(clif.I64, clif.Full, 0, p[0], b.Iconst(clif.I64, math.MaxUint64), 8*k)
		}
		b.Return(nil)
	})
	values := [...][]uint64{
		clif.I32: {0, 1, 0x100, 0x10000, 0xffff0000, 0x80000000},
		clif.I64: {0, 1, 0x100, 0x10000, 1 << 32, 1 << 63, 0xffffffff00000000},
		clif.F32: {0, 1 << 31, math.MaxUint32, 1},
		clif.F64: {0, 1 << 63, 1 << 32, 1},
	}
	for ty := clif.I32; ty <= clif.F64; ty++ {
		for _, acc := range accesses(ty, true) {
			for _, k := range values[ty] {
				for n, off := range []uint64{0, 8, 0x9004, 0xffffffff} {
					what := fmt.Sprintf("store %v %v %#x + %#x", ty, acc, k, off)
					fn := s.Fn([]clif.Type{clif.I32, clif.I32}, nil, func(cb *clif.Builder, p []clif.Value) {
						b := &builder{cb}
						addr := p[0]
						if n == 0 { // an index
							addr = b.Binary(clif.OpIshl, clif.I32, b.Binary(clif.OpBand, clif.I32, addr, b.Iconst(clif.I32, 0xffff)), b.Iconst(clif.I32, 2))
						}
						b.Store(ty, acc, 0, addr, b.konst(ty, k), off)
						b.Return(nil)
					})
					for _, a := range []uint64{0, 3, 16, 65529, 0x80000000} {
						at := a + off
						if n == 0 {
							at = a & 0xffff << 2
						}
						s.call(fill, "fill", min(max(at, 8)-8, 1<<16-32))
						s.call(fn, what, a, 0)
					}
				}
			}
		}
	}
	s.run(t)
}

// selected are the operands that a select may choose from: x and y are parameters.
var selected = []struct {
	name string
	make func(b *builder, t clif.Type, x, y clif.Value) clif.Value
}{
	{"x", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return x }},
	{"0", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return b.Iconst(t, 0) }},
	{"1", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return b.Iconst(t, 1) }},
	{"-1", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return b.Iconst(t, 1<<(t.Bits()-1)<<1-1) }},
	{"low -1", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return b.Iconst(t, math.MaxUint32) }},
	{"5", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return b.Iconst(t, 5) }},
	{"6", func(b *builder, t clif.Type, x, y clif.Value) clif.Value { return b.Iconst(t, 6) }},
	{"x+1", func(b *builder, t clif.Type, x, y clif.Value) clif.Value {
		return b.Binary(clif.OpIadd, t, x, b.Iconst(t, 1))
	}},
	{"y-1", func(b *builder, t clif.Type, x, y clif.Value) clif.Value {
		return b.Binary(clif.OpIsub, t, y, b.Iconst(t, 1))
	}},
	{"^y", func(b *builder, t clif.Type, x, y clif.Value) clif.Value {
		return b.Binary(clif.OpBxor, t, y, b.Iconst(t, 1<<(t.Bits()-1)<<1-1))
	}},
	{"-x", func(b *builder, t clif.Type, x, y clif.Value) clif.Value {
		return b.Binary(clif.OpIsub, t, b.Iconst(t, 0), x)
	}},
}

// testSelected selects between values that a single instruction may compute and choose.
func testSelected(t *testing.T, on *Machine) {
	for ty := clif.I32; ty <= clif.I64; ty++ {
		s := newSuite(on)
		all := []clif.Type{ty, ty, clif.I32, clif.I32}
		conds := []struct {
			name string
			make func(b *builder, p []clif.Value) clif.Value
		}{
			{"slt", func(b *builder, p []clif.Value) clif.Value { return b.Icmp(clif.Slt, clif.I32, p[2], p[3]) }},
			{"ne", func(b *builder, p []clif.Value) clif.Value { return b.Icmp(clif.Ne, ty, p[0], p[1]) }},
			{"truth", func(b *builder, p []clif.Value) clif.Value { return p[2] }},
			{"eqz", func(b *builder, p []clif.Value) clif.Value {
				return b.Icmp(clif.Eq, clif.I32, p[2], b.Iconst(clif.I32, 0))
			}},
		}
		add := func(what string, build func(b *builder, p []clif.Value) clif.Value) {
			fn := s.Fn(all, []clif.Type{ty}, func(cb *clif.Builder, p []clif.Value) {
				b := &builder{cb}
				b.Return([]clif.Value{build(b, p)})
			})
			m := uint64(1)<<(ty.Bits()-1)<<1 - 1
			for _, v := range []uint64{0, 1, m, m >> 1, m>>1 + 1, 0x8192a3b4c5d6e7f8 & m} {
				s.call(fn, what, v, m-1, 1, 2)
				s.call(fn, what, 7, v, 2, 1)
				s.call(fn, what, v, v, 0, 0)
			}
		}
		for _, c := range conds {
			for _, a := range selected {
				for _, o := range selected {
					add(fmt.Sprintf("%s ? %s : %s", c.name, a.name, o.name), func(b *builder, p []clif.Value) clif.Value {
						return b.Select(ty, c.make(b, p), a.make(b, ty, p[0], p[1]), o.make(b, ty, p[0], p[1]))
					})
				}
			}
			for _, a := range selected {
				wide := func(b *builder, v clif.Value) clif.Value {
					if ty == clif.I64 {
						return b.Unary(clif.OpUextend, ty, v)
					}
					return v
				}
				for _, op := range []clif.Opcode{clif.OpIadd, clif.OpIsub} {
					add(fmt.Sprintf("%s %v %s", a.name, op, c.name), func(b *builder, p []clif.Value) clif.Value {
						return b.Binary(op, ty, a.make(b, ty, p[0], p[1]), wide(b, c.make(b, p)))
					})
					add(fmt.Sprintf("%s %v %s", c.name, op, a.name), func(b *builder, p []clif.Value) clif.Value {
						return b.Binary(op, ty, wide(b, c.make(b, p)), a.make(b, ty, p[0], p[1]))
					})
				}
			}
		}
		s.run(t)
	}
}
