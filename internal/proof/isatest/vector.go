package isatest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// Vectors enter and leave the functions of these tests as two i64 each, so that any host can call them.

// vec is a vector.
type vec [16]byte

func (v vec) low() uint64  { return binary.LittleEndian.Uint64(v[:8]) }
func (v vec) high() uint64 { return binary.LittleEndian.Uint64(v[8:]) }

// laneCorners are the values of lanes that are tried, by shape; those of bytes and words are made of those of i32.
var laneCorners = [...][]uint64{
	{0, 1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 126, 127, 128, 129, 0x80, 0x8f, 0x90, 0xaa, 0xc0, 0xfe, 0xff},
	{0, 1, 2, 7, 0x7f, 0x80, 0x81, 0xff, 0x100, 0x101, 0x4000, 0x5555, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xc000, 0xff7f, 0xff80, 0xfffe, 0xffff},
	corners[clif.I32], corners[clif.I64], corners[clif.F32], corners[clif.F64],
}

// scalarCorners are the operands of the type of lanes of a shape.
func scalarCorners(r *rand.Rand, t clif.Type) uint64 {
	cs := corners[t]
	return cs[r.IntN(len(cs))]
}

// randomVec returns a vector of corner values of a shape; v128 is taken for any.
func randomVec(r *rand.Rand, t clif.Type) (v vec) {
	if !t.IsShape() {
		t = clif.I8x16 + clif.Type(r.IntN(6))
	}
	cs, n := laneCorners[t-clif.I8x16], t.LaneBits()/8
	for at := 0; at < 16; at += n {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], cs[r.IntN(len(cs))])
		copy(v[at:], b[:n])
	}
	return v
}

// join is the vector of two i64.
func (b *builder) join(low, high clif.Value) clif.Value {
	return b.Insert(clif.I64x2, b.Unary(clif.OpVsplat, clif.I64x2, low), high, 1)
}

// halves are the two i64 of a vector.
func (b *builder) halves(v clif.Value) []clif.Value {
	return []clif.Value{b.Extract(clif.OpVextract, clif.I64x2, v, 0), b.Extract(clif.OpVextract, clif.I64x2, v, 1)}
}

// exactNaNs are the operations of floats whose results are not NaNs of their own making.
var exactNaNs = map[clif.Opcode]bool{
	clif.OpVfpmin: true, clif.OpVfpmax: true, clif.OpVfabs: true, clif.OpVfneg: true, clif.OpVfcmp: true,
}

// canonical replaces NaNs of v, where op makes them, by the canonical one: machines may make others.
func (b *builder) canonical(op clif.Opcode, t clif.Type, v clif.Value) clif.Value {
	if op < clif.OpVfadd || op > clif.OpVfcmp && op != clif.OpVpromote && op != clif.OpVdemote || exactNaNs[op] {
		return v
	}
	nan := uint64(0x7fc00000_7fc00000)
	if t == clif.F64x2 {
		nan = 0x7ff8 << 48
	}
	return b.Ternary(clif.OpVbitselect, clif.V128, b.Vconst(nan, nan), v, b.Vfcmp(clif.FNe, t, v, v))
}

// vectorOp is an operation of vectors with its immediate, a function of operands.
type vectorOp struct {
	op    clif.Opcode
	shape clif.Type
	name  string
	emit  func(b *builder, args []clif.Value) clif.Value
}

// controlTypes are the types that op has.
func controlTypes(op clif.Opcode) (ts []clif.Type) {
	for t := clif.V128; t <= clif.F64x2; t++ {
		if op.Info().Types.Has(t) {
			ts = append(ts, t)
		}
	}
	return ts
}

