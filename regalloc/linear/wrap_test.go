package linear_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

// quickWay is block0, which goes to block1, the quick way, or to block2; block2 runs the given function, which builds all blocks up to
// the one before block exit, where both ways join and return vs[1].
func quickWay(t *testing.T, env *regalloc.MachineEnv, exit regalloc.Block, slow func(b *alloctest.Builder, vs []regalloc.VReg)) (*regalloc.Input, *regalloc.Output) {
	t.Helper()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(3)
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: exit})
	slow(&b, vs)
	b.Inst(ret, 0, regalloc.FixedUse(vs[1], env.Order[0][0]))
	b.Block(nil, 0)
	in := b.Finish()
	return in, allocate(t, in, env)
}

// keptValue makes calls which vs[1] survives in a callee-saved register: saving that costs less than memory.
func keptValue(b *alloctest.Builder, vs []regalloc.VReg) {
	for range 3 {
		b.Inst(0, 1)
		b.Inst(0, 0, reg(vs[1]))
	}
}

// TestQuickWay: a way without a call saves no callee-saved register where that saves work, and values live in such registers on the
// other way nevertheless.
func TestQuickWay(t *testing.T) {
	env := gen.X64()
	const y, n = true, false
	for _, test := range []struct {
		name string
		exit regalloc.Block
		slow func(b *alloctest.Builder, vs []regalloc.VReg)
		want []bool
	}{
		{"a call", 3, func(b *alloctest.Builder, vs []regalloc.VReg) {
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 3})
		}, []bool{y, y, n, y}},
		{"a loop with a call", 6, func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 3})
			keptValue(b, vs)
			b.Inst(term, 0, reg(vs[0]))
			b.Block(nil, 1, regalloc.Edge{To: 4}, regalloc.Edge{To: 5})
			b.Inst(term, 0)
			b.Block(nil, 1, regalloc.Edge{To: 3})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 6})
		}, []bool{y, y, n, n, n, n, y}},
		{"two calls on a path", 6, func(b *alloctest.Builder, vs []regalloc.VReg) {
			keptValue(b, vs)
			b.Inst(term, 0, reg(vs[1]))
			b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 6})
		}, []bool{y, y, n, n, n, n, y}},
		{"a call on each way on", 5, func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(term, 0, reg(vs[0]))
			b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
		}, []bool{y, y, y, n, n, y}},
		{"a call behind a jump, and in front of one", 5, func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 3})
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 4})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
		}, []bool{y, y, n, n, n, y}},
		{"calls in front of where two ways join, and behind it", 9, func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(term, 0, reg(vs[0]))
			b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			for range 2 {
				keptValue(b, vs)
				b.Inst(term, 0)
				b.Block(nil, 0, regalloc.Edge{To: 5})
			}
			b.Inst(term, 0, reg(vs[1])) // block5
			b.Block(nil, 0, regalloc.Edge{To: 6}, regalloc.Edge{To: 7})
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 8})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 8})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 9})
		}, []bool{y, y, y, n, n, n, n, n, y, y}},
	} {
		in, out := quickWay(t, env, test.exit, test.slow)
		if !slices.Equal(out.Unsaved, test.want) || out.Used&env.CalleeSaved == 0 {
			t.Errorf("%s: unsaved are %v, want %v\n%s", test.name, out.Unsaved, test.want, alloctest.Dump(in, out))
		}
		if s := out.Stats; s.Spills+s.Reloads > 0 {
			t.Errorf("%s: memory is used: %+v\n%s", test.name, s, alloctest.Dump(in, out))
		}
	}
}

// TestQuickWayOfTailCalls: a tail call leaves the function as a return does.
func TestQuickWayOfTailCalls(t *testing.T) {
	env := gen.X64()
	p := env.Order[0][0]
	for _, ends := range [][2]regalloc.InstFlags{{tail, ret}, {ret, tail}, {tail, tail}} {
		var b alloctest.Builder
		b.CallClobbers(env)
		vs := b.Entry(3)
		b.Inst(term, 0, reg(vs[0]))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		b.Inst(ends[0], 0, regalloc.FixedUse(vs[1], p))
		b.Block(nil, 0)
		keptValue(&b, vs)
		b.Inst(ends[1], 0, regalloc.FixedUse(vs[1], p))
		b.Block(nil, 0)
		in := b.Finish()
		out := allocate(t, in, env)
		if want := []bool{true, true, false}; !slices.Equal(out.Unsaved, want) {
			t.Errorf("flags %b: unsaved are %v, not %v", ends, out.Unsaved, want)
		}
	}
}

