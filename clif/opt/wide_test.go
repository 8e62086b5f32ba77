package opt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// wideForm is a way to build a product of 128 bits from halves.
type wideForm struct {
	name string
	make func(w *wideBuilder, x, y val) (low, high val)
}

// wideBuilder makes arithmetic of 64 bits. The operands of a sum, and of each commutative operation, stand in random order.
type wideBuilder struct {
	bld
	r *rand.Rand
	// half is the number of bits that a half has, whatever the widths are.
	half val
	// calls counts the methods that are called; that with the number wrong makes something else.
	calls, wrong int
}

func newWideBuilder(b bld, seed uint64, wrong int) *wideBuilder {
	bits := b.Unary(clif.OpClz, i32, b.Iconst(i32, 0))
	return &wideBuilder{bld: b, r: rand.New(rand.NewPCG(seed, 7)), half: wideU(b, bits), wrong: wrong}
}

func (w *wideBuilder) isWrong() bool {
	w.calls++
	return w.calls == w.wrong
}

func (w *wideBuilder) op(op clif.Opcode, x, y val) val {
	if op.Info().Commutative && w.r.IntN(2) == 0 {
		x, y = y, x
	}
	return w.Binary(op, i64, x, y)
}

// add is the sum of all, in any order and association. A wrong one has one addend, or is the disjunction of all.
func (w *wideBuilder) add(xs ...val) val {
	op := clif.OpIadd
	if w.isWrong() {
		if op = clif.OpBor; w.r.IntN(2) == 0 {
			return xs[0]
		}
	}
	for len(xs) > 1 {
		w.r.Shuffle(len(xs), func(i, k int) { xs[i], xs[k] = xs[k], xs[i] })
		xs = append(xs[2:], w.op(op, xs[0], xs[1]))
	}
	return xs[0]
}

func (w *wideBuilder) mul(x, y val) val {
	if w.isWrong() {
		y = x
	}
	return w.op(clif.OpImul, x, y)
}

func (w *wideBuilder) upper(x val) val {
	if w.isWrong() {
		return x
	}
	return w.op(clif.OpUshr, x, w.half)
}

func (w *wideBuilder) raised(x val) val {
	if w.isWrong() {
		return x
	}
	return w.op(clif.OpIshl, x, w.half)
}

func (w *wideBuilder) lower(x val) val {
	switch {
	case w.isWrong():
		return x
	case w.r.IntN(2) == 0:
		mask := w.Binary(clif.OpIsub, i64, w.Binary(clif.OpIshl, i64, w.Iconst(i64, 1), w.half), w.Iconst(i64, 1))
		return w.op(clif.OpBand, x, mask)
	}
	return wideU(w.bld, low(w.bld, x))
}

// carry is that of the addition of x and y that gave sum.
func (w *wideBuilder) carry(sum, x, y val) val {
	if w.isWrong() {
		sum, x = x, sum
	}
	if w.r.IntN(2) == 0 {
		x = y
	}
	if w.r.IntN(2) == 0 {
		return wideU(w.bld, w.Icmp(clif.Ugt, i64, x, sum))
	}
	return wideU(w.bld, w.Icmp(clif.Ult, i64, sum, x))
}

// or is the disjunction of what has no bits in common: a sum.
func (w *wideBuilder) or(x, y val) val {
	if w.r.IntN(3) == 0 {
		return w.add(x, y)
	}
	return w.op(clif.OpBor, x, y)
}

// parts are the four products of halves.
func (w *wideBuilder) parts(x, y val) (p00, p01, p10, p11 val) {
	x0, x1, y0, y1 := w.lower(x), w.upper(x), w.lower(y), w.upper(y)
	return w.mul(x0, y0), w.mul(x0, y1), w.mul(x1, y0), w.mul(x1, y1)
}