// vectorOps are the operations of an opcode with all its shapes, conditions and lanes; of shuffles, n of random lanes.
func vectorOps(op clif.Opcode, n int) (ops []vectorOp) {
	for _, t := range controlTypes(op) {
		add := func(imm any, emit func(b *builder, a []clif.Value) clif.Value) {
			ops = append(ops, vectorOp{op, t, fmt.Sprintf("%v.%v %v", op, t, imm), emit})
		}
		switch op.Info().Format {
		case clif.FormatUnary:
			add("", func(b *builder, a []clif.Value) clif.Value { return b.Unary(op, t, a[0]) })
		case clif.FormatBinary:
			add("", func(b *builder, a []clif.Value) clif.Value { return b.Binary(op, t, a[0], a[1]) })
		case clif.FormatTernary:
			add("", func(b *builder, a []clif.Value) clif.Value { return b.Ternary(op, t, a[0], a[1], a[2]) })
		case clif.FormatIntCmp:
			for cc := range clif.IntCC(clif.NumIntCCs) {
				add(cc, func(b *builder, a []clif.Value) clif.Value { return b.Vicmp(cc, t, a[0], a[1]) })
			}
		case clif.FormatFloatCmp:
			for cc := range clif.FloatCC(clif.NumFloatCCs) {
				add(cc, func(b *builder, a []clif.Value) clif.Value { return b.Vfcmp(cc, t, a[0], a[1]) })
			}
		case clif.FormatExtract:
			for lane := range uint8(t.Lanes()) {
				add(lane, func(b *builder, a []clif.Value) clif.Value { return b.Extract(op, t, a[0], lane) })
			}
		case clif.FormatInsert:
			for lane := range uint8(t.Lanes()) {
				add(lane, func(b *builder, a []clif.Value) clif.Value { return b.Insert(t, a[0], a[1], lane) })
			}
		case clif.FormatShuffle:
			r := rand.New(rand.NewPCG(7, 8))
			for range n {
				lanes := randomLanes(r)
				add(lanes, func(b *builder, a []clif.Value) clif.Value { return b.Shuffle(a[0], a[1], lanes) })
			}
		}
	}
	return ops
}

// randomLanes are the lanes of a shuffle, most of which have a pattern that machines have instructions for: lanes of some width, from
// one or both operands, in an order that is regular from some lane on.
func randomLanes(r *rand.Rand) (lanes [16]uint8) {
	width := 1 << r.IntN(4)
	n := 16 / width
	from, step, both := r.IntN(2*n), []int{0, 1, 1, 1, 2, -1}[r.IntN(6)], []int{n, 2 * n}[r.IntN(2)]
	for i := range n {
		k := from + i*step
		switch r.IntN(12) {
		case 0:
			k = r.IntN(2 * n)
		case 1:
			k = i + n*r.IntN(2)
		}
		k = (k%both + both) % both
		for j := range width {
			lanes[i*width+j] = uint8(k*width + j)
		}
	}
	return lanes
}

// operandKinds are the types of op's operands with shape t, as its signature gives them: 'V', or a scalar.
func operandKinds(op clif.Opcode, t clif.Type) (kinds []clif.Type) {
	for _, c := range op.Info().Sig {
		switch c {
		case ':':
			return kinds
		case 'V':
			kinds = append(kinds, clif.V128)
		case 'i':
			kinds = append(kinds, clif.I32)
		case 'e':
			kinds = append(kinds, t.LaneType())
		}
	}
	return kinds
}

// sources gives each operand of op a source in turn: all parameters, then each one something else.
func operandSources(n int) (all [][]source) {
	all = append(all, make([]source, n))
	for k := range n {
		for src := konst; src < numSources; src++ {
			s := make([]source, n)
			s[k] = src
			all = append(all, s)
		}
	}
	return all
}

