package opt

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/effect"
)

// testModule is a module of one function, with some entities to use.
func testModule(params, results []clif.Type) *clif.Module {
	return &clif.Module{
		Sigs:     []clif.Signature{{Params: params, Results: results}, {}},
		Funcs:    []clif.FuncDecl{{Sig: 0, Name: "f"}, {Sig: 1, Name: "init"}},
		Memories: []clif.MemoryDecl{{Min: 1, Max: 3, HasMax: true}},
		Tables:   []clif.TableDecl{{Elem: clif.FuncRef, Min: 4, Max: 8, HasMax: true}, {Elem: clif.FuncRef, Min: 4, Max: 4, HasMax: true}},
		Globals: []clif.GlobalDecl{{Type: clif.I32, Mutable: true, Init: 7}, {Type: clif.I64, Mutable: true, Init: 1 << 40},
			{Type: clif.I64, Init: 5}},
	}
}

func newFunc(m *clif.Module) (*clif.Func, *clif.Builder) {
	f := &clif.Func{Name: "f", Mod: m}
	b := &clif.Builder{F: f}
	entry := b.NewBlock()
	for _, t := range f.Signature().Params {
		b.AddParam(entry, t)
	}
	b.SwitchTo(entry)
	return f, b
}

// clone is a deep copy of f.
func clone(f *clif.Func) *clif.Func {
	c := *f
	c.Insts = append([]clif.InstData(nil), f.Insts...)
	c.Srcs = append([]uint32(nil), f.Srcs...)
	c.Values = append([]clif.ValueData(nil), f.Values...)
	c.Blocks = append([]clif.BlockData(nil), f.Blocks...)
	c.Targets = append([]clif.TargetData(nil), f.Targets...)
	c.Layout = append([]clif.Block(nil), f.Layout...)
	c.Pool = append([]uint32(nil), f.Pool...)
	return &c
}

// optimized is a copy of f after all passes, with the verifier after each.
func optimized(t testing.TB, o *Optimizer, f *clif.Func) *clif.Func {
	g := clone(f)
	o.After = func(p *Pass, g *clif.Func) error {
		if err := verify.Func(g); err != nil {
			return fmt.Errorf("after %s: %w\nbefore:\n%v\nafter:\n%v", p.Name, err, f, g)
		}
		return nil
	}
	if err := verify.Func(f); err != nil {
		t.Fatalf("%v\n%v", err, f)
	}
	if o.Control != nil {
		o.Control.Reset()
	}
	if err := o.Run(g, O1); err != nil {
		t.Fatal(err)
	}
	return g
}

// world is an instance of a module with one function.
type world struct{ inst *interp.Instance }

func newWorld(t testing.TB, f *clif.Func, others ...*clif.Func) *world {
	return newShortWorld(t, 1<<26, f, others...)
}

