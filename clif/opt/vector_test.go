package opt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
)

var (
	allShapes   = []clif.Type{clif.I8x16, clif.I16x8, clif.I32x4, clif.I64x2, clif.F32x4, clif.F64x2}
	intShapes   = allShapes[:4]
	floatShapes = allShapes[4:]
)

// acrossLanes are the operations whose lanes depend on lanes in other places.
var acrossLanes = [clif.NumOpcodes]bool{clif.OpVshuffle: true, clif.OpVswizzle: true, clif.OpVswizzleMod: true,
	clif.OpVanyTrue: true, clif.OpVallTrue: true, clif.OpVbitmask: true, clif.OpVdot: true, clif.OpVdotUS: true, clif.OpVdotAdd: true,
	clif.OpVextendLowS: true, clif.OpVextendLowU: true, clif.OpVextendHighS: true, clif.OpVextendHighU: true,
	clif.OpVnarrowS: true, clif.OpVnarrowU: true, clif.OpVextaddPairS: true, clif.OpVextaddPairU: true,
	clif.OpVextmulLowS: true, clif.OpVextmulLowU: true, clif.OpVextmulHighS: true, clif.OpVextmulHighU: true,
	clif.OpVcvtFromSint: true, clif.OpVcvtFromUint: true, clif.OpVcvtToSintSat: true, clif.OpVcvtToUintSat: true, clif.OpVcvtToSintInd: true,
	clif.OpVpromote: true, clif.OpVdemote: true}

// parts returns the width of a part of vectors of the pattern that no other part depends on, and how many there are.
func (p *prover) parts(pat *family) (bits uint, n int) {
	if pat.lanewise {
		return uint(pat.shape.LaneBits()) >> p.opt.shrink, pat.shape.Lanes()
	}
	return 128 >> p.opt.shrink, 1
}

// spread returns words of values of the types: the scalars have the bits of one number, part i of the vectors those of parts(i).
func (p *prover) spread(pat *family, types []clif.Type, scalars uint64, parts func(i int) uint64) (words []uint64) {
	part, n := p.parts(pat)
	shift := uint(0)
	for _, t := range types {
		if t != clif.V128 {
			words = append(words, scalars&mask(p.before.bits(t)))
			scalars >>= p.before.bits(t)
			continue
		}
		var v arith.V128
		for i := range n {
			v[uint(i)*part/64] |= parts(i) >> shift & mask(part) << (uint(i) * part % 64)
		}
		words = append(words, v[0], v[1])
		shift += part
	}
	return words
}

// samples returns words of values of the types.
func (p *prover) samples(pat *family, types []clif.Type, r *rand.Rand) (words []uint64) {
	for _, t := range types {
		switch {
		case t == clif.V128:
			v := p.sampleVector(pat.shape, r)
			words = append(words, v[0], v[1])
		case t.IsFloat():
			words = append(words, pickFrom(r, corners(t)))
		default:
			words = append(words, p.sample(t, r))
		}
	}
	return words
}

func pickFrom[T any](r *rand.Rand, xs []T) T { return xs[r.IntN(len(xs))] }

// cornerVector returns a vector of any shape.
func cornerVector(r *rand.Rand) arith.V128 {
	return (&prover{before: newSmall(0)}).sampleVector(pickFrom(r, allShapes), r)
}

// sampleVector returns a vector of equal or different lanes, corner values or random.
func (p *prover) sampleVector(shape clif.Type, r *rand.Rand) arith.V128 {
	width := uint(shape.LaneBits()) >> p.opt.shrink
	narrow := r.IntN(4) == 0 // numbers of lanes
	lane := func() uint64 {
		switch t := shape.LaneType(); {
		case narrow:
			return r.Uint64N(16)
		case r.IntN(3) == 0:
			return pickFrom(r, []uint64{0, ^uint64(0), 1, 1 << (width - 1), 1<<(width-1) - 1, 1 << r.UintN(width)})
		case t.IsFloat():
			return pickFrom(r, corners(t))
		default:
			return p.sample(clif.I64, r)
		}
	}
	v := arith.Splat(shape, p.opt.shrink, lane())
	if r.IntN(3) == 0 {
		return v
	}
	for i := range shape.Lanes() {
		insert := clif.InstData{Op: clif.OpVinsert, Type: shape, Imm: uint64(i)}
		v = arith.Vector(&insert, p.opt.shrink, v, arith.V128{lane()}, arith.V128{})
	}
	return v
}

