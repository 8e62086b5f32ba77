package backend

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// randomPlace is a register of the float class, the scratch one being number 15, of the integer class, or a slot.
func randomPlace(rng *rand.Rand) regalloc.Allocation {
	switch rng.Intn(6) {
	case 0:
		return regalloc.InReg(regalloc.FloatReg(rng.Intn(2)))
	case 1:
		return regalloc.InSlot(rng.Intn(2))
	}
	return regalloc.InReg(regalloc.IntReg(rng.Intn(4)))
}

// TestCycles executes random edits as they are and as they are emitted: everything but the scratch register must be
// the same, and that where it is read.
func TestCycles(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	scratch := regalloc.InReg(regalloc.FloatReg(15))
	swaps, kept := 0, 0
	for range 100_000 {
		var edits []regalloc.Edit
		move := func(p regalloc.ProgPoint, to, from regalloc.Allocation) {
			edits = append(edits, regalloc.Edit{Point: p, Kind: regalloc.Move, Bytes: 8, From: from, To: to})
		}
		points := []regalloc.ProgPoint{regalloc.Before(1), regalloc.After(1), regalloc.Before(2), regalloc.After(2)}
		for _, p := range points {
			for range rng.Intn(3) {
				if rng.Intn(3) > 0 { // a cycle, perhaps a wrong one
					regs := rng.Perm(4)[:2+rng.Intn(3)]
					last := scratch
					for _, r := range regs {
						a := regalloc.InReg(regalloc.IntReg(r))
						if rng.Intn(30) == 0 {
							a = randomPlace(rng)
						}
						move(p, last, a)
						last = a
					}
					move(p, last, scratch)
					continue
				}
				to, from := randomPlace(rng), randomPlace(rng)
				if rng.Intn(4) == 0 {
					from = scratch
				} else if rng.Intn(6) == 0 {
					to = scratch
				}
				move(p, to, from)
			}
		}
		start := map[regalloc.Allocation]int{scratch: 100}
		for n := range 4 {
			start[regalloc.InReg(regalloc.IntReg(n))] = n
			start[regalloc.InReg(regalloc.FloatReg(n))] = 10 + n
			start[regalloc.InSlot(n)] = 20 + n
		}
		var want, got [2]map[regalloc.Allocation]int
		state := map[regalloc.Allocation]int{}
		const swap = Op(1)
		e := &Emitter{Target: &Target{Common: CommonRows{Swap: swap}, Emission: Emission{
			Emit: func(_ *Emitter, in *Inst, allocs []regalloc.Allocation, _ uint32) {
				switch x, y := allocs[0], allocs[1]; in.Op {
				case swap:
					state[x], state[y] = state[y], state[x]
					swaps++
				case OpMove:
					state[y] = state[x]
					kept++
				}
			},
		}}}
		e.Buf = machbuffer.New(new(machbuffer.Target))
		e.Target.Env.Scratch[regalloc.Float] = scratch.Reg()
		run := func(out *[2]map[regalloc.Allocation]int, step func([]regalloc.Edit) []regalloc.Edit) {
			state = map[regalloc.Allocation]int{}
			for k, v := range start {
				state[k] = v
			}
			rest, instruction := edits, regalloc.Inst(1)
			for n := range out {
				for len(rest) > 0 && rest[0].Point <= regalloc.Before(instruction) {
					rest = step(rest)
				}
				state[scratch] = 1000 // any instruction may change it
				out[n] = map[regalloc.Allocation]int{}
				for k, v := range state {
					out[n][k] = v
				}
				instruction++
			}
			for len(rest) > 0 {
				rest = step(rest)
			}
			delete(state, scratch)
			for k, v := range state {
				out[1][k] = v
			}
		}
		run(&want, func(es []regalloc.Edit) []regalloc.Edit {
			state[es[0].To] = state[es[0].From]
			return es[1:]
		})
		run(&got, e.edit)
		for n := range want {
			for k, v := range want[n] {
				if got[n][k] != v {
					t.Fatalf("%v: %v is %d, want %d", edits, k, got[n][k], v)
				}
			}
		}
	}
	if swaps < 1000 || kept < 1000 {
		t.Error("too few of a kind:", swaps, kept)
	}
}

