package opt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// boundCase is an operation on one or two short integers.
type boundCase struct {
	pureOp
	s *small
	b upperBounds
}

const boundShrink = 3 // i32 has 4 bits, i64 has 8

// sizes are how many values the operands have; the second has one if there is none.
func (c *boundCase) sizes() (nx, ny int) {
	nx, ny = 1<<c.s.bits(c.args[0]), 1
	if len(c.args) > 1 {
		ny = 1 << c.s.bits(c.args[1])
	}
	return nx, ny
}

// function is the operation, with a constant as its last operand if constant is not negative.
func (c *boundCase) function(constant int) *clif.Func {
	f, b := newFunc(testModule(c.args, []clif.Type{c.result}))
	args := []val{0, 1}[:len(c.args)]
	if constant >= 0 {
		args[len(args)-1] = b.Iconst(c.args[len(args)-1], uint64(constant))
	}
	b.Return([]val{c.emit(b, args)})
	return f
}

// largest is, by bounds of the operands, x*ny+y, the largest result plus 1, or 0 if there is none.
func (c *boundCase) largest() []uint64 {
	nx, ny := c.sizes()
	in := make([][]uint64, len(c.args))
	for i := range nx * ny {
		row := []uint64{uint64(i / ny), uint64(i % ny)}
		for k := range in {
			in[k] = append(in[k], row[k])
		}
	}
	out, traps := c.s.run(c.function(-1), in, nx*ny)
	most := make([]uint64, nx*ny)
	for i := range most {
		if traps[i] == 0 {
			most[i] = out[0][i] + 1
		}
	}
	return most
}

// upTo makes of results for each x and y the largest for all up to x and, if both, up to y.
func upTo(results []uint64, ny int, both bool) []uint64 {
	most := slices.Clone(results)
	for i := range most {
		if i >= ny {
			most[i] = max(most[i], most[i-ny])
		}
		if both && i%ny > 0 {
			most[i] = max(most[i], most[i-1])
		}
	}
	return most
}

// check compares the bound of the result with the largest one, for operands at most x and y.
func (c *boundCase) check(t *testing.T, f *clif.Func, x, y, most uint64) (tight bool) {
	b := &c.b
	b.reset(widths{boundShrink}, f)
	b.assume(0, x)
	if len(c.args) > 1 {
		b.assume(1, y)
	}
	for i := range f.Insts[:len(f.Insts)-1] {
		b.compute(&f.Insts[i])
	}
	v := f.Insts[len(f.Insts)-2].Result
	upper := b.upper(v)
	if most > 0 && upper < most-1 {
		t.Fatalf("operands up to %d and %d: a bound of %d, but there is %d\n%v", x, y, upper, most-1, f)
	}
	return upper < b.ones(v) && most > 0 && upper == most-1
}

// TestBounds: no result of an operation on numbers of 4 and 8 bits is beyond its bound, for all bounds of its operands and all constants on the
// right. Each operation that has a bound reaches it.
func TestBounds(t *testing.T) {
	every := testenv.Cases(37, 5, 1)
	checked, sharp, ops := 0, 0, 0
	for _, op := range pureOps() {
		if boundOf[op.op] == nil || op.op == clif.OpSelect || op.args[0].IsFloat() || !op.result.IsInt() {
			continue
		}
		c := &boundCase{pureOp: op, s: newSmall(boundShrink)}
		nx, ny := c.sizes()
		results, tight := c.largest(), 0
		f, most := c.function(-1), upTo(results, ny, true)
		step := every
		if len(op.args) == 1 {
			step = 1 // they are few
		}
		for i := 0; i < len(most); i += step {
			if c.check(t, f, uint64(i/ny), uint64(i%ny), most[i]) {
				tight++
			}
			checked++
		}
		most = upTo(results, ny, false)
		for y := range ny {
			if len(op.args) == 1 {
				break
			}
			f := c.function(y)
			for x := 0; x < nx; x += 1 + every/5 {
				if c.check(t, f, uint64(x), uint64(y), most[x*ny+y]) {
					tight++
				}
				checked++
			}
		}
		if tight == 0 && op.op != clif.OpIcmp {
			t.Errorf("%v: the bound is never reached", &op)
		}
		sharp += tight
		ops++
	}
	t.Logf("%d operations, %d bounds, %d of them sharp", ops, checked, sharp)
}

// TestGuards: no number of 4 bits for which a comparison holds is beyond the bounds that it gives, whatever was known before.
func TestGuards(t *testing.T) {
	const n = 16
	f, builder := newFunc(testModule([]clif.Type{clif.I32, clif.I32}, nil))
	var k [n]val
	for i := range k {
		k[i] = builder.Iconst(clif.I32, uint64(i))
	}
	builder.Return(nil)
	var b upperBounds
	narrower := 0
	check := func(cc clif.IntCC, x, y uint64, right val, values []uint64) {
		b.reset(widths{boundShrink}, f)
		b.assume(0, x)
		b.assume(1, y)
		b.assumeGuard(guard{cc, 0, right})
		if b.upper(0) < x || b.upper(1) < y {
			narrower++
		}
		for u := range x + 1 {
			for _, v := range values {
				if smallCompare(cc, 4, u, v) != 0 && (u > b.upper(0) || right == 1 && v > b.upper(1)) {
					t.Fatalf("%d %v %d, at most %d and %d: bounds %d and %d", u, cc, v, x, y, b.upper(0), b.upper(1))
				}
			}
		}
		if b.undo(0); b.upper(0) != n-1 || b.upper(1) != n-1 {
			t.Fatalf("%v: %d and %d are left", cc, b.upper(0), b.upper(1))
		}
	}
	for cc := range clif.NumIntCCs {
		for x := range uint64(n) {
			var below []uint64
			for y := range uint64(n) {
				below = append(below, y)
				check(cc, x, y, 1, below)
				check(cc, x, y, k[y], []uint64{y})
			}
			if cc <= clif.Ne {
				check(cc, x, n-1, clif.NoValue, []uint64{0})
			}
		}
	}
	if narrower < 1000 {
		t.Errorf("only %d guards say anything", narrower)
	}
}

