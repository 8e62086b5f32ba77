package opt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// swapped is a function with two results, its parameters, of a module of resumableFunc.
func swapped(m *clif.Module) *clif.Func {
	f := &clif.Func{Name: "swapped", Mod: m, Index: 1, Sig: m.Funcs[1].Sig}
	b := &clif.Builder{F: f}
	entry := b.NewBlock()
	b.AddParam(entry, i64)
	b.AddParam(entry, i64)
	b.SwitchTo(entry)
	b.Return([]val{1, 0})
	return f
}

// resumableFunc is f(state, x, y), a random function that begins in any of its states, and goes from state to state by constants. A third
// variable ends it. What may trap has a place of its own.
func resumableFunc(r *rand.Rand) *clif.Func {
	m := testModule([]clif.Type{i32, i64, i64}, []clif.Type{i64})
	m.Sigs = append(m.Sigs, clif.Signature{Params: []clif.Type{i64, i64}, Results: []clif.Type{i64, i64}})
	m.Funcs = append(m.Funcs[:1], clif.FuncDecl{Sig: 2, Name: "swapped"}, m.Funcs[1])
	f, b := newFunc(m)
	head, exit := b.NewBlock(), b.NewBlock()
	vars := []val{b.AddParam(head, i32)}
	for range 3 {
		vars = append(vars, b.AddParam(head, i64))
	}
	result := b.AddParam(exit, i64)
	b.Jump(b.Target(head, []val{0, 1, 2, b.Iconst(i64, 1+r.Uint64N(9))}))
	b.SwitchTo(head)
	var states []clif.Block
	var targets []clif.Target
	n := 2 + r.IntN(7)
	for range n {
		states = append(states, b.NewBlock())
		targets = append(targets, b.Target(states[len(states)-1], nil))
	}
	b.BrTable(vars[0], append(targets, targets[r.IntN(n)]))
	for k, s := range states {
		b.SwitchTo(s)
		b.Src = uint32(0x100 * (k + 1))
		x, y, left := vars[1], vars[2], vars[3]
		for range r.IntN(3) {
			op := []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpBxor, clif.OpImul}[r.IntN(4)]
			x, y = y, b.Binary(op, i64, x, []val{y, b.Iconst(i64, r.Uint64N(9))}[r.IntN(2)])
		}
		b.Src++
		switch r.IntN(8) {
		case 0:
			x = b.Select(i64, b.Icmp(clif.Slt, i64, x, y), y, x)
		case 1:
			x = b.Load(i64, clif.Full, 0, b.Binary(clif.OpBand, i32, b.Unary(clif.OpIreduce, i32, y), b.Iconst(i32, 0x1ffff)), 0) // half of memory is missing
		case 2:
			if r.IntN(3) == 0 { // few, as loops with calls are left alone
				x = b.Call(1, []val{x, y})
				y = x + 1
			}
		}
		if r.IntN(4) == 0 {
			b.Store(i64, clif.Full, 0, b.Iconst(i32, 8*r.Uint64N(4)), x, 0)
			y = b.Load(i64, clif.Full, 0, b.Iconst(i32, 8*r.Uint64N(4)), 0)
		}
		left = b.Binary(clif.OpIsub, i64, left, b.Iconst(i64, 1))
		to := func() clif.Target {
			return b.Target(head, []val{b.Iconst(i32, r.Uint64N(uint64(n))), x, y, left})
		}
		cond := b.Icmp(clif.Ult, i64, x, y)
		switch r.IntN(4) {
		case 0:
			b.Jump(b.Target(exit, []val{x}))
		case 1:
			b.Branch(cond, to(), b.Target(exit, []val{y}))
		default:
			more := b.NewBlock()
			b.Branch(b.Icmp(clif.Ne, i64, left, b.Iconst(i64, 0)), b.Target(more, nil), b.Target(exit, []val{x}))
			b.SwitchTo(more)
			if r.IntN(3) == 0 {
				b.Jump(to())
			} else {
				b.Branch(cond, to(), to())
			}
			continue
		}
	}
	b.SwitchTo(exit)
	b.Return([]val{result})
	return f
}