// newShortWorld is newWorld where calls fail after the given number of steps.
func newShortWorld(t testing.TB, steps int64, f *clif.Func, others ...*clif.Func) *world {
	init := &clif.Func{Name: "init", Mod: f.Mod, Index: f.Mod.InitFunc(), Sig: f.Mod.Funcs[f.Mod.InitFunc()].Sig}
	b := &clif.Builder{F: init}
	b.SwitchTo(b.NewBlock())
	b.Return(nil)
	s := interp.NewStore(interp.Options{MaxSteps: steps})
	inst, err := s.Instantiate(f.Mod, func(i clif.FuncIndex) (*clif.Func, error) {
		switch {
		case i == f.Mod.InitFunc():
			return init, nil
		case i == f.Index:
			return f, nil
		}
		return others[int(i)-1], nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &world{inst}
}

// call gives the results or the trap, and what the instance holds afterwards.
func (w *world) call(t testing.TB, args []uint64) string {
	results, err := w.inst.Func(0).Call(args)
	var trap *interp.Trap
	if err != nil && !errors.As(err, &trap) {
		t.Fatal(err)
	}
	if trap != nil {
		return "trap " + trap.Code.String()
	}
	var s []byte
	for _, x := range results {
		s = strconv.AppendUint(append(s, ' '), x, 16)
	}
	return string(s)
}

// state is what the instance holds.
func (w *world) state(globals int) string {
	s := fmt.Sprintf("%d bytes", len(w.inst.Memory(0).Data))
	for i, x := range w.inst.Memory(0).Data {
		if x != 0 {
			s += fmt.Sprintf(" %d:%d", i, x)
		}
	}
	for i := range globals {
		s += fmt.Sprintf(" g%d=%#x", i, w.inst.Global(clif.GlobalIndex(i)).Bits)
	}
	for i := range clif.TableIndex(2) {
		table := w.inst.Table(i)
		for k := range table.Len() {
			s += fmt.Sprintf(" %#x", table.Get(k))
		}
	}
	return s
}

var corner64 = []uint64{
	0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 48, 56, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF,
	0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000,
	0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFF80000000, 0xFFFFFFFF00000000, 0x123456789ABCDEF0,
}

var cornerFloat = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -1.5, 2.5, math.Inf(1), math.Inf(-1), 1e-310, 1e-40, 3e38, 1e308,
	1 << 31, 1<<31 - 1, -1 << 31, 1 << 63, -1 << 63, 1 << 32, 4294967295}

// corners are values of type ty where operations behave in special ways.
func corners(ty clif.Type) (xs []uint64) {
	switch ty {
	case clif.I32:
		for _, x := range corner64 {
			if x>>32 == 0 || x>>32 == 1<<32-1 {
				xs = append(xs, uint64(uint32(x)))
			}
		}
	case clif.I64:
		xs = corner64
	case clif.F32:
		for _, x := range cornerFloat {
			xs = append(xs, uint64(math.Float32bits(float32(x))))
		}
		xs = append(xs, 0x7FC00000, 0xFFC00000, 0x7FC12345, 0x7F800001, 0xFFA00000)
	case clif.F64:
		for _, x := range cornerFloat {
			xs = append(xs, math.Float64bits(x))
		}
		xs = append(xs, 0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000012345, 0x7FF0000000000001)
	}
	return xs
}

func emitConst(b *clif.Builder, t clif.Type, x uint64) clif.Value {
	if t.IsInt() {
		return b.Iconst(t, x)
	}
	return b.Fconst(t, x&(^uint64(0)>>(64-t.Bits())))
}

// pureOp is an opcode at a type: an operation on values only.
type pureOp struct {
	op     clif.Opcode
	typ    clif.Type
	cond   uint8
	args   []clif.Type
	result clif.Type
	lanes  [16]uint8 // of a shuffle; the first is that of an extraction or insertion
}

// pureOps lists all operations that work on numbers alone, divisions among
// them, from the opcode table.
func pureOps() []pureOp { return opsOfTypes(clif.I32, clif.F64) }

// vectorOps lists those that work on vectors. Each extraction, insertion and shuffle has some lanes.
func vectorOps() (ops []pureOp) {
	for _, p := range opsOfTypes(clif.V128, clif.NumControlTypes-1) {
		switch p.op.Info().Format {
		case clif.FormatVconst:
		case clif.FormatExtract, clif.FormatInsert:
			for _, lane := range []int{0, 1, p.typ.Lanes() - 1} {
				p.lanes[0] = uint8(lane)
				ops = append(ops, p)
			}
		case clif.FormatShuffle:
			for _, s := range allShapes {
				for _, one := range shuffles(s) {
					p.lanes = one.lanes
					ops = append(ops, p)
				}
			}
		default:
			ops = append(ops, p)
		}
	}
	return ops
}

// opsOfTypes lists the operations whose controlling types are first to last.
func opsOfTypes(first, last clif.Type) (ops []pureOp) {
	for op := clif.OpIadd; op <= clif.OpSelect; op++ {
		info := op.Info()
		for ty := first; ty <= last; ty++ {
			if !info.Types.Has(ty) || ty.IsRef() {
				continue
			}
			conds := 1
			switch info.Format {
			case clif.FormatIntCmp:
				conds = int(clif.NumIntCCs)
			case clif.FormatFloatCmp:
				conds = int(clif.NumFloatCCs)
			}
			for _, in := range operandTypes(info.Sig, ty) {
				for cond := range conds {
					ops = append(ops, pureOp{op: op, typ: ty, cond: uint8(cond), args: in.args, result: in.result})
				}
			}
		}
	}
	return ops
}

type typing struct {
	args   []clif.Type
	result clif.Type
}

// operandTypes are the typings of a signature of the opcode table.
func operandTypes(sig string, ty clif.Type) []typing {
	other := map[clif.Type]clif.Type{clif.I32: clif.F32, clif.F32: clif.I32, clif.I64: clif.F64, clif.F64: clif.I64}
	letter := func(c byte) []clif.Type {
		switch c {
		case 'C':
			return []clif.Type{ty}
		case 'V':
			return []clif.Type{clif.V128}
		case 'e':
			return []clif.Type{ty.LaneType()}
		case 'i':
			return []clif.Type{clif.I32}
		case 'l':
			return []clif.Type{clif.I64}
		case 'f':
			return []clif.Type{clif.F32, clif.F64}
		case 'n':
			return []clif.Type{clif.I32, clif.I64}
		case 'b':
			return []clif.Type{other[ty]}
		case 's':
			if ty == clif.F32 {
				return []clif.Type{clif.F64}
			}
			return []clif.Type{clif.F32}
		}
		panic(string(c))
	}
	lists := [][]clif.Type{nil}
	i := 0
	for ; sig[i] != ':'; i++ {
		var next [][]clif.Type
		for _, l := range lists {
			for _, t := range letter(sig[i]) {
				next = append(next, append(append([]clif.Type(nil), l...), t))
			}
		}
		lists = next
	}
	var out []typing
	for _, l := range lists {
		out = append(out, typing{l, letter(sig[i+1])[0]})
	}
	return out
}

func (p *pureOp) emit(b *clif.Builder, args []clif.Value) clif.Value {
	switch p.op.Info().Format {
	case clif.FormatIntCmp:
		if p.op == clif.OpVicmp {
			return b.Vicmp(clif.IntCC(p.cond), p.typ, args[0], args[1])
		}
		return b.Icmp(clif.IntCC(p.cond), p.typ, args[0], args[1])
	case clif.FormatFloatCmp:
		if p.op == clif.OpVfcmp {
			return b.Vfcmp(clif.FloatCC(p.cond), p.typ, args[0], args[1])
		}
		return b.Fcmp(clif.FloatCC(p.cond), p.typ, args[0], args[1])
	case clif.FormatTernary:
		return b.Ternary(p.op, p.typ, args[0], args[1], args[2])
	case clif.FormatExtract:
		return b.Extract(p.op, p.typ, args[0], p.lanes[0])
	case clif.FormatInsert:
		return b.Insert(p.typ, args[0], args[1], p.lanes[0])
	case clif.FormatShuffle:
		return b.Shuffle(args[0], args[1], p.lanes)
	case clif.FormatBinary:
		return b.Binary(p.op, p.typ, args[0], args[1])
	}
	return b.Unary(p.op, p.typ, args[0])
}

func (p *pureOp) String() string { return fmt.Sprintf("%v.%v/%d", p.op, p.typ, p.cond) }

// TestSingle evaluates each operation before and after: each operand constant
// or variable, and equal operands, over corner values.
func TestSingle(t *testing.T) {
	var o Optimizer
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(ty clif.Type, all bool) []uint64 {
		xs := corners(ty)
		if all {
			return xs
		}
		var some []uint64
		for range 6 {
			some = append(some, xs[r.IntN(len(xs))])
		}
		return some
	}
	for _, p := range pureOps() {
		n := len(p.args)
		for mask := range 1 << n { // which operands are constants
			var args func(i int, chosen []uint64)
			args = func(i int, chosen []uint64) {
				if i < n {
					if mask>>i&1 == 0 { // the values are arguments of one function
						args(i+1, append(chosen[:i:i], 0))
						return
					}
					for _, x := range pick(p.args[i], n == 1 || n == 2 && mask != 3) {
						args(i+1, append(chosen[:i:i], x))
					}
					return
				}
				checkSingle(t, &o, &p, mask, chosen)
			}
			args(0, nil)
		}
		if n == 2 && p.args[0] == p.args[1] {
			checkSingle(t, &o, &p, -1, nil)
		}
	}
}

// checkSingle compares p with the operands in mask constant; -1 means that
// both are the same variable.
func checkSingle(t *testing.T, o *Optimizer, p *pureOp, mask int, consts []uint64) {
	m := testModule(p.args, []clif.Type{p.result})
	m.Memories = nil
	f, b := newFunc(m)
	args := make([]clif.Value, len(p.args))
	for i := range args {
		switch {
		case mask < 0:
			args[i] = 0
		case mask>>i&1 != 0:
			args[i] = emitConst(b, p.args[i], consts[i])
		default:
			args[i] = clif.Value(i)
		}
	}
	b.Return([]clif.Value{p.emit(b, args)})
	g := optimized(t, o, f)
	before, after := newWorld(t, f), newWorld(t, g)
	var in [][]uint64
	switch len(p.args) {
	case 1:
		for _, x := range corners(p.args[0]) {
			in = append(in, []uint64{x})
		}
	default:
		xs, ys := corners(p.args[0]), corners(p.args[1])
		for i, x := range xs {
			for k, y := range ys {
				// All pairs if both vary, else enough to vary the variable one.
				if mask == 0 || i == 0 && mask&1 != 0 || k == 0 && mask&2 != 0 || mask < 0 && k == 0 {
					in = append(in, []uint64{x, y})
				}
			}
		}
		for i := range in {
			for n := 2; n < len(p.args); n++ {
				zs := corners(p.args[n])
				in[i] = append(in[i], zs[i%len(zs)])
			}
		}
	}
	for _, x := range in {
		if a, b := before.call(t, x), after.call(t, x); a != b {
			t.Fatalf("%v(%#x), constants %b %#x: %s before, %s after\n%v\n%v", p, x, mask, consts, a, b, f, g)
		}
	}
}

// dag is a random function of pure operations, returning everything that it
// computes.
func dag(r *rand.Rand, ops []pureOp, size int) *clif.Func {
	types := []clif.Type{clif.I32, clif.I32, clif.I64, clif.I64, clif.F32, clif.F64}
	if ops[0].typ >= clif.V128 {
		types = append(types, clif.V128, clif.V128)
	}
	byResult := map[clif.Type][]clif.Value{}
	m := testModule(types, nil)
	m.Memories = nil
	f, b := newFunc(m)
	for i, t := range types {
		byResult[t] = append(byResult[t], clif.Value(i))
	}
	operand := func(t clif.Type) clif.Value {
		switch {
		case r.IntN(4) > 0:
		case t == clif.V128:
			v := cornerVector(r)
			return b.Vconst(v[0], v[1])
		default:
			return emitConst(b, t, pickFrom(r, corners(t)))
		}
		vs := byResult[t]
		return vs[max(r.IntN(len(vs)), r.IntN(len(vs)))]
	}
	var results []clif.Value
	for range size {
		p := &ops[r.IntN(len(ops))]
		if p.op.Has(effect.Traps) && r.IntN(6) > 0 {
			continue
		}
		args := make([]clif.Value, len(p.args))
		for i := range args {
			args[i] = operand(p.args[i])
		}
		v := p.emit(b, args)
		byResult[p.result] = append(byResult[p.result], v)
		results = append(results, v)
		m.Sigs[0].Results = append(m.Sigs[0].Results, p.result)
	}
	b.Return(results)
	return f
}

// TestDags compares random functions before and after, over random values;
// small ones try pairs and triples of operations, which is what rules match.
func TestDags(t *testing.T) {
	ops, vectors := pureOps(), append(vectorOps(), pureOps()...)
	var ints []pureOp
	for _, p := range ops {
		if p.result.IsInt() && !p.args[0].IsFloat() {
			ints = append(ints, p)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	var o Optimizer
	n := 6000
	if testing.Short() {
		n = 1000
	}
	for i := range n {
		from, size := ops, 3+r.IntN(10)
		if i%3 > 0 {
			from = ints
		}
		if i%20 == 0 {
			size = 60
		}
		if i%4 == 3 {
			from = vectors
		}
		f := dag(r, from, size)
		g := optimized(t, &o, f)
		before, after := newWorld(t, f), newWorld(t, g)
		for range 12 {
			var x []uint64
			for _, ty := range f.Signature().Params {
				if ty == clif.V128 {
					v := cornerVector(r)
					x = append(x, v[0], v[1])
					continue
				}
				v := pickFrom(r, corners(ty))
				if r.IntN(4) == 0 && ty.IsInt() {
					v = widths{}.trunc(ty, r.Uint64()>>r.IntN(64))
				}
				x = append(x, v)
			}
			if a, b := before.call(t, x), after.call(t, x); a != b {
				t.Fatalf("function %d of %#x:\n%s before\n%s after\n%v\n%v", i, x, a, b, f, g)
			}
		}
	}
}