// TestNoQuickWay: registers are saved in the prologue if each way needs them, if the entry calls, or if a loop around would save them again
// and again.
func TestNoQuickWay(t *testing.T) {
	env := gen.X64()
	for _, inEntry := range []bool{true, false} {
		var b alloctest.Builder
		b.CallClobbers(env)
		vs := b.Entry(3)
		if inEntry {
			keptValue(&b, vs)
		}
		b.Inst(term, 0, reg(vs[0]))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		for k := range 2 {
			if !inEntry || k > 0 {
				keptValue(&b, vs)
			}
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 3})
		}
		b.Inst(ret, 0, reg(vs[1]))
		b.Block(nil, 0)
		in := b.Finish()
		if out := allocate(t, in, env); len(out.Unsaved) > 0 || out.Used&env.CalleeSaved == 0 {
			t.Errorf("call in the entry: %v: unsaved are %v\n%s", inEntry, out.Unsaved, alloctest.Dump(in, out))
		}
	}
	// block1 is a loop, in which block2 calls.
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(3)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	keptValue(&b, vs)
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1})
	b.Inst(ret, 0, reg(vs[1]))
	b.Block(nil, 0)
	in := b.Finish()
	if out := allocate(t, in, env); len(out.Unsaved) > 0 {
		t.Errorf("a loop: unsaved are %v\n%s", out.Unsaved, alloctest.Dump(in, out))
	}
}

// twoWays is a function whose first way, block1, has the given instructions and returns, and whose second one calls.
func twoWays(t *testing.T, env *regalloc.MachineEnv, b *alloctest.Builder, vs []regalloc.VReg, first func()) (*regalloc.Input, *regalloc.Output) {
	t.Helper()
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	first()
	b.Inst(ret, 0)
	b.Block(nil, 0)
	keptValue(b, vs)
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	return in, allocate(t, in, env)
}

// TestAskedRegisters: callee-saved registers are saved in the prologue if an instruction on the quick way writes one in spite of what
// the allocator decides, or if they are the preferred ones.
func TestAskedRegisters(t *testing.T) {
	const other, saved = 2, 3 // clobber sets
	for _, test := range []struct {
		name  string
		quick bool
		first func(env *regalloc.MachineEnv, b *alloctest.Builder)
	}{
		{"nothing", true, func(*regalloc.MachineEnv, *alloctest.Builder) {}},
		{"another register clobbered", true, func(_ *regalloc.MachineEnv, b *alloctest.Builder) { b.Inst(0, other) }},
		{"a callee-saved register clobbered", false, func(_ *regalloc.MachineEnv, b *alloctest.Builder) { b.Inst(0, saved) }},
		{"a value in a callee-saved register", false, func(env *regalloc.MachineEnv, b *alloctest.Builder) {
			b.Inst(0, 0, regalloc.FixedDef(b.VReg(regalloc.Int), env.CalleeSaved.First()))
		}},
		{"callee-saved registers first", false, func(env *regalloc.MachineEnv, _ *alloctest.Builder) { slices.Reverse(env.Order[regalloc.Int]) }},
	} {
		env := gen.X64()
		var b alloctest.Builder
		b.CallClobbers(env)
		b.In.ClobberSets = append(b.In.ClobberSets, regalloc.Clobbers{Low: regalloc.SetOf(env.Order[0][3])},
			regalloc.Clobbers{Low: regalloc.SetOf(env.CalleeSaved.First())})
		if test.name != "a callee-saved register clobbered" {
			b.In.ClobberSets = b.In.ClobberSets[:saved]
		}
		in, out := twoWays(t, env, &b, b.Entry(2), func() { test.first(env, &b) })
		if len(out.Unsaved) > 0 != test.quick {
			t.Errorf("%s: unsaved are %v\n%s", test.name, out.Unsaved, alloctest.Dump(in, out))
		}
	}
}

// TestRareCode: calls and loops in cold blocks are no reason to save registers; other loops are.
func TestRareCode(t *testing.T) {
	const y, n = true, false
	env := gen.X64()
	for _, test := range []struct {
		name string
		cold []regalloc.Block
		want []bool
	}{
		{"a call and a loop", nil, []bool{y, y, n, n, n, n, n, n}},
		{"a rare call", []regalloc.Block{2}, nil},
		{"a rare loop", []regalloc.Block{5, 6}, []bool{y, y, n, n, y, y, y, y}},
	} {
		var b alloctest.Builder
		b.CallClobbers(env)
		vs := b.Entry(2)
		b.Inst(term, 0, reg(vs[0]))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2}, regalloc.Edge{To: 4})
		b.Inst(ret, 0)
		b.Block(nil, 0)
		keptValue(&b, vs) // in block2
		keptValue(&b, vs)
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 3})
		b.Inst(ret, 0)
		b.Block(nil, 0)
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 5})
		b.Inst(term, 0, reg(vs[1])) // block5, a loop
		b.Block(nil, 1, regalloc.Edge{To: 6}, regalloc.Edge{To: 7})
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: 5})
		b.Inst(ret, 0)
		b.Block(nil, 0)
		for _, c := range test.cold {
			b.In.Blocks[c].Cold = true
		}
		in := b.Finish()
		if out := allocate(t, in, env); !slices.Equal(out.Unsaved, test.want) {
			t.Errorf("%s: unsaved are %v, want %v\n%s", test.name, out.Unsaved, test.want, alloctest.Dump(in, out))
		}
	}
}

