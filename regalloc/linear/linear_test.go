package linear_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
	"github.com/waot-project/waot/regalloc/linear"
)

// allocate runs the allocator and the checker.
func allocate(t *testing.T, in *regalloc.Input, env *regalloc.MachineEnv) *regalloc.Output {
	t.Helper()
	var out regalloc.Output
	if err := linear.New().Run(in, env, &out); err != nil {
		t.Fatal(err)
	}
	for _, fixpoint := range []bool{false, true} {
		if err := checker.New().Check(in, env, &out, checker.Options{Fixpoint: fixpoint}); err != nil {
			t.Fatalf("%v\n%s", err, alloctest.Dump(in, &out))
		}
	}
	return &out
}

// TestLoopWithCall: values used in a loop with a call live in callee-saved
// registers, so that the loop touches no memory.
func TestLoopWithCall(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(3)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(vs[:1])})
	p, x, y := b.VReg(0), b.VReg(0), b.VReg(0)
	b.Inst(0, 1, regalloc.FixedUse(p, env.Order[0][0]), regalloc.FixedDef(x, env.Order[0][0]))
	b.Inst(0, 0, reg(x), reg(vs[1]), def(y))
	b.Inst(term, 0, reg(vs[2]))
	b.Block([]regalloc.VReg{p}, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{y})})
	b.Inst(ret, 0, reg(y))
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	if s := out.Stats; s.Spills+s.Reloads > 0 {
		t.Errorf("the loop touches memory: %+v\n%s", s, alloctest.Dump(&b.In, out))
	}
	if out.Used&env.CalleeSaved == 0 {
		t.Error("no callee-saved register is used")
	}
}

// TestColdCall: a value that lives across a call only in a cold block stays in a
// caller-saved register elsewhere, and no callee-saved one is used.
func TestColdCall(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(2)
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 2})
	b.Inst(ret, 0, regalloc.FixedUse(vs[1], env.Order[0][0]))
	b.Block(nil, 0)
	b.Inst(0, 1)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 2})
	b.In.Blocks[3].Cold = true
	out := allocate(t, b.Finish(), env)
	if out.Used&env.CalleeSaved != 0 {
		t.Errorf("a callee-saved register is used\n%s", alloctest.Dump(&b.In, out))
	}
	for _, e := range out.Edits {
		if e.Point.Inst() < 2 && e.To.IsMem() {
			t.Errorf("a store on the hot path: %v\n%s", e, alloctest.Dump(&b.In, out))
		}
	}
}

// TestRemat: what can be repeated is never stored.
func TestRemat(t *testing.T) {
	env := gen.X64()
	env.CalleeSaved = 0
	var b alloctest.Builder
	b.CallClobbers(env)
	b.Entry(1)
	v := b.VReg(regalloc.Int)
	b.Inst(0, 0, def(v))
	b.In.VRegs[v].Remat = 1
	for range 3 {
		b.Inst(0, 1, regalloc.FixedUse(v, env.Order[0][0]))
		b.Inst(0, 0, reg(v))
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	if s := out.Stats; s.Spills+s.Reloads > 0 || s.Remats == 0 || out.SlotWords > 0 {
		t.Errorf("%+v\n%s", s, alloctest.Dump(&b.In, out))
	}
}

// TestLeftOut: a definition that can be repeated is left out where a call follows it, or an edge that is taken less often.
func TestLeftOut(t *testing.T) {
	for _, test := range []struct {
		name            string
		call, cold      bool
		leftOut, remats int
	}{
		{"used at once", false, false, 0, 0},
		{"used behind a call", true, false, 1, 1},
		{"passed along one of two edges", false, false, 1, 1},
		{"passed along a cold edge", false, true, 1, 1},
	} {
		env := gen.X64()
		env.CalleeSaved = 0
		var b alloctest.Builder
		b.CallClobbers(env)
		cond := b.Entry(1)[0]
		v, p := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
		b.In.VRegs[v].Remat = 1
		b.Inst(0, 0, def(v))
		if test.call {
			b.Inst(0, 1, reg(cond))
		}
		if test.call || test.name == "used at once" {
			b.Inst(0, 0, reg(v))
			b.Inst(ret, 0)
			b.Block(nil, 0)
		} else {
			b.Inst(term, 0, reg(cond))
			b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 3, Args: b.List([]regalloc.VReg{v})})
			b.Inst(ret, 0)
			b.Block(nil, 0)
			b.Inst(0, 0, reg(p))
			b.Inst(ret, 0)
			b.Block([]regalloc.VReg{p}, 0)
			b.In.Blocks[1].Cold = test.cold
		}
		out := allocate(t, b.Finish(), env)
		if s := out.Stats; s.LeftOut != test.leftOut || s.Remats != test.remats {
			t.Errorf("%s: %+v\n%s", test.name, s, alloctest.Dump(&b.In, out))
		}
	}
}