// smallLoop is a loop of numbers of 4 bits: p and q begin at their starts, p gains step and q other, and the loop goes on if
// p, or the next p if after, compares with limit. The first start and the limit are constants, or at most that.
type smallLoop struct {
	cc                 clif.IntCC
	start, step, limit uint64
	qStart, other      uint64
	after, inverse     bool
	anyStart, anyLimit bool
}

func (l *smallLoop) function() (f *clif.Func, p, q val) {
	f, b := newFunc(testModule([]clif.Type{clif.I32, clif.I32}, nil))
	start, limit := b.Iconst(clif.I32, l.start), b.Iconst(clif.I32, l.limit)
	if l.anyStart {
		start = upToSmall(b, 0, l.start)
	}
	if l.anyLimit {
		limit = upToSmall(b, 1, l.limit)
	}
	loop, end := b.NewBlock(), b.NewBlock()
	p, q = b.AddParam(loop, clif.I32), b.AddParam(loop, clif.I32)
	b.Jump(b.Target(loop, []val{start, b.Iconst(clif.I32, l.qStart)}))
	b.SwitchTo(loop)
	next := b.Binary(clif.OpIadd, clif.I32, p, b.Iconst(clif.I32, l.step))
	again := []val{next, b.Binary(clif.OpIadd, clif.I32, q, b.Iconst(clif.I32, l.other))}
	x := p
	if l.after {
		x = next
	}
	if l.inverse {
		b.Branch(b.Icmp(l.cc.Invert().Swap(), clif.I32, limit, x), b.Target(end, nil), b.Target(loop, again))
	} else {
		b.Branch(b.Icmp(l.cc, clif.I32, x, limit), b.Target(loop, again), b.Target(end, nil))
	}
	b.SwitchTo(end)
	b.Return(nil)
	return f, p, q
}

// upToSmall is x made at most most, of 4 bits.
func upToSmall(b *clif.Builder, x val, most uint64) val {
	if most == 15 {
		return x
	}
	return b.Binary(clif.OpUrem, clif.I32, x, b.Iconst(clif.I32, most+1))
}

// largest runs the loop with a start and a limit, until everything has repeated.
func (l *smallLoop) largest(start, limit uint64) (p, q uint64) {
	x, y := start, l.qStart
	for range 256 {
		p, q = max(p, x), max(q, y)
		next := (x + l.step) & 15
		compared := x
		if l.after {
			compared = next
		}
		if smallCompare(l.cc, 4, compared, limit) == 0 {
			break
		}
		x, y = next, (y+l.other)&15
	}
	return p, q
}

// TestCountedLoops: variables of loops stay within their bounds, for all starts, steps, limits and comparisons of 4 bits.
func TestCountedLoops(t *testing.T) {
	every := testenv.Cases(50, 10, 1)
	r := rand.New(rand.NewPCG(3, 1))
	var o Optimizer
	o.widths.shrink = boundShrink
	checked, bounded, other := 0, 0, 0
	for i := range 16 * 16 * 16 * int(clif.NumIntCCs) * 16 {
		if r.IntN(every) > 0 {
			continue
		}
		l := smallLoop{cc: clif.IntCC(i >> 16), start: uint64(i & 15), step: uint64(i >> 4 & 15), limit: uint64(i >> 8 & 15),
			qStart: r.Uint64N(16), other: r.Uint64N(16), after: i>>12&1 != 0, inverse: i>>13&1 != 0, anyStart: i>>14&1 != 0, anyLimit: i>>15&1 != 0}
		f, p, q := l.function()
		a := &o.addresses
		a.o, a.f, o.cfgValid = &o, f, false
		o.flow(f)
		o.dom.Compute(&o.cfg)
		a.reset(o.widths, f)
		a.visit()
		starts, limits := []uint64{l.start}, []uint64{l.limit}
		for x := range uint64(16) {
			if l.anyStart && x < l.start {
				starts = append(starts, x)
			}
			if l.anyLimit && x < l.limit {
				limits = append(limits, x)
			}
		}
		for _, start := range starts {
			for _, limit := range limits {
				if mostP, mostQ := l.largest(start, limit); mostP > a.upper(p) || mostQ > a.upper(q) {
					t.Fatalf("%+v, from %d with limit %d: %d and %d, but bounds of %d and %d\n%v", l, start, limit, mostP, mostQ, a.upper(p), a.upper(q), f)
				}
			}
		}
		if checked++; a.upper(p) < 15 {
			bounded++
		}
		if a.upper(q) < 15 {
			other++
		}
	}
	t.Logf("%d loops: %d with a bound of the first variable, %d of the other", checked, bounded, other)
	if bounded < checked/20 || other < checked/20 {
		t.Error("too few bounds")
	}
}