// TestPressureIsNoQuickWay: code in which as many numbers are live as there are registers that need no saving has all registers. Values in
// registers of the other class and those that can be repeated do not count.
func TestPressureIsNoQuickWay(t *testing.T) {
	env := gen.X64()
	free := (env.Allocatable &^ env.CalleeSaved).OfClass(regalloc.Int).Len()
	for _, test := range []struct {
		ints, floats, remats int
		quick                bool
	}{
		{free - 1, 0, 0, true},
		{free - 1, 5, 0, true},
		{free - 1, 0, 5, true},
		{free, 0, 0, false},
		{env.Allocatable.OfClass(regalloc.Int).Len() - 2, 0, 0, false},
	} {
		var b alloctest.Builder
		b.CallClobbers(env)
		vs := b.Entry(2)
		var live []regalloc.VReg
		define := func(class regalloc.Class, remat bool) {
			v := b.VReg(class)
			if remat {
				b.In.VRegs[v].Remat = regalloc.Inst(len(b.In.Insts))
			}
			b.Inst(0, 0, def(v))
			live = append(live, v)
		}
		in, out := twoWays(t, env, &b, vs, func() {
			for range test.ints {
				define(regalloc.Int, false)
			}
			for range test.floats {
				define(regalloc.Float, false)
			}
			for range test.remats {
				define(regalloc.Int, true)
			}
			for _, v := range live {
				b.Inst(0, 0, reg(v))
			}
		})
		first := in.Blocks[1].Insts
		moves := slices.ContainsFunc(out.Edits, func(e regalloc.Edit) bool {
			i := uint32(e.Point.Inst())
			return i >= first.Start && i < first.End
		})
		if len(out.Unsaved) > 0 != test.quick || moves && test.remats == 0 {
			t.Errorf("%+v: unsaved are %v, %+v\n%s", test, out.Unsaved, out.Stats, alloctest.Dump(in, out))
		}
	}
}

// TestManyNeeds: a block, however rare, with an instruction that needs more registers at once than those that need no saving has all registers.
func TestManyNeeds(t *testing.T) {
	env := gen.Small()
	free := env.Order[regalloc.Int][:(env.Allocatable &^ env.CalleeSaved).OfClass(regalloc.Int).Len()]
	fixed := func(vs []regalloc.VReg, n int) (ops []regalloc.Operand) {
		for k, p := range free[:n] {
			ops = append(ops, regalloc.FixedUse(vs[k/(len(free)-1)], p)) // the last one is of another value
		}
		return ops
	}
	for _, test := range []struct {
		name  string
		inst  func(b *alloctest.Builder, vs []regalloc.VReg)
		quick bool
	}{
		{"as many uses as registers", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(0, 0, append(fixed(vs, len(free)-1), reg(vs[1]))...)
		}, true},
		{"a use more", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(0, 0, append(fixed(vs, len(free)), reg(vs[1]))...)
		}, false},
		{"a definition beside all uses", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(0, 0, append(fixed(vs, len(free)), regalloc.Operand{VReg: b.VReg(regalloc.Int), Constraint: regalloc.Reg, Access: regalloc.EarlyDef})...)
		}, false},
		{"a call", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(0, 1, append(fixed(vs, len(free)), regalloc.FixedDef(b.VReg(regalloc.Int), free[0]))...)
		}, true},
		{"a call that reads something late", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(0, 1, regalloc.Operand{VReg: vs[1], Constraint: regalloc.Reg, Access: regalloc.LateUse})
		}, false},
		{"a call with a result anywhere", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(0, 1, def(b.VReg(regalloc.Int)))
		}, false},
	} {
		const rare = 4
		in, out := quickWay(t, env, 5, func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(term, 0, reg(vs[1]))
			b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: rare})
			keptValue(b, vs)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
			test.inst(b, vs)
			b.Inst(ret, 0)
			b.Block(nil, 0)
			b.In.Blocks[rare].Cold = true
		})
		if len(out.Unsaved) == 0 || out.Unsaved[rare] != test.quick {
			t.Errorf("%s: unsaved are %v\n%s", test.name, out.Unsaved, alloctest.Dump(in, out))
		}
	}
}