// TestRematSaves: a value that can be repeated does not make the function save a register if it is needed again only behind calls on a rare way.
func TestRematSaves(t *testing.T) {
	for _, cold := range []bool{true, false} {
		env := gen.X64()
		var b alloctest.Builder
		b.CallClobbers(env)
		cond := b.Entry(1)[0]
		v := b.VReg(regalloc.Int)
		b.In.VRegs[v].Remat = 1
		b.Inst(0, 0, def(v))
		for range 4 {
			b.Inst(0, 0, reg(v))
		}
		b.Inst(term, 0, reg(cond))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		for range 6 {
			b.Inst(0, 1)
			b.Inst(0, 0, reg(v))
		}
		b.Inst(ret, 0)
		b.Block(nil, 0)
		b.Inst(0, 0, reg(v))
		b.Inst(ret, 0)
		b.Block(nil, 0)
		b.In.Blocks[1].Cold = cold
		out := allocate(t, b.Finish(), env)
		if saves := out.Used&env.CalleeSaved != 0; saves == cold {
			t.Errorf("behind calls on a rare way %t: saves %t\n%s", cold, saves, alloctest.Dump(&b.In, out))
		}
	}
}

// TestStackArgument: an incoming argument word is a home; it is never copied to
// a slot.
func TestStackArgument(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	v := b.VReg(regalloc.Int)
	b.Inst(0, 0, regalloc.StackArgDef(v, 2))
	b.Inst(0, 1, regalloc.UseOf(v, regalloc.Any))
	b.Inst(0, 0, regalloc.UseOf(v, regalloc.Any))
	b.Inst(ret, 0, regalloc.FixedUse(v, env.Order[0][0]))
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	want := []regalloc.Edit{{Point: regalloc.Before(3), From: regalloc.InArg(2), To: regalloc.InReg(env.Order[0][0]), Bytes: 8}}
	if d := cmp.Diff(want, out.Edits); d != "" || out.SlotWords != 0 {
		t.Errorf("edits (-want +got):\n%s", d)
	}
}

// TestSafepoint: a reference is stored once, listed at each safepoint while it
// lives, and reloaded after each.
func TestSafepoint(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(2)
	b.In.VRegs[vs[0]].Ref = true
	for range 2 {
		b.Inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[0], env.Order[0][0]))
		b.Inst(0, 0, reg(vs[0]))
	}
	b.Inst(regalloc.Safepoint, 1)
	b.Inst(ret, 0)
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	var got [][]uint32
	for _, m := range out.StackMaps {
		got = append(got, append([]uint32(nil), out.StackMapSlots[m.Slots.Start:m.Slots.End]...))
	}
	if d := cmp.Diff([][]uint32{{0}, {0}, nil}, got); d != "" || out.Stats.Spills != 1 {
		t.Errorf("%+v (-want +got):\n%s\n%s", out.Stats, d, alloctest.Dump(&b.In, out))
	}
}

// TestTwoAddress: no moves where a value dies in a tied operand.
func TestTwoAddress(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	vs := b.Entry(2)
	x := vs[0]
	for range 5 {
		y := b.VReg(regalloc.Int)
		b.Inst(0, 0, reg(x), reg(vs[1]), regalloc.ReuseDef(y, 0))
		z := b.VReg(regalloc.Int)
		b.Inst(0, 0, reg(y), reg(y), regalloc.ReuseDef(z, 0))
		x = z
	}
	b.Inst(ret, 0, regalloc.FixedUse(x, env.Order[0][0]))
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	if len(out.Edits) > 0 {
		t.Errorf("edits: %v\n%s", out.Edits, alloctest.Dump(&b.In, out))
	}
}