// addOp adds a function for o with operands of the given sources, and calls of it. same: all operands that may be are equal.
func (s *suite) addOp(r *rand.Rand, o *vectorOp, srcs []source, same bool, calls int) {
	kinds := operandKinds(o.op, o.shape)
	var params []clif.Type
	for _, k := range kinds {
		if k == clif.V128 {
			params = append(params, clif.I64)
			k = clif.I64
		}
		params = append(params, k)
	}
	laneShape := o.shape
	switch o.op {
	case clif.OpVcvtFromSint, clif.OpVcvtFromUint:
		laneShape = clif.I32x4
	case clif.OpVpromote:
		laneShape = clif.F32x4
	case clif.OpVdemote:
		laneShape = clif.F64x2
	}
	result := o.op.ResultType(o.shape)
	results := []clif.Type{result}
	if result == clif.V128 {
		results = []clif.Type{clif.I64, clif.I64}
	}
	fn := s.Fn(params, results, func(cb *clif.Builder, p []clif.Value) {
		b := &builder{cb}
		var args []clif.Value
		at := 0
		for k, t := range kinds {
			v := p[at]
			if at++; t == clif.V128 {
				v = b.join(v, p[at])
				at++
			}
			addr := uint64(32 * (k + 1))
			switch {
			case same && k > 0 && t == kinds[0]:
				v = args[0]
			case srcs[k] == loaded:
				b.Store(t, clif.Full, 0, b.Iconst(clif.I32, addr), v, 0)
				v = b.Load(t, clif.Full, 0, b.Iconst(clif.I32, addr), 0)
			case srcs[k] == konst && t == clif.V128:
				x := randomVec(r, laneShape)
				v = b.Vconst(x.low(), x.high())
			case srcs[k] == konst:
				v = b.konst(t, scalarCorners(r, t))
			}
			args = append(args, v)
		}
		v := b.canonical(o.op, o.shape, o.emit(b, args))
		if result == clif.V128 {
			b.Return(b.halves(v))
			return
		}
		b.Return([]clif.Value{v})
	})
	for range calls {
		var args []uint64
		for _, t := range kinds {
			if t == clif.V128 {
				x := randomVec(r, laneShape)
				args = append(args, x.low(), x.high())
			} else {
				args = append(args, scalarCorners(r, t))
			}
		}
		s.call(fn, fmt.Sprintf("%s %v", o.name, srcs), args...)
	}
}

// testVectors: every operation of vectors on corner values of lanes, its operands from everywhere.
func testVectors(t *testing.T, on *Machine) {
	r := rand.New(rand.NewPCG(9, 10))
	for op := clif.OpVconst; op <= clif.OpVdemote; op++ {
		on := on.having(t, op)
		t.Run(op.String(), func(t *testing.T) {
			s := newSuite(on)
			for _, o := range vectorOps(op, testenv.Cases(60, 100, 1000)) {
				calls := 8
				if o.shape.IsShape() {
					c := len(laneCorners[o.shape-clif.I8x16])
					calls = c * c / o.shape.Lanes()
				}
				if op == clif.OpVshuffle {
					calls = 4
				}
				n := len(operandKinds(op, o.shape))
				for i, srcs := range operandSources(n) {
					if i > 0 {
						calls = min(calls, 12)
					}
					s.addOp(r, &o, srcs, false, calls)
				}
				if n > 1 {
					s.addOp(r, &o, make([]source, n), true, 12)
				}
			}
			if op == clif.OpVconst {
				s.vectorConsts(r)
			}
			s.run(t)
		})
	}
}

// vectorConsts adds functions that return constants.
func (s *suite) vectorConsts(r *rand.Rand) {
	consts := []vec{{}}
	for t := clif.I8x16; t <= clif.F64x2; t++ {
		for _, c := range laneCorners[t-clif.I8x16] { // splats
			var v vec
			for at := 0; at < 16; at += t.LaneBits() / 8 {
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], c)
				copy(v[at:], b[:t.LaneBits()/8])
			}
			consts = append(consts, v, randomVec(r, t))
		}
	}
	for _, v := range consts {
		fn := s.Fn(nil, []clif.Type{clif.I64, clif.I64}, func(cb *clif.Builder, _ []clif.Value) {
			b := &builder{cb}
			b.Return(b.halves(b.Vconst(v.low(), v.high())))
		})
		s.call(fn, fmt.Sprintf("vconst %x", v))
	}
}

// testVectorTests: vany_true, vall_true and vbitmask as conditions of everything that takes one.
func testVectorTests(t *testing.T, on *Machine) {
	r := rand.New(rand.NewPCG(11, 12))
	s := newSuite(on)
	for _, cons := range consumers {
		for _, op := range []clif.Opcode{clif.OpVanyTrue, clif.OpVallTrue, clif.OpVbitmask} {
			for _, shape := range controlTypes(op) {
				for _, compared := range []bool{false, true} {
					fn := s.Fn([]clif.Type{clif.I64, clif.I64}, i32, func(cb *clif.Builder, p []clif.Value) {
						b := &builder{cb}
						v := b.join(p[0], p[1])
						if compared && shape.IsShape() {
							v = b.Vicmp(clif.Eq, shape, v, b.Vconst(0, 0))
						}
						b.Return([]clif.Value{cons.make(b, b.Unary(op, shape, v))})
					})
					for k := range 10 {
						v := randomVec(r, shape)
						switch k {
						case 0:
							v = vec{}
						case 1:
							v = vec{15: 0x80}
						case 2:
							v = vec{0: 1}
						case 3:
							binary.LittleEndian.PutUint64(v[:], 0x0101010101010101)
							binary.LittleEndian.PutUint64(v[8:], 0x0101010101010101)
						}
						s.call(fn, fmt.Sprintf("%s of %v.%v, compared %v", cons.name, op, shape, compared), v.low(), v.high())
					}
				}
			}
		}
	}
	s.run(t)
}