// TestStoredConstants: edits that put a value that is made again into a slot by way of a register become one store, unless something else follows from
// them, or the machine has no such store.
func TestStoredConstants(t *testing.T) {
	scratch, r, other, slot := regalloc.InReg(regalloc.FloatReg(15)), regalloc.InReg(regalloc.IntReg(1)), regalloc.InReg(regalloc.IntReg(2)), regalloc.InSlot(3)
	at, next := regalloc.Before(1), regalloc.Before(2)
	move := func(p regalloc.ProgPoint, to, from regalloc.Allocation, bytes uint8) regalloc.Edit {
		return regalloc.Edit{Point: p, Kind: regalloc.Move, Bytes: bytes, From: from, To: to}
	}
	remat := func(p regalloc.ProgPoint, to regalloc.Allocation) regalloc.Edit {
		return regalloc.Edit{Point: p, Kind: regalloc.Remat, To: to, Inst: 7}
	}
	right := []regalloc.Edit{move(at, scratch, r, 8), remat(at, r), move(at, slot, r, 4), move(at, r, scratch, 8)}
	with := func(k int, e regalloc.Edit) []regalloc.Edit {
		edits := slices.Clone(right)
		edits[k] = e
		return edits
	}
	for _, c := range []struct {
		name   string
		edits  []regalloc.Edit
		store  bool // the machine can do it
		stores bool
	}{
		{"one store", right, true, true},
		{"what follows does not read the scratch register", append(slices.Clone(right), move(at, other, r, 8), move(at, scratch, r, 8)), true, true},
		{"another point follows", append(slices.Clone(right), move(next, other, scratch, 8)), true, true},
		{"no such store", right, false, false},
		{"three edits", right[:3], true, false},
		{"the scratch register is read behind them", append(slices.Clone(right), move(at, other, scratch, 8)), true, false},
		{"half of the register is saved", with(0, move(at, scratch, r, 4)), true, false},
		{"another register is saved", with(0, move(at, scratch, other, 8)), true, false},
		{"the value is made in another one", with(1, remat(at, other)), true, false},
		{"the value is moved", with(1, move(at, r, other, 8)), true, false},
		{"a register is written", with(2, move(at, other, r, 4)), true, false},
		{"another register is stored", with(2, move(at, slot, other, 4)), true, false},
		{"half of the register is restored", with(3, move(at, r, scratch, 4)), true, false},
		{"another register is restored", with(3, move(at, other, scratch, 8)), true, false},
		{"the register is restored later", with(3, move(next, r, scratch, 8)), true, false},
	} {
		const constant, store = Op(1), Op(2)
		e := &Emitter{VC: &VCode{Insts: make([]Inst, 8), Srcs: make([]uint32, 8)}, Target: &Target{Emission: Emission{
			Emit: func(_ *Emitter, in *Inst, allocs []regalloc.Allocation, _ uint32) {
				if in.Op == store && (allocs[0] != slot || in.Size != 4 || in.Imm != 5) {
					t.Errorf("%s: store of %d, %d bytes, to %v", c.name, in.Imm, in.Size, allocs[0])
				}
			},
		}}}
		e.VC.Insts[7] = Inst{Op: constant, Size: 8, Imm: 5}
		if e.Target.Common.IntConst = constant; c.store {
			e.Target.Common.StoreImm = store
		}
		e.Buf = machbuffer.New(new(machbuffer.Target))
		e.Target.Env.Scratch[regalloc.Float] = scratch.Reg()
		want := 1
		if c.stores {
			want = constEdits
		}
		if got := len(c.edits) - len(e.edit(c.edits)); got != want {
			t.Errorf("%s: %d edits at once, want %d", c.name, got, want)
		}
	}
}
