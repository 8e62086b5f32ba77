package opt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// exitLoop makes random loops whose variables are used in front of and behind their next values, in the loop and behind it.
type exitLoop struct {
	*clif.Builder
	r *rand.Rand
}

// function is f(x, y): a loop of three blocks, each of which may end it, in another loop. Two variables go up or down; a third
// ends the loops after some iterations.
func (l *exitLoop) function() *clif.Func {
	r := l.r
	m := testModule([]clif.Type{i64, i64}, []clif.Type{i64})
	f, b := newFunc(m)
	l.Builder = b
	outer, header, middle, latch := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	exits := []clif.Block{b.NewBlock(), b.NewBlock()}
	behind, end := b.NewBlock(), b.NewBlock()
	again, around := b.AddParam(outer, i64), b.AddParam(outer, i64)
	p, q, fuel, sum := b.AddParam(header, i64), b.AddParam(header, i64), b.AddParam(header, i64), b.AddParam(header, i64)
	passed := []val{b.AddParam(exits[0], i64), b.AddParam(exits[1], i64)}
	result := b.AddParam(behind, i64)

	b.Jump(b.Target(outer, []val{b.Iconst(i64, 2), 0}))
	b.SwitchTo(outer)
	b.Jump(b.Target(header, []val{around, 1, b.Iconst(i64, 1+r.Uint64N(6)), b.Iconst(i64, 1)}))

	vars := []val{p, q}
	next := []val{0, 0}
	step := func() { // of the variables that have none yet, perhaps
		for k, v := range vars {
			if next[k] == 0 && r.IntN(3) == 0 {
				next[k] = l.plus(v, r.Uint64N(7)-3)
			}
		}
	}
	known := func() val { return []val{p, q, max(next[0], p), max(next[1], q), sum}[r.IntN(5)] }
	leave := func(to clif.Block, k int) {
		var args []val
		if k >= 0 {
			args = []val{known()}
			exit := b.Target(exits[k], args)
			cond := b.Icmp(clif.Eq, i64, b.Binary(clif.OpBand, i64, known(), b.Iconst(i64, 3)), b.Iconst(i64, r.Uint64N(4)))
			b.Branch(cond, exit, b.Target(to, nil))
			return
		}
		b.Jump(b.Target(to, nil))
	}
	b.SwitchTo(header)
	step()
	if r.IntN(3) == 0 {
		sum = b.Binary(clif.OpIadd, i64, sum, known())
	}
	leave(middle, r.IntN(2)-r.IntN(2))
	b.SwitchTo(middle)
	step()
	if r.IntN(3) == 0 {
		sum = b.Binary(clif.OpBxor, i64, sum, known())
	}
	leave(latch, r.IntN(2)-r.IntN(2))
	b.SwitchTo(latch)
	for k, v := range vars {
		if next[k] == 0 {
			next[k] = l.plus(v, r.Uint64N(7)-3)
		}
	}
	left := l.plus(fuel, ^uint64(0))
	b.Branch(l.isNot0(left), b.Target(header, []val{next[0], next[1], left, sum}), b.Target(exits[0], []val{known()}))

	for k, exit := range exits {
		b.SwitchTo(exit)
		x := b.Binary(clif.OpImul, i64, passed[k], b.Iconst(i64, 3))
		for range r.IntN(3) {
			x = b.Binary(clif.OpIadd, i64, x, vars[r.IntN(2)])
		}
		b.Jump(b.Target(behind, []val{x}))
	}
	b.SwitchTo(behind)
	rest := l.plus(again, ^uint64(0))
	use := b.Binary(clif.OpBxor, i64, result, vars[r.IntN(2)])
	b.Branch(l.isNot0(rest), b.Target(outer, []val{rest, []val{use, p, q}[r.IntN(3)]}), b.Target(end, nil))
	b.SwitchTo(end)
	b.Return([]val{b.Binary(clif.OpIadd, i64, use, vars[r.IntN(2)])})
	return f
}

func (l *exitLoop) plus(x val, k uint64) val { return l.Binary(clif.OpIadd, i64, x, l.Iconst(i64, k)) }

func (l *exitLoop) isNot0(x val) val { return l.Icmp(clif.Ne, i64, x, l.Iconst(i64, 0)) }

// TestExitLoops: random loops give the same results as before.
func TestExitLoops(t *testing.T) {
	loops, fired := testenv.Cases(2000, 3000, 20000), 0
	for seed := range uint64(loops) {
		l := exitLoop{r: rand.New(rand.NewPCG(seed, 22))}
		f := l.function()
		o := Optimizer{Control: &Control{Limit: -1}}
		g := optimized(t, &o, f)
		for i := range o.Control.Log {
			if o.Control.Log[i].Rule == RuleExitValue.Info() {
				fired++
			}
		}
		for n := range uint64(4) {
			in := []uint64{l.r.Uint64N(9) * n, l.r.Uint64() >> (16 * n)}
			var ends [2]string
			for i, f := range [...]*clif.Func{f, g} {
				results, err := newWorld(t, f).inst.Func(0).Call(in)
				ends[i] = fmt.Sprint(results, err)
			}
			if ends[0] != ends[1] {
				t.Fatalf("seed %d, f(%#x): %s before, %s after\n%v\n%v", seed, in, ends[0], ends[1], f, g)
			}
		}
	}
	t.Logf("%d loops, the rule applied %d times", loops, fired)
	if fired < loops/4 {
		t.Errorf("the rule applied %d times to %d loops", fired, loops)
	}
}