// wideForms are the ways that compilers and libraries know.
func wideForms() []wideForm {
	return []wideForm{
		{"one after the other", func(w *wideBuilder, x, y val) (val, val) { // compiler-rt, Go
			p00, p01, p10, p11 := w.parts(x, y)
			m := w.add(p01, w.upper(p00))
			n := w.add(p10, w.lower(m))
			return w.or(w.raised(n), w.lower(p00)), w.add(p11, w.upper(m), w.upper(n))
		}},
		{"one half", func(w *wideBuilder, x, y val) (val, val) { // xxHash
			p00, p01, p10, p11 := w.parts(x, y)
			m := w.add(w.upper(p00), w.lower(p10), p01)
			return w.or(w.raised(m), w.lower(p00)), w.add(w.upper(p10), w.upper(m), p11)
		}},
		{"two halves", func(w *wideBuilder, x, y val) (val, val) {
			p00, p01, p10, p11 := w.parts(x, y)
			m := w.add(w.upper(p00), w.lower(p10), w.lower(p01))
			return w.or(w.raised(m), w.lower(p00)), w.add(w.upper(p10), w.upper(p01), w.upper(m), p11)
		}},
		{"a carry", func(w *wideBuilder, x, y val) (val, val) { // Rust
			p00, p01, p10, p11 := w.parts(x, y)
			m := w.add(p10, p01)
			rm := w.raised(m)
			low := w.add(p00, rm)
			return low, w.add(p11, w.or(w.raised(w.carry(m, p10, p01)), w.upper(m)), w.carry(low, p00, rm))
		}},
		{"two carries", func(w *wideBuilder, x, y val) (val, val) {
			p00, p01, p10, p11 := w.parts(x, y)
			r10, r01 := w.raised(p10), w.raised(p01)
			l := w.add(p00, r10)
			low := w.add(l, r01)
			return low, w.add(p11, w.upper(p10), w.upper(p01), w.carry(l, p00, r10), w.carry(low, l, r01))
		}},
	}
}

// wideOrders is in how many orders each form is tried.
const wideOrders = 8

// widePattern is both words of a product and a sum with a further addend.
func widePattern(form *wideForm, seed uint64, square bool, wrong int) family {
	name := fmt.Sprintf("product by %s, order %d, square %v, wrong %d", form.name, seed, square, wrong)
	return family{name: name, params: "ww", build: func(b bld, p, _ []val) val {
		w := newWideBuilder(b, seed, wrong)
		x, y := p[0], p[1]
		if square {
			y = x
		}
		low, high := form.make(w, x, y)
		return b.Binary(clif.OpBxor, i64, low, b.Binary(clif.OpIadd, i64, high, p[1]))
	}}
}

// widePatterns are those of the rules in wide.go.
func widePatterns() (all []family) {
	forms := wideForms()
	for i := range forms {
		for seed := range uint64(wideOrders) {
			all = append(all, widePattern(&forms[i], seed, seed == wideOrders-1, 0))
		}
	}
	for seed := range uint64(4) {
		all = append(all, carryPattern(seed, clif.OpIadd, false), borrowPattern(seed, false, false))
	}
	return all
}

// carryPattern is the carry of a sum by bits; the sum may be of other numbers, or another operation.
func carryPattern(seed uint64, op clif.Opcode, other bool) family {
	return family{name: fmt.Sprintf("carry of bits, order %d, %v, other %v", seed, op, other), params: "ww", build: func(b bld, p, _ []val) val {
		w := newWideBuilder(b, seed, 0)
		y := p[1]
		if other {
			y = p[0]
		}
		return w.top(w.op(clif.OpBor, w.op(clif.OpBand, p[0], p[1]),
			w.op(clif.OpBand, w.op(clif.OpBor, p[0], p[1]), w.not(w.op(op, p[0], y)))))
	}}
}

// borrowPattern is the borrow of a difference by bits; the difference may be the opposite one, or one operand another.
func borrowPattern(seed uint64, opposite, other bool) family {
	return family{name: fmt.Sprintf("borrow of bits, order %d, opposite %v, other %v", seed, opposite, other), params: "ww", build: func(b bld, p, _ []val) val {
		w := newWideBuilder(b, seed, 0)
		x, y := p[0], p[1]
		if opposite {
			x, y = y, x
		}
		subtrahend := p[1]
		if other {
			subtrahend = w.Binary(clif.OpIadd, i64, p[0], p[1])
		}
		return w.top(w.op(clif.OpBor, w.op(clif.OpBand, w.not(p[0]), subtrahend),
			w.op(clif.OpBand, w.not(w.op(clif.OpBxor, p[0], p[1])), w.Binary(clif.OpIsub, i64, x, y))))
	}}
}

func (w *wideBuilder) not(x val) val { return w.op(clif.OpBxor, x, w.minusOne()) }

// minusOne is -1 of any width.
func (w *wideBuilder) minusOne() val {
	return w.Binary(clif.OpIsub, i64, w.Iconst(i64, 0), w.Iconst(i64, 1))
}

// top is the highest bit of x.
func (w *wideBuilder) top(x val) val {
	return w.Binary(clif.OpUshr, i64, x, w.add(w.half, w.half, w.minusOne()))
}