// testVectorMemory: loads and stores of all accesses, of lanes too, and vectors that are chosen, by select and by branches.
func testVectorMemory(t *testing.T, on *Machine) {
	r := rand.New(rand.NewPCG(13, 14))
	s := newSuite(on)
	pair := []clif.Type{clif.I64, clif.I64}
	add := func(name string, emit func(b *builder, v, addr clif.Value) clif.Value) {
		fn := s.Fn([]clif.Type{clif.I64, clif.I64, clif.I32}, pair, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb}
			b.Return(b.halves(emit(b, b.join(p[0], p[1]), p[2])))
		})
		for range 8 {
			v := randomVec(r, clif.V128)
			s.call(fn, name, v.low(), v.high(), uint64(r.IntN(40)))
		}
	}
	for _, a := range []clif.Access{clif.Full, clif.U32, clif.U64} {
		add(fmt.Sprint("load ", a), func(b *builder, v, addr clif.Value) clif.Value {
			b.Store(clif.V128, clif.Full, 0, addr, v, 8)
			return b.Load(clif.V128, a, 0, addr, 11)
		})
	}
	for _, l := range []struct {
		shape  clif.Type
		access clif.Access
	}{{clif.I8x16, clif.U8}, {clif.I16x8, clif.U16}, {clif.I32x4, clif.Full}, {clif.I64x2, clif.Full}, {clif.F32x4, clif.Full}, {clif.F64x2, clif.Full}} {
		scalar := l.shape.LaneType()
		add(fmt.Sprint("splat ", l.shape), func(b *builder, v, addr clif.Value) clif.Value {
			b.Store(clif.V128, clif.Full, 0, addr, v, 8)
			return b.Unary(clif.OpVsplat, l.shape, b.Load(scalar, l.access, 0, addr, 9))
		})
		for lane := range uint8(l.shape.Lanes()) {
			add(fmt.Sprint("load lane ", l.shape, lane), func(b *builder, v, addr clif.Value) clif.Value {
				b.Store(clif.V128, clif.Full, 0, addr, v, 8)
				return b.Insert(l.shape, v, b.Load(scalar, l.access, 0, addr, 10), lane)
			})
			add(fmt.Sprint("store lane ", l.shape, lane), func(b *builder, v, addr clif.Value) clif.Value {
				b.Store(scalar, l.access, 0, addr, b.Extract(clif.OpVextract, l.shape, v, lane), 3)
				return b.Load(clif.V128, clif.Full, 0, addr, 0)
			})
		}
	}
	for _, op := range []clif.Opcode{clif.OpVextendLowS, clif.OpVextendLowU, clif.OpVextendHighS, clif.OpVextendHighU} {
		for _, shape := range controlTypes(op) {
			add(fmt.Sprint("load ", op, shape), func(b *builder, v, addr clif.Value) clif.Value {
				b.Store(clif.V128, clif.Full, 0, addr, v, 8)
				return b.Unary(op, shape, b.Load(clif.V128, clif.U64, 0, addr, 9))
			})
		}
	}
	add("select", func(b *builder, v, addr clif.Value) clif.Value {
		w := b.Unary(clif.OpVnot, clif.V128, v)
		odd := b.Binary(clif.OpBand, clif.I32, addr, b.Iconst(clif.I32, 1))
		return b.Binary(clif.OpVadd, clif.I8x16, b.Select(clif.V128, odd, v, w), v)
	})
	add("select by a float", func(b *builder, v, addr clif.Value) clif.Value {
		x := b.Unary(clif.OpFcvtFromSint, clif.F64, addr)
		return b.Select(clif.V128, b.Fcmp(clif.FEq, clif.F64, x, b.Fconst(clif.F64, 0)), v, b.Vconst(1, 2))
	})
	add("block parameter", func(b *builder, v, addr clif.Value) clif.Value {
		head, exit := b.NewBlock(), b.NewBlock()
		b.Jump(b.Target(head, []clif.Value{addr, v, b.Vconst(5, 7)}))
		b.SwitchTo(head)
		n, x, y := b.AddParam(head, clif.I32), b.AddParam(head, clif.V128), b.AddParam(head, clif.V128)
		sum := b.Binary(clif.OpVadd, clif.I16x8, x, y)
		b.Branch(n, b.Target(head, []clif.Value{b.Binary(clif.OpIsub, clif.I32, n, b.Iconst(clif.I32, 1)), y, sum}), b.Target(exit, []clif.Value{sum}))
		b.SwitchTo(exit)
		return b.AddParam(exit, clif.V128)
	})
	s.run(t)
}