// vectors is pattern for patterns with vectors: with all lanes, if these are at most limit bits, among constants limitK,
// or samples. All constant vectors have equal lanes; more constants are samples.
func (p *prover) vectors(t *testing.T, pat *family, limit, limitK uint, functions int, r *rand.Rand) bool {
	params, consts := pat.types(pat.params), pat.types(pat.consts)
	p.mod = testModule(params, nil)
	scalars, vectors := p.widths(pat, params)
	kScalars, kVectors := p.widths(pat, consts)
	all := p.exhaustible(pat, limit, limitK)
	var in [][]uint64 // by input
	var rows [][]uint64
	if all {
		_, per := p.parts(pat)
		for s := range uint64(1) << scalars {
			for first := 0; first < 1<<vectors; first += per {
				in = append(in, p.spread(pat, params, s, func(i int) uint64 { return uint64(first+i) & mask(vectors) }))
			}
		}
		for k := range uint64(1) << (kScalars + kVectors) {
			rows = append(rows, p.spread(pat, consts, k&mask(kScalars), func(int) uint64 { return k >> kScalars }))
		}
	} else {
		for range 100 {
			in = append(in, p.samples(pat, params, r))
		}
	}
	if len(consts) > 0 {
		if pat.consts == "v" && !all {
			width := uint(pat.shape.LaneBits()) >> p.opt.shrink
			for _, lane := range []uint64{0, ^uint64(0), 1, 4, 1 << (width - 1), 1<<(width-1) - 1} {
				v := arith.Splat(pat.shape, p.opt.shrink, lane)
				rows = append(rows, v[:])
			}
		}
		for range functions / 3 {
			rows = append(rows, p.samples(pat, consts, r))
		}
	} else if !all {
		rows = append(rows, nil)
	}
	columns := make([][]uint64, clif.Words(params))
	for _, words := range in {
		for w, x := range words {
			columns[w] = append(columns[w], x)
		}
	}
	for _, ks := range rows {
		if err := p.check(pat, ks, columns, len(in)); err != nil {
			t.Fatalf("%s: %v", pat.name, err)
		}
	}
	return all
}

// vectorPatterns lists those that the rules for vectors are made for, on every shape, and more that they must leave alone.
func vectorPatterns() (all []family) {
	add := func(shape clif.Type, lanewise bool, name, params, consts string, build func(b bld, p, k []val) val) {
		all = append(all, family{name: name, params: params, consts: consts, build: build, shape: shape, lanewise: lanewise})
	}
	for op := clif.OpVconst; op <= clif.OpVdemote; op++ {
		for ty := clif.V128; ty < clif.NumControlTypes; ty++ {
			if !op.Info().Types.Has(ty) {
				continue
			}
			shape := ty
			if ty == clif.V128 {
				shape = clif.I8x16 // each bit for itself, so any
			}
			add := func(name, params, consts string, build func(b bld, p, k []val) val) {
				add(shape, !acrossLanes[op], fmt.Sprintf("%v.%v %s", op, ty, name), params, consts, build)
			}
			opcodePatterns(op, ty, add)
		}
	}
	for _, s := range allShapes {
		add := func(name, params, consts string, build func(b bld, p, k []val) val) {
			add(s, false, fmt.Sprintf("%v %s", s, name), params, consts, build)
		}
		lanePatterns(s, add)
		if !s.IsFloatShape() {
			truthPatterns(s, add)
		}
	}
	scalarUsePatterns(func(name, params, consts string, build func(b bld, p, k []val) val) {
		add(clif.I8x16, false, name, params, consts, build)
	})
	return all
}

// adder adds a pattern.
type adder func(name, params, consts string, build func(b bld, p, k []val) val)

