package ssa_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
	"github.com/waot-project/waot/regalloc/ssa"
)

const (
	term = regalloc.IsTerminator
	ret  = regalloc.IsTerminator | regalloc.IsReturn
)

func def(v regalloc.VReg) regalloc.Operand { return regalloc.DefOf(v, regalloc.Reg) }
func reg(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Reg) }

// allocate allocates registers and checks them.
func allocate(t *testing.T, in *regalloc.Input, env *regalloc.MachineEnv) *regalloc.Output {
	t.Helper()
	var out regalloc.Output
	if err := ssa.New().Run(in, env, &out); err != nil {
		t.Fatalf("%v\n%s", err, alloctest.Dump(in, &out))
	}
	for _, o := range []checker.Options{{}, {Fixpoint: true}} {
		if err := checker.New().Check(in, env, &out, o); err != nil {
			t.Fatalf("%v\n%s", err, alloctest.Dump(in, &out))
		}
	}
	return &out
}

// editsIn returns how many edits stand in block b.
func editsIn(in *regalloc.Input, out *regalloc.Output, b regalloc.Block) (n int) {
	r := in.Blocks[b].Insts
	for _, e := range out.Edits {
		if i := uint32(e.Point.Inst()); i >= r.Start && i < r.End {
			n++
		}
	}
	return n
}

// TestLiveThrough: of more values than registers, those that a loop does not use give way, in front of it and not in it.
func TestLiveThrough(t *testing.T) {
	env := gen.X64()
	n := len(env.Order[regalloc.Int])
	var b alloctest.Builder
	vs := b.Entry(6)
	for len(vs) < n+6 {
		v := b.VReg(regalloc.Int)
		b.Inst(0, 0, def(v))
		vs = append(vs, v)
	}
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	for _, v := range vs[:n-1] {
		b.Inst(0, 0, reg(v))
	}
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1})
	for _, v := range vs {
		b.Inst(0, 0, reg(v))
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, env)
	if n := editsIn(in, out, 1) + editsIn(in, out, 2); n > 0 {
		t.Errorf("%d edits in the loop\n%s", n, alloctest.Dump(in, out))
	}
}

// TestCarried: what a loop carries from one iteration to the next needs no move.
func TestCarried(t *testing.T) {
	var b alloctest.Builder
	vs := b.Entry(3)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(vs[:2])})
	p, q := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
	sum, count := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
	b.Inst(0, 0, reg(p), reg(q), def(sum))
	b.Inst(0, 0, reg(q), reg(vs[2]), def(count))
	b.Inst(term, 0, reg(count))
	b.Block([]regalloc.VReg{p, q}, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{sum, count})})
	b.Inst(ret, 0, reg(sum))
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, gen.X64())
	if n := editsIn(in, out, 1) + editsIn(in, out, 2); n > 0 {
		t.Errorf("%d edits in the loop\n%s", n, alloctest.Dump(in, out))
	}
}

// TestOneStore: a value that lives across calls is stored once, however often it is reloaded.
func TestOneStore(t *testing.T) {
	env := gen.Small()
	var b alloctest.Builder
	b.CallClobbers(env)
	var vs []regalloc.VReg
	var ops []regalloc.Operand
	for k := range 4 {
		v := b.VReg(regalloc.Int)
		vs = append(vs, v)
		ops = append(ops, regalloc.FixedDef(v, env.Order[regalloc.Int][k]))
	}
	b.Inst(0, 0, ops...)
	for range 5 {
		b.Inst(0, 1)
		for _, v := range vs {
			b.Inst(0, 0, reg(v))
		}
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, env)
	if out.Stats.Spills > len(vs)-env.CalleeSaved.OfClass(regalloc.Int).Len() {
		t.Errorf("%+v\n%s", out.Stats, alloctest.Dump(in, out))
	}
}

// TestDisplaced: an instruction that names and clobbers registers moves what is in them out of its way, also where all others are taken.
func TestDisplaced(t *testing.T) {
	env := gen.X64()
	order := env.Order[regalloc.Int]
	n := (env.Allocatable &^ env.CalleeSaved).OfClass(regalloc.Int).Len() // others would have to be saved
	for live := n - 4; live <= n; live++ {
		var b alloctest.Builder
		b.In.ClobberSets = []regalloc.Clobbers{{}, regalloc.WholeRegs(regalloc.SetOf(order[1]))}
		var vs []regalloc.VReg
		var ops []regalloc.Operand
		for k := range live {
			v := b.VReg(regalloc.Int)
			vs = append(vs, v)
			ops = append(ops, regalloc.FixedDef(v, order[k]))
		}
		b.Inst(0, 0, ops...)
		quotient := b.VReg(regalloc.Int)
		b.Inst(0, 1, regalloc.FixedUse(vs[3], order[0]), reg(vs[0]), regalloc.FixedDef(quotient, order[0]))
		for _, v := range vs {
			b.Inst(0, 0, reg(v))
		}
		b.Inst(ret, 0, reg(quotient))
		b.Block(nil, 0)
		in := b.Finish()
		out := allocate(t, in, env)
		if out.Stats.Spills > max(0, live-n+2) {
			t.Errorf("%d values: %+v\n%s", live, out.Stats, alloctest.Dump(in, out))
		}
	}
}

