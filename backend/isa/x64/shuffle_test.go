package x64

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// model is what the manual says of an instruction that moves bytes: the result from its operands x (the first one, in which SSE puts
// the result) and y (the last one), and the immediate.
type model func(x, y lanes, imm uint8) lanes

// models is by row. They are written from the manual's descriptions, not from the tables of movers.
var models = map[backend.Op]model{
	asm.Vpbroadcastb: func(x, _ lanes, _ uint8) (r lanes) { return each(func(i int) uint8 { return x[0] }) },
	asm.Vpbroadcastw: func(x, _ lanes, _ uint8) (r lanes) { return each(func(i int) uint8 { return x[i&1] }) },
	asm.Pshufd:       func(x, _ lanes, imm uint8) lanes { return each(func(i int) uint8 { return x[4*field(imm, i/4)+i%4] }) },
	asm.Pshuflw: func(x, _ lanes, imm uint8) lanes {
		return each(func(i int) uint8 {
			if i >= 8 {
				return x[i]
			}
			return x[2*field(imm, i/2)+i%2]
		})
	},
	asm.Pshufhw: func(x, _ lanes, imm uint8) lanes {
		return each(func(i int) uint8 {
			if i < 8 {
				return x[i]
			}
			return x[8+2*field(imm, i/2-4)+i%2]
		})
	},
	asm.Punpcklbw: unpack(1, 0), asm.Punpcklwd: unpack(2, 0), asm.Punpckldq: unpack(4, 0), asm.Punpcklqdq: unpack(8, 0),
	asm.Punpckhbw: unpack(1, 8), asm.Punpckhwd: unpack(2, 8), asm.Punpckhdq: unpack(4, 8), asm.Punpckhqdq: unpack(8, 8),
	asm.Palignr: func(x, y lanes, imm uint8) lanes {
		both := append(append([]uint8{}, y[:]...), x[:]...)
		return each(func(i int) uint8 { return at(both, i+int(imm)) })
	},
	asm.PsrldqImm: func(x, _ lanes, imm uint8) lanes { return each(func(i int) uint8 { return at(x[:], i+int(imm)) }) },
	asm.PslldqImm: func(x, _ lanes, imm uint8) lanes { return each(func(i int) uint8 { return at(x[:], i-int(imm)) }) },
	asm.Pmovzxbw:  extend(1), asm.Pmovzxwd: extend(2), asm.Pmovzxdq: extend(4),
	asm.Vpblendd: func(x, y lanes, imm uint8) lanes { return choose(x, y, func(i int) bool { return imm>>(i/4)&1 != 0 }) },
	asm.Pblendw:  func(x, y lanes, imm uint8) lanes { return choose(x, y, func(i int) bool { return imm>>(i/2)&1 != 0 }) },
	asm.Shufp: func(x, y lanes, imm uint8) lanes {
		return each(func(i int) uint8 {
			if i < 8 {
				return x[4*field(imm, i/4)+i%4]
			}
			return y[4*field(imm, i/4)+i%4]
		})
	},
	asm.Insertps: func(x, y lanes, imm uint8) lanes {
		from, to := int(imm>>6), int(imm>>4&3)
		return each(func(i int) uint8 {
			switch {
			case imm>>(i/4)&1 != 0:
				return zeroLane
			case i/4 == to:
				return y[4*from+i%4]
			}
			return x[i]
		})
	},
	asm.Por: func(x, y lanes, _ uint8) lanes {
		return choose(x, y, func(i int) bool { return x[i] == zeroLane })
	},
	// Of words and doublewords, the steps in front have left one part.
	asm.PsrlwImm: func(x, _ lanes, _ uint8) lanes {
		return each(func(i int) uint8 { return pick(i%2 == 0, x[min(i+1, 15)]) })
	},
	asm.PsrldImm: func(x, _ lanes, _ uint8) lanes {
		return each(func(i int) uint8 { return pick(i%4 < 2, x[min(i+2, 15)]) })
	},
	asm.Packuswb: func(x, y lanes, _ uint8) lanes { return pack(1, x, y) },
	asm.Packusdw: func(x, y lanes, _ uint8) lanes { return pack(2, x, y) },
}

func each(f func(i int) uint8) (l lanes) {
	for i := range l {
		l[i] = f(i)
	}
	return l
}

