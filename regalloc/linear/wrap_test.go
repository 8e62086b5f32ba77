package linear_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

// quickWay is block0, which goes to block1, the quick way, or to block2; block2 runs the given function, which builds all blocks up to
// the one before block exit, where both ways join and return vs[1].
func quickWay(t *testing.T, env *regalloc.MachineEnv, exit regalloc.Block, slow func(b *builder, vs []regalloc.VReg)) (*regalloc.Input, *regalloc.Output) {
	t.Helper()
	var b builder
	b.callClobbers(env)
	vs := b.entry(3)
	b.inst(term, 0, reg(vs[0]))
	b.block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: exit})
	slow(&b, vs)
	b.inst(ret, 0, regalloc.FixedUse(vs[1], env.Order[0][0]))
	b.block(nil, 0)
	in := b.finish()
	return in, allocate(t, in, env)
}

// TestQuickWay: a way without a call saves no callee-saved register where that saves work, and values live in such registers on the
// other way nevertheless.
func TestQuickWay(t *testing.T) {
	env := gen.X64()
	const y, n = true, false
	call := func(b *builder, vs []regalloc.VReg) { // which vs[1] and vs[2] survive
		b.inst(0, 1)
		b.inst(0, 0, reg(vs[1]), reg(vs[2]))
		b.inst(0, 1)
		b.inst(0, 0, reg(vs[1]), reg(vs[2]))
	}
	for _, test := range []struct {
		name string
		exit regalloc.Block
		slow func(b *builder, vs []regalloc.VReg)
		want []bool
	}{
		{"a call", 3, func(b *builder, vs []regalloc.VReg) {
			call(b, vs)
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 3})
		}, []bool{y, y, n, y}},
		{"a loop with a call", 6, func(b *builder, vs []regalloc.VReg) {
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 3})
			call(b, vs)
			b.inst(term, 0, reg(vs[0]))
			b.block(nil, 1, regalloc.Edge{To: 4}, regalloc.Edge{To: 5})
			b.inst(term, 0)
			b.block(nil, 1, regalloc.Edge{To: 3})
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 6})
		}, []bool{y, y, n, n, n, n, y}},
		{"two calls on a path", 6, func(b *builder, vs []regalloc.VReg) {
			call(b, vs)
			b.inst(term, 0, reg(vs[1]))
			b.block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 5})
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 5})
			call(b, vs)
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 6})
		}, []bool{y, y, n, n, n, n, y}},
		{"a call on each way on", 5, func(b *builder, vs []regalloc.VReg) {
			b.inst(term, 0, reg(vs[0]))
			b.block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			call(b, vs)
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 5})
			call(b, vs)
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 5})
		}, []bool{y, y, y, n, n, y}},
	} {
		in, out := quickWay(t, env, test.exit, test.slow)
		if !slices.Equal(out.Unsaved, test.want) || out.Used&env.CalleeSaved == 0 {
			t.Errorf("%s: unsaved are %v, want %v\n%s", test.name, out.Unsaved, test.want, dump(in, out))
		}
		if s := out.Stats; s.Spills+s.Reloads > 0 {
			t.Errorf("%s: memory is used: %+v\n%s", test.name, s, dump(in, out))
		}
	}
}

// TestNoQuickWay: registers are saved in the prologue if each way needs them, if the entry calls, or if a loop around would save them again
// and again.
func TestNoQuickWay(t *testing.T) {
	env := gen.X64()
	call := func(b *builder, vs []regalloc.VReg) {
		for range 3 {
			b.inst(0, 1)
			b.inst(0, 0, reg(vs[1]), reg(vs[2]))
		}
	}
	for _, inEntry := range []bool{true, false} {
		var b builder
		b.callClobbers(env)
		vs := b.entry(3)
		if inEntry {
			call(&b, vs)
		}
		b.inst(term, 0, reg(vs[0]))
		b.block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		for k := range 2 {
			if !inEntry || k > 0 {
				call(&b, vs)
			}
			b.inst(term, 0)
			b.block(nil, 0, regalloc.Edge{To: 3})
		}
		b.inst(ret, 0, reg(vs[1]))
		b.block(nil, 0)
		in := b.finish()
		if out := allocate(t, in, env); len(out.Unsaved) > 0 || out.Used&env.CalleeSaved == 0 {
			t.Errorf("call in the entry: %v: unsaved are %v\n%s", inEntry, out.Unsaved, dump(in, out))
		}
	}
	// block1 is a loop, in which block2 calls.
	var b builder
	b.callClobbers(env)
	vs := b.entry(3)
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1})
	b.inst(term, 0, reg(vs[0]))
	b.block(nil, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	call(&b, vs)
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: 1})
	b.inst(ret, 0, reg(vs[1]))
	b.block(nil, 0)
	in := b.finish()
	if out := allocate(t, in, env); len(out.Unsaved) > 0 {
		t.Errorf("a loop: unsaved are %v\n%s", out.Unsaved, dump(in, out))
	}
}

// TestPressureIsNoQuickWay: code in which many values are live has all registers.
func TestPressureIsNoQuickWay(t *testing.T) {
	env := gen.X64()
	values := env.Allocatable.OfClass(regalloc.Int).Len()
	var b builder
	b.callClobbers(env)
	vs := b.entry(2)
	for len(vs) < values {
		v := b.vreg(regalloc.Int)
		b.inst(0, 0, def(v))
		vs = append(vs, v)
	}
	for _, v := range vs {
		b.inst(0, 0, reg(v))
	}
	b.inst(term, 0, reg(vs[0]))
	b.block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	b.inst(ret, 0)
	b.block(nil, 0)
	b.inst(0, 1)
	b.inst(0, 0, reg(vs[1]))
	b.inst(ret, 0)
	b.block(nil, 0)
	in := b.finish()
	if out := allocate(t, in, env); len(out.Unsaved) > 0 || out.Stats.Spills > 0 {
		t.Errorf("unsaved are %v, %+v\n%s", out.Unsaved, out.Stats, dump(in, out))
	}
}

// TestManyRuns: code that often changes between saved and unsaved blocks is allocated within the budget.
func TestManyRuns(t *testing.T) {
	env := gen.X64()
	for _, pairs := range []int{1, 5, 31, 200} {
		t.Run(fmt.Sprint(pairs), func(t *testing.T) {
			var b builder
			b.callClobbers(env)
			vs := b.entry(3)
			arms := []regalloc.Edge{}
			for k := range 2 * pairs {
				arms = append(arms, regalloc.Edge{To: regalloc.Block(k + 1)})
			}
			b.inst(term, 0, reg(vs[0]))
			b.block(nil, 0, arms...)
			for k := range 2 * pairs {
				if k%2 == 0 {
					b.inst(0, 1)
				}
				b.inst(ret, 0, reg(vs[1]), reg(vs[2]))
				b.block(nil, 0)
			}
			allocate(t, b.finish(), env)
		})
	}
}