// TestRemat: a constant is made where it is used, and its definition is left out.
func TestRemat(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(2)
	c := b.VReg(regalloc.Int)
	b.In.VRegs[c].Remat = regalloc.Inst(len(b.In.Insts))
	b.Inst(0, 0, def(c))
	b.Inst(0, 1, regalloc.FixedUse(vs[0], env.Order[0][0]))
	b.Inst(0, 0, reg(c))
	b.Inst(ret, 0, reg(vs[1]))
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, env)
	if s := out.Stats; s.LeftOut != 1 || s.Remats != 1 {
		t.Errorf("%+v\n%s", s, alloctest.Dump(in, out))
	}
}

// TestColdCall: a call in cold code makes no value on the usual way move, nor a callee-saved register be saved.
func TestColdCall(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(3)
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3})
	b.Inst(0, 1)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3})
	b.In.Blocks[2].Cold = true
	b.Inst(0, 0, reg(vs[1]), reg(vs[2]))
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, env)
	if out.Used&env.CalleeSaved != 0 || editsIn(in, out, 0)+editsIn(in, out, 1)+editsIn(in, out, 3) > 0 {
		t.Errorf("%v\n%s", out.Used&env.CalleeSaved, alloctest.Dump(in, out))
	}
}

// TestTwoEntries: a loop that is entered at two of its blocks, one of them from cold code.
func TestTwoEntries(t *testing.T) {
	env := gen.Small()
	var b alloctest.Builder
	b.CallClobbers(env)
	var vs []regalloc.VReg
	b.Inst(0, 0)
	for range 8 {
		v := b.VReg(regalloc.Int)
		b.Inst(0, 0, def(v))
		vs = append(vs, v)
	}
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3})
	b.Inst(0, 1)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 4})
	b.In.Blocks[2].Cold = true
	b.Inst(0, 0, reg(vs[1]), reg(vs[2]))
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 4})
	b.Inst(0, 0, reg(vs[3]), reg(vs[4]), reg(vs[5]))
	b.Inst(term, 0, reg(vs[6]))
	b.Block(nil, 1, regalloc.Edge{To: 5}, regalloc.Edge{To: 6})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 3})
	b.Inst(ret, 0, reg(vs[7]))
	b.Block(nil, 0)
	allocate(t, b.Finish(), env)
}

// TestErrors: what cannot be allocated is an error with its kind.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(b *alloctest.Builder)
		kind flow.ErrorKind
	}{
		{"too many registers", func(b *alloctest.Builder) {
			vs := b.Entry(6)
			var ops []regalloc.Operand
			for range 20 {
				v := b.VReg(regalloc.Int)
				b.Inst(0, 0, reg(vs[0]), def(v))
				ops = append(ops, reg(v))
			}
			b.Inst(0, 0, ops...)
		}, flow.Unallocatable},
		{"too many definitions", func(b *alloctest.Builder) {
			b.Entry(2)
			var ops []regalloc.Operand
			for range 20 {
				ops = append(ops, def(b.VReg(regalloc.Int)))
			}
			b.Inst(0, 0, ops...)
		}, flow.Unallocatable},
		{"undefined", func(b *alloctest.Builder) {
			b.Entry(2)
			b.Inst(0, 0, reg(b.VReg(regalloc.Int)))
		}, flow.Undefined},
	} {
		var b alloctest.Builder
		test.make(&b)
		b.Inst(ret, 0)
		b.Block(nil, 0)
		var out regalloc.Output
		err := ssa.New().Run(b.Finish(), gen.X64(), &out)
		var e *flow.Error
		if !errors.As(err, &e) || e.Kind != test.kind {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestStoredOnce: in cold code with calls, values of the usual way are stored once and reloaded for each use: their slots stay valid.
func TestStoredOnce(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(2)
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3})
	const calls = 4
	for range calls {
		b.Inst(0, 1)
		b.Inst(0, 0, reg(vs[1]))
	}
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3})
	b.In.Blocks[2].Cold = true
	b.Inst(0, 0, reg(vs[1]))
	b.Inst(ret, 0)
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in, env)
	if n := editsIn(in, out, 0) + editsIn(in, out, 1) + editsIn(in, out, 3); n > 0 || out.Stats.Spills != 1 || out.Stats.Reloads != calls {
		t.Errorf("%d edits on the usual way, %+v\n%s", n, out.Stats, alloctest.Dump(in, out))
	}
}
