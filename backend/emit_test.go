package backend

import (
	"math/rand"
	"testing"

	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/parmove"
)

// The rows of the machine of these tests.
const (
	testSwap = Op(1 + iota)
	testConst
	testZero
	testStore
)

// testEmitter returns an emitter for a machine with these rows, which calls emit.
func testEmitter(emit func(in *Inst, allocs []regalloc.Allocation, src uint32)) *Emitter {
	e := &Emitter{VC: &VCode{Insts: make([]Inst, 8), Srcs: make([]uint32, 8)}, Target: &Target{
		Common: CommonRows{Swap: testSwap, IntConst: testConst, Zero: testZero, StoreImm: testStore},
		Emission: Emission{Emit: func(_ *Emitter, in *Inst, allocs []regalloc.Allocation, src uint32) {
			emit(in, allocs, src)
		}},
	}}
	e.Target.MaxBytes = func(_ *Emitter, in *Inst, _ []regalloc.Allocation) uint32 { return uint32(in.Op) }
	e.Buf = machbuffer.New(new(machbuffer.Target))
	return e
}

// TestEdits: each edit becomes the instruction of its kind, and its size is bounded by that of this instruction.
func TestEdits(t *testing.T) {
	r, other, slot := regalloc.InReg(regalloc.IntReg(1)), regalloc.InReg(regalloc.IntReg(2)), regalloc.InSlot(3)
	consts := []Inst{4: {Op: testConst, Size: 8, Imm: -5}, 5: {Op: testZero, Size: 4, Imm: 9}}
	for _, c := range []struct {
		edit   regalloc.Edit
		in     Inst
		allocs []regalloc.Allocation
		src    uint32
	}{
		{regalloc.Edit{Kind: regalloc.Move, From: slot, To: r, Bytes: 4}, Inst{Op: OpMove, Size: 4}, []regalloc.Allocation{slot, r}, 0},
		{regalloc.Edit{Kind: regalloc.Swap, From: other, To: r, Bytes: 8}, Inst{Op: testSwap, Size: 8}, []regalloc.Allocation{r, other}, 0},
		{regalloc.Edit{Kind: regalloc.Remat, To: r, Inst: 4, Bytes: 8}, consts[4], []regalloc.Allocation{r}, 40},
		{regalloc.Edit{Kind: regalloc.StoreConst, To: slot, Inst: 4, Bytes: 8}, Inst{Op: testStore, Size: 8, Imm: -5}, []regalloc.Allocation{slot}, 0},
		{regalloc.Edit{Kind: regalloc.StoreConst, To: slot, Inst: 5, Bytes: 4}, Inst{Op: testStore, Size: 4}, []regalloc.Allocation{slot}, 0},
	} {
		calls := 0
		e := testEmitter(func(in *Inst, allocs []regalloc.Allocation, src uint32) {
			if calls++; *in != c.in || len(allocs) < len(c.allocs) || src != c.src {
				t.Errorf("%v: %+v %v %d, want %+v %v %d", c.edit, *in, allocs, src, c.in, c.allocs, c.src)
				return
			}
			for k, a := range c.allocs {
				if allocs[k] != a {
					t.Errorf("%v: operand %d is %v, want %v", c.edit, k, allocs[k], a)
				}
			}
		})
		copy(e.VC.Insts, consts)
		e.VC.Srcs[4] = 40
		if rest := e.edit([]regalloc.Edit{c.edit, c.edit}); len(rest) != 1 || calls != 1 {
			t.Errorf("%v: %d edits left after %d instructions", c.edit, len(rest), calls)
		}
		if n := e.maxEdit(&c.edit); n != uint32(c.in.Op) {
			t.Errorf("%v: bounded like an instruction of row %d, want %d", c.edit, n, c.in.Op)
		}
	}
}

// TestParallelMoves executes random parallel moves as they are resolved and emitted, with swaps and without.
func TestParallelMoves(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var places []regalloc.Allocation
	for n := range 5 {
		places = append(places, regalloc.InReg(regalloc.IntReg(n)), regalloc.InReg(regalloc.FloatReg(n)), regalloc.InSlot(n))
	}
	state := map[regalloc.Allocation]int{}
	swaps, moves := 0, 0
	e := testEmitter(func(in *Inst, allocs []regalloc.Allocation, _ uint32) {
		switch x, y := allocs[0], allocs[1]; in.Op {
		case testSwap:
			state[x], state[y] = state[y], state[x]
			swaps++
		case OpMove:
			state[y] = state[x]
			moves++
		}
	})
	var resolver parmove.Resolver
	for n := range 100_000 {
		env := parmove.Env{Scratch: [2]regalloc.PReg{regalloc.NoPReg, regalloc.FloatReg(15)}, Extra: regalloc.InSlot(100)}
		if n%4 > 0 {
			env.Swaps = 0x1f
		}
		// Mostly a permutation of few places, of integer registers alone if few is 5.
		few := []int{5, 8, 15}[rng.Intn(3)]
		at := func(k int) regalloc.Allocation {
			if few == 5 {
				return regalloc.InReg(regalloc.IntReg(k))
			}
			return places[k]
		}
		from := rng.Perm(few)
		var group []parmove.Move
		for k, f := range from {
			if rng.Intn(8) == 0 {
				f = rng.Intn(few)
			}
			if rng.Intn(5) > 0 {
				group = append(group, parmove.Move{From: at(f), To: at(k), Bytes: 8})
			}
		}
		want := map[regalloc.Allocation]int{}
		for k, a := range places {
			state[a], want[a] = k, k
		}
		for _, m := range group {
			want[m.To] = state[m.From]
		}
		var out regalloc.Output
		for _, m := range resolver.Resolve(nil, group, env) {
			if m.Swap {
				out.AppendSwap(new(regalloc.Input), 2, m.From, m.To)
			} else {
				out.AppendMove(new(regalloc.Input), 2, m.From, m.To, m.Bytes)
			}
		}
		for edits := out.Edits; len(edits) > 0; {
			edits = e.edit(edits)
		}
		for a, v := range want {
			if state[a] != v {
				t.Fatalf("%v: %v: %v is %d, want %d", group, out.Edits, a, state[a], v)
			}
		}
	}
	if swaps < 10_000 || moves < 10_000 {
		t.Error("too few of a kind:", swaps, moves)
	}
}