// TestHalfClobbered: over a call that changes the upper halves of callee-saved registers
// values of 8 bytes stay in these, those of 16 do not.
func TestHalfClobbered(t *testing.T) {
	env := gen.A64()
	for _, bytes := range []uint8{8, 16} {
		var b alloctest.Builder
		b.CallClobbers(env)
		v := b.VReg(regalloc.Float)
		b.In.VRegs[v].Bytes = bytes
		b.Inst(0, 0, def(v))
		for range 3 { // often enough for a callee-saved register to pay
			b.Inst(0, 1)
			b.Inst(0, 0, reg(v))
		}
		b.Inst(ret, 0)
		b.Block(nil, 0)
		out := allocate(t, b.Finish(), env)
		saved := out.Used & env.CalleeSaved
		if narrow := bytes == 8; narrow != (len(out.Edits) == 0) || narrow != (saved.Len() == 1) {
			t.Errorf("a value of %d bytes, callee-saved %x used:\n%s", bytes, uint64(saved), alloctest.Dump(&b.In, out))
		}
	}
}

// TestManyClobberSets: sets beyond those with lists of their own are respected too, and so are their halves.
func TestManyClobberSets(t *testing.T) {
	env := gen.A64()
	var b alloctest.Builder
	narrow, wide := b.VReg(regalloc.Float), b.VReg(regalloc.Float)
	b.In.VRegs[wide].Bytes = 16
	b.Inst(0, 0, def(narrow), def(wide))
	b.In.ClobberSets = []regalloc.Clobbers{{}}
	for _, r := range env.Order[regalloc.Int][:20] {
		b.In.ClobberSets = append(b.In.ClobberSets, regalloc.Clobbers{Low: regalloc.SetOf(r), High: env.Allocatable.OfClass(regalloc.Float)})
	}
	for k := range b.In.ClobberSets {
		b.Inst(0, uint16(k), reg(narrow), reg(wide))
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	allocate(t, b.Finish(), env)
}

func TestErrors(t *testing.T) {
	env := gen.X64()
	for _, test := range []struct {
		name string
		make func(b *alloctest.Builder)
		kind flow.ErrorKind
	}{
		{"too many registers", func(b *alloctest.Builder) {
			vs := b.Entry(1)
			var ops []regalloc.Operand
			for range 15 {
				v := b.VReg(regalloc.Int)
				b.Inst(0, 0, def(v))
				ops = append(ops, reg(v))
			}
			b.Inst(ret, 0, append(ops, reg(vs[0]))...)
			b.Block(nil, 0)
		}, flow.Unallocatable},
		{"too many definitions", func(b *alloctest.Builder) {
			b.Entry(1)
			var ops []regalloc.Operand
			for range 15 {
				ops = append(ops, def(b.VReg(regalloc.Int)))
			}
			b.Inst(0, 0, ops...)
			b.Inst(ret, 0)
			b.Block(nil, 0)
		}, flow.Unallocatable},
		{"undefined", func(b *alloctest.Builder) {
			b.Entry(1)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 1})
			b.Inst(ret, 0, reg(b.VReg(regalloc.Int)))
			b.Block(nil, 0)
		}, flow.Undefined},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b alloctest.Builder
			test.make(&b)
			var out regalloc.Output
			err := linear.New().Run(b.Finish(), env, &out)
			var e *flow.Error
			if !errors.As(err, &e) || e.Kind != test.kind {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestDeterminism: neither the run before nor anything else changes the result.
func TestDeterminism(t *testing.T) {
	env := gen.X64()
	list := alloctest.Ordinary(5, 40, 20)
	a := linear.New()
	for k, in := range list {
		var reused, fresh regalloc.Output
		if err := errors.Join(a.Run(in, env, &reused), linear.New().Run(in, env, &fresh)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fresh, reused); d != "" {
			t.Errorf("function %d: %s", k, d)
		}
	}
}

// TestNothingLeft: a function that begins with a constant is not led to the register that the last
// block parameter of the function before was best in.
func TestNothingLeft(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	v, x := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
	b.Inst(0, 0, def(v))
	b.In.VRegs[v].Remat = 1
	b.Inst(0, 0, reg(v))
	for range 8 {
		b.Inst(0, 0)
	}
	b.Inst(0, 0, reg(v), regalloc.ReuseDef(x, 0))
	b.Inst(0, 1, regalloc.FixedUse(x, env.Order[0][2]))
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	var fresh regalloc.Output
	if err := linear.New().Run(in, env, &fresh); err != nil {
		t.Fatal(err)
	}
	for _, r := range env.Order[regalloc.Int] {
		a := linear.New()
		a.SetWish(r)
		var led regalloc.Output
		if err := a.Run(in, env, &led); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fresh.Allocs, led.Allocs); d != "" {
			t.Fatalf("after a function that ended with %v: %s", r, d)
		}
	}
}