// opcodePatterns are those of one operation with variable, equal and constant operands.
func opcodePatterns(op clif.Opcode, ty clif.Type, add adder) {
	info := op.Info()
	switch info.Format {
	case clif.FormatUnary:
		if op == clif.OpVsplat {
			add("x", "e", "", func(b bld, p, k []val) val { return b.Unary(op, ty, p[0]) })
			add("k", "", "e", func(b bld, p, k []val) val { return b.Unary(op, ty, k[0]) })
			add("twice", "e", "", func(b bld, p, k []val) val {
				return b.Binary(clif.OpVxor, clif.V128, b.Unary(op, ty, p[0]), b.Unary(op, ty, p[0]))
			})
			return
		}
		add("x", "v", "", func(b bld, p, k []val) val { return b.Unary(op, ty, p[0]) })
		add("k", "", "v", func(b bld, p, k []val) val { return b.Unary(op, ty, k[0]) })
	case clif.FormatBinary:
		if info.Sig == "Vi:V" {
			add("x n", "vn", "", func(b bld, p, k []val) val { return b.Binary(op, ty, p[0], p[1]) })
			add("x k", "v", "n", func(b bld, p, k []val) val { return b.Binary(op, ty, p[0], k[0]) })
			add("k n", "n", "v", func(b bld, p, k []val) val { return b.Binary(op, ty, k[0], p[0]) })
			add("k m", "", "vn", func(b bld, p, k []val) val { return b.Binary(op, ty, k[0], k[1]) })
			add("x (n & k)", "vn", "n", func(b bld, p, k []val) val {
				return b.Binary(op, ty, p[0], b.Binary(clif.OpBand, i32, p[1], k[0]))
			})
			return
		}
		add("x y", "vv", "", func(b bld, p, k []val) val { return b.Binary(op, ty, p[0], p[1]) })
		add("x x", "v", "", func(b bld, p, k []val) val { return b.Binary(op, ty, p[0], p[0]) })
		add("x k", "v", "v", func(b bld, p, k []val) val { return b.Binary(op, ty, p[0], k[0]) })
		add("k x", "v", "v", func(b bld, p, k []val) val { return b.Binary(op, ty, k[0], p[0]) })
		add("k m", "", "vv", func(b bld, p, k []val) val { return b.Binary(op, ty, k[0], k[1]) })
		add("(x k) m", "v", "vv", func(b bld, p, k []val) val { return b.Binary(op, ty, b.Binary(op, ty, p[0], k[0]), k[1]) })
		add("twice", "vv", "", func(b bld, p, k []val) val {
			return b.Binary(clif.OpVxor, clif.V128, b.Binary(op, ty, p[0], p[1]), b.Binary(op, ty, p[0], p[1]))
		})
		if ty == clif.V128 {
			add("x (not y)", "vv", "", func(b bld, p, k []val) val { return b.Binary(op, ty, p[0], b.Unary(clif.OpVnot, ty, p[1])) })
			add("(not x) y", "vv", "", func(b bld, p, k []val) val { return b.Binary(op, ty, b.Unary(clif.OpVnot, ty, p[0]), p[1]) })
		}
	case clif.FormatTernary:
		add("x y z", "vvv", "", func(b bld, p, k []val) val { return b.Ternary(op, ty, p[0], p[1], p[2]) })
		add("x x y", "vv", "", func(b bld, p, k []val) val { return b.Ternary(op, ty, p[0], p[0], p[1]) })
		add("k x y", "vv", "v", func(b bld, p, k []val) val { return b.Ternary(op, ty, k[0], p[0], p[1]) })
		add("x k y", "vv", "v", func(b bld, p, k []val) val { return b.Ternary(op, ty, p[0], k[0], p[1]) })
		add("x y k", "vv", "v", func(b bld, p, k []val) val { return b.Ternary(op, ty, p[0], p[1], k[0]) })
		add("k m y", "v", "vv", func(b bld, p, k []val) val { return b.Ternary(op, ty, k[0], k[1], p[0]) })
		add("k m n", "", "vvv", func(b bld, p, k []val) val { return b.Ternary(op, ty, k[0], k[1], k[2]) })
		add("x y (not z)", "vvv", "", func(b bld, p, k []val) val {
			return b.Ternary(op, ty, p[0], p[1], b.Unary(clif.OpVnot, clif.V128, p[2]))
		})
	case clif.FormatIntCmp:
		for cc := range clif.NumIntCCs {
			comparisonPatterns(cc.String(), func(b bld, x, y val) val { return b.Vicmp(cc, ty, x, y) }, add)
		}
	case clif.FormatFloatCmp:
		for cc := range clif.NumFloatCCs {
			comparisonPatterns(cc.String(), func(b bld, x, y val) val { return b.Vfcmp(cc, ty, x, y) }, add)
		}
	}
}

func comparisonPatterns(cc string, compare func(b bld, x, y val) val, add adder) {
	add(cc+" x y", "vv", "", func(b bld, p, k []val) val { return compare(b, p[0], p[1]) })
	add(cc+" x x", "v", "", func(b bld, p, k []val) val { return compare(b, p[0], p[0]) })
	add(cc+" x k", "v", "v", func(b bld, p, k []val) val { return compare(b, p[0], k[0]) })
	add(cc+" k x", "v", "v", func(b bld, p, k []val) val { return compare(b, k[0], p[0]) })
	add(cc+" k m", "", "vv", func(b bld, p, k []val) val { return compare(b, k[0], k[1]) })
	add("not "+cc+" x y", "vv", "", func(b bld, p, k []val) val { return b.Unary(clif.OpVnot, clif.V128, compare(b, p[0], p[1])) })
}