func field(imm uint8, n int) int { return int(imm>>(2*n)) & 3 }

func at(xs []uint8, i int) uint8 {
	if i < 0 || i >= len(xs) {
		return zeroLane
	}
	return xs[i]
}

func pick(ok bool, x uint8) uint8 {
	if ok {
		return x
	}
	return zeroLane
}

func choose(x, y lanes, second func(i int) bool) lanes {
	return each(func(i int) uint8 {
		if second(i) {
			return y[i]
		}
		return x[i]
	})
}

func unpack(width, first int) model {
	return func(x, y lanes, _ uint8) lanes {
		return each(func(i int) uint8 {
			n := first + i/(2*width)*width + i%width
			if i/width%2 == 1 {
				return y[n]
			}
			return x[n]
		})
	}
}

func extend(width int) model {
	return func(x, _ lanes, _ uint8) lanes {
		return each(func(i int) uint8 { return pick(i/width%2 == 0, x[i/(2*width)*width+i%width]) })
	}
}

// pack is saturation of numbers whose upper parts are zeros; of others the result is not a move.
func pack(width int, x, y lanes) lanes {
	both := append(append([]uint8{}, x[:]...), y[:]...)
	for i, b := range both {
		if i/width%2 == 1 && b != zeroLane {
			panic("a number that saturates is packed")
		}
	}
	return each(func(i int) uint8 { return both[i/width*2*width+i%width] })
}

// vectorsOf are the operands of shuffles.
func vectorsOf() (x, y lanes) {
	return each(func(i int) uint8 { return uint8(i) }), each(func(i int) uint8 { return uint8(16 + i) })
}

// run is what the steps of a plan give.
func (p *plan) run(t *testing.T) lanes {
	x, y := vectorsOf()
	regs := []lanes{x, y}
	for _, s := range p.steps {
		var r lanes
		switch {
		case s.mask != nil && s.op == asm.Pshufb:
			r = each(func(i int) uint8 {
				if s.mask[i] >= 0x80 {
					return zeroLane
				}
				return regs[s.x][s.mask[i]&15]
			})
		case s.mask != nil && s.op == asm.Pand:
			r = each(func(i int) uint8 {
				if m := s.mask[i]; m != 0 && m != 0xff {
					t.Fatalf("mask %x", m)
				}
				return pick(s.mask[i] != 0, regs[s.x][i])
			})
		default:
			m := models[s.op]
			if m == nil {
				t.Fatalf("no model of %s", asm.RowOf(s.op).Name)
			}
			r = m(regs[s.x], regs[s.y], s.imm)
		}
		regs = append(regs, r)
	}
	if len(p.steps) == 0 {
		return regs[p.from]
	}
	return regs[len(regs)-1]
}

// try checks the plans for some lanes, and returns their cost.
func try(t *testing.T, want *lanes, used map[backend.Op]int, avx2 bool) int {
	t.Helper()
	p := planShuffle(want, avx2)
	if got := p.run(t); !got.covers(want) {
		t.Fatalf("%d by %+v: %d", want, p, got)
	}
	cost := 2 * len(p.steps)
	for _, s := range p.steps {
		used[s.op]++
		if s.mask != nil {
			cost++
		}
		if !avx2 && asm.RowOf(s.op).Feature == asm.AVX2 {
			t.Errorf("%d takes %s", want, asm.RowOf(s.op).Name)
		}
	}
	if cost != p.cost {
		t.Errorf("%d by %+v: the cost is %d", want, p, cost)
	}
	// Nothing that applies is cheaper.
	least := p.cost
	alternatives := []plan{planTwo(want)}
	for _, f := range []func(*lanes, bool) (plan, bool){planPack, planGather, planBlend} {
		if q, ok := f(want, avx2); ok {
			alternatives = append(alternatives, q)
		}
	}
	for _, q := range alternatives {
		if q.cost < least {
			t.Errorf("%d costs %d by %+v, %d by %+v", want, p.cost, p, q.cost, q)
		}
		if got := q.run(t); !got.covers(want) {
			t.Fatalf("%d by %+v: %d", want, q, got)
		}
	}
	return p.cost
}

