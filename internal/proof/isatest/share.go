package isatest

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/clif"
)

// testSharing has random accesses to a few addresses in straight lines: they share sums.
func testSharing(t *testing.T, on *Machine) {
	type V = clif.Value
	rng := rand.New(rand.NewSource(7))
	s := newSuite(on)
	offsets := []uint64{0, 0, 1, 2, 4, 8, 12, 16, 255, 256, 257, 4095, 4096, 4104, 8191, 16380, 32760, 32768, 40000, 0x8000, 0xfff8, 0x10000, 0xfff000, 0x1000000, 0xffffffff}
	types := []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}
	callee := s.Fn(nil, nil, func(b *clif.Builder, _ []V) { b.Return(nil) })
	for n := range 150 {
		fn := s.Fn([]clif.Type{clif.I32, clif.I32, clif.I64}, []clif.Type{clif.I64}, func(cb *clif.Builder, p []V) {
			b := &builder{cb}
			addrs := []V{p[0], p[1], b.Iconst(clif.I32, 64), b.Iconst(clif.I32, 0x7000),
				b.Binary(clif.OpIshl, clif.I32, b.Binary(clif.OpBand, clif.I32, p[0], b.Iconst(clif.I32, 0xff)), b.Iconst(clif.I32, 3))}
			sum := p[2]
			blocks := 1 + rng.Intn(3)
			var late []func()
			for k := range blocks {
				for range 2 + rng.Intn(30) {
					a, off, ty := addrs[rng.Intn(len(addrs))], offsets[rng.Intn(len(offsets)-rng.Intn(12))], types[rng.Intn(4)]
					switch rng.Intn(8) {
					case 0:
						b.Call(callee, nil)
					case 1, 2:
						acc := accesses(ty, true)
						v := sum
						switch ty {
						case clif.I32:
							v = b.Unary(clif.OpIreduce, ty, v)
						case clif.F64:
							v = b.Unary(clif.OpBitcast, ty, v)
						case clif.F32:
							v = b.Fconst(ty, 0x3fc00000)
						}
						b.Store(ty, acc[rng.Intn(len(acc))], 0, a, v, off)
					default:
						acc := accesses(ty, false)
						v := b.Load(ty, acc[rng.Intn(len(acc))], 0, a, off)
						kind := rng.Intn(2)
						late = append(late, func() { // extensions do the load, if they may
							w := v
							switch {
							case ty == clif.I32:
								w = b.Unary([]clif.Opcode{clif.OpSextend, clif.OpUextend}[kind], clif.I64, w)
							case ty == clif.F64:
								w = b.Unary(clif.OpBitcast, clif.I64, w)
							case ty == clif.F32:
								w = b.Unary(clif.OpUextend, clif.I64, b.Unary(clif.OpBitcast, clif.I32, w))
							case kind == 0:
								w = b.Unary(clif.OpSext32, clif.I64, w)
							}
							sum = b.Binary(clif.OpIadd, clif.I64, b.Binary(clif.OpRotl, clif.I64, sum, b.Iconst(clif.I64, 5)), w)
						})
					}
					if n := rng.Intn(4); n < 2 { // use some of the values
						n = min(len(late), 1+rng.Intn(4))
						for _, f := range late[:n] {
							f()
						}
						late = late[n:]
					}
				}
				for _, f := range late {
					f()
				}
				late = nil
				if k+1 < blocks {
					next, skip := b.NewBlock(), b.NewBlock()
					b.Branch(p[1], b.Target(next, []V{sum}), b.Target(skip, nil))
					b.SwitchTo(skip)
					b.Return([]V{sum})
					b.SwitchTo(next)
					sum = b.AddParam(next, clif.I64)
				}
			}
			b.Return([]V{sum})
		})
		for _, x := range []uint64{0, 8, 0x6ff0, 0x10000, 0xfffffff8} {
			s.call(fn, fmt.Sprint("sharing ", n), x, 16, 0x8192a3b4c5d6e7f8)
			s.call(fn, fmt.Sprint("sharing ", n), 24, x, 1)
		}
	}
	s.wholeMemory = true
	s.run(t)
}

// testScaled has indices that are shifted: by amounts that fit the width of the access and others, with and without
// bits that are lost.
func testScaled(t *testing.T, on *Machine) {
	type V = clif.Value
	s := newSuite(on)
	for _, ty := range []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64} {
		for _, acc := range accesses(ty, false) {
			for k := range uint64(64) {
				for kind := range 4 {
					if !sampled(int(k) + kind) {
						continue
					}
					for _, off := range []uint64{0, 8, 5000, 1 << 24} {
						if off > 8 && k > 4 {
							continue
						}
						fn := s.Fn(i32, []clif.Type{ty}, func(cb *clif.Builder, p []V) {
							b := &builder{cb}
							x := p[0]
							switch kind {
							case 1:
								x = b.Binary(clif.OpBand, clif.I32, x, b.Iconst(clif.I32, 0xff))
							case 2:
								x = b.Binary(clif.OpUshr, clif.I32, x, b.Iconst(clif.I32, 30))
							case 3:
								x = b.Load(clif.I32, clif.U8, 0, x, 0)
							}
							a := b.Binary(clif.OpIshl, clif.I32, x, b.Iconst(clif.I32, k))
							b.Return([]V{b.Load(ty, acc, 0, a, off)})
						})
						for _, x := range []uint64{0, 5, 0xff, 0x80000001, 0xffffffff} {
							s.call(fn, fmt.Sprintf("%v.%v shifted by %d, kind %d, +%d", ty, acc, k, kind, off), x)
						}
					}
				}
			}
		}
	}
	fill := s.Fn([]clif.Type{clif.I32, clif.I64}, nil, func(b *clif.Builder, p []V) {
		b.Store(clif.I64, clif.Full, 0, p[0], p[1], 0)
		b.Return(nil)
	})
	var first []Call
	for a := uint64(0); a < 0x1800; a += 8 {
		first = append(first, Call{fill, []uint64{a, a*0x9e3779b97f4a7c15 | 0x80}, "fill"})
	}
	s.calls = append(first, s.calls...)
	s.run(t)
}

// testOffsets loads with many offsets, each width at once.
func testOffsets(t *testing.T, on *Machine) {
	type V = clif.Value
	s := newSuite(on)
	for base := uint64(0); base < 33000; base += 61 {
		fn := s.Fn(i32, i64, func(cb *clif.Builder, p []V) {
			b := &builder{cb}
			sum := b.Iconst(clif.I64, 0)
			for k := range uint64(6) {
				for _, acc := range accesses(clif.I64, false) {
					v := b.Load(clif.I64, acc, 0, p[0], base+11*k)
					sum = b.Binary(clif.OpIadd, clif.I64, b.Binary(clif.OpRotl, clif.I64, sum, b.Iconst(clif.I64, 7)), v)
				}
			}
			b.Return([]V{sum})
		})
		s.call(fn, fmt.Sprintf("offsets from %d", base), 3)
		s.call(fn, fmt.Sprintf("offsets from %d", base), 30000)
	}
	fill := s.Fn([]clif.Type{clif.I32, clif.I64}, nil, func(b *clif.Builder, p []V) {
		b.Store(clif.I64, clif.Full, 0, p[0], p[1], 0)
		b.Return(nil)
	})
	var first []Call
	for a := uint64(0); a < 0xfff8; a += 8 {
		first = append(first, Call{fill, []uint64{a, a*0x9e3779b97f4a7c15 | 0x80}, "fill"})
	}
	s.calls = append(first, s.calls...)
	s.run(t)
}