// lanePatterns take lanes out, put them in and move them.
func lanePatterns(s clif.Type, add adder) {
	last := uint8(s.Lanes() - 1)
	ops := []clif.Opcode{clif.OpVextract}
	if clif.OpVextractS.Info().Types.Has(s) {
		ops = append(ops, clif.OpVextractS)
	}
	for _, i := range []uint8{0, 1, last} {
		add(fmt.Sprintf("insert x e %d", i), "ve", "", func(b bld, p, k []val) val { return b.Insert(s, p[0], p[1], i) })
		add(fmt.Sprintf("insert k m %d", i), "", "ve", func(b bld, p, k []val) val { return b.Insert(s, k[0], k[1], i) })
		for _, op := range ops {
			add(fmt.Sprintf("%v k %d", op, i), "", "v", func(b bld, p, k []val) val { return b.Extract(op, s, k[0], i) })
			add(fmt.Sprintf("%v x %d, twice", op, i), "v", "", func(b bld, p, k []val) val {
				return b.Insert(s, b.Unary(clif.OpVsplat, s, b.Extract(op, s, p[0], i)), b.Extract(op, s, p[0], i), last)
			})
			add(fmt.Sprintf("%v (splat e) %d", op, i), "e", "", func(b bld, p, k []val) val { return b.Extract(op, s, b.Unary(clif.OpVsplat, s, p[0]), i) })
			add(fmt.Sprintf("splat (%v x %d)", op, i), "v", "", func(b bld, p, k []val) val { return b.Unary(clif.OpVsplat, s, b.Extract(op, s, p[0], i)) })
			for _, j := range []uint8{0, 1, last} {
				add(fmt.Sprintf("%v (insert x e %d) %d", op, i, j), "ve", "", func(b bld, p, k []val) val {
					return b.Extract(op, s, b.Insert(s, p[0], p[1], i), j)
				})
				add(fmt.Sprintf("insert x (%v x %d) %d", op, i, j), "v", "", func(b bld, p, k []val) val {
					return b.Insert(s, p[0], b.Extract(op, s, p[0], i), j)
				})
				add(fmt.Sprintf("insert x (%v y %d) %d", op, i, j), "vv", "", func(b bld, p, k []val) val {
					return b.Insert(s, p[0], b.Extract(op, s, p[1], i), j)
				})
			}
		}
		for _, j := range []uint8{0, 1, last} {
			add(fmt.Sprintf("insert (insert x e %d) f %d", i, j), "vee", "", func(b bld, p, k []val) val {
				return b.Insert(s, b.Insert(s, p[0], p[1], i), p[2], j)
			})
		}
	}
	for _, outer := range shuffles(s) {
		name, lanes := outer.name, outer.lanes
		for _, op := range ops {
			for i := range uint8(s.Lanes()) {
				add(fmt.Sprintf("%v (shuffle %s x y) %d", op, name, i), "vv", "", func(b bld, p, k []val) val {
					return b.Extract(op, s, b.Shuffle(p[0], p[1], lanes), i)
				})
			}
		}
		add("shuffle "+name+" x y", "vv", "", func(b bld, p, k []val) val { return b.Shuffle(p[0], p[1], lanes) })
		add("shuffle "+name+" x x", "v", "", func(b bld, p, k []val) val { return b.Shuffle(p[0], p[0], lanes) })
		add("shuffle "+name+" k m", "", "vv", func(b bld, p, k []val) val { return b.Shuffle(k[0], k[1], lanes) })
		add("shuffle "+name+" x k", "v", "v", func(b bld, p, k []val) val { return b.Shuffle(p[0], k[0], lanes) })
		add("shuffle "+name+" of splat", "ve", "", func(b bld, p, k []val) val {
			x := b.Unary(clif.OpVsplat, s, p[1])
			return b.Shuffle(x, x, lanes)
		})
		for _, inner := range shuffles(s) {
			add(fmt.Sprintf("shuffle %s of shuffle %s", name, inner.name), "vv", "", func(b bld, p, k []val) val {
				x := b.Shuffle(p[0], p[1], inner.lanes)
				return b.Shuffle(x, x, lanes)
			})
		}
	}
	if s.LaneBits() >= 32 {
		return
	}
	add("splat (x & k)", "n", "n", func(b bld, p, k []val) val { return b.Unary(clif.OpVsplat, s, b.Binary(clif.OpBand, i32, p[0], k[0])) })
	add("insert x (n & k)", "vn", "n", func(b bld, p, k []val) val { return b.Insert(s, p[0], b.Binary(clif.OpBand, i32, p[1], k[0]), 1) })
	for _, op := range []clif.Opcode{clif.OpSext8, clif.OpSext16} {
		add(fmt.Sprintf("splat (%v x)", op), "n", "", func(b bld, p, k []val) val { return b.Unary(clif.OpVsplat, s, b.Unary(op, i32, p[0])) })
	}
}

