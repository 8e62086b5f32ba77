package linear_test

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

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
	in, usual := alloctest.Dispatcher(20, env.CalleeSaved.OfClass(regalloc.Int).Len()+4)
	out := allocate(t, in, env)
	if l := editsIn(in, out, usual); len(l) > 0 {
		t.Errorf("on the usual way: %v\n%s", l, alloctest.Dump(in, out))
	}
	if out.Stats.Spills == 0 {
		t.Error("nothing is stored around the calls")
	}
}

// TestCallBehindLoop: a value of an inner loop that lives across a call behind it takes no register from those that the inner loop
// uses; it is moved where the inner loop is left.
func TestCallBehindLoop(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	n := env.CalleeSaved.OfClass(regalloc.Int).Len()
	vs := b.Entry(n)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 2})
	c := b.VReg(regalloc.Int)
	for _, v := range vs {
		b.Inst(0, 0, reg(v))
	}
	b.Inst(0, 0, reg(vs[0]), def(c))
	b.Inst(0, 0, reg(c))
	b.Inst(0, 0, reg(c))
	b.Inst(term, 0, reg(c))
	b.Block(nil, 2, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
	b.Inst(term, 0)
	b.Block(nil, 2, regalloc.Edge{To: 2})
	b.Inst(0, 1)
	for range 20 { // the inner loop's values are used seldom for how long they live
		b.Inst(0, 0)
	}
	b.Inst(term, 0, reg(c))
	b.Block(nil, 1, regalloc.Edge{To: 5}, regalloc.Edge{To: 6})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1})
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, env)
	if l := editsIn(in, out, []regalloc.Block{2, 3}); len(l) > 0 {
		t.Errorf("in the inner loop: %v\n%s", l, alloctest.Dump(in, out))
	}
}