// testVectorPressure: more vectors, and floats beside them, than there are registers.
func testVectorPressure(t *testing.T, on *Machine) {
	const n = 40
	r := rand.New(rand.NewPCG(15, 16))
	s := newSuite(on)
	for range testenv.Cases(20, 30, 200) {
		fn := s.Fn([]clif.Type{clif.I64, clif.I64, clif.F64}, []clif.Type{clif.I64, clif.I64, clif.I64}, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb}
			vs, fs := []clif.Value{b.join(p[0], p[1])}, []clif.Value{p[2]}
			pickOf := func(xs []clif.Value) clif.Value { return xs[max(0, len(xs)-1-r.IntN(30))] }
			for range n {
				op := []clif.Opcode{clif.OpVadd, clif.OpVsub, clif.OpVnarrowS, clif.OpVminU, clif.OpVswizzle, clif.OpVaddSatS, clif.OpVavgrU}[r.IntN(7)]
				vs = append(vs, b.Binary(op, clif.I8x16, pickOf(vs), pickOf(vs)))
				switch r.IntN(3) {
				case 0:
					f := b.Binary(clif.OpFadd, clif.F64, pickOf(fs), b.Fconst(clif.F64, uint64(r.IntN(8))<<61>>1))
					fs = append(fs, f)
				case 1:
					vs = append(vs, b.Insert(clif.F64x2, pickOf(vs), pickOf(fs), uint8(r.IntN(2))))
				case 2:
					vs = append(vs, b.Unary(clif.OpVextendLowS, clif.I32x4, pickOf(vs)))
				}
			}
			v, f := vs[0], fs[0]
			for _, w := range vs[1:] {
				v = b.Binary(clif.OpVxor, clif.V128, b.Binary(clif.OpVadd, clif.I32x4, v, v), w)
			}
			for _, g := range fs[1:] {
				f = b.Binary(clif.OpFmin, clif.F64, f, g)
			}
			b.Return(append(b.halves(v), b.Unary(clif.OpFcvtToSintSat, clif.I64, f)))
		})
		for range 3 {
			v := randomVec(r, clif.V128)
			s.call(fn, "pressure", v.low(), v.high(), uint64(r.IntN(1<<20))<<40)
		}
	}
	s.run(t)
}

// having is the machine at the levels that have op. At the others a function with op must be refused.
func (on *Machine) having(t *testing.T, op clif.Opcode) *Machine {
	t.Helper()
	if on.Without == nil {
		return on
	}
	m := *on
	m.Levels = nil
	for _, level := range on.Levels {
		if !on.Without(level, op) {
			m.Levels = append(m.Levels, level)
			continue
		}
		for _, o := range vectorOps(op, 1) {
			s := newSuite(on)
			s.addOp(rand.New(rand.NewPCG(1, 2)), &o, make([]source, len(operandKinds(op, o.shape))), false, 0)
			s.AddInit()
			if _, err := on.compile(&s.Module.Module, s.Body, level, opt.O0, true, Triple); !errors.Is(err, backend.ErrUnsupported) {
				t.Errorf("%s at %s: %v", o.name, level, err)
			}
		}
	}
	return &m
}