// shuffle is the lanes of a shuffle and what it does.
type shuffle struct {
	name  string
	lanes [16]uint8
}

// shuffles are some that move lanes of the shape, and some that do not.
func shuffles(s clif.Type) []shuffle {
	all := []shuffle{{"odd", [16]uint8{31, 0, 17, 2, 2, 19, 8, 30, 1, 16, 15, 4, 27, 22, 9, 11}}}
	size, n := s.LaneBits()/8, s.Lanes()
	for _, c := range []struct {
		name string
		from func(lane int) int
	}{
		{"first", func(i int) int { return i }},
		{"second", func(i int) int { return n + i }},
		{"reverse", func(i int) int { return n - 1 - i }},
		{"zip", func(i int) int { return i/2 + i%2*n }},
		{"rotate", func(i int) int { return i + 1 }},
	} {
		one := shuffle{name: c.name}
		for i := range one.lanes {
			one.lanes[i] = uint8(c.from(i/size)*size + i%size)
		}
		all = append(all, one)
	}
	return all
}

// truthPatterns make scalars of vectors, and use vectors of other shapes.
func truthPatterns(s clif.Type, add adder) {
	for _, op := range []clif.Opcode{clif.OpVanyTrue, clif.OpVallTrue, clif.OpVbitmask} {
		ty := s
		if op == clif.OpVanyTrue {
			ty = clif.V128
		}
		for _, cc := range []clif.IntCC{clif.Eq, clif.Ne, clif.Slt, clif.Sge} {
			for _, other := range intShapes {
				add(fmt.Sprintf("%v (x %v.%v 0)", op, cc, other), "v", "", func(b bld, p, k []val) val {
					return b.Unary(op, ty, b.Vicmp(cc, other, p[0], b.Vconst(0, 0)))
				})
			}
			add(fmt.Sprintf("%v (x %v k)", op, cc), "v", "v", func(b bld, p, k []val) val { return b.Unary(op, ty, b.Vicmp(cc, s, p[0], k[0])) })
		}
		add(op.String()+" x & k", "v", "n", func(b bld, p, k []val) val {
			return b.Binary(clif.OpBand, i32, b.Unary(op, ty, p[0]), k[0])
		})
		for _, cc := range []clif.IntCC{clif.Eq, clif.Ne} {
			add(fmt.Sprintf("%v x %v 0", op, cc), "v", "", func(b bld, p, k []val) val {
				return b.Icmp(cc, i32, b.Unary(op, ty, p[0]), b.Iconst(i32, 0))
			})
		}
		add(op.String()+" twice", "v", "", func(b bld, p, k []val) val {
			return b.Binary(clif.OpIadd, i32, b.Unary(op, ty, p[0]), b.Unary(op, ty, p[0]))
		})
	}
	for _, op := range []clif.Opcode{clif.OpVextract, clif.OpVextractS} {
		if op.Info().Types.Has(s) && s != clif.I64x2 {
			add(op.String()+" x & k", "v", "n", func(b bld, p, k []val) val {
				return b.Binary(clif.OpBand, i32, b.Extract(op, s, p[0], 1), k[0])
			})
		}
	}
	for _, op := range []clif.Opcode{clif.OpVadd, clif.OpVsub} {
		for _, other := range intShapes {
			add(fmt.Sprintf("%v x (neg.%v y)", op, other), "vv", "", func(b bld, p, k []val) val {
				return b.Binary(op, s, p[0], b.Unary(clif.OpVneg, other, p[1]))
			})
		}
	}
}

// scalarUsePatterns choose and load vectors.
func scalarUsePatterns(add adder) {
	v := clif.V128
	add("select c x x", "nv", "", func(b bld, p, k []val) val { return b.Select(v, p[0], p[1], p[1]) })
	add("select k x y", "vv", "n", func(b bld, p, k []val) val { return b.Select(v, k[0], p[0], p[1]) })
	add("select (c != 0) x y", "nvv", "", func(b bld, p, k []val) val {
		return b.Select(v, b.Icmp(clif.Ne, i32, p[0], b.Iconst(i32, 0)), p[1], p[2])
	})
	add("load twice", "n", "", func(b bld, p, k []val) val {
		return b.Binary(clif.OpVadd, clif.I8x16, b.Load(v, clif.Full, 0, p[0], 0), b.Load(v, clif.Full, 0, p[0], 0))
	})
}
