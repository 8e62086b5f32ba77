package linear_test

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

// dispatcher is a loop whose usual way uses all of the given number of values, and whose arms, of which one may run in an
// iteration, call and use some of them.
func dispatcher(arms, values int) (in *regalloc.Input, usual []regalloc.Block) {
	env := gen.X64()
	var b builder
	b.callClobbers(env)
	vs := b.entry(3)
	for len(vs) < values {
		v := b.vreg(regalloc.Int)
		b.inst(0, 0, def(v))
		vs = append(vs, v)
	}
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1})
	for _, v := range vs {
		b.inst(0, 0, reg(v))
	}
	latch := regalloc.Block(arms + 4)
	b.inst(term, 0, reg(vs[0]))
	b.block(nil, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: latch})
	var ways []regalloc.Edge
	for k := range arms {
		ways = append(ways, regalloc.Edge{To: regalloc.Block(k + 4)})
	}
	b.inst(term, 0, reg(vs[1]))
	b.block(nil, 1, ways...)
	for k := range arms {
		b.inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[k%values], env.Order[0][0]))
		b.inst(0, 0, reg(vs[(k+1)%values]), reg(vs[(k+2)%values]))
		b.inst(term, 0)
		b.block(nil, 1, regalloc.Edge{To: latch})
	}
	b.inst(term, 0, reg(vs[2]))
	b.block(nil, 1, regalloc.Edge{To: latch + 1}, regalloc.Edge{To: latch + 2})
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: 1})
	b.inst(ret, 0)
	b.block(nil, 0)
	return b.finish(), []regalloc.Block{1, 2, latch, latch + 1}
}

// editsIn returns the edits of the given blocks.
func editsIn(in *regalloc.Input, out *regalloc.Output, blocks []regalloc.Block) (list []regalloc.Edit) {
	for _, e := range out.Edits {
		for _, b := range blocks {
			if r := in.Blocks[b].Insts; e.Point.Inst() >= regalloc.Inst(r.Start) && e.Point.Inst() < regalloc.Inst(r.End) {
				list = append(list, e)
			}
		}
	}
	return list
}

// TestRareArms: calls in the arms of a loop cost the usual way through it nothing, though there are too few callee-saved registers
// for its values: they are in the same registers again where the arms join.
func TestRareArms(t *testing.T) {
	env := gen.X64()
	in, usual := dispatcher(20, env.CalleeSaved.OfClass(regalloc.Int).Len()+4)
	out := allocate(t, in, env)
	if l := editsIn(in, out, usual); len(l) > 0 {
		t.Errorf("on the usual way: %v\n%s", l, dump(in, out))
	}
	if out.Stats.Spills == 0 {
		t.Error("nothing is stored around the calls")
	}
}

// TestCallBehindLoop: a value of an inner loop that lives across a call behind it takes no register from those that the inner loop
// uses; it is moved where the inner loop is left.
func TestCallBehindLoop(t *testing.T) {
	env := gen.X64()
	var b builder
	b.callClobbers(env)
	n := env.CalleeSaved.OfClass(regalloc.Int).Len()
	vs := b.entry(n)
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1})
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: 2})
	c := b.vreg(regalloc.Int)
	for _, v := range vs {
		b.inst(0, 0, reg(v))
	}
	b.inst(0, 0, reg(vs[0]), def(c))
	b.inst(0, 0, reg(c))
	b.inst(0, 0, reg(c))
	b.inst(term, 0, reg(c))
	b.block(nil, 2, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
	b.inst(term, 0)
	b.block(nil, 2, regalloc.Edge{To: 2})
	b.inst(0, 1)
	for range 20 { // the inner loop's values are used seldom for how long they live
		b.inst(0, 0)
	}
	b.inst(term, 0, reg(c))
	b.block(nil, 1, regalloc.Edge{To: 5}, regalloc.Edge{To: 6})
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: 1})
	b.inst(ret, 0)
	b.block(nil, 0)
	in := b.finish()
	out := allocate(t, in, env)
	if l := editsIn(in, out, []regalloc.Block{2, 3}); len(l) > 0 {
		t.Errorf("in the inner loop: %v\n%s", l, dump(in, out))
	}
}