// TestResumable: random functions do the same from each state as before.
func TestResumable(t *testing.T) {
	functions, fired, calls, long := testenv.Cases(1000, 1500, 10000), 0, 0, 0
	for seed := range uint64(functions) {
		r := rand.New(rand.NewPCG(seed, 23))
		f := resumableFunc(r)
		o := Optimizer{Control: &Control{Limit: -1}}
		g := optimized(t, &o, f)
		for i := range o.Control.Log {
			if o.Control.Log[i].Rule == RuleCopyResumed.Info() {
				fired++
			}
		}
		for state := range uint64(10) {
			in := []uint64{state, r.Uint64N(9), r.Uint64() >> (7 * state)}
			var ends [2]string
			endless := false // or too long to say; with fewer instructions, it may end
			for i, f := range [...]*clif.Func{f, g} {
				// The interpreter counts moves for parameters as steps, of which the copy may have more.
				results, err := newShortWorld(t, 1<<(12+i), f, swapped(f.Mod)).inst.Func(0).Call(in)
				ends[i] = fmt.Sprint(results, err)
				endless = endless || i == 0 && errors.Is(err, interp.ErrSteps)
			}
			if calls++; endless {
				long++
			} else if ends[0] != ends[1] {
				t.Fatalf("seed %d, f(%d): %s before, %s after\n%v\n%v", seed, in, ends[0], ends[1], f, g)
			}
		}
	}
	t.Logf("%d functions, of which %d were copied; %d of %d calls took too long to compare", functions, fired, long, calls)
	if fired < functions/10 || long > calls/10 {
		t.Errorf("%d of %d functions were copied; %d of %d calls took too long", fired, functions, long, calls)
	}
}

// TestResumableInLoop: a function that can be resumed is inlined in a loop of another one. The copy would use what an earlier
// iteration has computed in the original.
func TestResumableInLoop(t *testing.T) {
	f, b := newFunc(testModule([]clif.Type{i32, i64, i64}, []clif.Type{i64}))
	head, first, loop, end := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	left, sum := b.AddParam(head, i32), b.AddParam(head, i64)
	x := b.AddParam(loop, i64)
	b.Jump(b.Target(head, []val{0, 1}))
	b.SwitchTo(head)
	before := b.Binary(clif.OpIadd, i64, sum, 2)
	b.BrTable(b.Binary(clif.OpBand, i32, left, b.Iconst(i32, 1)), []clif.Target{b.Target(first, nil), b.Target(loop, []val{before})})
	f.Insts[len(f.Insts)-1].Cond = clif.TableRare
	b.SwitchTo(first)
	b.Jump(b.Target(loop, []val{b.Iconst(i64, 3)}))
	b.SwitchTo(loop) // which the rare entry enters in the middle, seen from first
	next := b.Binary(clif.OpIadd, i64, x, before)
	b.Branch(b.Icmp(clif.Ult, i64, next, b.Iconst(i64, 1000)), b.Target(first, nil), b.Target(end, nil))
	b.SwitchTo(end)
	less := b.Binary(clif.OpIsub, i32, left, b.Iconst(i32, 1))
	more := b.NewBlock()
	b.Branch(less, b.Target(head, []val{less, next}), b.Target(more, nil))
	b.SwitchTo(more)
	b.Return([]val{next})

	g := clone(f)
	var o Optimizer
	o.RunPass(g, "resume")
	if err := verify.Func(g); err != nil {
		t.Fatalf("%v\n%v\n%v", err, f, g)
	}
	if len(g.Blocks) != len(f.Blocks) {
		t.Errorf("blocks are copied:\n%v", g)
	}
}

// TestResumableTable: entries of a table that share a target share its copy.
func TestResumableTable(t *testing.T) {
	f, b := newFunc(testModule([]clif.Type{i32, i64, i64}, []clif.Type{i64}))
	first, loop, end := b.NewBlock(), b.NewBlock(), b.NewBlock()
	head := b.NewBlock()
	x, result := b.AddParam(loop, i64), b.AddParam(end, i64)
	b.Jump(b.Target(head, nil))
	b.SwitchTo(head)
	b.BrTable(0, []clif.Target{b.Target(first, nil), b.Target(loop, []val{1})})
	f.Insts[len(f.Insts)-1].Cond = clif.TableRare
	b.SwitchTo(first)
	b.Jump(b.Target(loop, []val{b.Iconst(i64, 3)}))
	b.SwitchTo(loop)
	next := b.Binary(clif.OpIadd, i64, x, 2)
	again, leave := b.Target(first, nil), b.Target(end, []val{next})
	b.BrTable(b.Unary(clif.OpIreduce, i32, next), append(slices.Repeat([]clif.Target{again, leave}, 50), leave))
	b.SwitchTo(end)
	b.Return([]val{result})

	g := clone(f)
	var o Optimizer
	o.RunPass(g, "resume")
	if err := verify.Func(g); err != nil {
		t.Fatalf("%v\n%v\n%v", err, f, g)
	}
	if len(g.Blocks) != len(f.Blocks)+3 || len(g.Targets) != len(f.Targets)+4 {
		t.Errorf("%d blocks and %d targets more\n%v", len(g.Blocks)-len(f.Blocks), len(g.Targets)-len(f.Targets), g)
	}
}