// TestWideForms: of each form nothing is left but umulhi, a product and what stands around them.
func TestWideForms(t *testing.T) {
	forms := wideForms()
	for i := range forms {
		for seed := range uint64(40) {
			pat := widePattern(&forms[i], seed, seed%5 == 0, 0)
			m := testModule(pat.types(pat.params), one64)
			f, b := newFunc(m)
			b.Return([]val{pat.build(b, []val{0, 1}, nil)})
			g := optimized(t, &Optimizer{}, f)
			text := g.String()
			if strings.Count(text, " = ") != 4 || strings.Count(text, "umulhi") != 1 {
				t.Errorf("%s: more is left\n%s", pat.name, text)
			}
		}
	}
}

// TestWideWrong: each form with something else in one place keeps its value.
func TestWideWrong(t *testing.T) {
	seeds := testenv.Cases(1, 2, 8)
	forms := wideForms()
	for _, shrink := range []uint8{3, 0} {
		p := newProver(shrink)
		r := rand.New(rand.NewPCG(9, uint64(shrink)))
		for i := range forms {
			for wrong := 1; wrong < 30; wrong++ {
				for seed := range uint64(seeds) {
					pat := widePattern(&forms[i], seed, false, wrong)
					p.pattern(t, &pat, testenv.Cases[uint](0, 0, 16), 0, 10, r)
				}
			}
		}
		for seed := range uint64(8) {
			for _, pat := range []family{
				carryPattern(seed, clif.OpIadd, true), carryPattern(seed, clif.OpIsub, false), borrowPattern(seed, true, false), borrowPattern(seed, false, true),
			} {
				p.pattern(t, &pat, 16, 0, 10, r)
			}
		}
		t.Logf("%d functions, %d evaluations", p.functions, p.evaluations)
	}
}

// TestWideOverlap: a disjunction of addends that have bits in common is no sum.
func TestWideOverlap(t *testing.T) {
	pat := family{name: "disjunction of addends", params: "ww", build: func(b bld, p, _ []val) val {
		w := newWideBuilder(b, 1, 0)
		p00, p01, p10, _ := w.parts(p[0], p[1])
		return w.op(clif.OpBor, p00, w.raised(w.add(p01, p10)))
	}}
	for _, shrink := range []uint8{3, 0} {
		p := newProver(shrink)
		p.pattern(t, &pat, 0, 0, 10, rand.New(rand.NewPCG(9, uint64(shrink))))
	}
}

// TestWideOtherMiddle: the low word of a product that is less than a number is a carry only if the number is one of its addends: one with half of
// the middle is none.
func TestWideOtherMiddle(t *testing.T) {
	for k := range 2 {
		for seed := range uint64(wideOrders) {
			pat := family{name: fmt.Sprintf("a carry of another middle, product %d, order %d", k, seed), params: "ww", build: func(b bld, p, _ []val) val {
				w := newWideBuilder(b, seed, 0)
				p00, p01, p10, p11 := w.parts(p[0], p[1])
				m := w.add(p10, p01)
				low := w.add(p00, w.raised(m))
				less := wideU(w.bld, w.Icmp(clif.Ult, i64, low, w.raised(w.add([]val{p01, p10}[k], p[0]))))
				high := w.add(p11, w.or(w.raised(w.carry(m, p10, p01)), w.upper(m)), less)
				return b.Binary(clif.OpBxor, i64, low, b.Binary(clif.OpIadd, i64, high, p[1]))
			}}
			for _, shrink := range []uint8{3, 0} {
				p := newProver(shrink)
				p.pattern(t, &pat, 16, 0, 10, rand.New(rand.NewPCG(9, uint64(shrink))))
			}
		}
	}
}

// TestWideBudget: the rules look at few sums of a function that has many, each with upper halves of sums. Then they leave
// the rest alone, such as the product at the end.
func TestWideBudget(t *testing.T) {
	const sums = 1000
	m := testModule([]clif.Type{i64, i64}, one64)
	f, b := newFunc(m)
	w := newWideBuilder(b, 1, 0)
	x, y := val(0), val(1)
	p00, p01, p10, p11 := w.parts(x, y)
	var uppers []val
	for k := range uint64(6) {
		uppers = append(uppers, w.upper(w.add(p01, w.upper(p00), w.Iconst(i64, k))))
	}
	all := p10
	for range sums {
		all = w.op(clif.OpIadd, w.op(clif.OpBxor, all, x), p11)
		for _, u := range uppers {
			all = w.op(clif.OpIadd, all, u)
		}
	}
	_, high := wideForms()[0].make(w, x, y)
	b.Return([]val{w.op(clif.OpBxor, all, high)})
	o := &Optimizer{Control: &Control{Limit: -1}}
	g := optimized(t, o, f)
	if o.fold.wide != -1 {
		t.Errorf("%d sums may still be looked at", o.fold.wide)
	}
	if n := strings.Count(g.String(), "umulhi"); n != 0 {
		t.Errorf("%d products after the budget was spent", n)
	}
}
