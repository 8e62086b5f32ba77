package linear_test

import (
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

// restored is n values that live across calls, each of which is followed by a
// block that may set them all anew: code that can be resumed at every call.
func restored(n, calls int) *regalloc.Input {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	var params []regalloc.VReg
	vs := b.Entry(2)
	for range n - 2 {
		v := b.VReg(regalloc.Int)
		b.Inst(0, 0, def(v))
		vs = append(vs, v)
	}
	for k := range uint32(calls) {
		b.Inst(0, 1)
		b.Inst(term, 0)
		b.Block(params, 0, regalloc.Edge{To: regalloc.Block(3*k + 1)}, regalloc.Edge{To: regalloc.Block(3*k + 2)})
		var ws, ps []regalloc.VReg
		for range n {
			w := b.VReg(regalloc.Int)
			b.Inst(0, 0, def(w))
			ws = append(ws, w)
			ps = append(ps, b.VReg(regalloc.Int))
		}
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: regalloc.Block(3*k + 3), Args: b.List(ws)})
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: regalloc.Block(3*k + 3), Args: b.List(vs)})
		vs, params = ps, ps
	}
	for _, v := range vs {
		b.Inst(0, 0, reg(v))
	}
	b.Inst(ret, 0)
	b.Block(params, 0)
	return b.Finish()
}

// TestMergesShareSlots: values that are merged again and again keep their
// slots, so that no edge copies from memory to memory, or loads.
func TestMergesShareSlots(t *testing.T) {
	in := restored(40, 20)
	out := allocate(t, in, gen.X64())
	scratch := regalloc.InReg(gen.X64().Scratch[regalloc.Float])
	for _, e := range out.Edits {
		if e.From == scratch || e.To == scratch {
			t.Fatalf("a value changes its slot: %v", e)
		}
	}
	if out.SlotWords > 60 {
		t.Errorf("%d words of slots", out.SlotWords)
	}
	if s := out.Stats; s.Reloads > 200 || s.Moves > 100 {
		t.Errorf("%+v", s)
	}
}

// TestClaimOfSharedSlot: on the only edge to a block not next in order, a value
// in a register is passed for a parameter whose slot, the same, is valid already;
// that has to be claimed of the parameter, as nothing is moved.
func TestClaimOfSharedSlot(t *testing.T) {
	env := gen.X64()
	env.CalleeSaved = 0
	var b alloctest.Builder
	b.CallClobbers(env)
	v := b.Entry(1)[0]
	b.Inst(0, 1)
	b.Inst(term, 0, reg(v))
	p, q := b.VReg(regalloc.Int), b.VReg(regalloc.Int)
	b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2, Args: b.List([]regalloc.VReg{v})})
	b.Inst(0, 0, reg(v))
	b.Inst(ret, 0)
	b.Block(nil, 0)
	b.Inst(0, 1)
	b.Inst(term, 0, reg(p))
	b.Block([]regalloc.VReg{p}, 0, regalloc.Edge{To: 3, Args: b.List([]regalloc.VReg{p})})
	b.Inst(0, 0, reg(q))
	b.Inst(ret, 0)
	b.Block([]regalloc.VReg{q}, 0)
	allocate(t, b.Finish(), env)
}

// TestLoopCarried: what a loop carries stays in its register.
func TestLoopCarried(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	vs := b.Entry(3)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(vs[:2])})
	p, q, x, y := b.VReg(0), b.VReg(0), b.VReg(0), b.VReg(0)
	b.Inst(0, 0, reg(p), reg(vs[2]), regalloc.ReuseDef(x, 0))
	b.Inst(0, 0, reg(q), reg(x), regalloc.ReuseDef(y, 0))
	b.Inst(term, 0, reg(y))
	b.Block([]regalloc.VReg{p, q}, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{x, y})})
	b.Inst(ret, 0, reg(y))
	b.Block(nil, 0)
	if out := allocate(t, b.Finish(), env); len(out.Edits) > 0 {
		t.Errorf("%v\n%s", out.Edits, alloctest.Dump(&b.In, out))
	}
}

// TestRematArguments: a constant that is only passed to calls is made anew for
// each and keeps no register.
func TestRematArguments(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	b.Entry(1)
	v := b.VReg(regalloc.Int)
	b.Inst(0, 0, def(v))
	b.In.VRegs[v].Remat = 1
	for range 6 {
		b.Inst(0, 1, regalloc.FixedUse(v, env.Order[0][1]))
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	if s := out.Stats; out.Used&env.CalleeSaved != 0 || s.Moves > 0 || s.Remats != 5 {
		t.Errorf("%+v\n%s", s, alloctest.Dump(&b.In, out))
	}
}

// TestOftenUsedTakesRegister: a value used between all calls gets a callee-saved
// register, though those that live as long but are hardly used come first.
func TestOftenUsedTakesRegister(t *testing.T) {
	env := gen.X64()
	var b alloctest.Builder
	b.CallClobbers(env)
	vs := b.Entry(env.CalleeSaved.Len() + 2)
	v := b.VReg(regalloc.Int)
	b.Inst(0, 0, def(v))
	b.Inst(0, 0, reg(v))
	for range 30 {
		b.Inst(0, 1)
		b.Inst(0, 0, reg(v))
		b.Inst(0, 0, reg(v))
	}
	for _, w := range vs {
		b.Inst(0, 0, reg(w))
		b.Inst(0, 0, reg(w))
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	out := allocate(t, b.Finish(), env)
	if s := out.Stats; s.Reloads > 4 {
		t.Errorf("%+v\n%s", s, alloctest.Dump(&b.In, out))
	}
}
