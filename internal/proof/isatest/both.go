package isatest

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// bothTypes are the parameters of the functions of testBoth.
var bothTypes = []clif.Type{clif.I32, clif.I32, clif.I64, clif.I64, clif.F32, clif.F32, clif.F64, clif.F64}

// comparison makes a comparison of the parameters.
type comparison struct {
	name string
	make func(b *builder, p []clif.Value) clif.Value
}

// comparisons returns the comparisons that testBoth joins: of all types and conditions, with constants in and out of reach, of
// masks, and of results of comparisons.
func comparisons() (all []comparison) {
	add := func(name string, make func(b *builder, p []clif.Value) clif.Value) {
		all = append(all, comparison{name, make})
	}
	for n, ty := range []clif.Type{clif.I32, clif.I64} {
		m := uint64(1)<<(ty.Bits()-1)<<1 - 1
		for cc := clif.Eq; cc < clif.NumIntCCs; cc++ {
			add(fmt.Sprintf("%v.%v", cc, ty), func(b *builder, p []clif.Value) clif.Value { return b.Icmp(cc, ty, p[2*n], p[2*n+1]) })
			for _, k := range []uint64{0, 5, 31, 32, m, m - 30, m - 31, 4096, m >> 1} {
				add(fmt.Sprintf("%v.%v %#x", cc, ty, k), func(b *builder, p []clif.Value) clif.Value {
					return b.Icmp(cc, ty, p[2*n], b.Iconst(ty, k))
				})
			}
			add(fmt.Sprintf("%v.%v 7 first", cc, ty), func(b *builder, p []clif.Value) clif.Value {
				return b.Icmp(cc, ty, b.Iconst(ty, 7), p[2*n])
			})
			add(fmt.Sprintf("%v.%v band", cc, ty), func(b *builder, p []clif.Value) clif.Value {
				return b.Icmp(cc, ty, b.Binary(clif.OpBand, ty, p[2*n], b.Iconst(ty, 4)), b.Iconst(ty, 0))
			})
			add(fmt.Sprintf("%v.%v shifted", cc, ty), func(b *builder, p []clif.Value) clif.Value {
				return b.Icmp(cc, ty, p[2*n], b.Binary(clif.OpIshl, ty, p[2*n+1], b.Iconst(ty, 2)))
			})
		}
	}
	for n, ty := range []clif.Type{clif.F32, clif.F64} {
		for cc := clif.FloatCC(0); cc < clif.NumFloatCCs; cc++ {
			add(fmt.Sprintf("%v.%v", cc, ty), func(b *builder, p []clif.Value) clif.Value { return b.Fcmp(cc, ty, p[4+2*n], p[5+2*n]) })
			add(fmt.Sprintf("%v.%v 0", cc, ty), func(b *builder, p []clif.Value) clif.Value { return b.Fcmp(cc, ty, p[4+2*n], b.Fconst(ty, 0)) })
		}
	}
	for k, op := range []clif.Opcode{clif.OpBand, clif.OpBor} {
		for cc := clif.Eq; cc < clif.NumIntCCs; cc++ {
			add(fmt.Sprintf("%v of %v", cc, op), func(b *builder, p []clif.Value) clif.Value {
				x := b.Binary(op, clif.I32, b.Icmp(clif.Ult, clif.I32, p[0], p[1]), b.Icmp(clif.Slt, clif.I64, p[2], p[3]))
				return b.Icmp(cc, clif.I32, x, b.Iconst(clif.I32, uint64(k&int(cc))))
			})
		}
	}
	add("eqz eqz", func(b *builder, p []clif.Value) clif.Value {
		x := b.Icmp(clif.Slt, clif.I32, p[0], p[1])
		return b.Icmp(clif.Eq, clif.I32, b.Icmp(clif.Ne, clif.I32, x, b.Iconst(clif.I32, 0)), b.Iconst(clif.I32, 0))
	})
	add("ref", func(b *builder, p []clif.Value) clif.Value {
		return b.Unary(clif.OpRefIsNull, clif.FuncRef, b.RefNull(clif.FuncRef))
	})
	add("no comparison", func(b *builder, p []clif.Value) clif.Value { return p[0] })
	return all
}

// testBoth covers conjunctions and disjunctions of comparisons, and those of three.
func testBoth(t *testing.T, on *Machine) {
	cmps := comparisons()
	r := rand.New(rand.NewSource(1))
	args := func() (a []uint64) {
		near := [...]uint64{0, 1, 4, 5, 6, 7, 28, 31, 32, 33, 4095, 4096, 4097}
		for _, ty := range bothTypes {
			x := near[r.Intn(len(near))]
			switch {
			case ty == clif.F32:
				x = uint64(math.Float32bits([]float32{0, 1, -1, float32(math.NaN()), float32(math.Copysign(0, -1))}[r.Intn(5)]))
			case ty == clif.F64:
				x = math.Float64bits([]float64{0, 1, -1, math.NaN(), math.Copysign(0, -1)}[r.Intn(5)])
			case r.Intn(3) == 0:
				x = -x
			case r.Intn(4) == 0:
				x = 1<<(ty.Bits()-1) + x - 4
			}
			if ty == clif.I32 {
				x = uint64(uint32(x))
			}
			a = append(a, x)
		}
		return a
	}
	for _, cons := range consumers {
		t.Run(cons.name, func(t *testing.T) {
			s := newSuite(on)
			for n, x := range cmps {
				for range testenv.Cases(1, 2, 4) {
					y, z := cmps[r.Intn(len(cmps))], cmps[r.Intn(len(cmps))]
					op := []clif.Opcode{clif.OpBand, clif.OpBor}[r.Intn(2)]
					if r.Intn(2) == 0 {
						x, y = y, x
					}
					kind := r.Intn(6)
					what := fmt.Sprintf("%s of %s %v %s, kind %d", cons.name, x.name, op, y.name, kind)
					fn := s.Fn(bothTypes, i32, func(cb *clif.Builder, p []clif.Value) {
						b := &builder{cb}
						u, v := x.make(b, p), y.make(b, p)
						c := b.Binary(op, clif.I32, u, v)
						switch kind {
						case 0:
							c = b.Binary([]clif.Opcode{clif.OpBand, clif.OpBor}[n%2], clif.I32, c, z.make(b, p))
						case 1:
							c = b.Icmp([]clif.IntCC{clif.Eq, clif.Ne, clif.Ugt, clif.Ule}[n%4], clif.I32, c, b.Iconst(clif.I32, 0))
						case 2: // a result has another user
							c = b.Binary(clif.OpIadd, clif.I32, cons.make(b, c), u)
							b.Return([]clif.Value{c})
							return
						}
						b.Return([]clif.Value{cons.make(b, c)})
					})
					for range testenv.Cases(4, 6, 12) {
						s.call(fn, what, args()...)
					}
				}
			}
			s.run(t)
		})
	}
}