// TestPressureElsewhere: blocks in which many numbers are live are saved, and with them those between them and calls, and those without
// which registers could not be restored.
func TestPressureElsewhere(t *testing.T) {
	const y, n = true, false
	env := gen.X64()
	crowd := func(b *alloctest.Builder) {
		var live []regalloc.VReg
		for range (env.Allocatable &^ env.CalleeSaved).OfClass(regalloc.Int).Len() {
			v := b.VReg(regalloc.Int)
			b.Inst(0, 0, def(v))
			live = append(live, v)
		}
		for _, v := range live {
			b.Inst(0, 0, reg(v))
		}
	}
	for _, test := range []struct {
		name string
		slow func(b *alloctest.Builder, vs []regalloc.VReg) // from block2 on
		want []bool
	}{
		{"in front of a choice", func(b *alloctest.Builder, vs []regalloc.VReg) {
			crowd(b)
			b.Inst(term, 0, reg(vs[0]))
			b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			b.Inst(ret, 0)
			b.Block(nil, 0)
			keptValue(b, vs)
			b.Inst(ret, 0)
			b.Block(nil, 0)
		}, []bool{y, y, n, n, n}},
		{"in front of where two ways join", func(b *alloctest.Builder, vs []regalloc.VReg) {
			b.Inst(term, 0, reg(vs[0]))
			b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
			crowd(b)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 5})
			b.Inst(term, 0, reg(vs[1])) // block5
			b.Block(nil, 0, regalloc.Edge{To: 6}, regalloc.Edge{To: 7})
			keptValue(b, vs)
			b.Inst(ret, 0)
			b.Block(nil, 0)
			b.Inst(ret, 0)
			b.Block(nil, 0)
		}, []bool{y, y, y, n, n, n, n, n}},
	} {
		var b alloctest.Builder
		b.CallClobbers(env)
		vs := b.Entry(2)
		b.Inst(term, 0, reg(vs[0]))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		b.Inst(ret, 0)
		b.Block(nil, 0)
		test.slow(&b, vs)
		in := b.Finish()
		if out := allocate(t, in, env); !slices.Equal(out.Unsaved, test.want) {
			t.Errorf("%s: unsaved are %v, want %v\n%s", test.name, out.Unsaved, test.want, alloctest.Dump(in, out))
		}
	}
}

// TestCarriedValue: registers are saved in the prologue if a value that is no argument of the function would have to be moved where they
// would otherwise be saved.
func TestCarriedValue(t *testing.T) {
	env := gen.X64()
	for _, argument := range []bool{true, false} {
		var b alloctest.Builder
		b.CallClobbers(env)
		vs := b.Entry(2)
		if !argument {
			vs[1] = b.VReg(regalloc.Int)
			b.Inst(0, 0, reg(vs[0]), def(vs[1]))
		}
		in, out := twoWays(t, env, &b, vs, func() {})
		if len(out.Unsaved) > 0 != argument || out.Used&env.CalleeSaved == 0 {
			t.Errorf("an argument: %v: unsaved are %v\n%s", argument, out.Unsaved, alloctest.Dump(in, out))
		}
	}
}

// TestManyRuns: code that often changes between saved and unsaved blocks is allocated within the budget. If there are more than maxRuns runs
// of unsaved blocks, registers are saved in the prologue.
func TestManyRuns(t *testing.T) {
	const maxRuns = 32
	env := gen.X64()
	for _, calls := range []int{1, 5, maxRuns - 1, maxRuns, 200} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			var b alloctest.Builder
			b.CallClobbers(env)
			vs := b.Entry(2)
			// Of the choices one after the other, every second one leads to calls. The run of unsaved blocks behind the last calls is the last
			// block.
			for k := range 2 * calls {
				b.Inst(term, 0, reg(vs[0]))
				b.Block(nil, 0, regalloc.Edge{To: regalloc.Block(2*k + 1)}, regalloc.Edge{To: regalloc.Block(2*k + 2)})
				if k%2 == 1 {
					keptValue(&b, vs)
				}
				b.Inst(ret, 0)
				b.Block(nil, 0)
			}
			b.Inst(ret, 0)
			b.Block(nil, 0)
			if out := allocate(t, b.Finish(), env); len(out.Unsaved) > 0 != (calls < maxRuns) {
				t.Errorf("unsaved are %v", out.Unsaved)
			}
		})
	}
}
