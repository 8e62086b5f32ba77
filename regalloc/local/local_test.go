package local_test

import (
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/local"
)

const (
	term = regalloc.IsTerminator
	ret  = regalloc.IsTerminator | regalloc.IsReturn
)

func def(v regalloc.VReg) regalloc.Operand { return regalloc.DefOf(v, regalloc.Reg) }
func reg(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Reg) }

// allocate allocates registers and checks them.
func allocate(t *testing.T, in *regalloc.Input) *regalloc.Output {
	t.Helper()
	var out regalloc.Output
	env := gen.X64()
	if err := local.New().Run(in, env, &out); err != nil {
		t.Fatalf("%v\n%s", err, alloctest.Dump(in, &out))
	}
	for _, o := range []checker.Options{{}, {Fixpoint: true}} {
		if err := checker.New().Check(in, env, &out, o); err != nil {
			t.Fatalf("%v\n%s", err, alloctest.Dump(in, &out))
		}
	}
	return &out
}

// editsIn fails unless block b has n edits.
func editsIn(t *testing.T, in *regalloc.Input, out *regalloc.Output, b regalloc.Block, n int) {
	t.Helper()
	r, found := in.Blocks[b].Insts, 0
	for _, e := range out.Edits {
		if i := uint32(e.Point.Inst()); i >= r.Start && i < r.End {
			found++
		}
	}
	if found != n {
		t.Errorf("block%d has %d edits, not %d\n%s", b, found, n, alloctest.Dump(in, out))
	}
}

// TestOwnRegister: what a loop uses of the code in front of it has a register of its own, and what it carries from one iteration to the next stays where it is.
func TestOwnRegister(t *testing.T) {
	var b alloctest.Builder
	vs := b.Entry(3)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(vs[:1])})
	p, next := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
	b.Inst(0, 0, reg(p), reg(vs[1]), reg(vs[2]), regalloc.ReuseDef(next, 0))
	b.Inst(term, 0, reg(next))
	b.Block([]regalloc.VReg{p}, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{next})})
	b.Inst(ret, 0, reg(next))
	b.Block(nil, 0)
	in := b.Finish()
	out := allocate(t, in)
	editsIn(t, in, out, 1, 0)
	editsIn(t, in, out, 2, 0)
	if out.SlotWords != 0 {
		t.Errorf("%d slots", out.SlotWords)
	}
}

// diamond is a branch whose ways meet. The function has a call, so that values have no registers of their own; change says whether one way changes
// a value that it passes, which the call follows.
func diamond(change bool) (in *regalloc.Input, join regalloc.Block) {
	var b alloctest.Builder
	b.In.ClobberSets = []regalloc.Clobbers{{}, regalloc.WholeRegs(gen.X64().Allocatable)}
	vs := b.Entry(3)
	x, y := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
	b.Inst(0, 0, reg(vs[0]), def(x))
	b.Inst(term, 0, reg(vs[1]))
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
	q := b.VReg(regalloc.Int)
	args, params := [2][]regalloc.VReg{}, []regalloc.VReg(nil)
	if change {
		args, params = [2][]regalloc.VReg{{x}, {y}}, []regalloc.VReg{q}
	}
	if change {
		b.Inst(0, 1)
	}
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3, Args: b.List(args[0])})
	b.Inst(0, 0, reg(x), def(y))
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 3, Args: b.List(args[1])})
	if change {
		b.Inst(0, 1)
		b.Inst(term, 0)
		b.Block(params, 0, regalloc.Edge{To: 4}, regalloc.Edge{To: 5})
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 6})
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 6})
		b.Inst(ret, 0, reg(q))
	} else {
		b.Inst(0, 0, reg(x))
		b.Inst(ret, 0)
	}
	b.Block(nil, 0)
	if !change { // the only instruction that clobbers registers is out of the way
		b.In.ClobberSets[1] = regalloc.Clobbers{}
	}
	return b.Finish(), 3
}

// TestMeet: what both ways have in one register is still there where they meet.
func TestMeet(t *testing.T) {
	in, join := diamond(false)
	editsIn(t, in, allocate(t, in), join, 0)
}

// TestFollow: a variable that one way changes has one slot, so that the other way only stores it, since it calls.
func TestFollow(t *testing.T) {
	in, _ := diamond(true)
	out := allocate(t, in)
	editsIn(t, in, out, 1, 1)
	if out.SlotWords != 1 {
		t.Errorf("%d slots\n%s", out.SlotWords, alloctest.Dump(in, out))
	}
}

// TestNextIteration: what the next iteration of a loop has for a variable, which has a register of its own, is defined in that register if
// the definition comes behind the last read of the variable, and elsewhere if not.
func TestNextIteration(t *testing.T) {
	const start, p, next = regalloc.VReg(0), regalloc.VReg(1), regalloc.VReg(2)
	early := regalloc.Operand{VReg: next, Access: regalloc.EarlyDef, Constraint: regalloc.Reg}
	late := func(c regalloc.Constraint) regalloc.Operand {
		return regalloc.Operand{VReg: p, Access: regalloc.LateUse, Constraint: c}
	}
	for _, test := range []struct {
		name     string
		clobbers uint16
		ops      []regalloc.Operand // of the instruction with the last read
		edits    int                // at the end of an iteration
	}{
		{"use and definition", 0, []regalloc.Operand{reg(p), def(next)}, 0},
		{"use and early definition", 0, []regalloc.Operand{reg(p), early}, 1},
		{"early definition and use", 0, []regalloc.Operand{early, reg(p)}, 1},
		{"late use and definition", 0, []regalloc.Operand{late(regalloc.Reg), def(next)}, 1},
		// At a call, what may be in a slot is there, but not a variable with a register of its own.
		{"late use and definition at a call", 1, []regalloc.Operand{late(regalloc.Any), def(next)}, 1},
		{"late use and early definition at a call", 1, []regalloc.Operand{late(regalloc.Any), early}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b alloctest.Builder
			b.CallClobbers(gen.X64())
			b.Entry(1)
			b.VReg(regalloc.Int)
			b.VReg(regalloc.Int)
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{start})})
			b.Inst(term, 0, reg(p))
			b.Block([]regalloc.VReg{p}, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
			for range 2 {
				b.Inst(term, 0)
				b.Block(nil, 1, regalloc.Edge{To: 4})
			}
			b.Inst(0, test.clobbers, test.ops...)
			b.Inst(term, 0)
			b.Block(nil, 1, regalloc.Edge{To: 5}, regalloc.Edge{To: 6})
			b.Inst(term, 0)
			b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{next})})
			b.Inst(ret, 0)
			b.Block(nil, 0)
			in := b.Finish()
			editsIn(t, in, allocate(t, in), 5, test.edits)
		})
	}
}