// TestShufflesOfOneInstruction: all that one instruction gives, with any immediate, on any of two vectors, is found to be that; and each
// instruction is chosen for something.
func TestShufflesOfOneInstruction(t *testing.T) {
	x, y := vectorsOf()
	used := map[backend.Op]int{}
	for _, movers := range [][]mover{movers1, movers2} {
		for _, m := range movers {
			if models[m.op] == nil {
				t.Errorf("no model of %s", asm.RowOf(m.op).Name)
				continue
			}
			imms := 1
			if asm.RowOf(m.op).Imm == asm.IByte {
				imms = 256
			}
			for imm := range imms {
				for _, of := range [][2]lanes{{x, y}, {y, x}, {x, x}, {y, y}} {
					for _, avx2 := range []bool{true, false} {
						if !avx2 && m.avx2 {
							continue
						}
						want := models[m.op](of[0], of[1], uint8(imm))
						if most, cost := oneInstruction(&want), try(t, &want, used, avx2); cost > most {
							t.Errorf("%s %d gives %d, which costs %d", asm.RowOf(m.op).Name, imm, want, cost)
						}
					}
				}
			}
		}
	}
	for _, movers := range [][]mover{movers1, movers2} {
		for _, m := range movers {
			if used[m.op] == 0 {
				t.Errorf("%s is never chosen", asm.RowOf(m.op).Name)
			}
		}
	}
}

// oneInstruction is what lanes cost that one instruction gives: without a constant unless there are zeros that only an instruction
// of two vectors would make.
func oneInstruction(want *lanes) int {
	first, second, zero := false, false, false
	for _, n := range want {
		first, second, zero = first || n < 16, second || n >= 16 && n < 32, zero || n == zeroLane
	}
	switch {
	case zero && first && second:
		return planTwo(want).cost
	case zero:
		return 3
	}
	return 2
}

// TestShufflesOfTwoInstructions: what two instructions in a row give costs no more than by the way that takes any two vectors apart, and where doublewords of
// both are first gathered or words blended last, no more than these two.
func TestShufflesOfTwoInstructions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := vectorsOf()
	used := map[backend.Op]int{}
	for range testenv.Cases(5_000, 20_000, 200_000) {
		imm1, imm2 := uint8(r.Uint32()), uint8(r.Uint32())
		avx2 := r.IntN(2) == 0
		gathered := models[asm.Shufp](x, y, imm1)
		gathered = models[asm.Pshufd](gathered, gathered, imm2)
		if cost := try(t, &gathered, used, avx2); cost > 4 {
			t.Fatalf("shufps and pshufd give %d, which costs %d", gathered, cost)
		}
		blended := models[asm.Pblendw](models[asm.Pshufd](x, x, imm1), y, imm2)
		if cost := try(t, &blended, used, avx2); cost > 4 {
			t.Fatalf("pshufd and pblendw give %d, which costs %d", blended, cost)
		}
	}
}

// TestRandomShuffles: lanes of all kinds, zeros among them, are planned right, and by nothing that is not the cheapest.
func TestRandomShuffles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	used := map[backend.Op]int{}
	costs := map[int]int{}
	for range testenv.Cases(5_000, 20_000, 200_000) {
		width, of := 1<<r.IntN(4), 16+16*r.IntN(2)
		from, step := r.IntN(of), pickStep(r)
		want := each(func(i int) uint8 {
			n := (from/width + i/width*step) % (of / width)
			return uint8(n*width + i%width)
		})
		for range r.IntN(4) * r.IntN(2) { // some groups otherwise
			i := r.IntN(16/width) * width
			n := uint8(r.IntN(of/width) * width)
			for k := range width {
				want[i+k] = n + uint8(k)
			}
		}
		if of == 16 && r.IntN(3) == 0 {
			for range r.IntN(12) {
				want[r.IntN(16)] = zeroLane
			}
		}
		costs[try(t, &want, used, r.IntN(2) == 0)]++
	}
	for _, op := range []backend.Op{asm.Pshufb, asm.Por, asm.Packuswb, asm.Packusdw, asm.Pblendw, asm.Shufp} {
		if used[op] == 0 {
			t.Errorf("%s is never chosen", asm.RowOf(op).Name)
		}
	}
	t.Logf("shuffles by cost: %v", costs)
}

func pickStep(r *rand.Rand) int { return []int{0, 1, 1, 2, 2, 3, 15}[r.IntN(7)] }
